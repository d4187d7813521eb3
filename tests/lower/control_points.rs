//! Arrays with one element per control point, in captures of tessellation shaders: compilers for CPUs take seconds for
//! shaders with thousands of elements, so lowering keeps no more of them than a shader reads.

use spirv::{Op, StorageClass};
use vkxfb::Shader;
use vkxfb_rewriter::capture::CaptureList;
use vkxfb_rewriter::lower::{Lowered, compute};
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};
use vkxfb_rewriter::spirv::{Id, Module, Section, string_words};
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::common;

const VERTEX: &str = "#version 450
    layout(location = 0) out vec4 given[8];
    void main() {
        for (int i = 0; i < 8; i++) given[i] = vec4(gl_VertexIndex + i);
        gl_Position = vec4(gl_VertexIndex);
    }";

const EVALUATION: &str = "#version 450
    layout(triangles) in;
    layout(location = 0) in vec4 passed[];
    layout(location = 0) out vec4 captured;
    void main() {
        captured = vec4(0.0);
        for (int i = 0; i < 3; i++) captured += passed[i] * gl_TessCoord[i];
        gl_Position = gl_in[0].gl_Position;
    }";

/// A control shader of patches with three control points, whose function has this code.
fn control(code: &str) -> String {
    format!(
        "#version 450
        layout(vertices = 3) out;
        layout(location = 0) in vec4 given[][8];
        layout(location = 0) out vec4 passed[];
        layout(push_constant) uniform Push {{ int number; }};
        void main() {{
            gl_TessLevelOuter = float[](1.0, 1.0, 1.0, 1.0);
            gl_TessLevelInner = float[](1.0, 1.0);
            gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
            {code}
        }}"
    )
}

/// Lowers the shaders with this code of the control shader. Returns the lengths of the arrays of `Private` variables:
/// for each variable the length of its type, and of the types within.
fn lengths(code: &str) -> Vec<Vec<u32>> {
    lengths_of(&common::compile_stage("tesc", &control(code), &[]), StorageClass::Private)
}

/// Lowers the shaders with this control shader and this evaluation shader.
fn lowered_with(control: &[u32], evaluation: &str) -> Lowered {
    let vertex = common::compile(VERTEX, &[]);
    let evaluation = common::compile_stage("tese", evaluation, &[]);
    let (vertex, control) = (Shader::new(&vertex), Shader::new(control));
    let list = CaptureList::new(16).output("@0", 0);
    let input = VertexInput::default();
    let options = compute::Options::new(&input).vertex_shader(&vertex).control_shader(&control);
    let lowered = compute::lower(&Shader::new(&evaluation).captures(&list), &options).unwrap();
    common::validate(&lowered.words, "vulkan1.2");
    common::validate(&lowered.specialized(&[]).unwrap(), "vulkan1.2");
    lowered
}

/// The same for variables in this storage class, with this control shader.
fn lengths_of(control: &[u32], storage: StorageClass) -> Vec<Vec<u32>> {
    let module = Module::parse(&lowered_with(control, EVALUATION).words).unwrap();
    let declarations = Declarations::of(&module);
    let all = module.section(Section::Declarations).chain(module.section(Section::Functions));
    let variables = all.filter(|i| i.is(Op::Variable) && i.operand(2) == storage as u32);
    let pointees = variables.filter_map(|i| match declarations.ty(i.id(0)) {
        Some(Type::Pointer { pointee, .. }) => Some(*pointee),
        _ => None,
    });
    pointees.map(|ty| arrays(&declarations, ty)).collect()
}

fn arrays(declarations: &Declarations, ty: Id) -> Vec<u32> {
    match declarations.ty(ty) {
        Some(Type::Array { element, length }) => {
            let mut all = vec![declarations.constant(*length).unwrap()];
            all.extend(arrays(declarations, *element));
            all
        }
        Some(Type::Struct { members }) => {
            members.iter().flat_map(|member| arrays(declarations, *member)).collect()
        }
        _ => Vec::new(),
    }
}

