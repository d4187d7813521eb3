//! The bytes of a SPIR-V module, which is described and rewritten in one of several ways. The generator's number in the
//! module's header, which means nothing, selects the way: so it is a part of the module.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use spirv::{ExecutionModel, Op};
use vkxfb_rewriter::lower::reflect::{push_constants, resource_interface, vertex_reads};
use vkxfb_rewriter::lower::streams::strip_streams;
use vkxfb_rewriter::lower::strip::strip_xfb;
use vkxfb_rewriter::lower::{Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::vertex_input::VertexInput;
use vkxfb_translators::broadcast::{BroadcastOptions, broadcast_color};
use vkxfb_translators::split_blocks::{SplitOptions, split_blocks};

/// The other shaders of a pipeline.
struct Others {
    vertex: Vec<u32>,
    control: Vec<u32>,
    evaluation: Vec<u32>,
    geometry: Vec<u32>,
}

static OTHERS: LazyLock<Others> = LazyLock::new(|| {
    let words = |bytes| words_from_bytes(bytes).unwrap_or_else(|error| panic!("{error}"));
    Others {
        vertex: words(include_bytes!("../../shaders/probe/identify.spv")),
        control: words(include_bytes!("../../shaders/probe/patch.spv")),
        evaluation: words(include_bytes!("../../shaders/probe/patch_triangles.spv")),
        geometry: words(include_bytes!("../../shaders/probe/triangles.spv")),
    }
});

/// Whether an entry point of the module is of this execution model.
fn has(words: &[u32], model: ExecutionModel) -> bool {
    words.windows(2).any(|two| two[0] & 0xffff == Op::EntryPoint as u32 && two[1] == model as u32)
}

/// Lowers pipelines of which one shader is the module.
fn lower_pipelines(shader: &Shader<'_>, input: &VertexInput) {
    let others = &*OTHERS;
    let vertex = Shader::new(&others.vertex);
    let control = Shader::new(&others.control).stage(ExecutionModel::TessellationControl);
    let evaluation = Shader::new(&others.evaluation);
    let geometry = Shader::new(&others.geometry);
    let options = compute::Options::new(input);
    if has(shader.words, ExecutionModel::Vertex) {
        _ = compute::lower(&geometry, &options.vertex_shader(shader));
    }
    if has(shader.words, ExecutionModel::TessellationControl) {
        let control = shader.stage(ExecutionModel::TessellationControl);
        _ = compute::lower(&evaluation, &options.vertex_shader(&vertex).control_shader(&control));
    }
    if has(shader.words, ExecutionModel::TessellationEvaluation) {
        _ = compute::lower(shader, &options.vertex_shader(&vertex).control_shader(&control));
    }
    if has(shader.words, ExecutionModel::Geometry) {
        _ = compute::lower(shader, &options.vertex_shader(&vertex));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(words) = words_from_bytes(bytes) else { return };
    let Some(way) = words.get(2) else { return };
    let shader = Shader::new(&words);
    let input = || vertex_reads(&shader).map(|reads| reads.packed_vertex_input());
    // What takes longer is done more seldom.
    match way % 16 {
        0..4 => {
            _ = (shader.layout(), shader.effects(), input());
            _ = (resource_interface(&shader), push_constants(&shader));
        }
        4..7 => _ = native::lower(&shader),
        7..9 => {
            if let Ok(stripped) = strip_xfb(&words) {
                _ = strip_streams(&stripped, way / 16 % 4);
            }
        }
        9..12 => {
            _ = split_blocks(&words, &SplitOptions::default());
            _ = broadcast_color(&words, &BroadcastOptions::new(1 + way / 16 % 8, 32));
        }
        12..14 => _ = vertex::lower(&shader),
        14 => _ = compute::lower(&shader, &compute::Options::new(&input().unwrap_or_default())),
        _ => lower_pipelines(&shader, &input().unwrap_or_default()),
    }
});
