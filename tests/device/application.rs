//! A device of an application, for which a context is created.

use ash::vk;
use gpu_allocator::vulkan::{Allocator, AllocatorCreateDesc};
use vkxfb::{Backend, Capabilities, Context, required_features};

use crate::common::bare::BareInstance;

/// A device that was created with everything that compute captures require, its context, and its
/// memory.
pub struct Application {
    instance: BareInstance,
    pub device: ash::Device,
    pub ctx: Context,
    pub allocator: Allocator,
}

impl Application {
    /// Creates the device. `replace` may replace its commands, and change the context.
    pub fn open(
        replace: impl FnOnce(ash::Device) -> ash::Device,
        tell: impl FnOnce(&mut Context, &ash::Instance),
    ) -> Self {
        Self::open_as(|_| (), replace, tell)
    }

    /// Does what [`open`](Self::open) does, with other capabilities.
    pub fn open_as(
        change: impl FnOnce(&mut Capabilities),
        replace: impl FnOnce(ash::Device) -> ash::Device,
        tell: impl FnOnce(&mut Context, &ash::Instance),
    ) -> Self {
        let instance = BareInstance::open();
        let physical_device = instance.physical_device();
        // SAFETY: the handles are of one live device.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let version = vk::API_VERSION_1_3;
            let mut caps =
                Capabilities::query(&entry, &instance.raw, version, physical_device).unwrap();
            change(&mut caps);
            let required = required_features(&caps, &[Backend::Compute]).unwrap();
            let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
            let device =
                replace(required.with_create_info(info, |info| instance.create_device(info)));
            let mut ctx = Context::new(&instance.raw, &device, caps, required).unwrap();
            tell(&mut ctx, &instance.raw);
            let allocator = Allocator::new(&AllocatorCreateDesc {
                instance: instance.raw.clone(),
                device: device.clone(),
                physical_device,
                debug_settings: Default::default(),
                buffer_device_address: ctx.has_addresses(),
                allocation_sizes: Default::default(),
            });
            Self { instance, device, ctx, allocator: allocator.unwrap() }
        }
    }

    /// Destroys the device; one message of the validation layer fails the test.
    pub fn close(self) {
        drop(self.allocator);
        self.instance.destroy_device(&self.device);
    }
}
