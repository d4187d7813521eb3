//! Tests the glTF files that `vkxfb capture` reads and writes.
//!
//! The expected values of small scenes were worked out by the formulas of glTF's specification.

use crate::command::{Shaders, vkxfb};
use base64::Engine as _;
use serde_json::{Value, json};

/// A glTF file that is built from its parts: the bytes of its buffer, the buffer views, and the
/// accessors.
#[derive(Default)]
struct Scene {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
}

impl Scene {
    /// Adds an accessor for numbers, and returns the index of the accessor.
    fn add(&mut self, ty: &str, component: u32, count: usize, bytes: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.views.push(json!({
            "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len(),
        }));
        self.bytes.extend(bytes);
        let mut accessor = json!({
            "bufferView": self.views.len() - 1, "componentType": component, "count": count, "type": ty,
        });
        if ty == "VEC3" {
            // Accessors of positions must have a minimum and a maximum. The values are not used
            // here.
            accessor["min"] = json!([-9.0, -9.0, -9.0]);
            accessor["max"] = json!([9.0, 9.0, 9.0]);
        }
        self.accessors.push(accessor);
        self.accessors.len() - 1
    }

    fn floats<const N: usize>(&mut self, ty: &str, numbers: &[[f32; N]]) -> usize {
        self.add(ty, 5126, numbers.len(), bytemuck::cast_slice(numbers.as_flattened()))
    }

    fn file(&self, shaders: &Shaders, name: &str, buffer: Value, mut rest: Value) -> String {
        rest["asset"] = json!({ "version": "2.0" });
        let mut buffer = buffer;
        buffer["byteLength"] = json!(self.bytes.len());
        rest["buffers"] = json!([buffer]);
        rest["bufferViews"] = json!(self.views);
        rest["accessors"] = json!(self.accessors);
        shaders.file(name, rest.to_string().as_bytes())
    }

    fn in_text(&self) -> Value {
        let text = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
        json!({ "uri": format!("data:application/octet-stream;base64,{text}") })
    }
}

fn records(arguments: &[&str]) -> Vec<Value> {
    let json = vkxfb(&[arguments, &["--format", "json"]].concat()).exits(0).json();
    json["records"].as_array().unwrap().iter().map(|record| record["outputs"].clone()).collect()
}

#[track_caller]
fn assert_near(numbers: &Value, expected: &[f64]) {
    let numbers: Vec<f64> =
        numbers.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
    assert!(
        numbers.len() == expected.len() && numbers.iter().zip(expected).all(is_near),
        "{numbers:?}, not {expected:?}"
    );
}

const PLAIN: &str = "
    struct Out { @builtin(position) at: vec4f, @location(0) normal: vec3f, @location(1) uv: vec2f }
    @vertex fn main(
        @location(0) position: vec3f, @location(1) normal: vec3f, @location(2) uv: vec2f,
    ) -> Out {
        return Out(vec4f(position, 1.0), normal, uv);
    }";

