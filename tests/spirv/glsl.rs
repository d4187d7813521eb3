//! GLSL as Vulkan programs use it, beyond what naga itself supports.

use proptest::prelude::*;
use spirv::{BuiltIn, Decoration, StorageClass};
use vkxfb::frontend::{FrontendError, glsl};
use vkxfb::internal::spirv::Module;
use vkxfb::internal::spirv::declarations::Declarations;
use vkxfb::internal::spirv::entry_point::find_vertex_shader;

use crate::common;

#[track_caller]
fn compile(source: &str) -> Vec<u32> {
    let words = glsl::vertex_shader(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    common::validate(&words, "vulkan1.0");
    words
}

/// Returns the names and locations of the variables of a module's interface, ordered by location.
fn interface(words: &[u32], storage: StorageClass) -> Vec<(u32, String)> {
    let module = Module::parse(words).unwrap();
    let declarations = Declarations::of(&module);
    let entry = find_vertex_shader(&module, None).unwrap();
    let mut found: Vec<_> = declarations
        .variables(storage)
        .filter(|variable| entry.interface.contains(&variable.id))
        .filter_map(|variable| {
            let location = declarations.decoration(variable.id, Decoration::Location)?[0];
            Some((location, declarations.name(variable.id).unwrap_or_default().to_owned()))
        })
        .collect();
    found.sort_unstable();
    found
}

fn named(list: &[(u32, &str)]) -> Vec<(u32, String)> {
    list.iter().map(|(location, name)| (*location, (*name).to_owned())).collect()
}

const PLAIN: &str = "#version 450
layout(location = 0) in vec3 at;
layout(location = 0) out vec4 colour;
vec4 f(vec3 x) { return vec4(x, 2.0); }
void main() { colour = f(at); gl_Position = colour; }
";

/// Declarations without effect do not change the words.
#[test]
fn redeclarations_and_precisions_are_taken() {
    let plain = compile(PLAIN);
    for declaration in [
        "out gl_PerVertex { vec4 gl_Position; };",
        "out gl_PerVertex\n{\n  vec4 gl_Position; // here\n  float gl_PointSize;\n  float gl_ClipDistance[];\n};",
        "#if 1\nout gl_PerVertex {\n#ifdef NEVER\nfloat gl_PointSize;\n#endif\nvec4 gl_Position; };\n#endif",
        "out vec4 gl_Position;",
        "out float gl_PointSize; in int gl_VertexIndex; out float gl_ClipDistance[2];",
        "precision highp float; precision mediump int; precision lowp sampler2D;",
        "layout(std140) uniform; layout(std430, column_major) buffer;",
        "#define PRECISE highp\nPRECISE float half_of(PRECISE float x);",
        "#ifndef VULKAN\n#error not Vulkan\n#endif\n#if VULKAN < 100\n#error not Vulkan\n#endif",
    ] {
        let source = PLAIN.replacen('\n', &format!("\n{declaration}\n"), 1);
        assert_eq!(compile(&source), plain, "{declaration}");
    }
    let precise = PLAIN.replace("vec4", "highp vec4").replace("(vec3 x)", "(mediump vec3 x)");
    assert_eq!(compile(&precise), plain);
    assert_eq!(compile(&format!("\u{feff}{PLAIN}")), plain);
    let invariant = PLAIN.replacen('\n', "\ninvariant out vec4 gl_Position;\n", 1);
    let text = common::disassemble(&compile(&invariant));
    assert!(text.contains(" Invariant"), "{text}");
}

#[test]
fn the_versions_of_vulkan_are_taken() {
    let plain = compile(PLAIN);
    let with = |version: &str| PLAIN.replacen("450", version, 1);
    for version in ["140", "330", "330 core", "410", "440 core", "460", "310 es", "320 es"] {
        assert_eq!(compile(&with(version)), plain, "{version}");
    }
    let checks = "320 es\n#if __VERSION__ != 320 || !defined(GL_ES)\n#error no ES\n#endif";
    assert_eq!(compile(&with(checks)), plain);
    compile(&with("330\n#if __VERSION__ != 330 || defined(GL_ES)\n#error not this\n#endif"));
    for (version, what) in [
        ("130", "GLSL of version 130"),
        ("300 es", "GLSL of version 300"),
        ("450 compatibility", "GLSL's compatibility profile"),
    ] {
        let error = glsl::vertex_shader(&with(version)).unwrap_err().to_string();
        assert!(error.contains(what) && error.contains("Vulkan takes"), "{error}");
    }
}

/// `gl_VertexIndex - 1` is -1 for the first vertex, not a large number.
#[test]
fn indices_of_vertices_are_signed() {
    let source = "#version 450
        #extension GL_ARB_shader_draw_parameters : enable
        #define INSTANCE gl_InstanceIndex
        layout(location = 0) out vec4 at;
        int before(int x) { return x - 1; }
        void main() {
            int signed_index = gl_VertexIndex;
            at = vec4(signed_index - 1, before(INSTANCE), gl_BaseVertexARB / 2, gl_DrawIDARB);
            gl_Position = vec4(float(gl_VertexIndex - 1));
        }";
    let text = common::disassemble(&compile(source));
    assert!(text.contains("OpConvertSToF") && !text.contains("OpConvertUToF"), "{text}");
}

#[test]
fn inputs_and_outputs_take_locations_as_vulkan_has_them() {
    let source = "#version 450
        layout(location = 2) in mat4 model;
        layout(location = 6) in ivec2 cell;
        layout(location = 0) out mat3 normals;
        layout(location = 3) out vec2 corners[2];
        layout(location = 5) out uint material;
        layout(location = 6) out struct { vec2 uv; flat int layer; } Out;
        layout(location = 8) out Lighting { noperspective vec3 light; };
        void main() {
            normals = mat3(model);
            corners = vec2[](vec2(cell), vec2(0));
            material = uint(cell.x);
            Out.uv = vec2(cell);
            Out.layer = cell.y;
            light = model[3].xyz;
            gl_Position = model * vec4(1);
        }";
    let words = compile(source);
    let inputs = [(2, "model[0]"), (3, "model[1]"), (4, "model[2]"), (5, "model[3]"), (6, "cell")];
    assert_eq!(interface(&words, StorageClass::Input), named(&inputs));
    let outputs = [
        (0, "normals[0]"),
        (1, "normals[1]"),
        (2, "normals[2]"),
        (3, "corners[0]"),
        (4, "corners[1]"),
        (5, "material"),
        (6, "uv"),
        (7, "layer"),
        (8, "light"),
    ];
    assert_eq!(interface(&words, StorageClass::Output), named(&outputs));
}

#[test]
fn a_position_is_not_needed() {
    let words = compile(
        "#version 450\nlayout(location = 1) out float x;\nvoid main() { x = 1.0; /* gl_Position */ }",
    );
    assert_eq!(interface(&words, StorageClass::Output), named(&[(1, "x")]));
    let text = common::disassemble(&words);
    assert!(text.contains("BuiltIn Position"), "{text}");
    compile("#version 450\nvoid main() {}");
}

#[test]
fn clip_distances_have_a_size() {
    for (declaration, size) in [
        ("", 3),
        ("out float gl_ClipDistance[4];", 4),
        ("out gl_PerVertex { vec4 gl_Position; float gl_ClipDistance[6]; };", 6),
    ] {
        let source = format!(
            "#version 450\n{declaration}\nvoid main() {{
             gl_Position = vec4(1); gl_ClipDistance[0] = 0.5; gl_ClipDistance[2] = 1.0; }}"
        );
        let words = compile(&source);
        let module = Module::parse(&words).unwrap();
        let declarations = Declarations::of(&module);
        let is_clip = |id| {
            declarations.decoration(id, Decoration::BuiltIn)
                == Some(&[BuiltIn::ClipDistance as u32])
        };
        assert_eq!(
            declarations.variables(StorageClass::Output).filter(|v| is_clip(v.id)).count(),
            1
        );
        let text = common::disassemble(&words);
        assert!(text.contains(&format!("OpTypeArray %float %uint_{size}")), "{text}");
    }
}

