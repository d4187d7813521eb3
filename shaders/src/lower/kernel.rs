//! This module generates the SPIR-V of kernels: compute shaders that consist only of functions of
//! the shader library, without any code of an application.

use std::ffi::CStr;
use std::fmt;

use spirv::{ExecutionMode, ExecutionModel, Op, StorageClass};

use crate::lower::access::User;
use crate::lower::functions::{MemoryStub, StubName};
use crate::lower::interface::make_private;
use crate::lower::library::library;
use crate::lower::resources::{Memory, ResourcePlan, Widths};
use crate::lower::{LowerError, explicit_layout};
use crate::setters;
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
    /// `shaders/setup.wgsl`, `shaders/setup_serial.wgsl`: computes what the CPU does not know of the draws of a
    /// capture.
    Setup(Setup),
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
    /// `shaders/entries.wgsl`, `shaders/entries_serial.wgsl`: computes, from the sums of
    /// [`EntrySums`](Self::EntrySums), where the records of each block of entries begin, and how many of them fit into
    /// the capture buffers.
    PlaceEntries {
        /// Whether the kernel has a single invocation ([`Self::is_serial`]).
        is_serial: bool,
    },
    /// `shaders/finish.wgsl`: writes counters and query results that the CPU knows, and ends
    /// queries.
    Finish,
    /// `shaders/results.wgsl`: copies query results.
    Results,
    /// `shaders/draw_arguments.wgsl`: writes indirect commands that draw captured vertices.
    DrawArguments,
}

/// The draws that a setup kernel is for. Each property that draws lack makes the kernel smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    /// Whether the kernel supports primitive restart.
    pub restarts: bool,
    /// Whether the draws have geometry or tessellation shaders. The kernel counts the input primitives of such draws
    /// and divides them into [entries](crate::sysval::entries). [`PlaceEntries`](Kernel::PlaceEntries) places them
    /// later. Other draws are placed by the kernel itself.
    pub makes_entries: bool,
    /// How the kernel processes its draws.
    pub draws: SetupDraws,
}

/// How a setup kernel processes draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetupDraws {
    /// A workgroup processes many draws at once. Each recorded draw command has one draw.
    One,
    /// A workgroup processes many draws at once. A recorded draw command may have several.
    Several,
    /// A single invocation processes one draw after the other, of any draw commands. The kernel has no barriers and no
    /// prefix sums, so that drivers for processors compile it in a fraction of the time.
    Serial,
}

/// The largest workgroup size of kernels; larger workgroups are not faster. On devices that do not support it, the
/// kernels have [`MIN_WORKGROUP_SIZE`].
pub const MAX_WORKGROUP_SIZE: u32 = 256;

/// The workgroup size that every device supports: the minimum in Vulkan 1.0 of
/// `maxComputeWorkGroupInvocations` and `maxComputeWorkGroupSize[0]`.
pub const MIN_WORKGROUP_SIZE: u32 = 128;

/// The workgroup size of kernels of which a single invocation does the work. llvmpipe (22.3 to 26.2) leaves loops too
/// early in workgroups that do not fill its vectors, of up to 16 invocations.
const SERIAL_WORKGROUP_SIZE: u32 = 32;

/// The workgroup size of the kernel [`Resume`](Kernel::Resume).
pub const RESUME_WIDTH: u32 = 32;

/// The workgroup size of the kernel [`EntrySums`](Kernel::EntrySums).
pub const ENTRY_SUMS_WIDTH: u32 = MIN_WORKGROUP_SIZE;

/// Size in bytes of a kernel's push constants: the address of its parameters.
pub const KERNEL_CONSTANTS_SIZE: u32 = 8;

