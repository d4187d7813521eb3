use std::ptr;

use super::*;

/// Calls a command twice, as a program does: for the count, and then with memory for `room` items. The memory has a
/// guard value behind it. Returns the count of the first call, and then the result, the count and the memory of the
/// second call.
fn list<T: Copy + Default>(
    room: u32,
    call: impl Fn(*mut u32, *mut T) -> vk::Result,
) -> (u32, vk::Result, u32, Vec<T>) {
    let mut all = u32::MAX;
    assert_eq!(call(&raw mut all, ptr::null_mut()), vk::Result::SUCCESS);
    let mut items = vec![T::default(); room as usize + 1];
    let mut count = room;
    let result = call(&raw mut count, items.as_mut_ptr());
    (all, result, count, items)
}

#[test]
fn two_calls_enumerate() {
    let numbers = [7_u8, 8, 9];
    let call = |count, items| {
        // SAFETY: the test's array has room for the number of items that it passes.
        unsafe { enumerate(&numbers, count, items, |n, place: *mut u8| place.write(*n)) }
    };
    let (success, incomplete) = (vk::Result::SUCCESS, vk::Result::INCOMPLETE);
    assert_eq!(list(0, call), (3, incomplete, 0, vec![0]));
    assert_eq!(list(2, call), (3, incomplete, 2, vec![7, 8, 0]));
    assert_eq!(list(3, call), (3, success, 3, vec![7, 8, 9, 0]));
    assert_eq!(list(4, call), (3, success, 3, vec![7, 8, 9, 0, 0]));
    let failed = call(ptr::null_mut(), ptr::null_mut());
    assert_eq!(failed, vk::Result::ERROR_INITIALIZATION_FAILED);
}

#[test]
fn the_layer_enumerates_itself() {
    // SAFETY: the test's array has room for the number of items that it passes.
    let layers = |count, items| unsafe { enumerate_instance_layer_properties(count, items) };
    let (all, result, count, items) = list(1, layers);
    assert_eq!((all, result, count), (1, vk::Result::SUCCESS, 1));
    assert_eq!(items[0].layer_name_as_c_str(), Ok(identity::NAME));
    assert_eq!(items[0].description_as_c_str(), Ok(identity::DESCRIPTION));

    let extensions = |layer: *const c_char| {
        move |count, items| {
            // SAFETY: the test's array has room for the number of items that it passes.
            unsafe { enumerate_instance_extension_properties(layer, count, items) }
        }
    };
    let (all, result, _, items) = list(4, extensions(identity::NAME.as_ptr()));
    assert_eq!((all, result), (1, vk::Result::SUCCESS));
    assert_eq!(items[0].extension_name_as_c_str(), Ok(c"VK_EXT_layer_settings"));

    let mut count = 0;
    for other in [ptr::null(), c"".as_ptr(), c"VK_LAYER_KHRONOS_validation".as_ptr()] {
        let result = extensions(other)(&raw mut count, ptr::null_mut());
        assert_eq!(result, vk::Result::ERROR_LAYER_NOT_PRESENT);
    }
}

/// The loader of Android enumerates the device extensions of a layer with a null physical device.
#[test]
fn a_null_device_has_the_layers_extensions() {
    let extensions = |layer: *const c_char| {
        move |count, items| {
            let device = vk::PhysicalDevice::null();
            // SAFETY: the test's array has room for the number of items that it passes.
            unsafe { enumerate_device_extension_properties(device, layer, count, items) }
        }
    };
    let (all, result, _, items) = list(4, extensions(identity::NAME.as_ptr()));
    assert_eq!((all, result), (1, vk::Result::SUCCESS));
    assert_eq!(items[0].extension_name_as_c_str(), Ok(c"VK_EXT_transform_feedback"));
    let mut count = 0;
    let result = extensions(ptr::null())(&raw mut count, ptr::null_mut());
    assert_eq!(result, vk::Result::ERROR_INITIALIZATION_FAILED);

    // SAFETY: the test's array has room for the number of items that it passes.
    let layers = |count, items| unsafe {
        enumerate_device_layer_properties(vk::PhysicalDevice::null(), count, items)
    };
    let (all, result, _, items) = list(1, layers);
    assert_eq!((all, result), (1, vk::Result::SUCCESS));
    assert_eq!(items[0].layer_name_as_c_str(), Ok(identity::NAME));
}

/// Enumerates two tools of layers below. Like the validation layer of Debian 12, the command writes
/// the first entry even if the memory has no room for it.
unsafe extern "system" fn two_tools(
    _: vk::PhysicalDevice,
    count: *mut u32,
    tools: *mut vk::PhysicalDeviceToolProperties<'_>,
) -> vk::Result {
    let names = [c"first", c"second"];
    // SAFETY: only the layer calls this function, with valid pointers.
    unsafe {
        if !tools.is_null() {
            for (at, name) in names.into_iter().enumerate() {
                if at == 0 || at < *count as usize {
                    let tool = vk::PhysicalDeviceToolProperties::default();
                    tools.add(at).write(tool.name(name).unwrap());
                }
            }
        }
        *count = 2;
    }
    vk::Result::SUCCESS
}

#[test]
fn the_tools_below_get_room_for_all() {
    // SAFETY: the function takes any device.
    let tools = unsafe { tools_below(two_tools, vk::PhysicalDevice::null()) }.unwrap();
    let names: Vec<_> = tools.iter().map(|t| t.name_as_c_str().unwrap()).collect();
    assert_eq!(names, [c"first", c"second"]);
}
