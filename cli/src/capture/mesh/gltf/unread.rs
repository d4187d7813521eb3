//! What of glTF is not read. A file that is nothing without it is refused; of the rest the user is told.

use anyhow::{Result, bail};
use gltf::Gltf;

/// What extensions are about, as the second part of their names says, if they cannot change the vertices and triangles
/// of a mesh.
const OF_LOOKS: [&str; 4] = ["lights", "materials", "techniques", "texture"];

/// Extensions that compress what the file also has without them, unless it requires them.
const COMPRESSIONS: [&str; 3] =
    ["EXT_meshopt_compression", "KHR_draco_mesh_compression", "KHR_meshopt_compression"];

fn is_of_looks(extension: &str) -> bool {
    extension.split('_').nth(1).is_some_and(|subject| OF_LOOKS.contains(&subject))
}

/// Checks that meshes can be read without the extensions that a file requires.
pub(super) fn check_required(extensions: &[String]) -> Result<()> {
    let needed = extensions.iter().map(String::as_str).filter(|name| !is_of_looks(name));
    let needed: Vec<&str> = needed.collect();
    if !needed.is_empty() {
        bail!("it requires {}, which is not read", needed.join(", "));
    }
    Ok(())
}

/// Names the compression that a file uses without requiring it, because it may be the reason why something is missing.
/// `None` if there is none.
pub(super) fn compression(extensions: &[String]) -> Option<String> {
    let used = extensions.iter().find(|name| COMPRESSIONS.contains(&name.as_str()))?;
    Some(format!("it uses {used}, which is not read"))
}

/// Says what of a file changes its meshes, and is not read. `None` if there is nothing.
pub(super) fn remark(gltf: &Gltf) -> Option<String> {
    let mut unread = Vec::new();
    if gltf.animations().len() > 0 {
        unread.push("animations");
    }
    let mut primitives = gltf.meshes().flat_map(|mesh| mesh.primitives());
    if primitives.any(|primitive| primitive.morph_targets().len() > 0) {
        unread.push("morph targets");
    }
    let extensions = gltf.extensions_used();
    let extensions = extensions.filter(|name| !is_of_looks(name) && !COMPRESSIONS.contains(name));
    unread.extend(extensions);
    (!unread.is_empty()).then(|| format!("read without {}", unread.join(", ")))
}
