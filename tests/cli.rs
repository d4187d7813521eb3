//! The command as a user runs it: exit statuses, and what it says.
//!
//! Devices are the machine's first, which is lavapipe's where `tests/setup.sh` made the machine.

#![cfg(feature = "cli")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use vkxfb::lower::Backend;
use vkxfb::topology::PrimitiveTopology;

/// Captures numbers that every backend computes alike. Points need a size.
const CAPTURES: &str = "
    #version 450
    layout(location = 0) in vec4 read;
    layout(xfb_buffer = 0, xfb_stride = 32, xfb_offset = 0, location = 0) out vec4 copied;
    layout(xfb_buffer = 0, xfb_offset = 16, location = 1) out flat uvec2 indices;
    void main() {
        copied = read;
        indices = uvec2(gl_VertexIndex, gl_InstanceIndex);
        gl_Position = vec4(0);
        gl_PointSize = 1;
    }";

struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let status = output.status.code();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        assert!(!stderr.contains("panicked"), "{stderr}");
        let status = status.unwrap_or_else(|| panic!("killed: {}\n{stderr}", output.status));
        Self { status, stdout, stderr }
    }

    #[track_caller]
    fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}", self.stdout))
    }

    /// Could not run, and says why on standard error, in one line if nothing else is said.
    #[track_caller]
    fn refuses(self, what: &[&str]) {
        let ran = self.exits(2);
        for part in what {
            assert!(ran.stderr.contains(part), "no '{part}' in: {}", ran.stderr);
        }
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vkxfb"));
    command.args(arguments).stdin(Stdio::null()).env_remove("VKXFB_LOG");
    command
}

fn vkxfb(arguments: &[&str]) -> Ran {
    Ran::new(command(arguments).output().unwrap())
}

/// A directory with files of shaders.
struct Shaders(tempfile::TempDir);

impl Shaders {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn glsl(&self, name: &str, source: &str) -> String {
        let words = common::compile(source.trim_start(), &["--target-env", "vulkan1.1"]);
        self.file(name, bytemuck::cast_slice(&words))
    }
}

/// The cells of the only report, by backend and topology.
#[track_caller]
fn cells(json: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let reports = json["reports"].as_array().unwrap();
    assert_eq!(reports.len(), 1, "one device");
    let cells = reports[0]["cells"].as_array().unwrap();
    cells.iter().map(|c| (text(&c["backend"]), text(&c["topology"]), c.clone())).collect()
}

/// Every topology passes on those backends and no other, with nothing left out.
#[track_caller]
fn assert_covers(json: &Value, backends: &[Backend]) {
    assert_eq!(json["outcome"], "all-right");
    let cells = cells(json);
    assert_eq!(cells.len(), backends.len() * PrimitiveTopology::ALL.len());
    for backend in backends {
        for topology in PrimitiveTopology::ALL {
            let (_, _, cell) = cells
                .iter()
                .find(|(b, t, _)| *b == backend.name() && *t == topology.to_string())
                .unwrap_or_else(|| panic!("no {topology} on {backend}"));
            assert!(cell["run"].as_u64().unwrap() > 0, "{cell}");
            assert_eq!(cell["run"], cell["passed"], "{cell}");
            assert_eq!(cell["skipped"], Value::Null, "{cell}");
        }
    }
}

