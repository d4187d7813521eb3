//! Runs tests with the Vulkan layer of this workspace, which then implements the native captures of
//! a device.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::settings::has_validation;
use super::skip::{Why, skip};

const VALIDATION: &str = "VK_LAYER_KHRONOS_validation";
const NAME: &str = "VK_LAYER_VKXFB_transform_feedback";

/// The layer that hides the geometry stage of the device.
const HIDING: &str = "VK_LAYER_VKXFB_hiding";
const HIDING_MANIFEST: &str = include_str!("../hiding/manifest.json");

/// The variable that makes the layer active on any device that can capture.
const FORCE_ENABLE: &str = "VKXFB_FORCE_ENABLE";

/// What a test says that is skipped because of the device.
const LACKS: &str = "skipped: the device lacks";

/// Whether this test runs with the layer.
pub fn is_there() -> bool {
    std::env::var("VK_INSTANCE_LAYERS").is_ok_and(|layers| layers.contains(NAME))
}

/// Skips a test because the device lacks something. If the layer is there and `gives` it, the test fails.
pub fn skip_without(what: &str, gives: bool) {
    // By descriptors the layer is dormant on devices with four sets, such as SwiftShader's, unless it is forced.
    let is_forced = std::env::var_os(FORCE_ENABLE).is_some_and(|value| value == "1");
    let may_be_dormant = std::env::var_os("VKXFB_DESCRIPTORS").is_some() && !is_forced;
    let gives = gives && is_there() && !may_be_dormant;
    assert!(!gives, "the layer is there, and the device lacks {what}");
    skip(Why::Expected(format!("the device lacks {what}")));
}

/// A variable with which the layer counts all generated primitives, as where the driver has no queries of them.
pub const COUNTS_GENERATED: (&str, &str) = ("VKXFB_HIDE_GENERATED_QUERIES", "1");

/// A variable with which the layer draws geometry shaders where the device has none.
pub const DRAWS_STAGES: (&str, &str) = ("VKXFB_DRAW_STAGES", "1");

/// A variable with which the layer lets commands fail where otherwise a capture is lost.
pub const STRICT: (&str, &str) = ("VKXFB_STRICT", "1");

/// Whether this test runs with that variable.
pub fn is_strict() -> bool {
    std::env::var_os(STRICT.0).is_some()
}

/// Whether this test runs with the layer, and counts all generated primitives.
pub fn counts_generated() -> bool {
    is_there() && std::env::var_os(COUNTS_GENERATED.0).is_some()
}

/// Returns the path at which cargo builds the library of a layer: beside this test. If only this
/// package is tested, the library may be an older build.
fn library(name: &str) -> Option<PathBuf> {
    let name = format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = std::env::current_exe().unwrap().with_file_name(name);
    library.is_file().then_some(library)
}

/// The directory with the manifest of the validation layer. It is named because the loader of
/// Debian 12 orders layers as it finds them, not as the variable lists them.
const VALIDATION_PATH: &str = "/usr/share/vulkan/explicit_layer.d";

/// Runs a test of this binary again, in a process with the layer. Returns its output, or `None` if
/// the layer is not built. If the test enables the validation layer, that is below the layer, and
/// checks what the layer does.
pub fn run_on_it<T: Fn()>(test: T, variables: &[(&str, &str)]) -> Option<String> {
    run(test, Paths::default(), variables)
}

/// Does what [`run_on_it`] does, with the validation layer also above the layer, where it checks
/// what the test does.
pub fn run_below_validation<T: Fn()>(test: T, variables: &[(&str, &str)]) -> Option<String> {
    if !has_validation() {
        return run(test, Paths::default(), variables);
    }
    let layers = format!("{VALIDATION}:{NAME}");
    let mut all = vec![("VK_INSTANCE_LAYERS", layers.as_str())];
    all.extend(variables);
    run(test, Paths { above: &[Path::new(VALIDATION_PATH)], below: &[] }, &all)
}

/// Does what [`run_on_it`] does, above a layer that hides the device's geometry stage, and with which everything fails that
/// names the stage.
pub fn run_above_hiding<T: Fn()>(test: T, variables: &[(&str, &str)]) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    if !write_manifest(HIDING_MANIFEST, "vkxfb_hiding", directory.path()) {
        return None;
    }
    let layers = format!("{NAME}:{HIDING}");
    let mut all = vec![("VK_INSTANCE_LAYERS", layers.as_str())];
    all.extend(variables);
    let said = run(test, Paths { above: &[], below: &[directory.path()] }, &all)?;
    assert!(said.contains("the hiding layer is there"), "{said}");
    Some(said)
}

/// The folders in which the loader looks for manifests before and after that of the layer. The loader of Debian 12 orders
/// layers as it finds them.
#[derive(Default)]
struct Paths<'a> {
    above: &'a [&'a Path],
    below: &'a [&'a Path],
}

/// Writes the manifest of a layer of this workspace to a folder. Returns whether the layer is built; otherwise the test is
/// skipped.
fn write_manifest(manifest: &str, name: &str, directory: &Path) -> bool {
    let Some(library) = library(name) else {
        skip(Why::Missing(
            "the layer is not built; cargo test in the root of the workspace does it",
        ));
        return false;
    };
    let mut manifest: serde_json::Value = serde_json::from_str(manifest).unwrap();
    manifest["layer"]["library_path"] = library.to_str().unwrap().into();
    std::fs::write(directory.join("layer.json"), manifest.to_string()).unwrap();
    true
}

/// Runs a test in a process with the layer.
fn run<T: Fn()>(test: T, paths: Paths<'_>, variables: &[(&str, &str)]) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let manifest = include_str!("../../cli/src/layer/manifest.json");
    if !write_manifest(manifest, "vkxfb_layer", directory.path()) {
        return None;
    }
    let own = [directory.path()];
    let paths = [paths.above, &own, paths.below].concat();
    let paths = std::env::join_paths(paths).unwrap();
    // Where the driver lacks the extension, `.ci/swiftshader` leaves it to the layer whether it is active.
    let force = std::env::var_os(FORCE_ENABLE).unwrap_or_else(|| "1".into());
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", super::name_of(test), "--nocapture"])
        .env("VK_ADD_LAYER_PATH", paths)
        .env("VK_INSTANCE_LAYERS", NAME)
        .env(FORCE_ENABLE, force)
        .env("VKXFB_LOG", "vkxfb_layer=warn,vkxfb_layer::device=info")
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
    if said.contains(LACKS) {
        eprintln!("{said}");
        return None;
    }
    assert!(said.contains("captures are ours"), "{said}");
    eprintln!("{said}");
    Some(said.into_owned())
}
