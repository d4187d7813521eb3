//! Geometry shaders and queries of vertex streams: what `tests/geometry.c` captures with them, and what is
//! refused.

use std::mem::offset_of;
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

use ash::vk;
use ash::vk::Handle;
use vkxfb_capi::*;

use crate::calls::{INVALID, Objects, SHADER, refused, succeeds};
use crate::example::{compile, flags, libraries, printed, stream};
use crate::{compiled, run, words};

/// The vertex shader of `tests/geometry.c`. What it would capture itself is ignored.
const VERTEX: &str = "#version 450
    layout(constant_id = 3) const uint STEP = 1u;
    layout(location = 0) in uint pulled;
    layout(location = 0, xfb_buffer = 1, xfb_stride = 4, xfb_offset = 0) flat out uint id;
    void main() { id = pulled * STEP; gl_Position = vec4(0.0); }";

/// A strip of so many vertices as its constant says, of each line.
const AMPLIFY: &str = "#version 450
    layout(constant_id = 3) const uint EMITTED = 3u;
    layout(push_constant) uniform Pushed { layout(offset = 4) uint added; };
    layout(lines) in;
    layout(triangle_strip, max_vertices = 8) out;
    layout(location = 0) flat in uint id[];
    layout(location = 1) flat out uvec2 made;
    layout(location = 2) flat out uint other;
    void main() {
        for (uint i = 0u; i < EMITTED; i++) {
            made = uvec2(id[i % 2u] + added, uint(gl_PrimitiveIDIn) * 100u + i);
            other = 7u * i;
            gl_Position = vec4(0.0);
            EmitVertex();
        }
    }";

/// A point to stream 0 of each point, and up to three to stream 1.
const STREAMS: &str = "#version 450
    layout(points) in;
    layout(points, max_vertices = 4) out;
    layout(location = 0) flat in uint id[];
    layout(stream = 0, location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) flat out uint first;
    layout(stream = 1, location = 1, xfb_buffer = 1, xfb_stride = 8, xfb_offset = 0) flat out uvec2 second;
    void main() {
        first = id[0];
        EmitStreamVertex(0);
        for (uint i = 0u; i < id[0] % 4u; i++) {
            second = uvec2(id[0], i);
            EmitStreamVertex(1);
        }
    }";

/// Takes the outputs of `Objects`' vertex shader.
const PASSES_ON: &str = "#version 450
    layout(triangles) in;
    layout(points, max_vertices = 2) out;
    layout(location = 0) in vec4 first[];
    layout(stream = 0, location = 0) out vec4 passed;
    layout(stream = 1, location = 1) out vec4 streamed;
    void main() {
        passed = first[0];
        EmitStreamVertex(0);
        streamed = first[1];
        EmitStreamVertex(1);
    }";

#[test]
fn what_geometry_shaders_emit_is_captured_and_counted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let [vertex, streams] = [("vertex.vert", VERTEX), ("streams.geom", STREAMS)]
        .map(|(file, source)| compiled(path, file, source, "main"));
    let both = path.join("both.spv");
    run(Command::new("spirv-link").args([&vertex, &streams]).arg("-o").arg(&both));
    let amplify = compiled(path, "amplify.geom", AMPLIFY, "amplify");
    let shaders = [vertex, amplify, streams, both];
    let program = compile(path, "tests/geometry.c", flags("libvkxfb_capi.a"));
    assert_eq!(printed(path, &program, &shaders, &libraries()), "captured\n");
}

pub fn shader_info<'a>(words: &[u32]) -> VkxfbShaderInfo<'a> {
    VkxfbShaderInfo {
        struct_size: size_of::<VkxfbShaderInfo<'_>>(),
        code_size: size_of_val(words),
        p_code: words.as_ptr(),
        p_name: null_mut(),
        p_specialization_info: null_mut(),
    }
}

/// Compiles [`PASSES_ON`].
fn passes_on(directory: &Path) -> Vec<u32> {
    words(&compiled(directory, "passes.geom", PASSES_ON, "main"))
}

