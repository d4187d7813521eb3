//! Tracks the state that a program has bound or set in a command buffer. Captured draws read it,
//! and the layer restores what captures disturb.

use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::descriptor_heaps::{BoundHeaps, DescriptorState};
use vkxfb::runtime::{CaptureBuffer, ConditionalRendering, IndexType, Limits};
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::topology::ProvokingVertex;
use vkxfb_rewriter::vertex_input::VertexInput;
use vkxfb_rewriter::vulkan::RUN_STAGE_FLAGS;

use super::Emulation;
use super::descriptor_buffers::DescriptorBuffers;
use super::descriptor_heaps::Heaps;
use super::layouts::SetLayout;
use super::pipelines::{Pipeline, PipelineError};
use super::push_descriptors::{Pushed, PushedSet, PushedSets};
use super::shader_objects::BoundShaders;

/// The maximum number of capture buffers.
pub(crate) const BUFFERS: usize = vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

/// Which state the next captured draw must bind: the state that has changed since the last captured draw of the command
/// buffer. The draw must bind all state if it is the first one in a [`Capture`](vkxfb::runtime::Capture) that has just
/// been created or is used again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChangedState {
    /// Whether the pipeline has changed, or dynamic state on which its variant (the compute pipeline that replaces it)
    /// depends.
    pub(super) variant: bool,
    pub(super) vertex_buffers: bool,
    pub(super) index_buffer: bool,
    pub(super) sets: bool,
    pub(super) constants: bool,
    pub(super) conditional_rendering: bool,
}

impl ChangedState {
    pub(super) const ALL: Self = Self {
        variant: true,
        vertex_buffers: true,
        index_buffer: true,
        sets: true,
        constants: true,
        conditional_rendering: true,
    };
}

/// A descriptor set that is bound in a command buffer.
#[derive(Debug, Clone, Default)]
pub(super) struct BoundSet {
    /// The pipeline layout that the set was bound with.
    layout: vk::PipelineLayout,
    pub(super) set: vk::DescriptorSet,
    pub(super) dynamic_offsets: Vec<u32>,
    /// The sequence number of the bind. A set can disturb only sets that were bound before it.
    order: u32,
}

/// A vertex buffer binding. Most draws are not captured, so a bind only stores its arguments. The
/// buffer's data is looked up when a draw is captured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BoundVertexBuffer {
    pub(super) buffer: vk::Buffer,
    pub(super) offset: u64,
    /// The size in bytes, or `VK_WHOLE_SIZE`.
    pub(super) size: u64,
    /// The stride in bytes that a command has set as dynamic state. `None` if no command has.
    pub(super) stride: Option<u32>,
}

/// The index buffer binding. As for vertex buffers, a bind only stores its arguments.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundIndexBuffer {
    pub(super) buffer: vk::Buffer,
    pub(super) offset: u64,
    /// The size in bytes, or `VK_WHOLE_SIZE`.
    pub(super) size: u64,
    pub(super) index_type: IndexType,
    /// The index that restarts primitives. `None` if it is the largest value of the index type.
    pub(super) restart_index: Option<u32>,
}

/// The arguments of `vkCmdPushConstants`.
#[derive(Debug, Clone)]
struct Push {
    layout: vk::PipelineLayout,
    stages: vk::ShaderStageFlags,
    offset: u32,
    bytes: Vec<u8>,
}

/// The state that captures disturb, so that the layer can restore it.
#[derive(Debug, Clone, Default)]
pub(super) struct RestorableState {
    pub(super) compute_pipeline: vk::Pipeline,
    /// The compute shader object, if one is bound in place of a compute pipeline; null otherwise.
    pub(super) compute_shader: vk::ShaderEXT,
    /// The sets of the compute bind point.
    sets: Sets,
    /// The descriptor buffers, and the sets in them of both bind points: if captures bind other
    /// descriptor buffers, they also disturb the sets of the graphics bind point.
    pub(super) descriptor_buffers: DescriptorBuffers,
    /// The push constants of all stages, as arguments of `vkCmdPushConstants` in the order of the
    /// calls. Calls that later ones have overwritten completely are removed.
    pushes: Vec<Push>,
    /// The descriptor heaps and push data. `None` unless the program has set one of them last: they and all of the above
    /// but the pipeline and the shader invalidate each other.
    heaps: Option<Heaps>,
}

