//! Compiles vertex shaders that are modules of [naga], for an application that parsed its shaders with naga already, or
//! that composes modules itself.
//!
//! Modules whose blocks are nested too deeply are refused. The depth of expressions is not checked: a module that a
//! program built with tens of thousands of nested operations may overflow naga's stack, which terminates the process.

use naga::Module;

use super::isolated::{check_blocks, isolated};
use super::{FrontendError, compile, messages};

/// Compiles a vertex shader to the words that [`wgsl::vertex_shader`](super::wgsl::vertex_shader) returns for the
/// source of the module. `entry_point` is the name of the shader; `None` selects the only vertex shader. `override`
/// constants have their default values.
///
/// The module may have other shaders, and need not be validated.
///
/// ```
/// use vkxfb_rewriter::frontend::{FrontendError, module, wgsl};
/// use vkxfb_rewriter::naga;
///
/// let source = "@vertex fn main() -> @builtin(position) vec4f { return vec4f(1.0); }";
/// let parsed = naga::front::wgsl::parse_str(source).unwrap();
/// assert_eq!(module::vertex_shader(&parsed, None)?, wgsl::vertex_shader(source, None)?);
/// # Ok::<(), FrontendError>(())
/// ```
///
/// # Errors
/// [`FrontendError`] with naga's message, without a position; [`FrontendError::Nesting`] for blocks that are nested too
/// deeply, [`FrontendError::NoVertexShader`].
pub fn vertex_shader(
    module: &Module,
    entry_point: Option<&str>,
) -> Result<Vec<u32>, FrontendError> {
    vertex_shader_with(module, entry_point, &[])
}

/// Compiles a vertex shader with values for `override` constants, as
/// [`wgsl::vertex_shader_with`](super::wgsl::vertex_shader_with) takes them.
///
/// # Errors
/// Those of [`vertex_shader`]; and [`FrontendError::NoValue`], [`FrontendError::NoOverride`] and
/// [`FrontendError::OverrideValue`] if the values do not match the constants of the module.
pub fn vertex_shader_with(
    module: &Module,
    entry_point: Option<&str>,
    overrides: &[(&str, f64)],
) -> Result<Vec<u32>, FrontendError> {
    check_blocks(module)?;
    isolated(|| {
        compile(module.clone(), entry_point, overrides, |error| FrontendError::Source {
            location: None,
            message: messages(error.as_inner()),
        })
    })
}
