//! A device with the validation layer, for tests that need features that the probe's devices do not
//! have.

use std::ffi::{CStr, c_char, c_void};
use std::sync::Mutex;

use ash::{ext, vk};

use super::portability;
use super::settings::{alone, has_validation};

/// The stages and accesses before or after a barrier.
pub type Scope = (vk::PipelineStageFlags, vk::AccessFlags);

pub const HOST_READS: Scope = (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);

/// An instance whose validation messages are collected. One that no test takes fails the test when the instance is
/// dropped.
pub struct BareInstance {
    _entry: ash::Entry,
    pub raw: ash::Instance,
    debug_utils: ext::debug_utils::Instance,
    messenger: vk::DebugUtilsMessengerEXT,
    /// Outlives the messenger.
    messages: Box<Mutex<Vec<String>>>,
}

/// The first device of an instance, with one graphics queue.
pub struct BareDevice {
    instance: BareInstance,
    memory: vk::PhysicalDeviceMemoryProperties,
    pub limits: vk::PhysicalDeviceLimits,
    pub raw: ash::Device,
    pub queue: vk::Queue,
    pub family: u32,
}

/// A buffer of a [`BareDevice`], mapped in coherent memory.
pub struct HostBuffer {
    pub raw: vk::Buffer,
    memory: vk::DeviceMemory,
    mapped: *mut c_void,
    size: usize,
}

// SAFETY: the mapped memory is accessed through pointers that are dereferenced in unsafe code alone.
unsafe impl Sync for HostBuffer {}
// SAFETY: as above, and any thread may access it.
unsafe impl Send for HostBuffer {}

impl HostBuffer {
    /// Returns a pointer to what the buffer holds.
    pub const fn pointer<T>(&self) -> *mut T {
        self.mapped.cast()
    }

    /// # Safety
    /// The device does not use the buffer meanwhile.
    pub unsafe fn bytes(&self) -> &[u8] {
        // SAFETY: the caller's contract, and so much is mapped.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.size) }
    }

    /// # Safety
    /// As [`bytes`](Self::bytes).
    pub unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the caller's contract, and so much is mapped.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.size) }
    }
}

/// # Safety
/// Called by Vulkan alone, with a `Mutex<Vec<String>>`.
unsafe extern "system" fn collect(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the messenger's user data, which outlives it, and a valid structure.
    unsafe {
        let text = CStr::from_ptr((*data).p_message).to_string_lossy().into_owned();
        (*messages.cast::<Mutex<Vec<String>>>()).lock().unwrap().push(text);
    }
    vk::FALSE
}

impl BareInstance {
    /// Opens an instance, with the validation layer unless the tests run without it.
    pub fn open() -> Self {
        Self::opened(has_validation())
    }

    /// Opens an instance for what is newer than the validation layer of Debian 12.
    pub fn open_newer() -> Self {
        Self::opened(false)
    }

