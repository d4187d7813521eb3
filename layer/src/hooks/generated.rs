//! Hooks for commands that prepare or execute device-generated commands. Draws that the device
//! generates are never captured, because `deviceGeneratedCommandsTransformFeedback` is false.

use super::commands::{Observer, observer_hooks};
use super::entry::{hooks, with_device};
use crate::registry::vk;
use crate::translate::OUT_OF_MEMORY;
use crate::withheld::arguments::ExecuteGeneratedCommandsExt;

hooks! {
    b"vkCmdPreprocessGeneratedCommandsEXT" => preprocess as PFN_vkCmdPreprocessGeneratedCommandsEXT,
    b"vkCreateIndirectCommandsLayoutEXT" =>
        create_layout as PFN_vkCreateIndirectCommandsLayoutEXT,
}

/// `VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT`, which the layer removes.
const EXPLICIT_PREPROCESS: u32 = 1;

/// Does nothing, because the layer lets the driver preprocess generated commands when they are executed. Explicit
/// preprocessing would read the state of a command buffer that is being recorded, and the driver does not have that
/// state while the layer stores the commands of a pass.
unsafe extern "system" fn preprocess(
    _command_buffer: vk::CommandBuffer,
    _info: *const vk::GeneratedCommandsInfoEXT,
    _state: vk::CommandBuffer,
) {
}

/// Explicit preprocessing did nothing, so no commands are preprocessed.
struct NotPreprocessed;

impl Observer<ExecuteGeneratedCommandsExt> for NotPreprocessed {
    #[inline]
    fn replacement(command: ExecuteGeneratedCommandsExt) -> ExecuteGeneratedCommandsExt {
        ExecuteGeneratedCommandsExt { is_preprocessed: vk::FALSE, ..command }
    }
}

observer_hooks! { NotPreprocessed: execute_generated_commands_ext }

unsafe extern "system" fn create_layout(
    device: vk::Device,
    info: *const vk::IndirectCommandsLayoutCreateInfoEXT,
    allocator: *const vk::AllocationCallbacks<'static>,
    layout: *const vk::IndirectCommandsLayoutEXT,
) -> vk::Result {
    unsafe {
        with_device("vkCreateIndirectCommandsLayoutEXT", OUT_OF_MEMORY, device, |data| {
            let next = data.next.create_indirect_commands_layout?;
            let mut info = *info.as_ref()?;
            info.flags &= !EXPLICIT_PREPROCESS;
            Some(next(device, &raw const info, allocator, layout))
        })
    }
}
