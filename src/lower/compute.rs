//! The compute backend.
