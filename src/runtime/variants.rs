//! Compute pipelines of an application's shaders, made when they are first needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use xxhash_rust::xxh3::Xxh3Default;

use super::{Context, Pipeline, PipelineDesc, RuntimeError};
use crate::capture::CaptureList;
use crate::lower::{Captures, LowerError, Shader, compute};
use crate::topology::{PrimitiveTopology, ProvokingVertex};
use crate::vertex_input::VertexInput;

/// What an application's graphics pipeline comes to as a compute pipeline that captures.
///
/// [`new`](Self::new) takes what has no default, the other functions set the rest.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct VariantDesc<'a> {
    /// The vertex shader, with the values of its specialisation constants.
    pub shader: Shader<'a>,
    /// Vertex input state: that of the pipeline, or what is dynamic when a draw needs it.
    pub vertex_input: &'a VertexInput,
    /// The set layouts of the pipeline layout. Their bindings that the shader uses are visible to the compute stage:
    /// [`SetLayoutInfo`](super::vulkan::SetLayoutInfo).
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    /// The topology, or `None` where draws decide.
    pub topology: Option<PrimitiveTopology>,
    /// The provoking vertex, unless a draw says otherwise.
    pub provoking_vertex: ProvokingVertex,
    /// Whether primitives may be restarted.
    pub primitive_restart: bool,
}

/// Why a variant cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VariantError {
    /// Lowering failed.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// Making the pipeline failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// The compute pipelines of a device's graphics pipelines: one for each different [`VariantDesc`], made by whichever
/// thread asks first, while threads that ask for others go on.
///
/// What decides is compared whole: the words, the captures, the values of constants, vertex input state, set layouts
/// (by handle) and states. So a layout that is destroyed is [forgotten](Self::forget_layout).
#[derive(Debug, Default)]
pub struct Variants {
    /// By digest.
    slots: Mutex<HashMap<u128, Vec<Arc<Slot>>>>,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
enum Made {
    /// Whoever locks it makes the pipeline.
    #[default]
    Nothing,
    Pipeline(Pipeline),
    /// It is in no list any more: whoever asked meanwhile asks again.
    Forgotten,
}

/// A [`VariantDesc`] that owns what it is of.
#[derive(Debug)]
struct Key {
    words: Box<[u32]>,
    entry_point: Option<String>,
    captures: Option<CaptureList>,
    constants: Vec<(u32, Vec<u8>)>,
    vertex_input: VertexInput,
    set_layouts: Vec<vk::DescriptorSetLayout>,
    states: (Option<PrimitiveTopology>, ProvokingVertex, bool),
}

impl<'a> VariantDesc<'a> {
    /// Draws of every topology, with the first vertex as the provoking one, without primitive restart and descriptor
    /// sets.
    pub const fn new(shader: Shader<'a>, vertex_input: &'a VertexInput) -> Self {
        Self {
            shader,
            vertex_input,
            set_layouts: &[],
            topology: None,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
        }
    }

    /// Sets [`set_layouts`](field@Self::set_layouts).
    pub const fn set_layouts(mut self, set_layouts: &'a [vk::DescriptorSetLayout]) -> Self {
        self.set_layouts = set_layouts;
        self
    }

    /// Sets [`topology`](field@Self::topology): draws have that one alone.
    pub const fn topology(mut self, topology: PrimitiveTopology) -> Self {
        self.topology = Some(topology);
        self
    }

    /// Sets [`provoking_vertex`](field@Self::provoking_vertex).
    pub const fn provoking_vertex(mut self, provoking_vertex: ProvokingVertex) -> Self {
        self.provoking_vertex = provoking_vertex;
        self
    }

    /// Sets [`primitive_restart`](field@Self::primitive_restart).
    pub const fn primitive_restart(mut self, primitive_restart: bool) -> Self {
        self.primitive_restart = primitive_restart;
        self
    }

    const fn states(&self) -> (Option<PrimitiveTopology>, ProvokingVertex, bool) {
        (self.topology, self.provoking_vertex, self.primitive_restart)
    }

    const fn captures(&self) -> Option<&CaptureList> {
        match self.shader.captures {
            Captures::Decorations => None,
            Captures::List(list) => Some(list),
        }
    }

    /// Of the words and the constants: what differs besides is told by comparing.
    fn digest(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        hash.update(bytemuck::cast_slice(self.shader.words));
        for constant in self.shader.specialization {
            hash.update(&constant.constant_id.to_ne_bytes());
            hash.update(constant.data);
        }
        hash.digest128()
    }

    fn key(&self) -> Key {
        let constants = self.shader.specialization.iter();
        Key {
            words: self.shader.words.into(),
            entry_point: self.shader.entry_point.map(str::to_owned),
            captures: self.captures().cloned(),
            constants: constants.map(|c| (c.constant_id, c.data.to_vec())).collect(),
            vertex_input: self.vertex_input.clone(),
            set_layouts: self.set_layouts.to_vec(),
            states: self.states(),
        }
    }

