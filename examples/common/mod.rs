//! What any Vulkan program has before it captures anything: a device, images to draw into, shaders, pictures. Only
//! native.rs has to do with captures: it holds them against the driver's own.

#![allow(dead_code, reason = "no example needs all of it")]

pub mod arguments;
pub mod camera;
pub mod gpu;
pub mod headless;
pub mod native;
pub mod picture;
pub mod pipeline;
mod portability;

pub mod shader;
pub mod target;
mod validation;
