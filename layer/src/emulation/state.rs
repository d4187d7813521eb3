//! The bound state of a command buffer, for captured draws, and to restore it after captures.

use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::{CaptureBuffer, ConditionalRendering, IndexType};
use vkxfb::topology::ProvokingVertex;
use vkxfb::vertex_input::VertexInput;

use super::Emulation;
use super::layouts::SetLayout;
use super::pipelines::Pipeline;
use super::push_descriptors::{Pushed, PushedSet, PushedSets};

/// The number of capture buffers.
pub(crate) const BUFFERS: usize = vkxfb::capture::MAX_XFB_BUFFERS;

/// Which state has changed since the last captured draw, or since the begin of the capture.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changed {
    pub(super) vertex_input: bool,
    pub(super) vertex_buffers: bool,
    pub(super) index_buffer: bool,
    pub(super) sets: bool,
    pub(super) constants: bool,
    pub(super) conditional_rendering: bool,
}

impl Changed {
    pub(super) const ALL: Self = Self {
        vertex_input: true,
        vertex_buffers: true,
        index_buffer: true,
        sets: true,
        constants: true,
        conditional_rendering: true,
    };
}

/// A bound descriptor set.
#[derive(Debug, Clone, Default)]
pub(super) struct BoundSet {
    /// The pipeline layout that it was bound with.
    layout: vk::PipelineLayout,
    pub(super) set: vk::DescriptorSet,
    pub(super) dynamic_offsets: Vec<u32>,
    /// The sequence number of the bind: a set may disturb sets that were bound before it.
    order: u32,
}

/// A vertex buffer binding. Nothing is looked up when it is bound, because most draws are not
/// captured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BoundVertexBuffer {
    pub(super) buffer: vk::Buffer,
    pub(super) offset: u64,
    /// In bytes, or `VK_WHOLE_SIZE`.
    pub(super) size: u64,
    /// The dynamic stride, if it was set.
    pub(super) stride: Option<u32>,
}

/// The index buffer. It is also not looked up when it is bound.
#[derive(Debug, Clone, Copy)]
pub(super) struct BoundIndexBuffer {
    pub(super) buffer: vk::Buffer,
    pub(super) offset: u64,
    /// In bytes, or `VK_WHOLE_SIZE`.
    pub(super) size: u64,
    pub(super) index_type: IndexType,
}

/// The arguments of `vkCmdPushConstants`.
#[derive(Debug, Clone)]
struct Push {
    layout: vk::PipelineLayout,
    stages: vk::ShaderStageFlags,
    offset: u32,
    bytes: Vec<u8>,
}

/// The state that captures disturb, and that is restored afterwards.
#[derive(Debug, Clone, Default)]
pub(super) struct Disturbed {
    pub(super) compute_pipeline: vk::Pipeline,
    /// The sets of the compute bind point, by number.
    sets: Vec<Option<BoundSet>>,
    /// The pushed sets of the compute bind point.
    pushed_sets: PushedSets,
    /// Push constants of all stages.
    pushes: Vec<Push>,
}

/// The state that captures disturb, now and at the beginning of the pass that is being recorded:
/// captures are recorded before the pass, so the state that the pass sets is not in effect there.
#[derive(Debug, Default)]
pub(super) struct Tracked {
    now: Disturbed,
    /// The state at the beginning of the pass, if it has changed since.
    before: Option<Disturbed>,
    is_inside: bool,
}

impl Tracked {
    /// A pass begins.
    pub(super) fn begin_pass(&mut self) {
        (self.is_inside, self.before) = (true, None);
    }

    /// A pass ends.
    pub(super) fn end_pass(&mut self) {
        (self.is_inside, self.before) = (false, None);
    }

    /// Returns the state, which is about to be changed.
    #[inline]
    pub(super) fn change(&mut self) -> &mut Disturbed {
        if self.is_inside && self.before.is_none() {
            self.before = Some(self.now.clone());
        }
        &mut self.now
    }

    /// Returns the push constants of the stages that captures run.
    pub(super) fn captured_constants(&self) -> Vec<u8> {
        self.now.captured_constants()
    }

    /// Returns the state that is in effect where captures are recorded.
    pub(super) fn before(&self) -> &Disturbed {
        self.before.as_ref().unwrap_or(&self.now)
    }
}

