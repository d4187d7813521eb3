//! Has the code that the hooks for commands of devices share: the macro that finds a hook by its
//! name, and the guard of hooks that do not record commands.

use ash::vk;

use crate::device::DeviceData;
use crate::emulation::Emulation;
use crate::guard::guard;
use crate::hooked_device::HookedDevice;

/// The result of a command if its hook panics, or if the layer does not know the device.
pub(super) const FAILED: vk::Result = vk::Result::ERROR_UNKNOWN;

/// Calls `command` with the layer's data of a device whose commands have hooks. Returns `otherwise` if `command`
/// panics, if it returns `None` because the layer or driver below lacks a command, or if the layer does not know the
/// device.
///
/// This is the guard of all hooks of devices that do not record commands. The guards of the other hooks are in
/// `command_buffers`.
///
/// # Safety
/// The handle is that of the device or of another live dispatchable object of it, as the loader
/// passes it to layers.
pub(super) unsafe fn with_device<H: vk::Handle, R: Copy>(
    name: &'static str,
    otherwise: R,
    handle: H,
    command: impl FnOnce(&HookedDevice) -> Option<R>,
) -> R {
    guard(name, otherwise, || {
        let device = unsafe { DeviceData::of(handle) };
        let done = device.as_ref().and_then(|device| command(device.hooked.as_ref()?));
        done.unwrap_or_else(|| {
            tracing::error!("{name}: nothing is known of the device");
            otherwise
        })
    })
}

/// Calls `command` with the emulation of a device. Returns `otherwise` if transform feedback is not emulated, and in
/// the cases in which [`with_device`] returns it.
///
/// # Safety
/// The contract of [`with_device`].
pub(super) unsafe fn emulated<R: Copy>(
    name: &'static str,
    otherwise: R,
    device: vk::Device,
    command: impl FnOnce(&Emulation) -> R,
) -> R {
    unsafe {
        with_device(name, otherwise, device, |device| Some(command(device.emulation.as_ref()?)))
    }
}

/// Casts a function to an untyped function pointer. With `as Type`, first checks that the function
/// has that type.
macro_rules! untyped {
    ($function:path as $ty:ty) => {{
        let function: $ty = $function;
        // SAFETY: all function pointers have the same size, and the caller casts the pointer back
        // to the type of the command.
        unsafe { std::mem::transmute::<$ty, unsafe extern "system" fn()>(function) }
    }};
    ($function:path) => {
        // SAFETY: all function pointers have the same size, and the caller casts the pointer back.
        unsafe {
            std::mem::transmute::<*const (), unsafe extern "system" fn()>($function as *const ())
        }
    };
}

/// Generates the function `hook` from rows `"name" | "alias" => function as type`, one for each
/// command.
macro_rules! hooks {
    ($($($name:literal)|+ => $function:ident $(as $ty:ident)?,)*) => {
        pub(super) fn hook(name: &std::ffi::CStr) -> ash::vk::PFN_vkVoidFunction {
            match name.to_bytes() {
                $($($name)|+ => Some($crate::hooks::entry::untyped!($function $(as $crate::registry::vk::$ty)?)),)*
                _ => None,
            }
        }
    };
}

pub(super) use {hooks, untyped};
