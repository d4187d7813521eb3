//! `VK_LAYER_VKXFB_transform_feedback`: a Vulkan layer, to give programs `VK_EXT_transform_feedback` where the
//! driver has none.
//!
//! It finds out for each physical device whether it is active, and says so by `VK_EXT_tooling_info`. Where it is,
//! programs see the extension with its features and properties, and its commands work on devices that enable the
//! feature: captures are dispatched by compute, outside of the render pass that they were recorded in. They come behind
//! it where nothing in it can wait for them; otherwise its commands are withheld until it ends, and captures come before.
//! Of each command buffer the layer knows what a captured draw reads and what captures disturb.
//! With the setting `withhold_passes`, for tests, passes are withheld, and what they capture is the driver's own work.
//!
//! ```text
//! program -> loader -> layers above -> this layer -> layers below -> loader's terminators -> driver
//! ```
//!
//! * [`interface`] mirrors what the loader and its layers hand each other, `chain` walks `pNext` and finds it there.
//! * `hooks` has the one table of the commands that are intercepted. What is not in it goes to the next in the
//!   chain without a detour: a dormant layer costs nothing from the creation of the device on.
//! * `instance` and `device` have what is known of each, with the commands that create and destroy them.
//!   `registry` finds it by the dispatch key, the word that a dispatchable object begins with and that objects made
//!   of it share. Handles are never wrapped: they stay the driver's.
//! * `activity` decides, once for each physical device, `advertise` has what programs see where the layer is active,
//!   `creation` what the driver's device is created with. `properties` enumerates;
//!   `settings` reads what the user wants; `log` says what was found; `guard` turns a panic into a Vulkan error at
//!   every entry point.
//! * `emulation` has the extension's commands, and those that captures are made of: pipelines and descriptors as they
//!   are created, the state of a command buffer, captures and queries.
//! * `withheld` has the commands of a pass while they are withheld, generated from the registry of Vulkan;
//!   `command_buffers` knows of each command buffer where it stands, and `recording` has the commands by which they
//!   come, begin, end and go.
//! * `translate` says to a driver without the extension what applications mean where they say it of the extension:
//!   barriers, usages.
//!
//! # Words
//!
//! Those of the library `vkxfb` are in its own documentation. The layer has these besides:
//!
//! * *active*, *dormant*: whether it gives a device the extension (`activity`).
//! * *below*, *the next in the chain*: the layer or driver that its calls go to; *above* is whoever calls it (`chain`).
//! * *program*: the application; a layer above is one to this layer.
//! * *hook*: a function that takes the place of a command (`hooks`).
//! * *pass*: a render pass instance, from its begin to its end.
//! * *withheld*: of a pass, that its commands are kept and go to the driver when it has ended, so that captures can come
//!   before it (`withheld`: `commands` and `structures` are generated, with `extensions`, whose commands they know;
//!   `by_hand` has commands that point to more or less than the registry says).
//! * *hoisted*: of captures and of the arguments of draws, that they are recorded outside of the pass that they are
//!   part of, before or after it (`emulation/captures`).
//! * *around*: the barriers that come with hoisted captures, in place of what the render pass says (`translate/passes`).
//! * *to disturb*: to bind or set what the program has bound or set otherwise, which is *restored* after captures
//!   (`emulation/state`).
//! * *translate*: to say to a driver without the extension what a program means with it (`translate`).
//!
//! # Entry points
//!
//! Commands of the next in the chain are fetched while the instance is created, for the loader of Debian 12 answers
//! later questions with the top of the chain: the layer would call itself. Those of a device are the device's own,
//! and can be fetched at any time.
//!
//! Only the functions below are exported. What is handed to the loader are private twins of them, because a symbol
//! of that name may well be found in the loader first.

mod activity;
mod advertise;
mod chain;
mod command_buffers;
mod creation;
mod device;
mod emulation;
mod error;
mod guard;
mod hooks;
mod identity;
mod instance;
pub mod interface;
mod log;
mod properties;
mod recording;
mod registry;
mod settings;
mod translate;
mod withheld;

use std::ffi::c_char;

use ash::vk;

use self::interface::NegotiateLayerInterface;

/// The loader's first call: both sides settle on a version of the interface, and the loader gets the functions to
/// begin with.
///
/// # Safety
/// As the loader calls it: the pointer is null or of a structure that may be written.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(
    version: *mut NegotiateLayerInterface,
) -> vk::Result {
    // SAFETY: the caller's contract.
    unsafe { hooks::negotiate(version) }
}

/// `vkGetInstanceProcAddr`, for loaders that do not negotiate.
///
/// # Safety
/// Vulkan's contract.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkGetInstanceProcAddr(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's contract.
    unsafe { hooks::get_instance_proc_addr(instance, name) }
}

/// `vkGetDeviceProcAddr`, for loaders that do not negotiate.
///
/// # Safety
/// Vulkan's contract.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkGetDeviceProcAddr(
    device: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: the caller's contract.
    unsafe { hooks::get_device_proc_addr(device, name) }
}
