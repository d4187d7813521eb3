//! Keeps the layer's data of each device, and has the commands that create and destroy devices.

use std::ffi::CStr;
use std::sync::Arc;

use ash::{ext, vk};

use crate::activity::{Activity, Reason};
use crate::advertise;
use crate::chain::OwnLink;
use crate::command_buffers::device_destroyed;
use crate::creation::{Creation, Wishes};
use crate::dispatch_keys::{DispatchKey, DispatchMap};
use crate::error::Error;
use crate::features::check_features;
use crate::guard::guard;
use crate::hooked_device::HookedDevice;
use crate::instance::InstanceData;
use crate::interface::LayerDeviceLink;
use crate::translate::Translation;
use crate::versions::Versions;

static DEVICES: DispatchMap<DeviceData> = DispatchMap::new();

/// What the layer knows of a device.
pub(crate) struct DeviceData {
    /// The `vkGetDeviceProcAddr` of the layer or driver below, for commands that the layer does not intercept.
    pub(crate) get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
    destroy_device: vk::PFN_vkDestroyDevice,
    /// The versions of the instance.
    pub(crate) versions: Versions,
    /// Whether the layer, instead of the driver, gives transform feedback on this device to
    /// programs that enable it.
    pub(crate) gives: bool,
    /// What its hooks use. `None` if the device needs no hooks, because the layer neither
    /// emulates captures nor stores the commands of render passes there.
    pub(crate) hooked: Option<HookedDevice>,
}

impl DeviceData {
    /// Registers a made-up device, whose functions are those of a test.
    ///
    /// # Safety
    /// The contract of [`DispatchKey::of`] and [`HookedDevice::load`].
    #[cfg(test)]
    pub(crate) unsafe fn insert(
        handle: vk::Device,
        get: vk::PFN_vkGetDeviceProcAddr,
        destroy_device: vk::PFN_vkDestroyDevice,
        translation: Translation,
    ) {
        let (key, loaded) = unsafe { (DispatchKey::of(handle), HookedDevice::load(handle, get)) };
        let hooked = Some(HookedDevice { translation: Some(translation), ..loaded });
        let versions = Versions::new(vk::API_VERSION_1_3);
        let data =
            Self { get_device_proc_addr: get, destroy_device, versions, gives: true, hooked };
        if let Some(key) = key {
            DEVICES.insert(key, Arc::new(data));
        }
    }

    /// Returns the data for translating arguments. `None` if transform feedback is not emulated.
    pub(crate) fn translation(&self) -> Option<&Translation> {
        self.hooked.as_ref()?.translation.as_ref()
    }

    /// Finds the data for a handle of a device, a queue or a command buffer. `None` if the device was not
    /// created through the layer.
    ///
    /// # Safety
    /// The contract of [`DispatchKey::of`].
    pub(crate) unsafe fn of<H: vk::Handle>(handle: H) -> Option<Arc<Self>> {
        DEVICES.get(unsafe { DispatchKey::of(handle) }?)
    }
}

