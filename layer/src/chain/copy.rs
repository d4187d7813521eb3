//! Copies `pNext` chains of programs, so that the layer can change the copies.

use std::alloc::Layout;
use std::ffi::c_void;

use ash::vk;

use super::structures;
use crate::error::Error;
use crate::interface::LayerDeviceCreateInfo;
use crate::registry::SIZES;

/// Returns the size in bytes of the structures of a type. `None` if the type is unknown, or if no chain that the layer
/// copies may contain structures of that type.
fn size(s_type: vk::StructureType) -> Option<usize> {
    if s_type == vk::StructureType::LOADER_DEVICE_CREATE_INFO {
        return Some(size_of::<LayerDeviceCreateInfo>());
    }
    let found = SIZES.binary_search_by_key(&s_type.as_raw(), |(value, _)| *value).ok()?;
    Some(SIZES[found].1)
}

/// Returns the layout in memory of a structure: its [`size`], and the alignment that all structures of chains have.
/// `None` if the structure is unknown.
pub(crate) fn layout(s_type: vk::StructureType) -> Option<Layout> {
    Layout::from_size_align(size(s_type)?, align_of::<vk::BaseInStructure<'_>>()).ok()
}

/// A structure of any type, with the alignment that all structures of chains have.
struct Structure(Box<[u64]>);

impl Structure {
    /// # Safety
    /// The pointer is to a structure of `size` bytes.
    unsafe fn copied(structure: *const c_void, size: usize) -> Self {
        let mut words = vec![0_u64; size.div_ceil(size_of::<u64>())].into_boxed_slice();
        // SAFETY: the caller's contract; the copy has room for `size` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(
                structure.cast::<u8>(),
                words.as_mut_ptr().cast::<u8>(),
                size,
            );
        }
        Self(words)
    }

    fn start(&mut self) -> &mut vk::BaseInStructure<'static> {
        // SAFETY: every structure of a chain begins with these members.
        unsafe { &mut *self.0.as_mut_ptr().cast() }
    }

    fn as_mut<T: vk::TaggedStructure>(&mut self) -> Option<&mut T> {
        let fits = size_of::<T>() <= size_of_val(&*self.0);
        let found = fits && self.start().s_type == T::STRUCTURE_TYPE;
        // SAFETY: a structure is of the type that its sType says.
        found.then(|| unsafe { &mut *self.0.as_mut_ptr().cast() })
    }
}

/// A copy of a chain, up to the first structure of unknown size. That structure and all later ones
/// are not copied: the copy ends in a pointer to the program's own structures.
///
/// Copies are shallow: pointers in the structures still point to the program's memory.
pub(crate) struct Chain {
    copies: Vec<Structure>,
    rest: *const c_void,
}

impl Chain {
    /// # Safety
    /// The chain is valid, and outlives the copy. Each structure in it has the [`size`] of its type.
    pub(crate) unsafe fn copy(first: *const c_void) -> Self {
        let mut chain = Self { copies: Vec::new(), rest: first };
        for structure in unsafe { structures(first) } {
            let base = unsafe { structure.as_ref() };
            let Some(size) = size(base.s_type) else { break };
            // SAFETY: the caller's contract; the type of a structure is what its sType says.
            chain.copies.push(unsafe { Structure::copied(structure.as_ptr().cast(), size) });
            chain.rest = base.p_next.cast();
        }
        chain
    }

