//! Translates arguments that an application gives for `VK_EXT_transform_feedback` for a driver that
//! does not have it, where captures are compute dispatches.
//!
//! * `kind`: where stages and accesses of captures are added; `masks`: which ones. `barriers`,
//!   `passes` and `submits` have the structures and commands that contain masks. `passes` also has
//!   the barriers that must be recorded outside of a render pass for its captures.
//! * `usages`: buffers, memory and descriptor set layouts.
//! * `memory` has the memory for translated structures, and `sizes` the sizes of structures in
//!   chains. The layer never writes to the application's structures.
//!
//! Nothing here calls the driver: `crate::hooks` has the hooks for the commands.

pub(crate) mod barriers;
mod kind;
pub(crate) mod masks;
mod memory;
pub(crate) mod passes;
mod sizes;
pub(crate) mod submits;
pub(crate) mod usages;

pub(crate) use self::kind::Kind;
pub(crate) use self::memory::{Arena, OUT_OF_MEMORY};
pub(crate) use self::passes::CaptureBarriers;
use self::passes::RenderPasses;
pub(crate) use self::usages::Usages;

/// The translation's state of a device.
pub(crate) struct Translation {
    pub(crate) usages: Usages,
    /// The barriers around captures that render passes require.
    pub(crate) render_passes: RenderPasses,
}

impl Translation {
    pub(crate) fn new(usages: Usages) -> Self {
        Self { usages, render_passes: RenderPasses::default() }
    }
}

#[cfg(test)]
mod tests;
