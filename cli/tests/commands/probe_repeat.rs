//! Tests the command that a probe prints for a wrong case: it must find the same fault again.

use serde_json::{Value, json};

use crate::command::{Shaders, vkxfb};

/// The place of a vertex in its subgroup differs between the driver's capture and a compute shader,
/// and depends on the number of vertices of the draw.
const SUBGROUP: &str = "#version 450
    #extension GL_KHR_shader_subgroup_basic : require
    layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 c;
    void main() {
        c = vec4(gl_SubgroupInvocationID, gl_VertexIndex, 0, 1);
        gl_Position = vec4(1.0);
    }";

/// For all vertices but the first ones, the output is a denormal float, which one of the backends
/// may flush to zero.
const LATE: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 16) out vec4 c;
    void main() {
        float x = gl_VertexIndex < 10 ? 0.0 : float(gl_VertexIndex) * 1e-41;
        c = vec4(x, gl_VertexIndex, 0, 1);
        gl_Position = vec4(1.0);
    }";

/// Runs the command that was printed for each wrong cell of a report, and checks that it finds the
/// same case wrong. Returns the number of commands.
fn assert_repeats(report: &Value) -> usize {
    let cells = report["cells"].as_array().unwrap();
    let failures = cells.iter().map(|cell| &cell["first_failure"]).filter(|first| !first.is_null());
    let mut repeated = 0;
    // A few commands are enough, because all are made in the same way.
    for first in failures.take(4) {
        assert!(first["case"]["vertex_count"].as_u64().unwrap() > 0, "{first:#}");
        let told = first["command"].as_str().unwrap();
        let words: Vec<&str> = told.split(' ').skip(1).collect();
        let again = vkxfb(&[&words[..], &["--json"]].concat()).exits(1).json();
        let found = &again["reports"][0]["mismatches"];
        let is_it = |failure: &&Value| {
            failure["case"] == first["case"]
                && failure["backend"] == first["backend"]
                && failure["mismatch"] == first["mismatch"]
        };
        assert!(found.as_array().unwrap().iter().any(|f| is_it(&f)), "{told}: {first:#}{found:#}");
        repeated += 1;
    }
    repeated
}

#[test]
fn a_case_whose_records_differ_is_the_smallest_and_differs_again() {
    let files = Shaders::new();
    for (name, source) in [("subgroup.spv", SUBGROUP), ("late.spv", LATE)] {
        let shader = files.glsl(name, source);
        let probe = ["probe", "shader", &shader, "--device", "0", "--quick", "--json"];
        for more in [&["--provoking", "first"][..], &["--topology", "line-strip", "--isolate"]] {
            let ran = vkxfb(&[&probe[..], more].concat()).exits(1).json();
            let report = &ran["reports"][0];
            assert!(assert_repeats(report) > 0, "{name}: {report:#}");
            // Draws without vertices are right on every backend, and all native captures are right.
            for results in report["results"].as_array().unwrap() {
                assert!(results["right"].as_str().unwrap().starts_with("0x1 0x3"), "{results:#}");
                assert!(results["backend"] != "native" || results["wrong"].is_null());
            }
            // Only the compute backend draws points with a shader that does not write `PointSize`,
            // so there are no other records to compare them with.
            let points = report["results"].as_array().unwrap().iter();
            let mut points = points.filter(|r| r["topology"] == "point-list");
            assert!(name != "late.spv" || points.all(|r| r["wrong"].is_null()), "{report:#}");
        }
    }
    // Vertices up to number 9, which is the fifth of a draw, do not differ.
    let late = files.path("late.spv");
    let late = ["probe", "shader", late.to_str().unwrap(), "--device", "0", "--json"];
    let few = ["--topology", "line-strip", "--provoking", "first", "--instances", "1"];
    let ran = vkxfb(&[&late[..], &few].concat()).exits(1).json();
    let results = ran["reports"][0]["results"].as_array().unwrap();
    let compute = results.iter().find(|r| r["backend"] == "compute").unwrap();
    assert_eq!(compute["right"], json!("0x1 1x1 2x1 3x1 4x1 5x1"), "{compute:#}");
}

/// A shader whose decorations do not say what is captured of it is captured as by `vkxfb capture`: the position and all
/// outputs with locations.
#[test]
fn a_shader_without_decorations_is_probed_with_all_outputs() {
    let files = Shaders::new();
    let shader = files.glsl(
        "bare.spv",
        "
        #version 450
        layout(location = 0) out vec3 tint;
        void main() { tint = vec3(gl_VertexIndex); gl_Position = vec4(gl_VertexIndex, 0, 0, 1); }",
    );
    let probe = ["probe", "shader", &shader, "--device", "0", "--quick", "--json"];
    let probe = [&probe[..], &["--backend", "compute", "--topology", "triangle-strip"]].concat();
    let results = |more: &[&str]| {
        let json = vkxfb(&[&probe[..], more].concat()).exits(0).json();
        json["reports"][0]["results"].clone()
    };
    let all = results(&[]);
    assert!(all[0]["right"].as_str().unwrap().contains("7x1"), "{all}");
    assert_eq!(all, results(&["--varyings", "@Position,@0"]));
}
