//! A module without transform feedback: for the driver, where somebody else captures.
//!
//! What goes is what makes a driver capture, of every entry point and of whatever stage: the execution mode
//! `Xfb`, the capability `TransformFeedback`, which a driver without `VK_EXT_transform_feedback` must not be
//! given, and the decorations `XfbBuffer`, `XfbStride` and, of outputs, `Offset`
//! ([SPIR-V 1.6, 3.20 "Decoration"](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#Decoration)).
//!
//! Where only that capability made the module a shader, `Shader` takes its place.
//!
//! `Stream` and the capability `GeometryStreams` stay: they also say what a geometry shader emits to the stream
//! that is rasterized. Everything else stays word for word, debug info and unknown instructions included; only
//! decoration groups are written out, as [`Module`] reads them.

use std::borrow::Cow;

use spirv::{Capability, Decoration, ExecutionMode, StorageClass};

use super::interface::{decoration_of, strip_decorations};
use crate::spirv::declarations::Declarations;
use crate::spirv::{Module, ParseError, Section};

/// Capabilities that make a module a shader, without one more.
const IMPLYING_SHADER: [Capability; 3] =
    [Capability::Shader, Capability::Geometry, Capability::Tessellation];

/// Takes transform feedback out of a module. Without any the words come back as they are, borrowed.
///
/// # Errors
/// The words are no SPIR-V module.
pub fn strip_xfb(words: &[u32]) -> Result<Cow<'_, [u32]>, ParseError> {
    let mut module = Module::parse(words)?;
    if !has_xfb(&module) {
        return Ok(Cow::Borrowed(words));
    }
    let declarations = Declarations::of(&module);
    strip(&mut module, &declarations);
    Ok(Cow::Owned(module.words()))
}

/// Whether there is anything that would be invalid without the capability, or the capability itself.
fn has_xfb(module: &Module) -> bool {
    let is_capability = |operand| operand == Capability::TransformFeedback as u32;
    module.section(Section::Capabilities).any(|i| is_capability(i.operand(0)))
        || module.section(Section::ExecutionModes).any(|i| is_xfb_mode(i.operand(1)))
        || module.section(Section::Annotations).any(|i| decoration_of(i).is_some_and(is_of_buffer))
}

/// The same for a module that is being rewritten.
pub(super) fn strip(module: &mut Module, declarations: &Declarations) {
    strip_decorations(module, declarations, &[StorageClass::Output], &[Decoration::Offset]);
    // Also of structures that no variable has any more: without the capability they may not be there.
    module.retain(Section::Annotations, |i| !decoration_of(i).is_some_and(is_of_buffer));
    module.retain(Section::ExecutionModes, |i| !is_xfb_mode(i.operand(1)));
    // It implies `Shader`, which a module then need not declare.
    let has = |which| module.section(Section::Capabilities).any(|i| i.operand(0) == which as u32);
    if has(Capability::TransformFeedback) && !IMPLYING_SHADER.into_iter().any(has) {
        module.edit(Section::Capabilities, |_, operands| {
            if *operands == [Capability::TransformFeedback as u32] {
                operands[0] = Capability::Shader as u32;
            }
        });
    }
    module.remove_capability(Capability::TransformFeedback);
}

fn is_xfb_mode(mode: u32) -> bool {
    mode == ExecutionMode::Xfb as u32
}

fn is_of_buffer(decoration: u32) -> bool {
    [Decoration::XfbBuffer, Decoration::XfbStride].iter().any(|d| *d as u32 == decoration)
}
