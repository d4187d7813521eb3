//! What a context is made to do otherwise, so that tests see what is rare. Only
//! [`internal`](crate::internal) exports this.

use std::sync::Arc;

use super::{Context, WORKGROUPS_EVERYWHERE};
use crate::runtime::Barrier;
use crate::runtime::recorder::{MAX_ENTRIES, SMALL};

/// Sets [`Context::max_workgroups_per_axis`], clamped to the limit of the device: small captures are
/// then folded over two axes, or are refused as too large, as huge captures are otherwise.
pub fn set_max_workgroups_per_axis(context: &mut Context, workgroups: u32) {
    let [x, y, _] = context.shared.capabilities.limits.max_workgroups;
    Arc::make_mut(&mut context.shared).max_workgroups_per_axis =
        workgroups.min(x).min(y).min(WORKGROUPS_EVERYWHERE);
}

/// Sets the most workgroups of a draw that shares a dispatch with other draws, at most 64, which is
/// the default: small draws are then captured as large ones are otherwise.
pub fn set_max_shared_workgroups(context: &mut Context, workgroups: u32) {
    Arc::make_mut(&mut context.shared).max_shared_workgroups = workgroups.min(SMALL);
}

/// Sets into how many entries the draws of a dispatch of geometry shaders are divided at most: few of many
/// primitives, as the entries of huge draws are otherwise.
pub fn set_max_entries(context: &mut Context, entries: u64) {
    Arc::make_mut(&mut context.shared).max_entries = entries.clamp(1, MAX_ENTRIES);
}

/// Omits a barrier, or none: that shows that a test covers it.
///
/// # Safety
/// The commands before and after the omitted barrier are not ordered. Whoever executes them
/// must accept that they read and write arbitrary data.
pub unsafe fn omit_barrier(context: &mut Context, barrier: Option<Barrier>) {
    Arc::make_mut(&mut context.shared).omitted = barrier;
}
