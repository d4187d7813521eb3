//! What of glTF is not read. A file that is nothing without it is refused; of the rest the user is told.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use gltf::{Gltf, Node, Semantic};

/// What extensions are about, as the second part of their names says, if they cannot change the vertices and triangles
/// of a mesh: how it looks, sounds, or what is known of it.
const SUBJECTS: [&str; 8] =
    ["audio", "lights", "materials", "packing", "structural", "techniques", "texture", "xmp"];

/// Other extensions that cannot change them, by their whole names.
const NAMES: [&str; 4] = [
    "CESIUM_primitive_outline",
    "EXT_instance_features",
    "EXT_mesh_features",
    "FB_geometry_metadata",
];

/// Extensions that compress what the file also has without them, unless it requires them.
const COMPRESSIONS: [&str; 3] =
    ["EXT_meshopt_compression", "KHR_draco_mesh_compression", "KHR_meshopt_compression"];

fn leaves_meshes(extension: &str) -> bool {
    let subject = extension.split('_').nth(1);
    subject.is_some_and(|subject| SUBJECTS.contains(&subject)) || NAMES.contains(&extension)
}

/// Whether this attribute of a primitive is read.
pub(super) fn is_read(semantic: &Semantic) -> bool {
    match semantic {
        Semantic::Positions | Semantic::Normals | Semantic::Tangents => true,
        Semantic::TexCoords(set) => *set < 2,
        Semantic::Colors(set) | Semantic::Joints(set) | Semantic::Weights(set) => *set == 0,
        Semantic::Extras(_) => false,
    }
}

/// Checks that meshes can be read without the extensions that a file requires.
pub(super) fn check_required(extensions: &[String]) -> Result<()> {
    let needed = extensions.iter().map(String::as_str).filter(|name| !leaves_meshes(name));
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

/// Says what of a file belongs to its meshes, and is not read, if these nodes are. `None` if there is nothing.
pub(super) fn remark(gltf: &Gltf, shown: &[Node<'_>]) -> Option<String> {
    let mut unread = Vec::new();
    if gltf.scenes().len() > 1 {
        unread.push("other scenes".to_owned());
    }
    if gltf.animations().len() > 0 {
        unread.push("animations".to_owned());
    }
    if gltf.skins().len() > 0 {
        unread.push("the matrices of skins".to_owned());
    }
    let meshes = || shown.iter().filter_map(Node::mesh);
    let mut primitives = meshes().flat_map(|mesh| mesh.primitives());
    if primitives.any(|primitive| primitive.morph_targets().len() > 0) {
        unread.push("morph targets".to_owned());
    }
    let mut attributes = BTreeSet::new();
    for primitive in meshes().flat_map(|mesh| mesh.primitives()) {
        let others = primitive.attributes().filter(|(semantic, _)| !is_read(semantic));
        attributes.extend(others.map(|(semantic, _)| semantic.to_string()));
    }
    unread.extend(attributes);
    let extensions = gltf.extensions_used();
    let extensions = extensions.filter(|name| !leaves_meshes(name) && !COMPRESSIONS.contains(name));
    unread.extend(extensions.map(str::to_owned));
    (!unread.is_empty()).then(|| format!("read without {}", unread.join(", ")))
}
