//! Tests commands that take tessellation shaders.
//!
//! The expected values follow from the source of the shaders; captures are also compared with the
//! driver's own capture of the same draw. A driver may choose the order of the points of a patch,
//! so outputs that are compared byte by byte are the same for all points.

use crate::command::{Ran, Shaders, command, vkxfb};
use crate::common;
use serde_json::{Value, json};

const VERTEX: &str = "
    #version 450
    layout(constant_id = 1) const uint FIRST = 0;
    layout(push_constant) uniform Pushed { uint added; };
    layout(location = 0) flat out uint number;
    void main() {
        number = FIRST + added + gl_VertexIndex;
        gl_Position = vec4(gl_VertexIndex, 0, 0, 1);
    }";

/// A tessellation control shader that divides even patches into two lines of three segments, and
/// odd patches into nothing.
const CONTROL: &str = "#version 450
    layout(constant_id = 1) const uint FIRST = 0;
    layout(vertices = 2) out;
    layout(location = 0) flat in uint number[];
    layout(location = 0) out uint passed[];
    layout(location = 1) patch out uint patched;
    void main() {
        passed[gl_InvocationID] = number[2 * gl_InvocationID];
        gl_out[gl_InvocationID].gl_Position = gl_in[2 * gl_InvocationID].gl_Position;
        patched = 1000 * FIRST + gl_PatchVerticesIn;
        gl_TessLevelOuter[0] = gl_PrimitiveID % 2 == 0 ? 2.0 : 0.0;
        gl_TessLevelOuter[1] = 3.0;
    }";

/// A tessellation evaluation shader whose output is a structure of 18 locations. Each of the two
/// 64-bit vectors of three components takes two locations.
const EVALUATION: &str = "#version 450
    layout(isolines, equal_spacing, point_mode) in;
    layout(set = 0, binding = 1) uniform Scale { float scale; };
    layout(location = 0) flat in uint passed[];
    layout(location = 1) patch in uint patched;
    struct Found {
        mat4 rows;
        dvec3 wide[2];
        vec3 places[9];
        uvec2 ends;
    };
    layout(location = 2, xfb_buffer = 0, xfb_stride = 232, xfb_offset = 0) flat out Found found;
    void main() {
        float number = float(gl_PrimitiveID);
        for (int i = 0; i < 4; i++) found.rows[i] = vec4(number, i, scale, patched);
        for (int i = 0; i < 9; i++) {
            found.places[i] = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, i).xyw;
        }
        for (int i = 0; i < 2; i++) found.wide[i] = dvec3(number, i, scale) / 3.0lf;
        found.ends = uvec2(passed[0], passed[1]);
    }";

/// The files of the shaders, with the tessellation shaders as GLSL, and the arguments for the
/// contents that they read.
struct Files {
    shaders: Shaders,
    vertex: String,
    control: String,
    evaluation: String,
    read: Vec<String>,
}

impl Files {
    fn new(evaluation: &str) -> Self {
        let shaders = Shaders::new();
        let read = ["--uniform", "0.1.scale=0.5", "--push", "added=7"];
        Self {
            vertex: shaders.glsl("my.vert.spv", VERTEX),
            control: shaders.file("my.tesc", CONTROL.as_bytes()),
            evaluation: shaders.file("my.tese", evaluation.as_bytes()),
            read: read.map(str::to_owned).to_vec(),
            shaders,
        }
    }

    fn run(&self, name: &str, more: &[&str]) -> Ran {
        let shaders = ["--control", &self.control, "--evaluation", &self.evaluation];
        vkxfb(&[&[name, &self.vertex], &shaders[..], more].concat())
    }

    fn capture(&self, more: &[&str]) -> Ran {
        let read: Vec<&str> = self.read.iter().map(String::as_str).collect();
        self.run("capture", &[&read[..], &["--validate"], more].concat())
    }
}

fn outputs(json: &Value, name: &str) -> Vec<Value> {
    let records = json["records"].as_array().unwrap();
    records.iter().map(|record| record["outputs"][name].clone()).collect()
}

