//! How much goes into a submission. A driver ends one that takes long: Panfrost's kernel part after half a second. So
//! each submission of captures is as large as the time of those before it allows.

use std::time::Duration;

use super::CaptureRequest;

/// How long a submission of captures should take at most, unless [`Gpu::set_submission_limit`](super::Gpu::set_submission_limit)
/// says otherwise.
pub const SUBMISSION_LIMIT: Duration = Duration::from_millis(300);

/// Bytes in a second by which the first submission is measured: few, for nothing is known of the device yet.
const FIRST_RATE: f64 = 4e6;

/// Bytes in a second that every device copies.
const COPY_RATE: f64 = 100e6;

/// The least that is copied at a time.
const LEAST_COPY: u64 = 64 << 10;

/// What a capture takes beside its bytes: its dispatch or draw, in bytes that take as long.
const CAPTURE: u64 = 1024;

/// How much goes into a submission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    limit: Duration,
    /// Work of a submission.
    budget: u64,
}

/// Bytes in that time at a rate; saturates.
fn bytes_within(time: Duration, rate: f64) -> u64 {
    (time.as_secs_f64() * rate) as u64
}

/// The work of a capture, in bytes.
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

    /// How many captures, from the first on, fit into a submission: one at least, if there is one.
    pub(super) fn fitting(&self, works: impl Iterator<Item = u64>) -> usize {
        let mut sum = 0_u64;
        let fits = |(index, work): &(usize, u64)| {
            sum = sum.saturating_add(*work);
            *index == 0 || sum <= self.budget
        };
        works.enumerate().take_while(fits).count()
    }

    /// The most that is copied at a time.
    pub(super) fn copy(&self) -> u64 {
        // A multiple of 4, as copies and fills need.
        bytes_within(self.limit, COPY_RATE).max(LEAST_COPY) & !3
    }

    /// Takes into account how long a submission took. The next takes half of the limit at most, if its work is like
    /// that, and twice the work at most.
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

    /// The longest submission of equal captures, which take that long each, and how many submissions there are.
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
        // 10 MB in a second.
        let (longest, submissions) = run(LIMIT, 10_000, 10_000, ms(1));
        assert!(longest <= LIMIT && longest >= LIMIT / 4, "{longest:?}");
        assert!(submissions < 150, "{submissions}");
        // 1 MB in a second: the first submission takes more, and no other.
        let (longest, _) = run(LIMIT, 1000, 10_000, ms(10));
        assert_eq!(longest, ms(1200));
        // A fast one soon gets everything at once.
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
