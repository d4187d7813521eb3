//! Vulkan objects.