/// The state of a command buffer.
pub(crate) struct State {
    /// The pipeline of the graphics bind point.
    pub(super) bound_pipeline: vk::Pipeline,
    /// That pipeline, if it captures. It is only looked up while transform feedback is active.
    pub(super) pipeline: Option<Arc<Pipeline>>,
    /// The sets of the graphics bind point, by number.
    pub(super) sets: Vec<Option<BoundSet>>,
    /// The pushed sets of the graphics bind point.
    pub(super) pushed_sets: PushedSets,
    pub(super) disturbed: Tracked,
    /// The number of sets that were bound or pushed so far: the last sequence number.
    bound_sets: u32,
    /// The vertex buffers, by binding.
    pub(super) vertex_buffers: Vec<BoundVertexBuffer>,
    pub(super) index_buffer: Option<BoundIndexBuffer>,
    pub(super) capture_buffers: [Option<CaptureBuffer>; BUFFERS],
    pub(super) conditional_rendering: Option<ConditionalRendering>,
    /// The dynamic vertex input, or the reason why it cannot be captured.
    pub(super) vertex_input: Result<VertexInput, String>,
    pub(crate) topology: vk::PrimitiveTopology,
    pub(crate) restart: bool,
    pub(crate) discard: bool,
    pub(crate) provoking_vertex: ProvokingVertex,
    pub(super) changed: Changed,
}

impl Default for State {
    fn default() -> Self {
        Self {
            bound_pipeline: vk::Pipeline::null(),
            pipeline: None,
            sets: Vec::new(),
            pushed_sets: PushedSets::default(),
            disturbed: Tracked::default(),
            bound_sets: 0,
            vertex_buffers: Vec::new(),
            index_buffer: None,
            capture_buffers: [None; BUFFERS],
            conditional_rendering: None,
            vertex_input: Ok(VertexInput::default()),
            topology: vk::PrimitiveTopology::POINT_LIST,
            restart: false,
            discard: false,
            provoking_vertex: ProvokingVertex::First,
            changed: Changed::default(),
        }
    }
}

impl State {
    /// Secondary command buffers were executed. After that most of the state is undefined.
    pub(super) fn forget(&mut self) {
        *self.disturbed.change() = Disturbed::default();
        *self = Self {
            disturbed: std::mem::take(&mut self.disturbed),
            capture_buffers: self.capture_buffers,
            conditional_rendering: self.conditional_rendering,
            ..Self::default()
        };
    }

    /// Sets are bound. `dynamic_counts` has the number of dynamic offsets of each set.
    pub(super) fn bind_sets(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        first: u32,
        sets: &[vk::DescriptorSet],
        dynamic_counts: impl Iterator<Item = u32>,
        mut dynamic_offsets: &[u32],
    ) {
        let bound = match bind_point {
            vk::PipelineBindPoint::GRAPHICS => {
                self.changed.sets = true;
                &mut self.sets
            }
            vk::PipelineBindPoint::COMPUTE => &mut self.disturbed.change().sets,
            _ => return,
        };
        let end = first as usize + sets.len();
        if bound.len() < end {
            bound.resize(end, None);
        }
        let counts = dynamic_counts.chain(std::iter::repeat(0));
        for ((set, slot), count) in sets.iter().zip(&mut bound[first as usize..end]).zip(counts) {
            let count = (count as usize).min(dynamic_offsets.len());
            let (own, others) = dynamic_offsets.split_at(count);
            dynamic_offsets = others;
            self.bound_sets += 1;
            let slot = slot.get_or_insert_default();
            slot.order = self.bound_sets;
            slot.layout = layout;
            slot.set = *set;
            slot.dynamic_offsets.clear();
            slot.dynamic_offsets.extend_from_slice(own);
        }
    }

    /// Descriptors of a set are pushed.
    pub(super) fn push_descriptors(
        &mut self,
        bind_point: vk::PipelineBindPoint,
        layout: vk::PipelineLayout,
        number: u32,
        set_layout: &Arc<SetLayout>,
        descriptors: impl Iterator<Item = Pushed>,
    ) {
        let (pushed, bound) = match bind_point {
            vk::PipelineBindPoint::GRAPHICS => {
                self.changed.sets = true;
                (&mut self.pushed_sets, &self.sets)
            }
            vk::PipelineBindPoint::COMPUTE => {
                let disturbed = self.disturbed.change();
                (&mut disturbed.pushed_sets, &disturbed.sets)
            }
            _ => return,
        };
        // Descriptors that were pushed before a set was bound at the same number are undefined.
        if pushed.over(number, bound).is_none() {
            pushed.remove(number);
        }
        self.bound_sets += 1;
        pushed.push(number, layout, set_layout, self.bound_sets, descriptors);
    }

    /// Conditional rendering begins, or ends.
    pub(crate) fn set_condition(&mut self, condition: Option<ConditionalRendering>) {
        self.conditional_rendering = condition;
        self.changed.conditional_rendering = true;
    }

