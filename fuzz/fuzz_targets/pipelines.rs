//! Graphics pipelines, with the chains in their create infos, which a program creates on the layer. The create infos can
//! be read, as Vulkan demands; what they say is arbitrary. Each part of them is an allocation of its own, so that the
//! address sanitizer notices what is read beside it.

#![no_main]

use std::any::Any;
use std::ffi::{CStr, CString, c_void};
use std::sync::LazyLock;

use ash::vk;
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use vkxfb_fuzz::layer::{Device, fail};
use vkxfb_rewriter::spirv::words_from_bytes;

const SHADERS: [&[u8]; 9] = [
    include_bytes!("../../shaders/probe/identify.spv"),
    include_bytes!("../../shaders/probe/patch.spv"),
    include_bytes!("../../shaders/probe/patch_points.spv"),
    include_bytes!("../../shaders/probe/two_streams.spv"),
    include_bytes!("../../tests/fuzz/seeds/two.spv"),
    include_bytes!("../../tests/fuzz/seeds/specialized.spv"),
    include_bytes!("../../tests/fuzz/seeds/fragment.spv"),
    include_bytes!("../../tests/fuzz/seeds/evaluation.spv"),
    include_bytes!("../../tests/fuzz/seeds/streams.spv"),
];

/// The device, and objects that pipelines are made of.
struct Objects {
    device: Device,
    shaders: Vec<Vec<u32>>,
    modules: Vec<vk::ShaderModule>,
    identifiers: Vec<Vec<u8>>,
    layouts: Vec<vk::PipelineLayout>,
}

static OBJECTS: LazyLock<Objects> = LazyLock::new(|| {
    let device = Device::new();
    let words = |bytes| words_from_bytes(bytes).unwrap_or_else(|error| panic!("{error}"));
    let shaders: Vec<Vec<u32>> = SHADERS.into_iter().map(words).collect();
    let failed = |result: vk::Result| -> ! { panic!("{result}") };
    // SAFETY: the device is live, and the create infos are valid.
    let (modules, identifiers, layouts) = unsafe {
        let module = |words: &Vec<u32>| {
            let info = vk::ShaderModuleCreateInfo::default().code(words);
            device.raw.create_shader_module(&info, None).unwrap_or_else(|error| failed(error))
        };
        let modules: Vec<vk::ShaderModule> = shaders.iter().map(module).collect();
        let identifier = |module: &vk::ShaderModule| {
            let mut identifier = vk::ShaderModuleIdentifierEXT::default();
            (device.identifier?)(device.raw.handle(), *module, &mut identifier);
            let size = identifier.identifier_size as usize;
            Some(identifier.identifier[..size.min(identifier.identifier.len())].to_vec())
        };
        let identifiers = modules.iter().filter_map(identifier).collect();
        let bindings = [vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::VERTEX)];
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        let set = device.raw.create_descriptor_set_layout(&info, None);
        let sets = [set.unwrap_or_else(|error| failed(error))];
        let infos = [
            vk::PipelineLayoutCreateInfo::default(),
            vk::PipelineLayoutCreateInfo::default().set_layouts(&sets),
        ];
        let layouts = infos.map(|info| {
            let made = device.raw.create_pipeline_layout(&info, None);
            made.unwrap_or_else(|error| failed(error))
        });
        (modules, identifiers, layouts.to_vec())
    };
    Objects { device, shaders, modules, identifiers, layouts }
});

/// What create infos point to.
#[derive(Default)]
struct Memory(Vec<Box<dyn Any>>);

impl Memory {
    fn put<T: 'static>(&mut self, value: T) -> *const T {
        let boxed = Box::new(value);
        let pointer = &raw const *boxed;
        self.0.push(boxed);
        pointer
    }

    fn put_all<T: 'static>(&mut self, values: Vec<T>) -> *const T {
        let boxed = values.into_boxed_slice();
        let pointer = boxed.as_ptr();
        self.0.push(Box::new(boxed));
        pointer
    }
}

