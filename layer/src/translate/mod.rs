//! Translates arguments that belong to `VK_EXT_transform_feedback`, for a driver that does not have the extension.
//! Captures are compute dispatches there.
//!
//! * `kind` names the arguments and barriers to which the stages and accesses of captures are
//!   added, and `masks` says which stages and accesses these are. `barriers`, `passes` and
//!   `submits` translate the structures and arguments that contain masks. `passes` also computes
//!   the barriers that have to be recorded outside of a render pass for its captures.
//! * `neutral` finds passes that change nothing by themselves.
//! * `usages` translates the create infos of buffers, memory and descriptor set layouts.
//! * `views` finds how many views the subpasses of a pass have, and `subpass` follows which of them is recorded.
//! * `memory` has the memory for translated structures. The layer never writes to the application's
//!   structures.
//!
//! These modules do not call the driver, except to record barriers. The hooks in `crate::hooks` do.

pub(crate) mod barriers;
mod kind;
pub(crate) mod masks;
mod memory;
pub(crate) mod neutral;
pub(crate) mod passes;
pub(crate) mod submits;
mod subpass;
pub(crate) mod usages;
mod views;

pub(crate) use self::kind::Kind;
pub(crate) use self::memory::{Arena, OUT_OF_MEMORY};
use self::passes::RenderPasses;
pub(crate) use self::passes::{Barrier, CaptureBarriers, RenderPass};
pub(crate) use self::subpass::Subpass;
pub(crate) use self::usages::Usages;
pub(crate) use self::views::Views;

/// The data of a device that the translation of arguments needs.
pub(crate) struct Translation {
    pub(crate) usages: Usages,
    /// The barriers that each render pass requires before and after captures, and its views.
    pub(crate) render_passes: RenderPasses,
}

impl Translation {
    pub(crate) fn new(usages: Usages) -> Self {
        Self { usages, render_passes: RenderPasses::default() }
    }
}

#[cfg(test)]
mod tests;
