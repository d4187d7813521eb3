//! This module generates the SPIR-V of kernels: compute shaders that consist only of functions of
//! the shader library, without any code of an application.

use std::ffi::CStr;

use spirv::{ExecutionMode, ExecutionModel, Op};

use super::functions::{MemoryStub, StubName};
use super::library::library;
use super::resources::{Memory, ResourcePlan, User, Widths};
use super::{LowerError, explicit_layout};
use crate::setters::setters;
use crate::spirv::declarations::Declarations;
use crate::spirv::emit::Code;
use crate::spirv::entry_point::find_entry_point;
use crate::spirv::link::{Define, Linker, Stub};
use crate::spirv::optimize::optimize;
use crate::spirv::{Module, Section, string_words};
use crate::sysval::results::RESULTS_WIDTH;

/// A kernel of `shaders/*.wgsl`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// `shaders/setup.wgsl`: computes how many primitives each draw captures, and where in the
    /// capture buffers, if the CPU does not know that. It does not support primitive restart.
    Setup,
    /// [`Setup`](Self::Setup) with support for primitive restart, which takes more registers even
    /// if no draw restarts.
    RestartedSetup,
    /// [`RestartedSetup`](Self::RestartedSetup) for draws with geometry or tessellation shaders. It
    /// only computes how many input primitives the draws have: [`PlaceEntries`](Self::PlaceEntries)
    /// computes later where in the capture buffers the draws capture.
    Assemble,
    /// `shaders/resume.wgsl`: reads the counters, which say where in its buffers a capture resumes, and computes how
    /// many primitives fit.
    Resume,
    /// `shaders/restart.wgsl`: finds the restarts in a range of an index buffer. Each workgroup
    /// summarises a part of the range.
    Restart,
    /// `shaders/restart.wgsl`: computes a prefix sum over the summaries that the workgroups of
    /// [`Restart`](Self::Restart) wrote.
    RestartScan,
    /// [`Restart`](Self::Restart) if one of the draws is a patch list. A patch may have any number of
    /// vertices up to 32, so the kernel needs divisions.
    PatchRestart,
    /// [`RestartScan`](Self::RestartScan) after [`PatchRestart`](Self::PatchRestart).
    PatchRestartScan,
    /// `shaders/entries.wgsl`: adds up the primitives that the entries of a capture with a geometry
    /// shader emit. (An entry is a run of input primitives that one invocation processes.) Each
    /// workgroup adds up one block of entries.
    EntrySums,
    /// `shaders/entries.wgsl`: computes, from the sums of [`EntrySums`](Self::EntrySums), where the
    /// records of each block of entries begin, and how many of them fit into the capture buffers.
    PlaceEntries,
    /// `shaders/finish.wgsl`: writes counters and query results that the CPU knows, and ends
    /// queries.
    Finish,
    /// `shaders/results.wgsl`: copies query results.
    Results,
    /// `shaders/draw_arguments.wgsl`: writes indirect commands that draw captured vertices.
    DrawArguments,
}

/// The largest workgroup size of kernels; larger workgroups are not faster. On devices that do not support it, the
/// kernels have [`MIN_WORKGROUP_SIZE`].
pub const MAX_WORKGROUP_SIZE: u32 = 256;

/// The workgroup size that every device supports: the minimum in Vulkan 1.0 of
/// `maxComputeWorkGroupInvocations` and `maxComputeWorkGroupSize[0]`.
pub const MIN_WORKGROUP_SIZE: u32 = 128;

/// The workgroup size of the kernel [`Resume`](Kernel::Resume).
pub const RESUME_WIDTH: u32 = 32;

/// The workgroup size of the kernel [`EntrySums`](Kernel::EntrySums).
pub const ENTRY_SUMS_WIDTH: u32 = MIN_WORKGROUP_SIZE;

/// Size in bytes of a kernel's push constants: the address of its parameters.
pub const KERNEL_CONSTANTS_SIZE: u32 = 8;

impl Kernel {
    /// All kernels, in the order of their declaration.
    pub const ALL: [Self; 13] = [
        Self::Setup,
        Self::RestartedSetup,
        Self::Assemble,
        Self::Resume,
        Self::Restart,
        Self::RestartScan,
        Self::PatchRestart,
        Self::PatchRestartScan,
        Self::EntrySums,
        Self::PlaceEntries,
        Self::Finish,
        Self::Results,
        Self::DrawArguments,
    ];

    /// The name of the entry point, both in the shader library and in the result of [`lower`].
    pub const fn entry_point(self) -> &'static CStr {
        match self {
            Self::Setup | Self::RestartedSetup | Self::Assemble => c"xfb_setup",
            Self::Resume => c"xfb_resume",
            Self::Restart | Self::PatchRestart => c"xfb_restart",
            Self::RestartScan | Self::PatchRestartScan => c"xfb_restart_scan",
            Self::EntrySums => c"xfb_entry_sums",
            Self::PlaceEntries => c"xfb_place_entries",
            Self::Finish => c"xfb_finish",
            Self::Results => c"xfb_results",
            Self::DrawArguments => c"xfb_draw_arguments",
        }
    }

    /// The workgroup size on a device that supports `max_invocations` invocations per workgroup.
    const fn workgroup_size(self, max_invocations: u32) -> u32 {
        match self {
            Self::Setup
            | Self::RestartedSetup
            | Self::Assemble
            | Self::Restart
            | Self::RestartScan
            | Self::PatchRestart
            | Self::PatchRestartScan
            | Self::PlaceEntries => match max_invocations {
                MAX_WORKGROUP_SIZE.. => MAX_WORKGROUP_SIZE,
                _ => MIN_WORKGROUP_SIZE,
            },
            Self::EntrySums => ENTRY_SUMS_WIDTH,
            Self::Resume => RESUME_WIDTH,
            Self::Finish | Self::DrawArguments => 1,
            Self::Results => RESULTS_WIDTH,
        }
    }
}

