//! Submits commands and waits for them, within limits of time.

use std::time::{Duration, Instant};

use ash::vk;

use vkxfb::runtime::{Context, MemoryAllocator, RuntimeError};

use super::pace::Pace;
use super::{Gpu, GpuError, State, Step};

impl Gpu {
    /// Sets how long to wait for a submission, before it counts as hung.
    pub const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Sets the maximum time that a submission of captures should take. Later calls of [`capture`](Self::capture) split
    /// their work into submissions, depending on how long earlier submissions took. A single capture is never split.
    pub fn set_submission_limit(&mut self, limit: Duration) {
        self.pace = Pace::new(limit);
    }

    /// The maximum time that a submission of captures should take. For CPUs the default is
    /// [`Duration::MAX`].
    pub const fn submission_limit(&self) -> Duration {
        self.pace.limit()
    }

    /// The duration of the longest submission, measured by the host.
    pub const fn longest_submission(&self) -> Duration {
        self.longest_submission
    }

    /// The number of submissions so far.
    pub const fn submissions(&self) -> u64 {
        self.submissions
    }

    /// Records commands by calling `record`, submits them, and waits until the device has finished.
    ///
    /// # Errors
    /// The errors of `record`, [`GpuError::DeviceLost`], [`GpuError::Timeout`], or a failed
    /// command. After a loss or a timeout the device cannot be used any more.
    pub fn submit<R>(
        &mut self,
        record: impl FnOnce(&Context, vk::CommandBuffer) -> Result<R, GpuError>,
    ) -> Result<R, GpuError> {
        let result = self.record(record)?;
        self.submit_and_wait()?;
        Ok(result)
    }

    /// Like [`submit`](Self::submit), but also passes the device's allocator to `record`, so that
    /// an [`Arena`](vkxfb::runtime::Arena) can [grow](vkxfb::runtime::Arena::growing).
    ///
    /// # Errors
    /// The errors of `record`, [`GpuError::DeviceLost`], [`GpuError::Timeout`], or a failed command.
    pub fn submit_growing<R>(
        &mut self,
        record: impl FnOnce(
            &Context,
            &mut (dyn MemoryAllocator + Send + Sync),
            vk::CommandBuffer,
        ) -> Result<R, RuntimeError>,
    ) -> Result<R, GpuError> {
        let mut allocator = self.allocator.take().ok_or(GpuError::NoDevice)?;
        let result = self.submit(|ctx, cmd| Ok(record(ctx, &mut allocator, cmd)?));
        self.allocator = Some(allocator);
        result
    }

    pub(super) fn record<R>(
        &mut self,
        record: impl FnOnce(&Context, vk::CommandBuffer) -> Result<R, GpuError>,
    ) -> Result<R, GpuError> {
        if self.state != State::Idle {
            return Err(GpuError::DeviceLost { during: "an earlier submission" });
        }
        let device = self.context.device();
        let cmd = self.command_buffer;
        let begin = vk::CommandBufferBeginInfo::default()
            .flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: no submission is in flight, and the handles belong to the device.
        unsafe {
            device
                .reset_command_pool(self.command_pool, vk::CommandPoolResetFlags::empty())
                .map_err(RuntimeError::vulkan("vkResetCommandPool"))?;
            device
                .begin_command_buffer(cmd, &begin)
                .map_err(RuntimeError::vulkan("vkBeginCommandBuffer"))?;
        }
        // If `record` fails, the next reset of the pool discards what was recorded.
        let result = record(&self.context, cmd)?;
        // SAFETY: `record` leaves the command buffer in the recording state.
        unsafe { device.end_command_buffer(cmd) }
            .map_err(RuntimeError::vulkan("vkEndCommandBuffer"))?;
        Ok(result)
    }

    pub(super) fn submit_and_wait(&mut self) -> Result<(), GpuError> {
        if self.omitted == Some(Step::Submission) {
            return Ok(());
        }
        let start = Instant::now();
        self.submissions += 1;
        let result = self.submit_and_wait_for_fence();
        self.longest_submission = self.longest_submission.max(start.elapsed());
        result
    }

    fn submit_and_wait_for_fence(&mut self) -> Result<(), GpuError> {
        let device = self.context.device();
        let buffers = [self.command_buffer];
        let submit = [vk::SubmitInfo::default().command_buffers(&buffers)];
        let timeout = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        // After a failure other than the loss of the device, the submission may still be running.
        let failed = |call, result| match result {
            vk::Result::ERROR_DEVICE_LOST => (State::Lost, GpuError::DeviceLost { during: call }),
            vk::Result::TIMEOUT => (State::Hung, GpuError::Timeout(self.timeout)),
            result => (State::Hung, RuntimeError::Vulkan { call, result }.into()),
        };
        // SAFETY: recording of the command buffer has ended, and the fence is not signaled.
        let result = unsafe {
            match device.queue_submit(self.queue, &submit, self.fence) {
                Ok(()) => device
                    .wait_for_fences(&[self.fence], true, timeout)
                    .map_err(|result| failed("vkWaitForFences", result))
                    .and_then(|()| {
                        let reset = device.reset_fences(&[self.fence]);
                        // The device is idle, but nothing can be submitted any more, because the
                        // fence is still signaled.
                        reset.map_err(|result| (State::Lost, failed("vkResetFences", result).1))
                    }),
                // If memory runs out, `vkQueueSubmit` has no effect.
                Err(
                    result @ (vk::Result::ERROR_OUT_OF_HOST_MEMORY
                    | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY),
                ) => Err((State::Idle, failed("vkQueueSubmit", result).1)),
                Err(result) => Err(failed("vkQueueSubmit", result)),
            }
        };
        result.map_err(|(state, error)| {
            self.state = state;
            error
        })
    }
}
