//! Modules from other compilers and optimisers: their captures are the same, and all lowered
//! modules are valid.

use vkxfb_rewriter::capture::{BufferMode, CaptureList, CapturedOutput, Layout};
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Captures, Lowered, Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::spirv::{Id, Module};
use vkxfb_translators::split_blocks::{self, split_blocks};

use crate::common;
use crate::common::settings::ways_of;

/// Control flow and values that optimisers change, with a block and a structure.
const BRANCHING: &str = r#"#version 450
layout(constant_id = 1) const int rounds = 3;
layout(location = 0) in vec4 position;
layout(location = 1) in uvec2 key;
layout(set = 0, binding = 0) uniform Uniforms { mat4 matrix; vec4 colours[4]; };
layout(set = 0, binding = 1) buffer Storage { uint counter; uint data[]; };
layout(location = 0, xfb_buffer = 0, xfb_stride = 64, xfb_offset = 16) out vec4 colour;
layout(location = 1, xfb_buffer = 1, xfb_stride = 32, xfb_offset = 4) flat out uvec3 numbers;
layout(location = 2, xfb_buffer = 0, xfb_offset = 32) out float list[2];
layout(location = 4, xfb_buffer = 2, xfb_stride = 48) out Block {
    layout(xfb_offset = 0) mat2x3 inner;
    layout(xfb_offset = 24) vec2 tail;
} block;
struct Pair { vec2 a; float b[2]; };
layout(location = 8, xfb_buffer = 3, xfb_stride = 16, xfb_offset = 0) out Pair pair;
out gl_PerVertex { layout(xfb_buffer = 0, xfb_stride = 64, xfb_offset = 0) vec4 gl_Position; };

float falloff(float x, inout Pair into) {
    if (x < 0.0) { into.a = vec2(x); return -x; }
    for (int i = 0; i < rounds; i++) {
        if (i == 2) continue;
        x *= x;
        if (x > 1e6) break;
    }
    into.b[1] = x;
    return x;
}

uint pick(uint k) {
    switch (k & 3u) {
        case 0u: return 7u;
        case 1u: k += 5u;
        case 2u: return k;
        default: break;
    }
    return data[k % 4u];
}

void main() {
    Pair local = Pair(position.xy, float[2](position.z, position.w));
    gl_Position = matrix * position;
    colour = key.x > 4u ? colours[key.x & 3u] : gl_Position;
    float f = falloff(position.x, local);
    pair = local;
    list[key.y & 1u] = f;
    list[1u - (key.y & 1u)] = 0.0;
    numbers = uvec3(pick(key.x), gl_VertexIndex, gl_InstanceIndex);
    block.inner = mat2x3(position.xyz, position.yzw);
    block.tail = f > 2.0 ? vec2(1.0) : position.xy;
    if (key.y == 9u) { colour = vec4(0.0); return; }
    colour.w += f;
}
"#;

/// Returns the parts of a layout that do not depend on the compiler: everything except ids and
/// names.
fn places(layout: &Layout) -> Vec<CapturedOutput> {
    let place = |o: &CapturedOutput| CapturedOutput { variable: Id(0), name: None, ..o.clone() };
    layout.outputs.iter().map(place).collect()
}

/// Lowers a module in every way, both by its decorations and by the equivalent list, and validates
/// all results. Returns the layout.
fn lower_all(words: &[u32], entry_point: Option<&str>, target: &str, what: &str) -> Layout {
    eprintln!("{what}");
    common::validate(words, target);
    let shader = |words| {
        let mut shader = Shader::new(words);
        shader.entry_point = entry_point;
        shader
    };
    let reads = vertex_reads(&shader(words)).unwrap();
    let vertex_input = reads.packed_vertex_input();
    let options = compute::Options::new(&vertex_input);
    let of = |captures| {
        let mut shader = shader(words);
        shader.captures = captures;
        let all: [Lowered; 3] = [
            native::lower_with(&shader, &native::Options::new().max_output_components(128))
                .unwrap_or_else(|error| panic!("{what}: {error}")),
            vertex::lower(&shader).unwrap_or_else(|error| panic!("{what}: {error}")),
            compute::lower(&shader, &options).unwrap_or_else(|error| panic!("{what}: {error}")),
        ];
        for lowered in &all {
            common::validate(&lowered.words, target);
            assert_eq!(places(&lowered.layout), places(&all[0].layout), "{what}");
        }
        all[0].layout.clone()
    };
    let layout = of(Captures::Decorations);
    if let Some(list) = by_name(words, entry_point) {
        of(Captures::List(&list));
    }
    let mut options = split_blocks::SplitOptions::default();
    options.entry_point = entry_point;
    let split = split_blocks(words, &options);
    let split = split.unwrap_or_else(|error| panic!("{what}: {error}")).words;
    common::validate(&split, target);
    let of_split = native::lower(&shader(&split)).unwrap().layout;
    let bytes = |layout: &Layout| -> Vec<_> {
        let outputs = layout.outputs.iter();
        outputs.map(|o| (o.buffer, o.offset, o.components, o.class, o.bits)).collect()
    };
    assert_eq!(bytes(&of_split), bytes(&layout), "{what}");
    layout
}

