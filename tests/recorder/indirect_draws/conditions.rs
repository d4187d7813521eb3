//! Draws that a predicate discards.

use ash::vk;
use vkxfb::runtime::{
    ArenaDesc, ArenaSize, ByteCountDraw, ConditionalRendering, Context, CounterBuffer, Draw,
    DrawIndexed, IndexBuffer, IndexType, IndirectDraw, Recorder, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Profile, Resources};

use super::captures::{self, BEFORE, COMPUTE, Captures, POINTS, STRIDE};
use crate::common;
use crate::common::skip::{Why, skip};

/// The number of draw commands. Each draws a line strip of vertices 0 to 3, or of indices 0 to 3.
const COMMANDS: u32 = 6;

/// The dwords that [`draw`] reads: a `VkDrawIndirectCommand`, a `VkDrawIndexedIndirectCommand`, and
/// a counter.
const WORDS: [u32; 10] = [4, 1, 0, 0, 4, 1, 0, 0, 0, 16];

/// # Safety
/// As [`Recorder::draw_indirect`]; an index buffer is bound.
unsafe fn draw(
    recorder: &mut Recorder<'_>,
    number: u32,
    words: vk::Buffer,
) -> Result<(), RuntimeError> {
    let strip = PrimitiveTopology::LineStrip;
    let indirect =
        |offset| IndirectDraw { buffer: words, offset, draw_count: 1, stride: 20, count: None };
    let indexed = DrawIndexed::new(4);
    recorder.set_primitive_restart(number == 2 || number == 4)?;
    unsafe {
        match number {
            0 => {
                let draw = Draw::new(4);
                recorder.draw(strip, &draw)
            }
            1 | 2 => recorder.draw_indexed(strip, &indexed),
            3 | 4 => recorder.draw_indexed_indirect(strip, &indirect(16)),
            _ => recorder.draw_indirect_byte_count(
                strip,
                &ByteCountDraw {
                    instance_count: 1,
                    first_instance: 0,
                    counter: CounterBuffer { buffer: words, offset: 36 },
                    counter_offset: 0,
                    vertex_stride: 4,
                },
            ),
        }
    }
}

/// Records every draw command with each predicate, in a capture that resumes from a counter.
/// Discarded draws write no record and do not change the counter.
#[test]
fn predicates_discard_draws_of_every_command() {
    const FIRST: u32 = 3;
    // Of the last, only the highest bit is set.
    const PREDICATES: [u32; 3] = [0, 1, 1 << 31];
    let desc = ArenaSize { upload: 1 << 12, scratch: 1 << 14, descriptor_sets: 4 };
    for mut captures in captures::all() {
        let words = captures.buffer(&[&WORDS[..], &PREDICATES].concat());
        let indices = captures.indices(&[0_u32, 1, 2, 3]);
        let bound = IndexBuffer::new(indices.raw(), 16, IndexType::Uint32);
        let conditions = (0_u64..).zip(PREDICATES).flat_map(|(number, predicate)| {
            [false, true].map(|inverted| {
                let offset = 4 * (WORDS.len() as u64 + number);
                let condition = ConditionalRendering { buffer: words.raw(), offset, inverted };
                (condition, (predicate != 0) != inverted)
            })
        });
        for (condition, is_drawn) in conditions {
            for number in 0..COMMANDS {
                let found = captures.capture(FIRST, 100, desc, &[], |recorder| {
                    // SAFETY: all buffers outlive the submission.
                    unsafe {
                        recorder.bind_index_buffer(&bound)?;
                        recorder.begin_conditional_rendering(&condition)?;
                        draw(recorder, number, words.raw())?;
                        recorder.end_conditional_rendering()
                    }
                });
                let expected: &[u32] = if is_drawn { &[0, 1, 1, 2, 2, 3] } else { &[] };
                let what = format!("command {number}, {condition:?}");
                assert_eq!(found.vertices().get(FIRST as usize..), Some(expected), "{what}");
                let (before, behind) = found.bytes.split_at((FIRST * STRIDE) as usize);
                let behind = &behind[expected.len() * STRIDE as usize..];
                assert!(before.iter().chain(behind).all(|byte| *byte == BEFORE), "{what}");
            }
        }
    }
}