/// The driver may have another order of the primitives of a patch, and other last bits of their coordinates: 1/3 is no
/// multiple of 2^-16, in which tessellators of drivers count.
#[test]
fn another_order_within_a_patch_is_no_difference() {
    let shaders = Shaders::new();
    let vertex = shaders.glsl("order.spv", VERTEX);
    let control = shaders.file(
        "patches.tesc",
        b"#version 450
        layout(vertices = 1) out;
        void main() {
            gl_TessLevelOuter = float[](3.0, 5.0, 6.0, 3.0);
            gl_TessLevelInner = float[](3.0, 6.0);
        }",
    );
    let modes = [
        ("quads, equal_spacing", "triangles"),
        ("triangles, fractional_odd_spacing, cw", "triangles"),
        ("isolines, fractional_even_spacing", "lines"),
        ("triangles, equal_spacing, point_mode", "points"),
    ];
    for (mode, kind) in modes {
        let evaluation = format!(
            "#version 450
            layout({mode}) in;
            layout(location = 0) out vec3 place;
            void main() {{ place = gl_TessCoord; gl_Position = vec4(gl_TessCoord, 1); }}"
        );
        let evaluation = shaders.file("patches.tese", evaluation.as_bytes());
        let stages = ["capture", &vertex, "--control", &control, "--evaluation", &evaluation];
        let draw = ["--patch-control-points", "1", "--vertices", "2", "--push", "added=0"];
        let ran = vkxfb(&[&stages[..], &draw, &["--compare"]].concat()).exits(0);
        assert!(ran.stderr.contains("equal to the driver's own capture"), "{}", ran.stderr);
        // Whichever order the driver chooses, the line says how captures were compared that are not equal.
        let is_explained = ran.stderr.contains("src/guide/limits.md#tessellation");
        let says = format!("compared as sets of {kind}");
        assert_eq!(ran.stderr.contains(&says), is_explained, "{mode}: {}", ran.stderr);
    }
}

/// The capture of each of the structure's 18 locations has the same bytes as the driver's.
#[test]
fn a_structure_of_eighteen_locations_is_captured_as_by_the_driver() {
    let files = Files::new(EVALUATION);
    let patches = ["--patch-control-points", "3", "--vertices", "12", "--constant", "1=20"];
    let run = |more: &[&str]| files.capture(&[&patches[..], more].concat());
    for backend in ["compute", "native"] {
        let ran = run(&["--backend", backend, "--compare", "--format", "json"]).exits(0);
        // Patches 0 and 2 of four are divided into two lines of four points each.
        let equal = "equal to the driver's own capture, 16 records";
        assert!(ran.stderr.contains(equal), "{backend}: {}", ran.stderr);
        let json = ran.json();
        assert_eq!(
            [&json["primitives_written"], &json["primitives_needed"]],
            [&json!(16), &json!(16)]
        );
        assert_eq!(json["topology"], "point-list");
        let expected = [[27, 29], [33, 35]].iter().flat_map(|ends| vec![json!(ends); 8]);
        assert_eq!(outputs(&json, "found.ends"), expected.collect::<Vec<_>>(), "{backend}");
        let rows = outputs(&json, "found.rows[3]");
        assert_eq!(rows[15], json!([2.0, 3.0, 0.5, 20003.0]), "{json:#}");
        assert_eq!(outputs(&json, "found.places[8]")[15], json!([22.0, 0.0, 1.0]));
        assert_eq!(outputs(&json, "found.wide[1]")[15][0], json!(2.0 / 3.0));
    }
    // This draw has indices and two instances.
    let indices = files.shaders.file("indices.txt", b"3 4 5 0 1 2 6 7 8 2 1");
    let points = ["--patch-control-points", "3"];
    let indexed = [&points[..], &["--indices", &indices, "--instances", "2", "--compare"]].concat();
    let said = files.capture(&indexed).exits(0).stderr;
    assert!(said.contains("equal to the driver's own capture, 32 records"), "{said}");
}

