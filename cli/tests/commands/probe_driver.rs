//! Loads a driver directly: lavapipe's library, while the Vulkan loader finds no driver.

use serde_json::Value;

use crate::command::{self, Ran, Shaders, command};
use crate::driver;

/// Runs the command with an environment in which the loader finds no driver.
fn without_loader(arguments: &[&str], fault: Option<&str>) -> Ran {
    let mut command = command(arguments);
    command.env("VK_DRIVER_FILES", "/missing.json").env("VK_ICD_FILENAMES", "/missing.json");
    command.envs(fault.map(|fault| ("VKXFB_INJECT_FAULT", fault)));
    Ran::new(command.output().unwrap())
}

fn lavapipe() -> String {
    driver::library(&driver::lavapipe()).unwrap().to_str().unwrap().to_owned()
}

const PROBE: [&str; 7] =
    ["probe", "--quick", "--json", "--shader", "identify", "--topology", "triangle-strip"];

#[test]
fn a_driver_is_probed_without_the_loader_as_with_it() {
    let (lavapipe, files) = (lavapipe(), Shaders::new());
    let direct = [&PROBE[..], &["--driver", &lavapipe]].concat();
    let without = without_loader(&PROBE, None).exits(2);
    assert!(without.stderr.contains("no driver"), "{}", without.stderr);
    let loaded = command::vkxfb(&[&PROBE[..], &["--device", "0"]].concat()).exits(0);
    let loaded = files.file("loaded.json", loaded.stdout.as_bytes());
    let direct =
        files.file("direct.json", without_loader(&direct, None).exits(0).stdout.as_bytes());
    let compared =
        command::vkxfb(&["probe", "compare", &loaded, &direct, "--json"]).exits(0).json();
    // 14 draws are captured by one native pipeline and by two pipelines of each other backend, with
    // both provoking vertices.
    assert_eq!(compared["still_right"], 14 * 5 * 2, "{compared:#}");
    for list in ["became_right", "otherwise_wrong", "new", "gone", "facts"] {
        assert_eq!(compared[list], Value::Array(Vec::new()), "{compared:#}");
    }
    let info = without_loader(&["info", "--driver", &lavapipe], None).exits(0).stdout;
    assert!(info.contains("llvmpipe"), "{info}");
}

#[test]
fn child_processes_load_the_driver_too_and_so_does_the_command() {
    let lavapipe = lavapipe();
    let more = ["--driver", &lavapipe, "--profile", "bifrost", "--provoking", "first"];
    let fault = Some("lost:triangle-strip:7x1");
    let json = without_loader(&[&PROBE[..], &more].concat(), fault).exits(2).json();
    let report = &json["reports"][0];
    let command = report["losses"][0]["command"].as_str().unwrap();
    assert!(command.ends_with(&format!("--driver {lavapipe}")), "{command}");
    assert_eq!(report["cells"][0]["passed"], 26, "{report:#}");
}

#[test]
fn what_is_no_driver_is_refused_by_name() {
    let files = Shaders::new();
    let text = files.file("libvulkan_text.so", b"text");
    without_loader(&["probe", "--driver", &text], None).refuses(&["libvulkan_text.so"]);
    without_loader(&["info", "--driver", "/missing.so"], None).refuses(&["/missing.so"]);
    // Without the loader there are no layers.
    without_loader(&["probe", "--driver", &lavapipe(), "--validate"], None)
        .refuses(&["--driver", "--validate"]);
}