/// Returns a list of two outputs that are selected by name, if the module has names.
fn by_name(words: &[u32], entry_point: Option<&str>) -> Option<CaptureList> {
    let module = Module::parse(words).unwrap();
    let entry = find_vertex_shader(&module, entry_point).unwrap();
    let declarations = Declarations::of(&module);
    let names = ["colour", "gl_SkipComponents1", "list[1]"];
    CaptureList::from_varyings(&declarations, &entry, &names, BufferMode::Interleaved).ok()
}

#[test]
fn every_version_and_amount_of_debug_information() {
    let expected = places(&layout(&common::compile(BRANCHING, &[])));
    let all = [None, Some("-g"), Some("-gVS"), Some("-Od"), Some("-g0")];
    for (number, (version, target)) in common::VERSIONS.into_iter().enumerate() {
        for debug in ways_of(&all, number) {
            let mut arguments = vec!["--target-env", version];
            arguments.extend(*debug);
            let words = common::compile(BRANCHING, &arguments);
            let found = lower_all(&words, None, target, &format!("{arguments:?}"));
            assert_eq!(places(&found), expected, "{arguments:?}");
        }
    }
}

fn layout(words: &[u32]) -> Layout {
    native::lower(&Shader::new(words)).unwrap().layout
}

#[test]
fn what_spirv_opt_makes_of_them() {
    for (version, target) in [("spirv1.0", "vulkan1.0"), ("spirv1.6", "vulkan1.3")] {
        for debug in ["-g", "-gVS"] {
            let words = common::compile(BRANCHING, &["--target-env", version, debug]);
            let expected = places(&layout(&words));
            for passes in [
                &["-O"][..],
                &["-Os"],
                &["-O", "--compact-ids"],
                &["--merge-blocks"],
                &["--merge-return", "--inline-entry-points-exhaustive", "--merge-blocks"],
                &["--legalize-hlsl"],
                &["--scalar-replacement=0", "--ssa-rewrite", "--convert-local-access-chains"],
                &["--loop-unroll", "--if-conversion", "--redundancy-elimination"],
                &["--copy-propagate-arrays", "--reduce-load-size", "--combine-access-chains"],
                &["--wrap-opkill", "--replace-invalid-opcode", "--eliminate-dead-code-aggressive"],
                &["--unify-const"],
            ] {
                // 2023.1 puts variables behind DebugDeclare, which spirv-val refuses.
                if debug == "-gVS" && passes.contains(&"--merge-return") {
                    continue;
                }
                let optimized = common::optimize(&words, passes);
                let what = format!("{version} {debug} {passes:?}");
                // It also moves debug info to where a current validator refuses it.
                if let Err(error) = spirv_val::validate(&optimized, target) {
                    assert!(error.contains("DebugInfo"), "{what}: {error}");
                    continue;
                }
                let found = lower_all(&optimized, None, target, &what);
                assert_eq!(places(&found), expected, "{what}");
            }
        }
    }
}

/// The Vulkan memory model, which has its own rules for every access.
#[test]
fn the_vulkan_memory_model() {
    let words = common::compile(BRANCHING, &["--target-env", "spirv1.5"]);
    let upgraded = common::optimize(&words, &["--upgrade-memory-model"]);
    assert!(common::disassemble(&upgraded).contains("OpMemoryModel Logical Vulkan"));
    lower_all(&upgraded, None, "vulkan1.2", "--upgrade-memory-model");
}

