//! Runs random cases, which are identified by seeds. Each thread has its own device and runs the
//! cases in batches. The results are collected in a report.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{Seek, Write};
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use vkxfb::lower::Backend;

use super::settings::number;

/// A device on which a thread runs cases, and the report of these cases.
pub trait Worker: Send {
    /// Runs the cases with these seeds.
    fn batch(&mut self, seeds: &[u64]);

    fn report(&mut self) -> &mut Report;

    /// Calls `f`, and adds the time that it takes to the report.
    fn timed<R>(&mut self, what: &'static str, f: impl FnOnce(&mut Self) -> R) -> R {
        let start = Instant::now();
        let result = f(self);
        *self.report().times.entry(what).or_default() += start.elapsed();
        result
    }

    /// Closes the device.
    fn finish(self) -> Report;
}

/// Runs `count` cases in batches of `size`. While a batch runs, a file `vkxfb-NAME-*.running` in
/// the directory for temporary files contains its seeds, in case a driver crashes the test.
///
/// | variable | |
/// |---|---|
/// | `VKXFB_SEED` | the seed of the first case; each further case has the next seed |
/// | `VKXFB_THREADS` | the number of threads; 2 by default |
/// | `VKXFB_FAILURES` | the number of failures after which a thread gives up; 20 by default |
pub fn run<W: Worker>(name: &str, count: u64, size: u64, open: impl Fn() -> W + Sync) -> Report {
    let first = number("VKXFB_SEED", 0);
    let threads = number("VKXFB_THREADS", 2).min(count.div_ceil(size)).max(1);
    let failures = number("VKXFB_FAILURES", 20).max(1);
    let next = AtomicU64::new(0);
    let work = || {
        let mut worker = open();
        let prefix = format!("vkxfb-{name}-");
        let file = tempfile::Builder::new().prefix(&prefix).suffix(".running").tempfile();
        let mut running = file.unwrap();
        loop {
            let start = next.fetch_add(size, Ordering::Relaxed);
            if start >= count || worker.report().failures.len() as u64 >= failures {
                return worker;
            }
            let end = count.min(start + size);
            let seeds: Vec<u64> = (start..end).map(|i| first.wrapping_add(i)).collect();
            running.rewind().unwrap();
            running.as_file().set_len(0).unwrap();
            writeln!(running, "seeds {seeds:?}").unwrap();
            worker.batch(&seeds);
        }
    };
    let workers: Vec<W> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    // If threads end and destroy devices at the same time, NVIDIA's driver (580.159.04) sometimes
    // hangs: one of its threads spins while it ends, and holds a lock that all other threads need.
    let report = workers.into_iter().map(W::finish).fold(Report::default(), Report::and);
    eprintln!("{report}");
    report
}

/// The results of a run.
#[derive(Default)]
pub struct Report {
    /// The number of cases or draws of each kind.
    pub counts: BTreeMap<&'static str, u64>,
    /// For each backend, the number of cases that were compared, without those in `faults`.
    pub compared: BTreeMap<Backend, u64>,
    /// For each backend and reason, the number of cases that were left out.
    pub excluded: BTreeMap<(Backend, &'static str), u64>,
    /// For each known fault of the driver, the number of native cases in which that fault, and no
    /// other, may show, and the number of those in which it did.
    pub faults: BTreeMap<&'static str, (u64, u64)>,
    pub failures: Vec<String>,
    /// The time that each kind of work took.
    pub times: BTreeMap<&'static str, Duration>,
}

impl Report {
    fn and(mut self, other: Self) -> Self {
        add(&mut self.counts, other.counts);
        add(&mut self.compared, other.compared);
        add(&mut self.excluded, other.excluded);
        add(&mut self.times, other.times);
        for (reason, (seen, shown)) in other.faults {
            let both = self.faults.entry(reason).or_default();
            *both = (both.0 + seen, both.1 + shown);
        }
        self.failures.extend(other.failures);
        self
    }

    pub fn count(&mut self, what: &'static str, number: u64) {
        *self.counts.entry(what).or_default() += number;
    }

    pub fn exclude(&mut self, backend: Backend, reason: &'static str) {
        *self.excluded.entry((backend, reason)).or_default() += 1;
    }

    pub fn fault(&mut self, reason: &'static str, is_shown: bool) {
        let (seen, shown) = self.faults.entry(reason).or_default();
        *seen += 1;
        *shown += u64::from(is_shown);
    }

    /// Fails if a case failed, if nothing was compared, or if a known fault no longer shows.
    pub fn check(&self) {
        assert!(self.compared.values().sum::<u64>() > 0, "nothing was compared");
        let gone = self.faults.iter().filter(|(_, (seen, shown))| *seen > 20 && *shown == 0);
        assert_eq!(gone.count(), 0, "a known fault of the driver is gone");
        assert!(self.failures.is_empty(), "{} failures", self.failures.len());
    }
}

fn add<K: Ord, V: AddAssign + Default>(all: &mut BTreeMap<K, V>, more: BTreeMap<K, V>) {
    for (key, value) in more {
        *all.entry(key).or_default() += value;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.counts {
            writeln!(f, "{what}: {count}")?;
        }
        for (backend, count) in &self.compared {
            writeln!(f, "{backend}: {count} compared")?;
        }
        for ((backend, reason), count) in &self.excluded {
            writeln!(f, "{backend}: {count} left out: {reason}")?;
        }
        for (reason, (seen, shown)) in &self.faults {
            writeln!(f, "native: {shown} of {seen} differ: {reason}")?;
        }
        for (what, time) in &self.times {
            writeln!(f, "{what}: {:.1} s", time.as_secs_f64())?;
        }
        self.failures.iter().try_for_each(|failure| writeln!(f, "\n{failure}"))
    }
}
