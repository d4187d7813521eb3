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
        // Numbers that are not integers.
        ("void main() { for (float i = 0.0; i < 3.0; i++) vertex(); }", 3),
        ("void main() { for (float i = 1.0; i > 0.25; i -= 0.25) vertex(); }", 3),
        ("void main() { for (float bits = 0.0; floatBitsToInt(bits) < 3;
            bits = intBitsToFloat(floatBitsToInt(bits) + 1)) vertex(); }", 3),
        ("void main() { for (int i = 1; float(i) * 0.5 <= 1.5; i++) vertex(); }", 3),
        ("void main() { for (int i = 0; i < int(3.7); i++) vertex(); }", 3),
        ("void main() { for (double i = 0.0; i < 3.0LF; i += 1.0LF) vertex(); }", 3),
        ("void main() { for (vec2 i = vec2(0.0); i.y < 3.0; i += vec2(weight, 1.0)) vertex(); }", 3),
        // Numbers that are small enough for 16 bits.
        ("void main() { for (mediump int i = 4; i > 0; i--) vertex(); }", 4),
        ("mediump int count(mediump int of) { vertex(); return of + 1; }
          void main() { mediump int j = count(2); for (int i = 0; i < j; i++) vertex(); }", 4),
        // Parts of variables.
        ("void main() { ivec4 r; r.z = 0; while (r.z < 3) { vertex(); r.z += 1; r.x = n; } }", 3),
        ("void main() { vec4 r; r.yx = vec2(3.0, 0.0); while (r.x < r.y) { vertex(); r.x += 1.0; } }", 3),
        ("struct S { int a[2]; ivec2 b; };
          void main() { S s; s.a[1] = 1; s.b.y = 3; for (; s.a[1] <= s.b.y; s.a[1]++) { vertex(); s.a[0] = n; } }", 3),
        ("ivec2 j; void step() { j.y++; vertex(); } void main() { j = ivec2(n, 5); while (j.y < 8) step(); }", 3),
        ("void main() { mat2 m; m[1] = vec2(1.0, 4.0); while (m[1].x < m[1][1]) { vertex(); m[1][0] += 1.0; m[0].x = weight; } }", 3),
        // Runs that emit the same number on different ways.
        ("void main() { if (flag) { value = 1.0; EmitVertex(); } else vertex(); vertex(); }", 2),
        ("void one() { if (flag) { vertex(); return; } value = 2.0; EmitVertex(); } void main() { one(); one(); }", 2),
        ("void main() { vertex(); if (flag) EndPrimitive(); }", 1),
        ("void main() { switch (n) { case 0: value = 1.0; case 1: value += 1.0; EmitVertex(); break; default: vertex(); } }", 1),
        ("void main() { if (flag) { vertex(); return; } vertex(); }", 1),
        ("void main() {
            for (int i = 0; i < 3; i++) { if (flag) { vertex(); continue; } vertex(); }
          }", 3),
        ("void main() { for (int i = 0; ; i++) { if (flag) { if (i == 2) break; vertex(); } else { if (i == 2) break; vertex(); } } }", 2),
        ("int two() { if (flag) { vertex(); return 2; } vertex(); return 2; }
          void main() { int j = two(); for (int i = 0; i < j; i++) vertex(); }", 3),
        ("void main() { int j; if (flag) { j = 2; vertex(); } else { vertex(); j = 2; } while (j > 0) { j--; vertex(); } }", 3),
        // As many vertices as the shader declares.
        ("void main() { for (int i = 0; i < 8; i++) vertex(); }", 8),
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
        "void main() { if (flag) return; vertex(); }",
        "void maybe() { if (flag) return; vertex(); } void main() { vertex(); maybe(); }",
        "void maybe() { if (flag) vertex(); } void outer() { maybe(); }
         void main() { vertex(); if (n > 3) outer(); }",
        "void main() { vertex(); while (flag) { if (n == 1) return; value = n; } vertex(); }",
        // More vertices than the shader declares, or no end.
        "void main() { for (int i = 0; i < 9; i++) vertex(); }",
        "void main() { while (true) vertex(); }",
        "void main() { for (int i = 0; i < 8; i++) vertex(); if (flag) vertex(); }",
        "void main() { for (int i = 0; i < 8; i++) vertex(); while (flag) vertex(); }",
        "void main() { do { vertex(); } while (flag); }",
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
        // Parts of variables with an index that is not known, and numbers that devices may round differently.
        "void main() { ivec2 j = ivec2(2); j[n] = 3; for (int i = 0; i < j.x; i++) vertex(); }",
        "void main() { int j[2] = int[](2, 2); j[n & 1] = 3; for (int i = 0; i < j[0]; i++) vertex(); }",
        "void main() { for (float i = 0.0; i < 0.65; i += 0.1) vertex(); }",
        "void main() { for (float i = 3.0; i > 0.0; i /= 3.0) vertex(); }",
        "void main() { vertex(); if (sqrt(4.0) * weight == 2.0) vertex(); }",
        "void main() { vertex(); if (!(floatBitsToInt(-(weight * 0.0)) == 0)) vertex(); }",
        "void main() { float z = 1.0; z -= 1.0; if (floatBitsToInt(z) == 0) vertex(); vertex(); }",
        "void main() { float z = 0.0; z = -z; if (floatBitsToInt(z) == 0) vertex(); vertex(); }",
        "void main() { float tiny = intBitsToFloat(1); if (tiny > 0.0) vertex(); vertex(); }",
        "void main() { float no = intBitsToFloat(0x7fc00000); if (no != no) vertex(); vertex(); }",
        // Values of 16 bits.
        "void main() { mediump float i = 0.0; for (; i < 3.0; i += 1.0) vertex(); }",
        "void main() { mediump float j = 1.0; float i = j + 1.0; if (i == 2.0) vertex(); vertex(); }",
        "void main() { mediump int i = 32767; i++; if (i == 32768) vertex(); vertex(); }",
        "void main() { mediump uint i = 32767u, j = 20u; if ((i >> j) == 0u) vertex(); vertex(); }",
        "void main() { mediump int i = -32768, j = -1; if (i % j == 0) vertex(); vertex(); }",
        // Compilers may subtract on the other side of a comparison, where the result is rounded.
        "void main() { float x = 3998.0; do { vertex(); x += 1.0; } while (x - 3998.0 <= 2.999999); }",
        "void main() { mediump int i = 65535; if (i + 1 == 0) vertex(); vertex(); }",
        "void main() { mediump ivec2 i = ivec2(65535); i += 1; if (i.x == 0) vertex(); vertex(); }",
        "struct S { mediump int a; int b; }; void main() { S s; s.a = 65536; if (s.a == 0) vertex(); vertex(); }",
        // Other parts are changed.
        "void main() { ivec4 j = ivec4(2); j = ivec4(n); for (int i = 0; i < j.x; i++) vertex(); }",
        "void main() { int j[2]; j[0] = 2; j = int[](n, 1); for (int i = 0; i < j[0]; i++) vertex(); }",
        "struct S { ivec2 a; int b; }; void main() { S s, t; s.a.x = 2; t.a = ivec2(n); t.b = 1; s = t; for (int i = 0; i < s.a.x; i++) vertex(); }",
        "void change(inout ivec2 j) { j.x = n; vertex(); } void main() { ivec2 j = ivec2(2); change(j); for (int i = 0; i < j.x; i++) vertex(); }",
        "void change(inout int j) { j = n; vertex(); } void main() { ivec2 j = ivec2(2); change(j.x); for (int i = 0; i < j.x; i++) vertex(); }",
        "ivec2 j; void change() { j[n & 1] = 1; } void main() { j = ivec2(2); change(); for (int i = 0; i < j.x; i++) vertex(); }",
        "ivec2 j; void change() { if (flag) j.x = 1; vertex(); } void main() { j = ivec2(2); change(); for (int i = 0; i < j.x; i++) vertex(); }",
        "void main() { int j[2]; if (j[0] == j[1]) vertex(); vertex(); }",
        "void main() { ivec2 j; j.x = 1; if (j.x == j.y) vertex(); vertex(); }",
        "void some(int k) { ivec2 j; if (k == 0) j.x = 2; for (int i = 0; i < j.x; i++) vertex(); }
         void main() { some(0); some(1); }",
        // What is known in one arm alone, or otherwise in another.
        "void main() { int j; if (flag) j = 2; else vertex(); if (!flag) vertex(); for (int i = 0; i < j; i++) vertex(); }",
        "void main() { int j; switch (n) { case 0: j = 1; vertex(); break; case 1: j = 1; case 2: vertex(); } for (int i = 0; i < j; i++) vertex(); }",
        "int some() { if (flag) { vertex(); return 1; } vertex(); return 2; } void main() { int j = some(); for (int i = 0; i < j; i++) vertex(); }",
        "void main() { int j = 1; for (int i = 0; i < 3; i++) { if (n == i) { vertex(); break; } vertex(); j++; } for (int i = 0; i < j; i++) vertex(); }",
        "void main() { int j = 0; for (int i = 0; i < 2; i++) { for (;;) { if (flag) { vertex(); j++; break; } else { vertex(); break; } } } if (j == 2) vertex(); }",
        "void main() { for (int i = 0; i < 3; i++) { switch (n) { case 0: vertex(); continue; case 1: vertex(); break; default: return; } vertex(); } }",
        "void main() { for (int i = 0; i < 2; i++) { if (flag) { vertex(); if (n == 1) break; } else vertex(); } }",
        "void one() { if (flag) { vertex(); return; } vertex(); if (n == 1) return; vertex(); } void main() { one(); }",
        // Runs that emit the same number on different ways, and then not.
        "void main() { int j; if (flag) { j = 1; vertex(); } else { j = 2; vertex(); } for (int i = 0; i < j; i++) vertex(); }",
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
        // Parts of variables are not followed where they are passed.
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

/// Returns that number for a shader with instructions for vertex streams.
fn of_streams(functions: &str) -> Option<u32> {
    let source = format!(
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 8) out;
        layout(location = 0, stream = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) out float value;
        layout(push_constant) uniform Push {{ bool flag; }};
        {functions}"
    );
    known(&common::compile_stage("geom", &source, &[]))
}

#[test]
fn a_number_is_known_if_it_is_the_same_for_all_streams() {
    let cases = [
        ("EmitStreamVertex(0); EmitStreamVertex(0);", Some(2)),
        ("EmitStreamVertex(0); EmitStreamVertex(1);", Some(1)),
        ("for (int i = 0; i < 3; i++) { EmitStreamVertex(3); EmitStreamVertex(0); }", Some(3)),
        ("EmitStreamVertex(2); EndStreamPrimitive(2);", Some(1)),
        ("EmitStreamVertex(0); EndStreamPrimitive(1);", Some(1)),
        ("EmitStreamVertex(0); EmitStreamVertex(1); EmitStreamVertex(1);", None),
        ("EmitStreamVertex(0); if (flag) EmitStreamVertex(1);", None),
        // No run emits to stream 1, but a capture of the stream would take the number of stream 0.
        ("bool never = false; EmitStreamVertex(0); if (never) EmitStreamVertex(1);", None),
    ];
    for (code, primitives) in cases {
        assert_eq!(of_streams(&format!("void main() {{ {code} }}")), primitives, "{code}");
    }
}

/// Modules that are built to take long: the number of simulated words is limited, and so is what is not words.
#[test]
fn walks_over_hostile_shaders_end_soon() {
    let many = |number: usize, text: &str| text.repeat(number);
    let shaders = [
        // Each of the runs that a selection parts goes on by itself.
        format!("void main() {{ {} }}", many(24, "if (n == 1) vertex(); else EndPrimitive();")),
        // Nested selections, of which each arm leaves the loop.
        format!(
            "void main() {{ for (int i = 0; i < 9; i++) {{ {} vertex(); {} }} }}",
            many(120, "if (flag) { vertex(); if (n == 2) break; "),
            many(120, "}")
        ),
        format!("void main() {{ {} }}", many(400, "while (flag) { vertex(); if (n == 3) break; }")),
        // Many parts, all of which are forgotten each time.
        format!(
            "void main() {{ int j[999]; {} for (int i = 0; i < 99999; i++) {{ j[n] = i; if (j[0] == 1) vertex(); }} }}",
            (0..999).map(|i| format!("j[{i}] = {i};")).collect::<String>()
        ),
        // Many functions, each of which calls the one before twice.
        format!(
            "void f0() {{ if (flag) vertex(); }} {} void main() {{ f40(); }}",
            (1..=40)
                .map(|i| format!("void f{i}() {{ f{0}(); f{0}(); }}", i - 1))
                .collect::<String>()
        ),
    ];
    for functions in &shaders {
        let source = format!(
            "#version 450
            layout(triangles) in;
            layout(points, max_vertices = 200) out;
            layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) out float value;
            layout(push_constant) uniform Push {{ int n; bool flag; }};
            void vertex() {{ value = 1.0; EmitVertex(); }}
            {functions}"
        );
        let words = common::compile_stage("geom", &source, &[]);
        let begin = std::time::Instant::now();
        assert_eq!(known(&words), None, "{functions:.200}");
        let time = begin.elapsed();
        println!("{:4} ms: {functions:.80}", time.as_millis());
        assert!(time.as_secs() < 5, "{time:?}: {functions:.200}");
    }
}

/// A parameter would have two values at a time.
#[test]
fn recursion_is_not_followed() {
    let function = "%f = OpFunction %int None %reader
        %p = OpFunctionParameter %to_int
        %q = OpFunctionParameter %to_int
        %in_f = OpLabel
        OpStore %p %c2
        OpEmitVertex
        %y = OpLoad %int %q
        %is_first = OpIEqual %bool %y %c1
        OpSelectionMerge %after None
        OpBranchConditional %is_first %again %after
        %again = OpLabel
        OpStore %q %c2
        %unused = OpFunctionCall %int %f %q %p
        OpBranch %after
        %after = OpLabel
        %result = OpLoad %int %p
        OpReturnValue %result";
    let body = format!(
        "%a = OpVariable %to_int Function
        %b = OpVariable %to_int Function
        OpStore %b %c1
        %x = OpFunctionCall %int %f %a %b
        {IF_TWO}
        OpReturn
        OpFunctionEnd
        {function}"
    );
    assert_eq!(assembled("", &body), None);
}

/// Values of other types than their ids say are not known.
#[test]
fn values_of_wrong_types_are_not_known() {
    let emitted = |value: &str| assembled("", &format!("{value} {IF_TWO} OpReturn"));
    assert_eq!(emitted("%x = OpCopyObject %int %c2"), Some(2));
    assert_eq!(emitted("%x = OpUndef %int"), None);
    let words = |value: &str| {
        let declarations = "%uint = OpTypeInt 32 0
            %two = OpConstant %uint 2
            %vector = OpTypeVector %int 2
            %both = OpConstantComposite %vector %c2 %c1
            %c7 = OpConstant %int 7
            %zero = OpConstant %int 0";
        assembled(declarations, &format!("{value} {IF_TWO} OpReturn"))
    };
    assert_eq!(words("%x = OpCompositeExtract %int %both 0"), Some(2));
    assert_eq!(words("%x = OpCompositeExtract %int %both 1"), Some(1));
    assert_eq!(words("%x = OpCompositeExtract %int %both 2"), None);
    assert_eq!(words("%x = OpCopyObject %int %two"), None);
    assert_eq!(
        words("%v = OpCompositeInsert %vector %c2 %both 1 %x = OpCompositeExtract %int %v 1"),
        Some(2)
    );
    assert_eq!(
        words("%v = OpCompositeInsert %vector %c2 %both 2 %x = OpCompositeExtract %int %v 2"),
        None
    );
    let shuffled = |components: &str| {
        words(&format!(
            "%v = OpVectorShuffle %vector %both %both {components} %x = OpCompositeExtract %int %v 1"
        ))
    };
    assert_eq!(shuffled("1 0"), Some(2));
    assert_eq!(shuffled("0 3"), Some(1));
    assert_eq!(shuffled("0 4"), None);
    assert_eq!(shuffled("0 4294967295"), None);
    // What is beyond the end of an array is undefined.
    let stored = |index: &str| {
        words(&format!(
            "%pair_of = OpVariable %to_pair Function
            %at_1 = OpAccessChain %to_int %pair_of %c1
            %other = OpAccessChain %to_int %pair_of {index}
            OpStore %at_1 %c2
            OpStore %other %c1
            %x = OpLoad %int %at_1"
        ))
    };
    assert_eq!(stored("%zero"), Some(2));
    assert_eq!(stored("%c1"), Some(1));
    assert_eq!(stored("%c7"), None);
}

/// A store, a load, a call and its arguments may have 16 bits, too. `spirv-opt` removes such calls and variables.
#[test]
fn moved_values_may_have_16_bits() {
    let emitted = |functions: &str| {
        let source = format!(
            "#version 450
            layout(points) in;
            layout(points, max_vertices = 8) out;
            layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) out float value;
            void vertex() {{ value = 1.0; EmitVertex(); }}
            {functions}"
        );
        known(&common::compile_stage("geom", &source, &[]))
    };
    for (number, known) in [("65535", None), ("32767", Some(2))] {
        for functions in [
            "void main() { mediump int i = NUMBER; if (i == NUMBER) vertex(); vertex(); }",
            "void main() { mediump ivec2 i = ivec2(NUMBER); if (i.x == NUMBER) vertex(); vertex(); }",
            "mediump int same(int of) { vertex(); return of; } void main() { if (same(NUMBER) == NUMBER) vertex(); }",
            "int same(mediump int of) { vertex(); return of; } void main() { if (same(NUMBER) == NUMBER) vertex(); }",
        ] {
            let functions = functions.replace("NUMBER", number);
            assert_eq!(emitted(&functions), known, "{functions}");
        }
    }
    // Floats may lose any of their bits.
    assert_eq!(
        emitted("void main() { float f = 1.0; if (f == 1.0) vertex(); vertex(); }"),
        Some(2)
    );
    assert_eq!(
        emitted("void main() { mediump float f = 1.0; if (f == 1.0) vertex(); vertex(); }"),
        None
    );
    // Members of structures, of which the others are as usual.
    let member = |member: &str| {
        emitted(&format!(
            "struct S {{ mediump int a; int b; }}; struct T {{ int a; int b; }};
            void main() {{ S s; T t; {member} = 65536; if ({member} == 65536) vertex(); vertex(); }}"
        ))
    };
    assert_eq!(member("t.b"), Some(2));
    assert_eq!(member("s.a"), None);
}
