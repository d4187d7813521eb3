//! Tessellation shaders: what `tests/tessellation.c` captures with them, and what is refused.

use std::mem::offset_of;
use std::ptr::{null, null_mut};

use ash::vk;
use vkxfb_capi::*;

use crate::calls::{INVALID, Objects, SHADER, refused, succeeds};
use crate::example::{compile, flags, libraries, printed};
use crate::geometry::shader_info;
use crate::{compiled, words};

/// The vertex shader of `tests/tessellation.c`.
const VERTEX: &str = "#version 450
    layout(constant_id = 3) const uint STEP = 1u;
    layout(location = 0) in uint pulled;
    layout(location = 0, xfb_buffer = 1, xfb_stride = 4, xfb_offset = 0) flat out uint id;
    void main() { id = pulled * STEP; gl_Position = vec4(0.0); }";

/// Each patch is one triangle.
const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(location = 0) flat in uint id[];
    layout(location = 0) patch out uint sum;
    void main() {
        sum = 0u;
        for (int i = 0; i < gl_PatchVerticesIn; i++) sum += id[i];
        gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = gl_TessLevelOuter[2] = 1.0;
        gl_TessLevelInner[0] = 1.0;
    }";

const EVALUATION: &str = "#version 450
    layout(triangles, equal_spacing, ccw) in;
    layout(push_constant) uniform Pushed { layout(offset = 4) uint added; };
    layout(location = 0) patch in uint sum;
    layout(location = 0) flat out uvec2 found;
    void main() {
        uint corner = gl_TessCoord.x == 1.0 ? 0u : gl_TessCoord.y == 1.0 ? 1u : 2u;
        found = uvec2(sum + added, corner);
    }";

const GEOMETRY: &str = "#version 450
    layout(triangles) in;
    layout(points, max_vertices = 1) out;
    layout(location = 0) flat in uvec2 found[];
    layout(location = 0) flat out uint emitted;
    void main() { emitted = found[0].x; EmitVertex(); }";

#[test]
fn what_patches_are_divided_into_is_captured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let shaders = [
        ("vertex.vert", VERTEX),
        ("control.tesc", CONTROL),
        ("evaluation.tese", EVALUATION),
        ("geometry.geom", GEOMETRY),
    ];
    let shaders = shaders.map(|(file, source)| compiled(path, file, source, "main"));
    let program = compile(path, "tests/tessellation.c", flags("libvkxfb_capi.a"));
    assert_eq!(printed(path, &program, &shaders, &libraries()), "captured\n");
}

/// What is changed of a pipeline that could be made.
type Change<'c> = &'c dyn Fn(&mut VkxfbPipelineCreateInfo<'_>);

#[test]
fn tessellation_shaders_are_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    // Objects' vertex shader has an output of four floats.
    let control =
        CONTROL.replace("flat in uint id", "in vec4 id").replace("id[i]", "uint(id[i].x)");
    let control = words(&compiled(directory.path(), "a.tesc", &control, "main"));
    let evaluation = words(&compiled(directory.path(), "a.tese", EVALUATION, "main"));
    let (controls, evaluates) = (shader_info(&control), shader_info(&evaluation));
    let empty = VkxfbShaderInfo { struct_size: 0, ..shader_info(&control) };
    let patches = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::PATCH_LIST);
    let states = [0, 3, 33].map(|points| {
        vk::PipelineTessellationStateCreateInfo::default().patch_control_points(points)
    });
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    let names = [c"found".as_ptr()];
    let mut made = |change: Change<'_>| {
        objects.make_pipeline(|info| {
            (info.varying_count, info.pp_varyings) = (1, names.as_ptr());
            info.p_input_assembly_state = &patches;
            info.p_tessellation_control_shader = &raw const controls;
            info.p_tessellation_evaluation_shader = &raw const evaluates;
            info.p_tessellation_state = &states[1];
            change(info);
        })
    };
    succeeds(made(&|_| {}));

    let refusal = made(&|info| info.p_tessellation_evaluation_shader = null());
    let what = "pTessellationEvaluationShader is NULL, and pTessellationControlShader is not";
    refused(refusal, INVALID, what);
    let refusal = made(&|info| info.p_tessellation_control_shader = null());
    let what = "pTessellationControlShader is NULL, and pTessellationEvaluationShader is not";
    refused(refusal, INVALID, what);
    let refusal = made(&|info| info.p_tessellation_state = null());
    refused(refusal, INVALID, "pTessellationState is NULL");
    let refusal = made(&|info| info.p_tessellation_control_shader = &raw const empty);
    refused(refusal, INVALID, "pTessellationControlShader: structSize of VkxfbShaderInfo is 0");
    let refusal = made(&|info| info.p_tessellation_evaluation_shader = &raw const controls);
    refused(
        refusal,
        SHADER,
        "pTessellationEvaluationShader: the shader cannot be captured: the module has no",
    );
    let refusal = made(&|info| info.p_tessellation_state = &states[0]);
    refused(refusal, INVALID, "a number of control points of a patch, at least 1");
    let refusal = made(&|info| info.p_tessellation_state = &states[2]);
    let too_large = VkxfbResult::VkxfbErrorTooLarge;
    refused(refusal, too_large, "the number of control points of a patch is 33");
    let list = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let refusal = made(&|info| info.p_input_assembly_state = &list);
    refused(refusal, SHADER, "takes patches, and the draw has topology triangle-list");

    // A patch list needs tessellation shaders.
    let refusal = made(&|info| {
        info.p_tessellation_control_shader = null();
        info.p_tessellation_evaluation_shader = null();
        info.varying_count = 0;
    });
    refused(refusal, INVALID, "has topology patch-list, and the pipeline no tessellation shaders");

    succeeds(made(&|_| {}));
    let (begin, capture) = (objects.begin_info(), objects.capture);
    let set = vkxfb_capture_set_patch_control_points;
    // SAFETY: the arguments are valid, or are refused; nothing is recorded.
    unsafe {
        refused(set(null_mut(), 3), INVALID, "capture is NULL");
        succeeds(vkxfb_capture_begin(capture, &begin));
        succeeds(set(capture, 2));
        refused(set(capture, 0), INVALID, "at least 1");
        succeeds(vkxfb_capture_reset(capture));
    }
}

/// Its structure ends before the members, behind which there is memory of something else.
#[test]
fn an_older_program_has_no_tessellation_shaders() {
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    let not_a_pointer = std::ptr::without_provenance(1);
    succeeds(objects.make_pipeline(|info| {
        info.struct_size = offset_of!(VkxfbPipelineCreateInfo<'_>, p_tessellation_control_shader);
        info.p_tessellation_control_shader = not_a_pointer;
        info.p_tessellation_state = std::ptr::without_provenance(2);
    }));
}