#[test]
fn meshes_are_where_their_nodes_are() {
    let shaders = Shaders::new();
    let shader = shaders.file("plain.wgsl", PLAIN.as_bytes());
    let mut scene = Scene::default();
    let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
    let positions = scene.floats("VEC3", &corners);
    let diagonal = 0.5f32.sqrt();
    let normals = scene.floats("VEC3", &[[diagonal, diagonal, 0.0]; 4]);
    // The texture coordinates are normalized bytes.
    let uvs =
        scene.add("VEC2", 5121, 4, &[0, 0, 0, 0, 255, 51, 0, 0, 0, 255, 0, 0, 255, 255, 0, 0]);
    scene.accessors[uvs]["normalized"] = json!(true);
    scene.views[uvs]["byteStride"] = json!(4);
    let indices = scene.add("SCALAR", 5123, 3, bytemuck::cast_slice(&[2u16, 1, 3]));
    let rest = || {
        json!({
            "scene": 0,
            "scenes": [{ "nodes": [0, 3] }],
            "nodes": [
                { "translation": [0, 0, 10], "children": [1] },
                // The node is turned by a quarter around z, and is twice as wide.
                { "rotation": [0, 0, diagonal, diagonal], "scale": [2, 1, 1], "mesh": 0 },
                { "mesh": 0 },
                { "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1], "mesh": 1 },
            ],
            "meshes": [
                { "primitives": [{
                    "attributes": { "POSITION": positions, "NORMAL": normals, "TEXCOORD_0": uvs },
                    "indices": indices,
                }] },
                { "primitives": [{ "attributes": { "POSITION": positions }, "mode": 5 }] },
            ],
        })
    };
    let mesh = scene.file(&shaders, "scene.gltf", scene.in_text(), rest());
    let draw = ["capture", &shader, "--mesh", &mesh, "--validate"];
    let found = records(&draw);
    // The first primitive is a triangle, the second a strip of two. The primitive of a node that is
    // not in the scene is left out.
    assert_eq!(found.len(), 3 + 6);
    for (record, [x, y, _]) in found.iter().zip([corners[2], corners[1], corners[3]]) {
        assert_near(&record["at"], &[f64::from(-y), f64::from(2.0 * x), 10.0, 1.0]);
        // The normal (1, 1) is perpendicular to the edge (1, -1). Scaling makes the edge (2, -1),
        // and the quarter turn makes it (1, 2), so the normal is (-2, 1).
        assert_near(&record["normal"], &[-2.0 / 5f64.sqrt(), 1.0 / 5f64.sqrt(), 0.0]);
    }
    assert_near(&found[1]["uv"], &[1.0, 0.2]);
    for (record, corner) in found[3..].iter().zip([0, 1, 2, 2, 1, 3]) {
        let [x, y, _] = corners[corner].map(f64::from);
        assert_near(&record["at"], &[x + 5.0, y + 6.0, 7.0, 1.0]);
        // The normals of a primitive without normals are 0, because the other primitive has
        // normals.
        assert_near(&record["normal"], &[0.0, 0.0, 0.0]);
    }
    // The result is the same if the bytes are in another file beside the glTF file.
    shaders.file("the buffer.bin", &scene.bytes);
    let beside = scene.file(&shaders, "beside.gltf", json!({ "uri": "the%20buffer.bin" }), rest());
    assert_eq!(records(&["capture", &shader, "--mesh", &beside]), found);

    let refuses = |buffer: Value, change: &dyn Fn(&mut Value), what: &[&str]| {
        let mut rest = rest();
        change(&mut rest);
        let mesh = scene.file(&shaders, "wrong.gltf", buffer, rest);
        vkxfb(&["capture", &shader, "--mesh", &mesh]).refuses(&[&["wrong.gltf"], what].concat());
    };
    refuses(json!({ "uri": "gone.bin" }), &|_| {}, &["buffer 0", "gone.bin"]);
    refuses(json!({}), &|_| {}, &["buffer 0"]);
    let text = scene.in_text();
    refuses(text.clone(), &|rest| rest["nodes"][1]["children"] = json!([0]), &["below itself"]);
    refuses(text.clone(), &|rest| rest["nodes"][3]["children"] = json!([1]), &["two parents"]);
    let lines = |rest: &mut Value| rest["meshes"][1]["primitives"][0]["mode"] = json!(1);
    refuses(text.clone(), &lines, &["primitive 0", "Lines"]);
    let other = |rest: &mut Value| {
        rest["meshes"][0]["primitives"][0]["attributes"]["NORMAL"] = json!(uvs);
    };
    refuses(text.clone(), &other, &["mesh 0, primitive 0: NORMAL: accessor", "Vec2 of U8"]);
}

/// Files from other sources may contain accessors whose elements are not within a buffer.
#[test]
fn accessors_beyond_their_buffers_are_refused() {
    let shaders = Shaders::new();
    let shader = shaders.file("plain.wgsl", PLAIN.as_bytes());
    let mut scene = Scene::default();
    let positions = scene.floats("VEC3", &[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]]);
    let rest = json!({
        "nodes": [{ "mesh": 0 }],
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": positions } }] }],
    });
    let made = std::cell::Cell::new(0);
    let with = |view: Value, accessor: Value| {
        let mut scene = Scene {
            bytes: scene.bytes.clone(),
            views: scene.views.clone(),
            accessors: scene.accessors.clone(),
        };
        let change = |of: &mut Value, to: Value| {
            for (key, value) in to.as_object().unwrap() {
                of[key] = value.clone();
            }
        };
        change(&mut scene.views[positions], view);
        change(&mut scene.accessors[positions], accessor);
        made.set(made.get() + 1);
        let name = format!("wrong{}.gltf", made.get());
        scene.file(&shaders, &name, scene.in_text(), rest.clone())
    };
    let attributes = ["--attribute", "normal=0,0,1,uv=0,0"];
    let draw =
        |mesh: &str| vkxfb(&[&["capture", &shader, "--mesh", mesh], &attributes[..]].concat());
    draw(&with(json!({}), json!({}))).exits(0);

    let huge = 1u64 << 61;
    let end = u64::MAX - 7;
    for (mesh, what) in [
        (with(json!({ "byteStride": 8 }), json!({})), "byteStride 8, less than an element's 12"),
        (with(json!({}), json!({ "count": 0 })), "no elements"),
        (with(json!({}), json!({ "count": 4 })), "behind bufferView 0"),
        (with(json!({}), json!({ "count": huge })), "behind bufferView 0"),
        (with(json!({}), json!({ "byteOffset": end })), "behind bufferView 0"),
        (with(json!({ "byteOffset": end }), json!({})), "behind buffer 0"),
        (with(json!({ "byteLength": 48 }), json!({ "count": 4 })), "behind buffer 0"),
    ] {
        draw(&mesh).refuses(&[&mesh, "mesh 0, primitive 0: POSITION", "accessor 0", what]);
    }
}

