//! This module generates the body of `store_record`, which stores the captured outputs with as few
//! and as wide stores as possible.

use spirv::{Op, StorageClass};

use super::functions::Function;
use crate::capture::{CapturedOutput, Layout};
use crate::spirv::Id;
use crate::spirv::NumericClass;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Linker};

/// Up to four contiguous captured dwords of a record, which one store writes.
#[derive(Debug, PartialEq, Eq)]
struct Chunk {
    /// The number of the first dword in the record.
    dword: u32,
    /// For each of the chunk's 1 to 4 dwords: the index of its captured output in the layout, and the number of the
    /// dword in this output.
    parts: Vec<(usize, u32)>,
}

/// Divides the captured dwords of a buffer's records into stores of up to four contiguous dwords.
fn chunks(layout: &Layout, buffer: usize) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    for (index, output) in layout.outputs.iter().enumerate() {
        if output.buffer as usize != buffer {
            continue;
        }
        for part in 0..output.dwords() {
            let dword = output.offset / 4 + part;
            match chunks.last_mut() {
                Some(last)
                    if last.dword + last.parts.len() as u32 == dword && last.parts.len() < 4 =>
                {
                    last.parts.push((index, part));
                }
                _ => chunks.push(Chunk { dword, parts: vec![(index, part)] }),
            }
        }
    }
    chunks
}

/// The value of up to four captured dwords that are contiguous in a record: a `u32`, or a vector of
/// `u32`.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredVector {
    pub(super) buffer: u32,
    /// The size in bytes of a record in `buffer`.
    pub(super) stride: u32,
    /// The offset in bytes of the first dword in the record.
    pub(super) offset: u32,
    /// The number of components, 1 to 4.
    pub(super) components: u32,
    pub(super) value: Id,
}

/// A store of `dwords` dwords at `index` dwords after an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Store {
    pub(super) index: Id,
    pub(super) value: Id,
    pub(super) dwords: u32,
    /// Whether the stored dwords are aligned to their size if the address is aligned to that size, for every value that
    /// `index` may have.
    pub(super) may_be_aligned: bool,
}

/// Generates `stores` relative to `address`: as wide stores in one branch, and as narrow stores in
/// another. The alignment of the address `tested` decides which branch is taken. `tested` must have
/// the same alignment as `address`. It may be the address of another record, which is the same for
/// all invocations, so that they take the same branch.
pub(super) fn store_tested(
    linker: &mut Linker<'_, '_>,
    code: &mut Code,
    tested: Id,
    address: Id,
    stores: &[Store],
) -> Result<(), LinkError> {
    let Some(widest) = widest(stores) else {
        return store_each(linker, code, address, stores, false);
    };
    let function = Function::MayStoreWide.id(linker)?;
    let builder = &mut linker.builder;
    let (bool_type, dwords) = (builder.bool(), builder.constant(widest));
    let is_aligned = code.call(builder, bool_type, function, &[tested, dwords]);
    let [aligned, other, merge] = [(); 3].map(|()| builder.module.fresh_id());
    code.push(Op::SelectionMerge, &[merge.0, 0]);
    code.push(Op::BranchConditional, &[is_aligned.0, aligned.0, other.0]);
    for (label, is_aligned) in [(aligned, true), (other, false)] {
        code.label(label);
        store_each(linker, code, address, stores, is_aligned)?;
        code.push(Op::Branch, &[merge.0]);
    }
    code.label(merge);
    Ok(())
}

/// Returns the number of dwords of the widest store that depends on alignment, 2 or 4, because
/// three dwords are never stored at once. `None` if no store depends on alignment.
fn widest(stores: &[Store]) -> Option<u32> {
    let wide = stores.iter().filter(|store| store.may_be_aligned && matches!(store.dwords, 2 | 4));
    wide.map(|store| store.dwords).max()
}

fn store_each(
    linker: &mut Linker<'_, '_>,
    code: &mut Code,
    address: Id,
    stores: &[Store],
    is_aligned: bool,
) -> Result<(), LinkError> {
    for Store { index, value, dwords, may_be_aligned } in stores {
        let function = Function::store(*dwords, is_aligned && *may_be_aligned).id(linker)?;
        let void = linker.builder.void();
        code.call(&mut linker.builder, void, function, &[address, *index, *value]);
    }
    Ok(())
}

/// The captured outputs of a shader, from which the generated code loads.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredOutputs<'a> {
    pub(super) layout: &'a Layout,
    pub(super) declarations: &'a Declarations,
    /// The storage class of the outputs: `Output`, or `Private` in a compute shader.
    pub(super) storage: StorageClass,
}

