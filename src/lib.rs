//! Transform feedback for every Vulkan device.

pub mod capture;
pub mod draw;
pub mod lower;
#[cfg(feature = "probe")]
pub mod probe;
pub mod runtime;
pub mod spirv;
pub mod sysval;
pub mod topology;
pub mod vertex_input;
