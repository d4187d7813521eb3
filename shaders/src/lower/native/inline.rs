//! This module finds the captures of a layout for which decorating the shader's own outputs is
//! enough.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Decoration, Op, StorageClass};

use crate::capture::{CapturedOutput, Layout, pieces_of};
use crate::lower::interface;
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::types::block_type;
use crate::spirv::{Id, Module, Section};

/// A variable, or a member of a block, that is decorated for capture.
#[derive(Debug, Clone, Copy)]
pub(super) struct InlinedOutput {
    /// The variable, or the type of the block.
    id: Id,
    /// The number of the member in the block; `None` for a variable.
    member: Option<u32>,
    buffer: u32,
    stride: u32,
    offset: u32,
}

impl InlinedOutput {
    pub(super) fn decorate(&self, module: &mut Module) {
        for (decoration, value) in [
            (Decoration::XfbBuffer, self.buffer),
            (Decoration::XfbStride, self.stride),
            (Decoration::Offset, self.offset),
        ] {
            decorate(module, self.id, self.member, decoration, value);
        }
    }
}

fn decorate(module: &mut Module, id: Id, member: Option<u32>, decoration: Decoration, value: u32) {
    match member {
        None => {
            let operands = [id.0, decoration as u32, value];
            module.push(Section::Annotations, Op::Decorate, &operands);
        }
        Some(member) => {
            let operands = [id.0, member, decoration as u32, value];
            module.push(Section::Annotations, Op::MemberDecorate, &operands);
        }
    }
}

/// Identifies a dword of an output: the variable, the path to a scalar, a vector or a matrix column
/// in it, and the number of the dword in this value.
type Dword = (Id, Vec<u32>, u32);

/// For each captured dword, all positions to which it is captured: the index of the captured output in the layout, the
/// number of the buffer, and the offset in bytes in a record.
type Destinations = FxHashMap<Dword, Vec<(usize, u32, u32)>>;

/// Returns the variables and members to decorate, and the layout of the other captures.
pub(super) fn inline(
    declarations: &Declarations,
    entry: &EntryPoint,
    layout: &Layout,
) -> (Vec<InlinedOutput>, Layout) {
    let mut destinations = Destinations::default();
    for (index, output) in layout.outputs.iter().enumerate() {
        let variable = declarations.variable(output.variable);
        let ty = variable.and_then(|v| declarations.type_at(v.pointee, &output.path));
        let dwords_each = output.bits / 32;
        // A list may capture one component of a vector: the path then has one index more than that
        // of the vector. The dwords are identified by the path of the vector.
        let parent = output.path.split_last().filter(|(_, parent)| {
            let of = variable.and_then(|v| declarations.type_at(v.pointee, parent));
            ty.is_some()
                && matches!(of.and_then(|of| declarations.ty(of)), Some(Type::Vector { .. }))
        });
        let (path, first) = match parent {
            Some((component, parent)) => (parent, component * dwords_each),
            None => (output.path.as_slice(), 0),
        };
        for dword in 0..output.dwords() {
            destinations
                .entry((output.variable, path.to_vec(), first + dword))
                .or_default()
                .push((index, output.buffer, output.offset + dword * 4));
        }
    }

    let mut inlined = Vec::new();
    let mut done = FxHashSet::default();
    for unit in units(declarations, entry) {
        let Some((buffer, offset, outputs)) = unit.place(declarations, layout, &destinations)
        else {
            continue;
        };
        let Some(stride) = layout.strides[buffer as usize] else { continue };
        // All members of a block must be captured to the same buffer.
        let is_elsewhere =
            |t: &InlinedOutput| t.member.is_some() && t.id == unit.target.0 && t.buffer != buffer;
        if unit.target.1.is_some() && inlined.iter().any(is_elsewhere) {
            continue;
        }
        done.extend(outputs);
        let (id, member) = unit.target;
        inlined.push(InlinedOutput { id, member, buffer, stride, offset });
    }
    let left = layout.outputs.iter().enumerate().filter(|(index, _)| !done.contains(index));
    let outputs = left.map(|(_, output)| output.clone()).collect();
    let mut rest = Layout { outputs, streams: layout.streams, ..Layout::default() };
    for output in &rest.outputs {
        rest.strides[output.buffer as usize] = layout.strides[output.buffer as usize];
    }
    (inlined, rest)
}

