//! Tests `vkxfb layer` as a user runs it: the files that it writes and keeps, and its output.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::command::{Ran, command};

const NAME: &str = "VK_LAYER_VKXFB_transform_feedback";
const FILE: &str = "VkLayer_vkxfb_transform_feedback.json";

/// A user's home directory, with the layer's library in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::write(home.library(), "a library").unwrap();
        home
    }

    fn library(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap().join("layer.so")
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn manifest(&self, kind: &str) -> PathBuf {
        self.data().join("vulkan").join(format!("{kind}_layer.d")).join(FILE)
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::new(command(arguments).env("XDG_DATA_HOME", self.data()).output().unwrap())
    }

    /// Runs a command that succeeds, and returns its output.
    #[track_caller]
    fn works(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        ran.stdout
    }

    /// Runs a command that must fail, and checks its message.
    #[track_caller]
    fn refuses(&self, arguments: &[&str], what: &[&str]) {
        let ran = self.run(arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        for part in what {
            assert!(ran.stderr.contains(part), "no '{part}' in: {}", ran.stderr);
        }
    }

    fn install(&self, more: &[&str]) -> String {
        let library = self.library();
        let library = library.to_str().unwrap();
        self.works(&[&["layer", "install", "--user", "--library", library], more].concat())
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_manifest_is_printed() {
    let home = Home::new();
    let manifest = |arguments: &[&str]| -> Value {
        let text = home.works(&[&["layer", "manifest"], arguments].concat());
        serde_json::from_str(&text).unwrap()
    };
    let explicit = manifest(&[]);
    assert_eq!(explicit["file_format_version"], "1.2.0");
    assert_eq!(explicit["layer"]["name"], NAME);
    let library = explicit["layer"]["library_path"].as_str().unwrap();
    assert!(library.contains("vkxfb_layer") && !library.contains('/'), "{library}");
    assert_eq!(explicit["layer"]["disable_environment"], Value::Null);

    let (enable, disable) = ("ENABLE_VKXFB_TRANSFORM_FEEDBACK", "DISABLE_VKXFB_TRANSFORM_FEEDBACK");
    let implicit = manifest(&["--implicit", "--library", "../lib/layer.so"]);
    assert_eq!(implicit["layer"]["library_path"], "../lib/layer.so");
    assert_eq!(implicit["layer"]["enable_environment"], json!({ enable: "1" }));
    assert_eq!(implicit["layer"]["disable_environment"], json!({ disable: "1" }));
    let always = manifest(&["--implicit=always"]);
    assert_eq!(always["layer"]["enable_environment"], Value::Null);
    assert_eq!(always["layer"]["disable_environment"], json!({ disable: "1" }));
}

#[test]
fn what_is_installed_is_uninstalled() {
    let home = Home::new();
    let said = home.install(&[]);
    let (explicit, implicit) = (home.manifest("explicit"), home.manifest("implicit"));
    assert!(said.contains(&format!("wrote {}", explicit.display())), "{said}");
    assert!(said.contains(&format!("VK_INSTANCE_LAYERS={NAME}")), "{said}");
    assert_eq!(json(&explicit)["layer"]["library_path"], home.library().to_str().unwrap());

    // Each kind of manifest replaces the other, because otherwise the loader would find the layer
    // twice.
    let said = home.install(&["--implicit"]);
    assert!(said.contains(&format!("removed {}", explicit.display())), "{said}");
    assert!(said.contains("ENABLE_VKXFB_TRANSFORM_FEEDBACK=1"), "{said}");
    assert!(!explicit.exists() && implicit.exists());
    home.install(&["--implicit=always"]);
    assert_eq!(json(&implicit)["layer"]["enable_environment"], Value::Null);

    let other = implicit.with_file_name("other.json");
    std::fs::write(&other, "{}").unwrap();
    let said = home.works(&["layer", "uninstall", "--user"]);
    assert_eq!(said, format!("removed {}\n", implicit.display()));
    assert!(!implicit.exists() && other.exists());
    let looked = [explicit.to_str().unwrap(), implicit.to_str().unwrap()];
    home.refuses(&["layer", "uninstall", "--user"], &looked);
}

#[test]
fn what_another_wrote_stays() {
    let home = Home::new();
    home.install(&[]);
    let file = home.manifest("explicit");
    for text in ["not JSON", r#"{ "layer": { "name": "VK_LAYER_OTHER" } }"#] {
        std::fs::write(&file, text).unwrap();
        home.refuses(
            &["layer", "uninstall", "--user"],
            &[file.to_str().unwrap(), "is not changed"],
        );
        let library = home.library();
        let install = ["layer", "install", "--user", "--library", library.to_str().unwrap()];
        home.refuses(&install, &[file.to_str().unwrap(), "is not changed"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let home = Home::new();
    let absent = home.0.path().join("absent.so");
    let absent = absent.to_str().unwrap();
    home.refuses(&["layer", "install", "--user", "--library", absent], &[absent, "No such file"]);
    let directory = home.0.path().to_str().unwrap();
    home.refuses(&["layer", "install", "--user", "--library", directory], &["not a file"]);
    assert!(!home.data().exists());
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let home = Home::new();
    // If a file has the name of the directory, installing fails even for root.
    std::fs::write(home.data(), "").unwrap();
    let library = home.library();
    let install = ["layer", "install", "--user", "--library", library.to_str().unwrap()];
    home.refuses(&install, &["cannot make", home.data().to_str().unwrap()]);
}

#[test]
fn info_tells_whether_the_layer_is_installed() {
    let home = Home::new();
    let text = home.works(&["info"]);
    assert!(!text.contains(home.data().to_str().unwrap()), "{text}");
    home.install(&[]);
    let manifest = home.manifest("explicit");
    let text = home.works(&["info"]);
    let line = format!("layer installed (explicit): {}", manifest.display());
    assert!(text.contains(&line), "{text}");

    let layer = |json: &str| serde_json::from_str::<Value>(json).unwrap()[0]["layer"].take();
    let found = |layer: &Value| {
        let installed = layer["installed"].as_array().unwrap();
        installed.iter().find(|i| i["manifest"] == manifest.to_str().unwrap()).unwrap().clone()
    };
    let status = layer(&home.works(&["info", "--json"]));
    assert_eq!(status["loaded"], false);
    assert_eq!(found(&status)["implicit"], false);
    assert_eq!(found(&status)["library_missing"], false);
    std::fs::remove_file(home.library()).unwrap();
    assert_eq!(found(&layer(&home.works(&["info", "--json"])))["library_missing"], true);
    assert!(home.works(&["info"]).contains("which is not there"));
}
