use super::*;

/// Reads a file with this name and these bytes.
fn read(name: &str, bytes: &[u8]) -> Result<Mesh> {
    Mesh::parse(Path::new(name), bytes, &Pose::default())
}

/// Reads glTF, and returns the message of the error.
fn refused(json: &serde_json::Value) -> String {
    let error = read("wrong.gltf", json.to_string().as_bytes()).map(|mesh| mesh.vertices);
    format!("{:#}", error.unwrap_err())
}

/// No reader panics on a file of the fuzzing corpus. The corpus has the files with which fuzzing begins, and files that
/// were once read wrongly.
#[test]
fn the_corpus_of_the_fuzz_targets_is_read() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for format in ["csv", "gltf", "obj", "ply"] {
        let mut read_well = 0;
        for file in std::fs::read_dir(corpus.join(format)).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            read_well += u32::from(read(&format!("mesh.{format}"), &bytes).is_ok());
        }
        assert!(read_well > 1, "{format}");
    }
}

/// A file with an animation, whose channel has this target.
fn animated(target: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "asset": { "version": "2.0" },
        "nodes": [{}],
        "buffers": [{ "byteLength": 4, "uri": "data:;base64,AAAAAA==" }],
        "bufferViews": [{ "buffer": 0, "byteLength": 4 }],
        "accessors": [{ "bufferView": 0, "type": "SCALAR", "componentType": 5126, "count": 1 }],
        "animations": [{
            "channels": [{ "sampler": 0, "target": target }],
            "samplers": [{ "input": 0, "output": 0 }],
        }],
    })
}

/// A glTF file that refers to a node, a property or an accessor that does not exist is rejected with an error. The
/// `gltf` crate does not check these references itself, and panics.
#[test]
fn what_gltf_refers_to_is_there() {
    let path = refused(&animated(&serde_json::json!({ "node": 0, "path": "rotat`on" })));
    assert!(path.contains("animations[0].channels[0].target.path"), "{path}");
    let node = refused(&animated(&serde_json::json!({ "node": 1, "path": "weights" })));
    assert!(node.contains("animations[0].channels[0].target.node"), "{node}");
    let positions = refused(&serde_json::json!({
        "asset": { "version": "2.0" },
        "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
    }));
    assert!(positions.contains("meshes[0].primitives[0].attributes"), "{positions}");
}

/// The buffers of a glTF file must be in regular files that are named by relative paths. A device could be read without
/// end, and an absolute path may name a file on the network.
#[cfg(unix)]
#[test]
fn buffers_are_in_files_beside() {
    let mut json = animated(&serde_json::json!({ "node": 0, "path": "weights" }));
    for (uri, why) in
        [("zero", "/dev/zero is not a file"), ("/dev/zero", "not relative: /dev/zero")]
    {
        json["buffers"][0]["uri"] = uri.into();
        let error = read("/dev/wrong.gltf", json.to_string().as_bytes());
        let error = format!("{:#}", error.map(|mesh| mesh.vertices).unwrap_err());
        assert!(error.contains("buffer 0") && error.contains(why), "{error}");
    }
}
