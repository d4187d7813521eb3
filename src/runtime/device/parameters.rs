//! The parameters of the commands of a capture: the buffers that it binds, and the arguments of its draws.

use ash::vk;

use crate::runtime::device::error::RuntimeError;
use vkxfb_rewriter::sysval::flags;
use vkxfb_rewriter::topology::PrimitiveTopology;

/// Returns Vulkan's topology as the type of the rewriter.
///
/// # Errors
/// [`RuntimeError::UnknownTopology`] for a value that Vulkan does not define.
pub(crate) fn known_topology(
    topology: impl Into<vk::PrimitiveTopology>,
) -> Result<PrimitiveTopology, RuntimeError> {
    let topology = topology.into();
    PrimitiveTopology::try_from(topology).map_err(|_| RuntimeError::UnknownTopology(topology))
}

/// The buffer range of a capture buffer, as in
/// [`vkCmdBindTransformFeedbackBuffersEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindTransformFeedbackBuffersEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureBuffer {
    /// A buffer with the usage [`BufferUsages::capture`](crate::runtime::BufferUsages::capture).
    pub buffer: vk::Buffer,
    /// The offset in bytes from the start of the buffer, a multiple of 4.
    pub offset: u64,
    /// The size in bytes, at most [`MAX_BUFFER_SIZE`](vkxfb_rewriter::counts::MAX_BUFFER_SIZE). `VK_WHOLE_SIZE` is an
    /// error, because the runtime cannot query the size of a buffer.
    pub size: u64,
}

impl CaptureBuffer {
    /// Describes the first `size` bytes of a buffer.
    pub const fn new(buffer: vk::Buffer, size: u64) -> Self {
        Self { buffer, offset: 0, size }
    }
}

/// A counter: a dword that contains a byte offset from the start of a capture buffer's bound range. The next record is
/// written at that offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterBuffer {
    /// A buffer with the usage [`BufferUsages::counter`](crate::runtime::BufferUsages::counter).
    pub buffer: vk::Buffer,
    /// The offset in bytes from the start of the buffer, a multiple of 4.
    pub offset: u64,
}

impl CounterBuffer {
    /// Describes a counter in the first four bytes of a buffer.
    pub const fn new(buffer: vk::Buffer) -> Self {
        Self { buffer, offset: 0 }
    }
}

/// The buffer range that is bound to a vertex binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexBuffer {
    /// The number of the binding.
    pub binding: u32,
    /// A buffer with the usage [`BufferUsages::vertex`](crate::runtime::BufferUsages::vertex), or null.
    /// If it is null, every attribute is out of range. For a null buffer the native and vertex backends need the
    /// feature `nullDescriptor`.
    pub buffer: vk::Buffer,
    /// The offset in bytes from the start of the buffer. The sum of this offset and the offset of
    /// an attribute must be a multiple of the attribute's
    /// [`alignment`](vkxfb_rewriter::vertex_input::VertexFormat::alignment).
    pub offset: u64,
    /// The size in bytes. `VK_WHOLE_SIZE` is an error.
    ///
    /// On the compute backend shaders read whole dwords, so the buffer must contain the range rounded up to the next
    /// multiple of 4 bytes ([`RuntimeError::PartialDword`](crate::runtime::RuntimeError::PartialDword)). An attribute
    /// that exceeds the range is out of range, and its components are zero, as under
    /// [`robustBufferAccess2`](https://docs.vulkan.org/spec/latest/chapters/features.html#features-robustBufferAccess2).
    ///
    /// On the other backends the rules of the device apply.
    pub size: u64,
    /// The number of bytes from one element to the next, as in `pStrides` of
    /// [`vkCmdBindVertexBuffers2`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindVertexBuffers2.html).
    /// `None` stands for the stride of the pipeline. Only the compute backend supports another stride.
    pub stride: Option<u32>,
}

impl VertexBuffer {
    /// Describes the first `size` bytes of a buffer, with the stride of the pipeline.
    pub const fn new(binding: u32, buffer: vk::Buffer, size: u64) -> Self {
        Self { binding, buffer, offset: 0, size, stride: None }
    }
}

