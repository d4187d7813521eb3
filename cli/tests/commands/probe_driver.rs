//! Loads a driver directly: lavapipe's library, while the Vulkan loader finds no driver.

use serde_json::{Value, json};

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

/// The manifest is taken as the loader takes it: a path is one from the manifest's directory, wherever the command runs.
#[test]
fn a_manifest_names_the_driver() {
    let (lavapipe, files) = (lavapipe(), Shaders::new());
    let manifest = |library: &str| {
        let manifest = json!({"file_format_version": "1.0.0", "ICD": {"library_path": library}});
        files.file("lvp_icd.json", manifest.to_string().as_bytes())
    };
    let info = |manifest: &str| without_loader(&["info", "--driver", manifest], None);
    let found = info(&manifest(&lavapipe)).exits(0).stdout;
    assert!(found.contains("llvmpipe"), "{found}");
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&lavapipe, files.path("libvulkan_here.so")).unwrap();
        let beside = manifest("./libvulkan_here.so");
        assert!(info(&beside).exits(0).stdout.contains("llvmpipe"));
        let mut command = command(&["info", "--driver", "lvp_icd.json"]);
        let ran = Ran::new(command.current_dir(files.0.path()).output().unwrap()).exits(0);
        assert!(ran.stdout.contains("llvmpipe"), "{}", ran.stdout);
    }
    info(&manifest("../none.so")).refuses(&["lvp_icd.json: its library_path is ../none.so"]);
    info("missing_icd.json").refuses(&["missing_icd.json: there is no such file"]);
    let probe = ["probe", "--driver", &manifest("none.so")];
    without_loader(&probe, None).refuses(&["lvp_icd.json: its library_path is none.so, which"]);
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