#[test]
fn help_has_examples() {
    let ran = vkxfb(&["--help"]).exits(0);
    for part in ["Examples:", "vkxfb info", "vkxfb probe --quick --html", "VKXFB_LOG"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    vkxfb(&["probe", "--help"]).exits(0);
    vkxfb(&[]).exits(2);

    // The example of records is one.
    let start = ran.stdout.find("{ \"strides\"").unwrap();
    let end = start + ran.stdout[start..].find("}] }").unwrap() + 4;
    let shaders = Shaders::new();
    let records = shaders.file("records.json", &ran.stdout.as_bytes()[start..end]);
    let shader = shaders.glsl("shader.spv", CAPTURES);
    let json = vkxfb(&["inspect", &shader, "--records", &records, "--json"]).exits(0).json();
    assert_eq!(json["buffers"][0]["stride"], 16);
}

#[test]
fn info_lists_devices_and_backends() {
    let ran = vkxfb(&["info", "--json"]).exits(0);
    let devices = ran.json();
    let device = &devices.as_array().unwrap()[0];
    assert_eq!(device["index"], 0);
    let names: Vec<_> =
        device["backends"].as_array().unwrap().iter().map(|b| b["name"].clone()).collect();
    assert_eq!(names, ["native", "vertex", "compute"]);
    let text = vkxfb(&["info"]).exits(0).stdout;
    let version = format!("Vulkan {}", device["api_version"].as_str().unwrap());
    assert!(text.contains(&version) && text.contains("compute"), "{text}");
    assert!(!text.contains('\x1b'), "no colours in a pipe: {text}");
}

#[test]
fn a_quick_probe_covers_every_topology_on_every_backend() {
    let ran = vkxfb(&["probe", "--device", "0", "--quick", "--validate", "--json"]).exits(0);
    assert_covers(&ran.json(), &Backend::ALL);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
}

const FLOOR: [&str; 3] = ["probe", "--profile", "bifrost"];

#[test]
fn the_floor_is_probed_by_compute_alone() {
    let ran = vkxfb(&[&FLOOR[..], &["--device", "0", "--quick", "--validate", "--json"]].concat())
        .exits(0);
    let json = ran.json();
    assert_covers(&json, &[Backend::Compute]);
    assert_eq!(json["reports"][0]["profile"], "bifrost");
    vkxfb(&[&FLOOR[..], &["--device", "0", "--backend", "native"]].concat())
        .refuses(&["native", "VK_EXT_transform_feedback"]);
}

#[test]
fn a_shader_from_a_file_is_probed() {
    let shaders = Shaders::new();
    // As the name of a file may be.
    let shader = shaders.glsl("my shader's.spv", CAPTURES);
    let mut arguments = vec!["probe", "--device", "0", "--quick", "--validate", "--json"];
    arguments.extend(["--shader", &shader]);
    assert_covers(&vkxfb(&arguments).exits(0).json(), &Backend::ALL);
}

/// Vulkan forbids to draw such a shader as points, so that no graphics backend may.
#[test]
fn a_shader_without_a_point_size_is_probed_without_points() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("plain.spv", &CAPTURES.replace("gl_PointSize = 1;", ""));
    let mut arguments = vec!["probe", "--device", "0", "--quick", "--validate", "--json"];
    arguments.extend(["--shader", &shader]);
    let json = vkxfb(&arguments).exits(0).json();
    for (backend, topology, cell) in cells(&json) {
        let skips = topology == "point-list" && backend != "compute";
        assert_eq!(cell["skipped"].is_string(), skips, "{cell}");
        assert_eq!(cell["run"] == 0, skips, "{cell}");
    }
}

/// The records of this shader depend on where in a subgroup the vertex is shaded, which differs from
/// draw to draw: what the specification forbids a capture to show, and the probe must not pass.
const LANE: &str = "
    #version 450
    #extension GL_KHR_shader_subgroup_basic : require
    layout(xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0, location = 0) out flat uint lane;
    void main() { lane = gl_SubgroupInvocationID; gl_Position = vec4(0); gl_PointSize = 1; }";

#[test]
fn a_mismatch_is_exit_status_1_and_a_report() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("a lane.spv", LANE);
    let (page, bug) = (shaders.path("page.html"), shaders.path("bug.md"));
    let mut arguments = vec!["probe", "--device", "0", "--backend", "compute"];
    arguments.extend(["--topology", "triangle-list"]);
    arguments.extend(["--vertices", "4", "--instances", "3", "--shader", &shader]);
    arguments.extend(["--html", page.to_str().unwrap(), "--report", bug.to_str().unwrap()]);
    let ran = vkxfb(&arguments).exits(1);
    assert!(ran.stdout.contains("cases came out wrong"), "{}", ran.stdout);
    let bug = std::fs::read_to_string(&bug).unwrap();
    let quoted = format!("--shader '{shader}'");
    for part in ["# Transform feedback: ", "```hex", &quoted, "--vertices 4"] {
        assert!(bug.contains(part), "{part}: {bug}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().ends_with("</html>\n"));

    // The same as JSON, with the command that repeats it, which a shell takes as it is.
    arguments.push("--json");
    let json = vkxfb(&arguments).exits(1).json();
    assert_eq!(json["outcome"], "mismatches");
    let repeat = json["reports"][0]["mismatches"][0]["command"].as_str().unwrap();
    let binary = format!("'{}'", env!("CARGO_BIN_EXE_vkxfb"));
    let script = repeat.replacen("vkxfb", &binary, 1);
    let output = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).output().unwrap();
    let ran = Ran::new(output).exits(1);
    assert!(ran.stdout.contains("cases came out wrong"), "{}", ran.stdout);
}

