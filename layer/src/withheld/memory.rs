//! Copies of what commands are given, at addresses that stay until all of them are forgotten.

use std::alloc::Layout;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use bumpalo::Bump;

use super::structures;
use crate::chain::slice;

/// There is no memory for what is withheld.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfMemory;

impl OutOfMemory {
    /// What Vulkan calls it.
    pub(crate) const RESULT: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
}

/// A structure with pointers within.
pub(super) trait Copied: Copy {
    /// The structure, with copies of all that it points to.
    ///
    /// # Safety
    /// The structure is a valid argument of the command that it is given to.
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory>;
}

/// Where they are.
#[derive(Debug)]
pub(super) struct Memory {
    bump: Bump,
    /// How much of what they are given they read.
    templates: Arc<Templates>,
}

/// What a descriptor update template reads.
#[derive(Debug)]
pub(crate) struct Template {
    /// Of descriptors that are pushed; of others anything.
    pub(crate) bind_point: vk::PipelineBindPoint,
    pub(crate) entries: Box<[vk::DescriptorUpdateTemplateEntry]>,
}

impl Template {
    /// Bytes of its data.
    fn size(&self) -> usize {
        self.entries.iter().map(bytes_of).max().unwrap_or(0)
    }
}

/// The descriptor update templates of a device.
#[derive(Debug, Default)]
pub(crate) struct Templates(RwLock<HashMap<vk::DescriptorUpdateTemplate, Arc<Template>>>);

impl Templates {
    /// A template was created.
    ///
    /// # Safety
    /// The structure is valid.
    pub(crate) unsafe fn created(
        &self,
        template: vk::DescriptorUpdateTemplate,
        info: &vk::DescriptorUpdateTemplateCreateInfo<'_>,
    ) {
        // SAFETY: the caller's contract.
        let entries =
            unsafe { slice(info.p_descriptor_update_entries, info.descriptor_update_entry_count) };
        let known = Template { bind_point: info.pipeline_bind_point, entries: entries.into() };
        let known = Arc::new(known);
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(template, known);
    }

    /// A template is about to be destroyed.
    pub(crate) fn destroyed(&self, template: vk::DescriptorUpdateTemplate) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&template);
    }

    /// What a template reads, if it was created.
    pub(crate) fn get(&self, template: vk::DescriptorUpdateTemplate) -> Option<Arc<Template>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&template).cloned()
    }
}

/// From the start of the data to the end of the last descriptor of an entry.
fn bytes_of(entry: &vk::DescriptorUpdateTemplateEntry) -> usize {
    use vk::DescriptorType as Type;
    let Some(others) = entry.descriptor_count.checked_sub(1) else { return 0 };
    let size = match entry.descriptor_type {
        // The count is that of bytes, which lie together.
        Type::INLINE_UNIFORM_BLOCK => return entry.offset + entry.descriptor_count as usize,
        Type::UNIFORM_BUFFER
        | Type::STORAGE_BUFFER
        | Type::UNIFORM_BUFFER_DYNAMIC
        | Type::STORAGE_BUFFER_DYNAMIC => size_of::<vk::DescriptorBufferInfo>(),
        Type::UNIFORM_TEXEL_BUFFER | Type::STORAGE_TEXEL_BUFFER => size_of::<vk::BufferView>(),
        Type::ACCELERATION_STRUCTURE_KHR | Type::ACCELERATION_STRUCTURE_NV => {
            size_of::<vk::AccelerationStructureKHR>()
        }
        _ => size_of::<vk::DescriptorImageInfo>(),
    };
    entry.offset + others as usize * entry.stride + size
}

impl Memory {
    pub(super) fn new(templates: Arc<Templates>) -> Self {
        Self { bump: Bump::new(), templates }
    }

    /// Forgets all, and keeps the memory for what comes next.
    pub(super) fn reset(&mut self) {
        self.bump.reset();
    }

    /// Keeps a value, which is never dropped.
    pub(super) fn keep<T>(&self, value: T) -> Result<*mut T, OutOfMemory> {
        let place =
            self.bump.try_alloc_layout(Layout::new::<T>()).map_err(|_| OutOfMemory)?.cast::<T>();
        // SAFETY: it has that layout, and nobody else has it.
        unsafe { place.write(value) };
        Ok(place.as_ptr())
    }

