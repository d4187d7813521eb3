//! Captures draws of shader objects (`VK_EXT_shader_object`). Captures use pipelines, so the layer
//! makes one [`Pipeline`] for the shaders that are bound together.

use std::ffi::c_void;
use std::sync::Arc;

use ash::vk;
use vkxfb_rewriter::lower::Effects;
use vkxfb_rewriter::vulkan::RUN_STAGE_FLAGS;

use super::Emulation;
use super::layouts::PipelineLayout;
use super::pipelines::{
    CapturedStages, Parts, Pipeline, PipelineError, Resources, StagePart, unless_only_counted,
};
use super::shader_modules::Stripped;
use crate::chain::slice;
use crate::identity::SHADER_BINARY;

/// `VK_SHADER_CREATE_DESCRIPTOR_HEAP_BIT_EXT`, which ash does not have.
const DESCRIPTOR_HEAP: vk::ShaderCreateFlagsEXT = vk::ShaderCreateFlagsEXT::from_raw(1 << 10);

/// A shader object of a stage before rasterization.
pub(crate) struct ShaderObject {
    part: StagePart,
    captures: bool,
    has_streams: bool,
    /// Whether `nextStage` contains another stage before rasterization, which may be the one that
    /// captures.
    is_followed: bool,
    /// Whether its descriptors are in heaps, so that it has no layout.
    has_heaps: bool,
    layout: Arc<PipelineLayout>,
}

/// The shaders that are bound to the stages before rasterization. Null for a stage to which none is
/// bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct BoundShaders {
    pub(super) vertex: vk::ShaderEXT,
    pub(super) control: vk::ShaderEXT,
    pub(super) evaluation: vk::ShaderEXT,
    pub(super) geometry: vk::ShaderEXT,
}

impl BoundShaders {
    pub(super) fn bind(&mut self, stage: vk::ShaderStageFlags, shader: vk::ShaderEXT) {
        match stage {
            vk::ShaderStageFlags::VERTEX => self.vertex = shader,
            vk::ShaderStageFlags::TESSELLATION_CONTROL => self.control = shader,
            vk::ShaderStageFlags::TESSELLATION_EVALUATION => self.evaluation = shader,
            vk::ShaderStageFlags::GEOMETRY => self.geometry = shader,
            _ => {}
        }
    }

    /// Returns the shaders, in the order of the stages.
    const fn all(&self) -> [vk::ShaderEXT; 4] {
        [self.vertex, self.control, self.evaluation, self.geometry]
    }

    pub(super) fn has(&self, shader: vk::ShaderEXT) -> bool {
        self.all().contains(&shader)
    }
}

impl ShaderObject {
    /// Whether a captured draw may repeat `effects`, the side effects of this shader. The last shader before
    /// rasterization runs in the capture and in the driver's draw. An earlier shader may run for each primitive of a
    /// capture. `last` is `None` for a shader that is not linked. Otherwise it describes the last of the linked shaders
    /// before rasterization: whether that shader captures, and whether its primitives may be counted. If that
    /// shader does not capture, its primitives are only counted. Counting repeats no stores, but it repeats atomic
    /// operations whose results a shader uses.
    fn may_repeat(&self, last: Option<(bool, bool)>, effects: Effects) -> bool {
        match last {
            Some((captures, counts)) => captures || counts && effects.atomic_results,
            None => self.captures || self.is_followed,
        }
    }
}

