//! Specialization constants: compares modules with those of spirv-opt, layouts with those of
//! shaders in which the values are constants, and captures on a device.

use vkxfb_rewriter::capture::locations_used;
use vkxfb_rewriter::capture::{CaptureError, Layout, LengthError};
use vkxfb_rewriter::lower::SpecIds;
use vkxfb_rewriter::lower::reflect;
use vkxfb_rewriter::lower::{LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::spirv::specialization::{SpecializationConstant, SpecializationError};
use vkxfb_rewriter::spirv::{Id, Module};
use vkxfb_rewriter::vertex_input::VertexInput;
use vkxfb_translators::split_blocks::{self, split_blocks};

use crate::common;
use crate::common::skip::{Why, skip};

/// A shader in which a constant determines lengths, and which has operations on constants.
const SHADER: &str = "#version 450
    layout(constant_id = 2) const int COUNT = 3;
    layout(constant_id = 7) const uint MORE = 2u;
    layout(constant_id = 9) const float SCALE = 0.5;
    layout(constant_id = 11) const bool FLIP = false;
    layout(constant_id = 12) const double WIDE = 0.25LF;
    const int TWICE = COUNT * 2 - 1;
    struct Light { float weights[COUNT]; vec2 place; };
    layout(xfb_buffer = 0, xfb_stride = 256) out;
    layout(location = 0, xfb_offset = 0) out Light lights[MORE];
    layout(xfb_buffer = 1, xfb_stride = 128) out;
    layout(location = 20, xfb_buffer = 1, xfb_offset = 0) flat out uint list[TWICE];
    layout(location = 31, xfb_buffer = 1, xfb_offset = 96) flat out double wide;
    void main() {
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
        float x = float(gl_VertexIndex) * SCALE + (FLIP ? 100.0 : 0.0);
        for (uint l = 0; l < MORE; l++) {
            for (int i = 0; i < COUNT; i++) lights[l].weights[i] = x + float(l) * 16.0 + float(i);
            lights[l].place = vec2(-x, l);
        }
        for (int i = 0; i < TWICE; i++) list[i] = gl_InstanceIndex * 64u + i;
        wide = WIDE * double(gl_VertexIndex);
    }";

/// A set of values for the specialization constants.
struct Values {
    count: i32,
    more: u32,
    scale: f32,
    flip: bool,
    wide: f64,
}

impl Values {
    const ALL: [Self; 3] = [
        Self { count: 3, more: 2, scale: 0.5, flip: false, wide: 0.25 },
        Self { count: 5, more: 1, scale: 2.0, flip: true, wide: -3.5 },
        Self { count: 1, more: 4, scale: 0.25, flip: true, wide: 8.0 },
    ];

    fn data(&self) -> [(u32, Vec<u8>); 5] {
        [
            (2, self.count.to_ne_bytes().to_vec()),
            (7, self.more.to_ne_bytes().to_vec()),
            (9, self.scale.to_ne_bytes().to_vec()),
            (11, u32::from(self.flip).to_ne_bytes().to_vec()),
            (12, self.wide.to_ne_bytes().to_vec()),
        ]
    }

    /// Returns the shader in which these values are constants.
    fn written(&self) -> String {
        let Self { count, more, scale, flip, wide } = self;
        let mut source = SHADER.to_owned();
        for (constant, value) in [
            ("layout(constant_id = 2) const int COUNT = 3", format!("const int COUNT = {count}")),
            ("layout(constant_id = 7) const uint MORE = 2u", format!("const uint MORE = {more}u")),
            (
                "layout(constant_id = 9) const float SCALE = 0.5",
                format!("const float SCALE = {scale:?}"),
            ),
            (
                "layout(constant_id = 11) const bool FLIP = false",
                format!("const bool FLIP = {flip}"),
            ),
            (
                "layout(constant_id = 12) const double WIDE = 0.25LF",
                format!("const double WIDE = {wide:?}LF"),
            ),
        ] {
            assert!(source.contains(constant));
            source = source.replace(constant, &value);
        }
        source
    }
}

fn constants(data: &[(u32, Vec<u8>)]) -> Vec<SpecializationConstant<'_>> {
    data.iter().map(|(id, data)| SpecializationConstant { constant_id: *id, data }).collect()
}

