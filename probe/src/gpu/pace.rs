//! The size of submissions. Drivers abort a submission that takes too long: Panfrost's kernel driver after half a second. So
//! the size of each submission depends on the time that the earlier ones took.

use std::time::Duration;

use super::CaptureRequest;

/// How long a submission of captures should take at most, unless [`Gpu::set_submission_limit`](super::Gpu::set_submission_limit)
/// says otherwise.
pub const SUBMISSION_LIMIT: Duration = Duration::from_millis(300);

/// The assumed speed of the first submission in bytes per second: slow, because nothing is known about the device yet.
const FIRST_RATE: f64 = 4e6;

/// A speed in bytes per second at which every device copies.
const COPY_RATE: f64 = 100e6;

/// The minimum size of a copy in bytes.
const LEAST_COPY: u64 = 64 << 10;

/// The cost of a dispatch or draw, in bytes that take as long to capture.
const CAPTURE: u64 = 1024;

/// Decides how much work is in a submission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    limit: Duration,
    /// The maximum work of the next submission, in bytes.
    budget: u64,
}

/// The number of bytes that are processed in `time` at a rate; saturates.
fn bytes_within(time: Duration, rate: f64) -> u64 {
    (time.as_secs_f64() * rate) as u64
}

/// The work of a capture, in bytes that take as long.
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

    /// How many of the captures fit into a submission. At least one, unless there are none.
    pub(super) fn fitting(&self, works: impl Iterator<Item = u64>) -> usize {
        let mut sum = 0_u64;
        let fits = |(index, work): &(usize, u64)| {
            sum = sum.saturating_add(*work);
            *index == 0 || sum <= self.budget
        };
        works.enumerate().take_while(fits).count()
    }

    /// The maximum size of a copy in bytes.
    pub(super) fn copy(&self) -> u64 {
        // Copies and fills need a multiple of 4.
        bytes_within(self.limit, COPY_RATE).max(LEAST_COPY) & !3
    }

    /// Adapts to the time that a submission took. At the same speed, the next one takes at most half of the limit. Its work
    /// is at most twice as large.
    pub(super) fn measured(&mut self, work: u64, time: Duration) {
        let half = self.limit / 2;
        let allowed = match time.is_zero() {
            true => u64::MAX,
            false => (work as f64 * (half.as_secs_f64() / time.as_secs_f64())) as u64,
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

    /// Simulates captures that take the same time each. Returns the time of the longest submission, and the number of
    /// submissions.
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
        // 10 MB per second.
        let (longest, submissions) = run(LIMIT, 10_000, 10_000, ms(1));
        assert!(longest <= LIMIT && longest >= LIMIT / 4, "{longest:?}");
        assert!(submissions < 150, "{submissions}");
        // 1 MB per second: only the first submission takes longer than the limit.
        let (longest, _) = run(LIMIT, 1000, 10_000, ms(10));
        assert_eq!(longest, ms(1200));
        // A fast device soon gets everything in one submission.
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
