//! Variables that lowering makes private must not have an explicit layout, even if a buffer uses
//! the same type. Copies between them must still work.

use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::lower::kernel::{self, Kernel};

use super::shaders::all;
use crate::common;

/// Two outputs of a structure type that is also read and written through a device address: as a
/// whole, in parts, by memory copies, and from an initialiser. The address is 0, but no vertex uses
/// it.
const SHARED: &str = r#"
    OpCapability Shader
    OpCapability TransformFeedback
    OpCapability PhysicalStorageBufferAddresses
    OpExtension "SPV_KHR_physical_storage_buffer"
    OpMemoryModel PhysicalStorageBuffer64 GLSL450
    OpEntryPoint Vertex %main "main" %index %first %second %captured %rest
    OpExecutionMode %main Xfb
    OpName %shared "shared"
    OpName %first "first"
    OpDecorate %index BuiltIn VertexIndex
    OpDecorate %first Location 2
    OpDecorate %second Location 9
    OpDecorate %captured Location 0
    OpDecorate %captured XfbBuffer 0
    OpDecorate %captured XfbStride 32
    OpDecorate %captured Offset 0
    OpDecorate %rest Location 1
    OpDecorate %rest XfbBuffer 0
    OpDecorate %rest XfbStride 32
    OpDecorate %rest Offset 16
    OpMemberDecorate %inner 0 Offset 0
    OpMemberDecorate %inner 1 Offset 8
    OpDecorate %inners ArrayStride 16
    OpMemberDecorate %shared 0 Offset 0
    OpMemberDecorate %shared 1 Offset 16
    OpMemberDecorate %shared 2 Offset 48
    OpMemberDecorate %shared 2 ColMajor
    OpMemberDecorate %shared 2 MatrixStride 16
    OpDecorate %block Block
    OpMemberDecorate %block 0 Offset 0
    %void = OpTypeVoid
    %procedure = OpTypeFunction %void
    %bool = OpTypeBool
    %uint = OpTypeInt 32 0
    %uint_0 = OpConstant %uint 0
    %uint_1 = OpConstant %uint 1
    %uint_2 = OpConstant %uint 2
    %uint_never = OpConstant %uint 0xfffffff
    %uvec2 = OpTypeVector %uint 2
    %no_address = OpConstantNull %uvec2
    %float = OpTypeFloat 32
    %float_3 = OpConstant %float 3
    %float_7 = OpConstant %float 7
    %vec2 = OpTypeVector %float 2
    %vec4 = OpTypeVector %float 4
    %mat2 = OpTypeMatrix %vec2 2
    %inner = OpTypeStruct %float %vec2
    %inners = OpTypeArray %inner %uint_2
    %shared = OpTypeStruct %vec4 %inners %mat2
    %block = OpTypeStruct %shared
    %vec2_3 = OpConstantComposite %vec2 %float_3 %float_7
    %vec4_7 = OpConstantComposite %vec4 %float_7 %float_3 %float_7 %float_3
    %no_inner = OpConstantNull %inner
    %one_inner = OpConstantComposite %inner %float_3 %vec2_3
    %no_inners = OpConstantComposite %inners %no_inner %one_inner
    %columns = OpConstantComposite %mat2 %vec2_3 %vec2_3
    %initial = OpConstantComposite %shared %vec4_7 %no_inners %columns
    %input = OpTypePointer Input %uint
    %output = OpTypePointer Output %shared
    %output_inners = OpTypePointer Output %inners
    %output_inner = OpTypePointer Output %inner
    %output_vec2 = OpTypePointer Output %vec2
    %output_vec4 = OpTypePointer Output %vec4
    %output_float = OpTypePointer Output %float
    %address = OpTypePointer PhysicalStorageBuffer %block
    %address_shared = OpTypePointer PhysicalStorageBuffer %shared
    %index = OpVariable %input Input
    %first = OpVariable %output Output %initial
    %second = OpVariable %output Output
    %captured = OpVariable %output_vec4 Output
    %rest = OpVariable %output_vec4 Output
    %main = OpFunction %void None %procedure
    %20 = OpLabel
    %21 = OpLoad %uint %index
    %22 = OpConvertUToF %float %21
    %23 = OpAccessChain %output_inner %first %uint_1 %uint_1
    %24 = OpLoad %inner %23
    %25 = OpCompositeExtract %float %24 1 1
    %26 = OpCompositeConstruct %vec2 %22 %25
    %27 = OpCompositeConstruct %inner %22 %26
    %28 = OpAccessChain %output_inner %first %uint_1 %uint_0
    OpStore %28 %27
    %29 = OpLoad %shared %first
    %30 = OpCompositeInsert %shared %22 %29 2 1 0
    OpStore %first %30
    OpCopyMemory %second %first
    %31 = OpAccessChain %output_inners %second %uint_1
    %32 = OpLoad %inners %31
    %33 = OpCompositeExtract %float %32 0 1 0
    %34 = OpAccessChain %output_vec2 %second %uint_2 %uint_1
    %35 = OpLoad %vec2 %34
    %36 = OpCompositeConstruct %vec4 %33 %25 %35
    OpStore %captured %36
    %37 = OpUGreaterThan %bool %21 %uint_never
    OpSelectionMerge %38 None
    OpBranchConditional %37 %39 %38
    %39 = OpLabel
    %40 = OpBitcast %address %no_address
    %41 = OpAccessChain %address_shared %40 %uint_0
    %42 = OpLoad %shared %41 Aligned 16
    OpStore %first %42
    OpStore %41 %29 Aligned 16
    OpCopyMemory %41 %second Aligned 16
    OpCopyMemory %second %41 Aligned 16
    OpCopyMemory %41 %second Aligned 16 Volatile|Aligned 16
    OpCopyMemory %second %41 Volatile|Aligned 16 Aligned 16
    OpBranch %38
    %38 = OpLabel
    %43 = OpLoad %shared %second
    %44 = OpCompositeExtract %vec4 %43 0
    OpStore %rest %44
    OpReturn
    OpFunctionEnd
