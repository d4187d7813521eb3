//! What a device is and can: its identity, extensions, features and capabilities, what differs because of its driver,
//! and the context that knows them. What all floors above share is here, too: errors, checks of what callers pass,
//! barriers, and the parameters of commands.

pub(crate) mod barrier;
pub(crate) mod capabilities;
pub(crate) mod checks;
pub(crate) mod choice;
pub(crate) mod context;
mod create_device;
mod debug_utils;
pub mod descriptor_heaps;
pub(crate) mod error;
pub(crate) mod extensions;
pub(crate) mod features;
pub(crate) mod host_memory;
pub(crate) mod identity;
pub(crate) mod parameters;
pub(crate) mod profile;
pub(crate) mod table_limits;
pub(crate) mod tunings;
pub(crate) mod unavailable;
pub(crate) mod workarounds;
