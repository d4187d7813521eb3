//! Tests the command as a user runs it: exit statuses and output.
//!
//! The device is the first of the machine, which is lavapipe if `tests/setup.sh` installed
//! everything.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{Ran, Shaders, command, vkxfb};
use crate::common;
use crate::driver;
use serde_json::Value;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

/// A vertex shader whose captured values all backends compute exactly. It writes `gl_PointSize`,
/// because draws of points need it.
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

/// Returns the cells of the only report, by backend and topology.
#[track_caller]
fn cells(json: &Value) -> Vec<(String, String, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let reports = json["reports"].as_array().unwrap();
    assert_eq!(reports.len(), 1, "one device");
    let cells = reports[0]["cells"].as_array().unwrap();
    cells.iter().map(|c| (text(&c["backend"]), text(&c["topology"]), c.clone())).collect()
}

/// Checks that geometry shaders pass with every topology on exactly these backends. On the vertex
/// backend, which cannot capture them, they must be left out.
#[track_caller]
fn assert_covers_geometry(json: &Value, backends: &[Backend]) {
    let mut cells = cells(json);
    cells.retain(|(_, _, cell)| cell["stage"] == "geometry");
    assert_eq!(cells.len(), backends.len() * PrimitiveTopology::ALL.len());
    for (backend, _, cell) in cells {
        assert_eq!(cell["run"], cell["passed"], "{cell}");
        let is_left_out = backend == "vertex";
        assert_eq!(cell["run"] == 0, is_left_out, "{cell}");
        assert_eq!(cell["skipped"].is_string(), is_left_out, "{cell}");
    }
}

/// Checks that vertex shaders pass with every topology on exactly these backends, and that nothing
/// is left out.
#[track_caller]
fn assert_covers(json: &Value, backends: &[Backend]) {
    assert_eq!(json["outcome"], "all-right");
    let mut cells = cells(json);
    cells.retain(|(_, _, cell)| cell["stage"] == "vertex");
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
    let commands = [
        "bench",
        "broadcast-color",
        "capture",
        "inspect",
        "layer",
        "lower",
        "probe",
        "split-blocks",
        "strip-xfb",
    ];
    for command in commands {
        let help = vkxfb(&[command, "--help"]).exits(0).stdout;
        for part in ["Examples:", &format!("vkxfb {command} "), "Exit status: 0"] {
            assert!(help.contains(part), "{command}: no {part} in {help}");
        }
    }
    vkxfb(&[]).exits(2);

    // The help contains an example of stream outputs, which must work.
    let start = ran.stdout.find("{ \"strides\"").unwrap();
    let end = start + ran.stdout[start..].find("}] }").unwrap() + 4;
    let shaders = Shaders::new();
    let records = shaders.file("stream-output.json", &ran.stdout.as_bytes()[start..end]);
    let shader = shaders.glsl("shader.spv", CAPTURES);
    let json = vkxfb(&["inspect", &shader, "--stream-output", &records, "--json"]).exits(0).json();
    assert_eq!(json["buffers"][0]["stride"], 16);
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let commands = ["bench", "capture", "info", "inspect", "layer", "lower", "probe", "strip-xfb"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = vkxfb(&["completions", shell]);
        assert_eq!(script.status, 0, "{}", script.stderr);
        for what in commands.into_iter().chain(["junit", "verbose"]) {
            assert!(script.stdout.contains(what), "{shell}: {what}");
        }
    }
    let page = vkxfb(&["man"]);
    assert_eq!(page.status, 0, "{}", page.stderr);
    assert!(page.stdout.contains(".TH vkxfb"), "{}", page.stdout);
    for command in commands.into_iter().chain(["probe compare", "probe reproduce", "probe shader"])
    {
        assert!(page.stdout.contains(&format!(".SH \"vkxfb {command}\"")), "{command}");
    }
    assert!(page.stdout.contains("\\-\\-quick"), "{}", page.stdout);
    // Examples stay lines, and each command says what its exit status means.
    let example = "\n  vkxfb probe \\-\\-quick \\-\\-junit probe.xml";
    assert!(page.stdout.contains(example), "{}", page.stdout);
    for section in page.stdout.split(".SH \"vkxfb ").skip(1) {
        let name = section.split('"').next().unwrap();
        let has_none = ["completions", "layer ", "man", "probe shader"];
        let says = section.contains("Exit status");
        assert!(says || has_none.iter().any(|none| name.starts_with(none)), "{name}");
    }
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
    assert_covers_geometry(&ran.json(), &Backend::ALL);
    // On a slow machine there are lines about the progress.
    assert!(ran.stderr.lines().all(|line| line.starts_with("batch ")), "{}", ran.stderr);
}

/// The table in the README is the one that the probe prints.
#[test]
fn what_the_readme_shows_is_printed() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(file).unwrap();
    let (_, rest) = readme.split_once("```text\n").unwrap();
    let (shown, _) = rest.split_once("```").unwrap();
    let arguments = ["probe", "--device", "0", "--quick", "--topology", "triangle-strip"];
    assert!(readme.contains(&format!("`probe {}`", arguments[3..].join(" "))));
    let ran = vkxfb(&arguments).exits(0);
    let printed: String = ran.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    assert!(printed.contains(shown), "not in\n{printed}\nbut in the README:\n{shown}");
}

const FLOOR: [&str; 3] = ["probe", "--profile", "bifrost"];

#[test]
fn the_floor_is_probed_by_compute_alone() {
    let ran = vkxfb(&[&FLOOR[..], &["--device", "0", "--quick", "--validate", "--json"]].concat())
        .exits(0);
    let json = ran.json();
    assert_covers(&json, &[Backend::Compute]);
    assert_covers_geometry(&json, &[Backend::Compute]);
    assert_eq!(json["reports"][0]["profile"], "bifrost");
    vkxfb(&[&FLOOR[..], &["--device", "0", "--backend", "native"]].concat())
        .refuses(&["native", "VK_EXT_transform_feedback"]);
}

#[test]
fn a_shader_from_a_file_is_probed() {
    let shaders = Shaders::new();
    // A file name may contain spaces and quotes.
    let shader = shaders.glsl("my shader's.spv", CAPTURES);
    let mut arguments = vec!["probe", "shader", &shader];
    arguments.extend(["--device", "0", "--quick", "--validate", "--json"]);
    assert_covers(&vkxfb(&arguments).exits(0).json(), &Backend::ALL);
}