/// A module as DXC emits it: the entry point combines its inputs into a structure, calls the
/// function in the source, and stores the result in separate variables. It contains line
/// information, semantics, and functions that are not called.
const HLSL: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpExtension "SPV_GOOGLE_hlsl_functionality1"
    OpExtension "SPV_GOOGLE_user_type"
    OpMemoryModel Logical GLSL450
    OpEntryPoint Vertex %main "main" %in_position %in_key %vertex %position %colour %list
    OpExecutionMode %main Xfb
    %file = OpString "a.hlsl"
    OpSource HLSL 660 %file "float4 main() : SV_Position;"
    OpSourceContinued "// more"
    OpName %input_type "VSInput"
    OpName %output_type "VSOutput"
    OpMemberName %output_type 0 "position"
    OpName %in_position "in.var.POSITION"
    OpName %colour "colour"
    OpName %list "list"
    OpName %src_main "src.main"
    OpModuleProcessed "dxc-commit-hash: 0"
    OpDecorate %in_position Location 0
    OpDecorate %in_key Location 1
    OpDecorate %vertex BuiltIn VertexIndex
    OpDecorateString %in_position UserSemantic "POSITION"
    OpDecorateString %colour UserSemantic "COLOR0"
    OpDecorate %position BuiltIn Position
    OpDecorate %position Invariant
    OpDecorate %position XfbBuffer 0
    OpDecorate %position XfbStride 48
    OpDecorate %position Offset 0
    OpDecorate %colour Location 0
    OpDecorate %colour NoPerspective
    OpDecorate %colour XfbBuffer 0
    OpDecorate %colour XfbStride 48
    OpDecorate %colour Offset 16
    OpDecorate %list Location 1
    OpDecorate %list XfbBuffer 0
    OpDecorate %list XfbStride 48
    OpDecorate %list Offset 32
    OpDecorate %product NoContraction
    OpDecorateString %colour UserTypeGOOGLE "float3"
    %void = OpTypeVoid
    %procedure = OpTypeFunction %void
    %float = OpTypeFloat 32
    %uint = OpTypeInt 32 0
    %int = OpTypeInt 32 1
    %bool = OpTypeBool
    %uint_2 = OpConstant %uint 2
    %int_0 = OpConstant %int 0
    %int_1 = OpConstant %int 1
    %two = OpConstant %float 2
    %vec2 = OpTypeVector %float 2
    %vec3 = OpTypeVector %float 3
    %vec4 = OpTypeVector %float 4
    %array = OpTypeArray %vec2 %uint_2
    %input_type = OpTypeStruct %vec4 %uint %uint
    %output_type = OpTypeStruct %vec4 %vec3 %array
    %to_vec4_in = OpTypePointer Input %vec4
    %to_uint_in = OpTypePointer Input %uint
    %to_vec4_out = OpTypePointer Output %vec4
    %to_vec3_out = OpTypePointer Output %vec3
    %to_array_out = OpTypePointer Output %array
    %to_input = OpTypePointer Function %input_type
    %to_output = OpTypePointer Function %output_type
    %to_vec4 = OpTypePointer Function %vec4
    %to_vec3 = OpTypePointer Function %vec3
    %to_vec2 = OpTypePointer Function %vec2
    %shading = OpTypeFunction %output_type %to_input
    %nothing = OpUndef %vec3
    %in_position = OpVariable %to_vec4_in Input
    %in_key = OpVariable %to_uint_in Input
    %vertex = OpVariable %to_uint_in Input
    %position = OpVariable %to_vec4_out Output
    %colour = OpVariable %to_vec3_out Output
    %list = OpVariable %to_array_out Output
    OpLine %file 40 1
    %main = OpFunction %void None %procedure
    %entry = OpLabel
    %parameter = OpVariable %to_input Function
    %read_position = OpLoad %vec4 %in_position
    %read_key = OpLoad %uint %in_key
    %read_vertex = OpLoad %uint %vertex
    %gathered = OpCompositeConstruct %input_type %read_position %read_key %read_vertex
    OpStore %parameter %gathered
    %result = OpFunctionCall %output_type %src_main %parameter
    %result_0 = OpCompositeExtract %vec4 %result 0
    OpStore %position %result_0
    %result_1 = OpCompositeExtract %vec3 %result 1
    OpStore %colour %result_1
    %result_2 = OpCompositeExtract %array %result 2
    OpStore %list %result_2
    OpNoLine
    OpReturn
    OpFunctionEnd
    OpLine %file 12 3
    %src_main = OpFunction %output_type None %shading
    OpLine %file 12 20
    %of_main = OpFunctionParameter %to_input
    OpNoLine
    %body = OpLabel
    %output = OpVariable %to_output Function
    OpLine %file 13 5
    OpLine %file 13 6
    %at_position = OpAccessChain %to_vec4 %of_main %int_0
    %p = OpLoad %vec4 %at_position
    %product = OpVectorTimesScalar %vec4 %p %two
    %to_position = OpInBoundsAccessChain %to_vec4 %output %int_0
    OpStore %to_position %product
    %first = OpCompositeExtract %float %p 0
    %is_more = OpFOrdGreaterThan %bool %first %two
    OpSelectionMerge %done DontFlatten
    OpBranchConditional %is_more %then %done
    %then = OpLabel
    OpLine %file 14 5
    %xyz = OpVectorShuffle %vec3 %p %p 0 1 2
    OpBranch %done
    %done = OpLabel
    %chosen = OpPhi %vec3 %nothing %body %xyz %then
    OpNoLine
    %to_colour = OpAccessChain %to_vec3 %output %int_1
    OpStore %to_colour %chosen
    %xy = OpVectorShuffle %vec2 %p %p 0 1
    %zw = OpVectorShuffle %vec2 %p %p 2 3
    %both = OpCompositeConstruct %array %xy %zw
    %before = OpLoad %output_type %output
    %after = OpCompositeInsert %output_type %both %before 2
    OpReturnValue %after
    OpFunctionEnd
    %dead = OpFunction %void None %procedure
    %dead_entry = OpLabel
    OpStore %colour %nothing
    OpUnreachable
    OpFunctionEnd