fn lower(shader: &Shader<'_>) -> [Lowered; 3] {
    let vertex_input = VertexInput::default();
    let options = compute::Options::new(&vertex_input);
    [
        native::lower(shader).unwrap(),
        vertex::lower(shader).unwrap(),
        compute::lower(shader, &options).unwrap(),
    ]
}

/// Returns (buffer, offset, bytes, bits, location) of each output.
fn places(layout: &Layout) -> Vec<(u32, u32, u32, u32, Option<u32>)> {
    layout.outputs.iter().map(|o| (o.buffer, o.offset, o.size(), o.bits, o.location)).collect()
}

fn all(ids: SpecIds) -> [u32; 11] {
    [
        ids.topology,
        ids.restart,
        ids.general,
        ids.indexed,
        ids.batched,
        ids.wide_loads,
        ids.wide_stores,
        ids.fused,
        ids.unchecked,
        ids.workgroup_size,
        ids.partial_indices,
    ]
}

#[test]
fn values_decide_the_layout() {
    let words = common::compile(SHADER, &[]);
    for (index, values) in Values::ALL.iter().enumerate() {
        let data = values.data();
        let specialization = constants(&data);
        let shader = Shader::new(&words).specialization(&specialization);
        let written = common::compile(&values.written(), &[]);
        for (lowered, expected) in lower(&shader).iter().zip(lower(&Shader::new(&written))) {
            common::validate(&lowered.words, "vulkan1.0");
            assert_eq!(places(&lowered.layout), places(&expected.layout));
            // Those of the application are not taken.
            assert!(
                lowered
                    .spec_ids()
                    .is_none_or(|ids| all(ids) == [0, 1, 3, 4, 5, 6, 8, 10, 13, 14, 15])
            );
        }
        // The first set is the defaults.
        let defaults = lower(&Shader::new(&words));
        let is_default = places(&defaults[0].layout) == places(&lower(&shader)[0].layout);
        assert_eq!(is_default, index == 0);
        // Elements of structures are split only where the indices are constants.
        let constant = common::compile(&SHADER.replace("lights[l]", "lights[0]"), &[]);
        let split = split_blocks(
            &constant,
            &split_blocks::SplitOptions::default().specialization(&specialization),
        );
        let split = split.unwrap();
        common::validate(&split.words, "vulkan1.0");
        let layout = native::lower(&Shader::new(&split.words)).unwrap().layout;
        assert_eq!(places(&layout), places(&lower(&shader)[0].layout));
    }
}

/// Constants that are not operations are frozen as by spirv-opt.
#[test]
fn constants_are_frozen_as_spirv_opt_does() {
    let source = SHADER
        .replace("COUNT * 2 - 1", "COUNT")
        .replace("(FLIP ? 100.0 : 0.0)", "0.0")
        .replace("float x", "if (FLIP) return; float x");
    for arguments in [&[][..], &["-g"], &["--target-env", "vulkan1.2"]] {
        let words = common::compile(&source, arguments);
        for values in Values::ALL {
            let data = values.data();
            let specialization = constants(&data);
            let shader = Shader::new(&words).specialization(&specialization);
            let Values { count, more, scale, flip, wide } = values;
            let defaults = format!(
                "--set-spec-const-default-value=2:{count} 7:{more} 9:{scale} 11:{flip} 12:{wide}"
            );
            let expected = common::optimize(&words, &[&defaults, "--freeze-spec-const"]);
            let found = shader.module().unwrap().words();
            let [found, expected] = [found, expected].map(|words| common::disassemble(&words));
            for (found, expected) in found.lines().zip(expected.lines()) {
                assert_eq!(found, expected);
            }
            assert_eq!(found.len(), expected.len());
        }
    }
}