pub(crate) unsafe extern "system" fn create_device(
    physical_device: vk::PhysicalDevice,
    create_info: *const vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> vk::Result {
    guard("vkCreateDevice", vk::Result::ERROR_INITIALIZATION_FAILED, || {
        let created = unsafe {
            match create_info.as_ref() {
                Some(create_info) => create(physical_device, create_info, allocator, device),
                None => Err(Error::Null("pCreateInfo")),
            }
        };
        match created {
            Ok(()) => vk::Result::SUCCESS,
            Err(error) => error.report("vkCreateDevice"),
        }
    })
}

/// # Safety
/// `vkCreateDevice`'s contract.
unsafe fn create(
    physical_device: vk::PhysicalDevice,
    create_info: &vk::DeviceCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    device: *mut vk::Device,
) -> Result<(), Error> {
    let instance = unsafe { InstanceData::of(physical_device) };
    let instance = instance.ok_or(Error::Unknown("the physical device"))?;
    let activity = unsafe { instance.activity(physical_device) };

    let wishes = unsafe { Wishes::new(create_info) };
    unsafe { check_extensions(&instance, &activity, physical_device, &wishes) }?;
    let support = instance.capture_support(&activity);
    if let Some(support) = support {
        unsafe { check_features(create_info.p_next, support) }?;
    }
    // Captures are emulated if the program enables the extension, even if it does not enable the
    // feature `transformFeedback`: the commands of the extension exist then, and indexed queries
    // need no feature.
    let emulated = support.filter(|support| wishes.are_emulated(support));

    // SAFETY: the caller's contract; the link does not leave this call.
    let mut own = unsafe { OwnLink::<LayerDeviceLink>::find(create_info.p_next) }?;
    let get_instance_proc_addr = own.link().next_get_instance_proc_addr;
    let get_device_proc_addr = own.link().next_get_device_proc_addr;
    // The link is advanced before the chain is copied, because the copy contains the pointer to the link.
    own.advance();
    let mut creation = match support {
        Some(support) => Some(unsafe {
            let first_instances =
                emulated.is_some() && instance.has_first_instances(physical_device);
            Creation::new(&wishes, support, first_instances)
        }?),
        None => None,
    };
    let below = creation.as_mut().map(Creation::info);
    // SAFETY: the caller's contract; the function has the type of the command.
    let create: vk::PFN_vkCreateDevice = unsafe {
        let create = get_instance_proc_addr(instance.next.handle(), c"vkCreateDevice".as_ptr());
        std::mem::transmute(create.ok_or(Error::NoCommand("vkCreateDevice"))?)
    };
    unsafe { create(physical_device, below.as_ref().unwrap_or(create_info), allocator, device) }
        .result()
        .map_err(Error::Below)?;

    // SAFETY: the device was created, so its handle has a key; the function has the type of the
    // command.
    let (created, key, destroy_device) = unsafe {
        let destroy = get_device_proc_addr(*device, c"vkDestroyDevice".as_ptr());
        let destroy: vk::PFN_vkDestroyDevice =
            std::mem::transmute(destroy.ok_or(Error::NoCommand("vkDestroyDevice"))?);
        (*device, DispatchKey::of(*device).ok_or(Error::Null("the new device"))?, destroy)
    };
    let records = emulated.is_some() || instance.withholds(&activity);
    // SAFETY: the layer or driver below created the device, and the function is its own.
    let mut hooked = records.then(|| unsafe { HookedDevice::load(created, get_device_proc_addr) });
    if let (Some(support), Some(hooked), Some(creation)) = (emulated, &mut hooked, &creation) {
        // SAFETY: the layer or driver below created the device with what the capture support requires, and the function
        // is its own.
        unsafe {
            hooked
                .emulate(
                    &instance,
                    physical_device,
                    created,
                    get_device_proc_addr,
                    support,
                    creation,
                )
                .inspect_err(|_| {
                    // The program does not get the handle, so the layer destroys the device.
                    destroy_device(created, allocator);
                    *device = vk::Device::null();
                })?;
        }
    }
    match (&activity, hooked.as_ref().and_then(|hooked| hooked.emulation.as_ref())) {
        (_, Some(emulation)) => tracing::info!(
            addresses = emulation.context().has_addresses(),
            largest_buffer = emulation.context().max_capture_buffer(),
            "device created, with transform feedback of the layer: captures are ours"
        ),
        (Activity::Active(..), None) => tracing::info!("device created, without captures"),
        (Activity::Dormant(_), None) => tracing::debug!("device created"),
    }
    let gives = support.is_some();
    let versions = instance.versions;
    let data = DeviceData { get_device_proc_addr, destroy_device, versions, gives, hooked };
    DEVICES.insert(key, Arc::new(data));
    Ok(())
}

/// Checks that the program enables only extensions that the layer shows to it.
///
/// The loader does not check that: it accepts extensions that a manifest promises, and removes
/// those that the driver does not have.
///
/// # Errors
/// [`Error::Extension`] with an extension that the layer does not show, or [`Error::Below`] if a query of the driver
/// fails.
///
/// # Safety
/// The physical device belongs to the instance, which is live.
unsafe fn check_extensions(
    instance: &InstanceData,
    activity: &Activity,
    physical_device: vk::PhysicalDevice,
    wishes: &Wishes<'_>,
) -> Result<(), Error> {
    let refused = match activity {
        Activity::Active(..) => {
            let found =
                unsafe { instance.next.enumerate_device_extension_properties(physical_device) };
            let shown = advertise::extensions(found.map_err(Error::Below)?, instance, activity);
            let is_shown = |name: &CStr| {
                shown.iter().any(|extension| extension.extension_name_as_c_str() == Ok(name))
            };
            wishes.extensions.iter().find(|name| !is_shown(name)).copied()
        }
        Activity::Dormant(Reason::DriverHasIt(_) | Reason::Irreplaceable(_)) => None,
        // The driver failed to report its capabilities, so it is not known whether the layer is
        // active.
        Activity::Dormant(Reason::Unknown(result)) if wishes.has_extension() => {
            return Err(Error::Below(*result));
        }
        Activity::Dormant(_) => wishes.has_extension().then_some(ext::transform_feedback::NAME),
    };
    match refused {
        Some(name) => Err(Error::Extension(name.to_string_lossy().into_owned())),
        None => Ok(()),
    }
}

pub(crate) unsafe extern "system" fn destroy_device(
    device: vk::Device,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    guard("vkDestroyDevice", (), || {
        let Some(key) = (unsafe { DispatchKey::of(device) }) else { return };
        match DEVICES.remove(key) {
            Some(data) => unsafe {
                if let Some(hooked) = &data.hooked {
                    // Vulkan requires that the device is idle, so its command buffers and objects
                    // are not in use.
                    device_destroyed(&hooked.functions);
                    hooked.templates.clear();
                    if let Some(emulation) = &hooked.emulation {
                        emulation.close();
                    }
                }
                (data.destroy_device)(device, allocator);
            },
            None => tracing::error!("vkDestroyDevice: {}", Error::Unknown("the device")),
        }
    });
}
