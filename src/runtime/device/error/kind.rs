//! [`ErrorKind`]: classifies errors by how the caller should react to them.

use ash::vk;

use crate::runtime::device::error::RuntimeError;

/// How the caller should react to a [`RuntimeError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The device or its driver failed ([`RuntimeError::vk_result`]). The device may be lost.
    Vulkan,
    /// There is too little memory: free some, reset the arena earlier, make it larger or let it grow.
    OutOfMemory,
    /// The backend, or the device as it was created, does not support the request: use another backend or device, or
    /// create the device with more features ([`RequiredFeatures`](crate::runtime::RequiredFeatures)).
    Unavailable,
    /// The request is larger than the device supports at once: split it.
    TooLarge,
    /// A query result is not available yet: ask for it again later.
    NotReady,
    /// The call breaks a rule of its documentation: correct the program.
    Usage,
    /// This crate has a fault: report it.
    Internal,
}

impl RuntimeError {
    /// How the caller should react to this error.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Vulkan {
                result:
                    vk::Result::ERROR_OUT_OF_HOST_MEMORY | vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
                ..
            } => ErrorKind::OutOfMemory,
            Self::Vulkan { .. } => ErrorKind::Vulkan,
            Self::Unavailable(_)
            | Self::MissingInstanceExtension { .. }
            | Self::MissingFunction { .. }
            | Self::FeatureNotEnabled { .. }
            | Self::MissingProperty { .. }
            | Self::Unsupported { .. }
            | Self::NoKernels
            | Self::NoIndirectDraws
            | Self::NoLateDraws => ErrorKind::Unavailable,
            Self::HostMemory
            | Self::Allocation { .. }
            | Self::ArenaFull { .. }
            | Self::NoDescriptorSet { .. } => ErrorKind::OutOfMemory,
            Self::Limit { .. }
            | Self::TooManyBuffers { .. }
            | Self::DispatchTooLarge { .. }
            | Self::TooManyPrimitives { .. }
            | Self::TooManyDraws { .. } => ErrorKind::TooLarge,
            Self::QueryTimeout { .. } => ErrorKind::NotReady,
            Self::InvalidShader(_) => ErrorKind::Internal,
            Self::DuplicateVertexInput { .. }
            | Self::UnknownBinding { .. }
            | Self::MissingAttribute { .. }
            | Self::MissingVertexInput(_)
            | Self::AttributeFormat { .. }
            | Self::AttributeRate { .. }
            | Self::MissingSetLayout { .. }
            | Self::LoneStage { .. }
            | Self::EntryPointName { .. }
            | Self::MissingVertexBuffer { .. }
            | Self::DuplicateVertexBuffer { .. }
            | Self::StaticStride { .. }
            | Self::Misaligned { .. }
            | Self::WholeSize { .. }
            | Self::PartialDword { .. }
            | Self::CommandsPastTheEnd { .. }
            | Self::PastTheEnd { .. }
            | Self::SmallStride { .. }
            | Self::ZeroStride
            | Self::NoAddress { .. }
            | Self::ResourcePlan { .. }
            | Self::PushConstantRange { .. }
            | Self::MissingDescriptorSet { .. }
            | Self::DescriptorSetUnknown { .. }
            | Self::DescriptorSetRange { .. }
            | Self::TooManyCaptureBuffers { .. }
            | Self::TooManyCounters { .. }
            | Self::DuplicateCounter { .. }
            | Self::VertexFormat { .. }
            | Self::SpecializationData { .. }
            | Self::NotBegun
            | Self::NotEnded
            | Self::RecordedElsewhere
            | Self::OtherContext { .. }
            | Self::QueryUsed { .. }
            | Self::StrideMismatch { .. }
            | Self::StreamMismatch { .. }
            | Self::QueryStream { .. }
            | Self::NoCaptureBuffer
            | Self::TopologyMismatch { .. }
            | Self::UnknownTopology(_)
            | Self::GeometryInput { .. }
            | Self::NoTessellation
            | Self::NoControlPoints
            | Self::NoRestart
            | Self::NoIndexBuffer
            | Self::QueryActive
            | Self::ConditionalRenderingActive
            | Self::NoConditionalRendering
            | Self::NoQuery
            | Self::QueryRange { .. }
            | Self::ResultFlags { .. }
            | Self::ResultsTooLong { .. }
            | Self::WrongMemory { .. } => ErrorKind::Usage,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_arena_and_a_full_device_are_out_of_memory() {
        let of = |result| RuntimeError::Vulkan { call: "vkAllocateMemory", result }.kind();
        assert_eq!(of(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY), ErrorKind::OutOfMemory);
        assert_eq!(of(vk::Result::ERROR_DEVICE_LOST), ErrorKind::Vulkan);
    }

    /// An error that has a `VkResult` is not a mistake of the caller.
    #[test]
    fn what_has_a_result_is_not_usage() {
        let source = "no block".into();
        let error = RuntimeError::Allocation { name: "upload".to_owned(), size: 7, source };
        assert!(error.vk_result().is_some());
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert_eq!(RuntimeError::NotBegun.vk_result(), None);
        assert_eq!(RuntimeError::NotBegun.kind(), ErrorKind::Usage);
    }
}