#[test]
fn values_that_do_not_fit_are_named() {
    let words = common::compile(SHADER, &[]);
    let error = |data: &[(u32, Vec<u8>)]| {
        let specialization = constants(data);
        Shader::new(&words).specialization(&specialization).module().map(|_| ())
    };
    for (constant_id, found, expected) in [(2, 8, 4), (2, 0, 4), (11, 1, 4), (12, 4, 8)] {
        let size = SpecializationError::Size { constant_id, expected, found };
        assert_eq!(error(&[(constant_id, vec![0; found])]), Err(size.into()));
    }
    let twice = SpecializationError::Duplicate { constant_id: 7 };
    assert_eq!(error(&[(7, vec![0; 4]), (7, vec![0; 4])]), Err(twice.into()));
    // As in Vulkan, a value for a constant that the module does not have is ignored, whatever its
    // size, and its ID remains free.
    let specialization = [SpecializationConstant { constant_id: 3, data: &[1; 7] }];
    let shader = Shader::new(&words).specialization(&specialization);
    let spec_ids = vertex::lower(&shader).unwrap().spec_ids().map(all);
    assert_eq!(spec_ids, Some([0, 1, 4, 5, 6, 8, 10, 13, 14, 15, 16]));
    // A record that outgrows its stride is the layout's error.
    let specialization = [SpecializationConstant { constant_id: 2, data: &200i32.to_ne_bytes() }];
    let shader = Shader::new(&words).specialization(&specialization);
    let error = vertex::lower(&shader).unwrap_err();
    assert!(matches!(error, LowerError::Capture(CaptureError::BeyondStride { .. })), "{error}");
}

#[test]
fn lengths_that_nobody_knows_are_named() {
    let module = |length: &str| {
        let words = common::assemble(
            &format!(
                r#"
                OpCapability Shader
                OpCapability TransformFeedback
                OpMemoryModel Logical GLSL450
                OpEntryPoint Vertex %1 "main" %2
                OpExecutionMode %1 Xfb
                OpDecorate %2 Location 0
                OpDecorate %2 XfbBuffer 0
                OpDecorate %2 XfbStride 64
                OpDecorate %2 Offset 0
                OpDecorate %20 SpecId 0
                %3 = OpTypeVoid
                %4 = OpTypeFunction %3
                %5 = OpTypeFloat 32
                %6 = OpTypeInt 32 0
                %21 = OpConstant %6 0
                %20 = OpSpecConstant %6 3
                %22 = {length}
                %7 = OpTypeArray %5 %22
                %8 = OpTypePointer Output %7
                %2 = OpVariable %8 Output
                %1 = OpFunction %3 None %4
                %9 = OpLabel
                OpReturn
                OpFunctionEnd
                "#
            ),
            "vulkan1.0",
        );
        (Module::parse(&words).unwrap(), words)
    };
    let layout = |module: &Module| {
        let declarations = Declarations::of(module);
        let entry = find_vertex_shader(module, None).unwrap();
        let layout = Layout::from_decorations(module, &declarations, &entry);
        (layout, locations_used(&declarations, &entry).len())
    };
    let (known, words) = module("OpSpecConstantOp %6 IAdd %20 %20");
    // In a module that is only parsed, the length is unknown.
    let reason = LengthError::Operation(Id(22), spirv::Op::IAdd);
    let output = || "%2".to_owned();
    assert_eq!(layout(&known).0, Err(CaptureError::ArrayLength { output: output(), reason }));
    let (known, locations) = layout(&Shader::new(&words).module().unwrap());
    assert_eq!((known.unwrap().outputs.len(), locations), (6, 6));

    let (plain, _) = module("OpSpecConstant %6 3");
    let reason = LengthError::NotSpecialized(Id(22));
    assert_eq!(layout(&plain).0, Err(CaptureError::ArrayLength { output: output(), reason }));

    let (_, words) = module("OpSpecConstantOp %6 UDiv %20 %21");
    let error = vertex::lower(&Shader::new(&words)).unwrap_err();
    let reason = LengthError::Operation(Id(22), spirv::Op::UDiv);
    assert_eq!(error, LowerError::Capture(CaptureError::ArrayLength { output: output(), reason }));
    assert!(error.to_string().contains("UDiv"), "{error}");
}

