//! The winding probe.
