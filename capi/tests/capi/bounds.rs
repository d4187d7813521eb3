//! What lies past the end of its buffer is refused, before anything of it is recorded.

use std::ptr::null_mut;

use ash::vk;
use ash::vk::Handle;
use vkxfb_capi::*;

use crate::calls::{INVALID, Objects, last_error, refused, succeeds};

const STRIP: vk::PrimitiveTopology = vk::PrimitiveTopology::TRIANGLE_STRIP;

/// A device, a buffer on it, and the memory that the buffer takes.
struct Bounds {
    objects: Objects,
    buffer: vk::Buffer,
    memory: u64,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
}

impl Bounds {
    fn new() -> Self {
        let objects = Objects::new(vk::API_VERSION_1_2);
        // SAFETY: the context is live.
        let usage = unsafe { vkxfb_context_buffer_usage(objects.context) };
        let (buffer, memory) = objects.make_buffer(256, usage);
        let (pool, commands) = objects.begin_commands();
        Self { objects, buffer, memory, pool, commands }
    }

    /// A range that ends so many bytes past the end, and starts within the buffer.
    fn range(&self, past: u64) -> VkxfbBufferRange {
        VkxfbBufferRange { buffer: self.buffer, offset: 8, size: self.memory - 8 + past }
    }

    /// A counter that ends 4 bytes past the end.
    fn counter(&self) -> VkxfbCounterBuffer {
        VkxfbCounterBuffer { buffer: self.buffer, offset: self.memory }
    }

    fn byte_count_draw(&self, counter_buffer: VkxfbCounterBuffer) -> VkxfbByteCountDraw {
        VkxfbByteCountDraw {
            instance_count: 1,
            first_instance: 0,
            counter_buffer,
            counter_offset: 0,
            vertex_stride: 16,
        }
    }

    fn begin(&self) -> *mut VkxfbCapture {
        // SAFETY: the arguments are valid.
        succeeds(unsafe { vkxfb_capture_begin(self.objects.capture, &self.objects.begin_info()) });
        self.objects.capture
    }

    /// Panics unless what `what` names was refused, as it ends `past` bytes too late.
    #[track_caller]
    fn is_past(&self, result: VkxfbResult, what: &str, past: u64) {
        let (end, memory) = (self.memory + past, self.memory);
        let said = format!(
            "{what} ends at byte {end} of its buffer, which takes {memory} bytes of memory"
        );
        refused(result, INVALID, &said);
        assert_eq!(last_error(), said);
    }
}

impl Drop for Bounds {
    fn drop(&mut self) {
        self.objects.destroy_commands(self.pool);
        self.objects.destroy_buffer(self.buffer);
    }
}

#[test]
fn what_a_capture_begins_and_ends_with() {
    let bounds = Bounds::new();
    let none = VkxfbBufferRange { buffer: vk::Buffer::null(), offset: 0, size: 0 };
    let ranges = [none, bounds.range(1)];
    let counter = bounds.counter();
    let begin = |change: &dyn Fn(&mut VkxfbCaptureBeginInfo)| {
        let mut info = bounds.objects.begin_info();
        change(&mut info);
        // SAFETY: the arguments are valid, or are refused.
        unsafe { vkxfb_capture_begin(bounds.objects.capture, &info) }
    };
    let begun = begin(&|info| (info.buffer_count, info.p_buffers) = (2, ranges.as_ptr()));
    bounds.is_past(begun, "pBuffers[1]", 1);
    let begun = begin(&|info| {
        (info.vertex_buffer_count, info.p_vertex_buffers) = (2, ranges.as_ptr());
    });
    bounds.is_past(begun, "pVertexBuffers[1]", 1);
    let begun = begin(&|info| {
        (info.counter_buffer_count, info.p_counter_buffers) = (1, &counter);
    });
    bounds.is_past(begun, "pCounterBuffers[0]", 4);
    let wrapping = VkxfbBufferRange { offset: u64::MAX - 3, size: 8, ..bounds.range(0) };
    let begun = begin(&|info| info.p_buffers = &wrapping);
    refused(begun, INVALID, "pBuffers[0] ends at byte 18446744073709551615 of its buffer");
    let whole = VkxfbBufferRange { size: vk::WHOLE_SIZE, ..bounds.range(0) };
    refused(begin(&|info| info.p_buffers = &whole), INVALID, "VK_WHOLE_SIZE");

    // A number that is a mistake is refused before the handles are used.
    let unknown = vk::Buffer::from_raw(1);
    let ranges = [VkxfbBufferRange { buffer: unknown, ..bounds.range(0) }; 5];
    let begun = begin(&|info| (info.buffer_count, info.p_buffers) = (5, ranges.as_ptr()));
    refused(begun, INVALID, "5 capture buffers are bound");
    let counters = [VkxfbCounterBuffer { buffer: unknown, offset: 0 }; 5];
    let begun = begin(&|info| {
        (info.counter_buffer_count, info.p_counter_buffers) = (5, counters.as_ptr());
    });
    refused(begun, INVALID, "5 counters are given");

    // SAFETY: as above; nothing is submitted.
    unsafe {
        let ended = vkxfb_capture_end(bounds.begin(), bounds.commands, 1, &counter, null_mut());
        bounds.is_past(ended, "pCounterBuffers[0]", 4);
        let finished = vkxfb_capture_finish(bounds.begin(), 1, &counter);
        bounds.is_past(finished, "pCounterBuffers[0]", 4);
    }
}

