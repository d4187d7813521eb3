//! Tests the layer that hides geometry shaders with a real loader and driver. Each test runs a program with the layer and
//! reads what the layer says. The program is this test in the role of [`client`].
//!
//! The tests are skipped, with a reason, if there is no loader or no device; `tests/setup.sh` installs both.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod client;
mod device;
mod shaders;
#[path = "../../../common/skip.rs"]
mod skip;
mod violations;

use std::process::{Command, Stdio};

use serde_json::Value;
use skip::{Why, skip};

const LAYER: &str = "VK_LAYER_VKXFB_hiding";
/// How the layer begins each violation.
const VIOLATION: &str = "hiding layer: ";

/// The output of a client that has run.
struct Ran {
    report: Value,
    said: String,
}

impl Ran {
    fn violations(&self) -> Vec<&str> {
        self.said.lines().filter_map(|line| line.strip_prefix(VIOLATION)).collect()
    }
}

/// Runs this program in a role, with the layer. Without a list the layer hides what it hides by default. `None` if there is
/// no loader or device.
fn client(role: &str, list: Option<&str>) -> Option<Ran> {
    if let Err(reason) = client::survey() {
        skip(Why::Missing(reason));
        return None;
    }
    let name =
        format!("{}vkxfb_hiding{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    // Cargo builds the library of a package before its tests, into the same directory.
    let library = std::env::current_exe().unwrap().with_file_name(name);
    assert!(library.is_file(), "no {}", library.display());
    let directory = tempfile::tempdir().unwrap();
    let mut manifest: Value = serde_json::from_str(include_str!("../../manifest.json")).unwrap();
    manifest["layer"]["library_path"] = library.to_str().unwrap().into();
    if role == "violates" {
        // As a layer above lists them, without which the loader refuses them first.
        manifest["layer"]["device_extensions"] = client::CAPTURES
            .map(|name| serde_json::json!({ "name": name, "spec_version": "1" }))
            .into_iter()
            .collect();
    }
    std::fs::write(directory.path().join("layer.json"), manifest.to_string()).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    for variable in
        ["VK_LOADER_LAYERS_ENABLE", "VK_LOADER_LAYERS_DISABLE", "VK_LAYER_PATH", "VKXFB_HIDE"]
    {
        command.env_remove(variable);
    }
    command
        .args(["--exact", "--ignored", "--nocapture", client::TEST])
        .stdin(Stdio::null())
        .env(client::ROLE, role)
        .env("VK_ADD_LAYER_PATH", directory.path())
        .env("VK_INSTANCE_LAYERS", LAYER)
        .envs(list.map(|list| ("VKXFB_HIDE", list)));
    let output = command.output().unwrap();
    let [out, said] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{}\n{out}{said}", output.status);
    let report = out.lines().find_map(|line| line.strip_prefix(client::REPORT));
    let report = report.unwrap_or_else(|| panic!("no report: {out}{said}"));
    Some(Ran { report: serde_json::from_str(report).unwrap(), said })
}

/// What a driver has is hidden, and nothing else of Vulkan 1.0's features and limits changes.
#[test]
fn geometry_shaders_are_hidden() {
    let Some(plain) = client("looks", Some("")) else { return };
    assert!(plain.violations().is_empty(), "{}", plain.said);
    let hidden = client("looks", None).unwrap();
    assert!(hidden.violations().is_empty(), "{}", hidden.said);
    assert!(hidden.said.contains("the hiding layer is there"), "{}", hidden.said);
    let same = ["other features", "other limits", "extensions", "transform feedback"];
    for key in same {
        assert_eq!(plain.report[key], hidden.report[key], "{key}");
        assert!(!plain.report[key].is_null(), "{key}");
    }
    for key in ["features", "multiview", "streams", "limits", "stages"] {
        let values = hidden.report[key].as_array().unwrap();
        assert!(values.iter().all(|value| value == 0), "{key}: {values:?}");
    }
    let has = plain.report["features"][0] == 1;
    assert_eq!(has, plain.report["limits"][0] != 0, "{}", plain.report);
}

#[test]
fn transform_feedback_is_hidden_if_it_is_listed() {
    let Some(hidden) = client("looks", Some("geometry, transform_feedback")) else { return };
    let extensions = hidden.report["extensions"].as_array().unwrap();
    assert!(!extensions.is_empty());
    let is_hidden = |name: &Value| client::CAPTURES.iter().any(|hidden| name == hidden);
    assert!(!extensions.iter().any(is_hidden), "{extensions:?}");
    assert_eq!(hidden.report["transform feedback"], 0);
    let alone = client("looks", Some("transform_feedback")).unwrap();
    assert_eq!(hidden.report["extensions"], alone.report["extensions"]);
    let plain = client("looks", Some("")).unwrap();
    assert_eq!(plain.report["features"], alone.report["features"]);
}

#[test]
fn a_list_that_is_wrong_fails() {
    let Some(ran) = client("fails", Some("geometry,everything")) else { return };
    assert_eq!(ran.report, "ERROR_INITIALIZATION_FAILED");
    assert_eq!(ran.violations().len(), 1, "{}", ran.said);
}

/// Programs that do not name the stage work as without the layer.
#[test]
fn a_draw_is_no_violation() {
    for list in [None, Some("geometry,transform_feedback")] {
        let Some(ran) = client("draws", list) else { return };
        assert_eq!(ran.report, serde_json::json!([255, 0, 255, 255]));
        assert!(ran.violations().is_empty(), "{}", ran.said);
        assert!(!ran.said.contains("the hiding layer counted"), "{}", ran.said);
    }
}

/// Each kind of violation fails, and is said once.
#[test]
fn violations_fail() {
    let Some(ran) = client("violates", Some("geometry,transform_feedback")) else { return };
    let mut cases = ran.said.split(violations::BEGIN).skip(1);
    let mut count = 0;
    for case in violations::ALL {
        let (name, said) = cases.next().unwrap().split_once('\n').unwrap();
        assert_eq!(name, case.name);
        if said.starts_with(violations::LACKS) {
            let lacks = said.lines().next().unwrap_or_default();
            skip(Why::Expected(format!("{name}: {lacks}")));
            continue;
        }
        let lines: Vec<_> = said.lines().filter_map(|line| line.strip_prefix(VIOLATION)).collect();
        assert_eq!(lines, case.says, "{name}");
        // What was said before is counted again.
        count += lines.len().max(1);
    }
    assert_eq!(ran.report, violations::ALL.len());
    let counted = format!("the hiding layer counted {count} violations");
    assert!(ran.said.contains(&counted), "{}", ran.said);
}

/// What would be a violation is forwarded if nothing is hidden. Otherwise the test above could pass because the driver itself
/// refuses everything.
#[test]
fn nothing_fails_if_nothing_is_hidden() {
    let Some(ran) = client("tries", Some("")) else { return };
    assert!(ran.violations().is_empty(), "{}", ran.said);
}
