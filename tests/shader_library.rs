//! `shaders/xfb.spv` is what naga makes of `shaders/*.wgsl`, and the sysvals have one layout.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use vkxfb::sysval::Sysvals;

const SOURCES: [&str; 7] =
    ["sysvals", "stubs", "decompose", "fetch", "formats", "compute", "vertex"];

fn shaders() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")
}

/// WGSL has no include: the library is the concatenation of its files.
fn library() -> naga::Module {
    let source: String = SOURCES
        .iter()
        .map(|name| std::fs::read_to_string(shaders().join(format!("{name}.wgsl"))).unwrap())
        .collect();
    naga::front::wgsl::parse_str(&source)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(&source)))
}

fn compile(module: &naga::Module) -> Vec<u32> {
    let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
        .validate(module)
        .unwrap_or_else(|error| panic!("{error:?}"));
    let options = spv::Options {
        lang_version: (1, 0),
        // Names are how the linker finds functions.
        flags: spv::WriterFlags::DEBUG,
        fake_missing_bindings: false,
        binding_map: spv::BindingMap::default(),
        capabilities: None,
        bounds_check_policies: naga::proc::BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        // Both put code into the capture that the formulas do not need.
        force_loop_bounding: false,
        emit_int_div_checks: false,
        ray_query_initialization_tracking: false,
        trace_ray_argument_validation: false,
        use_storage_input_output_16: false,
        debug_info: None,
        task_dispatch_limits: None,
        mesh_shader_primitive_indices_clamp: false,
    };
    spv::write_vec(module, &info, &options, None).unwrap()
}

/// `VKXFB_REGENERATE=1 cargo test --test shader_library` writes the file anew.
#[test]
fn the_committed_library_is_fresh() {
    let words = compile(&library());
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let file = shaders().join("xfb.spv");
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::write(&file, bytes).unwrap();
    }
    assert!(
        std::fs::read(&file).unwrap_or_default() == bytes,
        "shaders/xfb.spv is stale: run VKXFB_REGENERATE=1 cargo test --test shader_library"
    );
}

#[test]
fn sysvals_have_one_layout() {
    let module = library();
    let layout = |name: &str| {
        let (_, ty) = module
            .types
            .iter()
            .find(|(_, ty)| ty.name.as_deref() == Some(name))
            .unwrap_or_else(|| panic!("no struct {name}"));
        match &ty.inner {
            naga::TypeInner::Struct { members, span } => (
                members
                    .iter()
                    .map(|m| (m.name.clone().unwrap(), m.offset as usize))
                    .collect::<Vec<_>>(),
                *span as usize,
            ),
            other => panic!("{other:?}"),
        }
    };
    macro_rules! expected {
        ($ty:ident: $($field:ident),* $(,)?) => {{
            // Exhaustive: a field that is missing here does not compile.
            let _ = |value: $ty| { let $ty { $($field: _),* } = value; };
            (
                vec![$((stringify!($field).to_owned(), std::mem::offset_of!($ty, $field))),*],
                size_of::<$ty>(),
            )
        }};
    }
    use vkxfb::sysval::AttributeDescriptor;
    assert_eq!(
        layout("Sysvals"),
        expected!(Sysvals:
            xfb_topology, xfb_output_count, xfb_output_limit, item_count, instance_count,
            provoking_vertex, first_vertex, first_instance, base_vertex, draw_index,
            attribute_table, xfb_address, attributes)
    );
    assert_eq!(
        layout("AttributeDescriptor"),
        expected!(AttributeDescriptor: address, limit, stride)
    );
}
