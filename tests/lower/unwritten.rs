//! Outputs that a shader does not write on every path: they are zero on the backends that store
//! outputs themselves, and undefined on the native backend. The probe does not report undefined
//! values as wrong.

use vkxfb::lower::{Backend, Shader, compute, native, vertex};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::contents::Given;
use vkxfb_probe::diagnose::{CapturedBuffer, Expectation, Fault, Sequence, Verdict, diagnose};
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::records::{self, Records, RecordsDiffer};
use vkxfb_probe::report::{Outcome, ProbeReport};
use vkxfb_probe::run;
use vkxfb_probe::subject::Subject;

use crate::common;
use crate::common::device::{capture, open_with};

/// The number of dwords of a record of [`SHADER`].
const DWORDS: usize = 16;

/// Branches, an early return, a loop with a dynamic index, single components, a function, and an
/// output that is never written.
const SHADER: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 64, xfb_offset = 0) flat out uvec2 always;
    layout(location = 1, xfb_offset = 8) flat out uvec3 branch;
    layout(location = 2, xfb_offset = 20) flat out uint never;
    layout(location = 3, xfb_offset = 24) flat out uint list[4];
    layout(location = 7, xfb_offset = 40) flat out uvec4 parts;
    layout(location = 8, xfb_offset = 56) flat out ivec2 called;
    void call(uint v) { if (v > 4u) called = ivec2(v, -int(v)); }
    void main() {
        uint v = gl_VertexIndex;
        always = uvec2(v, gl_InstanceIndex);
        call(v);
        for (uint i = 0u; i < (v & 3u); i++) list[i] = v + i;
        parts.y = v;
        if ((v & 1u) == 0u) { parts.w = v; return; }
        if (v % 3u == 0u) branch = uvec3(v, v + 1u, v + 2u); else branch.z = v;
    }";

/// Returns the record of [`SHADER`], with 0 for outputs that are not written.
fn record(v: u32, instance: u32) -> [u32; DWORDS] {
    let mut record = [0; DWORDS];
    record[0] = v;
    record[1] = instance;
    match (v % 2, v % 3) {
        (0, _) => {}
        (_, 0) => record[2..5].copy_from_slice(&[v, v + 1, v + 2]),
        _ => record[4] = v,
    }
    for i in 0..v & 3 {
        record[6 + i as usize] = v + i;
    }
    record[11] = v;
    if v.is_multiple_of(2) {
        record[13] = v;
    }
    if v > 4 {
        record[14..].copy_from_slice(&[v, v.wrapping_neg()]);
    }
    record
}

/// Returns the bytes that [`capture`] captures from a shader with these records: strips of two
/// instances, each with 7 vertices from vertex 3 on.
fn expected<const N: usize>(record: impl Fn(u32, u32) -> [u32; N]) -> Vec<u8> {
    let topology = PrimitiveTopology::TriangleStrip;
    let records = (1..3).flat_map(|instance| {
        let vertex = move |output| 3 + topology.gather(ProvokingVertex::First, output) as u32;
        (0..topology.output_count(7)).map(move |output| (vertex(output), instance))
    });
    records.flat_map(|(v, i)| record(v, i)).flat_map(u32::to_le_bytes).collect()
}

