//! Finds the state of an instance or a device by the dispatch key that it shares with its objects.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk::Handle;

/// The first word of a dispatchable object: the pointer to the loader's dispatch table. An instance
/// has the same key as its physical devices, and a device the same as its queues and command
/// buffers. No two live instances or devices have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DispatchKey(usize);

impl DispatchKey {
    /// Returns the key of a handle; `None` for the null handle.
    ///
    /// # Safety
    /// The handle is null, or that of a live dispatchable object, as the loader passes it to
    /// layers.
    pub(crate) unsafe fn of<H: Handle>(handle: H) -> Option<Self> {
        // The handle of a dispatchable object is its address.
        let object = handle.as_raw() as usize as *const usize;
        // SAFETY: the caller's contract: the object begins with a pointer.
        (!object.is_null()).then(|| Self(unsafe { object.read() }))
    }
}

/// The states of all instances, or of all devices, from their creation to their destruction.
///
/// States are shared: a state that was removed lives on while another thread still uses it. No
/// method holds the lock when it returns.
#[derive(Debug)]
pub(crate) struct DispatchMap<T>(RwLock<BTreeMap<DispatchKey, Arc<T>>>);

impl<T> DispatchMap<T> {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(BTreeMap::new()))
    }

    pub(crate) fn insert(&self, key: DispatchKey, data: Arc<T>) {
        let previous = self.0.write().unwrap_or_else(PoisonError::into_inner).insert(key, data);
        drop(previous);
    }

    pub(crate) fn get(&self, key: DispatchKey) -> Option<Arc<T>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
    }

    /// Removes the state of an instance or device, and returns it. `None` if there is none. Must be called before the
    /// object itself is destroyed, because after that another object may get its key.
    pub(crate) fn remove(&self, key: DispatchKey) -> Option<Arc<T>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&key)
    }
}

#[cfg(test)]
mod tests {
    use ash::vk;

    use super::*;

    #[test]
    fn objects_of_an_instance_share_its_key() {
        let table = 0_u8;
        let object = || [&raw const table as usize, 7];
        let (instance, device) = (object(), object());
        // SAFETY: both begin with a pointer, as the loader's objects do.
        let (of_instance, of_device, of_none) = unsafe {
            (
                DispatchKey::of(vk::Instance::from_raw(instance.as_ptr() as u64)),
                DispatchKey::of(vk::PhysicalDevice::from_raw(device.as_ptr() as u64)),
                DispatchKey::of(vk::Instance::null()),
            )
        };
        assert!(of_instance.is_some());
        assert_eq!(of_instance, of_device);
        assert_eq!(of_none, None);
    }

    #[test]
    fn what_is_removed_lives_while_it_is_read() {
        static MAP: DispatchMap<&str> = DispatchMap::new();
        let key = DispatchKey(1);
        MAP.insert(key, Arc::new("first"));
        let read = MAP.get(key);
        assert!(MAP.remove(key).is_some());
        assert_eq!(MAP.remove(key), None);
        MAP.insert(key, Arc::new("second"));
        assert_eq!(read.as_deref(), Some(&"first"));
        assert_eq!(MAP.get(key).as_deref(), Some(&"second"));
    }
}
