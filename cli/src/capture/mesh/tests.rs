use super::*;

/// Reads a file with this name and these bytes.
fn read(name: &str, bytes: &[u8]) -> Result<Mesh> {
    Mesh::parse(Path::new(name), bytes)
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

/// A glTF file that refers to an accessor that does not exist is rejected with an error. The `gltf` crate panics while
/// it checks that.
#[test]
fn what_gltf_refers_to_is_there() {
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
    for (uri, why) in
        [("zero", "/dev/zero is not a file"), ("/dev/zero", "not relative: /dev/zero")]
    {
        let json = serde_json::json!({
            "asset": { "version": "2.0" },
            "buffers": [{ "byteLength": 4, "uri": uri }],
        });
        let error = read("/dev/wrong.gltf", json.to_string().as_bytes());
        let error = format!("{:#}", error.map(|mesh| mesh.vertices).unwrap_err());
        assert!(error.contains("buffer 0") && error.contains(why), "{error}");
    }
}

/// What is not read is named, as the extension is where it is one: a mesh may not be read as something else.
#[test]
fn what_of_gltf_is_not_read_is_named() {
    use serde_json::json;
    let triangle = base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].map(f32::to_le_bytes).as_flattened(),
    );
    let file = |change: &[(&str, serde_json::Value)]| {
        let mut json = json!({
            "asset": { "version": "2.0" },
            "nodes": [{ "mesh": 0 }],
            "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 } }] }],
            "buffers": [{ "byteLength": 36, "uri": format!("data:;base64,{triangle}") }],
            "bufferViews": [{ "buffer": 0, "byteLength": 36 }],
            "accessors": [{
                "bufferView": 0, "type": "VEC3", "componentType": 5126, "count": 3,
                "min": [0, 0, 0], "max": [1, 1, 0],
            }],
        });
        for (place, value) in change {
            let (of, key) = place.rsplit_once('/').unwrap();
            match json.pointer_mut(of).unwrap() {
                serde_json::Value::Array(all) => all.push(value.clone()),
                other => other[key] = value.clone(),
            }
        }
        json
    };
    let required = |name: &str| file(&[("/extensionsRequired", json!([name]))]);
    let primitive = "/meshes/0/primitives/0";
    let draco = json!({ "KHR_draco_mesh_compression": { "bufferView": 0, "attributes": {} } });
    let sparse = json!({
        "count": 1, "indices": { "bufferView": 0, "componentType": 5123 },
        "values": { "bufferView": 0 },
    });
    let extensions = format!("{primitive}/extensions");
    let draco_used = ("/extensionsUsed", json!(["KHR_draco_mesh_compression"]));
    let compressed = file(&[
        draco_used.clone(),
        (&extensions, draco.clone()),
        ("/accessors/0/bufferView", json!(null)),
    ]);
    for (json, names) in [
        (required("KHR_draco_mesh_compression"), "it requires KHR_draco_mesh_compression"),
        (required("EXT_meshopt_compression"), "it requires EXT_meshopt_compression"),
        (required("KHR_mesh_quantization"), "it requires KHR_mesh_quantization"),
        (compressed, "it uses KHR_draco_mesh_compression"),
        (file(&[("/accessors/0/sparse", sparse.clone())]), "accessor 0: it is sparse"),
        (file(&[("/asset/version", json!("1.0"))]), "glTF of version '1.0'"),
        // Lists were maps in version 1.
        (json!({ "asset": { "version": "1.1" }, "nodes": {} }), "glTF of version '1.1'"),
        (file(&[("/buffers/-", json!({ "byteLength": 1 }))]), "buffer 1: it has no uri"),
    ] {
        let error = refused(&json);
        assert!(error.contains(names), "{names}: {error}");
    }
    let binary = |version: u8| [&b"glTF"[..], &[version, 0, 0, 0, 12, 0, 0, 0]].concat();
    let error =
        format!("{:#}", read("mesh.glb", &binary(1)).map(|mesh| mesh.vertices).unwrap_err());
    assert!(error.contains("its binary form has version 1"), "{error}");

    let remark = |change: &[(&str, serde_json::Value)]| {
        read("mesh.gltf", file(change).to_string().as_bytes()).unwrap().remark
    };
    let used = |names: serde_json::Value| ("/extensionsUsed", names);
    let animation = json!([{ "channels": [], "samplers": [] }]);
    let targets = format!("{primitive}/targets");
    assert_eq!(remark(&[]), None);
    // These change nothing of a mesh, or compress what is there without them, too.
    let looks = json!([
        "KHR_materials_unlit",
        "KHR_texture_transform",
        "EXT_texture_webp",
        "KHR_xmp_json_ld",
        "MSFT_packing_occlusionRoughnessMetallic",
        "EXT_structural_metadata",
    ]);
    assert_eq!(remark(&[("/extensionsRequired", looks.clone()), used(looks)]), None);
    assert_eq!(remark(&[draco_used, (&extensions, draco)]), None);
    assert_eq!(
        remark(&[
            ("/animations", animation),
            (&targets, json!([{ "POSITION": 0 }])),
            used(json!(["KHR_materials_unlit", "EXT_mesh_gpu_instancing"])),
        ])
        .as_deref(),
        Some("mesh.gltf: read without animations, morph targets, EXT_mesh_gpu_instancing")
    );
    // Sets beyond those that are read, and attributes of the file's own. What is not read may be sparse.
    let place = |of: &str| format!("{primitive}/attributes/{of}");
    let more = ["TEXCOORD_2", "COLOR_1", "JOINTS_1", "WEIGHTS_1", "_OWN"].map(place);
    let mut more: Vec<_> = more.iter().map(|place| (place.as_str(), json!(1))).collect();
    let second = json!({ "type": "VEC3", "componentType": 5126, "count": 3, "sparse": sparse });
    let scenes = json!([{ "nodes": [0] }, { "nodes": [] }]);
    more.extend([("/accessors/-", second.clone()), ("/scenes", scenes)]);
    let said = remark(&more).unwrap();
    let unread = "without other scenes, COLOR_1, JOINTS_1, TEXCOORD_2, WEIGHTS_1, _OWN";
    assert!(said.ends_with(unread), "{said}");
    // A mesh that no node shows.
    let other = json!({ "primitives": [{ "attributes": { "POSITION": 1 } }] });
    let mut bounded = second;
    (bounded["min"], bounded["max"]) = (json!([0, 0, 0]), json!([1, 1, 1]));
    assert_eq!(remark(&[("/accessors/-", bounded), ("/meshes/-", other)]), None);
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
    let found = super::gltf::Nodes::of(&gltf(&nodes)).unwrap();
    assert_eq!(found.worlds[0].w_axis.x, f64::from(count));
    assert!(found.is_shown.iter().all(|is_shown| *is_shown));
    // The last one below the first one.
    nodes[0] = serde_json::json!({ "children": [count - 1] });
    let error = super::gltf::Nodes::of(&gltf(&nodes)).map(|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("is below itself"), "{error}");
}