/// Joints and weights are columns. What they do to vertices depends on matrices that are not read, which is said.
#[test]
fn skins_are_read_without_their_matrices() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "skinned.spv",
        "
        #version 450
        layout(location = 0) in vec3 position;
        layout(location = 1) in uvec4 inJoints;
        layout(location = 2) in vec4 inWeights;
        layout(location = 0) out flat uvec4 joints;
        layout(location = 1) out vec4 weights;
        void main() { joints = inJoints; weights = inWeights; gl_Position = vec4(position, 1); }",
    );
    let mut scene = Scene::default();
    let positions = scene.floats("VEC3", &[[1.0, 0.0, 0.0]; 3]);
    let joints = scene.add("VEC4", 5121, 3, &[0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0]);
    let weights = scene.floats("VEC4", &[[0.25, 0.75, 0.0, 0.0]; 3]);
    let rest = json!({
        "nodes": [
            // The node of a mesh with a skin does not move the mesh.
            { "translation": [100, 0, 0], "mesh": 0, "skin": 0 },
            { "translation": [0, 3, 0] },
        ],
        "meshes": [{ "primitives": [{
            "attributes": { "POSITION": positions, "JOINTS_0": joints, "WEIGHTS_0": weights },
        }] }],
        "skins": [{ "joints": [1, 1] }],
    });
    let mesh = scene.file(&shaders, "skin.gltf", scene.in_text(), rest);
    let draw = ["capture", &shader, "--mesh", &mesh];
    for record in records(&draw) {
        assert_near(&record["gl_Position"], &[1.0, 0.0, 0.0, 1.0]);
        assert_near(&record["joints"], &[0.0, 1.0, 0.0, 0.0]);
        assert_near(&record["weights"], &[0.25, 0.75, 0.0, 0.0]);
    }
    let said = vkxfb(&draw).exits(0).stderr;
    assert!(said.contains("skin.gltf: read without the matrices of skins"), "{said}");
}

