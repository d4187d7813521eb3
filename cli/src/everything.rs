//! Chooses the captured outputs of a shader that has no transform feedback decorations.

use anyhow::Result;
use spirv::StorageClass;
use vkxfb_rewriter::capture::{BufferMode, CaptureError, CaptureList, Layout};
use vkxfb_rewriter::capture::{InterfaceVariable, interface_variables};
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::EntryPoint;

/// Returns a capture list with the position and all outputs that have locations, of the vertex stream `stream` or, if
/// that is `None`, of the first stream with such outputs. `None` if the shader has transform feedback decorations, or
/// has no such outputs. Other built-ins are left out, because shaders often declare them without writing them.
pub(super) fn list(shader: &Shader<'_>, stream: Option<u32>) -> Result<Option<CaptureList>> {
    let module = shader.module()?;
    let entry = shader.find(&module)?;
    let declarations = Declarations::of(&module);
    match Layout::from_decorations(&module, &declarations, &entry) {
        Err(CaptureError::NoXfbMode { .. } | CaptureError::NothingCaptured) => {}
        _ => return Ok(None),
    }
    let outputs = interface_variables(&declarations, &entry, StorageClass::Output);
    let mut outputs: Vec<_> = outputs
        .iter()
        .filter(|output| {
            output.size.is_some() && (is_position(output) || output.location.is_some())
        })
        .filter_map(|output| Some((name(output)?, stream_of(&declarations, &entry, output)?)))
        .collect();
    let first = outputs.iter().map(|(_, stream)| *stream).min();
    let stream = stream.or(first).unwrap_or(0);
    outputs.retain(|(_, own)| *own == stream);
    let mut names: Vec<String> = Vec::new();
    for (name, _) in outputs {
        names.push(name);
        let list =
            CaptureList::from_varyings(&declarations, &entry, &names, BufferMode::Interleaved);
        if let Err(CaptureError::Misaligned { .. }) = list {
            names.insert(names.len() - 1, "gl_SkipComponents1".to_owned());
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    tracing::debug!(?names, "all outputs are captured");
    Ok(Some(CaptureList::from_varyings(&declarations, &entry, &names, BufferMode::Interleaved)?))
}

fn is_position(output: &InterfaceVariable) -> bool {
    output.built_in_name().as_deref() == Some("Position")
}

/// Returns the name of an output in a capture list: the selector of its location or built-in, if it
/// has one, because its own name may not be unique.
fn name(output: &InterfaceVariable) -> Option<String> {
    output.selector.clone().or_else(|| output.name.clone())
}

/// Returns the vertex stream of an output. `None` if the output cannot be captured.
fn stream_of(
    declarations: &Declarations,
    entry: &EntryPoint,
    output: &InterfaceVariable,
) -> Option<u32> {
    let names = [name(output)?];
    let list = CaptureList::from_varyings(declarations, entry, &names, BufferMode::Interleaved);
    let layout = Layout::from_list(declarations, entry, &list.ok()?).ok()?;
    layout.captured_streams().first().copied()
}
