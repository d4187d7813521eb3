//! Methods of `Captures` that collect draws between `vkCmdBeginTransformFeedbackEXT` and
//! `vkCmdEndTransformFeedbackEXT`, and draws that queries count.

use std::borrow::Cow;
use std::sync::{Arc, PoisonError};

use ash::vk;
use vkxfb::runtime::descriptor_heaps::DescriptorPlace;
use vkxfb::runtime::{
    Buffer, BufferDesc, ByteCountDraw, CaptureDesc, ConditionalRendering, CounterBuffer,
    DrawCommands, IndexBuffer, MemoryLocation, Recorder, RuntimeError, VertexBuffer,
};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::VertexFormat;

use crate::emulation::captures::passes::Pass;
use crate::emulation::captures::{Captures, Forward, Hoisted, ReadFrom, SharedCapture, lock};
use crate::emulation::losses::{A_BYTE_COUNT, A_CAPTURE};
use crate::emulation::pipelines::{Pipeline, PipelineError};
use crate::emulation::state::{BUFFERS, BoundIndexBuffer, BoundVertexBuffer, ChangedState};

/// The size in bytes of a buffer for the arguments of indirect draws. [`COMMAND`] is the size in
/// bytes of the arguments of one draw.
const COMMANDS: u64 = 4096;
const COMMAND: u64 = size_of::<vk::DrawIndirectCommand>() as u64;

/// The capture that is being collected. It consists of the draws between
/// `vkCmdBeginTransformFeedbackEXT` and `vkCmdEndTransformFeedbackEXT`, or of draws without
/// transform feedback that a query of the layer counts.
pub(super) struct Active {
    /// The begun [`Capture`](vkxfb::runtime::Capture). `None` before it has begun: the first draw or, without draws,
    /// the end of transform feedback begins it, because everything that the capture needs is bound only then.
    pub(super) capture: Option<SharedCapture>,
    /// The index in the list `hoisted` of the capture that this one [has joined](Captures::join_last). Both return to
    /// that place, before what was hoisted meanwhile: it may have to come after the other capture.
    place: Option<usize>,
    pub(super) counters: [Option<CounterBuffer>; BUFFERS],
    /// Whether the draws are only counted, because transform feedback is not active.
    pub(super) only_counts: bool,
    /// Whether the draws are only counted, and their primitives [follow from the topology](Pipeline::is_of_topology). The
    /// capture has no pipeline then.
    pub(super) is_of_topology: bool,
    /// Whether the capture is [lost](Captures::lose), so that its draws are not collected.
    is_lost: bool,
    /// Where the descriptors are that the draws so far have read.
    read_from: ReadFrom,
}

impl Active {
    fn new(counters: [Option<CounterBuffer>; BUFFERS], only_counts: bool) -> Self {
        Self {
            capture: None,
            place: None,
            counters,
            only_counts,
            is_of_topology: false,
            is_lost: false,
            read_from: ReadFrom::Sets,
        }
    }
}

impl Captures {
    /// `vkCmdBeginTransformFeedbackEXT`
    pub(crate) fn begin_capture(&mut self, counters: [Option<CounterBuffer>; BUFFERS]) {
        tracing::trace!("vkCmdBeginTransformFeedbackEXT: the capture is ours");
        self.end_counting();
        let is_lost = self.failed.is_some();
        self.active = Some(Active { is_lost, ..Active::new(counters, false) });
    }

