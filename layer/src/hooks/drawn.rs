//! Hooks for commands that name shader stages or pipeline stages, on devices where the layer draws geometry shaders: the
//! driver, which lacks that stage, gets other stages. They do everything that the hooks of other devices do as well.

mod bindings;
mod dependencies;

use ash::vk;

/// Returns the hook for a command, by the name of its function. `None` if it is the same as on other devices.
pub(super) fn hook_of(function: &str) -> vk::PFN_vkVoidFunction {
    dependencies::hook_of(function).or_else(|| bindings::hook_of(function))
}

#[cfg(test)]
mod tests;