#[test]
fn what_is_bound_and_drawn() {
    let bounds = Bounds::new();
    let Bounds { buffer, memory, .. } = bounds;
    let (range, stride) = (bounds.range(1), 16);
    let mut draw = VkxfbIndirectDraw {
        struct_size: size_of::<VkxfbIndirectDraw>(),
        buffer,
        // Two commands without indices fit, and two with indices are 4 bytes longer.
        offset: memory - (20 + 16),
        draw_count: 2,
        stride: 20,
        count_buffer: buffer,
        count_buffer_offset: memory - 2,
    };
    let condition = vk::ConditionalRenderingBeginInfoEXT::default().buffer(buffer).offset(memory);
    // SAFETY: the arguments are valid, or are refused; nothing is recorded.
    unsafe {
        let bound = vkxfb_capture_bind_vertex_buffers(bounds.begin(), 3, 1, &range);
        bounds.is_past(bound, "pBuffers[0]", 1);
        let bound = vkxfb_capture_bind_vertex_buffers2(bounds.begin(), 0, 1, &range, &stride);
        bounds.is_past(bound, "pBuffers[0]", 1);
        let bound = vkxfb_capture_bind_index_buffer(bounds.begin(), &range, vk::IndexType::UINT16);
        bounds.is_past(bound, "pBuffer", 1);
        let begun = vkxfb_capture_begin_conditional_rendering(bounds.begin(), &condition);
        bounds.is_past(begun, "the condition (buffer, offset)", 4);
        let drawn = vkxfb_capture_draw_indexed_indirect(bounds.begin(), STRIP, &draw);
        bounds.is_past(drawn, "the last draw (buffer, offset, stride)", 4);
        let drawn = vkxfb_capture_draw_indirect(bounds.begin(), STRIP, &draw);
        bounds.is_past(drawn, "the number of draws (countBuffer, countBufferOffset)", 2);
        draw.offset += 4;
        let drawn = vkxfb_capture_draw_indirect(bounds.begin(), STRIP, &draw);
        bounds.is_past(drawn, "the last draw (buffer, offset, stride)", 4);
        let draw = bounds.byte_count_draw(bounds.counter());
        let drawn = vkxfb_capture_draw_indirect_byte_count(bounds.begin(), STRIP, &draw);
        bounds.is_past(drawn, "counterBuffer of pDraw", 4);
    }
}

#[test]
fn what_is_written_outside_of_captures() {
    let bounds = Bounds::new();
    let Bounds { ref objects, buffer, memory, commands, .. } = bounds;
    let capture = objects.capture;
    let counter = VkxfbCounterBuffer { buffer, offset: 0 };
    let draws = [bounds.byte_count_draw(counter), bounds.byte_count_draw(bounds.counter())];
    let last_command = "the last draw command (buffer, offset, stride)";
    // SAFETY: the arguments are valid, or are refused; nothing is submitted.
    unsafe {
        let record = |count, offset| {
            vkxfb_capture_record_draw_commands(
                capture,
                commands,
                count,
                draws.as_ptr(),
                buffer,
                offset,
                20,
            )
        };
        bounds.is_past(record(2, 0), "counterBuffer of pDraws[1]", 4);
        bounds.is_past(record(1, memory), last_command, 16);
        let twice = [draws[0]; 2];
        let recorded = vkxfb_capture_record_draw_commands(
            capture,
            commands,
            2,
            twice.as_ptr(),
            buffer,
            memory - 32,
            20,
        );
        bounds.is_past(recorded, last_command, 4);
        let mut late = null_mut();
        succeeds(vkxfb_late_draws_create(capture, commands, &mut late));
        let added = vkxfb_late_draws_add(late, capture, &draws[1], buffer, 0);
        bounds.is_past(added, "counterBuffer of pDraw", 4);
        let added = vkxfb_late_draws_add(late, capture, &draws[0], buffer, memory - 12);
        bounds.is_past(added, "the draw command (buffer, offset)", 4);
        vkxfb_late_draws_destroy(late);

        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
            .query_count(2);
        let mut queries = null_mut();
        succeeds(vkxfb_query_pool_create(objects.context, &info, &mut queries));
        let none = vk::QueryResultFlags::empty();
        let long = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WITH_AVAILABILITY;
        // Of two values each, with another one for the availability.
        for (flags, size) in [(none, 8), (long, 24)] {
            let offset = memory - 32 - size + 8;
            let copied = vkxfb_query_pool_record_copy_results(
                queries, capture, commands, 0, 2, buffer, offset, 32, flags,
            );
            bounds.is_past(copied, "the last result (dstBuffer, dstOffset, stride)", 8);
        }
        refused(
            vkxfb_query_pool_reset(queries, 2, 1),
            INVALID,
            "1 query from number 2 on: the pool has 2",
        );
        vkxfb_query_pool_destroy(queries);
        succeeds(vkxfb_capture_reset(capture));
    }
}
