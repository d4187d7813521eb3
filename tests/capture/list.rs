//! Compares explicit lists with the layouts from the decorations of the same shader.

use spirv::BuiltIn;
use vkxfb_rewriter::capture::locations_used;
use vkxfb_rewriter::capture::{
    BufferMode, CaptureEntry, CaptureError, CaptureList, Layout, Selector,
};
use vkxfb_rewriter::lower::native;
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::{EntryPoint, find_vertex_shader};

use crate::common;

/// A shader, and its module for lookups.
struct Shader {
    declarations: Declarations,
    entry: EntryPoint,
    module: Module,
}

impl Shader {
    fn of(declarations: &str, arguments: &[&str]) -> Self {
        let source = format!("#version 450\n{declarations}\nvoid main() {{}}\n");
        Self::parse(&common::compile(&source, arguments))
    }

    fn assembled(source: &str) -> Self {
        Self::parse(&common::assemble(source, "vulkan1.0"))
    }

    fn parse(words: &[u32]) -> Self {
        let module = Module::parse(words).unwrap();
        let entry = find_vertex_shader(&module, None).unwrap();
        Self { declarations: Declarations::of(&module), entry, module }
    }

    fn list(&self, list: &CaptureList) -> Result<Layout, CaptureError> {
        Layout::from_list(&self.declarations, &self.entry, list)
    }

    fn varyings(&self, names: &[&str], mode: BufferMode) -> Result<Layout, CaptureError> {
        let list = CaptureList::from_varyings(&self.declarations, &self.entry, names, mode)?;
        self.list(&list)
    }

    fn decorated(&self) -> Layout {
        Layout::from_decorations(&self.module, &self.declarations, &self.entry).unwrap()
    }
}

/// Returns (buffer, offset, components, bits, path) of each captured output.
fn pieces(layout: &Layout) -> Vec<(u32, u32, u32, u32, Vec<u32>)> {
    layout
        .outputs
        .iter()
        .map(|o| (o.buffer, o.offset, o.components, o.bits, o.path.clone()))
        .collect()
}

const OUTPUTS: &str = "
    struct Light { vec3 position; float power; };
    layout(location = 0) out vec4 colour;
    layout(location = 1) out mat2x3 matrix;
    layout(location = 3) flat out dvec3 wide;
    layout(location = 5) out Light lights[2];
    layout(location = 9, component = 1) out vec2 pair;
    layout(location = 10) out Block { vec2 a; float b[3]; } block;
    layout(location = 14) out Anonymous { vec3 loose; };
    out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[3]; };
";

#[test]
fn varyings_interleave_as_opengl_says() {
    let shader = Shader::of(OUTPUTS, &[]);
    let layout = shader
        .varyings(
            &[
                "gl_Position",
                "gl_SkipComponents2",
                "matrix",
                "gl_NextBuffer",
                "wide",
                "gl_SkipComponents1",
                "lights[1].position",
                "block.b",
                "loose",
            ],
            BufferMode::Interleaved,
        )
        .unwrap();
    assert_eq!(layout.strides, [Some(16 + 8 + 24), Some(24 + 4 + 12 + 12 + 12), None, None]);
    let rows: Vec<_> = layout
        .varyings
        .iter()
        .map(|v| (v.buffer, v.offset, v.ty.to_string(), v.count, v.name.as_str()))
        .collect();
    let row = |b, o, ty: &str, n, name| (b, o, ty.to_owned(), n, name);
    assert_eq!(
        rows,
        [
            row(0, 0, "GL_FLOAT_VEC4", 1, "gl_Position"),
            row(0, 24, "GL_FLOAT_MAT2x3", 1, "matrix"),
            row(1, 0, "GL_DOUBLE_VEC3", 1, "wide"),
            row(1, 28, "GL_FLOAT_VEC3", 1, "lights[1].position"),
            row(1, 40, "GL_FLOAT", 3, "block.b"),
            row(1, 52, "GL_FLOAT_VEC3", 1, "loose"),
        ]
    );
}

