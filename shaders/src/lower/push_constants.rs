//! This module replaces the application's push constants in shaders whose push constants are the
//! sysvals.
//!
//! The block becomes a `Private` variable. The members that the shader reads are set from memory before the shader
//! runs: [`Sysvals::table`](crate::sysval::Sysvals::table) begins with the bytes in the range
//! [`Lowered::push_constants`](super::Lowered::push_constants). `layout` computes which of these bytes a value consists
//! of. If the module has no arithmetic capability for an 8-bit or 16-bit type in the block, the variable has a 32-bit
//! type instead. `widen` does that, for inputs and outputs, too.

pub(super) mod layout;
mod types;
mod untyped;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use spirv::{Op, StorageClass};

use self::layout::BlockValue;
pub(super) use self::types::place_label;
pub(super) use self::untyped::make_typed;
use crate::lower::LowerError;
use crate::lower::functions::Function;
use crate::lower::interface;
use crate::lower::store::{Loaded, gather};
use crate::lower::widen::{WideTypes, Widened, widen};
use crate::spirv::NumericClass;
use crate::spirv::debug_info::{debug_info_sets, is_of_sets};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::{EntryPoint, entry_functions};
use crate::spirv::link::{LinkError, Linker};
use crate::spirv::pointers::Pointers;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Module, Section, ids_of, result_of};
use crate::sysval::AttributeDescriptor;

/// [`Lowered::push_constants`](super::Lowered::push_constants) begins and ends at a multiple of
/// this number of bytes, because attribute descriptors follow the push constants in the table.
const GRANULE: u32 = size_of::<AttributeDescriptor>() as u32;

/// The push constants that an entry point reads.
#[derive(Debug, Default)]
pub(super) struct PushConstants {
    /// Whether the entry point uses a push constant block, even if it reads nothing in it.
    is_used: bool,
    /// Whether a component of the block has a type for which the module has no arithmetic capability, so that values
    /// of this type may only be loaded from push constants and converted.
    is_only_moved: bool,
    /// For each type in the block, the 32-bit type that replaces it in the `Private` variable; `None` if it stays.
    wide: WideTypes,
    reads: Vec<Read>,
    /// The range of bytes that are read, rounded to multiples of 16: the value of
    /// [`Lowered::push_constants`](super::Lowered::push_constants).
    pub(super) range: Range<u32>,
}

/// A value that the shader reads from its push constants.
#[derive(Debug)]
struct Read {
    variable: Id,
    /// The constant indices that select the value in the variable.
    path: Vec<u32>,
    value: BlockValue,
}

impl PushConstants {
    pub(super) fn of(
        module: &Module,
        declarations: &Declarations,
        used: &StaticUse,
    ) -> Result<Self, LowerError> {
        let variables = used_variables(declarations, used);
        if variables.is_empty() {
            return Ok(Self::default());
        }
        let is_untyped = |variable: &&&Variable| {
            matches!(declarations.ty(variable.pointer), Some(Type::UntypedPointer { .. }))
        };
        if let Some(untyped) = variables.iter().find(is_untyped) {
            let variable = declarations.label(untyped.id);
            return Err(LowerError::UntypedPushConstants { variable });
        }
        let mut is_only_moved = false;
        for variable in &variables {
            is_only_moved |= types::check(module, declarations, variable)?;
        }
        let mut reads = Vec::new();
        for (variable, path) in read_places(module, declarations, used, &variables) {
            let value = value_at(declarations, variable, &path)?;
            reads.push(Read { variable: variable.id, path, value });
        }
        let range = granular(bytes_of(reads.iter().map(|read| &read.value)));
        tracing::debug!(?range, values = reads.len(), "push constants");
        Ok(Self { is_used: true, is_only_moved, wide: WideTypes::default(), reads, range })
    }