    fn opened(validates: bool) -> Self {
        let _alone = alone();
        // SAFETY: everything that is enabled is in Debian's loader and layer, or creation fails.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let messages = Box::new(Mutex::new(Vec::new()));
            let mut messenger_info = vk::DebugUtilsMessengerCreateInfoEXT::default()
                .message_severity(
                    vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                        | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
                )
                .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
                .pfn_user_callback(Some(collect))
                .user_data((&raw const *messages).cast_mut().cast());
            let enables = [vk::ValidationFeatureEnableEXT::SYNCHRONIZATION_VALIDATION];
            let mut features =
                vk::ValidationFeaturesEXT::default().enabled_validation_features(&enables);
            let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
            let mut layers = Vec::new();
            let (flags, mut extensions) = portability::enumeration(&entry).unwrap();
            extensions.push(ext::debug_utils::NAME.as_ptr());
            if validates {
                layers.push(c"VK_LAYER_KHRONOS_validation".as_ptr());
                extensions.push(ext::validation_features::NAME.as_ptr());
            }
            let mut info = vk::InstanceCreateInfo::default()
                .flags(flags)
                .application_info(&app)
                .enabled_layer_names(&layers)
                .enabled_extension_names(&extensions)
                .push_next(&mut messenger_info);
            if !layers.is_empty() {
                info = info.push_next(&mut features);
            }
            let raw = entry.create_instance(&info, None).unwrap();
            let debug_utils = ext::debug_utils::Instance::new(&entry, &raw);
            messenger_info.p_next = std::ptr::null();
            let messenger =
                debug_utils.create_debug_utils_messenger(&messenger_info, None).unwrap();
            Self { _entry: entry, raw, debug_utils, messenger, messages }
        }
    }

    pub fn physical_device(&self) -> vk::PhysicalDevice {
        // SAFETY: the instance is live.
        unsafe { self.raw.enumerate_physical_devices() }.unwrap()[0]
    }

    /// The name of the first device's driver (`VkPhysicalDeviceDriverProperties`).
    pub fn driver_name(&self) -> String {
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        self.properties(&mut vk::PhysicalDeviceProperties2::default().push_next(&mut driver));
        driver.driver_name_as_c_str().unwrap().to_string_lossy().into_owned()
    }

    /// Asks which features the first device has.
    pub fn features(&self, features: &mut vk::PhysicalDeviceFeatures2<'_>) {
        // SAFETY: the instance is live.
        unsafe { self.raw.get_physical_device_features2(self.physical_device(), features) };
    }

    /// Asks for properties of the first device.
    pub fn properties(&self, properties: &mut vk::PhysicalDeviceProperties2<'_>) {
        // SAFETY: the instance is live.
        unsafe { self.raw.get_physical_device_properties2(self.physical_device(), properties) };
    }

    /// The first of these extensions that the first device lacks.
    pub fn lacks<'a>(&self, extensions: &[&'a CStr]) -> Option<&'a CStr> {
        let physical = self.physical_device();
        // SAFETY: the instance is live.
        let all = unsafe { self.raw.enumerate_device_extension_properties(physical) }.unwrap();
        let has = |name: &CStr| all.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        extensions.iter().copied().find(|name| !has(name))
    }

    /// Creates the first device of the instance.
    ///
    /// # Safety
    /// As `vkCreateDevice`.
    pub unsafe fn create_device(&self, info: &vk::DeviceCreateInfo<'_>) -> ash::Device {
        let _alone = alone();
        unsafe { self.raw.create_device(self.physical_device(), info, None) }.unwrap()
    }

    /// Destroys a device of the instance. Nothing that was submitted to it is still executing.
    pub fn destroy_device(&self, device: &ash::Device) {
        let _alone = alone();
        // SAFETY: nothing is in flight.
        unsafe { device.destroy_device(None) };
    }

    /// Creates the first device, with `features` and `extensions`.
    pub fn into_device(
        self,
        features: &mut vk::PhysicalDeviceFeatures2<'_>,
        extensions: &[*const c_char],
    ) -> BareDevice {
        let physical = self.physical_device();
        // SAFETY: the instance is live, and creation fails where the device lacks something.
        unsafe {
            let families = self.raw.get_physical_device_queue_family_properties(physical);
            let graphics =
                |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::GRAPHICS);
            let family = families.iter().position(graphics).unwrap() as u32;
            let queues = [vk::DeviceQueueCreateInfo::default()
                .queue_family_index(family)
                .queue_priorities(&[1.0])];
            let info = vk::DeviceCreateInfo::default()
                .queue_create_infos(&queues)
                .enabled_extension_names(extensions)
                .push_next(features);
            let raw = self.create_device(&info);
            BareDevice {
                memory: self.raw.get_physical_device_memory_properties(physical),
                limits: self.raw.get_physical_device_properties(physical).limits,
                queue: raw.get_device_queue(family, 0),
                instance: self,
                raw,
                family,
            }
        }
    }
}

