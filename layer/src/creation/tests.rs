use std::ffi::{CString, c_void};
use std::ptr;

use proptest::prelude::*;
use vkxfb::runtime::AddressSource;

use super::*;
use crate::capture_support::CaptureSupport;
use crate::capture_support::tests::capabilities;

type Type = vk::StructureType;

/// A structure in the program's chain, as words.
#[derive(Clone, PartialEq, Debug)]
struct Structure(Vec<u64>);

impl Structure {
    fn new<T: vk::TaggedStructure>(structure: T) -> Self {
        let mut words = vec![0_u64; size_of::<T>().div_ceil(8)];
        // SAFETY: the words have room for the structure, and its alignment.
        unsafe { words.as_mut_ptr().cast::<T>().write(structure) };
        Self(words)
    }

    fn link(&mut self, next: *const c_void) -> *const c_void {
        let base = self.0.as_mut_ptr().cast::<vk::BaseInStructure<'_>>();
        // SAFETY: every structure of a chain begins with these members.
        unsafe { (*base).p_next = next.cast() };
        base.cast_const().cast()
    }
}

/// How many kinds of structures a program may chain. A kind is a number from 0 to `KINDS - 1`.
const KINDS: usize = 9;
/// The kind of a structure that the layer does not know.
const UNKNOWN: usize = KINDS;
const UNKNOWN_TYPE: Type = Type::from_raw(1_999_999_000);

fn structure(kind: usize, set: bool) -> Structure {
    match kind {
        0 => Structure::new(
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(set),
        ),
        1 => Structure::new(
            vk::PhysicalDeviceProvokingVertexFeaturesEXT::default()
                .provoking_vertex_last(true)
                .transform_feedback_preserves_provoking_vertex(set),
        ),
        2 => Structure::new(
            vk::PhysicalDeviceVulkan12Features::default()
                .timeline_semaphore(true)
                .buffer_device_address(set),
        ),
        3 => Structure::new(
            vk::PhysicalDeviceBufferDeviceAddressFeatures::default()
                .buffer_device_address(set)
                .buffer_device_address_capture_replay(true),
        ),
        4 => Structure::new(
            vk::PhysicalDeviceFeatures2::default().features(
                vk::PhysicalDeviceFeatures::default()
                    .shader_storage_buffer_array_dynamic_indexing(set)
                    .wide_lines(true),
            ),
        ),
        5 => Structure::new(vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(set)),
        6 => Structure::new(vk::DeviceGroupDeviceCreateInfo::default()),
        7 => Structure::new(
            vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
                .primitives_generated_query(true)
                .primitives_generated_query_with_non_zero_streams(set),
        ),
        UNKNOWN => Structure::new(vk::DevicePrivateDataCreateInfo {
            s_type: UNKNOWN_TYPE,
            ..Default::default()
        }),
        _ => Structure::new(
            vk::DevicePrivateDataCreateInfo::default().private_data_slot_request_count(7),
        ),
    }
}

fn chained(structures: &mut [Structure]) -> *const c_void {
    structures.iter_mut().rev().fold(ptr::null(), |next, structure| structure.link(next))
}

/// What a program passes to `vkCreateDevice`.
#[derive(Debug, Clone)]
struct Program {
    /// The kinds of the chained structures, each with whether the structure's feature is set.
    structures: Vec<(usize, bool)>,
    extensions: Vec<&'static CStr>,
    enabled: Option<vk::PhysicalDeviceFeatures>,
}

