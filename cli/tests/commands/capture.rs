//! Runs `vkxfb capture` as a user does: checks what is captured of which files, and the messages
//! about wrong files.
//!
//! Captures are compared with the driver's own capture of the same draw.

use crate::command::{Ran, Shaders, command, vkxfb};
use crate::common;
use serde_json::{Value, json};

/// A vertex shader without inputs, whose outputs are computed from the numbers of the vertex and
/// the instance.
const NUMBERS: &str = "
    #version 450
    layout(xfb_buffer = 0, xfb_stride = 28, xfb_offset = 0) out gl_PerVertex { vec4 gl_Position; };
    layout(xfb_buffer = 0, xfb_offset = 16, location = 0) out flat uvec2 numbers;
    layout(xfb_buffer = 1, xfb_stride = 8, xfb_offset = 4, location = 1) out float half_of;
    void main() {
        gl_Position = vec4(gl_VertexIndex, -0.1, 0, 1);
        numbers = uvec2(gl_VertexIndex, gl_InstanceIndex);
        half_of = 0.5 * gl_VertexIndex;
    }";

/// A vertex shader with every kind of input that the user can supply: attributes, a uniform buffer,
/// a storage buffer, push constants, and a specialization constant.
const EVERYTHING: &str = "
    #version 450
    layout(constant_id = 7) const int COUNT = 1;
    layout(location = 0) in vec3 inPosition;
    layout(location = 1) in vec3 a_normal;
    layout(location = 2) in vec2 uv0;
    layout(set = 0, binding = 2) uniform Camera { mat4 matrix; vec4 tint; } camera;
    layout(std430, set = 1, binding = 0) readonly buffer Offsets { uint count; vec4 offsets[]; };
    layout(push_constant) uniform Model { vec4 origin; } model;
    out gl_PerVertex { vec4 gl_Position; };
    layout(location = 0) out vec3 normal;
    layout(location = 1) out vec2 texcoord;
    layout(location = 2) out float sums[COUNT];
    void main() {
        gl_Position = camera.matrix * vec4(inPosition, 1) + model.origin + offsets[gl_InstanceIndex % count];
        normal = a_normal * camera.tint.xyz;
        texcoord = uv0;
        for (int i = 0; i < COUNT; i++) sums[i] = inPosition.x + i;
    }";

const CAPTURED: &str = "gl_Position,normal,texcoord,sums";

/// A mesh of one face with four corners, which is divided into two triangles. The last corner has
/// another z and another normal.
const OBJ: &str = "
v 0 0 0\nv 2 0 0\nv 2 2 0\nv 0 2 1
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
vn 0 0 1\nvn 0 1 0
f 1/1/1 2/2/1 3/3/1 4/4/2\n";

/// The position, the normal and the texture coordinates of each corner of [`OBJ`], in the order of
/// the face.
const CORNERS: [[f32; 8]; 4] = [
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    [2.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0],
    [2.0, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    [0.0, 2.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
];

/// The files that a capture of [`EVERYTHING`] needs, and the arguments that name them.
struct Files {
    shaders: Shaders,
    arguments: Vec<String>,
}

impl Files {
    fn new() -> Self {
        let shaders = Shaders::new();
        let floats = |values: &[f32]| bytemuck::cast_slice::<f32, u8>(values).to_vec();
        let mut camera = [0.0; 20];
        for i in 0..4 {
            camera[5 * i] = 0.5;
        }
        camera[16..].copy_from_slice(&[1.0, -1.0, 0.25, 1.0]);
        let mut offsets = bytemuck::cast_slice::<u32, u8>(&[2, 0, 0, 0]).to_vec();
        offsets.extend(floats(&[0.0, 0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 0.5]));
        let arguments = [
            shaders.glsl("all.spv", EVERYTHING),
            format!("--uniform=0.2={}", shaders.file("camera.bin", &floats(&camera))),
            format!("--uniform=1.0={}", shaders.file("offsets.bin", &offsets)),
            format!("--push={}", shaders.file("model.bin", &floats(&[8.0, 0.0, 0.0, 0.0]))),
            format!("--varyings={CAPTURED}"),
            "--constant=7=2".to_owned(),
        ];
        Self { arguments: arguments.to_vec(), shaders }
    }

    /// Runs `vkxfb capture` with the arguments, followed by `more`.
    fn run(&self, more: &[&str]) -> Ran {
        let arguments = self.arguments.iter().map(String::as_str);
        let all: Vec<&str> =
            ["capture"].into_iter().chain(arguments).chain(more.iter().copied()).collect();
        vkxfb(&all)
    }

    fn ply(
        &self,
        name: &str,
        encoding: &str,
        number: fn(f32) -> Vec<u8>,
        index: fn(i32) -> Vec<u8>,
    ) -> String {
        let text = encoding == "ascii";
        let properties = ["x", "y", "z", "nx", "ny", "nz", "s", "t"];
        let properties = properties.map(|name| format!("property float {name}\n")).concat();
        let mut bytes = format!(
            "ply\nformat {encoding} 1.0\nelement vertex 4\n{properties}element face 1\n\
             property list uchar int vertex_indices\nend_header\n"
        )
        .into_bytes();
        let mut line = |values: Vec<Vec<u8>>| {
            bytes.extend(values.join(if text { &b" "[..] } else { b"" }));
            bytes.extend(if text { &b"\n"[..] } else { b"" });
        };
        for corner in CORNERS {
            line(corner.map(number).to_vec());
        }
        let count = if text { b"4".to_vec() } else { vec![4] };
        line([count].into_iter().chain((0..4).map(index)).collect());
        self.shaders.file(name, &bytes)
    }
}

fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no '{part}' in: {text}");
    }
}

#[test]
fn vertices_without_a_mesh_are_shown_in_every_format() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("numbers.spv", NUMBERS);
    let draw =
        ["capture", &shader, "--vertices", "4", "--topology", "triangle-strip", "--validate"];
    let run = |more: &[&str]| vkxfb(&[&draw[..], more].concat()).exits(0);
    for backend in ["native", "vertex", "compute"] {
        let csv = run(&["--backend", backend, "--format", "csv"]).stdout;
        let rows = |vertices: [u32; 6]| {
            let row = |(at, v): (usize, &u32)| {
                let half = f64::from(*v) / 2.0;
                format!("{},{v}.0,-0.1,0.0,1.0,{v},0,{half:?}\n", at / 3)
            };
            vertices.iter().enumerate().map(row).collect::<String>()
        };
        let head = "primitive,gl_Position.x,gl_Position.y,gl_Position.z,gl_Position.w,numbers.x,\
                    numbers.y,half_of\n";
        assert_eq!(csv, format!("{head}{}", rows([0, 1, 2, 1, 3, 2])), "{backend}");
    }
    let last = run(&["--provoking", "last", "--format", "json"]).json();
    let numbers = |json: &Value| -> Vec<u64> {
        let records = json["records"].as_array().unwrap();
        records.iter().map(|r| r["outputs"]["numbers"][0].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&last), [0, 1, 2, 2, 1, 3]);
    assert_eq!(
        last["columns"][2],
        json!({"name": "half_of", "type": "float", "buffer": 1, "offset": 4})
    );
    assert_eq!(last["records"][1]["outputs"]["gl_Position"], json!([1.0, -0.1, 0.0, 1.0]));
    assert_eq!(last["records"][1]["outputs"]["half_of"], json!(0.5));

    let parts = run(&["--varyings", "@Position.yz,@0", "--format", "csv"]).stdout;
    let head = "primitive,gl_Position.y,gl_Position.z,numbers.x,numbers.y\n0,-0.1,0.0,0,0\n";
    assert!(parts.starts_with(head), "{parts}");
    let table = run(&[]).stdout;
    assert_contains(&table, &["primitive", "gl_Position.x", "-0.1", "6 vertices of 2 primitives"]);
    let file = shaders.path("out.csv");
    let said = run(&["-o", file.to_str().unwrap()]).stdout;
    assert_contains(
        &said,
        &["6 vertices of 2 primitives (triangle-strip) written; backend compute"],
    );
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("primitive,gl_Position.x"));
}

