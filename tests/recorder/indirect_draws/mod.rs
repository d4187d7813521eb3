//! Indirect draws whose number only the GPU knows, draws that a predicate discards, and custom
//! restart indices, with captures by compute.

mod captures;
mod conditions;
mod model;
mod restart_index;

use vkxfb::runtime::{ArenaSize, IndexBuffer, IndexType, IndirectDraw, QueryKind};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::Resources;

use captures::{Captures, POINTS};

/// For an indirect command with at most a million draws, the CPU does the same work, and uses the
/// same memory, as for one draw. The GPU executes the three draws that the count buffer contains.
/// With a larger count, as many records are captured as fit, and queries count all primitives.
#[test]
fn a_million_draws_cost_what_one_does() {
    const MOST: u32 = 1_000_000;
    for mut captures in captures::all() {
        // Every fourth draws nothing.
        let command = |number: u32| [if number % 4 == 3 { 0 } else { 1 }, 1, number, 0];
        let words: Vec<u32> = (0..MOST).flat_map(command).collect();
        let (arguments, counts) = (captures.buffer(&words), captures.buffer(&[3, MOST + 1]));
        let pool = captures.gpu.query_pool(QueryKind::TransformFeedbackStream, 1);
        let mut captured = |draw_count, place: u64, has_query| {
            let count = Some((counts.raw(), 4 * place));
            let buffer = arguments.raw();
            let draw = IndirectDraw { buffer, offset: 0, draw_count, stride: 16, count };
            // As much as 100 records take, and a group.
            let desc = ArenaSize { upload: 1 << 10, scratch: 8 << 10, descriptor_sets: 2 };
            let pools = std::slice::from_ref(&pool);
            captures.capture(0, 100, desc, pools, |recorder| {
                // SAFETY: all buffers outlive the submission.
                unsafe {
                    if has_query {
                        recorder.begin_query(&pool, 0, 0)?;
                    }
                    recorder.draw_indirect(POINTS, &draw)?;
                }
                if has_query { recorder.end_query(pool.kind(), 0) } else { Ok(()) }
            })
        };
        // What only the first captures of a process allocate: one draw and many need different
        // pipelines.
        for draw_count in [1, MOST] {
            captured(draw_count, 0, false);
        }
        let (one, some, all) =
            (captured(1, 0, false), captured(MOST, 0, false), captured(MOST, 1, false));
        assert_eq!(one.vertices(), [0]);
        assert_eq!(some.vertices(), [0, 1, 2]);
        let drawn: Vec<u32> = (0..).filter(|number| number % 4 != 3).take(100).collect();
        assert_eq!(all.vertices(), drawn);
        for many in [some, all] {
            assert_eq!(many.taken.upload, one.taken.upload);
            assert_eq!(many.allocated, one.allocated);
        }

        assert_eq!(captured(MOST, 1, true).vertices(), drawn);
        // SAFETY: the device is live.
        let counted = unsafe { pool.result(0) }.unwrap().unwrap();
        assert_eq!([counted.primitives_written, counted.primitives_needed], [100, 750_000]);
    }
}

