//! The winding probe.

pub mod gpu;