#[test]
fn the_optimizer_can_be_ruled_out() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("numbers.spv", NUMBERS);
    let run = |more: &[&str]| {
        let probe = ["probe", "shader", &shader, "--device", "0", "--backend", "compute"];
        let few = ["--topology", "triangle-list", "--vertices", "3"];
        let mut command = command(&[&probe[..], &few, more].concat());
        command.env("VKXFB_LOG", "vkxfb=debug").env("NO_COLOR", "1");
        Ran::new(command.output().unwrap()).exits(0).stderr
    };
    let (optimized, unoptimized) = (run(&[]), run(&["--unoptimized"]));
    assert_contains(&optimized, &["is_inlined=true"]);
    assert_contains(&unoptimized, &["is_inlined=false"]);
    assert!(!unoptimized.contains("is_inlined=true"), "{unoptimized}");
}

#[test]
fn indices_come_from_a_file_and_restart() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("numbers.spv", NUMBERS);
    let indices = shaders.file("indices.txt", b"4, 5, 6\n7 restart;8,9 10\n");
    let mut arguments =
        vec!["capture", &shader, "--indices", &indices, "--format", "json", "--validate"];
    arguments.extend(["--topology", "line-strip", "--compare"]);
    let ran = vkxfb(&arguments).exits(0);
    // The result of the comparison is on standard error, because other programs may read the
    // captured vertices from standard output.
    assert_contains(&ran.stderr, &["equal to the driver's own capture, 10 records"]);
    let json = ran.json();
    let records = json["records"].as_array().unwrap();
    let numbers: Vec<_> =
        records.iter().map(|r| r["outputs"]["numbers"][0].as_u64().unwrap()).collect();
    assert_eq!(numbers, [4, 5, 5, 6, 6, 7, 8, 9, 9, 10]);
    assert_eq!(json["primitives_needed"], 5);
    vkxfb(&[&arguments[..], &["--vertices", "9"]].concat()).refuses(&["--vertices 9: there are 8"]);
}

#[test]
fn meshes_of_every_format_capture_the_same_as_the_driver() {
    let files = Files::new();
    let head = "x,y,z,nx,ny,nz,u,v\n";
    let line = |corner: &[f32; 8]| corner.map(|number| number.to_string()).join(",") + "\n";
    let csv = format!("{head}{}", [0, 1, 2, 0, 2, 3].map(|at: usize| line(&CORNERS[at])).concat());
    let meshes = [
        files.shaders.file("mesh.obj", OBJ.as_bytes()),
        files.shaders.file("mesh.csv", csv.as_bytes()),
        files.ply("text.ply", "ascii", |n| n.to_string().into(), |i| i.to_string().into()),
        files.ply(
            "little.ply",
            "binary_little_endian",
            |n| n.to_le_bytes().into(),
            |i| i.to_le_bytes().into(),
        ),
        files.ply(
            "big.ply",
            "binary_big_endian",
            |n| n.to_be_bytes().into(),
            |i| i.to_be_bytes().into(),
        ),
    ];
    let of = |mesh: &str, backend| {
        let draw = ["--mesh", mesh, "--instances", "2", "--validate", "--format", "csv"];
        files.run(&[&draw[..], &["--backend", backend]].concat()).exits(0).stdout
    };
    let native = of(&meshes[0], "native");
    for mesh in &meshes {
        assert_eq!(of(mesh, "compute"), native, "{mesh}");
    }
    // Line 2 is corner 1 in instance 0. Line 12, the last line, is corner 3 in instance 1.
    let lines: Vec<&str> = native.lines().collect();
    assert_eq!(lines.len(), 1 + 12);
    assert_contains(lines[0], &["primitive,gl_Position.x", "sums[0],sums[1]"]);
    assert_eq!(lines[2], "0,9.0,0.0,0.0,1.0,0.0,-0.0,0.25,1.0,0.0,2.0,3.0");
    assert_eq!(lines[12], "3,9.0,3.0,3.5,1.0,0.0,-1.0,0.0,0.0,1.0,0.0,1.0");
    files.run(&["--mesh", &meshes[0], "--compare", "--resources", "descriptors"]).exits(0);
}

#[test]
fn columns_are_chosen() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "shader.wgsl",
        b"struct Out {
            @builtin(position) at: vec4f,
            @location(0) tint: vec4f,
            @location(1) @interpolate(flat) id: vec2i,
        }
        @vertex fn main(@location(0) place: vec4f, @location(3) tint: vec4f, @location(4) id: vec2i) -> Out {
            return Out(place, tint, id);
        }",
    );
    let mesh = shaders.file(
        "mesh.ply",
        b"ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty uchar red\n\
          property uchar green\nproperty int first\nproperty short second\nend_header\n\
          1 2 255 51 -7 300\n3 4 0 255 2147483647 -1\n",
    );
    let mut arguments = vec!["capture", &shader, "--mesh", &mesh, "--topology", "line-list"];
    arguments.extend(["--varyings", "@Position,@0,@1", "--format", "json", "--validate"]);
    let chosen = ["--compare", "--attribute", "0=position,3=color,4=first"];
    let json = vkxfb(&[&arguments[..], &chosen].concat()).exits(0).json();
    let outputs = |json: &Value, at: usize| {
        let outputs = json["records"][at]["outputs"].as_object().unwrap();
        outputs.values().cloned().collect::<Vec<_>>()
    };
    // The outputs are in the order of --varyings: at, tint, id. Components that a format lacks are 0, except
    // that the fourth is 1.
    let expected = [json!([1.0, 2.0, 0.0, 1.0]), json!([1.0, 0.2, 0.0, 1.0]), json!([-7, 0])];
    assert_eq!(outputs(&json, 0), expected);

    let refuses = |chosen: &str, what: &[&str]| {
        vkxfb(&[&arguments[..], &["--attribute", chosen]].concat()).refuses(what);
    };
    let of_place = [
        "input 'place' at location 0 (vec4): --attribute place=COLUMN of the mesh, or --attribute place=0,0,0,0",
        "input 'id' at location 4 (ivec2)",
        "position (x y), color (red green), first, second",
    ];
    refuses("3=color", &of_place);
    refuses("0=nothing,3=color", &["no column 'nothing'", "position (x y)"]);
    refuses("0=position,place=color", &["says twice what input 'place' at location 0 (vec4)"]);
    refuses("9=position", &["--attribute 9: the shader has no such input", "'tint' at location 3"]);
    refuses("0=position,3=color,4=0.5", &["the constant for input 'id'", "0.5 is no integer"]);
    refuses("0=1,2,3,4,5", &["5 numbers"]);

    // Inputs read constants, which are chosen by the name and by the location of the input.
    let chosen = "tint=0.5,1,0,1,4=7,0,place=position";
    let json =
        vkxfb(&[&arguments[..], &["--compare", "--attribute", chosen]].concat()).exits(0).json();
    let expected = [json!([1.0, 2.0, 0.0, 1.0]), json!([0.5, 1.0, 0.0, 1.0]), json!([7, 0])];
    assert_eq!(outputs(&json, 0), expected);
    // Constants need no mesh. One number is for all components.
    let bare =
        ["capture", &shader, "--vertices", "1", "--topology", "point-list", "--format", "json"];
    let chosen = ["--attribute", "0=-1", "--attribute", "tint=1,0,0,1,id=2,3"];
    let json = vkxfb(&[&bare[..], &chosen].concat()).exits(0).json();
    let expected = [json!([-1.0, -1.0, -1.0, -1.0]), json!([1.0, 0.0, 0.0, 1.0]), json!([2, 3])];
    assert_eq!(outputs(&json, 0), expected);
}

