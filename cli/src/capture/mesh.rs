//! Reads meshes from files: columns of numbers with a value for each vertex, and triangles.

mod csv;
mod gltf;
mod names;
mod obj;
mod ply;

use std::path::Path;

use anyhow::{Context, Result, bail};

pub(super) use self::names::{canonical, meaning};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mesh {
    /// The path of the file.
    pub(super) name: String,
    /// The columns of single numbers.
    pub(super) scalars: Vec<Scalar>,
    /// The values that shader inputs can read. Each column has a name, and consists of one of the `scalars` or of a
    /// vector of up to four of them.
    pub(super) columns: Vec<Column>,
    pub(super) vertices: u32,
    /// The numbers of the vertices of all triangles, three for each triangle. `None` if the file has no faces.
    pub(super) triangles: Option<Vec<u32>>,
    /// What the user has to be told of the file. `None` if all of it is read.
    pub(super) remark: Option<String>,
}

/// A number for each vertex.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scalar {
    /// The name in the file.
    pub(super) name: String,
    pub(super) values: Values,
}

/// Numbers, with the type that they have in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// Integers. When they are read as floats, the integer `one` becomes 1.0. For example, `one` is 255 for colours
    /// that are stored as bytes.
    Int { values: Vec<i128>, one: u32 },
    /// Floats.
    Float(Vec<f64>),
}

/// A column that is a scalar, or a vector of up to four components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// The indices of the column's components in [`Mesh::scalars`].
    pub(super) parts: Vec<usize>,
}

impl Values {
    pub(super) fn float(&self, vertex: usize) -> f64 {
        match self {
            Self::Int { values, one } => values[vertex] as f64 / f64::from(*one),
            Self::Float(values) => values[vertex],
        }
    }

    /// Returns the value for `vertex`, if that value is an integer.
    pub(super) fn int(&self, vertex: usize) -> Option<i128> {
        match self {
            Self::Int { values, .. } => values.get(vertex).copied(),
            Self::Float(values) => {
                values.get(vertex).filter(|value| value.fract() == 0.0).map(|value| *value as i128)
            }
        }
    }
}

impl Mesh {
    /// Reads a file, whose format the extension tells.
    pub(super) fn read(file: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(file, &bytes)
    }

    /// Like [`read`](Self::read), but takes the contents of the file as `bytes`. If a glTF file names other files with
    /// its buffers, those are read.
    pub(super) fn parse(file: &Path, bytes: &[u8]) -> Result<Self> {
        let name = file.display().to_string();
        let extension = file.extension().and_then(|extension| extension.to_str());
        let extension = extension.map(str::to_ascii_lowercase);
        let mesh = match extension.as_deref() {
            Some("ply") => ply::parse(bytes),
            Some("obj") => obj::parse(bytes),
            Some("csv") => csv::parse(bytes),
            Some("gltf" | "glb") => gltf::parse(file, bytes),
            _ => bail!("{name}: meshes are read from .ply, .obj, .gltf, .glb and .csv"),
        };
        let mesh = mesh.and_then(|parsed| parsed.finish(&name));
        mesh.with_context(|| format!("cannot read the mesh {name}"))
    }

    /// Returns the first column with a wanted name. If there is none, returns the first scalar with a wanted name, as a
    /// column. `None` if there is no such scalar either.
    pub(super) fn column(&self, is_wanted: impl Fn(&str) -> bool) -> Option<Column> {
        let group = self.columns.iter().find(|column| is_wanted(&column.name)).cloned();
        group.or_else(|| {
            let part = self.scalars.iter().position(|scalar| is_wanted(&scalar.name))?;
            Some(Column { name: self.scalars[part].name.clone(), parts: vec![part] })
        })
    }

    pub(super) fn list(&self) -> String {
        let one = |column: &Column| {
            let parts: Vec<_> = column.parts.iter().map(|p| &*self.scalars[*p].name).collect();
            match parts[..] {
                [part] if part == column.name => part.to_owned(),
                _ => format!("{} ({})", column.name, parts.join(" ")),
            }
        };
        let all: Vec<String> = self.columns.iter().map(one).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    }
}

/// The contents of a file, before its scalars are combined into columns.
#[derive(Debug, Default)]
struct Parsed {
    scalars: Vec<Scalar>,
    vertices: usize,
    triangles: Option<Vec<u32>>,
    remark: Option<String>,
}

impl Parsed {
    /// Combines scalars into columns, and checks that the triangles have only vertices that exist.
    fn finish(self, name: &str) -> Result<Mesh> {
        let Self { scalars, vertices, triangles, remark } = self;
        let Ok(vertices) = u32::try_from(vertices) else {
            bail!("{vertices} vertices, more than indices reach");
        };
        let outside = triangles.iter().flatten().find(|index| **index >= vertices);
        if let Some(index) = outside {
            bail!("a face has vertex {index}, and there are {vertices} vertices");
        }
        let columns = names::columns(scalars.iter().map(|scalar| &*scalar.name));
        let name = name.to_owned();
        let remark = remark.map(|remark| format!("{name}: {remark}"));
        Ok(Mesh { name, scalars, columns, vertices, triangles, remark })
    }
}

/// Adds the triangles of a face, as a fan.
fn add_face(triangles: &mut Vec<u32>, face: &[u32]) {
    let [hub, rest @ ..] = face else { return };
    triangles.extend(rest.windows(2).flat_map(|edge| [*hub, edge[0], edge[1]]));
}

#[cfg(test)]
mod tests;
