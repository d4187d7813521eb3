//! The kernel with which captures are compared, `shaders/bench/roofline.comp`: it reads the bytes
//! that a capture has to read, writes as many as a capture has to write, and does nothing else.

use std::collections::HashMap;

use ash::vk;
use serde::Serialize;
use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::internal::{compute_pipeline, fold, vulkan_error};
use vkxfb::runtime::{Context, RuntimeError};
use vkxfb::spirv::words_from_bytes;

use super::case::{Case, Work};

/// How the work is distributed over invocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Spread {
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
    /// Whether the loads and stores of one invocation are contiguous, which suits processors that
    /// run one invocation after the other. Otherwise those of a workgroup are.
    pub together: bool,
}

/// The shapes that are tried.
pub const SPREADS: [Spread; 4] = [
    Spread { workgroup_size: 64, together: false },
    Spread { workgroup_size: 256, together: false },
    Spread { workgroup_size: 64, together: true },
    Spread { workgroup_size: 256, together: true },
];

/// The loads and stores of an invocation, and the number of invocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shares {
    invocations: u64,
    source_loads: u32,
    index_loads: u32,
    stores: [u32; MAX_XFB_BUFFERS],
}

impl Shares {
    /// One load of vertex data per invocation, as in a capture, and a share of everything else.
    fn of(work: &Work) -> Self {
        let invocations = work.sources.max(1);
        let share = |count: u64| count.div_ceil(invocations) as u32;
        Self {
            invocations,
            source_loads: share(work.sources),
            index_loads: share(work.indices),
            stores: work.targets.map(share),
        }
    }

    /// The specialisation constants, indexed by `constant_id`.
    fn constants(&self, work: &Work, spread: Spread) -> [u32; 11] {
        let [a, b, c, d] = self.stores;
        let [pair, next, first] = work.pattern;
        let Spread { workgroup_size, together } = spread;
        let (sources, indices) = (self.source_loads, self.index_loads);
        [workgroup_size, sources, indices, a, b, c, d, pair, next, first, together.into()]
    }
}

/// Push constants of the shader.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Push {
    source: u64,
    indices: u64,
    targets: [u64; MAX_XFB_BUFFERS],
    source_count: u32,
    index_count: u32,
    target_counts: [u32; MAX_XFB_BUFFERS],
    reserved: [u32; 2],
}

/// Device addresses of the buffers that the kernel accesses, each a multiple of 16.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Addresses {
    pub(super) source: u64,
    pub(super) indices: u64,
    pub(super) targets: [u64; MAX_XFB_BUFFERS],
}

/// Pipelines of the kernel, one for each set of specialisation constants.
#[derive(Default)]
pub(super) struct Rooflines {
    layout: vk::PipelineLayout,
    all: HashMap<[u32; 11], vk::Pipeline>,
}

impl Rooflines {
    /// Makes the pipeline for a case, if necessary.
    pub(super) fn prepare(
        &mut self,
        ctx: &Context,
        case: &Case,
        spread: Spread,
    ) -> Result<(), RuntimeError> {
        let work = case.work();
        let constants = Shares::of(&work).constants(&work, spread);
        if self.all.contains_key(&constants) {
            return Ok(());
        }
        if self.layout == vk::PipelineLayout::null() {
            let ranges = [vk::PushConstantRange {
                stage_flags: vk::ShaderStageFlags::COMPUTE,
                offset: 0,
                size: size_of::<Push>() as u32,
            }];
            let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
            // SAFETY: the device is live.
            self.layout = unsafe { ctx.device().create_pipeline_layout(&info, None) }
                .map_err(vulkan_error("vkCreatePipelineLayout"))?;
        }
        let words = words_from_bytes(include_bytes!("../../shaders/bench/roofline.spv"))
            .map_err(|error| RuntimeError::InvalidShader(error.to_string()))?;
        let size = size_of::<u32>();
        let entries: Vec<_> = (0u32..)
            .zip(&constants)
            .map(|(constant_id, _)| vk::SpecializationMapEntry {
                constant_id,
                offset: constant_id * size as u32,
                size,
            })
            .collect();
        let info = vk::SpecializationInfo::default()
            .map_entries(&entries)
            .data(bytemuck::cast_slice(&constants));
        let (device, cache) = (ctx.device(), vk::PipelineCache::null());
        // SAFETY: the module is valid, and the layout is what it declares.
        let made = unsafe { compute_pipeline(device, cache, self.layout, &words, c"main", &info) }?;
        self.all.insert(constants, made);
        Ok(())
    }