#[test]
fn without_a_list_all_outputs_are_captured() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "all.spv",
        "
        #version 450
        layout(location = 0) out float first;
        layout(location = 1) out dvec2 wide;
        layout(location = 3) out flat uint many[2];
        layout(location = 5) out mat2 both;
        void main() {
            first = 1;
            wide = dvec2(2, 3);
            many = uint[](4, 5);
            both = mat2(6, 7, 8, 9);
            gl_Position = vec4(gl_VertexIndex);
        }",
    );
    let draw = ["capture", &shader, "--vertices", "3", "--format", "csv", "--compare"];
    let csv = vkxfb(&[&draw[..], &["--validate"]].concat()).exits(0).stdout;
    let lines: Vec<&str> = csv.lines().collect();
    // Of the built-ins, only the position is captured.
    let named = |name: &str| lines[0].split(',').filter(|column| column.starts_with(name)).count();
    let counts = ["gl_Position", "first", "wide", "many", "both"].map(named);
    assert_eq!((counts, lines[0].split(',').count()), ([4, 1, 2, 2, 4], 1 + 13));
    let sum = |line: &str| -> f64 { line.split(',').map(|n| n.parse::<f64>().unwrap()).sum() };
    assert_eq!(sum(lines[3]), 45.0 + 4.0 * 2.0);
    // Vertex streams cannot share a capture buffer, so the outputs of only one stream are captured.
    let vertex = shaders.glsl("plain.spv", "#version 450\nvoid main() { gl_Position = vec4(0); }");
    let streams = shaders.file(
        "streams.geom",
        b"#version 450
        layout(points) in;
        layout(points, max_vertices = 3) out;
        layout(stream = 0, location = 0) out float own;
        layout(stream = 1, location = 1) out float there;
        void main() { own = 1; EmitStreamVertex(0); there = 2; EmitStreamVertex(1); EmitStreamVertex(1); }",
    );
    let draw = ["capture", &vertex, "--geometry", &streams, "--topology", "point-list"];
    let of = |stream: &str| {
        let more = ["--vertices", "1", "--format", "csv", "--stream", stream];
        vkxfb(&[&draw[..], &more].concat()).exits(0).stdout
    };
    assert!(of("0").contains("own") && of("0").lines().count() == 2, "{}", of("0"));
    assert_contains(&of("1"), &["primitive,there", "0,2.0\n"]);
    assert!(!of("1").contains("own"), "{}", of("1"));
}

#[test]
fn parts_of_inputs_are_named_as_the_shader_has_them() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "parts.spv",
        "
        #version 450
        layout(location = 0) in dmat2x3 wide;
        layout(location = 5) in mat2 pairs[2];
        layout(xfb_buffer = 0, xfb_stride = 12, xfb_offset = 0, location = 0) out vec3 sum;
        void main() { sum = vec3(wide[0] + wide[1]) + pairs[1][1].xyx; gl_Position = vec4(0); }",
    );
    let mesh = shaders.file("mesh.csv", b"x,y,z\n1,2,3\n");
    let draw = ["capture", &shader, "--mesh", &mesh, "--attribute"];
    let refuses =
        |chosen: &str, what: &[&str]| vkxfb(&[&draw[..], &[chosen]].concat()).refuses(what);
    refuses(
        "9=position",
        &[
            "'wide[0]' at location 0",
            "'wide[1]' at location 2",
            "'pairs[0][0]' at location 5",
            "'pairs[0][1]' at location 6",
            "'pairs[1][0]' at location 7",
            "'pairs[1][1]' at location 8",
        ],
    );
    refuses("0=position", &["input 'wide[1]' at location 2 (dmat2x3): --attribute wide[1]=COLUMN"]);
    // The columns of a mesh can have the names of the parts of inputs.
    let head = "wide[0].x,wide[0].y,wide[0].z,wide[1].x,wide[1].y,wide[1].z";
    let pairs = ["[0][0]", "[0][1]", "[1][0]", "[1][1]"];
    let pairs = pairs.map(|part| format!(",pairs{part}.x,pairs{part}.y")).concat();
    let text = format!("{head}{pairs}\n1,2,3,4,5,6,0,0,0,0,0,0,7,8\n");
    let named = shaders.file("named.csv", text.as_bytes());
    let draw = ["capture", &shader, "--mesh", &named, "--topology", "point-list"];
    let json = vkxfb(&[&draw[..], &["--format", "json"]].concat()).exits(0).json();
    assert_eq!(json["records"][0]["outputs"]["sum"], json!([12.0, 15.0, 16.0]));
}