impl Drop for BareInstance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        let _alone = alone();
        // SAFETY: its device is destroyed.
        unsafe {
            self.debug_utils.destroy_debug_utils_messenger(self.messenger, None);
            self.raw.destroy_instance(None);
        }
        let messages = self.messages.get_mut().unwrap();
        assert!(messages.is_empty(), "{messages:#?}");
    }
}

impl Drop for BareDevice {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.instance.destroy_device(&self.raw);
        }
    }
}

impl BareDevice {
    pub fn instance(&self) -> &ash::Instance {
        &self.instance.raw
    }

    /// Returns the messages of the validation layer since the last call.
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.instance.messages.lock().unwrap())
    }

    /// Allocates memory with these properties.
    pub fn allocate(
        &self,
        needs: vk::MemoryRequirements,
        flags: vk::MemoryPropertyFlags,
    ) -> vk::DeviceMemory {
        self.allocate_with(needs, flags, std::ptr::null())
    }

    /// As [`allocate`](Self::allocate), with a chain.
    pub fn allocate_with(
        &self,
        needs: vk::MemoryRequirements,
        flags: vk::MemoryPropertyFlags,
        chain: *const c_void,
    ) -> vk::DeviceMemory {
        let fits = |i: &u32| {
            needs.memory_type_bits >> i & 1 != 0
                && self.memory.memory_types[*i as usize].property_flags.contains(flags)
        };
        let mut info = vk::MemoryAllocateInfo::default()
            .allocation_size(needs.size)
            .memory_type_index((0..self.memory.memory_type_count).find(fits).unwrap());
        info.p_next = chain;
        // SAFETY: the device is live.
        unsafe { self.raw.allocate_memory(&info, None) }.unwrap()
    }

    /// Creates a buffer in memory that the host sees.
    pub fn host_buffer(&self, size: u64, usage: vk::BufferUsageFlags) -> HostBuffer {
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        self.host_buffer_with(&info, std::ptr::null())
    }

    /// As [`host_buffer`](Self::host_buffer), with a chain for the memory.
    pub fn host_buffer_with(
        &self,
        info: &vk::BufferCreateInfo<'_>,
        chain: *const c_void,
    ) -> HostBuffer {
        let seen = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        // SAFETY: the device is live, and the host sees the memory.
        unsafe {
            let raw = self.raw.create_buffer(info, None).unwrap();
            let needs = self.raw.get_buffer_memory_requirements(raw);
            let memory = self.allocate_with(needs, seen, chain);
            self.raw.bind_buffer_memory(raw, memory, 0).unwrap();
            let flags = vk::MemoryMapFlags::empty();
            let mapped = self.raw.map_memory(memory, 0, vk::WHOLE_SIZE, flags).unwrap();
            HostBuffer { raw, memory, mapped, size: info.size as usize }
        }
    }

    /// # Safety
    /// Nothing that uses it is in flight.
    pub unsafe fn destroy_buffer(&self, buffer: HostBuffer) {
        unsafe {
            self.raw.destroy_buffer(buffer.raw, None);
            self.raw.free_memory(buffer.memory, None);
        }
    }

    /// Creates the layout of a set with these descriptors, one for each binding.
    pub fn set_layout(
        &self,
        bindings: &[(u32, vk::DescriptorType, vk::ShaderStageFlags)],
    ) -> vk::DescriptorSetLayout {
        let binding = |(number, ty, stages): &(u32, _, _)| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(*number)
                .descriptor_type(*ty)
                .descriptor_count(1)
                .stage_flags(*stages)
        };
        let bindings: Vec<_> = bindings.iter().map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: the device is live.
        unsafe { self.raw.create_descriptor_set_layout(&info, None) }.unwrap()
    }

    /// Creates a pool with room for so many descriptors, and a set of each layout.
    ///
    /// # Safety
    /// The layouts are of the device.
    pub unsafe fn descriptor_sets<const N: usize>(
        &self,
        layouts: [vk::DescriptorSetLayout; N],
        sizes: &[(vk::DescriptorType, u32)],
    ) -> (vk::DescriptorPool, [vk::DescriptorSet; N]) {
        let size = |(ty, count): &_| vk::DescriptorPoolSize { ty: *ty, descriptor_count: *count };
        let sizes: Vec<_> = sizes.iter().map(size).collect();
        let info = vk::DescriptorPoolCreateInfo::default().max_sets(N as u32).pool_sizes(&sizes);
        unsafe {
            let pool = self.raw.create_descriptor_pool(&info, None).unwrap();
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(pool)
                .set_layouts(&layouts);
            let sets = self.raw.allocate_descriptor_sets(&info).unwrap();
            (pool, sets.try_into().unwrap())
        }
    }

    /// Makes a descriptor refer to a range of a buffer.
    ///
    /// # Safety
    /// The set has the descriptor, and is not in use, and the buffer has the range.
    pub unsafe fn write_set(
        &self,
        (set, binding, ty): (vk::DescriptorSet, u32, vk::DescriptorType),
        (buffer, offset, range): (vk::Buffer, u64, u64),
    ) {
        let infos = [vk::DescriptorBufferInfo { buffer, offset, range }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(binding)
            .descriptor_type(ty)
            .buffer_info(&infos);
        unsafe { self.raw.update_descriptor_sets(&[write], &[]) };
    }

    pub fn command_pool(&self) -> vk::CommandPool {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        // SAFETY: the device is live.
        unsafe { self.raw.create_command_pool(&info, None) }.unwrap()
    }

    /// # Safety
    /// The pool is of the device.
    pub unsafe fn command_buffers(
        &self,
        pool: vk::CommandPool,
        level: vk::CommandBufferLevel,
        count: u32,
    ) -> Vec<vk::CommandBuffer> {
        let info = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .level(level)
            .command_buffer_count(count);
        unsafe { self.raw.allocate_command_buffers(&info) }.unwrap()
    }

    /// Submits command buffers, and waits for them.
    ///
    /// # Safety
    /// The command buffers are executable, and what they use lives until this returns.
    pub unsafe fn execute(&self, commands: &[vk::CommandBuffer]) {
        let submit = vk::SubmitInfo::default().command_buffers(commands);
        unsafe {
            self.raw.queue_submit(self.queue, &[submit], vk::Fence::null()).unwrap();
            self.raw.queue_wait_idle(self.queue).unwrap();
        }
    }

    /// Records a barrier for memory.
    ///
    /// # Safety
    /// The command buffer is being recorded, and may have such a barrier there.
    pub unsafe fn barrier(&self, cmd: vk::CommandBuffer, from: Scope, to: Scope) {
        let barrier = vk::MemoryBarrier::default().src_access_mask(from.1).dst_access_mask(to.1);
        let (device, flags) = (&self.raw, vk::DependencyFlags::empty());
        unsafe { device.cmd_pipeline_barrier(cmd, from.0, to.0, flags, &[barrier], &[], &[]) };
    }

    /// Records and submits commands, makes their writes visible to the host, and waits for them.
    ///
    /// # Safety
    /// The commands are valid, and what they use lives until this returns.
    pub unsafe fn submit(&self, writes: Scope, record: impl FnOnce(vk::CommandBuffer)) {
        let device = &self.raw;
        unsafe {
            let pool = self.command_pool();
            let cmd = self.command_buffers(pool, vk::CommandBufferLevel::PRIMARY, 1)[0];
            device.begin_command_buffer(cmd, &vk::CommandBufferBeginInfo::default()).unwrap();
            record(cmd);
            self.barrier(cmd, writes, HOST_READS);
            device.end_command_buffer(cmd).unwrap();
            self.execute(&[cmd]);
            device.destroy_command_pool(pool, None);
        }
    }
}
