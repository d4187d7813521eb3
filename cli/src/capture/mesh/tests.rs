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

/// Elements without properties take no bytes: billions of them would be read until no memory is left.
#[test]
fn a_ply_element_without_properties_is_refused() {
    for encoding in ["binary_little_endian", "ascii"] {
        let header = format!(
            "ply\nformat {encoding} 1.0\nelement vertex 0\nproperty float x\n\
             element nothing 2000000000\nend_header\n"
        );
        let error = read("mesh.ply", header.as_bytes()).map(|mesh| mesh.vertices).unwrap_err();
        assert!(format!("{error:#}").contains("element 'nothing' has no properties"), "{error:#}");
    }
}

/// Each is the only child of the one before.
#[test]
fn a_deep_scene_is_read_in_one_pass() {
    let node = |number: u32| match number {
        0 => serde_json::json!({ "translation": [1.0, 0.0, 0.0] }),
        _ => serde_json::json!({ "translation": [1.0, 0.0, 0.0], "children": [number - 1] }),
    };
    let count = 200_000;
    let mut nodes: Vec<_> = (0..count).map(node).collect();
    let gltf = |nodes: &[serde_json::Value]| {
        let json = serde_json::json!({
            "asset": { "version": "2.0" },
            "nodes": nodes,
            "scenes": [{ "nodes": [nodes.len() - 1] }],
        });
        ::gltf::Gltf::from_slice(json.to_string().as_bytes()).unwrap()
    };
    let moved = || vec![glam::DMat4::from_translation(glam::DVec3::X); count as usize];
    let found = super::gltf::Nodes::of(&gltf(&nodes), moved()).unwrap();
    assert_eq!(found.worlds[0].w_axis.x, f64::from(count));
    assert!(found.is_shown.iter().all(|is_shown| *is_shown));
    // The last one below the first one.
    nodes[0] = serde_json::json!({ "children": [count - 1] });
    let error = super::gltf::Nodes::of(&gltf(&nodes), moved()).map(|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("is below itself"), "{error}");
}
