//! The barriers of the runtime, named by their places, and the synchronization scopes of commands
//! that consume captures.

#![forbid(unsafe_code)]

use ash::vk;

/// Pipeline stages and access types.
pub(super) type Scope = (vk::PipelineStageFlags, vk::AccessFlags);

/// A barrier of the runtime, named by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// The barrier that [`Context::capture_barrier`](super::Context::capture_barrier) records.
    CaptureToConsumer,
    /// Before the kernels of a capture: orders them after earlier captures, and after earlier reads
    /// of the scratch memory if the command buffer is executed again.
    BeforeSetup,
    /// From the restart kernel to the scan over the restarts that it found.
    RestartToScan,
    /// From the kernels of primitive restart to the setup kernel, and to captures that need no setup
    /// kernel.
    RestartToSetup,
    /// From the setup kernel to the captures.
    SetupToCapture,
    /// Before the counting run of geometry shaders: orders it as [`Self::BeforeSetup`] orders
    /// kernels.
    BeforeCounting,
    /// From the counting run of geometry shaders to the kernel that adds up the counts of the
    /// entries.
    CountsToSums,
    /// From the kernel that adds up the counts to the kernel that places the records of the
    /// entries.
    SumsToPlace,
    /// After the kernel that computes where the records of each entry go, and before the captures.
    PlaceToCapture,
    /// Before the kernel that writes counters and query results that the CPU computed.
    BeforeFinish,
    /// Before a fused capture: orders it as [`Self::BeforeSetup`] orders kernels.
    BeforeFused,
    /// Before a capture without counters and queries that is [played in
    /// order](super::Capture::play_in_order), if it accesses memory that earlier captures accessed.
    BetweenCaptures,
    /// Before the positions that an earlier flush wrote are copied to the current block of scratch
    /// memory, which descriptors cover.
    BeforeMove,
    /// The barrier after the copy that [`Self::BeforeMove`] precedes.
    AfterMove,
    /// From the kernels and captures that write the values of queries to the kernel that writes
    /// these values to results.
    ValuesToEnds,
    /// From the kernel that writes the values of queries to results to the host, which waits for
    /// the results.
    EndsToHost,
    /// Before a kernel that is recorded independently of a capture.
    BeforeJob,
    /// Between the kernel that writes results of queries to a buffer and transfers that access the
    /// buffer.
    ResultsToTransfer,
    /// After `VkDrawIndirectCommand`s are written for draws of captured vertices.
    ArgumentsToDraw,
    /// Around captures and kernels, if a descriptor also covers bytes that other commands may access,
    /// because there are few descriptors or ranges are close together.
    Scarce,
}

impl Barrier {
    /// Returns the first and the second [synchronization
    /// scope](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-dependencies-scopes)
    /// of a barrier around kernels. `capture_barrier` does not use the scopes that are returned for
    /// [`Self::CaptureToConsumer`]: its caller passes the consumer. They are the scopes for another capture
    /// as the consumer.
    pub(super) fn scopes(self) -> (Scope, Scope) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let write = (Stage::COMPUTE_SHADER, Access::SHADER_WRITE);
        let both = (Stage::COMPUTE_SHADER, Access::SHADER_READ | Access::SHADER_WRITE);
        // The application's shaders may also read uniform buffers.
        let captures = (Stage::COMPUTE_SHADER, both.1 | Access::UNIFORM_READ);
        let indirect_captures = (
            Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT,
            captures.1 | Access::INDIRECT_COMMAND_READ,
        );
        match self {
            // The first scope also contains reads that must not be overtaken: kernels overwrite the
            // arguments of earlier indirect dispatches, and queries that transfers copied.
            Self::BeforeSetup | Self::BeforeFinish => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE), both)
            }
            Self::BeforeCounting => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE), indirect_captures)
            }
            // A fused capture writes no arguments of indirect dispatches, so the first scope does
            // not contain `DRAW_INDIRECT`.
            Self::BeforeFused => {
                let earlier = Stage::COMPUTE_SHADER | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE), captures)
            }
            Self::BetweenCaptures | Self::RestartToSetup => (write, captures),
            Self::EndsToHost => (write, (Stage::HOST, Access::HOST_READ)),
            Self::BeforeJob => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE | Access::TRANSFER_WRITE), both)
            }
            Self::ResultsToTransfer => {
                (write, (Stage::TRANSFER, Access::TRANSFER_READ | Access::TRANSFER_WRITE))
            }
            Self::ArgumentsToDraw => (write, (Stage::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ)),
            // The second scope contains writes, because with few descriptors the window of a
            // counter may overlap a capture buffer.
            Self::SetupToCapture | Self::PlaceToCapture => (write, indirect_captures),
            Self::BeforeMove => (
                // The copy of an earlier execution of the command buffer may still be running, or its
                // result may still be read.
                (Stage::COMPUTE_SHADER | Stage::TRANSFER, Access::SHADER_WRITE),
                (Stage::TRANSFER, Access::TRANSFER_READ | Access::TRANSFER_WRITE),
            ),
            Self::AfterMove => ((Stage::TRANSFER, Access::TRANSFER_WRITE), both),
            Self::CountsToSums
            | Self::SumsToPlace
            | Self::RestartToScan
            | Self::ValuesToEnds
            | Self::Scarce
            | Self::CaptureToConsumer => (write, both),
        }
    }
}

/// The stages and accesses that read a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsumerScope {
    /// The stages that read.
    pub stages: vk::PipelineStageFlags,
    /// The accesses of these stages.
    pub access: vk::AccessFlags,
}

impl ConsumerScope {
    /// Draws that use the capture as vertex buffers.
    pub const VERTEX_BUFFER: Self = Self {
        stages: vk::PipelineStageFlags::VERTEX_INPUT,
        access: vk::AccessFlags::VERTEX_ATTRIBUTE_READ,
    };
    /// Copies from the capture.
    pub const TRANSFER: Self =
        Self { stages: vk::PipelineStageFlags::TRANSFER, access: vk::AccessFlags::TRANSFER_READ };
    /// Compute shaders that read the capture, including captures that pull their vertices from it.
    pub const COMPUTE_SHADER: Self = Self {
        stages: vk::PipelineStageFlags::COMPUTE_SHADER,
        access: vk::AccessFlags::SHADER_READ,
    };
    /// The host, after a fence has signalled. The memory must be mapped.
    pub const HOST: Self =
        Self { stages: vk::PipelineStageFlags::HOST, access: vk::AccessFlags::HOST_READ };
}
