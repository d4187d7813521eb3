//! Tracks descriptor buffers (`VK_EXT_descriptor_buffer`), and the sets in them. Captured draws use the sets. After
//! captures, the layer binds the program's buffers and sets again. It never reads the descriptors themselves.

use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::BufferSet;

use super::Emulation;
use crate::chain::all_of;

/// A descriptor buffer as it was bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BoundBuffer {
    address: vk::DeviceAddress,
    usage: vk::BufferUsageFlags,
    /// The 64-bit usage in the chain, which replaces `usage`. `None` if the chain has none.
    usage2: Option<vk::BufferUsageFlags2KHR>,
}

/// The descriptor buffers of one `vkCmdBindDescriptorBuffersEXT`.
pub(crate) type BoundBuffers = Arc<[BoundBuffer]>;

/// A descriptor set in a descriptor buffer, or a set of embedded samplers, with the pipeline layout
/// that it was bound with.
#[derive(Debug, Clone)]
struct Bound {
    layout: vk::PipelineLayout,
    set: BufferSet,
}

/// The descriptor buffers that are bound in a command buffer, and the sets in them.
#[derive(Debug, Clone, Default)]
pub(super) struct DescriptorBuffers {
    pub(super) bound: Option<BoundBuffers>,
    /// The sets of the graphics bind point and of the compute bind point, by set number.
    graphics: Vec<Option<Bound>>,
    compute: Vec<Option<Bound>>,
}

/// Copies the arguments of `vkCmdBindDescriptorBuffersEXT`.
///
/// # Safety
/// The structures are valid.
pub(super) unsafe fn bound_buffers(
    infos: &[vk::DescriptorBufferBindingInfoEXT<'_>],
) -> BoundBuffers {
    let bound = infos.iter().map(|info| {
        let flags2 =
            unsafe { all_of::<vk::BufferUsageFlags2CreateInfoKHR<'_>>(info.p_next) }.next();
        let usage2 = flags2.map(|flags| flags.usage);
        BoundBuffer { address: info.address, usage: info.usage, usage2 }
    });
    bound.collect()
}

/// # Safety
/// The command buffer is being recorded, and the buffers are valid there.
pub(super) unsafe fn bind(buffers: &[BoundBuffer], emulation: &Emulation, cmd: vk::CommandBuffer) {
    let flags2: Vec<_> = buffers
        .iter()
        .map(|buffer| {
            let usage = buffer.usage2.unwrap_or_default();
            vk::BufferUsageFlags2CreateInfoKHR::default().usage(usage)
        })
        .collect();
    let infos: Vec<_> = buffers
        .iter()
        .zip(&flags2)
        .map(|(buffer, flags2)| vk::DescriptorBufferBindingInfoEXT {
            p_next: match buffer.usage2 {
                Some(_) => (&raw const *flags2).cast_mut().cast(),
                None => std::ptr::null_mut(),
            },
            address: buffer.address,
            usage: buffer.usage,
            ..Default::default()
        })
        .collect();
    if let Some(bind) = emulation.functions.bind_descriptor_buffers_ext {
        unsafe { bind(cmd, infos.len() as u32, infos.as_ptr()) };
    }
}

impl DescriptorBuffers {
    /// Notes that the program binds descriptor buffers. Offsets into the previous buffers become
    /// invalid.
    pub(super) fn bind(&mut self, buffers: BoundBuffers) {
        self.bound = Some(buffers);
        for bound in self.graphics.iter_mut().chain(&mut self.compute) {
            bound.take_if(|bound| matches!(bound.set, BufferSet::Offset { .. }));
        }
    }

    fn of(&mut self, point: vk::PipelineBindPoint) -> Option<&mut Vec<Option<Bound>>> {
        match point {
            vk::PipelineBindPoint::GRAPHICS => Some(&mut self.graphics),
            vk::PipelineBindPoint::COMPUTE => Some(&mut self.compute),
            _ => None,
        }
    }

    /// Notes that the program binds a set in a descriptor buffer, or a set of embedded samplers.
    pub(super) fn set(
        &mut self,
        point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        set: BufferSet,
    ) {
        let Some(sets) = self.of(point) else { return };
        let number = number as usize;
        if sets.len() <= number {
            sets.resize(number + 1, None);
        }
        sets[number] = Some(Bound { layout, set });
    }

    /// Notes that the program binds a descriptor set from a pool. It replaces a set in a descriptor buffer.
    #[cold]
    pub(super) fn replace(&mut self, point: vk::PipelineBindPoint, number: u32) {
        let bound = self.of(point).and_then(|sets| sets.get_mut(number as usize));
        if let Some(bound) = bound {
            *bound = None;
        }
    }

    /// Returns the set in a descriptor buffer, or the set of embedded samplers, that is bound at a set number of the
    /// graphics bind point. `None` if there is none.
    pub(super) fn graphics_set(&self, number: u32) -> Option<BufferSet> {
        self.graphics.get(number as usize)?.as_ref().map(|bound| bound.set)
    }

    /// Binds the sets of the compute bind point again, which captures have disturbed. If captures
    /// have bound other descriptor buffers (`are_rebound`), also binds the program's buffers and
    /// the sets of the graphics bind point.
    ///
    /// # Safety
    /// The command buffer is being recorded, and everything that is bound is valid there.
    pub(super) unsafe fn restore(
        &self,
        emulation: &Emulation,
        cmd: vk::CommandBuffer,
        are_rebound: bool,
    ) {
        unsafe {
            if are_rebound {
                if let Some(buffers) = &self.bound {
                    bind(buffers, emulation, cmd);
                }
                restore(&self.graphics, cmd, vk::PipelineBindPoint::GRAPHICS);
            }
            restore(&self.compute, cmd, vk::PipelineBindPoint::COMPUTE);
        }
    }
}

/// # Safety
/// The contract of [`DescriptorBuffers::restore`].
unsafe fn restore(sets: &[Option<Bound>], cmd: vk::CommandBuffer, point: vk::PipelineBindPoint) {
    for (number, bound) in (0..).zip(sets) {
        if let Some(Bound { layout, set }) = bound {
            unsafe { set.record(cmd, point, *layout, number) };
        }
    }
}
