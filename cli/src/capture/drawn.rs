//! The draw whose vertices are captured, and its indices.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vkxfb::runtime::{Draw, DrawIndexed, IndexType};
use vkxfb_rewriter::lower::LoweredGeometry;
use vkxfb_rewriter::topology::PrimitiveTopology;

use super::attributes::VertexData;
use super::mesh::Mesh;
use super::missing::Missing;

/// The options that describe the draw.
#[derive(Debug, clap::Args)]
pub(super) struct DrawArguments {
    /// The primitive topology, as Vulkan names it: point-list, line-list, line-strip, triangle-list, triangle-strip,
    /// triangle-fan, line-list-with-adjacency, line-strip-with-adjacency, triangle-list-with-adjacency,
    /// triangle-strip-with-adjacency or patch-list; by default triangle-list, or the list that the geometry shader
    /// takes; with tessellation shaders always patch-list
    #[arg(long)]
    topology: Option<PrimitiveTopology>,
    /// With tessellation shaders: number of vertices, or indices, of a patch, 1 to 32
    #[arg(long, value_name = "N", requires = "control")]
    patch_control_points: Option<u32>,
    /// Take vertex attributes, and indices of triangles, from this file: .ply, .obj, .gltf, .glb,
    /// or .csv with column names in the first line
    #[arg(long, value_name = "FILE")]
    pub(super) mesh: Option<PathBuf>,
    /// Draw only this number of vertices, or of indices. Required without a mesh and --indices
    #[arg(long, value_name = "N")]
    pub(super) vertices: Option<u32>,
    /// Number of instances
    #[arg(long, value_name = "N", default_value_t = 1)]
    instances: u32,
    /// Draw with the indices in this file: numbers separated by spaces, commas or line breaks, and the word restart, or
    /// 4294967295, where primitives restart
    #[arg(long, value_name = "FILE")]
    indices: Option<PathBuf>,
}

/// Says how the vertices of the draw form primitives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assembly {
    pub(super) topology: PrimitiveTopology,
    /// The number of control points of a patch, for a patch list.
    pub(super) patch_control_points: u32,
}

impl Assembly {
    /// The number of primitives, or patches, of an instance with `vertices` vertices.
    fn primitives(self, vertices: u32) -> u64 {
        match self.topology {
            PrimitiveTopology::PatchList => {
                vertices.checked_div(self.patch_control_points).unwrap_or_default().into()
            }
            topology => topology.primitive_count(vertices),
        }
    }