/// Generates programs with any valid combination of structures of different kinds, in any order.
fn program() -> impl Strategy<Value = Program> {
    let kinds = Just((0..KINDS).collect::<Vec<_>>()).prop_shuffle();
    let names = [
        ext::transform_feedback::NAME,
        c"VK_KHR_swapchain",
        c"VK_EXT_provoking_vertex",
        ext::primitives_generated_query::NAME,
    ];
    let sets = (prop::collection::vec(any::<bool>(), KINDS), 0..=KINDS);
    let names = prop::sample::subsequence(names.to_vec(), 0..=4).prop_shuffle();
    (kinds, sets, names, any::<bool>()).prop_map(
        |(mut kinds, (sets, count), extensions, enables)| {
            kinds.truncate(count);
            // VUID-VkDeviceCreateInfo-pNext-02830
            if kinds.contains(&2) {
                kinds.retain(|kind| *kind != 3);
            }
            let enabled = (enables && !kinds.contains(&4))
                .then(|| vk::PhysicalDeviceFeatures::default().wide_lines(true));
            let structures = kinds.iter().map(|kind| (*kind, sets[*kind])).collect();
            Program { structures, extensions, enabled }
        },
    )
}

/// The parts of a create info, as the layer or driver below sees them.
#[derive(Debug, Default)]
struct Seen {
    types: Vec<Type>,
    extensions: Vec<CString>,
    addresses: bool,
    indexing: bool,
    first_instances: bool,
    wide_lines: bool,
    preserves: bool,
}

/// # Safety
/// The create info is valid.
unsafe fn see(info: &vk::DeviceCreateInfo<'_>) -> Seen {
    let mut seen = Seen::default();
    unsafe {
        for structure in chain::structures(info.p_next) {
            seen.types.push(structure.as_ref().s_type);
        }
        let first = info.p_next;
        for f in chain::all_of::<vk::PhysicalDeviceVulkan12Features<'_>>(first) {
            assert_eq!(f.timeline_semaphore, vk::TRUE);
            seen.addresses |= f.buffer_device_address == vk::TRUE;
        }
        for f in chain::all_of::<vk::PhysicalDeviceBufferDeviceAddressFeatures<'_>>(first) {
            seen.addresses |= f.buffer_device_address == vk::TRUE;
        }
        let mut put = |f: &vk::PhysicalDeviceFeatures| {
            seen.indexing |= f.shader_storage_buffer_array_dynamic_indexing == vk::TRUE;
            seen.first_instances |= f.draw_indirect_first_instance == vk::TRUE;
            seen.wide_lines |= f.wide_lines == vk::TRUE;
        };
        for f in chain::all_of::<vk::PhysicalDeviceFeatures2<'_>>(first) {
            assert!(info.p_enabled_features.is_null());
            put(&f.features);
        }
        if let Some(f) = info.p_enabled_features.as_ref() {
            put(f);
        }
        for f in chain::all_of::<ProvokingVertex>(first) {
            assert_eq!(f.provoking_vertex_last, vk::TRUE);
            seen.preserves |= f.transform_feedback_preserves_provoking_vertex == vk::TRUE;
        }
        let names = chain::slice(info.pp_enabled_extension_names, info.enabled_extension_count);
        seen.extensions.extend(names.iter().map(|name| CStr::from_ptr(*name).to_owned()));
    }
    seen
}

/// Returns the create info that the layer or driver below gets when `program` creates a device, and whether the program
/// enables an extension that the layer gives.
fn creates(program: &Program, support: &CaptureSupport) -> Result<(Seen, bool), Error> {
    let mut structures: Vec<_> =
        program.structures.iter().map(|(kind, set)| structure(*kind, *set)).collect();
    let first = chained(&mut structures);
    let before = structures.clone();
    let names: Vec<_> = program.extensions.iter().map(|name| name.as_ptr()).collect();
    let mut info = vk::DeviceCreateInfo::default().enabled_extension_names(&names);
    info.p_next = first;
    info.p_enabled_features = program.enabled.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the create info is valid.
    let result = unsafe {
        let wishes = Wishes::new(&info);
        let captures = wishes.are_emulated(support);
        Creation::new(&wishes, support, true).map(|mut creation| {
            let is_unchanged = creation.is_unchanged();
            let below = creation.info();
            assert_eq!(
                is_unchanged,
                below.p_next == first && names.as_ptr() == below.pp_enabled_extension_names
            );
            (see(&below), captures)
        })
    };
    assert_eq!(structures, before, "the program's memory was written");
    result
}

