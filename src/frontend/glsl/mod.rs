//! Compiles vertex shaders in GLSL for Vulkan (`GL_KHR_vulkan_glsl`) with naga: versions 140 to
//! 460, 310 es and 320 es, a single file without `#include`, without combined image samplers and
//! `xfb_*` layouts.
//!
//! naga supports a subset of the language. Declarations without effect, such as that of
//! `gl_PerVertex`, are removed from the source first, and code that naga would misinterpret is
//! replaced (`rewrite`). The inputs and outputs in naga's module are corrected (`interface`). If
//! the source uses anything else that is not supported, the error says what it is and what to do
//! (`explain`). `VULKAN` is defined as 100; `__VERSION__` and `GL_ES` are defined according to the
//! source's `#version`.
//!
//! Each element of an array and each column of a matrix is a separate output, with the name `a[0]`,
//! `a[1]`, and so on; a member of a block or a structure is an output with the name of the member.
//! If a shader does not write `gl_Position`, that output is zero.

mod explain;
mod interface;
mod rewrite;

use naga::ShaderStage;
use naga::front::glsl::{Frontend, Options};

use super::isolated::{check_nesting, isolated};
use super::tokens::Tokens;
use super::{FrontendError, compile};

/// Compiles a vertex shader, whose entry point is `main`.
///
/// # Errors
/// [`FrontendError`] with naga's first message, and the position in the source;
/// [`FrontendError::CaptureLayout`] for a source with layouts for captures.
pub fn vertex_shader(source: &str) -> Result<Vec<u32>, FrontendError> {
    // A byte order mark is not part of the text.
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let tokens = Tokens::of(source, false);
    let layout = ["xfb_buffer", "xfb_offset", "xfb_stride"];
    let qualifier = |index: &usize| layout.contains(&tokens.text(*index));
    if let Some(index) = (0..tokens.list().len()).find(qualifier)
        && let Some(location) = tokens.location(index)
    {
        let qualifier = tokens.text(index).to_owned();
        return Err(FrontendError::CaptureLayout { location, qualifier });
    }
    check_nesting(&tokens)?;
    let rewritten = rewrite::rewrite(source, &tokens);
    let mut options = Options::from(ShaderStage::Vertex);
    options.defines.extend(rewritten.defines());
    isolated(|| {
        let explain = explain::Explain { tokens: &tokens, source, rewritten: &rewritten };
        let mut module = Frontend::default()
            .parse(&options, &rewritten.text)
            .map_err(|errors| explain.parse_errors(&errors))?;
        explain.check(&module)?;
        interface::mend(&mut module, &rewritten.array_sizes);
        compile(module, None, &[], |error| explain.validation(error))
    })
}
