//! The bytes of a .gltf or .glb file, which the command reads as a mesh, as it is and within its animation.

#![no_main]

use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::capture::read_mesh;

fuzz_target!(|bytes: &[u8]| {
    read_mesh("mesh.gltf", bytes, None);
    read_mesh("mesh.gltf", bytes, Some(0.75));
});