/// A variable or a member of a block, whose value may be captured as a whole by decorating it.
struct Unit {
    /// The variable; or the type of a block, and the number of its member.
    target: (Id, Option<u32>),
    variable: Id,
    path: Vec<u32>,
    ty: Id,
}

impl Unit {
    /// Finds a buffer and an offset in bytes at which the layout captures the whole variable or
    /// member, in the order in which a driver captures it. Also returns the indices in the layout
    /// of the captured outputs that the variable or member consists of. `None` if it cannot be
    /// captured by decorating it.
    fn place(
        &self,
        declarations: &Declarations,
        layout: &Layout,
        destinations: &Destinations,
    ) -> Option<(u32, u32, FxHashSet<usize>)> {
        let pieces = pieces_of(declarations, self.variable, self.path.clone(), self.ty);
        if has_padding(&pieces) {
            return None;
        }
        let wide = pieces.iter().any(|piece| piece.bits == 64);
        for (_, buffer, base) in self.captured(destinations, pieces.first()?, 0) {
            let stride = layout.strides.get(*buffer as usize).copied().flatten()?;
            if wide && !(base.is_multiple_of(8) && stride.is_multiple_of(8)) {
                continue;
            }
            let dwords =
                pieces.iter().flat_map(|piece| (0..piece.dwords()).map(move |d| (piece, d)));
            let found: Option<FxHashSet<usize>> = dwords
                .map(|(piece, dword)| {
                    let offset = base + piece.offset + dword * 4;
                    let is_there = |(_, b, o): &&(usize, u32, u32)| b == buffer && *o == offset;
                    let captured = self.captured(destinations, piece, dword);
                    captured.iter().find(is_there).map(|(index, ..)| *index)
                })
                .collect();
            if let Some(found) = found {
                return Some((*buffer, *base, found));
            }
        }
        None
    }

    /// Returns the positions to which a dword of the variable or member is captured: captured outputs, buffers and
    /// offsets ([`Destinations`]).
    fn captured<'d>(
        &self,
        destinations: &'d Destinations,
        piece: &CapturedOutput,
        dword: u32,
    ) -> &'d [(usize, u32, u32)] {
        let key = (self.variable, piece.path.clone(), dword);
        destinations.get(&key).map_or(&[], Vec::as_slice)
    }
}

/// Lists the variables and members of blocks that may be captured by decorating them.
fn units(declarations: &Declarations, entry: &EntryPoint) -> Vec<Unit> {
    let mut units = Vec::new();
    // If a buffer uses a structure too, its members are decorated with their offsets in the buffer. The driver would
    // take these for offsets in the capture buffer.
    let buffers = interface::buffer_structures(declarations);
    let has_offsets = |ty| !interface::structures(declarations, vec![ty]).is_disjoint(&buffers);
    for variable in declarations.variables(StorageClass::Output) {
        let Variable { id, pointee, .. } = *variable;
        if !entry.interface.contains(&id) {
            continue;
        }
        match block_type(declarations, pointee) {
            None if !has_offsets(pointee) => {
                units.push(Unit { target: (id, None), variable: id, path: vec![], ty: pointee });
            }
            Some(block)
                if block.length.is_none()
                    && !has_offsets(pointee)
                    && !interface::structures_of_others(declarations, variable)
                        .contains(&block.ty) =>
            {
                let members = (0u32..).zip(block.members);
                units.extend(members.map(|(member, ty)| Unit {
                    target: (block.ty, Some(member)),
                    variable: id,
                    path: vec![member],
                    ty: *ty,
                }));
            }
            _ => {}
        }
    }
    units
}

/// Whether there is padding between the scalars, vectors and columns of a value, because 64-bit components are
/// aligned.
fn has_padding(pieces: &[CapturedOutput]) -> bool {
    pieces.windows(2).any(|pair| pair[0].offset + pair[0].size() != pair[1].offset)
}
