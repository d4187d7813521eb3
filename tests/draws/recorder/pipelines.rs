//! Pipelines that capture, which are created when they are first needed.

use std::collections::HashMap;

use vkxfb::lower::compute::WorkgroupSizes;
use vkxfb::lower::{Backend, Shader, compute, native, vertex};
use vkxfb::runtime::{Pipeline, PipelineDesc};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::program::{Program, State};
use crate::sets::SetLayouts;

pub struct Pipelines {
    pub backend: Backend,
    made: HashMap<Variant, Pipeline>,
}

impl Pipelines {
    pub fn new(backend: Backend) -> Self {
        Self { backend, made: HashMap::new() }
    }

    /// Returns the pipeline of a state, which [`make`](Self::make) has created.
    pub fn get(&self, program: &Program, state: State) -> &Pipeline {
        &self.made[&Variant::of(self.backend, program, state)]
    }

    pub fn make(
        &mut self,
        gpu: &Gpu,
        layouts: &SetLayouts,
        program: &Program,
        state: State,
    ) -> Result<(), GpuError> {
        let key = Variant::of(self.backend, program, state);
        if self.made.contains_key(&key) {
            return Ok(());
        }
        let vertex_input = state.shader.vertex_input();
        let words = state.shader.words();
        let shader = Shader::new(&words);
        let set_layouts = if state.shader.reads_sets() { layouts.raw() } else { &[] };
        let lowered = match self.backend {
            Backend::Native => native::lower(&shader),
            Backend::Vertex => vertex::lower(&shader),
            Backend::Compute => {
                let target = gpu
                    .context()
                    .compute_target()?
                    .workgroup_sizes(key.workgroup_sizes)
                    .staging(key.staging);
                compute::lower(&shader, &compute::Options::new(&vertex_input).target(target))
            }
        }
        .unwrap();
        let desc = PipelineDesc {
            topology: Some(key.state.topology.into()),
            specialize_topology: key.specialize,
            provoking_vertex: state.provoking,
            primitive_restart: state.restart,
            vertex_input: Some(&vertex_input),
            set_layouts,
            render_pass: gpu.render_pass(),
            ..PipelineDesc::new(&lowered)
        };
        // SAFETY: the context is of a live device, and the words are valid.
        let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }?;
        self.made.insert(key, pipeline);
        Ok(())
    }

    pub fn destroy(self, gpu: &Gpu) {
        for pipeline in self.made.into_values() {
            gpu.destroy_pipeline(pipeline);
        }
    }
}

/// The properties for which a pipeline is created.
#[derive(PartialEq, Eq, Hash)]
struct Variant {
    state: State,
    specialize: bool,
    workgroup_sizes: WorkgroupSizes,
    staging: u32,
}

impl Variant {
    /// Returns the variant for a state. Graphics pipelines have one topology. On the compute
    /// backend, the pipelines of every tenth program are specialised for a topology, and those of
    /// other programs are for all topologies. Workgroups are small, so that most draws have
    /// several.
    fn of(backend: Backend, program: &Program, state: State) -> Self {
        let specialize = backend != Backend::Compute || program.seed.is_multiple_of(10);
        let topology = if specialize { state.topology } else { PrimitiveTopology::PointList };
        // What a workgroup stages: nothing, all that it captures, or in many rounds.
        let ways = if specialize { 2 } else { 4 };
        let (others, restarted, staging) = match program.seed / 10 % ways {
            0 => (32, 32, 0),
            1 => (8, 64, 4096),
            2 => (7, 4, 4096),
            _ => (64, 8, 500),
        };
        Self {
            state: State { topology, ..state },
            specialize,
            workgroup_sizes: WorkgroupSizes::all(others).restarted(restarted).unindexed(restarted),
            staging,
        }
    }
}