impl StoredOutputs<'_> {
    pub(super) fn store_record(
        &self,
        linker: &mut Linker<'_, '_>,
        record: Id,
    ) -> Result<Code, LinkError> {
        let mut code = Code::default();
        let values = self.load_all(&mut linker.builder, &mut code);
        for (buffer, stride) in self.layout.buffers() {
            self.if_bound(linker, &mut code, buffer, |linker, code| {
                let address = self.record_address(linker, code, buffer, record)?;
                let stores = chunks(self.layout, buffer).into_iter().map(|chunk| {
                    let dwords = chunk.parts.len() as u32;
                    Store {
                        index: linker.builder.constant(chunk.dword),
                        value: gather(&mut linker.builder, code, &values, &chunk.parts),
                        dwords,
                        may_be_aligned: stride / 4 % dwords == 0 && chunk.dword % dwords == 0,
                    }
                });
                let stores: Vec<Store> = stores.collect();
                store_tested(linker, code, address, address, &stores)
            })?;
        }
        code.push(Op::Return, &[]);
        Ok(code)
    }

    /// Generates the code of `f` inside of a branch that is only taken if a capture buffer is bound. If the shader
    /// captures to one buffer only, the code is generated without a branch.
    pub(super) fn if_bound<'l, 'm>(
        &self,
        linker: &mut Linker<'l, 'm>,
        code: &mut Code,
        buffer: usize,
        f: impl FnOnce(&mut Linker<'l, 'm>, &mut Code) -> Result<(), LinkError>,
    ) -> Result<(), LinkError> {
        // While the only buffer is not bound, the CPU dispatches no draw that stores records.
        if self.layout.buffers().count() == 1 {
            return f(linker, code);
        }
        let is_bound = Function::XfbIsBound.id(linker)?;
        let builder = &mut linker.builder;
        let (buffer, bool_type) = (builder.constant(buffer as u32), builder.bool());
        let is_bound = code.call(builder, bool_type, is_bound, &[buffer]);
        let merge = code.begin_if(builder, is_bound);
        f(linker, code)?;
        code.end_if(merge);
        Ok(())
    }

    pub(super) fn record_address(
        &self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        buffer: usize,
        record: Id,
    ) -> Result<Id, LinkError> {
        let function = Function::RecordAddress.id(linker)?;
        let stride = self.layout.strides.get(buffer).copied().flatten().unwrap_or(0);
        let builder = &mut linker.builder;
        let uvec2 = builder.uvec(2);
        let [buffer, stride] = [buffer as u32, stride].map(|value| builder.constant(value));
        Ok(code.call(builder, uvec2, function, &[buffer, record, stride]))
    }

    /// Generates the captured dwords of a record of a capture buffer, without gaps, as vectors of
    /// `dwords` components.
    pub(super) fn units(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        values: &[Loaded],
        buffer: usize,
        dwords: u32,
    ) -> Vec<Id> {
        let outputs = self.layout.outputs.iter().enumerate();
        let parts: Vec<(usize, u32)> = outputs
            .filter(|(_, output)| output.buffer as usize == buffer)
            .flat_map(|(index, output)| (0..output.dwords()).map(move |dword| (index, dword)))
            .collect();
        parts.chunks(dwords as usize).map(|parts| gather(builder, code, values, parts)).collect()
    }

    /// Generates the captured dwords of all buffers, as vectors of up to four dwords that are
    /// contiguous in a record.
    pub(super) fn groups(&self, builder: &mut Builder<'_>, code: &mut Code) -> Vec<StoredVector> {
        let values = self.load_all(builder, code);
        let mut groups = Vec::new();
        for (buffer, stride) in self.layout.buffers() {
            for chunk in chunks(self.layout, buffer) {
                groups.push(StoredVector {
                    buffer: buffer as u32,
                    stride,
                    offset: chunk.dword * 4,
                    components: chunk.parts.len() as u32,
                    value: gather(builder, code, &values, &chunk.parts),
                });
            }
        }
        groups
    }

    pub(super) fn load_all(&self, builder: &mut Builder<'_>, code: &mut Code) -> Vec<Loaded> {
        self.layout.outputs.iter().map(|output| self.load(builder, code, output)).collect()
    }

    /// Generates a pointer to a captured output. Returns the pointer and the type of the output.
    pub(super) fn pointer(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        output: &CapturedOutput,
    ) -> (Id, Id) {
        let variable = self.declarations.variable(output.variable);
        let ty = variable.and_then(|v| self.declarations.type_at(v.pointee, &output.path));
        // The type is always found, because the layout was made from these declarations.
        debug_assert!(ty.is_some());
        let ty = ty.unwrap_or(Id(0));
        if output.path.is_empty() {
            return (output.variable, ty);
        }
        let pointer_type = builder.pointer(self.storage, ty);
        let mut operands = vec![output.variable.0];
        operands.extend(output.path.iter().map(|index| builder.constant(*index).0));
        (code.value(builder, Op::AccessChain, pointer_type, &operands), ty)
    }

    fn load(&self, builder: &mut Builder<'_>, code: &mut Code, output: &CapturedOutput) -> Loaded {
        let (pointer, ty) = self.pointer(builder, code, output);
        let value = code.value(builder, Op::Load, ty, &[pointer.0]);
        if output.bits == 32 {
            let mut bits = value;
            if output.class != NumericClass::Uint {
                let uvec = builder.uvec(output.components);
                bits = code.value(builder, Op::Bitcast, uvec, &[value.0]);
            }
            return Loaded { pieces: vec![Piece { first: 0, dwords: output.components, bits }] };
        }
        // A value with 64-bit components is loaded two components at a time, which fit into a `uvec4`.
        let component = self.declarations.vector(ty).map_or(ty, |(component, _)| component);
        let pieces = (0..output.components).step_by(2).map(|first| {
            let count = (output.components - first).min(2);
            let pair = match (output.components, count) {
                (1 | 2, _) => value,
                (_, 1) => code.value(builder, Op::CompositeExtract, component, &[value.0, first]),
                _ => {
                    let pair = builder.declare(Op::TypeVector, &[component.0, 2]);
                    let operands = [value.0, value.0, first, first + 1];
                    code.value(builder, Op::VectorShuffle, pair, &operands)
                }
            };
            let uvec = builder.uvec(count * 2);
            let bits = code.value(builder, Op::Bitcast, uvec, &[pair.0]);
            Piece { first: first * 2, dwords: count * 2, bits }
        });
        Loaded { pieces: pieces.collect() }
    }
}