impl Kernel {
    /// All kernels.
    pub const ALL: [Self; 23] = [
        Self::setup(0),
        Self::setup(1),
        Self::setup(2),
        Self::setup(3),
        Self::setup(4),
        Self::setup(5),
        Self::setup(6),
        Self::setup(7),
        Self::setup(8),
        Self::setup(9),
        Self::setup(10),
        Self::setup(11),
        Self::PlaceEntries { is_serial: false },
        Self::PlaceEntries { is_serial: true },
        Self::Resume,
        Self::Restart,
        Self::RestartScan,
        Self::PatchRestart,
        Self::PatchRestartScan,
        Self::EntrySums,
        Self::Finish,
        Self::Results,
        Self::DrawArguments,
    ];

    /// The setup kernel with this number, less than 12.
    const fn setup(number: usize) -> Self {
        let draws = match number / 4 {
            0 => SetupDraws::One,
            1 => SetupDraws::Several,
            _ => SetupDraws::Serial,
        };
        Self::Setup(Setup { restarts: number & 1 != 0, makes_entries: number & 2 != 0, draws })
    }

    /// The index of the kernel in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|kernel| *kernel == self).unwrap_or_default()
    }

    /// Whether a single invocation does the work, so that barriers do nothing. `None` if there is no other version of
    /// the kernel.
    pub const fn is_serial(self) -> Option<bool> {
        match self {
            Self::Setup(Setup { draws, .. }) => Some(matches!(draws, SetupDraws::Serial)),
            Self::PlaceEntries { is_serial } => Some(is_serial),
            _ => None,
        }
    }

    /// The name of the entry point, both in the shader library and in the result of [`lower`].
    pub const fn entry_point(self) -> &'static CStr {
        match self {
            Self::Setup(Setup { draws: SetupDraws::Serial, .. }) => c"xfb_setup_serial",
            Self::Setup(_) => c"xfb_setup",
            Self::Resume => c"xfb_resume",
            Self::Restart | Self::PatchRestart => c"xfb_restart",
            Self::RestartScan | Self::PatchRestartScan => c"xfb_restart_scan",
            Self::EntrySums => c"xfb_entry_sums",
            Self::PlaceEntries { is_serial: true } => c"xfb_place_entries_serial",
            Self::PlaceEntries { is_serial: false } => c"xfb_place_entries",
            Self::Finish => c"xfb_finish",
            Self::Results => c"xfb_results",
            Self::DrawArguments => c"xfb_draw_arguments",
        }
    }

    /// The workgroup size on a device that supports `max_invocations` invocations per workgroup.
    const fn workgroup_size(self, max_invocations: u32) -> u32 {
        match self {
            _ if matches!(self.is_serial(), Some(true)) => SERIAL_WORKGROUP_SIZE,
            Self::Setup(_)
            | Self::Restart
            | Self::RestartScan
            | Self::PatchRestart
            | Self::PatchRestartScan
            | Self::PlaceEntries { .. } => match max_invocations {
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

impl fmt::Display for Kernel {
    /// Writes the name of the kernel, and what it is made for.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, properties) = match *self {
            Self::Setup(Setup { restarts, makes_entries, draws }) => {
                let [has_several, is_serial] =
                    [SetupDraws::Several, SetupDraws::Serial].map(|other| draws == other);
                ("Setup", [restarts, makes_entries, has_several, is_serial])
            }
            Self::PlaceEntries { is_serial } => ("PlaceEntries", [false, false, false, is_serial]),
            _ => return write!(f, "{self:?}"),
        };
        f.write_str(name)?;
        let names =
            [" with restarts", " of later stages", " of several draws", " by one invocation"];
        let mut names = properties.into_iter().zip(names).filter(|(has, _)| *has);
        names.try_for_each(|(_, name)| f.write_str(name))
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
    /// Whether the kernel accesses pairs of dwords as 64-bit integers
    /// ([`compute::Target::int64_accesses`](super::compute::Target::int64_accesses)).
    pub int64_accesses: bool,
}

impl Target {
    setters! {
        resources: ResourcePlan,
        max_invocations: u32,
        byte_loads: bool,
        int64_accesses: bool,
    }
}

impl Default for Target {
    /// The default is valid for every device with `bufferDeviceAddress`.
    fn default() -> Self {
        Self {
            resources: ResourcePlan::DeviceAddress,
            max_invocations: MIN_WORKGROUP_SIZE,
            byte_loads: false,
            int64_accesses: false,
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

/// Returns the SPIR-V of a kernel, which is optimized (`vkxfb::runtime::Settings::optimizes_shaders`) only if
/// `optimizes` is true.
pub fn for_pipeline(
    kernel: Kernel,
    target: &Target,
    optimizes: bool,
) -> Result<Vec<u32>, LowerError> {
    let Target { resources, max_invocations, byte_loads, int64_accesses } = *target;
    let mut module = Module::parse(&EMPTY)?;
    let set = resources.descriptor_set(&Declarations::of(&module))?.unwrap_or_default();
    // Only these kernels read indices.
    let reads_indices = matches!(kernel, Kernel::Restart | Kernel::PatchRestart);
    let widths = Widths { int64: int64_accesses, bytes: byte_loads && reads_indices };
    let width = kernel.workgroup_size(max_invocations);
    let is_serial = kernel.is_serial() == Some(true);
    let user = User::Kernel { is_serial: is_serial || width == 1 };
    let memory = Memory::declare(&mut module, resources, set, user, widths);
    let mut linker = Linker::new(&mut module, library()?);
    let name = kernel.entry_point().to_str().unwrap_or_default();
    let function = linker.function(name)?;
    let io = linker.entry_interface(name)?;
    linker.finish(&mut KernelStubs { memory, kernel, width: if is_serial { 1 } else { width } })?;
    explicit_layout::remove(&mut module);
    if is_serial {
        module.retain(Section::Functions, |i| !i.is(Op::ControlBarrier));
        // The optimizer replaces private variables by their values.
        make_private(&mut module, &[StorageClass::Workgroup]);
    }

    let size = [function.0, ExecutionMode::LocalSize as u32, width, 1, 1];
    module.push(Section::ExecutionModes, Op::ExecutionMode, &size);
    let mut operands = vec![ExecutionModel::GLCompute as u32, function.0];
    operands.extend(string_words(name));
    operands.extend(io.iter().map(|id| id.0));
    module.push(Section::EntryPoints, Op::EntryPoint, &operands);
    let entry = find_entry_point(&module, ExecutionModel::GLCompute, Some(name))?;
    if optimizes {
        optimize(&mut module, &entry, false);
    }
    Ok(module.words())
}

struct KernelStubs {
    memory: Memory,
    kernel: Kernel,
    /// The invocations per workgroup that take part.
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
            StubName::MayRestart => builder.constant_bool(!matches!(
                self.kernel,
                Kernel::Setup(Setup { restarts: false, .. })
            )),
            // If an invocation processes many draws, loops would exceed llvmpipe's limit of iterations.
            StubName::MayLoop => builder.constant_bool(!matches!(
                self.kernel,
                Kernel::Setup(Setup { draws: SetupDraws::One | SetupDraws::Several, .. })
            )),
            StubName::HasSeveral => builder.constant_bool(matches!(
                self.kernel,
                Kernel::Setup(Setup { draws: SetupDraws::Several, .. })
            )),
            StubName::MakesEntries => builder.constant_bool(matches!(
                self.kernel,
                Kernel::Setup(Setup { makes_entries: true, .. })
            )),
            StubName::MayBePatches => builder.constant_bool(matches!(
                self.kernel,
                Kernel::Setup(Setup { makes_entries: true, .. })
                    | Kernel::PatchRestart
                    | Kernel::PatchRestartScan
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
            | StubName::ShareControlPoint
            | StubName::SharePatch
            | StubName::TakeControlPoint
            | StubName::TakePatch
            | StubName::IsBatched
            | StubName::IsFused
            | StubName::MayBeGeneral
            | StubName::MayBeIndexed
            | StubName::IsUnchecked
            | StubName::MemoryBarrier
            | StubName::MostEmitted
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
