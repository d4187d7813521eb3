//! The shader as it is, for the driver's own `VK_EXT_transform_feedback`.

use super::{Backend, LowerError, Lowered};
use crate::capture::Layout;
use crate::spirv::Module;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::find_vertex_shader;

/// Checks a vertex shader with capture decorations, and leaves it unchanged. `entry_point` is its name;
/// `None` takes the only one.
///
/// # Errors
/// [`LowerError`]: no module, no vertex shader, or nothing to capture.
pub fn lower(words: &[u32], entry_point: Option<&str>) -> Result<Lowered, LowerError> {
    let module = Module::parse(words)?;
    let entry = find_vertex_shader(&module, entry_point)?;
    let declarations = Declarations::of(&module);
    Ok(Lowered {
        backend: Backend::Native,
        words: words.to_vec(),
        layout: Layout::from_decorations(&module, &declarations, &entry)?,
        entry_point: entry.name,
        topology_spec_ids: None,
        attribute_locations: Vec::new(),
        workgroup_size: 0,
        has_side_effects: super::interface::has_side_effects(&module, &declarations),
    })
}
