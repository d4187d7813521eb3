//! The state for draws, which is set with the recorder.

use ash::vk;
use vkxfb::runtime::{
    CaptureBuffer, ConditionalRendering, IndexBuffer, IndexType, Recorder, RuntimeError,
    VertexBuffer,
};

use super::Machine;
use crate::common::commands::Range;
use crate::program::{BoundSet, Condition, State, StateChange};
use crate::sets::SETS;
use crate::shaders::CONSTANTS;

/// The state that a program has bound so far.
#[derive(Default)]
pub struct Bound {
    pub state: Option<State>,
    pub vertices: Vec<VertexBuffer>,
    pub indices: Option<IndexBuffer>,
    pub sets: [Option<BoundSet>; SETS],
    /// The primitive restart index, if one was set since the index buffer was bound.
    restart_index: Option<u32>,
    pub condition: Option<ConditionalRendering>,
    /// Whether the descriptor sets were bound with the recorder of the current capture.
    are_sets_recorded: bool,
    /// The push constants that were set.
    pub constants: [u32; CONSTANTS],
    pub captures: [Option<CaptureBuffer>; 4],
    /// The active query of each kind.
    pub queries: [Option<u32>; 2],
}

impl Bound {
    /// Applies a change to the state.
    pub fn change(&mut self, buffer: vk::Buffer, change: &StateChange) {
        match change {
            StateChange::Pipeline(state) => self.state = Some(*state),
            StateChange::ProvokingVertex(provoking) => {
                self.state.as_mut().unwrap().provoking = *provoking;
            }
            StateChange::PrimitiveRestart(restart) => {
                self.state.as_mut().unwrap().restart = *restart;
            }
            StateChange::VertexBuffers(ranges) => {
                self.vertices = (0..)
                    .zip(ranges)
                    .map(|(binding, &Range { offset, size })| VertexBuffer {
                        binding,
                        buffer,
                        offset,
                        size,
                        stride: None,
                    })
                    .collect();
            }
            StateChange::IndexBuffer(indices) => {
                self.restart_index = None;
                self.indices = Some(IndexBuffer {
                    buffer,
                    offset: indices.range.offset,
                    size: indices.range.size,
                    index_type: match indices.index_size {
                        1 => IndexType::Uint8,
                        2 => IndexType::Uint16,
                        _ => IndexType::Uint32,
                    },
                });
            }
            StateChange::PrimitiveRestartIndex(index) => self.restart_index = Some(*index),
            StateChange::BeginConditionalRendering(Condition { offset, inverted }) => {
                let (offset, inverted) = (*offset, *inverted);
                self.condition = Some(ConditionalRendering { buffer, offset, inverted });
            }
            StateChange::EndConditionalRendering => self.condition = None,
            StateChange::DescriptorSets { first, sets } => {
                for (bound, set) in self.sets.iter_mut().skip(*first).zip(sets) {
                    *bound = Some(*set);
                }
            }
            StateChange::PushConstants { first, dwords } => {
                self.constants[*first..*first + dwords.len()].copy_from_slice(dwords);
            }
        }
    }

    /// Binds the index buffer with a recorder, if one is bound.
    ///
    /// # Safety
    /// As [`Recorder::bind_index_buffer`].
    pub unsafe fn restore_indices(&self, recorder: &mut Recorder<'_>) -> Result<(), RuntimeError> {
        let Some(indices) = &self.indices else { return Ok(()) };
        unsafe { recorder.bind_index_buffer(indices) }?;
        self.restart_index.map_or(Ok(()), |index| recorder.set_primitive_restart_index(index))
    }

    pub fn bind_captures(&mut self, buffer: vk::Buffer, ranges: &[Option<Range>; 4]) {
        self.captures = ranges.map(|range| {
            let Range { offset, size } = range?;
            Some(CaptureBuffer { buffer, offset, size })
        });
    }
}

impl Machine<'_> {
    /// Binds everything at the beginning of a capture, except for the pipeline and the vertex
    /// buffers, with which the recorder was begun.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    pub(super) unsafe fn restore(
        &self,
        recorder: &mut Recorder<'_>,
        bound: &mut Bound,
    ) -> Result<(), RuntimeError> {
        bound.are_sets_recorded = false;
        unsafe {
            self.restore_sets(recorder, bound)?;
            bound.restore_indices(recorder)?;
            if let Some(condition) = &bound.condition {
                recorder.begin_conditional_rendering(condition)?;
            }
        }
        recorder.push_constants(0, bytemuck::cast_slice(&bound.constants))
    }

    /// Binds the descriptor sets that the pipeline reads with the recorder, once in a capture.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn restore_sets(
        &self,
        recorder: &mut Recorder<'_>,
        bound: &mut Bound,
    ) -> Result<(), RuntimeError> {
        let reads = bound.state.is_some_and(|state| state.shader.reads_sets());
        let all: Vec<BoundSet> = bound.sets.iter().flatten().copied().collect();
        if reads && all.len() == SETS && !bound.are_sets_recorded {
            bound.are_sets_recorded = true;
            unsafe { self.bind_sets(recorder, 0, &all) }?;
        }
        Ok(())
    }

    /// Records a change between draws, after it was applied to `bound`.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    pub(super) unsafe fn change(
        &self,
        recorder: &mut Recorder<'_>,
        bound: &mut Bound,
        change: &StateChange,
    ) -> Result<(), RuntimeError> {
        unsafe {
            match change {
                StateChange::Pipeline(state) => {
                    recorder.bind_pipeline(self.pipelines.get(self.round.program, *state))?;
                    self.restore_sets(recorder, bound)
                }
                StateChange::ProvokingVertex(provoking) => {
                    recorder.set_provoking_vertex(*provoking)
                }
                StateChange::PrimitiveRestart(restart) => recorder.set_primitive_restart(*restart),
                StateChange::VertexBuffers(_) => recorder.bind_vertex_buffers(&bound.vertices),
                StateChange::IndexBuffer(_) => recorder.bind_index_buffer(&bound.indices.unwrap()),
                StateChange::PrimitiveRestartIndex(index) => {
                    recorder.set_primitive_restart_index(*index)
                }
                StateChange::BeginConditionalRendering(_) => {
                    recorder.begin_conditional_rendering(&bound.condition.unwrap())
                }
                StateChange::EndConditionalRendering => recorder.end_conditional_rendering(),
                StateChange::DescriptorSets { first, sets } => {
                    self.bind_sets(recorder, *first, sets)
                }
                StateChange::PushConstants { first, dwords } => {
                    recorder.push_constants(4 * *first as u32, bytemuck::cast_slice(dwords))
                }
            }
        }
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn bind_sets(
        &self,
        recorder: &mut Recorder<'_>,
        first: usize,
        sets: &[BoundSet],
    ) -> Result<(), RuntimeError> {
        let (raw, offsets) = self.sets.arguments(self.round.number, first, sets);
        unsafe { recorder.bind_descriptor_sets(first as u32, &raw, &offsets) }
    }
}
