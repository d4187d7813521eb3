//! Shaders that a backend of a device cannot capture, and faults of drivers in their own captures.
//! The other backends are compared with the model in any case.

use vkxfb::lower::Backend;
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Gpu, Message};

use crate::generator::Generated;
use crate::generator::interface::{BuiltIn, Variable};
use crate::generator::types::Type;

/// A fault of a driver's own captures: native captures of the shaders that it applies to may differ
/// from the model.
pub struct Fault {
    driver: &'static str,
    applies: fn(&Generated) -> bool,
    pub reason: &'static str,
}

/// The known faults. The test fails if no shader of a fault differs, so that the entry is removed
/// once the driver is fixed.
const FAULTS: &[Fault] = &[
    Fault {
        driver: "llvmpipe",
        applies: |shader| {
            let count = |which| shader.built_in(which).map_or(0, |item| item.ty.part_count());
            let (clip, cull) = (count(BuiltIn::ClipDistance), count(BuiltIn::CullDistance));
            clip > 0 && clip % 4 + cull > 4
        },
        reason: "lavapipe 22.3 mixes up cull distances that begin and end in different vectors",
    },
    Fault {
        driver: "llvmpipe",
        applies: |shader| {
            let is_wrong = |v: &Variable| {
                v.is_whole_block()
                    && v.items()[0].captured.is_some()
                    && (v.items().len() > 1 || v.elements().is_some())
            };
            shader.interface.variables.iter().any(is_wrong)
        },
        reason: "Mesa gives every member the Offset of a block's variable, or none the one of an array's",
    },
    // `flat out dvec2 v` with `v.x = 5.25; v.y = 6.5;` captures zeros, with `v = dvec2(5.25, 6.5)`
    // it is right. Where no 64-bit vector is captured it shows in one of a thousand shaders. Seen
    // with 580.159.04.
    Fault {
        driver: "NVIDIA",
        applies: |shader| {
            let is_wide = |v: &Variable| {
                let items = v.items().iter();
                let mut types = items.map(|item| &item.ty);
                types.any(|ty| {
                    ty.alignment() == 8 && (v.is_block() || !matches!(ty, Type::Scalar(_)))
                })
            };
            shader.interface.variables.iter().any(is_wide)
        },
        reason: "NVIDIA mixes up the dwords of 64-bit values that are parts of an output",
    },
    // It reads location 0 instead. Seen with 580.159.04. Without the structure, as after block
    // splitting, it is right.
    Fault {
        driver: "NVIDIA",
        applies: |shader| {
            let is_struct = |ty: &Type| matches!(ty, Type::Struct(_));
            shader
                .interface
                .variables
                .iter()
                .filter(|v| v.is_block())
                .any(|v| v.items().iter().any(|m| m.location.is_some() && m.ty.contains(is_struct)))
        },
        reason: "NVIDIA ignores the Location of a block's member that is a structure",
    },
];

/// Returns the fault that a native capture of a shader may show.
pub fn fault(gpu: &Gpu, shader: &Generated) -> Option<&'static Fault> {
    if crate::common::layer::is_there() {
        return None;
    }
    let driver = &gpu.capabilities().driver_name;
    FAULTS.iter().find(|f| f.driver == driver && (f.applies)(shader))
}

/// Whether a message of the validation layer is a known mistake of the layer.
///
/// 1.3.239 looks for a store to PointSize by following the calls and access chains of a module in
/// no fixed order, and gives up at a chain that is only read. The vertex backend reads the outputs
/// that it stores. The native backend's module, which is the same without them, passes.
pub fn is_false_message(backend: Backend, message: &Message) -> bool {
    backend == Backend::Vertex
        && message.id.contains("VUID-VkGraphicsPipelineCreateInfo-Vertex-07722")
}

/// Returns the reason why a backend cannot capture a shader.
pub fn excluded(
    gpu: &Gpu,
    backend: Backend,
    shader: &Generated,
    topology: PrimitiveTopology,
) -> Option<&'static str> {
    let has = |which| shader.built_in(which).is_some();
    let enabled = gpu.context().enabled();
    if backend == Backend::Compute {
        return None;
    }
    if has(BuiltIn::Layer) || has(BuiltIn::ViewportIndex) {
        if shader.core_layer {
            return Some("the device is opened without shaderOutputLayer and -ViewportIndex");
        }
        if !gpu.capabilities().extensions.contains(ash::ext::shader_viewport_index_layer::NAME) {
            return Some("no VK_EXT_shader_viewport_index_layer");
        }
    }
    if topology.has_adjacency() && !enabled.geometry_shader {
        return Some("adjacency without geometryShader");
    }
    if backend == Backend::Vertex {
        return None;
    }
    (!enabled.preserve_provoking_vertex).then_some("the driver may rotate primitives")
}