/// A buffer has room for the counted commands, but not for the maximum number of commands, which
/// Vulkan does not allow. With addresses only the counted commands are read. A descriptor would
/// exceed the buffer, so the call is refused.
#[test]
fn commands_that_the_buffer_does_not_hold_are_refused_by_descriptors() {
    const MOST: u32 = 1_000_000;
    for (resources, profile) in captures::WAYS {
        let mut captures = Captures::new(resources, profile);
        let words: Vec<u32> = (0..3).flat_map(|number| [1, 1, number, 0]).collect();
        let (arguments, counts) = (captures.buffer(&words), captures.buffer(&[3]));
        let desc = ArenaSize { upload: 1 << 10, scratch: 8 << 10, descriptor_sets: 2 };
        let mut captured = |draw_count| {
            let (buffer, count) = (arguments.raw(), Some((counts.raw(), 0)));
            let draw = IndirectDraw { buffer, offset: 0, draw_count, stride: 16, count };
            let mut refused = None;
            let found = captures.capture(0, 100, desc, &[], |recorder| {
                // SAFETY: all buffers outlive the submission, and no more than three commands are
                // read.
                refused = unsafe { recorder.draw_indirect(POINTS, &draw) }.err();
                Ok(())
            });
            (found.vertices(), refused.map(|error| error.to_string()))
        };
        assert_eq!(captured(3), (vec![0, 1, 2], None));
        let (vertices, refused) = captured(MOST);
        if resources == Resources::Descriptors {
            let text = refused.unwrap();
            let expected = format!(
                "the {MOST} commands that an indirect draw may read end at byte 16000000 of"
            );
            assert!(text.starts_with(&expected), "{text}");
            assert_eq!(vertices, [0; 0]);
        } else {
            assert_eq!((vertices, refused), (vec![0, 1, 2], None));
        }
    }
}

/// The same applies to draws with primitive restart: the restarts are found once, for all draws
/// with the same index buffer.
#[test]
fn many_restarted_draws_cost_what_one_does() {
    const MOST: u32 = 200_000;
    /// The number of indices, which is enough for more than one workgroup.
    const INDICES: u32 = 20_000;
    const RESTART_EVERY: u32 = 7;
    for mut captures in captures::all() {
        let is_restart = |at: u32| at % RESTART_EVERY == RESTART_EVERY - 1;
        let index = |at| if is_restart(at) { u16::MAX } else { at as u16 };
        let data: Vec<u16> = (0..INDICES).map(index).collect();
        let size = 2 * u64::from(INDICES);
        let indices = captures.indices(&data);
        let bound = IndexBuffer::new(indices.raw(), size, IndexType::Uint16);
        // Each draws three indices, from anywhere on.
        let first = |number: u32| number * 5 % INDICES;
        let words: Vec<u32> = (0..MOST).flat_map(|number| [3, 1, first(number), 0, 0]).collect();
        let (arguments, counts) = (captures.buffer(&words), captures.buffer(&[3, MOST]));
        let mut captured = |draw_count, place: u64| {
            let count = Some((counts.raw(), 4 * place));
            let buffer = arguments.raw();
            let draw = IndirectDraw { buffer, offset: 0, draw_count, stride: 20, count };
            let desc = ArenaSize { upload: 1 << 10, scratch: 32 << 10, descriptor_sets: 2 };
            captures.capture(0, 100, desc, &[], |recorder| {
                // SAFETY: all buffers outlive the submission.
                unsafe {
                    recorder.bind_index_buffer(&bound)?;
                    recorder.draw_indexed_indirect(PrimitiveTopology::LineStrip, &draw)?;
                    // Another draw of the same indices takes no memory for them.
                    recorder.draw_indexed_indirect(PrimitiveTopology::LineStrip, &draw)
                }
            })
        };
        // The first captures create the kernels.
        captured(1, 0);
        captured(MOST, 0);
        let (one, some, all) = (captured(1, 0), captured(MOST, 0), captured(MOST, 1));
        let lines = |draws: std::ops::Range<u32>| {
            draws.flat_map(|number| {
                let drawn = (first(number)..first(number) + 3).filter(|at| *at < INDICES);
                let drawn: Vec<u32> = drawn.collect();
                let pairs = drawn.windows(2).filter(|pair| !pair.iter().any(|at| is_restart(*at)));
                pairs.flatten().copied().collect::<Vec<_>>()
            })
        };
        let twice = |draws: u32| lines(0..draws).chain(lines(0..draws)).collect::<Vec<_>>();
        assert_eq!(one.vertices(), twice(1));
        assert_eq!(some.vertices(), twice(3));
        assert_eq!(all.vertices(), lines(0..MOST).take(100).collect::<Vec<_>>());
        for many in [some, all] {
            assert_eq!(many.taken.upload, one.taken.upload);
            assert_eq!(many.allocated, one.allocated);
        }
    }
}
