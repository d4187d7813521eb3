//! [`Variants`]: compute pipelines for an application's graphics pipelines, created on first use.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ash::vk;
use spirv::ExecutionModel;
use xxhash_rust::xxh3::Xxh3Default;

use crate::runtime::device::context::Context;
use crate::runtime::device::descriptor_heaps::DescriptorPlace;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::destroy::DestroyObject;
use crate::runtime::pipelines::pipeline::{Pipeline, PipelineDesc};
use vkxfb_rewriter::capture::CaptureList;
use vkxfb_rewriter::lower::compute::{self, DomainOrigin};
use vkxfb_rewriter::lower::{Captures, LowerError, Shader};
use vkxfb_rewriter::setters;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexInput;

/// The parts of an application's graphics pipeline on which the compute pipeline for its captures depends.
///
/// [`new`](Self::new) takes the members that have no default, and the other functions set the other members.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct VariantDesc<'a> {
    /// The shader to capture, which is the last one before rasterization, and the values of its
    /// specialisation constants.
    pub shader: Shader<'a>,
    /// The vertex shader of the graphics pipeline, or `None` if the captured shader is the vertex shader.
    pub vertex_shader: Option<Shader<'a>>,
    /// The tessellation control shader of the graphics pipeline, or `None` without tessellation.
    pub control_shader: Option<Shader<'a>>,
    /// The tessellation evaluation shader of the graphics pipeline, or `None` without tessellation or if it is the
    /// captured shader.
    pub evaluation_shader: Option<Shader<'a>>,
    /// The origin of the tessellation domain. It is ignored without tessellation shaders.
    pub domain_origin: DomainOrigin,
    /// The number of control points of a patch, unless a draw sets another number. It is ignored without tessellation
    /// shaders.
    pub patch_control_points: u32,
    /// The vertex input state of the pipeline, or the dynamic vertex input state of a draw.
    pub vertex_input: &'a VertexInput,
    /// The set layouts of the pipeline layout. Bindings that the shader uses must be visible to the compute stage:
    /// [`SetLayoutInfo`](crate::runtime::pipelines::vulkan::SetLayoutInfo) makes them visible.
    pub set_layouts: &'a [vk::DescriptorSetLayout],
    /// The topology of all draws, or `None` if each draw chooses.
    pub topology: Option<PrimitiveTopology>,
    /// The provoking vertex, unless a draw sets another one.
    pub provoking_vertex: ProvokingVertex,
    /// Whether primitive restart may be enabled.
    pub primitive_restart: bool,
    /// Whether vertex buffers may be bound so that [attributes are not
    /// aligned](compute::Options::unaligned_attributes).
    pub unaligned_attributes: bool,
    /// Where the application's descriptors are.
    pub descriptors: &'a DescriptorPlace,
}

/// Why a variant cannot be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VariantError {
    /// Lowering failed.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// Creating the pipeline failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

/// The compute pipelines for the graphics pipelines of a device: one for each distinct [`VariantDesc`]. The first
/// thread that requests a pipeline creates it; meanwhile other threads can request other pipelines.
///
/// Two descriptions are the same if all their members are equal; set layouts are compared by their handles. When a set
/// layout is destroyed, its pipelines must be [forgotten](Self::forget_layout), because its handle may be reused.
#[derive(Debug, Default)]
pub struct Variants {
    /// The cached pipelines, by the digests of their descriptions. The [`Slot`] of a pipeline is added before a thread
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
    Refused(LowerError),
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

/// A [`VariantDesc`] that owns its data.
#[derive(Debug)]
struct VariantKey {
    shader: Stage,
    /// The shaders of the stages before the captured one: see [`VariantDesc::before`].
    before: [Option<Stage>; 3],
    captures: Option<CaptureList>,
    captures_nothing: bool,
    vertex_input: VertexInput,
    set_layouts: Vec<vk::DescriptorSetLayout>,
    descriptors: DescriptorPlace,
    states: States,
}

type States = (Option<PrimitiveTopology>, ProvokingVertex, DomainOrigin, u32, bool, bool);

impl<'a> VariantDesc<'a> {
    /// Describes a variant for draws of every topology, with the first vertex as the provoking vertex, without
    /// primitive restart, with aligned attributes, and without descriptor sets.
    pub const fn new(shader: Shader<'a>, vertex_input: &'a VertexInput) -> Self {
        Self {
            shader,
            vertex_shader: None,
            control_shader: None,
            evaluation_shader: None,
            domain_origin: DomainOrigin::UpperLeft,
            patch_control_points: 0,
            vertex_input,
            set_layouts: &[],
            topology: None,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: false,
            unaligned_attributes: false,
            descriptors: &DescriptorPlace::Sets,
        }
    }

