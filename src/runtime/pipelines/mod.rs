//! Pipelines: those of lowered shaders and of kernels, made when they are needed first, the stages that they are made
//! from, the vertex attributes that
//! shaders pull, and the variants of an application's graphics pipelines.

pub(crate) mod kernels;
pub(crate) mod pipeline;
pub(crate) mod pulling;
pub(crate) mod stages;
pub(crate) mod variants;
pub mod vulkan;
