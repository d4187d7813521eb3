//! Captures in command buffers that use descriptor heaps (`VK_EXT_descriptor_heap`).
//!
//! [The specification](https://docs.vulkan.org/spec/latest/chapters/descriptorheaps.html#descriptorheaps-using) has two
//! groups of commands, each of which invalidates all state that the other group has set: those that bind descriptor
//! sets and descriptor buffers or push constants, and those that bind heaps or push data. A shader is in a pipeline for
//! one of them. So where an application uses heaps, the compute shaders of this crate are in pipelines for heaps, too,
//! and [their parameters](ParameterTransport) are in push data, at the offset where they are in push constants
//! otherwise.
//!
//! The parameters overwrite push data of the application. A captured shader does not read that data in its place: its
//! push constants are in memory anyway, and [`HeapInterface`] moves the rest behind the parameters.

use std::ffi::c_void;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ash::vk;

use vkxfb_rewriter::sysval::SYSVALS_SIZE;

/// How compute shaders of this crate get their parameters: [`Sysvals`](vkxfb_rewriter::sysval::Sysvals) for captures,
/// an address for kernels. In both cases the shader reads them in the storage class `PushConstant`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ParameterTransport {
    /// As push constants, with a pipeline layout.
    #[default]
    PushConstants,
    /// As push data, in a pipeline for descriptor heaps, which has no pipeline layout.
    PushData,
}

/// A range of memory that is bound as a descriptor heap: the members of `VkBindHeapInfoEXT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in VkBindHeapInfoEXT")]
pub struct HeapRange {
    pub address: vk::DeviceAddress,
    pub size: vk::DeviceSize,
    pub reserved_offset: vk::DeviceSize,
    pub reserved_size: vk::DeviceSize,
}

/// The descriptor heaps that are bound in a command buffer. `None` for a heap that is not bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names of the heaps")]
pub struct BoundHeaps {
    pub resources: Option<HeapRange>,
    pub samplers: Option<HeapRange>,
}

impl BoundHeaps {
    /// The heaps that are not bound in `other`.
    pub fn without(self, other: Self) -> Self {
        Self {
            resources: self.resources.filter(|heap| other.resources != Some(*heap)),
            samplers: self.samplers.filter(|heap| other.samplers != Some(*heap)),
        }
    }

    /// Those of these heaps of whose kind `other` has one, too.
    pub fn both(self, other: Self) -> Self {
        Self {
            resources: self.resources.filter(|_| other.resources.is_some()),
            samplers: self.samplers.filter(|_| other.samplers.is_some()),
        }
    }

    /// These heaps, and those of `other` in place of missing ones.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            resources: self.resources.or(other.resources),
            samplers: self.samplers.or(other.samplers),
        }
    }
}

/// Which of the two groups of state is valid at a place in a command buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DescriptorState {
    /// Descriptor sets, descriptor buffers and push constants, or nothing at all.
    #[default]
    Sets,
    /// The same, after heaps had invalidated all of it that was bound before.
    SetsAfterHeaps,
    /// These descriptor heaps, and push data.
    Heaps(BoundHeaps),
}

impl DescriptorState {
    /// How the parameters of kernels are passed without invalidating this state.
    pub(crate) const fn transport(self) -> ParameterTransport {
        match self {
            Self::Sets | Self::SetsAfterHeaps => ParameterTransport::PushConstants,
            Self::Heaps(_) => ParameterTransport::PushData,
        }
    }
}

/// The commands of `VK_EXT_descriptor_heap`, which the caller of this crate loads.
pub trait HeapCommands: fmt::Debug + Send + Sync {
    /// Records `vkCmdPushDataEXT`.
    ///
    /// # Safety
    /// The command buffer is being recorded. Offset and size are multiples of 4, and the end is within
    /// `maxPushDataSize`.
    unsafe fn push_data(&self, cmd: vk::CommandBuffer, offset: u32, data: &[u8]);

    /// Records `vkCmdBindResourceHeapEXT` and `vkCmdBindSamplerHeapEXT` for those heaps that are not `None`.
    ///
    /// # Safety
    /// The command buffer is being recorded, and inherits no heaps. The ranges are valid for the commands.
    unsafe fn bind(&self, cmd: vk::CommandBuffer, heaps: &BoundHeaps);
}

