//! Turns of the kernels of a single invocation, which processors have in place of those of whole workgroups.
//!
//! llvmpipe ends all loops of an invocation after 65,535 rounds. So such a kernel works in turns: it is dispatched
//! several times with the same parameters, and each turn goes on where the one before it stopped. The CPU plans as many
//! turns as the largest number of draws needs.

use crate::runtime::recording::plan::{BlockId, Limits, Plan, Step};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::setup::RESTART_BLOCK;

/// The workgroups of the first turn, and of a turn that goes on where another one stopped. There the second workgroup
/// does nothing: by their number the kernel knows that the turn is not the first one.
pub(in crate::runtime::recording) const TURN_WORKGROUPS: [[u32; 2]; 2] = [[1, 1], [2, 1]];

/// The largest number of rounds of those loops of a kernel that do not depend on its draws.
const OTHER_ROUNDS: u64 = 32;

/// The largest number of rounds that a draw takes in the setup kernel: one of the loop over draw commands, two over the
/// draws of a command, three over queries. (A loop takes one more round than it has, in which it ends.)
const ROUNDS_PER_DRAW: u64 = 1 + 2 + 3;

/// The largest number of rounds that a draw with primitive restart takes in addition: three of the loop over its first
/// index, the index behind its first restart and its end, and at both of the latter one for each restart of a block
/// before it, and one more.
const ROUNDS_PER_RESTARTED_DRAW: u64 = 3 + 2 * RESTART_BLOCK;

/// The largest number of rounds that a job or a block takes in the place kernel: one of the loop over jobs, and one in
/// which the loop over the blocks of a job ends.
const ROUNDS_PER_STEP: u64 = 2;

/// The turns of a kernel. One of whole workgroups has a single turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Turns {
    /// The number of turns: at least one.
    pub(super) count: u64,
    /// The largest number of steps (draws, or jobs and blocks) that a turn processes, or `u32::MAX` for a single turn.
    pub(super) steps: u32,
}

impl Turns {
    const ONE: Self = Self { count: 1, steps: u32::MAX };

    /// The turns of a setup kernel for `draws` draws.
    pub(super) fn of_draws(limits: &Limits, draws: u64, has_restarts: bool) -> Self {
        let restarts = if has_restarts { ROUNDS_PER_RESTARTED_DRAW } else { 0 };
        Self::of(limits, draws, ROUNDS_PER_DRAW + restarts)
    }

    /// The turns of a place kernel for `steps` jobs and blocks.
    pub(super) fn of_entries(limits: &Limits, steps: u64) -> Self {
        Self::of(limits, steps, ROUNDS_PER_STEP)
    }

    fn of(limits: &Limits, steps: u64, rounds: u64) -> Self {
        let most = (limits.kernel_rounds.saturating_sub(OTHER_ROUNDS) / rounds).max(1);
        let count = steps.div_ceil(most);
        if !limits.serial_kernels || count <= 1 {
            return Self::ONE;
        }
        Self { count, steps: most as u32 }
    }
}

impl Plan {
    /// Adds the turns of a kernel with one workgroup.
    pub(super) fn push_turns(&mut self, kernel: Kernel, parameters: BlockId, turns: Turns) {
        self.steps.push(match turns.count {
            0 | 1 => Step::Kernel { kernel, parameters, workgroups: TURN_WORKGROUPS[0] },
            count => Step::Turns { kernel, parameters, count },
        });
    }
}
