//! The descriptors of the descriptor plan: their sets, and which of them are for which windows of buffers.

pub(crate) mod purpose;
pub(crate) mod sets;
pub(crate) mod windows;
