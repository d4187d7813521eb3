//! Whether accessors lie within their buffers: the readers of the gltf crate rely on it, and panic otherwise.

use std::fmt::{self, Display, Formatter};

use gltf::Accessor;
use gltf::buffer::View;

/// Elements of an accessor without a view, which takes no bytes of the file: so many vertices are a large mesh.
const MOST_ZEROS: usize = 1 << 24;

/// An accessor that no reader may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccessorError {
    accessor: usize,
    /// What of it, where it is sparse.
    part: &'static str,
    problem: Problem,
}

#[derive(Debug, PartialEq, Eq)]
enum Problem {
    /// It has no elements.
    Empty,
    /// Too many elements, which are all zero at first.
    Zeros { count: usize },
    /// More elements are replaced than there are.
    Sparse { replaced: usize, count: usize },
    /// Elements overlap.
    Stride { view: usize, stride: usize, size: usize },
    /// Its elements are not all in the view.
    BeyondView { view: usize, length: usize },
    /// The view is not all in the buffer.
    BeyondBuffer { view: usize, buffer: usize, length: usize },
}

impl std::error::Error for AccessorError {}

impl Display for AccessorError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { accessor, part, problem } = self;
        write!(f, "accessor {accessor}{part}: ")?;
        match problem {
            Problem::Empty => write!(f, "it has no elements"),
            Problem::Zeros { count } => {
                write!(f, "{count} elements without a bufferView; at most {MOST_ZEROS} are read")
            }
            Problem::Sparse { replaced, count } => {
                write!(f, "{replaced} of {count} elements are replaced")
            }
            Problem::Stride { view, stride, size } => {
                write!(
                    f,
                    "bufferView {view} has byteStride {stride}, less than an element's {size} bytes"
                )
            }
            Problem::BeyondView { view, length } => {
                write!(f, "its elements end behind bufferView {view}, which has {length} bytes")
            }
            Problem::BeyondBuffer { view, buffer, length } => {
                write!(f, "bufferView {view} ends behind buffer {buffer}, which has {length} bytes")
            }
        }
    }
}

/// Checks that all elements of an accessor can be read, by
/// [the specification's rules](https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#data-alignment).
pub(super) fn check(accessor: &Accessor<'_>) -> Result<(), AccessorError> {
    let error = |part, problem| AccessorError { accessor: accessor.index(), part, problem };
    let (count, size) = (accessor.count(), accessor.size());
    if count == 0 {
        return Err(error("", Problem::Empty));
    }
    match accessor.view() {
        Some(view) => within(&view, accessor.offset(), count, size).map_err(|p| error("", p))?,
        None if count > MOST_ZEROS => return Err(error("", Problem::Zeros { count })),
        None => {}
    }
    let Some(sparse) = accessor.sparse() else { return Ok(()) };
    let replaced = sparse.count();
    if replaced == 0 || replaced > count {
        return Err(error("", Problem::Sparse { replaced, count }));
    }
    let (indices, values) = (sparse.indices(), sparse.values());
    within(&indices.view(), indices.offset(), replaced, indices.index_type().size())
        .map_err(|problem| error(", sparse indices", problem))?;
    within(&values.view(), values.offset(), replaced, size)
        .map_err(|problem| error(", sparse values", problem))
}

/// Checks that elements lie apart, in their view, and that in its buffer.
fn within(view: &View<'_>, offset: usize, count: usize, size: usize) -> Result<(), Problem> {
    let stride = view.stride().unwrap_or(size);
    if stride < size {
        return Err(Problem::Stride { view: view.index(), stride, size });
    }
    let before_last = stride.checked_mul(count.saturating_sub(1));
    let end = before_last.and_then(|bytes| offset.checked_add(bytes)?.checked_add(size));
    if end.is_none_or(|end| end > view.length()) {
        return Err(Problem::BeyondView { view: view.index(), length: view.length() });
    }
    let (buffer, length) = (view.buffer().index(), view.buffer().length());
    let end = view.offset().checked_add(view.length());
    if end.is_none_or(|end| end > length) {
        return Err(Problem::BeyondBuffer { view: view.index(), buffer, length });
    }
    Ok(())
}
