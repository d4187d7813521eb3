//! Vertex shaders in GLSL for Vulkan (`GL_KHR_vulkan_glsl`), as far as naga reads it: the versions 140 to
//! 460, 310 es and 320 es, one file without `#include`, without combined image samplers and `xfb_*` layouts.
//!
//! naga takes a smaller language. What changes nothing is taken out of the source before, such as the
//! declaration of `gl_PerVertex`, and what naga would misread is written otherwise (`rewrite`); what it
//! makes of inputs and outputs is mended (`interface`); of the rest an error says what it is and what to do
//! (`explain`). `VULKAN` is defined as 100, `__VERSION__` and `GL_ES` as the source's `#version` has it.
//!
//! Each element of an array and each column of a matrix is an output of its own, named `a[0]`, `a[1]`, and
//! so on; a member of a block or a structure is one with the member's name. A shader that does not write
//! `gl_Position` has one of zeros.

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
/// [`FrontendError`] with naga's first message, and where in the source it is;
/// [`FrontendError::CaptureLayout`] for a source that says itself what is captured.
pub fn vertex_shader(source: &str) -> Result<Vec<u32>, FrontendError> {
    // An editor's mark, and no part of the text.
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
        compile(module, None, |error| explain.validation(error))
    })
}
