//! Reads glTF files: the meshes of a scene, moved by the matrices of their nodes, without animations, morph targets and
//! the matrices of skins.

mod bounds;
mod types;
mod unread;
mod validation;

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use glam::{DMat3, DMat4, DQuat, DVec3};
use gltf::mesh::Mode;
use gltf::scene::Transform;
use gltf::{Gltf, Node, Primitive, buffer};

use super::{Parsed, Scalar, Values};

/// Reads the scene that the file shows by default, otherwise the first scene or, without scenes,
/// all nodes.
pub(super) fn parse(file: &Path, bytes: &[u8]) -> Result<Parsed> {
    let gltf = validation::read(bytes)?;
    let nodes = Nodes::of(&gltf)?;
    let shown: Vec<Node<'_>> = gltf.nodes().filter(|node| nodes.is_shown[node.index()]).collect();
    types::check(&shown)?;
    let buffers = buffers(&gltf, file)?;
    let mut reader = Reader::new(&buffers);
    for node in &shown {
        let Some(mesh) = node.mesh() else { continue };
        // A mesh with a skin is moved only by the joints of the skin, not by its own node.
        let place = match node.skin() {
            Some(_) => DMat4::IDENTITY,
            None => nodes.worlds[node.index()],
        };
        for primitive in mesh.primitives() {
            let name = mesh.name().unwrap_or("without a name");
            let what = || format!("mesh '{name}', primitive {}", primitive.index());
            reader.add(&primitive, place).with_context(what)?;
        }
    }
    Ok(Parsed { remark: unread::remark(&gltf, &shown), ..reader.finish()? })
}

/// Reads the buffers, which are in the file itself, in base64 text, or in other files, whose paths are relative to the
/// directory of the glTF file.
fn buffers(gltf: &Gltf, file: &Path) -> Result<Vec<Vec<u8>>> {
    let bytes = |buffer: gltf::Buffer<'_>| -> Result<Vec<u8>> {
        let mut bytes = match buffer.source() {
            buffer::Source::Bin if buffer.index() > 0 => bail!("it has no uri"),
            buffer::Source::Bin => gltf.blob.clone().context("the file has no binary part")?,
            buffer::Source::Uri(uri) => match uri.strip_prefix("data:") {
                Some(data) => {
                    let (_, text) =
                        data.split_once(";base64,").context("data that is not base64")?;
                    base64::engine::general_purpose::STANDARD.decode(text)?
                }
                None => {
                    let name = urlencoding::decode(uri)?;
                    // On Windows an absolute path may name a file on the network, which must not be opened.
                    let is_absolute =
                        |part| matches!(part, Component::Prefix(_) | Component::RootDir);
                    if Path::new(&*name).components().any(is_absolute) {
                        bail!("the name of its file is not relative: {name}");
                    }
                    let beside = file.with_file_name(&*name);
                    let cannot = || format!("cannot read {}", beside.display());
                    // The path may name a device, which supplies bytes without end, or a pipe, which has to be
                    // waited for.
                    if !std::fs::metadata(&beside).with_context(cannot)?.is_file() {
                        bail!("{} is not a file", beside.display());
                    }
                    let mut bytes = Vec::new();
                    let mut part =
                        File::open(&beside).with_context(cannot)?.take(buffer.length() as u64);
                    part.read_to_end(&mut bytes).with_context(cannot)?;
                    bytes
                }
            },
        };
        if bytes.len() < buffer.length() {
            bail!("it has {} bytes, and should have {}", bytes.len(), buffer.length());
        }
        bytes.truncate(buffer.length());
        Ok(bytes)
    };
    let named = |buffer: gltf::Buffer<'_>| {
        let number = buffer.index();
        bytes(buffer).with_context(|| format!("buffer {number}"))
    };
    gltf.buffers().map(named).collect()
}

/// The transformations of all nodes of the file, and which of them the scene shows.
pub(super) struct Nodes {
    /// The matrix of each node, from the node's own space to the space of the scene.
    pub(super) worlds: Vec<DMat4>,
    pub(super) is_shown: Vec<bool>,
}