/// Records the parameters of a compute shader.
///
/// # Safety
/// The command buffer is being recorded. With [`ParameterTransport::PushConstants`] `layout` has a range for the
/// compute stage with these bytes. Otherwise `commands` are those of the device, and `maxPushDataSize` is not exceeded.
pub(crate) unsafe fn record_parameters(
    transport: ParameterTransport,
    device: &ash::Device,
    commands: Option<&Arc<dyn HeapCommands>>,
    cmd: vk::CommandBuffer,
    layout: vk::PipelineLayout,
    bytes: &[u8],
) {
    unsafe {
        match transport {
            ParameterTransport::PushConstants => {
                device.cmd_push_constants(cmd, layout, vk::ShaderStageFlags::COMPUTE, 0, bytes);
            }
            ParameterTransport::PushData => {
                if let Some(commands) = commands {
                    commands.push_data(cmd, 0, bytes);
                }
            }
        }
    }
}

/// Where the descriptors of a pipeline are that the application provides.
#[derive(Debug, Clone, Default)]
pub enum DescriptorPlace {
    /// In descriptor sets.
    #[default]
    Sets,
    /// In sets in descriptor buffers. The set layouts were created for that.
    Buffers,
    /// In descriptor heaps. The pipeline has no set layouts.
    Heaps(Arc<HeapInterface>),
}

impl DescriptorPlace {
    pub(crate) const fn heaps(&self) -> Option<&Arc<HeapInterface>> {
        match self {
            Self::Heaps(interface) => Some(interface),
            Self::Sets | Self::Buffers => None,
        }
    }
}

/// Places are equal if pipelines for them are interchangeable. An interface is equal only to itself.
impl PartialEq for DescriptorPlace {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sets, Self::Sets) | (Self::Buffers, Self::Buffers) => true,
            (Self::Heaps(a), Self::Heaps(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A structure for the `pNext` chain of a shader stage.
///
/// # Safety
/// The pointer is null or to a structure that may be in that chain. It is valid, with everything that it points to, as
/// long as the value exists, and may be read by any thread.
pub unsafe trait StageChain: fmt::Debug + Send + Sync {
    /// The structure.
    fn as_ptr(&self) -> *const c_void;
}

/// A part of the application's push data that is pushed to another offset for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedData {
    /// The offset in bytes where the application pushes it, a multiple of 4.
    pub from: u32,
    /// The offset in bytes where the capture reads it, a multiple of 4, behind [`HeapInterface::FIRST`].
    pub to: u32,
    /// The size in bytes, a multiple of 4.
    pub size: u32,
}

/// The address of a copy of the application's push data, which is pushed for a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyAddress {
    /// The offset in bytes in push data of the first byte of the copy.
    pub of: u32,
    /// The offset in bytes where the capture reads the address, a multiple of 8, behind [`HeapInterface::FIRST`].
    pub to: u32,
}

/// What a compute pipeline for descriptor heaps reads beside the parameters of this crate.
#[derive(Debug)]
pub struct HeapInterface {
    /// `VkShaderDescriptorSetAndBindingMappingInfoEXT` for the pipeline's stage. Mappings find their push data where
    /// `moved` and `copy_address` say.
    pub mappings: Box<dyn StageChain>,
    /// The parts of push data that the mappings read.
    pub moved: Vec<MovedData>,
    /// The number of bytes of push data, from the first one on, of which mappings read copies in memory.
    pub copied: u32,
    /// The copies. Each begins at another byte and has an address of its own, because it may be a uniform buffer.
    pub addresses: Vec<CopyAddress>,
}

impl HeapInterface {
    /// The first byte of push data behind the parameters of this crate.
    pub const FIRST: u32 = SYSVALS_SIZE;

    /// The range of the application's push data that contains all that mappings read. Empty if they read none.
    pub(crate) fn read(&self) -> Range<u32> {
        let moved = self.moved.iter().map(|moved| moved.from..moved.from + moved.size);
        let all = moved.chain(std::iter::once(0..self.copied)).filter(|range| !range.is_empty());
        all.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default()
    }

    /// The largest `minUniformBufferOffsetAlignment` that Vulkan allows. Each copy is aligned to it.
    const COPY_ALIGNMENT: u64 = 256;

    /// The number of bytes from one copy to the next.
    fn copy_stride(&self) -> u64 {
        u64::from(self.copied).next_multiple_of(Self::COPY_ALIGNMENT)
    }

