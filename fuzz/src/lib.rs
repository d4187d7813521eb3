//! What the fuzz targets share. Each target in `fuzz_targets/` passes bytes to a parser of input from outside, by the
//! narrowest way that leads there: the API of a package, the functions that the Vulkan layer exports, or, for the
//! command, which is no library, its modules themselves. `.ci/fuzz` runs the targets.

pub mod chain;
pub mod layer;
pub mod modules;
#[path = "../../tests/fuzz/mutate.rs"]
pub mod mutate;
pub mod validator;

/// The command's readers of meshes.
#[path = "../../cli/src/capture"]
pub mod capture {
    #[allow(dead_code, reason = "the command uses the rest")]
    mod mesh;

    use std::path::Path;

    use mesh::{Mesh, canonical, meaning};

    /// Reads a mesh whose format the name of the file tells, and uses it as the command does.
    ///
    /// # Panics
    /// If the mesh contradicts itself.
    pub fn read_mesh(file: &str, bytes: &[u8]) {
        // Nothing is beside this file.
        let Ok(mesh) = Mesh::parse(&Path::new("/nowhere").join(file), bytes) else { return };
        for scalar in &mesh.scalars {
            for vertex in 0..mesh.vertices as usize {
                _ = (scalar.values.float(vertex), scalar.values.int(vertex));
            }
        }
        for column in &mesh.columns {
            assert!((1..=4).contains(&column.parts.len()), "{column:?}");
            assert!(column.parts.iter().all(|part| *part < mesh.scalars.len()), "{column:?}");
            _ = (canonical(&column.name), meaning(&column.name));
        }
        if let Some(triangles) = &mesh.triangles {
            assert!(triangles.len().is_multiple_of(3));
            assert!(triangles.iter().all(|index| *index < mesh.vertices));
        }
        _ = mesh.list();
    }
}

/// The command's reader of stream outputs.
#[path = "../../cli/src"]
pub mod command {
    #[allow(dead_code, reason = "the command uses the rest")]
    mod stream_output;

    use vkxfb_translators::stream_output::StreamOutputInfo;

    /// Reads stream outputs from JSON. `None` if it is invalid.
    pub fn stream_outputs(json: &str) -> Option<StreamOutputInfo> {
        stream_output::parse(json).ok()
    }
}