/// An empty module, into which a kernel is linked.
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

/// The properties of a device that a kernel depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub struct Target {
    /// Whether the kernel accesses memory by device addresses or by descriptors.
    pub resources: ResourcePlan,
    /// The device's limit of invocations per workgroup, at least [`MIN_WORKGROUP_SIZE`].
    pub max_invocations: u32,
    /// Whether the last index of an index buffer may be loaded by bytes, so that the buffer may end within a dword
    /// ([`compute::Target::byte_loads`](super::compute::Target::byte_loads)).
    pub byte_loads: bool,
}

impl Target {
    setters! {
        resources: ResourcePlan,
        max_invocations: u32,
        byte_loads: bool,
    }
}

impl Default for Target {
    /// The default is valid for every device with `bufferDeviceAddress`.
    fn default() -> Self {
        Self {
            resources: ResourcePlan::DeviceAddress,
            max_invocations: MIN_WORKGROUP_SIZE,
            byte_loads: false,
        }
    }
}

/// Returns the SPIR-V of a kernel.
///
/// # Errors
/// [`LowerError::Link`] for a bug in the shader library; [`LowerError::StorageBuffers`].
pub fn lower(kernel: Kernel, target: &Target) -> Result<Vec<u32>, LowerError> {
    for_pipeline(kernel, target, true)
}

/// Returns the SPIR-V of a kernel, which is [optimized](crate::runtime::Context::set_optimizes_shaders) only if
/// `optimizes` is true.
pub(crate) fn for_pipeline(
    kernel: Kernel,
    target: &Target,
    optimizes: bool,
) -> Result<Vec<u32>, LowerError> {
    let Target { resources, max_invocations, byte_loads } = *target;
    let mut module = Module::parse(&EMPTY)?;
    let set = resources.descriptor_set(&Declarations::of(&module))?.unwrap_or_default();
    // Only these kernels read indices.
    let reads_indices = matches!(kernel, Kernel::Restart | Kernel::PatchRestart);
    let widths = Widths { int64: false, bytes: byte_loads && reads_indices };
    let memory = Memory::declare(&mut module, resources, set, User::Kernel, widths);
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
    let entry = find_entry_point(&module, ExecutionModel::GLCompute, Some(name))?;
    if optimizes {
        optimize(&mut module, &entry);
    }
    Ok(module.words())
}

struct KernelStubs {
    memory: Memory,
    kernel: Kernel,
    /// Invocations per workgroup.
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
            return Ok(self.memory.define(builder, name, stub)?);
        }
        let Some(name) = StubName::of(&stub.name) else { return Ok(None) };
        let value = match name {
            StubName::KernelWidth => builder.constant(self.width),
            StubName::MayLoadBytes => builder.constant_bool(self.memory.loads_bytes()),
            StubName::MayRestart => builder.constant_bool(self.kernel != Kernel::Setup),
            // In these two kernels each invocation processes many draws, and loops would exceed llvmpipe's
            // limit of iterations.
            StubName::MayLoop => builder
                .constant_bool(!matches!(self.kernel, Kernel::RestartedSetup | Kernel::Assemble)),
            StubName::Assembles => builder.constant_bool(self.kernel == Kernel::Assemble),
            StubName::MayBePatches => builder.constant_bool(matches!(
                self.kernel,
                Kernel::Assemble | Kernel::PatchRestart | Kernel::PatchRestartScan
            )),
            // Only captures call these functions.
            StubName::Arrive
            | StubName::AlwaysEmitted
            | StubName::BeginPatch
            | StubName::ControlPhases
            | StubName::ControlPoints
            | StubName::GeometryInvocations
            | StubName::InnerLevels
            | StubName::InputVertices
            | StubName::IsBatched
            | StubName::IsFused
            | StubName::MayBeGeneral
            | StubName::MayBeIndexed
            | StubName::IsUnchecked
            | StubName::MemoryBarrier
            | StubName::OuterLevels
            | StubName::OutputVertices
            | StubName::PassControlPoint
            | StubName::PassEvaluated
            | StubName::PassPatch
            | StubName::PassVertex
            | StubName::PassedPoints
            | StubName::PipelineTopology
            | StubName::RunPrimitive
            | StubName::SetControlInputs
            | StubName::SetEvaluationInputs
            | StubName::SetGeometryInputs
            | StubName::SetInputs
            | StubName::Shade
            | StubName::ShadeControl
            | StubName::ShadeEvaluation
            | StubName::ShadeGeometry
            | StubName::ShadesExistingOnly
            | StubName::SharesDraws
            | StubName::StoreRecord
            | StubName::TessellatedVertices
            | StubName::TessellatorBits
            | StubName::Uniformly
            | StubName::WideLoads
            | StubName::WideStores
            | StubName::WorkgroupSize => return Ok(None),
        };
        Ok(Some(Code::returning(value)))
    }
}