/// The descriptor sets of a bind point.
#[derive(Debug, Clone, Default)]
pub(super) struct Sets {
    /// The sets that are bound, by set number.
    pub(super) bound: Vec<Option<BoundSet>>,
    /// The sets of push descriptors.
    pub(super) pushed: PushedSets,
}

/// What captures have left in a command buffer.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Left {
    /// Whether they have bound other descriptor buffers than the program.
    pub(super) are_buffers_rebound: bool,
    pub(super) descriptors: DescriptorState,
}

/// The state that captures disturb: as it is now, and as it was when the current pass began. After captures
/// that are recorded before the pass, the layer must restore the state from when the pass began.
#[derive(Debug, Default)]
pub(super) struct PassRestorable {
    now: RestorableState,
    /// The state when the pass began. `None` if it has not changed since then, and outside of passes.
    before: Option<RestorableState>,
    /// The sets of the graphics bind point when the pass began. `None` if captures cannot disturb them, or if they are
    /// still those of the state.
    graphics_before: Option<Sets>,
    /// Whether the next change must keep a copy of the state in `before`: in a pass in which there was no change yet.
    keeps: bool,
}

impl PassRestorable {
    /// Notes that a pass begins whose captures will be recorded before it. `graphics` are the sets of the graphics bind
    /// point if captures may disturb them.
    pub(super) fn begin_pass(&mut self, graphics: Option<Sets>) {
        (self.keeps, self.before, self.graphics_before) = (true, None, graphics);
    }

    /// Notes that a pass has ended, or that its captures will be recorded after it. From then on captures restore the
    /// current state.
    pub(super) fn end_pass(&mut self) {
        (self.keeps, self.before, self.graphics_before) = (false, None, None);
    }

    /// Returns the current state, so that it can be changed. In a pass, the first call keeps a copy of the state as it
    /// was when the pass began.
    #[inline]
    pub(super) fn change(&mut self) -> &mut RestorableState {
        if self.keeps {
            self.keep();
        }
        &mut self.now
    }

    #[cold]
    fn keep(&mut self) {
        (self.keeps, self.before) = (false, Some(self.now.clone()));
    }

    /// Writes the bytes of the push constants that captured stages read to `constants`, in place of its contents.
    pub(super) fn captured_constants(&self, constants: &mut Vec<u8>) {
        self.now.captured_constants(constants);
    }

    pub(super) const fn descriptor_buffers(&self) -> &DescriptorBuffers {
        &self.now.descriptor_buffers
    }

    /// The descriptor heaps and push data. `None` if they are not valid.
    pub(super) const fn heaps(&self) -> Option<&Heaps> {
        self.now.heaps.as_ref()
    }

    /// Returns the state that the layer must restore after captures: the state when the pass began, or the current
    /// state if captures are not recorded before a pass.
    pub(super) fn before(&self) -> &RestorableState {
        self.before.as_ref().unwrap_or(&self.now)
    }
}

/// The bound objects and the dynamic state of a command buffer, with which draws are captured.
pub(crate) struct State {
    /// The pipeline that is bound to `VK_PIPELINE_BIND_POINT_GRAPHICS`. Null if none is bound, or
    /// if shader objects are bound instead.
    pub(super) bound_pipeline: vk::Pipeline,
    /// The shader objects that are bound in place of a graphics pipeline.
    pub(super) shaders: BoundShaders,
    /// The vertex stream that shader objects rasterize.
    pub(crate) rasterization_stream: u32,
    /// The layer's data of the bound graphics pipeline or shader objects. `None` if their draws are neither captured
    /// nor counted for queries, or if `is_pipeline_known` is false: the data is looked up only when a draw is recorded
    /// while transform feedback or a query is active.
    pub(super) pipeline: Option<Arc<Pipeline>>,
    pub(super) is_pipeline_known: bool,
    /// The reason why draws of the bound graphics pipeline or shader objects cannot be captured, once it was looked up.
    pub(super) refusal: Option<Arc<PipelineError>>,
    /// The sets of the graphics bind point.
    pub(super) sets: Sets,
    pub(super) restorable: PassRestorable,
    /// The sequence number of the last bind or push of a set, which is the number of binds and
    /// pushes so far.
    bound_sets: u32,
    /// The vertex buffers, by binding number. There are as many as the device allows, so that a bind need not add any.
    pub(super) vertex_buffers: Box<[BoundVertexBuffer]>,
    pub(super) index_buffer: Option<BoundIndexBuffer>,
    pub(super) capture_buffers: [Option<CaptureBuffer>; BUFFERS],
    pub(super) conditional_rendering: Option<ConditionalRendering>,
    /// The dynamic vertex input. `Err` has the reason why captures cannot read vertices with it.
    pub(super) vertex_input: Result<VertexInput, String>,
    pub(crate) topology: vk::PrimitiveTopology,
    pub(crate) restart: bool,
    pub(crate) discard: bool,
    pub(crate) provoking_vertex: ProvokingVertex,
    /// The number of control points of a patch. 0 if no command set it.
    pub(crate) patch_control_points: u32,
    pub(super) domain_origin: DomainOrigin,
    pub(super) changed: ChangedState,
}