/// Makes create infos of bytes.
struct Maker<'a, 'b> {
    bytes: &'a mut Unstructured<'b>,
    memory: Memory,
    /// The pipelines that exist, for libraries.
    pipelines: &'a [vk::Pipeline],
}

impl Maker<'_, '_> {
    fn byte(&mut self) -> Result<u8> {
        self.bytes.arbitrary()
    }

    /// Returns true for one in so many bytes.
    fn one_in(&mut self, count: u8) -> Result<bool> {
        Ok(self.byte()?.is_multiple_of(count))
    }

    /// Returns a number that is mostly below `end`.
    fn number(&mut self, end: u32) -> Result<u32> {
        match self.byte()? {
            255 => self.bytes.arbitrary(),
            byte => Ok(u32::from(byte) % end),
        }
    }

    /// Returns the bits of a choice of masks, and seldom any.
    fn flags(&mut self, choice: &[u64]) -> Result<u64> {
        let byte = self.byte()?;
        match byte {
            255 => self.bytes.arbitrary(),
            _ => Ok(choice
                .iter()
                .enumerate()
                .filter(|(bit, _)| byte >> (bit % 7) & 1 == 1)
                .fold(0, |all, (_, mask)| all | mask)),
        }
    }

    /// Makes up to `most` values.
    fn many<T>(
        &mut self,
        most: u8,
        mut make: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = self.byte()? % (most + 1);
        (0..count).map(|_| make(self)).collect()
    }

    /// Makes a chain of up to three structures, of those that a graphics pipeline may have.
    fn chain(&mut self) -> Result<*const c_void> {
        let mut next = std::ptr::null();
        for _ in 0..self.byte()? % 4 {
            next = self.structure(next)?;
        }
        Ok(next)
    }

