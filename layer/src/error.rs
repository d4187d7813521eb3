//! Why a command of the layer fails, and what Vulkan calls that.

use ash::vk;
use vkxfb::runtime::RuntimeError;

/// Why a command fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
    /// A device extension that programs are not shown.
    #[error("{0} is enabled, which the layer does not show on this device")]
    Extension(String),
    /// A structure that is not the program's to keep as it is stands where it cannot be reached by copying.
    #[error(
        "the structure {structure:?} of the chain of VkDeviceCreateInfo would have to be changed, and stands behind \
         {unknown:?}, of which nothing is known"
    )]
    Behind { structure: vk::StructureType, unknown: vk::StructureType },
    /// Captures cannot be made ready on a new device.
    #[error("no captures on the device: {0}")]
    Runtime(String, vk::Result),
    /// Memory cannot be managed on a new device.
    #[error("no captures on the device: {0}")]
    Allocator(String),
    /// The next in the chain failed; it has said why, if anyone has.
    #[error("{0}")]
    Below(vk::Result),
}

/// What a command returns that can fail for reasons of the device alone, where it fails for another one.
const FAILED: vk::Result = vk::Result::ERROR_INITIALIZATION_FAILED;

impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error.to_string(), error.vk_result().unwrap_or(FAILED))
    }
}

impl Error {
    /// What the caller gets, after the log was told of what is the layer's own.
    pub(crate) fn report(self, command: &'static str) -> vk::Result {
        match self {
            Self::Below(result) => result,
            error => {
                tracing::error!(command, "{error}");
                match error {
                    Self::Extension(_) => vk::Result::ERROR_EXTENSION_NOT_PRESENT,
                    Self::Runtime(_, result) => result,
                    _ => FAILED,
                }
            }
        }
    }
}
