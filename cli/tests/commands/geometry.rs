//! Tests commands that take a geometry shader.
//!
//! The expected values follow from the source of the shaders; captures are also compared with the
//! driver's own capture of the same draw.

use crate::command::{Ran, Shaders, command, vkxfb};
use crate::common;
use serde_json::json;

const VERTEX: &str = "
    #version 450
    layout(constant_id = 1) const uint FIRST = 0;
    layout(set = 0, binding = 1) uniform Both { uint of_vertex; uint of_geometry; };
    layout(push_constant) uniform Pushed { uint unread; uint added; };
    layout(location = 0) flat out uint number;
    void main() {
        number = FIRST + of_vertex + added + gl_VertexIndex;
        gl_Position = vec4(gl_VertexIndex, -gl_VertexIndex, 0, 1);
    }";

/// A geometry shader that emits a strip of two triangles for even primitives. For odd primitives it
/// emits too few vertices for a triangle.
const GEOMETRY: &str = "#version 450
    layout(constant_id = 1) const uint FIRST = 0;
    layout(triangles, invocations = 2) in;
    layout(triangle_strip, max_vertices = 4) out;
    layout(set = 0, binding = 1) uniform Both { uint of_vertex; uint of_geometry; };
    layout(location = 0) flat in uint number[];
    layout(location = 0) flat out uvec2 found;
    void main() {
        uint count = gl_PrimitiveIDIn % 2 == 0 ? 4 : 2;
        for (uint i = 0; i < count; i++) {
            gl_Position = gl_in[i % 3].gl_Position;
            found = uvec2(number[i % 3], FIRST + of_geometry + gl_InvocationID);
            EmitVertex();
        }
    }";

/// The files of both shaders, with the geometry shader as SPIR-V and as GLSL, and the arguments for
/// the contents that they read.
struct Files {
    shaders: Shaders,
    vertex: String,
    geometry: String,
    source: String,
    read: Vec<String>,
}

impl Files {
    fn new() -> Self {
        let shaders = Shaders::new();
        let words = common::compile_stage("geom", GEOMETRY, &[]);
        let dwords = |values: &[u32]| bytemuck::cast_slice::<u32, u8>(values).to_vec();
        let read = [
            "--uniform".to_owned(),
            format!("0.1={}", shaders.file("both.bin", &dwords(&[100, 7]))),
            "--push".to_owned(),
            shaders.file("pushed.bin", &dwords(&[0, 1000])),
        ];
        Self {
            vertex: shaders.glsl("my.vert.spv", VERTEX),
            geometry: shaders.file("my.geom.spv", bytemuck::cast_slice(&words)),
            source: shaders.file("my.geom", GEOMETRY.as_bytes()),
            read: read.to_vec(),
            shaders,
        }
    }

    fn run(&self, name: &str, more: &[&str]) -> Ran {
        let all = [&[name, &self.vertex, "--geometry", &self.geometry], more].concat();
        vkxfb(&all)
    }

    fn capture(&self, more: &[&str]) -> Ran {
        let read: Vec<&str> = self.read.iter().map(String::as_str).collect();
        let always = ["--varyings", "@Position,found", "--validate"];
        self.run("capture", &[&read[..], &always, more].concat())
    }
}

#[test]
fn what_a_geometry_shader_emits_is_captured() {
    let files = Files::new();
    // Two invocations emit triangles for each of the primitives 0 and 2; there are four primitives.
    let draw = ["--vertices", "12", "--constant", "1=20"];
    let run = |more: &[&str]| files.capture(&[&draw[..], more].concat()).exits(0);
    let json = run(&["--format", "json", "--compare"]).json();
    let mut expected = Vec::new();
    for primitive in [0, 2] {
        for invocation in 0..2 {
            // The strip has the vertices 0, 1, 2 and 0. In its second triangle, two vertices are
            // exchanged.
            for slot in [0, 1, 2, 1, 0, 2] {
                let vertex = 3 * primitive + slot;
                expected.push(json!([1120 + vertex, 27 + invocation]));
            }
        }
    }
    let records = json["records"].as_array().unwrap();
    let found: Vec<_> = records.iter().map(|r| r["outputs"]["found"].clone()).collect();
    assert_eq!(found, expected);
    assert_eq!(records[3]["outputs"]["gl_Position"], json!([1.0, -1.0, 0.0, 1.0]));
    assert_eq!(
        [&json["primitives_written"], &json["primitives_needed"], &json["vertices_per_primitive"]],
        [&json!(8), &json!(8), &json!(3)]
    );

    // The picture and the mesh contain the emitted triangles.
    let (picture, mesh) = (files.shaders.path("out.svg"), files.shaders.path("out.ply"));
    let out = ["--picture", picture.to_str().unwrap(), "-o", mesh.to_str().unwrap()];
    let said = run(&out).stdout;
    assert!(said.contains("24 vertices of 8 primitives (triangle-list) written"), "{said}");
    let mesh = std::fs::read(mesh).unwrap();
    assert!(String::from_utf8_lossy(&mesh).contains("element vertex 24"));
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.contains("8 primitives captured"), "{picture}");
    assert!(picture.contains("my.vert.spv and my.geom.spv"), "{picture}");

    // The draw has indices and primitive restarts, and the geometry shader is given as GLSL.
    let indices = files.shaders.file("indices.txt", b"3 4 5 restart 0 1 restart 6 7 8 2 1 0");
    let source = ["--geometry", &files.source];
    let indexed = ["--indices", &indices, "--compare"];
    let read: Vec<&str> = files.read.iter().map(String::as_str).collect();
    let always = ["capture", &files.vertex, "--varyings", "found", "--format", "csv", "--validate"];
    let ran = vkxfb(&[&always[..], &read, &source, &indexed].concat()).exits(0);
    assert!(ran.stderr.contains("equal to the driver's own capture, 24 records"), "{}", ran.stderr);
}

