//! What is bound and what is drawn between Begin and End.

use ash::vk;

/// The range that a capture buffer is bound with:
/// [`vkCmdBindTransformFeedbackBuffersEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindTransformFeedbackBuffersEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureBuffer {
    /// A buffer with the usage [`Context::capture_buffer_usage`](super::Context::capture_buffer_usage).
    pub buffer: vk::Buffer,
    /// Bytes from its start, a multiple of 4.
    pub offset: u64,
    /// Bytes, at most [`MAX_BUFFER_SIZE`](crate::draw::MAX_BUFFER_SIZE). `VK_WHOLE_SIZE` is refused:
    /// a handle does not tell how long its buffer is.
    pub size: u64,
}

/// A counter: one dword, the byte offset in a capture buffer's bound range at which the next record
/// goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterBuffer {
    /// A buffer with the usage [`Context::counter_buffer_usage`](super::Context::counter_buffer_usage).
    pub buffer: vk::Buffer,
    /// Bytes from its start, a multiple of 4.
    pub offset: u64,
}

/// The range that a vertex buffer is bound with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexBuffer {
    /// Number of the binding.
    pub binding: u32,
    /// A buffer with the usage [`Context::vertex_buffer_usage`](super::Context::vertex_buffer_usage), or
    /// null: then every attribute is out of range. On the native and vertex backends null needs the
    /// feature `nullDescriptor`.
    pub buffer: vk::Buffer,
    /// Bytes from its start. With the offset of each attribute a multiple of the attribute's
    /// [`alignment`](crate::vertex_input::VertexFormat::alignment).
    pub offset: u64,
    /// Bytes. On the compute backend shaders read whole dwords: the buffer holds the range rounded up to the next
    /// multiple of 4 bytes ([`RuntimeError::PartialDword`](super::RuntimeError::PartialDword)). There attributes that
    /// pass the end are out of range, whose components are zero, as under
    /// [`robustBufferAccess2`](https://docs.vulkan.org/spec/latest/chapters/features.html#features-robustBufferAccess2);
    /// on the others the device's rules hold. Not `VK_WHOLE_SIZE`.
    pub size: u64,
    /// Bytes from one element to the next, where it is not what the pipeline was made with:
    /// `pStrides` of
    /// [`vkCmdBindVertexBuffers2`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindVertexBuffers2.html).
    /// Only the compute backend takes another.
    pub stride: Option<u32>,
}

/// `VkIndexType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexType {
    /// One byte: `VK_EXT_index_type_uint8` on the native backend, nothing on the compute backend.
    Uint8,
    /// Two bytes.
    Uint16,
    /// Four bytes.
    Uint32,
}

impl IndexType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Uint8, Self::Uint16, Self::Uint32];

    /// Bytes of an index.
    pub const fn size(self) -> u32 {
        match self {
            Self::Uint8 => 1,
            Self::Uint16 => 2,
            Self::Uint32 => 4,
        }
    }

    /// The index that restarts primitives, where that is enabled.
    pub const fn restart_index(self) -> u32 {
        match self {
            Self::Uint8 => u8::MAX as u32,
            Self::Uint16 => u16::MAX as u32,
            Self::Uint32 => u32::MAX,
        }
    }

    /// Vulkan's value.
    pub const fn raw(self) -> vk::IndexType {
        match self {
            Self::Uint8 => vk::IndexType::UINT8_EXT,
            Self::Uint16 => vk::IndexType::UINT16,
            Self::Uint32 => vk::IndexType::UINT32,
        }
    }
}

/// The range that an index buffer is bound with:
/// [`vkCmdBindIndexBuffer2`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindIndexBuffer2.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexBuffer {
    /// A buffer with the usage [`Context::index_buffer_usage`](super::Context::index_buffer_usage). On the compute
    /// backend also null: then every index is 0.
    pub buffer: vk::Buffer,
    /// Bytes from its start, a multiple of the size of an index.
    pub offset: u64,
    /// Bytes. On the compute backend shaders read whole dwords: the buffer holds the range rounded up to the next
    /// multiple of 4 bytes ([`RuntimeError::PartialDword`](super::RuntimeError::PartialDword)). There indices that
    /// pass the end are 0; on the native backend the device's rules hold, and the range ends with the buffer. Not
    /// `VK_WHOLE_SIZE`.
    pub size: u64,
    /// What it holds.
    pub index_type: IndexType,
}

/// [`vkCmdDraw`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDraw.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Draw {
    /// Vertices of one instance.
    pub vertex_count: u32,
    /// Instances.
    pub instance_count: u32,
    /// What `VertexIndex` starts at.
    pub first_vertex: u32,
    /// What `InstanceIndex` starts at.
    pub first_instance: u32,
}

/// [`vkCmdDrawIndexed`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndexed.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DrawIndexed {
    /// Indices of one instance.
    pub index_count: u32,
    /// Instances.
    pub instance_count: u32,
    /// First index, counted from the start of the bound range.
    pub first_index: u32,
    /// What is added to each index.
    pub vertex_offset: i32,
    /// What `InstanceIndex` starts at.
    pub first_instance: u32,
}

/// Draws whose arguments lie in a buffer, see [`Recorder::draw_indirect`](super::Recorder::draw_indirect):
/// [`vkCmdDrawIndirect`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirect.html),
/// [`vkCmdDrawIndirectCount`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectCount.html)
/// and their indexed forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndirectDraw {
    /// A buffer with the usage [`Context::indirect_buffer_usage`](super::Context::indirect_buffer_usage).
    pub buffer: vk::Buffer,
    /// Bytes to the first command, a multiple of 4.
    pub offset: u64,
    /// Draws, or the most draws where there is a `count`. The buffer holds the commands of all of them, however few are
    /// counted
    /// ([VUID-vkCmdDrawIndirectCount-maxDrawCount-03111](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectCount.html#VUID-vkCmdDrawIndirectCount-maxDrawCount-03111)).
    pub draw_count: u32,
    /// Bytes from one command to the next, a multiple of 4 and no less than a command has; ignored for less than
    /// two draws.
    pub stride: u32,
    /// Where the number of draws lies: buffer, of the same usage, and bytes from its start, a
    /// multiple of 4. At most `draw_count` are drawn.
    pub count: Option<(vk::Buffer, u64)>,
}

impl IndirectDraw {
    /// Bytes of a `VkDrawIndirectCommand`, or of a `VkDrawIndexedIndirectCommand`.
    pub(super) const fn command_size(indexed: bool) -> u32 {
        match indexed {
            false => size_of::<vk::DrawIndirectCommand>() as u32,
            true => size_of::<vk::DrawIndexedIndirectCommand>() as u32,
        }
    }
}

/// What conditional rendering begins with:
/// [`VkConditionalRenderingBeginInfoEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkConditionalRenderingBeginInfoEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionalRendering {
    /// A buffer with the usage [`Context::indirect_buffer_usage`](super::Context::indirect_buffer_usage).
    pub buffer: vk::Buffer,
    /// Bytes from its start to the dword, a multiple of 4: draws are discarded where it is 0.
    pub offset: u64,
    /// `VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT`: they are discarded where it is not 0.
    pub inverted: bool,
}

/// [`vkCmdDrawIndirectByteCountEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteCountDraw {
    /// Instances.
    pub instance_count: u32,
    /// What `InstanceIndex` starts at.
    pub first_instance: u32,
    /// What was captured, in bytes.
    pub counter: CounterBuffer,
    /// Bytes that are subtracted from the counter, a multiple of 4.
    pub counter_offset: u32,
    /// Bytes of a vertex: a positive multiple of 4.
    pub vertex_stride: u32,
}