/// The varyings of the vertex shader as the control shader has them: the variables that are arrays of arrays of eight.
fn varyings(all: &[Vec<u32>]) -> Vec<u32> {
    all.iter().filter(|lengths| lengths.len() == 2 && lengths[1] == 8).map(|l| l[0]).collect()
}

#[test]
fn arrays_have_an_element_for_each_control_point_that_is_read() {
    let own = lengths("passed[gl_InvocationID] = given[gl_InvocationID][number];");
    assert_eq!(varyings(&own), [3]);
    // Neither has an array of the evaluation shader more elements, which glslang gives 32.
    assert!(own.iter().flatten().all(|length| *length < 32), "{own:?}");
    // The last element that is read by a constant.
    let other = lengths("passed[gl_InvocationID] = given[gl_InvocationID][0] + given[6][number];");
    assert_eq!(varyings(&other), [7]);
    // A control shader may read each control point that a patch may have.
    let any = lengths("passed[gl_InvocationID] = given[number][gl_InvocationID];");
    assert_eq!(varyings(&any), [32]);
    let whole = lengths(
        "vec4 copied[32][8] = given; passed[gl_InvocationID] = copied[number][gl_InvocationID];",
    );
    assert_eq!(varyings(&whole), [32]);
}

/// What is in a control shader, and its own code.
fn with_functions(functions: &str, code: &str) -> Vec<u32> {
    let source = control(code).replace("void main()", &format!("{functions}\nvoid main()"));
    common::compile_stage("tesc", &source, &[])
}

/// Whether a function of the lowered shader has a variable with the inputs of all 32 control points, or saves one for
/// each of three invocations at a barrier.
fn has_copy(control: &[u32]) -> bool {
    let saved = lengths_of(control, StorageClass::Private);
    let own = lengths_of(control, StorageClass::Function);
    own.iter().any(|lengths| lengths[..] == [32, 8])
        || saved.iter().any(|lengths| lengths[..] == [3, 32, 8])
}

#[test]
fn inputs_are_read_in_place_of_copies() {
    let whole = "vec4 copied[32][8] = given;";
    let barrier = "int me = gl_InvocationID;
        passed[gl_InvocationID] = copied[me][number];
        barrier();
        if (me == 0) passed[gl_InvocationID] += passed[1] * copied[number][1];";
    assert!(!has_copy(&with_functions("", &format!("{whole} {barrier}"))));
    // Each element by itself, in a structure, as DXC has it.
    let elements: Vec<String> = (0..32).map(|i| format!("Point(given[{i}][2], 2)")).collect();
    let elements = elements.join(", ");
    let points = format!("Point points[32] = Point[]({elements});");
    let sum = "points[number].at + points[gl_InvocationID].at * points[1].at.y";
    let of_elements = format!("{points} passed[gl_InvocationID] = {sum};");
    let words = with_functions("struct Point { vec4 at; int two; };", &of_elements);
    let arrays = lengths_of(&words, StorageClass::Function);
    assert!(!arrays.iter().any(|lengths| lengths[..] == [32]), "{arrays:?}");
    let changed = format!("{points} points[number].two = 3; passed[gl_InvocationID] = {sum};");
    let words = with_functions("struct Point { vec4 at; int two; };", &changed);
    let arrays = lengths_of(&words, StorageClass::Function);
    assert!(arrays.iter().any(|lengths| lengths[..] == [32]), "{arrays:?}");
    // Passed to functions, which glslang copies for each call.
    let functions = "vec4 last(vec4 all[32][8], int at) { return all[at][7] + all[2][3]; }
        vec4 sum(int at, vec4 all[32][8]) { return last(all, at + 1) + all[at][1]; }";
    let words = with_functions(functions, "passed[gl_InvocationID] = sum(number, given);");
    assert!(!has_copy(&words));
    let words = with_functions(
        functions,
        &format!("{whole} {barrier} passed[gl_InvocationID] *= sum(number, copied);"),
    );
    assert!(!has_copy(&words));
    // glslang makes a pointer for each access, optimizers one for equal accesses, also on both sides of a barrier.
    let words = with_functions(
        "",
        &format!(
            "{whole}
            passed[gl_InvocationID] = copied[1][2];
            barrier();
            passed[gl_InvocationID] += copied[1][2];
            barrier();
            passed[gl_InvocationID] *= copied[1][2] + copied[2][3];"
        ),
    );
    let merged = common::optimize(&words, &["--redundancy-elimination"]);
    assert!(merged.len() < words.len());
    assert!(!has_copy(&merged));
}

