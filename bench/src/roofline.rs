//! The kernel with which captures are compared, `shaders/bench/roofline.glsl`. It reads the bytes
//! that a capture has to read, writes as many bytes as a capture has to write, and does nothing
//! else.

use std::collections::HashMap;

use ash::vk;
use serde::Serialize;
use vkxfb::runtime::fold;
use vkxfb::runtime::{Buffer, Context, RuntimeError};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::spirv::words_from_bytes;

use crate::case::{Case, QUAD, Work};

/// How the kernel accesses memory: like a capture with the corresponding
/// [`ResourcePlan`](vkxfb_rewriter::lower::ResourcePlan).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resources {
    /// The kernel loads and stores with buffer device addresses.
    DeviceAddress,
    /// The kernel loads and stores with storage buffer descriptors.
    Descriptors,
}

impl Resources {
    /// Returns the reason why the kernel cannot access the memory of a case in this way. `None` if
    /// it can.
    fn unavailable(self, ctx: &Context, work: &Work) -> Option<String> {
        let limits = &ctx.capabilities().limits;
        let (max, largest) = (limits.max_storage_buffer_range, work.ranges().into_iter().max());
        match self {
            Self::DeviceAddress if ctx.has_addresses() => None,
            Self::DeviceAddress => Some("no device addresses".to_owned()),
            Self::Descriptors if limits.max_storage_buffers < BUFFERS as u32 => {
                Some(format!("not {BUFFERS} storage buffers"))
            }
            Self::Descriptors => largest
                .filter(|largest| *largest > max)
                .map(|largest| format!("{largest} bytes exceed maxStorageBufferRange, {max}")),
        }
    }
}

/// A variant of the kernel: how the work is distributed over invocations, and how they access
/// memory. The default is the first variant that is tried on a device with addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Spread {
    /// The number of invocations of a workgroup.
    pub workgroup_size: u32,
    /// Whether each invocation accesses contiguous memory, which is good for processors that run one
    /// invocation after the other. Otherwise all invocations of a workgroup together access contiguous
    /// memory.
    pub together: bool,
    /// How memory is accessed.
    pub resources: Resources,
    /// Whether 16 bytes are accessed as two 64-bit integers, as captures do on [some
    /// devices](vkxfb::runtime::Capabilities::int64_accesses). Otherwise they are accessed as four
    /// dwords.
    pub int64: bool,
}

/// The values of [`Spread::workgroup_size`] and [`Spread::together`] that are tried.
const SHAPES: [(u32, bool); 4] = [(64, false), (256, false), (64, true), (256, true)];

impl Default for Spread {
    fn default() -> Self {
        let resources = Resources::DeviceAddress;
        Self { workgroup_size: 64, together: false, resources, int64: false }
    }
}

impl Spread {
    /// Returns the variants that are tried for a case.
    ///
    /// # Errors
    /// The reason why no variant can run on this device.
    pub(super) fn all(ctx: &Context, case: &Case) -> Result<Vec<Self>, String> {
        let work = case.work();
        let (mut all, mut reasons) = (Vec::new(), Vec::new());
        for resources in [Resources::DeviceAddress, Resources::Descriptors] {
            if let Some(reason) = resources.unavailable(ctx, &work) {
                reasons.push(reason);
                continue;
            }
            for int64 in [false, true] {
                if int64 && !ctx.enabled().shader_int64 {
                    continue;
                }
                all.extend(SHAPES.map(|(workgroup_size, together)| Self {
                    workgroup_size,
                    together,
                    resources,
                    int64,
                }));
            }
        }
        if all.is_empty() { Err(reasons.join(", and ")) } else { Ok(all) }
    }

    /// The compiled shader of the variant.
    const fn shader(self) -> &'static [u8] {
        match (self.resources, self.int64) {
            (Resources::DeviceAddress, false) => {
                include_bytes!("../../shaders/bench/roofline.spv")
            }
            (Resources::DeviceAddress, true) => {
                include_bytes!("../../shaders/bench/roofline_int64.spv")
            }
            (Resources::Descriptors, false) => {
                include_bytes!("../../shaders/bench/roofline_descriptors.spv")
            }
            (Resources::Descriptors, true) => {
                include_bytes!("../../shaders/bench/roofline_descriptors_int64.spv")
            }
        }
    }
}