"#;

#[test]
fn types_that_buffers_share_become_two() {
    for (env, target) in
        [("spv1.4", "vulkan1.1spv1.4"), ("spv1.5", "vulkan1.2"), ("spv1.6", "vulkan1.3")]
    {
        let words = common::assemble(SHARED, env);
        common::validate(&words, target);
        for lowered in all(&words) {
            common::validate(&lowered.words, target);
            let text = common::disassemble(&lowered.words);
            // The buffer's layout stays.
            assert!(text.contains("OpMemberDecorate %shared 2 Offset 48"), "{text}");
        }
    }
}

/// The captured bytes are the same whether types were split (SPIR-V 1.5) or not (1.4).
#[test]
fn values_of_split_types_are_copied() {
    use common::device;
    use vkxfb_probe::gpu::Profile;
    use vkxfb_rewriter::lower::{Backend, native};

    let mut gpu = device::open(Profile::Full);
    let expected = {
        let words = common::assemble(SHARED, "spv1.4");
        device::capture(&mut gpu, &native::lower(&Shader::new(&words)).unwrap())
    };
    let (dwords, _) = expected[0].as_ref().unwrap().as_chunks();
    let floats: Vec<f32> = dwords.iter().map(|dword| f32::from_le_bytes(*dword)).collect();
    // Vertices 3 and on, of which the strip's first triangle has 3, 4 and 5.
    assert_eq!(floats[..8], [3., 7., 3., 7., 7., 3., 7., 3.]);
    assert_eq!(floats[8..12], [4., 7., 4., 7.]);
    for env in ["spv1.4", "spv1.5", "spv1.6"] {
        let [vertex, compute, _, staged] = all(&common::assemble(SHARED, env));
        for lowered in [vertex, compute, staged] {
            if gpu.backends().contains(&lowered.backend()) {
                let found = device::capture(&mut gpu, &lowered);
                assert!(found == expected, "{env} {}", lowered.backend());
            }
        }
    }
    assert!(gpu.backends().contains(&Backend::Compute));
}

