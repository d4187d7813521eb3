//! Lets tests override a context's limits and omit its barriers, so that they reach rare cases.

use std::sync::Arc;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::context::{
    Context, MAX_ENTRIES, MAX_KERNEL_ROUNDS, MAX_SHARED_WORKGROUPS, WORKGROUPS_EVERYWHERE,
};

/// Sets [`Context::max_workgroups_per_axis`], at most to the limit of the device. With a low value, small captures need
/// a dispatch with two axes or are refused as too large, which otherwise happens only to huge captures.
pub fn set_max_workgroups_per_axis(context: &mut Context, workgroups: u32) {
    let [x, y, _] = context.shared.capabilities.limits.max_workgroups;
    Arc::make_mut(&mut context.shared).max_workgroups_per_axis =
        workgroups.min(x).min(y).min(WORKGROUPS_EVERYWHERE);
}

/// Sets the number of workgroups up to which a draw shares a dispatch with other draws; the default and the maximum are
/// 64. With a low value, even small draws have their own dispatches, as large draws always do.
pub fn set_max_shared_workgroups(context: &mut Context, workgroups: u32) {
    Arc::make_mut(&mut context.shared).max_shared_workgroups =
        workgroups.min(MAX_SHARED_WORKGROUPS);
}

/// Sets the number of entries (runs of input primitives) that all draws of geometry and tessellation shaders in a plan
/// share. With a low value, draws have few entries with many primitives each, which otherwise only huge draws have.
pub fn set_max_entries(context: &mut Context, entries: u64) {
    Arc::make_mut(&mut context.shared).max_entries = entries.clamp(1, MAX_ENTRIES);
}

/// Makes kernels process all draws with whole workgroups, as on GPUs, whatever the device.
pub fn use_parallel_kernels(context: &mut Context) {
    Arc::make_mut(&mut context.shared).serial_kernels = false;
}

/// Sets the number of rounds of all loops that an invocation of a kernel may take, if a single invocation processes the
/// draws. With a low value, such kernels work in many turns, which otherwise happens only to captures of thousands of
/// draws.
pub fn set_kernel_rounds(context: &mut Context, rounds: u64) {
    Arc::make_mut(&mut context.shared).kernel_rounds = rounds.min(MAX_KERNEL_ROUNDS);
}

/// Omits the barrier `barrier` from later recordings, so that a test can find out whether it would notice the
/// missing barrier. `None` omits no barrier.
///
/// # Safety
/// The commands before and after the omitted barrier are not ordered. Whoever executes them must accept that they read
/// and write arbitrary data.
pub unsafe fn omit_barrier(context: &mut Context, barrier: Option<Barrier>) {
    Arc::make_mut(&mut context.shared).omitted = barrier;
}
