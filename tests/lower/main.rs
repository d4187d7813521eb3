//! Lowered modules: they are valid and contain only what they need, whichever compiler the shader
//! is from. Some are executed on a device, where the captured bytes tell more than the words.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(missing_docs, reason = "no API")]

#[path = "../common/mod.rs"]
mod common;
mod compute;
mod control_points;
mod drawn;
mod effects;
mod emission;
mod explicit_layout;
mod functions;
mod geometry;
mod inputs;
mod interface;
mod kernel;
mod lowered;
mod narrow_interfaces;
mod native_list;
mod push_constants;
mod shaders;
mod specialized;
mod static_use;
mod structured_inputs;
mod styles;
mod unwritten;
