//! The Vulkan layer of this workspace beneath a test: what a device captures natively is the layer's work then.

use std::path::PathBuf;
use std::process::Command;

const NAME: &str = "VK_LAYER_VKXFB_transform_feedback";

/// Whether this test runs on the layer.
pub fn is_there() -> bool {
    std::env::var("VK_INSTANCE_LAYERS").is_ok_and(|layers| layers.contains(NAME))
}

/// Where cargo builds the layer's library: beside the test's folder, where the whole workspace is tested.
fn library() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = test.ancestors().nth(2)?.join(format!("{prefix}vkxfb_layer{suffix}"));
    library.is_file().then_some(library)
}

/// Runs a test of this binary once more, on the layer.
pub fn run_on_it(test: &str, variables: &[(&str, &str)]) {
    let Some(library) = library() else {
        return eprintln!(
            "skipped: the layer is not built; cargo test in the root of the workspace does it"
        );
    };
    let directory = tempfile::tempdir().unwrap();
    let mut manifest: serde_json::Value =
        serde_json::from_str(include_str!("../../cli/src/layer/manifest.json")).unwrap();
    manifest["layer"]["library_path"] = library.to_str().unwrap().into();
    std::fs::write(directory.path().join("layer.json"), manifest.to_string()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("VK_ADD_LAYER_PATH", directory.path())
        .env("VK_INSTANCE_LAYERS", NAME)
        .env("VKXFB_FORCE_ENABLE", "1")
        .env("VKXFB_LOG", "vkxfb_layer=warn,vkxfb_layer::device=info")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    assert!(said.contains("captures are ours"), "{said}");
    eprintln!("{said}");
}
