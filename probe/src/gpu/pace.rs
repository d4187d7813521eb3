//! Decides how much work is in a submission. Drivers abort submissions that take too long;
//! Panfrost's kernel driver does so after half a second. So the size of each submission depends on
//! how long the earlier ones took.

use std::time::Duration;

use super::CaptureRequest;

/// The maximum time that a submission of captures should take, unless
/// [`Gpu::set_submission_limit`](super::Gpu::set_submission_limit) sets another time.
pub const SUBMISSION_LIMIT: Duration = Duration::from_millis(300);

/// The speed in bytes per second that is assumed for the first submission. It is low, because
/// nothing is known about the device yet.
const FIRST_RATE: f64 = 4e6;

/// The speed in bytes per second that is assumed for copies, on every device.
const COPY_RATE: f64 = 100e6;

/// The minimum size in bytes of the copies in one submission.
const LEAST_COPY: u64 = 64 << 10;

/// The cost of a dispatch or draw, expressed as the number of bytes whose capture takes as long.
const CAPTURE: u64 = 1024;

/// Decides how much work is in a submission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    limit: Duration,
    /// The maximum work in the next submission, in bytes.
    budget: u64,
}

/// Returns the number of bytes that are processed in `time` at `rate` bytes per second. Saturates.
fn bytes_within(time: Duration, rate: f64) -> u64 {
    (time.as_secs_f64() * rate) as u64
}

/// Estimates the work of a capture: the bytes of its vertices and capture buffers, plus the cost of one draw.
pub(super) fn work(request: &CaptureRequest<'_>) -> u64 {
    let targets = request.buffers.iter().flatten().map(|target| target.initial.len());
    let vertices = request.vertex_data.iter().map(|data| data.bytes.len());
    targets.chain(vertices).fold(CAPTURE, |work, bytes| work.saturating_add(bytes as u64))
}

impl Pace {
    pub(super) fn new(limit: Duration) -> Self {
        Self { limit, budget: bytes_within(limit, FIRST_RATE) }
    }

    pub(super) const fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns how many of the captures should be in the next submission: at least one, unless
    /// `works` is empty.
    pub(super) fn fitting(&self, works: impl Iterator<Item = u64>) -> usize {
        let mut sum = 0_u64;
        let fits = |(index, work): &(usize, u64)| {
            sum = sum.saturating_add(*work);
            *index == 0 || sum <= self.budget
        };
        works.enumerate().take_while(fits).count()
    }

    /// Returns the maximum size in bytes of the copies in one submission.
    pub(super) fn copy(&self) -> u64 {
        // Vulkan's copies and fills need multiples of 4.
        bytes_within(self.limit, COPY_RATE).max(LEAST_COPY) & !3
    }

    /// Adapts the budget to the time that a submission took. If it took more than half of the limit, the budget becomes
    /// the work that, at the same speed, takes half of the limit. Otherwise, if the submission used at least half of
    /// the budget, the budget grows towards that work, and at most doubles.
    pub(super) fn measured(&mut self, work: u64, time: Duration) {
        let half = self.limit / 2;
        let allowed = if time.is_zero() {
            u64::MAX
        } else {
            (work as f64 * (half.as_secs_f64() / time.as_secs_f64())) as u64
        };
        if time > half {
            self.budget = allowed;
        } else if work >= self.budget / 2 {
            self.budget = self.budget.saturating_mul(2).min(allowed).max(self.budget);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_millis(300);

    /// Simulates captures that all take the same time. Returns how long the longest submission
    /// took, and the number of submissions.
    fn run(limit: Duration, captures: usize, work: u64, each: Duration) -> (Duration, usize) {
        let mut pace = Pace::new(limit);
        let (mut left, mut longest, mut submissions) = (captures, Duration::ZERO, 0);
        while left > 0 {
            let count = pace.fitting(std::iter::repeat_n(work, left));
            let time = each * count as u32;
            pace.measured(work * count as u64, time);
            (left, longest, submissions) = (left - count, longest.max(time), submissions + 1);
        }
        (longest, submissions)
    }

    #[test]
    fn a_slow_device_gets_as_much_as_it_does_in_time() {
        let ms = Duration::from_millis;
        // The simulated device captures 10 MB per second.
        let (longest, submissions) = run(LIMIT, 10_000, 10_000, ms(1));
        assert!(longest <= LIMIT && longest >= LIMIT / 4, "{longest:?}");
        assert!(submissions < 150, "{submissions}");
        // At 1 MB per second, only the first submission exceeds the limit.
        let (longest, _) = run(LIMIT, 1000, 10_000, ms(10));
        assert_eq!(longest, ms(1200));
        // On a fast device, after a few submissions all remaining captures fit into one.
        let (_, submissions) = run(LIMIT, 10_000, 10_000, Duration::from_micros(1));
        assert!(submissions <= 8, "{submissions}");
    }

    #[test]
    fn a_limit_of_nothing_gives_each_capture_a_submission() {
        assert_eq!(run(Duration::ZERO, 50, 1000, Duration::from_millis(1)).1, 50);
        assert_eq!(run(Duration::MAX, 50, 1 << 40, Duration::from_secs(100)).1, 1);
        assert_eq!(Pace::new(Duration::ZERO).copy(), LEAST_COPY);
        assert_eq!(Pace::new(Duration::MAX).copy() % 4, 0);
    }
}