/// The same shader on two backends, of which one has no subgroups of more than one vertex.
#[test]
fn backends_that_disagree_on_a_shaders_records_are_exit_status_1() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("lane.spv", LANE);
    let mut arguments = vec!["probe", "--device", "0", "--topology", "point-list", "--json"];
    arguments.extend(["--vertices", "7", "--shader", &shader]);
    let json = vkxfb(&arguments).exits(1).json();
    let first = &json["reports"][0]["mismatches"][0];
    assert_eq!(
        (&first["backend"], &first["mismatch"]["fault"]),
        (&"compute".into(), &"wrong-bytes".into())
    );
    let note = first["mismatch"]["note"].as_str().unwrap();
    assert!(note.contains("output lane of record") && note.contains("native"), "{note}");
    assert!(!first["command"].as_str().unwrap().contains("--backend"), "{first}");
    let cells = json["reports"][0]["cells"].as_array().unwrap();
    assert!(cells.iter().all(|cell| cell["errors"] == 0), "{cells:?}");
}

/// The driver's manifest twice is two devices, each with its own command.
#[cfg(target_os = "linux")]
#[test]
fn several_devices_are_told_apart() {
    let directory = Path::new("/usr/share/vulkan/icd.d");
    let manifests = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let lavapipe = manifests
        .map(|entry| entry.path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("lvp_icd"))
        .expect("lavapipe (tests/setup.sh installs it)");
    let copies = Shaders::new();
    let second = copies.file("second.json", &std::fs::read(&lavapipe).unwrap());
    let drivers = format!("{}:{second}", lavapipe.display());
    let mut command = command(&["probe", "--quick", "--json", "--backend", "compute"]);
    command.args(["--shader", "identify", "--topology", "line-list"]);
    command.env("VK_DRIVER_FILES", &drivers).env("VK_ICD_FILENAMES", &drivers);
    let json = Ran::new(command.output().unwrap()).exits(0).json();
    let reports = json["reports"].as_array().unwrap();
    let indices: Vec<_> = reports.iter().map(|r| r["device"]["index"].clone()).collect();
    assert_eq!(indices, [0, 1]);
}

#[test]
fn what_is_no_capturing_vertex_shader_is_refused_by_name() {
    let shaders = Shaders::new();
    let missing = shaders.path("missing.spv");
    let refuses = |file: &str, what: &str| {
        let name = Path::new(file).file_name().unwrap().to_str().unwrap();
        vkxfb(&["probe", "--quick", "--shader", file]).refuses(&["error: ", name, what]);
    };
    refuses(missing.to_str().unwrap(), "cannot read");
    refuses(&shaders.file("text.spv", b"#version 450, as text"), "magic number");
    refuses(&shaders.file("empty.spv", b""), "header");

    let words = common::compile(CAPTURES.trim_start(), &["--target-env", "vulkan1.1"]);
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    refuses(&shaders.file("half.spv", &bytes[..bytes.len() - 2]), "inside a word");
    refuses(&shaders.file("short.spv", &bytes[..bytes.len() - 4]), "short.spv");
    refuses(&shaders.file("header.spv", &bytes[..20]), "no entry point");

    let plain = "
        #version 450
        void main() { gl_Position = vec4(0); }";
    refuses(&shaders.glsl("plain.spv", plain), "execution mode Xfb");
    let set = "
        #version 450
        layout(set = 1, binding = 2) uniform Block { vec4 value; };
        layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 o;
        void main() { o = value; }";
    refuses(&shaders.glsl("set.spv", set), "descriptor set 1 binding 2");
    let constants = set.replace("set = 1, binding = 2", "push_constant");
    refuses(&shaders.glsl("constants.spv", &constants), "push constants");

    let fragment = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n\
        OpEntryPoint Fragment %1 \"main\"\nOpExecutionMode %1 OriginUpperLeft\n\
        %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%1 = OpFunction %2 None %3\n%4 = OpLabel\n\
        OpReturn\nOpFunctionEnd\n";
    let fragment = common::assemble(fragment, "vulkan1.1");
    refuses(&shaders.file("fragment.spv", bytemuck::cast_slice(&fragment)), "Fragment 'main'");

    // An Xfb mode that nothing is decorated for, and two vertex shaders to choose from.
    let vertex = "OpCapability Shader\nOpCapability TransformFeedback\n\
        OpMemoryModel Logical GLSL450\nOpEntryPoint Vertex %1 \"main\"\n\
        OpExecutionMode %1 Xfb\n%2 = OpTypeVoid\n%3 = OpTypeFunction %2\n\
        %1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n";
    let nothing = common::assemble(vertex, "vulkan1.1");
    refuses(&shaders.file("nothing.spv", bytemuck::cast_slice(&nothing)), "nothing to capture");
    let two =
        vertex.replace("OpExecutionMode", "OpEntryPoint Vertex %1 \"other\"\nOpExecutionMode");
    let two = common::assemble(&two, "vulkan1.1");
    refuses(&shaders.file("two.spv", bytemuck::cast_slice(&two)), "'other'");
}

