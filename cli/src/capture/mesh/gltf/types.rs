//! Checks that accessors can be read: they have types that the specification allows for their use,
//! and lie within their buffers.

use anyhow::{Context, Result, bail};
use gltf::accessor::{DataType, Dimensions};
use gltf::{Accessor, Node, Semantic};

use super::{bounds, unread};

use DataType::{F32, U8, U16, U32};
use Dimensions::{Scalar, Vec2, Vec3, Vec4};

/// Checks the accessors that are read of these nodes, according to [the specification's
/// lists](https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#meshes-overview).
pub(super) fn check(shown: &[Node<'_>]) -> Result<()> {
    for mesh in shown.iter().filter_map(Node::mesh) {
        for primitive in mesh.primitives() {
            let place = format!("mesh {}, primitive {}", mesh.index(), primitive.index());
            for (semantic, accessor) in primitive.attributes().filter(|(of, _)| unread::is_read(of))
            {
                let (dimensions, types): (&[_], &[_]) = match semantic {
                    Semantic::Positions | Semantic::Normals => (&[Vec3], &[F32]),
                    Semantic::Tangents => (&[Vec4], &[F32]),
                    Semantic::TexCoords(_) => (&[Vec2], &[U8, U16, F32]),
                    Semantic::Colors(_) => (&[Vec3, Vec4], &[U8, U16, F32]),
                    Semantic::Weights(_) => (&[Vec4], &[U8, U16, F32]),
                    Semantic::Joints(_) => (&[Vec4], &[U8, U16]),
                    Semantic::Extras(_) => continue,
                };
                let what = format!("{place}: {}", semantic.to_string());
                is_of(&accessor, &what, dimensions, types)?;
            }
            if let Some(indices) = primitive.indices() {
                is_of(&indices, &format!("{place}: indices"), &[Scalar], &[U8, U16, U32])?;
            }
        }
    }
    Ok(())
}

/// Checks the type of an accessor, and that it lies within its buffer.
fn is_of(
    accessor: &Accessor<'_>,
    what: &str,
    dimensions: &[Dimensions],
    types: &[DataType],
) -> Result<()> {
    let (found, ty) = (accessor.dimensions(), accessor.data_type());
    if !dimensions.contains(&found) || !types.contains(&ty) {
        bail!("{what}: accessor {} is {found:?} of {ty:?}, which it may not be", accessor.index());
    }
    bounds::check(accessor).with_context(|| what.to_owned())
}
