//! [`Variants`]: compute pipelines for an application's graphics pipelines, created on first use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use spirv::ExecutionModel;
use xxhash_rust::xxh3::Xxh3Default;

use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorPlace;
use crate::runtime::memory::destroy::DestroyObject;
use crate::runtime::pipelines::pipeline::Pipeline;
use crate::runtime::pipelines::stages::{Stages, StagesError};
use vkxfb_rewriter::capture::CaptureList;
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::lower::{Captures, LowerError, Shader};
use vkxfb_rewriter::topology::ProvokingVertex;
use vkxfb_rewriter::vertex_input::VertexInput;

/// The compute pipelines for the graphics pipelines of a device: one for each distinct [`Stages`]. The first
/// thread that requests a pipeline creates it; meanwhile other threads can request other pipelines.
///
/// Two [`Stages`] are the same if all their members are equal; set layouts are compared by their handles. When a set
/// layout is destroyed, its pipelines must be [removed](Self::remove_layout), because its handle may be reused.
#[derive(Debug, Default)]
pub struct Variants {
    /// The cached pipelines, by the digests of their stages. The [`Slot`] of a pipeline is added before a thread
    /// creates the pipeline.
    slots: Mutex<HashMap<u128, Vec<Arc<Slot>>>>,
}

/// An element of the cache: what a pipeline is created from, and the pipeline.
#[derive(Debug)]
struct Slot {
    key: VariantKey,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
enum Made {
    /// The pipeline does not exist yet. The thread that holds the lock creates it.
    #[default]
    Nothing,
    Pipeline(Pipeline),
    /// The shaders cannot be lowered, which is not tried again.
    Refused(Option<ExecutionModel>, LowerError),
    /// The [`Slot`] was removed from the cache, or is about to be, because its pipeline could not be created. Threads
    /// that waited for its lock must look the pipeline up again.
    Forgotten,
}

/// A [`Shader`] that owns its data, without the capture list.
#[derive(Debug)]
struct Stage {
    words: Box<[u32]>,
    stage: Option<ExecutionModel>,
    entry_point: Option<String>,
    constants: Vec<(u32, Vec<u8>)>,
}

/// [`Stages`] that own their data.
#[derive(Debug)]
struct VariantKey {
    /// The vertex, tessellation control, tessellation evaluation and geometry shader.
    stages: [Option<Stage>; 4],
    captures: OwnedCaptures,
    vertex_input: VertexInput,
    set_layouts: Vec<vk::DescriptorSetLayout>,
    descriptors: DescriptorPlace,
    states: States,
}

/// [`Captures`] that own their data.
#[derive(Debug)]
enum OwnedCaptures {
    Decorations,
    List(CaptureList),
    Varyings(Vec<String>),
    Nothing,
}

type States = (Option<vk::PrimitiveTopology>, ProvokingVertex, DomainOrigin, u32, bool, bool);

const fn states(stages: &Stages<'_>) -> States {
    (
        stages.topology,
        stages.provoking_vertex,
        stages.domain_origin,
        stages.patch_control_points,
        stages.primitive_restart,
        stages.unaligned_attributes,
    )
}

const fn shaders<'s, 'a>(stages: &'s Stages<'a>) -> [Option<&'s Shader<'a>>; 4] {
    let Stages { vertex, control, evaluation, geometry, .. } = stages;
    [Some(vertex), control.as_ref(), evaluation.as_ref(), geometry.as_ref()]
}

/// Returns a hash of the shaders' words and specialisation constants. Stages that differ only in other members have the
/// same hash, so stages with equal hashes must be compared.
fn digest(stages: &Stages<'_>) -> u128 {
    let mut hash = Xxh3Default::new();
    for shader in shaders(stages).into_iter().flatten() {
        hash.update(bytemuck::cast_slice(shader.words));
        for constant in shader.specialization {
            hash.update(&constant.constant_id.to_ne_bytes());
            hash.update(constant.data);
        }
    }
    hash.digest128()
}

impl Stage {
    fn of(shader: &Shader<'_>) -> Self {
        let constants = shader.specialization.iter();
        Self {
            words: shader.words.into(),
            stage: shader.stage,
            entry_point: shader.entry_point.map(str::to_owned),
            constants: constants.map(|c| (c.constant_id, c.data.to_vec())).collect(),
        }
    }

    fn is_of(&self, shader: &Shader<'_>) -> bool {
        let constants = shader.specialization.iter().map(|c| (c.constant_id, c.data));
        *self.words == *shader.words
            && self.stage == shader.stage
            && self.entry_point.as_deref() == shader.entry_point
            && self.constants.iter().map(|(id, data)| (*id, &**data)).eq(constants)
    }
}

impl OwnedCaptures {
    fn of(captures: Captures<'_>) -> Self {
        match captures {
            Captures::Decorations => Self::Decorations,
            Captures::List(list) => Self::List(list.clone()),
            Captures::Varyings(names) => {
                Self::Varyings(names.iter().copied().map(str::to_owned).collect())
            }
            Captures::Nothing => Self::Nothing,
        }
    }

