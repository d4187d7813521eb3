use std::ptr;

use super::*;

fn offer(s_type: i32, version: u32) -> NegotiateLayerInterface {
    NegotiateLayerInterface {
        s_type,
        p_next: ptr::null_mut(),
        loader_layer_interface_version: version,
        get_instance_proc_addr: None,
        get_device_proc_addr: None,
        get_physical_device_proc_addr: None,
    }
}

#[test]
fn the_interface_is_version_2() {
    for version in [2, 3, 9] {
        let mut offer = offer(NEGOTIATE_INTERFACE_STRUCT, version);
        // SAFETY: the structure is valid.
        assert_eq!(unsafe { negotiate(&raw mut offer) }, vk::Result::SUCCESS);
        assert_eq!(offer.loader_layer_interface_version, 2);
        assert!(offer.get_instance_proc_addr.is_some() && offer.get_device_proc_addr.is_some());
        assert!(offer.get_physical_device_proc_addr.is_some());
    }
    for mut offer in [offer(NEGOTIATE_INTERFACE_STRUCT, 1), offer(0, 2)] {
        // SAFETY: the structure is valid.
        let result = unsafe { negotiate(&raw mut offer) };
        assert_eq!(result, vk::Result::ERROR_INITIALIZATION_FAILED);
        assert!(offer.get_instance_proc_addr.is_none());
    }
    // SAFETY: null is allowed.
    let result = unsafe { negotiate(ptr::null_mut()) };
    assert_eq!(result, vk::Result::ERROR_INITIALIZATION_FAILED);
}

#[test]
fn without_an_instance_there_are_the_layers_own_commands() {
    let get = |name: &CStr| {
        // SAFETY: the name is null-terminated.
        unsafe { get_instance_proc_addr(vk::Instance::null(), name.as_ptr()) }.is_some()
    };
    assert!(get(c"vkCreateInstance") && get(c"vkGetInstanceProcAddr"));
    assert!(get(c"vkEnumerateInstanceExtensionProperties"));
    // Mesa's overlay and MangoHud, for example, get this command with a null instance.
    assert!(get(c"vkCreateDevice"));
    for name in [c"vkEnumeratePhysicalDevices", c"vkCmdDraw", c"vkNone", c""] {
        assert!(!get(name), "{name:?}");
    }
    // SAFETY: null pointers are allowed as names and instances.
    unsafe {
        assert!(get_instance_proc_addr(vk::Instance::null(), ptr::null()).is_none());
        assert!(get_device_proc_addr(vk::Device::null(), c"vkDestroyDevice".as_ptr()).is_none());
        let name = c"vkCreateDevice".as_ptr();
        assert!(get_physical_device_proc_addr(vk::Instance::null(), name).is_none());
    }
}

#[test]
fn commands_that_are_recorded_are_known_by_name() {
    for name in [c"vkCmdDraw", c"vkCmdDispatch", c"vkCmdCopyBuffer2KHR", c"vkCmdPushConstants2"] {
        assert!(is_known(name), "{name:?}");
    }
    // Commands that do not begin with `vkCmd` are not recorded, so the layer need not know them.
    assert!(is_known(c"vkQueueSubmit") && is_known(c"vkOfTomorrow"));
    for name in [c"vkCmdOfTomorrow", c"vkCmdBindTileMemoryQCOM"] {
        assert!(!is_known(name), "{name:?}");
    }
}

#[path = "../../tests/registry/verdicts.rs"]
mod verdicts;

/// `VERDICTS` (`layer/tests/registry/verdicts.rs`) says for each command what the layer does with it. Each command for
/// which it names a file of `hooks` has a hook.
#[test]
fn commands_have_the_hooks_that_were_judged() {
    let judged = verdicts::VERDICTS.iter().filter(|(reason, _)| reason.starts_with("hooks/"));
    let mut count = 0;
    for command in judged.flat_map(|(_, commands)| *commands) {
        let name = std::ffi::CString::new(*command).unwrap();
        assert!(find_emulated(&name).is_some(), "{command}");
        count += 1;
    }
    assert!(count > 70, "{count}");
}

#[test]
fn commands_are_in_order() {
    assert!(EXTENSION_COMMANDS.is_sorted());
}
