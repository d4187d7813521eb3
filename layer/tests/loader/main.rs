//! Tests the layer with a real loader. Each test runs a program with and without the layer, and
//! compares the results. The program is this test in the role of [`client`], or the command
//! `vkxfb`.
//!
//! The tests are skipped, with a reason, if there is no loader or no device; `tests/setup.sh`
//! installs both.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod client;
#[path = "../../../examples/common/portability.rs"]
mod portability;
#[path = "../../../tests/common/skip.rs"]
mod skip;
mod vulkaninfo;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use skip::{Why, skip};
use tempfile::TempDir;

const LAYER: &str = "VK_LAYER_VKXFB_transform_feedback";
const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";

/// Returns the layer's library. It is in the directory of this test, because cargo builds the
/// library of a package before its tests.
fn library() -> PathBuf {
    let name =
        format!("{}vkxfb_layer{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = std::env::current_exe().unwrap().with_file_name(name);
    assert!(library.is_file(), "no {}", library.display());
    library
}

/// Creates a directory with the layer's manifest.
fn manifest() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut manifest: Value =
        serde_json::from_str(include_str!("../../../cli/src/layer/manifest.json")).unwrap();
    manifest["layer"]["library_path"] = library().to_str().unwrap().into();
    std::fs::write(directory.path().join("layer.json"), manifest.to_string()).unwrap();
    directory
}

/// The output of a program that has run.
struct Ran {
    stdout: String,
    stderr: String,
}