    fn is_of(&self, captures: Captures<'_>) -> bool {
        match (self, captures) {
            (Self::List(list), Captures::List(other)) => list == other,
            (Self::Varyings(names), Captures::Varyings(others)) => names == others,
            (Self::Decorations, Captures::Decorations) | (Self::Nothing, Captures::Nothing) => true,
            _ => false,
        }
    }
}

impl VariantKey {
    fn of(stages: &Stages<'_>) -> Self {
        Self {
            stages: shaders(stages).map(|shader| shader.map(Stage::of)),
            captures: OwnedCaptures::of(stages.captured().captures),
            vertex_input: stages.vertex_input.clone(),
            set_layouts: stages.set_layouts.to_vec(),
            descriptors: stages.descriptors.clone(),
            states: states(stages),
        }
    }

    fn is_of(&self, stages: &Stages<'_>) -> bool {
        let is_same = |(known, shader): (&Option<Stage>, Option<&Shader<'_>>)| match (known, shader)
        {
            (Some(known), Some(shader)) => known.is_of(shader),
            (None, None) => true,
            _ => false,
        };
        self.stages.iter().zip(shaders(stages)).all(is_same)
            && self.captures.is_of(stages.captured().captures)
            && self.vertex_input == *stages.vertex_input
            && self.set_layouts == stages.set_layouts
            && self.descriptors == *stages.descriptors
            && self.states == states(stages)
    }
}

impl Slot {
    /// Marks this element of the cache as removed, so that threads that wait for its lock look the pipeline up again.
    /// Returns its pipeline, if it was created.
    fn forget(&self) -> Option<Pipeline> {
        match std::mem::replace(&mut *lock(&self.made), Made::Forgotten) {
            Made::Pipeline(pipeline) => Some(pipeline),
            Made::Nothing | Made::Refused(..) | Made::Forgotten => None,
        }
    }
}

impl Variants {
    /// Returns the pipeline for these stages, and creates it if it does not exist. If two threads request the same
    /// pipeline, one waits until the other has created it.
    ///
    /// # Errors
    /// The errors of [`Pipeline::from_stages`]. Those of lowering are stored as pipelines are; after others the next call
    /// tries again.
    ///
    /// # Safety
    /// The requirements of [`Pipeline::from_stages`] apply. All calls pass the same `ctx` or clones of it.
    pub unsafe fn get(&self, ctx: &Context, stages: &Stages<'_>) -> Result<Pipeline, StagesError> {
        loop {
            let slot = self.slot(stages);
            let mut made = lock(&slot.made);
            match &*made {
                Made::Pipeline(pipeline) => return Ok(pipeline.clone()),
                Made::Refused(stage, error) => {
                    return Err(StagesError::Lower { stage: *stage, error: error.clone() });
                }
                Made::Forgotten => continue,
                Made::Nothing => {}
            }
            let result = unsafe { Pipeline::from_stages(ctx, stages) };
            *made = match &result {
                Ok(pipeline) => Made::Pipeline(pipeline.clone()),
                Err(StagesError::Lower { stage, error }) => Made::Refused(*stage, error.clone()),
                Err(StagesError::Runtime(_)) => Made::Forgotten,
            };
            let is_forgotten = matches!(*made, Made::Forgotten);
            drop(made);
            if is_forgotten {
                self.remove(|other| std::ptr::eq(other, &*slot));
            }
            return result;
        }
    }

    /// Returns the element of the cache for these stages. If there is none, adds one without a pipeline.
    fn slot(&self, stages: &Stages<'_>) -> Arc<Slot> {
        let mut slots = lock(&self.slots);
        let slots = slots.entry(digest(stages)).or_default();
        match slots.iter().find(|slot| slot.key.is_of(stages)) {
            Some(slot) => Arc::clone(slot),
            None => {
                let slot = Arc::new(Slot { key: VariantKey::of(stages), made: Mutex::default() });
                slots.push(Arc::clone(&slot));
                slot
            }
        }
    }

    /// Removes from the cache the elements for which `is_removed` returns true, and returns them.
    fn remove(&self, is_removed: impl Fn(&Slot) -> bool) -> Vec<Arc<Slot>> {
        let mut removed = Vec::new();
        lock(&self.slots).retain(|_, slots| {
            removed.extend(slots.extract_if(.., |slot| is_removed(slot)));
            !slots.is_empty()
        });
        removed
    }

    /// Removes and returns the pipelines that use a set layout, because the handle of a destroyed layout may be reused.
    /// The caller must destroy the pipelines when the device no longer uses them. The call waits for pipelines that are
    /// being created.
    pub fn remove_layout(&self, layout: vk::DescriptorSetLayout) -> Vec<Pipeline> {
        // The cache (`slots`) is not locked while this function waits for the lock of one pipeline, which a thread
        // holds while it creates the pipeline.
        let removed = self.remove(|slot| slot.key.set_layouts.contains(&layout));
        removed.iter().filter_map(|slot| slot.forget()).collect()
    }
}

impl<A: ?Sized> DestroyObject<A> for Variants {
    unsafe fn destroy(self, ctx: &Context, allocator: &mut A) {
        for slot in self.remove(|_| true) {
            unsafe { ctx.destroy(slot.forget(), allocator) };
        }
    }
}

/// Locks a mutex even if it is poisoned. A panic cannot leave the data inconsistent: a pipeline is only replaced as a
/// whole, and the map is consistent after each change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