    /// Returns the first structure of type `T` among the structures that are not copied. `None` if there is none.
    fn rest<T: vk::TaggedStructure + Copy + 'static>(&self) -> Option<T> {
        // SAFETY: the contract of [`Self::copy`].
        unsafe { super::all_of::<T>(self.rest) }.next().copied()
    }

    fn behind<T: vk::TaggedStructure>(&self) -> Error {
        // SAFETY: the contract of [`Self::copy`].
        let unknown = unsafe { structures(self.rest) }.next();
        // SAFETY: the contract of [`Self::copy`].
        let unknown = unknown.map(|structure| unsafe { structure.as_ref() }.s_type);
        Error::Behind { structure: T::STRUCTURE_TYPE, unknown: unknown.unwrap_or_default() }
    }

    /// Sets a feature in the first structure of type `T`. Returns whether the chain contains such a
    /// structure.
    ///
    /// # Errors
    /// [`Error::Behind`] if the structure had to be changed but was not copied.
    pub(crate) fn set<T: vk::TaggedStructure + Copy + 'static>(
        &mut self,
        feature: impl Fn(&mut T) -> &mut vk::Bool32,
        value: bool,
    ) -> Result<bool, Error> {
        let value = vk::Bool32::from(value);
        if let Some(found) = self.copies.iter_mut().find_map(Structure::as_mut::<T>) {
            *feature(found) = value;
            return Ok(true);
        }
        let Some(mut found) = self.rest::<T>() else { return Ok(false) };
        let is_so = *feature(&mut found) == value;
        if is_so { Ok(true) } else { Err(self.behind::<T>()) }
    }

    /// Changes the copy of a structure of type `T`, if the chain contains one for which `is_to_change` is true.
    ///
    /// # Errors
    /// [`Error::Behind`] if that structure was not copied.
    pub(crate) fn change<T: vk::TaggedStructure + Copy + 'static>(
        &mut self,
        is_to_change: impl Fn(&T) -> bool,
        change: impl FnOnce(&mut T),
    ) -> Result<(), Error> {
        if let Some(found) = self.copies.iter_mut().find_map(Structure::as_mut::<T>) {
            if is_to_change(found) {
                change(found);
            }
            return Ok(());
        }
        match self.rest::<T>() {
            Some(found) if is_to_change(&found) => Err(self.behind::<T>()),
            _ => Ok(()),
        }
    }

    /// Removes all structures of type `T` that were copied.
    ///
    /// # Errors
    /// [`Error::Behind`] if another structure of type `T` was not copied, because it comes after a structure of unknown
    /// size. That structure stays in the chain.
    pub(crate) fn remove<T: vk::TaggedStructure + Copy + 'static>(&mut self) -> Result<(), Error> {
        self.copies.retain_mut(|structure| structure.start().s_type != T::STRUCTURE_TYPE);
        match self.rest::<T>() {
            Some(_) => Err(self.behind::<T>()),
            None => Ok(()),
        }
    }

    /// Inserts a copy of a structure at the beginning.
    pub(crate) fn push<T: vk::TaggedStructure>(&mut self, structure: &T) {
        // SAFETY: the size is that of the structure's type.
        let copy = unsafe { Structure::copied((&raw const *structure).cast(), size_of::<T>()) };
        self.copies.insert(0, copy);
    }

    /// Drops the structures that are not copied, so that the copy no longer points to the program's chain.
    pub(crate) const fn cut(&mut self) {
        self.rest = std::ptr::null();
    }

    /// Links the copies to a chain, which continues with the structures that are not copied. Returns a pointer to the
    /// first structure; null if there is none. The pointer is valid until the chain is changed or dropped.
    pub(crate) fn link(&mut self) -> *const c_void {
        let mut next = self.rest;
        for structure in self.copies.iter_mut().rev() {
            structure.start().p_next = next.cast();
            next = structure.0.as_ptr().cast();
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_type<T: vk::TaggedStructure>() -> bool {
        size(T::STRUCTURE_TYPE) == Some(size_of::<T>())
    }

    #[test]
    fn sizes_are_those_of_ash() {
        assert!(size_of_type::<vk::PhysicalDeviceVulkan11Features<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceVulkan12Features<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceVulkan13Features<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceProvokingVertexFeaturesEXT<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceBufferDeviceAddressFeatures<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceTimelineSemaphoreFeatures<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceRobustness2FeaturesEXT<'_>>());
        assert!(size_of_type::<vk::DevicePrivateDataCreateInfo<'_>>());
        assert!(size_of_type::<vk::DeviceMemoryOverallocationCreateInfoAMD<'_>>());
        assert!(size_of_type::<vk::DeviceDiagnosticsConfigCreateInfoNV<'_>>());
        assert!(size_of_type::<vk::PhysicalDeviceFeatures2<'_>>());
        // VkPhysicalDeviceVulkan14Features, which ash does not know.
        assert_eq!(size(vk::StructureType::from_raw(55)), Some(16 + 4 * 21 + 4));
        assert_eq!(size(vk::StructureType::DEVICE_CREATE_INFO), None);
        // Sizes are multiples of the alignment, because they include the padding at the end.
        assert!(SIZES.iter().all(|(_, size)| size % align_of::<vk::BaseInStructure<'_>>() == 0));
    }
}