    /// The size in bytes of the memory with all copies, wherever it begins. 0 if there is no copy.
    pub(crate) fn copies_size(&self) -> u64 {
        match self.addresses.len() as u64 {
            0 => 0,
            count => count * self.copy_stride() + Self::COPY_ALIGNMENT,
        }
    }

    /// The address of the first copy in memory that begins at `address`.
    pub(crate) const fn first_copy(address: u64) -> u64 {
        address.next_multiple_of(Self::COPY_ALIGNMENT)
    }

    /// Writes all copies of the application's push data `data`, which has [`copied`](Self::copied) bytes, to memory
    /// that begins at `address`.
    pub(crate) fn write_copies(&self, data: &[u8], address: u64, target: &mut [u8]) {
        let first = Self::first_copy(address) - address;
        let targets = target.get_mut(first as usize..).unwrap_or_default();
        let targets = targets.chunks_mut((self.copy_stride() as usize).max(1));
        for (target, copy) in targets.zip(&self.addresses) {
            let bytes = data.get(copy.of as usize..).unwrap_or_default();
            target.iter_mut().zip(bytes).for_each(|(target, byte)| *target = *byte);
        }
    }

    /// Writes to `data`, behind the parameters of this crate, what the mappings find in push data. `read` has the bytes
    /// of the application's push data in [`read`](Self::read), and `first_copy` is the address of the first copy.
    pub(crate) fn push_behind(&self, data: &mut Vec<u8>, read: &[u8], first_copy: u64) {
        let mut put = |to: u32, bytes: &[u8]| {
            let (to, end) = (to as usize, to as usize + bytes.len());
            if data.len() < end {
                data.resize(end, 0);
            }
            data[to..end].copy_from_slice(bytes);
        };
        let first = self.read().start;
        for MovedData { from, to, size } in &self.moved {
            let start = (from - first) as usize;
            put(*to, read.get(start..start + *size as usize).unwrap_or_default());
        }
        for (number, copy) in (0..).zip(&self.addresses) {
            put(copy.to, &(first_copy + number * self.copy_stride()).to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nothing;

    // SAFETY: null is allowed.
    unsafe impl StageChain for Nothing {
        fn as_ptr(&self) -> *const c_void {
            std::ptr::null()
        }
    }

    #[test]
    fn push_data_is_moved_behind_the_parameters() {
        let moved = |from, to, size| MovedData { from, to, size };
        let mut interface = HeapInterface {
            mappings: Box::new(Nothing),
            moved: vec![moved(0, 140, 4), moved(240, 128, 8)],
            copied: 0,
            addresses: Vec::new(),
        };
        assert_eq!(interface.read(), 0..248);
        let application: Vec<u8> = (0..=255).collect();
        let mut pushed = vec![0xaa; 128];
        interface.push_behind(&mut pushed, &application[..248], 0);
        assert_eq!(pushed.len(), 144);
        assert!(pushed[..128].iter().all(|byte| *byte == 0xaa));
        assert_eq!(pushed[128..136], application[240..248]);
        assert_eq!(pushed[140..144], application[..4]);

        (interface.moved, interface.copied) = (Vec::new(), 64);
        interface.addresses = vec![CopyAddress { of: 0, to: 128 }, CopyAddress { of: 36, to: 136 }];
        assert_eq!(interface.read(), 0..64);
        let mut pushed = vec![0; 128];
        interface.push_behind(&mut pushed, &application[..64], 0x1_0000_0000);
        assert_eq!(pushed[128..136], 0x1_0000_0000_u64.to_le_bytes());
        assert_eq!(pushed[136..], 0x1_0000_0100_u64.to_le_bytes());
        // Wherever the memory begins, the copies are there, and aligned.
        for address in [0x1_0000_0000, 0x1_0000_0010, 0x1_0000_00f0] {
            let mut memory = vec![0; interface.copies_size() as usize];
            interface.write_copies(&application[..64], address, &mut memory);
            let first = HeapInterface::first_copy(address);
            assert!(first.is_multiple_of(256));
            let first = (first - address) as usize;
            assert_eq!(memory[first..first + 64], application[..64]);
            assert_eq!(memory[first + 256..first + 256 + 28], application[36..64]);
        }
    }
}
