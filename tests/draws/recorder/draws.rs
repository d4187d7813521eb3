//! Records draws with the recorder.

use vkxfb::runtime::{
    ByteCountDraw, CounterBuffer, Draw as Direct, DrawIndexed, IndirectDraw, Recorder, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;

use super::Machine;
use crate::program::Draw;

impl Machine<'_> {
    /// # Safety
    /// As [`record`](Self::record).
    pub(super) unsafe fn draw(
        &self,
        recorder: &mut Recorder<'_>,
        topology: PrimitiveTopology,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        let buffer = self.round.memory;
        // SAFETY: the caller's contract.
        unsafe {
            match draw {
                Draw::Direct { indexed: false, span, instances } => {
                    let draw = Direct {
                        vertex_count: span.count,
                        instance_count: instances.count,
                        first_vertex: span.first,
                        first_instance: instances.first,
                    };
                    recorder.draw(topology, &draw)
                }
                Draw::Direct { indexed: true, span, instances } => {
                    let draw = DrawIndexed {
                        index_count: span.count,
                        instance_count: instances.count,
                        first_index: span.first,
                        vertex_offset: span.vertex_offset,
                        first_instance: instances.first,
                    };
                    recorder.draw_indexed(topology, &draw)
                }
                Draw::Multi { indexed: false, spans, instances, .. } => {
                    let draws: Vec<_> = spans
                        .iter()
                        .map(|span| Direct {
                            vertex_count: span.count,
                            instance_count: instances.count,
                            first_vertex: span.first,
                            first_instance: instances.first,
                        })
                        .collect();
                    recorder.draw_multi(topology, &draws)
                }
                Draw::Multi { indexed: true, spans, instances, vertex_offset } => {
                    let draws: Vec<_> = spans
                        .iter()
                        .map(|span| DrawIndexed {
                            index_count: span.count,
                            instance_count: instances.count,
                            first_index: span.first,
                            vertex_offset: vertex_offset.unwrap_or(span.vertex_offset),
                            first_instance: instances.first,
                        })
                        .collect();
                    recorder.draw_multi_indexed(topology, &draws)
                }
                &Draw::Indirect { indexed, offset, draw_count, stride, count } => {
                    let count = count.map(|offset| (buffer, offset));
                    let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
                    if indexed {
                        recorder.draw_indexed_indirect(topology, &draw)
                    } else {
                        recorder.draw_indirect(topology, &draw)
                    }
                }
                Draw::ByteCount { instances, counter, counter_offset, vertex_stride } => {
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