/// Captures a shader with every backend that stores outputs itself, and compares the bytes.
fn assert_captures(words: &[u32], expected: &[u8]) {
    let best = OpenOptions::default();
    let staged = OpenOptions { staging: Some(4096), ..OpenOptions::default() };
    let descriptors = OpenOptions { resources: Resources::Descriptors, ..OpenOptions::default() };
    for (what, options) in [("best", best), ("staged", staged), ("descriptors", descriptors)] {
        let mut gpu = open_with(options);
        let vertex_input = VertexInput::default();
        for backend in [Backend::Vertex, Backend::Compute] {
            if !gpu.backends().contains(&backend) {
                continue;
            }
            let target = gpu.compute_target(backend).unwrap();
            let options = compute::Options::new(&vertex_input).target(target);
            let lowered = match backend {
                Backend::Compute => compute::lower(&Shader::new(words), &options),
                _ => vertex::lower(&Shader::new(words)),
            };
            let lowered = lowered.unwrap();
            common::validate(&lowered.words, "vulkan1.2");
            let found = capture(&mut gpu, &lowered).remove(0).unwrap();
            let differs = found.iter().zip(expected).position(|(found, right)| found != right);
            if let Some(at) = differs {
                let at = at / 4 * 4;
                let dword = |bytes: &[u8]| format!("{:02x?}", &bytes[at..at + 4]);
                let (found, right) = (dword(&found), dword(expected));
                panic!("{backend}, {what}: dword {} is {found}, not {right}", at / 4);
            }
            assert_eq!(found.len(), expected.len());
        }
    }
}

#[test]
fn what_a_path_leaves_unwritten_is_zero() {
    let words = common::compile(SHADER, &["--target-env", "vulkan1.2"]);
    assert_captures(&words, &expected(record));
    // The same after an optimiser.
    assert_captures(&common::optimize(&words, &["-O"]), &expected(record));
}

/// A return value that is not completely assigned. It is a function variable in modules from Slang,
/// and a module variable for globals in GLSL.
#[test]
fn variables_that_are_read_before_they_are_written_are_zero() {
    let words = common::compile(
        "#version 450
        struct Varyings { uvec2 key; uint list[2]; uint sum; };
        layout(location = 0, xfb_buffer = 0, xfb_stride = 24, xfb_offset = 0) flat out Varyings result;
        layout(location = 5, xfb_offset = 20) flat out uint global;
        uint counter;
        void count(uint v) { if (v > 5u) counter += v; }
        Varyings varyings(uint v) {
            Varyings made;
            if ((v & 1u) == 0u) made.key = uvec2(v, v + 1u); else made.list[1] = v;
            made.sum += v;
            return made;
        }
        void main() {
            result = varyings(gl_VertexIndex);
            count(gl_VertexIndex);
            global = counter;
        }",
        &[],
    );
    let record = |v: u32, _| {
        let counter = if v > 5 { v } else { 0 };
        match v % 2 {
            0 => [v, v + 1, 0, 0, v, counter],
            _ => [0, 0, 0, v, v, counter],
        }
    };
    assert_captures(&words, &expected(record));
    assert_captures(&common::optimize(&words, &["-O"]), &expected(record));
}

/// Undefined values, which DXC and spirv-opt emit for variables that were never assigned.
#[test]
fn undefined_values_are_zero() {
    let words = common::assemble(
        r#"
        OpCapability Shader
        OpCapability TransformFeedback
        OpMemoryModel Logical GLSL450
        OpEntryPoint Vertex %1 "main" %2 %3 %4 %5
        OpExecutionMode %1 Xfb
        OpDecorate %2 BuiltIn VertexIndex
        OpDecorate %3 Location 0
        OpDecorate %3 Flat
        OpDecorate %3 XfbBuffer 0
        OpDecorate %3 XfbStride 32
        OpDecorate %3 Offset 0
        OpDecorate %4 Location 1
        OpDecorate %4 XfbBuffer 0
        OpDecorate %4 XfbStride 32
        OpDecorate %4 Offset 4
        OpDecorate %5 Location 2
        OpDecorate %5 XfbBuffer 0
        OpDecorate %5 XfbStride 32
        OpDecorate %5 Offset 20
        %10 = OpTypeVoid
        %11 = OpTypeFunction %10
        %12 = OpTypeInt 32 0
        %13 = OpTypeFloat 32
        %14 = OpTypeVector %13 4
        %15 = OpConstant %12 2
        %16 = OpTypeArray %13 %15
        %17 = OpTypeStruct %13 %16
        %18 = OpTypePointer Input %12
        %19 = OpTypePointer Output %12
        %20 = OpTypePointer Output %14
        %21 = OpTypePointer Output %17
        %22 = OpTypeBool
        %23 = OpConstant %12 1
        %24 = OpConstant %12 0
        %25 = OpUndef %14
        %2 = OpVariable %18 Input
        %3 = OpVariable %19 Output
        %4 = OpVariable %20 Output
        %5 = OpVariable %21 Output
        %1 = OpFunction %10 None %11
        %30 = OpLabel
        %31 = OpLoad %12 %2
        %32 = OpUndef %12
        %33 = OpBitwiseAnd %12 %31 %23
        %34 = OpIEqual %22 %33 %24
        OpSelectionMerge %36 None
        OpBranchConditional %34 %35 %36
        %35 = OpLabel
        OpBranch %36
        %36 = OpLabel
        %37 = OpPhi %12 %32 %30 %31 %35
        OpStore %3 %37
        OpStore %4 %25
        %38 = OpUndef %17
        OpStore %5 %38
        OpReturn
        OpFunctionEnd
        "#,
        "vulkan1.0",
    );
    let record = |v: u32, _| [if v.is_multiple_of(2) { v } else { 0 }, 0, 0, 0, 0, 0, 0, 0];
    assert_captures(&words, &expected(record));
}

