//! Geometry shaders as vertex shaders that draw what they emit: what the modules have, and what is refused. Tests on devices
//! compare what they draw (`tests/backends/drawn.rs`, `tests/geometry/drawn.rs`).

use vkxfb_rewriter::lower::drawn::{self, StripIndices, Unindexed};
use vkxfb_rewriter::lower::{LowerError, Shader};
use vkxfb_rewriter::topology::ProvokingVertex;
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::common;

const VERTEX: &str = "#version 450
    layout(push_constant) uniform Pushed { layout(offset = 32) vec4 offset; };
    void main() { gl_Position = offset + float(gl_VertexIndex + gl_InstanceIndex); }";

fn geometry(declared: &str, main: &str) -> Vec<u32> {
    let source = format!("#version 450\n{declared}\nvoid main() {{ {main} }}");
    common::compile_stage("geom", &source, &[])
}

fn lower(declared: &str, main: &str, layer_outputs: bool) -> Result<drawn::Drawn, LowerError> {
    lower_with(declared, main, |options| options.layer_outputs(layer_outputs))
}

fn lower_with(
    declared: &str,
    main: &str,
    set: impl Fn(drawn::Options<'_>) -> drawn::Options<'_>,
) -> Result<drawn::Drawn, LowerError> {
    let (vertex, geometry) = (common::compile_stage("vert", VERTEX, &[]), geometry(declared, main));
    let (vertex, input) = (Shader::new(&vertex), VertexInput::default());
    drawn::lower(&Shader::new(&geometry), &set(drawn::Options::new(&vertex, &input)))
}

const STRIP: &str = "layout(triangles) in; layout(triangle_strip, max_vertices = 4) out;";
const EMIT: &str = "for (int i = 0; i < 4; i++) {
    gl_Position = gl_in[i % 3].gl_Position + float(gl_PrimitiveIDIn); EmitVertex(); }";

#[test]
fn parameters_are_the_only_input() {
    let drawn = lower(STRIP, EMIT, false).unwrap();
    common::validate(&drawn.words, "vulkan1.1");
    // Two triangles with two vertices in common.
    assert_eq!((drawn.vertices, drawn.geometry.primitives, drawn.is_fixed), (4, Some(2), true));
    assert_eq!(drawn.push_constants, 32..48);
    let text = common::disassemble(&drawn.words);
    for absent in ["PushConstant", "Geometry", "Workgroup", "OpFunctionCall"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert_eq!(text.matches(" Input\n").count(), 3, "{text}");
}

#[test]
fn layers_are_outputs_where_the_device_has_them() {
    let main = format!("gl_Layer = gl_PrimitiveIDIn; gl_PrimitiveID = 3; {EMIT}");
    for layer_outputs in [false, true] {
        let drawn = lower(STRIP, &main, layer_outputs).unwrap();
        common::validate(&drawn.words, "vulkan1.1");
        let text = common::disassemble(&drawn.words);
        assert_eq!(text.contains("BuiltIn Layer"), layer_outputs, "{text}");
        let extension = "SPV_EXT_shader_viewport_index_layer";
        assert_eq!(text.contains(extension), layer_outputs, "{text}");
        // A vertex shader has none.
        assert!(!text.contains("BuiltIn PrimitiveId"), "{text}");
    }
}

#[test]
fn what_a_vertex_shader_cannot_draw_is_refused() {
    let count = "layout(set = 0, binding = 0) buffer Count { uint count; };";
    let narrow = "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : enable
        layout(location = 0) out f16vec2 narrow;";
    let varying = "layout(points) in; layout(triangle_strip, max_vertices = 9) out;";
    let (streams, points) = (
        "layout(points) in; layout(points, max_vertices = 2) out;
        layout(location = 0, stream = 1) out float other;",
        "gl_Position = vec4(0.0); EmitStreamVertex(0); other = 1.0; EmitStreamVertex(1);",
    );
    for (declared, main, reason) in [
        (&*format!("{STRIP}{count}"), &*format!("atomicAdd(count, 1u); {EMIT}"), "side effects"),
        (&*format!("{narrow}{STRIP}"), EMIT, "outputs with 8-bit or 16-bit components"),
        (streams, points, "several vertex streams"),
        (
            varying,
            "for (int i = 0; i < int(gl_in[0].gl_Position.x); i++) { EmitVertex(); }",
            "a number of primitives that varies",
        ),
    ] {
        match lower(declared, main, false) {
            Err(LowerError::NotDrawn(found)) => assert_eq!(found, reason, "{declared}"),
            other => panic!("{declared}: {other:?}"),
        }
    }
    // Those that are not emitted are placed where nothing is drawn: all of an input primitive, or a few.
    let boxes = "layout(points) in; layout(triangle_strip, max_vertices = 24) out;";
    let main = "if (gl_in[0].gl_Position.x > 0.0) for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 4; j++) { gl_Position = vec4(i, j, 0, 1); EmitVertex(); }
        EndPrimitive(); }";
    let drawn = lower(boxes, main, false).unwrap();
    assert_eq!((drawn.vertices, drawn.is_fixed), (24, false));
    let without = lower_with(boxes, main, |options| options.unindexed(true)).unwrap();
    assert_eq!((without.vertices, without.indices), (36, Err(Unindexed::Requested)));
    let few = "layout(points) in; layout(triangle_strip, max_vertices = 4) out;";
    let main = "for (int i = 0; i < int(gl_in[0].gl_Position.x); i++) {
        gl_Position = vec4(i); EmitVertex(); }";
    let drawn = lower(few, main, false).unwrap();
    assert_eq!((drawn.vertices, drawn.indices.clone()), (6, Err(Unindexed::StripsVary)));
    let is_placed_far = |drawn: &drawn::Drawn| {
        common::disassemble(&drawn.words).contains("OpConstant %float -1048576")
    };
    assert!(is_placed_far(&drawn) && !is_placed_far(&lower(STRIP, EMIT, false).unwrap()));
}