#[test]
fn separate_varyings_take_a_buffer_each() {
    let shader = Shader::of(OUTPUTS, &[]);
    let layout =
        shader.varyings(&["colour", "gl_PointSize", "pair"], BufferMode::Separate).unwrap();
    assert_eq!(layout.strides, [Some(16), Some(4), Some(8), None]);
    let error = shader.varyings(&["colour", "gl_NextBuffer"], BufferMode::Separate).unwrap_err();
    assert_eq!(error, CaptureError::SpecialName { name: "gl_NextBuffer".to_owned() });
    let five = ["colour", "pair", "matrix", "gl_Position", "gl_PointSize"];
    let error = shader.varyings(&five, BufferMode::Separate).unwrap_err();
    assert!(matches!(error, CaptureError::BufferLimit { buffer: 4, .. }), "{error}");
}

#[test]
fn names_that_lead_nowhere_are_errors() {
    let shader = Shader::of(OUTPUTS, &[]);
    for name in
        ["color", "matrix.a", "lights[2]", "lights[0].colour", "block", "block.b[9]", "", "pair[0]"]
    {
        let result = shader.varyings(&[name], BufferMode::Interleaved);
        // A block is a value like any other.
        if name == "block" {
            assert_eq!(result.unwrap().strides[0], Some(20));
            continue;
        }
        let error = result.unwrap_err();
        assert!(matches!(error, CaptureError::NoSuchOutput { .. }), "{name}: {error}");
        assert!(error.to_string().contains(&format!("'{name}'")), "{error}");
    }
    let stripped = Shader::of("layout(location = 0) out vec4 colour;", &["-g0"]);
    let error = stripped.varyings(&["colour"], BufferMode::Interleaved).unwrap_err();
    assert!(error.to_string().contains("OpName"), "{error}");
    let silent = Shader::of("", &[]);
    let error = silent.varyings(&["@Position"], BufferMode::Interleaved).unwrap_err();
    assert_eq!(error.to_string(), "the shader has no outputs, and so no '@Position'");
}

/// Names of outputs from other compilers (DXC, Slang, and HLSL compiled by glslang), and names that
/// are prefixes of others. GLSL would not produce any of these names.
const COMPILERS: &str = "
    OpCapability Shader
    OpCapability ClipDistance
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %1 \"main\" %20 %21 %22 %23 %24 %25
    OpName %20 \"out.var.COLOR0\"
    OpName %21 \"entryPointParam_main.c\"
    OpName %22 \"@entryPointOutput.uv[0]\"
    OpName %23 \"light\"
    OpName %24 \"light.power\"
    OpName %9 \"Light\"
    OpMemberName %9 0 \"power\"
    OpMemberName %9 1 \"power.at\"
    OpDecorate %20 Location 0
    OpDecorate %21 Location 1
    OpDecorate %22 Location 2
    OpDecorate %23 Location 3
    OpDecorate %24 Location 5
    OpMemberDecorate %10 0 BuiltIn Position
    OpMemberDecorate %10 1 BuiltIn ClipDistance
    OpDecorate %10 Block
    %2 = OpTypeVoid
    %3 = OpTypeFunction %2
    %4 = OpTypeFloat 32
    %5 = OpTypeVector %4 4
    %6 = OpTypeInt 32 0
    %7 = OpConstant %6 2
    %8 = OpTypeArray %4 %7
    %9 = OpTypeStruct %4 %5
    %10 = OpTypeStruct %5 %8
    %11 = OpTypePointer Output %5
    %12 = OpTypePointer Output %9
    %13 = OpTypePointer Output %4
    %14 = OpTypePointer Output %10
    %20 = OpVariable %11 Output
    %21 = OpVariable %11 Output
    %22 = OpVariable %11 Output
    %23 = OpVariable %12 Output
    %24 = OpVariable %13 Output
    %25 = OpVariable %14 Output
    %1 = OpFunction %2 None %3
    %30 = OpLabel
    OpReturn
    OpFunctionEnd";

/// Returns the variable and path of the only output that a text selects, and the number of its
/// components.
fn selected(shader: &Shader, text: &str) -> (u32, Vec<u32>, u32) {
    let layout = shader.varyings(&[text], BufferMode::Interleaved);
    let layout = layout.unwrap_or_else(|error| panic!("{text}: {error}"));
    let [only] = layout.outputs.as_slice() else { panic!("{text}: {:?}", layout.outputs) };
    (only.variable.0, only.path.clone(), only.components)
}