/// In a graphics pipeline that draws points, a vertex shader must write `PointSize`.
#[test]
fn a_shader_without_a_point_size_is_probed_without_points() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("plain.spv", &CAPTURES.replace("gl_PointSize = 1;", ""));
    let mut arguments = vec!["probe", "shader", &shader];
    arguments.extend(["--device", "0", "--quick", "--validate", "--json"]);
    let json = vkxfb(&arguments).exits(0).json();
    for (backend, topology, cell) in cells(&json) {
        let skips = topology == "point-list" && backend != "compute";
        assert_eq!(cell["skipped"].is_string(), skips, "{cell}");
        assert_eq!(cell["run"] == 0, skips, "{cell}");
    }
}

/// The records of this shader depend on the place of the vertex in its subgroup, which differs from
/// draw to draw. The probe must report that the records differ.
const LANE: &str = "
    #version 450
    #extension GL_KHR_shader_subgroup_basic : require
    layout(xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0, location = 0) out flat uint lane;
    void main() { lane = gl_SubgroupInvocationID; gl_Position = vec4(0); gl_PointSize = 1; }";

#[test]
fn the_first_mismatch_can_be_the_last() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("lane.spv", LANE);
    let all = ["probe", "shader", &shader, "--device", "0", "--backend", "compute", "--quick"];
    let cases_run = |more: &[&str]| {
        let json = vkxfb(&[&all[..], &["--json"], more].concat()).exits(1).json();
        cells(&json).iter().filter(|(_, _, cell)| cell["run"] != 0).count()
    };
    let (every, few) = (cases_run(&[]), cases_run(&["--fail-fast"]));
    assert!(0 < few && few < every, "{few} of {every} topologies");
}

#[test]
fn a_mismatch_is_exit_status_1_and_a_report() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("a lane.spv", LANE);
    let (page, bug) = (shaders.path("page.html"), shaders.path("bug.md"));
    let mut arguments = vec!["probe", "shader", &shader, "--device", "0", "--backend", "compute"];
    arguments.extend(["--topology", "triangle-list", "--vertices", "4", "--instances", "3"]);
    arguments.extend(["--html", page.to_str().unwrap(), "--report", bug.to_str().unwrap()]);
    let ran = vkxfb(&arguments).exits(1);
    assert!(ran.stdout.contains("cases came out wrong"), "{}", ran.stdout);
    let bug = std::fs::read_to_string(&bug).unwrap();
    let quoted = format!("vkxfb probe shader '{shader}'");
    for part in ["# Transform feedback: ", "```hex", &quoted, "--vertices 4"] {
        assert!(bug.contains(part), "{part}: {bug}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().ends_with("</html>\n"));

    // The same probe with `--json` prints a command that repeats the wrong case. It can be pasted
    // into a shell.
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

/// The two backends run the same shader, but one of them has subgroups of only one vertex.
#[test]
fn backends_that_disagree_on_a_shaders_records_are_exit_status_1() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("lane.spv", LANE);
    let mut arguments = vec!["probe", "shader", &shader, "--device", "0"];
    arguments.extend(["--topology", "point-list", "--vertices", "7", "--json"]);
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

/// The table of inputs or outputs says where each one is, even if no selector names the whole of
/// it.
#[test]
fn every_input_and_output_has_a_place() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(location = 4) in vec2 low;
        layout(location = 4, component = 2) in vec2 high;
        layout(location = 0) out float alone;
        layout(location = 0, component = 1) out float several[3];
        layout(location = 4) out float shared_[2];
        layout(location = 4, component = 2) out vec2 pair[2];
        void main() {
            alone = low.x; several[0] = high.x; several[1] = 2; several[2] = 3;
            shared_[0] = shared_[1] = 0; pair[0] = pair[1] = low;
            gl_Position = vec4(0);
        }";
    let shader = shaders.glsl("places.spv", source);
    let text = vkxfb(&["inspect", &shader]).exits(0).stdout;
    let mut is_row = false;
    let mut places = Vec::new();
    for line in text.lines() {
        // Columns of the table are two spaces apart. There is one space before the first column.
        let cells: Vec<&str> =
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        match cells[..] {
            ["location" | "output", "type", "name"] => is_row = true,
            [place, _, name] if is_row && !line.starts_with("  ") => places.push((name, place)),
            [] => is_row = false,
            _ => assert!(!is_row, "no place in: '{line}'"),
        }
    }
    for expected in [
        ("low", "4"),
        ("high", "4, component 2"),
        ("alone", "@0.x"),
        ("several", "location 0, component 1"),
        ("shared_", "location 4, component 0"),
        ("pair", "location 4, component 2"),
        ("gl_Position", "@Position"),
    ] {
        assert!(places.contains(&expected), "{expected:?} in {text}");
    }
    // If the module has no names, outputs differ only in their location and component.
    let bare = shaders.path("bare.spv");
    let words = std::fs::read(&shader).unwrap();
    let mut module = vkxfb_rewriter::spirv::Module::parse(
        &vkxfb_rewriter::spirv::words_from_bytes(&words).unwrap(),
    )
    .unwrap();
    module.retain(vkxfb_rewriter::spirv::Section::Names, |_| false);
    std::fs::write(&bare, bytemuck::cast_slice(&module.words())).unwrap();
    let bare = bare.to_str().unwrap();
    vkxfb(&["inspect", bare, "--varyings", "@0"])
        .refuses(&["name one of: @0.x, location 0, component 1"]);
}

/// The first manifest in the directory may be for another architecture.
#[cfg(target_os = "linux")]
#[test]
fn the_driver_of_this_machine_is_chosen() {
    let own = driver::lavapipe();
    let directory = Shaders::new();
    directory.file("libforeign.so", b"\x7fELF, of a machine that this is not");
    let manifest = br#"{ "file_format_version": "1.0.0",
        "ICD": { "library_path": "./libforeign.so", "api_version": "1.3.230" } }"#;
    directory.file("lvp_icd.aarch64.json", manifest);
    directory.file("lvp_icd.broken.json", b"{");
    assert_eq!(driver::lavapipe_in(directory.0.path()), None);
    let copy = directory.path("lvp_icd.zzz.json");
    std::fs::copy(&own, &copy).unwrap();
    assert_eq!(driver::lavapipe_in(directory.0.path()), Some(copy));
}

