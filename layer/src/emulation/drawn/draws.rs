//! Replaces draws of pipelines with geometry shaders.

use std::sync::Arc;

use vkxfb::runtime::{BoundForDraw, DirectDraw, DrawnList, IndexBuffer, VertexBuffer};
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::drawn::without_adjacency;
use crate::emulation::captures::{Captures, Forward};
use crate::emulation::drawn::{DrawnInstead, DrawnPipeline, FoundDrawn};
use crate::emulation::pipelines::PipelineError;

/// What the log calls a draw that is lost.
const A_DRAW: &str = "a draw with a geometry shader";

impl Captures {
    /// Returns the pipeline with a geometry shader that is bound. `None` if another one is, or if such pipelines are the
    /// driver's.
    fn bound_drawn(&self) -> Option<FoundDrawn> {
        _ = self.emulation().drawing?;
        self.emulation().objects().drawn.get(self.state.bound_pipeline)
    }

    /// Returns what is recorded in place of a direct draw, if its pipeline has a geometry shader that the layer draws.
    /// `forward` is what would be recorded otherwise. `draw` gets the bound index buffer, if there is one.
    ///
    /// # Safety
    /// Everything that is bound is valid, and so are the arguments of the draw.
    pub(crate) unsafe fn replace_draw(
        &mut self,
        forward: Forward,
        draw: impl FnOnce(Option<IndexBuffer>) -> Option<DirectDraw>,
    ) -> Forward {
        let Some(found) = self.bound_drawn() else { return forward };
        if forward == Forward::No {
            return forward;
        }
        let drawn = found.map_err(PipelineError::Known);
        let instead = drawn.and_then(|pipeline| match pipeline {
            Some(pipeline) => unsafe { self.list_of(&pipeline, draw) },
            None => Ok(None),
        });
        match instead {
            Ok(Some(instead)) => Forward::Drawn(instead),
            Ok(None) => Forward::No,
            Err(error) => {
                let drawn = self.drawn();
                self.lose(A_DRAW, drawn, error);
                Forward::No
            }
        }
    }

    /// Like [`replace_draw`](Self::replace_draw), for kinds of draws that are not replaced: they are lost.
    pub(crate) fn lose_draw(&mut self, forward: Forward, what: &'static str) -> Forward {
        // A draw that only captures has nothing to lose.
        let found = self.bound_drawn().filter(|_| forward != Forward::No);
        let Some(found) = found else { return forward };
        if matches!(found, Ok(None)) {
            return Forward::No;
        }
        let drawn = self.drawn();
        self.lose(A_DRAW, drawn, PipelineError::NotDrawn(what));
        Forward::No
    }

    /// Returns the list of a draw; `None` if it draws nothing.
    ///
    /// # Errors
    /// The draw cannot be drawn so.
    ///
    /// # Safety
    /// The contract of [`replace_draw`](Self::replace_draw).
    unsafe fn list_of(
        &mut self,
        pipeline: &Arc<DrawnPipeline>,
        draw: impl FnOnce(Option<IndexBuffer>) -> Option<DirectDraw>,
    ) -> Result<Option<DrawnInstead>, PipelineError> {
        let Some(drawing) = self.emulation().drawing else { return Ok(None) };
        let (state, dynamic) = (&self.state, pipeline.dynamic);
        let indices = self.index_buffer().map(|(indices, _)| indices);
        let Some(draw) = draw(indices) else { return Ok(None) };
        let restart = if dynamic.restart { state.restart } else { pipeline.restart };
        if restart && matches!(draw, DirectDraw::Indexed(..)) {
            return Err(PipelineError::NotDrawn("primitive restart"));
        }
        let given = if dynamic.topology { state.topology } else { pipeline.topology };
        let vertex_buffers: Vec<VertexBuffer> = (pipeline.vertex_input.bindings.iter())
            .map(|binding| self.vertex_buffer(binding.binding, dynamic.stride))
            .collect();
        let mut push_constants = Vec::new();
        state.restorable.captured_constants(&mut push_constants);
        let dynamic_mode = dynamic.provoking_vertex.then_some(state.provoking_vertex);
        let bound = BoundForDraw {
            topology: PrimitiveTopology::try_from(given)?,
            provoking_vertex: dynamic_mode.unwrap_or(pipeline.provoking_vertex),
            vertex_buffers: &vertex_buffers,
            push_constants: &push_constants,
        };
        let mut list: Option<DrawnList> = None;
        unsafe {
            self.with_arena(|emulation, arena| {
                list = pipeline.shader.list(emulation.context(), arena, &bound, &draw)?;
                Ok(())
            })
        }?;
        Ok(list.map(|list| DrawnInstead {
            list,
            binding: drawing.binding,
            has_strides: dynamic.stride,
            topology: dynamic.topology.then_some([pipeline.list, without_adjacency(given)]),
            restarts: dynamic.restart && restart,
        }))
    }
}
