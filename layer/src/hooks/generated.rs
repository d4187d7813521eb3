//! Hooks for commands that the device generates: their draws are never captured, because
//! `deviceGeneratedCommandsTransformFeedback` is false.

use super::entry::{hooks, with_device};
use super::unobserved;
use crate::registry::vk;
use crate::translate::OUT_OF_MEMORY;

hooks! {
    b"vkCmdExecuteGeneratedCommandsEXT" => execute as PFN_vkCmdExecuteGeneratedCommandsEXT,
    b"vkCmdPreprocessGeneratedCommandsEXT" => preprocess as PFN_vkCmdPreprocessGeneratedCommandsEXT,
    b"vkCreateIndirectCommandsLayoutEXT" =>
        create_layout as PFN_vkCreateIndirectCommandsLayoutEXT,
}

/// `VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT`
const EXPLICIT_PREPROCESS: u32 = 1;

/// Does nothing, because generated commands are preprocessed when they are executed. Separate preprocessing reads the
/// state of a command buffer that is being recorded, which the driver does not have while the pass is withheld.
unsafe extern "system" fn preprocess(
    _command_buffer: vk::CommandBuffer,
    _info: *const vk::GeneratedCommandsInfoEXT,
    _state: vk::CommandBuffer,
) {
}

unsafe extern "system" fn execute(
    command_buffer: vk::CommandBuffer,
    _is_preprocessed: vk::Bool32,
    info: *const vk::GeneratedCommandsInfoEXT,
) {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe { unobserved::execute_generated_commands_ext(command_buffer, vk::FALSE, info) }
}

unsafe extern "system" fn create_layout(
    device: vk::Device,
    info: *const vk::IndirectCommandsLayoutCreateInfoEXT,
    allocator: *const vk::AllocationCallbacks<'static>,
    layout: *const vk::IndirectCommandsLayoutEXT,
) -> vk::Result {
    // SAFETY: Vulkan's contract, which is the caller's.
    unsafe {
        with_device("vkCreateIndirectCommandsLayoutEXT", OUT_OF_MEMORY, device, |data| {
            let next = data.next.create_indirect_commands_layout?;
            let mut info = *info.as_ref()?;
            info.flags &= !EXPLICIT_PREPROCESS;
            Some(next(device, &raw const info, allocator, layout))
        })
    }
}