/// If the loader finds the driver's manifest twice, it lists two devices. The command that repeats
/// a case names its device.
#[cfg(target_os = "linux")]
#[test]
fn several_devices_are_told_apart() {
    let lavapipe = driver::lavapipe();
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
        vkxfb(&["probe", "shader", file, "--quick"]).refuses(&["error: ", name, what]);
    };
    refuses(missing.to_str().unwrap(), "cannot read");
    refuses(&shaders.file("text.spv", b"#version 450, as text"), "magic number");
    for empty in ["empty.spv", "empty.vert", "empty.wgsl"] {
        refuses(&shaders.file(empty, b""), "is empty");
    }
    refuses(&shaders.file("words.spv", &[3, 2, 0x23, 7, 0, 0, 0, 0]), "header");

    let words = common::compile(CAPTURES.trim_start(), &["--target-env", "vulkan1.1"]);
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    refuses(&shaders.file("half.spv", &bytes[..bytes.len() - 2]), "inside a word");
    refuses(&shaders.file("short.spv", &bytes[..bytes.len() - 4]), "short.spv");
    refuses(&shaders.file("header.spv", &bytes[..20]), "no entry point");

    // What nothing can be captured of by default.
    let plain = "
        #version 450
        void main() {}";
    let plain = shaders.glsl("plain.spv", plain);
    refuses(&plain, "execution mode Xfb");
    refuses(&plain, "say what to capture with --varyings");
    let image = "
        #version 450
        layout(set = 1, binding = 2) uniform sampler2D image;
        layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 o;
        void main() { o = textureLod(image, vec2(0), 0); }";
    refuses(&shaders.glsl("image.spv", image), "descriptor set 1 binding 2 ('image'");
    let stores = image.replace("uniform sampler2D image", "buffer Block { vec4 value; }");
    let stores = stores.replace("textureLod(image, vec2(0), 0)", "value; value = vec4(1)");
    refuses(&shaders.glsl("stores.spv", &stores), "stores to memory");
    let address = "
        #version 450
        #extension GL_EXT_buffer_reference : require
        layout(buffer_reference) readonly buffer Values { vec4 value; };
        layout(push_constant) uniform Block { Values values; };
        layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 o;
        void main() { o = values.value; }";
    refuses(&shaders.glsl("address.spv", address), "follows device addresses");

    let fragment = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n\
        OpEntryPoint Fragment %1 \"main\"\nOpExecutionMode %1 OriginUpperLeft\n\
        %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n%1 = OpFunction %2 None %3\n%4 = OpLabel\n\
        OpReturn\nOpFunctionEnd\n";
    let fragment = common::assemble(fragment, "vulkan1.1");
    refuses(&shaders.file("fragment.spv", bytemuck::cast_slice(&fragment)), "Fragment 'main'");

    // The first shader has the execution mode Xfb but no decorations. The second module has two
    // vertex shaders.
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
    // The message names only the vertex shaders, because the command takes no fragment or compute
    // shaders.
    let four = two_of_each_stage();
    let ran = vkxfb(&["inspect", &shaders.file("four.spv", bytemuck::cast_slice(&four))]).exits(2);
    assert!(ran.stderr.ends_with("name one of: 'main', 'other'\n"), "{}", ran.stderr);
}

/// A module with two vertex shaders, a fragment shader and a compute shader.
fn two_of_each_stage() -> Vec<u32> {
    let text = "OpCapability Shader\nOpMemoryModel Logical GLSL450\n\
        OpEntryPoint Vertex %1 \"main\"\nOpEntryPoint Fragment %1 \"fs\"\n\
        OpEntryPoint Vertex %1 \"other\"\nOpEntryPoint GLCompute %1 \"cs\"\n\
        OpExecutionMode %1 OriginUpperLeft\nOpExecutionMode %1 LocalSize 1 1 1\n\
        %2 = OpTypeVoid\n%3 = OpTypeFunction %2\n\
        %1 = OpFunction %2 None %3\n%4 = OpLabel\nOpReturn\nOpFunctionEnd\n";
    common::assemble(text, "vulkan1.1")
}