/// Returns the names of the outputs that a shader may leave unwritten, and whether it may read
/// undefined values.
fn unwritten(declarations: &str, body: &str, arguments: &[&str]) -> (Vec<String>, bool) {
    let source = format!(
        "#version 450
        layout(xfb_buffer = 0, xfb_stride = 64) out;
        layout(location = 0, xfb_offset = 0) flat out uvec4 a;
        layout(location = 1, xfb_offset = 16) flat out uint list[2];
        layout(location = 3, xfb_offset = 24) out Block {{ vec2 x; vec3 y; }} block;
        out gl_PerVertex {{ layout(xfb_offset = 48) vec4 gl_Position; float gl_PointSize; }};
        {declarations}
        void main() {{ uint v = gl_VertexIndex; {body} }}"
    );
    let words = common::compile(&source, arguments);
    let lowered = vertex::lower(&Shader::new(&words)).unwrap();
    common::validate(&lowered.words, "vulkan1.0");
    let vertex_input = VertexInput::default();
    let compute = compute::lower(&Shader::new(&words), &compute::Options::new(&vertex_input));
    let native = native::lower(&Shader::new(&words)).unwrap();
    for other in [compute.unwrap(), native] {
        assert_eq!(other.unwritten, lowered.unwritten, "{body}");
        assert_eq!(other.reads_undefined, lowered.reads_undefined, "{body}");
    }
    let outputs = lowered.unwritten.iter().map(|index| &lowered.layout.outputs[*index]);
    let names: Vec<String> = outputs.map(|output| output.name.clone().unwrap()).collect();
    // An output that is written on every path costs nothing: it is not zeroed before the shader is
    // called.
    let text = common::disassemble(&lowered.words);
    let begin = text.lines().skip_while(|line| !line.contains("%xfb_main = OpFunction")).nth(2);
    let calls_at_once = begin.unwrap().contains("OpFunctionCall");
    assert!(calls_at_once || lowered.reads_undefined || !names.is_empty(), "{body}: {text}");
    assert!(!calls_at_once || names.is_empty(), "{body}: {text}");
    (names, lowered.reads_undefined)
}

/// Code that writes all outputs except `a`.
const REST: &str =
    "list[0] = v; list[1] = v; block.x = vec2(v); block.y = vec3(v); gl_Position = vec4(v);";