impl Default for State {
    fn default() -> Self {
        Self {
            bound_pipeline: vk::Pipeline::null(),
            shaders: BoundShaders::default(),
            rasterization_stream: 0,
            pipeline: None,
            is_pipeline_known: false,
            refusal: None,
            sets: Sets::default(),
            restorable: PassRestorable::default(),
            bound_sets: 0,
            vertex_buffers: Box::default(),
            index_buffer: None,
            capture_buffers: [None; BUFFERS],
            conditional_rendering: None,
            vertex_input: Ok(VertexInput::default()),
            topology: vk::PrimitiveTopology::POINT_LIST,
            restart: false,
            discard: false,
            provoking_vertex: ProvokingVertex::First,
            patch_control_points: 0,
            domain_origin: DomainOrigin::UpperLeft,
            changed: ChangedState::default(),
        }
    }
}

impl State {
    /// Returns the state of a command buffer into which nothing was recorded.
    pub(super) fn new(limits: &Limits) -> Self {
        let vertex_buffers =
            vec![BoundVertexBuffer::default(); limits.max_vertex_bindings as usize];
        Self { vertex_buffers: vertex_buffers.into(), ..Self::default() }
    }

    /// Forgets everything.
    pub(super) fn reset(&mut self) {
        let mut vertex_buffers = std::mem::take(&mut self.vertex_buffers);
        vertex_buffers.fill(BoundVertexBuffer::default());
        *self = Self { vertex_buffers, ..Self::default() };
    }

    /// Forgets the state that is undefined after secondary command buffers were executed. A descriptor heap stays bound if
    /// all of these have `inherited` one of its kind.
    pub(super) fn forget(&mut self, inherited: BoundHeaps) {
        let restorable = self.restorable.change();
        let kept = restorable.heaps.take().map(|heaps| heaps.bound.both(inherited));
        let heaps = kept.filter(|kept| *kept != BoundHeaps::default()).map(Heaps::of);
        *restorable = RestorableState { heaps, ..RestorableState::default() };
        let restorable = std::mem::take(&mut self.restorable);
        let (buffers, condition) = (self.capture_buffers, self.conditional_rendering);
        self.reset();
        (self.restorable, self.capture_buffers, self.conditional_rendering) =
            (restorable, buffers, condition);
    }

    /// Notes that the program binds a set.
    pub(super) fn bind_set(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        set: vk::DescriptorSet,
        dynamic_offsets: &[u32],
    ) {
        self.invalidate_heaps();
        if self.restorable.descriptor_buffers().bound.is_some() {
            self.restorable.change().descriptor_buffers.replace(bind_point, number);
        }
        let bound = match bind_point {
            vk::PipelineBindPoint::GRAPHICS => {
                self.changed.sets = true;
                &mut self.sets.bound
            }
            vk::PipelineBindPoint::COMPUTE => &mut self.restorable.change().sets.bound,
            _ => return,
        };
        let number = number as usize;
        if bound.len() <= number {
            bound.resize(number + 1, None);
        }
        self.bound_sets += 1;
        let slot = bound[number].get_or_insert_default();
        slot.order = self.bound_sets;
        slot.layout = layout;
        slot.set = set;
        slot.dynamic_offsets.clear();
        slot.dynamic_offsets.extend_from_slice(dynamic_offsets);
    }

    /// Notes that the program pushes descriptors of a set.
    pub(super) fn push_descriptors(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        set_layout: &Arc<SetLayout>,
        descriptors: impl Iterator<Item = Pushed>,
    ) {
        self.invalidate_heaps();
        let sets = match bind_point {
            vk::PipelineBindPoint::GRAPHICS => {
                self.changed.sets = true;
                &mut self.sets
            }
            vk::PipelineBindPoint::COMPUTE => &mut self.restorable.change().sets,
            _ => return,
        };
        // When a set is bound, the descriptors that were pushed to its number before become undefined.
        if sets.pushed(number).is_none() {
            sets.pushed.remove(number);
        }
        self.bound_sets += 1;
        sets.pushed.push(number, layout, set_layout, self.bound_sets, descriptors);
    }