    /// Widens the variables in the storage classes `others` ([`widen`]), and the push constants if they need it before
    /// they become `Private`. `declarations` are those of the module; returns those of the changed module.
    ///
    /// # Errors
    /// [`LowerError::NarrowComposite`]
    pub(super) fn widen_with(
        &mut self,
        module: &mut Module,
        declarations: Declarations,
        others: &[StorageClass],
    ) -> Result<Declarations, LowerError> {
        let own: &[_] = if self.is_only_moved { &[StorageClass::PushConstant] } else { &[] };
        let widened = widen(module, &declarations, &[others, own].concat())?;
        let Some(Widened { declarations: changed, types }) = widened else {
            return Ok(declarations);
        };
        if self.is_only_moved {
            self.wide = types;
        }
        Ok(changed)
    }

    pub(super) fn make_private(&self, module: &mut Module) {
        if self.is_used {
            interface::make_private(module, &[StorageClass::PushConstant]);
        }
    }

    /// The size of the push constants in the table, in units of the size of an attribute descriptor
    /// (16 bytes).
    pub(super) const fn granules(&self) -> u32 {
        (self.range.end - self.range.start) / GRANULE
    }

    /// Generates the code that sets the values that the shader reads. It has to run before the
    /// shader.
    pub(super) fn set(
        &self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
    ) -> Result<(), LinkError> {
        if self.reads.is_empty() {
            return Ok(());
        }
        let loaded = [self.load(linker, code)?];
        for Read { variable, path, value } in &self.reads {
            let id = Emit { linker, code, loaded: &loaded, wide: &self.wide }.value(value)?;
            let builder = &mut linker.builder;
            let mut pointer = *variable;
            if !path.is_empty() {
                let ty = wide_type(&self.wide, value.ty()).unwrap_or_else(|| value.ty());
                let ty = builder.pointer(StorageClass::Private, ty);
                let indices = path.iter().map(|index| builder.constant(*index).0);
                let operands: Vec<u32> = std::iter::once(variable.0).chain(indices).collect();
                pointer = code.value(builder, Op::AccessChain, ty, &operands);
            }
            code.push(Op::Store, &[pointer.0, id.0]);
        }
        Ok(())
    }

    /// Generates loads of the dwords that the shader reads, in accesses of up to four dwords.
    fn load(&self, linker: &mut Linker<'_, '_>, code: &mut Code) -> Result<Loaded, LinkError> {
        let mut bytes = Vec::new();
        self.reads.iter().for_each(|read| read.value.add_bytes(&mut bytes));
        let dwords: BTreeSet<u32> =
            bytes.iter().flat_map(|bytes| bytes.start / 4..bytes.end.div_ceil(4)).collect();
        let table = Function::TableAddress.id(linker)?;
        let uvec2 = linker.builder.uvec(2);
        let table = code.call(&mut linker.builder, uvec2, table, &[]);
        let mut loaded = Loaded::default();
        for (first, count) in loads(&dwords) {
            let load = match count {
                1 => Function::Load1,
                2 => Function::Load2Aligned,
                _ => Function::Load4Aligned,
            }
            .id(linker)?;
            let builder = &mut linker.builder;
            let (ty, index) = (builder.uvec(count), builder.constant(first - self.range.start / 4));
            loaded.add(first, count, code.call(builder, ty, load, &[table, index]));
        }
        Ok(loaded)
    }
}

/// Whether another entry point uses the same push constants, so that lowering must not change them.
pub(super) fn are_shared(module: &Module, entry: &EntryPoint) -> bool {
    let variables: Vec<Id> = module
        .section(Section::Declarations)
        .filter(|i| i.is(Op::Variable) && i.operand(2) == StorageClass::PushConstant as u32)
        .map(|i| i.id(1))
        .collect();
    let uses_some = |function| {
        let used = StaticUse::of(module, function);
        variables.iter().any(|variable| used.contains(*variable))
    };
    !variables.is_empty()
        && uses_some(entry.function)
        && entry_functions(module).any(|other| other != entry.function && uses_some(other))
}

/// The bytes of all push constant blocks that an entry point uses, including bytes that it does not read, as a range
/// that is rounded to multiples of 16. A pipeline layout for the unchanged shader must contain them.
pub(super) fn block_range(
    declarations: &Declarations,
    used: &StaticUse,
) -> Result<Range<u32>, LowerError> {
    block_bytes(declarations, used).map(granular)
}