#[test]
fn arrays_have_the_size_of_their_initialiser() {
    for declaration in [
        "const vec2 corners[] = vec2[](vec2(-1, -1), vec2(3, -1), vec2(-1, 3));",
        "vec2[] corners = vec2[3](vec2(-1, -1), vec2(3, -1), vec2(-1, 3));",
        "vec2 corners[] = { vec2(-1, -1), vec2(3, -1), vec2(-1, 3), };",
    ] {
        let source = format!(
            "#version 450\nvoid main() {{ {declaration} gl_Position = vec4(corners[gl_VertexIndex], 0, 1); }}"
        );
        let text = common::disassemble(&compile(&source));
        assert!(text.contains("OpTypeArray %v2float %uint_3"), "{text}");
    }
}

#[test]
fn offsets_are_those_of_the_source() {
    let source = |offset: u32| {
        format!(
            "#version 450
             layout(push_constant) uniform P {{ layout(offset = 0) vec3 at; layout(offset = {offset}) float scale; }} p;
             void main() {{ gl_Position = vec4(p.at, p.scale); }}"
        )
    };
    compile(&source(12));
    let error = glsl::vertex_shader(&source(16)).unwrap_err();
    let FrontendError::Unsupported { location: Some(location), what, advice } = &error else {
        panic!("{error:?}");
    };
    assert_eq!((location.line, what.as_str()), (2, "layout(offset = 16) of 'scale'"));
    assert!(advice.contains("glslang"), "{error}");
}