    fn structure(&mut self, p_next: *const c_void) -> Result<*const c_void> {
        Ok(match self.byte()? % 14 {
            0 | 1 => {
                let (words, size) = self.words()?;
                let module = vk::ShaderModuleCreateInfo {
                    p_next,
                    p_code: words,
                    code_size: size,
                    ..Default::default()
                };
                self.memory.put(module).cast()
            }
            2 | 3 => {
                let identifiers = &OBJECTS.identifiers;
                let bytes = match self.byte()? {
                    byte if byte < 200 && !identifiers.is_empty() => {
                        identifiers[usize::from(byte) % identifiers.len()].clone()
                    }
                    _ => self.many(40, Self::byte)?,
                };
                let identifier = vk::PipelineShaderStageModuleIdentifierCreateInfoEXT {
                    p_next,
                    identifier_size: bytes.len() as u32,
                    p_identifier: self.memory.put_all(bytes),
                    ..Default::default()
                };
                self.memory.put(identifier).cast()
            }
            4 => {
                let pipelines = self.pipelines;
                let libraries = self.many(3, |maker| {
                    let number = usize::from(maker.byte()?);
                    let unknown = || vk::Handle::from_raw(u64::MAX - number as u64);
                    Ok(pipelines.get(number % 4).copied().unwrap_or_else(unknown))
                })?;
                let libraries = vk::PipelineLibraryCreateInfoKHR {
                    p_next,
                    library_count: libraries.len() as u32,
                    p_libraries: self.memory.put_all(libraries),
                    ..Default::default()
                };
                self.memory.put(libraries).cast()
            }
            5 => {
                let flags = self.flags(&[1, 2, 4, 8])? as u32;
                let flags = vk::GraphicsPipelineLibraryFlagsEXT::from_raw(flags);
                let library = vk::GraphicsPipelineLibraryCreateInfoEXT {
                    p_next: p_next.cast_mut(),
                    flags,
                    ..Default::default()
                };
                self.memory.put(library).cast()
            }
            6 => {
                let flags = vk::PipelineCreateFlags2KHR::from_raw(self.pipeline_flags()?);
                let flags =
                    vk::PipelineCreateFlags2CreateInfoKHR { p_next, flags, ..Default::default() };
                self.memory.put(flags).cast()
            }
            7 => {
                let stream = vk::PipelineRasterizationStateStreamCreateInfoEXT {
                    p_next,
                    rasterization_stream: self.number(5)?,
                    ..Default::default()
                };
                self.memory.put(stream).cast()
            }
            8 => {
                let mode = vk::ProvokingVertexModeEXT::from_raw(self.number(3)? as i32);
                let mode = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT {
                    p_next,
                    provoking_vertex_mode: mode,
                    ..Default::default()
                };
                self.memory.put(mode).cast()
            }
            9 => {
                let origin = vk::TessellationDomainOrigin::from_raw(self.number(3)? as i32);
                let origin = vk::PipelineTessellationDomainOriginStateCreateInfo {
                    p_next,
                    domain_origin: origin,
                    ..Default::default()
                };
                self.memory.put(origin).cast()
            }
            10 => {
                let divisors = self.many(3, |maker| {
                    Ok(vk::VertexInputBindingDivisorDescriptionKHR {
                        binding: maker.number(4)?,
                        divisor: maker.number(4)?,
                    })
                })?;
                let divisors = vk::PipelineVertexInputDivisorStateCreateInfoKHR {
                    p_next,
                    vertex_binding_divisor_count: divisors.len() as u32,
                    p_vertex_binding_divisors: self.memory.put_all(divisors),
                    ..Default::default()
                };
                self.memory.put(divisors).cast()
            }
            11 => {
                let formats =
                    self.many(2, |maker| Ok(vk::Format::from_raw(maker.number(185)? as i32)))?;
                let rendering = vk::PipelineRenderingCreateInfo {
                    p_next,
                    color_attachment_count: formats.len() as u32,
                    p_color_attachment_formats: self.memory.put_all(formats),
                    ..Default::default()
                };
                self.memory.put(rendering).cast()
            }
            12 => {
                let size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo {
                    p_next: p_next.cast_mut(),
                    required_subgroup_size: self.number(64)?,
                    ..Default::default()
                };
                self.memory.put(size).cast()
            }
            // A structure of which nobody knows more than these two members.
            _ => {
                let s_type = vk::StructureType::from_raw(0x7fff_0000 + i32::from(self.byte()?));
                self.memory
                    .put(vk::BaseInStructure {
                        s_type,
                        p_next: p_next.cast(),
                        ..Default::default()
                    })
                    .cast()
            }
        })
    }

    /// Returns the words of a shader, of which one may be any other, and their size in bytes.
    fn words(&mut self) -> Result<(*const u32, usize)> {
        let shaders = &OBJECTS.shaders;
        let mut words = shaders[usize::from(self.byte()?) % shaders.len()].clone();
        if self.one_in(2)? {
            let at = usize::from(self.bytes.arbitrary::<u16>()?) % words.len();
            words[at] = self.number(256)?;
        }
        if self.one_in(16)? {
            words.truncate(usize::from(self.bytes.arbitrary::<u16>()?) % words.len());
        }
        let size = size_of_val(&words[..]);
        let size = if self.one_in(16)? { size.saturating_sub(1) } else { size };
        Ok((self.memory.put_all(words), size))
    }