fn by_addresses() -> CaptureSupport {
    CaptureSupport::new(capabilities()).unwrap()
}

fn by_descriptors() -> CaptureSupport {
    let mut capabilities = capabilities();
    capabilities.buffer_device_address = None;
    CaptureSupport::new(capabilities).unwrap()
}

proptest! {
    #[test]
    fn the_driver_sees_what_it_has_and_captures_need(
        program in program(),
        descriptors: bool,
        has_queries: bool,
    ) {
        let mut support = if descriptors { by_descriptors() } else { by_addresses() };
        let queries = ext::primitives_generated_query::NAME;
        if has_queries {
            _ = support.capabilities.extensions.insert(queries.to_owned());
        }
        let (seen, captures) = creates(&program, &support).unwrap();
        let mut types = seen.types.clone();
        types.sort_unstable();
        types.dedup();
        prop_assert_eq!(types.len(), seen.types.len(), "two of a kind");
        prop_assert!(!types.contains(&Type::PHYSICAL_DEVICE_TRANSFORM_FEEDBACK_FEATURES_EXT));
        prop_assert!(!seen.preserves);
        let mut extensions: Vec<_> = program.extensions.iter().map(|name| (*name).to_owned()).collect();
        let is_depended_on = has_queries && program.extensions.contains(&queries);
        extensions.retain(|name| {
            (name.as_c_str() != ext::transform_feedback::NAME || is_depended_on)
                && (name.as_c_str() != queries || has_queries)
        });
        prop_assert_eq!(&seen.extensions, &extensions);
        let has_feature = if descriptors { seen.indexing } else { seen.addresses };
        prop_assert!(!captures || has_feature);
        prop_assert_eq!(seen.first_instances, captures);
        let wide_lines = program.enabled.is_some() || program.structures.iter().any(|(kind, _)| *kind == 4);
        prop_assert_eq!(seen.wide_lines, wide_lines);
        // VUID-VkDeviceCreateInfo-pNext-02830
        let both = types.contains(&Type::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES)
            && types.contains(&Type::PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES);
        prop_assert!(!both);
        for (kind, set) in &program.structures {
            let s_type = Type::from_raw(structure(*kind, *set).0[0] as i32);
            prop_assert_eq!(types.contains(&s_type), *kind != 0 && (*kind != 7 || has_queries));
        }
    }

    /// Structures before an unknown one are changed. If a structure after the unknown one has to be changed, there is
    /// an error, unless the change is for a feature without which captures work.
    #[test]
    fn what_is_unknown_stays(mut program in program(), at in 0..=KINDS) {
        let at = at.min(program.structures.len());
        program.structures.insert(at, (UNKNOWN, false));
        let bit_behind = |kind, set| program.structures[at..].contains(&(kind, set));
        let given = [ext::transform_feedback::NAME, ext::primitives_generated_query::NAME];
        let captures = program.extensions.iter().any(|name| given.contains(name));
        let refused = bit_behind(0, false) || bit_behind(0, true) || bit_behind(1, true)
            || bit_behind(7, false) || bit_behind(7, true)
            || captures && (bit_behind(2, false) || bit_behind(3, false));
        let has_features_behind = bit_behind(4, false) || bit_behind(4, true);
        match creates(&program, &by_addresses()) {
            Ok((seen, _)) => {
                prop_assert!(!refused);
                prop_assert!(seen.types.contains(&UNKNOWN_TYPE));
                prop_assert!(!captures || seen.addresses);
                // Captures work without `drawIndirectFirstInstance`.
                prop_assert_eq!(seen.first_instances, captures && !has_features_behind);
            }
            Err(error) => {
                prop_assert!(refused, "{}", error);
                let is_behind = matches!(error, Error::Behind { .. });
                prop_assert!(is_behind);
            }
        }
    }
}

