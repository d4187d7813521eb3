//! This module defines from where a lowered shader can read its sysvals (push constants or memory), and generates the
//! code that reads them.

use std::mem::offset_of;

use spirv::{Decoration, Op, StorageClass};

use crate::lower::LowerError;
use crate::lower::functions::{Function, SysvalsStub};
use crate::lower::push_constants::layout::MAX_PUSH_CONSTANTS;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::remove_annotations;
use crate::spirv::link::{LinkError, Linker, Stub};
use crate::spirv::{Id, Module, Section};
use crate::sysval::{Address, SYSVALS_SIZE, Sysvals};

/// From where a lowered shader reads its [`Sysvals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SysvalsPlace {
    /// The sysvals are in [`SYSVALS_SIZE`] bytes of push constants. Every device supports this
    /// size, and many devices support no more.
    PushConstants {
        /// The offset in bytes of the sysvals in the push constants.
        offset: u32,
    },
    /// The sysvals are in memory, at a device address that is in 8 bytes of push constants. This is
    /// for the vertex backend, if other stages of the pipeline need the remaining push constants.
    /// Each draw takes [`SYSVALS_SIZE`] bytes of upload memory from the
    /// `vkxfb::runtime::Arena`.
    Memory {
        /// The offset in bytes of the address in the push constants.
        offset: u32,
    },
}

impl Default for SysvalsPlace {
    /// The sysvals begin at byte 0 of the push constants. On devices that support only the required
    /// 128 bytes, they take all push constants.
    fn default() -> Self {
        Self::FIRST
    }
}

impl SysvalsPlace {
    /// The value that [`default`](Self::default) returns, for constant expressions.
    pub(super) const FIRST: Self = Self::PushConstants { offset: 0 };

    /// The offset in the push constants has to be a multiple of this number of bytes.
    pub const ALIGNMENT: u32 = 8;

    /// The offset in bytes in the push constants at which the sysvals, or the address of the sysvals, begin.
    pub const fn offset(self) -> u32 {
        match self {
            Self::PushConstants { offset } | Self::Memory { offset } => offset,
        }
    }

    /// The number of bytes of push constants that the sysvals, or the address of the sysvals, take.
    pub const fn size(self) -> u32 {
        match self {
            Self::PushConstants { .. } => SYSVALS_SIZE,
            Self::Memory { .. } => size_of::<Address>() as u32,
        }
    }

    /// Checks that the offset is aligned, and that the push constants do not exceed
    /// [`MAX_PUSH_CONSTANTS`].
    ///
    /// # Errors
    /// [`LowerError::SysvalsOffset`]
    pub(super) fn check(self) -> Result<(), LowerError> {
        let fits = self.offset() <= MAX_PUSH_CONSTANTS - self.size();
        if fits && self.offset().is_multiple_of(Self::ALIGNMENT) {
            Ok(())
        } else {
            Err(LowerError::SysvalsOffset(self))
        }
    }
}

/// The source from which the functions of `shaders/sysvals.wgsl` read the sysvals.
#[derive(Debug, Clone, Copy)]
pub(super) enum SysvalsSource {
    /// The sysvals are in push constants, where the library's functions read them, so these functions are not changed.
    PushConstants,
    /// The sysvals are in memory, at the address in the push constant variable with this id.
    Memory(Id),
}

impl SysvalsSource {
    /// Declares the push constant variable with the address of the sysvals, if they are in memory.
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

    /// Returns the body of a function of `shaders/sysvals.wgsl`; `None` if the function is
    /// unchanged.
    pub(super) fn define(
        self,
        linker: &mut Linker<'_, '_>,
        name: SysvalsStub,
        stub: &Stub,
    ) -> Result<Option<Code>, LinkError> {
        let Self::Memory(variable) = self else { return Ok(None) };
        let mut code = Code::default();
        let (behind, number) = match name {
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
        let load = Function::Load2Aligned.id(linker)?;
        let builder = &mut linker.builder;
        let (uint, uvec2) = (builder.uint(), builder.uvec(2));
        let address = load_address(builder, &mut code, variable);
        let mut dword = builder.constant(behind as u32 / 4);
        if let Some(number) = number {
            let size = builder.constant(size_of::<Address>() as u32 / 4);
            let before = code.value(builder, Op::IMul, uint, &[number.0, size.0]);
            dword = code.value(builder, Op::IAdd, uint, &[dword.0, before.0]);
        }
        let value = code.call(builder, uvec2, load, &[address, dword]);
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

/// After linking, moves the library's push constant block of sysvals to the offset of `place`, or
/// removes the block if the sysvals are in memory. Declarations that were linked have higher ids than
/// `first_linked`; push constants with lower ids belong to other entry points.
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

/// Sets the offset of the block's first member. In the library the offset is 0.
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

/// Removes a block that is not read, and the pointers to the block: naga declares such a pointer in
/// each function that may read the block, and in each caller of such a function.
fn remove_block(module: &mut Module, variable: Id) {
    module.retain(Section::Functions, |i| !(i.is(Op::AccessChain) && i.id(2) == variable));
    module.retain(Section::Declarations, |i| !(i.is(Op::Variable) && i.id(1) == variable));
    let mut removed = module.id_set();
    removed.insert(variable);
    remove_annotations(module, &removed);
}
