//! Checks the JSON of a file, before anything of it is used.

use gltf::json::Path;
use gltf::json::validation::{Error, Validate};
use gltf::{Gltf, Result};

/// Reads a file, and checks that everything in it refers to something that exists.
///
/// The checks of the `gltf` crate (1.4) are not enough: it does not check the targets of animations, and panics when
/// they are used. It also panics while it checks a primitive whose positions do not exist. So the targets and the
/// attributes of primitives are checked first.
pub(super) fn read(bytes: &[u8]) -> Result<Gltf> {
    let gltf = Gltf::from_slice_without_validation(bytes)?;
    let root = gltf.as_json();
    let mut errors = Vec::new();
    let mut report = |path: &dyn Fn() -> Path, error: Error| errors.push((path(), error));
    for (number, mesh) in root.meshes.iter().enumerate() {
        let path = || Path::new().field("meshes").index(number);
        for (number, primitive) in mesh.primitives.iter().enumerate() {
            let path = || path().field("primitives").index(number).field("attributes");
            primitive.attributes.validate(root, path, &mut report);
        }
    }
    for (number, animation) in root.animations.iter().enumerate() {
        let path = || Path::new().field("animations").index(number);
        for (number, channel) in animation.channels.iter().enumerate() {
            let path = || path().field("channels").index(number).field("target");
            channel.target.validate(root, path, &mut report);
        }
    }
    if errors.is_empty() {
        root.validate(root, Path::new, &mut |path, error| errors.push((path(), error)));
    }
    if errors.is_empty() { Ok(gltf) } else { Err(gltf::Error::Validation(errors)) }
}
