//! Devices of applications: they are created with structures of all Vulkan versions in the chain,
//! and passed to the crate as handles.

use ash::vk;
use vkxfb::runtime::RawDevice;
use vkxfb::{
    Backend, Buffer, BufferDesc, Capabilities, Context, Kernels, MemoryLocation, RuntimeError,
    SimpleAllocator, required_features,
};

use crate::common::bare::BareInstance;
use crate::common::settings::alone;

/// The validation layer checks that no feature is in the chain twice, and that the extension of
/// each feature is enabled. The context that is made from the device's handles finds the enabled
/// features again.
#[test]
fn a_device_with_a_chain_of_its_own_is_created_and_adopted() {
    let instance = BareInstance::open();
    let physical_device = instance.physical_device();
    // SAFETY: the handles are of one live device, and the structures are valid.
    unsafe {
        let entry = ash::Entry::load().unwrap();
        let version = vk::API_VERSION_1_3;
        let caps = Capabilities::query(&entry, &instance.raw, version, physical_device).unwrap();
        let backends =
            Backend::ALL.into_iter().filter(|b| caps.availability(*b).is_ok()).collect::<Vec<_>>();
        let required = required_features(&caps, &backends).unwrap();

        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let mut features2 = vk::PhysicalDeviceFeatures2::default();
        let mut vulkan11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default().synchronization2(true);
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .push_next(&mut features2)
            .push_next(&mut vulkan11)
            .push_next(&mut vulkan12)
            .push_next(&mut vulkan13);
        required.with_create_info(info, |info| {
            let device = instance.create_device(info);
            let raw = RawDevice {
                get_instance_proc_addr: entry.static_fn().get_instance_proc_addr,
                instance: instance.raw.handle(),
                instance_api_version: version,
                physical_device,
                device: device.handle(),
            };
            let ctx = Context::from_raw(&raw, info, &backends).unwrap();
            assert_eq!(*ctx.enabled(), required);
            assert!(ctx.capabilities().synchronization2 && !ctx.capabilities().dynamic_rendering);
            assert!(ctx.compute_target().is_ok());

            let nothing = vk::DeviceCreateInfo::default();
            let error = Context::from_raw(&raw, &nothing, &[Backend::Compute]).unwrap_err();
            assert!(matches!(error, RuntimeError::Unavailable(_)), "{error}");
            let created_without = "as the device was created: no feature bufferDeviceAddress";
            assert!(error.to_string().contains(created_without), "{error}");
            instance.destroy_device(&device);
        });
    }
}

/// The validation layer checks that all memory is freed, that flags match, and that no feature is
/// in the chain twice.
#[test]
fn a_device_is_created_in_one_step_and_memory_needs_no_allocator() {
    let instance = BareInstance::open();
    let physical_device = instance.physical_device();
    // SAFETY: the handles are of one live device, and the structures are valid.
    unsafe {
        let entry = ash::Entry::load().unwrap();
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
        let info =
            vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut vulkan12);
        let (version, backends) = (vk::API_VERSION_1_3, &[Backend::Compute]);
        let (device, context) = {
            let _alone = alone();
            Context::create_device(&entry, &instance.raw, version, physical_device, info, backends)
                .unwrap()
        };
        assert_eq!(context.enabled().backends(), backends);
        assert!(context.has_addresses());

        let mut allocator = SimpleAllocator::new(&instance.raw, physical_device, &context);
        let usage = context.buffer_usages(Backend::Compute).capture;
        for (location, mapped) in [
            (MemoryLocation::Device, 0),
            (MemoryLocation::Upload, 100),
            (MemoryLocation::Readback, 100),
        ] {
            let desc = BufferDesc { name: "buffer", size: 100, usage, location };
            let mut buffer = Buffer::new(&context, &mut allocator, &desc).unwrap();
            assert_ne!(buffer.address(), 0);
            buffer.mapped_mut().fill(7);
            buffer.flush(&context).unwrap();
            assert_eq!(buffer.mapped(), vec![7; mapped], "{location:?}");
            context.destroy(buffer, &mut allocator);
        }

        // Every form in which objects are destroyed: what is left of one, the device's destruction tells.
        let mut made = || {
            let desc =
                BufferDesc { name: "buffer", size: 100, usage, location: MemoryLocation::Device };
            Buffer::new(&context, &mut allocator, &desc).unwrap()
        };
        let objects = ([made(), made()], vec![made(), made()], (Some(made()), made()));
        let kernels = Kernels::new(&context).unwrap();
        kernels.prepare(&context, vk::PipelineCache::null()).unwrap();
        context.destroy((objects, None::<Buffer>), &mut allocator);
        context.destroy(kernels, &mut ());
        instance.destroy_device(&device);
    }
}