#[test]
fn bad_arguments_are_refused_by_name() {
    vkxfb(&["probe", "--topology", "patches"]).refuses(&["'patches'", "patch-list"]);
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
fn files_are_written_whole_or_refused_before_the_run() {
    let shaders = Shaders::new();
    let (page, bug) = (shaders.path("page.html"), shaders.path("bug.md"));
    let mut arguments = vec!["probe", "--quick", "--shader", "identify"];
    arguments.extend(["--html", page.to_str().unwrap(), "--report", bug.to_str().unwrap()]);
    let ran = vkxfb(&arguments).exits(0);
    assert!(std::fs::read_to_string(&page).unwrap().ends_with("</html>\n"));
    let text = std::fs::read_to_string(&bug).unwrap();
    assert!(text.contains("no capture came out wrong"), "{text}");
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(shaders.0.path()).unwrap().count(), 2, "nothing else stays");

    // Two results must not go to one file, because the second would replace the first.
    vkxfb(&[
        "probe",
        "--quick",
        "--html",
        page.to_str().unwrap(),
        "--report",
        page.to_str().unwrap(),
    ])
    .refuses(&["page.html is to hold two results"]);
    let nowhere = shaders.path("missing/file");
    let nowhere = nowhere.to_str().unwrap();
    for option in ["--html", "--report"] {
        // The message comes before the run: otherwise the table would be on standard output.
        vkxfb(&["probe", "--quick", option, nowhere]).refuses(&["cannot write", nowhere]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_closed_pipe_is_no_error_and_a_full_disk_is() {
    let mut child = command(&["man"]).stdout(Stdio::piped()).spawn().unwrap();
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
    assert_eq!(json["varyings"][1]["type"], "mat2");
    assert_eq!(json["varyings"][1]["gl_type"], "GL_FLOAT_MAT2");
    assert_eq!(json["outputs"][1]["location"], 3);
    assert_eq!(json["locations_left"], 30);
    let inspect = ["inspect", &shader, "--varyings", "matrix"];
    let text = vkxfb(&inspect).exits(0).stdout;
    assert!(text.contains("mat2") && text.contains("locations used: 3 4"), "{text}");
    assert!(!text.contains("GL_"), "{text}");
    let text = vkxfb(&[&inspect[..], &["--gl"]].concat()).exits(0).stdout;
    assert!(text.contains("GL_FLOAT_MAT2") && text.contains("buffer index"), "{text}");

    for backend in ["native", "vertex", "compute"] {
        let lowered = shaders.path("lowered.spv");
        let mut arguments = vec!["lower", &shader, "--backend", backend, "--varyings", "matrix"];
        arguments.extend(["-o", lowered.to_str().unwrap(), "--text"]);
        let text = vkxfb(&arguments).exits(0).stdout;
        let stores = if backend == "native" { "XfbStride" } else { "xfb_store_record" };
        assert!(text.contains(stores), "{text}");
        let bytes = std::fs::read(&lowered).unwrap();
        common::validate(&vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap(), "vulkan1.1");
    }
    let push = source
        .replace(
            "void main()",
            "layout(push_constant) uniform P { float a; vec4 b; } p;\nvoid main()",
        )
        .replace("gl_Position = position", "gl_Position = position * p.b");
    let push = shaders.glsl("push.spv", &push);
    let text = vkxfb(&["inspect", &push]).exits(0).stdout;
    assert!(text.contains("push constants") && text.contains("a (not read)"), "{text}");
    let json = vkxfb(&["inspect", &push, "--json"]).exits(0).json();
    assert_eq!(json["push_constants"][1]["offset"], 16);
    for (backend, start) in [("native", 0), ("vertex", 16), ("compute", 16)] {
        let lowered = shaders.path("push.out.spv");
        let mut arguments = vec!["lower", &push, "--backend", backend, "--varyings", "matrix"];
        arguments.extend(["-o", lowered.to_str().unwrap(), "--json"]);
        let json = vkxfb(&arguments).exits(0).json();
        assert_eq!(json["push_constants"], serde_json::json!({ "start": start, "end": 32 }));
    }
    let split = vkxfb(&["split-blocks", &shader, "--text"]).exits(0).stdout;
    assert!(split.contains("matrix"), "{split}");
    let block = "#version 450\nlayout(location = 2) out Block { vec4 a; mat2 b; } block;
        void main() { block.a = vec4(0); gl_Position = vec4(0); }";
    let block = shaders.glsl("block.spv", block);
    let json = vkxfb(&["split-blocks", &block, "--json"]).exits(0).json();
    let locations: Vec<_> =
        json["members"].as_array().unwrap().iter().map(|m| &m["location"]).collect();
    assert_eq!(locations, [2, 3]);
    let vertex_shader = vkxfb(&["broadcast-color", &shader, "--text"]);
    vertex_shader.refuses(&["plain.spv", "no fragment shader"]);
    vkxfb(&["lower", &shader, "--backend", "compute"]).refuses(&["--output", "--text"]);
}

#[test]
fn what_is_captured_of_nothing_is_told() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(location = 0) in vec3 position;
        layout(location = 3) out mat2 matrix;
        layout(location = 5, component = 1) out vec2 low;
        layout(location = 5, component = 3) out float high;
        layout(location = 6) out Block { dvec3 wide; float list[3]; } block;
        void main() { gl_Position = vec4(position, 1); }";
    let shader = shaders.glsl("plain.spv", source);
    // Although nothing is captured, the interface is shown.
    let text = vkxfb(&["inspect", &shader]).exits(0).stdout;
    for part in [
        "no transform feedback decorations: ",
        "vkxfb capture takes Position",
        "--varyings",
        "@3",
        "mat2",
        "@Position",
        "vec4",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let json = vkxfb(&["inspect", &shader, "--json"]).exits(0).json();
    assert!(json["nothing_captured"].as_str().unwrap().contains("Xfb"), "{json}");
    assert_eq!(json["inputs"][0]["type"], "vec3");
    let row = |output: &Value| {
        let text = |field: &str| output[field].as_str().unwrap_or_default().to_owned();
        (text("selector"), text("type"), text("name"), output["size"].as_u64())
    };
    let outputs: Vec<_> = json["shader_outputs"].as_array().unwrap().iter().map(row).collect();
    for (selector, ty, name, size) in [
        ("@3", "mat2", "matrix", 16),
        ("@5.yz", "vec2", "low", 8),
        ("@5.w", "float", "high", 4),
        ("@6", "dvec3", "block.wide", 24),
        ("@8", "float[3]", "block.list", 12),
        ("@Position", "vec4", "gl_Position", 16),
    ] {
        let row = (selector.to_owned(), ty.to_owned(), name.to_owned(), Some(size));
        assert!(outputs.contains(&row), "no {row:?} in {outputs:?}");
        // `--varyings` accepts the selector and the name, with the same result.
        let by =
            |output| vkxfb(&["inspect", &shader, "--varyings", output, "--json"]).exits(0).json();
        let (by_place, by_name) = (by(selector), by(name));
        for field in ["buffers", "outputs"] {
            assert_eq!(by_place[field], by_name[field], "{selector}");
        }
    }

    // The message says how to capture something, and how to list the outputs.
    let lower = ["lower", &shader, "--backend", "compute", "--text"];
    vkxfb(&lower).refuses(&["plain.spv", "execution mode Xfb", "--varyings", "vkxfb inspect"]);
    vkxfb(&[&lower[..], &["--varyings", "colour"]].concat()).refuses(&[
        "'colour'",
        "matrix (@3), low (@5.yz), high (@5.w), block.wide (@6), block.list (@8)",
        "gl_Position (@Position)",
    ]);
}

#[test]
fn a_list_may_have_spaces() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("shader.spv", CAPTURES);
    let json = vkxfb(&["inspect", &shader, "--varyings", "copied, indices ,@0.xy", "--json"]);
    assert_eq!(json.exits(0).json()["buffers"][0]["stride"], 32);
    // A shell passes a list with spaces that is not quoted as several arguments.
    let json = vkxfb(&["inspect", "--varyings", "copied,", "indices", &shader, "--json"]);
    assert_eq!(json.exits(0).json()["buffers"][0]["stride"], 24);
    vkxfb(&["inspect", &shader, "--varyings", "copied,"]).refuses(&["--varyings", "comma"]);
    vkxfb(&["bench", "--topology", "triangle-list, triangles"]).refuses(&["'triangles'"]);
    vkxfb(&["bench", "--part", "draw, nothing"]).refuses(&["`nothing`"]);
}

/// A captured element of an array becomes a separate output, which needs another location. Not
/// every device supports 16 locations in addition to `Position`.
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
    // An output that can be decorated in place needs no further location.
    let whole = ["lower", &shader, "--backend", "native", "--varyings", "matrix", "--text"];
    vkxfb(&whole).exits(0);
}

#[test]
fn stream_outputs_and_constants_are_taken() {
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
    // The slots of the outputs are POS, COL0, VAR0, VAR1 and VAR2.
    let all = json("all.json", &[record(1, 4, 2), record(4, 2, 6)], "");
    let inspect = ["inspect", &shader, "--stream-output", &all];
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
        let lower = ["lower", &shader, "--stream-output", &all, "--backend", backend, "-o", out];
        vkxfb(&[&lower[..], &constants].concat()).exits(0);
        let words = vkxfb_rewriter::spirv::words_from_bytes(&std::fs::read(out).unwrap()).unwrap();
        common::validate(&words, "vulkan1.1");
    }

    // The default of the constant is 2, so the shader has no slot VAR2.
    vkxfb(&inspect).refuses(&["all.json", "stream output 1: register_index is 4"]);
    vkxfb(&[&inspect[..], &["--varyings", "colour"]].concat()).exits(2);
    let unpacked = json("unpacked.json", &[record(3, 2, 0)], r#", "locations": "unpacked""#);
    let found =
        vkxfb(&["inspect", &shader, "--stream-output", &unpacked, "--json"]).exits(0).json();
    assert_eq!(found["outputs"][0]["name"], "list[1]");
    for (name, text, said) in [
        ("type.json", r#"{ "strides": [true], "outputs": [] }"#, "line 1"),
        ("field.json", r#"{ "strides": [4], "outputs": [], "stride": 4 }"#, "`stride`"),
        ("strides.json", r#"{ "strides": [4, 4, 4, 4, 4], "outputs": [] }"#, "5 strides"),
        ("empty.json", r#"{ "strides": [4], "outputs": [] }"#, "nothing to capture"),
    ] {
        let file = shaders.file(name, text.as_bytes());
        vkxfb(&["inspect", &shader, "--stream-output", &file]).refuses(&[said]);
    }
    vkxfb(&["inspect", &shader, "--stream-output", "absent.json"]).refuses(&["absent.json"]);
    for constant in ["4", "4=", "x=1", "4=1.2.3"] {
        vkxfb(&["inspect", &shader, "--stream-output", &all, "--constant", constant])
            .refuses(&["3=0.5", constant]);
    }
}

#[test]
fn constants_are_of_the_shader_and_of_its_types() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(constant_id = 4) const int COUNT = 2;
        layout(constant_id = 7) const float SCALE = 0.5;
        layout(constant_id = 8) const bool FLIP = true;
        layout(location = 0) out float list[COUNT];
        void main() {
            for (int i = 0; i < COUNT; i++) list[i] = FLIP ? -SCALE : SCALE;
            gl_Position = vec4(0);
        }";
    let shader = shaders.glsl("shader.spv", source);
    let with = |constants: &str| {
        let arguments =
            ["inspect", &shader, "--varyings", "list", "--json", "--constant", constants];
        vkxfb(&arguments)
    };
    let all = "4 (int COUNT = 2), 7 (float SCALE = 0.5), 8 (bool FLIP = true)";
    with("3=1").refuses(&["shader.spv", "no specialisation constant 3", all]);
    with("4=0.5").refuses(&["4 (int COUNT = 2) cannot be 0.5"]);
    with("4=99999999999").refuses(&["4 (int COUNT = 2) cannot be 99999999999", "range"]);
    with("8=2").refuses(&["8 (bool FLIP = true) cannot be 2"]);
    let json = with("4=3, 7=1,8=false").exits(0).json();
    assert_eq!(json["buffers"][0]["stride"], 12);
    assert_eq!(json["constants"][1]["name"], "SCALE");
    // A number without a point is accepted for a float.
    let mut lower = vec!["lower", &shader, "--varyings", "list", "--backend", "native", "--text"];
    lower.extend(["--constant", "7=3"]);
    let text = vkxfb(&lower).exits(0).stdout;
    assert!(text.contains("OpConstant %float 3\n"), "{text}");
    let plain = shaders.glsl("plain.spv", CAPTURES);
    vkxfb(&["split-blocks", &plain, "--text", "--constant", "1=1"]).refuses(&["it has: none"]);
}

#[test]
fn override_constants_of_wgsl_get_their_values() {
    let shaders = Shaders::new();
    let source = b"
        @id(3) override scale: f32;
        override flip = false;
        @vertex fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f {
            return vec4f(select(scale, -scale, flip) * f32(i));
        }";
    let shader = shaders.file("shader.wgsl", source);
    let run = |constants: &[&str]| {
        let arguments = ["capture", &shader, "--vertices", "2", "--topology", "point-list"];
        let more = ["--varyings", "@Position.x", "--format", "csv", "--backend", "compute"];
        vkxfb(&[&arguments[..], &more, constants].concat())
    };
    let captured = |constants: &str| run(&["--constant", constants]).exits(0).stdout;
    assert!(captured("3=2.5").ends_with("1,2.5\n"), "{}", captured("3=2.5"));
    assert!(captured("3=2,flip=true").ends_with("1,-2.0\n"), "{}", captured("3=2,flip=true"));
    run(&[]).refuses(&["shader.wgsl", "constant '3' has no value", "--constant 3=VALUE"]);
    run(&["--constant", "3=1,flop=1"]).refuses(&["no override constant 'flop'", "3, flip"]);
}

/// The vertex input is that of a model: two attributes in one binding, and one attribute with the
/// instance rate in another binding.
#[test]
fn vertex_formats_are_arguments() {
    let shaders = Shaders::new();
    let source = "
        #version 450
        layout(location = 0) in vec3 position;
        layout(location = 1) in vec4 colour;
        layout(location = 2) in uint kind;
        layout(location = 3) in vec2 offset;
        layout(location = 0) out vec4 o;
        void main() { o = vec4(position, kind) + colour * offset.x; gl_Position = o; }";
    let shader = shaders.glsl("shader.spv", source);
    let out = shaders.path("out.spv");
    let lower = |more: &[&str]| {
        let arguments = ["lower", &shader, "--backend", "compute", "--varyings", "o", "--json"];
        vkxfb(&[&arguments[..], &["-o", out.to_str().unwrap()], more].concat())
    };
    let attributes = |json: &Value| -> Vec<(u64, String, u64, u64)> {
        let number = |value: &Value| value.as_u64().unwrap();
        let row = |a: &Value| {
            let format = a["format"].as_str().unwrap().to_owned();
            (number(&a["location"]), format, number(&a["binding"]), number(&a["offset"]))
        };
        json["attributes"].as_array().unwrap().iter().map(row).collect()
    };
    let row = |l, format: &str, b, o| (l, format.to_owned(), b, o);

    // Without options, attributes have the types that the shader declares.
    let json = lower(&[]).exits(0).json();
    assert_eq!(
        attributes(&json),
        [
            row(0, "R32G32B32_SFLOAT", 0, 0),
            row(1, "R32G32B32A32_SFLOAT", 1, 0),
            row(2, "R32_UINT", 2, 0),
            row(3, "R32G32_SFLOAT", 3, 0),
        ]
    );
    assert_eq!(json["strides"][0], 16);
    let packed = std::fs::read(&out).unwrap();

    let formats = "0=R16G16B16_SNORM@0, 1=vk_format_r8g8b8a8_unorm@0+8,2=R16_UINT";
    let more = [
        "--attribute",
        formats,
        "--attribute",
        "3=R32G32_SFLOAT@5",
        "--binding",
        "5=24/instance:2",
    ];
    let json = lower(&more).exits(0).json();
    assert_eq!(
        attributes(&json),
        [
            row(0, "R16G16B16_SNORM", 0, 0),
            row(1, "R8G8B8A8_UNORM", 0, 8),
            row(2, "R16_UINT", 1, 0),
            row(3, "R32G32_SFLOAT", 5, 0),
        ]
    );
    let bindings: Vec<_> = json["bindings"].as_array().unwrap().iter().collect();
    let binding = |b: u32, stride: u32, divisor: Option<u32>| serde_json::json!({ "binding": b, "stride": stride, "instance_divisor": divisor });
    assert_eq!(bindings, [&binding(0, 12, None), &binding(1, 2, None), &binding(5, 24, Some(2))]);
    let formatted = std::fs::read(&out).unwrap();
    assert_ne!(formatted, packed, "the formats are compiled in");
    common::validate(&vkxfb_rewriter::spirv::words_from_bytes(&formatted).unwrap(), "vulkan1.1");

    lower(&["--attribute", "1=R64G64_SFLOAT"]).refuses(&["shader.spv", "location 1"]);
    lower(&["--attribute", "1=R8G8B8A8"]).refuses(&["'R8G8B8A8'", "R8G8B8A8_UNORM"]);
    lower(&["--attribute", "1"]).refuses(&["LOCATION=FORMAT[@BINDING[+OFFSET]]"]);
    lower(&["--attribute", "9=R32_UINT"]).refuses(&["no input at location 9", "0, 1, 2, 3"]);
    lower(&["--attribute", "2=R8_UINT,2=R8_UINT"]).refuses(&["location 2 two formats"]);
    lower(&["--binding", "5=24"]).refuses(&["no --attribute is read from binding 5"]);
    let vertex = ["lower", &shader, "--backend", "vertex", "--varyings", "o", "--text"];
    vkxfb(&[&vertex[..], &["--attribute", "2=R8_UINT"]].concat()).refuses(&["compute backend"]);
}

#[test]
fn the_log_tells_of_a_lowering() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("shader.spv", CAPTURES);
    let log = |level: &str, backend: &str| {
        let out = shaders.path("out.spv");
        let mut command = command(&["lower", &shader, "--backend", backend, "-o"]);
        command.arg(&out).env("VKXFB_LOG", level).env("NO_COLOR", "1");
        Ran::new(command.output().unwrap()).exits(0).stderr
    };
    for backend in ["native", "vertex", "compute"] {
        let text = log("debug", backend);
        for part in [&format!("backend=\"{backend}\""), "shader.spv", "layout", "Some(32)"] {
            assert!(text.contains(part), "{backend}: no {part} in {text}");
        }
        // The place of each output is logged only at the level `trace`.
        assert!(!text.contains("\"copied\""), "{text}");
        assert!(log("trace", backend).contains("\"copied\""), "{backend}");
        assert_eq!(log("warn", backend), "");
    }
    assert!(log("debug", "compute").contains("others: 64"));
}

#[test]
fn a_colour_is_broadcast() {
    let shaders = Shaders::new();
    let source = "#version 450\nlayout(location = 0) out vec4 c; void main() { c = vec4(1); }";
    let words = common::compile_stage("frag", source, &[]);
    let shader = shaders.file("colour.spv", bytemuck::cast_slice(&words));
    let text = vkxfb(&["broadcast-color", &shader, "--attachments", "3", "--text"]).exits(0).stdout;
    assert!(text.contains("gl_FragData[2]") || text.contains("gl_FragData_2_"), "{text}");
    let json = vkxfb(&["broadcast-color", &shader, "--attachments", "3", "--json"]).exits(0).json();
    assert_eq!(json["added"][1]["location"], 2);
    vkxfb(&["broadcast-color", &shader, "--attachments", "9", "--text"]).refuses(&["9", "8"]);
}

#[test]
fn transform_feedback_is_stripped() {
    let shaders = Shaders::new();
    let shader = shaders.glsl("shader.spv", CAPTURES);
    let out = shaders.path("out.spv");
    let out = out.to_str().unwrap();
    let json = vkxfb(&["strip-xfb", &shader, "-o", out, "--json"]).exits(0).json();
    assert_eq!(json["stripped"], true);
    let text = vkxfb(&["strip-xfb", out, "--text"]).exits(0).stdout;
    assert!(!text.contains("Xfb") && !text.contains("TransformFeedback"), "{text}");
    let json = vkxfb(&["strip-xfb", out, "--json"]).exits(0).json();
    assert_eq!(json["stripped"], false);
}

/// Only the driver can capture a tessellation evaluation shader or a geometry shader alone.
#[test]
fn other_stages_are_captured_natively() {
    let shaders = Shaders::new();
    let compile = |stage: &str, source: &str| {
        let words = common::compile_stage(stage, source, &[]);
        shaders.file(&format!("{stage}.spv"), bytemuck::cast_slice(&words))
    };
    let evaluation = compile(
        "tese",
        "#version 450
        layout(isolines, point_mode) in;
        layout(location = 1, xfb_buffer = 0, xfb_offset = 0) out Block { vec2 a; vec3 b; } block;
        void main() { block.a = vec2(1.0); block.b = gl_TessCoord; }",
    );
    let geometry = compile(
        "geom",
        "#version 450
        layout(points) in;
        layout(points, max_vertices = 1) out;
        layout(location = 3, stream = 2, xfb_buffer = 1, xfb_offset = 0) out vec4 c;
        void main() { c = vec4(2.0); EmitStreamVertex(2); }",
    );
    let out = shaders.path("out.spv");
    let out = out.to_str().unwrap();
    let text = vkxfb(&["inspect", &evaluation]).exits(0).stdout;
    assert!(text.starts_with("tessellation evaluation shader 'main'"), "{text}");
    let text = vkxfb(&["inspect", &geometry]).exits(0).stdout;
    assert!(text.contains("buffer 1: 16 bytes per vertex of stream 2"), "{text}");
    let json = vkxfb(&["split-blocks", &evaluation, "--json"]).exits(0).json();
    assert_eq!(json["members"][1]["location"], 2);
    for (file, captures) in [(&evaluation, "block.b,@1"), (&geometry, "@3.yz")] {
        for more in [&[][..], &["--varyings", captures]] {
            let lower = ["lower", file, "--backend", "native", "-o", out];
            vkxfb(&[&lower[..], more].concat()).exits(0);
            let bytes = std::fs::read(out).unwrap();
            common::validate(
                &vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap(),
                "vulkan1.0",
            );
        }
        for backend in ["vertex", "compute"] {
            let lower = ["lower", file, "--backend", backend, "--text"];
            vkxfb(&lower).refuses(&["'main' is given where a vertex shader is expected"]);
        }
        let lower = ["lower", file, "--backend", "native", "--text", "--stage", "vertex"];
        vkxfb(&lower).refuses(&["no vertex shader; it has: ", "'main'"]);
        vkxfb(&["probe", "shader", file, "--quick"])
            .refuses(&["given where a vertex shader is expected"]);
    }
    let other = ["split-blocks", &geometry, "--text", "--stage", "tessellation-evaluation"];
    vkxfb(&other).refuses(&["no tessellation evaluation shader; it has: Geometry 'main'"]);
}

/// The message names an unsupported language, and says how to convert the file to SPIR-V.
#[test]
fn other_sources_are_refused_by_name() {
    let shaders = Shaders::new();
    let hlsl = b"float4 main(float4 p : POSITION) : SV_Position { return p; }";
    for (name, content, what) in [
        ("a.spvasm", &b"OpCapability Shader"[..], "spirv-as"),
        ("a.txt", b"; SPIR-V\n; Version: 1.0", "spirv-as"),
        ("a.hlsl", hlsl, "dxc -spirv"),
        ("hlsl.vs", hlsl, "dxc -spirv"),
        ("a.slang", b"[shader(\"vertex\")] float4 f() : SV_Position", "slangc"),
        ("a.frag", b"#version 450\nvoid main() {}", "a fragment shader"),
        ("a.comp", b"#version 450\nvoid main() {}", "a compute shader"),
        ("a.geom", b"#version 450\nvoid main() {}", "vkxfb capture SHADER.vert --geometry"),
        ("a.tese", b"#version 450\nvoid main() {}", "--control SHADER.tesc --evaluation"),
        ("a.dxil", b"DXBC1234", "DirectX"),
        ("a.spv", b"some text", ".vert, .glsl"),
        ("a.png", b"\x89PNG\r\n", ".vert, .glsl"),
    ] {
        let file = shaders.file(name, content);
        vkxfb(&["inspect", &file]).refuses(&[name, what]);
        vkxfb(&["lower", &file, "--backend", "compute", "--text"]).refuses(&[name, what]);
    }
    let fragment = shaders.path("a.frag");
    vkxfb(&["broadcast-color", fragment.to_str().unwrap(), "--text"]).refuses(&["glslang -V"]);
    let wgsl = shaders.file("a.wgsl", b"@vertex fn main() {}");
    vkxfb(&["strip-xfb", &wgsl, "--text"]).refuses(&["a.wgsl", "SPIR-V modules"]);
    let glsl = b"#version 450\nvoid main() { gl_Position = vec4(0); }";
    for name in ["a.vs", "a.VSH", "a", "shader.txt"] {
        vkxfb(&["inspect", &shaders.file(name, glsl)]).exits(0);
    }
}

/// Sources are compiled by their extension. SPIR-V is recognised whatever the extension.
#[test]
fn sources_are_compiled() {
    let shaders = Shaders::new();
    let wgsl = shaders.file(
        "a.wgsl",
        b"struct Out { @builtin(position) p: vec4f, @location(3) colour: vec3f }
          @group(1) @binding(2) var<uniform> tint: vec3f;
          @vertex fn main() -> Out { return Out(vec4f(), tint); }",
    );
    let glsl = shaders.file(
        "a.vert",
        b"#version 450
          out gl_PerVertex { vec4 gl_Position; };
          layout(set = 1, binding = 2) uniform Tint { vec3 tint; };
          layout(location = 3) out vec3 colour;
          void main() { colour = tint; gl_Position = vec4(1); }",
    );
    let out = shaders.path("out.spv");
    let out = out.to_str().unwrap();
    for file in [&wgsl, &glsl] {
        let ran = vkxfb(&["inspect", file, "--varyings", "colour", "--json"]).exits(0);
        let json = ran.json();
        assert_eq!(json["outputs"][0]["location"], 3, "{json}");
        // The compiler has added none.
        assert_eq!(json["inputs"], serde_json::json!([]), "{json}");
        for backend in ["vertex", "compute"] {
            let lower = ["lower", file, "--varyings", "colour", "--backend", backend, "-o", out];
            vkxfb(&lower).exits(0);
            let bytes = std::fs::read(out).unwrap();
            common::validate(
                &vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap(),
                "vulkan1.0",
            );
        }
    }
    let spirv = shaders.glsl("spirv.vert", CAPTURES);
    vkxfb(&["inspect", &spirv]).exits(0);
    let decorated = shaders.file("xfb.vert", CAPTURES.trim_start().as_bytes());
    assert_eq!(
        vkxfb(&["inspect", &decorated]).exits(0).stdout,
        vkxfb(&["inspect", &spirv]).exits(0).stdout
    );
    let broken = shaders.file("broken.wgsl", b"@vertex fn main( {}");
    vkxfb(&["inspect", &broken]).refuses(&["broken.wgsl: 1:"]);
}

/// GLSL is taken as glslang takes it, with names, values of specialization constants and included files.
#[test]
fn glsl_is_compiled_by_glslang() {
    let shaders = Shaders::new();
    let capture = |file: &str, more: &[&str]| {
        let draw = ["capture", file, "--vertices", "1", "--topology", "point-list"];
        vkxfb(&[&draw[..], &["--format", "csv"], more].concat())
    };
    // A member of a block has the name of an input.
    let same = shaders.file(
        "same.vert",
        b"#version 450
        layout(location = 0) in uint joints;
        layout(set = 0, binding = 1) uniform Skin { mat4 joints[2]; } skin;
        void main() { gl_Position = skin.joints[joints] * vec4(1); }",
    );
    let given = ["--attribute", "joints=1", "--uniform", "0.1.joints[1]=identity"];
    let csv = capture(&same, &[&given[..], &["--uniform", "0.1.*=0"]].concat()).exits(0).stdout;
    assert!(csv.contains("\n0,1.0,1.0,1.0,1.0\n"), "{csv}");
    // Uniforms outside of blocks, and interface variables without locations.
    let loose = shaders.file(
        "loose.vert",
        b"#version 450
        uniform float time;
        in vec3 position;
        out vec3 tint;
        void main() { tint = position * time; gl_Position = vec4(position, 1); }",
    );
    let given = ["--attribute", "position=1,2,3", "--uniform", "0.0.time=2"];
    let csv = capture(&loose, &given).exits(0).stdout;
    assert!(csv.contains("\n0,2.0,4.0,6.0,1.0,2.0,3.0,1.0\n"), "{csv}");
    let included = b"#define PLACE vec4(1, 2, 3, 1)\n";
    std::fs::create_dir(shaders.path("parts")).unwrap();
    shaders.file("parts/place.glsl", included);
    let source = b"#version 450
        #extension GL_GOOGLE_include_directive : require
        #include \"parts/place.glsl\"
        layout(constant_id = 3) const float scale = 2.5;
        void main() { gl_Position = PLACE * scale; }";
    shaders.file("-dash.vert", source);
    let draw = ["capture", "--vertices=1", "--topology=point-list", "--format=csv"];
    let mut from_folder = command(&[&draw[..], &["--constant=3=2", "--", "-dash.vert"]].concat());
    let csv = Ran::new(from_folder.current_dir(shaders.0.path()).output().unwrap()).exits(0).stdout;
    assert!(csv.contains("\n0,2.0,4.0,6.0,2.0\n"), "{csv}");
    // Its cases run in a child process, which takes the same arguments and a task.
    let probe = ["probe", "shader", "--device=0", "--backend=compute", "--quick"];
    let mut from_folder =
        command(&[&probe[..], &["--topology=point-list", "--", "-dash.vert"]].concat());
    Ran::new(from_folder.current_dir(shaders.0.path()).output().unwrap()).exits(0);

    // The message is that of the compiler, without what only follows from it.
    let wrong = shaders.file("wrong.vert", b"#version 450\nvoid main() { float a = nothing; }");
    let ran = vkxfb(&["inspect", &wrong]).exits(2);
    let said = format!(
        "error: glslang does not compile {wrong}:\n  ERROR: {wrong}:2: 'nothing' : undeclared identifier\n"
    );
    assert_eq!(ran.stderr, said);
    let without = shaders.file("without.vert", b"#version 450\nvoid f() {}");
    vkxfb(&["inspect", &without]).refuses(&["does not compile", "Missing entry point"]);
    let marked = shaders.file("marked.vert", b"\xef\xbb\xbf#version 450\nvoid main() { wrong; }");
    vkxfb(&["inspect", &marked]).refuses(&["marked.vert:1:", "byte order mark"]);
}

/// Where glslang is not installed, or does not survive a shader, the command says so.
#[cfg(unix)]
#[test]
fn glslang_that_is_missing_or_crashes_is_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let shaders = Shaders::new();
    let folder = shaders.0.path();
    let source = b"#version 450\nvoid main() { gl_Position = vec4(0); }";
    let glsl = shaders.file("a.vert", source);
    let inspect = |file: &str| {
        let mut command = command(&["inspect", file]);
        Ran::new(command.env("PATH", folder).output().unwrap())
    };
    inspect(&glsl).refuses(&[
        "a.vert is GLSL",
        "neither glslang nor glslangValidator can be run",
        "install glslang",
        "or give SPIR-V or WGSL",
    ]);
    let wgsl = "@vertex fn main() -> @builtin(position) vec4f { return vec4f(); }";
    inspect(&shaders.file("a.wgsl", wgsl.as_bytes())).exits(0);

    // By either name, the current one first.
    for name in ["glslangValidator", "glslang"] {
        let script = format!("#!/bin/sh\necho {name} says no\nexit 2\n");
        std::fs::write(folder.join(name), script).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.join(name), mode).unwrap();
        inspect(&glsl).refuses(&["does not compile", &format!("\n  {name} says no\n")]);
    }
    std::fs::write(folder.join("glslang"), "#!/bin/sh\nkill -SEGV $$\n").unwrap();
    inspect(&glsl).refuses(&["crashed or was killed", "a.vert", "signal: 11"]);
    // By the other name only where there is none by the first.
    std::fs::set_permissions(folder.join("glslang"), std::fs::Permissions::from_mode(0o644))
        .unwrap();
    inspect(&glsl).refuses(&["a.vert is GLSL", "glslang, which compiles it, cannot be run"]);
}

/// What expands to more than fits a computer ends glslang, and nothing else.
#[cfg(target_os = "linux")]
#[test]
fn glslang_has_limits() {
    use std::os::unix::fs::PermissionsExt;

    let shaders = Shaders::new();
    let folder = shaders.0.path();
    // It gets its input after its limits.
    let script = "#!/bin/sh\nread -r line\necho $line, $(ulimit -v) KiB, $(ulimit -t) s\nexit 2\n";
    std::fs::write(folder.join("glslang"), script).unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.join("glslang"), mode).unwrap();
    let glsl = shaders.file("limited.conf", b"#version 450\nvoid main() {}");
    let mut command = command(&["inspect", &glsl]);
    let ran = Ran::new(command.env("PATH", folder).output().unwrap());
    ran.refuses(&["\n  #version 450, 4194304 KiB, 120 s\n"]);
}

