//! The native backend.