/// What a shader projects is divided in PLY and in glTF alike, and that is said. What it does not project is as it was
/// captured.
#[test]
fn ply_and_gltf_have_the_same_vertices() {
    let shaders = Shaders::new();
    let [ply, glb] = ["out.ply", "out.glb"].map(|name| shaders.path(name));
    let in_ply = || -> Vec<[f32; 3]> {
        let text = std::fs::read_to_string(&ply).unwrap();
        let (head, rest) = text.split_once("end_header\n").unwrap();
        assert!(
            head.contains("float x\nproperty float y\nproperty float z\nelement face"),
            "{head}"
        );
        let numbers = |line: &str| line.split(' ').map(|n| n.parse().unwrap()).collect::<Vec<_>>();
        let vertices = rest.lines().map(numbers).filter(|numbers| numbers.len() == 3);
        vertices.map(|numbers| numbers.try_into().unwrap()).collect()
    };
    let in_glb = || -> Vec<[f32; 3]> {
        let scene = gltf::Gltf::open(&glb).unwrap();
        let primitive = scene.meshes().next().unwrap().primitives().next().unwrap();
        primitive.reader(|_| scene.blob.as_deref()).read_positions().unwrap().collect()
    };
    let unprojected = [1.0, 2.0, 3.0].map(|x| [x, 6.0, 1.0]);
    for (w, expected, said) in [
        (
            "2",
            [0.5, 1.0, 1.5].map(|x| [x, -3.0, -0.5]),
            "gl_Position is projected (its w is not 1)",
        ),
        (
            "gl_VertexIndex < 3 ? 4 : -1",
            [0.25, 0.5, 0.75].map(|x| [x, -1.5, -0.25]),
            "1 of 2 primitives",
        ),
        // As an orthographic projection or the shape itself has it.
        ("1", unprojected, "gl_Position is in the mesh as it was captured: its w is 1"),
        // Weights that add up to 1 but for their rounding: in floats, and 0.1, 0.2 and 0.7 in bytes.
        ("uintBitsToFloat(0x3f7fffff)", unprojected, "as it was captured"),
        ("(25.0 + 51.0 + 178.0) / 255.0", unprojected, "as it was captured"),
        // Primitives that the shader discards.
        ("gl_VertexIndex < 3 ? 1 : 0", unprojected, "1 of 2 primitives"),
        (
            "gl_VertexIndex < 3 ? 1.0 : uintBitsToFloat(0x7fc00000)",
            unprojected,
            "1 of 2 primitives",
        ),
        ("0", [[0.0; 3]; 3], "all of 2 primitives reach behind the viewer"),
    ] {
        let source = format!(
            "#version 450\nvoid main() {{ gl_Position = vec4(gl_VertexIndex + 1, 6, 1, {w}); }}"
        );
        let shader = shaders.glsl("shader.spv", &source);
        for (file, read) in [(&ply, &in_ply as &dyn Fn() -> Vec<[f32; 3]>), (&glb, &in_glb)] {
            let draw = ["capture", &shader, "--vertices", "6", "-o", file.to_str().unwrap()];
            let format = if file == &ply { "ply-text" } else { "glb" };
            let ran = vkxfb(&[&draw[..], &["--format", format]].concat());
            assert!(ran.stderr.contains(said), "{w}: {}", ran.stderr);
            if w == "0" {
                ran.exits(2);
                continue;
            }
            let ran = ran.exits(0);
            let is_projected = expected != unprojected;
            assert_eq!(ran.stderr.contains("is projected"), is_projected, "{w}: {}", ran.stderr);
            // The file says so, too, for who gets nothing else.
            let bytes = std::fs::read(file).unwrap();
            assert!(String::from_utf8_lossy(&bytes).contains(said), "{w}, {}", file.display());
            let found = read();
            assert_eq!(found[..3], expected, "{w}, {}", file.display());
            assert_eq!(found.len(), if said.starts_with('1') { 3 } else { 6 }, "{w}");
        }
    }
}