/// The largest number of stores of an invocation to a buffer. A strip with records of 256 bytes
/// needs 48 stores for each vertex.
const MOST_STORES: u64 = 64;

/// The number of loads and stores that each invocation makes, and the number of invocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shares {
    invocations: u64,
    source_loads: u32,
    index_loads: u32,
    stores: [u32; MAX_XFB_BUFFERS],
}

impl Shares {
    /// Distributes the work. Each invocation makes one load of vertex data, as in a capture, and
    /// its share of everything else. If few patches are divided into many vertices, the share would
    /// be more than [`MOST_STORES`] stores to a buffer. Then there are more invocations than loads.
    fn of(work: &Work) -> Self {
        let stores = work.targets.into_iter().max().unwrap_or(0);
        let invocations = work.sources.max(stores.div_ceil(MOST_STORES)).max(1);
        let share = |count: u64| count.div_ceil(invocations) as u32;
        Self {
            invocations,
            source_loads: share(work.sources),
            index_loads: share(work.indices),
            stores: work.targets.map(share),
        }
    }

    /// Returns the values of the specialization constants, indexed by `constant_id`.
    fn constants(&self, work: &Work, spread: Spread) -> [u32; 11] {
        let [a, b, c, d] = self.stores;
        let [pair, next, first] = work.pattern;
        let Spread { workgroup_size, together, .. } = spread;
        let (sources, indices) = (self.source_loads, self.index_loads);
        [workgroup_size, sources, indices, a, b, c, d, pair, next, first, together.into()]
    }
}

/// The number of buffers that the kernel may access: vertices, indices, and the capture buffers.
const BUFFERS: usize = 2 + MAX_XFB_BUFFERS;

/// The push constants of the shader. With descriptors, the shader does not use the addresses.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Push {
    /// The addresses of the vertices, the indices, and the capture buffers.
    addresses: [u64; BUFFERS],
    source_count: u32,
    index_count: u32,
    target_counts: [u32; MAX_XFB_BUFFERS],
    reserved: [u32; 2],
}

/// A buffer that the kernel accesses from its start.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reached {
    pub(super) buffer: vk::Buffer,
    /// The buffer device address, which is a multiple of 16. It is 0 if the device does not support
    /// buffer device addresses.
    pub(super) address: u64,
}

impl From<&Buffer> for Reached {
    fn from(buffer: &Buffer) -> Self {
        Self { buffer: buffer.raw(), address: buffer.address() }
    }
}

/// The buffers that the kernel may access. Buffers that a case does not need are null.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReachedBuffers {
    pub(super) source: Reached,
    pub(super) indices: Reached,
    pub(super) targets: [Reached; MAX_XFB_BUFFERS],
}

impl ReachedBuffers {
    /// Returns the buffers in the order of the bindings.
    const fn all(&self) -> [Reached; BUFFERS] {
        let [a, b, c, d] = self.targets;
        [self.source, self.indices, a, b, c, d]
    }
}

impl Work {
    /// Returns for each buffer, in the order of the bindings, the size in bytes of the range that
    /// is accessed.
    fn ranges(&self) -> [u64; BUFFERS] {
        let sources = self.sources.checked_sub(1).map_or(0, |last| self.source(last) + 1);
        let [a, b, c, d] = self.targets;
        [sources, self.indices, a, b, c, d].map(|units| units * QUAD)
    }
}

/// Identifies a pipeline of the kernel: [`Spread::resources`] and [`Spread::int64`], which select
/// the shader, and the specialization constants.
type Key = (Resources, bool, [u32; 11]);

/// The pipelines of the kernel that were created, and the objects that they share.
#[derive(Default)]
pub(super) struct Rooflines {
    layout: vk::PipelineLayout,
    /// The descriptor set. `None` if the device allows too few storage buffers for it.
    descriptors: Option<Descriptors>,
    all: HashMap<Key, vk::Pipeline>,
}

/// The descriptor set of the kernel, with its layout and pool.
#[derive(Clone, Copy)]
struct Descriptors {
    layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    set: vk::DescriptorSet,
}

