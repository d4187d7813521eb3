//! Required features are added to those that an application enables itself, in whichever structure.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use ash::{ext, khr, vk};
use vkxfb_capi::{
    VKXFB_DEVICE_DEBUG_NAMES, VkxfbPhysicalDeviceInfo, VkxfbRequiredFeatures, VkxfbResult,
    vkxfb_required_features_add_to, vkxfb_required_features_create,
    vkxfb_required_features_destroy,
};

/// The objects that exist before a `VkDevice`.
pub struct Physical {
    /// Dropped after the instance, whose commands it has loaded.
    _entry: ash::Entry,
    get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    pub instance: ash::Instance,
    pub required: *mut VkxfbRequiredFeatures,
}

impl Physical {
    /// Creates an instance of that version. Below 1.2, buffer device addresses come from an
    /// extension.
    pub fn new(api_version: u32) -> Self {
        Self::with_flags(api_version, 0)
    }

    /// The same, of which captures make use as those bits say.
    pub fn with_flags(api_version: u32, flags: u32) -> Self {
        Self::through(None, api_version, flags)
    }

    /// The same, with the commands that a function of the test returns.
    pub fn through(
        get_instance_proc_addr: Option<vk::PFN_vkGetInstanceProcAddr>,
        api_version: u32,
        flags: u32,
    ) -> Self {
        // SAFETY: what is created is destroyed in the reverse order.
        unsafe {
            let entry = ash::Entry::load().unwrap();
            let get_instance_proc_addr =
                get_instance_proc_addr.unwrap_or(entry.static_fn().get_instance_proc_addr);
            let application = vk::ApplicationInfo::default().api_version(api_version);
            let (instance_flags, mut names) = crate::portability::enumeration(&entry).unwrap();
            if flags & VKXFB_DEVICE_DEBUG_NAMES != 0 {
                names.push(ext::debug_utils::NAME.as_ptr());
            }
            let info = vk::InstanceCreateInfo::default()
                .flags(instance_flags)
                .application_info(&application)
                .enabled_extension_names(&names);
            let instance = entry.create_instance(&info, None).unwrap();
            let required = ptr::null_mut();
            let mut this = Self { _entry: entry, get_instance_proc_addr, instance, required };
            let info = VkxfbPhysicalDeviceInfo { flags, ..this.info(api_version) };
            let created = vkxfb_required_features_create(&info, &mut this.required);
            assert_eq!(created, VkxfbResult::VkxfbSuccess, "{}", super::calls::last_error());
            this
        }
    }

    pub fn info(&self, api_version: u32) -> VkxfbPhysicalDeviceInfo {
        // SAFETY: the instance is live.
        let physical_device = unsafe { self.instance.enumerate_physical_devices() }.unwrap()[0];
        VkxfbPhysicalDeviceInfo {
            struct_size: size_of::<VkxfbPhysicalDeviceInfo>(),
            get_instance_proc_addr: Some(self.get_instance_proc_addr),
            instance: self.instance.handle(),
            api_version,
            physical_device,
            flags: 0,
            max_storage_buffers: 0,
        }
    }

