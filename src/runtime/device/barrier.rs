//! The barriers that the runtime records, each named by its place in a recording, and the synchronization scopes of
//! commands that consume captures.

#![forbid(unsafe_code)]

use ash::vk;

/// A synchronization scope: pipeline stages, and the accesses of these stages.
pub(crate) type Scope = (vk::PipelineStageFlags, vk::AccessFlags);

/// A barrier that the runtime records, named by its place in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Barrier {
    /// The barrier that [`Context::capture_barrier`](crate::runtime::Context::capture_barrier) records.
    CaptureToConsumer,
    /// Orders the kernels of a capture after earlier captures, and after the reads of scratch memory by an earlier
    /// execution of the same command buffer.
    BeforeSetup,
    /// From the kernel that finds restarts to the kernel that combines the results of its workgroups (a prefix sum).
    RestartToScan,
    /// From the kernels of primitive restart to the setup kernel, and to a capture of a single draw that depends on the
    /// restarts but not on the setup kernel.
    RestartToSetup,
    /// From the setup kernel to the captures.
    SetupToCapture,
    /// From one turn of a kernel of a single invocation to the next one, which goes on where it stopped.
    BetweenTurns,
    /// Orders the count pass of geometry or tessellation shaders, which counts the primitives that they emit, after
    /// earlier captures and kernels, and after reads of the data that it overwrites.
    BeforeCountPass,
    /// From the count pass to the kernel that adds up the counts of the entries (runs of input primitives).
    CountsToSums,
    /// From the kernel that adds up the primitives of the entries (runs of input primitives) to the kernel that
    /// computes where the records of each entry are written.
    SumsToPlace,
    /// From the kernel that computes where the records of each entry (a run of input primitives) are written to the
    /// emit pass.
    PlaceToCapture,
    /// Before the kernel that writes counters and query results that the CPU computed.
    BeforeFinish,
    /// Orders a fused capture after earlier captures and kernels, and after transfers that read queries.
    BeforeFused,
    /// Before a capture without counters and queries that is [played in order](crate::runtime::Capture::play_in_order),
    /// if it may access memory that earlier captures accessed. If only some captures of one
    /// [`Capture`](crate::runtime::Capture) could be recorded, the barrier follows these.
    BetweenCaptures,
    /// Before the copy of an earlier part's end positions (where its records end in the capture buffers) to the
    /// current block of scratch memory. The copy is needed under the descriptor plan, because descriptors cover only
    /// the current block.
    BeforeMove,
    /// The barrier after the copy that [`Self::BeforeMove`] precedes.
    AfterMove,
    /// From the kernels and captures that write the values of queries to the kernel that copies these values to the
    /// query results.
    ValuesToEnds,
    /// Orders the kernel that writes query results before the host, which waits for these results and reads them.
    EndsToHost,
    /// Before a kernel that is recorded on its own, not as a part of a capture.
    BeforeJob,
    /// Orders the kernel that writes query results to a buffer before transfers that access this buffer.
    ResultsToTransfer,
    /// Orders the kernel that writes `VkDrawIndirectCommand`s before the draws that read these commands.
    ArgumentsToDraw,
    /// Orders a [reset of queries](crate::runtime::QueryPool::reset) after the kernels that write them or read them.
    BeforeReset,
    /// Orders a [reset of queries](crate::runtime::QueryPool::reset) before later kernels and the host.
    AfterReset,
    /// Before and after captures and kernels, if a descriptor also covers bytes that other commands may access. That
    /// happens if there are few descriptors or if bound ranges are close to each other.
    Scarce,
}

impl Barrier {
    /// All barriers.
    pub const ALL: &'static [Self] = &[
        Self::CaptureToConsumer,
        Self::BeforeSetup,
        Self::RestartToScan,
        Self::RestartToSetup,
        Self::SetupToCapture,
        Self::BetweenTurns,
        Self::BeforeCountPass,
        Self::CountsToSums,
        Self::SumsToPlace,
        Self::PlaceToCapture,
        Self::BeforeFinish,
        Self::BeforeFused,
        Self::BetweenCaptures,
        Self::BeforeMove,
        Self::AfterMove,
        Self::ValuesToEnds,
        Self::EndsToHost,
        Self::BeforeJob,
        Self::ResultsToTransfer,
        Self::ArgumentsToDraw,
        Self::BeforeReset,
        Self::AfterReset,
        Self::Scarce,
    ];

    /// Returns the first and the second [synchronization
    /// scope](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-dependencies-scopes) of
    /// a barrier. For [`Self::CaptureToConsumer`] the scopes are those for another compute capture as the consumer;
    /// `capture_barrier` does not use them, because its caller passes the consumer. `is_indirect` says whether any
    /// dispatch of the plan is indirect, so that the second scope contains reads of its arguments: on NVIDIA
    /// GPUs that makes a barrier take 3 microseconds instead of 0.6.
    pub(crate) fn scopes(self, is_indirect: bool) -> (Scope, Scope) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let write = (Stage::COMPUTE_SHADER, Access::SHADER_WRITE);
        let both = (Stage::COMPUTE_SHADER, Access::SHADER_READ | Access::SHADER_WRITE);
        // The application's shaders may also read uniform buffers.
        let captures = (Stage::COMPUTE_SHADER, both.1 | Access::UNIFORM_READ);
        let placed_captures = if is_indirect {
            (captures.0 | Stage::DRAW_INDIRECT, captures.1 | Access::INDIRECT_COMMAND_READ)
        } else {
            captures
        };
        match self {
            // The first scope also contains the stages that read data which kernels overwrite: earlier indirect
            // dispatches read arguments, and earlier transfers read queries.
            Self::BeforeSetup | Self::BeforeFinish => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE), both)
            }
            Self::BeforeCountPass => {
                let earlier = Stage::COMPUTE_SHADER | Stage::DRAW_INDIRECT | Stage::TRANSFER;
                ((earlier, Access::SHADER_WRITE), placed_captures)
            }
            // A fused capture does not write arguments of indirect dispatches, so the first scope does not contain
            // `DRAW_INDIRECT`.
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
            Self::BeforeReset => (both, (Stage::TRANSFER, Access::TRANSFER_WRITE)),
            Self::AfterReset => (
                (Stage::TRANSFER, Access::TRANSFER_WRITE),
                (both.0 | Stage::HOST, both.1 | Access::HOST_READ),
            ),
            Self::ArgumentsToDraw => (write, (Stage::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ)),
            // The second scope contains writes, because with few descriptors the window (the range of a descriptor) of
            // a counter may overlap a capture buffer.
            Self::SetupToCapture | Self::PlaceToCapture => (write, placed_captures),
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
            | Self::BetweenTurns
            | Self::ValuesToEnds
            | Self::Scarce
            | Self::CaptureToConsumer => (write, both),
        }
    }
}

/// The pipeline stages and accesses of commands that read a capture. `A | B` is the scope of two consumers.
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

impl std::ops::BitOr for ConsumerScope {
    type Output = Self;

    /// The scope of both consumers.
    fn bitor(self, other: Self) -> Self {
        Self { stages: self.stages | other.stages, access: self.access | other.access }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_barriers_are_listed() {
        let places: Vec<usize> = Barrier::ALL.iter().map(|barrier| *barrier as usize).collect();
        assert_eq!(
            places,
            (0..=Barrier::Scarce as usize).collect::<Vec<_>>(),
            "`Scarce` is the last one"
        );
    }
}
