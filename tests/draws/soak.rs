//! A soak test: threads record and submit random programs with the device's own captures, and
//! reuse, reset and destroy their objects in all orders. Some threads have their own device, others
//! share one. Each step is compared with the model, and the memory of the process must not grow.

mod client;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb_probe::gpu::OpenOptions;

use self::client::Client;
use crate::common::device;
use crate::common::settings::number;
use crate::common::test_device::TestDevice;
use crate::known;

/// The number of threads that have their own device, and of those that share one.
const THREADS: [u64; 2] = [4, 4];
/// The number of steps of a thread in each part, if no time is given.
const STEPS: u64 = 3;
/// The allowed growth of resident memory in bytes since the end of the first part, when drivers
/// have filled their caches. Fragmentation by a driver's compiler makes the memory vary by about
/// 200 MiB in both directions. A leak of 32 KiB per step, the size of an arena of the layer, is
/// noticed within 10,000 steps, which take 20 minutes.
const GROWTH: u64 = 256 << 20;

/// A device. All threads that use it submit to the same queue.
pub struct Device {
    gpu: Mutex<TestDevice>,
    ctx: Context,
    family: u32,
    queue: Mutex<vk::Queue>,
}

impl Device {
    fn open() -> Self {
        let gpu = device::open_with(OpenOptions { robustness: true, ..Default::default() });
        let (ctx, (queue, family)) = (gpu.context().clone(), gpu.queue());
        Self { gpu: Mutex::new(gpu), ctx, family, queue: Mutex::new(queue) }
    }

    /// Locks the objects that only one thread may use at a time: memory, and the messages of the
    /// validation layer.
    fn gpu(&self) -> MutexGuard<'_, TestDevice> {
        self.gpu.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the messages of the validation layer.
    fn messages(&self) -> Vec<String> {
        let messages = self.gpu().take_messages();
        let messages = messages.iter().filter(|message| !known::is_false_message(message));
        messages.map(ToString::to_string).collect()
    }
}

/// When the threads end.
enum Until {
    Steps(u64),
    Time(Instant),
}

/// Runs all threads. Returns the number of all steps.
fn run_threads(devices: &[Device], first_seed: u64, until: &Until) -> u64 {
    let has_failed = AtomicBool::new(false);
    let work = |device: &Device, thread: u64| {
        let mut client = Client::new(device, thread);
        let mut steps = 0;
        let mut result = Ok(());
        while result.is_ok() && !has_failed.load(Ordering::Relaxed) {
            match until {
                Until::Steps(count) if steps >= *count => break,
                Until::Time(end) if Instant::now() >= *end => break,
                _ => {}
            }
            // Seeds of threads are far apart.
            let seed = first_seed + (thread << 32) + steps;
            result = client.step(seed).map_err(|error| format!("seed {seed}: {error}"));
            steps += 1;
        }
        client.destroy();
        if result.is_err() {
            has_failed.store(true, Ordering::Relaxed);
        }
        result.map(|()| steps)
    };
    let work = &work;
    let results: Vec<Result<u64, String>> = std::thread::scope(|scope| {
        let [alone, together] = THREADS;
        let threads: Vec<_> = (0..alone + together)
            .map(|thread| (&devices[thread.min(alone) as usize], thread))
            .map(|(device, thread)| scope.spawn(move || work(device, thread)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    results.into_iter().map(|result| result.unwrap_or_else(|error| panic!("{error}"))).sum()
}

/// Makes the C library return freed memory to the system. Otherwise the amount that it keeps would
/// depend on the order of frees.
fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn malloc_trim(pad: usize) -> std::ffi::c_int;
        }
        // SAFETY: <https://man7.org/linux/man-pages/man3/malloc_trim.3.html>: no precondition.
        unsafe { malloc_trim(0) };
    }
}

/// Returns the resident memory in bytes, if the system reports it.
fn resident() -> Option<u64> {
    trim();
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Runs the soak: a few steps, or as many minutes as `VKXFB_SOAK` says.
pub fn run() {
    let devices: Vec<Device> = (0..=THREADS[0]).map(|_| Device::open()).collect();
    let minutes = number("VKXFB_SOAK", 0);
    let first_seed = number("VKXFB_SEED", 0);
    let until = |part: u32| match minutes {
        0 => Until::Steps(STEPS),
        minutes => Until::Time(Instant::now() + part * Duration::from_secs(minutes * 60) / 10),
    };
    let tell = |what: &str, steps: u64| {
        let resident = resident();
        eprintln!("{what}: {steps} steps, {} MiB resident", resident.unwrap_or(0) >> 20);
        resident
    };
    let before = tell("warm", run_threads(&devices, first_seed, &until(2)));
    // In parts, to show when memory grew.
    let mut after = before;
    for part in 1..=4 {
        let seed = first_seed + (part << 24);
        after = tell("soaked", run_threads(&devices, seed, &until(2)));
        if minutes == 0 {
            break;
        }
    }
    let messages: Vec<String> = devices.iter().flat_map(Device::messages).collect();
    assert!(messages.is_empty(), "{messages:#?}");
    for device in devices {
        let messages = device.gpu.into_inner().unwrap().close();
        assert!(messages.is_empty(), "at the end: {messages:#?}");
    }
    if let (Some(before), Some(after)) = (before, after) {
        assert!(after < before + GROWTH, "{before} bytes became {after}");
    }
}
