//! The types of Vulkan: those of ash, and those that `newer` adds.

pub(crate) use ash::vk::*;

pub(crate) use super::newer::*;
pub(crate) use super::types::*;