#[test]
fn what_a_shader_lacks_is_named() {
    let files = Files::new();
    let mesh = files.shaders.file("mesh.obj", OBJ.as_bytes());
    let without = |option: &str, what: &[&str]| {
        let kept = files.arguments.iter().filter(|argument| !argument.starts_with(option));
        let kept = kept.map(String::as_str).chain(["--mesh", &mesh]);
        vkxfb(&["capture"].into_iter().chain(kept).collect::<Vec<_>>()).refuses(what);
    };
    without(
        "--uniform=0.2",
        &[
            "descriptor set 0 binding 2 ('camera'",
            "a uniform buffer of 80 bytes: --uniform 0.2=FILE, or --uniform 0.2.MEMBER=VALUE",
            "for each of matrix (mat4), tint (vec4)",
        ],
    );
    without("--uniform=1.0", &["set 1 binding 0", "a storage buffer of 16 bytes and 16 for each"]);
    without("--push", &["push constants ('model')", "16 bytes"]);
    // Everything that is missing is listed in one message, before a device is opened.
    let bare = ["capture", &files.arguments[0], "--constant=7=2", "--device", "no such device"];
    vkxfb(&bare).refuses(&[
        "these are missing:\n",
        "\n    input 'inPosition' at location 0 (vec3): --mesh FILE",
        "\n    input 'a_normal' at location 1",
        "\n    input 'uv0' at location 2",
        "\n    descriptor set 0 binding 2",
        "\n    descriptor set 1 binding 0",
        "\n    the push constants",
        "\n    what is drawn: --vertices N",
    ]);

    let with = |more: &[&str], what: &[&str]| {
        files.run(&[&["--mesh", &mesh], more].concat()).refuses(what)
    };
    let short = files.shaders.file("short.bin", &[0; 12]);
    let kept: Vec<&str> =
        files.arguments.iter().map(String::as_str).filter(|a| !a.starts_with("--push")).collect();
    let push = ["capture", "--mesh", &mesh, "--push", &short];
    vkxfb(&[&push[..], &kept].concat()).refuses(&["short.bin has 12 bytes", "takes 16 bytes"]);
    // A storage buffer needs at least one element of its runtime array, and the last element must
    // be complete.
    for size in [0, 1, 8, 16, 28, 40] {
        let name = format!("{size}.bin");
        let file = format!("1.0={}", files.shaders.file(&name, &vec![0; size]));
        let kept = files.arguments.iter().map(String::as_str);
        let kept: Vec<_> = kept.filter(|a| !a.starts_with("--uniform=1.0")).collect();
        let storage = ["capture", "--mesh", &mesh, "--uniform", &file];
        let found = format!("{name} has {size} bytes");
        vkxfb(&[&storage[..], &kept].concat()).refuses(&[
            &found,
            "set 1 binding 0",
            "takes 16 bytes and 16 for each element",
        ]);
    }
    // Faults of a JSON file are listed together, with its name and not as an option that nobody typed.
    let wrong = |json: &str, what: &[&str]| {
        let file = format!("0.2={}", files.shaders.file("wrong.json", json.as_bytes()));
        let kept = files.arguments.iter().map(String::as_str);
        let kept: Vec<_> = kept.filter(|a| !a.starts_with("--uniform=0.2")).collect();
        vkxfb(&[&["capture", "--mesh", &mesh, "--uniform", &file], &kept[..]].concat())
            .refuses(what);
    };
    wrong(
        r#"{ "hue": [1, 0], "tint": [1, 2] }"#,
        &[
            "2 values are wrong:",
            "wrong.json: hue: [1,0]: no member 'hue'",
            "wrong.json: tint: [1,2]: ",
        ],
    );
    wrong(
        r#"{ "matrix": "idntity", "tint": null }"#,
        &[
            "wrong.json: 2 values are wrong:",
            "\n    matrix: 'idntity'",
            "\n    tint: null is no number",
        ],
    );
    // An error that occurs during the capture is the only one that is reported.
    with(&["--backend", "vertex"], &["indexed draws"]);
    with(&["--uniform", &format!("0.2={short}")], &["--uniform 0.2 has two files"]);
    with(
        &["--uniform", &format!("3.1={short}")],
        &["set 3 binding 1, which the shader does not use", "('camera'"],
    );
    with(&["--uniform", "0.2"], &["SET.BINDING=FILE"]);
    with(&["--indices", &short], &["short.bin"]);
    with(&["--vertices", "7"], &["--vertices 7: there are 6 indices"]);
    let beyond = files.shaders.file("beyond.txt", b"0 1 4");
    with(&["--indices", &beyond], &["index 4 is none of the 4 vertices"]);
    let words = files.shaders.file("words.txt", b"0 one");
    with(&["--indices", &words], &["'one' is no index"]);
    let bytes = files.shaders.file("bytes.txt", b"\x01\x1b[31m");
    with(&["--indices", &bytes], &["'\\u{1}\\u{1b}[31m' is no index"]);
    let nothing = files.shaders.file("nothing.txt", b"\n");
    with(&["--indices", &nothing], &["nothing.txt has no indices"]);
    let picture = files.shaders.path("out.svg");
    let picture = picture.to_str().unwrap();
    with(&["--picture", picture, "-o", picture], &["out.svg is to hold two results"]);
    let other = files.shaders.path("out.xyz");
    with(
        &["-o", other.to_str().unwrap()],
        &["out.xyz: cannot write .xyz; use .txt, .csv, .json, .ply, .glb, or --format"],
    );
    with(&["-o", "out.gltf"], &["out.gltf: glTF is written as .glb"]);
    with(&["-o", "out.png"], &["out.png: --picture draws that"]);
    with(
        &["--attribute", "a_normal=1,2"],
        &["input 'a_normal' at location 1 (vec3) takes 3 numbers, and 2 are given"],
    );
    with(&["--picture", "out.gif"], &["out.gif: pictures are .png or .svg"]);
    files.run(&[]).refuses(&["input 'inPosition' at location 0 (vec3)", "--mesh"]);

    let numbers = files.shaders.glsl("numbers.spv", NUMBERS);
    vkxfb(&["capture", &numbers]).refuses(&["what is drawn: --vertices N"]);
    vkxfb(&["capture", &mesh]).refuses(&["mesh.obj is a mesh by its extension", "--mesh "]);
    let over = vkxfb(&["capture", &numbers, "--vertices", "8"]).exits(0).stderr;
    assert!(over.contains("vertices that make no whole primitive: 2 (a triangle-list"), "{over}");
    let even = vkxfb(&["capture", &numbers, "--vertices", "6"]).exits(0).stderr;
    assert!(!even.contains("no whole primitive"), "{even}");
    // A block without a name is not called by its id.
    let block = "#version 450
        layout(set = 0, binding = 4) uniform Block { vec4 at; };
        void main() { gl_Position = at; }";
    let words = common::compile(block, &["-g0"]);
    let nameless = files.shaders.file("nameless.spv", bytemuck::cast_slice(&words));
    vkxfb(&["capture", &nameless, "--vertices", "3"])
        .refuses(&["descriptor set 0 binding 4, a uniform buffer of 16 bytes: --uniform 0.4=FILE"]);
    let points = ["capture", &numbers, "--vertices", "3", "--topology", "point-list", "--backend"];
    vkxfb(&[&points[..], &["native"]].concat()).refuses(&["PointSize"]);
    // The draw has (2^32 - 3) * (2^32 - 1) triangles. The message says their exact size, which does
    // not fit into 64 bits.
    let stride = vkxfb(&["inspect", &numbers, "--json"]).json()["buffers"][0]["stride"].clone();
    let vertices = u128::from(u32::MAX - 2) * u128::from(u32::MAX) * 3;
    let all = vertices * u128::from(stride.as_u64().unwrap());
    let most = ["capture", &numbers, "--vertices", "4294967295", "--instances", "4294967295"];
    vkxfb(&[&most[..], &["--topology", "triangle-strip"]].concat())
        .refuses(&[&format!("{all} bytes are captured")]);
    vkxfb(&[&points[..], &["compute"]].concat()).exits(0);
    vkxfb(&["capture", &numbers, "--vertices", "3", "--push", &short])
        .refuses(&["short.bin is for push constants, which the shader does not use"]);
    let image = files.shaders.glsl(
        "image.spv",
        "
        #version 450
        layout(set = 0, binding = 1) uniform sampler2D heights;
        layout(xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0, location = 0) out float height;
        void main() { height = textureLod(heights, vec2(0.5), 0).x; }",
    );
    vkxfb(&["capture", &image, "--vertices", "3"]).refuses(&[
        "set 0 binding 1 ('heights')",
        "a combined image sampler, which cannot be given",
        "only buffers can",
    ]);
}

