//! The interface of an entry point: which parts of it lowering keeps and removes, and what it does
//! with the module's other entry points.

use vkxfb_rewriter::capture::CaptureError;
use vkxfb_rewriter::lower::compute::WorkgroupSizes;
use vkxfb_rewriter::lower::{LowerError, Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::Module;
use vkxfb_rewriter::spirv::entry_point::EntryPointError;
use vkxfb_rewriter::vertex_input::NumericClass;

use super::shaders::{EVERYTHING, SEVERAL, SHARED, all, compute_of, named, vertex_input};
use crate::common;

#[test]
fn other_entry_points_are_kept_by_vertex_and_removed_by_compute() {
    let words = common::assemble(SEVERAL, "vulkan1.0");
    common::validate(&words, "vulkan1.0");
    let lowered = vertex::lower(&named(&words, "second")).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    assert_eq!(common::disassemble(&lowered.words).matches("OpEntryPoint").count(), 3);

    let input = vertex_input(NumericClass::Float);
    let options = compute::Options::new(&input)
        .target(compute::Target::default().workgroup_sizes(WorkgroupSizes::all(32)));
    let lowered = compute::lower(&named(&words, "second"), &options).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("OpEntryPoint").count(), 1);
    assert!(!text.contains("OpDPdx") && !text.contains("colour_in"), "{text}");
    assert!(text.contains("OpSpecConstant %uint 32"));

    let ambiguous = vertex::lower(&Shader::new(&words)).unwrap_err();
    let LowerError::EntryPoint(EntryPointError::Ambiguous { found, .. }) = ambiguous else {
        panic!("{ambiguous}")
    };
    assert!(found.contains("'first'") && found.contains("'second'"), "{found}");
    assert!(matches!(
        vertex::lower(&named(&words, "third")),
        Err(LowerError::EntryPoint(EntryPointError::NotFound { .. }))
    ));
    assert!(matches!(
        native::lower(&named(&words, "first")),
        Err(LowerError::Capture(CaptureError::NoXfbMode { .. }))
    ));
}

#[test]
fn a_fragment_shader_is_no_vertex_shader() {
    let words = common::assemble(
        &SEVERAL
            .replace("OpEntryPoint Vertex %1 \"first\" %2", "")
            .replace("OpEntryPoint Vertex %6 \"second\" %7 %8", "")
            .replace("OpExecutionMode %6 Xfb", ""),
        "vulkan1.0",
    );
    let error = native::lower(&Shader::new(&words)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the module has no vertex, tessellation evaluation or geometry shader; it has: Fragment 'shade'"
    );
    let error = vertex::lower(&Shader::new(&words)).unwrap_err().to_string();
    assert_eq!(error, "the module has no vertex shader; it has: Fragment 'shade'");
}

/// The lowered compute shader needs no capability that only the interface needed.
#[test]
fn interface_capabilities_are_dropped() {
    let words = common::compile(EVERYTHING, &[]);
    let [_, compute, ..] = all(&words);
    let text = common::disassemble(&compute.words);
    for gone in ["ClipDistance", "DrawParameters", "TransformFeedback", "shader_draw_parameters"] {
        assert!(!text.contains(&format!("OpCapability {gone}")), "{gone}");
        assert!(!text.contains(&format!("OpExtension \"SPV_KHR_{gone}\"")), "{gone}");
    }
    assert!(Module::parse(&compute.words).is_ok());
}

/// Since SPIR-V 1.4 the interface lists all global variables, but not those of other entry points.
#[test]
fn interfaces_hold_nothing_of_other_entry_points() {
    const TARGET: &str = "vulkan1.1spv1.4";
    let words = common::assemble(
        &SEVERAL
            .replace(
                "OpDecorate %5 Location 0",
                "OpDecorate %5 Location 0\nOpDecorate %9 Location 0",
            )
            .replace("\"shade\" %4 %5", "\"shade\" %4 %5 %9")
            .replace("OpDecorate %5 Location 0\n", "OpDecorate %5 Location 1\n")
            .replace("%4 = OpVariable", "%9 = OpVariable %15 Output\n%4 = OpVariable"),
        TARGET,
    );
    common::validate(&words, TARGET);
    for lowered in
        [vertex::lower(&named(&words, "second")).unwrap(), compute_of(&words, "second").unwrap()]
    {
        common::validate(&lowered.words, TARGET);
        let text = common::disassemble(&lowered.words);
        let entry = text.lines().find(|line| line.contains("\"second\"")).unwrap();
        let (_, interface) = entry.split_once("\"second\"").unwrap();
        for foreign in ["%2", "%colour_in", "%5", "%9"] {
            assert!(interface.split_whitespace().all(|id| id != foreign), "{entry}");
        }
        assert!(interface.split_whitespace().any(|id| id == "%8"), "{entry}");
    }
}

