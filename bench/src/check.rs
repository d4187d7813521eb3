//! Compares captures with the model on the CPU before they are timed, so that no wrong capture is
//! timed.

use vkxfb_rewriter::lower::Backend;

use crate::case::Case;
use crate::compare;
use crate::contestant::Contestant;
use crate::memory::{Memory, MemoryError};
use crate::roofline::Spread;
use crate::state::{Bench, BenchError, Refusal, sample_failed};

/// The numbers of vertices of the small captures that are compared: a capture with less than a workgroup, and
/// a capture with several workgroups.
const SMALL: [u32; 2] = [12, 606];

/// The value of each dword in capture buffers before a capture that is compared. No record contains
/// this value.
const SENTINEL: u32 = 0xa5a5_a5a5;

impl Bench<'_> {
    /// Compares small captures with the topology and the record of a case, once for each pipeline.
    /// Returns all contestants, with the reason for each contestant that cannot take part.
    pub(super) fn check_small(
        &mut self,
        case: &Case,
        contestants: &[Contestant],
    ) -> Result<Vec<(Contestant, Option<Refusal>)>, BenchError> {
        let unavailable =
            |c: &Contestant| (*c, c.unavailable(self.gpu, case).map(Refusal::Unavailable));
        let mut all: Vec<_> = contestants.iter().map(unavailable).collect();
        for vertices in SMALL {
            let small = Case { vertices, ..*case };
            let to_check = |(contestant, refused): &(Contestant, Option<Refusal>)| {
                refused.is_none() && !self.checked.contains(&(small, *contestant))
            };
            if !small.fits() || !all.iter().any(to_check) {
                continue;
            }
            let mut memory = match Memory::new(self.gpu, &mut self.sources, &small) {
                Ok(memory) => memory,
                // If there is no memory for the small case, there is none for the case itself
                // either, and that will be reported.
                Err(error) if error.is_limit() => continue,
                Err(MemoryError::Gpu(error)) => return Err(error.into()),
                Err(MemoryError::TooMuch(_)) => continue,
            };
            let result = self.check_all(&small, &mut all, &mut memory);
            memory.destroy(self.gpu);
            result?;
        }
        Ok(all)
    }

    fn check_all(
        &mut self,
        small: &Case,
        contestants: &mut [(Contestant, Option<Refusal>)],
        memory: &mut Memory,
    ) -> Result<(), BenchError> {
        for (contestant, refused) in contestants {
            if refused.is_some() || self.checked.contains(&(*small, *contestant)) {
                continue;
            }
            let spreads = match contestant {
                // The roofline has variants here: `unavailable` refuses a roofline without variants.
                Contestant::Roofline => Spread::all(self.gpu.context(), small).unwrap_or_default(),
                _ => vec![Spread::default()],
            };
            for spread in spreads {
                if let Err(refusal) = self.check(small, *contestant, memory, spread)? {
                    *refused = Some(refusal);
                    break;
                }
            }
            if refused.is_none() {
                self.checked.insert((*small, *contestant));
            }
        }
        Ok(())
    }

    /// Captures once, into memory that contains [`SENTINEL`], and compares the result. Returns the
    /// reason if the contestant cannot take part.
    pub(super) fn check(
        &mut self,
        case: &Case,
        contestant: Contestant,
        memory: &mut Memory,
        spread: Spread,
    ) -> Result<Result<(), Refusal>, BenchError> {
        let parts: Vec<_> = (0..case.record.buffers())
            .flat_map(|buffer| compare::parts(case, buffer).into_iter().map(move |p| (buffer, p)))
            .collect();
        let (gpu, targets) = (&mut *self.gpu, &memory.targets);
        gpu.submit(|ctx, cmd| {
            for (buffer, part) in &parts {
                if let Some(target) = targets.get(*buffer as usize) {
                    let (at, size) = (part.start, part.end - part.start);
                    // SAFETY: the range is within the buffer, and its ends are multiples of 4.
                    unsafe { ctx.device().cmd_fill_buffer(cmd, target.raw(), at, size, SENTINEL) };
                }
            }
            Ok(())
        })?;
        match self.tools.sample(self.gpu, case, memory, contestant, spread) {
            Ok(_) => {}
            Err(error) if error.is_fatal() => return Err(sample_failed(case, error)),
            Err(error) => return Ok(Err(Refusal::Unavailable(error.to_string()))),
        }
        let rotated = contestant == Contestant::Native
            && !self.gpu.preserves_order(Backend::Native, case.topology);
        for (buffer, part) in parts {
            let Some(target) = memory.targets.get(buffer as usize) else { continue };
            let found = self.gpu.read(target, part.clone())?;
            let compared = match contestant {
                Contestant::Roofline => compare::roofline(case, spread, buffer, &part, &found),
                _ => compare::capture(case, contestant, buffer, &part, &found, rotated),
            };
            if let Err(mismatch) = compared {
                return Ok(Err(Refusal::Wrong(Box::new(mismatch))));
            }
        }
        Ok(Ok(()))
    }
}
