//! [`LazyPipeline`]: a Vulkan pipeline that is created when it is first needed.

use std::sync::{Mutex, OnceLock, PoisonError};

use ash::vk;

use crate::runtime::device::error::RuntimeError;

/// A pipeline that may not exist yet. The first thread that needs it creates it, while other threads that need it wait.
/// Once it exists, no thread takes the lock.
#[derive(Debug, Default)]
pub(crate) struct LazyPipeline {
    made: OnceLock<vk::Pipeline>,
    /// The lock that a thread holds while it creates the pipeline.
    making: Mutex<()>,
}

impl LazyPipeline {
    /// Returns the pipeline, and creates it if it does not exist.
    ///
    /// # Errors
    /// The error of `make`. It is not stored: the next call tries again.
    pub(crate) fn get_or_make(
        &self,
        make: impl FnOnce() -> Result<vk::Pipeline, RuntimeError>,
    ) -> Result<vk::Pipeline, RuntimeError> {
        if let Some(made) = self.made.get() {
            return Ok(*made);
        }
        // If an earlier `make` panicked, the lock is poisoned, but there is no pipeline, so this call tries again.
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.made.get() {
            return Ok(*made);
        }
        let made = make()?;
        Ok(*self.made.get_or_init(|| made))
    }

    /// The pipeline, or a null handle if it does not exist yet.
    pub(crate) fn raw(&self) -> vk::Pipeline {
        self.made.get().copied().unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use ash::vk::Handle;

    use super::*;

    #[test]
    fn one_of_many_threads_makes_it() {
        let (lazy, calls) = (LazyPipeline::default(), AtomicU32::new(0));
        let make = || {
            std::thread::yield_now();
            Ok(vk::Pipeline::from_raw(1 + u64::from(calls.fetch_add(1, Ordering::Relaxed))))
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(lazy.get_or_make(make).unwrap().as_raw(), 1));
            }
        });
        assert_eq!(calls.into_inner(), 1);
        assert_eq!(lazy.raw().as_raw(), 1);
    }

    #[test]
    fn the_call_after_an_error_tries_again() {
        let lazy = LazyPipeline::default();
        let result = vk::Result::ERROR_OUT_OF_HOST_MEMORY;
        let fail = || Err(RuntimeError::Vulkan { call: "vkCreateComputePipelines", result });
        assert!(matches!(lazy.get_or_make(fail), Err(RuntimeError::Vulkan { .. })));
        assert_eq!(lazy.raw(), vk::Pipeline::null());
        assert_eq!(lazy.get_or_make(|| Ok(vk::Pipeline::from_raw(7))).unwrap().as_raw(), 7);
        assert_eq!(lazy.get_or_make(fail).unwrap().as_raw(), 7);
    }
}