    /// Records the kernel.
    ///
    /// # Safety
    /// `cmd` is being recorded outside of a render pass instance. The addresses are those of
    /// buffers that are large enough for the case.
    pub(super) unsafe fn record(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        case: &Case,
        spread: Spread,
        addresses: &Addresses,
    ) -> Result<(), RuntimeError> {
        let work = case.work();
        let shares = Shares::of(&work);
        let pipeline = self.all.get(&shares.constants(&work, spread)).copied();
        let pipeline = pipeline.ok_or_else(|| {
            RuntimeError::InvalidShader("the roofline is not prepared".to_owned())
        })?;
        let workgroups = shares.invocations.div_ceil(spread.workgroup_size.into());
        let [x, y] = fold(workgroups, ctx.max_workgroups_per_axis())?;
        // A buffer has less than 2^28 units.
        let push = Push {
            source: addresses.source,
            indices: addresses.indices,
            targets: addresses.targets,
            source_count: work.sources as u32,
            index_count: work.indices as u32,
            target_counts: work.targets.map(|count| count as u32),
            reserved: [0; 2],
        };
        let (device, stage) = (ctx.device(), vk::ShaderStageFlags::COMPUTE);
        // SAFETY: the caller's contract; the layout has that range.
        unsafe {
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline);
            device.cmd_push_constants(cmd, self.layout, stage, 0, bytemuck::bytes_of(&push));
            device.cmd_dispatch(cmd, x, y, 1);
        }
        Ok(())
    }

    pub(super) fn destroy(self, ctx: &Context) {
        // SAFETY: nothing is in flight; null handles are ignored.
        unsafe {
            for pipeline in self.all.into_values() {
                ctx.device().destroy_pipeline(pipeline, None);
            }
            ctx.device().destroy_pipeline_layout(self.layout, None);
        }
    }
}

/// Returns what the kernel writes to unit `quad` of a buffer.
pub(super) fn expected(case: &Case, spread: Spread, buffer: usize, quad: u64) -> [u32; 4] {
    let work = case.work();
    let shares = Shares::of(&work);
    let size = u64::from(spread.workgroup_size);
    // The invocation that stores the unit, and the number of the store.
    let stores = u64::from(shares.stores.get(buffer).copied().unwrap_or(1)).max(1);
    let (workgroup, place) = (quad / (size * stores), quad % (size * stores));
    let (local, nth) = match spread.together {
        true => (place / stores, place % stores),
        false => (place % size, place / size),
    };
    let places = |loads: u32, count: u64| {
        let loads = u64::from(loads);
        let first = workgroup * size * loads;
        (0..loads)
            .map(move |i| {
                first + if spread.together { local * loads + i } else { i * size + local }
            })
            .filter(move |k| *k < count)
    };
    let mut value = [nth as u32; 4];
    let mut add = |more: [u32; 4]| {
        for (value, more) in value.iter_mut().zip(more) {
            *value = value.wrapping_add(more);
        }
    };
    for k in places(shares.source_loads, work.sources) {
        add(case.workload.vertices().quad(work.source(k)));
    }
    for k in places(shares.index_loads, work.indices) {
        add(std::array::from_fn(|i| match (k * 4) as u32 + i as u32 {
            place if place < case.vertices => case.index(place),
            _ => 0,
        }));
    }
    value
}