/// Specialization constants also determine the lengths of inputs.
#[test]
fn inputs_have_as_many_locations_as_the_values_say() {
    let words = common::compile(
        "#version 450
         layout(constant_id = 0) const int COUNT = 2;
         layout(location = 1) in vec3 read[COUNT + 1];
         layout(location = 0, xfb_buffer = 0, xfb_offset = 0) out vec3 sum;
         void main() { sum = vec3(0.0); for (int i = 0; i <= COUNT; i++) sum += read[i]; }",
        &[],
    );
    for count in [0i32, 2, 4] {
        let data = count.to_ne_bytes();
        let specialization = [SpecializationConstant { constant_id: 0, data: &data }];
        let shader = Shader::new(&words).specialization(&specialization);
        let reads = reflect::vertex_reads(&shader).unwrap();
        let vertex_input = reads.packed_vertex_input();
        let options = compute::Options::new(&vertex_input);
        let lowered = compute::lower(&shader, &options).unwrap();
        common::validate(&lowered.words, "vulkan1.0");
        let locations =
            lowered.compute().unwrap().attributes.iter().map(|attribute| attribute.location);
        assert_eq!(locations.collect::<Vec<_>>(), (1..=count as u32 + 1).collect::<Vec<_>>());
    }
}

mod on_a_device {
    use super::*;
    use common::device::{capture, open};
    use vkxfb_probe::gpu::Profile;

    /// Operations of GLSL on the integers a and b, the unsigned integer c and the boolean d.
    const OPERATIONS: [&str; 24] = [
        "a + b",
        "a - b",
        "a * b",
        "a / b",
        "a % b",
        "-a",
        "~a",
        "a & b",
        "a | b",
        "a ^ b",
        "a << int(c & 31u)",
        "a >> int(c & 31u)",
        "int(c >> 3)",
        "int(c / 7u)",
        "int(c % 7u)",
        "int(uint(a) * c)",
        "int(a < b)",
        "int(a >= b)",
        "int(uint(a) < c)",
        "int(a == b)",
        "int(d && a != b)",
        "int(!d || c > 5u)",
        "d ? a : b",
        "ivec2(a, b).y * 3",
    ];

    /// Returns a shader with every operation, whose operands `A` to `D` are declared as in
    /// `declarations`.
    fn operations(declarations: &str, before: &str, locals: &str) -> String {
        let mut source = format!("#version 450\n{declarations}\n");
        source += "layout(xfb_buffer = 0, xfb_stride = 96, location = 0, xfb_offset = 0) flat out int results[24];\n";
        let mut body = String::new();
        for (index, operation) in OPERATIONS.iter().enumerate() {
            source += &match before {
                "" => String::new(),
                _ => format!("{before} result{index} = {operation};\n"),
            };
            body += &match before {
                "" => format!("results[{index}] = {operation};\n"),
                _ => format!("results[{index}] = result{index};\n"),
            };
        }
        source + &format!("void main() {{ gl_PointSize = 1.0; {locals}\n{body} }}")
    }

    #[test]
    fn all_backends_capture_what_a_shader_written_with_the_values_does() {
        let mut gpu = open(Profile::Full);
        if !gpu.capabilities().shader_float64 {
            skip(Why::Expected("the device has no shaderFloat64"));
            return;
        }
        let words = common::compile(SHADER, &[]);
        let mut seen = Vec::new();
        for values in Values::ALL {
            let data = values.data();
            let specialization = constants(&data);
            let shader = Shader::new(&words).specialization(&specialization);
            let written = common::compile(&values.written(), &[]);
            for (lowered, expected) in lower(&shader).iter().zip(lower(&Shader::new(&written))) {
                if !gpu.backends().contains(&lowered.backend()) {
                    continue;
                }
                let expected = capture(&mut gpu, &expected);
                assert!(capture(&mut gpu, lowered) == expected, "{}", lowered.backend());
                seen.push(expected);
            }
        }
        // For the same values all backends capture the same; for different values, something else.
        let backends = seen.len() / Values::ALL.len();
        assert!(seen.chunks(backends).all(|set| set.iter().all(|bytes| *bytes == set[0])));
        assert!(seen[0] != seen[backends] && seen[backends] != seen[2 * backends]);
    }

