//! How `vkCmdBindDescriptorSets` is recorded.

use ash::vk;

/// The arguments of `vkCmdBindDescriptorSets`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SetArguments<'a> {
    pub(super) layout: vk::PipelineLayout,
    pub(super) first: u32,
    pub(super) sets: &'a [vk::DescriptorSet],
    pub(super) dynamic_offsets: &'a [u32],
}

impl SetArguments<'_> {
    /// Records `vkCmdBindDescriptorSets`.
    ///
    /// # Safety
    /// As [`Recorder::bind_descriptor_sets`](super::Recorder::bind_descriptor_sets).
    pub(super) unsafe fn record(
        self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
    ) {
        let Self { layout, first, sets, dynamic_offsets } = self;
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_descriptor_sets(cmd, point, layout, first, sets, dynamic_offsets)
        };
    }
}
