//! What waits for what: the barriers of the runtime by their places, and who reads captures.

#![forbid(unsafe_code)]

use ash::vk;

/// Stages, and how they access memory.
pub(super) type Scope = (vk::PipelineStageFlags, vk::AccessFlags);

/// A barrier of the runtime, by its place.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// [`Context::capture_barrier`](super::Context::capture_barrier).
    CaptureToConsumer,
    /// Before the kernels of a capture: what earlier captures wrote, and the scratch memory that they
    /// may still read where the command buffer is executed again.
    BeforeSetup,
    /// From the restart kernel to the scan over what it found.
    RestartToScan,
    /// From the kernels of primitive restart to the setup kernel.
    RestartToSetup,
    /// From the setup kernel to the captures.
    SetupToCapture,
    /// Before counters and query results are written that the CPU knows.
    BeforeFinish,
    /// Before the positions that an earlier flush left are copied to another block of memory, where descriptors
    /// reach them.
    BeforeMove,
    /// Behind that copy.
    AfterMove,
    /// From what was counted for queries to their availability, which the host may look at meanwhile.
    ValuesToAvailability,
    /// From the availability of queries to a host that waits for it.
    AvailabilityToHost,
    /// Before a kernel that is recorded beside captures.
    BeforeJob,
    /// Behind copies of query results.
    ResultsToTransfer,
    /// Behind commands that draw what was captured.
    ArgumentsToDraw,
    /// Around captures and kernels, where descriptors are so few, or buffers so close, that one may lie
    /// over what another touches.
    Scarce,
}

impl Barrier {
    /// The first and the second
    /// [synchronization scope](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-dependencies-scopes)
    /// of a barrier around kernels. Who consumes a capture gives the scopes of [`Self::CaptureToConsumer`];
    /// here it is another capture.
    pub(super) fn scopes(self) -> (Scope, Scope) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let write = (Stage::COMPUTE_SHADER, Access::SHADER_WRITE);
        let both = (Stage::COMPUTE_SHADER, Access::SHADER_READ | Access::SHADER_WRITE);
        match self {
            // The arguments of indirect dispatches are overwritten, and queries that were copied.
            Self::BeforeSetup | Self::BeforeFinish => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE), both)
            }
            // The host takes no part in the order of a queue, but what is made available to it stays so.
            Self::ValuesToAvailability => {
                (write, (both.0 | Stage::HOST, both.1 | Access::HOST_READ))
            }
            Self::AvailabilityToHost => (write, (Stage::HOST, Access::HOST_READ)),
            Self::BeforeJob => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE | Access::TRANSFER_WRITE), both)
            }
            Self::ResultsToTransfer => {
                (write, (Stage::TRANSFER, Access::TRANSFER_READ | Access::TRANSFER_WRITE))
            }
            Self::ArgumentsToDraw => (write, (Stage::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ)),
            // Where descriptors are few, a window of counters may lie over what is captured to.
            Self::SetupToCapture => (
                write,
                (
                    Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT,
                    both.1 | Access::INDIRECT_COMMAND_READ,
                ),
            ),
            Self::BeforeMove => (
                // The copy of an earlier execution of the command buffer may still read, or be read.
                (Stage::COMPUTE_SHADER | Stage::TRANSFER, Access::SHADER_WRITE),
                (Stage::TRANSFER, Access::TRANSFER_READ | Access::TRANSFER_WRITE),
            ),
            Self::AfterMove => ((Stage::TRANSFER, Access::TRANSFER_WRITE), both),
            Self::RestartToScan | Self::RestartToSetup | Self::Scarce | Self::CaptureToConsumer => {
                (write, both)
            }
        }
    }
}

/// Who reads what was captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerScope {
    /// Stages that read.
    pub stages: vk::PipelineStageFlags,
    /// How they read.
    pub access: vk::AccessFlags,
}

impl ConsumerScope {
    /// Draws that read it as vertices.
    pub const VERTEX_BUFFER: Self = Self {
        stages: vk::PipelineStageFlags::VERTEX_INPUT,
        access: vk::AccessFlags::VERTEX_ATTRIBUTE_READ,
    };
    /// Copies out of it.
    pub const TRANSFER: Self =
        Self { stages: vk::PipelineStageFlags::TRANSFER, access: vk::AccessFlags::TRANSFER_READ };
    /// Compute shaders that read it, and captures that pull their vertices from it.
    pub const COMPUTE_SHADER: Self = Self {
        stages: vk::PipelineStageFlags::COMPUTE_SHADER,
        access: vk::AccessFlags::SHADER_READ,
    };
    /// The host, once a fence has signalled. The memory has to be mapped.
    pub const HOST: Self =
        Self { stages: vk::PipelineStageFlags::HOST, access: vk::AccessFlags::HOST_READ };
}
