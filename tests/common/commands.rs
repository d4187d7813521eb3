//! The commands of a capture, as values that tests make up. All that they read and write is in one buffer, from whose
//! start offsets are counted, in bytes. [`Commands`] records them as Vulkan's own commands, without the crate, and
//! [`Draw::record`] with the recorder.

use ash::{ext, khr, vk};
use vkxfb::runtime::{
    ByteCountDraw, CounterBuffer, Draw as Direct, DrawIndexed, IndirectDraw, Recorder, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub offset: u64,
    pub size: u64,
}

/// The counter arguments of Begin and of End.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// The argument `firstCounterBuffer`.
    pub first: u32,
    /// The offsets of the counters, from buffer `first` on. `None` if a buffer has no counter.
    pub counters: Vec<Option<u64>>,
}

impl Counters {
    /// Returns the offset of the counter of a buffer, if it has one.
    pub fn of(&self, buffer: usize) -> Option<u64> {
        let index = buffer.checked_sub(self.first as usize)?;
        *self.counters.get(index)?
    }
}

/// A vertex count with its first vertex, or an index count with its first index.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub first: u32,
    pub count: u32,
    /// The argument `vertexOffset` of an indexed draw.
    pub vertex_offset: i32,
}

#[derive(Debug, Clone, Copy)]
pub struct Instances {
    pub first: u32,
    pub count: u32,
}

#[derive(Debug, Clone)]
pub enum Draw {
    Direct {
        indexed: bool,
        span: Span,
        instances: Instances,
    },
    /// A command of `VK_EXT_multi_draw`. If it is indexed, it may have one vertex offset for all
    /// draws.
    Multi {
        indexed: bool,
        spans: Vec<Span>,
        instances: Instances,
        vertex_offset: Option<i32>,
    },
    Indirect {
        indexed: bool,
        offset: u64,
        /// The argument `drawCount` or `maxDrawCount`.
        draw_count: u32,
        stride: u32,
        /// The offset of the number of draws, if it is in the buffer.
        count: Option<u64>,
    },
    ByteCount {
        instances: Instances,
        counter: u64,
        counter_offset: u32,
        vertex_stride: u32,
    },
}

impl Draw {
    /// Returns the name of the draw's command.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Direct { indexed: false, .. } => "vkCmdDraw",
            Self::Direct { indexed: true, .. } => "vkCmdDrawIndexed",
            Self::Multi { indexed: false, .. } => "vkCmdDrawMultiEXT",
            Self::Multi { indexed: true, .. } => "vkCmdDrawMultiIndexedEXT",
            Self::Indirect { indexed: false, count: None, .. } => "vkCmdDrawIndirect",
            Self::Indirect { indexed: true, count: None, .. } => "vkCmdDrawIndexedIndirect",
            Self::Indirect { indexed: false, count: Some(_), .. } => "vkCmdDrawIndirectCount",
            Self::Indirect { indexed: true, count: Some(_), .. } => "vkCmdDrawIndexedIndirectCount",
            Self::ByteCount { .. } => "vkCmdDrawIndirectByteCountEXT",
        }
    }

    /// Records the draw with the recorder.
    ///
    /// # Safety
    /// As the recorder's functions, with this buffer.
    pub unsafe fn record(
        &self,
        recorder: &mut Recorder<'_>,
        topology: PrimitiveTopology,
        buffer: vk::Buffer,
    ) -> Result<(), RuntimeError> {
        let direct = |span: &Span, instances: &Instances| Direct {
            vertex_count: span.count,
            instance_count: instances.count,
            first_vertex: span.first,
            first_instance: instances.first,
        };
        let direct_indexed = |span: &Span, instances: &Instances| DrawIndexed {
            index_count: span.count,
            instance_count: instances.count,
            first_index: span.first,
            vertex_offset: span.vertex_offset,
            first_instance: instances.first,
        };
        unsafe {
            match self {
                Self::Direct { indexed: false, span, instances } => {
                    recorder.draw(topology, &direct(span, instances))
                }
                Self::Direct { indexed: true, span, instances } => {
                    recorder.draw_indexed(topology, &direct_indexed(span, instances))
                }
                Self::Multi { indexed: false, spans, instances, .. } => {
                    let draws: Vec<_> = spans.iter().map(|span| direct(span, instances)).collect();
                    recorder.draw_multi(topology, &draws)
                }
                Self::Multi { indexed: true, spans, instances, vertex_offset } => {
                    let of_span = |span: &Span| DrawIndexed {
                        vertex_offset: vertex_offset.unwrap_or(span.vertex_offset),
                        ..direct_indexed(span, instances)
                    };
                    let draws: Vec<_> = spans.iter().map(of_span).collect();
                    recorder.draw_multi_indexed(topology, &draws)
                }
                &Self::Indirect { indexed, offset, draw_count, stride, count } => {
                    let count = count.map(|offset| (buffer, offset));
                    let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
                    if indexed {
                        recorder.draw_indexed_indirect(topology, &draw)
                    } else {
                        recorder.draw_indirect(topology, &draw)
                    }
                }
                Self::ByteCount { instances, counter, counter_offset, vertex_stride } => {
                    let draw = ByteCountDraw {
                        instance_count: instances.count,
                        first_instance: instances.first,
                        counter: CounterBuffer { buffer, offset: *counter },
                        counter_offset: *counter_offset,
                        vertex_stride: *vertex_stride,
                    };
                    recorder.draw_indirect_byte_count(topology, &draw)
                }
            }
        }
    }
}