/// Returns the range of bytes of all push constant blocks that an entry point uses, without the rounding of
/// [`block_range`]. `0..0` if no block is used.
pub(super) fn block_bytes(
    declarations: &Declarations,
    used: &StaticUse,
) -> Result<Range<u32>, LowerError> {
    let variables = used_variables(declarations, used).into_iter();
    let values = variables.map(|variable| value_at(declarations, variable, &[]));
    let values: Vec<BlockValue> = values.collect::<Result<_, _>>()?;
    Ok(bytes_of(values.iter()))
}

/// The push constant variables that are used. A valid module has at most one.
pub(super) fn used_variables<'d>(
    declarations: &'d Declarations,
    used: &StaticUse,
) -> Vec<&'d Variable> {
    let variables = declarations.variables(StorageClass::PushConstant);
    variables.filter(|variable| used.contains(variable.id)).collect()
}

fn value_at(
    declarations: &Declarations,
    variable: &Variable,
    path: &[u32],
) -> Result<BlockValue, LowerError> {
    layout::value_at(declarations, variable, path).map_err(|problem| {
        let member = place_label(declarations, variable, path);
        LowerError::PushConstantLayout { member, problem }
    })
}

fn bytes_of<'v>(values: impl Iterator<Item = &'v BlockValue>) -> Range<u32> {
    let mut bytes = Vec::new();
    values.for_each(|value| value.add_bytes(&mut bytes));
    let start = bytes.iter().map(|bytes| bytes.start).min().unwrap_or(0);
    let end = bytes.iter().map(|bytes| bytes.end).max().unwrap_or(0);
    start..end
}

/// Extends a range to multiples of [`GRANULE`].
const fn granular(bytes: Range<u32>) -> Range<u32> {
    bytes.start / GRANULE * GRANULE..bytes.end.next_multiple_of(GRANULE)
}

/// Returns the values within `variables` that the functions in `used` read, each as a variable and a path of constant
/// indices. A path ends before the first index that is not constant. No path begins with another path of the same
/// variable.
pub(super) fn read_places<'d>(
    module: &Module,
    declarations: &'d Declarations,
    used: &StaticUse,
    variables: &[&'d Variable],
) -> Vec<(&'d Variable, Vec<u32>)> {
    let ids: Vec<Id> = variables.iter().map(|variable| variable.id).collect();
    let mut pointers = Pointers::to(declarations, ids.iter().copied());
    let mut places = BTreeSet::new();
    // A declaration that refers to a variable may use its whole value, unless the declaration is debug info.
    for i in module.section(Section::Declarations) {
        let (Some(op), Some(id)) = (i.op(), result_of(i).1) else { continue };
        if !matches!(op, Op::ExtInst | Op::ExtInstWithForwardRefsKHR) && used.contains(id) {
            let values = ids_of(i).into_iter().filter(|other| *other != id && ids.contains(other));
            places.extend(values.map(|variable| (variable, Vec::new())));
        }
    }
    let debug_info = debug_info_sets(module);
    let mut is_used = false;
    for i in module.section(Section::Functions) {
        if i.is(Op::Function) {
            is_used = used.contains(i.id(1));
        }
        if !is_used || is_of_sets(i, &debug_info) || pointers.follow(i) {
            continue;
        }
        let read = ids_of(i);
        let read = read.iter().filter_map(|id| pointers.get(*id));
        places.extend(read.filter_map(|pointer| {
            let ty = declarations.variable(pointer.variable)?.pointee;
            let path = layout::selecting(declarations, ty, &pointer.path);
            Some((pointer.variable, path.to_vec()))
        }));
    }
    let mut outermost: Vec<(&Variable, Vec<u32>)> = Vec::new();
    for (id, path) in places {
        // In sorted order, a path comes directly before all paths that begin with it.
        let is_within = |(variable, outer): &(&Variable, Vec<u32>)| {
            variable.id == id && path.starts_with(outer)
        };
        if !outermost.last().is_some_and(is_within)
            && let Some(variable) = declarations.variable(id)
        {
            outermost.push((variable, path));
        }
    }
    outermost
}

