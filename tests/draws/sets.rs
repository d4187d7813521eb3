//! The descriptor sets of programs, which `shaders/draws/objects.vert` reads.

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb_probe::gpu::GpuError;

use crate::images::{Round, failed};
use crate::program::BoundSet;

/// The number of set numbers.
pub const SETS: usize = 2;
/// The number of descriptor sets for each set number. They begin at different objects.
pub const HANDLES: u32 = 2;
/// The number of objects that the dynamic offsets of one set can reach.
pub const OBJECTS: u32 = 4;
/// Bytes from one object to the next: the largest alignment of dynamic offsets that Vulkan allows.
pub const SPACING: u32 = 256;
/// The size in bytes of the range of a descriptor.
const RANGE: u64 = 16;

/// The dynamic descriptors of each set, by binding.
pub const BINDINGS: [&[vk::DescriptorType]; SETS] = [
    &[vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC],
    &[vk::DescriptorType::STORAGE_BUFFER_DYNAMIC, vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC],
];

/// The usages that the descriptor sets require of the buffer with the memory of programs.
pub const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::UNIFORM_BUFFER.as_raw() | vk::BufferUsageFlags::STORAGE_BUFFER.as_raw(),
);

pub struct SetLayouts([vk::DescriptorSetLayout; SETS]);

impl SetLayouts {
    pub fn new(ctx: &Context) -> Result<Self, GpuError> {
        let mut layouts = [vk::DescriptorSetLayout::null(); SETS];
        for (layout, types) in layouts.iter_mut().zip(BINDINGS) {
            let stages = vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::COMPUTE;
            let bindings: Vec<_> = (0..)
                .zip(types)
                .map(|(binding, ty)| {
                    vk::DescriptorSetLayoutBinding::default()
                        .binding(binding)
                        .descriptor_type(*ty)
                        .descriptor_count(1)
                        .stage_flags(stages)
                })
                .collect();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            // SAFETY: the device is live.
            *layout = unsafe { ctx.device().create_descriptor_set_layout(&info, None) }
                .map_err(failed("vkCreateDescriptorSetLayout"))?;
        }
        Ok(Self(layouts))
    }

    pub const fn raw(&self) -> &[vk::DescriptorSetLayout] {
        &self.0
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, ctx: &Context) {
        for layout in self.0 {
            unsafe { ctx.device().destroy_descriptor_set_layout(layout, None) };
        }
    }
}

/// The descriptor sets of a batch.
pub struct Sets {
    pool: vk::DescriptorPool,
    /// The descriptor sets, by program, handle and set number.
    raw: Vec<vk::DescriptorSet>,
}

impl Sets {
    pub fn new(ctx: &Context, layouts: &SetLayouts, programs: usize) -> Result<Self, GpuError> {
        let of_program = HANDLES as usize * SETS;
        let count = (programs * of_program) as u32;
        let sizes: Vec<_> = BINDINGS
            .into_iter()
            .flatten()
            .map(|ty| vk::DescriptorPoolSize { ty: *ty, descriptor_count: count })
            .collect();
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(count).pool_sizes(&sizes);
        let layouts: Vec<_> = layouts.raw().iter().copied().cycle().take(count as usize).collect();
        // SAFETY: the device is live, and the pool has room for these sets.
        unsafe {
            let pool = ctx
                .device()
                .create_descriptor_pool(&info, None)
                .map_err(failed("vkCreateDescriptorPool"))?;
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts);
            let raw = ctx
                .device()
                .allocate_descriptor_sets(&info)
                .map_err(failed("vkAllocateDescriptorSets"))?;
            Ok(Self { pool, raw })
        }
    }

    fn get(&self, program: usize, handle: u32, number: usize) -> vk::DescriptorSet {
        self.raw[(program * HANDLES as usize + handle as usize) * SETS + number]
    }

    /// Writes the sets of a program, so that they refer to its memory, before its first command
    /// buffer.
    ///
    /// # Safety
    /// No submission uses them.
    pub unsafe fn write(&self, ctx: &Context, round: &Round<'_>) {
        for (handle, number) in (0..HANDLES).flat_map(|h| (0..SETS).map(move |n| (h, n))) {
            let info = [vk::DescriptorBufferInfo {
                buffer: round.memory,
                offset: BoundSet { handle, objects: [0; 2] }.place(round.program.objects, 0),
                range: RANGE,
            }];
            let writes: Vec<_> = (0..)
                .zip(BINDINGS[number])
                .map(|(binding, ty)| {
                    vk::WriteDescriptorSet::default()
                        .dst_set(self.get(round.number, handle, number))
                        .dst_binding(binding)
                        .descriptor_type(*ty)
                        .buffer_info(&info)
                })
                .collect();
            // SAFETY: the caller's contract; the memory holds the ranges and has the usages.
            unsafe { ctx.device().update_descriptor_sets(&writes, &[]) };
        }
    }

    /// Returns the sets and the dynamic offsets for a program's sets from number `first` on.
    pub fn arguments(
        &self,
        program: usize,
        first: usize,
        sets: &[BoundSet],
    ) -> (Vec<vk::DescriptorSet>, Vec<u32>) {
        let numbered = || (first..).zip(sets);
        let raw = numbered().map(|(number, set)| self.get(program, set.handle, number));
        let offsets = numbered().flat_map(|(number, set)| {
            let objects = set.objects.into_iter().take(BINDINGS[number].len());
            objects.map(|object| object * SPACING)
        });
        (raw.collect(), offsets.collect())
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, ctx: &Context) {
        unsafe { ctx.device().destroy_descriptor_pool(self.pool, None) };
    }
}