/// The type of the indices in an index buffer (`VkIndexType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexType {
    /// One byte. The native backend needs `VK_EXT_index_type_uint8` for it, the compute backend
    /// needs nothing.
    Uint8,
    /// Two bytes.
    Uint16,
    /// Four bytes.
    Uint32,
}

impl IndexType {
    /// All index types.
    pub(crate) const ALL: [Self; 3] = [Self::Uint8, Self::Uint16, Self::Uint32];

    /// The size in bytes of an index.
    pub const fn size(self) -> u32 {
        match self {
            Self::Uint8 => 1,
            Self::Uint16 => 2,
            Self::Uint32 => 4,
        }
    }

    /// The index that restarts primitives if primitive restart is enabled.
    pub const fn restart_index(self) -> u32 {
        match self {
            Self::Uint8 => u8::MAX as u32,
            Self::Uint16 => u16::MAX as u32,
            Self::Uint32 => u32::MAX,
        }
    }
}

// Check that the bits for the size of an index in the flags of the sysvals are wide enough for all index types.
const _: () = {
    let mut number = 0;
    while number < IndexType::ALL.len() {
        assert!(IndexType::ALL[number].size() <= flags::INDEX_SIZE);
        number += 1;
    }
};

/// The buffer range that is bound as index buffer, as in
/// [`vkCmdBindIndexBuffer2`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBindIndexBuffer2.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexBuffer {
    /// A buffer with the usage [`BufferUsages::index`](crate::runtime::BufferUsages::index). The
    /// compute backend also accepts null: every index is then 0.
    pub buffer: vk::Buffer,
    /// The offset in bytes from the start of the buffer, a multiple of the size of an index.
    pub offset: u64,
    /// The size in bytes. `VK_WHOLE_SIZE` is an error.
    ///
    /// On the compute backend indices beyond the range are 0. Without
    /// [`byte_loads`](crate::runtime::RequiredFeatures::byte_loads) its shaders read whole dwords, so the buffer must
    /// contain the range rounded up to the next multiple of 4 bytes
    /// ([`RuntimeError::PartialDword`](crate::runtime::RuntimeError::PartialDword)).
    ///
    /// On the native backend the rules of the device apply, and the range extends to the end of the buffer.
    pub size: u64,
    /// The type of the indices.
    pub index_type: IndexType,
}

impl IndexBuffer {
    /// Describes the first `size` bytes of a buffer.
    pub const fn new(buffer: vk::Buffer, size: u64, index_type: IndexType) -> Self {
        Self { buffer, offset: 0, size, index_type }
    }
}

/// The arguments of
/// [`vkCmdDraw`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDraw.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// The number of vertices per instance.
    pub vertex_count: u32,
    /// The number of instances.
    pub instance_count: u32,
    /// The first value of `VertexIndex`.
    pub first_vertex: u32,
    /// The first value of `InstanceIndex`.
    pub first_instance: u32,
}

impl Draw {
    /// Draws one instance, with `VertexIndex` from 0 on.
    pub const fn new(vertex_count: u32) -> Self {
        Self { vertex_count, instance_count: 1, first_vertex: 0, first_instance: 0 }
    }
}

impl Default for Draw {
    /// A draw of one instance without vertices.
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

/// The arguments of
/// [`vkCmdDrawIndexed`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndexed.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawIndexed {
    /// The number of indices per instance.
    pub index_count: u32,
    /// The number of instances.
    pub instance_count: u32,
    /// The first index that is read, counted from the start of the bound range.
    pub first_index: u32,
    /// The value that is added to each index, which gives `VertexIndex`.
    pub vertex_offset: i32,
    /// The first value of `InstanceIndex`.
    pub first_instance: u32,
}

impl DrawIndexed {
    /// Draws one instance, from the first index of the bound range on.
    pub const fn new(index_count: u32) -> Self {
        Self { index_count, instance_count: 1, first_index: 0, vertex_offset: 0, first_instance: 0 }
    }
}