    /// The number of vertices of a primitive of a list, or of a patch. `None` if primitives share vertices.
    const fn of_list(self) -> Option<u32> {
        use PrimitiveTopology as T;
        match self.topology {
            T::PatchList => Some(self.patch_control_points),
            T::LineList => Some(2),
            T::TriangleList => Some(3),
            T::LineListWithAdjacency => Some(4),
            T::TriangleListWithAdjacency => Some(6),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Drawn {
    /// A draw without indices.
    Vertices(Draw),
    /// An indexed draw. `restart` says whether primitive restart is enabled.
    Indices { indices: Vec<u32>, draw: DrawIndexed, restart: bool },
}

impl Drawn {
    /// Returns a remark about vertices that are left over because they do not make a whole primitive of a list. `None`
    /// if there are none.
    pub(super) fn left_over(&self, assembly: Assembly) -> Option<String> {
        let size = assembly.of_list().filter(|size| *size > 0)?;
        let over = match self {
            Self::Vertices(draw) => u64::from(draw.vertex_count % size),
            Self::Indices { indices, draw, restart } => {
                let is_end = |index: &u32| *restart && *index == RESTART;
                let drawn = &indices[..draw.index_count as usize];
                drawn.split(is_end).map(|part| part.len() as u64 % u64::from(size)).sum()
            }
        };
        let what = match self {
            Self::Vertices(_) => "vertices",
            Self::Indices { .. } => "indices",
        };
        let topology = assembly.topology;
        (over > 0).then(|| {
            format!(
                "{what} that make no whole primitive: {over} (a {topology} takes {size} for each)"
            )
        })
    }

    /// The number of primitives of all instances. With primitive restart, the indices between two restarts are counted
    /// separately.
    pub(super) fn primitives(&self, assembly: Assembly) -> u64 {
        match self {
            Self::Vertices(draw) => {
                assembly.primitives(draw.vertex_count) * u64::from(draw.instance_count)
            }
            Self::Indices { indices, draw, restart } => {
                let is_end = |index: &u32| *restart && *index == RESTART;
                let count = |part: &[u32]| assembly.primitives(part.len() as u32);
                let drawn = &indices[..draw.index_count as usize];
                let primitives: u64 = drawn.split(is_end).map(count).sum();
                primitives * u64::from(draw.instance_count)
            }
        }
    }
}

impl Drawn {
    /// The maximum number of items (input primitives or patches) of all instances, for each of which a geometry shader
    /// or tessellation shaders run. With primitive restart each index may begin a primitive.
    pub(super) fn items(&self, assembly: Assembly) -> u64 {
        match self {
            Self::Indices { draw, restart: true, .. } => {
                u64::from(draw.index_count) * u64::from(draw.instance_count)
            }
            _ => self.primitives(assembly),
        }
    }
}

/// The topologies whose primitives share no vertices, of which each geometry shader takes one.
const LISTS: [PrimitiveTopology; 5] = [
    PrimitiveTopology::PointList,
    PrimitiveTopology::LineList,
    PrimitiveTopology::TriangleList,
    PrimitiveTopology::LineListWithAdjacency,
    PrimitiveTopology::TriangleListWithAdjacency,
];

const RESTART: u32 = IndexType::Uint32.restart_index();

impl DrawArguments {
    /// Returns how vertices form primitives. `geometry` is what the stages after the vertex shader declare, and
    /// `is_tessellated` says whether there are tessellation shaders. If there are tessellation shaders, and no option
    /// says how many vertices a patch has, it has as many as leave the control shader if `made_up`; otherwise adds a
    /// message about that to `missing`.
    pub(super) fn assembly(
        &self,
        geometry: Option<LoweredGeometry>,
        is_tessellated: bool,
        made_up: bool,
        missing: &mut Missing,
    ) -> Result<Assembly> {
        let patches = PrimitiveTopology::PatchList;
        let topology = match (self.topology, is_tessellated) {
            (Some(topology), true) if topology != patches => {
                bail!("--topology {topology}: tessellation shaders take a patch-list")
            }
            (Some(PrimitiveTopology::PatchList), false) => {
                bail!("--topology patch-list needs --control FILE and --evaluation FILE")
            }
            (_, true) => patches,
            (Some(topology), false) => topology,
            (None, false) => geometry
                .and_then(|geometry| LISTS.into_iter().find(|list| geometry.input.takes(*list)))
                .unwrap_or(PrimitiveTopology::TriangleList),
        };
        let of_control = geometry.and_then(|geometry| geometry.tessellation).filter(|_| made_up);
        let patch_control_points =
            self.patch_control_points.or(of_control.map(|stages| stages.control_points));
        if is_tessellated && patch_control_points.is_none() {
            missing.add("the size of a patch: --patch-control-points N".to_owned());
        }
        let patch_control_points = patch_control_points.unwrap_or_default();
        Ok(Assembly { topology, patch_control_points })
    }

    /// Adds a message to `missing` if no option says how much is drawn.
    pub(super) fn note_missing(&self, missing: &mut Missing) {
        if self.mesh.is_none() && self.vertices.is_none() && self.indices.is_none() {
            missing.add("what is drawn: --vertices N, --mesh FILE or --indices FILE".to_owned());
        }
    }

    /// Returns the draw, from the options and the sizes of the files. `data` says whether the shader reads the mesh.
    pub(super) fn drawn(&self, mesh: Option<&Mesh>, data: &VertexData) -> Result<Drawn> {
        let indices = match (&self.indices, mesh) {
            (Some(file), _) => Some(read_indices(file)?),
            (None, Some(mesh)) => mesh.triangles.clone(),
            (None, None) => None,
        };
        // Vertices beyond those of the mesh may be drawn if the shader reads nothing of it.
        let mesh = mesh.filter(|_| data.reads_vertices || self.vertices.is_none());
        let Some(indices) = indices else {
            let vertices = self.vertices.or(mesh.map(|mesh| mesh.vertices));
            let vertices = vertices.context("nothing says what is drawn")?;
            if let Some(Mesh { vertices: all, name, .. }) = mesh
                && vertices > *all
            {
                bail!("--vertices {vertices}: {name} has {all}");
            }
            return Ok(Drawn::Vertices(Draw {
                instance_count: self.instances,
                ..Draw::new(vertices)
            }));
        };
        let restart = indices.contains(&RESTART);
        if let Some(mesh) = mesh.filter(|_| data.reads_vertices) {
            let is_vertex = |index: &&u32| **index < mesh.vertices || **index == RESTART;
            if let Some(index) = indices.iter().find(|index| !is_vertex(index)) {
                bail!("index {index} is none of the {} vertices of {}", mesh.vertices, mesh.name);
            }
        }
        let all = u32::try_from(indices.len()).context("more indices than a draw takes")?;
        let index_count = self.vertices.unwrap_or(all);
        if index_count > all {
            bail!("--vertices {index_count}: there are {all} indices");
        }
        let draw = DrawIndexed { instance_count: self.instances, ..DrawIndexed::new(index_count) };
        Ok(Drawn::Indices { indices, draw, restart })
    }
}

/// Reads the indices in a text file, which are separated by white space, commas or semicolons. The word `restart`
/// stands for [`RESTART`].
fn read_indices(file: &Path) -> Result<Vec<u32>> {
    let name = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
    let words = text.split(|c: char| c.is_whitespace() || c == ',' || c == ';');
    let index = |word: &str| match word {
        "restart" => Ok(RESTART),
        _ => word.parse().with_context(|| format!("{name}: '{}' is no index", word.escape_debug())),
    };
    let indices: Vec<u32> =
        words.filter(|word| !word.is_empty()).map(index).collect::<Result<_>>()?;
    if indices.is_empty() { bail!("{name} has no indices") } else { Ok(indices) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_part_a_draw() {
        let draw = DrawIndexed { instance_count: 2, ..DrawIndexed::new(9) };
        let indices = vec![0, 1, 2, 3, RESTART, 4, 5, 6, RESTART, 7];
        let strip =
            Assembly { topology: PrimitiveTopology::TriangleStrip, patch_control_points: 0 };
        let drawn = |restart| Drawn::Indices { indices: indices.clone(), draw, restart };
        assert_eq!(drawn(true).primitives(strip), 2 * 3);
        assert_eq!(drawn(false).primitives(strip), 2 * 7);
        assert_eq!(Drawn::Vertices(Draw::new(5)).primitives(strip), 3);
        let list = Assembly { topology: PrimitiveTopology::TriangleList, patch_control_points: 0 };
        let over = drawn(true).left_over(list).unwrap();
        assert!(
            over.starts_with("indices that make no whole primitive: 1 (a triangle-list takes 3")
        );
        assert_eq!(drawn(true).left_over(strip), None);
        assert_eq!(Drawn::Vertices(Draw::new(6)).left_over(list), None);
        let patches = Assembly { topology: PrimitiveTopology::PatchList, patch_control_points: 4 };
        let draw = Draw { instance_count: 3, ..Draw::new(11) };
        assert_eq!(Drawn::Vertices(draw).primitives(patches), 3 * 2);
    }
}
