//! Vertex shaders in [WGSL](https://www.w3.org/TR/WGSL/).

use super::{FrontendError, SourceLocation, compile};

/// Compiles a vertex shader. `entry_point` is its name; `None` takes the only one.
///
/// # Errors
/// [`FrontendError`] with naga's message, and where in the source it is.
pub fn vertex_shader(source: &str, entry_point: Option<&str>) -> Result<Vec<u32>, FrontendError> {
    let module = naga::front::wgsl::parse_str(source).map_err(|error| FrontendError::Source {
        location: error.location(source).map(SourceLocation::from),
        message: error.message().to_owned(),
    })?;
    compile(&module, source, entry_point)
}