/// Each error says what is not supported, where it is, and what to do.
#[test]
fn what_is_not_supported_is_named() {
    for (source, expected) in [
        (
            "layout(binding = 0) uniform sampler2D heights;",
            "2:29: the combined image sampler 'sampler2D'",
        ),
        ("uniform mat4 view;", "2:14: the uniform 'view' without a binding"),
        ("#include \"a.glsl\"", "2:2: '#include'"),
        (
            "in vec3 a; layout(location = 0) in vec3 b;",
            "2:1: inputs or outputs that share the location 0",
        ),
        ("layout(location = 0) in bool a;", "2:25: an input or output that is neither"),
        (
            "layout(binding = 0) uniform B { layout(row_major) mat4 m; };",
            "2:33: a layout of a member",
        ),
        ("float a[2][3];", "an array of arrays"),
        (
            "layout(binding = 0) uniform B { vec4 a; vec4 b; vec4 c; } d[2];",
            "2:29: the array of blocks 'd'",
        ),
        ("layout(binding = 0) readonly buffer B { vec4 a; } d[];", "2:37: the array of blocks 'd'"),
        (
            "layout(descriptor_heap, binding = 0) uniform B { vec4 a; } d[];",
            "2:8: the qualifier 'descriptor_heap'",
        ),
        ("layout(binding = 0) buffer B { uint8_t a; };", "2:32: the type 'uint8_t'"),
        (
            "layout(binding = 0) uniform accelerationStructureEXT a;",
            "2:29: the type 'accelerationStructureEXT'",
        ),
        ("int f() { return gl_ViewIndex; }", "2:18: the built-in variable 'gl_ViewIndex'"),
        ("int f() { return gl_VertexID; }", "2:18: OpenGL's 'gl_VertexID'"),
        ("/* \" */ float f() { return 0.0; \"}", "2:33: the character \", as in strings,"),
        ("layout(buffer_reference) buffer A { vec4 a; };", "2:33: the buffer reference 'A'"),
    ] {
        let source = format!("#version 450\n{source}\nvoid main() {{ gl_Position = vec4(0); }}");
        let error = glsl::vertex_shader(&source).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(expected), "{text}");
        assert!(matches!(error, FrontendError::Unsupported { .. }), "{error:?}");
        assert!(text.contains(" cannot be compiled here: "), "{text}");
    }
    // Errors that only naga finds have its message, with the place in the original source.
    let source =
        "#version 310 es\nhighp int a() { return gl_VertexIndex + gl_InstanceIndex + wrong; }";
    let error = glsl::vertex_shader(source).unwrap_err().to_string();
    assert!(
        error.starts_with("2:60: Unknown variable: wrong; naga reads a part of GLSL"),
        "{error}"
    );
}

/// Pieces of declarations in any order are compiled, or refused with a position in the source.
#[test]
fn any_order_of_words_is_an_error_at_most() {
    const WORDS: [&str; 40] = [
        "layout",
        "(",
        ")",
        "location",
        "=",
        "0",
        "1",
        "in",
        "out",
        "uniform",
        "struct",
        "{",
        "}",
        ";",
        ",",
        "[",
        "]",
        "vec4",
        "gl_PerVertex",
        "gl_Position",
        "gl_ClipDistance",
        "gl_VertexIndex",
        "precision",
        "highp",
        "flat",
        "invariant",
        "offset",
        "binding",
        "push_constant",
        "B",
        "a",
        "b",
        "vec4[]",
        "a[] =",
        "\n#define",
        "\n#if 1\n",
        "\n#endif\n",
        "/* ü */",
        "//\n",
        "ü",
    ];
    proptest!(|(words in prop::collection::vec(0..WORDS.len(), 0..24))| {
        let soup: Vec<&str> = words.iter().map(|word| WORDS[*word]).collect();
        let source = format!("#version 450\n{}\nvoid main() {{}}", soup.join(" "));
        let lines = source.lines().count() as u32 + 1;
        if let Err(error) = glsl::vertex_shader(&source)
            && let FrontendError::Source { location: Some(location), .. }
            | FrontendError::Unsupported { location: Some(location), .. } = error
        {
            prop_assert!(location.line <= lines, "{location} in {source}");
        }
    });
}