impl Default for DrawIndexed {
    /// A draw of one instance without indices.
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

/// Draws whose arguments are in a buffer, see
/// [`Recorder::draw_indirect`](crate::runtime::Recorder::draw_indirect):
/// [`vkCmdDrawIndirect`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirect.html),
/// [`vkCmdDrawIndirectCount`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectCount.html)
/// and their indexed forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndirectDraw {
    /// A buffer with the usage [`BufferUsages::indirect`](crate::runtime::BufferUsages::indirect).
    pub buffer: vk::Buffer,
    /// The number of bytes from the start of the buffer to the first command, a multiple of 4.
    pub offset: u64,
    /// The number of draws, or if there is a `count`, the largest number of draws. The buffer must contain `draw_count`
    /// commands, even if the count is lower
    /// ([VUID-vkCmdDrawIndirectCount-maxDrawCount-03111](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectCount.html#VUID-vkCmdDrawIndirectCount-maxDrawCount-03111)).
    pub draw_count: u32,
    /// The number of bytes from one command to the next, a multiple of 4 and at least the size of a command. It is
    /// ignored if there are fewer than two draws.
    pub stride: u32,
    /// Where the GPU finds the number of draws: a buffer with the same usage as `buffer`, and the offset in bytes of
    /// the dword with the number, a multiple of 4. If the dword is larger than `draw_count`, or if this is `None`,
    /// there are `draw_count` draws.
    pub count: Option<(vk::Buffer, u64)>,
}

impl IndirectDraw {
    /// Describes `draw_count` commands from the start of a buffer on, `stride` bytes apart.
    pub const fn new(buffer: vk::Buffer, draw_count: u32, stride: u32) -> Self {
        Self { buffer, offset: 0, draw_count, stride, count: None }
    }

    /// The size in bytes of a `VkDrawIndirectCommand`, or of a `VkDrawIndexedIndirectCommand`.
    pub(crate) const fn command_size(indexed: bool) -> u32 {
        if indexed {
            size_of::<vk::DrawIndexedIndirectCommand>() as u32
        } else {
            size_of::<vk::DrawIndirectCommand>() as u32
        }
    }
}

/// The arguments of `vkCmdBeginConditionalRenderingEXT`:
/// [`VkConditionalRenderingBeginInfoEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/VkConditionalRenderingBeginInfoEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionalRendering {
    /// A buffer with the usage [`BufferUsages::indirect`](crate::runtime::BufferUsages::indirect).
    pub buffer: vk::Buffer,
    /// The offset in bytes from the start of the buffer to the predicate, a multiple of 4. The predicate is a dword:
    /// draws are discarded if it is 0.
    pub offset: u64,
    /// Whether draws are discarded if the dword is *not* 0 (`VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT`).
    pub inverted: bool,
}

impl ConditionalRendering {
    /// Discards draws if the first dword of a buffer is 0.
    pub const fn new(buffer: vk::Buffer) -> Self {
        Self { buffer, offset: 0, inverted: false }
    }
}

/// The arguments of
/// [`vkCmdDrawIndirectByteCountEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteCountDraw {
    /// The number of instances.
    pub instance_count: u32,
    /// The first value of `InstanceIndex`.
    pub first_instance: u32,
    /// The counter, which a capture has set to the number of bytes captured.
    pub counter: CounterBuffer,
    /// The number of bytes that are subtracted from the counter, a multiple of 4.
    pub counter_offset: u32,
    /// The size of a vertex in bytes, a positive multiple of 4.
    pub vertex_stride: u32,
}

impl ByteCountDraw {
    /// Draws one instance of all captured vertices.
    pub const fn new(counter: CounterBuffer, vertex_stride: u32) -> Self {
        Self { instance_count: 1, first_instance: 0, counter, counter_offset: 0, vertex_stride }
    }
}

/// The arguments of a draw command, by the kind of the command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Arguments<'a> {
    Draw(&'a Draw),
    Indexed(&'a DrawIndexed),
    Indirect(&'a IndirectDraw),
    IndexedIndirect(&'a IndirectDraw),
    ByteCount(&'a ByteCountDraw),
}

impl Arguments<'_> {
    /// Whether the draw reads its vertex indices from the bound index buffer.
    pub(crate) const fn is_indexed(&self) -> bool {
        match self {
            Self::Indexed(_) | Self::IndexedIndirect(_) => true,
            Self::Draw(_) | Self::Indirect(_) | Self::ByteCount(_) => false,
        }
    }
}
