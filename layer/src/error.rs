//! Why a command of the layer fails, and what Vulkan calls that.

use ash::vk;

/// Why a command fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// A pointer that must not be null is.
    #[error("{0} is null")]
    Null(&'static str),
    /// The chain has no link for the layer: the caller is no loader.
    #[error("the chain of {0} has no link for the layer")]
    NoLink(&'static str),
    /// The next in the chain has not what every one has.
    #[error("the next in the chain has no {0}")]
    NoCommand(&'static str),
    /// A handle was made without the layer.
    #[error("{0} is none that the layer knows")]
    Unknown(&'static str),
    /// The next in the chain failed; it has said why, if anyone has.
    #[error("{0}")]
    Below(vk::Result),
}

impl Error {
    /// What the caller gets, after the log was told of what is the layer's own.
    pub(crate) fn report(self, command: &'static str) -> vk::Result {
        match self {
            Self::Below(result) => result,
            error => {
                tracing::error!(command, "{error}");
                vk::Result::ERROR_INITIALIZATION_FAILED
            }
        }
    }
}