    /// Notes that conditional rendering begins, or ends if `condition` is `None`.
    pub(crate) fn set_condition(&mut self, condition: Option<ConditionalRendering>) {
        self.conditional_rendering = condition;
        self.changed.conditional_rendering = true;
    }

    /// Notes that the program updates push constants.
    #[inline]
    pub(crate) fn push(
        &mut self,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        self.invalidate_heaps();
        self.changed.constants = true;
        self.restorable.change().push(layout, stages, offset, bytes);
    }

    /// Notes that the program sets descriptor sets, descriptor buffers or push constants, which invalidates descriptor
    /// heaps and push data.
    #[inline]
    pub(super) fn invalidate_heaps(&mut self) {
        if self.restorable.heaps().is_some() {
            self.restorable.change().heaps = None;
        }
    }

    /// Returns the descriptor heaps and push data so that they can be changed. The change invalidates descriptor sets,
    /// descriptor buffers and push constants.
    pub(super) fn change_heaps(&mut self) -> &mut Heaps {
        let restorable = self.restorable.change();
        if restorable.heaps.is_none() {
            let RestorableState { compute_pipeline, compute_shader, .. } = *restorable;
            *restorable =
                RestorableState { compute_pipeline, compute_shader, ..RestorableState::default() };
            self.sets = Sets::default();
        }
        restorable.heaps.get_or_insert_default()
    }

    /// Notes that a pass begins whose captures will be recorded before it.
    pub(super) fn begin_pass(&mut self, has_heaps: bool) {
        let is_disturbed = has_heaps && self.restorable.heaps().is_none();
        self.restorable.begin_pass(is_disturbed.then(|| self.sets.clone()));
    }

    /// Binds and pushes the state again that captures have disturbed. Where they are recorded before a pass, that is the
    /// state when it began.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass, and everything that is bound is valid there.
    pub(super) unsafe fn restore(&self, emulation: &Emulation, cmd: vk::CommandBuffer, left: Left) {
        let graphics = self.restorable.graphics_before.as_ref().unwrap_or(&self.sets);
        unsafe { self.restorable.before().restore(emulation, cmd, graphics, left) };
    }
}

impl RestorableState {
    /// Writes the bytes of the push constants that the stages before rasterization read to `constants`, in place of its
    /// contents. A byte that several stages read has a single value, because a push to a byte must name all stages that
    /// read it.
    fn captured_constants(&self, constants: &mut Vec<u8>) {
        constants.clear();
        for push in &self.pushes {
            if push.stages.intersects(RUN_STAGE_FLAGS) {
                let (start, end) = (push.offset as usize, push.offset as usize + push.bytes.len());
                constants.resize(constants.len().max(end), 0);
                constants[start..end].copy_from_slice(&push.bytes);
            }
        }
    }

    #[inline]
    fn push(
        &mut self,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        // Most programs push the same ranges again and again, so the bytes of an earlier push of the same range are
        // replaced. If a push between the two overlaps the range, the order of pushes matters, and this push is added
        // at the end instead.
        let range = (layout, stages, offset, bytes.len());
        for push in self.pushes.iter_mut().rev() {
            if (push.layout, push.stages, push.offset, push.bytes.len()) == range {
                push.bytes.copy_from_slice(bytes);
                return;
            }
            let (end, push_end) =
                (offset + bytes.len() as u32, push.offset + push.bytes.len() as u32);
            if push.stages.intersects(stages) && push.offset < end && offset < push_end {
                break;
            }
        }
        self.add_push(layout, stages, offset, bytes);
    }

    /// Adds a push behind all others. Apart from [`push`](Self::push), so that this is inlined.
    #[cold]
    fn add_push(
        &mut self,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        // Pushes that this push overwrites completely need not be restored.
        let end = offset as usize + bytes.len();
        self.pushes.retain(|push| {
            let covered = offset <= push.offset
                && push.offset as usize + push.bytes.len() <= end
                && stages.contains(push.stages);
            !covered
        });
        self.pushes.push(Push { layout, stages, offset, bytes: bytes.to_vec() });
    }
}

