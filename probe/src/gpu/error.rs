//! Errors of the headless device.

use std::path::PathBuf;
use std::time::Duration;

use ash::vk;
use vkxfb::runtime::{RuntimeError, Unavailable};

use super::DeviceSelector;

/// Why a device could not be opened, or a capture failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The Vulkan loader is not installed.
    #[error("no Vulkan loader on this machine (libvulkan.so.1 or vulkan-1.dll): {reason}")]
    NoLoader {
        /// The error of the dynamic linker.
        reason: String,
    },
    /// A driver's library cannot be used without the loader.
    #[error("{}: {reason}", .file.display())]
    Driver {
        /// The library.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The loader found no driver.
    #[error("the Vulkan loader found no driver (no usable ICD; see VK_DRIVER_FILES)")]
    NoDriver,
    /// The drivers report no device.
    #[error("no Vulkan device: the loader has drivers, but none found a device")]
    NoDevice,
    /// No device matches the selector.
    #[error("no device '{selector}'; there are: {}", .available.join(", "))]
    UnknownDevice {
        /// The selector.
        selector: DeviceSelector,
        /// Index and name of each device.
        available: Vec<String>,
    },
    /// The validation layer is not installed, or there is no loader that loads layers.
    #[error("VK_LAYER_KHRONOS_validation is not installed")]
    NoValidationLayer,
    /// The instance lacks an extension.
    #[error("the Vulkan instance has no {name}")]
    MissingInstanceExtension {
        /// The extension.
        name: String,
    },
    /// No queue family supports both graphics and compute.
    #[error("{device} has no queue family for graphics and compute")]
    NoQueue {
        /// Name of the device.
        device: String,
    },
    /// The device supports no backend.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    NoBackend(Vec<Unavailable>),
    /// The device was lost.
    #[error("the device was lost during {during}")]
    DeviceLost {
        /// The Vulkan command that returned the error.
        during: &'static str,
    },
    /// The device did not finish in time.
    #[error("the device did not finish within {0:?}")]
    Timeout(Duration),
    /// The bound range of a capture buffer exceeds the buffer.
    #[error(
        "capture {capture}: the range of buffer {buffer}, {offset} + {size}, passes its {len} bytes"
    )]
    TargetRange {
        /// Index of the request.
        capture: usize,
        /// Index of the buffer.
        buffer: usize,
        /// Start of the range in bytes.
        offset: u64,
        /// Length of the range in bytes.
        size: u64,
        /// Size of the buffer in bytes.
        len: u64,
    },
    /// A range exceeds its buffer.
    #[error("bytes {start}..{end} of a buffer of {size}")]
    OutOfRange {
        /// First byte.
        start: u64,
        /// The byte after the last one.
        end: u64,
        /// Bytes of the buffer.
        size: u64,
    },
    /// A buffer of another device.
    #[error("the buffer is one of another device")]
    ForeignBuffer,
    /// A buffer usage that the device was not opened for, or that the buffer was not created with.
    #[error("the buffer cannot be used for {usage:?}")]
    BufferUsage {
        /// The missing usage.
        usage: vk::BufferUsageFlags,
    },
    /// A capture could not be recorded.
    #[error("capture {capture}")]
    Capture {
        /// Index of the request.
        capture: usize,
        /// Why.
        #[source]
        source: RuntimeError,
    },
    /// An error of the runtime, or of a Vulkan command.
    #[error(transparent)]
    Runtime(RuntimeError),
}

impl From<RuntimeError> for GpuError {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Vulkan { call, result: vk::Result::ERROR_DEVICE_LOST } => {
                Self::DeviceLost { during: call }
            }
            error => Self::Runtime(error),
        }
    }
}

impl GpuError {
    /// The same error, with `by` added to the index of the request.
    pub(super) fn offset_capture(mut self, by: usize) -> Self {
        if let Self::TargetRange { capture, .. } | Self::Capture { capture, .. } = &mut self {
            *capture += by;
        }
        self
    }
}
