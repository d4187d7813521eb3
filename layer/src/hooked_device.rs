//! Has the data that the layer keeps for a device on which it may store the commands of a render pass until the pass
//! ends.

use std::sync::Arc;

use ash::vk;

use crate::capture_support::CaptureSupport;
use crate::creation::Creation;
use crate::emulation::Emulation;
use crate::error::Error;
use crate::instance::InstanceData;
use crate::next::next;
use crate::translate::{Translation, Usages};
use crate::withheld::{Functions, Templates};

/// A device of which commands have hooks: the functions that the hooks call, and what the layer keeps for them.
pub(crate) struct HookedDevice {
    pub(crate) functions: Arc<Functions>,
    pub(crate) templates: Arc<Templates>,
    /// The translation of the device's render passes and arguments. `None` if transform feedback is not
    /// emulated.
    pub(crate) translation: Option<Translation>,
    /// The objects that captures use. `None` if transform feedback is not emulated.
    pub(crate) emulation: Option<Arc<Emulation>>,
    pub(crate) next: Next,
}

next! {
    /// The commands of the layer or driver below that hooks call and that are not in [`Functions`]. Commands of Vulkan
    /// 1.0 are never `None`.
    struct Next {
        allocate_command_buffers PFN_vkAllocateCommandBuffers [c"vkAllocateCommandBuffers"];
        allocate_memory PFN_vkAllocateMemory [c"vkAllocateMemory"];
        begin_command_buffer PFN_vkBeginCommandBuffer [c"vkBeginCommandBuffer"];
        buffer_requirements PFN_vkGetDeviceBufferMemoryRequirements
            [c"vkGetDeviceBufferMemoryRequirements", c"vkGetDeviceBufferMemoryRequirementsKHR"];
        create_buffer PFN_vkCreateBuffer [c"vkCreateBuffer"];
        create_indirect_commands_layout PFN_vkCreateIndirectCommandsLayoutEXT
            [c"vkCreateIndirectCommandsLayoutEXT"];
        create_render_pass PFN_vkCreateRenderPass [c"vkCreateRenderPass"];
        create_render_pass2 PFN_vkCreateRenderPass2
            [c"vkCreateRenderPass2", c"vkCreateRenderPass2KHR"];
        create_set_layout PFN_vkCreateDescriptorSetLayout [c"vkCreateDescriptorSetLayout"];
        create_shaders PFN_vkCreateShadersEXT [c"vkCreateShadersEXT"];
        create_template PFN_vkCreateDescriptorUpdateTemplate
            [c"vkCreateDescriptorUpdateTemplate", c"vkCreateDescriptorUpdateTemplateKHR"];
        destroy_pool PFN_vkDestroyCommandPool [c"vkDestroyCommandPool"];
        destroy_render_pass PFN_vkDestroyRenderPass [c"vkDestroyRenderPass"];
        destroy_shader PFN_vkDestroyShaderEXT [c"vkDestroyShaderEXT"];
        destroy_template PFN_vkDestroyDescriptorUpdateTemplate
            [c"vkDestroyDescriptorUpdateTemplate", c"vkDestroyDescriptorUpdateTemplateKHR"];
        end_command_buffer PFN_vkEndCommandBuffer [c"vkEndCommandBuffer"];
        free_command_buffers PFN_vkFreeCommandBuffers [c"vkFreeCommandBuffers"];
        module_identifier PFN_vkGetShaderModuleIdentifierEXT [c"vkGetShaderModuleIdentifierEXT"];
        module_info_identifier PFN_vkGetShaderModuleCreateInfoIdentifierEXT
            [c"vkGetShaderModuleCreateInfoIdentifierEXT"];
        queue_submit PFN_vkQueueSubmit [c"vkQueueSubmit"];
        queue_submit2 PFN_vkQueueSubmit2 [c"vkQueueSubmit2", c"vkQueueSubmit2KHR"];
        reset_command_buffer PFN_vkResetCommandBuffer [c"vkResetCommandBuffer"];
        reset_pool PFN_vkResetCommandPool [c"vkResetCommandPool"];
        reset_query_pool PFN_vkResetQueryPool [c"vkResetQueryPool", c"vkResetQueryPoolEXT"];
        shader_binary PFN_vkGetShaderBinaryDataEXT [c"vkGetShaderBinaryDataEXT"];
        set_layout_support PFN_vkGetDescriptorSetLayoutSupport
            [c"vkGetDescriptorSetLayoutSupport", c"vkGetDescriptorSetLayoutSupportKHR"];
    }
}

impl HookedDevice {
    /// Fetches the functions of the layer or driver below. The result does not emulate transform feedback until
    /// [`emulate`](Self::emulate) is called.
    ///
    /// # Safety
    /// The device is live, and the function belongs to the layer or driver below.
    pub(crate) unsafe fn load(device: vk::Device, get: vk::PFN_vkGetDeviceProcAddr) -> Self {
        // SAFETY: the caller's contract; `get` returns functions of the type that belongs to the
        // name.
        let (functions, next) = unsafe {
            let find = |name: &std::ffi::CStr| get(device, name.as_ptr());
            (Arc::new(Functions::load(find)), Next::load(find))
        };
        let templates = Arc::new(Templates::new(device, next.destroy_template));
        Self { functions, templates, translation: None, emulation: None, next }
    }

    /// Whether the layer [draws geometry shaders](Emulation::draws_geometry) on the device.
    pub(crate) fn draws_geometry(&self) -> bool {
        self.emulation.as_ref().is_some_and(|emulation| emulation.draws_geometry())
    }

    /// Enables emulation of transform feedback on the device. `first_instances` says whether indirect draws may have a
    /// `firstInstance` other than 0.
    ///
    /// # Errors
    /// The errors of [`Emulation::load`].
    ///
    /// # Safety
    /// The contract of [`Emulation::load`].
    pub(crate) unsafe fn emulate(
        &mut self,
        instance: &InstanceData,
        physical_device: vk::PhysicalDevice,
        device: vk::Device,
        get: vk::PFN_vkGetDeviceProcAddr,
        support: &CaptureSupport,
        creation: &Creation<'_>,
    ) -> Result<(), Error> {
        let (functions, templates) = (Arc::clone(&self.functions), Arc::clone(&self.templates));
        let mut emulation = unsafe {
            Emulation::load(instance, physical_device, device, get, support, functions, templates)
        }?;
        emulation.allow_first_instances(creation.has_first_instances());
        emulation.count_generated(creation.counts_generated());
        if creation.draws_geometry() {
            emulation.draw_geometry(support, creation.has_layer_outputs());
        }
        self.translation = Some(Translation::new(Usages::emulating(emulation.context().enabled())));
        self.emulation = Some(Arc::new(emulation));
        Ok(())
    }
}
