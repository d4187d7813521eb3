//! Probes geometry shaders as a user does.

use serde_json::{Value, json};

use crate::command::{Ran, Shaders, command, vkxfb};
use crate::common;

/// A vertex shader that reads an attribute, the vertex index and the instance index.
const VERTEX: &str = "#version 450
    layout(location = 0) in vec4 at;
    layout(location = 0) flat out uvec2 id;
    void main() { id = uvec2(gl_VertexIndex, gl_InstanceIndex); gl_Position = at; }";

/// A geometry shader whose output depends on the instance, the primitive and the invocation. It
/// emits strips of 2 to 6 vertices and of one vertex.
const GEOMETRY: &str = "#version 450
    layout(triangles, invocations = 2) in;
    layout(triangle_strip, max_vertices = 7) out;
    layout(location = 0) flat in uvec2 id[];
    layout(location = 0) flat out uvec4 found;
    void emit(uint i) {
        gl_Position = gl_in[i % 3].gl_Position;
        found = uvec4(id[i % 3], gl_PrimitiveIDIn, gl_InvocationID);
        EmitVertex();
    }
    void main() {
        uint count = 2 + (gl_PrimitiveIDIn + gl_InvocationID + id[0].y) % 5;
        for (uint i = 0; i < count; i++) emit(i);
        EndPrimitive();
        emit(count);
    }";

struct Files {
    shaders: Shaders,
    vertex: String,
    geometry: String,
}

impl Files {
    fn new(geometry: &str) -> Self {
        let shaders = Shaders::new();
        let words = common::compile_stage("geom", geometry, &[]);
        Self {
            vertex: shaders.glsl("my.vert.spv", VERTEX),
            geometry: shaders.file("my.geom.spv", bytemuck::cast_slice(&words)),
            shaders,
        }
    }

    fn arguments<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let files = ["probe", "shader", &self.vertex, "--geometry", &self.geometry];
        let always = ["--device", "0", "--quick", "--varyings", "gl_Position,found"];
        [&files[..], &always, more].concat()
    }
}

/// Returns the cells of a report by backend and topology: the numbers of cases that ran and that
/// passed, or the reason why none ran.
fn cells(report: &Value) -> Vec<(String, String, Value)> {
    let text = |cell: &Value, name: &str| cell[name].as_str().unwrap().to_owned();
    let cells = report["cells"].as_array().unwrap().iter().map(|cell| {
        assert_eq!(cell["stage"], "geometry", "{cell:#}");
        let came_out = match cell["run"].as_u64().unwrap() {
            0 => cell["skipped"].clone(),
            _ => json!([cell["run"], cell["passed"]]),
        };
        (text(cell, "backend"), text(cell, "topology"), came_out)
    });
    cells.collect()
}

#[test]
fn each_topology_that_a_geometry_shader_takes_is_captured() {
    let files = Files::new(GEOMETRY);
    let ran = vkxfb(&files.arguments(&["--json", "--validate"])).exits(0);
    let mut expected = Vec::new();
    let draws = 7 * 2 * 2;
    for (backend, came_out) in [
        ("native", json!([draws, draws])),
        ("vertex", json!("the vertex backend takes vertex shaders alone")),
        ("compute", json!([2 * draws, 2 * draws])),
    ] {
        for topology in ["triangle-list", "triangle-strip", "triangle-fan"] {
            expected.push((backend.to_owned(), topology.to_owned(), came_out.clone()));
        }
    }
    let report = &ran.json()["reports"][0];
    assert_eq!(cells(report), expected);
    assert_eq!(report["results"][0]["geometry"], json!(files.geometry));

    // If each case runs alone in a child process, the results are the same.
    let together = files.shaders.file("together.json", ran.stdout.as_bytes());
    let alone = vkxfb(&files.arguments(&["--json", "--isolate"])).exits(0);
    let alone = files.shaders.file("alone.json", alone.stdout.as_bytes());
    let compared = vkxfb(&["probe", "compare", &together, &alone, "--json"]).exits(0).json();
    assert_eq!(compared["still_right"], 3 * 3 * draws);
    for list in ["became_right", "otherwise_wrong", "new", "gone", "facts"] {
        assert_eq!(compared[list], json!([]), "{compared:#}");
    }
}

