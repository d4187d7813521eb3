//! Creates a device and its context in one step, for applications that need nothing between the steps.

use ash::vk;

use crate::runtime::device::capabilities::Capabilities;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::extensions::CreateInfoAdditions;
use crate::runtime::device::features::required_features;
use vkxfb_rewriter::lower::Backend;

impl Context {
    /// Creates a device with `info` and everything that captures require, and creates its context. Calls
    /// [`Capabilities::query`], [`required_features`], [`RequiredFeatures::add_to`], `vkCreateDevice` and
    /// [`new`](Self::new). The application destroys the device.
    ///
    /// `instance_api_version` is the `apiVersion` that the instance was created with.
    ///
    /// ```no_run
    /// # use ash::vk;
    /// # use vkxfb::{Backend, Context, RuntimeError};
    /// # unsafe fn create(
    /// #     entry: &ash::Entry, instance: &ash::Instance, physical_device: vk::PhysicalDevice,
    /// #     info: vk::DeviceCreateInfo<'_>,
    /// # ) -> Result<(), RuntimeError> { unsafe {
    /// let (version, backends) = (vk::API_VERSION_1_2, &[Backend::Compute]);
    /// let (device, context) =
    ///     Context::create_device(entry, instance, version, physical_device, info, backends)?;
    /// # Ok(())
    /// # } }
    /// ```
    ///
    /// # Errors
    /// [`RuntimeError::Unavailable`] for the first of `backends` that the device cannot run; a failed `vkCreateDevice`;
    /// the errors of the called functions.
    ///
    /// # Safety
    /// `info` meets the requirements of [`RequiredFeatures::add_to`]. `instance` is live, was created through `entry`
    /// with the version `instance_api_version`, and has `physical_device`. The device outlives the context and all
    /// clones of it, including those that captures hold.
    ///
    /// [`RequiredFeatures::add_to`]: crate::runtime::RequiredFeatures::add_to
    pub unsafe fn create_device(
        entry: &ash::Entry,
        instance: &ash::Instance,
        instance_api_version: u32,
        physical_device: vk::PhysicalDevice,
        info: vk::DeviceCreateInfo<'_>,
        backends: &[Backend],
    ) -> Result<(ash::Device, Self), RuntimeError> {
        unsafe {
            let version = instance_api_version;
            let capabilities = Capabilities::query(entry, instance, version, physical_device)?;
            Self::create_device_of(instance, physical_device, info, capabilities, backends)
        }
    }

    /// Like [`create_device`](Self::create_device), and uses no more of the device than `capabilities`, which may be less
    /// than it has.
    ///
    /// # Errors
    /// The errors of [`create_device`](Self::create_device).
    ///
    /// # Safety
    /// The requirements of [`create_device`](Self::create_device) apply; `capabilities` are those of the physical device.
    pub(crate) unsafe fn create_device_of(
        instance: &ash::Instance,
        physical_device: vk::PhysicalDevice,
        info: vk::DeviceCreateInfo<'_>,
        capabilities: Capabilities,
        backends: &[Backend],
    ) -> Result<(ash::Device, Self), RuntimeError> {
        // SAFETY: the caller's contract; the device is used by nobody else where it is destroyed.
        unsafe {
            let required = required_features(&capabilities, backends)?;
            let mut additions = CreateInfoAdditions::default();
            let info = required.add_to(info, &mut additions);
            let device = instance
                .create_device(physical_device, &info, None)
                .map_err(RuntimeError::vulkan("vkCreateDevice"))?;
            match Self::new(instance, &device, capabilities, required) {
                Ok(context) => Ok((device, context)),
                Err(error) => {
                    device.destroy_device(None);
                    Err(error)
                }
            }
        }
    }
}
