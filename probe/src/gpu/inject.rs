//! Faults of a driver, made up: tests prove by them that a loss, a hang and a crash are each told with their case.

use std::str::FromStr;

use vkxfb::topology::PrimitiveTopology;

use super::{CaptureRequest, Gpu, GpuError, State};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The device is lost.
    Lost,
    /// The device is lost, but only where other captures are in the same submission.
    Together,
    /// The device does not finish.
    Hang,
    /// The process ends within the driver.
    Crash,
    /// The process ends by an access to memory that is not there.
    Access,
    /// A call of the driver does not return.
    Stuck,
}

/// A fault, and the draw at which it comes.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectedFault {
    kind: Kind,
    topology: PrimitiveTopology,
    /// Vertex and instance counts, or every draw of the topology.
    draw: Option<(u32, u32)>,
}

impl FromStr for InjectedFault {
    type Err = String;

    /// Parses, for example, `lost:triangle-strip:7x1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (kind, rest) = text.split_once(':')?;
            let (topology, draw) = rest.split_once(':')?;
            let kind = match kind {
                "lost" => Kind::Lost,
                "together" => Kind::Together,
                "hang" => Kind::Hang,
                "crash" => Kind::Crash,
                "access" => Kind::Access,
                "stuck" => Kind::Stuck,
                _ => return None,
            };
            let draw = match draw {
                "any" => None,
                draw => {
                    let (vertices, instances) = draw.split_once('x')?;
                    Some((vertices.parse().ok()?, instances.parse().ok()?))
                }
            };
            Some(Self { kind, topology: topology.parse().ok()?, draw })
        };
        parse().ok_or_else(|| format!("'{text}' is no fault such as lost:triangle-strip:7x1"))
    }
}

impl Gpu {
    /// Lets the device fail at captures of a draw.
    #[doc(hidden)]
    pub const fn inject(&mut self, fault: InjectedFault) {
        self.injected = Some(fault);
    }

    /// Fails, if a request has the draw.
    pub(super) fn fail_if_injected(
        &mut self,
        requests: &[CaptureRequest<'_>],
    ) -> Result<(), GpuError> {
        let Some(InjectedFault { kind, topology, draw }) = self.injected else { return Ok(()) };
        let is_it = |(t, d): &(_, vkxfb::runtime::Draw)| {
            *t == topology && draw.is_none_or(|draw| draw == (d.vertex_count, d.instance_count))
        };
        if !requests.iter().any(|request| request.draws.iter().any(is_it)) {
            return Ok(());
        }
        match kind {
            Kind::Together if requests.len() == 1 => Ok(()),
            Kind::Lost | Kind::Together => {
                self.state = State::Lost;
                Err(GpuError::DeviceLost { during: "vkQueueSubmit" })
            }
            Kind::Hang => {
                std::thread::sleep(self.timeout);
                self.state = State::Hung;
                Err(GpuError::Timeout(self.timeout))
            }
            Kind::Crash => std::process::abort(),
            Kind::Access => {
                let nowhere = std::ptr::without_provenance_mut::<u32>(8);
                // SAFETY: none; the fault is wanted.
                unsafe { nowhere.write_volatile(0) };
                Ok(())
            }
            Kind::Stuck => loop {
                std::thread::park();
            },
        }
    }
}