#[test]
fn names_with_dots_are_tried_whole() {
    let shader = Shader::assembled(COMPILERS);
    for (name, found) in [
        ("out.var.COLOR0", (20, vec![], 4)),
        ("entryPointParam_main.c", (21, vec![], 4)),
        ("@entryPointOutput.uv[0]", (22, vec![], 4)),
        // The variable of that very name, not the member of a shorter one.
        ("light.power", (24, vec![], 1)),
        ("light.power.at", (23, vec![1], 4)),
    ] {
        assert_eq!(selected(&shader, name), found, "{name}");
    }
    for wrong in ["out", "out.var", "out.var.COLOR0.x", "light.", "light.power.at.x", "light.powe"]
    {
        let error = shader.varyings(&[wrong], BufferMode::Interleaved).unwrap_err();
        assert!(matches!(error, CaptureError::NoSuchOutput { .. }), "{wrong}: {error}");
    }
}

#[test]
fn built_ins_are_found_by_what_they_are() {
    let shader = Shader::assembled(COMPILERS);
    for (name, found) in [
        ("gl_Position", (25, vec![0], 4)),
        ("@Position", (25, vec![0], 4)),
        ("gl_ClipDistance[1]", (25, vec![1, 1], 1)),
        ("@ClipDistance[0]", (25, vec![1, 0], 1)),
        ("@Position.z", (25, vec![0, 2], 1)),
        ("@ClipDistance.y", (25, vec![1, 1], 1)),
    ] {
        assert_eq!(selected(&shader, name), found, "{name}");
    }
    let stripped = COMPILERS.lines().filter(|line| !line.contains("Name")).collect::<Vec<_>>();
    let stripped = Shader::assembled(&stripped.join("\n"));
    assert_eq!(selected(&stripped, "gl_Position"), (25, vec![0], 4));
    let error = stripped.varyings(&["colour"], BufferMode::Interleaved).unwrap_err().to_string();
    assert!(error.contains("OpName") && error.contains("@0, @1, @2, @3, @5, @Position"), "{error}");
}

#[test]
fn outputs_are_named_by_place() {
    let shader = Shader::of(
        "struct Light { vec3 position; float power; };
         layout(location = 0) out vec4 colour;
         layout(location = 1) out mat2x3 matrix;
         layout(location = 3) flat out dvec3 wide;
         layout(location = 5) out Light lights[2];
         layout(location = 9, component = 1) out vec2 low;
         layout(location = 9, component = 3) out float high;
         layout(location = 10) out Block { vec2 a; float b[3]; };",
        &[],
    );
    let captured = |text: &str| {
        let layout = shader.varyings(&[text], BufferMode::Interleaved);
        let layout = layout.unwrap_or_else(|error| panic!("{text}: {error}"));
        pieces(&layout)
    };
    for (place, name) in [
        ("@0", "colour"),
        ("@1", "matrix"),
        ("@3", "wide"),
        ("@5", "lights"),
        ("@5[1].position", "lights[1].position"),
        ("@9.yz", "low"),
        ("@9.w", "high"),
        ("@10", "a"),
        ("@11[2]", "b[2]"),
    ] {
        assert_eq!(captured(place), captured(name), "{place}");
    }
    // A column of a matrix that begins at an earlier location, and components of outputs.
    assert_eq!(captured("@2"), [(0, 0, 3, 32, vec![1])]);
    assert_eq!(captured("@0.yz"), [(0, 0, 1, 32, vec![1]), (0, 4, 1, 32, vec![2])]);
    assert_eq!(captured("@3.zw"), [(0, 0, 1, 64, vec![1])]);

    let refused = |text: &str| shader.varyings(&[text], BufferMode::Interleaved).unwrap_err();
    let several = refused("@9");
    assert!(matches!(several, CaptureError::SeveralOutputs { .. }), "{several}");
    assert!(several.to_string().contains("low (@9.yz), high (@9.w)"), "{several}");
    for wrong in
        ["@", "@0.zx", "@0.xz", "@0.xyzwx", "@2[0]", "@40", "@Colour", "@CullDistance", "@-1"]
    {
        let error = refused(wrong);
        assert!(matches!(error, CaptureError::NoSuchOutput { .. }), "{wrong}: {error}");
        // The message lists what can be selected.
        let listed = "colour (@0), matrix (@1), wide (@3), lights (@5), low (@9.yz)";
        assert!(error.to_string().contains(listed), "{error}");
    }
    let misaligned = shader.varyings(&["@9.w", "@3.xy"], BufferMode::Interleaved).unwrap_err();
    assert!(matches!(misaligned, CaptureError::Misaligned { alignment: 8, .. }), "{misaligned}");
}