#[test]
fn geometry_shaders_are_refused_with_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let code = passes_on(directory.path());
    let vertex_code = words(&stream());
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    let mut made = |names: &[&std::ffi::CStr],
                    change: &dyn Fn(&mut VkxfbShaderInfo<'_>),
                    other: &dyn Fn(&mut VkxfbPipelineCreateInfo<'_>)| {
        let mut shader = shader_info(&code);
        change(&mut shader);
        let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        objects.make_pipeline(|info| {
            (info.varying_count, info.pp_varyings) = (names.len() as u32, names.as_ptr());
            info.p_geometry_shader = &raw const shader;
            other(info);
        })
    };
    let passed: &[_] = &[c"passed"];
    let same = |_: &mut VkxfbPipelineCreateInfo<'_>| {};
    let right = |_: &mut VkxfbShaderInfo<'_>| {};
    succeeds(made(&[c"passed", c"gl_NextBuffer", c"@1"], &right, &same));
    succeeds(made(passed, &|shader| shader.p_name = c"main".as_ptr(), &same));

    let refusal = made(passed, &|shader| shader.struct_size = 0, &same);
    refused(refusal, INVALID, "pGeometryShader: structSize of VkxfbShaderInfo is 0");
    let refusal = made(passed, &|shader| shader.p_code = null(), &same);
    refused(refusal, INVALID, "pGeometryShader: pCode is NULL");
    let refusal = made(passed, &|shader| shader.code_size -= 1, &same);
    refused(refusal, INVALID, "pGeometryShader: codeSize is");
    let refusal = made(passed, &|shader| shader.code_size = 8, &same);
    let part = "pGeometryShader: the shader cannot be captured (codeSize is 8: it counts bytes): \
                invalid SPIR-V";
    refused(refusal, SHADER, part);
    let refusal = made(passed, &|shader| shader.p_name = c"other".as_ptr(), &same);
    refused(refusal, SHADER, "pGeometryShader: the shader cannot be captured: the module has no");
    let refusal = made(passed, &|shader| *shader = shader_info(&vertex_code), &same);
    refused(refusal, SHADER, "the module has no geometry shader; it has: ");
    // What is wrong with the vertex shader is not put down to the geometry shader.
    let refusal = made(passed, &right, &|info| info.p_name = c"other".as_ptr());
    refused(refusal, SHADER, "captured: vertex shader: the module has no vertex shader");

    // Outputs are those of the geometry shader alone, and a buffer has those of one stream.
    refused(made(&[c"first"], &right, &same), SHADER, "'first'");
    refused(made(&[c"passed", c"streamed"], &right, &same), SHADER, "stream");
    refused(made(&[], &right, &same), SHADER, "Xfb");

    let lines = vk::PipelineInputAssemblyStateCreateInfo::default()
        .topology(vk::PrimitiveTopology::LINE_LIST);
    let refusal = made(passed, &right, &|info| info.p_input_assembly_state = &lines);
    refused(
        refusal,
        SHADER,
        "the stage after the vertex shader takes triangles, and the draw has topology line",
    );
    // With a dynamic topology that is the matter of each draw.
    succeeds(made(passed, &right, &|info| {
        (info.p_input_assembly_state, info.dynamic_topology) = (&lines, vk::TRUE);
    }));
    let draw = vk::DrawIndirectCommand { vertex_count: 3, instance_count: 1, ..Default::default() };
    let (begin, capture) = (objects.begin_info(), objects.capture);
    // SAFETY: the arguments are valid, or are refused; nothing is recorded.
    unsafe {
        succeeds(vkxfb_capture_begin(capture, &begin));
        succeeds(vkxfb_capture_draw(capture, vk::PrimitiveTopology::TRIANGLE_FAN, &draw));
        let refusal = vkxfb_capture_draw(capture, vk::PrimitiveTopology::LINE_LIST, &draw);
        refused(refusal, SHADER, "the stage after the vertex shader takes triangles");
        succeeds(vkxfb_capture_reset(capture));
    }
    // A geometry shader is not taken for the vertex shader.
    let refusal = objects.make_pipeline(|info| {
        (info.p_code, info.code_size) = (code.as_ptr(), size_of_val(&code[..]));
    });
    refused(refusal, SHADER, "vertex shader");
}

