//! Checks that accessors lie within their buffers. The `gltf` crate relies on that, and panics
//! otherwise.

use std::fmt::{self, Display, Formatter};

use gltf::Accessor;
use gltf::buffer::View;

/// The reason why the elements of an accessor cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccessorError {
    accessor: usize,
    problem: Problem,
}

#[derive(Debug, PartialEq, Eq)]
enum Problem {
    /// The accessor has no elements.
    Empty,
    /// The accessor is sparse: it replaces some elements of its buffer view, or of zeros.
    Sparse,
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
        let Self { accessor, problem } = self;
        write!(f, "accessor {accessor}: ")?;
        match problem {
            Problem::Empty => write!(f, "it has no elements"),
            Problem::Sparse => write!(f, "it is sparse, which is not read"),
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
    let problem = match accessor.view() {
        _ if accessor.count() == 0 => Some(Problem::Empty),
        Some(view) if accessor.sparse().is_none() => beyond(&view, accessor),
        // The `gltf` crate refuses an accessor that has neither a view nor is sparse.
        _ => Some(Problem::Sparse),
    };
    match problem {
        Some(problem) => Err(AccessorError { accessor: accessor.index(), problem }),
        None => Ok(()),
    }
}

/// Returns why the elements of an accessor overlap, or do not lie within their buffer view, or the view not within its
/// buffer. `None` if all is right.
fn beyond(view: &View<'_>, accessor: &Accessor<'_>) -> Option<Problem> {
    let size = accessor.size();
    let stride = view.stride().unwrap_or(size);
    if stride < size {
        return Some(Problem::Stride { view: view.index(), stride, size });
    }
    let before_last = stride.checked_mul(accessor.count().saturating_sub(1));
    let end = before_last.and_then(|bytes| accessor.offset().checked_add(bytes)?.checked_add(size));
    if end.is_none_or(|end| end > view.length()) {
        return Some(Problem::BeyondView { view: view.index(), length: view.length() });
    }
    let (buffer, length) = (view.buffer().index(), view.buffer().length());
    let end = view.offset().checked_add(view.length());
    if end.is_none_or(|end| end > length) {
        return Some(Problem::BeyondBuffer { view: view.index(), buffer, length });
    }
    None
}