/// A condition applies only to the draws between its beginning and its end.
#[test]
fn a_condition_holds_up_to_its_end() {
    for mut captures in captures::all() {
        let words = captures.buffer(&[0, 1]);
        let desc = ArenaDesc::new(1, 8);
        let found = captures.capture(0, 8, desc, &[], |recorder| {
            for (vertex, place) in (0..).zip([None, Some(0), Some(1), Some(0), None]) {
                let point = Draw {
                    vertex_count: 1,
                    instance_count: 1,
                    first_vertex: vertex,
                    first_instance: 0,
                };
                // SAFETY: all buffers outlive the submission.
                unsafe {
                    if let Some(place) = place {
                        recorder.begin_conditional_rendering(&ConditionalRendering {
                            buffer: words.raw(),
                            offset: 4 * place,
                            inverted: false,
                        })?;
                    }
                    recorder.draw(POINTS, &point)?;
                }
                if place.is_some() {
                    recorder.end_conditional_rendering()?;
                }
            }
            Ok(())
        });
        assert_eq!(found.vertices(), [0, 2, 4]);
    }
}

/// Synchronization validation reports a missing barrier between a write to a predicate and a
/// capture if the capture uses descriptors. It does not detect accesses by device address.
#[test]
fn a_predicate_without_its_barrier_is_reported() {
    if !common::settings::has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let mut captures = Captures::new(Resources::Descriptors, Profile::Full);
    let words = captures.buffer(&[0]);
    let condition = ConditionalRendering { buffer: words.raw(), offset: 0, inverted: false };
    let mut messages = |is_ordered: bool| {
        let write = |ctx: &Context, cmd: vk::CommandBuffer| {
            let (stages, access) = Context::argument_scope(COMPUTE);
            let written = vk::AccessFlags::TRANSFER_WRITE;
            let barrier =
                vk::MemoryBarrier::default().src_access_mask(written).dst_access_mask(access);
            let (device, none) = (ctx.device(), vk::DependencyFlags::empty());
            // SAFETY: the buffer outlives the submission, which is waited for.
            unsafe {
                device.cmd_fill_buffer(cmd, words.raw(), 0, 4, 1);
                if is_ordered {
                    let from = vk::PipelineStageFlags::TRANSFER;
                    device.cmd_pipeline_barrier(cmd, from, stages, none, &[barrier], &[], &[]);
                }
            }
        };
        captures.capture_behind(write, 0, 8, ArenaDesc::new(1, 1), &[], |recorder| {
            let draw = Draw::new(4);
            // SAFETY: as above.
            unsafe {
                recorder.begin_conditional_rendering(&condition)?;
                recorder.draw(POINTS, &draw)?;
            }
            recorder.end_conditional_rendering()
        });
        captures.gpu.take_messages()
    };
    assert_eq!(messages(true), []);
    let found = messages(false);
    // There is a message for each view of the buffers that the kernel declares.
    let mut ids: Vec<&str> = found.iter().map(|message| message.id.as_str()).collect();
    ids.dedup();
    assert_eq!(ids, ["SYNC-HAZARD-READ-AFTER-WRITE"], "{found:?}");
}

#[test]
fn conditions_begin_and_end() {
    let mut captures = Captures::new(Resources::Best, Profile::Full);
    let words = captures.buffer(&[1, 0]);
    let desc = ArenaDesc::new(1, 1);
    captures.capture(0, 1, desc, &[], |recorder| {
        let mut condition =
            ConditionalRendering { buffer: words.raw(), offset: 2, inverted: false };
        let mut begin = |recorder: &mut Recorder<'_>, offset| {
            condition.offset = offset;
            // SAFETY: the buffer outlives the submission.
            unsafe { recorder.begin_conditional_rendering(&condition) }
        };
        let text = |result: Result<(), RuntimeError>| result.unwrap_err().to_string();
        assert_eq!(
            text(begin(recorder, 2)),
            "the offset of a predicate is 2 bytes: it must be a multiple of 4"
        );
        begin(recorder, 4)?;
        assert_eq!(
            text(begin(recorder, 4)),
            "conditional rendering is active: it has to end before it begins again"
        );
        recorder.end_conditional_rendering()?;
        assert_eq!(
            text(recorder.end_conditional_rendering()),
            "conditional rendering is not active"
        );
        Ok(())
    });
}