/// Its structure ends before the member, behind which there is memory of something else.
#[test]
fn an_older_program_has_no_geometry_shader() {
    let mut objects = Objects::new(vk::API_VERSION_1_2);
    let not_a_pointer = std::ptr::without_provenance(1);
    succeeds(objects.make_pipeline(|info| {
        info.struct_size = offset_of!(VkxfbPipelineCreateInfo<'_>, p_geometry_shader);
        info.p_geometry_shader = not_a_pointer;
    }));
}

#[test]
fn queries_are_refused_with_a_reason() {
    let objects = Objects::new(vk::API_VERSION_1_2);
    let (context, capture, begin) = (objects.context, objects.capture, objects.begin_info());
    let stream = vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT;
    let mut info = vk::QueryPoolCreateInfo::default().query_type(stream).query_count(2);
    let [mut pool, mut other] = [null_mut(); 2];
    let commands = vk::CommandBuffer::from_raw(1);
    let mut data = [0u64; 4];
    let start = data.as_mut_ptr().cast();
    // SAFETY: the arguments are valid, or are refused; nothing is recorded.
    unsafe {
        refused(vkxfb_query_pool_create(null(), &info, &mut pool), INVALID, "context is NULL");
        refused(
            vkxfb_query_pool_create(context, null(), &mut pool),
            INVALID,
            "pCreateInfo is NULL",
        );
        info.query_type = vk::QueryType::OCCLUSION;
        refused(vkxfb_query_pool_create(context, &info, &mut pool), INVALID, "queryType is 0");
        info.query_type = stream;
        let refusal = vkxfb_query_pool_create(context, &info, null_mut());
        refused(refusal, INVALID, "pQueryPool is NULL");
        succeeds(vkxfb_query_pool_create(context, &info, &mut pool));
        succeeds(vkxfb_query_pool_create(context, &info, &mut other));

        let begun = |pool, query, index| {
            succeeds(vkxfb_capture_reset(capture));
            succeeds(vkxfb_capture_begin(capture, &begin));
            vkxfb_capture_begin_query_indexed(capture, pool, query, index)
        };
        let again =
            |pool, query, index| vkxfb_capture_begin_query_indexed(capture, pool, query, index);
        let end = |pool, query, index| vkxfb_capture_end_query_indexed(capture, pool, query, index);
        succeeds(vkxfb_capture_reset(capture));
        refused(again(pool, 0, 0), INVALID, "not begun");
        refused(begun(null(), 0, 0), INVALID, "queryPool is NULL");
        refused(begun(pool, 2, 0), INVALID, "the pool has 2");
        refused(begun(pool, 0, 4), INVALID, "there is no vertex stream 4");
        succeeds(begun(pool, 0, 3));
        refused(again(other, 1, 3), INVALID, "a query of that kind is active");
        // The end names the query that was begun.
        for (ended, query, index) in [(other, 0, 3), (pool, 1, 3), (pool, 0, 2)] {
            succeeds(begun(pool, 0, 3));
            let part = format!("query {query} is not active for vertex stream {index}");
            refused(end(ended, query, index), INVALID, &part);
        }
        succeeds(begun(pool, 0, 3));
        succeeds(end(pool, 0, 3));
        refused(end(pool, 0, 3), INVALID, "query 0 is not active for vertex stream 3");
        succeeds(begun(pool, 0, 3));
        succeeds(end(pool, 0, 3));
        refused(again(pool, 0, 3), INVALID, "it begins again after the draws are recorded");

        let results = |count, size, start, stride, flags| {
            vkxfb_query_pool_get_results(pool, 0, count, size, start, stride, flags)
        };
        let wide = vk::QueryResultFlags::TYPE_64;
        let refusal = results(1, 16, start, 16, wide | vk::QueryResultFlags::WAIT);
        refused(refusal, INVALID, "VK_QUERY_RESULT_WAIT_BIT");
        refused(results(1, 16, null_mut(), 16, wide), INVALID, "pData is NULL");
        refused(results(2, 31, start, 16, wide), INVALID, "32");
        refused(results(3, 32, start, 16, wide), INVALID, "the pool has 2");
        assert_eq!(results(2, 32, start, 16, wide), VkxfbResult::VkxfbNotReady);
        let no_commands = vk::CommandBuffer::null();
        let refusal = vkxfb_query_pool_record_reset(pool, no_commands, 0, 1);
        refused(refusal, INVALID, "commandBuffer is NULL");
        let refusal = vkxfb_query_pool_record_reset(pool, commands, 1, 2);
        refused(refusal, INVALID, "the pool has 2");

        vkxfb_query_pool_destroy(null_mut());
        vkxfb_query_pool_destroy(pool);
        vkxfb_query_pool_destroy(other);
    }
}
