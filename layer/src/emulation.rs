//! Emulates transform feedback by compute dispatches: has the objects that captures use on a
//! device, and the captures of each command buffer.

pub(crate) mod captures;
mod default_attributes;
mod descriptor_buffers;
pub(crate) mod descriptor_heaps;
mod descriptor_pools;
#[cfg_attr(not(feature = "drawn"), path = "emulation/not_drawn.rs")]
pub(crate) mod drawn;
mod graphics_pipelines;
mod heap_mappings;
pub(crate) mod layouts;
mod losses;
mod memory;
pub(crate) mod objects;
mod pipeline_batches;
mod pipelines;
mod push_descriptors;
pub(crate) mod queries;
pub(crate) mod shader_modules;
pub(crate) mod shader_objects;
pub(crate) mod state;

use std::ffi::CStr;
use std::sync::Arc;

use vkxfb::runtime::descriptor_heaps::{DescriptorState, ParameterTransport};
use vkxfb::runtime::{ConditionalRendering, Context, Kernels, QueryKind, RuntimeError};

use self::default_attributes::DefaultAttributes;
use self::descriptor_heaps::HeapFunctions;
use self::drawn::Drawing;
use self::layouts::SetLayout;
use self::losses::Losses;
use self::memory::Memory;
use self::objects::Objects;
use self::queries::Queries;
use crate::capture_support::CaptureSupport;
use crate::drawn::shader_stages;
use crate::error::{Error, FAILED};
use crate::instance::InstanceData;
use crate::registry::vk;
use crate::withheld::{Functions, Templates};

/// The objects with which the layer emulates transform feedback on a device.
pub(crate) struct Emulation {
    /// The library's context, with which the layer creates all captures. [`Context::capabilities`]
    /// has the device's capabilities for the effective Vulkan version, [`Context::enabled`] the
    /// features that were enabled for captures, and [`Context::compute_target`] how captures access
    /// memory.
    context: Context,
    kernels: Kernels,
    /// `None` if the device was created without `VK_EXT_descriptor_heap`.
    heaps: Option<HeapSupport>,
    memory: Memory,
    objects: Objects,
    losses: Losses,
    /// How the layer draws geometry shaders. `None` if they are the driver's, or if there are none.
    drawing: Option<Drawing>,
    /// The values that vertex shader inputs without an attribute have. `None` if the device does
    /// not allow such inputs.
    default_attributes: Option<Arc<DefaultAttributes>>,
    /// Whether indirect draws may have a `firstInstance` other than 0.
    has_first_instances: bool,
    /// Whether all queries of generated primitives are the layer's. Otherwise it only counts for streams other than 0.
    counts_generated: bool,
    /// The device's functions for the commands that are allowed in a render pass instance, and for those that begin
    /// one.
    functions: Arc<Functions>,
    /// The descriptor update templates of the device. They say how to read the data that programs
    /// push with `vkCmdPushDescriptorSetWithTemplate`.
    templates: Arc<Templates>,
}

/// What captures need where the program uses descriptor heaps (`VK_EXT_descriptor_heap`).
struct HeapSupport {
    /// The context for recording while heaps or push data are valid: with push constants captures would invalidate them.
    context: Context,
    commands: Arc<HeapFunctions>,
    /// `maxPushDataSize`
    max_push_data: u32,
}

impl Emulation {
    /// Sets whether indirect draws may have a `firstInstance` other than 0. Before this call they may not.
    pub(crate) const fn allow_first_instances(&mut self, are_allowed: bool) {
        self.has_first_instances = are_allowed;
    }

    /// Has the layer draw geometry shaders, which the driver does not have. `layer_outputs` says whether vertex shaders may write `Layer` and `ViewportIndex`.
    pub(crate) const fn draw_geometry(&mut self, support: &CaptureSupport, layer_outputs: bool) {
        self.drawing = Drawing::new(support, layer_outputs);
    }

    /// Whether the layer draws geometry shaders, because the program has enabled `geometryShader`, which the driver lacks.
    pub(crate) const fn draws_geometry(&self) -> bool {
        self.drawing.is_some()
    }