/// Returns loads of 1, 2 or 4 dwords that cover a set of dwords: for each load, the number of its
/// first dword and how many it loads. Each load is aligned to its size.
fn loads(dwords: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut quads: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for dword in dwords {
        quads.entry(dword / 4).or_insert((*dword, *dword)).1 = *dword;
    }
    let load = |(quad, (first, last)): (u32, (u32, u32))| match () {
        () if first == last => (first, 1),
        () if first / 2 == last / 2 => (first / 2 * 2, 2),
        () => (4 * quad, 4),
    };
    quads.into_iter().map(load).collect()
}

/// Generates the conversion of loaded dwords to values.
struct Emit<'e, 'l, 'm> {
    linker: &'e mut Linker<'l, 'm>,
    code: &'e mut Code,
    loaded: &'e [Loaded; 1],
    wide: &'e WideTypes,
}

impl Emit<'_, '_, '_> {
    fn value(&mut self, value: &BlockValue) -> Result<Id, LinkError> {
        let (code, loaded) = (&mut *self.code, self.loaded);
        let builder = &mut self.linker.builder;
        Ok(match value {
            BlockValue::Vector { ty, component, bits, class, offsets } => {
                if let (Some(ty), Some(component)) =
                    (wide_type(self.wide, *ty), wide_type(self.wide, *component))
                {
                    return self.widened((ty, component), (*bits, *class), offsets);
                }
                if *bits == 32 && offsets.is_sorted_by(|a, b| a + 4 == *b) {
                    let count = offsets.len() as u32;
                    let dwords = dwords(builder, code, loaded, offsets[0] / 4, count);
                    let uvec = builder.uvec(count);
                    return Ok(cast(builder, code, dwords, uvec, *ty));
                }
                let scalars = offsets.iter();
                let scalars: Vec<u32> = scalars
                    .map(|offset| scalar(builder, code, loaded, (*component, *bits), *offset).0)
                    .collect();
                code.construct(builder, *ty, &scalars)
            }
            BlockValue::Pointer { ty, offset } => {
                // The extension allows `OpBitcast` from two dwords to a pointer. A conversion from
                // a 64-bit integer would need the capability Int64.
                builder.module.add_extension("SPV_KHR_physical_storage_buffer");
                let pair = dwords(builder, code, loaded, offset / 4, 2);
                code.value(builder, Op::Bitcast, *ty, &[pair.0])
            }
            BlockValue::Composite { ty, parts } => {
                let ty = wide_type(self.wide, *ty).unwrap_or(*ty);
                if parts.is_empty() {
                    return Ok(builder.declare(Op::ConstantNull, &[ty.0]));
                }
                let parts = parts.iter().map(|part| Ok(self.value(part)?.0));
                let parts: Vec<u32> = parts.collect::<Result<_, LinkError>>()?;
                self.code.value(&mut self.linker.builder, Op::CompositeConstruct, ty, &parts)
            }
        })
    }

    /// Generates a scalar or vector with narrow components, converted to 32 bits by the functions
    /// that convert vertex attributes (`shaders/formats.wgsl`). These functions take two consecutive
    /// dwords; if the components are not all in the same two, each component is converted separately.
    fn widened(
        &mut self,
        (ty, component): (Id, Id),
        (bits, class): (u32, NumericClass),
        offsets: &[u32],
    ) -> Result<Id, LinkError> {
        let start = offsets[0] / 4 * 4;
        let is_close = |offset: &u32| (start..start + 8).contains(offset);
        if !offsets.iter().all(is_close) {
            let scalars = offsets.chunks(1);
            let scalars = scalars
                .map(|offset| Ok(self.widened((component, component), (bits, class), offset)?.0));
            let scalars: Vec<u32> = scalars.collect::<Result<_, LinkError>>()?;
            return Ok(self.code.construct(&mut self.linker.builder, ty, &scalars));
        }
        let convert = match class {
            NumericClass::Uint => Function::ConvertUint,
            NumericClass::Sint => Function::ConvertSint,
            NumericClass::Float => Function::ConvertSfloat,
        }
        .id(self.linker)?;
        let (code, builder) = (&mut *self.code, &mut self.linker.builder);
        let dwords: Vec<u32> = (start / 4..start / 4 + 2)
            .map(|dword| {
                if offsets.iter().any(|offset| offset / 4 == dword) {
                    dwords(builder, code, self.loaded, dword, 1).0
                } else {
                    builder.constant(0).0
                }
            })
            .collect();
        let (uvec2, uvec4) = (builder.uvec(2), builder.uvec(4));
        let element = code.value(builder, Op::CompositeConstruct, uvec2, &dwords);
        // The functions take the first bit and the width in bits of four components. For a component that the vector
        // lacks, those of the first component are passed, and the result is not used.
        let mut vector = |of: &dyn Fn(u32) -> u32| {
            let offset = |i: usize| *offsets.get(i).unwrap_or(&offsets[0]);
            let parts = std::array::from_fn::<_, 4, _>(|i| builder.constant(of(offset(i))).0);
            let operands = [uvec4.0, parts[0], parts[1], parts[2], parts[3]];
            builder.declare(Op::ConstantComposite, &operands)
        };
        let arguments = [element, vector(&|offset| (offset - start) * 8), vector(&|_| bits)];
        let all = code.call(builder, uvec4, convert, &arguments);
        let count = offsets.len() as u32;
        let uvec = builder.uvec(count);
        let value = match count {
            1 => code.extract(builder, all, 0),
            4 => all,
            _ => {
                let operands: Vec<u32> = [all.0, all.0].into_iter().chain(0..count).collect();
                code.value(builder, Op::VectorShuffle, uvec, &operands)
            }
        };
        Ok(cast(builder, code, value, uvec, ty))
    }
}