    /// Adds the required features, and returns the names of the extensions.
    fn add_to(&self, info: &mut vk::DeviceCreateInfo<'_>) -> Vec<&'static CStr> {
        // SAFETY: both are live, and so are names of extensions.
        unsafe {
            let added = vkxfb_required_features_add_to(self.required, info);
            assert_eq!(added, VkxfbResult::VkxfbSuccess, "{}", super::calls::last_error());
            let count = info.enabled_extension_count as usize;
            let names = match count {
                0 => &[],
                _ => std::slice::from_raw_parts(info.pp_enabled_extension_names, count),
            };
            names.iter().map(|&name| CStr::from_ptr(name)).collect()
        }
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        // SAFETY: they are not used any more.
        unsafe {
            vkxfb_required_features_destroy(self.required);
            self.instance.destroy_instance(None);
        }
    }
}

/// What captures gain from where a device has it: loads of single bytes.
const OPTIONAL: [vk::StructureType; 2] = [
    vk::StructureType::PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
    vk::StructureType::PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
];
const OPTIONAL_NAMES: [&CStr; 2] = [khr::_8bit_storage::NAME, khr::shader_float16_int8::NAME];

/// Returns the types of the structures of a chain, without those that are optional.
fn types(start: *const c_void) -> Vec<vk::StructureType> {
    let mut next = start.cast::<vk::BaseInStructure<'_>>();
    let mut types = Vec::new();
    // SAFETY: the chain is valid.
    while let Some(base) = unsafe { next.as_ref() } {
        if !OPTIONAL.contains(&base.s_type) {
            types.push(base.s_type);
        }
        next = base.p_next;
    }
    types
}

const ADDRESSES: vk::StructureType =
    vk::StructureType::PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;

#[test]
fn an_empty_create_info_gets_a_structure_for_what_is_required() {
    let physical = Physical::new(vk::API_VERSION_1_2);
    let mut info = vk::DeviceCreateInfo::default();
    assert!(physical.add_to(&mut info).is_empty(), "Vulkan 1.2 needs no extension");
    assert_eq!(types(info.p_next), [ADDRESSES]);
    // SAFETY: the chain is valid, and structures have their types.
    unsafe {
        let mut next = info.p_next.cast::<vk::BaseInStructure<'_>>();
        while (*next).s_type != ADDRESSES {
            next = (*next).p_next;
        }
        let addresses = next.cast::<vk::PhysicalDeviceBufferDeviceAddressFeatures<'_>>();
        assert_eq!((*addresses).buffer_device_address, vk::TRUE);
    }
    assert!(!info.p_enabled_features.is_null());
    // Adding the features again must not link the chain to itself.
    physical.add_to(&mut info);
    assert_eq!(types(info.p_next), [ADDRESSES]);
}

#[test]
fn structures_of_the_application_are_taken() {
    let physical = Physical::new(vk::API_VERSION_1_2);
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default().timeline_semaphore(true);
    let mut core = vk::PhysicalDeviceFeatures2::default();
    core.features.wide_lines = vk::TRUE;
    let mut info = vk::DeviceCreateInfo::default().push_next(&mut vulkan12).push_next(&mut core);
    let chain = types(info.p_next);
    physical.add_to(&mut info);
    assert_eq!(types(info.p_next), chain);
    assert!(info.p_enabled_features.is_null(), "Vulkan takes VkPhysicalDeviceFeatures2 alone");
    assert_eq!(vulkan12.buffer_device_address & vulkan12.timeline_semaphore, vk::TRUE);
    assert_eq!(core.features.wide_lines, vk::TRUE);

    let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default()
        .buffer_device_address_capture_replay(true);
    let mut info = vk::DeviceCreateInfo::default().push_next(&mut addresses);
    physical.add_to(&mut info);
    assert_eq!(types(info.p_next), [ADDRESSES]);
    assert_eq!(addresses.buffer_device_address, vk::TRUE);
    assert_eq!(addresses.buffer_device_address_capture_replay, vk::TRUE);
}

#[test]
fn features_and_extensions_of_the_application_stay() {
    let physical = Physical::new(vk::API_VERSION_1_1);
    let core = vk::PhysicalDeviceFeatures::default().wide_lines(true);
    let needed = khr::buffer_device_address::NAME;
    for own in [&[khr::swapchain::NAME][..], &[needed, khr::swapchain::NAME]] {
        let pointers: Vec<*const c_char> = own.iter().map(|name| name.as_ptr()).collect();
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut info = vk::DeviceCreateInfo::default()
            .enabled_extension_names(&pointers)
            .enabled_features(&core)
            .push_next(&mut xfb);
        let mut names = physical.add_to(&mut info);
        names.retain(|name| !OPTIONAL_NAMES.contains(name));
        names.sort_unstable();
        assert_eq!(names, [needed, khr::swapchain::NAME], "each once");
        let xfb = vk::StructureType::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT;
        assert_eq!(types(info.p_next), [ADDRESSES, xfb]);
        // SAFETY: it points to a structure of `physical`.
        assert_eq!(unsafe { (*info.p_enabled_features).wide_lines }, vk::TRUE);
    }
}
