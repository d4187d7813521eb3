//! Random changes of state.

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::Generator;
use crate::common::commands::Range;
use crate::program::{BoundSet, Condition, State, StateChange};
use crate::sets::{HANDLES, OBJECTS, SETS};
use crate::shaders::{CONSTANTS, INSTANCE_STRIDE, Shader, VERTEX_STRIDE};

impl Generator<'_> {
    /// Binds a pipeline, and everything that its shader reads except vertex buffers.
    pub(super) fn bind_pipeline(&mut self, shader: Shader) {
        let state = self.state(shader);
        self.change(StateChange::Pipeline(state));
        self.pipeline = Some(state);
        // What was bound before in the command buffer stays, too.
        if !self.model.has_sets() || self.rng.percent(60) {
            self.bind_sets(shader, 0, SETS);
        }
        // What was pushed before in the command buffer stays.
        if self.model.constants.contains(&None) || self.rng.percent(20) {
            self.push_constants(0, CONSTANTS);
        }
    }

    /// Changes some of the state for the next draw.
    pub(super) fn change_state(&mut self) {
        self.change_pipeline();
        let shader = self.pipeline.map_or(Shader::Identify, |pipeline| pipeline.shader);
        if self.rng.percent(25) {
            self.bind_vertices_behind();
        }
        if self.rng.percent(60) {
            let first = self.rng.below(SETS as u32) as usize;
            let count = self.rng.range(1, (SETS - first) as u32) as usize;
            self.bind_sets(shader, first, count);
        }
        if self.rng.percent(60) {
            let first = self.rng.below(CONSTANTS as u32) as usize;
            let count = self.rng.range(1, (CONSTANTS - first) as u32) as usize;
            self.push_constants(first, count);
        }
    }

    /// Binds another pipeline with the same strides, or changes dynamic state.
    fn change_pipeline(&mut self) {
        let Some(State { shader, restart, .. }) = self.pipeline else { return };
        // A native capture is ended and resumed then, with a barrier between.
        let is_dynamic = self.pass.is_some_and(|pass| pass.kind.is_dynamic());
        if is_dynamic && self.model.positions.is_some() {
            return self.change_condition();
        }
        if self.space.several_pipelines && self.rng.percent(25) {
            let alike: Vec<Shader> =
                Shader::ALL.into_iter().filter(|s| s.strides() == shader.strides()).collect();
            let shader = self.rng.pick(&alike);
            return self.bind_pipeline(shader);
        }
        if self.space.dynamic_provoking && self.space.last_provoking && self.rng.percent(15) {
            let provoking =
                if self.rng.percent(50) { ProvokingVertex::Last } else { ProvokingVertex::First };
            self.change(StateChange::ProvokingVertex(provoking));
        }
        if self.restart_indices && self.model.indices.is_some() && self.rng.percent(30) {
            let index = if self.rng.percent(80) { self.rng.below(40) } else { self.rng.u32() };
            self.change(StateChange::PrimitiveRestartIndex(index));
        }
        self.change_condition();
        if self.space.dynamic_restart && restart && self.rng.percent(20) {
            let restart = self.rng.percent(50);
            self.change(StateChange::PrimitiveRestart(restart));
        }
    }

    /// Begins or ends conditional rendering.
    fn change_condition(&mut self) {
        if self.model.condition.is_some() {
            if self.rng.percent(40) {
                self.end_conditional_rendering();
            }
        } else if self.space.conditional && self.rng.percent(12) {
            // A counter of an earlier capture, or a value that the application wrote.
            let is_counter = self.space.counters && !self.is_unseen && self.rng.percent(50);
            let counter = if is_counter { self.seen_counter() } else { None };
            let offset = match counter {
                Some(counter) => counter,
                None => {
                    let dword = self.rng.pick(&[0, 1, 0x100, 1 << 31]);
                    self.place_dwords("predicate", &[!dword, dword, !dword]) + 4
                }
            };
            let inverted = self.rng.percent(50);
            let condition = Condition { offset, inverted };
            self.change(StateChange::BeginConditionalRendering(condition));
        }
    }

    /// Ends conditional rendering, which must end in the pass in which it began.
    pub(super) fn end_conditional_rendering(&mut self) {
        if self.model.condition.is_some() {
            self.change(StateChange::EndConditionalRendering);
        }
    }

    /// Sets `count` push constants from number `first` on, sometimes to their current values.
    fn push_constants(&mut self, first: usize, count: usize) {
        let is_repeated = self.rng.percent(15);
        let current = self.model.constants[first..first + count].iter();
        let dword = |current: &Option<u32>| match current {
            Some(dword) if is_repeated => *dword,
            _ => self.rng.u32(),
        };
        let dwords = current.map(dword).collect();
        self.change(StateChange::PushConstants { first, dwords });
    }

    fn state(&mut self, shader: Shader) -> State {
        let topology = self.rng.pick(&self.space.topologies);
        let is_list = matches!(
            topology,
            PrimitiveTopology::PointList
                | PrimitiveTopology::LineList
                | PrimitiveTopology::TriangleList
                | PrimitiveTopology::LineListWithAdjacency
                | PrimitiveTopology::TriangleListWithAdjacency
        );
        let restart = (!is_list || self.space.list_restart) && self.rng.percent(50);
        let provoking = if self.space.last_provoking && self.rng.percent(30) {
            ProvokingVertex::Last
        } else {
            ProvokingVertex::First
        };
        State { shader, topology, provoking, restart }
    }

    pub(super) fn bind_vertices(&mut self) {
        self.change(StateChange::VertexBuffers(self.vertices));
    }

    /// Binds the vertex buffers from other elements on.
    fn bind_vertices_behind(&mut self) {
        let strides = [VERTEX_STRIDE, INSTANCE_STRIDE];
        let ranges = [0, 1].map(|binding| {
            let Range { offset, size } = self.vertices[binding];
            let skipped = u64::from(strides[binding] * self.rng.below(5));
            Range { offset: offset + skipped, size: size - skipped }
        });
        self.change(StateChange::VertexBuffers(ranges));
    }

    /// Binds `count` descriptor sets from number `first` on, if the shader reads sets.
    fn bind_sets(&mut self, shader: Shader, first: usize, count: usize) {
        if !shader.reads_sets() {
            return;
        }
        let sets = (0..count)
            .map(|_| BoundSet {
                handle: self.rng.below(HANDLES),
                objects: [0; 2].map(|_| self.rng.below(OBJECTS)),
            })
            .collect();
        self.change(StateChange::DescriptorSets { first, sets });
    }
}