/// Structures of other entry points are kept, without decorations that need capabilities that were
/// removed.
#[test]
fn blocks_of_other_entry_points_are_harmless() {
    let block = "
        OpMemberDecorate %30 0 BuiltIn Position
        OpMemberDecorate %30 1 BuiltIn ClipDistance
        OpMemberDecorate %30 0 XfbBuffer 0
        OpMemberDecorate %30 0 XfbStride 16
        OpMemberDecorate %30 0 Offset 0
        OpDecorate %30 Block
        OpDecorate %10 UserTypeGOOGLE \"nothing\"
        ";
    let words = common::assemble(
        &SEVERAL
            .replace("OpMemoryModel", "OpCapability ClipDistance\nOpMemoryModel")
            .replace(
                "OpMemoryModel",
                "OpExtension \"SPV_GOOGLE_user_type\"
                 OpExtension \"SPV_GOOGLE_decorate_string\"
                 OpMemoryModel",
            )
            .replace("OpDecorate %2 BuiltIn Position", block)
            .replace(
                "%15 = ",
                "%31 = OpTypeInt 32 0\n%32 = OpConstant %31 1\n%33 = OpTypeArray %12 %32
                 %30 = OpTypeStruct %13 %33\n%34 = OpTypePointer Output %30\n%15 = ",
            )
            .replace("%2 = OpVariable %15 Output", "%2 = OpVariable %34 Output")
            .replace("OpStore %2 %16", ""),
        "vulkan1.0",
    );
    common::validate(&words, "vulkan1.0");
    for lowered in
        [vertex::lower(&named(&words, "second")).unwrap(), compute_of(&words, "second").unwrap()]
    {
        common::validate(&lowered.words, "vulkan1.0");
    }
}

#[test]
fn a_function_may_be_two_entry_points() {
    let words = common::assemble(SHARED, "vulkan1.1");
    common::validate(&words, "vulkan1.1");
    for lowered in
        [vertex::lower(&named(&words, "second")).unwrap(), compute_of(&words, "second").unwrap()]
    {
        common::validate(&lowered.words, "vulkan1.1");
        let text = common::disassemble(&lowered.words);
        assert_eq!(text.matches("OpEntryPoint").count(), 1, "{text}");
    }
}

/// Execution modes for float controls are kept, because they determine the bits that a shader
/// computes.
#[test]
fn execution_modes_go_with_the_shader() {
    let words = common::assemble(SHARED, "vulkan1.1");
    for (lowered, function) in [
        (vertex::lower(&named(&words, "first")).unwrap(), "%xfb_main"),
        (compute_of(&words, "first").unwrap(), "%xfb_compute"),
    ] {
        let text = common::disassemble(&lowered.words);
        assert!(
            text.contains(&format!("OpExecutionMode {function} DenormFlushToZero 32")),
            "{text}"
        );
        assert!(!text.contains(" Xfb"), "{text}");
    }
}

/// Debug information of an interface variable is removed together with the variable.
#[test]
fn debug_info_of_other_entry_points_is_removed() {
    const DEBUG: &str = "%30 = OpExtInstImport \"NonSemantic.Shader.DebugInfo.100\"";
    let words = common::assemble(
        &SEVERAL
            .replace(
                "OpMemoryModel",
                &format!("OpExtension \"SPV_KHR_non_semantic_info\"\n{DEBUG}\nOpMemoryModel"),
            )
            .replace("OpName %3", "%31 = OpString \"shader\"\nOpName %3")
            .replace(
                "%1 = OpFunction ",
                "%32 = OpTypeInt 32 0
                 %33 = OpConstant %32 0
                 %34 = OpConstant %32 4
                 %35 = OpConstant %32 2
                 %36 = OpConstant %32 32
                 %37 = OpConstant %32 3
                 %38 = OpExtInst %10 %30 DebugSource %31
                 %39 = OpExtInst %10 %30 DebugCompilationUnit %34 %34 %38 %35
                 %40 = OpExtInst %10 %30 DebugTypeBasic %31 %36 %37 %33
                 %41 = OpExtInst %10 %30 DebugGlobalVariable %31 %40 %38 %33 %33 %39 %31 %4 %33
                 %42 = OpExtInst %10 %30 DebugGlobalVariable %31 %40 %38 %33 %33 %39 %31 %7 %33
                 %1 = OpFunction ",
            ),
        "vulkan1.1",
    );
    common::validate(&words, "vulkan1.1");
    let lowered = compute_of(&words, "second").unwrap();
    common::validate(&lowered.words, "vulkan1.1");
    let text = common::disassemble(&lowered.words);
    assert_eq!(text.matches("DebugGlobalVariable").count(), 1, "{text}");
}