#[test]
fn a_lost_case_of_a_geometry_shader_is_repeated_by_its_command() {
    let files = Files::new(GEOMETRY);
    let few = ["--topology", "triangle-strip", "--backend", "compute", "--provoking", "last"];
    let mut probe = command(&files.arguments(&[&few[..], &["--json"]].concat()));
    probe.env("VKXFB_INJECT_FAULT", "lost:triangle-strip:7x3");
    let ran = Ran::new(probe.output().unwrap()).exits(2).json();
    let losses = ran["reports"][0]["losses"].as_array().unwrap();
    assert_eq!(losses.len(), 2, "of both pipelines: {losses:#?}");
    let told = losses[0]["command"].as_str().unwrap();
    let shaders = format!("probe shader {} --geometry {} ", files.vertex, files.geometry);
    assert!(told.contains(&shaders), "{told}");
    let words: Vec<&str> = told.split(' ').skip(1).collect();
    let again = vkxfb(&[&words[..], &["--json"]].concat()).exits(0).json();
    assert_eq!(again["reports"][0]["cells"][0]["passed"], 2, "{again:#}");
}

/// The probe's own geometry shaders, whose records are given by formulas, can be selected by name.
#[test]
fn a_geometry_shader_of_the_probe_is_captured_alone() {
    let probe = ["probe", "--device", "0", "--shader"];
    let draw = ["--vertices", "9", "--json", "--validate"];
    for (name, topologies) in [("lines_adjacency_to_lines", 2), ("triangles_to_points_cut", 3)] {
        let json = vkxfb(&[&probe[..], &[name], &draw].concat()).exits(0).json();
        let cells = cells(&json["reports"][0]);
        assert_eq!(cells.len(), 3 * topologies, "{cells:?}");
        // In each cell, four cases pass: two provoking vertices, with one and with three instances.
        let passed = cells.iter().filter(|(_, _, came_out)| *came_out == json!([4, 4]));
        assert_eq!(passed.count(), 2 * topologies, "{cells:?}");
    }
}

/// If a driver executes nothing, the table and the page say so for geometry shaders, too.
#[test]
fn a_wrong_capture_of_a_geometry_shader_is_shown() {
    let files = Files::new(GEOMETRY);
    let page = files.shaders.path("page.html");
    let few = ["--topology", "triangle-strip", "--backend", "compute", "--vertices", "8"];
    let own = ["probe", "--device", "0", "--quick", "--shader", "triangles_to_triangles"].to_vec();
    for probe in [files.arguments(&[]), own] {
        let output = ["--html", page.to_str().unwrap()];
        let mut probe = command(&[&probe[..], &few, &output].concat());
        probe.env("VKXFB_INJECT_FAULT", "nothing");
        let ran = Ran::new(probe.output().unwrap()).exits(1);
        let told = "triangle-strip into geometry: nothing executed on compute";
        assert!(ran.stdout.contains(told), "{}", ran.stdout);
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(page.contains("triangle-strip into geometry"), "{page}");
    }
}

/// For a shader from a file, each stream is compared with its reference records.
#[test]
fn a_geometry_shader_of_several_streams_is_captured() {
    let files = Files::new(
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 8) out;
        layout(location = 0) flat in uvec2 id[];
        layout(stream = 0, location = 0, xfb_buffer = 2, xfb_offset = 0, xfb_stride = 8) flat out uvec2 first;
        layout(stream = 2, location = 1, xfb_buffer = 0, xfb_offset = 4, xfb_stride = 8) flat out uint third;
        void main() {
            for (uint i = 0; i < 2; i++) {
                first = id[0] * 2 + i;
                EmitStreamVertex(0);
            }
            for (uint i = 0; i < (id[0].x ^ gl_PrimitiveIDIn) % 6; i++) {
                third = id[0].y * 16 + i;
                EmitStreamVertex(2);
            }
        }",
    );
    let shaders = ["probe", "shader", &files.vertex, "--geometry", &files.geometry];
    let probe = ["--device", "0", "--quick", "--json", "--validate"];
    let json = vkxfb(&[&shaders[..], &probe].concat()).exits(0).json();
    let cells = json["reports"][0]["cells"].as_array().unwrap();
    let of = |backend: &str| cells.iter().find(|cell| cell["backend"] == backend).unwrap();
    for (backend, passed) in [("native", 28), ("compute", 56)] {
        assert_eq!(of(backend)["stage"], "geometry-streams");
        assert_eq!(of(backend)["passed"], passed, "{:#}", of(backend));
    }
}

/// On the native backend, a geometry shader that writes `PointSize` needs a feature. The feature is
/// enabled only for such a shader.
#[test]
fn a_geometry_shader_that_writes_a_point_size_is_captured() {
    let points = GEOMETRY.replace("triangle_strip", "points");
    let sized = points.replace("EmitVertex();", "gl_PointSize = 1.0; EmitVertex();");
    for geometry in [points, sized] {
        let files = Files::new(&geometry);
        let few = ["--json", "--validate", "--topology", "triangle-list", "--backend", "native"];
        let json = vkxfb(&files.arguments(&few)).exits(0).json();
        assert_eq!(json["reports"][0]["cells"][0]["passed"], 28);
    }
}