/// Values of members produce the same bytes as files.
#[test]
fn members_take_values_by_name() {
    let files = Files::new();
    let mesh = files.shaders.file("mesh.obj", OBJ.as_bytes());
    let with_files = files.run(&["--mesh", &mesh, "--format", "csv"]).exits(0).stdout;
    let run = |values: &[&str]| {
        let draw = ["capture", &files.arguments[0], "--mesh", &mesh, "--format", "csv"];
        let captured = format!("--varyings={CAPTURED}");
        let always = [&draw[..], &[captured.as_str(), "--constant=7=2"]].concat();
        vkxfb(&[&always[..], values].concat())
    };
    let values = [
        "--uniform=0.2.matrix=0.5,0,0,0,0,0.5,0,0,0,0,0.5,0,0,0,0,0.5",
        "--uniform=0.2.tint=1,-1,0.25,1",
        "--uniform=1.0.count=2",
        "--uniform=1.0.offsets[1]=1,2,3,0.5",
        "--uniform=1.0.offsets[0]=0",
        "--uniform=1.0.offsets[0][3]=0.5",
        "--push=origin=0",
        "--push=origin[0]=8",
    ];
    assert_eq!(run(&values).exits(0).stdout, with_files);
    // Values of members replace parts of a file. A column of a matrix can be set alone.
    let camera = &files.arguments[1];
    let column = "--uniform=0.2.matrix[3]=0,0,0,0.5";
    let over = [camera, column, "--uniform=0.2.tint[1]=-1"];
    assert_eq!(run(&[&over[..], &values[2..]].concat()).exits(0).stdout, with_files);
    // A value for all members (`*`) is for those that are not given otherwise, whatever the order
    // of the options.
    for at in 0..=values.len() {
        let mut values = values.to_vec();
        values.splice(at..at, ["--uniform=0.2.*=7", "--uniform=1.0.*=7", "--push=*=7"]);
        assert_eq!(run(&values).exits(0).stdout, with_files, "{at}");
    }

    let refuses = |changed: usize, value: &str, what: &[&str]| {
        let mut values = values;
        values[changed] = value;
        run(&values).refuses(what);
    };
    refuses(1, "--uniform=0.2.*=identity", &["--uniform 0.2.*=identity", "no matrix"]);
    refuses(
        1,
        "--uniform=0.2.tint=1,2,3",
        &["0.2.tint=1,2,3", "it has 4 numbers, and 3 are given"],
    );
    refuses(1, "--uniform=0.2.tont=1", &["no member 'tont'", "matrix (mat4), tint (vec4)"]);
    refuses(1, "--uniform=0.2.tint[4]=1", &["'tint[4]': there is no [4]"]);
    refuses(1, "--uniform=0.2.tint=red", &["'red': a value is numbers"]);
    // A JSON file has values of members by their names. Options replace these values.
    let json = |text: &str| {
        let file = files.shaders.file("all.json", text.as_bytes());
        format!("--uniform=0.2={file}")
    };
    let offsets = r#"{"count": 2, "offsets": [[0, 0, 0, 0.5], [1, 2, 3, 0.5]]}"#;
    let offsets =
        format!("--uniform=1.0={}", files.shaders.file("offsets.json", offsets.as_bytes()));
    let push = files.shaders.file("push.json", br#"{"origin": [8, 0, 0, 0]}"#);
    let matrix = "[0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1]";
    let camera = json(&format!(r#"{{"tint": [7, -1, 0.25, 1], "matrix": {matrix}, "*": 9}}"#));
    let named = ["--uniform=0.2.matrix[3][3]=0.5", &camera, &offsets, "--push", &push];
    let named = [&named[..], &["--uniform=0.2.tint[0]=1"]].concat();
    assert_eq!(run(&named).exits(0).stdout, with_files);
    for (text, what) in [
        ("{\"tint\": null}", "tint: null is no number"),
        ("{\"tint\": [1, 2]}", "it has 4 numbers, and 2 are given"),
        ("{\"tont\": 1}", "no member 'tont'"),
        ("[1]", "all.json has no object"),
        ("{", "all.json"),
        ("{\"tint\": 1}", "member 'matrix' (mat4)"),
    ] {
        let camera = json(text);
        run(&[&[camera.as_str()], &values[2..]].concat()).refuses(&[what]);
    }
    refuses(
        2,
        "--uniform=1.0.count=-1",
        &["1.0.count=-1", "-1 is no integer of 32 bits without a sign"],
    );
    refuses(
        3,
        "--uniform=1.0.offsets[4000000000]=1",
        &["--uniform 1.0.offsets[4000000000]=1", "at most 1073741824 are written"],
    );
    refuses(5, "--uniform=1.0.offsets[0]=1", &["--uniform 1.0.offsets[0] is given twice"]);
    refuses(7, "--push=origin=1", &["--push origin is given twice"]);
    refuses(
        2,
        "--uniform=1.5.count=1",
        &["--uniform 1.5: the shader has no such block; it has: 0.2, 1.0"],
    );
    // The message lists all members without a value.
    run(&["--uniform=0.2.tint=1", "--uniform=1.0.offsets[0]=0", "--push=origin[2]=1"]).refuses(&[
        "member 'matrix' (mat4): --uniform 0.2.matrix=VALUE, or --uniform 0.2.*=0 for all",
        "member 'count' (uint): --uniform 1.0.count=VALUE",
        "member 'origin' (vec4): --push origin=VALUE",
    ]);
}

/// Of a block of which some members are given, `--made-up` makes up the others: those that it would make up of the whole.
#[test]
fn members_that_are_not_given_are_made_up() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "blocks.vert",
        b"#version 450
        layout(set = 0, binding = 0) uniform Camera { mat4 view; vec4 tint; };
        layout(set = 0, binding = 1) readonly buffer List { uint count; vec4 list[]; };
        layout(push_constant) uniform Pushed { vec4 added; float scale; };
        layout(location = 0) out vec4 outView;
        layout(location = 1) out vec4 outTint;
        layout(location = 2) out vec4 outList;
        layout(location = 3) out uint outCount;
        layout(location = 4) out vec4 outAdded;
        layout(location = 5) out float outScale;
        void main() {
            outView = view[1]; outTint = tint; outList = list[gl_VertexIndex]; outCount = count; outAdded = added;
            outScale = scale; gl_Position = vec4(0); gl_PointSize = 1;
        }",
    );
    let draw = ["capture", &shader, "--topology", "point-list", "--vertices", "2"];
    let members = ["--uniform=0.0.tint=1,2,3,4", "--uniform=0.1.list[1]=5,6,7,8", "--push=scale=9"];
    vkxfb(&[&draw[..], &members].concat()).refuses(&["'view'", "'count'", "'added'"]);
    let made_up = |members: &[&str]| {
        let options = ["--made-up", "--format", "json", "--validate", "--compare"];
        let json = vkxfb(&[&draw[..], &options, members].concat()).exits(0).json();
        [0, 1].map(|vertex: usize| json["records"][vertex]["outputs"].clone())
    };
    let (whole, part) = (made_up(&[]), made_up(&members));
    for (whole, part) in whole.iter().zip(&part) {
        for name in ["outView", "outCount", "outAdded"] {
            assert!(!whole[name].is_null());
            assert_eq!(whole[name], part[name], "{name}");
        }
        assert_eq!(part["outTint"], json!([1.0, 2.0, 3.0, 4.0]));
        assert_eq!(part["outScale"], json!(9.0));
        assert_ne!(whole["outTint"], part["outTint"]);
    }
    assert_eq!(whole[0]["outList"], part[0]["outList"]);
    assert_eq!(part[1]["outList"], json!([5.0, 6.0, 7.0, 8.0]));
}

/// A geometry shader that could emit more than fits into what one descriptor covers, and emits little, is captured by
/// descriptors. What does not fit is refused with the limit.
#[test]
fn what_a_geometry_shader_could_emit_need_not_fit() {
    let shaders = Shaders::new();
    let outputs = "layout(location = 0) out vec4 a; layout(location = 1) out vec4 b; layout(location = 2) out vec4 c;";
    let vertex = shaders.file(
        "many.vert",
        format!("#version 450\n{outputs}\nvoid main() {{ a = b = c = gl_Position = vec4(gl_VertexIndex); }}")
            .as_bytes(),
    );
    let geometry = shaders.file(
        "many.geom",
        format!(
            "#version 450
            layout(points, invocations = 32) in;
            layout(triangle_strip, max_vertices = 60) out;
            {outputs}
            void main() {{
                if (gl_InvocationID == 7)
                    for (int i = 0; i < 3; i++) {{
                        a = b = c = gl_Position = gl_in[0].gl_Position + i;
                        EmitVertex();
                    }}
            }}"
        )
        .as_bytes(),
    );
    let points = ["capture", &vertex, "--topology", "point-list", "--resources", "descriptors"];
    let more = ["--geometry", &geometry, "--vertices", "400", "--format", "json"];
    let json = vkxfb(&[&points[..], &more].concat()).exits(0).json();
    assert_eq!(json["primitives_written"], 400);
    assert_eq!(json["records"].as_array().unwrap().len(), 3 * 400);
    vkxfb(&[&points[..], &["--vertices", "3000000"]].concat())
        .refuses(&["maxStorageBufferRange is 134217728"]);
}

/// `vkxfb inspect` lists the blocks with their members, and says that without decorations all
/// outputs with locations are captured.
#[test]
fn inspect_lists_what_a_shader_reads() {
    let files = Files::new();
    let inspect = |more: &[&str]| vkxfb(&[&["inspect", &files.arguments[0]], more].concat());
    let json = inspect(&["--json"]).exits(0).json();
    let member =
        |offset: u32, ty: &str, name: &str| json!({ "offset": offset, "type": ty, "name": name });
    assert_eq!(
        json["descriptors"],
        json!([
            {
                "set": 0, "binding": 2, "type": "uniform buffer", "name": "camera",
                "members": [member(0, "mat4", "matrix"), member(64, "vec4", "tint")],
            },
            {
                "set": 1, "binding": 0, "type": "storage buffer", "name": "Offsets",
                "members": [member(0, "uint", "count"), member(16, "vec4[]", "offsets")],
            },
        ])
    );
    let text = inspect(&[]).exits(0).stdout;
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [&["0.2", "uniform", "buffer", "camera"][..], &["64", "vec4", "tint"]] {
        assert!(lines.iter().any(|found| found == line), "{text}");
    }
    assert_contains(&text, &["vkxfb capture takes Position and all outputs that have locations"]);
}

/// The blocks have each layout of a matrix, and each width of a number.
#[test]
fn members_of_every_layout_are_where_the_shader_reads_them() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "layouts.spv",
        "
        #version 450
        #extension GL_ARB_gpu_shader_int64 : require
        struct Light { vec3 place; float power; };
        layout(set = 0, binding = 0) uniform Many {
            layout(row_major) mat2x3 across;
            mat2x3 along;
            Light lights[2];
            dvec2 wide;
            int64_t large;
            ivec3 small;
        } many[2];
        layout(location = 0) out vec3 first;
        layout(location = 1) out vec3 second;
        layout(location = 2) out vec4 light;
        layout(location = 3) out flat dvec2 wide;
        layout(location = 4) out flat int64_t large;
        layout(location = 5) out flat ivec3 small;
        void main() {
            first = many[1].across[1];
            second = many[0].along[1];
            light = vec4(many[0].lights[1].place, many[0].lights[1].power);
            wide = many[0].wide;
            large = many[0].large;
            small = many[0].small;
        }",
    );
    let values = [
        "--uniform=0.0.*=0",
        "--uniform=0.0.across=1,2,3,4,5,6",
        "--uniform=0.0.along=identity",
        "--uniform=0.0.lights[1].place=10,11,12",
        "--uniform=0.0.lights[1].power=0.5",
        "--uniform=0.0.wide=0.1,-1e300",
        "--uniform=0.0.large=-4294967296",
        "--uniform=0.0.small=-1,0x7f,3",
    ];
    let draw =
        ["capture", &shader, "--vertices", "1", "--topology", "point-list", "--format", "json"];
    let varyings =
        ["--varyings", "first,gl_SkipComponents1,second,gl_SkipComponents1,light,wide,large,small"];
    let json = vkxfb(&[&draw[..], &varyings, &values].concat()).exits(0).json();
    assert_eq!(
        json["records"][0]["outputs"],
        json!({
            "first": [4.0, 5.0, 6.0],
            "second": [0.0, 1.0, 0.0],
            "light": [10.0, 11.0, 12.0, 0.5],
            "wide": [0.1, -1e300],
            "large": -4294967296i64,
            "small": [-1, 127, 3],
        })
    );
}