/// Vulkan's commands of a device. Those of an extension that is not enabled must not be recorded.
pub struct Commands {
    device: ash::Device,
    xfb: ext::transform_feedback::Device,
    multi_draw: ext::multi_draw::Device,
    indirect_count: khr::draw_indirect_count::Device,
}

impl Commands {
    pub fn new(instance: &ash::Instance, device: &ash::Device) -> Self {
        Self {
            device: device.clone(),
            xfb: ext::transform_feedback::Device::new(instance, device),
            multi_draw: ext::multi_draw::Device::new(instance, device),
            indirect_count: khr::draw_indirect_count::Device::new(instance, device),
        }
    }

    /// Returns the commands of `VK_EXT_transform_feedback`.
    pub fn xfb(&self) -> &ext::transform_feedback::DeviceFn {
        self.xfb.fp()
    }

    /// Binds capture buffers, by their number.
    ///
    /// # Safety
    /// `cmd` is being recorded, and the ranges are inside of the buffer.
    pub unsafe fn bind_captures(
        &self,
        cmd: vk::CommandBuffer,
        buffer: vk::Buffer,
        ranges: &[Option<Range>],
    ) {
        let bind = self.xfb().cmd_bind_transform_feedback_buffers_ext;
        for (number, range) in (0..).zip(ranges) {
            if let Some(Range { offset, size }) = range {
                unsafe { bind(cmd, number, 1, &buffer, offset, size) };
            }
        }
    }

    /// # Safety
    /// `cmd` is being recorded, in a render pass instance, with all that a capture needs bound.
    pub unsafe fn begin(&self, cmd: vk::CommandBuffer, buffer: vk::Buffer, counters: &Counters) {
        let begin = self.xfb().cmd_begin_transform_feedback_ext;
        with_counters(counters, buffer, |first, count, buffers, offsets| {
            unsafe { begin(cmd, first, count, buffers, offsets) };
        });
    }

    /// # Safety
    /// `cmd` is being recorded, and a capture was begun.
    pub unsafe fn end(&self, cmd: vk::CommandBuffer, buffer: vk::Buffer, counters: &Counters) {
        let end = self.xfb().cmd_end_transform_feedback_ext;
        with_counters(counters, buffer, |first, count, buffers, offsets| {
            unsafe { end(cmd, first, count, buffers, offsets) };
        });
    }

