//! `VK_LAYER_VKXFB_transform_feedback`: a Vulkan layer that gives programs
//! `VK_EXT_transform_feedback` where the driver does not have it.
//!
//! The layer decides for each physical device whether it is active, and reports that through
//! `VK_EXT_tooling_info`. Where it is active, programs see the extension with its features and
//! properties, and its commands work on devices that enable it. Captures are compute
//! dispatches, which the layer records outside of the render pass in which the program recorded the
//! draws. If nothing in the pass can depend on its captures, they are recorded after it, maybe together
//! with captures of passes that follow. Otherwise
//! the layer withholds the commands of the pass until it ends, and records the captures before it.
//! For each command buffer the layer tracks the state that captured draws read and the state that
//! captures disturb. The setting `withhold_passes`, for tests, withholds all passes, and leaves
//! captures to the driver.
//!
//! ```text
//! program -> loader -> layers above -> this layer -> layers below -> loader's terminators -> driver
//! ```
//!
//! # Rooms
//!
//! The modules are in *rooms*, one above the other. A module uses only modules of lower rooms, and
//! those that are listed before it in its own room (`tests/documentation/rooms.rs` checks this). From the lowest to
//! the highest:
//!
//! 1. *What all modules need.* `dispatch_keys` finds the state of an object by its dispatch key:
//!    the first word of a dispatchable object, which it shares with its child objects. `error` has
//!    the errors of commands; `guard` turns a panic into a Vulkan error;
//!    `registry` has what the layer knows of the registry of Vulkan; `identity` has the layer's
//!    name and versions; [`interface`] has the structures that the loader and its layers exchange;
//!    `log` has the log; `system` has functions that differ between operating systems; `next` fetches
//!    functions of the layer or driver below; `chain` walks `pNext` chains; `settings` reads the user's
//!    settings; `versions` decides which version of Vulkan is asked for below; `test_switches` is not
//!    in shipped builds. None of these modules uses an instance.
//! 2. *Arguments.* `translate` replaces arguments that belong to the extension, such as access masks
//!    and buffer usages, for a driver that does not have it. `withheld` stores the commands of a
//!    withheld pass; its tables are generated from the registry of Vulkan. `drawn` translates arguments that belong to
//!    geometry shaders, for a driver that does not have that stage. None of these uses hooks or captures.
//! 3. *Physical devices.* `capture_support` has what captures require of a physical device, and `features` the
//!    features that programs see. `activity` decides once for each physical device whether the layer
//!    is active. `instance` has the state of instances, and the commands that create and destroy them.
//!    `advertise` changes what programs see, and `properties` has the commands that enumerate layers,
//!    extensions and tools; `android` exports some of them. `creation` makes the create info for the
//!    driver's device.
//! 4. `emulation` has the objects that captures use on a device, and the captures of a command buffer.
//!    It does not use hooks: they call it.
//! 5. `command_buffers` has the state of each command buffer: its withheld commands, and its captures.
//!    It uses no device state.
//! 6. *Devices.* `hooked_device` has what hooks use of a device on which passes may be withheld,
//!    and `device` the data of all devices, and the commands that create and destroy them.
//! 7. `hooks` has the table of the commands that the layer intercepts, and the functions that programs
//!    call instead of the driver's. Other commands go directly to the layer or driver below. On a device
//!    where the layer is dormant, only `vkGetDeviceProcAddr` and `vkDestroyDevice` do not go there directly.
//!
//! Files of the same folder use each other only in three cases: the methods of a command buffer's
//! captures are in several files of `emulation/captures`; copies of structures include the memory
//! that they point to (`withheld/memory` and `withheld/structures`); and the sources of settings
//! use the types of `settings`.
//!
//! The layer never wraps handles: programs see those of the driver.
//!
//! # Words
//!
//! The words of the library `vkxfb` are in `CONTRIBUTING.md`. The layer also uses these:
//!
//! * *active*, *dormant*: the layer gives the extension to a physical device, or does not
//!   (`activity`).
//! * *below*: the layer or driver that this layer calls; *above* is the layer or program that calls this layer
//!   (`chain`).
//! * *program*: the application, or a layer above, which looks the same to this layer.
//! * *hook*: a function of the layer that replaces a command (`hooks`).
//! * *pass*: a render pass instance, from its beginning to its end.
//! * *withheld*: a pass is withheld if its commands are stored and go to the driver only when it ends,
//!   so that captures can be recorded before it. In `withheld`, `commands` and `structures` are
//!   generated from the registry of Vulkan by `layer/tests/registry`; `by_hand` has the commands whose
//!   arguments the registry does not describe completely.
//! * *settled*: a withheld pass is settled if the layer finds out, before the pass ends, that it need
//!   not be withheld further (`command_buffers`). The layer tries that once the pass is *long*: once it
//!   has many commands (`withheld`).
//! * *hoisted*: captures, and computations of draw arguments, are hoisted if they are recorded
//!   outside of the pass that they belong to, before or after it (`emulation/captures`).
//! * *deferred*: captures are deferred if they are not recorded when their pass ends, but when captures
//!   of later passes have been added to them (`emulation/captures/passes`).
//! * *neutral*: a pass is neutral if it changes nothing by itself: only its commands may do so
//!   (`translate/neutral`). A neutral pass is *dropped* if its commands only capture and set state.
//! * *capture barriers*: barriers before and after hoisted captures, because the dependencies of
//!   the render pass cannot include them (`translate/passes`).
//! * *to disturb*: to overwrite state that the program has set or bound. It is *restored* after
//!   captures (`emulation/state`).
//! * *translate*: to replace arguments that belong to the extension by equivalent ones that a
//!   driver without it accepts (`translate`).
//!
//! # Functions that programs call
//!
//! The layer fetches the instance commands of the layer or driver below while the instance is created.
//! Later the loader of Debian 12 returns commands of the first layer in the chain, so this layer
//! might call itself. Device commands can be fetched at any time.
//!
//! The contract of a function that programs call is the valid usage of its command: among other things, handles are
//! live, pointers are to what the command says, and what must be synchronized is. So such a function, which has the ABI of
//! Vulkan, states no contract of its own. In `hooks` the device was created through the layer, or the function does nothing.
//!
//! The functions that programs call have guards (`guard`): in `command_buffers` for commands that are recorded, in
//! `hooks/entry` for other commands of devices, and in the functions themselves for commands of instances and physical
//! devices.
//!
//! Only the functions below are exported, and on Android those of `android`. When the layer
//! negotiates, it gives the loader pointers to private functions that do the same, because the
//! dynamic linker may resolve the exported names to the symbols of the loader.

mod activity;
mod advertise;
#[cfg(target_os = "android")]
mod android;
mod capture_support;
mod chain;
mod command_buffers;
mod creation;
mod device;
mod dispatch_keys;
mod drawn;
mod emulation;
mod error;
mod features;
mod guard;
mod hooked_device;
mod hooks;
mod identity;
mod instance;
pub mod interface;
mod log;
mod next;
mod properties;
mod registry;
mod settings;
mod system;
#[cfg(feature = "test-switches")]
mod test_switches;
mod translate;
mod versions;
mod withheld;

use std::ffi::c_char;

use ash::vk;

use self::interface::NegotiateLayerInterface;

/// The loader's first call of the layer: both agree on a version of their interface, and the loader
/// gets the layer's `vkGetInstanceProcAddr` and `vkGetDeviceProcAddr`.
///
/// # Safety
/// The pointer is null or to a structure that may be written.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Vulkan's")]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(
    version: *mut NegotiateLayerInterface,
) -> vk::Result {
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
    unsafe { hooks::get_device_proc_addr(device, name) }
}