impl Sets {
    /// Returns the push descriptor set with a number. `None` if there is none, or if a set was bound at that number after
    /// the last push.
    pub(super) fn pushed(&self, number: u32) -> Option<&PushedSet> {
        let bound = self.bound.get(number as usize).and_then(Option::as_ref);
        self.pushed
            .get(number)
            .filter(|pushed| bound.is_none_or(|bound| bound.order < pushed.order))
    }

    /// Binds and pushes the sets again.
    ///
    /// # Safety
    /// The contract of [`RestorableState::restore`].
    unsafe fn restore(
        &self,
        emulation: &Emulation,
        cmd: vk::CommandBuffer,
        point: vk::PipelineBindPoint,
    ) {
        let mut sets: Vec<(u32, u32, Restored<'_>)> = Vec::new();
        for (number, bound) in (0..).zip(&self.bound) {
            if let Some(bound) = bound {
                sets.push((bound.order, number, Restored::Bound(bound)));
            }
        }
        for number in self.pushed.numbers() {
            if let Some(pushed) = self.pushed(number) {
                sets.push((pushed.order, number, Restored::Pushed(pushed)));
            }
        }
        // Sets with the same pipeline layout do not disturb each other, so they can be bound in
        // the order of their numbers. If the layouts differ, the program's order is kept.
        let layout = sets.first().map(|(.., first)| first.layout());
        if sets.iter().all(|(.., set)| Some(set.layout()) == layout) {
            sets.sort_unstable_by_key(|(order, number, _)| (*number, *order))
        } else {
            sets.sort_unstable_by_key(|(order, ..)| *order)
        }
        let device = emulation.context().device();
        for (_, number, restored) in sets {
            unsafe {
                match restored {
                    Restored::Bound(bound) => {
                        let (sets, offsets) = ([bound.set], &bound.dynamic_offsets);
                        let layout = bound.layout;
                        device.cmd_bind_descriptor_sets(cmd, point, layout, number, &sets, offsets);
                    }
                    Restored::Pushed(pushed) => pushed.restore(emulation, cmd, point, number),
                }
            }
        }
    }
}

impl RestorableState {
    /// Which descriptors are valid.
    pub(super) fn descriptors(&self) -> DescriptorState {
        self.heaps
            .as_ref()
            .map_or(DescriptorState::Sets, |heaps| DescriptorState::Heaps(heaps.bound))
    }

    /// Binds and pushes the state again, after captures have disturbed it. `graphics` are the sets of the graphics bind
    /// point, which only captures with descriptor heaps disturb.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass, and everything that is bound
    /// is valid there.
    pub(super) unsafe fn restore(
        &self,
        emulation: &Emulation,
        cmd: vk::CommandBuffer,
        graphics: &Sets,
        left: Left,
    ) {
        let device = emulation.context().device();
        let point = vk::PipelineBindPoint::COMPUTE;
        unsafe {
            if self.compute_pipeline != vk::Pipeline::null() {
                device.cmd_bind_pipeline(cmd, point, self.compute_pipeline);
            }
            if self.compute_shader != vk::ShaderEXT::null()
                && let Some(bind) = emulation.functions.bind_shaders_ext
            {
                let stage = vk::ShaderStageFlags::COMPUTE;
                bind(cmd, 1, &raw const stage, &raw const self.compute_shader);
            }
            if let (Some(heaps), Some(support)) = (&self.heaps, &emulation.heaps) {
                heaps.restore(&support.commands, cmd, left.descriptors);
                return;
            }
            let are_invalid = left.descriptors != DescriptorState::Sets;
            if are_invalid {
                graphics.restore(emulation, cmd, vk::PipelineBindPoint::GRAPHICS);
            }
            self.sets.restore(emulation, cmd, point);
            let are_buffers_rebound = left.are_buffers_rebound || are_invalid;
            self.descriptor_buffers.restore(emulation, cmd, are_buffers_rebound);
            for push in &self.pushes {
                if let Some(stages) = emulation.driver_constants(push.stages) {
                    device.cmd_push_constants(cmd, push.layout, stages, push.offset, &push.bytes);
                }
            }
        }
    }
}

/// A set that must be bound or pushed again after captures.
enum Restored<'a> {
    Bound(&'a BoundSet),
    Pushed(&'a PushedSet),
}

impl Restored<'_> {
    const fn layout(&self) -> vk::PipelineLayout {
        match self {
            Self::Bound(bound) => bound.layout,
            Self::Pushed(pushed) => pushed.layout,
        }
    }
}

#[cfg(test)]
mod tests;
