//! Runs `vkxfb info` as a user does.

use vkxfb_probe::gpu::{Gpu, OpenOptions};

/// The output shows the workarounds and the tunings for the machine's first device.
#[test]
fn info_shows_what_holds_on_the_device() {
    let info = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_vkxfb");
        let ran = std::process::Command::new(program).arg("info").args(arguments).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let identity = gpu.capabilities().identity();
    let expected: Vec<_> = identity.workarounds().collect();
    let (text, json) = (info(&[]), info(&["--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
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