impl Nodes {
    pub(super) fn of(gltf: &Gltf) -> Result<Self> {
        let locals: Vec<DMat4> = gltf.nodes().map(|node| local(&node)).collect();
        let mut has_parent = vec![false; locals.len()];
        let mut children: Vec<Vec<usize>> = Vec::new();
        for node in gltf.nodes() {
            children.push(node.children().map(|child| child.index()).collect());
            for child in node.children() {
                if std::mem::replace(&mut has_parent[child.index()], true) {
                    bail!("node {} has two parents", child.index());
                }
            }
        }
        let scene = gltf.default_scene().or_else(|| gltf.scenes().next());
        let mut is_shown = vec![scene.is_none(); locals.len()];
        for root in scene.iter().flat_map(|scene| scene.nodes()) {
            is_shown[root.index()] = true;
        }
        // From each root down, so that a node's matrix follows from that of its parent.
        let mut this = Self { worlds: locals, is_shown };
        let mut open: Vec<usize> =
            (0..has_parent.len()).filter(|node| !has_parent[*node]).collect();
        let mut reached = 0;
        while let Some(node) = open.pop() {
            reached += 1;
            for child in std::mem::take(&mut children[node]) {
                this.worlds[child] = this.worlds[node] * this.worlds[child];
                this.is_shown[child] = this.is_shown[node];
                open.push(child);
            }
        }
        if reached < has_parent.len() {
            // Only a node with a parent can be missing.
            let below = children.iter().flatten().min();
            bail!("node {} is below itself", below.copied().unwrap_or_default());
        }
        Ok(this)
    }
}

/// Returns the matrix of a node relative to its parent.
fn local(node: &Node<'_>) -> DMat4 {
    match node.transform() {
        Transform::Matrix { matrix: columns } => matrix(&columns),
        Transform::Decomposed { translation, rotation, scale } => {
            let rotation = DQuat::from_array(rotation.map(f64::from));
            DMat4::from_scale_rotation_translation(vector(scale), rotation, vector(translation))
        }
    }
}

/// A vertex attribute, with its values from all primitives that were added.
struct Attribute {
    names: &'static [&'static str],
    /// The value for vertices of primitives that do not have the attribute.
    absent: f64,
    /// The values of all vertices, for each component.
    values: Vec<Vec<f64>>,
    is_present: bool,
}

impl Attribute {
    fn new(names: &'static [&'static str], absent: f64) -> Self {
        Self { names, absent, values: vec![Vec::new(); names.len()], is_present: false }
    }

    /// Adds the values of a primitive with this number of vertices. `numbers` is `None` if the
    /// primitive does not have the attribute.
    fn add<const N: usize>(
        &mut self,
        vertices: usize,
        numbers: Option<impl Iterator<Item = [f64; N]>>,
    ) {
        self.is_present |= numbers.is_some();
        let all = self.values.first().map_or(0, Vec::len) + vertices;
        for numbers in numbers.into_iter().flatten().take(vertices) {
            self.values.iter_mut().zip(numbers).for_each(|(values, number)| values.push(number));
        }
        self.values.iter_mut().for_each(|values| values.resize(all, self.absent));
    }

    /// Returns the columns of the attribute; none if no primitive has the attribute.
    fn scalars(self) -> impl Iterator<Item = (String, Vec<f64>)> {
        let Self { names, values, is_present, .. } = self;
        let scalars = names.iter().map(|name| (*name).to_owned()).zip(values);
        scalars.filter(move |_| is_present)
    }
}

struct Reader<'a> {
    buffers: &'a [Vec<u8>],
    vertices: usize,
    triangles: Vec<u32>,
    positions: Attribute,
    normals: Attribute,
    tangents: Attribute,
    texcoords: Attribute,
    second_texcoords: Attribute,
    colors: Attribute,
    weights: Attribute,
    joints: Attribute,
}

impl<'a> Reader<'a> {
    fn new(buffers: &'a [Vec<u8>]) -> Self {
        Self {
            buffers,
            vertices: 0,
            triangles: Vec::new(),
            positions: Attribute::new(&["x", "y", "z"], 0.0),
            normals: Attribute::new(&["nx", "ny", "nz"], 0.0),
            tangents: Attribute::new(&["tx", "ty", "tz", "tw"], 0.0),
            texcoords: Attribute::new(&["u", "v"], 0.0),
            second_texcoords: Attribute::new(&["uv1.x", "uv1.y"], 0.0),
            colors: Attribute::new(&["red", "green", "blue", "alpha"], 1.0),
            weights: Attribute::new(&["weights.x", "weights.y", "weights.z", "weights.w"], 0.0),
            joints: Attribute::new(&["joints.x", "joints.y", "joints.z", "joints.w"], 0.0),
        }
    }