#[test]
fn more_than_there_was_room_for_is_captured_again() {
    // Each of 4 invocations may emit 128 vertices for each of 5000 primitives. The shader emits
    // more than a million lines, for which the first capture has no room.
    let shaders = Shaders::new();
    let vertex = shaders.glsl("many.vert.spv", "#version 450\nvoid main() {}");
    let source = "#version 450
        layout(points, invocations = 4) in;
        layout(line_strip, max_vertices = 128) out;
        layout(location = 0) flat out uint found;
        void main() {
            for (uint i = 0; i < 128; i++) { found = i; EmitVertex(); }
        }";
    let words = common::compile_stage("geom", source, &[]);
    let geometry = shaders.file("many.geom.spv", bytemuck::cast_slice(&words));
    let file = shaders.path("out.csv");
    let all = ["capture", &vertex, "--geometry", &geometry, "--varyings", "found"];
    let draw = ["--topology", "point-list", "--vertices", "2100", "-o", file.to_str().unwrap()];
    let said = vkxfb(&[&all[..], &draw].concat()).exits(0).stdout;
    let lines = 2100 * 4 * 127;
    let what = format!("{} vertices of {lines} primitives (line-list) written; backend", 2 * lines);
    assert!(said.contains(&what), "{said}");
}

#[test]
fn both_stages_are_lowered_into_one_module() {
    let files = Files::new();
    let out = files.shaders.path("out.spv");
    let lower = |backend, more: &[&str]| {
        let always = ["--backend", backend, "--varyings", "found", "--json"];
        files.run("lower", &[&always[..], &["-o", out.to_str().unwrap()], more].concat())
    };
    for (backend, model) in [("compute", "GLCompute"), ("native", "Geometry")] {
        let json = lower(backend, &[]).exits(0).json();
        let geometry = json!({
            "input": "triangles", "output": "triangle-strips", "max_vertices": 4, "invocations": 2
        });
        assert_eq!(json["geometry"], geometry, "{backend}");
        assert_eq!(json["strides"], json!([8, null, null, null]));
        let words = std::fs::read(&out).unwrap();
        let words: Vec<u32> =
            words.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        common::validate(&words, "vulkan1.2");
        let text = common::disassemble(&words);
        assert!(text.contains(&format!("OpEntryPoint {model} ")), "{backend}");
    }
    lower("vertex", &[]).refuses(&["the vertex backend takes vertex shaders alone"]);
    lower("compute", &["--constant", "5=1"]).refuses(&["no specialisation constant 5"]);
}

#[test]
fn primitives_and_captures_of_a_geometry_shader_are_shown() {
    let files = Files::new();
    let shown = files.run("inspect", &["--varyings", "found,@Position"]).exits(0).stdout;
    for part in [
        "geometry shader 'main', behind vertex shader 'main'",
        "takes triangles, and emits triangle-strips of at most 4 vertices in all; runs 2 times for each",
        "buffer 0: 24 bytes per vertex",
    ] {
        assert!(shown.contains(part), "no '{part}' in: {shown}");
    }
    let json = files.run("inspect", &["--varyings", "found", "--json"]).exits(0).json();
    let before = json!([{ "stage": "vertex", "entry_point": "main" }]);
    assert_eq!((&json["stage"], &json["before"]), (&json!("geometry"), &before));
    assert_eq!(json["geometry"]["output"], "triangle-strips");
    let alone = vkxfb(&["inspect", &files.vertex, "--json"]).exits(0).json();
    assert_eq!((&alone["geometry"], &alone["before"]), (&json!(null), &json!([])));
}