/// Types that only outputs use lose their layout in every version. Private and workgroup variables
/// of the shader library have no layout.
#[test]
fn what_no_buffer_shares_has_no_layout() {
    let source = SHARED
        .replace("%address = OpTypePointer PhysicalStorageBuffer %block", "")
        .replace("%address_shared = OpTypePointer PhysicalStorageBuffer %shared", "");
    let (before, from) = source.split_once("%40 = ").unwrap();
    let (_, behind) = from.split_once("OpBranch %38").unwrap();
    let source = format!("{before}OpBranch %38{behind}");
    for (env, target) in
        [("spv1.0", "vulkan1.1"), ("spv1.4", "vulkan1.1spv1.4"), ("spv1.6", "vulkan1.3")]
    {
        let words = common::assemble(&source, env);
        let [_, computes @ ..] = all(&words);
        for lowered in computes {
            common::validate(&lowered.words, target);
            let text = common::disassemble(&lowered.words);
            let (declarations, _) = text.split_once("OpFunction ").unwrap();
            for gone in ["%shared 0 Offset", "%shared 2 MatrixStride", "%_struct_30 0 Offset"] {
                assert!(!declarations.contains(gone), "{declarations}");
            }
            for array in declarations.lines().filter(|line| line.contains("Workgroup %_arr")) {
                let array = array.split_whitespace().last().unwrap();
                assert!(!declarations.contains(&format!("OpDecorate {array} ArrayStride")));
            }
        }
    }
    for kernel in Kernel::ALL {
        let words = kernel::lower(kernel, &kernel::Target::default()).unwrap();
        let text = common::disassemble(&words);
        for line in text.lines().filter(|line| line.contains("OpTypePointer Workgroup %_arr")) {
            let array = line.split_whitespace().last().unwrap();
            assert!(!text.contains(&format!("OpDecorate {array} ArrayStride")), "{line}");
        }
    }
}

/// If an output and a storage buffer have the same structure type, the layout is kept for the
/// buffer.
#[test]
fn a_structure_that_a_buffer_shares_keeps_its_layout() {
    let words = common::assemble(
        r#"
        OpCapability Shader
        OpCapability TransformFeedback
        OpExtension "SPV_KHR_storage_buffer_storage_class"
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %1 "main" %2 %3
        OpExecutionMode %1 Xfb
        OpDecorate %2 Location 0
        OpDecorate %2 XfbBuffer 0
        OpDecorate %2 XfbStride 4
        OpDecorate %2 Offset 0
        OpDecorate %3 Location 1
        OpDecorate %4 DescriptorSet 0
        OpDecorate %4 Binding 0
        OpDecorate %5 Block
        OpMemberDecorate %5 0 Offset 0
        OpMemberDecorate %6 0 Offset 0
        OpMemberDecorate %6 1 Offset 8
        %10 = OpTypeVoid
        %11 = OpTypeFunction %10
        %12 = OpTypeFloat 32
        %6 = OpTypeStruct %12 %12
        %5 = OpTypeStruct %6
        %13 = OpTypePointer Output %12
        %14 = OpTypePointer Output %6
        %15 = OpTypePointer StorageBuffer %5
        %16 = OpTypePointer StorageBuffer %6
        %17 = OpTypeInt 32 1
        %18 = OpConstant %17 0
        %2 = OpVariable %13 Output
        %3 = OpVariable %14 Output
        %4 = OpVariable %15 StorageBuffer
        %1 = OpFunction %10 None %11
        %20 = OpLabel
        %21 = OpAccessChain %16 %4 %18
        %22 = OpLoad %6 %21
        %23 = OpCompositeExtract %12 %22 1
        OpStore %3 %22
        OpStore %2 %23
        OpReturn
        OpFunctionEnd
        "#,
        "vulkan1.0",
    );
    common::validate(&words, "vulkan1.0");
    for lowered in all(&words) {
        common::validate(&lowered.words, "vulkan1.0");
        let text = common::disassemble(&lowered.words);
        assert!(text.contains(" 1 Offset 8"), "{text}");
    }
}
