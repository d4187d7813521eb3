//! The arguments of `vkCmdBindDescriptorSets` and of the commands that bind sets in descriptor buffers.

use ash::vk;

/// A set that `vkCmdBindDescriptorSets` does not bind: it is in a descriptor buffer (`VK_EXT_descriptor_buffer`), or
/// consists of embedded samplers.
#[derive(Debug, Clone, Copy)]
pub enum BufferSet {
    /// A set in a bound descriptor buffer.
    Offset {
        /// `vkCmdSetDescriptorBufferOffsetsEXT` of the device.
        command: vk::PFN_vkCmdSetDescriptorBufferOffsetsEXT,
        /// The index of the descriptor buffer among those that are bound.
        buffer: u32,
        /// The offset in bytes of the set in the descriptor buffer.
        offset: vk::DeviceSize,
    },
    /// A set that consists of embedded immutable samplers.
    EmbeddedSamplers {
        /// `vkCmdBindDescriptorBufferEmbeddedSamplersEXT` of the device.
        command: vk::PFN_vkCmdBindDescriptorBufferEmbeddedSamplersEXT,
    },
}

/// Compares what is bound. The function pointers are not compared, because both belong to the same device.
impl PartialEq for BufferSet {
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (
                Self::Offset { buffer, offset, .. },
                Self::Offset { buffer: other_buffer, offset: other_offset, .. },
            ) => (buffer, offset) == (other_buffer, other_offset),
            (Self::EmbeddedSamplers { .. }, Self::EmbeddedSamplers { .. }) => true,
            _ => false,
        }
    }
}

impl BufferSet {
    /// Records the command that binds the set.
    ///
    /// # Safety
    /// The arguments meet the valid usage of the command.
    pub unsafe fn record(
        self,
        cmd: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        set: u32,
    ) {
        unsafe {
            match self {
                Self::Offset { command, buffer, offset } => {
                    command(cmd, point, layout, set, 1, &raw const buffer, &raw const offset);
                }
                Self::EmbeddedSamplers { command } => command(cmd, point, layout, set),
            }
        }
    }
}

/// The arguments of `vkCmdBindDescriptorSets`, or of a command that binds a [`BufferSet`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SetArguments<'a> {
    pub(super) layout: vk::PipelineLayout,
    pub(super) first: u32,
    /// The descriptor sets to bind, or a single null handle if `buffer_set` is bound instead.
    pub(super) sets: &'a [vk::DescriptorSet],
    pub(super) dynamic_offsets: &'a [u32],
    pub(super) buffer_set: Option<BufferSet>,
}

impl<'a> SetArguments<'a> {
    pub(super) const fn new(
        layout: vk::PipelineLayout,
        first: u32,
        sets: &'a [vk::DescriptorSet],
        dynamic_offsets: &'a [u32],
    ) -> Self {
        Self { layout, first, sets, dynamic_offsets, buffer_set: None }
    }

    pub(super) const fn of_buffer(
        layout: vk::PipelineLayout,
        set: u32,
        buffer_set: BufferSet,
    ) -> Self {
        const NONE: &[vk::DescriptorSet] = &[vk::DescriptorSet::null()];
        let buffer_set = Some(buffer_set);
        Self { layout, first: set, sets: NONE, dynamic_offsets: &[], buffer_set }
    }

    /// Records the command.
    ///
    /// # Safety
    /// The requirements of [`Recorder::bind_descriptor_sets`](crate::runtime::Recorder::bind_descriptor_sets) apply.
    pub(super) unsafe fn record(
        self,
        device: &ash::Device,
        cmd: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
    ) {
        let Self { layout, first, sets, dynamic_offsets, buffer_set } = self;
        unsafe {
            match buffer_set {
                Some(buffer_set) => buffer_set.record(cmd, point, layout, first),
                None => device.cmd_bind_descriptor_sets(
                    cmd,
                    point,
                    layout,
                    first,
                    sets,
                    dynamic_offsets,
                ),
            }
        };
    }
}