#[test]
fn bad_arguments_are_refused_by_name() {
    vkxfb(&["probe", "--topology", "patch-list"]).refuses(&["patch-list"]);
    vkxfb(&["probe", "--topology", "triangles"]).refuses(&["'triangles'"]);
    vkxfb(&["probe", "--backend", "magic"]).refuses(&["native, vertex, compute"]);
    vkxfb(&["probe", "--vertices", "-1"]).refuses(&["-1"]);
    vkxfb(&["probe", "--vertices", "4294967296"]).refuses(&["4294967296"]);
    vkxfb(&["probe", "--quick", "--device", "nothing like it"])
        .refuses(&["nothing like it", "there are: 0: "]);
    vkxfb(&["probe", "--quick", "--device", "999"]).refuses(&["999", "there are: 0: "]);
}

#[test]
fn draws_of_any_size_run_or_are_refused() {
    for (vertices, instances) in [
        ("4294967295", "4294967295"),
        ("4294967295", "1"),
        ("1", "4294967295"),
        ("0", "4294967295"),
        ("4294967295", "0"),
    ] {
        vkxfb(&["probe", "--vertices", vertices, "--instances", instances])
            .refuses(&[&format!("{vertices} vertices x {instances}"), "the limit is"]);
    }
    for nothing in [["--vertices", "0"], ["--instances", "0"]] {
        let mut arguments = vec!["probe", "--device", "0", "--quick", "--json"];
        arguments.extend(["--shader", "identify"]);
        arguments.extend(nothing);
        assert_covers(&vkxfb(&arguments).exits(0).json(), &Backend::ALL);
    }
}

#[test]
fn a_machine_without_drivers_is_told_so() {
    for arguments in [&["info"][..], &["probe"], &["probe", "--profile", "bifrost"]] {
        let mut command = command(arguments);
        command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
        Ran::new(command.output().unwrap()).refuses(&["no driver"]);
    }
}

#[test]
fn the_self_test_needs_no_driver() {
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
        Ran::new(command.output().unwrap()).exits(0)
    };
    let text = run(&["probe", "--self-test"]).stdout;
    assert!(text.ends_with(" faults recognised\n"), "{text}");
    let json = run(&["probe", "--self-test", "--json"]).json();
    assert!(json.as_array().unwrap().iter().all(|check| check["passed"] == true));
}

