//! The places from which a lowered shader can read its sysvals.

use std::mem::offset_of;

use spirv::{Decoration, Op, StorageClass};

use super::LowerError;
use super::functions::{Function, SysvalsStub};
use super::push_constants::MAX_PUSH_CONSTANTS;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::remove_annotations;
use crate::spirv::link::{LinkError, Linker, Stub};
use crate::spirv::{Id, Module, Section};
use crate::sysval::{Address, SYSVALS_SIZE, Sysvals};

/// The place from which a lowered shader reads its [`Sysvals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SysvalsPlace {
    /// [`SYSVALS_SIZE`] bytes of push constants. Every device supports this size, and many devices support no
    /// more.
    PushConstants {
        /// The offset of the sysvals in bytes.
        offset: u32,
    },
    /// Memory, at a device address in 8 bytes of push constants. This is for the vertex backend, if
    /// other stages of the pipeline need the other push constants. Each draw takes [`SYSVALS_SIZE`]
    /// bytes of upload memory from the [`Arena`](crate::runtime::Arena).
    Memory {
        /// The offset of the address in bytes.
        offset: u32,
    },
}

impl Default for SysvalsPlace {
    /// The push constants from byte 0 on. On devices that support only the required 128 bytes, these are all
    /// push constants.
    fn default() -> Self {
        Self::FIRST
    }
}

impl SysvalsPlace {
    /// [`default`](Self::default), as a constant.
    pub(super) const FIRST: Self = Self::PushConstants { offset: 0 };

    /// The offset must be a multiple of this.
    pub const ALIGNMENT: u32 = 8;

    /// The offset in bytes of the push constants that the shader reads.
    pub const fn offset(self) -> u32 {
        match self {
            Self::PushConstants { offset } | Self::Memory { offset } => offset,
        }
    }

    /// The size in bytes of the push constants that the shader reads.
    pub const fn size(self) -> u32 {
        match self {
            Self::PushConstants { .. } => SYSVALS_SIZE,
            Self::Memory { .. } => size_of::<Address>() as u32,
        }
    }

    /// Checks the offset.
    ///
    /// # Errors
    /// [`LowerError::SysvalsOffset`]
    pub(super) fn check(self) -> Result<(), LowerError> {
        let fits = self.offset() <= MAX_PUSH_CONSTANTS - self.size();
        match fits && self.offset().is_multiple_of(Self::ALIGNMENT) {
            true => Ok(()),
            false => Err(LowerError::SysvalsOffset(self)),
        }
    }
}

/// The source from which the functions of `shaders/sysvals.wgsl` read the sysvals.
#[derive(Debug, Clone, Copy)]
pub(super) enum SysvalsSource {
    /// Push constants, for which the functions are not changed.
    PushConstants,
    /// Memory, at the address in this push constant variable.
    Memory(Id),
}

impl SysvalsSource {
    /// Declares the types and variables that reading the sysvals requires.
    pub(super) fn declare(builder: &mut Builder<'_>, place: SysvalsPlace) -> Self {
        let SysvalsPlace::Memory { offset } = place else { return Self::PushConstants };
        let address = builder.uvec(2);
        let block = builder.declare_new(Op::TypeStruct, &[address.0]);
        builder.decorate(block, Decoration::Block, &[]);
        let member = [block.0, 0, Decoration::Offset as u32, offset];
        builder.module.push(Section::Annotations, Op::MemberDecorate, &member);
        builder.name(block, "xfb_sysvals_address");
        Self::Memory(builder.variable(StorageClass::PushConstant, block))
    }

    /// The body of a function of `shaders/sysvals.wgsl`, or `None` if it is unchanged.
    pub(super) fn define(
        self,
        linker: &mut Linker<'_, '_>,
        name: SysvalsStub,
        stub: &Stub,
    ) -> Result<Option<Code>, LinkError> {
        let Self::Memory(variable) = self else { return Ok(None) };
        let mut code = Code::default();
        let (behind, index) = match name {
            SysvalsStub::UsePushedDraw => {
                let function = Function::UseDrawAt.id(linker)?;
                let address = load_address(&mut linker.builder, &mut code, variable);
                let void = linker.builder.void();
                code.call(&mut linker.builder, void, function, &[address]);
                code.push(Op::Return, &[]);
                return Ok(Some(code));
            }
            SysvalsStub::XfbAddress => {
                let [buffer] = stub.parameters()?;
                (offset_of!(Sysvals, xfb_address), Some(buffer))
            }
            SysvalsStub::TableAddress => (offset_of!(Sysvals, table), None),
        };
        let multiply_add = Function::MultiplyAdd.id(linker)?;
        let load = Function::Load2Aligned.id(linker)?;
        let builder = &mut linker.builder;
        let uvec2 = builder.uvec(2);
        let mut address = load_address(builder, &mut code, variable);
        let [one, behind] = [1, behind as u32].map(|value| builder.constant(value));
        address = code.call(builder, uvec2, multiply_add, &[address, behind, one]);
        if let Some(index) = index {
            let size = builder.constant(size_of::<Address>() as u32);
            address = code.call(builder, uvec2, multiply_add, &[address, index, size]);
        }
        let value = code.call(builder, uvec2, load, &[address]);
        code.push(Op::ReturnValue, &[value.0]);
        Ok(Some(code))
    }
}

fn load_address(builder: &mut Builder<'_>, code: &mut Code, variable: Id) -> Id {
    let address = builder.uvec(2);
    let pointer = builder.pointer(StorageClass::PushConstant, address);
    let zero = builder.constant(0);
    let pointer = code.value(builder, Op::AccessChain, pointer, &[variable.0, zero.0]);
    code.value(builder, Op::Load, address, &[pointer.0])
}

/// Moves or removes the library's own block of sysvals after linking. Linked ids are `first_linked`
/// or higher; push constants with lower ids belong to other entry points.
pub(super) fn place_block(
    module: &mut Module,
    first_linked: Id,
    access: SysvalsSource,
    place: SysvalsPlace,
) {
    let own = match access {
        SysvalsSource::PushConstants => None,
        SysvalsSource::Memory(variable) => Some(variable),
    };
    let declarations = Declarations::of(module);
    let mut variables = declarations.variables(StorageClass::PushConstant);
    let Some(block) = variables.find(|v| v.id > first_linked && Some(v.id) != own) else { return };
    match access {
        SysvalsSource::PushConstants => move_block(module, block.pointee, place.offset()),
        SysvalsSource::Memory(_) => remove_block(module, block.id),
    }
}

/// Sets the offset of the block, which is 0 in the library.
fn move_block(module: &mut Module, block: Id, offset: u32) {
    let first_member = [block.0, 0, Decoration::Offset as u32];
    module.edit(Section::Annotations, |op, operands| {
        if op == Op::MemberDecorate
            && operands.starts_with(&first_member)
            && let Some(value) = operands.get_mut(first_member.len())
        {
            *value = offset;
        }
    });
}

/// Removes a block that is not read. naga declares a pointer to it in each function that may read
/// it, and in each caller of such a function.
fn remove_block(module: &mut Module, variable: Id) {
    module.retain(Section::Functions, |i| !(i.is(Op::AccessChain) && i.id(2) == variable));
    module.retain(Section::Declarations, |i| !(i.is(Op::Variable) && i.id(1) == variable));
    let mut removed = module.id_set();
    removed.insert(variable);
    remove_annotations(module, &removed);
}
