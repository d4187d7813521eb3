//! Runs `vkxfb probe` as a CI system does, with results as JUnit XML and as JSON.

use crate::command::{PROBE_ONE_BATCH, Ran, Shaders, command};

/// Runs the probe with `--junit`, and returns the XML.
fn junit(shaders: &Shaders, fault: Option<&str>, status: i32) -> String {
    let file = shaders.path("probe.xml");
    let mut command =
        command(&[&PROBE_ONE_BATCH[..], &["--junit", file.to_str().unwrap()]].concat());
    command.envs(fault.map(|fault| ("VKXFB_INJECT_FAULT", fault)));
    Ran::new(command.output().unwrap()).exits(status);
    assert_eq!(std::fs::read_dir(shaders.0.path()).unwrap().count(), 1, "nothing else stays");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn a_ci_system_sees_each_topology() {
    let shaders = Shaders::new();
    let xml = junit(&shaders, None, 0);
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{xml}");
    assert!(xml.contains(" failures=\"0\" errors=\"0\""), "{xml}");
    for backend in ["native", "vertex", "compute"] {
        assert!(xml.contains(&format!(": {backend}\" name=\"triangle-strip\"/>")), "{xml}");
    }
    let xml = junit(&shaders, Some("wrong:triangle-strip:any"), 1);
    assert!(xml.contains("<failure type=\"flipped winding\" message=\""), "{xml}");
    assert!(xml.contains("  $ vkxfb probe --shader identify"), "{xml}");
    assert!(xml.contains("<property name=\"injected\""), "{xml}");
}

/// Lavapipe as a device without the extension and without stores of vertex shaders: the job shows that these backends
/// were not tried, and suites are called by the device's name, not by its number.
#[test]
fn a_ci_system_sees_what_was_not_tried() {
    let shaders = Shaders::new();
    let file = shaders.path("probe.xml");
    let options = ["--profile", "bifrost", "--junit", file.to_str().unwrap()];
    Ran::new(command(&[&PROBE_ONE_BATCH[..], &options].concat()).output().unwrap()).exits(0);
    let xml = std::fs::read_to_string(file).unwrap();
    for backend in ["native", "vertex"] {
        let (_, suite) = xml
            .split_once(&format!(": {backend}\" tests=\"1\" failures=\"0\" errors=\"0\""))
            .unwrap_or_else(|| panic!("no suite of {backend} in {xml}"));
        assert!(suite.starts_with(" skipped=\"1\">"), "{xml}");
        let (_, case) = suite.split_once("name=\"every topology\">").unwrap();
        assert!(case.trim_start().starts_with("<skipped message=\"no "), "{xml}");
    }
    assert!(xml.contains(": compute\" name=\"triangle-strip\"/>"), "{xml}");
    assert!(xml.contains("<testsuite name=\"llvmpipe ("), "{xml}");
}

/// A job without a driver has a result, not an empty file. The exit status is that without `--json`.
#[test]
fn without_a_driver_the_error_is_a_result() {
    let shaders = Shaders::new();
    let file = shaders.path("probe.xml");
    let mut command = command(&["probe", "--json", "--junit", file.to_str().unwrap()]);
    command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
    let ran = Ran::new(command.output().unwrap()).exits(2);
    assert!(ran.stderr.contains("no driver"), "{}", ran.stderr);
    let json = ran.json();
    assert!(json["error"].as_str().unwrap().contains("no driver"), "{json}");
    assert_eq!((&json["schema"], &json["outcome"]), (&1.into(), &"could-not-run".into()));
    assert_eq!(json["reports"], serde_json::json!([]));
    let xml = std::fs::read_to_string(file).unwrap();
    assert!(xml.contains("errors=\"1\"") && xml.contains("no driver"), "{xml}");
}