impl Emulation {
    /// `vkCreateShadersEXT`
    ///
    /// # Safety
    /// The contract of the command. `next` is the command of the layer or driver below, and `shaders` has an element
    /// for each create info.
    pub(crate) unsafe fn create_shaders(
        &self,
        device: vk::Device,
        next: vk::PFN_vkCreateShadersEXT,
        infos: &[vk::ShaderCreateInfoEXT<'static>],
        allocator: *const vk::AllocationCallbacks<'_>,
        shaders: &mut [vk::ShaderEXT],
    ) -> vk::Result {
        shaders.fill(vk::ShaderEXT::null());
        let (mut below, mut own, mut words) = (infos.to_vec(), Vec::new(), Vec::new());
        let mut failed = vk::Result::SUCCESS;
        for info in &mut below {
            match unsafe { self.shader_object(info, &mut words) } {
                Ok(object) => own.push(object),
                Err(PipelineError::ShaderBinary) => {
                    failed = vk::Result::INCOMPATIBLE_SHADER_BINARY_EXT;
                    break;
                }
                Err(error) => {
                    tracing::error!("vkCreateShadersEXT: {error}");
                    failed = error.result();
                    break;
                }
            }
        }
        // If the layer rejects a shader, the driver creates only the shaders before it. It creates none if shaders
        // are linked, because linked shaders are created together or not at all.
        below.truncate(own.len());
        let links = vk::ShaderCreateFlagsEXT::LINK_STAGE;
        if failed != vk::Result::SUCCESS
            && (below.is_empty() || infos.iter().any(|info| info.flags.contains(links)))
        {
            return failed;
        }
        let (count, made) = (below.len() as u32, shaders.as_mut_ptr());
        let result = unsafe { next(device, count, below.as_ptr(), allocator, made) };
        // Linked shaders are only used together, so the last of them decides whether they are captured.
        let linked = infos.iter().zip(&own).filter(|(info, _)| info.flags.contains(links));
        let last = linked
            .filter_map(|(info, object)| Some((info.stage.as_raw(), object.as_ref()?)))
            .max_by_key(|(stage, _)| *stage)
            .map(|(_, last)| (last.captures, last.has_streams || self.counts_generated));
        for ((shader, object), info) in shaders.iter().zip(own).zip(infos) {
            if let Some(object) = object.filter(|_| *shader != vk::ShaderEXT::null()) {
                let last = last.filter(|_| info.flags.contains(links));
                if let Ok(effects) = object.part.effects()
                    && object.may_repeat(last, effects)
                {
                    self.objects().repeat_effects(effects, object.part.entry_point());
                }
                _ = self.objects().shaders.insert(*shader, Arc::new(object));
            }
        }
        if result == vk::Result::SUCCESS { failed } else { result }
    }

    /// Returns the layer's data of a shader. `None` if its stage is not before rasterization.
    /// Changes `info` for the driver. If the driver gets rewritten SPIR-V, adds it to `words`,
    /// which must outlive `info`.
    ///
    /// # Errors
    /// [`PipelineError::ShaderBinary`] if the binary is not from this layer, and the errors of
    /// [`StagePart::new`].
    ///
    /// # Safety
    /// The structure is valid for `vkCreateShadersEXT`.
    unsafe fn shader_object(
        &self,
        info: &mut vk::ShaderCreateInfoEXT<'static>,
        words: &mut Vec<Vec<u32>>,
    ) -> Result<Option<ShaderObject>, PipelineError> {
        if !RUN_STAGE_FLAGS.contains(info.stage) {
            return Ok(None);
        }
        unsafe {
            let sets = slice(info.p_set_layouts, info.set_layout_count);
            let sets = sets.iter().filter_map(|set| self.objects().set_layout(*set)).collect();
            let layout = Arc::new(PipelineLayout { sets });
            let (part, is_binary) = if info.code_type == vk::ShaderCodeTypeEXT::BINARY {
                let code = std::slice::from_raw_parts(info.p_code.cast::<u8>(), info.code_size);
                let binary = Binary::read(code).ok_or(PipelineError::ShaderBinary)?;
                let part = StagePart::from_words(info.stage, binary.own);
                (info.p_code, info.code_size) =
                    (binary.drivers.as_ptr().cast(), binary.drivers.len());
                (part.ok_or(PipelineError::ShaderBinary)?, true)
            } else {
                let code = slice(info.p_code.cast::<u32>(), (info.code_size / 4) as u32);
                let stage = vk::PipelineShaderStageCreateInfo {
                    stage: info.stage,
                    p_next: info.p_next,
                    p_name: info.p_name,
                    p_specialization_info: info.p_specialization_info,
                    ..Default::default()
                };
                (StagePart::new(&stage, code.into())?, false)
            };
            let stripped = Stripped::of(part.words(), 0);
            let module = stripped.module(part.words());
            if let Some(stripped) = stripped.words.filter(|_| !is_binary) {
                (info.p_code, info.code_size) =
                    (stripped.as_ptr().cast(), size_of_val(&stripped[..]));
                words.push(stripped);
            }
            let (captures, has_streams) = (module.captures, module.has_streams);
            let is_followed = info.next_stage.intersects(RUN_STAGE_FLAGS);
            let has_heaps = info.flags.contains(DESCRIPTOR_HEAP);
            Ok(Some(ShaderObject { part, captures, has_streams, is_followed, has_heaps, layout }))
        }
    }

    /// `vkGetShaderBinaryDataEXT`: returns the driver's binary after a header, followed by the
    /// layer's data of the shader.
    ///
    /// # Safety
    /// The contract of the command. `next` is the command of the layer or driver below.
    pub(crate) unsafe fn shader_binary(
        &self,
        device: vk::Device,
        next: vk::PFN_vkGetShaderBinaryDataEXT,
        shader: vk::ShaderEXT,
        size: *mut usize,
        data: *mut c_void,
    ) -> vk::Result {
        let Some(object) = self.objects().shaders.get(shader) else {
            return unsafe { next(device, shader, size, data) };
        };
        unsafe {
            let mut drivers = 0;
            let result = next(device, shader, &raw mut drivers, std::ptr::null_mut());
            if result != vk::Result::SUCCESS {
                return result;
            }
            let Some(own) = object.part.to_words() else {
                tracing::error!("vkGetShaderBinaryDataEXT: {}", PipelineError::Sampler);
                return vk::Result::ERROR_OUT_OF_HOST_MEMORY;
            };
            let all = Binary::HEADER + drivers.next_multiple_of(4) + size_of_val(&own[..]);
            if data.is_null() {
                *size = all;
                return vk::Result::SUCCESS;
            }
            if *size < all {
                *size = 0;
                return vk::Result::INCOMPLETE;
            }
            *size = all;
            // The driver may require a larger alignment than the program's memory has, so the
            // driver writes to memory of the layer.
            let mut binary = vec![0_u128; drivers.div_ceil(16)];
            let result = next(device, shader, &raw mut drivers, binary.as_mut_ptr().cast());
            // The memory is initialized before there is a slice of it.
            data.cast::<u8>().write_bytes(0, all);
            let place = std::slice::from_raw_parts_mut(data.cast::<u8>(), all);
            place[..16].copy_from_slice(&SHADER_BINARY);
            place[16..24].copy_from_slice(&(drivers as u64).to_ne_bytes());
            let bytes = std::slice::from_raw_parts(binary.as_ptr().cast::<u8>(), drivers);
            place[Binary::HEADER..][..drivers].copy_from_slice(bytes);
            let words = &mut place[Binary::HEADER + drivers.next_multiple_of(4)..];
            for (word, place) in own.iter().zip(words.chunks_mut(4)) {
                place.copy_from_slice(&word.to_ne_bytes());
            }
            result
        }
    }

    /// Returns the pipeline with which draws of shaders that are bound together are captured.
    /// `None` if the last of these shaders neither captures nor is counted by the layer.
    ///
    /// # Errors
    /// The shaders cannot be captured by compute shaders.
    pub(super) fn pipeline_of_shaders(
        &self,
        bound: BoundShaders,
    ) -> Result<Option<Arc<Pipeline>>, PipelineError> {
        let objects = self.objects();
        let found = match objects.shader_pipelines.get(bound) {
            Some(known) => known,
            None => {
                let made = match self.make_pipeline_of_shaders(bound) {
                    Err(error) if error.is_of_device() => return Err(error),
                    made => made.map(|made| made.map(Arc::new)).map_err(Arc::new).transpose(),
                };
                _ = objects.shader_pipelines.insert(bound, made.clone());
                made
            }
        };
        found.transpose().map_err(PipelineError::Known)
    }

    fn make_pipeline_of_shaders(
        &self,
        bound: BoundShaders,
    ) -> Result<Option<Pipeline>, PipelineError> {
        let shaders = bound.all().map(|shader| self.objects().shaders.get(shader));
        let shaders: Vec<Arc<ShaderObject>> = shaders.into_iter().flatten().collect();
        let Some((last, before)) = shaders.split_last() else { return Ok(None) };
        if !last.captures && !last.has_streams && !self.counts_generated {
            return Ok(None);
        }
        let mut layout = Arc::clone(&last.layout);
        for shader in before {
            layout = Arc::new(layout.merged(&shader.layout));
        }
        let stages = CapturedStages {
            captured: last.part.clone(),
            before: before.iter().map(|shader| shader.part.clone()).collect(),
            captures: last.captures,
            has_streams: last.has_streams && bound.geometry != vk::ShaderEXT::null(),
        };
        let resources = || {
            Ok(if last.has_heaps {
                Resources::Heaps(self.heaps.as_ref().ok_or(PipelineError::NoHeaps)?)
            } else if layout.sets.iter().any(|set| set.is_of_buffers()) {
                // SAFETY: the device is live, and has layouts of descriptor buffers.
                Resources::Buffers(unsafe {
                    self.objects().empty_of_buffers(self.context().device())
                }?)
            } else {
                Resources::Sets
            })
        };
        let parts = Parts::of_shaders(stages);
        let made = resources().and_then(|resources| {
            let (layout, defaults) = (Some(Arc::clone(&layout)), self.default_attributes.as_ref());
            Pipeline::new(self.context(), &parts, layout, defaults, resources)
        });
        Ok(unless_only_counted("shaders", last.captures, made)?.flatten())
    }
}

/// A shader binary, as programs get it from the layer.
struct Binary<'a> {
    /// The driver's binary. It is aligned to 16 bytes if the layer's binary is.
    drivers: &'a [u8],
    /// The layer's data of the shader: the words of [`StagePart::to_words`].
    own: Vec<u32>,
}

impl<'a> Binary<'a> {
    /// The size of the header in bytes: a magic number (16 bytes), the size of the driver's binary
    /// (8 bytes), and padding, which aligns the driver's binary to 16 bytes.
    const HEADER: usize = 32;

    /// Reads a shader binary. `None` if it is not from this layer.
    fn read(code: &'a [u8]) -> Option<Self> {
        let size = code.get(16..24)?.try_into().ok()?;
        let size = usize::try_from(u64::from_ne_bytes(size)).ok()?;
        if code[..16] != SHADER_BINARY {
            return None;
        }
        let rest = code.get(Self::HEADER..)?;
        let drivers = rest.get(..size)?;
        let own = rest.get(size.checked_next_multiple_of(4)?..)?;
        let word = |bytes: &[u8]| Some(u32::from_ne_bytes(bytes.try_into().ok()?));
        Some(Self { drivers, own: own.chunks(4).map(word).collect::<Option<_>>()? })
    }
}
