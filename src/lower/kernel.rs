//! The kernels that prepare captures, whole: functions of the shader library with nothing of an
//! application's.

use std::ffi::CStr;

use spirv::{ExecutionMode, ExecutionModel, Op};

use super::LowerError;
use super::library::library;
use super::resources::{Memory, ResourcePlan, User};
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::link::{Define, Linker, Stub};
use crate::spirv::{Module, Section, string_words};

/// A kernel of `shaders/*.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `shaders/setup.wgsl`: counts and clamps that only the GPU knows.
    Setup,
    /// `shaders/restart.wgsl`: where the restarts of an index buffer are.
    Restart,
    /// `shaders/finish.wgsl`: counters and query results that the CPU knows.
    Finish,
}

/// Invocations of the largest workgroup.
pub const MAX_WORKGROUP_SIZE: u32 = 256;

/// Bytes of push constants of a kernel: the address of its parameters.
pub const KERNEL_CONSTANTS_SIZE: u32 = 8;

impl Kernel {
    /// Its entry point, in the library and in what [`lower`] makes.
    pub const fn entry_point(self) -> &'static CStr {
        match self {
            Self::Setup => c"xfb_setup",
            Self::Restart => c"xfb_restart",
            Self::Finish => c"xfb_finish",
        }
    }

    const fn workgroup_size(self) -> u32 {
        match self {
            Self::Setup | Self::Restart => MAX_WORKGROUP_SIZE,
            Self::Finish => 1,
        }
    }
}

/// A module without anything.
const EMPTY: [u32; 10] = [
    spirv::MAGIC_NUMBER,
    0x0001_0000,
    0,
    1,
    0,
    2 << 16 | Op::Capability as u32,
    spirv::Capability::Shader as u32,
    3 << 16 | Op::MemoryModel as u32,
    spirv::AddressingModel::Logical as u32,
    spirv::MemoryModel::GLSL450 as u32,
];

/// SPIR-V of a kernel.
///
/// # Errors
/// [`LowerError::Link`]: a mistake in the shader library. [`LowerError::StorageBuffers`].
pub fn lower(kernel: Kernel, resources: ResourcePlan) -> Result<Vec<u32>, LowerError> {
    let mut module = Module::parse(&EMPTY)?;
    resources.check(&Declarations::of(&module))?;
    let memory = Memory::declare(&mut module, resources, User::Kernel);
    let mut linker = Linker::new(&mut module, library()?);
    let name = kernel.entry_point().to_str().unwrap_or_default();
    let function = linker.function(name)?;
    let io = linker.entry_interface(name)?;
    linker.finish(&mut Stubs(memory))?;

    let size = [function.0, ExecutionMode::LocalSize as u32, kernel.workgroup_size(), 1, 1];
    module.push(Section::ExecutionModes, Op::ExecutionMode, &size);
    let mut operands = vec![ExecutionModel::GLCompute as u32, function.0];
    operands.extend(string_words(name));
    operands.extend(io.iter().map(|id| id.0));
    module.push(Section::EntryPoints, Op::EntryPoint, &operands);
    Ok(module.words())
}

struct Stubs(Memory);

impl Define for Stubs {
    type Error = LowerError;

    fn define(
        &mut self,
        linker: &mut Linker<'_, '_>,
        stub: &Stub,
    ) -> Result<Option<Code>, LowerError> {
        Ok(self.0.define(&mut linker.builder, stub))
    }
}