/// naga wraps the structure of a uniform in another structure, whose only member has no name.
#[test]
fn members_of_wgsl_have_their_own_names() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "camera.wgsl",
        b"struct Camera { matrix: mat4x4f, turn: f32 }
        struct Light { power: vec2f }
        @group(0) @binding(0) var<uniform> camera: Camera;
        @group(0) @binding(1) var<storage> lights: array<Light>;
        @group(1) @binding(0) var<uniform> alone: mat4x4f;
        @vertex fn main(@builtin(vertex_index) v: u32) -> @builtin(position) vec4f {
            return alone * camera.matrix * vec4f(lights[v].power, camera.turn, 1.0);
        }",
    );
    let draw =
        ["capture", &shader, "--vertices", "1", "--topology", "point-list", "--format", "csv"];
    let values = [
        "--uniform=0.0.matrix=1,0,0,0,0,1,0,0,0,0,1,0,1,2,3,1",
        "--uniform=0.0.turn=0.5",
        "--uniform=0.1.*=0",
        "--uniform=1.0.*=2,0,0,0,0,2,0,0,0,0,2,0,0,0,0,1",
    ];
    vkxfb(&draw).refuses(&["each of matrix (mat4), turn (float)"]);
    let csv = vkxfb(&[&draw[..], &values].concat());
    assert_contains(&csv.exits(0).stdout, &["\n0,2.0,4.0,7.0,1.0\n"]);
}