    /// Compares the operations that vkxfb folds with those that the device computes.
    #[test]
    fn operations_are_folded_to_what_a_device_computes() {
        let mut gpu = open(Profile::Full);
        let folded = common::compile(
            &operations(
                "layout(constant_id = 0) const int a = 1;
                 layout(constant_id = 1) const int b = 1;
                 layout(constant_id = 2) const uint c = 1u;
                 layout(constant_id = 3) const bool d = true;",
                "const int",
                "",
            ),
            &[],
        );
        for (a, b, c, d) in [
            (17i32, 5i32, 40u32, true),
            (9, 9, 0x8000_0003, false),
            (i32::MAX, 3, 7, true),
            (1000, 0x7000_0001, u32::MAX, false),
        ] {
            let data: [[u8; 4]; 4] =
                [a.to_ne_bytes(), b.to_ne_bytes(), c.to_ne_bytes(), u32::from(d).to_ne_bytes()];
            let specialization: Vec<SpecializationConstant<'_>> = (0..)
                .zip(&data)
                .map(|(constant_id, data)| SpecializationConstant { constant_id, data })
                .collect();
            let shader = Shader::new(&folded).specialization(&specialization);
            let module = shader.module().unwrap();
            let text = common::disassemble(&module.words());
            assert!(!text.contains("SpecConstant"), "{text}");
            // Operands that a compiler cannot know: always 0 for the indices of the strip.
            let locals = format!(
                "int zero = gl_VertexIndex >> 20;
                 int a = zero + {a}, b = zero + {b}; uint c = uint(zero) + {c}u;
                 bool d = zero == {};",
                i32::from(!d)
            );
            let computed = common::compile(&operations("", "", &locals), &[]);
            let vertex_input = VertexInput::default();
            let options = compute::Options::new(&vertex_input);
            let [found, expected] = [shader, Shader::new(&computed)]
                .map(|shader| capture(&mut gpu, &compute::lower(&shader, &options).unwrap()));
            assert_eq!(found, expected, "{a} {b} {c} {d}");
        }
    }
}

/// Any values result in an error, or in a module that is valid if they are possible lengths.
#[test]
fn any_values_give_an_error_or_a_module() {
    let words = common::compile(SHADER, &[]);
    let (mut lowered, mut refused) = (0, 0);
    for count in [i32::MIN, -1, 0, 1, 2, 5, 6, 100, i32::MAX] {
        for more in [0u32, 1, 3, 6, 0x4000_0000, u32::MAX] {
            let (count_data, more_data) = (count.to_ne_bytes(), more.to_ne_bytes());
            let specialization = [
                SpecializationConstant { constant_id: 2, data: &count_data },
                SpecializationConstant { constant_id: 7, data: &more_data },
            ];
            let shader = Shader::new(&words).specialization(&specialization);
            match vertex::lower(&shader) {
                Ok(module)
                    if count > 0
                        && more > 0
                        && u64::from(more) * (count as u64 + 1) <= 20
                        && 2 * count - 1 <= 11 =>
                {
                    common::validate(&module.words, "vulkan1.0");
                    lowered += 1;
                }
                Ok(_) => {}
                Err(LowerError::Capture(_)) => refused += 1,
                Err(error) => panic!("{count} {more}: {error}"),
            }
        }
    }
    assert!(lowered > 5 && refused > 5, "{lowered} {refused}");
}
