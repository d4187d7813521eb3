//! Shaders that the tests of several passes lower, and functions that lower them.

use vkxfb_rewriter::lower::reflect;
use vkxfb_rewriter::lower::{LowerError, Lowered, ResourcePlan, Shader, compute, vertex};
use vkxfb_rewriter::vertex_input::{
    InputRate, NumericClass, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// Returns attributes at locations 0 to 15, all of the same numeric class.
pub fn vertex_input(class: NumericClass) -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: 16, input_rate: InputRate::Vertex }],
        attributes: (0..16)
            .map(|location| VertexAttribute {
                location,
                binding: 0,
                format: VertexFormat::of(class, 32, 4).unwrap(),
                offset: 0,
            })
            .collect(),
    }
}

/// Returns a single attribute, at location 0.
pub fn one_attribute(format: VertexFormat, input_rate: InputRate) -> VertexInput {
    VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: format.size(), input_rate }],
        attributes: vec![VertexAttribute { location: 0, binding: 0, format, offset: 0 }],
    }
}

pub fn to_compute(words: &[u32], vertex_input: &VertexInput) -> Result<Lowered, LowerError> {
    to_compute_by(ResourcePlan::DeviceAddress, words, vertex_input)
}

pub fn to_compute_by(
    resources: ResourcePlan,
    words: &[u32],
    vertex_input: &VertexInput,
) -> Result<Lowered, LowerError> {
    let options =
        compute::Options::new(vertex_input).target(compute::Target::default().resources(resources));
    compute::lower(&Shader::new(words), &options)
}

pub const DESCRIPTORS: ResourcePlan = ResourcePlan::Descriptors { reads: 12, writes: 4 };

/// Returns a shader with one of the entry points of a module.
pub fn named<'a>(words: &'a [u32], entry_point: &'a str) -> Shader<'a> {
    Shader::new(words).entry_point(entry_point)
}

/// Lowers for the vertex backend, for the compute backend with both resource plans, and for the
/// compute backend with staging.
pub fn all_with(
    shader: &Shader<'_>,
    vertex_input: &VertexInput,
) -> [Result<Lowered, LowerError>; 4] {
    let to_compute = |resources, staging| {
        let target = compute::Target::default().resources(resources).staging(staging);
        compute::lower(shader, &compute::Options::new(vertex_input).target(target))
    };
    [
        vertex::lower(shader),
        to_compute(ResourcePlan::DeviceAddress, 0),
        to_compute(DESCRIPTORS, 0),
        to_compute(ResourcePlan::DeviceAddress, 4096),
    ]
}

/// Lowers as [`all_with`] does, with the attributes that the shader reads. If these are refused,
/// lowering has to return the error.
pub fn all_of(shader: &Shader<'_>) -> [Result<Lowered, LowerError>; 4] {
    let reads = reflect::vertex_reads(shader);
    all_with(shader, &reads.map(|reads| reads.packed_vertex_input()).unwrap_or_default())
}

/// Lowers as [`all_of`] does, a shader that no backend refuses.
pub fn all(words: &[u32]) -> [Lowered; 4] {
    all_of(&Shader::new(words)).map(|lowered| lowered.unwrap_or_else(|error| panic!("{error}")))
}

/// Lowers one of several entry points for the compute backend.
pub fn compute_of(words: &[u32], entry_point: &str) -> Result<Lowered, LowerError> {
    let vertex_input = &vertex_input(NumericClass::Float);
    let options = compute::Options::new(vertex_input);
    compute::lower(&named(words, entry_point), &options)
}

