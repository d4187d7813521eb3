//! What commands between Begin and End are given: the buffers that are bound, and the arguments of draws.

use ash::vk;

/// The range that a capture buffer is bound with:
/// [`vkCmdBindTransformFeedbackBuffersEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindTransformFeedbackBuffersEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureBuffer {
    /// A buffer with the usage [`Context::capture_buffer_usage`](super::Context::capture_buffer_usage).
    pub buffer: vk::Buffer,
    /// Bytes from its start, a multiple of 4.
    pub offset: u64,
    /// Bytes, at most [`MAX_BUFFER_SIZE`](crate::counts::MAX_BUFFER_SIZE). `VK_WHOLE_SIZE` is refused:
    /// a handle does not tell how long its buffer is.
    pub size: u64,
}

impl CaptureBuffer {
    /// The first `size` bytes of a buffer.
    pub const fn new(buffer: vk::Buffer, size: u64) -> Self {
        Self { buffer, offset: 0, size }
    }

    /// Sets [`offset`](field@Self::offset).
    pub const fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
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

impl CounterBuffer {
    /// The first four bytes of a buffer.
    pub const fn new(buffer: vk::Buffer) -> Self {
        Self { buffer, offset: 0 }
    }

    /// Sets [`offset`](field@Self::offset).
    pub const fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
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

impl VertexBuffer {
    /// The first `size` bytes of a buffer, with the stride that the pipeline was made with.
    pub const fn new(binding: u32, buffer: vk::Buffer, size: u64) -> Self {
        Self { binding, buffer, offset: 0, size, stride: None }
    }

    /// Sets [`offset`](field@Self::offset).
    pub const fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets [`stride`](field@Self::stride).
    pub const fn stride(mut self, stride: u32) -> Self {
        self.stride = Some(stride);
        self
    }
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

impl IndexBuffer {
    /// The first `size` bytes of a buffer.
    pub const fn new(buffer: vk::Buffer, size: u64, index_type: IndexType) -> Self {
        Self { buffer, offset: 0, size, index_type }
    }

    /// Sets [`offset`](field@Self::offset).
    pub const fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
}

/// [`vkCmdDraw`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDraw.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Draw {
    /// One instance, from vertex 0 on.
    pub const fn new(vertex_count: u32) -> Self {
        Self { vertex_count, instance_count: 1, first_vertex: 0, first_instance: 0 }
    }

    /// Sets [`instance_count`](field@Self::instance_count).
    pub const fn instance_count(mut self, instance_count: u32) -> Self {
        self.instance_count = instance_count;
        self
    }

    /// Sets [`first_vertex`](field@Self::first_vertex).
    pub const fn first_vertex(mut self, first_vertex: u32) -> Self {
        self.first_vertex = first_vertex;
        self
    }

    /// Sets [`first_instance`](field@Self::first_instance).
    pub const fn first_instance(mut self, first_instance: u32) -> Self {
        self.first_instance = first_instance;
        self
    }
}

impl Default for Draw {
    /// No vertices, of one instance.
    fn default() -> Self {
        Self::new(0)
    }
}

impl From<vk::DrawIndirectCommand> for Draw {
    fn from(command: vk::DrawIndirectCommand) -> Self {
        let vk::DrawIndirectCommand { vertex_count, instance_count, first_vertex, first_instance } =
            command;
        Self { vertex_count, instance_count, first_vertex, first_instance }
    }
}

/// [`vkCmdDrawIndexed`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndexed.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl DrawIndexed {
    /// One instance, from the first index of the bound range on.
    pub const fn new(index_count: u32) -> Self {
        Self { index_count, instance_count: 1, first_index: 0, vertex_offset: 0, first_instance: 0 }
    }

    /// Sets [`instance_count`](field@Self::instance_count).
    pub const fn instance_count(mut self, instance_count: u32) -> Self {
        self.instance_count = instance_count;
        self
    }

    /// Sets [`first_index`](field@Self::first_index).
    pub const fn first_index(mut self, first_index: u32) -> Self {
        self.first_index = first_index;
        self
    }

    /// Sets [`vertex_offset`](field@Self::vertex_offset).
    pub const fn vertex_offset(mut self, vertex_offset: i32) -> Self {
        self.vertex_offset = vertex_offset;
        self
    }

    /// Sets [`first_instance`](field@Self::first_instance).
    pub const fn first_instance(mut self, first_instance: u32) -> Self {
        self.first_instance = first_instance;
        self
    }
}

impl Default for DrawIndexed {
    /// No indices, of one instance.
    fn default() -> Self {
        Self::new(0)
    }
}

impl From<vk::DrawIndexedIndirectCommand> for DrawIndexed {
    fn from(command: vk::DrawIndexedIndirectCommand) -> Self {
        Self {
            index_count: command.index_count,
            instance_count: command.instance_count,
            first_index: command.first_index,
            vertex_offset: command.vertex_offset,
            first_instance: command.first_instance,
        }
    }
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
    /// So many commands from the start of a buffer on, `stride` bytes apart.
    pub const fn new(buffer: vk::Buffer, draw_count: u32, stride: u32) -> Self {
        Self { buffer, offset: 0, draw_count, stride, count: None }
    }

    /// Sets [`offset`](field@Self::offset).
    pub const fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets [`count`](field@Self::count).
    pub const fn count(mut self, buffer: vk::Buffer, offset: u64) -> Self {
        self.count = Some((buffer, offset));
        self
    }

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

impl ConditionalRendering {
    /// Draws are discarded where the first dword of a buffer is 0.
    pub const fn new(buffer: vk::Buffer) -> Self {
        Self { buffer, offset: 0, inverted: false }
    }

    /// Sets [`offset`](field@Self::offset).
    pub const fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets [`inverted`](field@Self::inverted).
    pub const fn inverted(mut self, inverted: bool) -> Self {
        self.inverted = inverted;
        self
    }
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

impl ByteCountDraw {
    /// One instance of all that was captured.
    pub const fn new(counter: CounterBuffer, vertex_stride: u32) -> Self {
        Self { instance_count: 1, first_instance: 0, counter, counter_offset: 0, vertex_stride }
    }

    /// Sets [`instance_count`](field@Self::instance_count).
    pub const fn instance_count(mut self, instance_count: u32) -> Self {
        self.instance_count = instance_count;
        self
    }

    /// Sets [`first_instance`](field@Self::first_instance).
    pub const fn first_instance(mut self, first_instance: u32) -> Self {
        self.first_instance = first_instance;
        self
    }

    /// Sets [`counter_offset`](field@Self::counter_offset).
    pub const fn counter_offset(mut self, counter_offset: u32) -> Self {
        self.counter_offset = counter_offset;
        self
    }
}