/// glslang gets what was read already: from standard input, and from a file that it would take for its configuration.
#[cfg(unix)]
#[test]
fn glsl_comes_from_standard_input_too() {
    use std::io::Write as _;

    let shaders = Shaders::new();
    shaders.file("place.glsl", b"#define PLACE vec4(1)\n");
    let source = b"#version 450
        #extension GL_GOOGLE_include_directive : require
        #include \"place.glsl\"
        void main() { gl_Position = PLACE; }";
    let conf = shaders.file("in.conf", source);
    vkxfb(&["inspect", &conf]).exits(0);
    let wrong = shaders.file("wrong.vert", b"#version 450\nvoid main() { float a = nothing; }");
    let from = |file: &str| {
        let mut command = command(&["inspect", "/dev/stdin"]);
        let input = std::fs::File::open(file).unwrap();
        Ran::new(command.current_dir(shaders.0.path()).stdin(input).output().unwrap())
    };
    from(&conf).exits(0);
    from(&wrong).refuses(&["\n  ERROR: /dev/stdin:2: 'nothing'"]);
    // A pipe can be read once.
    let mut piped = command(&["inspect", "/dev/stdin"]);
    let piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let plain = b"#version 450\nvoid main() { gl_Position = vec4(1); }";
    child.stdin.take().unwrap().write_all(plain).unwrap();
    Ran::new(child.wait_with_output().unwrap()).exits(0);
}

/// Macros expand to 2,000 calls, each within the one before. A compiler in the command's own process, which recurses,
/// would overflow the stack.
#[test]
fn macros_do_not_abort_the_command() {
    let shaders = Shaders::new();
    let source = b"#version 450
        #define A(x) sin(sin(sin(sin(sin(sin(sin(sin(sin(sin(x))))))))))
        #define B(x) A(A(A(A(A(A(A(A(A(A(x))))))))))
        #define C(x) B(B(B(B(B(B(B(B(B(B(x))))))))))
        layout(location = 0) in float a;
        void main() { gl_Position = vec4(C(C(a))); }";
    let ran = vkxfb(&["inspect", &shaders.file("macros.vert", source)]);
    assert!(ran.status == 0 || ran.stderr.contains("glslang"), "{}", ran.stderr);
}