/// Inputs that the vertex shader does not write have undefined values. The command names those that
/// the geometry shader reads.
#[test]
fn inputs_that_nobody_writes_are_named() {
    let files = Files::new();
    let geometry = files.shaders.file(
        "more.geom",
        b"#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) flat in uint number[];
        layout(location = 1) in vec3 tint[];
        layout(location = 2) in Light { vec3 place; vec3 power; } light[];
        layout(location = 4) in vec3 unread[];
        layout(location = 0) out vec3 found;
        void main() { found = tint[0] * number[0] + light[0].power; EmitVertex(); }",
    );
    let draw = ["capture", &files.vertex, "--geometry", &geometry, "--vertices", "1"];
    let read: Vec<&str> = files.read.iter().map(String::as_str).collect();
    let draw = [&draw[..], &["--topology", "point-list", "--varyings", "found"], &read].concat();
    let said = vkxfb(&draw).exits(0).stderr;
    let warning = |input: &str| {
        let vertex = &files.vertex;
        format!("warning: {geometry} reads {input}, which {vertex} does not write\n")
    };
    assert!(said.contains(&warning("'tint' at location 1")), "{said}");
    assert!(said.contains("'light' at location 2") || said.contains("'power' at location 3"));
    assert!(!said.contains("'number'") && !said.contains("'unread'"), "{said}");
    let all = [&files.geometry, "--vertices", "3"];
    assert!(!files.capture(&all[1..]).exits(0).stderr.contains("warning"));
}

/// The same for components: those of a location that the vertex shader does not write are undefined.
#[test]
fn components_that_nobody_writes_are_named() {
    let shaders = Shaders::new();
    let vertex = shaders.glsl(
        "some.spv",
        "
        #version 450
        layout(location = 0) out vec3 tint;
        layout(location = 1) out vec4 whole;
        layout(location = 2) out vec2 low;
        layout(location = 2, component = 2) out vec2 high;
        layout(location = 3) out float size;
        void main() {
            tint = vec3(1); whole = vec4(1); low = vec2(1); high = vec2(1); size = 1; gl_Position = vec4(0);
        }",
    );
    let geometry = shaders.file(
        "all.geom",
        b"#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) in vec4 colour[];
        layout(location = 1) in vec2 part[];
        layout(location = 2) in vec4 both[];
        layout(location = 3) in vec3 sizes[];
        layout(location = 0) out vec4 found;
        void main() { found = colour[0] + part[0].xyxy + both[0] + sizes[0].xyzx; EmitVertex(); }",
    );
    let draw = ["capture", &vertex, "--geometry", &geometry, "--topology", "point-list"];
    let said = vkxfb(&[&draw[..], &["--vertices", "1"]].concat()).exits(0).stderr;
    for (input, written) in
        [("'colour' (vec4) at location 0", "xyz"), ("'sizes' (vec3) at location 3", "x")]
    {
        let line =
            format!("warning: {geometry} reads {input}, of which {vertex} writes {written} only\n");
        assert!(said.contains(&line), "{line}{said}");
    }
    assert_eq!(said.matches("warning").count(), 2, "{said}");
}

#[test]
fn what_is_no_geometry_shader_is_refused_by_name() {
    let files = Files::new();
    let refuses = |geometry: &str, what: &[&str]| {
        vkxfb(&["inspect", &files.vertex, "--geometry", geometry]).refuses(what);
    };
    refuses(&files.vertex, &["no geometry shader", "Vertex 'main'"]);
    refuses(&files.shaders.file("a.wgsl", b"@vertex fn main() {}"), &["a.wgsl is WGSL"]);
    let wrong = files.shaders.file("wrong.geom", b"#version 450\nvoid main() { nothing(); }");
    refuses(&wrong, &["glslang does not compile", "wrong.geom:2:", "nothing"]);
    let mut without = command(&["inspect", &files.vertex, "--geometry", &files.source]);
    without.env("PATH", files.shaders.0.path());
    Ran::new(without.output().unwrap()).refuses(&["my.geom", "install glslang", "or give SPIR-V,"]);

    let lines = ["--vertices", "4", "--topology", "line-list"];
    files.capture(&lines).refuses(&["takes triangles", "line-list"]);
    // What the vertex shader lacks is not told as if the geometry shader lacked it.
    files.capture(&[]).refuses(&["vert", " and ", "geom", ": these are missing:"]);
    files.capture(&["--vertices", "3", "--backend", "vertex"]).refuses(&["vertex shaders alone"]);
    let probe = ["probe", "shader", &files.vertex, "--geometry", &files.geometry];
    let lines = ["--varyings", "found", "--topology", "line-list"];
    vkxfb(&[&probe[..], &lines].concat()).refuses(&["takes no primitives of line-list"]);
}

