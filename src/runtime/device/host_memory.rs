//! Host memory that is taken without an abort if there is none.
//!
//! The lists that grow with what an application records take their memory by [`TryPush`], so that the application gets
//! an error ([`RuntimeError::HostMemory`]) where its memory is limited. Objects of a fixed size are allocated as usual.

use crate::runtime::device::error::RuntimeError;

/// A list to which elements can be added without an abort.
pub(crate) trait TryPush<T> {
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
}

impl<T> TryPush<T> for Vec<T> {
    fn try_room(&mut self, count: usize) -> Result<(), RuntimeError> {
        Ok(self.try_reserve(count)?)
    }

    #[inline]
    fn try_push(&mut self, element: T) -> Result<(), RuntimeError> {
        self.try_room(1)?;
        self.push(element);
        Ok(())
    }
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
        assert!(matches!(list.try_room(usize::MAX), Err(RuntimeError::HostMemory)));
        assert_eq!(list, (0..100).collect::<Vec<_>>());
    }
}
