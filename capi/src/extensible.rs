//! Structures to which later versions may add members. Their first member is their size, by which
//! the library knows which members the caller knows.
//!
//! The rules are those of Linux for [extensible
//! structures](https://docs.kernel.org/process/adding-syscalls.html#designing-the-api-planning-for-extension):
//! members are only added at the end, and the value zero must mean the behaviour from before the
//! member existed. A structure of an older caller is read as if it had zeros at its end. A
//! structure of a newer caller must have zeros in all members that this library does not know.

use std::mem::MaybeUninit;

use crate::error::Error;

/// A size in bytes that no structure will ever reach. A larger size means that the structure was
/// not initialized; the memory at its supposed end must not be read.
const TOO_LARGE: usize = 4096;

/// A structure whose first member is its size.
///
/// # Safety
/// The structure is `repr(C)`, its first member is a `usize`, and all other members may be zero.
/// After the members of its first version there is no padding: an older library reads what a newer
/// caller has there, and every added member must change the size.
pub(crate) unsafe trait Extensible: Sized {
    /// The name in the header.
    const NAME: &'static str;
    /// The size of the structure in the first version of the library.
    const FIRST: usize;
}

/// Implements [`Extensible`] for structures. Each is given with the last member of its first
/// version, and with all members that were added since.
macro_rules! extensible {
    ($($name:ident $(<$lifetime:lifetime>)? { ..$first:ident $(, $added:ident)* })*) => { $(
        // SAFETY: the structures are in the header, so they are `repr(C)`; the rest is checked.
        unsafe impl $(<$lifetime>)? $crate::extensible::Extensible for $name $(<$lifetime>)? {
            const NAME: &'static str = stringify!($name);
            const FIRST: usize = $crate::extensible::end(
                std::mem::offset_of!($name, $first),
                |made: &$name| &made.$first,
            );
        }
        const _: () = {
            assert!(std::mem::offset_of!($name, struct_size) == 0);
            let end = <$name as $crate::extensible::Extensible>::FIRST;
            $(
                assert!(std::mem::offset_of!($name, $added) == end, "padding before a member");
                let end = $crate::extensible::end(end, |made: &$name| &made.$added);
            )*
            assert!(end == size_of::<$name>(), "padding at the end");
        };
    )* };
}
pub(crate) use extensible;

/// Returns the offset in bytes of the end of a member. `offset` is that of its start.
pub(crate) const fn end<T, M>(offset: usize, _: fn(&T) -> &M) -> usize {
    offset + size_of::<M>()
}

