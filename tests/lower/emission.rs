//! Which geometry shaders are known to emit the same number of primitives each time.

use std::sync::LazyLock;

use spirv::Op;
use vkxfb::lower::{Shader, compute};
use vkxfb::vertex_input::VertexInput;

use crate::common;

/// Returns the number of primitives that a geometry shader is known to emit.
fn known(geometry: &[u32]) -> Option<u32> {
    static VERTEX: LazyLock<Vec<u32>> = LazyLock::new(|| {
        common::compile("#version 450\nvoid main() { gl_Position = vec4(1.0); }", &[])
    });
    let (vertex, input) = (Shader::new(&VERTEX), VertexInput::default());
    let options = compute::Options::new(&input).vertex_shader(&vertex);
    let lowered = compute::lower(&Shader::new(geometry), &options).unwrap();
    lowered.compute().unwrap().geometry.unwrap().primitives
}

/// Returns that number for a shader with these functions.
fn emitted(output: &str, functions: &str) -> Option<u32> {
    let source = format!(
        "#version 450
        layout(triangles) in;
        layout({output}, max_vertices = 8) out;
        layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) out float value;
        // Not known.
        layout(push_constant) uniform Push {{ int n; bool flag; float weight; }};
        void vertex() {{ value = weight; EmitVertex(); }}
        {functions}"
    );
    let words = common::compile_stage("geom", &source, &[]);
    let primitives = known(&words);
    // The same is known if values are in no variables, but are results and phis.
    let passes =
        ["--inline-entry-points-exhaustive", "--eliminate-dead-functions", "--ssa-rewrite"];
    assert_eq!(known(&common::optimize(&words, &passes)), primitives, "{functions}");
    primitives
}

#[test]
fn strips_become_primitives() {
    let shaders = [
        // The second strip has no triangle, and one line.
        (
            "void main() { vertex(); vertex(); vertex(); EndPrimitive(); vertex(); vertex(); }",
            [Some(5), Some(3), Some(1)],
        ),
        (
            "void main() {
                for (int i = 0; i < gl_in.length(); i++) { value = gl_in[i].gl_Position.x; EmitVertex(); }
                EndPrimitive();
            }",
            [Some(3), Some(2), Some(1)],
        ),
        (
            "void main() {
                for (int i = 0; i < 2; i++) {
                    for (int j = 0; j < 4; j++) vertex();
                    EndPrimitive();
                }
            }",
            [Some(8), Some(6), Some(4)],
        ),
        (
            "void main() { for (int i = 0; i < 6; i++) { vertex(); if (i % 3 == 2) EndPrimitive(); } }",
            [Some(6), Some(4), Some(2)],
        ),
        // Without a primitive there is nothing to capture.
        ("void main() { vertex(); vertex(); }", [Some(2), Some(1), None]),
        ("void main() { EndPrimitive(); }", [None, None, None]),
    ];
    for (functions, primitives) in shaders {
        let outputs = ["points", "line_strip", "triangle_strip"];
        assert_eq!(outputs.map(|output| emitted(output, functions)), primitives, "{functions}");
    }
}

