//! A program that does not know the layer. It is a test that other tests start as a process, with a
//! role in an environment variable. Without a role it does nothing.

mod gives;

use std::ffi::{CStr, c_void};
use std::ptr;

use ash::{Entry, Instance, ext, vk};
use serde_json::{Value, json};

use crate::portability;

/// The name of the test below.
pub const TEST: &str = "client::plays_its_role";
/// The environment variable that contains the role.
pub const ROLE: &str = "VKXFB_TEST_ROLE";
/// The beginning of the line of output that contains the report.
pub const REPORT: &str = "report: ";
/// The number of devices that each of the eight threads creates and destroys.
pub const ROUNDS: u32 = 12;

#[test]
#[ignore = "it is run by the other tests"]
fn plays_its_role() {
    let report = match std::env::var(ROLE).as_deref() {
        Ok("1.0") => looks_around(vk::API_VERSION_1_0, &[]),
        Ok("1.1") => looks_around(vk::API_VERSION_1_1, &[]),
        Ok("1.3") => looks_around(vk::API_VERSION_1_3, &[]),
        Ok("gives 1.0") => gives::sees_the_extension(vk::API_VERSION_1_0),
        Ok("gives 1.1") => gives::sees_the_extension(vk::API_VERSION_1_1),
        Ok("gives 1.3") => gives::sees_the_extension(vk::API_VERSION_1_3),
        Ok("settings") => says_settings(),
        Ok("threads") => creates_from_threads(),
        _ => return,
    };
    println!("\n{REPORT}{report}");
}

/// Checks that everything that the tests need is installed. The error names what is missing.
pub fn survey() -> Result<(), String> {
    // SAFETY: the loader is one, and what is created is destroyed.
    unsafe {
        let entry = Entry::load().map_err(|error| format!("no Vulkan loader: {error}"))?;
        let layers = entry.enumerate_instance_layer_properties().map_err(|e| e.to_string())?;
        let validation = Ok(c"VK_LAYER_KHRONOS_validation");
        if !layers.iter().any(|layer| layer.layer_name_as_c_str() == validation) {
            return Err("no validation layer".to_owned());
        }
        let (flags, extensions) = portability::enumeration(&entry).map_err(|e| e.to_string())?;
        let info = vk::InstanceCreateInfo::default().flags(flags);
        let instance = entry.create_instance(&info.enabled_extension_names(&extensions), None);
        let instance = instance.map_err(|error| format!("no Vulkan instance: {error}"))?;
        let devices = instance.enumerate_physical_devices().unwrap_or_default();
        instance.destroy_instance(None);
        if devices.is_empty() { Err("no Vulkan device".to_owned()) } else { Ok(()) }
    }
}

fn names(extensions: &[vk::ExtensionProperties]) -> Value {
    let mut names: Vec<_> = extensions
        .iter()
        .map(|e| (e.extension_name_as_c_str().unwrap().to_str().unwrap(), e.spec_version))
        .collect();
    names.sort_unstable();
    json!(names)
}

