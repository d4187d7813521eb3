//! Copies the memory that arguments of commands point to. The copies keep their addresses until all
//! of them are freed together.

use std::alloc::Layout;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use bumpalo::Bump;

use crate::chain::slice;

/// The error if memory for storing a command cannot be allocated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutOfMemory;

impl OutOfMemory {
    /// The result that the program gets for this error.
    pub(crate) const RESULT: vk::Result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
}

/// The arguments of a command, or a structure that contains pointers.
pub(crate) trait Copied: Copy {
    /// Copies the value and everything that it points to.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the memory for the copies cannot be allocated.
    ///
    /// # Safety
    /// The arguments are valid for the command, or the structure is valid as an argument of its command.
    unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory>;
}

/// Implements [`Copied`] for structures, and generates `copy` for those that may be in chains. A row is `Structure {
/// member: copy(count), }`: `copy` is the method of [`Memory`] that copies what the member points to, and `count` the member
/// with the number of elements, or 1. `chained_by_hand` are structures for which `by_hand` implements [`Copied`].
macro_rules! copied {
    (@count $of:ident 1) => { 1 };
    (@count $of:ident $count:ident) => { $of.$count as usize };
    (@rows $($type:ty { $($member:ident: $copy:ident $(($count:tt))?,)* })*) => {$(
        impl Copied for $type {
            #[allow(clippy::unnecessary_cast, reason = "not needed for all members")]
            unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {
                unsafe {
                    Ok(Self {
                        $($member: memory.$copy(
                            self.$member $(, copied!(@count self $count))?
                        )?,)*
                        ..*self
                    })
                }
            }
        }
    )*};
    (
        chained { $($type:ty { $($copies:tt)* })* }
        chained_by_hand { $($by_hand:ty,)* }
        others { $($other:ty { $($other_copies:tt)* })* }
    ) => {
        copied!(@rows $($type { $($copies)* })* $($other { $($other_copies)* })*);

        /// Copies a structure of a chain, and what it points to. `None` if the type of the structure is unknown.
        ///
        /// # Safety
        /// The structure and its chain are valid.
        pub(super) unsafe fn copy(
            structure: *const vk::BaseInStructure<'_>,
            memory: &Memory,
        ) -> Result<Option<*const c_void>, OutOfMemory> {
            // SAFETY: the caller's contract; the type says which structure it is.
            unsafe {
                Ok(Some(match (*structure).s_type {
                    $(<$type as vk::TaggedStructure>::STRUCTURE_TYPE => {
                        memory.structures(structure.cast::<$type>(), 1)?.cast()
                    })*
                    $(<$by_hand as vk::TaggedStructure>::STRUCTURE_TYPE => {
                        memory.structures(structure.cast::<$by_hand>(), 1)?.cast()
                    })*
                    _ => return Ok(None),
                }))
            }
        }
    };
}

pub(super) use copied;

/// The memory into which the arguments of a command buffer's stored commands are copied.
#[derive(Debug)]
pub(crate) struct Memory {
    bump: Bump,
    /// The descriptor update templates, which determine the size of the data that is pushed with
    /// them.
    templates: Arc<Templates>,
    /// The templates that stored commands use. They stay alive until the commands are replayed.
    used: RefCell<Vec<Arc<Template>>>,
}

/// The layer's data of a descriptor update template: what is needed to read the data that is pushed with it, and to
/// destroy it.
///
/// A program may destroy a template as soon as it has recorded the commands that push descriptors with it, but the
/// layer may store such commands and replay them later. So the driver's template is destroyed only when this value is
/// dropped: when the program has destroyed the template, and no stored command uses it any more.
#[derive(Debug)]
pub(crate) struct Template {
    handle: vk::DescriptorUpdateTemplate,
    driver: TemplateDriver,
    /// The bind point. It is valid only for templates of push descriptors.
    pub(crate) bind_point: vk::PipelineBindPoint,
    pub(crate) entries: Box<[vk::DescriptorUpdateTemplateEntry]>,
}

/// The device of templates, and the driver's function that destroys them.
#[derive(Debug, Clone, Copy, Default)]
struct TemplateDriver {
    device: vk::Device,
    destroy: Option<vk::PFN_vkDestroyDescriptorUpdateTemplate>,
}

impl Template {
    /// Returns the size in bytes of the data that the template reads.
    fn size(&self) -> usize {
        self.entries.iter().map(bytes_of).max().unwrap_or(0)
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        if let Some(destroy) = self.driver.destroy {
            // SAFETY: the device is live: before it is destroyed, the layer removes all command buffers and calls
            // `Templates::clear`, so no template is left. The template was created without allocation callbacks, and
            // nothing uses it any more.
            unsafe { destroy(self.driver.device, self.handle, std::ptr::null()) };
        }
    }
}

/// The descriptor update templates of a device.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    driver: TemplateDriver,
    live: RwLock<HashMap<vk::DescriptorUpdateTemplate, Arc<Template>>>,
}

impl Templates {
    /// `destroy` is the driver's function that destroys templates of the device.
    pub(crate) fn new(
        device: vk::Device,
        destroy: Option<vk::PFN_vkDestroyDescriptorUpdateTemplate>,
    ) -> Self {
        Self { driver: TemplateDriver { device, destroy }, live: RwLock::default() }
    }

