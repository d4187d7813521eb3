//! Custom restart indices.

use vkxfb::runtime::{ArenaSize, DrawIndexed, IndexBuffer, IndexType, IndirectDraw};
use vkxfb::topology::PrimitiveTopology;

use super::captures;

/// The restart index is the one that was set last, until another index buffer is bound.
#[test]
fn any_index_restarts() {
    for mut captures in captures::all() {
        let data: [u16; 10] = [0, 1, 7, 2, 3, 4, u16::MAX, 5, 7, 6];
        let indices = captures.indices(&data);
        let arguments = captures.buffer(&[10, 1, 0, 0, 0]);
        let strip = PrimitiveTopology::LineStrip;
        let indices_of = IndexBuffer::new(indices.raw(), 20, IndexType::Uint16);
        let draw = DrawIndexed::new(10);
        let indirect = IndirectDraw {
            buffer: arguments.raw(),
            offset: 0,
            draw_count: 1,
            stride: 20,
            count: None,
        };
        let desc = ArenaSize { upload: 1 << 12, scratch: 1 << 14, descriptor_sets: 4 };
        let found = captures.capture(0, 100, desc, &[], |recorder| {
            assert_eq!(
                recorder.set_primitive_restart_index(7).unwrap_err().to_string(),
                "no index buffer is bound in the capture: bind one before (bind_index_buffer)"
            );
            // SAFETY: all buffers outlive the submission.
            unsafe {
                recorder.bind_index_buffer(&indices_of)?;
                recorder.set_primitive_restart_index(7)?;
                recorder.draw_indexed(strip, &draw)?;
                recorder.draw_indexed_indirect(strip, &indirect)?;
                recorder.set_primitive_restart_index(3)?;
                recorder.draw_indexed(strip, &draw)?;
                recorder.bind_index_buffer(&indices_of)?;
                recorder.draw_indexed(strip, &draw)?;
            }
            Ok(())
        });
        let lines = |restart: u16| {
            let segments = data.split(move |index| *index == restart);
            segments.flat_map(|s| s.windows(2).flatten().copied()).map(u32::from)
        };
        let expected = [7, 7, 3, u16::MAX].into_iter().flat_map(lines);
        assert_eq!(found.vertices(), expected.collect::<Vec<_>>());
    }
}

/// Indices beyond the bound range are 0. They do not restart, even if the restart index is 0.
#[test]
fn what_is_beyond_the_indices_does_not_restart() {
    for mut captures in captures::all() {
        let indices = captures.indices(&[4_u32, 0, 5, 6]);
        let bound = IndexBuffer::new(indices.raw(), 16, IndexType::Uint32);
        let draw = DrawIndexed::new(70);
        let desc = ArenaSize { upload: 1 << 12, scratch: 16 << 10, descriptor_sets: 4 };
        let found = captures.capture(0, 200, desc, &[], |recorder| {
            // SAFETY: all buffers outlive the submission.
            unsafe {
                recorder.bind_index_buffer(&bound)?;
                recorder.set_primitive_restart_index(0)?;
                recorder.draw_indexed(PrimitiveTopology::LineStrip, &draw)
            }
        });
        let segment = [5, 6].into_iter().chain([0; 66]).collect::<Vec<_>>();
        let lines = segment.windows(2).flatten().copied();
        assert_eq!(found.vertices(), lines.collect::<Vec<_>>());
    }
}
