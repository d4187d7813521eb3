//! The errors of the headless device.

use std::path::PathBuf;
use std::time::Duration;

use ash::vk;
use vkxfb::runtime::{RuntimeError, Unavailable};

use super::DeviceSelector;
use super::driver::ManifestError;

/// The reason why a device could not be opened, or an operation on it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The Vulkan loader is not installed.
    #[error("no Vulkan loader on this machine (libvulkan.so.1 or vulkan-1.dll): {reason}")]
    NoLoader {
        /// The error of the dynamic linker.
        reason: String,
    },
    /// The library of a driver cannot be used directly, without the loader.
    #[error("{}: {reason}", .file.display())]
    Driver {
        /// The path of the library.
        file: PathBuf,
        /// The reason why the library cannot be used.
        reason: String,
    },
    /// The manifest of a driver, which is used without the loader, leads to no driver.
    #[error("{}: {reason}", .file.display())]
    Manifest {
        /// The path of the manifest.
        file: PathBuf,
        /// What is wrong with the manifest.
        reason: ManifestError,
    },
    /// The loader found no driver.
    #[error("the Vulkan loader found no driver (no usable ICD; see VK_DRIVER_FILES)")]
    NoDriver,
    /// The loader found drivers, but they have no device.
    #[error("no Vulkan device: the loader has drivers, but none found a device")]
    NoDevice,
    /// No device matches the selector.
    #[error("no device '{selector}'; there are: {}", .available.join(", "))]
    UnknownDevice {
        /// The selector.
        selector: DeviceSelector,
        /// The index and name of each device.
        available: Vec<String>,
    },
    /// The validation layer is not installed, or the driver is loaded directly, without layers.
    #[error("VK_LAYER_KHRONOS_validation is not installed")]
    NoValidationLayer,
    /// The instance lacks an extension that is needed.
    #[error("the Vulkan instance has no {name}")]
    MissingInstanceExtension {
        /// The name of the extension.
        name: String,
    },
    /// No queue family supports both graphics and compute.
    #[error("{device} has no queue family for graphics and compute")]
    NoQueue {
        /// The name of the device.
        device: String,
    },
    /// The device supports no backend.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    NoBackend(Vec<Unavailable>),
    /// The device was lost.
    #[error("the device was lost during {during}")]
    DeviceLost {
        /// The Vulkan command that returned `VK_ERROR_DEVICE_LOST`.
        during: &'static str,
    },
    /// The device did not finish a submission within this time.
    #[error("the device did not finish within {0:?}")]
    Timeout(Duration),
    /// The bound range of a capture buffer is not within the buffer.
    #[error(
        "capture {capture}: the range of buffer {buffer}, {offset} + {size}, passes its {len} bytes"
    )]
    TargetRange {
        /// The index of the capture request.
        capture: usize,
        /// The number of the capture buffer.
        buffer: usize,
        /// The start of the range in bytes.
        offset: u64,
        /// The length of the range in bytes.
        size: u64,
        /// The size of the buffer in bytes.
        len: u64,
    },
    /// A range of bytes is not within its buffer.
    #[error("bytes {start}..{end} of a buffer of {size}")]
    OutOfRange {
        /// The first byte of the range.
        start: u64,
        /// The byte after the last one of the range.
        end: u64,
        /// The size of the buffer in bytes.
        size: u64,
    },
    /// The buffer belongs to another device.
    #[error("the buffer is one of another device")]
    ForeignBuffer,
    /// A buffer lacks a usage flag that an operation needs, or a buffer is to have a usage flag
    /// that the device was not opened for.
    #[error("the buffer cannot be used for {usage:?}")]
    BufferUsage {
        /// The missing usage.
        usage: vk::BufferUsageFlags,
    },
    /// A capture request could not be recorded.
    #[error("capture {capture}")]
    Capture {
        /// The index of the capture request.
        capture: usize,
        /// The error of the runtime.
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
    /// Returns the same error, with `by` added to the index of the capture request, if the error
    /// has one.
    pub(super) fn offset_capture(mut self, by: usize) -> Self {
        if let Self::TargetRange { capture, .. } | Self::Capture { capture, .. } = &mut self {
            *capture += by;
        }
        self
    }
}