    /// Sets whether all queries of generated primitives are the layer's. Before this call those of stream 0 are the
    /// driver's.
    pub(crate) const fn count_generated(&mut self, are_own: bool) {
        self.counts_generated = are_own;
    }

    /// Returns the stages for which the driver gets push constants that the program pushes for `stages`. `None` if the
    /// driver does not get them.
    fn driver_constants(&self, stages: vk::ShaderStageFlags) -> Option<vk::ShaderStageFlags> {
        if self.draws_geometry() { shader_stages::of_constants(stages) } else { Some(stages) }
    }

    /// Whether the layer has queries of a kind, for some stream at least. Without geometry shaders there is only stream
    /// 0, whose generated primitives the driver counts if it can.
    pub(crate) fn has_queries(&self, kind: QueryKind) -> bool {
        match kind {
            QueryKind::TransformFeedbackStream => true,
            QueryKind::PrimitivesGenerated => {
                self.counts_generated || self.context.capabilities().geometry_shader
            }
        }
    }

    /// Creates the objects that all captures on a device use.
    ///
    /// # Errors
    /// A Vulkan command fails, or the device lacks a command that its enabled features include.
    ///
    /// # Safety
    /// The layer or driver below created the device with what the capture support requires, and `get_device_proc_addr`
    /// belongs to the layer or driver below. The device outlives the emulation, which must be [closed](Self::close)
    /// before the device is destroyed.
    pub(crate) unsafe fn load(
        instance: &InstanceData,
        physical_device: vk::PhysicalDevice,
        device: vk::Device,
        get_device_proc_addr: vk::PFN_vkGetDeviceProcAddr,
        support: &CaptureSupport,
        functions: Arc<Functions>,
        templates: Arc<Templates>,
    ) -> Result<Self, Error> {
        let next = &instance.next;
        // `ash::Device::load` must fetch the device's functions from the layer or driver below, so
        // `vkGetDeviceProcAddr` is replaced.
        let fp_v1_0 = ash::InstanceFnV1_0 { get_device_proc_addr, ..next.fp_v1_0().clone() };
        let next = ash::Instance::from_parts_1_3(
            next.handle(),
            fp_v1_0,
            next.fp_v1_1().clone(),
            next.fp_v1_3().clone(),
        );
        // SAFETY: the caller's contract; functions that are fetched by name have the type that
        // belongs to the name.
        unsafe {
            let table = ash::Device::load(next.fp_v1_0(), device);
            let (capabilities, required) = (support.capabilities.clone(), support.required.clone());
            let mut context = Context::new(&next, &table, capabilities, required)?;
            let mut settings = context.settings();
            settings.optimizes_shaders = instance.settings.optimize_shaders;
            context.set_settings(settings);
            let heaps = HeapFunctions::new(&functions).map(|commands| {
                context.set_heap_commands(Arc::clone(&commands) as Arc<_>);
                let mut context = context.clone();
                context.set_parameter_transport(ParameterTransport::PushData);
                let max_push_data = max_push_data(instance, physical_device);
                HeapSupport { context, commands, max_push_data }
            });
            let addresses = context.has_addresses();
            let memory = Memory::new(&next, physical_device, &table, addresses)
                .map_err(|error| Error::Runtime(error.to_string(), FAILED))?;
            let empty = SetLayout::empty(&table, Default::default()).map_err(Error::Below)?;
            let kernels = Kernels::new(&context)?;
            let objects = Objects::new(Arc::new(empty));
            let losses = Losses::new(instance.settings.strict);
            let has = |name: &CStr| support.capabilities.extensions.contains(name);
            let defaults = DefaultAttributes::new(instance, physical_device, has);
            let default_attributes = defaults.map(Arc::new);
            Ok(Self {
                context,
                kernels,
                heaps,
                memory,
                objects,
                losses,
                drawing: None,
                default_attributes,
                has_first_instances: false,
                counts_generated: false,
                functions,
                templates,
            })
        }
    }

