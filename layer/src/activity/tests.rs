use super::*;
use crate::capture_support::tests::{capabilities, driver_support};

fn settings(force_enable: bool, replace_partial: bool) -> Settings {
    Settings { force_enable, replace_partial, ..Settings::default() }
}

fn partial() -> Capabilities {
    let mut support = driver_support();
    (support.queries, support.draw, support.geometry_streams) = (false, false, false);
    let mut capabilities = capabilities();
    capabilities.transform_feedback = Some(support);
    capabilities
}

/// The text of each [`Activity`] is one line of less than 200 bytes: the layer cuts off longer texts in
/// `VkPhysicalDeviceToolProperties`, and the command `vkxfb` shows the text as one line.
#[test]
fn every_activity_is_told_in_a_line() {
    let mut incapable = capabilities();
    incapable.buffer_device_address = None;
    incapable.storage_buffer_indexing = false;
    for activity in [
        Activity::of(capabilities(), &settings(false, false)),
        Activity::of(capabilities(), &settings(true, false)),
        Activity::of(partial(), &settings(false, false)),
        Activity::of(partial(), &settings(true, false)),
        Activity::of(partial(), &settings(false, true)),
        Activity::of(incapable, &settings(false, false)),
        Activity::of(capabilities(), &Settings { descriptors: true, ..settings(false, false) }),
        Activity::of(partial(), &Settings { descriptors: true, ..settings(false, true) }),
        Activity::Dormant(Reason::DriverHasIt(Lacks::default())),
        Activity::Dormant(Reason::Unknown(vk::Result::ERROR_INITIALIZATION_FAILED)),
    ] {
        let text = activity.to_string();
        assert!(text.len() < 200 && !text.contains('\n'), "{text}");
    }
}

#[test]
fn it_is_active_where_it_is_missing_and_can_be() {
    let mut capabilities = capabilities();
    let of = |capabilities: &Capabilities, forced| {
        Activity::of(capabilities.clone(), &settings(forced, true))
    };
    assert!(matches!(of(&capabilities, false), Activity::Active(Cause::Missing, _)));
    assert!(matches!(of(&capabilities, true), Activity::Active(Cause::Forced(_), _)));

    // Without device addresses, captures use descriptors.
    capabilities.buffer_device_address = None;
    capabilities.limits.max_descriptor_sets = 5;
    let Activity::Active(_, support) = of(&capabilities, false) else { panic!("dormant") };
    assert!(support.required.uses_descriptors());

    capabilities.storage_buffer_indexing = false;
    for forced in [false, true] {
        let Activity::Dormant(Reason::Incapable(missing)) = of(&capabilities, forced) else {
            panic!("active")
        };
        assert!(missing.contains("bufferDeviceAddress"), "{missing}");
    }

    capabilities.transform_feedback = Some(driver_support());
    let dormant = of(&capabilities, false);
    assert!(matches!(dormant, Activity::Dormant(Reason::DriverHasIt(_))));
    // Programs keep the driver's extension, which the layer cannot replace.
    let Activity::Dormant(Reason::Irreplaceable(missing)) = of(&capabilities, true) else {
        panic!("the driver's is lost")
    };
    assert!(missing.contains("bufferDeviceAddress"), "{missing}");
}

/// If a driver's extension is partial, the text says so, and the setting `replace_partial` makes
/// the layer replace it.
#[test]
fn a_partial_extension_is_told_of_and_replaced_on_request() {
    type Part = fn(&mut TransformFeedbackSupport) -> &mut bool;
    let parts: [(&str, Part); 3] = [
        ("transformFeedbackQueries", |support| &mut support.queries),
        ("transformFeedbackDraw", |support| &mut support.draw),
        ("geometryStreams", |support| &mut support.geometry_streams),
    ];
    for lacking in 0_usize..1 << parts.len() {
        let lacks = |number: usize| lacking >> number & 1 != 0;
        let mut support = driver_support();
        for (number, (_, part)) in parts.iter().enumerate() {
            *part(&mut support) = !lacks(number);
        }
        let mut capabilities = capabilities();
        capabilities.transform_feedback = Some(support);
        let of = |force_enable, replace_partial| {
            Activity::of(capabilities.clone(), &settings(force_enable, replace_partial))
        };
        let is_active = |activity: &Activity| matches!(activity, Activity::Active(..));
        assert!(!is_active(&of(false, false)) && is_active(&of(true, false)));
        assert_eq!(is_active(&of(false, true)), lacking != 0);
        for activity in [of(false, false), of(true, false), of(false, true), of(true, true)] {
            let text = activity.to_string();
            for (number, (name, _)) in parts.iter().enumerate() {
                assert_eq!(text.contains(name), lacks(number), "{text}");
            }
        }
    }
}

/// Captures by descriptors take a set. If programs may need all sets that there are, the layer does not make them fail,
/// unless the user insists. A driver's partial extension then stays what it is.
#[test]
fn programs_keep_their_sets() {
    let by_descriptors =
        |force_enable| Settings { descriptors: true, ..settings(force_enable, true) };
    let is_active = |capabilities: &Capabilities, settings: &Settings| match Activity::of(
        capabilities.clone(),
        settings,
    ) {
        Activity::Active(_, support) => support.required.uses_descriptors(),
        Activity::Dormant(Reason::Incapable(missing)) => {
            assert!(missing.contains("maxBoundDescriptorSets"), "{missing}");
            false
        }
        Activity::Dormant(reason) => panic!("{reason:?}"),
    };
    let mut capabilities = capabilities();
    assert_eq!(capabilities.limits.max_descriptor_sets, 4);
    assert!(!is_active(&capabilities, &by_descriptors(false)));
    assert!(is_active(&capabilities, &by_descriptors(true)));
    capabilities.limits.max_descriptor_sets = 5;
    assert!(is_active(&capabilities, &by_descriptors(false)));

    let partial_by_descriptors = Activity::of(partial(), &by_descriptors(false));
    assert!(matches!(&partial_by_descriptors, Activity::Dormant(Reason::Irreplaceable(_))));
    // It says why the setting `replace_partial` has no effect.
    let text = partial_by_descriptors.to_string();
    assert!(text.contains("maxBoundDescriptorSets"), "{text}");
    assert!(matches!(Activity::of(partial(), &settings(false, true)), Activity::Active(..)));
}

/// The layer draws stages where the setting asks for that, and the layer is active.
#[test]
fn stages_are_drawn_by_a_setting() {
    let mut capabilities = capabilities();
    capabilities.geometry_shader = false;
    for draw_stages in [false, true] {
        let settings = Settings { draw_stages, ..Settings::default() };
        let Activity::Active(_, support) = Activity::of(capabilities.clone(), &settings) else {
            panic!("dormant")
        };
        assert_eq!(support.draws_geometry(), cfg!(feature = "drawn") && draw_stages);
        let without = Settings { descriptors: true, force_enable: true, ..settings };
        let Activity::Active(_, support) = Activity::of(capabilities.clone(), &without) else {
            panic!("dormant")
        };
        assert!(!support.draws_geometry());
    }
}
