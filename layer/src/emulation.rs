//! Captures by compute: the objects that they use on a device, and the captures of command buffers.

mod captures;
mod commands;
mod creation;
mod descriptor_pools;
mod memory;
mod objects;
mod pipeline_batches;
mod pipelines;
mod push_descriptors;
mod queries;
mod query_commands;
mod state;

use std::ffi::CStr;
use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::{ConditionalRendering, Context, Kernels};

pub(crate) use self::captures::{Captures, Hoisted};
use self::memory::Memory;
use self::objects::{Objects, SetLayout};

use crate::error::{Error, FAILED};
use crate::instance::InstanceData;
use crate::means::Means;
use crate::withheld::Templates;

/// The commands of `VK_EXT_transform_feedback`, sorted. Programs that enable the extension find
/// them.
pub(crate) const COMMANDS: [&CStr; 6] = [
    c"vkCmdBeginQueryIndexedEXT",
    c"vkCmdBeginTransformFeedbackEXT",
    c"vkCmdBindTransformFeedbackBuffersEXT",
    c"vkCmdDrawIndirectByteCountEXT",
    c"vkCmdEndQueryIndexedEXT",
    c"vkCmdEndTransformFeedbackEXT",
];

/// Returns the hook for a command on a device whose transform feedback is emulated.
pub(crate) fn hook(name: &CStr) -> vk::PFN_vkVoidFunction {
    commands::hook(name).or_else(|| creation::hook(name))
}

/// The objects of a device whose transform feedback is emulated.
pub(crate) struct Emulation {
    /// The context of all captures. [`Context::capabilities`] says what the device can do, with the
    /// version of Vulkan in effect, [`Context::enabled`] which features were enabled for captures,
    /// and [`Context::resource_plan`] how captures access memory.
    context: Context,
    kernels: Kernels,
    memory: Memory,
    objects: Objects,
    /// The descriptor update templates with which programs push descriptors.
    templates: Arc<Templates>,
    next: Next,
}

/// Commands of the next in the chain that not every device has.
struct Next {
    begin_conditional_rendering: Option<vk::PFN_vkCmdBeginConditionalRenderingEXT>,
    end_conditional_rendering: Option<vk::PFN_vkCmdEndConditionalRenderingEXT>,
    reset_query_pool: Option<vk::PFN_vkResetQueryPool>,
    push_descriptor_set: Option<vk::PFN_vkCmdPushDescriptorSetKHR>,
}

