//! This module defines the memory accesses of those stubs in `shaders/stubs.wgsl` that depend on the resource plan, and
//! declares the types that such accesses need under each plan.

use spirv::Op;

use crate::lower::functions::MemoryStub;
use crate::spirv::Id;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Stub};

/// The kind of shader that accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum User {
    /// A capture. It reads a buffer that it also writes only by loads with [`LoadSource::Written`]. All its other loads
    /// are from buffers that it only reads.
    Capture,
    /// A kernel. What it wrote itself it only reads by loads with [`LoadSource::Written`], [`LoadSource::Any`] or
    /// [`LoadSource::AlignedAny`].
    Kernel {
        /// Whether a single invocation of the workgroup does the work, so that each load is from one buffer.
        is_serial: bool,
    },
}

/// Which buffers the invocations of a workgroup read in a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadSource {
    /// All invocations read one buffer.
    Uniform,
    /// All invocations read one buffer, at an address that is a multiple of the access's size.
    Aligned,
    /// All invocations read one buffer, which the shader also writes.
    Written,
    /// Invocations may read different buffers.
    Any,
    /// Invocations may read different buffers, at addresses that are multiples of the access's size.
    AlignedAny,
}

/// The operation of a memory stub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Loads the dwords at `address` + 4 * `index`. `None` is the index 0.
    Load { address: Id, index: Option<Id>, components: u32, source: LoadSource },
    /// Loads the byte at an address, from a buffer that is only read, and extends it to a dword.
    LoadByte { address: Id },
    /// Stores dwords at `address` + 4 * `index`. If `any` is true, invocations may store to
    /// different buffers; if `aligned` is true, the dwords are stored at a multiple of their size.
    Store { address: Id, index: Id, value: Id, components: u32, any: bool, aligned: bool },
    /// Computes `address` + `bytes`.
    AddBytes { address: Id, bytes: Id },
    /// Computes `address` + `a` * `b`.
    MultiplyAdd { address: Id, a: Id, b: Id },
}

impl LoadSource {
    /// Whether the address is a multiple of the access's size.
    pub(super) const fn is_aligned(self) -> bool {
        matches!(self, Self::Aligned | Self::AlignedAny)
    }
}

impl Access {
    /// Returns the operation of a stub; `None` for `product`, which does not depend on the resource
    /// plan.
    pub(super) fn of(name: MemoryStub, stub: &Stub) -> Result<Option<Self>, LinkError> {
        let load = |components, source| {
            let [address] = stub.parameters()?;
            Ok(Some(Self::Load { address, index: None, components, source }))
        };
        let load_at = |components, source| {
            let [address, index] = stub.parameters()?;
            Ok(Some(Self::Load { address, index: Some(index), components, source }))
        };
        let store = |components, any, aligned| {
            let [address, index, value] = stub.parameters()?;
            Ok(Some(Self::Store { address, index, value, components, any, aligned }))
        };
        match name {
            MemoryStub::Load1 => load_at(1, LoadSource::Uniform),
            MemoryStub::Load2 => load(2, LoadSource::Uniform),
            MemoryStub::Load3 => load(3, LoadSource::Uniform),
            MemoryStub::Load4 => load(4, LoadSource::Uniform),
            MemoryStub::Load1FromAny => load(1, LoadSource::Any),
            MemoryStub::Load1Written => load(1, LoadSource::Written),
            MemoryStub::Load4FromAny => load(4, LoadSource::Any),
            MemoryStub::Load4Written => load(4, LoadSource::Written),
            MemoryStub::Load2Aligned => load_at(2, LoadSource::Aligned),
            MemoryStub::Load4Aligned => load_at(4, LoadSource::Aligned),
            MemoryStub::Load4AlignedFromAny => load(4, LoadSource::AlignedAny),
            MemoryStub::LoadByte => {
                let [address] = stub.parameters()?;
                Ok(Some(Self::LoadByte { address }))
            }
            MemoryStub::Store1 => store(1, false, false),
            MemoryStub::Store2 => store(2, false, false),
            MemoryStub::Store3 => store(3, false, false),
            MemoryStub::Store4 => store(4, false, false),
            MemoryStub::Store2Aligned => store(2, false, true),
            MemoryStub::Store4Aligned => store(4, false, true),
            MemoryStub::Store4AlignedToAny => store(4, true, true),
            MemoryStub::AddBytes => {
                let [address, bytes] = stub.parameters()?;
                Ok(Some(Self::AddBytes { address, bytes }))
            }
            MemoryStub::MultiplyAdd => {
                let [address, a, b] = stub.parameters()?;
                Ok(Some(Self::MultiplyAdd { address, a, b }))
            }
            MemoryStub::Product => Ok(None),
        }
    }
}

/// Declares the type of a 64-bit integer, or of a vector of `count` of them.
pub(super) fn ulongs(builder: &mut Builder<'_>, count: u32) -> Id {
    let ulong = builder.declare(Op::TypeInt, &[64, 0]);
    match count {
        1 => ulong,
        _ => builder.declare(Op::TypeVector, &[ulong.0, count]),
    }
}

pub(super) fn widen_byte(builder: &mut Builder<'_>, code: &mut Code, byte: Id) -> Id {
    let uint = builder.uint();
    code.value(builder, Op::UConvert, uint, &[byte.0])
}

pub(super) fn byte(builder: &mut Builder<'_>) -> Id {
    builder.declare(Op::TypeInt, &[8, 0])
}
