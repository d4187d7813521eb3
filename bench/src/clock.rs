//! Whether the device's timestamps can be believed.
//!
//! llvmpipe (Mesa 22.3) takes timestamps when it next flushes, behind the work that follows them, once it
//! has drawn anything at all. So before anything is measured by them, timestamps are held against the
//! host's clock, by the commands that captures are measured with and after captures of every contestant,
//! over work that takes long enough for the way to the device not to matter: one dispatch if that can be,
//! as a capture is one; many on a device that is too fast. And they are held against it again whenever
//! what is measured takes so long ([`is_believable`]).

use std::time::Duration;

use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::Gpu;

use super::case::{Case, Record, RecordError, Workload};
use super::contestant::Contestant;
use super::memory::{Memory, MemoryError, Sources};
use super::roofline::SPREADS;
use super::sample::{Sample, SampleError, Tools};

/// How long the work has to take by the host's clock.
const LONG: Duration = Duration::from_millis(10);

/// Vertices of the kernel at first, and at most before it is repeated.
const VERTICES: [u32; 2] = [1 << 18, 1 << 22];

/// Repetitions, at most.
const MOST: u32 = 1 << 12;

/// What the device's time has to be of the host's, at least.
pub(super) const MIN_COVERAGE: f64 = 0.5;

/// Whether a time of the device, in nanoseconds, can be that of what took `wall` by the host's clock.
pub(super) fn is_believable(device: f64, wall: f64) -> bool {
    wall < LONG.as_nanos() as f64 || device >= MIN_COVERAGE * wall
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClockError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Sample(#[from] SampleError),
}

/// The device's time by the host's, of a kernel that is repeated until it takes long; `None` where there
/// are no timestamps, or no device addresses for the kernel.
pub(super) fn coverage(
    gpu: &mut Gpu,
    tools: &mut Tools,
    sources: &mut Sources,
    contestants: &[Contestant],
) -> Result<Option<f64>, ClockError> {
    if tools.timer.timestamps().is_none() || !gpu.context().has_addresses() {
        return Ok(None);
    }
    let (mut vertices, mut times) = (VERTICES[0], 1);
    loop {
        let (workload, topology) = (Workload::Draw, PrimitiveTopology::PointList);
        let case = Case { workload, topology, record: Record::new(32, 1)?, vertices };
        let mut memory = match Memory::new(gpu, sources, &case) {
            Ok(memory) => memory,
            Err(error) if error.is_limit() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let result = run(gpu, tools, &case, &mut memory, contestants, times);
        memory.destroy(gpu);
        let Sample { gpu: device, wall, .. } = result?;
        if wall >= LONG.as_nanos() as f64 || times >= MOST {
            return Ok(device.map(|device| device / wall));
        }
        if vertices < VERTICES[1] {
            vertices *= 4;
        } else {
            times *= 4;
        }
    }
}

/// The kernel, after a capture of each contestant that the device has.
fn run(
    gpu: &mut Gpu,
    tools: &mut Tools,
    case: &Case,
    memory: &mut Memory,
    contestants: &[Contestant],
    times: u32,
) -> Result<Sample, SampleError> {
    for contestant in contestants {
        if contestant.unavailable(gpu, case).is_none() {
            match tools.sample(gpu, case, memory, *contestant, SPREADS[0]) {
                Err(error) if error.is_fatal() => return Err(error),
                // Who cannot capture is found out later.
                Ok(_) | Err(_) => {}
            }
        }
    }
    tools.sample_roofline(gpu, case, memory, SPREADS[0], times)
}
