//! Draws that share a dispatch and that the CPU places. They are followed in memory by a list of the
//! draws that the workgroups belong to, so that none has to search for its draw.

use super::capture::Capture;
use super::direct::Dispatch;
use crate::runtime::RuntimeError;
use crate::runtime::arena::{Part, Suballocation, aligned};
use crate::runtime::fold::fold;
use crate::sysval::{Address, DrawSysvals, split};

/// The number of a draw in a list.
type Number = u16;

/// The most draws that are listed.
pub(super) const MAX_LISTED_DRAWS: usize = 1 << Number::BITS;

/// The bytes of a list for each workgroup of a draw.
pub(in crate::runtime) const LISTED_BYTES: u64 = size_of::<Number>() as u64;

/// What the push constants contain in place of a draw. `listed_draw` of shaders/sysvals.wgsl reads it.
pub(super) fn listed_draws(draws: Address, count: usize) -> DrawSysvals {
    DrawSysvals { index_address: draws, item_count: count as u32, ..Default::default() }
}

impl Capture {
    /// Bytes of upload memory for the draws of a dispatch.
    pub(super) fn listed_upload(&self, dispatch: &Dispatch) -> u64 {
        let listed = self.listed_workgroups(dispatch) * size_of::<Number>();
        aligned((dispatch.count * size_of::<DrawSysvals>() + listed) as u64)
    }

    /// Writes the draws of the dispatch with that number to memory, and the list if there are several.
    pub(super) fn write_listed(
        &mut self,
        upload: &mut Part,
        number: usize,
    ) -> Result<(), RuntimeError> {
        let listed = self.push_listed(upload, &self.plan.dispatches[number])?;
        self.plan.dispatches[number].listed = split(listed.address);
        Ok(())
    }

    fn push_listed(
        &self,
        upload: &mut Part,
        dispatch: &Dispatch,
    ) -> Result<Suballocation, RuntimeError> {
        let placed = &self.plan.placed[dispatch.first..][..dispatch.count];
        let draws_size = size_of_val(placed);
        let size = draws_size + self.listed_workgroups(dispatch) * size_of::<Number>();
        upload.push_with(size, |target| {
            let (draws, list) = target.split_at_mut(draws_size.min(target.len()));
            let targets = draws.chunks_exact_mut(size_of::<DrawSysvals>());
            for (target, draw) in targets.zip(placed) {
                target.copy_from_slice(bytemuck::bytes_of(&self.resolved_draw(*draw)));
            }
            let mut number = 0;
            let targets = list.chunks_exact_mut(size_of::<Number>());
            for (workgroup, target) in (0..).zip(targets) {
                let next = placed.get(number + 1);
                if next.is_some_and(|next| next.first_workgroup == workgroup) {
                    number += 1;
                }
                // There are no more draws than numbers.
                target.copy_from_slice(&(number as Number).to_ne_bytes());
            }
        })
    }

    /// The workgroups that are listed: none of a single draw, otherwise all that are dispatched. Those
    /// behind the last draw belong to it.
    fn listed_workgroups(&self, dispatch: &Dispatch) -> usize {
        match fold(dispatch.workgroups.into(), self.ctx.max_workgroups_per_axis()) {
            Ok([columns, rows]) if dispatch.count > 1 => columns as usize * rows as usize,
            _ => 0,
        }
    }
}