/// Creates an instance, and a device of the first physical device. Reports what a program can see.
fn looks_around(api_version: u32, settings: &[vk::LayerSettingEXT<'_>]) -> Value {
    // SAFETY: everything is used as Vulkan requires, and destroyed.
    unsafe {
        let entry = Entry::load().unwrap();
        let instance = create_instance(&entry, api_version, settings);
        let device = instance.enumerate_physical_devices().unwrap()[0];
        let extensions = instance.enumerate_device_extension_properties(device).unwrap();
        let properties = instance.get_physical_device_properties(device);
        let features = instance.get_physical_device_features(device);
        let features = format!("{features:?}");
        let has = |name: &CStr| extensions.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        // The extension needs an instance of Vulkan 1.1, or an instance extension, which is not
        // enabled here.
        let enables = api_version > vk::API_VERSION_1_0 && has(ext::transform_feedback::NAME);
        let wanted = if enables { &[ext::transform_feedback::NAME][..] } else { &[] };
        let raw = create_device(&instance, device, wanted);
        let functions = [
            c"vkGetDeviceQueue",
            c"vkCmdDraw",
            c"vkCmdBeginTransformFeedbackEXT",
            c"vkDestroyDevice",
            c"vkCreateDevice",
            c"vkTrimCommandPool",
            c"vkResetQueryPool",
            c"vkCmdDrawIndirectCount",
            c"vkGetBufferDeviceAddress",
            c"vkNone",
        ];
        let functions: Vec<_> = functions
            .map(|name| instance.get_device_proc_addr(raw.handle(), name.as_ptr()).is_some())
            .into();
        raw.get_device_queue(0, 0);
        raw.device_wait_idle().unwrap();
        raw.destroy_device(None);
        let layers = instance.enumerate_device_layer_properties(device).map(|l| l.len());
        let report = json!({
            "instance_extensions": names(&entry.enumerate_instance_extension_properties(None).unwrap()),
            "device_extensions": names(&extensions),
            "device_layers": layers.is_ok(),
            "device": properties.device_name_as_c_str().unwrap().to_str().unwrap(),
            "api_version": properties.api_version,
            "limits": format!("{:?}", properties.limits),
            "features": features,
            "functions": functions,
            "tools": tools(&entry, &instance, api_version, device),
        });
        instance.destroy_instance(None);
        report
    }
}

/// # Safety
/// Vulkan's contract.
unsafe fn create_instance(
    entry: &Entry,
    api_version: u32,
    settings: &[vk::LayerSettingEXT<'_>],
) -> Instance {
    let app = vk::ApplicationInfo::default().api_version(api_version);
    let mut layer_settings = vk::LayerSettingsCreateInfoEXT::default().settings(settings);
    let (flags, extensions) = unsafe { portability::enumeration(entry) }.unwrap();
    let with_settings = [&extensions[..], &[ext::layer_settings::NAME.as_ptr()]].concat();
    let mut info = vk::InstanceCreateInfo::default()
        .flags(flags)
        .application_info(&app)
        .enabled_extension_names(&extensions);
    if !settings.is_empty() {
        info = info.enabled_extension_names(&with_settings).push_next(&mut layer_settings);
    }
    unsafe {
        match entry.create_instance(&info, None) {
            // Some loaders, such as that of Debian 12, do not know `VK_EXT_layer_settings`. They
            // reject the extension, but pass its structure to layers.
            Err(vk::Result::ERROR_EXTENSION_NOT_PRESENT) => {
                entry.create_instance(&info.enabled_extension_names(&extensions), None)
            }
            created => created,
        }
    }
    .unwrap()
}

/// # Safety
/// Vulkan's contract.
unsafe fn create_device(
    instance: &Instance,
    device: vk::PhysicalDevice,
    extensions: &[&CStr],
) -> ash::Device {
    let queues =
        [vk::DeviceQueueCreateInfo::default().queue_family_index(0).queue_priorities(&[1.0])];
    let names: Vec<_> = extensions.iter().map(|name| name.as_ptr()).collect();
    let info =
        vk::DeviceCreateInfo::default().queue_create_infos(&queues).enabled_extension_names(&names);
    unsafe { instance.create_device(device, &info, None) }.unwrap()
}

/// Returns the tools of a device. Before that, enumerates them with memory for every possible
/// number of tools.
///
/// # Safety
/// Vulkan's contract.
unsafe fn tools(
    entry: &Entry,
    instance: &Instance,
    api_version: u32,
    device: vk::PhysicalDevice,
) -> Value {
    // If the driver lacks the command of the extension, the loader implements it.
    let name = match api_version {
        vk::API_VERSION_1_3.. => c"vkGetPhysicalDeviceToolProperties",
        _ => c"vkGetPhysicalDeviceToolPropertiesEXT",
    };
    // SAFETY: the function has the type of the command, and there is room for `count` tools.
    unsafe {
        let get =
            (entry.static_fn().get_instance_proc_addr)(instance.handle(), name.as_ptr()).unwrap();
        let get: vk::PFN_vkGetPhysicalDeviceToolProperties = std::mem::transmute(get);
        let mut all = 0;
        assert_eq!(get(device, &mut all, ptr::null_mut()), vk::Result::SUCCESS);
        let mut tools = Vec::new();
        // If the program calls the validation layer of Debian 12 directly, there must be memory for
        // all tools, because that layer writes its entry in any case.
        let rooms = if std::env::var("VK_INSTANCE_LAYERS").unwrap().starts_with("VK_LAYER_KHRONOS")
        {
            all..=all
        } else {
            0..=all + 1
        };
        for room in rooms {
            let unwritten = vk::PhysicalDeviceToolProperties::default().layer(c"none").unwrap();
            tools = vec![unwritten; room as usize + 1];
            let mut count = room;
            let result = get(device, &mut count, tools.as_mut_ptr());
            assert_eq!(count, all.min(room));
            let expected = if room < all { vk::Result::INCOMPLETE } else { vk::Result::SUCCESS };
            assert_eq!(result, expected, "room for {room} of {all}");
            assert_eq!(tools[count as usize].layer_as_c_str(), Ok(c"none"));
            tools.truncate(count as usize);
        }
        let text = |text: Result<&CStr, _>| text.unwrap().to_str().unwrap().to_owned();
        let tool = |tool: &vk::PhysicalDeviceToolProperties<'_>| {
            json!({
                "name": text(tool.name_as_c_str()),
                "layer": text(tool.layer_as_c_str()),
                "description": text(tool.description_as_c_str()),
            })
        };
        json!(tools.iter().map(tool).collect::<Vec<_>>())
    }
}

/// Makes the layer active with `VK_EXT_layer_settings`, which the layer lists as its own extension.
fn says_settings() -> Value {
    let layer = c"VK_LAYER_VKXFB_transform_feedback";
    // SAFETY: the name is a null-terminated string.
    let extensions =
        unsafe { Entry::load().unwrap().enumerate_instance_extension_properties(Some(layer)) }
            .unwrap();
    let name = Ok(ext::layer_settings::NAME);
    assert!(extensions.iter().any(|e| e.extension_name_as_c_str() == name));
    let yes = vk::TRUE;
    let setting = vk::LayerSettingEXT {
        p_layer_name: layer.as_ptr(),
        p_setting_name: c"force_enable".as_ptr(),
        ty: vk::LayerSettingTypeEXT::BOOL32,
        value_count: 1,
        p_values: (&raw const yes).cast::<c_void>(),
        ..Default::default()
    };
    looks_around(vk::API_VERSION_1_3, &[setting])
}

/// Creates devices of a shared instance in eight threads. Sometimes a thread uses an instance of
/// its own.
fn creates_from_threads() -> Value {
    // SAFETY: everything is used as Vulkan requires, and destroyed.
    unsafe {
        let entry = Entry::load().unwrap();
        let shared = create_instance(&entry, vk::API_VERSION_1_3, &[]);
        let device = shared.enumerate_physical_devices().unwrap()[0];
        let created: u32 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let (entry, shared) = (&entry, &shared);
                    scope.spawn(move || {
                        let mut created = 0;
                        for round in 0..ROUNDS {
                            if (round + thread) % 3 == 0 {
                                let own = create_instance(entry, vk::API_VERSION_1_0, &[]);
                                let device = own.enumerate_physical_devices().unwrap()[0];
                                let raw = create_device(&own, device, &[]);
                                raw.destroy_device(None);
                                own.destroy_instance(None);
                            } else {
                                let raw = create_device(shared, device, &[]);
                                raw.get_device_queue(0, 0);
                                raw.destroy_device(None);
                            }
                            created += 1;
                        }
                        created
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        shared.destroy_instance(None);
        json!({ "created": created })
    }
}
