//! Vertex shaders in [WGSL](https://www.w3.org/TR/WGSL/).
//!
//! Push constants are declared with naga's current keyword, `var<immediate>`, or its former one, `var<push_constant>`.

use naga::Span;

use super::isolated::{check_nesting, isolated};
use super::tokens::{Tokens, location};
use super::{FrontendError, SourceLocation, compile, messages};

/// Compiles a vertex shader. `entry_point` is the name of its function; `None` selects the only
/// vertex shader. `override` constants have their default values.
///
/// # Errors
/// [`FrontendError`] with naga's message, and the position in the source.
pub fn vertex_shader(source: &str, entry_point: Option<&str>) -> Result<Vec<u32>, FrontendError> {
    vertex_shader_with(source, entry_point, &[])
}

/// Compiles a vertex shader with values for [`override` constants](https://www.w3.org/TR/WGSL/#override-decls), which
/// are given like the `constants` of [a stage in WebGPU](https://www.w3.org/TR/webgpu/#dictdef-gpuprogrammablestage):
/// each by the constant's `@id` as a decimal number, or by its name if it has no `@id`. A value is converted to the
/// constant's type. If a constant is given several values, the last value is used. A constant that is given no value
/// has its default, which may be computed from other constants.
///
/// ```
/// use vkxfb_rewriter::frontend::{FrontendError, wgsl};
///
/// let source = "
///     @id(3) override scale: f32;
///     override offset = 0.5;
///     @vertex fn main() -> @builtin(position) vec4f { return vec4f(scale + offset); }";
/// let words = wgsl::vertex_shader_with(source, None, &[("3", 2.0), ("offset", 1.0)])?;
/// assert_ne!(words, wgsl::vertex_shader_with(source, None, &[("3", 2.0)])?);
/// assert!(matches!(wgsl::vertex_shader(source, None), Err(FrontendError::NoValue { key }) if key == "3"));
/// # Ok::<(), FrontendError>(())
/// ```
///
/// # Errors
/// Those of [`vertex_shader`]; and [`FrontendError::NoValue`], [`FrontendError::NoOverride`] and
/// [`FrontendError::OverrideValue`] if the values do not match the constants of the source.
pub fn vertex_shader_with(
    source: &str,
    entry_point: Option<&str>,
    overrides: &[(&str, f64)],
) -> Result<Vec<u32>, FrontendError> {
    let tokens = Tokens::of(source);
    if let Some(sign) = (0..tokens.list().len()).find(|index| tokens.text(*index) == "#") {
        return Err(FrontendError::Unsupported {
            location: tokens.location(sign),
            what: format!("'#{}'", tokens.text(sign + 1)),
            advice: "WGSL has no preprocessor, pass the source that yours makes (naga_oil of bevy's)",
        });
    }
    check_nesting(&tokens)?;
    let source = &with_immediates(source, &tokens);
    isolated(|| {
        let module =
            naga::front::wgsl::parse_str(source).map_err(|error| FrontendError::Source {
                location: error.labels().find_map(|(span, _)| place(span, source)),
                message: error.message().to_owned(),
            })?;
        compile(module, entry_point, overrides, |error| FrontendError::Source {
            location: error.spans().find_map(|(span, _)| place(*span, source)),
            message: messages(error.as_inner()),
        })
    })
}

fn place(span: Span, source: &str) -> Option<SourceLocation> {
    Some(location(source, span.to_range()?.start))
}

/// Replaces `var<push_constant>` by `var<immediate>`. All other bytes keep their positions.
fn with_immediates(source: &str, tokens: &Tokens<'_>) -> String {
    const OLD: &str = "push_constant";
    let mut text = source.to_owned();
    for (index, range) in tokens.list().iter().enumerate() {
        let is_space =
            index >= 2 && tokens.text(index - 1) == "<" && tokens.text(index - 2) == "var";
        if is_space && tokens.text(index) == OLD {
            text.replace_range(
                range.clone(),
                &format!("{:width$}", "immediate", width = OLD.len()),
            );
        }
    }
    text
}
