//! Simulates faults of drivers, for tests that prove that the probe reports each fault together
//! with the case that caused it.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::value::{self, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

use super::{CaptureRequest, CaptureResult, Gpu, GpuError, State, Step};
use crate::trial::Trial;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FaultKind {
    /// A submission fails with `VK_ERROR_DEVICE_LOST`.
    Lost,
    /// A submission fails with `VK_ERROR_DEVICE_LOST`, but only if it contains several captures.
    Together,
    /// The device does not finish a submission.
    Hang,
    /// The process aborts inside of the driver.
    Crash,
    /// An invalid memory access ends the process.
    Access,
    /// A call of the driver does not return.
    Stuck,
    /// The device does not execute submissions.
    Nothing,
    /// The first two captured vertices of each draw are swapped, which flips the winding of the first triangle.
    Wrong,
    /// Vertex shaders store some vertices of each draw twice.
    Twice,
    /// Vertex shaders store some vertices that no primitive of the draw uses.
    Unused,
    /// Indirect dispatches do nothing.
    NoIndirect,
}

/// The [trials](Trial) (tests before the captures) and the draws in which a fault is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultPlace {
    /// All trials and draws.
    Everywhere,
    /// This trial only.
    Trial(Trial),
    /// The captures by this backend.
    Backend(Backend),
    /// The captures of draws with this topology. If there are numbers of vertices and instances, only the captures of
    /// draws that have these numbers, too.
    Draw(PrimitiveTopology, Option<(u32, u32)>),
}

impl FaultPlace {
    /// Whether the place is one of the draws of a request.
    fn is_drawn_by(self, request: &CaptureRequest<'_>) -> bool {
        match self {
            Self::Everywhere | Self::Trial(_) => false,
            Self::Backend(backend) => request.pipeline.backend() == backend,
            Self::Draw(topology, size) => request.draws.iter().any(|(own, draw)| {
                *own == topology
                    && size.is_none_or(|size| size == (draw.vertex_count, draw.instance_count))
            }),
        }
    }
}

/// A simulated fault, and the trials and draws in which it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InjectedFault {
    kind: FaultKind,
    place: FaultPlace,
}

/// Returns the variant with a name in JSON.
fn by_name<T: DeserializeOwned>(name: &str) -> Option<T> {
    let name: StrDeserializer<'_, value::Error> = name.into_deserializer();
    T::deserialize(name).ok()
}

impl FromStr for InjectedFault {
    type Err = String;

    /// Parses, for example, `lost:triangle-strip:7x1`, `lost:vertex-stores` or `nothing`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (kind, place) = text.split_once(':').unwrap_or((text, ""));
            let kind = by_name(kind)?;
            let is_everywhere = matches!(
                kind,
                FaultKind::Nothing | FaultKind::Twice | FaultKind::Unused | FaultKind::NoIndirect
            );
            let place = match place.split_once(':') {
                _ if is_everywhere => place.is_empty().then_some(FaultPlace::Everywhere)?,
                None => match Backend::ALL.into_iter().find(|backend| backend.to_string() == place)
                {
                    Some(backend) => FaultPlace::Backend(backend),
                    None if kind == FaultKind::Wrong => return None,
                    None => FaultPlace::Trial(by_name(place)?),
                },
                Some((topology, "any")) => FaultPlace::Draw(topology.parse().ok()?, None),
                Some((topology, draw)) => {
                    let (vertices, instances) = draw.split_once('x')?;
                    let draw = (vertices.parse().ok()?, instances.parse().ok()?);
                    FaultPlace::Draw(topology.parse().ok()?, Some(draw))
                }
            };
            Some(Self { kind, place })
        };
        parse().ok_or_else(|| {
            let trials = Trial::ALL.map(|trial| trial.to_string()).join(", ");
            format!(
                "'{text}' is no fault. There are: nothing, twice, unused, no-indirect; and lost, together, \
                 hang, crash, access, stuck and wrong, each with a place: a topology and a draw, or any, \
                 such as lost:triangle-strip:7x1 and lost:triangle-strip:any, a backend, such as lost:vertex, \
                 or, but for wrong, a trial ({trials})"
            )
        })
    }
}