/// The geometry shader gets the primitives into which patches are divided, and its outputs are
/// captured.
#[test]
fn a_geometry_shader_behind_tessellation_shaders_is_captured() {
    // Geometry shaders may have fewer input locations than the structure takes.
    let lines = EVALUATION
        .replace(", point_mode", "")
        .replace("places[9]", "places[2]")
        .replace("i < 9", "i < 2");
    let files = Files::new(&lines);
    let geometry = files.shaders.file(
        "my.geom",
        b"#version 450
        layout(lines, invocations = 2) in;
        layout(line_strip, max_vertices = 3) out;
        struct Found { mat4 rows; dvec3 wide[2]; vec3 places[2]; uvec2 ends; };
        layout(location = 2) flat in Found found[];
        layout(location = 0) flat out uvec3 emitted;
        void main() {
            for (int i = 0; i < 3; i++) {
                emitted = uvec3(found[i % 2].ends, gl_InvocationID);
                EmitVertex();
            }
        }",
    );
    let draw = ["--geometry", &geometry, "--patch-control-points", "3", "--vertices", "3"];
    let run = |more: &[&str]| files.capture(&[&draw[..], more].concat()).exits(0);
    let ran = run(&["--varyings", "emitted", "--compare", "--format", "json"]);
    // The patch is divided into two lines of three segments. For each segment, each of two
    // invocations emits a strip of two lines.
    assert!(ran.stderr.contains("capture, 48 records"), "{}", ran.stderr);
    assert_eq!(outputs(&ran.json(), "emitted")[0], json!([7, 9, 0]));

    let shown = files.run("inspect", &["--geometry", &geometry, "--varyings", "emitted"]).exits(0);
    for part in [
        "geometry shader 'main', behind vertex shader 'main', and tessellation control shader 'main', \
         and tessellation evaluation shader 'main'",
        "patches are isolines with equal spacing, divided into lines; the control shader returns 2 control points of each",
        "takes lines, and emits line-strips of at most 3 vertices in all; runs 2 times for each",
    ] {
        assert!(shown.stdout.contains(part), "no '{part}' in: {}", shown.stdout);
    }
}

/// Attributes, blocks and the size of a patch are made up: the same ones at each run and for each backend,
/// and other ones for each vertex.
#[test]
fn what_is_not_given_is_made_up() {
    let shaders = Shaders::new();
    let vertex = shaders.glsl(
        "my.vert.spv",
        "#version 450
        layout(location = 0) in vec3 place;
        layout(location = 2) in ivec2 whole;
        layout(set = 0, binding = 0) uniform Matrix { mat4 view; };
        layout(set = 1, binding = 2) readonly buffer List { vec4 list[]; };
        layout(push_constant) uniform Pushed { vec4 added; };
        layout(location = 0) out vec4 passed;
        void main() {
            passed = vec4(place, whole.x) + list[gl_VertexIndex] + view[1] + added;
            gl_Position = vec4(0);
        }",
    );
    let control = shaders.file(
        "my.tesc",
        b"#version 450
        layout(vertices = 4) out;
        layout(location = 0) in vec4 passed[];
        layout(location = 0) out vec4 again[];
        void main() {
            again[gl_InvocationID] = passed[gl_InvocationID];
            gl_TessLevelOuter[0] = gl_TessLevelOuter[1] = 1.0;
        }",
    );
    let evaluation = shaders.file(
        "my.tese",
        b"#version 450
        layout(isolines) in;
        layout(location = 0) in vec4 again[];
        layout(location = 0) out vec4 last;
        void main() { last = again[3]; }",
    );
    let geometry = shaders.file(
        "my.geom",
        b"#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 0) in vec4 passed[];
        layout(location = 0) out vec4 last;
        void main() { last = passed[0]; EmitVertex(); }",
    );
    let patches = ["--control", &control, "--evaluation", &evaluation];
    // Patches of four vertices, each of which makes a line; and points, as that geometry shader takes them.
    for (later, records, vertices) in [(&patches[..], 6, 3), (&["--geometry", &geometry], 12, 12)] {
        let draw =
            [&["capture", &vertex], later, &["--vertices", "12", "--format", "json"]].concat();
        vkxfb(&draw).refuses(&["these are missing", "'whole'", "--uniform 0.0", "--push"]);
        let made_up = [&draw[..], &["--made-up", "--varyings", "last"]].concat();
        let ran = vkxfb(&[&made_up[..], &["--validate", "--compare"]].concat()).exits(0);
        let equal = format!("driver's own capture, {records} records");
        assert!(ran.stderr.contains(&equal), "{}", ran.stderr);
        let found = outputs(&ran.json(), "last");
        let mut different = found.clone();
        different.dedup();
        assert_eq!(different.len(), vertices, "{found:?}");
        assert_eq!(outputs(&vkxfb(&made_up).exits(0).json(), "last"), found);
    }
    let made_up = ["capture", &vertex, "--made-up"];
    vkxfb(&made_up).refuses(&["--vertices <N>"]);
    vkxfb(&[&made_up[..], &["--vertices", "3", "--mesh", "a.obj"]].concat())
        .refuses(&["cannot be used with"]);
}

