//! Exit statuses of the command.

/// The exit status if the command could not run.
pub(crate) const COULD_NOT_RUN: u8 = 2;