impl Gpu {
    /// Simulates a fault from now on.
    pub const fn inject(&mut self, fault: InjectedFault) {
        if matches!(fault.kind, FaultKind::Nothing) {
            self.omitted = Some(Step::Submission);
        }
        self.injected = Some(fault);
    }

    pub(super) fn stores_twice(&self) -> bool {
        self.injected.is_some_and(|fault| fault.kind == FaultKind::Twice)
    }

    pub(super) fn stores_unused(&self) -> bool {
        self.injected.is_some_and(|fault| fault.kind == FaultKind::Unused)
    }

    pub(super) fn ignores_indirect_dispatches(&self) -> bool {
        self.injected.is_some_and(|fault| fault.kind == FaultKind::NoIndirect)
    }

    /// Simulates the injected fault if it is to happen in this trial (a test before the captures): returns an error,
    /// ends the process, or does not return. Otherwise, and for kinds of faults that other functions simulate, returns
    /// `Ok`.
    pub(crate) fn fail_trial_if_injected(&mut self, trial: Trial) -> Result<(), GpuError> {
        match self.injected {
            Some(InjectedFault { kind, place: FaultPlace::Trial(at) }) if at == trial => {
                self.fail(kind)
            }
            _ => Ok(()),
        }
    }

    /// Simulates the injected fault if it is to happen in a draw of the capture requests: returns an error, ends the
    /// process, or does not return. [`FaultKind::Together`] happens only if there are several requests. Otherwise, and
    /// for kinds of faults that other functions simulate, returns `Ok`.
    pub(super) fn fail_if_injected(
        &mut self,
        requests: &[CaptureRequest<'_>],
    ) -> Result<(), GpuError> {
        let Some(InjectedFault { kind, place }) = self.injected else { return Ok(()) };
        let is_alone = requests.len() == 1;
        if (kind == FaultKind::Together && is_alone)
            || !requests.iter().any(|request| place.is_drawn_by(request))
        {
            return Ok(());
        }
        self.fail(kind)
    }

    /// Swaps the first two vertices that a capture has written, if that fault is to happen in its draws.
    pub(super) fn swap_if_injected(
        &self,
        request: &CaptureRequest<'_>,
        result: &mut CaptureResult,
    ) {
        let Some(InjectedFault { kind: FaultKind::Wrong, place }) = self.injected else { return };
        if !place.is_drawn_by(request) {
            return;
        }
        for (buffer, stride) in request.pipeline.layout().buffers() {
            let target = request.buffers.get(buffer).copied().flatten();
            let bytes = result.buffers.get_mut(buffer).and_then(Option::as_mut);
            let (Some(target), Some(bytes)) = (target, bytes) else { continue };
            let (start, stride) = (target.offset as usize, stride as usize);
            let place = start..start + 2 * stride;
            let (initial, records) = (target.initial.get(place.clone()), bytes.get_mut(place));
            let (Some(initial), Some(records)) = (initial, records) else { continue };
            let is_written = |record: usize| {
                let part = record * stride..(record + 1) * stride;
                initial.get(part.clone()) != records.get(part)
            };
            if target.size as usize >= 2 * stride && is_written(0) && is_written(1) {
                records.rotate_left(stride);
            }
        }
    }

    fn fail(&mut self, kind: FaultKind) -> Result<(), GpuError> {
        match kind {
            FaultKind::Lost | FaultKind::Together => {
                self.state = State::Lost;
                Err(GpuError::DeviceLost { during: "vkQueueSubmit" })
            }
            FaultKind::Hang => {
                std::thread::sleep(self.timeout);
                self.state = State::Hung;
                Err(GpuError::Timeout(self.timeout))
            }
            FaultKind::Crash => std::process::abort(),
            FaultKind::Access => {
                let nowhere = std::ptr::without_provenance_mut::<u32>(8);
                // SAFETY: this is unsound on purpose, because the test needs an invalid memory
                // access.
                unsafe { nowhere.write_volatile(0) };
                Ok(())
            }
            FaultKind::Stuck => loop {
                std::thread::park();
            },
            FaultKind::Nothing
            | FaultKind::Wrong
            | FaultKind::Twice
            | FaultKind::Unused
            | FaultKind::NoIndirect => Ok(()),
        }
    }
}
