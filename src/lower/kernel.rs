//! The kernels that prepare captures, whole: functions of the shader library with nothing of an
//! application's.

use std::ffi::CStr;

use spirv::{ExecutionMode, ExecutionModel, Op};

use super::functions::{MemoryStub, StubName};
use super::library::library;
use super::resources::{Memory, ResourcePlan, User};
use super::{LowerError, explicit_layout};
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::link::{Define, Linker, Stub};
use crate::spirv::{Module, Section, string_words};
use crate::sysval::results::RESULTS_WIDTH;

/// A kernel of `shaders/*.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `shaders/setup.wgsl`: counts and clamps that only the GPU knows, without primitive restart.
    Setup,
    /// The same with primitive restart, which takes registers even where no draw restarts.
    RestartedSetup,
    /// `shaders/restart.wgsl`: where the restarts of an index buffer are.
    Restart,
    /// `shaders/restart.wgsl`: what lies before each part of an index buffer that one workgroup looked through.
    RestartScan,
    /// `shaders/finish.wgsl`: counters and query results that the CPU knows, and the ends of queries.
    Finish,
    /// `shaders/results.wgsl`: copies of query results.
    Results,
    /// `shaders/draw_arguments.wgsl`: commands that draw what was captured.
    DrawArguments,
}

/// Invocations of the largest workgroup. More gain nothing, and devices of the floor take no more.
pub const MAX_WORKGROUP_SIZE: u32 = 256;

/// Invocations that a device has to take: what Vulkan 1.0 promises of `maxComputeWorkGroupInvocations` and
/// `maxComputeWorkGroupSize[0]`.
pub const MIN_WORKGROUP_SIZE: u32 = 128;

/// Bytes of push constants of a kernel: the address of its parameters.
pub const KERNEL_CONSTANTS_SIZE: u32 = 8;

impl Kernel {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Setup,
        Self::RestartedSetup,
        Self::Restart,
        Self::RestartScan,
        Self::Finish,
        Self::Results,
        Self::DrawArguments,
    ];

    /// Its entry point, in the library and in what [`lower`] makes.
    pub const fn entry_point(self) -> &'static CStr {
        match self {
            Self::Setup | Self::RestartedSetup => c"xfb_setup",
            Self::Restart => c"xfb_restart",
            Self::RestartScan => c"xfb_restart_scan",
            Self::Finish => c"xfb_finish",
            Self::Results => c"xfb_results",
            Self::DrawArguments => c"xfb_draw_arguments",
        }
    }

    /// Invocations of its workgroup on a device that takes so many at most.
    const fn workgroup_size(self, max_invocations: u32) -> u32 {
        match self {
            Self::Setup | Self::RestartedSetup | Self::Restart | Self::RestartScan => {
                match max_invocations {
                    MAX_WORKGROUP_SIZE.. => MAX_WORKGROUP_SIZE,
                    _ => MIN_WORKGROUP_SIZE,
                }
            }
            Self::Finish | Self::DrawArguments => 1,
            Self::Results => RESULTS_WIDTH,
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

/// SPIR-V of a kernel, for a device whose workgroups have `max_invocations` at most, and at least
/// [`MIN_WORKGROUP_SIZE`].
///
/// # Errors
/// [`LowerError::Link`]: a mistake in the shader library. [`LowerError::StorageBuffers`].
pub fn lower(
    kernel: Kernel,
    resources: ResourcePlan,
    max_invocations: u32,
) -> Result<Vec<u32>, LowerError> {
    let mut module = Module::parse(&EMPTY)?;
    resources.check(&Declarations::of(&module))?;
    let memory = Memory::declare(&mut module, resources, User::Kernel);
    let mut linker = Linker::new(&mut module, library()?);
    let name = kernel.entry_point().to_str().unwrap_or_default();
    let function = linker.function(name)?;
    let io = linker.entry_interface(name)?;
    let width = kernel.workgroup_size(max_invocations);
    linker.finish(&mut KernelStubs { memory, kernel, width })?;
    explicit_layout::remove(&mut module);

    let size = [function.0, ExecutionMode::LocalSize as u32, width, 1, 1];
    module.push(Section::ExecutionModes, Op::ExecutionMode, &size);
    let mut operands = vec![ExecutionModel::GLCompute as u32, function.0];
    operands.extend(string_words(name));
    operands.extend(io.iter().map(|id| id.0));
    module.push(Section::EntryPoints, Op::EntryPoint, &operands);
    Ok(module.words())
}

struct KernelStubs {
    memory: Memory,
    kernel: Kernel,
    /// Invocations of the workgroup.
    width: u32,
}

impl Define for KernelStubs {
    type Error = LowerError;

    fn define(
        &mut self,
        linker: &mut Linker<'_, '_>,
        stub: &Stub,
    ) -> Result<Option<Code>, LowerError> {
        let builder = &mut linker.builder;
        if let Some(name) = MemoryStub::of(&stub.name) {
            return Ok(Some(self.memory.define(builder, name, stub)?));
        }
        let Some(name) = StubName::of(&stub.name) else { return Ok(None) };
        let value = match name {
            StubName::KernelWidth => builder.constant(self.width),
            StubName::MayRestart => builder.constant_bool(self.kernel != Kernel::Setup),
            // An invocation places many draws.
            StubName::MayLoop => builder.constant_bool(self.kernel != Kernel::RestartedSetup),
            // Captures'.
            StubName::MayBeGeneral
            | StubName::MayBeWide
            | StubName::PipelineTopology
            | StubName::SetInputs
            | StubName::Shade
            | StubName::StoreRecord
            | StubName::WorkgroupSize => return Ok(None),
        };
        let mut code = Code::default();
        code.push(Op::ReturnValue, &[value.0]);
        Ok(Some(code))
    }
}
