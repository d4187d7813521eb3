//! The shader as it is, for the driver's own `VK_EXT_transform_feedback`.

use super::{Backend, Captures, LowerError, Lowered, Shader};
use crate::spirv::Module;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::find_vertex_shader;

/// Checks a vertex shader with capture decorations, and leaves it unchanged.
///
/// # Errors
/// [`LowerError`]: no module, no vertex shader, nothing to capture, or a list in place of decorations.
pub fn lower(shader: &Shader<'_>) -> Result<Lowered, LowerError> {
    if let Captures::List(_) = shader.captures {
        return Err(LowerError::NativeList);
    }
    let module = Module::parse(shader.words)?;
    let entry = find_vertex_shader(&module, shader.entry_point)?;
    let declarations = Declarations::of(&module);
    Ok(Lowered {
        backend: Backend::Native,
        words: shader.words.to_vec(),
        layout: shader.layout(&module, &declarations, &entry)?,
        entry_point: entry.name,
        topology_spec_ids: None,
        attribute_locations: Vec::new(),
        workgroup_size: 0,
        has_side_effects: super::interface::has_side_effects(&module, &declarations),
    })
}
