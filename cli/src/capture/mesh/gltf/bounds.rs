//! Checks that accessors lie within their buffers. The `gltf` crate relies on that, and panics
//! otherwise.

use std::fmt::{self, Display, Formatter};

use gltf::Accessor;
use gltf::buffer::View;

/// The maximum number of elements of an accessor without a buffer view. The size of the file does not limit this
/// number, because such elements take no bytes in the file.
const MOST_ZEROS: usize = 1 << 24;

/// The reason why the elements of an accessor cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccessorError {
    accessor: usize,
    /// The part of a sparse accessor that cannot be read; empty for other accessors.
    part: &'static str,
    problem: Problem,
}

#[derive(Debug, PartialEq, Eq)]
enum Problem {
    /// The accessor has no elements.
    Empty,
    /// An accessor without a buffer view has too many elements.
    Zeros { count: usize },
    /// A sparse accessor replaces more elements than it has.
    Sparse { replaced: usize, count: usize },
    /// The stride is smaller than an element.
    Stride { view: usize, stride: usize, size: usize },
    /// The elements are not all within the buffer view.
    BeyondView { view: usize, length: usize },
    /// The buffer view is not within the buffer.
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

/// Checks that all elements of an accessor can be read, according to [the specification's
/// rules](https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html#data-alignment).
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

/// Checks that the elements do not overlap and lie within their buffer view, and that the view lies within its buffer.
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