/// Everything that lowering supports, in one shader.
pub const EVERYTHING: &str = r#"#version 450
#extension GL_ARB_shader_draw_parameters : require
layout(constant_id = 0) const bool flip = false;
layout(constant_id = 3) const float scale = 2.0;
layout(xfb_buffer = 1, xfb_stride = 36) out;
layout(xfb_buffer = 0, xfb_stride = 32) out;
layout(location = 0) in vec4 position;
layout(location = 1) in mat3 transform;
layout(location = 4) in vec2 pair[2];
layout(location = 6, component = 1) in vec2 middle;
layout(set = 0, binding = 0) uniform Uniforms { mat4 matrix; };
layout(set = 1, binding = 2) buffer Storage { uint counter; };
layout(set = 0, binding = 1) uniform sampler2D image;
layout(location = 0, xfb_offset = 16) out vec4 colour;
layout(location = 1, xfb_buffer = 1, xfb_offset = 8) flat out ivec3 numbers;
layout(location = 2) noperspective out vec2 free;
struct Inner { dmat2x3 wide[2]; float narrow; };
layout(location = 3, xfb_buffer = 2, xfb_stride = 256, xfb_offset = 8) flat out struct Outer {
    Inner inner[2];
    mat3x2 matrix;
} nested;
layout(location = 26, xfb_buffer = 3, xfb_offset = 0) flat out dvec3 wide;
out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    float gl_PointSize;
    float gl_ClipDistance[2];
};
vec4 transformed(vec4 x) { return matrix * x * scale; }
void main() {
    gl_Position = transformed(position) + vec4(transform * vec3(middle, 1.0), 0.0);
    gl_PointSize = 1.0;
    gl_ClipDistance[0] = position.x;
    gl_ClipDistance[1] = pair[1].y;
    nested.inner[1].wide[0] = dmat2x3(position.x);
    nested.matrix = mat3x2(transform);
    wide = dvec3(position.xyz);
    numbers = ivec3(gl_VertexIndex, gl_InstanceIndex, gl_BaseVertexARB + gl_BaseInstanceARB + gl_DrawIDARB);
    colour = textureLod(image, pair[0], 0.0);
    if (flip) { colour = -colour; return; }
    for (int i = 0; i < 3; i++) colour[i] += float(i);
}
"#;

/// A module with two vertex shaders and a fragment shader, whose inputs and outputs share types.
pub const SEVERAL: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %1 "first" %2
    OpEntryPoint Fragment %3 "shade" %4 %5
    OpEntryPoint Vertex %6 "second" %7 %8
    OpExecutionMode %3 OriginUpperLeft
    OpExecutionMode %6 Xfb
    OpName %3 "shade"
    OpName %4 "colour_in"
    OpDecorate %2 BuiltIn Position
    OpDecorate %4 Location 0
    OpDecorate %5 Location 0
    OpDecorate %7 Location 0
    OpDecorate %8 Location 0
    OpDecorate %8 XfbBuffer 0
    OpDecorate %8 XfbStride 16
    OpDecorate %8 Offset 0
    %10 = OpTypeVoid
    %11 = OpTypeFunction %10
    %12 = OpTypeFloat 32
    %13 = OpTypeVector %12 4
    %14 = OpTypePointer Input %13
    %15 = OpTypePointer Output %13
    %2 = OpVariable %15 Output
    %4 = OpVariable %14 Input
    %5 = OpVariable %15 Output
    %7 = OpVariable %14 Input
    %8 = OpVariable %15 Output
    %16 = OpConstantNull %13
    %1 = OpFunction %10 None %11
    %20 = OpLabel
    OpStore %2 %16
    OpReturn
    OpFunctionEnd
    %3 = OpFunction %10 None %11
    %21 = OpLabel
    %22 = OpLoad %13 %4
    %23 = OpDPdx %13 %22
    OpStore %5 %23
    OpReturn
    OpFunctionEnd
    %6 = OpFunction %10 None %11
    %24 = OpLabel
    %25 = OpLoad %13 %7
    OpStore %8 %25
    OpReturn
    OpFunctionEnd
"#;

/// A module with two entry points for the same function, with float controls.
pub const SHARED: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpCapability DenormFlushToZero
    OpExtension "SPV_KHR_float_controls"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %1 "first" %2 %3
    OpEntryPoint Vertex %1 "second" %2 %3
    OpExecutionMode %1 Xfb
    OpExecutionMode %1 DenormFlushToZero 32
    OpDecorate %2 Location 0
    OpDecorate %3 Location 0
    OpDecorate %3 XfbBuffer 0
    OpDecorate %3 XfbStride 4
    OpDecorate %3 Offset 0
    OpDecorate %4 BuiltIn WorkgroupSize
    %10 = OpTypeVoid
    %11 = OpTypeFunction %10
    %12 = OpTypeFloat 32
    %13 = OpTypePointer Input %12
    %14 = OpTypePointer Output %12
    %15 = OpTypeInt 32 0
    %16 = OpTypeVector %15 3
    %17 = OpConstant %15 7
    %4 = OpConstantComposite %16 %17 %17 %17
    %2 = OpVariable %13 Input
    %3 = OpVariable %14 Output
    %5 = OpVariable %13 Input
    %1 = OpFunction %10 None %11
    %20 = OpLabel
    %21 = OpLoad %12 %2
    OpStore %3 %21
    OpReturn
    OpFunctionEnd
"#;