/// Selecting every output by location gives the same layout as the decorations.
#[test]
fn locations_lead_to_what_decorations_say() {
    let shader = Shader::of(
        "layout(location = 0, xfb_buffer = 0, xfb_offset = 0) out mat4 a[2];
         layout(location = 8, xfb_buffer = 1, xfb_offset = 0) flat out dvec4 b;
         layout(location = 10, component = 2, xfb_buffer = 1, xfb_offset = 32) out vec2 c;
         layout(location = 11, xfb_buffer = 2) out B {
             layout(xfb_offset = 4) vec3 d;
             layout(xfb_offset = 16) float e[2];
         } block;",
        &[],
    );
    let decorated = shader.decorated();
    let captures = decorated.outputs.iter().map(|o| {
        CaptureEntry::new(
            Selector::Location {
                location: o.location.unwrap(),
                component: o.component,
                components: o.dwords(),
            },
            o.buffer,
            o.offset,
        )
    });
    let list = CaptureList::default().captures(captures.collect()).strides(decorated.strides);
    let layout = shader.list(&list).unwrap();
    assert_eq!(pieces(&layout), pieces(&decorated));
}

#[test]
fn parts_of_vectors_and_built_ins_are_captured() {
    let shader = Shader::of(OUTPUTS, &[]);
    let capture = |selector, offset| CaptureEntry::new(selector, 0, offset);
    let list =
        |captures| CaptureList::default().captures(captures).strides([Some(64), None, None, None]);
    let layout = shader
        .list(&list(vec![
            capture(Selector::Location { location: 0, component: 1, components: 2 }, 0),
            // Continues from the end of one column in the next.
            capture(Selector::Location { location: 3, component: 2, components: 4 }, 8),
            capture(
                Selector::BuiltIn { built_in: BuiltIn::ClipDistance, component: 1, components: 2 },
                32,
            ),
            capture(
                Selector::BuiltIn { built_in: BuiltIn::Position, component: 0, components: 4 },
                40,
            ),
        ]))
        .unwrap();
    let found: Vec<_> = layout
        .outputs
        .iter()
        .map(|o| (o.offset, o.components, o.bits, o.path.last().copied()))
        .collect();
    assert_eq!(
        found,
        [
            (0, 1, 32, Some(1)),
            (4, 1, 32, Some(2)),
            (8, 1, 64, Some(1)),
            (16, 1, 64, Some(2)),
            (32, 1, 32, Some(1)),
            (36, 1, 32, Some(2)),
            (40, 4, 32, Some(0)),
        ]
    );

    let error = |selector| shader.list(&list(vec![capture(selector, 0)])).unwrap_err();
    let location =
        |location, component, components| Selector::Location { location, component, components };
    assert!(matches!(error(location(2, 3, 1)), CaptureError::NoSuchOutput { .. }));
    assert!(matches!(error(location(40, 0, 1)), CaptureError::NoSuchOutput { .. }));
    assert!(matches!(error(location(0, 0, 0)), CaptureError::NoSuchOutput { .. }));
    assert!(matches!(error(location(3, 1, 1)), CaptureError::SplitComponent { .. }));
    assert!(matches!(error(location(0, 2, 17)), CaptureError::NoSuchOutput { .. }));
    let built_in = |built_in| Selector::BuiltIn { built_in, component: 0, components: 1 };
    assert!(matches!(error(built_in(BuiltIn::CullDistance)), CaptureError::NoSuchOutput { .. }));
}

