//! Descriptor sets of the descriptor plan, their pools and their layout.

use ash::vk;

use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::table_limits::TableLimits;

/// A pool of descriptor sets, all of which are allocated in advance.
#[derive(Debug)]
pub(crate) struct Sets {
    layout: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    sets: Vec<vk::DescriptorSet>,
    pub(crate) used: u32,
}

impl Sets {
    /// Creates a pool with `count` sets, at least 1, of the layout that `limits` defines.
    ///
    /// # Errors
    /// A failed command.
    ///
    /// # Safety
    /// The device of `ctx` is live.
    pub(crate) unsafe fn new(
        ctx: &Context,
        limits: &TableLimits,
        count: u32,
    ) -> Result<Self, RuntimeError> {
        let device = ctx.device();
        let count = count.max(1);
        let mut this = Self {
            layout: unsafe { create_layout(ctx, limits) }?,
            pool: vk::DescriptorPool::null(),
            sets: Vec::new(),
            used: 0,
        };
        let sizes = [vk::DescriptorPoolSize {
            ty: vk::DescriptorType::STORAGE_BUFFER,
            descriptor_count: (limits.reads + limits.writes).saturating_mul(count),
        }];
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(count).pool_sizes(&sizes);
        // SAFETY: the caller's contract; the pool has room for `count` sets.
        let made = unsafe {
            device
                .create_descriptor_pool(&info, None)
                .map_err(RuntimeError::vulkan("vkCreateDescriptorPool"))
                .and_then(|pool| {
                    this.pool = pool;
                    let layouts = vec![this.layout; count as usize];
                    let info = vk::DescriptorSetAllocateInfo::default()
                        .descriptor_pool(pool)
                        .set_layouts(&layouts);
                    device
                        .allocate_descriptor_sets(&info)
                        .map_err(RuntimeError::vulkan("vkAllocateDescriptorSets"))
                })
        };
        match made {
            Ok(sets) => {
                ctx.name(this.pool, "vkxfb buffers");
                Ok(Self { sets, ..this })
            }
            Err(error) => {
                // SAFETY: nothing uses the sets.
                unsafe { this.destroy(ctx) };
                Err(error)
            }
        }
    }

    /// The number of sets, taken or not.
    pub(crate) fn capacity(&self) -> u32 {
        u32::try_from(self.sets.len()).unwrap_or(u32::MAX)
    }

    /// Takes an unused set. Returns `None` if all sets are taken.
    pub(crate) fn take(&mut self) -> Option<vk::DescriptorSet> {
        let set = self.sets.get(self.used as usize).copied();
        self.used += u32::from(set.is_some());
        set
    }

    /// # Safety
    /// The device no longer uses the sets, and `ctx` is the context that they were created with.
    pub(crate) unsafe fn destroy(self, ctx: &Context) {
        // SAFETY: the caller's contract; the sets go with their pool.
        unsafe {
            ctx.device().destroy_descriptor_pool(self.pool, None);
            ctx.device().destroy_descriptor_set_layout(self.layout, None);
        }
    }
}

/// A pipeline layout. Under the descriptor plan it also owns the layout of the plan's descriptor set.
///
/// Vulkan no longer needs a set layout once the pipeline layout is created, but the validation layer (1.4) reports
/// pipelines that are created with the pipeline layout after the set layout was destroyed.
#[derive(Debug)]
pub(crate) struct PipelineLayout {
    pub(crate) raw: vk::PipelineLayout,
    /// The set layout of the descriptor plan, or null if shaders use device addresses.
    table: vk::DescriptorSetLayout,
}

impl PipelineLayout {
    /// A layout that the application created.
    pub(crate) const fn foreign(raw: vk::PipelineLayout) -> Self {
        Self { raw, table: vk::DescriptorSetLayout::null() }
    }

    /// No layout, for a pipeline in descriptor heaps.
    pub(crate) const fn none() -> Self {
        Self::foreign(vk::PipelineLayout::null())
    }

    /// Creates a pipeline layout with `set_layouts` and, if there are `limits` (under the descriptor plan), with the
    /// layout of the plan's descriptor set after them.
    ///
    /// # Errors
    /// A failed command.
    ///
    /// # Safety
    /// The device of `ctx` is live, and the set layouts belong to it.
    pub(crate) unsafe fn new(
        ctx: &Context,
        set_layouts: &[vk::DescriptorSetLayout],
        limits: Option<&TableLimits>,
        ranges: &[vk::PushConstantRange],
    ) -> Result<Self, RuntimeError> {
        let mut set_layouts = set_layouts.to_vec();
        let table = match limits {
            Some(limits) => unsafe { create_layout(ctx, limits) }?,
            None => vk::DescriptorSetLayout::null(),
        };
        set_layouts.extend(limits.map(|_| table));
        let info = vk::PipelineLayoutCreateInfo::default()
            .set_layouts(&set_layouts)
            .push_constant_ranges(ranges);
        match unsafe { ctx.device().create_pipeline_layout(&info, None) } {
            Ok(raw) => Ok(Self { raw, table }),
            Err(result) => {
                // SAFETY: nothing uses the set layout; a null handle is ignored.
                unsafe { ctx.device().destroy_descriptor_set_layout(table, None) };
                Err(RuntimeError::Vulkan { call: "vkCreatePipelineLayout", result })
            }
        }
    }

    /// # Safety
    /// The device no longer uses the layout; `ctx` is the context that it was made with.
    pub(crate) unsafe fn destroy(&self, ctx: &Context) {
        // SAFETY: the caller's contract; null handles are ignored.
        unsafe {
            ctx.device().destroy_pipeline_layout(self.raw, None);
            ctx.device().destroy_descriptor_set_layout(self.table, None);
        }
    }
}

/// # Safety
/// The device of `ctx` is live.
unsafe fn create_layout(
    ctx: &Context,
    limits: &TableLimits,
) -> Result<vk::DescriptorSetLayout, RuntimeError> {
    let binding = |binding: u32| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(limits.bindings()[binding as usize])
            .stage_flags(vk::ShaderStageFlags::COMPUTE)
    };
    let bindings = [binding(0), binding(1)];
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    unsafe { ctx.device().create_descriptor_set_layout(&info, None) }
        .map_err(RuntimeError::vulkan("vkCreateDescriptorSetLayout"))
}