#[test]
fn how_patches_are_divided_is_shown() {
    let files = Files::new(EVALUATION);
    let shown = files.run("inspect", &[]).exits(0).stdout;
    for part in [
        "tessellation evaluation shader 'main', behind vertex shader 'main', and tessellation control shader 'main'",
        "patches are isolines with equal spacing, divided into points; the control shader returns 2 control points of each",
        "buffer 0: 232 bytes per vertex",
    ] {
        assert!(shown.contains(part), "no '{part}' in: {shown}");
    }
    assert!(!shown.contains("emits"), "{shown}");
    let json = files.run("inspect", &["--json"]).exits(0).json();
    let before: Vec<&Value> =
        json["before"].as_array().unwrap().iter().map(|row| &row["stage"]).collect();
    assert_eq!(before, ["vertex", "tessellation control"]);
    let divided = json!({
        "domain": "isolines", "spacing": "equal", "primitives": "points", "control_points": 2
    });
    assert_eq!(json["geometry"]["tessellation"], divided);
    assert_eq!([&json["geometry"]["input"], &json["geometry"]["output"]], ["patches", "points"]);
}

#[test]
fn all_stages_are_lowered_into_one_module() {
    let triangles = EVALUATION.replace("isolines, equal_spacing, point_mode", "triangles, cw");
    let files = Files::new(&triangles);
    let out = files.shaders.path("out.spv");
    let lower = |backend, more: &[&str]| {
        let always = ["--backend", backend, "--json", "-o", out.to_str().unwrap()];
        files.run("lower", &[&always[..], more].concat())
    };
    for (backend, model) in [("compute", "GLCompute"), ("native", "TessellationEvaluation")] {
        let json = lower(backend, &[]).exits(0).json();
        assert_eq!(json["geometry"]["tessellation"]["domain"], "triangles", "{backend}");
        assert_eq!(json["geometry"]["output"], "triangles", "{backend}");
        let words = std::fs::read(&out).unwrap();
        let words: Vec<u32> =
            words.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        common::validate(&words, "vulkan1.2");
        let text = common::disassemble(&words);
        assert!(text.contains(&format!("OpEntryPoint {model} ")), "{backend}");
        if backend == "native" {
            assert!(text.contains("VertexOrderCw"));
            lower(backend, &["--domain-origin", "lower-left"]).exits(0);
            let words = std::fs::read(&out).unwrap();
            let words: Vec<u32> =
                words.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
            let text = common::disassemble(&words);
            assert!(text.contains("VertexOrderCcw") && !text.contains("VertexOrderCw"), "{text}");
        }
    }
    lower("vertex", &[]).refuses(&["--control", "the vertex backend takes vertex shaders alone"]);
    lower("compute", &["--constant", "5=1"]).refuses(&["no specialisation constant 5"]);
}