/// The extensions that captures require are added unless the program enables them itself. Here the driver has Vulkan
/// 1.0, and buffer device addresses as an extension.
#[test]
fn extensions_of_captures_are_added_once() {
    let mut capabilities = capabilities();
    capabilities.api_version = vk::API_VERSION_1_0;
    capabilities.buffer_device_address = Some(AddressSource::Extension);
    let support = CaptureSupport::new(capabilities).unwrap();
    let names = vec![c"VK_KHR_buffer_device_address", ext::transform_feedback::NAME];
    let structures = vec![(0, true), (3, false)];
    let program = Program { structures, extensions: names, enabled: None };
    let (seen, captures) = creates(&program, &support).unwrap();
    assert!(captures && seen.addresses);
    let expected = [c"VK_KHR_buffer_device_address", c"VK_KHR_device_group"];
    assert_eq!(seen.extensions, expected.map(CStr::to_owned));
}

#[test]
fn a_program_without_the_extension_has_its_way() {
    let plain = Program {
        structures: vec![(1, false), (5, true), (UNKNOWN, false)],
        extensions: vec![c"VK_KHR_swapchain"],
        enabled: None,
    };
    let (seen, captures) = creates(&plain, &by_addresses()).unwrap();
    assert!(!captures && seen.types.len() == 3 && seen.extensions.len() == 1);
    // The program enables the features of the structures of kinds 0 and 1 (see `structure`), which the layer reported,
    // but not the extension `VK_EXT_transform_feedback`. The driver does not have these features.
    let told = Program { structures: vec![(0, true), (1, true)], ..plain };
    let (seen, captures) = creates(&told, &by_addresses()).unwrap();
    assert!(!captures && seen.types.len() == 1 && !seen.preserves);
}

/// The shaders of captures use the scope Device. With the Vulkan memory model that scope needs the feature
/// `vulkanMemoryModelDeviceScope`, which the layer enables.
#[test]
fn the_memory_model_has_the_scope_of_captures() {
    let mut capabilities = capabilities();
    capabilities.memory_model_device_scope = true;
    let support = CaptureSupport::new(capabilities).unwrap();
    let names = [ext::transform_feedback::NAME.as_ptr()];
    for enables in [false, true] {
        let vulkan12 = vk::PhysicalDeviceVulkan12Features::default().vulkan_memory_model(enables);
        let memory_model =
            vk::PhysicalDeviceVulkanMemoryModelFeatures::default().vulkan_memory_model(enables);
        for structure in [Structure::new(vulkan12), Structure::new(memory_model)] {
            let mut structures = [structure];
            let mut info = vk::DeviceCreateInfo::default().enabled_extension_names(&names);
            info.p_next = chained(&mut structures);
            // SAFETY: the create info is valid.
            unsafe {
                let wishes = Wishes::new(&info);
                let mut creation = Creation::new(&wishes, &support, false).unwrap();
                let first = creation.info().p_next;
                let in_vulkan12 = chain::all_of::<vk::PhysicalDeviceVulkan12Features<'_>>(first)
                    .any(|features| features.vulkan_memory_model_device_scope == vk::TRUE);
                type MemoryModel<'a> = vk::PhysicalDeviceVulkanMemoryModelFeatures<'a>;
                let in_memory_model = chain::all_of::<MemoryModel<'_>>(first)
                    .any(|features| features.vulkan_memory_model_device_scope == vk::TRUE);
                assert_eq!(in_vulkan12 || in_memory_model, enables);
            }
        }
    }
}

/// How a program enables features of Vulkan 1.0.
#[cfg(feature = "drawn")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Enabled,
    Chained,
    /// Behind a structure that the layer does not know.
    ChainedBehind,
}

