//! What is bound in a command buffer: for draws that are captured, and to be bound again behind captures.

use std::collections::BTreeMap;
use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::{CaptureBuffer, ConditionalRendering, IndexBuffer, VertexBuffer};
use vkxfb::vertex_input::VertexInput;

use super::Emulation;
use super::objects::SetLayout;
use super::pipelines::Pipeline;
use super::push_descriptors::{Pushed, PushedSet, PushedSets};

/// Capture buffers.
pub(super) const BUFFERS: usize = vkxfb::capture::MAX_XFB_BUFFERS;

/// What changed since the last draw that was captured.
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

/// A descriptor set that is bound.
#[derive(Debug, Clone, Default)]
pub(super) struct BoundSet {
    /// That it was bound with.
    layout: vk::PipelineLayout,
    pub(super) set: vk::DescriptorSet,
    pub(super) dynamic_offsets: Vec<u32>,
    /// When: a set may disturb those that were bound before it.
    order: u32,
}

/// What `vkCmdPushConstants` was given.
#[derive(Debug, Clone)]
struct Push {
    layout: vk::PipelineLayout,
    stages: vk::ShaderStageFlags,
    offset: u32,
    bytes: Vec<u8>,
}

/// What captures take the place of, and is bound again behind them.
#[derive(Debug, Clone, Default)]
pub(super) struct Disturbed {
    pub(super) compute_pipeline: vk::Pipeline,
    /// Of the compute bind point, by number.
    sets: Vec<Option<BoundSet>>,
    /// Of the compute bind point.
    pushed_sets: PushedSets,
    /// What was pushed, for all stages.
    pushes: Vec<Push>,
}

/// The state of a command buffer.
pub(super) struct State {
    /// The graphics pipeline, if it captures.
    pub(super) pipeline: Option<Arc<Pipeline>>,
    /// Of the graphics bind point, by number.
    pub(super) sets: Vec<Option<BoundSet>>,
    /// Of the graphics bind point.
    pub(super) pushed_sets: PushedSets,
    /// What the vertex stage finds.
    pub(super) constants: Vec<u8>,
    /// Shared with the pass that began with it, until it changes there.
    pub(super) disturbed: Arc<Disturbed>,
    /// How many sets were bound.
    bound_sets: u32,
    pub(super) vertex_buffers: BTreeMap<u32, VertexBuffer>,
    /// Strides of bindings, where they are dynamic.
    pub(super) strides: BTreeMap<u32, u32>,
    pub(super) index_buffer: Option<IndexBuffer>,
    pub(super) capture_buffers: [Option<CaptureBuffer>; BUFFERS],
    pub(super) conditional_rendering: Option<ConditionalRendering>,
    /// Or why nothing can be captured with it.
    pub(super) vertex_input: Result<VertexInput, String>,
    pub(super) topology: vk::PrimitiveTopology,
    pub(super) restart: bool,
    pub(super) discard: bool,
    pub(super) is_last_provoking: bool,
    pub(super) changed: Changed,
}

impl Default for State {
    fn default() -> Self {
        Self {
            pipeline: None,
            sets: Vec::new(),
            pushed_sets: PushedSets::default(),
            constants: Vec::new(),
            disturbed: Arc::default(),
            bound_sets: 0,
            vertex_buffers: BTreeMap::new(),
            strides: BTreeMap::new(),
            index_buffer: None,
            capture_buffers: [None; BUFFERS],
            conditional_rendering: None,
            vertex_input: Ok(VertexInput::default()),
            topology: vk::PrimitiveTopology::POINT_LIST,
            restart: false,
            discard: false,
            is_last_provoking: false,
            changed: Changed::default(),
        }
    }
}

impl State {
    /// Sets are bound. `dynamic_counts`: of each of them.
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
            vk::PipelineBindPoint::COMPUTE => &mut Arc::make_mut(&mut self.disturbed).sets,
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
                let disturbed = Arc::make_mut(&mut self.disturbed);
                (&mut disturbed.pushed_sets, &disturbed.sets)
            }
            _ => return,
        };
        // What was pushed before another set was bound there is undefined.
        if pushed.over(number, bound).is_none() {
            pushed.remove(number);
        }
        self.bound_sets += 1;
        pushed.push(number, layout, set_layout, self.bound_sets, descriptors);
    }

    /// Push constants are updated.
    pub(super) fn push(
        &mut self,
        layout: vk::PipelineLayout,
        stages: vk::ShaderStageFlags,
        offset: u32,
        bytes: &[u8],
    ) {
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        if stages.contains(vk::ShaderStageFlags::VERTEX) {
            if self.constants.len() < end {
                self.constants.resize(end, 0);
            }
            self.constants[start..end].copy_from_slice(bytes);
            self.changed.constants = true;
        }
        // What is written over whole need not be pushed again.
        let pushes = &mut Arc::make_mut(&mut self.disturbed).pushes;
        pushes.retain(|push| {
            let covered = offset <= push.offset
                && push.offset as usize + push.bytes.len() <= end
                && stages.contains(push.stages);
            !covered
        });
        pushes.push(Push { layout, stages, offset, bytes: bytes.to_vec() });
    }
}

impl PushedSets {
    /// The set under a number, unless one of these was bound there behind it.
    pub(super) fn over(&self, number: u32, bound: &[Option<BoundSet>]) -> Option<&PushedSet> {
        let bound = bound.get(number as usize).and_then(Option::as_ref);
        self.get(number).filter(|pushed| bound.is_none_or(|bound| bound.order < pushed.order))
    }
}

impl Disturbed {
    /// Binds it again.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a render pass, and what is bound is valid there.
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
            // Of one layout none disturbs another, if the lower numbers come first.
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

/// A set that is bound, or pushed, again.
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