    fn stage(&mut self) -> Result<vk::PipelineShaderStageCreateInfo<'static>> {
        use vk::ShaderStageFlags as Stage;
        const STAGES: [Stage; 8] = [
            Stage::VERTEX,
            Stage::VERTEX,
            Stage::TESSELLATION_CONTROL,
            Stage::TESSELLATION_EVALUATION,
            Stage::GEOMETRY,
            Stage::FRAGMENT,
            Stage::COMPUTE,
            Stage::MESH_EXT,
        ];
        const NAMES: [&CStr; 4] = [c"main", c"other", c"", c"\xff"];
        let stage = STAGES[usize::from(self.byte()?) % STAGES.len()];
        let modules = &OBJECTS.modules;
        let module = match usize::from(self.byte()?) {
            254 => vk::Handle::from_raw(u64::MAX),
            128.. => vk::ShaderModule::null(),
            number => modules[number % modules.len()],
        };
        let name = match self.byte()? {
            255 => {
                let bytes = self.many(20, Self::byte)?.into_iter().filter(|byte| *byte != 0);
                CString::new(bytes.collect::<Vec<u8>>()).unwrap_or_default()
            }
            byte @ 192.. => NAMES[usize::from(byte) % NAMES.len()].to_owned(),
            _ => c"main".to_owned(),
        };
        let name = self.memory.put_all(name.into_bytes_with_nul());
        let specialization =
            if self.one_in(4)? { self.specialization()? } else { std::ptr::null() };
        Ok(vk::PipelineShaderStageCreateInfo {
            p_next: self.chain()?,
            stage,
            module,
            p_name: name.cast(),
            p_specialization_info: specialization,
            ..Default::default()
        })
    }

    fn specialization(&mut self) -> Result<*const vk::SpecializationInfo<'static>> {
        let data = self.many(24, Self::byte)?;
        let entries = self.many(4, |maker| {
            Ok(vk::SpecializationMapEntry {
                constant_id: maker.number(4)?,
                offset: maker.number(24)?,
                size: match maker.byte()? {
                    255 => maker.bytes.arbitrary()?,
                    byte => [4, 4, 8, 1][usize::from(byte) % 4],
                },
            })
        })?;
        let info = vk::SpecializationInfo {
            map_entry_count: entries.len() as u32,
            p_map_entries: self.memory.put_all(entries),
            data_size: data.len(),
            p_data: self.memory.put_all(data).cast(),
            ..Default::default()
        };
        Ok(self.memory.put(info))
    }

    fn vertex_input(&mut self) -> Result<*const vk::PipelineVertexInputStateCreateInfo<'static>> {
        let bindings = self.many(3, |maker| {
            Ok(vk::VertexInputBindingDescription {
                binding: maker.number(4)?,
                stride: maker.number(64)?,
                input_rate: vk::VertexInputRate::from_raw(maker.number(2)? as i32),
            })
        })?;
        let attributes = self.many(4, |maker| {
            Ok(vk::VertexInputAttributeDescription {
                location: maker.number(8)?,
                binding: maker.number(4)?,
                format: vk::Format::from_raw(maker.number(131)? as i32),
                offset: maker.number(64)?,
            })
        })?;
        let state = vk::PipelineVertexInputStateCreateInfo {
            p_next: self.chain()?,
            vertex_binding_description_count: bindings.len() as u32,
            p_vertex_binding_descriptions: self.memory.put_all(bindings),
            vertex_attribute_description_count: attributes.len() as u32,
            p_vertex_attribute_descriptions: self.memory.put_all(attributes),
            ..Default::default()
        };
        Ok(self.memory.put(state))
    }

    /// Returns flags. Most pipelines must not be compiled while they are created, which takes long.
    fn pipeline_flags(&mut self) -> Result<u64> {
        use vk::PipelineCreateFlags2KHR as Flag;
        let flags = [
            Flag::DERIVATIVE,
            Flag::LIBRARY,
            Flag::EARLY_RETURN_ON_FAILURE,
            Flag::DESCRIPTOR_BUFFER_EXT,
            Flag::ALLOW_DERIVATIVES,
        ];
        let flags = self.flags(&flags.map(Flag::as_raw))?;
        let compiles = self.one_in(16)?;
        let fails = Flag::FAIL_ON_PIPELINE_COMPILE_REQUIRED.as_raw();
        Ok(if compiles { flags & !fails } else { flags | fails })
    }

    fn pipeline(&mut self) -> Result<vk::GraphicsPipelineCreateInfo<'static>> {
        const DYNAMIC: [vk::DynamicState; 9] = [
            vk::DynamicState::VIEWPORT,
            vk::DynamicState::VERTEX_INPUT_EXT,
            vk::DynamicState::VERTEX_INPUT_BINDING_STRIDE,
            vk::DynamicState::PRIMITIVE_TOPOLOGY,
            vk::DynamicState::PRIMITIVE_RESTART_ENABLE,
            vk::DynamicState::RASTERIZER_DISCARD_ENABLE,
            vk::DynamicState::PROVOKING_VERTEX_MODE_EXT,
            vk::DynamicState::PATCH_CONTROL_POINTS_EXT,
            vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT,
        ];
        let mut info = vk::GraphicsPipelineCreateInfo {
            p_next: self.chain()?,
            flags: vk::PipelineCreateFlags::from_raw(self.pipeline_flags()? as u32),
            base_pipeline_index: self.byte()? as i8 as i32 % 4,
            ..Default::default()
        };
        let stages = self.many(5, Self::stage)?;
        info.stage_count = stages.len() as u32;
        info.p_stages = self.memory.put_all(stages);
        if !self.one_in(8)? {
            info.p_vertex_input_state = self.vertex_input()?;
        }
        if !self.one_in(8)? {
            let state = vk::PipelineInputAssemblyStateCreateInfo {
                topology: vk::PrimitiveTopology::from_raw(self.number(12)? as i32),
                primitive_restart_enable: self.number(2)?,
                ..Default::default()
            };
            info.p_input_assembly_state = self.memory.put(state);
        }
        if !self.one_in(2)? {
            let state = vk::PipelineTessellationStateCreateInfo {
                p_next: self.chain()?,
                patch_control_points: self.number(34)?,
                ..Default::default()
            };
            info.p_tessellation_state = self.memory.put(state);
        }
        if !self.one_in(8)? {
            let state = vk::PipelineRasterizationStateCreateInfo {
                p_next: self.chain()?,
                rasterizer_discard_enable: self.number(2)?,
                ..Default::default()
            };
            info.p_rasterization_state = self.memory.put(state);
        }
        if self.one_in(4)? {
            let states =
                self.many(4, |maker| Ok(DYNAMIC[maker.byte()? as usize % DYNAMIC.len()]))?;
            let state = vk::PipelineDynamicStateCreateInfo {
                dynamic_state_count: states.len() as u32,
                p_dynamic_states: self.memory.put_all(states),
                ..Default::default()
            };
            info.p_dynamic_state = self.memory.put(state);
        }
        let layouts = &OBJECTS.layouts;
        info.layout = match usize::from(self.byte()?) {
            255 => vk::Handle::from_raw(u64::MAX),
            254 => vk::PipelineLayout::null(),
            number => layouts[number % layouts.len()],
        };
        Ok(info)
    }
}