    setters! {
        descriptors: &'a DescriptorPlace,
        vertex_shader?: Shader<'a>,
        control_shader?: Shader<'a>,
        evaluation_shader?: Shader<'a>,
        domain_origin: DomainOrigin,
        patch_control_points: u32,
        set_layouts: &'a [vk::DescriptorSetLayout],
        topology?: PrimitiveTopology,
        provoking_vertex: ProvokingVertex,
        primitive_restart: bool,
        unaligned_attributes: bool,
    }

    const fn states(&self) -> States {
        (
            self.topology,
            self.provoking_vertex,
            self.domain_origin,
            self.patch_control_points,
            self.primitive_restart,
            self.unaligned_attributes,
        )
    }

    /// Returns the vertex, tessellation control and tessellation evaluation shader that precede the captured shader.
    /// `None` for a stage that the pipeline does not have or that is captured.
    const fn before(&self) -> [Option<&Shader<'a>>; 3] {
        [self.vertex_shader.as_ref(), self.control_shader.as_ref(), self.evaluation_shader.as_ref()]
    }

    const fn captures(&self) -> Option<&CaptureList> {
        match self.shader.captures {
            Captures::Decorations | Captures::Nothing => None,
            Captures::List(list) => Some(list),
        }
    }

    const fn captures_nothing(&self) -> bool {
        matches!(self.shader.captures, Captures::Nothing)
    }

    /// Returns a hash of the shaders' words and specialisation constants. Descriptions that differ only in other
    /// members have the same hash, so descriptions with equal hashes must be compared.
    fn digest(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        for shader in std::iter::once(&self.shader).chain(self.before().into_iter().flatten()) {
            hash.update(bytemuck::cast_slice(shader.words));
            for constant in shader.specialization {
                hash.update(&constant.constant_id.to_ne_bytes());
                hash.update(constant.data);
            }
        }
        hash.digest128()
    }

    fn key(&self) -> VariantKey {
        VariantKey {
            shader: Stage::of(&self.shader),
            before: self.before().map(|shader| shader.map(Stage::of)),
            captures: self.captures().cloned(),
            captures_nothing: self.captures_nothing(),
            vertex_input: self.vertex_input.clone(),
            set_layouts: self.set_layouts.to_vec(),
            descriptors: self.descriptors.clone(),
            states: self.states(),
        }
    }