#[test]
fn wgsl_gets_the_values_of_constants_that_both_stages_have() {
    let shaders = Shaders::new();
    let vertex = shaders.file(
        "my.wgsl",
        b"@id(1) override first: u32;
        @vertex fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
            return vec4f(f32(first + i), 0.0, 0.0, 1.0);
        }",
    );
    let geometry = "#version 450
        layout(constant_id = 1) const uint FIRST = 0;
        layout(constant_id = 2) const uint OTHER = 0;
        layout(points) in;
        layout(line_strip, max_vertices = 2) out;
        layout(location = 0) flat out uint found;
        void main() {
            for (uint i = 0; i < 2; i++) {
                gl_Position = gl_in[0].gl_Position;
                found = FIRST + OTHER + i;
                EmitVertex();
            }
        }";
    let words = common::compile_stage("geom", geometry, &[]);
    let geometry = shaders.file("my.geom.spv", bytemuck::cast_slice(&words));
    let files = ["capture", &vertex, "--geometry", &geometry];
    let draw = ["--topology", "point-list", "--vertices", "1", "--varyings", "@Position,found"];
    let shown = ["--constant", "1=20,2=3", "--format", "json", "--validate"];
    let json = vkxfb(&[&files[..], &draw, &shown].concat()).exits(0).json();
    let outputs: Vec<_> =
        json["records"].as_array().unwrap().iter().map(|r| r["outputs"].clone()).collect();
    let record = |found: u32| json!({ "gl_Position": [20.0, 0.0, 0.0, 1.0], "found": found });
    assert_eq!(outputs, [record(23), record(24)]);
    // A constant that neither shader has is an error.
    let none = [&files[..], &draw, &["--constant", "1=20,9=3"]].concat();
    assert!(vkxfb(&none).exits(2).stderr.contains('9'));
}

/// Each stream has as many vertices as were emitted to it, on the native and the compute backend.
#[test]
fn one_of_several_streams_is_shown() {
    let shaders = Shaders::new();
    let vertex = shaders.glsl(
        "my.vert.spv",
        "#version 450
        layout(location = 0) flat out uint number;
        void main() { number = gl_VertexIndex; gl_Position = vec4(0.0); gl_PointSize = 1.0; }",
    );
    let geometry = "#version 450
        layout(points) in;
        layout(points, max_vertices = 4) out;
        layout(location = 0) flat in uint number[];
        layout(stream = 0, location = 0, xfb_buffer = 2, xfb_offset = 0, xfb_stride = 4) flat out uint first;
        layout(stream = 3, location = 1, xfb_buffer = 1, xfb_offset = 0, xfb_stride = 8) flat out uvec2 second;
        void main() {
            for (uint n = 0; n < number[0]; n++) { second = uvec2(number[0], n); EmitStreamVertex(3); }
            first = 10 + number[0];
            EmitStreamVertex(0);
        }";
    let words = common::compile_stage("geom", geometry, &[]);
    let geometry = shaders.file("my.geom.spv", bytemuck::cast_slice(&words));
    let draw = ["--topology", "point-list", "--vertices", "4"];
    let run = |more: &[&str]| {
        let files = ["capture", &vertex, "--geometry", &geometry, "--validate"];
        vkxfb(&[&files[..], &draw, more].concat())
    };
    let shown = |more: &[&str], name: &str| {
        let ran = run(&[more, &["--format", "json"]].concat()).exits(0);
        let records = ran.json()["records"].as_array().unwrap().clone();
        records.iter().map(|r| r["outputs"][name].clone()).collect::<Vec<_>>()
    };
    let first = [10, 11, 12, 13].map(|n| json!(n));
    let second = [[1, 0], [2, 0], [2, 1], [3, 0], [3, 1], [3, 2]].map(|n| json!(n));
    assert_eq!(shown(&["--compare"], "first"), first);
    for backend in ["native", "compute"] {
        let stream = ["--backend", backend, "--stream", "3", "--compare"];
        assert_eq!(shown(&stream, "second"), second, "{backend}");
    }
    let table = run(&[]).exits(0).stdout;
    assert!(table.contains("of stream 0 (others: --stream 3) written"), "{table}");
    run(&["--stream", "1"]).refuses(&["nothing of vertex stream 1", "but of 0, 3"]);
    run(&["--stream", "4"]).exits(2);
}