/// Returns the features that the driver gets, whether it also gets addresses, and whether the layer draws geometry shaders
/// on the device.
#[cfg(feature = "drawn")]
fn creates_with(
    features: vk::PhysicalDeviceFeatures,
    form: Form,
    support: &CaptureSupport,
) -> Result<(vk::PhysicalDeviceFeatures, bool, bool), Error> {
    let mut structures = Vec::new();
    if form == Form::ChainedBehind {
        structures.push(structure(UNKNOWN, false));
    }
    if form != Form::Enabled {
        structures.push(Structure::new(vk::PhysicalDeviceFeatures2::default().features(features)));
    }
    let p_next = chained(&mut structures);
    let mut info = vk::DeviceCreateInfo { p_next, ..Default::default() };
    let before = structures.clone();
    if form == Form::Enabled {
        info.p_enabled_features = &raw const features;
    }
    // SAFETY: the create info is valid.
    let result = unsafe {
        let wishes = Wishes::new(&info);
        assert_eq!(wishes.are_emulated(support), wishes.draws_geometry(support));
        Creation::new(&wishes, support, wishes.are_emulated(support)).map(|mut creation| {
            let draws = creation.draws_geometry();
            assert_eq!(draws, wishes.draws_geometry(support));
            let below = creation.info();
            let mut chained = chain::all_of::<vk::PhysicalDeviceFeatures2<'_>>(below.p_next);
            let found = chained.next().map(|chained| chained.features);
            let found = found.or(below.p_enabled_features.as_ref().copied()).unwrap();
            (found, see(&below).addresses, draws)
        })
    };
    assert_eq!(structures, before, "the program's memory was written");
    result
}

/// If the program enables geometry shaders that the layer draws, the driver creates a device for captures, and does not see
/// the feature. The program may enable it in both forms.
#[cfg(feature = "drawn")]
#[test]
fn the_driver_does_not_see_geometry_shaders_that_are_drawn() {
    let support = crate::capture_support::tests::drawing();
    let given = vk::PhysicalDeviceFeatures::default()
        .wide_lines(true)
        .geometry_shader(true)
        .shader_tessellation_and_geometry_point_size(true);
    for form in [Form::Enabled, Form::Chained] {
        let (features, addresses, draws) = creates_with(given, form, &support).unwrap();
        assert!(addresses && draws, "{form:?}");
        let expected = vk::PhysicalDeviceFeatures::default()
            .wide_lines(true)
            .draw_indirect_first_instance(true)
            .shader_int64(features.shader_int64 == vk::TRUE);
        assert_eq!(format!("{features:?}"), format!("{expected:?}"), "{form:?}");
        // Point sizes of tessellation shaders are the driver's.
        let tessellates = given.tessellation_shader(true);
        let (features, ..) = creates_with(tessellates, form, &support).unwrap();
        assert_eq!(features.geometry_shader, vk::FALSE);
        assert_eq!(features.shader_tessellation_and_geometry_point_size, vk::TRUE);
    }
    let refused = creates_with(given, Form::ChainedBehind, &support);
    assert!(matches!(refused, Err(Error::Behind { .. })));
}

/// A program that does not enable geometry shaders gets the device that it gets without the setting. The size of points,
/// which the layer reports, is removed.
#[cfg(feature = "drawn")]
#[test]
fn a_device_without_geometry_shaders_is_as_ever() {
    let support = crate::capture_support::tests::drawing();
    let wide = vk::PhysicalDeviceFeatures::default().wide_lines(true);
    for form in [Form::Enabled, Form::Chained, Form::ChainedBehind] {
        let (features, addresses, draws) = creates_with(wide, form, &support).unwrap();
        assert!(!addresses && !draws);
        assert_eq!(format!("{features:?}"), format!("{wide:?}"));
    }
    let sized = wide.shader_tessellation_and_geometry_point_size(true);
    for form in [Form::Enabled, Form::Chained] {
        let (features, addresses, draws) = creates_with(sized, form, &support).unwrap();
        assert!(!addresses && !draws);
        assert_eq!(format!("{features:?}"), format!("{wide:?}"));
    }
    // Where the geometry shaders are the driver's, it sees them.
    let given = wide.geometry_shader(true);
    let (features, addresses, draws) = creates_with(given, Form::Chained, &by_addresses()).unwrap();
    assert!(!addresses && !draws);
    assert_eq!(features.geometry_shader, vk::TRUE);
}
