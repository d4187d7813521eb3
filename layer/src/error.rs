//! Errors of the layer's commands, and the results that programs get for them.

use ash::vk;
use vkxfb::runtime::RuntimeError;

/// The reason why a command fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// A pointer is null that must not be null.
    #[error("{0} is null")]
    Null(&'static str),
    /// The loader's create info has no link for this layer: the layer was not called by a loader.
    #[error("the chain of {0} has no link for the layer")]
    NoLink(&'static str),
    /// The layer or driver below lacks a command that every driver must have.
    #[error("the layer or driver below has no {0}")]
    NoCommand(&'static str),
    /// A program passes a handle that the layer does not know, because the object was not created
    /// through the layer.
    #[error("{0} is unknown to the layer")]
    Unknown(&'static str),
    /// A program enables a device extension that the layer does not show.
    #[error("{0} is enabled, but the layer does not show it on this device")]
    Extension(String),
    /// A program enables a feature that the layer does not report.
    #[error("the feature {0} is enabled, but the layer does not report it on this device")]
    Feature(&'static str),
    /// A structure has to be changed, but it comes after an unknown structure. The chain can be
    /// copied only up to the unknown one, whose size is not known.
    #[error(
        "the structure {structure:?} in a chain has to be changed, but comes after the unknown \
         structure {unknown:?}"
    )]
    Behind { structure: vk::StructureType, unknown: vk::StructureType },
    /// The objects that captures use cannot be created on a new device.
    #[error("captures are not possible on the device: {0}")]
    Runtime(String, vk::Result),
    /// The layer or driver below returned this error, and may have logged the reason.
    #[error("{0}")]
    Below(vk::Result),
}

/// The result that programs get for errors that have no `VkResult` themselves.
pub(crate) const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;

impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error.to_string(), error.vk_result().unwrap_or(FAILED))
    }
}

impl Error {
    /// Logs the error, unless it comes from the layer or driver below, and returns the result for the program.
    pub(crate) fn report(self, command: &'static str) -> vk::Result {
        match self {
            Self::Below(result) => result,
            error => {
                tracing::error!(command, "{error}");
                match error {
                    Self::Extension(_) => vk::Result::ERROR_EXTENSION_NOT_PRESENT,
                    Self::Feature(_) => vk::Result::ERROR_FEATURE_NOT_PRESENT,
                    Self::Runtime(_, result) => result,
                    _ => FAILED,
                }
            }
        }
    }
}