#[test]
fn records_have_limits() {
    let shader = Shader::of(OUTPUTS, &[]);
    let list = |buffer, offset, stride| {
        let mut strides = [None; 4];
        strides[0] = stride;
        let selector = Selector::Name("colour".to_owned());
        shader.list(
            &CaptureList::default()
                .captures(vec![CaptureEntry::new(selector, buffer, offset)])
                .strides(strides),
        )
    };
    assert!(list(0, 0, Some(16)).is_ok());
    assert!(matches!(list(0, 4, Some(16)), Err(CaptureError::BeyondStride { end: 20, .. })));
    assert!(matches!(list(0, 2, Some(32)), Err(CaptureError::Misaligned { .. })));
    assert!(matches!(list(0, 0, Some(18)), Err(CaptureError::Stride { .. })));
    assert!(matches!(list(0, 0, None), Err(CaptureError::MissingStride { .. })));
    assert!(matches!(list(7, 0, Some(16)), Err(CaptureError::BufferLimit { buffer: 7, .. })));
    let end = (1 << 32) + 12;
    assert!(
        matches!(list(0, u32::MAX - 3, Some(16)), Err(CaptureError::BeyondStride { end: e, .. }) if e == end)
    );
    let places = |components| {
        let selector = Selector::Location { location: 0, component: 0, components };
        let captures = vec![CaptureEntry::new(selector, 0, u32::MAX - 3)];
        shader.list(&CaptureList::default().captures(captures).strides([
            Some(16),
            None,
            None,
            None,
        ]))
    };
    assert!(matches!(places(4), Err(CaptureError::BeyondStride { end: e, .. }) if e == end));
}

/// A component number that is too large must neither overflow nor use billions of locations.
#[test]
fn a_hostile_component_takes_few_locations() {
    let words = common::assemble(
        "OpCapability Shader
         OpMemoryModel Logical GLSL450
         OpEntryPoint Vertex %1 \"main\" %2
         OpDecorate %2 Location 7
         OpDecorate %2 Component 4294967295
         %3 = OpTypeVoid
         %4 = OpTypeFloat 32
         %5 = OpTypeVector %4 4
         %6 = OpTypePointer Output %5
         %2 = OpVariable %6 Output
         %7 = OpTypeFunction %3
         %1 = OpFunction %3 None %7
         %8 = OpLabel
         OpReturn
         OpFunctionEnd",
        "vulkan1.0",
    );
    let module = Module::parse(&words).unwrap();
    let declarations = Declarations::of(&module);
    let entry = find_vertex_shader(&module, None).unwrap();
    let used: Vec<u32> = locations_used(&declarations, &entry).into_iter().collect();
    assert_eq!(used, [7, 8]);
    let selector = Selector::Location { location: 7, component: u32::MAX, components: 2 };
    let captures = vec![CaptureEntry::new(selector, 0, 0)];
    let list = CaptureList::default().captures(captures).strides([Some(8), None, None, None]);
    assert_eq!(Layout::from_list(&declarations, &entry, &list).unwrap().outputs.len(), 2);
}

/// Outputs of 16 bits cannot be captured, but they use locations. Members after them in a block
/// have the next locations, and outputs that native emission adds must not collide with them.
#[test]
fn narrow_outputs_take_their_locations() {
    let shader = Shader::of(
        "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
         layout(location = 0) out vec4 colour;
         layout(location = 1) out f16vec4 narrow[2];
         layout(location = 3) out Block { float16_t a; vec4 b; f16vec3 c; vec2 d; };",
        &[],
    );
    let used = locations_used(&shader.declarations, &shader.entry);
    assert_eq!(used.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    let capture = |location, components, offset| {
        CaptureEntry::new(Selector::Location { location, component: 0, components }, 0, offset)
    };
    let captures = vec![capture(4, 4, 0), capture(6, 2, 16), capture(0, 4, 32), capture(0, 4, 48)];
    let list = CaptureList::default().captures(captures).strides([Some(64), None, None, None]);
    let layout = shader.list(&list).unwrap();
    let names: Vec<_> = layout.outputs.iter().map(|o| o.name.as_deref()).collect();
    assert_eq!(names, [Some("b"), Some("d"), Some("colour"), Some("colour")]);

    let words = shader.module.words();
    let emitted = native::emit(&words, &native::EmitOptions::new(&list)).unwrap();
    assert_eq!(emitted.locations, [7]);
    common::validate(&emitted.lowered.words, "vulkan1.1");
}
