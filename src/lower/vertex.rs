//! The vertex backend.