impl Emulation {
    /// # Errors
    /// A Vulkan command fails, or the device lacks a command that it must have with what was
    /// enabled.
    ///
    /// # Safety
    /// The next in the chain created the device with what the means require, and the function is
    /// its own. The device outlives the emulation, which must be [closed](Self::close) before the
    /// device is destroyed.
    pub(crate) unsafe fn load(
        instance: &InstanceData,
        physical_device: vk::PhysicalDevice,
        device: vk::Device,
        get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
        means: &Means,
    ) -> Result<Self, Error> {
        let next = &instance.next;
        // Commands of the device come from the next in its own chain.
        let functions = ash::InstanceFnV1_0 { get_device_proc_addr, ..next.fp_v1_0().clone() };
        let next = ash::Instance::from_parts_1_3(
            next.handle(),
            functions,
            next.fp_v1_1().clone(),
            next.fp_v1_3().clone(),
        );
        // SAFETY: the caller's contract; each function is of the type that its name says.
        unsafe {
            let table = ash::Device::load(next.fp_v1_0(), device);
            let (capabilities, required) = (means.capabilities.clone(), means.required.clone());
            let mut context = Context::new(&next, &table, capabilities, required)?;
            context.set_optimizes_shaders(instance.settings.optimize_shaders);
            let addresses = context.has_addresses();
            let memory = Memory::new(&next, physical_device, &table, addresses)
                .map_err(|error| Error::Runtime(error.to_string(), FAILED))?;
            let find = |name: &CStr| get_device_proc_addr(device, name.as_ptr());
            let reset = find(c"vkResetQueryPool").or_else(|| find(c"vkResetQueryPoolEXT"));
            let push = find(c"vkCmdPushDescriptorSetKHR");
            let push = push.or_else(|| find(c"vkCmdPushDescriptorSet"));
            let next = Next {
                begin_conditional_rendering: std::mem::transmute::<
                    vk::PFN_vkVoidFunction,
                    Option<vk::PFN_vkCmdBeginConditionalRenderingEXT>,
                >(find(
                    c"vkCmdBeginConditionalRenderingEXT",
                )),
                end_conditional_rendering: std::mem::transmute::<
                    vk::PFN_vkVoidFunction,
                    Option<vk::PFN_vkCmdEndConditionalRenderingEXT>,
                >(find(
                    c"vkCmdEndConditionalRenderingEXT",
                )),
                reset_query_pool: std::mem::transmute::<
                    vk::PFN_vkVoidFunction,
                    Option<vk::PFN_vkResetQueryPool>,
                >(reset),
                push_descriptor_set: std::mem::transmute::<
                    vk::PFN_vkVoidFunction,
                    Option<vk::PFN_vkCmdPushDescriptorSetKHR>,
                >(push),
            };
            let info = vk::DescriptorSetLayoutCreateInfo::default();
            let raw = table.create_descriptor_set_layout(&info, None).map_err(Error::Below)?;
            let empty = Arc::new(SetLayout::empty(raw, table));
            let kernels = Kernels::new(&context)?;
            let (objects, templates) = (Objects::new(empty), Arc::default());
            Ok(Self { context, kernels, memory, objects, templates, next })
        }
    }

    /// Sets the descriptor update templates of the device.
    pub(crate) fn with_templates(self, templates: &Arc<Templates>) -> Self {
        Self { templates: Arc::clone(templates), ..self }
    }

    /// Destroys all objects of the device.
    ///
    /// # Safety
    /// The device is live and idle, and no command buffer contains captures any more.
    pub(crate) unsafe fn close(&self) {
        self.objects.clear();
        // SAFETY: the caller's contract.
        unsafe { self.kernels.clone().destroy(&self.context) };
        self.memory.close();
    }

    /// What captures are made with.
    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    const fn memory(&self) -> &Memory {
        &self.memory
    }

    const fn objects(&self) -> &Objects {
        &self.objects
    }

    fn templates(&self) -> &Templates {
        &self.templates
    }

    const fn push_descriptor_set(&self) -> Option<vk::PFN_vkCmdPushDescriptorSetKHR> {
        self.next.push_descriptor_set
    }

    const fn reset_query_pool(&self) -> Option<vk::PFN_vkResetQueryPool> {
        self.next.reset_query_pool
    }

    fn pipeline_barrier(&self) -> vk::PFN_vkCmdPipelineBarrier {
        self.context.device().fp_v1_0().cmd_pipeline_barrier
    }

    /// # Safety
    /// The command buffer is being recorded, and conditional rendering that may be ended here is
    /// active.
    unsafe fn end_conditional_rendering(&self, cmd: vk::CommandBuffer) {
        if let Some(end) = self.next.end_conditional_rendering {
            // SAFETY: the caller's contract.
            unsafe { end(cmd) };
        }
    }

    /// # Safety
    /// The command buffer is being recorded, and conditional rendering is not active.
    unsafe fn begin_conditional_rendering(
        &self,
        cmd: vk::CommandBuffer,
        condition: &ConditionalRendering,
    ) {
        let flags = match condition.inverted {
            true => vk::ConditionalRenderingFlagsEXT::INVERTED,
            false => vk::ConditionalRenderingFlagsEXT::empty(),
        };
        let info = vk::ConditionalRenderingBeginInfoEXT::default()
            .buffer(condition.buffer)
            .offset(condition.offset)
            .flags(flags);
        if let Some(begin) = self.next.begin_conditional_rendering {
            // SAFETY: the caller's contract.
            unsafe { begin(cmd, &raw const info) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
