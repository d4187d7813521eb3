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

pub(crate) mod arguments;
mod by_hand;
mod chain;
mod commands;
mod memory;
mod store;
mod structures;

pub(crate) use self::arguments::{Command, CommandType, Functions};
pub(crate) use self::commands::commands;
#[cfg(test)]
pub(crate) use self::memory::{Copied, Memory};
pub(crate) use self::memory::{OutOfMemory, Template, Templates};
pub(crate) use self::store::WithheldCommands;
