//! Finds buffers by device address. The commands of `VK_KHR_device_address_commands` take
//! addresses, but captures are recorded with buffers and offsets.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use ash::vk::Handle as _;
use rustc_hash::FxHashMap;

use crate::registry::vk;

/// The live buffers of a device that have a device address.
#[derive(Debug, Default)]
pub(crate) struct Addresses(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The size in bytes of each buffer. The key is the address and the buffer, because several
    /// buffers may be bound to the same memory.
    buffers: BTreeMap<(vk::DeviceAddress, vk::Buffer), u64>,
    of: FxHashMap<vk::Buffer, vk::DeviceAddress>,
}

impl Addresses {
    /// Adds a buffer of `size` bytes that was bound to memory, with its device address.
    pub(crate) fn bound(&self, buffer: vk::Buffer, address: vk::DeviceAddress, size: u64) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = known.of.insert(buffer, address) {
            known.buffers.remove(&(old, buffer));
        }
        known.buffers.insert((address, buffer), size);
    }

    /// Removes a buffer that is about to be destroyed.
    pub(crate) fn destroyed(&self, buffer: vk::Buffer) {
        let has_none = self.0.read().unwrap_or_else(PoisonError::into_inner).of.is_empty();
        if has_none {
            return;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = known.of.remove(&buffer) {
            known.buffers.remove(&(address, buffer));
        }
    }

    pub(super) fn clear(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Known::default();
    }

    /// Returns a buffer that contains an address, and the offset of the address in that buffer.
    /// `None` if no buffer does.
    pub(super) fn find(&self, address: vk::DeviceAddress) -> Option<(vk::Buffer, u64)> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let before = known.buffers.range(..=(address, vk::Buffer::from_raw(u64::MAX))).rev();
        let mut around = before.filter(|((start, _), size)| address - start < **size);
        around.next().map(|((start, buffer), _)| (*buffer, address - start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_within_buffers() {
        let addresses = Addresses::default();
        let buffer = vk::Buffer::from_raw;
        addresses.bound(buffer(1), 1000, 100);
        addresses.bound(buffer(2), 1100, 50);
        // This buffer is bound to the same memory as buffer 1, and is larger.
        addresses.bound(buffer(3), 1000, 300);
        assert_eq!(addresses.find(999), None);
        assert_eq!(addresses.find(1000).map(|(_, offset)| offset), Some(0));
        assert_eq!(addresses.find(1149), Some((buffer(2), 49)));
        assert_eq!(addresses.find(1150), Some((buffer(3), 150)));
        assert_eq!(addresses.find(1300), None);
        addresses.destroyed(buffer(3));
        addresses.destroyed(buffer(9));
        assert_eq!(addresses.find(1150), None);
        assert_eq!(addresses.find(1099), Some((buffer(1), 99)));
        // Another buffer gets the handle of an earlier one.
        addresses.bound(buffer(1), 5000, 10);
        assert_eq!((addresses.find(1050), addresses.find(5009)), (None, Some((buffer(1), 9))));
        addresses.clear();
        assert_eq!(addresses.find(5000), None);
    }
}