#[test]
fn files_that_are_no_meshes_are_refused_by_name() {
    let files = Files::new();
    let refuses = |name: &str, text: &str, what: &[&str]| {
        let mesh = files.shaders.file(name, text.as_bytes());
        files.run(&["--mesh", &mesh]).refuses(&[&[name], what].concat());
    };
    refuses("mesh.stl", "solid", &["meshes are read from .ply, .obj, .gltf, .glb and .csv"]);
    refuses("empty.csv", "", &["no line with the names"]);
    refuses("again.csv", "x,y,x\n1,2,3\n", &["two columns are named 'x'"]);
    refuses("words.csv", "x,y,z\n1,2,3\n1,two,3\n", &["line 3, column y: 'two' is no number"]);
    refuses("short.csv", "x,y,z\n1,2\n", &["record with 2 fields"]);
    refuses("two.csv", "x,y\n1,2\n", &["'a_normal' at location 1 (vec3): --attribute"]);
    refuses("empty.obj", "v 0 0 0\n", &["no faces"]);
    refuses("bad.obj", "v 0 0 0\nf 1 2 9\n", &["out of bounds"]);
    refuses("bad.ply", "solid", &["cannot read the mesh", "it does not begin with 'ply'"]);
    refuses(
        "head.ply",
        "ply\nformat ascii 1.0\nelement ver",
        &["ends at line 3, within its header"],
    );
    refuses("short.obj", "v 0 0 0\nv 1 0 0\nf 1 2\n", &["line 3: a face with 2 corners"]);
    refuses(
        "cut.obj",
        &format!("{}f 1/1/1 2/2/2 3/3/", OBJ.replace("4/4/2", "4/4/2\n")),
        &["line 14: '3/3/' is no corner of a face as '1/1/1' is"],
    );
    refuses("word.obj", "v 0 0 0\nv 1 zero 0\n", &["line 2: 'zero' is no number of a position"]);
    refuses("few.obj", "vn 0 1\n", &["line 1: a normal with 2 numbers, and not 3"]);
    refuses("zero.obj", "v 0 0 0\nf 0 1 1\n", &["line 2: '0' is no corner"]);
    let cut = files.shaders.file("cut.glb", b"glTF\x02\0\0\0\x40\x01\0\0 the rest is missing");
    files.run(&["--mesh", &cut]).refuses(&["cut.glb: it is cut off: 32 of 320 bytes"]);
    let head = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nelement face 1\n\
                property list uchar int vertex_indices\nend_header\n";
    // The message about a wrong mesh does not name the shader.
    let cut = files.shaders.file("cut.ply", head.replace("vertex 1", "vertex 30").as_bytes());
    let ran = files.run(&["--mesh", &cut]).exits(2);
    let said = format!(
        "error: cannot read the mesh {cut}: it ends at line 7; its header announces 30 vertices and 1 face\n"
    );
    assert_eq!(ran.stderr, said);
    refuses(
        "outside.ply",
        &format!("{head}0\n3 0 0 1\n"),
        &["a face has vertex 1, and there are 1"],
    );
    refuses("negative.ply", &format!("{head}0\n3 0 0 -1\n"), &["face 0 has no list of vertices"]);
    refuses(
        "faces.ply",
        "ply\nformat ascii 1.0\nelement face 0\nproperty int a\nend_header\n",
        &["no element 'vertex'"],
    );
    let missing = files.shaders.path("missing.obj");
    files.run(&["--mesh", missing.to_str().unwrap()]).refuses(&["cannot read", "missing.obj"]);
}

#[test]
fn what_was_captured_is_a_mesh_again() {
    let files = Files::new();
    let mesh = files.shaders.file("mesh.obj", OBJ.as_bytes());
    let out = files.shaders.path("out.ply");
    let out = out.to_str().unwrap();
    files.run(&["--mesh", &mesh, "-o", out]).exits(0);
    let binary = std::fs::read(out).unwrap();
    let head = String::from_utf8_lossy(&binary);
    assert!(head.starts_with("ply\nformat binary_little_endian 1.0\n"), "{head}");
    // In its header all is alike but the format, and both have the same vertices.
    let text = files.shaders.path("text.ply");
    let text = text.to_str().unwrap();
    files.run(&["--mesh", &mesh, "-o", text, "--format", "ply-text"]).exits(0);
    let ply = std::fs::read_to_string(text).unwrap();
    let header = |text: &str| text.split("end_header\n").next().unwrap().to_owned();
    assert_eq!(header(&head).replace("binary_little_endian", "ascii"), header(&ply));
    assert_contains(
        &ply,
        &[
            "element vertex 6\nproperty float x\nproperty float y\nproperty float z\n\
         property float nx\n",
            "property float u\nproperty float v\n",
            "element face 2\nproperty list uchar int vertex_indices\n",
            "\n3 0 1 2\n3 3 4 5\n",
        ],
    );
    // This shader captures the positions of a mesh unchanged.
    let again = files.shaders.glsl(
        "again.spv",
        "
        #version 450
        layout(location = 0) in vec4 position;
        layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out gl_PerVertex { vec4 gl_Position; };
        void main() { gl_Position = position; }",
    );
    let positions = |ran: Ran| -> Vec<Value> {
        let json = ran.exits(0).json();
        json["records"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["outputs"]["gl_Position"].clone())
            .collect()
    };
    let first = positions(files.run(&["--mesh", &mesh, "--format", "json"]));
    for file in [out, text] {
        assert_eq!(
            positions(vkxfb(&["capture", &again, "--mesh", file, "--format", "json"])),
            first
        );
    }
    // Captured vertices in CSV can be read as a mesh, too.
    let csv = files.shaders.path("out.csv");
    let csv = csv.to_str().unwrap();
    files.run(&["--mesh", &mesh, "-o", csv]).exits(0);
    assert_eq!(positions(vkxfb(&["capture", &again, "--mesh", csv, "--format", "json"])), first);
    let lines =
        ["capture", &again, "--mesh", out, "--topology", "line-strip", "--format", "ply-text"];
    assert_contains(&vkxfb(&lines).exits(0).stdout, &["element edge 5", "property int vertex1"]);

    let wide = files.shaders.glsl(
        "wide.spv",
        "
        #version 450
        #extension GL_ARB_gpu_shader_int64 : require
        layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out flat uint64_t wide;
        layout(xfb_buffer = 0, xfb_offset = 8, location = 1) out flat double real;
        void main() { wide = 0xffffffffffffff00ul + gl_VertexIndex; real = gl_VertexIndex / 4.0lf; }",
    );
    let wide = ["capture", &wide, "--vertices", "3", "--device", "0"];
    let csv = vkxfb(&[&wide[..], &["--format", "csv"]].concat()).exits(0).stdout;
    assert_contains(&csv, &["0,18446744073709551361,0.25\n"]);
    vkxfb(&[&wide[..], &["--format", "ply"]].concat())
        .refuses(&["no integers of 64 bits, which 'wide' is"]);
    vkxfb(&[&wide[..], &["--picture", files.shaders.path("w.svg").to_str().unwrap()]].concat())
        .refuses(&["nothing that is captured is a position"]);
}

/// If an output is named as a position, it has the positions of the mesh, instead of `gl_Position`.
#[test]
fn names_of_outputs_say_what_a_mesh_has_of_them() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "world.spv",
        "
        #version 450
        layout(location = 0) out vec3 fragNormal;
        layout(location = 1) out vec3 worldPos;
        layout(location = 2) out vec2 outUV;
        layout(location = 3) out vec3 worldTint;
        layout(location = 4) out vec4 vColor;
        layout(location = 5) out vec3 colour;
        void main() {
            gl_Position = vec4(9, 9, 9, 3);
            fragNormal = vec3(0, 1, 0);
            worldPos = vec3(gl_VertexIndex, 2, 3);
            outUV = vec2(0.25, 0.5);
            worldTint = vec3(7);
            vColor = vec4(0.2, 1, 0, gl_VertexIndex);
            colour = vec3(0.5);
        }",
    );
    let capture = |vertices: &str, more: &[&str]| {
        vkxfb(&[&["capture", &shader, "--vertices", vertices], more].concat()).exits(0).stdout
    };
    let names = |ply: &str, ty: &str| {
        let properties = ply.lines().filter_map(|line| line.strip_prefix("property "));
        let names = properties.filter_map(|line| line.strip_prefix(ty)).map(str::trim);
        names.collect::<Vec<_>>().join(" ")
    };
    let points = ["--topology", "point-list", "--format", "ply-text"];
    let ply = capture("2", &points);
    let screen = "gl_Position_x gl_Position_y gl_Position_z gl_Position_w";
    let tint = "worldTint_x worldTint_y worldTint_z";
    let second = "colour_x colour_y colour_z";
    assert_eq!(names(&ply, "float"), format!("x y z {screen} nx ny nz u v {tint} {second}"));
    // The first colour is stored in bytes, because other programs read colours only in bytes.
    assert_eq!(names(&ply, "uchar"), "red green blue alpha");
    assert_contains(&ply, &["\n1 2 3 9 9 9 3 0 1 0 0.25 0.5 7 7 7 51 255 0 255 0.5 0.5 0.5\n"]);
    // Bytes cannot represent an alpha of 2.
    let ply = capture("3", &points);
    assert_eq!(names(&ply, "uchar"), "");
    assert_contains(&ply, &["property float blue\nproperty float alpha\n", " 0.2 1 0 2 0.5 "]);
    // If the files are read again, the colours are the captured ones in both.
    let again = shaders.glsl(
        "again.spv",
        "
        #version 450
        layout(location = 0) in vec4 color;
        void main() { gl_Position = color; }",
    );
    for vertices in ["2", "3"] {
        let file = shaders.file("out.ply", capture(vertices, &points).as_bytes());
        let read = ["capture", &again, "--mesh", &file, "--topology", "point-list"];
        let csv = vkxfb(&[&read[..], &["--format", "csv"]].concat()).exits(0).stdout;
        assert_contains(&csv, &["\n1,0.2,1.0,0.0,1.0\n"]);
    }
}