#[test]
fn what_constants_decide_is_known() {
    let shaders = [
        // Loops.
        ("void main() { for (int i = 3; i > 0; i--) vertex(); }", 3),
        ("void main() { for (uint i = 6u; i >= 2u; i -= 2u) vertex(); }", 3),
        ("void main() { for (int i = -2; i <= 2; ++i) vertex(); }", 5),
        ("void main() { int i = 0; while (i < 4) { i++; vertex(); } }", 4),
        ("void main() { int i = 9; do { vertex(); } while (i < 5); }", 1),
        ("void main() { for (int i = 0; ; i++) { if (i == 5) break; vertex(); } }", 5),
        ("void main() { for (int i = 0; i < 6; i++) { if ((i & 1) == 0) continue; vertex(); } }", 3),
        ("void main() { for (int i = 0; i < 4; i++) for (int j = i; j < 3; j++) vertex(); }", 6),
        ("void main() { for (int i = 0; i < 8; i++) { vertex(); if (i == 2) return; } }", 3),
        ("void main() { for (uint i = 1u; i < uint(gl_in.length()); i <<= 1) vertex(); }", 2),
        ("const int most = 5; void main() { for (int i = 0; i < most - 1; i++) vertex(); }", 4),
        ("layout(constant_id = 0) const int most = 5;
          void main() { for (int i = 0; i < most; i++) vertex(); }", 5),
        // Selections.
        ("void main() { int i = 2; if (i < 3) vertex(); else { vertex(); vertex(); } }", 1),
        ("void main() {
            bool twice = true;
            for (int i = 0; i < 4; i++) { vertex(); if (twice) vertex(); twice = !twice; }
          }", 6),
        ("void main() {
            for (int i = 0; i < 4; i++) switch (i) {
                case 0: vertex();
                case 1: vertex(); break;
                case 3: vertex(); vertex(); vertex(); break;
                default: break;
            }
          }", 6),
        ("void main() { for (int i = 0; i < 3 && value < (value = 2.0); i++) {} vertex(); }", 1),
        ("bool f() { return flag; } void main() { bool no = false; if (no && f()) vertex(); vertex(); }", 1),
        // Functions.
        ("void at(int i) { value = gl_in[i].gl_Position.x; EmitVertex(); }
          void main() { for (int i = 0; i < 3; i++) at(i); }", 3),
        ("void some(int count) { for (int i = 0; i < count; i++) vertex(); }
          void main() { some(1); for (int i = 1; i < 3; i++) some(i); }", 4),
        ("void more(inout int count) { count++; vertex(); }
          void main() { int count = 0; while (count < 4) more(count); }", 4),
        ("int corner(const int i) { vertex(); return i + 2; }
          void main() { for (int i = 0; i < 5;) i = corner(i); }", 3),
        ("int next; void step() { next++; vertex(); }
          void main() { next = 5; while (next < 8) step(); }", 3),
        ("float either(float of) { if (of > 0.0) return 1.0; else return 2.0; }
          void main() { for (int i = 0; i < 3; i++) value = either(weight); vertex(); }", 1),
        ("void fill(out int count) { count = n; }
          void main() {
            int count;
            for (int i = 0; i < 3; i++) { fill(count); value = count; EmitVertex(); }
          }", 3),
        // What does not emit beside it.
        ("void main() {
            for (int i = 0; i < 3; i++) {
                value = 0.0;
                for (int bone = 0; bone < n; bone++) { if (flag) continue; value += weight; }
                if (value < 0.5) value = 0.0; else if (flag) value = 1.0;
                switch (n) { case 1: value = 1.0; case 2: value += 1.0; break; default: value = 3.0; }
                EmitVertex();
            }
          }", 3),
        ("void main() {
            for (int i = 0; i < 3; i++) {
                for (int j = 0; j < 4; j++) { if (j == n) break; value += weight; }
                vertex();
            }
          }", 3),
        ("void main() { int j = 1; if (flag) j = 2; j = 3; for (int i = 0; i < j; i++) vertex(); }", 3),
        ("void main() { for (int i = 0; i < 3; i++) { value = flag ? 1.0 : weight; EmitVertex(); } }", 3),
    ];
    for (functions, primitives) in shaders {
        assert_eq!(emitted("points", functions), Some(primitives), "{functions}");
    }
}

#[test]
fn what_nothing_decides_is_not_known() {
    let shaders = [
        // An unknown number of vertices.
        "void main() { for (int i = 0; i < n; i++) vertex(); }",
        "void main() { for (int i = 0; i < 3; i++) { if (flag) break; vertex(); } }",
        "void main() { for (int i = 0; i < 3; i++) { if (flag) continue; vertex(); } }",
        "void main() { for (int i = 0; i < 3; i++) { vertex(); if (n == i) return; } }",
        "void main() { vertex(); if (flag) vertex(); }",
        "void main() { vertex(); switch (n) { case 1: vertex(); break; default: break; } }",
        "void main() { vertex(); if (flag) EndPrimitive(); }",
        "void main() { if (flag) return; vertex(); }",
        "void maybe() { if (flag) return; vertex(); } void main() { vertex(); maybe(); }",
        "void maybe() { if (flag) vertex(); } void outer() { maybe(); }
         void main() { vertex(); if (n > 3) outer(); }",
        "void main() { vertex(); while (flag) { if (n == 1) return; value = n; } vertex(); }",
        // More vertices than the shader declares, or no end.
        "void main() { for (int i = 0; i < 9; i++) vertex(); }",
        "void main() { while (true) vertex(); }",
        "void main() { vertex(); for (int i = 0; i >= 0; i = 1 - i) EndPrimitive(); }",
        "void main() { vertex(); for (;;) value++; }",
        // What is changed where the walk does not look is not known.
        "void main() { int j = 2; if (flag) j = 3; for (int i = 0; i < j; i++) vertex(); }",
        "void main() { int j = 2; while (value < weight) { j++; value++; } for (int i = 0; i < j; i++) vertex(); }",
        "void main() { int j = 0; for (int i = 0; i < n; i++) j = 1; if (j == 0) vertex(); vertex(); }",
        "void main() {
            int j = 2;
            for (int i = 0; i < 2; i++) { if (i == n) j = 1; for (int k = 0; k < j; k++) vertex(); }
         }",
        "int j; void change() { j = n; }
         void main() { j = 2; change(); for (int i = 0; i < j; i++) vertex(); }",
        "int j; void change() { j = n; } void outer() { change(); }
         void main() { j = 2; if (flag) outer(); for (int i = 0; i < j; i++) vertex(); }",
        "int j; void change() { j = n; vertex(); }
         void main() { j = 2; change(); for (int i = 0; i < j; i++) vertex(); }",
        "void change(inout int j) { j += n; }
         void main() { int j = 2; change(j); for (int i = 0; i < j; i++) vertex(); }",
        "void change(inout int j) { if (flag) j = 3; vertex(); }
         void main() { int j = 2; change(j); for (int i = 0; i < j; i++) vertex(); }",
        "void change(inout int j) { j += n; } void outer(inout int j) { change(j); vertex(); }
         void main() { int j = 2; outer(j); for (int i = 0; i < j; i++) vertex(); }",
        "int count() { return n; } void main() { int j = count(); for (int i = 0; i < j; i++) vertex(); }",
        "void main() { int j = 1; for (int i = 0; i < 2; i++) { for (int k = 0; k < j; k++) vertex(); j = n; } }",
        "void main() { float w; int j = 2; w = frexp(weight, j); for (int i = 0; i < j; i++) vertex(); }",
        // Nothing is known of what was not written, or keeps its value.
        "int j; void main() { for (int i = j; i < 3; i++) { j = 0; vertex(); } }",
        "void some() { int j; if (j == 0) j = 3; for (int i = 0; i < j; i++) vertex(); j = 1; }
         void main() { some(); some(); }",
        "void some(int k) { int j; if (k == 0) j = 2; for (int i = 0; i < j; i++) vertex(); }
         void main() { some(0); some(1); }",
        "int count(int k) { vertex(); if (k == 0) return 2; return n; }
         void main() { for (int k = 0; k < 2; k++) for (int i = 0, j = count(k); i < j; i++) vertex(); }",
        // Parts of variables, and numbers that are not integers.
        "void main() { ivec2 j = ivec2(2); j[n] = 3; for (int i = 0; i < j.x; i++) vertex(); }",
        "void main() { for (float i = 0.0; i < 3.0; i++) vertex(); }",
        // What is undefined.
        "void main() { int j = 0; for (int i = 0; i < 3 / j; i++) vertex(); vertex(); }",
    ];
    for functions in shaders {
        assert_eq!(emitted("points", functions), None, "{functions}");
    }
}

/// Returns that number for the instructions of a shader that emits points.
fn assembled(declarations: &str, body: &str) -> Option<u32> {
    known(&assemble(declarations, body))
}

fn assemble(declarations: &str, body: &str) -> Vec<u32> {
    let text = format!(
        "OpCapability Geometry
        OpCapability TransformFeedback
        OpCapability Int64
        OpMemoryModel Logical GLSL450
        OpEntryPoint Geometry %main \"main\" %value %id
        OpExecutionMode %main InputPoints
        OpExecutionMode %main Invocations 1
        OpExecutionMode %main OutputPoints
        OpExecutionMode %main OutputVertices 8
        OpExecutionMode %main Xfb
        OpDecorate %value Location 0
        OpDecorate %value XfbBuffer 0
        OpDecorate %value XfbStride 4
        OpDecorate %value Offset 0
        OpDecorate %id BuiltIn PrimitiveId
        %void = OpTypeVoid
        %bool = OpTypeBool
        %int = OpTypeInt 32 1
        %wide = OpTypeInt 64 1
        %float = OpTypeFloat 32
        %procedure = OpTypeFunction %void
        %to_private = OpTypePointer Private %int
        %to_int = OpTypePointer Function %int
        %to_float = OpTypePointer Output %float
        %to_id = OpTypePointer Input %int
        %reader = OpTypeFunction %int %to_int %to_int
        %c0 = OpConstantNull %int
        %c1 = OpConstant %int 1
        %c2 = OpConstant %int 2
        %c4 = OpConstant %int 4
        %pair = OpTypeArray %int %c2
        %to_pair = OpTypePointer Function %pair
        %value = OpVariable %to_float Output
        %id = OpVariable %to_id Input
        {declarations}
        %main = OpFunction %void None %procedure
        %begin = OpLabel
        {body}
        OpFunctionEnd"
    );
    common::assemble(&text, "vulkan1.0")
}

/// Instructions that emit a second vertex if `%x` is 2.
const IF_TWO: &str = "OpEmitVertex
    %is_two = OpIEqual %bool %x %c2
    OpSelectionMerge %end None
    OpBranchConditional %is_two %yes %end
    %yes = OpLabel
    OpEmitVertex
    OpBranch %end
    %end = OpLabel";

#[test]
fn variables_of_the_module_begin_with_their_initializers() {
    let emitted = |variable: &str, before: &str| {
        let body = format!("{before} %x = OpLoad %int %v {IF_TWO} OpStore %v %c4 OpReturn");
        assembled(variable, &body)
    };
    let two = "%v = OpVariable %to_private Private %c2";
    assert_eq!(emitted(two, ""), Some(2));
    assert_eq!(emitted("%v = OpVariable %to_private Private %c0", ""), Some(1));
    let nothing = "%v = OpVariable %to_private Private";
    assert_eq!(emitted(nothing, ""), None);
    assert_eq!(emitted(nothing, "OpStore %v %c2"), Some(2));
    // Where it may be changed without a store to it, it is not followed.
    assert_eq!(emitted(two, "OpCopyMemory %v %id"), None);
    assert_eq!(emitted(two, "%copy = OpCopyObject %to_private %v OpStore %copy %c0"), None);
}

#[test]
fn parameters_may_point_to_one_variable() {
    let emitted = |read: &str, variable: &str, pointer: &str| {
        let function = format!(
            "%f = OpFunction %int None %reader
            %p = OpFunctionParameter %to_int
            %q = OpFunctionParameter %to_int
            %in_f = OpLabel
            OpStore %p %c2
            OpStore %q %c1
            OpEmitVertex
            %result = OpLoad %int {read}
            OpReturnValue %result
            OpFunctionEnd"
        );
        let body = format!(
            "{variable} {pointer}
            %x = OpFunctionCall %int %f %at %at
            {IF_TWO}
            OpReturn
            OpFunctionEnd
            {function}"
        );
        let body = body.strip_suffix("OpFunctionEnd").unwrap();
        assembled("", body)
    };
    for read in ["%p", "%q"] {
        assert_eq!(emitted(read, "%at = OpVariable %to_int Function", ""), Some(2));
        // Parts of variables are not followed.
        let chain = "%at = OpAccessChain %to_int %both %c1";
        assert_eq!(emitted(read, "%both = OpVariable %to_pair Function", chain), None);
    }
}

#[test]
fn phis_of_a_block_are_set_at_once() {
    // The numbers are exchanged each time, and the first is less than the other every second time.
    let body = "OpBranch %head
        %head = OpLabel
        %i = OpPhi %int %c0 %begin %j %next
        %a = OpPhi %int %c1 %begin %b %next
        %b = OpPhi %int %c2 %begin %a %next
        OpLoopMerge %end %next None
        OpBranch %test
        %test = OpLabel
        %goes_on = OpSLessThan %bool %i %c4
        OpBranchConditional %goes_on %inside %end
        %inside = OpLabel
        %is_less = OpSLessThan %bool %a %b
        OpSelectionMerge %next_one None
        OpBranchConditional %is_less %emit %next_one
        %emit = OpLabel
        OpEmitVertex
        OpBranch %next_one
        %next_one = OpLabel
        OpBranch %next
        %next = OpLabel
        %j = OpIAdd %int %i %c1
        OpBranch %head
        %end = OpLabel
        OpReturn";
    assert_eq!(assembled("", body), Some(2));
}

#[test]
fn arguments_are_changed_in_constructs_that_are_passed_over() {
    let body = format!(
        "%at = OpVariable %to_int Function
        OpStore %at %c2
        %n = OpLoad %int %id
        %is_zero = OpIEqual %bool %n %c0
        OpSelectionMerge %behind None
        OpBranchConditional %is_zero %calls %behind
        %calls = OpLabel
        %unused = OpFunctionCall %int %f %at %at
        OpBranch %behind
        %behind = OpLabel
        %x = OpLoad %int %at
        {IF_TWO}
        OpReturn
        OpFunctionEnd
        %f = OpFunction %int None %reader
        %p = OpFunctionParameter %to_int
        %q = OpFunctionParameter %to_int
        %in_f = OpLabel
        OpStore %p %c1
        OpReturnValue %c1"
    );
    assert_eq!(assembled("", &body), None);
}

/// In each iteration of a loop, a selection sets a result that is used after the selection, because
/// its other branch is not reached. In the first iteration the condition is known.
#[test]
fn results_of_constructs_that_are_passed_over_are_forgotten() {
    let body = "%n = OpLoad %int %id
        OpBranch %head
        %head = OpLabel
        %i = OpPhi %int %c0 %begin %j %next
        %what = OpPhi %int %c0 %begin %n %next
        OpLoopMerge %end %next None
        OpBranch %test
        %test = OpLabel
        %goes_on = OpSLessThan %bool %i %c2
        OpBranchConditional %goes_on %inside %end
        %inside = OpLabel
        %is_zero = OpIEqual %bool %what %c0
        OpSelectionMerge %behind None
        OpBranchConditional %is_zero %sets %never
        %sets = OpLabel
        %set = OpIAdd %int %what %c1
        OpBranch %behind
        %never = OpLabel
        OpUnreachable
        %behind = OpLabel
        %is_one = OpIEqual %bool %set %c1
        OpSelectionMerge %next_one None
        OpBranchConditional %is_one %emit %next_one
        %emit = OpLabel
        OpEmitVertex
        OpBranch %next_one
        %next_one = OpLabel
        OpBranch %next
        %next = OpLabel
        %j = OpIAdd %int %i %c1
        OpBranch %head
        %end = OpLabel
        OpReturn";
    assert_eq!(assembled("", body), None);
}

/// The high word of a literal may be the same number as a label. The label of the case comes after
/// the whole literal.
#[test]
fn cases_of_wide_selectors_are_not_mistaken() {
    let body = "OpEmitVertex
        %n = OpLoad %int %id
        %selector = OpSConvert %wide %n
        OpSelectionMerge %end None
        OpSwitch %selector %end 4294967296 %case
        %case = OpLabel
        OpEmitVertex
        OpBranch %end
        %end = OpLabel
        OpReturn";
    let mut words = assemble("", body);
    let switch = 6 << 16 | Op::Switch as u32;
    let high = words.iter().position(|word| *word == switch).unwrap() + 4;
    assert_eq!(words[high], 1);
    // The labels have other numbers when the modules are merged.
    for number in 0..200 {
        words[high] = number;
        assert_eq!(known(&words), None, "{number}");
    }
}

/// The merge block of each of these loops is the header of the other loop, so a walk over them must
/// detect that it repeats.
#[test]
fn a_walk_ends() {
    let body = "OpEmitVertex
        OpBranch %a
        %a = OpLabel
        OpLoopMerge %b %a None
        OpBranch %b
        %b = OpLabel
        OpLoopMerge %a %b None
        OpBranch %a";
    assert_eq!(assembled("", body), None);
}
