//! Measures what the layer costs a program: the CPU time of recording a draw, and the time of a
//! frame of captures. Each is measured in turns on four devices of the same GPU, and compared with
//! the first, which does not use the layer.
//!
//! `cargo bench -p vkxfb-layer`

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a benchmark may panic")]

mod device;
#[path = "../../../examples/common/portability.rs"]
mod portability;
mod shader;

use std::time::Instant;

use device::{BenchDevice, Frame, Setup};

/// The number of draws in a pass.
const DRAWS: u32 = 10_000;
/// The number of captures in a frame.
const CAPTURES: u32 = 1_000;
/// The number of measurements on each device. The result is their median.
const ROUNDS: usize = 31;

/// A measurement: its name, its unit, and a function that returns the time for one draw or frame in
/// that unit. `None` if the device cannot do it.
type Measurement = (&'static str, &'static str, fn(&BenchDevice) -> Option<f64>);

const MEASUREMENTS: [Measurement; 8] = [
    ("a draw", "ns", |device| Some(per_draw(|| device.record_draws(DRAWS, false)))),
    ("push constants, vertex buffer, draw", "ns", |device| {
        Some(per_draw(|| device.record_draws(DRAWS, true)))
    }),
    ("a frame of 1,000 captures", "ms", |device| frame(device, Frame::Separate)),
    ("recording it", "ms", |device| record(device, Frame::Separate)),
    ("a frame of 1,000 resumed captures, in a pass each", "ms", |device| {
        frame(device, Frame::Resumed)
    }),
    ("recording it", "ms", |device| record(device, Frame::Resumed)),
    // What resumed captures by dispatches take at least: each must wait for the one before, and a GPU also takes time
    // to change between graphics and compute.
    ("a chain of 1,000 dispatches, each after a barrier", "ms", |device| chain(device, false)),
    ("the same, each after a pass", "ms", |device| chain(device, true)),
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

fn main() {
    let manifest = device::layer_manifest();
    // SAFETY: no other thread runs yet.
    unsafe {
        std::env::set_var("VK_ADD_LAYER_PATH", manifest.path());
        std::env::set_var("VKXFB_FORCE_ENABLE", "1");
    }
    let devices: Vec<_> =
        Setup::ALL.iter().map(|setup| (setup, BenchDevice::new(*setup))).collect();
    println!("{}", devices[0].1.name());
    for (what, unit, measure) in MEASUREMENTS {
        println!("\n{what}");
        let mut times = vec![Vec::new(); devices.len()];
        // The first round is not counted, because pipelines are compiled and memory is allocated in
        // it.
        for round in 0..=ROUNDS {
            for ((_, device), times) in devices.iter().zip(&mut times) {
                device.reset();
                let time = measure(device);
                if round > 0 {
                    times.extend(time);
                }
            }
        }
        let base = times[0].clone();
        for ((setup, _), times) in devices.iter().zip(times) {
            if times.is_empty() {
                continue;
            }
            // Each time is divided by the one that was measured just before on the first device,
            // because a machine is not equally fast at all times.
            let ratio = match base.len() == times.len() {
                true => median(times.iter().zip(&base).map(|(time, base)| time / base).collect()),
                false => f64::NAN,
            };
            println!("  {:<44} {:>9.1} {unit}  {ratio:.2}", setup.text(), median(times));
        }
    }
    for (_, device) in devices {
        device.destroy();
    }
}
