//! Names of objects and labels of commands, for tools such as RenderDoc and for messages of the validation layer:
//! [`VK_EXT_debug_utils`](https://docs.vulkan.org/refpages/latest/refpages/source/VK_EXT_debug_utils.html).

use std::ffi::{CStr, CString};
use std::sync::Arc;

use ash::{ext, vk};

use crate::runtime::device::context::Context;

impl Context {
    /// Names the objects that are created afterwards with this context and its clones, such as `vkxfb upload` or the
    /// kernel `setup`, and labels the commands of compute captures. Without this call objects have no names and
    /// commands no labels.
    ///
    /// # Safety
    /// `instance` is the one that the context was created with, and was created with `VK_EXT_debug_utils`.
    pub unsafe fn set_debug_utils(&mut self, instance: &ash::Instance) {
        let functions = ext::debug_utils::Device::new(instance, self.device());
        self.set_debug_utils_functions(functions);
    }

    /// Names an object. On failure the object stays without a name.
    pub(crate) fn name<T: vk::Handle>(&self, object: T, name: &str) {
        let Some(functions) = self.debug_utils() else { return };
        let Ok(name) = CString::new(name) else { return };
        let info =
            vk::DebugUtilsObjectNameInfoEXT::default().object_handle(object).object_name(&name);
        // SAFETY: the object was just created on the device, and nobody else has it.
        if let Err(error) = unsafe { functions.set_debug_utils_object_name(&info) } {
            tracing::debug!(%error, ?name, "an object has no name");
        }
    }

    /// Begins a label for the commands that are recorded until the returned value is dropped.
    ///
    /// # Safety
    /// `cmd` is in the recording state, and stays in it until the label is dropped.
    pub(crate) unsafe fn label(&self, cmd: vk::CommandBuffer, name: &CStr) -> Label {
        let functions = self.debug_utils().cloned();
        if let Some(functions) = &functions {
            let info = vk::DebugUtilsLabelEXT::default().label_name(name);
            unsafe { functions.cmd_begin_debug_utils_label(cmd, &info) };
        }
        Label { functions, cmd }
    }
}

/// A debug label in a command buffer. It ends when this value is dropped.
#[must_use]
pub(crate) struct Label {
    functions: Option<Arc<ext::debug_utils::Device>>,
    cmd: vk::CommandBuffer,
}

impl Drop for Label {
    fn drop(&mut self) {
        if let Some(functions) = &self.functions {
            // SAFETY: the contract of the function that began the label.
            unsafe { functions.cmd_end_debug_utils_label(self.cmd) };
        }
    }
}
