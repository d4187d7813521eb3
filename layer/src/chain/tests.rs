use std::ptr;

use super::*;

/// Returns the links of two layers. The first layer calls the second.
fn links() -> [LayerInstanceLink; 2] {
    unsafe extern "system" fn none(
        _: vk::Instance,
        _: *const std::ffi::c_char,
    ) -> vk::PFN_vkVoidFunction {
        None
    }
    let link = || LayerInstanceLink {
        p_next: ptr::null_mut(),
        next_get_instance_proc_addr: none,
        next_get_physical_device_proc_addr: None,
    };
    [link(), link()]
}

fn create_info(
    p_next: *const c_void,
    function: LayerFunction,
    layer_info: *mut LayerInstanceLink,
) -> LayerCreateInfo<LayerInstanceLink> {
    let s_type = vk::StructureType::LOADER_INSTANCE_CREATE_INFO;
    LayerCreateInfo { s_type, p_next, function, layer_info }
}

#[test]
fn structures_are_found_by_type() {
    let last = vk::LayerSettingsCreateInfoEXT { p_next: ptr::null(), ..Default::default() };
    let flags = vk::ValidationFlagsEXT { p_next: (&raw const last).cast(), ..Default::default() };
    let first =
        vk::LayerSettingsCreateInfoEXT { p_next: (&raw const flags).cast(), ..Default::default() };
    let chain = (&raw const first).cast();
    // SAFETY: the chain is valid.
    unsafe {
        assert_eq!(structures(chain).count(), 3);
        let all: Vec<_> = all_of::<vk::LayerSettingsCreateInfoEXT<'_>>(chain).collect();
        assert!(ptr::eq(all[0], &raw const first) && ptr::eq(all[1], &raw const last));
        assert_eq!(all.len(), 2);
        assert_eq!(all_of::<vk::ValidationFeaturesEXT<'_>>(chain).count(), 0);
        assert_eq!(structures(ptr::null()).count(), 0);
    }
}

#[test]
fn the_link_is_that_of_link_info_and_moves_on() {
    let mut links = links();
    links[0].p_next = &raw mut links[1];
    let mut link_info = create_info(ptr::null(), LayerFunction::LINK_INFO, &raw mut links[0]);
    // A `VkLayerInstanceCreateInfo` with another `VkLayerFunction` (`VK_LOADER_DATA_CALLBACK`). It
    // has a function pointer instead of a link.
    let other = create_info((&raw mut link_info).cast(), LayerFunction(1), ptr::null_mut());
    let chain = (&raw const other).cast();
    // SAFETY: the chain is valid.
    let mut place = unsafe { OwnLink::<LayerInstanceLink>::find(chain) }.unwrap();
    assert!(ptr::eq(place.link(), &raw const links[0]));
    place.advance();
    assert!(ptr::eq(link_info.layer_info, &raw const links[1]));

    // The layer below advances the pointer as well. The pointer must be reset before that layer is called again.
    link_info.layer_info = ptr::null_mut();
    place.advance();
    assert!(ptr::eq(link_info.layer_info, &raw const links[1]));
    assert!(ptr::eq(place.link(), &raw const links[0]));
}

#[test]
fn without_a_link_there_is_an_error() {
    let missing = Error::NoLink("VkInstanceCreateInfo");
    let empty = create_info(ptr::null(), LayerFunction::LINK_INFO, ptr::null_mut());
    let other = create_info(ptr::null(), LayerFunction(3), ptr::null_mut());
    for chain in [ptr::null(), (&raw const empty).cast(), (&raw const other).cast()] {
        // SAFETY: the chain is valid.
        assert_eq!(unsafe { OwnLink::<LayerInstanceLink>::find(chain) }.unwrap_err(), missing);
    }
    // SAFETY: the chain is valid.
    let device =
        unsafe { OwnLink::<LayerDeviceLink>::find((&raw const empty).cast()) }.unwrap_err();
    assert_eq!(device, Error::NoLink("VkDeviceCreateInfo"));
}

/// Structures that are left out are not in the chain during the call, wherever in it they are, and are again after it.
#[test]
fn a_call_does_not_see_what_is_left_out() {
    type Left<'a> = vk::PhysicalDeviceTransformFeedbackFeaturesEXT<'a>;
    let s_type = <Left<'_> as vk::TaggedStructure>::STRUCTURE_TYPE;
    for left_out in 0_u32..1 << 4 {
        let is_left_out = |place: usize| left_out >> place & 1 != 0;
        let mut all = [vk::BaseOutStructure::default(); 5];
        for place in (0..4).rev() {
            all[place].p_next = &raw mut all[place + 1];
            let other = vk::StructureType::PHYSICAL_DEVICE_PROVOKING_VERTEX_FEATURES_EXT;
            all[place + 1].s_type = if is_left_out(place) { s_type } else { other };
        }
        let head = &raw mut all[0];
        // SAFETY: the chain is valid.
        let places = || unsafe { structures(head.cast_const().cast()) }.collect::<Vec<_>>();
        let before = places();
        // SAFETY: the chain is valid.
        let during = unsafe { without(head, |found| found == s_type, places) };
        let expected = (0..5).filter(|place| *place == 0 || !is_left_out(place - 1));
        assert_eq!(during, expected.map(|place| before[place]).collect::<Vec<_>>());
        assert_eq!(places(), before);
    }
    // SAFETY: null is allowed.
    assert_eq!(unsafe { without(ptr::null_mut(), |_| true, || 7) }, 7);
}