    /// Adds a primitive of a node. `place` is the matrix that transforms its vertices.
    fn add(&mut self, primitive: &Primitive<'_>, place: DMat4) -> Result<()> {
        let buffers = self.buffers;
        let reader = primitive.reader(|buffer| buffers.get(buffer.index()).map(Vec::as_slice));
        let positions = reader.read_positions().context("it has no positions that can be read")?;
        let positions: Vec<DVec3> = positions.map(vector).collect();
        let count = positions.len();
        let moved = positions.iter().map(|position| place.transform_point3(*position).to_array());
        self.positions.add(count, Some(moved));
        let linear = DMat3::from_mat4(place);
        // Normals are transformed by the inverse transpose, so that they stay perpendicular to the
        // surface.
        let across = match linear.determinant() {
            0.0 => linear,
            _ => linear.inverse().transpose(),
        };
        let normals = reader.read_normals().map(|normals| {
            normals.map(move |normal| (across * vector(normal)).normalize_or_zero().to_array())
        });
        self.normals.add(count, normals);
        let tangents = reader.read_tangents().map(|tangents| {
            tangents.map(move |[x, y, z, w]| {
                let [x, y, z] = (linear * vector([x, y, z])).normalize_or_zero().to_array();
                [x, y, z, f64::from(w)]
            })
        });
        self.tangents.add(count, tangents);
        let texcoords = |set| {
            let texcoords = reader.read_tex_coords(set)?.into_f32();
            Some(texcoords.map(|pair| pair.map(f64::from)))
        };
        self.texcoords.add(count, texcoords(0));
        self.second_texcoords.add(count, texcoords(1));
        let colors = reader.read_colors(0).map(|colors| colors.into_rgba_f32());
        self.colors.add(count, colors.map(|colors| colors.map(|color| color.map(f64::from))));
        let weights = reader.read_weights(0).map(|weights| weights.into_f32());
        self.weights.add(count, weights.map(|weights| weights.map(|four| four.map(f64::from))));
        let joints = reader.read_joints(0).map(|joints| joints.into_u16());
        self.joints.add(count, joints.map(|joints| joints.map(|four| four.map(f64::from))));
        let corners: Vec<u32> = match reader.read_indices() {
            Some(indices) => indices.into_u32().collect(),
            None if primitive.indices().is_some() => {
                bail!("its indices are outside of their buffer")
            }
            None => (0..u32::try_from(count)?).collect(),
        };
        if let Some(index) = corners.iter().find(|index| **index as usize >= count) {
            bail!("it has index {index}, and {count} vertices");
        }
        let first = u32::try_from(self.vertices)?;
        let corners = triangles(primitive.mode(), &corners)?;
        for corner in corners.into_iter().flatten() {
            self.triangles
                .push(first.checked_add(corner).context("more vertices than indices reach")?);
        }
        self.vertices += count;
        Ok(())
    }

    fn finish(self) -> Result<Parsed> {
        if self.vertices == 0 {
            bail!("no node of its scene has a mesh");
        }
        let floats = [
            self.positions,
            self.normals,
            self.tangents,
            self.texcoords,
            self.second_texcoords,
            self.colors,
            self.weights,
        ];
        let floats = floats.into_iter().flat_map(Attribute::scalars);
        let floats = floats.map(|(name, values)| Scalar { name, values: Values::Float(values) });
        let ints = self.joints.scalars().map(|(name, values)| {
            let values = values.into_iter().map(|value| value as i128).collect();
            Scalar { name, values: Values::Int { values, one: 1 } }
        });
        Ok(Parsed {
            scalars: floats.chain(ints).collect(),
            vertices: self.vertices,
            triangles: Some(self.triangles),
            remark: None,
        })
    }
}

fn vector(numbers: [f32; 3]) -> DVec3 {
    DVec3::from_array(numbers.map(f64::from))
}

fn matrix(columns: &[[f32; 4]; 4]) -> DMat4 {
    DMat4::from_cols_array_2d(&columns.map(|column| column.map(f64::from)))
}

/// Returns the triangles that indices form in a mode of glTF: a list, a strip or a fan.
fn triangles(mode: Mode, corners: &[u32]) -> Result<Vec<[u32; 3]>> {
    let strip = |(at, three): (usize, &[u32])| match at % 2 {
        0 => [three[0], three[1], three[2]],
        _ => [three[1], three[0], three[2]],
    };
    Ok(match mode {
        Mode::Triangles => corners.as_chunks::<3>().0.to_vec(),
        Mode::TriangleStrip => corners.windows(3).enumerate().map(strip).collect(),
        Mode::TriangleFan => {
            let (hub, rest) = corners.split_first().context("a fan without corners")?;
            rest.windows(2).map(|edge| [*hub, edge[0], edge[1]]).collect()
        }
        other => bail!("it has {other:?}, and triangles are read"),
    })
}