#[test]
fn a_picture_shows_the_order_of_few_and_the_edges_of_many() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "circle.spv",
        "
        #version 450
        layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out gl_PerVertex { vec4 gl_Position; };
        void main() {
            float at = gl_VertexIndex * 0.7;
            gl_Position = vec4(cos(at), sin(at), 0, gl_VertexIndex == 99 ? -1 : 1);
        }",
    );
    let picture = |vertices: &str| {
        let file = shaders.path("out.svg");
        let draw = ["capture", &shader, "--topology", "triangle-fan", "--vertices", vertices];
        vkxfb(&[&draw[..], &["--picture", file.to_str().unwrap()]].concat()).exits(0);
        std::fs::read_to_string(file).unwrap()
    };
    let few = picture("6");
    assert_contains(
        &few,
        &["<svg", "circle.spv", "class=\"xf-arrow\"", "The dot is the one written first"],
    );
    let many = picture("200");
    assert_contains(&many, &["class=\"xf-wire\"", "2 are not seen", "green clockwise"]);
    assert!(!many.contains("class=\"xf-arrow\""));
    // Points have no winding. Some viewers draw nothing for a line of length 0.
    let file = shaders.path("points.svg");
    let draw = ["capture", &shader, "--topology", "point-list", "--vertices", "200"];
    vkxfb(&[&draw[..], &["--picture", file.to_str().unwrap()]].concat()).exits(0);
    let points = std::fs::read_to_string(file).unwrap();
    assert_contains(&points, &["class=\"xf-wire xf-dots\"", " l0.01,0"]);
    assert!(!points.contains("clockwise") && !points.contains(" z"), "{points}");
}

/// `vkxfb probe` takes the same inputs, and makes up those that are not given.
#[test]
fn a_shader_with_descriptors_and_push_constants_is_probed() {
    let files = Files::new();
    let probe = |arguments: &[String], more: &[&str]| {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let all = ["--device", "0", "--quick", "--validate", "--json"];
        vkxfb(&[&["probe", "shader"], &arguments[..], &all, more].concat())
    };
    let notes = |json: &Value| -> Vec<String> {
        assert_eq!(json["outcome"], "all-right", "{json}");
        let cells = json["reports"][0]["cells"].as_array().unwrap();
        assert!(cells.iter().all(|cell| cell["run"] != 0 || cell["skipped"].is_string()), "{json}");
        let notes = json["reports"][0]["notes"].as_array().unwrap().iter();
        let notes = notes.map(|note| note.as_str().unwrap().to_owned());
        notes.filter(|note| note.contains("made up")).collect()
    };
    assert_eq!(
        notes(&probe(&files.arguments, &["--topology", "triangle-strip"]).exits(0).json()),
        [""; 0]
    );

    let is_given =
        |argument: &&String| !argument.starts_with("--uniform") && !argument.starts_with("--push");
    let bare: Vec<String> = files.arguments.iter().filter(is_given).cloned().collect();
    let made_up = notes(&probe(&bare, &[]).exits(0).json());
    let parts =
        ["set 0 binding 2 ('camera'", "set 1 binding 0", "the push constant block ('model'"];
    assert_eq!(made_up.len(), parts.len());
    for (note, part) in made_up.iter().zip(parts) {
        assert_contains(note, &[part, "bytes are made up"]);
    }
    notes(&probe(&bare, &["--resources", "descriptors", "--backend", "compute"]).exits(0).json());

    probe(&bare, &["--push", &files.shaders.file("none.bin", b"")])
        .refuses(&["none.bin has 0 bytes"]);
    vkxfb(&["probe", "--varyings", "@0"]).refuses(&["unexpected argument '--varyings'"]);
    vkxfb(&["probe", "shader", "identify"]).refuses(&["--shader identify takes", "./identify"]);
}

/// The command that repeats a wrong case contains all inputs of the shader.
#[test]
fn a_mismatch_of_a_shader_with_inputs_can_be_repeated() {
    let shaders = Shaders::new();
    // The output differs from draw to draw: see `LANE` in `cli.rs`.
    let shader = shaders.glsl(
        "lane.spv",
        "
        #version 450
        #extension GL_KHR_shader_subgroup_basic : require
        layout(constant_id = 3) const int SCALE = 1;
        layout(push_constant) uniform Block { uint offset; };
        layout(location = 0) out flat uint lane;
        void main() { lane = SCALE * gl_SubgroupInvocationID + offset; gl_Position = vec4(0); gl_PointSize = 1; }",
    );
    let push = shaders.file("my push.bin", &[5, 0, 0, 0]);
    let mut arguments =
        vec!["probe", "shader", &shader, "--device", "0", "--backend", "compute", "--json"];
    arguments.extend(["--topology", "triangle-list", "--vertices", "4", "--instances", "3"]);
    arguments.extend(["--varyings", "lane", "--push", &push, "--constant", "3=2"]);
    let json = vkxfb(&arguments).exits(1).json();
    let command = json["reports"][0]["mismatches"][0]["command"].as_str().unwrap().to_owned();
    let options = format!(" {shader} --varyings lane --constant 3=2 --push '{push}' --backend");
    assert!(command.starts_with("vkxfb probe shader") && command.contains(&options), "{command}");
}

/// The picture in `cli/README.md` is the one that the command draws.
#[test]
fn the_picture_of_the_page_is_what_is_drawn() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let shaders = Shaders::new();
    let (shader, drawn) = (root.join("ribbon.wgsl"), shaders.path("ribbon.svg"));
    let mut arguments = vec!["capture", shader.to_str().unwrap(), "--vertices", "12"];
    arguments.extend(["--topology", "triangle-strip", "--varyings", "@Position,tint", "--compare"]);
    arguments.extend(["--picture", drawn.to_str().unwrap()]);
    vkxfb(&arguments).exits(0);
    let drawn = std::fs::read_to_string(drawn).unwrap();
    if std::env::var_os("VKXFB_REGENERATE").is_some() {
        std::fs::write(root.join("ribbon.svg"), &drawn).unwrap();
    }
    assert_eq!(drawn, std::fs::read_to_string(root.join("ribbon.svg")).unwrap());
}