/// Runs a program with layers. The program calls the first of them. Fails if the program fails, or
/// if there is a validation error.
fn run(command: &mut Command, layers: &[&str], variables: &[(&str, &str)]) -> Ran {
    let directory = manifest();
    // The loader of Debian 12 calls layers in the order in which it finds them, whatever the order
    // in the environment variable is.
    let others = Path::new("/usr/share/vulkan/explicit_layer.d");
    let paths = match layers {
        [LAYER, ..] => [directory.path(), others],
        _ => [others, directory.path()],
    };
    // Variables that may be set on the machine are removed.
    for variable in ["VK_LOADER_LAYERS_ENABLE", "VK_LOADER_LAYERS_DISABLE", "VK_LAYER_PATH"] {
        command.env_remove(variable);
    }
    for variable in
        ["VKXFB_LOG", "VKXFB_FORCE_ENABLE", "VKXFB_OMIT_TRANSLATION", "VKXFB_WITHHOLD_PASSES"]
    {
        command.env_remove(variable);
    }
    command.env_remove("VK_LAYER_SETTINGS_PATH");
    command
        .stdin(Stdio::null())
        .env("XDG_DATA_HOME", directory.path())
        .env("VK_ADD_LAYER_PATH", std::env::join_paths(paths).unwrap())
        .env("VK_INSTANCE_LAYERS", layers.join(":"))
        .envs(variables.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let ran = Ran { stdout: text(output.stdout), stderr: text(output.stderr) };
    assert!(output.status.success(), "{}\n{}{}", output.status, ran.stdout, ran.stderr);
    // The validation layer logs to standard output.
    for said in [&ran.stdout, &ran.stderr] {
        assert!(!said.contains("Validation Error") && !said.contains("VUID-"), "{said}");
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    ran
}

/// Runs this program in the role of the client. Returns its report and its log.
fn client(role: &str, layers: &[&str], variables: &[(&str, &str)]) -> (Value, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--ignored", "--nocapture", client::TEST]).env(client::ROLE, role);
    let ran = run(&mut command, layers, variables);
    let report = ran.stdout.lines().find_map(|line| line.strip_prefix(client::REPORT));
    let report = report.unwrap_or_else(|| panic!("no report: {}{}", ran.stdout, ran.stderr));
    (serde_json::from_str(report).unwrap(), ran.stderr)
}

/// Whether a loader, a device and the validation layer are installed. If not, the test is skipped.
fn is_there() -> bool {
    match client::survey() {
        Ok(()) => true,
        Err(reason) => {
            skip(Why::Missing(reason));
            false
        }
    }
}

/// The layers that a program calls, in order: the layer alone, below the validation layer, and
/// above it.
const STACKS: [&[&str]; 3] = [&[LAYER], &[VALIDATION, LAYER], &[LAYER, VALIDATION]];

/// Checks that the client in a role sees the same with and without the layer, except that the layer
/// is in the list of tools.
#[track_caller]
fn sees_the_same(role: &str, variables: &[(&str, &str)]) {
    if !is_there() {
        return;
    }
    for stack in STACKS {
        let others: Vec<&str> = stack.iter().copied().filter(|l| *l != LAYER).collect();
        let (mut plain, _) = client(role, &others, variables);
        let (mut layered, _) = client(role, stack, variables);
        let tools = |report: &mut Value| {
            let tools = report["tools"].take();
            tools
                .as_array()
                .unwrap()
                .iter()
                .map(|t| t["layer"].as_str().unwrap().to_owned())
                .collect()
        };
        let plain_tools: Vec<String> = tools(&mut plain);
        let layered_tools: Vec<String> = tools(&mut layered);
        assert_eq!(plain, layered, "{stack:?}");
        assert_eq!(layered_tools.iter().filter(|t| *t == LAYER).count(), 1, "{layered_tools:?}");
        assert_eq!(layered_tools.len(), plain_tools.len() + 1, "{layered_tools:?}");
    }
}

#[test]
fn a_program_sees_the_same() {
    sees_the_same("1.3", &[]);
}

#[test]
fn a_program_of_vulkan_1_0_sees_the_same() {
    sees_the_same("1.0", &[]);
}

/// Below the layer the instance is one of Vulkan 1.2, whose commands the program does not get.
#[test]
fn a_program_of_vulkan_1_1_sees_the_same() {
    sees_the_same("1.1", &[]);
    sees_the_same("1.1", &[("VKXFB_LOG", "info"), ("VKXFB_DESCRIPTORS", "1")]);
}

/// Programs of every version of Vulkan see the extension that the layer gives, and can create
/// devices with and without it.
#[test]
fn an_active_layer_gives_the_extension() {
    if !is_there() {
        return;
    }
    for version in ["1.0", "1.1", "1.3"] {
        for stack in STACKS {
            let force = [("VKXFB_FORCE_ENABLE", "1")];
            let (report, said) = client(&format!("gives {version}"), stack, &force);
            let is_refused =
                |line: &&str| line.contains("inheritedConditionalRendering is enabled");
            let (refused, others): (Vec<_>, Vec<_>) = said.lines().partition(is_refused);
            assert_eq!(refused.len(), 1, "{version} {stack:?}: {said}");
            assert!(!others.concat().contains("vkxfb"), "{version} {stack:?}: {said}");
            let count = |name: &str| {
                let names = report["extensions"].as_array().unwrap().iter();
                names.filter(|extension| extension[0] == name).collect::<Vec<_>>()
            };
            let listed = count("VK_EXT_transform_feedback");
            assert_eq!(listed.len(), 1, "{report}");
            assert_eq!(listed[0][1], 1);
            assert!(count("VK_KHR_pipeline_binary").is_empty());
            assert!(!count("VK_KHR_swapchain").is_empty());
            let features = serde_json::json!([1, 1, 1, 1, 0]);
            assert_eq!(report["features"], features, "{version} {stack:?}");
            let limits = serde_json::json!([4, 4, u32::MAX - 3, 2048, 2048, 2048, 1, 1, 1, 1, 1]);
            assert_eq!(report["properties"], limits, "{version} {stack:?}");
            let handle_types = i32::from(version != "1.0");
            assert_eq!(report["external"], handle_types, "{version} {stack:?}: opaque descriptors");
            // The commands of the extension exist if it is enabled.
            for (created, commands) in [
                ("captures", 6),
                ("without the feature", 6),
                ("streams", 6),
                ("without the extension", 0),
                ("told", 0),
            ] {
                assert_eq!(report[created], serde_json::json!([true, commands]), "{created}");
            }
            for refused in ["hidden", "unknown"] {
                assert_eq!(report[refused], "ERROR_EXTENSION_NOT_PRESENT");
            }
            assert_eq!(report["inherited"], "ERROR_FEATURE_NOT_PRESENT");
        }
        let log = [("VKXFB_FORCE_ENABLE", "1"), ("VKXFB_LOG", "info")];
        let (_, said) = client(&format!("gives {version}"), &[LAYER], &log);
        assert_eq!(said.matches("device created, with transform feedback").count(), 3, "{said}");
        assert_eq!(said.matches("device created, without captures").count(), 2, "{said}");
        let below = if version == "1.1" { "1.2" } else { version };
        assert!(said.contains(&format!("api={version} below={below} ")), "{said}");
    }
}

#[test]
fn threads_create_and_destroy_devices() {
    if !is_there() {
        return;
    }
    for stack in STACKS {
        let (report, said) = client("threads", stack, &[]);
        assert_eq!(report["created"], 8 * client::ROUNDS);
        assert_eq!(said.matches("vkxfb").count(), 0, "{said}");
    }
}

/// Variables that make the layer withhold and log all passes.
const WITHHOLD: &[(&str, &str)] = &[
    ("VKXFB_FORCE_ENABLE", "1"),
    ("VKXFB_WITHHOLD_PASSES", "1"),
    ("VKXFB_LOG", "vkxfb_layer::command_buffers=trace"),
];

/// The loader adds the extensions in the manifest of an implicit layer to those that the layer
/// lists.
#[test]
fn an_implicit_layer_shows_the_extension_once() {
    if !is_there() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("vulkan/implicit_layer.d");
    std::fs::create_dir_all(&place).unwrap();
    let manifest = std::fs::read_to_string(manifest().path().join("layer.json")).unwrap();
    let mut manifest: Value = serde_json::from_str(&manifest).unwrap();
    manifest["layer"]["disable_environment"] = serde_json::json!({ "VKXFB_DISABLE": "1" });
    std::fs::write(place.join("layer.json"), manifest.to_string()).unwrap();
    let home = ("XDG_DATA_HOME", directory.path().to_str().unwrap());

    let listed = |report: &Value, key: &str| {
        let extensions = report[key].as_array().unwrap().iter();
        extensions.filter(|extension| extension[0] == "VK_EXT_transform_feedback").count()
    };
    let (dormant, _) = client("1.3", &[], &[home]);
    assert!(description(&dormant).starts_with("dormant"), "{dormant}");
    assert_eq!(listed(&dormant, "device_extensions"), 1);
    let (active, _) = client("gives 1.3", &[], &[home, ("VKXFB_FORCE_ENABLE", "1")]);
    assert_eq!(listed(&active, "extensions"), 1);
    assert_eq!(active["features"], serde_json::json!([1, 1, 1, 1, 0]));
}

/// Returns the layer's description as a tool, which tells a user whether the layer is active.
fn description(report: &Value) -> String {
    let tools = report["tools"].as_array().unwrap();
    let tool = tools.iter().find(|t| t["layer"] == LAYER).unwrap();
    tool["description"].as_str().unwrap().to_owned()
}

#[test]
fn it_is_dormant_where_the_driver_has_the_extension() {
    if !is_there() {
        return;
    }
    for role in ["1.0", "1.1", "1.3"] {
        let (report, said) = client(role, &[LAYER], &[]);
        let has_it = report["device_extensions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|e| e[0] == "VK_EXT_transform_feedback");
        let description = description(&report);
        assert!(
            description.starts_with(if has_it { "dormant" } else { "active" }),
            "{description}"
        );
        assert_eq!(said.matches("vkxfb").count(), 0, "silent unless asked: {said}");
    }
    let (report, said) =
        client("1.3", &[LAYER], &[("VKXFB_FORCE_ENABLE", "1"), ("VKXFB_LOG", "info")]);
    assert!(description(&report).starts_with("active: by force_enable"));
    assert!(
        said.contains("active: by force_enable") && said.contains("instance created"),
        "{said}"
    );
}

#[test]
fn programs_set_what_files_and_variables_do_not() {
    if !is_there() {
        return;
    }
    let (report, _) = client("settings", &[LAYER], &[]);
    assert!(description(&report).starts_with("active: by force_enable"), "{report}");

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("any.txt");
    std::fs::write(&file, "vkxfb_transform_feedback.force_enable = false\n").unwrap();
    let path = [("VK_LAYER_SETTINGS_PATH", file.to_str().unwrap())];
    let (report, _) = client("settings", &[LAYER], &path);
    assert!(!description(&report).contains("force_enable"), "{report}");

    std::fs::write(&file, "vkxfb_transform_feedback.force_enable = maybe\n").unwrap();
    let (_, said) = client("1.3", &[LAYER], &path);
    assert!(
        said.contains("force_enable cannot be \"maybe\"") && said.contains("any.txt:1"),
        "{said}"
    );
}

/// Returns the path of the command `vkxfb`. `None` if cargo has not built it beside the layer, as
/// `cargo test` in the root of the workspace does.
fn vkxfb() -> Option<PathBuf> {
    let directory = std::env::current_exe().unwrap();
    let command = directory.ancestors().nth(2).map(Path::to_owned).unwrap();
    let command = command.join(format!("vkxfb{}", std::env::consts::EXE_SUFFIX));
    command.is_file().then_some(command)
}

#[test]
fn the_probe_finds_the_same() {
    if !is_there() {
        return;
    }
    let Some(vkxfb) = vkxfb() else {
        skip(Why::Missing("the command vkxfb is not built; cargo build does that"));
        return;
    };
    let probe = |layers: &[&str], more: &[&str], variables: &[(&str, &str)]| {
        let mut command = Command::new(&vkxfb);
        command.args(["probe", "--device", "0", "--quick", "--json"]).args(more);
        let ran = run(&mut command, layers, variables);
        // The layer logs nothing, except withheld passes if the variables enable that. The probe says how far it is where
        // that takes long.
        let said: Vec<_> = ran.stderr.lines().filter(|line| !line.starts_with("batch ")).collect();
        assert!(said.iter().all(|line| line.contains("a pass was withheld")), "{}", ran.stderr);
        assert_eq!(said.is_empty(), variables != WITHHOLD, "{}", ran.stderr);
        let mut json: Value = serde_json::from_str(&ran.stdout).unwrap();
        let report = &mut json["reports"][0];
        for differs in ["date", "elapsed_s", "longest_submission_s", "command"] {
            report[differs].take();
        }
        report["trials"].as_array_mut().unwrap().retain(|trial| trial["trial"] != "speed");
        json
    };
    let plain = probe(&[], &[], &[]);
    assert_eq!(plain["outcome"], "all-right");
    assert_eq!(probe(&[LAYER], &[], &[]), plain);
    // The probe enables the validation layer itself, with all checks. That instance of it is below
    // the layers of the environment variable.
    assert_eq!(probe(&[VALIDATION, LAYER], &["--validate"], &[]), plain);
    // Here the layer captures instead of the driver.
    for stack in STACKS {
        let mut command = Command::new(&vkxfb);
        command.args(["probe", "--device", "0", "--quick", "--json", "--backend", "native"]);
        let log = [("VKXFB_FORCE_ENABLE", "1"), ("VKXFB_LOG", "vkxfb_layer::emulation=trace")];
        let ran = run(&mut command, stack, &log);
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(json["outcome"], "all-right", "{}", ran.stdout);
        let cases = json["reports"][0]["cases"].as_array().map_or(0, Vec::len);
        let captures = ran.stderr.matches("the capture is ours").count();
        assert!(captures > 0 && captures >= cases, "{captures} of {cases}");
    }
    // Here the layer withholds all passes, and the driver captures in them.
    assert_eq!(probe(&[LAYER], &["--validate"], WITHHOLD), plain);
    assert_eq!(probe(&[VALIDATION, LAYER], &["--validate"], WITHHOLD), plain);
}