/// Reads a structure from the caller.
///
/// # Safety
/// The pointer is null, or it is aligned and points to a structure with the number of bytes that
/// its first member says.
pub(crate) unsafe fn read<T: Extensible>(start: *const T, name: &'static str) -> Result<T, Error> {
    let size = unsafe { size::<T>(start, name) }?;
    let known = size.min(size_of::<T>());
    // SAFETY: the caller has that many bytes, of which `known` are not in the slice.
    let rest = unsafe { std::slice::from_raw_parts(start.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|&byte| byte != 0) {
        return Err(Error::UnknownMembers { structure: T::NAME, size, known });
    }
    let mut read = MaybeUninit::<T>::zeroed();
    // SAFETY: both have `known` bytes. All members may be zero, or have the value that the caller set.
    unsafe {
        std::ptr::copy_nonoverlapping(start.cast::<u8>(), read.as_mut_ptr().cast(), known);
        Ok(read.assume_init())
    }
}

/// A structure of the caller that the library fills in.
pub(crate) struct Output<T> {
    start: *mut T,
    size: usize,
}

impl<T: Extensible> Output<T> {
    /// Checks the size of the structure, before anything is done. `None` if the pointer is null.
    ///
    /// # Safety
    /// The contract of [`read`].
    pub(crate) unsafe fn new(start: *mut T, name: &'static str) -> Result<Option<Self>, Error> {
        if start.is_null() {
            return Ok(None);
        }
        let size = unsafe { size::<T>(start, name) }?;
        Ok(Some(Self { start, size }))
    }

    /// Like [`new`](Self::new), for a pointer that must not be null.
    ///
    /// # Safety
    /// The contract of [`read`].
    pub(crate) unsafe fn required(start: *mut T, name: &'static str) -> Result<Self, Error> {
        unsafe { Self::new(start, name) }?.ok_or(Error::Null(name))
    }

    /// Writes the members that the caller knows, and zero to the bytes after the members that this
    /// library knows. The size member stays as the caller set it.
    ///
    /// # Safety
    /// The structure that was checked is still there, and nothing else uses it.
    pub(crate) unsafe fn write(self, value: &T) {
        let known = self.size.min(size_of::<T>());
        let (from, to) = ((&raw const *value).cast::<u8>(), self.start.cast::<u8>());
        let first = size_of::<usize>();
        // SAFETY: the caller has `size` bytes, and `value` at least `known`.
        unsafe {
            std::ptr::copy_nonoverlapping(from.add(first), to.add(first), known - first);
            std::ptr::write_bytes(to.add(known), 0, self.size - known);
        }
    }
}

/// Returns the size that the caller wrote into a structure. It is an error if the size is not
/// valid.
///
/// # Safety
/// The contract of [`read`].
unsafe fn size<T: Extensible>(start: *const T, name: &'static str) -> Result<usize, Error> {
    if start.is_null() {
        return Err(Error::Null(name));
    }
    let size = unsafe { start.cast::<usize>().read() };
    if (T::FIRST..TOO_LARGE).contains(&size) && size.is_multiple_of(align_of::<T>()) {
        Ok(size)
    } else {
        let (first, known) = (T::FIRST, size_of::<T>());
        Err(Error::StructSize { structure: T::NAME, size, first, known })
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    /// A structure of two versions: callers of the first version do not have `second`.
    #[repr(C)]
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    struct Versions {
        struct_size: usize,
        first: u64,
        second: u64,
    }

    extensible!(Versions { ..first, second });

    const KNOWN: usize = size_of::<Versions>();
    const WORD: usize = size_of::<u64>();

    /// The memory of a caller: the structure, and a member that only a newer header has.
    #[repr(C)]
    struct Caller(Versions, u64);

    fn caller(struct_size: usize, newer: u64) -> Caller {
        Caller(Versions { struct_size, first: 1, second: 2 }, newer)
    }

    fn read_from(caller: &Caller) -> Result<Versions, Error> {
        // SAFETY: no size of a test that is not refused is larger than the memory.
        unsafe { read((&raw const *caller).cast(), "pVersions") }
    }

    /// The memory behind the structure of the older caller contains a value, which is not read.
    #[test]
    fn an_older_caller_has_zeros_for_what_it_does_not_know() {
        let read = read_from(&caller(KNOWN - WORD, 3)).unwrap();
        assert_eq!(read, Versions { struct_size: KNOWN - WORD, first: 1, second: 0 });
    }

    #[test]
    fn a_caller_of_the_same_version_is_read_as_it_is() {
        let read = read_from(&caller(KNOWN, 3)).unwrap();
        assert_eq!(read, Versions { struct_size: KNOWN, first: 1, second: 2 });
    }

    #[test]
    fn a_newer_caller_may_only_have_zeros_where_nothing_is_known() {
        assert_eq!(read_from(&caller(KNOWN + WORD, 0)).unwrap().second, 2);
        let error = read_from(&caller(KNOWN + WORD, 1 << 63)).unwrap_err().to_string();
        let size = KNOWN + WORD;
        assert_eq!(
            error,
            format!(
                "Versions has {size} bytes, of which this library knows {KNOWN}: the others are not \
                 zero, so they need a newer library"
            )
        );
    }

    #[test]
    fn sizes_that_no_version_has_are_refused() {
        let first = KNOWN - WORD;
        for size in [0, 1, first - 1, first + 4, TOO_LARGE, 0xaaaa_aaaa, usize::MAX] {
            let error = read_from(&caller(size, 0)).unwrap_err().to_string();
            let expected = format!(
                "structSize of Versions is {size}: it must be sizeof(Versions), as VKXFB_INIT sets it, \
                 which is {KNOWN} in this version of the library and {first} in the first"
            );
            assert_eq!(error, expected);
        }
        // SAFETY: the pointer is null.
        let error = unsafe { read::<Versions>(null_mut(), "pVersions") }.unwrap_err();
        assert_eq!(error.to_string(), "pVersions is NULL");
    }

    /// The memory behind the structure of the caller is not changed, and neither is its size.
    #[test]
    fn as_much_is_written_as_the_caller_has() {
        let value = Versions { struct_size: 0, first: 11, second: 12 };
        for (size, second, newer) in [(KNOWN - WORD, 2, 3), (KNOWN, 12, 3), (KNOWN + WORD, 12, 0)] {
            let mut caller = caller(size, 3);
            // SAFETY: the memory has that size.
            unsafe {
                let output = Output::<Versions>::new((&raw mut caller).cast(), "pVersions");
                output.unwrap().unwrap().write(&value);
            }
            assert_eq!(caller.0, Versions { struct_size: size, first: 11, second });
            assert_eq!(caller.1, newer);
        }
    }

    #[test]
    fn nothing_is_written_where_there_is_no_structure() {
        // SAFETY: the pointer is null.
        assert!(unsafe { Output::<Versions>::new(null_mut(), "pVersions") }.unwrap().is_none());
        let mut caller = caller(0, 0);
        // SAFETY: the size is refused.
        let output = unsafe { Output::<Versions>::new((&raw mut caller).cast(), "pVersions") };
        assert!(matches!(output.err(), Some(Error::StructSize { size: 0, .. })));
    }
}