    /// Stores a template that was just created, without allocation callbacks.
    ///
    /// # Safety
    /// The structure is valid, and the template belongs to the device.
    pub(crate) unsafe fn created(
        &self,
        template: vk::DescriptorUpdateTemplate,
        info: &vk::DescriptorUpdateTemplateCreateInfo<'_>,
    ) {
        let entries =
            unsafe { slice(info.p_descriptor_update_entries, info.descriptor_update_entry_count) };
        let known = Arc::new(Template {
            handle: template,
            driver: self.driver,
            bind_point: info.pipeline_bind_point,
            entries: entries.into(),
        });
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        // If the layer did not see the destruction of an earlier template with the same handle, that template is still
        // in the table. It must not be dropped: this would destroy the new template, to which the handle belongs now.
        std::mem::forget(live.insert(template, known));
    }

    /// Removes a template that the program destroys. The driver's template is destroyed once no stored command uses it.
    pub(crate) fn destroyed(&self, template: vk::DescriptorUpdateTemplate) {
        let removed = self.live.write().unwrap_or_else(PoisonError::into_inner).remove(&template);
        drop(removed);
    }

    /// Removes all templates, because the device is about to be destroyed.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *self.live.write().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }

    /// Returns a template. `None` if it was not created through the layer.
    pub(crate) fn get(&self, template: vk::DescriptorUpdateTemplate) -> Option<Arc<Template>> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).get(&template).cloned()
    }
}

/// Returns the size in bytes from the start of the data to the end of the last descriptor of
/// `entry`.
fn bytes_of(entry: &vk::DescriptorUpdateTemplateEntry) -> usize {
    use vk::DescriptorType as Type;
    let Some(others) = entry.descriptor_count.checked_sub(1) else { return 0 };
    let size = match entry.descriptor_type {
        // For this type, the count is a number of bytes. The bytes are contiguous, whatever the stride is.
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
        Self { bump: Bump::new(), templates, used: RefCell::default() }
    }

    /// Frees all copies. The memory is kept for later copies.
    pub(super) fn reset(&mut self) {
        self.bump.reset();
        self.used.get_mut().clear();
    }

    /// Copies values that have no pointers, or only pointers that the command does not dereference. Returns null if
    /// `values` is null or `count` is 0.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the memory for the copies cannot be allocated.
    ///
    /// # Safety
    /// `values` is null or points to `count` values.
    pub(super) unsafe fn values<T: Copy>(
        &self,
        values: *const T,
        count: usize,
    ) -> Result<*const T, OutOfMemory> {
        if values.is_null() || count == 0 {
            return Ok(std::ptr::null());
        }
        let place = self.room::<T>(count)?;
        // SAFETY: the caller's contract; the copy has room for `count` values.
        unsafe { place.copy_from_nonoverlapping(values, count) };
        Ok(place)
    }

    /// Copies `count` bytes. Returns null if `bytes` is null or `count` is 0.
    ///
    /// # Safety
    /// The contract of [`values`](Self::values).
    pub(super) unsafe fn bytes(
        &self,
        bytes: *const c_void,
        count: usize,
    ) -> Result<*const c_void, OutOfMemory> {
        if bytes.is_null() || count == 0 {
            return Ok(std::ptr::null());
        }
        // The type of the data is not known, so the copy has the largest alignment that any type
        // may need.
        let copy = self
            .bump
            .try_alloc_layout(Layout::from_size_align(count, 16).map_err(|_| OutOfMemory)?);
        let copy = copy.map_err(|_| OutOfMemory)?.as_ptr();
        // SAFETY: the caller's contract; the copy has room for `count` bytes.
        unsafe { copy.copy_from_nonoverlapping(bytes.cast(), count) };
        Ok(copy.cast_const().cast())
    }

    /// Copies the data that is pushed with an update template, and keeps the template alive until
    /// the memory is reset.
    ///
    /// # Errors
    /// [`OutOfMemory`], also if the template is unknown, so that the size of its data is not known.
    ///
    /// # Safety
    /// The data is valid for the template.
    pub(super) unsafe fn template_data(
        &self,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void,
    ) -> Result<*const c_void, OutOfMemory> {
        let template = self.templates.get(template).ok_or(OutOfMemory)?;
        let copied = unsafe { self.bytes(data, template.size()) }?;
        let mut used = self.used.borrow_mut();
        used.try_reserve(1).map_err(|_| OutOfMemory)?;
        used.push(template);
        Ok(copied)
    }

    /// Copies structures with pointers, and the values that these point to. Returns null if `structures` is null or
    /// `count` is 0.
    ///
    /// # Safety
    /// The contract of [`values`](Self::values), and for each structure the contract of [`Copied::copied`].
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
            // SAFETY: the caller's contract; the copy has room for `count` values.
            unsafe { place.add(number).write((*structures.add(number)).copied(self)?) };
        }
        Ok(place)
    }

    /// Copies a null-terminated string. A null pointer stays null.
    ///
    /// # Safety
    /// The pointer is null or to a null-terminated string.
    pub(super) unsafe fn string(
        &self,
        string: *const c_char,
    ) -> Result<*const c_char, OutOfMemory> {
        if string.is_null() {
            return Ok(string);
        }
        unsafe { self.values(string, CStr::from_ptr(string).count_bytes() + 1) }
    }

    /// Copies what a structure within another one points to.
    ///
    /// # Safety
    /// The contract of [`Copied::copied`].
    pub(super) unsafe fn structure<T: Copied>(&self, structure: T) -> Result<T, OutOfMemory> {
        unsafe { structure.copied(self) }
    }

    /// Allocates memory for `count` values. `count` must not be 0: for an empty allocation, bumpalo may write to memory
    /// that all threads share (see `Arena` in translate/memory.rs).
    pub(super) fn room<T>(&self, count: usize) -> Result<*mut T, OutOfMemory> {
        let layout = Layout::array::<T>(count).map_err(|_| OutOfMemory)?;
        Ok(self.bump.try_alloc_layout(layout).map_err(|_| OutOfMemory)?.cast().as_ptr())
    }
}
