//! Stores the commands of a *withheld* pass: a render pass instance whose commands the driver gets only when it ends.
//!
//! If commands in a pass may read data that was captured in the pass, captures are recorded before it. The commands
//! from the beginning to the end of the pass are then stored in a [`WithheldCommands`], with copies of all memory that
//! their arguments point to, and replayed when the pass ends. Of a pass that changes nothing, only the commands that set
//! state are replayed.
//!
//! `commands` and `structures` are generated from the registry of Vulkan (tests/registry). A command that the layer
//! does not know would go to the driver before the pass, and before captures that were deferred. So the layer hides
//! extensions with such commands.

mod by_hand;
mod commands;
mod macros;
mod memory;
mod store;
mod structures;

pub(crate) use self::by_hand::commands_by_hand;
pub(crate) use self::commands::{commands, functions};
pub(crate) use self::memory::{OutOfMemory, Template, Templates};
pub(crate) use self::store::{Commands, Functions, WithheldCommands};