impl Descriptors {
    fn new(ctx: &Context) -> Result<Self, RuntimeError> {
        let device = ctx.device();
        let ty = vk::DescriptorType::STORAGE_BUFFER;
        let binding = |binding| vk::DescriptorSetLayoutBinding {
            binding,
            descriptor_type: ty,
            descriptor_count: 1,
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            ..Default::default()
        };
        let bindings: [_; BUFFERS] = std::array::from_fn(|number| binding(number as u32));
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is live.
        let layout = unsafe { device.create_descriptor_set_layout(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreateDescriptorSetLayout"))?;
        let sizes = [vk::DescriptorPoolSize { ty, descriptor_count: BUFFERS as u32 }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
        // SAFETY: the device is live.
        let pool = unsafe { device.create_descriptor_pool(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreateDescriptorPool"));
        let mut made = Self { layout, pool: vk::DescriptorPool::null(), set: Default::default() };
        let set = pool.and_then(|pool| {
            made.pool = pool;
            let layouts = [layout];
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts);
            // SAFETY: the layout and the pool, which has room for the set, are live.
            unsafe { device.allocate_descriptor_sets(&info) }
                .map_err(RuntimeError::vulkan("vkAllocateDescriptorSets"))
        });
        match set {
            Ok(sets) => made.set = sets.first().copied().unwrap_or_default(),
            Err(error) => {
                made.destroy(ctx);
                return Err(error);
            }
        }
        Ok(made)
    }

    /// Writes the buffers of a case to the descriptors. A descriptor for which the case has no
    /// buffer gets another buffer, because every descriptor must be valid.
    ///
    /// # Safety
    /// The set is not in use. The buffers are as [`Rooflines::record`] requires.
    unsafe fn update(&self, ctx: &Context, work: &Work, buffers: &ReachedBuffers) {
        let all = buffers.all().into_iter().zip(work.ranges()).map(|(reached, range)| {
            vk::DescriptorBufferInfo { buffer: reached.buffer, offset: 0, range }
        });
        let all: Vec<_> = all.collect();
        let used = all.iter().find(|info| info.range > 0).copied();
        let infos: Vec<_> = all
            .into_iter()
            .filter_map(|info| if info.range > 0 { Some(info) } else { used })
            .collect();
        let write = vk::WriteDescriptorSet::default()
            .dst_set(self.set)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER);
        let writes: Vec<_> = (0..)
            .zip(infos.chunks(1))
            .map(|(binding, info)| write.dst_binding(binding).buffer_info(info))
            .collect();
        unsafe { ctx.device().update_descriptor_sets(&writes, &[]) };
    }

    fn destroy(self, ctx: &Context) {
        // SAFETY: no submission is in flight. Destroying null handles is allowed.
        unsafe {
            ctx.device().destroy_descriptor_pool(self.pool, None);
            ctx.device().destroy_descriptor_set_layout(self.layout, None);
        }
    }
}

impl Rooflines {
    /// Creates the pipeline for a case, if necessary, and writes the buffers of the case to the
    /// descriptors.
    ///
    /// # Safety
    /// Nothing that was recorded before is in flight. The buffers are as [`record`](Self::record)
    /// requires.
    pub(super) unsafe fn prepare(
        &mut self,
        ctx: &Context,
        case: &Case,
        spread: Spread,
        buffers: &ReachedBuffers,
    ) -> Result<(), RuntimeError> {
        let work = case.work();
        self.make_layout(ctx)?;
        if let (Resources::Descriptors, Some(descriptors)) = (spread.resources, &self.descriptors) {
            unsafe { descriptors.update(ctx, &work, buffers) };
        }
        let constants = Shares::of(&work).constants(&work, spread);
        let key = (spread.resources, spread.int64, constants);
        if self.all.contains_key(&key) {
            return Ok(());
        }
        let words = words_from_bytes(spread.shader())
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
        let device = ctx.device();
        // SAFETY: the module is valid, and the layout has the push constants and descriptors that
        // the module declares.
        let made = unsafe {
            vkxfb_probe::gpu::compute_pipeline(device, self.layout, &words, c"main", &info)
        }?;
        self.all.insert(key, made);
        Ok(())
    }

    /// Creates the pipeline layout, if necessary.
    fn make_layout(&mut self, ctx: &Context) -> Result<(), RuntimeError> {
        if self.layout != vk::PipelineLayout::null() {
            return Ok(());
        }
        if ctx.capabilities().limits.max_storage_buffers >= BUFFERS as u32 {
            self.descriptors = Some(Descriptors::new(ctx)?);
        }
        let sets: Vec<_> = self.descriptors.iter().map(|d| d.layout).collect();
        let ranges = [vk::PushConstantRange {
            stage_flags: vk::ShaderStageFlags::COMPUTE,
            offset: 0,
            size: size_of::<Push>() as u32,
        }];
        let info = vk::PipelineLayoutCreateInfo::default()
            .push_constant_ranges(&ranges)
            .set_layouts(&sets);
        // SAFETY: the device is live.
        self.layout = unsafe { ctx.device().create_pipeline_layout(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreatePipelineLayout"))?;
        Ok(())
    }

    /// Records a dispatch of the kernel.
    ///
    /// # Safety
    /// `cmd` is being recorded outside of a render pass instance. The buffers are live, have the
    /// usages that [`Spread::resources`] needs, and are large enough for the case. For descriptors,
    /// they were [prepared](Self::prepare).
    pub(super) unsafe fn record(
        &self,
        ctx: &Context,
        cmd: vk::CommandBuffer,
        case: &Case,
        spread: Spread,
        buffers: &ReachedBuffers,
    ) -> Result<(), RuntimeError> {
        let work = case.work();
        let shares = Shares::of(&work);
        let key = (spread.resources, spread.int64, shares.constants(&work, spread));
        let pipeline = self.all.get(&key).copied();
        let pipeline = pipeline.ok_or_else(|| {
            RuntimeError::InvalidShader("the roofline is not prepared".to_owned())
        })?;
        let workgroups = shares.invocations.div_ceil(spread.workgroup_size.into());
        let [x, y] = fold(workgroups, ctx.settings().max_workgroups_per_axis)?;
        // The numbers of units fit into 32 bits, because a buffer has less than 2^28 units.
        let push = Push {
            addresses: buffers.all().map(|reached| reached.address),
            source_count: work.sources as u32,
            index_count: work.indices as u32,
            target_counts: work.targets.map(|count| count as u32),
            reserved: [0; 2],
        };
        let (device, stage) = (ctx.device(), vk::ShaderStageFlags::COMPUTE);
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the caller's contract; the layout of the pipeline has these push constants and
        // this set.
        unsafe {
            device.cmd_bind_pipeline(cmd, point, pipeline);
            if let (Resources::Descriptors, Some(d)) = (spread.resources, &self.descriptors) {
                device.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[d.set], &[]);
            }
            device.cmd_push_constants(cmd, self.layout, stage, 0, bytemuck::bytes_of(&push));
            device.cmd_dispatch(cmd, x, y, 1);
        }
        Ok(())
    }

    pub(super) fn destroy(self, ctx: &Context) {
        // SAFETY: no submission is in flight. Destroying null handles is allowed.
        unsafe {
            for pipeline in self.all.into_values() {
                ctx.device().destroy_pipeline(pipeline, None);
            }
            ctx.device().destroy_pipeline_layout(self.layout, None);
        }
        if let Some(descriptors) = self.descriptors {
            descriptors.destroy(ctx);
        }
    }
}

/// Returns the 16 bytes that the kernel writes to unit `quad` of a capture buffer.
pub(super) fn expected(case: &Case, spread: Spread, buffer: usize, quad: u64) -> [u32; 4] {
    let work = case.work();
    let shares = Shares::of(&work);
    let size = u64::from(spread.workgroup_size);
    // Determine the invocation that stores the unit, and which of its stores it is.
    let stores = u64::from(shares.stores.get(buffer).copied().unwrap_or(1)).max(1);
    let (workgroup, place) = (quad / (size * stores), quad % (size * stores));
    let (local, nth) = if spread.together {
        (place / stores, place % stores)
    } else {
        (place % size, place / size)
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
