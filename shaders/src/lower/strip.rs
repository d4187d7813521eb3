//! This module removes transform feedback from a SPIR-V module, for a driver that must not capture
//! because another backend does.
//!
//! The pass removes everything that enables capture in the driver, for every entry point and stage:
//! the execution mode `Xfb`; the capability `TransformFeedback`, which must not be given to a
//! driver without `VK_EXT_transform_feedback`; and the decorations `XfbBuffer`, `XfbStride` and, of
//! outputs, `Offset` ([SPIR-V 1.6, 3.20
//! "Decoration"](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#Decoration)).
//!
//! If the module has the capability `Shader` only because `TransformFeedback` implies it, `Shader`
//! is declared instead of `TransformFeedback`.
//!
//! The decoration `Stream` and the capability `GeometryStreams` are kept, because they also
//! determine what a geometry shader emits to the rasterized stream. All other words are unchanged,
//! including debug info and unknown instructions, except that decoration groups are expanded, as in
//! all modules that this crate writes.

use std::borrow::Cow;

use spirv::{Capability, Decoration, ExecutionMode, StorageClass};

use super::interface::{decoration_of, strip_decorations};
use crate::spirv::declarations::Declarations;
use crate::spirv::{Module, ParseError, Section};

/// The capability `Shader`, and capabilities that imply it. A module that declares one of them has the capability
/// `Shader` without `TransformFeedback`, too. Other capabilities imply `Shader` as well. For a module with only those,
/// `Shader` is declared, which is harmless.
const IMPLYING_SHADER: [Capability; 3] =
    [Capability::Shader, Capability::Geometry, Capability::Tessellation];

/// Removes transform feedback from a module. If there is none, the words are returned unchanged and
/// borrowed.
///
/// # Errors
/// The words are not a SPIR-V module.
pub fn strip_xfb(words: &[u32]) -> Result<Cow<'_, [u32]>, ParseError> {
    let mut module = Module::parse(words)?;
    if !has_xfb(&module) {
        return Ok(Cow::Borrowed(words));
    }
    let declarations = Declarations::of(&module);
    strip(&mut module, &declarations);
    Ok(Cow::Owned(module.words()))
}

/// Whether the module has the capability `TransformFeedback` or an instruction that requires it.
fn has_xfb(module: &Module) -> bool {
    let is_capability = |operand| operand == Capability::TransformFeedback as u32;
    module.section(Section::Capabilities).any(|i| is_capability(i.operand(0)))
        || module.section(Section::ExecutionModes).any(|i| is_xfb_mode(i.operand(1)))
        || module.section(Section::Annotations).any(|i| decoration_of(i).is_some_and(is_of_buffer))
}

/// Removes transform feedback, as [`strip_xfb`] does, from a module that is being rewritten.
pub(super) fn strip(module: &mut Module, declarations: &Declarations) {
    strip_decorations(module, declarations, &[StorageClass::Output], &[Decoration::Offset]);
    // `strip_decorations` changes only structures that variables use. The decorations `XfbBuffer` and `XfbStride` of
    // all other structures are removed here, because they are invalid without the capability `TransformFeedback`.
    module.retain(Section::Annotations, |i| !decoration_of(i).is_some_and(is_of_buffer));
    module.retain(Section::ExecutionModes, |i| !is_xfb_mode(i.operand(1)));
    // The module may lack a declaration of `Shader`, which `TransformFeedback` implies.
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
