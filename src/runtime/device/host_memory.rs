//! Host memory that is taken without an abort if there is none.
//!
//! The lists that grow with what an application records take their memory by [`TryPush`], so that the application gets
//! an error ([`RuntimeError::HostMemory`]) where its memory is limited. Objects of a fixed size are allocated as usual,
//! behind [`check_room`].

use std::hint::black_box;

use crate::runtime::device::error::RuntimeError;

/// The size in bytes of what [`check_room`] looks for: more than a capture takes when it is created.
const ROOM: usize = 64 << 10;

/// A list to which elements can be added without an abort.
pub trait TryPush<T> {
    /// Makes room for `count` more elements.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`]
    fn try_room(&mut self, count: usize) -> Result<(), RuntimeError>;

    /// Adds an element.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`], and the element is dropped.
    fn try_push(&mut self, element: T) -> Result<(), RuntimeError>;

    /// Adds copies of elements.
    ///
    /// # Errors
    /// [`RuntimeError::HostMemory`], and nothing is added.
    fn try_extend(&mut self, elements: &[T]) -> Result<(), RuntimeError>
    where
        T: Clone;
}

impl<T> TryPush<T> for Vec<T> {
    fn try_room(&mut self, count: usize) -> Result<(), RuntimeError> {
        self.try_reserve(count).map_err(|_| RuntimeError::HostMemory)
    }

    #[inline]
    fn try_push(&mut self, element: T) -> Result<(), RuntimeError> {
        self.try_room(1)?;
        self.push(element);
        Ok(())
    }

    fn try_extend(&mut self, elements: &[T]) -> Result<(), RuntimeError>
    where
        T: Clone,
    {
        self.try_room(elements.len())?;
        self.extend_from_slice(elements);
        Ok(())
    }
}

/// Checks that there is memory for an object of a fixed size, and for what is logged.
///
/// # Errors
/// [`RuntimeError::HostMemory`]
pub fn check_room() -> Result<(), RuntimeError> {
    let mut room = Vec::<u8>::new();
    let taken = room.try_room(ROOM);
    // Otherwise the compiler may leave the allocation out.
    black_box(&mut room);
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_room_is_an_error_and_stays_as_it_is() {
        let mut list = Vec::new();
        for number in 0..100 {
            list.try_push(number).unwrap();
        }
        list.try_extend(&[100, 101]).unwrap();
        assert!(matches!(list.try_room(usize::MAX), Err(RuntimeError::HostMemory)));
        assert_eq!(list, (0..102).collect::<Vec<_>>());
        check_room().unwrap();
    }
}