    /// `vkCmdEndTransformFeedbackEXT`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn end_capture(&mut self, counters: [Option<CounterBuffer>; BUFFERS]) {
        // Errors are ignored: if there was no draw, it does not matter whether the shaders can be
        // captured.
        if self.active.as_ref().is_some_and(|active| active.capture.is_none() && !active.is_lost) {
            match self.find_pipeline() {
                Ok(()) => _ = unsafe { self.begin_collecting() },
                // The log does not have the refusal, so the next draw finds it again.
                Err(_) => self.state.refusal = None,
            }
        }
        let Some(mut active) = self.active.take() else { return };
        self.forget_counts();
        self.joins_last = active.capture.is_some();
        let has_draws = active.capture.is_some() && !active.is_lost;
        let kept = (!has_draws).then(|| counters_without_captures(&active.counters, &counters));
        let counters = kept.as_ref().unwrap_or(&counters);
        let capture = match active.capture.take() {
            Some(capture) => capture,
            None if self.failed.is_some() => return,
            None => {
                if !active.is_lost {
                    // The driver executes the draws correctly, so recording does not fail.
                    tracing::warn!("nothing was captured: no pipeline of the draws captures");
                }
                if counters.iter().all(Option::is_none) {
                    return;
                }
                match self.inactive_capture() {
                    Ok(capture) => capture,
                    Err(error) => {
                        let drawn = self.drawn();
                        self.lose(A_CAPTURE, drawn, error);
                        return;
                    }
                }
            }
        };
        // SAFETY: the caller's contract: the counter buffers are valid, and so are the objects that the draws use.
        unsafe { self.end_and_hoist(capture, &mut active, counters) };
    }

    /// Ends a capture, and adds it to the list of captures that are recorded before or after the pass, at its
    /// [place](Active::place) if it has one. If it cannot be ended, it is lost, and only ends queries and writes the
    /// [counters of captures without draws](counters_without_captures).
    ///
    /// # Safety
    /// The contract of [`Capture::end`](vkxfb::runtime::Capture::end).
    unsafe fn end_and_hoist(
        &mut self,
        capture: SharedCapture,
        active: &mut Active,
        counters: &[Option<CounterBuffer>; BUFFERS],
    ) {
        let ended = unsafe { lock(&capture).end(counters) };
        if let Err(error) = ended {
            let drawn = lock(&capture).drawn;
            if !self.lose(A_CAPTURE, drawn, error) {
                return;
            }
            let counters = counters_without_captures(&active.counters, counters);
            let mut capture = lock(&capture);
            capture.discard_current();
            // If the counters are what is wrong, none are written.
            _ = unsafe { capture.end(&counters) };
        }
        let capture = Hoisted::Capture(capture, std::mem::take(&mut active.read_from));
        match active.place {
            None => self.push(capture),
            Some(place) => self.insert(place, capture),
        }
    }

    /// Returns a capture that has begun without a pipeline: it only counts, and ends queries.
    ///
    /// # Errors
    /// The capture cannot begin.
    pub(super) fn inactive_capture(&mut self) -> Result<SharedCapture, RuntimeError> {
        let capture = self.spare_capture()?;
        // SAFETY: without a description there is nothing that must be valid.
        unsafe { lock(&capture).begin(None) }?;
        Ok(capture)
    }

    /// The active capture is lost because of an error of a draw: the draws so far are discarded, and those that follow
    /// are not collected.
    fn lose_active(&mut self, error: PipelineError) {
        let drawn = self.drawn();
        self.lose(A_CAPTURE, drawn, error);
        // Some of what has changed is not bound in the capture, which the next one may join.
        (self.state.changed, self.variant) = (ChangedState::ALL, None);
        if let Some(active) = &mut self.active {
            active.is_lost = true;
            if let Some(capture) = &active.capture {
                lock(capture).discard_current();
            }
        }
    }

    /// Begins the active capture with the variant of the bound pipeline, or does nothing if the pipeline does not
    /// capture. If the capture has begun already, and the pipeline or dynamic state has changed, looks up the new
    /// variant.
    ///
    /// # Errors
    /// The variant cannot be created, or the capture cannot begin.
    ///
    /// # Safety
    /// Everything that is bound is valid.
    unsafe fn begin_collecting(&mut self) -> Result<(), PipelineError> {
        self.note_alignment();
        let is_begun = self.active.as_ref().is_none_or(|active| active.capture.is_some());
        if is_begun && !self.state.changed.variant {
            return Ok(());
        }
        if !unsafe { self.find_variant() }? || is_begun {
            return Ok(());
        }
        if !unsafe { self.join_last() }? {
            self.state.changed = ChangedState::ALL;
            let vertex_buffers = self.vertex_buffers();
            let capture = self.spare_capture()?;
            let drawn = self.drawn();
            let (Some(active), Some(variant)) = (&mut self.active, &self.variant) else {
                return Ok(());
            };
            let buffers = if active.only_counts { &[][..] } else { &self.state.capture_buffers };
            let desc = CaptureDesc {
                buffers,
                vertex_buffers: &vertex_buffers,
                counters: &active.counters,
                ..CaptureDesc::new(variant)
            };
            let begun = {
                let mut capture = lock(&capture);
                capture.drawn = drawn;
                unsafe { capture.begin(&desc) }
            };
            self.vertex_buffers = vertex_buffers;
            if let Err(error) = begun {
                self.keep(capture);
                return Err(error.into());
            }
            active.capture = Some(capture);
        }
        self.last_buffers = self.state.capture_buffers;
        // The capture has begun with the pipeline and the vertex buffers, so no draw need bind them.
        (self.state.changed.variant, self.state.changed.vertex_buffers) = (false, false);
        unsafe { self.count() }?;
        Ok(())
    }

    /// Begins the active capture in the [`Capture`](vkxfb::runtime::Capture) of the capture that ended last, so that
    /// both may be recorded together, and only state that has changed since the last draw is bound. Returns `false`,
    /// and changes nothing, if the active capture must be begun in a separate `Capture`.
    ///
    /// # Errors
    /// The errors of [`Capture::begin_next`](vkxfb::runtime::Capture::begin_next).
    ///
    /// # Safety
    /// Everything that is bound is valid.
    unsafe fn join_last(&mut self) -> Result<bool, RuntimeError> {
        let orders_captures = |pass: &Pass| self.orders_captures(pass);
        if !self.joins_last || self.pass.as_ref().is_none_or(orders_captures) {
            return Ok(false);
        }
        let Some(counters) = self.active.as_ref().map(|active| active.counters) else {
            return Ok(false);
        };
        // Behind a barrier, a capture may write what captures before it have read through descriptors or addresses, which
        // the layer does not know. A capture that goes on in the same buffers does not: captures do not read where they
        // write.
        if self.passed_barrier && self.last_buffers != self.state.capture_buffers {
            return Ok(false);
        }
        let changed = self.state.changed.variant || self.state.changed.vertex_buffers;
        let vertex_buffers = if changed { self.vertex_buffers() } else { Vec::new() };
        let Some(variant) = &self.variant else { return Ok(false) };
        let desc = CaptureDesc {
            buffers: &self.state.capture_buffers,
            vertex_buffers: &vertex_buffers,
            counters: &counters,
            ..CaptureDesc::new(variant)
        };
        // The last capture is the last element of `hoisted`, or the one before a `Hoisted::Ends`, which
        // [`push`](Self::push) keeps at the end of the list.
        let ends = usize::from(matches!(self.hoisted.last(), Some(Hoisted::Ends(_))));
        let Some(last) = self.hoisted.len().checked_sub(1 + ends) else { return Ok(false) };
        let reads_buffers = || {
            let pipeline = self.state.pipeline.as_ref();
            pipeline.is_some_and(|pipeline| *pipeline.descriptors() == DescriptorPlace::Buffers)
        };
        let capture = match self.hoisted.get_mut(last) {
            Some(Hoisted::Capture(capture, ReadFrom::Sets)) => capture,
            Some(Hoisted::Capture(capture, ReadFrom::Heaps)) if !reads_buffers() => capture,
            _ => return Ok(false),
        };
        let Some(own) = Arc::get_mut(capture) else { return Ok(false) };
        let own = own.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !unsafe { own.begin_next(&desc) }? {
            return Ok(false);
        }
        if let Hoisted::Capture(capture, read_from) = self.hoisted.remove(last)
            && let Some(active) = &mut self.active
        {
            (active.capture, active.place) = (Some(capture), Some(last));
            active.read_from = read_from;
        }
        if changed {
            self.vertex_buffers = vertex_buffers;
        }
        tracing::trace!("the capture is recorded together with the one before");
        Ok(true)
    }

    /// Begins to collect draws that are only counted, if a primitives generated query of the layer is active, transform
    /// feedback is not active, and the layer counts what the bound pipeline generates: if the driver counts stream 0,
    /// only what pipelines generate that may emit to several streams.
    fn begin_counting(&mut self) {
        let counts_all = self.emulation.counts_generated;
        let is_counted = |pipeline: &&Arc<Pipeline>| counts_all || pipeline.has_streams();
        if !self.counts_draws() {
            return;
        }
        let Some(pipeline) = self.state.pipeline.as_ref().filter(is_counted) else { return };
        let is_of_topology = pipeline.is_of_topology();
        // Draws of other pipelines with a vertex shader alone are counted together with these.
        if self.active.as_ref().is_some_and(|a| a.only_counts && a.is_of_topology != is_of_topology)
        {
            self.end_counting();
        }
        if self.active.is_none() {
            self.joins_last = false;
            let active = Active::new([None; BUFFERS], true);
            self.active = Some(Active { is_of_topology, ..active });
        }
    }

    /// Ends the active capture if its draws are only counted, and it needs the pipeline that was bound. Called when
    /// another one is bound.
    pub(super) fn end_counting_with_pipeline(&mut self) {
        if !self.active.as_ref().is_some_and(|active| active.is_of_topology) {
            self.end_counting();
        }
    }

    /// Ends the active capture if its draws are only counted for queries. Called, for example, when the pass ends.
    #[inline]
    pub(super) fn end_counting(&mut self) {
        if self.active.as_ref().is_some_and(|active| active.only_counts) {
            self.end_counted();
        }
    }

    /// Ends the active capture, whose draws are only counted.
    #[cold]
    fn end_counted(&mut self) {
        let Some(mut active) = self.active.take() else { return };
        self.forget_counts();
        let Some(capture) = active.capture.take() else { return };
        // SAFETY: no counter buffers are passed, so there is no memory that would have to be valid.
        unsafe { self.end_and_hoist(capture, &mut active, &[None; BUFFERS]) };
    }

    /// Looks up the variant for the bound pipeline and the current dynamic state. Returns whether there is one: `false`
    /// if the pipeline neither captures nor has to run to be counted.
    ///
    /// # Errors
    /// The variant cannot be created.
    ///
    /// # Safety
    /// The device is live.
    unsafe fn find_variant(&mut self) -> Result<bool, PipelineError> {
        if !self.state.changed.variant && self.variant.is_some() {
            return Ok(true);
        }
        let has_variants = |pipeline: &Arc<Pipeline>| pipeline.has_variants();
        let Some(pipeline) = self.state.pipeline.clone().filter(has_variants) else {
            return Ok(false);
        };
        let variant = unsafe {
            let (origin, unaligned) = (self.state.domain_origin, self.unaligned_attributes);
            match (pipeline.dynamic.vertex_input, &self.state.vertex_input) {
                _ if !pipeline.has_dynamic_variants() => pipeline.static_variant(unaligned),
                (false, _) => pipeline.variant(&pipeline.vertex_input, unaligned, origin),
                (true, Ok(vertex_input)) => {
                    pipeline.variant(&pipeline.complete(vertex_input), unaligned, origin)
                }
                (true, Err(error)) => Err(PipelineError::VertexInput(error.clone())),
            }
        }?;
        self.variant = Some(variant);
        Ok(true)
    }

    /// If the pipeline or the vertex buffers have changed, finds out whether the variant has to load attributes by bytes,
    /// which the vertex input itself does not ask for: because of where the buffers are bound, and of strides that are
    /// bound with them.
    fn note_alignment(&mut self) {
        let state = &self.state;
        if !state.changed.variant && !state.changed.vertex_buffers {
            return;
        }
        let Some(pipeline) = &state.pipeline else { return };
        let dynamic = pipeline.dynamic;
        let input = match (dynamic.vertex_input, &state.vertex_input) {
            (false, _) => &pipeline.vertex_input,
            (true, Ok(input)) => input,
            (true, Err(_)) => return,
        };
        let bound = |number: u32, stride: u32| {
            let bound = state.vertex_buffers.get(number as usize).copied().unwrap_or_default();
            let bound_stride = bound.stride.filter(|_| dynamic.stride || dynamic.vertex_input);
            (bound.offset, bound_stride.unwrap_or(stride))
        };
        let largest = VertexFormat::MAX_LOAD_ALIGNMENT;
        let is_suspect = input.bindings.iter().any(|binding| {
            let (offset, stride) = bound(binding.binding, binding.stride);
            !(offset | u64::from(stride)).is_multiple_of(largest.into())
        });
        // Alignments are powers of two, so what is aligned to the largest of them suits each attribute.
        let unaligned = is_suspect
            && input.attributes.iter().any(|attribute| {
                let stride = input.binding(attribute.binding).map_or(0, |binding| binding.stride);
                let (offset, bound_stride) = bound(attribute.binding, stride);
                attribute.is_aligned(0, stride) && !attribute.is_aligned(offset, bound_stride)
            });
        self.state.changed.variant |= unaligned != self.unaligned_attributes;
        self.unaligned_attributes = unaligned;
    }

    /// Returns the vertex buffers for all bindings of the pipeline's vertex input. If no buffer is
    /// bound to a binding, its buffer is null, and all reads from it are out of bounds. The list is taken
    /// from the field `vertex_buffers`, into which the caller puts it back.
    fn vertex_buffers(&mut self) -> Vec<VertexBuffer> {
        let mut buffers = std::mem::take(&mut self.vertex_buffers);
        buffers.clear();
        let state = &self.state;
        let Some(pipeline) = &state.pipeline else { return buffers };
        let dynamic = pipeline.dynamic;
        let input = match (dynamic.vertex_input, &state.vertex_input) {
            (false, _) => Cow::Borrowed(&pipeline.vertex_input),
            (true, Ok(input)) => pipeline.complete(input),
            (true, Err(_)) => return buffers,
        };
        let has_strides = dynamic.stride || dynamic.vertex_input;
        let bound = input.bindings.iter();
        buffers.extend(bound.map(|binding| self.vertex_buffer(binding.binding, has_strides)));
        buffers
    }

    /// Returns the vertex buffer that is bound to a binding, or a null buffer. `has_strides` says whether its stride is
    /// dynamic state.
    pub(in crate::emulation) fn vertex_buffer(
        &self,
        binding: u32,
        has_strides: bool,
    ) -> VertexBuffer {
        let bound = self.state.vertex_buffers.get(binding as usize).copied().unwrap_or_default();
        let BoundVertexBuffer { buffer, offset, .. } = bound;
        let size = self.reached_size(buffer, offset, bound.size);
        let stride = bound.stride.filter(|_| has_strides);
        VertexBuffer { binding, buffer, offset, size, stride }
    }

    /// Returns the size in bytes of a range of a buffer. `size` may be `VK_WHOLE_SIZE`.
    pub(crate) fn size(&self, buffer: vk::Buffer, offset: u64, size: u64) -> u64 {
        match size {
            vk::WHOLE_SIZE => {
                let buffer = self.emulation.objects().buffers.get(buffer);
                buffer.map_or(0, |buffer| buffer.size.saturating_sub(offset))
            }
            size => size,
        }
    }

    /// Whether draws are collected: transform feedback is active, a capture collects draws that are only counted for
    /// queries, or a query of the layer may count draws.
    pub(crate) fn is_active(&self) -> bool {
        self.has_capture() || self.counts_draws()
    }

    pub(super) const fn has_capture(&self) -> bool {
        self.active.is_some()
    }

    /// Whether captures must observe draws: because draws are collected, because a draw that
    /// rasterizes a stream other than 0 may have to be rejected, or because lists replace draws with geometry shaders.
    pub(crate) fn observes_draws(&self) -> bool {
        self.is_active() || self.state.rasterization_stream != 0 || self.emulation.draws_geometry()
    }

    /// Looks up the pipeline with which draws of the bound graphics pipeline or shader objects are captured. Does
    /// nothing if an earlier call looked up that pipeline after they were bound.
    ///
    /// # Errors
    /// The shaders cannot be captured.
    #[inline]
    fn find_pipeline(&mut self) -> Result<(), PipelineError> {
        if self.state.is_pipeline_known { Ok(()) } else { self.find_unknown_pipeline() }
    }

    fn find_unknown_pipeline(&mut self) -> Result<(), PipelineError> {
        let state = &mut self.state;
        if let Some(refusal) = &state.refusal {
            return Err(PipelineError::Known(Arc::clone(refusal)));
        }
        let found = if state.bound_pipeline == vk::Pipeline::null() {
            self.emulation.pipeline_of_shaders(state.shaders)
        } else {
            let found = self.emulation.objects().pipelines.get(state.bound_pipeline);
            found.transpose().map_err(PipelineError::Known)
        };
        if let Err(PipelineError::Known(refusal)) = &found {
            state.refusal = Some(Arc::clone(refusal));
        }
        state.pipeline = found?;
        state.is_pipeline_known = true;
        Ok(())
    }

    /// Called for draws while the rasterized stream is not 0. A draw with a geometry shader object that is rasterized is
    /// lost: the layer has removed all streams except 0 from the driver's shader objects. Returns whether it is.
    #[cold]
    fn loses_rasterization(&mut self) -> bool {
        let stream = self.state.rasterization_stream;
        let is_lost = self.state.shaders.geometry != vk::ShaderEXT::null() && !self.state.discard;
        if is_lost {
            let drawn = self.drawn();
            self.lose("what a draw draws", drawn, PipelineError::RasterizationStream(stream));
        }
        is_lost
    }

    /// Captures a draw if transform feedback or a query that counts draws is active. `record` adds
    /// the draw to the capture. Returns what to record in the pass in place of the draw.
    ///
    /// # Safety
    /// Everything that is bound is valid, and so are the arguments of the draw.
    #[inline]
    pub(crate) unsafe fn draw(
        &mut self,
        record: impl Fn(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Forward {
        let is_lost = self.state.rasterization_stream != 0 && self.loses_rasterization();
        let forward =
            if self.is_active() { unsafe { self.draw_captured(record) } } else { Forward::Yes };
        if is_lost { Forward::No } else { forward }
    }

    /// Captures a draw. If that fails, the capture is lost. If the draw is only counted, the draw is not counted.
    ///
    /// # Safety
    /// The contract of [`draw`](Self::draw).
    #[inline(never)]
    unsafe fn draw_captured(
        &mut self,
        record: impl Fn(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Forward {
        // Whether a draw before this one has found out, and the log has the reason. Nothing is bound then.
        let is_refused = self.state.refusal.is_some();
        let captured = if self.active.as_ref().is_some_and(|active| active.is_lost) {
            Ok(())
        } else {
            unsafe { self.capture_draw(record) }
        };
        if let Err(error) = captured {
            let captures = self.active.as_ref().is_some_and(|active| !active.only_counts);
            if captures || error.is_of_device() {
                self.lose_active(error);
            } else if !is_refused {
                if self.emulation.losses.is_new(self.drawn(), &error) {
                    tracing::error!("a draw is not counted: {error}");
                }
                // Some of what has changed is not bound yet, and the next draw of the capture may be possible.
                (self.state.changed, self.variant) = (ChangedState::ALL, None);
            }
        }
        if self.discards() { Forward::No } else { Forward::Yes }
    }

    /// Whether a draw has no effect except its capture, because rasterization is discarded and the
    /// driver has no active query.
    fn discards(&self) -> bool {
        let captures = self.active.as_ref().is_some_and(|active| !active.only_counts);
        let captured = |pipeline: &&Arc<Pipeline>| captures && pipeline.has_variants();
        let Some(pipeline) = self.state.pipeline.as_ref().filter(captured) else {
            return false;
        };
        let discard = if pipeline.dynamic.discard { self.state.discard } else { pipeline.discard };
        discard && self.other_queries == 0
    }

    /// Adds a draw to the active capture. Before that, binds all state that has changed since the
    /// last draw.
    ///
    /// # Safety
    /// The contract of [`draw`](Self::draw).
    unsafe fn capture_draw(
        &mut self,
        record: impl Fn(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Result<(), PipelineError> {
        self.find_pipeline()?;
        self.begin_counting();
        if self.active.is_none() {
            return Ok(());
        }
        if self.active.as_ref().is_some_and(|active| active.is_of_topology) {
            return unsafe { self.count_draw(record) };
        }
        unsafe { self.begin_collecting() }?;
        let has_variants = |pipeline: &Arc<Pipeline>| pipeline.has_variants();
        let Some(pipeline) = self.state.pipeline.clone().filter(has_variants) else {
            tracing::debug!("a draw between Begin and End without a pipeline that captures");
            return Ok(());
        };
        let changed = std::mem::take(&mut self.state.changed);
        let vertex_buffers =
            (changed.variant || changed.vertex_buffers).then(|| self.vertex_buffers());
        let index_buffer = self.index_buffer().filter(|_| changed.index_buffer);
        let place = pipeline.descriptors();
        let buffers = self.state.restorable.descriptor_buffers();
        let active = self.active.as_mut();
        if active.is_some_and(|active| !active.read_from.add(place, buffers.bound.as_ref())) {
            return Err(PipelineError::DescriptorBuffers);
        }
        if (changed.sets || changed.variant) && *place == DescriptorPlace::Sets {
            unsafe { self.write_pushed_sets() }?;
        }
        let (state, variant) = (&self.state, &self.variant);
        let Some(capture) = self.active.as_ref().and_then(|active| active.capture.as_ref()) else {
            return Ok(());
        };
        let mut capture = lock(capture);
        let mut recorder = capture.recorder();
        unsafe {
            if changed.variant
                && let Some(variant) = variant
            {
                recorder.bind_pipeline(variant)?;
            }
            if let Some(buffers) = vertex_buffers {
                recorder.bind_vertex_buffers(&buffers)?;
                self.vertex_buffers = buffers;
            }
            if let Some(buffer) = &index_buffer {
                bind_index_buffer(&mut recorder, buffer)?;
            }
            let heaps = state.restorable.heaps();
            if matches!(place, DescriptorPlace::Heaps(_)) {
                if changed.sets || changed.variant {
                    let bound = heaps.map(|heaps| heaps.bound).unwrap_or_default();
                    recorder.bind_heaps(&bound)?;
                }
            } else if (changed.sets || changed.variant)
                && let Some(variant) = variant
            {
                // Only sets that the variant uses are bound. The others may have been bound with a
                // layout that is not compatible.
                for number in variant.used_sets() {
                    if *place == DescriptorPlace::Buffers {
                        let set = state.restorable.descriptor_buffers().graphics_set(*number);
                        let set = set.ok_or(PipelineError::NoSet(*number))?;
                        recorder.bind_buffer_set(*number, set)?;
                        continue;
                    }
                    if let Some(pushed) = state.sets.pushed(*number) {
                        recorder.bind_descriptor_sets(*number, &[pushed.written], &[])?;
                        continue;
                    }
                    let bound = state.sets.bound.get(*number as usize).and_then(Option::as_ref);
                    let bound = bound.ok_or(PipelineError::NoSet(*number))?;
                    recorder.bind_descriptor_sets(*number, &[bound.set], &bound.dynamic_offsets)?;
                }
            }
            if let (true, Some(heaps)) = (changed.constants, heaps) {
                recorder.push_data(0, heaps.data())?;
            } else if changed.constants {
                state.restorable.captured_constants(&mut self.constants);
                if !self.constants.is_empty() {
                    recorder.push_constants(0, &self.constants)?;
                }
            }
            if changed.conditional_rendering {
                set_condition(&mut recorder, state.conditional_rendering.as_ref())?;
            }
        }
        if pipeline.dynamic.restart {
            recorder.set_primitive_restart(state.restart)?;
        }
        if pipeline.dynamic.provoking_vertex {
            recorder.set_provoking_vertex(state.provoking_vertex)?;
        }
        let topology = if pipeline.dynamic.topology { state.topology } else { pipeline.topology };
        let topology = PrimitiveTopology::try_from(topology)?;
        if pipeline.dynamic.patch_control_points {
            if state.patch_control_points == 0 {
                return Err(PipelineError::NoPatchControlPoints);
            }
            recorder.set_patch_control_points(state.patch_control_points)?;
        }
        (0..self.executions()).try_for_each(|_| record(&mut recorder, topology))?;
        Ok(())
    }

    /// Counts a draw whose primitives follow from its topology, in the active capture, which has no pipeline. Nothing is
    /// bound but the index buffer, so that the draw of any pipeline can be counted.
    ///
    /// # Safety
    /// The contract of [`draw`](Self::draw).
    unsafe fn count_draw(
        &mut self,
        record: impl Fn(&mut Recorder<'_>, PrimitiveTopology) -> Result<(), RuntimeError>,
    ) -> Result<(), PipelineError> {
        let Some(pipeline) = self.state.pipeline.clone() else { return Ok(()) };
        if self.active.as_ref().is_some_and(|active| active.capture.is_none()) {
            let capture = self.inactive_capture()?;
            lock(&capture).drawn = self.drawn();
            if let Some(active) = &mut self.active {
                active.capture = Some(capture);
            }
            self.state.changed = ChangedState::ALL;
            unsafe { self.count() }?;
        }
        let Some(capture) = self.active.as_ref().and_then(|active| active.capture.as_ref()) else {
            return Ok(());
        };
        // What is not bound here stays changed, for the next capture.
        let mut capture = lock(capture);
        let mut recorder = capture.recorder();
        unsafe {
            if self.state.changed.index_buffer
                && let Some(buffer) = &self.index_buffer()
            {
                bind_index_buffer(&mut recorder, buffer)?;
            }
            if self.state.changed.conditional_rendering {
                set_condition(&mut recorder, self.state.conditional_rendering.as_ref())?;
            }
        }
        let (state, dynamic) = (&self.state, pipeline.dynamic);
        recorder.set_primitive_restart(match dynamic.restart {
            true => state.restart,
            false => pipeline.restart,
        })?;
        let topology = if dynamic.topology { state.topology } else { pipeline.topology };
        let topology = PrimitiveTopology::try_from(topology)?;
        (0..self.executions()).try_for_each(|_| record(&mut recorder, topology))?;
        drop(recorder);
        drop(capture);
        let changed = &mut self.state.changed;
        (changed.index_buffer, changed.conditional_rendering) = (false, false);
        Ok(())
    }

    /// How often a draw is added to the active capture: once for each view if it is only counted. Transform feedback must
    /// not be active in a subpass with several views
    /// ([VUID-vkCmdBeginTransformFeedbackEXT-None-02373](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdBeginTransformFeedbackEXT.html#VUID-vkCmdBeginTransformFeedbackEXT-None-02373)).
    fn executions(&self) -> u32 {
        let only_counts = self.active.as_ref().is_some_and(|active| active.only_counts);
        if only_counts { self.views() } else { 1 }
    }

    /// Returns the bound index buffer, and the index that restarts primitives if it is not the usual one.
    pub(in crate::emulation) fn index_buffer(&self) -> Option<(IndexBuffer, Option<u32>)> {
        let bound = self.state.index_buffer?;
        let BoundIndexBuffer { buffer, offset, index_type, restart_index, .. } = bound;
        let size = self.reached_size(buffer, offset, bound.size);
        Some((IndexBuffer { buffer, offset, size, index_type }, restart_index))
    }

    /// Writes the pushed descriptors that the variant uses into descriptor sets, because variants cannot read push
    /// descriptors.
    ///
    /// # Errors
    /// A Vulkan command fails.
    ///
    /// # Safety
    /// The pushed descriptors are valid.
    unsafe fn write_pushed_sets(&mut self) -> Result<(), RuntimeError> {
        let Some(variant) = &self.variant else { return Ok(()) };
        let (state, pools) = (&mut self.state, &mut self.descriptor_pools);
        for number in variant.used_sets() {
            if state.sets.pushed(*number).is_some() {
                let device = self.emulation.context().device();
                unsafe { state.sets.pushed.write(*number, device, pools) }?;
            }
        }
        Ok(())
    }

    /// `vkCmdDrawIndirectByteCountEXT`
    ///
    /// # Safety
    /// The contract of the command.
    pub(crate) unsafe fn draw_byte_count(&mut self, draw: ByteCountDraw) -> Forward {
        let forward = unsafe {
            self.draw(|recorder, topology| recorder.draw_indirect_byte_count(topology, &draw))
        };
        if forward == Forward::No {
            return forward;
        }
        let is_empty = draw.instance_count == 0;
        if draw.first_instance != 0 && !is_empty && !self.emulation.has_first_instances {
            let (drawn, error) = (self.drawn(), PipelineError::FirstInstance(draw.first_instance));
            self.lose(A_BYTE_COUNT, drawn, error);
            return Forward::No;
        }
        let placed = self.place_command().map_err(PipelineError::Runtime);
        let hoisted = placed.and_then(|commands| {
            // SAFETY: the caller's contract; the memory in `commands` was just allocated.
            unsafe { self.hoist_draw(draw, commands) }.map(|()| commands)
        });
        match hoisted {
            Ok(commands) => Forward::DrawIndirect(commands.buffer, commands.offset),
            Err(error) => {
                let drawn = self.drawn();
                self.lose(A_BYTE_COUNT, drawn, error);
                Forward::No
            }
        }
    }

    /// Returns memory for the arguments of one indirect draw. Creates another buffer for them if the last one is full.
    ///
    /// # Errors
    /// The buffer cannot be created.
    fn place_command(&mut self) -> Result<DrawCommands, RuntimeError> {
        let per_buffer = COMMANDS / COMMAND;
        let (number, place) = (self.command_count / per_buffer, self.command_count % per_buffer);
        if number as usize == self.commands.len() {
            self.commands.try_reserve(1)?;
            let ctx = self.emulation.context();
            // The arguments of a draw that is lost are filled with zeros.
            let usage = ctx.buffer_usages(Backend::Compute).draw_commands
                | vk::BufferUsageFlags::TRANSFER_DST;
            let desc = BufferDesc {
                name: "arguments of vkCmdDrawIndirectByteCountEXT",
                size: COMMANDS,
                usage,
                location: MemoryLocation::Device,
            };
            let made = self.emulation.memory().with(|allocator| {
                // SAFETY: the device is live.
                unsafe { Buffer::new(ctx, allocator, &desc) }
            });
            self.commands.extend(made.transpose()?);
        }
        let buffer = self.commands.get(number as usize).ok_or(RuntimeError::NoKernels)?.raw();
        self.command_count += 1;
        Ok(DrawCommands { buffer, offset: place * COMMAND, stride: 0 })
    }
}

/// Binds an index buffer, and sets the index that restarts primitives if it is not the usual one.
///
/// # Safety
/// The contract of [`Recorder::bind_index_buffer`].
unsafe fn bind_index_buffer(
    recorder: &mut Recorder<'_>,
    (buffer, restart_index): &(IndexBuffer, Option<u32>),
) -> Result<(), RuntimeError> {
    unsafe { recorder.bind_index_buffer(buffer) }?;
    restart_index.map_or(Ok(()), |index| recorder.set_primitive_restart_index(index))
}

/// Sets the condition of the draws that follow in a capture. `None` if they are always executed.
///
/// # Safety
/// The contract of [`Recorder::begin_conditional_rendering`].
unsafe fn set_condition(
    recorder: &mut Recorder<'_>,
    condition: Option<&ConditionalRendering>,
) -> Result<(), RuntimeError> {
    // This returns an error if conditional rendering is not active in the capture. The program did
    // nothing wrong then, so the error is ignored.
    _ = recorder.end_conditional_rendering();
    match condition {
        Some(condition) => unsafe { recorder.begin_conditional_rendering(condition) },
        None => Ok(()),
    }
}

/// Returns the counters that `vkCmdEndTransformFeedbackEXT` writes if no draw was captured, or if the capture is lost. A
/// counter that is passed only to End becomes 0: it may have any value before, and later captures and draws read it. A
/// counter that is passed to both Begin and End keeps its value, so it is not written.
fn counters_without_captures(
    begin: &[Option<CounterBuffer>; BUFFERS],
    end: &[Option<CounterBuffer>; BUFFERS],
) -> [Option<CounterBuffer>; BUFFERS] {
    let mut end = *end;
    for (begin, end) in begin.iter().zip(&mut end) {
        let (Some(first), Some(last)) = (begin, *end) else { continue };
        if (first.buffer, first.offset) != (last.buffer, last.offset) {
            tracing::error!(
                "a counter is not copied to the place given to End, because nothing was captured"
            );
        }
        *end = None;
    }
    end
}
