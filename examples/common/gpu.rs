//! A device with a queue, made as any program makes it.

use std::ffi::c_char;

use anyhow::{Context as _, Result};
use ash::{ext, vk};

use super::validation::{self, Validation};

/// With dynamic rendering.
pub const API_VERSION: u32 = vk::API_VERSION_1_3;

/// The first device, with a queue for graphics and compute.
pub struct Gpu {
    pub entry: ash::Entry,
    pub instance: ash::Instance,
    pub physical_device: vk::PhysicalDevice,
    pub properties: vk::PhysicalDeviceProperties,
    pub memory: vk::PhysicalDeviceMemoryProperties,
    pub device: ash::Device,
    pub family: u32,
    pub queue: vk::Queue,
    enabled: Enabled,
    validation: Option<Validation>,
}

/// Features that the device was created with.
struct Enabled {
    core: vk::PhysicalDeviceFeatures,
    buffer_device_address: bool,
    /// For the comparison with what the driver captures itself.
    transform_feedback: bool,
}

impl Gpu {
    /// Opens it.
    ///
    /// # Safety
    /// Everything that is made with it is destroyed before it is closed.
    pub unsafe fn open() -> Result<Self> {
        // SAFETY: all handles are of one instance, and the structures are valid.
        unsafe {
            let entry = ash::Entry::load()?;
            let application = vk::ApplicationInfo::default().api_version(API_VERSION);
            let (instance, validation) = validation::create_instance(&entry, &application)?;
            let physical_device =
                *instance.enumerate_physical_devices()?.first().context("no Vulkan device")?;
            let families = instance.get_physical_device_queue_family_properties(physical_device);
            let wanted = vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE;
            let family = families
                .iter()
                .position(|family| family.queue_flags.contains(wanted))
                .context("no queue for graphics and compute")? as u32;
            let enabled = Enabled::query(&instance, physical_device)?;
            let device = enabled
                .with_create_info(family, |info| {
                    instance.create_device(physical_device, info, None)
                })
                .context("no device with Vulkan 1.3")?;
            Ok(Self {
                properties: instance.get_physical_device_properties(physical_device),
                memory: instance.get_physical_device_memory_properties(physical_device),
                queue: device.get_device_queue(family, 0),
                entry,
                instance,
                physical_device,
                device,
                family,
                enabled,
                validation,
            })
        }
    }

    /// What the device was created with.
    pub fn with_create_info<R>(&self, look: impl FnOnce(&vk::DeviceCreateInfo<'_>) -> R) -> R {
        self.enabled.with_create_info(self.family, look)
    }

    /// Whether the driver captures, too.
    pub fn has_transform_feedback(&self) -> bool {
        self.enabled.transform_feedback
    }

    /// Whether buffers have addresses.
    pub fn has_addresses(&self) -> bool {
        self.enabled.buffer_device_address
    }

    /// A command pool with one command buffer.
    ///
    /// # Safety
    /// The device is live; the pool is destroyed before it.
    pub unsafe fn commands(&self) -> Result<(vk::CommandPool, vk::CommandBuffer)> {
        unsafe {
            let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
            let pool = self.device.create_command_pool(&info, None)?;
            let info =
                vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
            let cmds = self.device.allocate_command_buffers(&info)?;
            Ok((pool, *cmds.first().context("no command buffer")?))
        }
    }

    /// Records commands, submits them and waits for them.
    ///
    /// # Safety
    /// What is recorded is valid.
    pub unsafe fn submit(
        &self,
        record: impl FnOnce(vk::CommandBuffer) -> Result<()>,
    ) -> Result<()> {
        unsafe {
            let (pool, cmd) = self.commands()?;
            self.device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default())?;
            if let Err(error) = record(cmd) {
                self.device.destroy_command_pool(pool, None);
                return Err(error);
            }
            self.device.end_command_buffer(cmd)?;
            let cmds = [cmd];
            let submit = vk::SubmitInfo::default().command_buffers(&cmds);
            self.device.queue_submit(self.queue, &[submit], vk::Fence::null())?;
            self.device.queue_wait_idle(self.queue)?;
            self.device.destroy_command_pool(pool, None);
            Ok(())
        }
    }

    /// The first type of memory that is one of `bits` and has these properties.
    pub fn memory_type(&self, bits: u32, properties: vk::MemoryPropertyFlags) -> Option<u32> {
        (0..self.memory.memory_type_count).find(|index| {
            let found = self.memory.memory_types[*index as usize].property_flags;
            bits >> index & 1 != 0 && found.contains(properties)
        })
    }

    /// Destroys the device. Fails if the validation layer has said anything.
    ///
    /// # Safety
    /// The device is idle, and everything that was made with it is destroyed.
    pub unsafe fn close(self) -> Result<()> {
        unsafe {
            self.device.destroy_device(None);
            let closed = self.validation.map_or(Ok(()), |validation| validation.close());
            self.instance.destroy_instance(None);
            closed
        }
    }
}

impl Enabled {
    /// What there is of what the examples use.
    ///
    /// # Safety
    /// The handles are live.
    unsafe fn query(instance: &ash::Instance, physical_device: vk::PhysicalDevice) -> Result<Self> {
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut transform_feedback = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        // SAFETY: the caller's contract. Structures of extensions that there are not stay as they are.
        let (core, extensions) = unsafe {
            let mut features = vk::PhysicalDeviceFeatures2::default()
                .push_next(&mut vulkan12)
                .push_next(&mut transform_feedback);
            instance.get_physical_device_features2(physical_device, &mut features);
            let extensions = instance.enumerate_device_extension_properties(physical_device)?;
            (features.features, extensions)
        };
        let is_named = |found: &vk::ExtensionProperties| {
            found.extension_name_as_c_str() == Ok(ext::transform_feedback::NAME)
        };
        Ok(Self {
            core: vk::PhysicalDeviceFeatures {
                large_points: core.large_points,
                shader_storage_buffer_array_dynamic_indexing: core
                    .shader_storage_buffer_array_dynamic_indexing,
                ..Default::default()
            },
            buffer_device_address: vulkan12.buffer_device_address == vk::TRUE,
            transform_feedback: transform_feedback.transform_feedback == vk::TRUE
                && extensions.iter().any(is_named),
        })
    }

    fn with_create_info<R>(
        &self,
        family: u32,
        look: impl FnOnce(&vk::DeviceCreateInfo<'_>) -> R,
    ) -> R {
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&[1.0])];
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default()
            .buffer_device_address(self.buffer_device_address);
        let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut transform_feedback =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let extensions: &[*const c_char] =
            if self.transform_feedback { &[ext::transform_feedback::NAME.as_ptr()] } else { &[] };
        let mut info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(extensions)
            .enabled_features(&self.core)
            .push_next(&mut vulkan12)
            .push_next(&mut vulkan13);
        if self.transform_feedback {
            info = info.push_next(&mut transform_feedback);
        }
        look(&info)
    }
}
