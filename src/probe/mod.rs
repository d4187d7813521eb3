//! The winding probe.

pub mod shaders;
