//! Runs `vkxfb info` as a user does.

use serde_json::Value;
use vkxfb_probe::gpu::{Gpu, OpenOptions};

use crate::command::{Ran, command, vkxfb};

/// With `--verbose`, the output shows the workarounds and the tunings for the machine's first device. JSON always does.
#[test]
fn info_shows_what_holds_on_the_device() {
    let info = |arguments: &[&str]| vkxfb(&[&["info"], arguments].concat()).exits(0).stdout;
    let gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let identity = gpu.capabilities().identity();
    let expected: Vec<_> = identity.workarounds().collect();
    let (text, json) = (info(&["--verbose"]), info(&["--json"]));
    let short = info(&[]);
    assert!(!short.contains("workaround ") && !short.contains("tuning "), "{short}");
    assert!(short.lines().all(|line| text.contains(line)), "{short}");
    let json: Value = serde_json::from_str(&json).unwrap();
    let shown = json[0]["workarounds"].as_array().unwrap();
    assert_eq!(shown.len(), expected.len());
    for (shown, workaround) in shown.iter().zip(expected) {
        assert_eq!(shown["name"], workaround.name);
        assert_eq!(shown["reason"], workaround.reason);
        assert_eq!(shown["removal"], workaround.removal);
        for part in [workaround.name, workaround.reason, workaround.devices, workaround.link] {
            assert!(text.contains(part), "no '{part}' in\n{text}");
        }
    }
    let expected: Vec<_> = identity.tunings().collect();
    let shown = json[0]["tunings"].as_array().unwrap();
    assert_eq!(shown.len(), expected.len());
    for (shown, tuning) in shown.iter().zip(expected) {
        assert_eq!(shown["name"], tuning.name);
        for part in [tuning.name, tuning.reason, tuning.devices] {
            assert!(text.contains(part), "no '{part}' in\n{text}");
        }
    }
}

/// The first line of a device says whether captures work, and by what.
#[test]
fn the_first_line_says_whether_captures_work() {
    let gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let name = gpu.capabilities().device_name.clone();
    let first = |arguments: &[&str]| {
        let text = vkxfb(&[&["info"], arguments].concat()).exits(0).stdout;
        text.lines().next().unwrap().to_owned()
    };
    let line = first(&[]);
    assert!(line.starts_with(&format!("0: {name}: captures work by ")), "{line}");
    assert!(line.contains("compute"), "{line}");
    let line = first(&["--profile", "bifrost"]);
    let without =
        "captures work by compute; programs see no VK_EXT_transform_feedback without the layer";
    assert_eq!(line, format!("0: {name}: {without}"));
}

/// The loader says nothing of layers that it does not find.
#[test]
fn a_layer_that_is_not_there_is_named() {
    let info = |arguments: &[&str], layers: &str| {
        let mut command = command(&[&["info"], arguments].concat());
        Ran::new(command.env("VK_INSTANCE_LAYERS", layers).output().unwrap()).exits(0)
    };
    let misspelled = "VK_LAYER_VKXFB_transform_feedbak";
    let text = info(&[], misspelled).stdout;
    let said = format!("VK_INSTANCE_LAYERS names {misspelled}, which the loader does not find");
    assert!(text.contains(&said), "{text}");
    assert!(text.contains("called VK_LAYER_VKXFB_transform_feedback\n"), "{text}");
    let json = info(&["--json"], misspelled).json();
    assert_eq!(json[0]["layer"]["not_found"], serde_json::json!([misspelled]));

    // One that is there is not named.
    let there = "VK_LAYER_KHRONOS_validation";
    assert!(vkxfb_probe::gpu::layers().unwrap().iter().any(|layer| layer == there));
    let text = info(&[], there).stdout;
    assert!(!text.contains("does not find"), "{text}");
    assert_eq!(info(&["--json"], "").json()[0]["layer"]["not_found"], serde_json::json!([]));
}

/// Without a driver, standard output is JSON, too, and the exit status is that without `--json`.
#[test]
fn without_a_driver_the_error_is_json() {
    for asked in ["info", "bench"] {
        let mut command = command(&[asked, "--json"]);
        command.env("VK_DRIVER_FILES", "/nowhere").env("VK_ICD_FILENAMES", "/nowhere");
        let ran = Ran::new(command.output().unwrap()).exits(2);
        assert!(ran.stderr.contains("no driver"), "{}", ran.stderr);
        assert!(ran.json()["error"].as_str().unwrap().contains("no driver"), "{}", ran.stdout);
    }
}