#[test]
fn files_are_written_whole_or_refused_before_the_run() {
    let shaders = Shaders::new();
    let (page, bug) = (shaders.path("page.html"), shaders.path("bug.md"));
    let mut arguments = vec!["probe", "--quick", "--shader", "identify"];
    arguments.extend(["--html", page.to_str().unwrap(), "--report", bug.to_str().unwrap()]);
    let ran = vkxfb(&arguments).exits(0);
    assert!(std::fs::read_to_string(&page).unwrap().ends_with("</html>\n"));
    assert!(!bug.exists(), "there is nothing to report");
    assert!(ran.stderr.contains("nothing to report"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(shaders.0.path()).unwrap().count(), 1, "nothing else stays");

    let nowhere = shaders.path("missing/file");
    let nowhere = nowhere.to_str().unwrap();
    for option in ["--html", "--report"] {
        // The table would be on standard output, had it run.
        vkxfb(&["probe", "--quick", option, nowhere]).refuses(&["cannot write", nowhere]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
    let mut child = command(&["probe", "--self-test"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&["info"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    Ran::new(output.wait_with_output().unwrap()).refuses(&["standard output"]);
}

#[test]
fn a_shader_is_lowered_and_inspected() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(location = 0) in vec4 position;
        layout(location = 3) out mat2 matrix;
        void main() { matrix = mat2(position.x); gl_Position = position; }";
    let shader = shaders.glsl("plain.spv", source);
    let json =
        vkxfb(&["inspect", &shader, "--varyings", "gl_Position,matrix", "--json"]).exits(0).json();
    assert_eq!(json["buffers"][0]["stride"], 32);
    assert_eq!(json["varyings"][1]["type"], "GL_FLOAT_MAT2");
    assert_eq!(json["outputs"][1]["location"], 3);
    assert_eq!(json["locations_left"], 30);
    let text = vkxfb(&["inspect", &shader, "--varyings", "matrix", "--separate"]).exits(0).stdout;
    assert!(text.contains("GL_FLOAT_MAT2") && text.contains("locations used: 3 4"), "{text}");

    for backend in ["native", "vertex", "compute"] {
        let lowered = shaders.path("lowered.spv");
        let mut arguments = vec!["lower", &shader, "--backend", backend, "--varyings", "matrix"];
        arguments.extend(["-o", lowered.to_str().unwrap(), "--text"]);
        let text = vkxfb(&arguments).exits(0).stdout;
        let stores = if backend == "native" { "XfbStride" } else { "xfb_store_record" };
        assert!(text.contains(stores), "{text}");
        let bytes = std::fs::read(&lowered).unwrap();
        common::validate(&vkxfb::spirv::words_from_bytes(&bytes).unwrap(), "vulkan1.1");
    }
    let split = vkxfb(&["split-blocks", &shader, "--text"]).exits(0).stdout;
    assert!(split.contains("matrix"), "{split}");
    let vertex_shader = vkxfb(&["broadcast-color", &shader, "--text"]);
    vertex_shader.refuses(&["plain.spv", "no fragment shader"]);
    vkxfb(&["inspect", &shader]).refuses(&["plain.spv", "execution mode Xfb"]);
    vkxfb(&["inspect", &shader, "--varyings", "colour"]).refuses(&["'colour'"]);
    vkxfb(&["lower", &shader, "--backend", "compute"]).refuses(&["--output"]);
}

/// An element of an array alone has to become an output of its own, and 16 locations and Position are more
/// than every device has.
#[test]
fn output_components_of_the_device_are_an_argument() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(location = 0) out vec4 all[14];
        layout(location = 14) out mat2x4 matrix[1];
        void main() { gl_Position = vec4(1); }";
    let shader = shaders.glsl("full.spv", source);
    let arguments = ["lower", &shader, "--backend", "native", "--varyings", "all[2]", "--text"];
    vkxfb(&arguments).refuses(&["1 output locations", "64 components"]);
    let wider = [&arguments[..], &["--max-output-components", "128"]].concat();
    let text = vkxfb(&wider).exits(0).stdout;
    assert!(text.contains("OpDecorate %xfb_0_0 Location 16"), "{text}");
    // What may be decorated where it is needs no location.
    let whole = ["lower", &shader, "--backend", "native", "--varyings", "matrix", "--text"];
    vkxfb(&whole).exits(0);
}

#[test]
fn records_and_constants_are_taken() {
    let shaders = Shaders::new();
    let shader = shaders.glsl(
        "shader.spv",
        "
        #version 450
        layout(constant_id = 4) const int COUNT = 2;
        layout(location = 11) out vec2 list[COUNT];
        layout(location = 0) out vec4 colour;
        void main() {
            for (int i = 0; i < COUNT; i++) list[i] = vec2(i);
            gl_Position = colour = vec4(1.0);
        }",
    );
    let record = |register: u32, components: u32, dword: u32| {
        format!(
            r#"{{ "register_index": {register}, "start_component": 0,
                 "num_components": {components}, "output_buffer": 0, "dst_offset": {dword} }}"#
        )
    };
    let json = |name: &str, outputs: &[String], more: &str| {
        let text = format!(r#"{{ "strides": [12], "outputs": [{}]{more} }}"#, outputs.join(","));
        shaders.file(name, text.as_bytes())
    };
    // POS, COL0, VAR0, VAR1, VAR2.
    let all = json("all.json", &[record(1, 4, 2), record(4, 2, 6)], "");
    let inspect = ["inspect", &shader, "--records", &all];
    let constants = ["--constant", "4=3"];
    let found = vkxfb(&[&inspect[..], &constants, &["--json"]].concat()).exits(0).json();
    assert_eq!(found["outputs"][0]["location"], 0);
    assert_eq!(found["outputs"][0]["offset_dwords"], 2);
    assert_eq!(found["outputs"][1]["name"], "list[2]");
    assert_eq!(found["buffers"][0]["stride"], 48);
    assert_eq!(found["locations_used"], serde_json::json!([0, 11, 12, 13]));
    for backend in ["native", "vertex", "compute"] {
        let out = shaders.path(backend);
        let out = out.to_str().unwrap();
        let lower = ["lower", &shader, "--records", &all, "--backend", backend, "-o", out];
        vkxfb(&[&lower[..], &constants].concat()).exits(0);
        let words = vkxfb::spirv::words_from_bytes(&std::fs::read(out).unwrap()).unwrap();
        common::validate(&words, "vulkan1.1");
    }

    // By its default the constant is 2, and there is no VAR2.
    vkxfb(&inspect).refuses(&["all.json", "record 1: register_index is 4"]);
    vkxfb(&[&inspect[..], &["--varyings", "colour"]].concat()).exits(2);
    let unpacked = json("unpacked.json", &[record(3, 2, 0)], r#", "locations": "unpacked""#);
    let found = vkxfb(&["inspect", &shader, "--records", &unpacked, "--json"]).exits(0).json();
    assert_eq!(found["outputs"][0]["name"], "list[1]");
    for (name, text, said) in [
        ("type.json", r#"{ "strides": [true], "outputs": [] }"#, "line 1"),
        ("field.json", r#"{ "strides": [4], "outputs": [], "stride": 4 }"#, "`stride`"),
        ("strides.json", r#"{ "strides": [4, 4, 4, 4, 4], "outputs": [] }"#, "5 strides"),
        ("empty.json", r#"{ "strides": [4], "outputs": [] }"#, "nothing to capture"),
    ] {
        let file = shaders.file(name, text.as_bytes());
        vkxfb(&["inspect", &shader, "--records", &file]).refuses(&[said]);
    }
    vkxfb(&["inspect", &shader, "--records", "absent.json"]).refuses(&["absent.json"]);
    for constant in ["4", "4=", "x=1", "4=1.2.3", "4=99999999999"] {
        vkxfb(&["inspect", &shader, "--records", &all, "--constant", constant])
            .refuses(&["3=0.5", constant]);
    }
}

#[test]
fn a_colour_is_broadcast() {
    let shaders = Shaders::new();
    let source = "#version 450\nlayout(location = 0) out vec4 c; void main() { c = vec4(1); }";
    let words = common::compile_stage("frag", source, &[]);
    let shader = shaders.file("colour.spv", bytemuck::cast_slice(&words));
    let text = vkxfb(&["broadcast-color", &shader, "--attachments", "3", "--text"]).exits(0).stdout;
    assert!(text.contains("gl_FragData[2]") || text.contains("gl_FragData_2_"), "{text}");
    vkxfb(&["broadcast-color", &shader, "--attachments", "9", "--text"]).refuses(&["9", "8"]);
}

/// By their extension; whatever is SPIR-V is taken as that.
#[test]
fn sources_are_compiled() {
    let shaders = Shaders::new();
    let wgsl = shaders.file(
        "a.wgsl",
        b"struct Out { @builtin(position) p: vec4f, @location(3) colour: vec3f }
          @vertex fn main() -> Out { return Out(); }",
    );
    let glsl = shaders.file(
        "a.vert",
        b"#version 450\nlayout(location = 3) out vec3 colour;\nvoid main() { colour = vec3(1); gl_Position = vec4(1); }",
    );
    let out = shaders.path("out.spv");
    let out = out.to_str().unwrap();
    for file in [&wgsl, &glsl] {
        let ran = vkxfb(&["inspect", file, "--varyings", "colour", "--json"]).exits(0);
        let json = ran.json();
        assert_eq!(json["outputs"][0]["location"], 3, "{json}");
        for backend in ["vertex", "compute"] {
            let lower = ["lower", file, "--varyings", "colour", "--backend", backend, "-o", out];
            vkxfb(&lower).exits(0);
            let bytes = std::fs::read(out).unwrap();
            common::validate(&vkxfb::spirv::words_from_bytes(&bytes).unwrap(), "vulkan1.0");
        }
    }
    let spirv = shaders.glsl("spirv.vert", CAPTURES);
    vkxfb(&["inspect", &spirv]).exits(0);
    let decorated = shaders.file("xfb.vert", CAPTURES.trim_start().as_bytes());
    vkxfb(&["inspect", &decorated]).refuses(&[
        "xfb.vert: 3:",
        "xfb_buffer",
        "--varyings",
        "glslang",
    ]);
    let broken = shaders.file("broken.wgsl", b"@vertex fn main( {}");
    vkxfb(&["inspect", &broken]).refuses(&["broken.wgsl: 1:"]);
}
