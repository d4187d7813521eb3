//! Arrays with one element per control point, in captures of tessellation shaders: compilers for CPUs take seconds for
//! shaders with thousands of elements, so lowering keeps no more of them than a shader reads.

use spirv::{Op, StorageClass};
use vkxfb::Shader;
use vkxfb::capture::CaptureList;
use vkxfb::internal::spirv::declarations::{Declarations, Type};
use vkxfb::internal::spirv::{Id, Module, Section};
use vkxfb::lower::compute;
use vkxfb::vertex_input::VertexInput;

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
    lengths_of(&common::compile_stage("tesc", &control(code), &[]))
}

/// The same for this control shader.
fn lengths_of(control: &[u32]) -> Vec<Vec<u32>> {
    let vertex = common::compile(VERTEX, &[]);
    let evaluation = common::compile_stage("tese", EVALUATION, &[]);
    let (vertex, control) = (Shader::new(&vertex), Shader::new(control));
    let list = CaptureList::new(16).output("@0", 0);
    let input = VertexInput::default();
    let options = compute::Options::new(&input).vertex_shader(&vertex).control_shader(&control);
    let lowered = compute::lower(&Shader::new(&evaluation).captures(&list), &options).unwrap();
    common::validate(&lowered.words, "vulkan1.2");
    common::validate(&lowered.specialized(&[]).unwrap(), "vulkan1.2");
    let module = Module::parse(&lowered.words).unwrap();
    let declarations = Declarations::of(&module);
    let variables = module
        .section(Section::Declarations)
        .filter(|i| i.is(Op::Variable) && i.operand(2) == StorageClass::Private as u32);
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

#[test]
fn copies_of_inputs_are_not_saved_at_barriers() {
    let shader = |before: &str, behind: &str| {
        lengths(&format!(
            "vec4 copied[32][8] = given;
            int me = gl_InvocationID;
            {before}
            passed[gl_InvocationID] = copied[me][number];
            barrier();
            if (me == 0) passed[gl_InvocationID] += passed[1] * copied[number][1];
            {behind}"
        ))
    };
    // For each of the three invocations an array of 32 control points would be saved.
    let is_saved = |lengths: &Vec<u32>| lengths[..] == [3, 32, 8];
    assert!(!shader("", "").iter().any(is_saved));
    // What an invocation changes is its own.
    assert!(shader("copied[me][2] = vec4(7.0);", "").iter().any(is_saved));
    assert!(
        shader("", "copied[me][2] = vec4(7.0); passed[gl_InvocationID] += copied[number][3];")
            .iter()
            .any(is_saved)
    );
}

/// glslang makes a pointer for each access, optimizers one for equal accesses, also on both sides of a barrier.
#[test]
fn copies_are_read_through_pointers_of_earlier_phases() {
    let words = control(
        "vec4 copied[32][8] = given;
        passed[gl_InvocationID] = copied[1][2];
        barrier();
        passed[gl_InvocationID] += copied[1][2];
        barrier();
        passed[gl_InvocationID] *= copied[1][2] + copied[2][3];",
    );
    let words = common::compile_stage("tesc", &words, &[]);
    let merged = common::optimize(&words, &["--redundancy-elimination"]);
    assert!(merged.len() < words.len());
    let is_saved = |lengths: &Vec<u32>| lengths[..] == [3, 32, 8];
    assert!(!lengths_of(&merged).iter().any(is_saved));
}