/// The code that emits a strip.
fn strip(vertices: u32) -> String {
    format!(
        "for (int i = 0; i < {vertices}; i++) {{ gl_Position = vec4(i); EmitVertex(); }}
        EndPrimitive();"
    )
}

#[test]
fn strips_are_drawn_by_indices() {
    let of = |output: &str, main: &str| {
        let declared = format!("layout(triangles) in; layout({output}) out;");
        let drawn = lower(&declared, main, false).unwrap();
        common::validate(&drawn.words, "vulkan1.1");
        drawn
    };
    let indices = |drawn: drawn::Drawn| -> StripIndices {
        let indices = drawn.indices.unwrap();
        assert_eq!(indices.vertices(), drawn.vertices);
        for provoking in ProvokingVertex::ALL {
            let pattern = indices.pattern(provoking);
            assert_eq!(pattern.len() as u32, indices.count());
            // Every vertex is used.
            assert!((0..drawn.vertices).all(|vertex| pattern.contains(&vertex)), "{pattern:?}");
            assert_eq!(pattern.iter().max(), Some(&(drawn.vertices - 1)));
        }
        indices
    };
    let [first, last] = ProvokingVertex::ALL;

    // 6 runs for an input primitive, and 12 without indices.
    let drawn = of("triangle_strip, max_vertices = 6", &strip(6));
    assert!(drawn.is_fixed);
    let six = indices(drawn);
    assert_eq!((six.strips(), six.primitive_vertices(), six.vertices()), (&[6][..], 3, 6));
    assert_eq!(six.pattern(first), [0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 5, 4]);
    assert_eq!(six.pattern(last), [0, 1, 2, 2, 1, 3, 2, 3, 4, 4, 3, 5]);
    let declared = "layout(triangles) in; layout(triangle_strip, max_vertices = 6) out;";
    let without = lower_with(declared, &strip(6), |options| options.unindexed(true)).unwrap();
    assert_eq!((without.vertices, without.is_fixed), (12, true));

    // Strips that are too short have no vertices in the list.
    let main = [2, 4, 1, 3].map(strip).concat();
    let two = indices(of("triangle_strip, max_vertices = 16", &main));
    assert_eq!(two.strips(), [4, 3]);
    assert_eq!(two.pattern(first), [0, 1, 2, 1, 3, 2, 4, 5, 6]);
    assert_eq!(two.pattern(last), [0, 1, 2, 2, 1, 3, 4, 5, 6]);
    // Nor have vertices that are too many.
    assert_eq!(indices(of("triangle_strip, max_vertices = 6", &main)).strips(), [4]);

    let main = [4, 2].map(strip).concat();
    let lines = indices(of("line_strip, max_vertices = 6", &main));
    assert_eq!((lines.strips(), lines.primitive_vertices()), (&[4, 2][..], 2));
    for provoking in [first, last] {
        assert_eq!(lines.pattern(provoking), [0, 1, 1, 2, 2, 3, 4, 5]);
    }

    // Each invocation has the strips. The list goes on with the next input primitive.
    let declared = "layout(triangles, invocations = 2) in;
        layout(triangle_strip, max_vertices = 4) out;";
    let both = indices(lower(declared, &strip(4), false).unwrap());
    assert_eq!(both.strips(), [4, 4]);
    assert_eq!(both.pattern(first), [0, 1, 2, 1, 3, 2, 4, 5, 6, 5, 7, 6]);
    let list = both.list(2, first);
    assert_eq!(list[..12].iter().map(|index| u32::from(*index) + 8).collect::<Vec<_>>(), {
        list[12..].iter().map(|index| u32::from(*index)).collect::<Vec<_>>()
    });
    assert_eq!(both.items_of_part(), 8192);
    let list = both.list(u32::MAX, last);
    assert_eq!((list.len(), list.iter().max()), (8192 * 12, Some(&u16::MAX)));
}