/// Creates pipelines twice, so that the second can have the first as libraries, and destroys them.
fn run(bytes: &mut Unstructured<'_>) -> Result<()> {
    let device = &OBJECTS.device.raw;
    let mut made: Vec<vk::Pipeline> = Vec::new();
    let mut ended = Ok(());
    for _ in 0..2 {
        let memory = Memory::default();
        let mut maker = Maker { bytes, memory, pipelines: &made };
        fail(maker.one_in(16).unwrap_or_default());
        let infos = maker.many(3, Maker::pipeline);
        let memory = maker.memory;
        let infos = match infos {
            Ok(infos) => infos,
            Err(error) => {
                ended = Err(error);
                break;
            }
        };
        if infos.is_empty() {
            continue;
        }
        // SAFETY: the create infos point to the memory.
        let created =
            unsafe { device.create_graphics_pipelines(vk::PipelineCache::null(), &infos, None) };
        drop(memory);
        made.extend(created.unwrap_or_else(|(made, _)| made));
    }
    for pipeline in made.into_iter().filter(|pipeline| *pipeline != vk::Pipeline::null()) {
        // SAFETY: the pipeline is the device's, and used no more.
        unsafe { device.destroy_pipeline(pipeline, None) };
    }
    ended
}

// Bytes that end early are no fault.
fuzz_target!(|bytes: &[u8]| {
    let _ = run(&mut Unstructured::new(bytes));
});