    /// # Errors
    /// As [`Variants::get`].
    ///
    /// # Safety
    /// As [`Variants::get`].
    unsafe fn make(
        &self,
        ctx: &Context,
        cache: vk::PipelineCache,
    ) -> Result<Pipeline, VariantError> {
        let target = ctx.compute_target(self.set_layouts.len())?;
        let options = compute::Options { vertex_input: self.vertex_input, target };
        let shader = compute::lower(&self.shader, &options)?;
        let desc = PipelineDesc::new(&shader, self.vertex_input)
            .provoking_vertex(self.provoking_vertex)
            .primitive_restart(self.primitive_restart)
            .set_layouts(self.set_layouts)
            .cache(cache);
        let desc = self.topology.map_or(desc, |topology| desc.topology(topology));
        // SAFETY: the caller's contract.
        Ok(unsafe { Pipeline::new(ctx, &desc) }?)
    }
}

impl Key {
    fn is_of(&self, desc: &VariantDesc<'_>) -> bool {
        let constants = desc.shader.specialization.iter().map(|c| (c.constant_id, c.data));
        *self.words == *desc.shader.words
            && self.entry_point.as_deref() == desc.shader.entry_point
            && self.captures.as_ref() == desc.captures()
            && self.constants.iter().map(|(id, data)| (*id, &**data)).eq(constants)
            && self.vertex_input == *desc.vertex_input
            && self.set_layouts == desc.set_layouts
            && self.states == desc.states()
    }
}

impl Slot {
    /// Takes the pipeline, if there is one.
    fn forget(&self) -> Option<Pipeline> {
        match std::mem::replace(&mut *lock(&self.made), Made::Forgotten) {
            Made::Pipeline(pipeline) => Some(pipeline),
            Made::Nothing | Made::Forgotten => None,
        }
    }
}

impl Variants {
    /// None as yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The pipeline for a description, which is made where there is none. Where two threads ask for one, the second
    /// waits for the first.
    ///
    /// # Errors
    /// Those of [`compute::lower`] and [`Pipeline::new`]. Nothing is kept then: the next call tries again.
    ///
    /// # Safety
    /// As [`Pipeline::new`], and `ctx` is the same each time, or a clone of it.
    pub unsafe fn get(
        &self,
        ctx: &Context,
        desc: &VariantDesc<'_>,
        cache: vk::PipelineCache,
    ) -> Result<Pipeline, VariantError> {
        loop {
            let slot = self.slot(desc);
            let mut made = lock(&slot.made);
            match &*made {
                Made::Pipeline(pipeline) => return Ok(pipeline.clone()),
                Made::Forgotten => continue,
                Made::Nothing => {}
            }
            // SAFETY: the caller's contract.
            let result = unsafe { desc.make(ctx, cache) };
            *made = match &result {
                Ok(pipeline) => Made::Pipeline(pipeline.clone()),
                Err(_) => Made::Forgotten,
            };
            drop(made);
            if result.is_err() {
                self.remove(|other| std::ptr::eq(other, &*slot));
            }
            return result;
        }
    }

    /// The slot of a description, which is made where there is none.
    fn slot(&self, desc: &VariantDesc<'_>) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        let slots = slots.entry(desc.digest()).or_default();
        match slots.iter().find(|slot| slot.key.is_of(desc)) {
            Some(slot) => Arc::clone(slot),
            None => {
                let slot = Arc::new(Slot { key: desc.key(), made: Mutex::default() });
                slots.push(Arc::clone(&slot));
                slot
            }
        }
    }

    /// Takes slots out of the lists.
    fn remove(&self, is_removed: impl Fn(&Slot) -> bool) -> Vec<Arc<Slot>> {
        let mut removed = Vec::new();
        lock(&self.slots).retain(|_, slots| {
            removed.extend(slots.extract_if(.., |slot| is_removed(slot)));
            !slots.is_empty()
        });
        removed
    }

    /// How many pipelines there are. Those that are being made are waited for.
    pub fn len(&self) -> usize {
        let slots: Vec<Arc<Slot>> = lock(&self.slots).values().flatten().cloned().collect();
        slots.iter().filter(|slot| matches!(*lock(&slot.made), Made::Pipeline(_))).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the pipelines with that set layout out, whose handle may come back for another layout. They are
    /// destroyed by the caller, when the device is done with them. One that is being made is waited for.
    pub fn forget_layout(&self, layout: vk::DescriptorSetLayout) -> Vec<Pipeline> {
        // No other lock is held while a pipeline is waited for.
        let removed = self.remove(|slot| slot.key.set_layouts.contains(&layout));
        removed.iter().filter_map(|slot| slot.forget()).collect()
    }

    /// Destroys all pipelines.
    ///
    /// # Safety
    /// As [`Pipeline::destroy`] of each.
    pub unsafe fn destroy(self, ctx: &Context) {
        for slot in self.remove(|_| true) {
            if let Some(pipeline) = slot.forget() {
                // SAFETY: the caller's contract.
                unsafe { pipeline.destroy(ctx) };
            }
        }
    }
}

/// What a thread that panicked left is whole: a slot has a pipeline, or none.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