#[test]
fn what_was_captured_is_a_scene_again() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "world.spv",
        "
        #version 450
        layout(location = 0) out vec3 worldPos;
        layout(location = 1) out vec3 worldNormal;
        layout(location = 2) out vec2 outUV;
        layout(location = 3) out flat uint number;
        void main() {
            gl_Position = vec4(8, 6, 1, 2);
            worldPos = vec3(gl_VertexIndex, 1, -gl_VertexIndex);
            worldNormal = vec3(0, 0, 5);
            outUV = vec2(0.25, gl_VertexIndex);
            number = gl_VertexIndex;
        }",
    );
    let out = shaders.path("out.glb");
    let out = out.to_str().unwrap();
    let draw = ["capture", &shader, "--vertices", "6", "-o", out];
    vkxfb(&draw).exits(0);
    let again = shaders.file("plain.wgsl", PLAIN.as_bytes());
    let found = records(&["capture", &again, "--mesh", out, "--validate"]);
    assert_eq!(found.len(), 6);
    for (vertex, record) in found.iter().enumerate() {
        let number = vertex as f64;
        assert_near(&record["at"], &[number, 1.0, -number, 1.0]);
        assert_near(&record["normal"], &[0.0, 0.0, 1.0]);
        assert_near(&record["uv"], &[0.25, number]);
    }
    // The file is also read by the crate `gltf`, which validates it.
    let scene = gltf::Gltf::open(out).unwrap();
    let primitive = scene.meshes().next().unwrap().primitives().next().unwrap();
    let names: Vec<String> =
        primitive.attributes().map(|(semantic, _)| semantic.to_string()).collect();
    for name in ["POSITION", "NORMAL", "TEXCOORD_0", "_NUMBER", "_GL_POSITION"] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    let bounds = primitive.bounding_box();
    assert_eq!((bounds.min, bounds.max), ([0.0, 1.0, -5.0], [5.0, 1.0, 0.0]));
    // If the position is that on the screen, the mesh has what is seen, with y upwards.
    vkxfb(&[&draw[..], &["--varyings", "gl_Position,outUV"]].concat()).exits(0);
    let scene = gltf::Gltf::open(out).unwrap();
    let bounds = scene.meshes().next().unwrap().primitives().next().unwrap().bounding_box();
    assert_eq!((bounds.min, bounds.max), ([4.0, -3.0, -0.5], [4.0, -3.0, -0.5]));

    // Primitives that reach behind the viewer are left out. So an integer in one of them that
    // floats cannot represent is no error.
    let behind = shaders.glsl(
        "behind.spv",
        "
        #version 450
        layout(location = 0) out flat uint number;
        void main() {
            gl_Position = vec4(1, 1, 0.5, gl_VertexIndex - 1);
            number = gl_VertexIndex == 5 ? 16777217 : 16777216;
        }",
    );
    let draw_behind = ["capture", &behind, "-o", out, "--varyings"];
    let left = vkxfb(&[&draw_behind[..], &["gl_Position", "--vertices", "6"]].concat()).exits(0);
    assert!(left.stderr.contains("1 of 2 primitives reach behind the viewer"), "{}", left.stderr);
    let scene = gltf::Gltf::open(out).unwrap();
    let bounds = scene.meshes().next().unwrap().primitives().next().unwrap().bounding_box();
    assert_eq!((bounds.min[0], bounds.max[0]), (0.25, 0.5));
    let all = [&draw_behind[..], &["gl_Position", "--vertices", "3"]].concat();
    vkxfb(&all).refuses(&["all of 1 primitives reach behind the viewer"]);
    // If one of the results is an error, no file is written.
    let picture = shaders.path("late.svg");
    let late = ["gl_Position,number", "--vertices", "6", "--picture", picture.to_str().unwrap()];
    vkxfb(&[&draw_behind[..], &late].concat()).refuses(&["vertex 5 of number has 16777217"]);
    assert!(!picture.exists());

    vkxfb(&["capture", &shader, "--vertices", "3", "--format", "glb"]).refuses(&["--output"]);
    let numbers = ["--varyings", "number", "--device", "no such device"];
    vkxfb(&[&draw[..], &numbers].concat()).refuses(&["nothing that is captured is a position"]);
}
