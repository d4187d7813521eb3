//! Measures what the layer costs a program: the CPU time of recording a draw, and the time of a
//! frame of captures. Each is measured in turns on several devices of the same GPU, and compared with
//! the first, which has no layer, and with that whose layer does the least that a layer which
//! captures must do for a draw.
//!
//! `cargo bench -p vkxfb-layer`, or with ` --bench recording -- draw` after it only the measurements whose
//! names contain `draw`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may panic")]

mod device;
#[path = "../../../examples/common/portability.rs"]
mod portability;
mod shader;

use std::time::Instant;

use device::{BenchDevice, Binds, Frame, Setup};

/// The number of draws in a pass.
const DRAWS: u32 = 10_000;
/// The number of captures in a frame.
const CAPTURES: u32 = 1_000;
/// The number of measurements on each device, where recording alone is measured, which takes a few milliseconds at
/// most, and where frames are executed, too. The result is their median.
const RECORDED: usize = 201;
const EXECUTED: usize = 31;

/// A measurement: its name, its unit, the number of rounds, and a function that returns the time for one draw or frame in
/// that unit. `None` if the device cannot do it.
type Measurement = (&'static str, &'static str, usize, fn(&BenchDevice) -> Option<f64>);

const MEASUREMENTS: [Measurement; 9] = [
    ("a draw", "ns", RECORDED, |device| {
        Some(per_draw(|| device.record_draws(DRAWS, Binds::Nothing)))
    }),
    ("push constants, vertex buffer, draw", "ns", RECORDED, |device| {
        Some(per_draw(|| device.record_draws(DRAWS, Binds::Vertices)))
    }),
    ("pipeline, descriptor set with an offset, draw", "ns", RECORDED, |device| {
        Some(per_draw(|| device.record_draws(DRAWS, Binds::Pipeline)))
    }),
    ("a frame of 1,000 captures", "ms", EXECUTED, |device| frame(device, Frame::Separate)),
    ("recording it", "ms", EXECUTED, |device| record(device, Frame::Separate)),
    ("a frame of 1,000 resumed captures, in a pass each", "ms", EXECUTED, |device| {
        frame(device, Frame::Resumed)
    }),
    ("recording it", "ms", EXECUTED, |device| record(device, Frame::Resumed)),
    // What resumed captures by dispatches take at least: each must wait for the one before, and a GPU also takes time
    // to change between graphics and compute.
    ("a chain of 1,000 dispatches, each after a barrier", "ms", EXECUTED, |device| {
        chain(device, false)
    }),
    ("the same, each after a pass", "ms", EXECUTED, |device| chain(device, true)),
];

/// Measures recording and executing a frame.
fn frame(device: &BenchDevice, frame: Frame) -> Option<f64> {
    let start = Instant::now();
    record(device, frame)?;
    device.submit();
    Some(start.elapsed().as_secs_f64() * 1e3)
}

/// Measures recording a frame, without executing it.
fn record(device: &BenchDevice, frame: Frame) -> Option<f64> {
    let captures = device.captures()?;
    Some(seconds(|| device.record_captures(captures, frame, CAPTURES)) * 1e3)
}

/// Measures recording and executing a chain of dispatches.
fn chain(device: &BenchDevice, in_passes: bool) -> Option<f64> {
    let start = Instant::now();
    device.record_chain(CAPTURES, in_passes)?;
    device.submit();
    Some(start.elapsed().as_secs_f64() * 1e3)
}

fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

fn per_draw(record: impl FnOnce()) -> f64 {
    seconds(record) * 1e9 / f64::from(DRAWS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the median of the ratios of times. Each time is divided by the one that was measured in the same round, because
/// a machine is not equally fast at all times. `None` if a device lacks one of the two.
fn ratio(times: &[f64], base: &[f64]) -> Option<f64> {
    let has_both = !times.is_empty() && times.len() == base.len();
    has_both.then(|| median(times.iter().zip(base).map(|(time, base)| time / base).collect()))
}

/// Makes the C library keep the memory that drivers free between rounds. By default it returns what is free at the end of
/// the heap to the system, so that recording costs page faults on the device whose commands happen to be there.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn keep_freed_memory() {
    unsafe extern "C" {
        fn mallopt(parameter: i32, value: i32) -> i32;
    }
    const M_TRIM_THRESHOLD: i32 = -1;
    const M_MMAP_MAX: i32 = -4;
    // SAFETY: no other thread runs yet.
    unsafe {
        mallopt(M_TRIM_THRESHOLD, i32::MAX);
        mallopt(M_MMAP_MAX, 0);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn keep_freed_memory() {}

fn main() {
    keep_freed_memory();
    let manifests = device::layer_manifests();
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("VK_ADD_LAYER_PATH", manifests.path());
        std::env::set_var("VKXFB_FORCE_ENABLE", "1");
    }
    // Cargo adds `--bench`.
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let wanted = wanted.unwrap_or_default();
    let devices = Setup::ALL.map(|setup| (setup, BenchDevice::new(setup)));
    let native = devices[0].1.draw_function();
    for (setup, device) in &devices {
        // Otherwise the driver alone would be measured.
        let is_hooked = !std::ptr::fn_addr_eq(device.draw_function(), native);
        assert!(is_hooked || !setup.has_hooks(), "{}: without a hook", setup.text());
    }
    println!("{}", devices[0].1.name());
    println!("\n{:46} {:>12}  {:>6}  {:>10}", "", "", "native", "forwarding");
    for (what, unit, rounds, measure) in MEASUREMENTS {
        if !what.contains(&wanted) {
            continue;
        }
        println!("\n{what}");
        let mut times = vec![Vec::new(); devices.len()];
        // The first round is not counted, because pipelines are compiled and memory is allocated in
        // it.
        for round in 0..=rounds {
            for ((_, device), times) in devices.iter().zip(&mut times) {
                device.reset();
                let time = measure(device);
                if round > 0 {
                    times.extend(time);
                }
            }
        }
        let of = |setup| &times[Setup::ALL.iter().position(|other| *other == setup).unwrap()];
        let bases = [of(Setup::Native), of(Setup::Forwarding)];
        for ((setup, _), times) in devices.iter().zip(&times).filter(|(_, times)| !times.is_empty())
        {
            let [native, forwarding] = bases.map(|base| match ratio(times, base) {
                Some(ratio) => format!("{ratio:.2}"),
                None => String::new(),
            });
            let (setup, time) = (setup.text(), median(times.clone()));
            println!("  {setup:<44} {time:>9.1} {unit}  {native:>6}  {forwarding:>10}");
        }
    }
    for (_, device) in devices {
        device.destroy();
    }
}