    /// # Errors
    /// The errors of [`Variants::get`].
    ///
    /// # Safety
    /// The requirements of [`Variants::get`] apply.
    unsafe fn make(
        &self,
        ctx: &Context,
        cache: vk::PipelineCache,
    ) -> Result<Pipeline, VariantError> {
        let target = ctx.compute_target()?;
        let mut options = compute::Options::new(self.vertex_input)
            .domain_origin(self.domain_origin)
            .unaligned_attributes(self.unaligned_attributes);
        [options.vertex_shader, options.control_shader, options.evaluation_shader] = self.before();
        let shader = compute::lower(&self.shader, &options.target(target))?;
        let desc = PipelineDesc::new(&shader)
            .provoking_vertex(self.provoking_vertex)
            .primitive_restart(self.primitive_restart)
            .patch_control_points(self.patch_control_points)
            .set_layouts(self.set_layouts)
            .descriptors(self.descriptors)
            .cache(cache);
        let desc = self.topology.map_or(desc, |topology| desc.topology(topology));
        Ok(unsafe { Pipeline::new(ctx, &desc) }?)
    }
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

impl VariantKey {
    fn is_of(&self, desc: &VariantDesc<'_>) -> bool {
        let is_same = |(known, shader): (&Option<Stage>, Option<&Shader<'_>>)| match (known, shader)
        {
            (Some(known), Some(shader)) => known.is_of(shader),
            (None, None) => true,
            _ => false,
        };
        self.shader.is_of(&desc.shader)
            && self.before.iter().zip(desc.before()).all(is_same)
            && self.captures.as_ref() == desc.captures()
            && self.captures_nothing == desc.captures_nothing()
            && self.vertex_input == *desc.vertex_input
            && self.set_layouts == desc.set_layouts
            && self.descriptors == *desc.descriptors
            && self.states == desc.states()
    }
}

impl Slot {
    /// Marks this element of the cache as removed, so that threads that wait for its lock look the pipeline up again.
    /// Returns its pipeline, if it was created.
    fn forget(&self) -> Option<Pipeline> {
        match std::mem::replace(&mut *lock(&self.made), Made::Forgotten) {
            Made::Pipeline(pipeline) => Some(pipeline),
            Made::Nothing | Made::Refused(_) | Made::Forgotten => None,
        }
    }
}

impl Variants {
    /// Returns the pipeline for a description, and creates it if it does not exist. If two threads request the same
    /// pipeline, one waits until the other has created it.
    ///
    /// # Errors
    /// The errors of [`compute::lower`], which are stored as pipelines are, and those of [`Pipeline::new`], which are
    /// not: the next call tries again.
    ///
    /// # Safety
    /// The requirements of [`Pipeline::new`] apply. All calls pass the same `ctx` or clones of it.
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
                Made::Refused(error) => return Err(error.clone().into()),
                Made::Forgotten => continue,
                Made::Nothing => {}
            }
            let result = unsafe { desc.make(ctx, cache) };
            *made = match &result {
                Ok(pipeline) => Made::Pipeline(pipeline.clone()),
                Err(VariantError::Lower(error)) => Made::Refused(error.clone()),
                Err(VariantError::Runtime(_)) => Made::Forgotten,
            };
            let is_forgotten = matches!(*made, Made::Forgotten);
            drop(made);
            if is_forgotten {
                self.remove(|other| std::ptr::eq(other, &*slot));
            }
            return result;
        }
    }

    /// Returns the element of the cache for a description. If there is none, adds one without a pipeline.
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

    /// Removes from the cache the elements for which `is_removed` returns true, and returns them.
    fn remove(&self, is_removed: impl Fn(&Slot) -> bool) -> Vec<Arc<Slot>> {
        let mut removed = Vec::new();
        lock(&self.slots).retain(|_, slots| {
            removed.extend(slots.extract_if(.., |slot| is_removed(slot)));
            !slots.is_empty()
        });
        removed
    }

    /// The number of pipelines. The call waits for pipelines that are being created.
    pub fn len(&self) -> usize {
        let slots: Vec<Arc<Slot>> = lock(&self.slots).values().flatten().cloned().collect();
        slots.iter().filter(|slot| matches!(*lock(&slot.made), Made::Pipeline(_))).count()
    }

    /// Whether there are no pipelines. The call waits for pipelines that are being created.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes and returns the pipelines that use a set layout, because the handle of a destroyed layout may be reused.
    /// The caller must destroy the pipelines when the device no longer uses them. The call waits for pipelines that are
    /// being created.
    pub fn forget_layout(&self, layout: vk::DescriptorSetLayout) -> Vec<Pipeline> {
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
