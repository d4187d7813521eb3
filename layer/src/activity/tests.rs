use super::*;
use crate::emulation::tests::capabilities;

/// `VkPhysicalDeviceToolProperties` has 256 bytes for it, and the command shows it.
#[test]
fn every_activity_is_told_in_a_line() {
    let mut incapable = capabilities();
    incapable.buffer_device_address = None;
    incapable.storage_buffer_indexing = false;
    for activity in [
        Activity::of(capabilities(), false),
        Activity::of(capabilities(), true),
        Activity::of(incapable, false),
        Activity::Dormant(Reason::DriverHasIt),
        Activity::Dormant(Reason::Unknown(vk::Result::ERROR_INITIALIZATION_FAILED)),
    ] {
        let text = activity.to_string();
        assert!(text.len() < 200 && !text.contains('\n'), "{text}");
    }
}

#[test]
fn it_is_active_where_it_is_missing_and_can_be() {
    let mut capabilities = capabilities();
    let of = |capabilities: &Capabilities, forced| Activity::of(capabilities.clone(), forced);
    assert!(matches!(of(&capabilities, false), Activity::Active(Cause::Missing, _)));
    assert!(matches!(of(&capabilities, true), Activity::Active(Cause::Forced, _)));

    // Without addresses, captures use descriptors.
    capabilities.buffer_device_address = None;
    let Activity::Active(_, means) = of(&capabilities, false) else { panic!("dormant") };
    assert!(means.required.uses_descriptors());

    capabilities.storage_buffer_indexing = false;
    for forced in [false, true] {
        let Activity::Dormant(Reason::Incapable(missing)) = of(&capabilities, forced) else {
            panic!("active")
        };
        assert!(missing.contains("bufferDeviceAddress"), "{missing}");
    }

    capabilities.transform_feedback = Some(crate::emulation::tests::support());
    let dormant = of(&capabilities, false);
    assert!(matches!(dormant, Activity::Dormant(Reason::DriverHasIt)));
}