#[test]
fn what_every_path_writes_is_left_alone() {
    for (declarations, body) in [
        ("", "a = uvec4(v);"),
        ("", "a.x = v; a.y = v; a.zw = uvec2(v);"),
        ("", "if (v > 3u) a = uvec4(v); else a = uvec4(0u);"),
        ("", "if (v > 3u) { a = uvec4(v); } else { a.xyz = uvec3(v); a.w = v; }"),
        (
            "",
            "switch (v) { case 0u: a = uvec4(1u); break; case 7u: a.x = 1u; default: a = uvec4(2u); }",
        ),
        ("", "do { a = uvec4(v); v++; } while (v < 9u);"),
        ("", "a = uvec4(v); for (uint i = 0u; i < v; i++) { a.x += i; if (i == 4u) break; }"),
        ("", "a = uvec4(v); a[v & 3u] = 7u;"),
        ("void f(uint v) { if (v == 2u) { a = uvec4(v); return; } a = uvec4(3u); }", "f(v);"),
        (
            "void g(uint v) { a = uvec4(v); } void f(uint v) { g(v); }",
            "if (v > 1u) f(v); else g(v);",
        ),
        (
            "uvec4 made(uint v) { uvec4 r; r.xy = uvec2(v); r.zw = uvec2(r.x); return r; }",
            "a = made(v);",
        ),
        ("struct S { uvec4 a; float f[3]; };", "S s; s.a = uvec4(v); s.f[2] = 1.0; a = s.a;"),
        ("uint g;", "g = v; a = uvec4(g);"),
    ] {
        let nothing = (Vec::<String>::new(), false);
        let body = format!("{REST} {body}");
        assert_eq!(unwritten(declarations, &body, &[]), nothing, "{body}");
        assert_eq!(unwritten(declarations, &body, &["-gVS", "-Od"]), nothing, "{body}");
    }
}

#[test]
fn what_a_path_leaves_unwritten_is_named() {
    let names = |declarations: &str, body: &str| {
        let (names, undefined) = unwritten(declarations, body, &[]);
        assert!(!undefined, "{body}");
        names.join(" ")
    };
    let a = |body: &str| names("", &format!("{REST} {body}"));
    assert_eq!(names("", ""), "a list[0] list[1] block.x block.y gl_Position");
    assert_eq!(
        names("", "a = uvec4(v); list[0] = v; block.y = vec3(v);"),
        "list[1] block.x gl_Position"
    );
    assert_eq!(a("a.xyz = uvec3(v);"), "a");
    assert_eq!(a("a[v & 3u] = v;"), "a");
    assert_eq!(a("if (v > 3u) a = uvec4(v);"), "a");
    assert_eq!(a("if (v > 3u) a.xy = uvec2(v); else a.yzw = uvec3(v);"), "a");
    assert_eq!(a("if (v > 3u) return; a = uvec4(v);"), "a");
    assert_eq!(a("switch (v) { case 0u: a = uvec4(1u); break; case 7u: a.x = 1u; }"), "a");
    assert_eq!(a("while (v < 9u) { a = uvec4(v); v++; }"), "a");
    assert_eq!(a("for (uint i = 0u; i < 4u; i++) { if (i == v) break; a = uvec4(v); }"), "a");
    // Read first.
    assert_eq!(a("a += uvec4(1u); a = uvec4(a.x);"), "a");
    let early = "void f(uint v) { if (v == 2u) return; a = uvec4(v); }";
    assert_eq!(names(early, &format!("{REST} f(v);")), "a");
    // Written on every path, with an undefined value.
    let local = unwritten("", &format!("{REST} uvec4 r; if (v == 2u) r = uvec4(v); a = r;"), &[]);
    assert_eq!(local, (vec![], true));
    let global = unwritten("uint g;", &format!("{REST} a = uvec4(g);"), &[]);
    assert_eq!(global, (vec![], true));
}

/// Returns a probe subject of a vertex shader.
fn subject(source: &str) -> Subject {
    let words = common::compile(source, &["--target-env", "vulkan1.2"]);
    Subject::from_shader("shader", &Shader::new(&words), &Given::default()).unwrap()
}

