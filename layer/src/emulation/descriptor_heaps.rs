//! Tracks the descriptor heaps and push data of a command buffer (`VK_EXT_descriptor_heap`). Captured draws use them.
//! After captures, the layer pushes the program's data again, and binds its heaps again if captures have bound others. It
//! never reads the descriptors themselves.

use std::sync::Arc;

use vkxfb::runtime::descriptor_heaps::{BoundHeaps, DescriptorState, HeapCommands, HeapRange};

use crate::chain::{all_of, slice};
use crate::registry::vk;
use crate::withheld::Functions;

/// The descriptor heaps and push data as the program has set them.
#[derive(Debug, Clone, Default)]
pub(super) struct Heaps {
    pub(super) bound: BoundHeaps,
    data: Vec<u8>,
    /// For each dword of `data`, whether the program has pushed it.
    is_pushed: Vec<bool>,
}

/// Returns the arguments of `vkCmdBindResourceHeapEXT` and `vkCmdBindSamplerHeapEXT`.
pub(super) const fn range_of(info: &vk::BindHeapInfoEXT) -> HeapRange {
    HeapRange {
        address: info.heap_range.address,
        size: info.heap_range.size,
        reserved_offset: info.reserved_range_offset,
        reserved_size: info.reserved_range_size,
    }
}

/// Returns the heaps that a secondary command buffer inherits. `None` if it inherits none.
///
/// # Safety
/// The structure is valid.
pub(crate) unsafe fn inherited(info: &vk::CommandBufferInheritanceInfo<'_>) -> Option<BoundHeaps> {
    type Info = vk::CommandBufferInheritanceDescriptorHeapInfoEXT;
    unsafe {
        let info = all_of::<Info>(info.p_next).next()?;
        let resources = info.p_resource_heap_bind_info.as_ref().map(range_of);
        let samplers = info.p_sampler_heap_bind_info.as_ref().map(range_of);
        (resources.is_some() || samplers.is_some()).then_some(BoundHeaps { resources, samplers })
    }
}

impl Heaps {
    /// Heaps that are bound, without push data.
    pub(super) const fn of(bound: BoundHeaps) -> Self {
        Self { bound, data: Vec::new(), is_pushed: Vec::new() }
    }

    /// `vkCmdPushDataEXT`
    ///
    /// # Safety
    /// The structure is valid.
    pub(super) unsafe fn push(&mut self, info: &vk::PushDataInfoEXT) {
        let bytes = unsafe { slice(info.data.address.cast::<u8>(), info.data.size as u32) };
        let (start, end) = (info.offset as usize, info.offset as usize + bytes.len());
        if self.data.len() < end {
            self.data.resize(end, 0);
            self.is_pushed.resize(end.div_ceil(4), false);
        }
        self.data[start..end].copy_from_slice(bytes);
        self.is_pushed[start / 4..end.div_ceil(4)].fill(true);
    }

    /// The push data, from byte 0 on. Data that the program has not pushed is 0.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// Binds the program's heaps if others are bound, and pushes its data, which captures have disturbed. `left` is the
    /// state after captures.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the heaps are valid there.
    pub(super) unsafe fn restore(
        &self,
        commands: &HeapFunctions,
        cmd: vk::CommandBuffer,
        left: DescriptorState,
    ) {
        let bound = match left {
            DescriptorState::Sets | DescriptorState::SetsAfterHeaps => BoundHeaps::default(),
            DescriptorState::Heaps(bound) => bound,
        };
        unsafe {
            commands.bind(cmd, &self.bound.without(bound));
            let mut start = 0;
            for dwords in self.is_pushed.chunk_by(|a, b| a == b) {
                let end = (start + 4 * dwords.len()).min(self.data.len());
                if dwords[0] {
                    commands.push_data(cmd, start as u32, &self.data[start..end]);
                }
                start = end;
            }
        }
    }
}

/// The commands of a device with the extension.
pub(super) struct HeapFunctions {
    push_data: vk::PFN_vkCmdPushDataEXT,
    bind_resource_heap: vk::PFN_vkCmdBindResourceHeapEXT,
    bind_sampler_heap: vk::PFN_vkCmdBindSamplerHeapEXT,
}

impl std::fmt::Debug for HeapFunctions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HeapFunctions").finish_non_exhaustive()
    }
}

impl HeapFunctions {
    /// `None` if the device was created without the extension.
    pub(super) fn new(functions: &Functions) -> Option<Arc<Self>> {
        Some(Arc::new(Self {
            push_data: functions.push_data_ext?,
            bind_resource_heap: functions.bind_resource_heap_ext?,
            bind_sampler_heap: functions.bind_sampler_heap_ext?,
        }))
    }
}

impl HeapCommands for HeapFunctions {
    unsafe fn push_data(&self, cmd: vk::CommandBuffer, offset: u32, data: &[u8]) {
        let info = vk::PushDataInfoEXT {
            s_type: <vk::PushDataInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE,
            p_next: std::ptr::null(),
            offset,
            data: vk::HostAddressRangeConstEXT { address: data.as_ptr().cast(), size: data.len() },
        };
        unsafe { (self.push_data)(cmd, &raw const info) };
    }

    unsafe fn bind(&self, cmd: vk::CommandBuffer, heaps: &BoundHeaps) {
        let binds =
            [(heaps.resources, self.bind_resource_heap), (heaps.samplers, self.bind_sampler_heap)];
        for (range, bind) in binds {
            let Some(range) = range else { continue };
            let info = vk::BindHeapInfoEXT {
                s_type: <vk::BindHeapInfoEXT as vk::TaggedStructure>::STRUCTURE_TYPE,
                p_next: std::ptr::null(),
                heap_range: vk::DeviceAddressRangeKHR { address: range.address, size: range.size },
                reserved_range_offset: range.reserved_offset,
                reserved_range_size: range.reserved_size,
            };
            unsafe { bind(cmd, &raw const info) };
        }
    }
}