    /// Destroys all Vulkan objects that the layer created for captures on the device.
    ///
    /// # Safety
    /// The device is live and idle, and no command buffer contains captures any more.
    pub(crate) unsafe fn close(&self) {
        self.objects.clear();
        unsafe { self.context.destroy(self.kernels.clone(), &mut ()) };
        self.memory.close();
    }

    /// Creates the library's queries for a query pool of the program. Captures add to these queries.
    ///
    /// # Errors
    /// The errors of [`Queries::new`].
    ///
    /// # Safety
    /// The device is live.
    pub(crate) unsafe fn create_queries(
        &self,
        kind: QueryKind,
        count: u32,
    ) -> Result<Queries, RuntimeError> {
        let is_shared = kind == QueryKind::PrimitivesGenerated && !self.counts_generated;
        unsafe { Queries::new(&self.context, &self.memory, kind, count, is_shared) }
    }

    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    /// Returns the context for recording while these descriptors are valid.
    fn context_for(&self, descriptors: DescriptorState) -> &Context {
        match (descriptors, &self.heaps) {
            (DescriptorState::Heaps(_), Some(heaps)) => &heaps.context,
            _ => &self.context,
        }
    }

    const fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    const fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) const fn objects(&self) -> &Objects {
        &self.objects
    }

    pub(crate) fn pipeline_destroyed(&self, pipeline: vk::Pipeline) {
        self.objects.pipeline_destroyed(pipeline);
        self.losses.pipeline_destroyed(pipeline);
    }

    pub(crate) fn shader_destroyed(&self, shader: vk::ShaderEXT) {
        self.objects.shader_destroyed(shader);
        self.losses.shader_destroyed(shader);
    }

    fn templates(&self) -> &Templates {
        &self.templates
    }

    fn push_descriptor_set(&self) -> Option<vk::PFN_vkCmdPushDescriptorSetKHR> {
        self.functions.push_descriptor_set_khr
    }

    fn pipeline_barrier(&self) -> vk::PFN_vkCmdPipelineBarrier {
        self.context.device().fp_v1_0().cmd_pipeline_barrier
    }

    /// # Safety
    /// The command buffer is being recorded. Conditional rendering is active, and may be ended here: if it was begun
    /// outside of a render pass, the command buffer is outside of a render pass now.
    unsafe fn end_conditional_rendering(&self, cmd: vk::CommandBuffer) {
        if let Some(end) = self.functions.end_conditional_rendering_ext {
            unsafe { end(cmd) };
        }
    }

    /// Begins conditional rendering again after it was ended for captures.
    ///
    /// # Safety
    /// The command buffer is being recorded, and conditional rendering is not active.
    unsafe fn begin_conditional_rendering(
        &self,
        cmd: vk::CommandBuffer,
        condition: &ConditionalRendering,
    ) {
        let flags = if condition.inverted {
            vk::ConditionalRenderingFlagsEXT::INVERTED
        } else {
            vk::ConditionalRenderingFlagsEXT::empty()
        };
        let info = vk::ConditionalRenderingBeginInfoEXT::default()
            .buffer(condition.buffer)
            .offset(condition.offset)
            .flags(flags);
        if let Some(begin) = self.functions.begin_conditional_rendering_ext {
            unsafe { begin(cmd, &raw const info) };
        }
    }
}

/// Returns `maxPushDataSize`.
///
/// # Safety
/// The physical device is live, and supports `VK_EXT_descriptor_heap`.
unsafe fn max_push_data(instance: &InstanceData, physical_device: vk::PhysicalDevice) -> u32 {
    type Limits = vk::PhysicalDeviceDescriptorHeapPropertiesEXT;
    // SAFETY: all members may be zero.
    let mut limits: Limits = unsafe { std::mem::zeroed() };
    limits.s_type = <Limits as vk::TaggedStructure>::STRUCTURE_TYPE;
    let p_next = (&raw mut limits).cast();
    let mut properties = vk::PhysicalDeviceProperties2 { p_next, ..Default::default() };
    let optional = &instance.optional;
    if let Some(get) = optional.properties2.or(optional.properties2_khr) {
        unsafe { get(physical_device, &raw mut properties) };
    }
    u32::try_from(limits.max_push_data_size).unwrap_or(u32::MAX)
}
