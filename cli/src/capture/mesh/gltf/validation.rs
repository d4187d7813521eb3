//! Checks the header and the JSON of a file, before anything of it is used.

use std::borrow::Cow;

use anyhow::{Result, bail};
use gltf::Gltf;
use gltf::binary::Glb;
use gltf::json::Path;
use gltf::json::validation::{Error, Validate};
use serde::Deserialize;

use super::unread;

/// Reads a file, and checks that its version and what it requires can be read, and that everything in it refers to
/// something that exists.
///
/// The `gltf` crate (1.4) panics while it checks a primitive whose positions do not exist. So the attributes of
/// primitives are checked first.
pub(super) fn read(bytes: &[u8]) -> Result<Gltf> {
    check_header(bytes)?;
    check_version(bytes)?;
    let gltf = Gltf::from_slice_without_validation(bytes)?;
    let root = gltf.as_json();
    unread::check_required(&root.extensions_required)?;
    let mut errors = Vec::new();
    let mut report = |path: &dyn Fn() -> Path, error: Error| errors.push((path(), error));
    for (number, mesh) in root.meshes.iter().enumerate() {
        let path = || Path::new().field("meshes").index(number);
        for (number, primitive) in mesh.primitives.iter().enumerate() {
            let path = || path().field("primitives").index(number).field("attributes");
            primitive.attributes.validate(root, path, &mut report);
        }
    }
    if errors.is_empty() {
        root.validate(root, Path::new, &mut |path, error| errors.push((path(), error)));
    }
    // The crate objects to every required extension. Those that are left change nothing that is read.
    errors.retain(|(_, error)| *error != Error::Unsupported);
    if errors.is_empty() {
        return Ok(gltf);
    }
    let error = anyhow::Error::from(gltf::Error::Validation(errors));
    Err(match unread::compression(&root.extensions_used) {
        Some(compression) => error.context(compression),
        None => error,
    })
}

/// Checks that a binary file has version 2, and as many bytes as its header says.
fn check_header(bytes: &[u8]) -> Result<()> {
    if !bytes.starts_with(b"glTF") {
        return Ok(());
    }
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let (Some(version), Some(length)) = (word(4), word(8)) else {
        bail!("it is cut off within its header");
    };
    if version != 2 {
        bail!("its binary form has version {version}, and version 2 is read");
    }
    let found = bytes.len();
    if (found as u64) < u64::from(length) {
        bail!("it is cut off: {found} of {length} bytes");
    }
    Ok(())
}

/// Checks the version of glTF by itself: version 1 has maps where version 2 has lists, so that the rest of its JSON is
/// no glTF to the `gltf` crate.
fn check_version(bytes: &[u8]) -> Result<()> {
    #[derive(Deserialize)]
    struct Root {
        asset: Asset,
    }
    #[derive(Deserialize)]
    struct Asset {
        version: String,
    }
    let json = if bytes.starts_with(b"glTF") {
        Glb::from_slice(bytes)?.json
    } else {
        Cow::Borrowed(bytes)
    };
    // What is no JSON, or has no version, the crate names with its place.
    match serde_json::from_slice(&json) {
        Ok(Root { asset: Asset { version } }) if !version.starts_with("2.") => {
            bail!("it is glTF of version '{version}', and version 2 is read")
        }
        _ => Ok(()),
    }
}