/// Returns the type that replaces `ty` in the variable; `None` if `ty` has no narrow component.
fn wide_type(wide: &WideTypes, ty: Id) -> Option<Id> {
    wide.get(&ty).copied().flatten()
}

/// Generates the value of the scalar of `bits` bits at byte `offset` of the block.
fn scalar(
    builder: &mut Builder<'_>,
    code: &mut Code,
    loaded: &[Loaded; 1],
    (ty, bits): (Id, u32),
    offset: u32,
) -> Id {
    let width = (bits / 32).max(1);
    let value = dwords(builder, code, loaded, offset / 4, width);
    if bits >= 32 {
        let uvec = builder.uvec(width);
        return cast(builder, code, value, uvec, ty);
    }
    // The component with the lowest address is the first one of the vector.
    let vector = builder.declare(Op::TypeVector, &[ty.0, 32 / bits]);
    let vector = code.value(builder, Op::Bitcast, vector, &[value.0]);
    code.value(builder, Op::CompositeExtract, ty, &[vector.0, offset % 4 / (bits / 8)])
}

/// Combines `count` loaded dwords of the block into a `u32` or a vector.
fn dwords(
    builder: &mut Builder<'_>,
    code: &mut Code,
    loaded: &[Loaded; 1],
    first: u32,
    count: u32,
) -> Id {
    let parts: Vec<(usize, u32)> = (first..first + count).map(|dword| (0, dword)).collect();
    gather(builder, code, loaded, &parts)
}

fn cast(builder: &mut Builder<'_>, code: &mut Code, value: Id, from: Id, to: Id) -> Id {
    if from == to { value } else { code.value(builder, Op::Bitcast, to, &[value.0]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_as_wide_as_they_lie() {
        let of = |dwords: &[u32]| loads(&dwords.iter().copied().collect());
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[5]), [(5, 1)]);
        assert_eq!(of(&[6, 7]), [(6, 2)]);
        assert_eq!(of(&[5, 6]), [(4, 4)]);
        assert_eq!(of(&[0, 3, 4, 5, 11]), [(0, 4), (4, 2), (11, 1)]);
    }
}
