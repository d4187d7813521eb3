//! This module reduces a geometry shader to one vertex stream, for a driver that rasterizes this
//! stream and does not support others.
//!
//! `GeometryStreams` is a feature of `VK_EXT_transform_feedback`. A driver without the extension gets a module that
//! emits to a single stream, without the instructions and decorations for streams. Instructions that emit to other
//! streams are removed. Outputs of other streams that the shader only writes are removed too, because their locations
//! may overlap those of other outputs. Outputs of other streams that the shader also reads stay, without the decoration
//! `Stream`; built-in outputs always stay.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Capability, Decoration, ExecutionModel, Op, StorageClass};

use crate::lower::interface::{built_in, decoration_of};
use crate::spirv::declarations::{Declarations, Variable};
use crate::spirv::emit::Code;
use crate::spirv::entry_point::{
    entry_points, remove_annotations, remove_debug_info, remove_from_interfaces,
};
use crate::spirv::types::{has_built_in_members, structure_of};
use crate::spirv::{Id, Instruction, Module, ParseError, Section, ids_of};

/// Reduces the geometry shaders of a module to one vertex stream: the stream that is rasterized
/// ([`VkPipelineRasterizationStateStreamCreateInfoEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineRasterizationStateStreamCreateInfoEXT.html)).
/// If the module does not use streams, and `stream` is 0, the words are returned unchanged and borrowed.
///
/// Call [`strip_xfb`](super::strip::strip_xfb) first: transform feedback decorations of the other streams would be
/// invalid afterwards.
///
/// # Errors
/// The words are not a SPIR-V module.
pub fn strip_streams(words: &[u32], stream: u32) -> Result<Cow<'_, [u32]>, ParseError> {
    let mut module = Module::parse(words)?;
    let emits = |i: Instruction<'_>| {
        let has_stream = matches!(i.op(), Some(Op::EmitStreamVertex | Op::EndStreamPrimitive));
        has_stream || (stream != 0 && matches!(i.op(), Some(Op::EmitVertex | Op::EndPrimitive)))
    };
    let is_capability = |i: Instruction<'_>| i.operand(0) == Capability::GeometryStreams as u32;
    let has_streams = module.section(Section::Functions).any(emits)
        || module.section(Section::Capabilities).any(is_capability)
        || module.section(Section::Annotations).any(is_stream);
    if !has_streams {
        return Ok(Cow::Borrowed(words));
    }
    let declarations = Declarations::of(&module);
    remove_outputs(&mut module, &declarations, stream);
    let is_other = |i: Instruction<'_>| match i.op() {
        Some(Op::EmitStreamVertex | Op::EndStreamPrimitive) => {
            declarations.constant(i.id(0)).unwrap_or(0) != stream
        }
        Some(Op::EmitVertex | Op::EndPrimitive) => stream != 0,
        _ => false,
    };
    module.retain(Section::Functions, |i| !is_other(i));
    module.replace(Section::Functions, |i| {
        let op = match i.op()? {
            Op::EmitStreamVertex => Op::EmitVertex,
            Op::EndStreamPrimitive => Op::EndPrimitive,
            _ => return None,
        };
        let mut code = Code::default();
        code.push(op, &[]);
        Some(code.words().to_vec())
    });
    module.retain(Section::Annotations, |i| !is_stream(i));
    module.remove_capability(Capability::GeometryStreams);
    // The module need not have declared Geometry, which GeometryStreams implies.
    module.add_capability(Capability::Geometry);
    Ok(Cow::Owned(module.words()))
}

fn is_stream(i: Instruction<'_>) -> bool {
    decoration_of(i) == Some(Decoration::Stream as u32)
}

/// Removes outputs of other streams that the shader only writes.
fn remove_outputs(module: &mut Module, declarations: &Declarations, stream: u32) {
    let all = geometry_interface(module);
    let is_other = |variable: &&Variable| {
        all.contains(&variable.id)
            && !has_built_ins(declarations, variable)
            && stream_of_variable(declarations, variable).is_some_and(|of| of != stream)
    };
    let outputs = declarations.variables(StorageClass::Output).filter(is_other);
    // `roots` maps each pointer into one of `outputs` to the output that it points into.
    let mut roots: FxHashMap<Id, Id> = outputs.map(|variable| (variable.id, variable.id)).collect();
    let mut kept: FxHashSet<Id> = FxHashSet::default();
    for i in module.section(Section::Functions) {
        match i.op() {
            Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                if let Some(root) = roots.get(&i.id(2)).copied() {
                    roots.insert(i.id(1), root);
                    continue;
                }
            }
            Some(Op::Store) if !roots.contains_key(&i.id(1)) => continue,
            _ => {}
        }
        kept.extend(ids_of(i).iter().filter_map(|id| roots.get(id)));
    }
    roots.retain(|_, root| !kept.contains(root));
    module.retain(Section::Functions, |i| match i.op() {
        Some(Op::Store) => !roots.contains_key(&i.id(0)),
        Some(Op::AccessChain | Op::InBoundsAccessChain) => !roots.contains_key(&i.id(1)),
        _ => true,
    });
    module.retain(Section::Declarations, |i| !(i.is(Op::Variable) && roots.contains_key(&i.id(1))));
    let mut removed = module.id_set();
    removed.extend(roots.into_keys());
    remove_debug_info(module, &mut removed);
    remove_annotations(module, &removed);
    remove_from_interfaces(module, &removed);
}

/// Returns the variables that are in interfaces of geometry shaders, and in no interface of another
/// stage.
fn geometry_interface(module: &Module) -> FxHashSet<Id> {
    let (mut geometry, mut others) = (FxHashSet::default(), FxHashSet::default());
    for (_, entry) in entry_points(module) {
        let is_geometry = entry.model == ExecutionModel::Geometry;
        if is_geometry { &mut geometry } else { &mut others }.extend(entry.interface);
    }
    geometry.retain(|id| !others.contains(id));
    geometry
}

fn has_built_ins(declarations: &Declarations, variable: &Variable) -> bool {
    built_in(declarations, variable.id).is_some()
        || structure_of(declarations, variable.pointee)
            .is_some_and(|(ty, members)| has_built_in_members(declarations, ty, members))
}

/// Returns the stream of an output; `None` if the output is a structure whose members have different streams.
fn stream_of_variable(declarations: &Declarations, variable: &Variable) -> Option<u32> {
    let own = declarations.decoration_value(variable.id, Decoration::Stream).unwrap_or(0);
    let Some((ty, members)) = structure_of(declarations, variable.pointee) else {
        return Some(own);
    };
    let of_member = |member| {
        declarations.member_decoration_value(ty, member, Decoration::Stream).unwrap_or(own)
    };
    let first = if members.is_empty() { own } else { of_member(0) };
    (0..members.len() as u32).all(|member| of_member(member) == first).then_some(first)
}