#[test]
fn what_tessellation_shaders_lack_is_named() {
    let files = Files::new(EVALUATION);
    let Files { vertex, control, evaluation, .. } = &files;
    for name in ["capture", "inspect", "lower"] {
        let alone = vkxfb(&[name, vertex, "--control", control]);
        alone.refuses(&["--evaluation <FILE>"]);
        let alone = vkxfb(&[name, vertex, "--evaluation", evaluation]);
        alone.refuses(&["--control <FILE>"]);
    }
    let draw = ["--vertices", "6"];
    files.capture(&draw).refuses(&["these are missing", "--patch-control-points N"]);
    let points = |count| files.capture(&["--vertices", "6", "--patch-control-points", count]);
    points("0").refuses(&["number of control points of a patch, at least 1"]);
    points("33").refuses(&["the number of control points of a patch", "33", "32"]);
    let patches = ["--vertices", "6", "--patch-control-points", "3"];
    let more = |more: &[&str]| files.capture(&[&patches[..], more].concat());
    more(&["--topology", "line-list"]).refuses(&["--topology line-list", "take a patch-list"]);
    more(&["--topology", "patch-list", "--varyings", "found.ends"]).exits(0);
    more(&["--backend", "vertex"]).refuses(&["vertex shaders alone", "takes --control"]);
    // The indices between the restarts form three patches. Patches 0 and 2 have eight points each.
    let indices =
        files.shaders.file("indices.txt", b"0 1 2 restart 3 4 restart 3 4 5 6 restart 6 7 8");
    let restarted = ["--patch-control-points", "3", "--indices", &indices];
    let json = files.capture(&[&restarted[..], &["--format", "json"]].concat()).exits(0).json();
    assert_eq!(json["primitives_written"], json!(16));
    assert_eq!(outputs(&json, "found.ends")[15], json!([13, 15]));
    let list =
        ["capture", vertex, "--vertices", "6", "--topology", "patch-list", "--push", "added=7"];
    vkxfb(&list).refuses(&["--topology patch-list needs --control FILE and --evaluation FILE"]);
    let size = ["capture", vertex, "--vertices", "6", "--patch-control-points", "3"];
    vkxfb(&size).refuses(&["--control <FILE>"]);

    let swapped = vkxfb(&["inspect", vertex, "--control", evaluation, "--evaluation", control]);
    swapped.refuses(&["is a tessellation evaluation shader by its extension", "--control takes"]);
    let words = common::compile_stage("tesc", CONTROL, &[]);
    let compiled = files.shaders.file("tesc.spv", bytemuck::cast_slice(&words));
    let twice = vkxfb(&["inspect", vertex, "--control", &compiled, "--evaluation", &compiled]);
    twice.refuses(&["no tessellation evaluation shader", "TessellationControl 'main'"]);
    vkxfb(&["inspect", control]).refuses(&["SHADER.vert --control", "--evaluation SHADER.tese"]);
    let mut without =
        command(&["inspect", vertex, "--control", control, "--evaluation", evaluation]);
    without.env("PATH", files.shaders.0.path());
    Ran::new(without.output().unwrap()).refuses(&["my.tesc", "install glslang"]);
    let probe = ["probe", "shader", vertex, "--control", control, "--evaluation", evaluation];
    vkxfb(&probe).refuses(&["the probe takes no tessellation shaders from files"]);

    let list = ["probe", "shader", vertex, "--topology", "patch-list", "--varyings", "number"];
    vkxfb(&list).refuses(&["takes no primitives of patch-list"]);

    // The probe's own tessellation shaders are captured on every backend that supports them.
    let own = ["probe", "--shader", "patches_to_lines", "--json"];
    let json = vkxfb(&[&own[..], &["--device", "0", "--vertices", "12"]].concat()).exits(0).json();
    let cells = json["reports"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 3, "{cells:?}");
    for cell in cells {
        assert_eq!([&cell["stage"], &cell["topology"]], ["tessellation", "patch-list"]);
        let run = if cell["backend"] == "vertex" { 0 } else { 4 };
        assert_eq!([&cell["run"], &cell["passed"]], [&json!(run), &json!(run)], "{cell}");
    }
    // If a driver executes nothing, the table and the page say so.
    let page = files.shaders.path("page.html");
    let output = ["--html", page.to_str().unwrap(), "--device", "0", "--backend", "compute"];
    let mut wrong = command(&[&own[..own.len() - 1], &output].concat());
    wrong.env("VKXFB_INJECT_FAULT", "nothing");
    let told = Ran::new(wrong.output().unwrap()).exits(1).stdout;
    assert!(told.contains("patch-list into tessellation: nothing executed on compute"), "{told}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("patch-list into tessellation"), "{page}");
    let list = ["--device", "0", "--topology", "line-list"];
    let list = [&own[..own.len() - 1], &list].concat();
    vkxfb(&list).refuses(&["takes no primitives of line-list"]);
}
