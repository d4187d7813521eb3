//! Determines whether the device's timestamps are plausible.
//!
//! llvmpipe (Mesa 22.3), once it has drawn anything, takes timestamps only at the next flush, after
//! the work that follows them. So before it measures anything, the benchmark compares timestamps
//! with the host's clock. It does so with the same commands as for captures, and after captures of
//! every contestant. The work takes long enough that the overhead of a submission does not matter:
//! one large dispatch, like a capture, if that is enough, or many on a fast device. The captures
//! themselves are compared, too: llvmpipe (Mesa 26.2) takes plausible timestamps around dispatches, but
//! takes the timestamp behind a draw before it draws. Timestamps are also compared whenever a
//! measurement takes that long ([`is_believable`]).

use std::time::Duration;

use vkxfb_probe::gpu::Gpu;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::case::{Case, Record, RecordError, Workload};
use crate::contestant::Contestant;
use crate::memory::{Memory, MemoryError, Sources};
use crate::roofline::Spread;
use crate::sample::{Sample, SampleError, Tools};

/// The minimum time by the host's clock of work for which the two clocks are compared.
const LONG: Duration = Duration::from_millis(10);

/// The minimum time by the host's clock of a capture for which the two clocks are compared. It is
/// several times the time of a submission.
const LONG_CAPTURE: Duration = Duration::from_millis(1);

/// The number of vertices of the kernel at first, and the maximum, after which the kernel is
/// repeated instead.
const VERTICES: [u32; 2] = [1 << 18, 1 << 22];

/// The maximum number of repetitions of the kernel.
const MOST: u32 = 1 << 12;

/// The minimum ratio of the time by the device's clock to the time by the host's clock. Below this ratio,
/// timestamps are not plausible.
pub(super) const MIN_COVERAGE: f64 = 0.5;

/// Whether the time by the device's clock is plausible for work that took `wall` by the host's
/// clock. Both are in nanoseconds.
pub(super) fn is_believable(device: f64, wall: f64) -> bool {
    wall < LONG.as_nanos() as f64 || device >= MIN_COVERAGE * wall
}

/// The reason why the clocks could not be compared.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClockError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Sample(#[from] SampleError),
}

/// Returns the smallest ratio of the time by the device's clock to that by the host's, of a kernel that
/// is repeated until it takes long enough, and of captures by the contestants. `None` if the device has
/// no timestamps, or cannot run the kernel.
pub(super) fn coverage(
    gpu: &mut Gpu,
    tools: &mut Tools,
    sources: &mut Sources,
    contestants: &[Contestant],
) -> Result<Option<f64>, ClockError> {
    if tools.timer.timestamps().is_none() {
        return Ok(None);
    }
    let (mut vertices, mut times) = (VERTICES[0], 1);
    loop {
        let (workload, topology) = (Workload::Draw, PrimitiveTopology::PointList);
        let case = Case { workload, topology, record: Record::new(32, 1)?, vertices };
        let Some(spread) =
            Spread::all(gpu.context(), &case).ok().and_then(|all| all.first().copied())
        else {
            return Ok(None);
        };
        let mut memory = match Memory::new(gpu, sources, &case) {
            Ok(memory) => memory,
            Err(error) if error.is_limit() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let result = run(gpu, tools, &case, &mut memory, contestants, (spread, times));
        memory.destroy(gpu);
        let (Sample { gpu: device, wall, .. }, of_captures) = result?;
        if wall >= LONG.as_nanos() as f64 || times >= MOST {
            return Ok(device.map(|device| of_captures.min(device / wall)));
        }
        if vertices < VERTICES[1] {
            vertices *= 4;
        } else {
            times *= 4;
        }
    }
}

/// Captures with each contestant that the device supports, and then runs the kernel `times` times. Returns
/// the sample of the kernel, and the smallest ratio of the two clocks for a capture that takes long enough; 1
/// if none does.
fn run(
    gpu: &mut Gpu,
    tools: &mut Tools,
    case: &Case,
    memory: &mut Memory,
    contestants: &[Contestant],
    (spread, times): (Spread, u32),
) -> Result<(Sample, f64), SampleError> {
    let mut of_captures = 1.0_f64;
    for contestant in contestants {
        if contestant.unavailable(gpu, case).is_some() {
            continue;
        }
        // The driver may compile during the first submission, so that the host's clock says too much.
        for is_first in [true, false] {
            match tools.sample(gpu, case, memory, *contestant, spread) {
                Ok(Sample { gpu: Some(device), wall, .. })
                    if !is_first && wall >= LONG_CAPTURE.as_nanos() as f64 =>
                {
                    of_captures = of_captures.min(device / wall);
                }
                Err(error) if error.is_fatal() => return Err(error),
                // Contestants that cannot capture are reported when a case is measured.
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok((tools.sample_roofline(gpu, case, memory, spread, times)?, of_captures))
}