#[test]
fn lists_without_indices_have_a_reason() {
    let of = |output: &str, main: &str| {
        let declared = format!("layout(points, invocations = 32) in; layout({output}) out;");
        lower(&declared, main, false).unwrap()
    };
    let points = of("points, max_vertices = 4", &strip(4));
    assert_eq!((points.vertices, points.indices), (128, Err(Unindexed::NothingShared)));
    let separate = of("triangle_strip, max_vertices = 6", &strip(3).repeat(2));
    assert_eq!((separate.vertices, separate.indices), (192, Err(Unindexed::NothingShared)));
    let nothing = of("triangle_strip, max_vertices = 3", &strip(2));
    assert_eq!((nothing.vertices, nothing.is_fixed), (0, true));
    assert_eq!(nothing.indices, Err(Unindexed::NothingShared));
    for (output, strips, length, vertices, reason) in [
        ("line_strip", 2, 64, 4096, None),
        ("line_strip", 2, 65, 8192, Some(Unindexed::TooManyVertices)),
        ("line_strip", 3, 3, 384, Some(Unindexed::TooManyStrips)),
    ] {
        let output = format!("{output}, max_vertices = {}", strips * length);
        let drawn = of(&output, &strip(length).repeat(strips as usize));
        assert_eq!((drawn.vertices, drawn.indices.err()), (vertices, reason), "{output}");
        assert!(drawn.is_fixed);
    }
}

#[test]
fn primitive_ids_of_fragment_shaders_become_inputs() {
    let fragment = |source: &str| common::compile_stage("frag", source, &[]);
    let reads = fragment(
        "#version 450
        layout(location = 2) in mat3 rows;
        layout(location = 0) out vec4 colour;
        void main() { colour = vec4(rows[0], gl_PrimitiveID); }",
    );
    let shader = Shader::new(&reads);
    for (first, location) in [(0, 5), (9, 9)] {
        let lowered = drawn::fragment::lower(&shader, first, false).unwrap();
        let input = lowered.primitive_id.unwrap();
        assert_eq!((input.location, input.signed), (location, true));
        common::validate(&lowered.words, "vulkan1.0");
        let text = common::disassemble(&lowered.words);
        assert!(!text.contains("PrimitiveId") || !text.contains("BuiltIn PrimitiveId"), "{text}");
        assert!(!text.contains("OpCapability Geometry"), "{text}");
    }
    let other =
        fragment("#version 450\nlayout(location = 0) out vec4 c; void main() { c = vec4(1.0); }");
    let lowered = drawn::fragment::lower(&Shader::new(&other), 0, false).unwrap();
    assert_eq!((lowered.words, lowered.primitive_id), (other, None));

    let block = "layout(location = 3) out Block { vec2 a; layout(location = 7) mat2 b; } block;";
    let main = format!("block.a = vec2(1.0); block.b = mat2(1.0); {EMIT}");
    let outputs = geometry(&format!("{STRIP}{block}"), &main);
    assert_eq!(drawn::output_locations(&Shader::new(&outputs)).unwrap(), 9);
}