    /// # Safety
    /// `cmd` is being recorded, in a render pass instance, with all that the draw reads bound.
    pub unsafe fn draw(&self, cmd: vk::CommandBuffer, buffer: vk::Buffer, draw: &Draw) {
        let Self { device, indirect_count, .. } = self;
        unsafe {
            match draw {
                Draw::Direct { indexed: false, span, instances: i } => {
                    device.cmd_draw(cmd, span.count, i.count, span.first, i.first);
                }
                Draw::Direct { indexed: true, span, instances: i } => {
                    let vertex_offset = span.vertex_offset;
                    let (count, first) = (span.count, span.first);
                    device.cmd_draw_indexed(cmd, count, i.count, first, vertex_offset, i.first);
                }
                Draw::Multi { indexed: false, spans, instances, .. } => {
                    let info = |span: &Span| vk::MultiDrawInfoEXT {
                        first_vertex: span.first,
                        vertex_count: span.count,
                    };
                    let infos: Vec<_> = spans.iter().map(info).collect();
                    (self.multi_draw.fp().cmd_draw_multi_ext)(
                        cmd,
                        infos.len() as u32,
                        infos.as_ptr(),
                        instances.count,
                        instances.first,
                        size_of::<vk::MultiDrawInfoEXT>() as u32,
                    );
                }
                Draw::Multi { indexed: true, spans, instances, vertex_offset } => {
                    let info = |span: &Span| vk::MultiDrawIndexedInfoEXT {
                        first_index: span.first,
                        index_count: span.count,
                        vertex_offset: span.vertex_offset,
                    };
                    let infos: Vec<_> = spans.iter().map(info).collect();
                    let one_offset = vertex_offset.as_ref().map_or(std::ptr::null(), |o| o);
                    (self.multi_draw.fp().cmd_draw_multi_indexed_ext)(
                        cmd,
                        infos.len() as u32,
                        infos.as_ptr(),
                        instances.count,
                        instances.first,
                        size_of::<vk::MultiDrawIndexedInfoEXT>() as u32,
                        one_offset,
                    );
                }
                &Draw::Indirect { indexed, offset, draw_count: most, stride, count } => {
                    match (indexed, count) {
                        (false, None) => {
                            device.cmd_draw_indirect(cmd, buffer, offset, most, stride);
                        }
                        (true, None) => {
                            device.cmd_draw_indexed_indirect(cmd, buffer, offset, most, stride);
                        }
                        (false, Some(count)) => indirect_count.cmd_draw_indirect_count(
                            cmd, buffer, offset, buffer, count, most, stride,
                        ),
                        (true, Some(count)) => indirect_count.cmd_draw_indexed_indirect_count(
                            cmd, buffer, offset, buffer, count, most, stride,
                        ),
                    }
                }
                Draw::ByteCount { instances, counter, counter_offset, vertex_stride } => {
                    (self.xfb().cmd_draw_indirect_byte_count_ext)(
                        cmd,
                        instances.count,
                        instances.first,
                        buffer,
                        *counter,
                        *counter_offset,
                        *vertex_stride,
                    );
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryKind {
    /// `VK_QUERY_TYPE_TRANSFORM_FEEDBACK_STREAM_EXT`: primitives written and primitives needed.
    Stream,
    /// `VK_QUERY_TYPE_PRIMITIVES_GENERATED_EXT`: primitives generated, and 0.
    Generated,
}

/// Creates a query pool of a live device, which has queries of that type.
pub fn query_pool(device: &ash::Device, query_type: vk::QueryType, count: u32) -> vk::QueryPool {
    let info = vk::QueryPoolCreateInfo::default().query_type(query_type).query_count(count);
    // SAFETY: the device is live.
    unsafe { device.create_query_pool(&info, None) }.unwrap()
}

/// The driver's query pools, one of each kind.
pub struct QueryPools {
    device: ash::Device,
    pools: [vk::QueryPool; 2],
}

impl QueryPools {
    /// Creates pools of so many queries of each kind, and none for 0.
    pub fn new(device: &ash::Device, counts: [u32; 2]) -> Self {
        let types =
            [vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT, vk::QueryType::PRIMITIVES_GENERATED_EXT];
        let pool = |kind: usize| match counts[kind] {
            0 => vk::QueryPool::null(),
            count => query_pool(device, types[kind], count),
        };
        Self { device: device.clone(), pools: [0, 1].map(pool) }
    }

    pub const fn of(&self, kind: QueryKind) -> vk::QueryPool {
        self.pools[kind as usize]
    }

    /// Returns the result of a query, whose submission was waited for.
    pub fn result(&self, kind: QueryKind, query: u32) -> Result<[u64; 2], vk::Result> {
        let flags = vk::QueryResultFlags::TYPE_64;
        let (pool, mut two, mut one) = (self.of(kind), [[0; 2]], [0]);
        // SAFETY: the query is of the pool, and there is room for its values.
        unsafe {
            match kind {
                QueryKind::Stream => {
                    self.device.get_query_pool_results(pool, query, &mut two, flags)?;
                    Ok(two[0])
                }
                QueryKind::Generated => {
                    self.device.get_query_pool_results(pool, query, &mut one, flags)?;
                    Ok([one[0], 0])
                }
            }
        }
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self) {
        for pool in self.pools {
            unsafe { self.device.destroy_query_pool(pool, None) };
        }
    }
}

/// Passes the arguments of Begin and End to a function. The pointers are null if there is no
/// counter.
fn with_counters(
    counters: &Counters,
    memory: vk::Buffer,
    f: impl FnOnce(u32, u32, *const vk::Buffer, *const vk::DeviceSize),
) {
    let buffers: Vec<_> = counters
        .counters
        .iter()
        .map(|counter| if counter.is_some() { memory } else { vk::Buffer::null() })
        .collect();
    let offsets: Vec<u64> = counters.counters.iter().map(|c| c.unwrap_or(0)).collect();
    match buffers.len() {
        0 => f(0, 0, std::ptr::null(), std::ptr::null()),
        count => f(counters.first, count as u32, buffers.as_ptr(), offsets.as_ptr()),
    }
}