    /// Push constants are updated.
    pub(crate) fn push(
        &mut self,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        self.changed.constants = true;
        self.disturbed.change().push(layout, stages, offset, bytes);
    }

    /// Returns a vertex buffer binding, which is added if necessary.
    pub(super) fn vertex_buffer(&mut self, binding: u32) -> &mut BoundVertexBuffer {
        let binding = binding as usize;
        if binding >= self.vertex_buffers.len() {
            self.vertex_buffers.resize_with(binding + 1, Default::default);
        }
        &mut self.vertex_buffers[binding]
    }
}

impl Disturbed {
    /// Returns the push constants of the stages that captures run. A byte that both stages read has a single
    /// value, because a push to it names both.
    fn captured_constants(&self) -> Vec<u8> {
        const STAGES: vk::ShaderStageFlags = vk::ShaderStageFlags::from_raw(
            vk::ShaderStageFlags::VERTEX.as_raw() | vk::ShaderStageFlags::GEOMETRY.as_raw(),
        );
        let mut constants = Vec::new();
        for push in &self.pushes {
            if push.stages.intersects(STAGES) {
                let (start, end) = (push.offset as usize, push.offset as usize + push.bytes.len());
                constants.resize(constants.len().max(end), 0);
                constants[start..end].copy_from_slice(&push.bytes);
            }
        }
        constants
    }

    fn push(
        &mut self,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        // Most programs push the same ranges again and again, so a range is changed in place. If a later push
        // overlaps it, pushes must stay in order instead.
        let end = offset as usize + bytes.len();
        for push in self.pushes.iter_mut().rev() {
            let push_end = push.offset as usize + push.bytes.len();
            if (push.layout, push.stages, push.offset, push_end) == (layout, stages, offset, end) {
                push.bytes.copy_from_slice(bytes);
                return;
            }
            if push.stages.intersects(stages)
                && push.offset < end as u32
                && offset < push_end as u32
            {
                break;
            }
        }
        // A push that is overwritten completely need not be restored.
        self.pushes.retain(|push| {
            let covered = offset <= push.offset
                && push.offset as usize + push.bytes.len() <= end
                && stages.contains(push.stages);
            !covered
        });
        self.pushes.push(Push { layout, stages, offset, bytes: bytes.to_vec() });
    }
}

impl PushedSets {
    /// Returns the pushed set at a number, unless a set of `bound` was bound there later.
    pub(super) fn over(&self, number: u32, bound: &[Option<BoundSet>]) -> Option<&PushedSet> {
        let bound = bound.get(number as usize).and_then(Option::as_ref);
        self.get(number).filter(|pushed| bound.is_none_or(|bound| bound.order < pushed.order))
    }
}

impl Disturbed {
    /// Binds everything again.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass, and everything that is bound
    /// is valid there.
    pub(super) unsafe fn restore(&self, emulation: &Emulation, cmd: vk::CommandBuffer) {
        let device = emulation.context().device();
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the caller's contract.
        unsafe {
            if self.compute_pipeline != vk::Pipeline::null() {
                device.cmd_bind_pipeline(cmd, point, self.compute_pipeline);
            }
            let mut sets: Vec<(u32, u32, Restored<'_>)> = Vec::new();
            for (number, bound) in (0..).zip(&self.sets) {
                if let Some(bound) = bound {
                    sets.push((bound.order, number, Restored::Bound(bound)));
                }
            }
            for number in self.pushed_sets.numbers() {
                if let Some(pushed) = self.pushed_sets.over(number, &self.sets) {
                    sets.push((pushed.order, number, Restored::Pushed(pushed)));
                }
            }
            // Sets of the same layout do not disturb each other if lower numbers are bound first.
            let layout = sets.first().map(|(.., first)| first.layout());
            match sets.iter().all(|(.., set)| Some(set.layout()) == layout) {
                true => sets.sort_unstable_by_key(|(order, number, _)| (*number, *order)),
                false => sets.sort_unstable_by_key(|(order, ..)| *order),
            }
            for (_, number, restored) in sets {
                match restored {
                    Restored::Bound(bound) => {
                        let (sets, offsets) = ([bound.set], &bound.dynamic_offsets);
                        let layout = bound.layout;
                        device.cmd_bind_descriptor_sets(cmd, point, layout, number, &sets, offsets);
                    }
                    Restored::Pushed(pushed) => pushed.restore(emulation, cmd, point, number),
                }
            }
            for push in &self.pushes {
                device.cmd_push_constants(cmd, push.layout, push.stages, push.offset, &push.bytes);
            }
        }
    }
}

/// A set that is bound or pushed again.
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