/// The value of a captured output, as pieces of up to four dwords.
#[derive(Debug, Clone, Default)]
pub(super) struct Loaded {
    pieces: Vec<Piece>,
}

impl Loaded {
    /// Adds a piece: `dwords` dwords of the output, from dword `first` on. `bits` is a `u32`, or a vector of `u32`.
    pub(super) fn add(&mut self, first: u32, dwords: u32, bits: Id) {
        self.pieces.push(Piece { first, dwords, bits });
    }
}

/// A part of a [`Loaded`] output: a `u32`, or a vector of `u32`.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// The number of the first dword within the output.
    first: u32,
    dwords: u32,
    bits: Id,
}

/// Combines loaded dwords into a `u32` or a vector of `u32`. `parts` are the dwords, each as an
/// index in `values` and the number of the dword in this value.
pub(super) fn gather(
    builder: &mut Builder<'_>,
    code: &mut Code,
    values: &[Loaded],
    parts: &[(usize, u32)],
) -> Id {
    let (output, first) = parts[0];
    let is_of_one = parts.iter().all(|(other, _)| *other == output);
    let whole = values[output]
        .pieces
        .iter()
        .find(|piece| piece.first == first && piece.dwords as usize == parts.len());
    if let (true, Some(piece)) = (is_of_one, whole) {
        return piece.bits;
    }
    let scalars: Vec<u32> = parts
        .iter()
        .filter_map(|(output, dword)| {
            let within = |piece: &&Piece| (piece.first..piece.first + piece.dwords).contains(dword);
            let piece = values[*output].pieces.iter().find(within)?;
            Some(match piece.dwords {
                1 => piece.bits.0,
                _ => code.extract(builder, piece.bits, dword - piece.first).0,
            })
        })
        .collect();
    let vector = builder.uvec(scalars.len() as u32);
    code.construct(builder, vector, &scalars)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes a layout of one buffer, with records of `stride` bytes. `outputs` has for each output the offset in bytes
    /// and the number of dwords.
    pub(in crate::lower) fn layout(stride: u32, outputs: &[(u32, u32)]) -> Layout {
        Layout {
            strides: [Some(stride), None, None, None],
            streams: [0; 4],
            outputs: outputs
                .iter()
                .map(|(offset, components)| CapturedOutput {
                    buffer: 0,
                    offset: *offset,
                    components: *components,
                    class: NumericClass::Uint,
                    variable: Id(1),
                    path: vec![],
                    name: None,
                    bits: 32,
                    location: None,
                    component: 0,
                })
                .collect(),
            varyings: vec![],
        }
    }

    /// The generated code tests with a bit mask whether an address is aligned. This is right only for alignments that
    /// are powers of two.
    #[test]
    fn the_tested_alignment_is_a_power_of_two() {
        let stores = |dwords: &[u32]| -> Vec<Store> {
            let store = |dwords| Store { index: Id(1), value: Id(2), dwords, may_be_aligned: true };
            dwords.iter().copied().map(store).collect()
        };
        let cases: [(&[u32], _); 4] =
            [(&[3, 2], Some(2)), (&[3, 1], None), (&[2, 4, 3], Some(4)), (&[], None)];
        for (dwords, expected) in cases {
            assert_eq!(widest(&stores(dwords)), expected, "{dwords:?}");
        }
    }

    #[test]
    fn neighbours_share_a_store_and_gaps_part_them() {
        let widths = |outputs: &[(u32, u32)]| -> Vec<(u32, usize)> {
            chunks(&layout(64, outputs), 0).iter().map(|c| (c.dword, c.parts.len())).collect()
        };
        assert_eq!(widths(&[(0, 3), (12, 1), (16, 4)]), [(0, 4), (4, 4)]);
        assert_eq!(widths(&[(0, 1), (4, 1), (12, 1)]), [(0, 2), (3, 1)]);
        assert_eq!(widths(&[(4, 3), (16, 3)]), [(1, 4), (5, 2)]);
    }
}