    /// Copies values without pointers, or whose pointers the command does not follow. Null stays null.
    ///
    /// # Safety
    /// `values` is null, or of so many.
    pub(super) unsafe fn values<T: Copy>(
        &self,
        values: *const T,
        count: usize,
    ) -> Result<*const T, OutOfMemory> {
        if values.is_null() || count == 0 {
            return Ok(std::ptr::null());
        }
        let place = self.room::<T>(count)?;
        // SAFETY: the caller's contract; there is room for as many.
        unsafe { place.copy_from_nonoverlapping(values, count) };
        Ok(place)
    }

    /// The same of bytes.
    ///
    /// # Safety
    /// As for [`values`](Self::values).
    pub(super) unsafe fn bytes(
        &self,
        bytes: *const c_void,
        count: usize,
    ) -> Result<*const c_void, OutOfMemory> {
        // What they are of is not known: they stay as aligned as anything that they may be of.
        let copy = self
            .bump
            .try_alloc_layout(Layout::from_size_align(count, 16).map_err(|_| OutOfMemory)?);
        let copy = copy.map_err(|_| OutOfMemory)?.as_ptr();
        if bytes.is_null() {
            return Ok(bytes);
        }
        // SAFETY: the caller's contract; there is room for as many.
        unsafe { copy.copy_from_nonoverlapping(bytes.cast(), count) };
        Ok(copy.cast_const().cast())
    }

    /// The same of the data of a template.
    ///
    /// # Errors
    /// As if there were no memory, for a template that was not created.
    ///
    /// # Safety
    /// The template can be pushed from the data.
    pub(super) unsafe fn template_data(
        &self,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void,
    ) -> Result<*const c_void, OutOfMemory> {
        let size = self.templates.get(template).ok_or(OutOfMemory)?.size();
        // SAFETY: the caller's contract.
        unsafe { self.bytes(data, size) }
    }

    /// The same of structures with pointers.
    ///
    /// # Safety
    /// As for [`values`](Self::values), and [`Copied::copied`] of each.
    pub(super) unsafe fn structures<T: Copied>(
        &self,
        structures: *const T,
        count: usize,
    ) -> Result<*const T, OutOfMemory> {
        if structures.is_null() || count == 0 {
            return Ok(std::ptr::null());
        }
        let place = self.room::<T>(count)?;
        for number in 0..count {
            // SAFETY: the caller's contract; there is room for as many.
            unsafe { place.add(number).write((*structures.add(number)).copied(self)?) };
        }
        Ok(place)
    }

    /// A string that ends with 0, or null.
    ///
    /// # Safety
    /// It is one.
    pub(super) unsafe fn string(
        &self,
        string: *const c_char,
    ) -> Result<*const c_char, OutOfMemory> {
        if string.is_null() {
            return Ok(string);
        }
        // SAFETY: the caller's contract.
        unsafe { self.values(string, CStr::from_ptr(string).count_bytes() + 1) }
    }

    /// A chain of structures, without those that are not known.
    ///
    /// # Safety
    /// It is valid.
    pub(super) unsafe fn chain(&self, chain: *const c_void) -> Result<*const c_void, OutOfMemory> {
        let mut next = chain.cast::<vk::BaseInStructure<'_>>();
        // SAFETY: the caller's contract; each structure of a chain begins like that.
        unsafe {
            while let Some(structure) = next.as_ref() {
                // It copies what is behind it.
                if let Some(copied) = structures::copy(next, self)? {
                    return Ok(copied);
                }
                tracing::warn!(s_type = ?structure.s_type, "a structure that is not known is left out");
                next = structure.p_next;
            }
        }
        Ok(std::ptr::null())
    }

    /// Room for so many values.
    pub(super) fn room<T>(&self, count: usize) -> Result<*mut T, OutOfMemory> {
        let layout = Layout::array::<T>(count).map_err(|_| OutOfMemory)?;
        Ok(self.bump.try_alloc_layout(layout).map_err(|_| OutOfMemory)?.cast().as_ptr())
    }
}
