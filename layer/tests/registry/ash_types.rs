//! Reads from the sources of ash which types it has.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

pub struct AshTypes {
    names: BTreeSet<String>,
    /// The structures of which ash declares the `pNext` pointer as mutable.
    written: BTreeSet<String>,
}

impl AshTypes {
    /// Reads the sources of the version of ash with which the layer is built.
    pub fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let metadata = Command::new(cargo)
            .args(["metadata", "--format-version=1", "--locked", "--offline"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(metadata.status.success(), "{}", String::from_utf8_lossy(&metadata.stderr));
        let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let ash = packages.iter().find(|package| package["name"] == "ash").unwrap();
        let sources = Path::new(ash["manifest_path"].as_str().unwrap()).with_file_name("src/vk");
        let (mut names, mut written) = (BTreeSet::new(), BTreeSet::new());
        for file in std::fs::read_dir(&sources).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            // ash declares handles with these macros.
            let declarations =
                ["pub struct ", "pub union ", "pub type ", "handle!(", "dispatchable!("];
            for declaration in declarations {
                for rest in text.split(declaration).skip(1).map(str::trim_start) {
                    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
                    let name = &rest[..end.unwrap_or(rest.len())];
                    let body = rest.split_once('}').map_or(rest, |(body, _)| body);
                    if body.contains("pub p_next: *mut c_void") {
                        written.insert(name.to_owned());
                    }
                    names.insert(name.to_owned());
                }
            }
        }
        Self { names, written }
    }

    pub fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub fn is_written(&self, name: &str) -> bool {
        self.written.contains(name)
    }
}