#[test]
fn the_probe_calls_no_backend_wrong_for_it() {
    let source =
        SHADER.replace("uint v = gl_VertexIndex;", "uint v = gl_VertexIndex; gl_PointSize = 1.0;");
    let mut gpu = open_with(OpenOptions::default());
    let mut plan =
        Plan::full(gpu.backends(), gpu.context().settings().max_workgroups_per_axis).unwrap();
    plan.quick();
    plan.subjects = vec![subject(&source)];
    let mut report = ProbeReport::new(run::device_info(&gpu), "");
    common::device::probe(&mut gpu, &plan, &mut report);
    assert_eq!(report.outcome(), Outcome::AllRight, "{:#?}", report.mismatches.first());
    assert!(report.cells.iter().all(|cell| cell.run > 0), "{:#?}", report.cells);
}

/// A driver may capture any value for an output that was not written, but must capture the value of
/// an output that was written.
#[test]
fn the_probe_tells_undefined_from_wrong() {
    let subject = subject(
        "#version 450
        layout(location = 0, xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0) flat out uint always;
        layout(location = 1, xfb_offset = 4) flat out uvec2 sometimes;
        void main() {
            always = gl_VertexIndex;
            if ((gl_VertexIndex & 1) == 0) sometimes = uvec2(7u, gl_VertexIndex);
        }",
    );
    assert_eq!(subject.unwritten, [1]);
    let buffers = |dwords: &[u32]| {
        let bytes = dwords.iter().flat_map(|dword| dword.to_le_bytes()).collect();
        [bytes, vec![], vec![], vec![]]
    };
    let ours = buffers(&[1, 0, 0, 2, 7, 2]);
    let compare = |found: (Backend, &[u32]), expected: Backend| {
        let found = (found.0, buffers(found.1));
        let found = Records { backend: found.0, buffers: &found.1 };
        records::compare(&subject, &found, &Records { backend: expected, buffers: &ours })
    };
    let same = compare((Backend::Native, &[1, 0, 0, 2, 7, 2]), Backend::Compute).unwrap();
    assert!(same.notes().is_empty());
    let found = compare((Backend::Native, &[1, 9, 8, 2, 7, 2]), Backend::Compute).unwrap();
    assert_eq!((found.undefined, found.first_undefined.as_deref()), (2, Some("sometimes")));
    assert_eq!(
        found.notes(),
        ["differ in 2 components that the shader leaves undefined, the first of sometimes"]
    );
    // Differences in outputs that were written, in those that are always written, and in those that
    // both backends must have as 0.
    for (backend, found) in [
        (Backend::Native, [1, 0, 0, 2, 0, 2]),
        (Backend::Native, [3, 0, 0, 2, 7, 2]),
        (Backend::Vertex, [1, 9, 0, 2, 7, 2]),
    ] {
        let differ = compare((backend, &found), Backend::Compute).unwrap_err();
        let RecordsDiffer::Component { output, .. } = differ else { panic!("{differ}") };
        assert_eq!(output, if found[0] == 3 { "always" } else { "sometimes" });
    }

    // The same within the captures of one backend.
    let verdict = |dwords: &[u32], backend: Backend| {
        let bytes = buffers(dwords);
        let captured = CapturedBuffer {
            buffer: 0,
            bytes: &bytes[0],
            bound: 0..24,
            position: 0,
            counter: None,
        };
        let expectation = Expectation {
            sequence: Sequence::Assembled {
                topology: PrimitiveTopology::PointList,
                provoking: ProvokingVertex::First,
                vertex_count: 2,
            },
            preserves_provoking_vertex: true,
            instance_count: 1,
            layout: &subject.layout,
            records: [&ours[0], &[], &[], &[]],
            undefined: subject.undefined(backend),
            primitives_written: 2,
        };
        diagnose(&expectation, &[captured]).unwrap()
    };
    assert_eq!(verdict(&[1, 9, 8, 2, 6, 5], Backend::Native), Verdict::Match);
    for (dwords, backend) in
        [([1, 9, 0, 2, 7, 2], Backend::Compute), ([3, 0, 0, 2, 7, 2], Backend::Native)]
    {
        let Verdict::Mismatch(mismatch) = verdict(&dwords, backend) else { panic!("{dwords:?}") };
        assert_eq!(mismatch.fault, Fault::WrongBytes, "{mismatch}");
    }
}