"#;

#[test]
fn what_dxc_emits() {
    for (version, target) in
        [("spv1.0", "vulkan1.0"), ("spv1.3", "vulkan1.1"), ("spv1.6", "vulkan1.3")]
    {
        let source = match version {
            "spv1.0" => &HLSL.replace("OpModuleProcessed \"dxc-commit-hash: 0\"", ""),
            _ => HLSL,
        };
        let words = common::assemble(source, version);
        let found = lower_all(&words, None, target, version);
        let named =
            |o: &CapturedOutput| (o.offset, o.components, o.name.clone().unwrap_or_default());
        let found: Vec<_> = found.outputs.iter().map(named).collect();
        let expected = [(0, 4, ""), (16, 3, "colour"), (32, 2, "list[0]"), (40, 2, "list[1]")];
        assert_eq!(found, expected.map(|(offset, count, name)| (offset, count, name.to_owned())));
        lower_all(&common::optimize(&words, &["--legalize-hlsl", "-O"]), None, target, "legalized");
    }
}

/// SPIR-V 1.4 and later: an interface that lists all variables, including those that only one entry
/// point uses; a structure that is copied to one with another layout; copies of pointers and of
/// memory; pointers that are selected where this is allowed, in storage buffers; a compute shader
/// whose workgroup size consists of constants; instructions without effect.
const COPIES: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpCapability VariablePointersStorageBuffer
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %size "size" %storage
    OpEntryPoint Vertex %main "main" %vertex %position %outer %colour %uniforms %storage %scratch
    OpEntryPoint Vertex %other "other" %position
    OpExecutionModeId %size LocalSizeId %spec %uint_1 %uint_1
    OpExecutionMode %main Xfb
    OpName %outer "outer"
    OpName %colour "colour"
    OpDecorate %spec SpecId 3
    OpDecorate %vertex BuiltIn VertexIndex
    OpDecorate %position BuiltIn Position
    OpDecorate %outer Location 2
    OpDecorate %outer XfbBuffer 1
    OpDecorate %outer XfbStride 32
    OpDecorate %outer Offset 4
    OpDecorate %colour Location 0
    OpDecorate %colour XfbBuffer 0
    OpDecorate %colour XfbStride 16
    OpDecorate %colour Offset 0
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    OpMemberDecorate %laid_out 0 Offset 0
    OpMemberDecorate %laid_out 1 Offset 16
    OpDecorate %strided ArrayStride 16
    OpDecorate %uniforms DescriptorSet 0
    OpDecorate %uniforms Binding 0
    OpDecorate %numbers ArrayStride 4
    OpDecorate %storage_block Block
    OpMemberDecorate %storage_block 0 Offset 0
    OpDecorate %storage DescriptorSet 0
    OpDecorate %storage Binding 1
    %void = OpTypeVoid
    %procedure = OpTypeFunction %void
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %uint_0 = OpConstant %uint 0
    %uint_1 = OpConstant %uint 1
    %uint_2 = OpConstant %uint 2
    %uint_4 = OpConstant %uint 4
    %spec = OpSpecConstant %uint 32
    %float = OpTypeFloat 32
    %vec4 = OpTypeVector %float 4
    %nothing = OpConstantNull %vec4
    %strided = OpTypeArray %float %uint_2
    %packed = OpTypeArray %float %uint_2
    %laid_out = OpTypeStruct %vec4 %strided
    %plain = OpTypeStruct %vec4 %packed
    %block = OpTypeStruct %laid_out
    %numbers = OpTypeRuntimeArray %uint
    %storage_block = OpTypeStruct %numbers
    %to_uint_in = OpTypePointer Input %uint
    %to_vec4_out = OpTypePointer Output %vec4
    %to_plain_out = OpTypePointer Output %plain
    %to_float_out = OpTypePointer Output %float
    %to_block = OpTypePointer Uniform %block
    %to_laid_out = OpTypePointer Uniform %laid_out
    %to_storage = OpTypePointer StorageBuffer %storage_block
    %to_number = OpTypePointer StorageBuffer %uint
    %to_vec4_private = OpTypePointer Private %vec4
    %vertex = OpVariable %to_uint_in Input
    %position = OpVariable %to_vec4_out Output
    %outer = OpVariable %to_plain_out Output
    %colour = OpVariable %to_vec4_out Output %nothing
    %uniforms = OpVariable %to_block Uniform
    %storage = OpVariable %to_storage StorageBuffer
    %scratch = OpVariable %to_vec4_private Private %nothing
    %size = OpFunction %void None %procedure
    %size_entry = OpLabel
    %target = OpAccessChain %to_number %storage %uint_0 %uint_0
    OpStore %target %uint_1
    OpReturn
    OpFunctionEnd
    %main = OpFunction %void None %procedure
    %entry = OpLabel
    OpNop
    %index = OpLoad %uint %vertex
    %from = OpAccessChain %to_laid_out %uniforms %uint_0
    %read = OpLoad %laid_out %from
    %copied = OpCopyLogical %plain %read
    OpStore %outer %copied
    %a = OpAccessChain %to_number %storage %uint_0 %index
    %b = OpAccessChain %to_number %storage %uint_0 %uint_2
    %is_first = OpIEqual %bool %index %uint_0
    %either = OpSelect %to_number %is_first %a %b
    OpSelectionMerge %done None
    OpSwitch %index %default 1 %one 2 %two
    %one = OpLabel
    OpBranch %two
    %two = OpLabel
    %pointer = OpPhi %to_number %either %entry %a %one
    %number = OpLoad %uint %pointer
    OpBranch %done
    %default = OpLabel
    %unused = OpUndef %uint
    OpBranch %done
    %done = OpLabel
    %merged = OpPhi %uint %number %two %unused %default
    %as_float = OpConvertUToF %float %merged
    %splat = OpCompositeConstruct %vec4 %as_float %as_float %as_float %as_float
    OpStore %scratch %splat
    %alias = OpCopyObject %to_vec4_out %colour
    OpCopyMemory %alias %scratch
    %w = OpAccessChain %to_float_out %alias %uint_1
    %w_alias = OpCopyObject %to_float_out %w
    OpStore %w_alias %as_float Volatile|Nontemporal
    %last = OpAccessChain %to_float_out %outer %uint_1 %uint_1
    %last_alias = OpCopyObject %to_float_out %last
    OpStore %last_alias %as_float
    OpStore %position %splat
    OpReturn
    OpFunctionEnd
    %other = OpFunction %void None %procedure
    %other_entry = OpLabel
    OpStore %position %nothing
    OpReturn
    OpFunctionEnd
"#;

#[test]
fn copies_and_the_interface_of_later_versions() {
    let words = common::assemble(COPIES, "spv1.6");
    let found = lower_all(&words, Some("main"), "vulkan1.3", "1.6");
    let found: Vec<_> = found.outputs.iter().map(|o| (o.buffer, o.offset, o.components)).collect();
    assert_eq!(found, [(0, 0, 4), (1, 4, 4), (1, 20, 1), (1, 24, 1)]);
    // Below Vulkan 1.3 LocalSizeId is an extension's.
    let sized = COPIES.replace(
        "OpExecutionModeId %size LocalSizeId %spec %uint_1 %uint_1",
        "OpExecutionMode %size LocalSize 32 1 1",
    );
    for (version, target) in [("spv1.4", "vulkan1.1spv1.4"), ("spv1.5", "vulkan1.2")] {
        lower_all(&common::assemble(&sized, version), Some("main"), target, version);
    }
    let optimized = common::optimize(&words, &["-O"]);
    lower_all(&optimized, Some("main"), "vulkan1.3", "1.6 -O");
}