#[test]
fn what_an_invocation_changes_is_its_own() {
    let whole = "vec4 copied[32][8] = given;";
    let read = "passed[gl_InvocationID] = copied[number][1];";
    assert!(!has_copy(&with_functions("", &format!("{whole} {read}"))));
    for changed in [
        format!("{whole} copied[number][2] = vec4(7.0); {read}"),
        format!("{whole} {read} barrier(); {read} copied[1] = copied[2]; {read}"),
        // Two values.
        format!(
            "{whole} {read} copied = vec4[32][8](given[1], {}); {read}",
            ["given[2]"; 31].join(", ")
        ),
        // No other index leads to these.
        format!(
            "vec4 copied[32][8] = vec4[32][8](given[1], {}); {read}",
            ["given[2]"; 31].join(", ")
        ),
    ] {
        assert!(has_copy(&with_functions("", &changed)), "{changed}");
    }
    let function = "void change(inout vec4 all[32][8]) { all[number][1].x += 1.0; }";
    assert!(has_copy(&with_functions(function, &format!("{whole} change(copied); {read}"))));
}

/// Whether the outputs of the vertex shader are stored to arrays by an index that varies, with this code of the control
/// shader.
fn stores_by_varying_index(declarations: &str, code: &str) -> bool {
    let control = with_functions(declarations, code);
    let module = Module::parse(&lowered_with(&control, EVALUATION).words).unwrap();
    let name = string_words("xfb_pass_vertex");
    let names = module.section(Section::Names);
    let mut named = names.filter(|i| i.is(Op::Name) && i.operands()[1..] == name);
    let function = named.next().unwrap().id(0);
    let code = module.section(Section::Functions);
    let code = code.skip_while(|i| !(i.is(Op::Function) && i.id(1) == function));
    let code: Vec<_> = code.take_while(|i| !i.is(Op::FunctionEnd)).collect();
    let slot = code.iter().find(|i| i.is(Op::FunctionParameter)).unwrap().id(1);
    code.iter().any(|i| i.is(Op::AccessChain) && i.id(3) == slot)
}

#[test]
fn vertices_of_small_patches_are_stored_by_constant_indices() {
    let own = "passed[gl_InvocationID] = given[gl_InvocationID][number];";
    assert!(!stores_by_varying_index("", own));
    // 32 control points.
    assert!(stores_by_varying_index("", "passed[gl_InvocationID] = given[number][0];"));
    // Large vertices.
    let more = "layout(location = 8) in vec4 more[][16];";
    let also = format!("{own} passed[gl_InvocationID] += more[gl_InvocationID][number];");
    assert!(stores_by_varying_index(more, &also));
}

#[test]
fn tessellators_are_one_function_without_barriers() {
    let control = with_functions("", "passed[gl_InvocationID] = given[gl_InvocationID][0];");
    for domain in ["triangles", "quads", "isolines"] {
        for points in ["", ", point_mode"] {
            let layout = format!("layout({domain}{points}) in");
            let evaluation = EVALUATION.replace("layout(triangles) in", &layout);
            let words = lowered_with(&control, &evaluation).specialized(&[]).unwrap();
            let module = Module::parse(&words).unwrap();
            let count = |op| module.section(Section::Functions).filter(|i| i.is(op)).count();
            assert_eq!((count(Op::ControlBarrier), count(Op::FunctionCall)), (0, 0), "{layout}");
        }
    }
}
