//! The sizes of the structures that may be in a chain that the layer copies, by `sType`.

use std::alloc::Layout;

use ash::vk;

macro_rules! layouts {
    ($($structure:ident)*) => {
        /// Returns the size and alignment of a structure that the layer may have to copy. `None`
        /// for a type that the layer does not know.
        pub(super) fn layout(s_type: vk::StructureType) -> Option<Layout> {
            $(
                if s_type == <vk::$structure<'_> as vk::TaggedStructure>::STRUCTURE_TYPE {
                    return Some(Layout::new::<vk::$structure<'_>>());
                }
            )*
            None
        }

        /// The names of the known structures in ash.
        #[cfg(test)]
        pub(super) const KNOWN: &[&str] = &[$(stringify!($structure)),*];
    };
}

layouts! {
    BufferCollectionBufferCreateInfoFUCHSIA
    BufferDeviceAddressCreateInfoEXT
    BufferOpaqueCaptureAddressCreateInfo
    BufferUsageFlags2CreateInfoKHR
    DedicatedAllocationBufferCreateInfoNV
    DedicatedAllocationMemoryAllocateInfoNV
    ExportMemoryAllocateInfo
    ExportMemoryAllocateInfoNV
    ExportMemoryWin32HandleInfoKHR
    ExportMemoryWin32HandleInfoNV
    ExportMetalObjectCreateInfoEXT
    ExternalMemoryBufferCreateInfo
    ImportAndroidHardwareBufferInfoANDROID
    ImportMemoryBufferCollectionFUCHSIA
    ImportMemoryFdInfoKHR
    ImportMemoryHostPointerInfoEXT
    ImportMemoryWin32HandleInfoKHR
    ImportMemoryWin32HandleInfoNV
    ImportMemoryZirconHandleInfoFUCHSIA
    ImportMetalBufferInfoEXT
    ImportScreenBufferInfoQNX
    MemoryAllocateFlagsInfo
    MemoryBarrier2
    MemoryDedicatedAllocateInfo
    MemoryOpaqueCaptureAddressAllocateInfo
    MemoryPriorityAllocateInfoEXT
    OpaqueCaptureDescriptorDataCreateInfoEXT
    VideoProfileListInfoKHR
}
