//! Hooks for commands that create or destroy objects of which the layer keeps data for captures.

use std::ffi::c_void;
use std::sync::Arc;

use ash::vk;

use vkxfb::runtime::QueryKind;

use super::entry::{FAILED, emulated, hooks, with_device};
use crate::chain::{all_of, slice};
use crate::drawn::{shader_stages, stages};
use crate::emulation::layouts::{PipelineLayout, SetLayout};
use crate::emulation::objects::Buffer;
use crate::emulation::queries::kind_of;
use crate::emulation::shader_modules::{PLACEHOLDER, Stripped, needs_geometry};
use crate::translate::usages::usage_of_buffer;
use crate::translate::{Arena, Kind, OUT_OF_MEMORY, RenderPass, Views, passes, usages};

hooks! {
    b"vkAllocateMemory" => allocate_memory as PFN_vkAllocateMemory,
    b"vkCreateBuffer" => create_buffer as PFN_vkCreateBuffer,
    b"vkCreateDescriptorSetLayout" => create_set_layout as PFN_vkCreateDescriptorSetLayout,
    b"vkCreateGraphicsPipelines" => create_graphics_pipelines as PFN_vkCreateGraphicsPipelines,
    b"vkCreatePipelineLayout" => create_pipeline_layout as PFN_vkCreatePipelineLayout,
    b"vkCreateQueryPool" => create_query_pool as PFN_vkCreateQueryPool,
    b"vkCreateRenderPass" => create_render_pass as PFN_vkCreateRenderPass,
    b"vkCreateRenderPass2" | b"vkCreateRenderPass2KHR" =>
        create_render_pass2 as PFN_vkCreateRenderPass2,
    b"vkCreateShaderModule" => create_shader_module as PFN_vkCreateShaderModule,
    b"vkCreateShadersEXT" => create_shaders as PFN_vkCreateShadersEXT,
    b"vkDestroyShaderEXT" => destroy_shader as PFN_vkDestroyShaderEXT,
    b"vkGetShaderBinaryDataEXT" => shader_binary as PFN_vkGetShaderBinaryDataEXT,
    b"vkDestroyBuffer" => destroy_buffer as PFN_vkDestroyBuffer,
    b"vkDestroyDescriptorSetLayout" =>
        destroy_descriptor_set_layout as PFN_vkDestroyDescriptorSetLayout,
    b"vkDestroyPipeline" => destroy_pipeline as PFN_vkDestroyPipeline,
    b"vkDestroyPipelineLayout" => destroy_pipeline_layout as PFN_vkDestroyPipelineLayout,
    b"vkDestroyQueryPool" => destroy_query_pool as PFN_vkDestroyQueryPool,
    b"vkDestroyRenderPass" => destroy_render_pass as PFN_vkDestroyRenderPass,
    b"vkDestroyShaderModule" => destroy_shader_module as PFN_vkDestroyShaderModule,
    b"vkGetShaderModuleCreateInfoIdentifierEXT" =>
        module_info_identifier as PFN_vkGetShaderModuleCreateInfoIdentifierEXT,
    b"vkGetShaderModuleIdentifierEXT" => module_identifier as PFN_vkGetShaderModuleIdentifierEXT,
    b"vkGetDescriptorSetLayoutSupport" | b"vkGetDescriptorSetLayoutSupportKHR" =>
        set_layout_support as PFN_vkGetDescriptorSetLayoutSupport,
    b"vkGetDeviceBufferMemoryRequirements" | b"vkGetDeviceBufferMemoryRequirementsKHR" =>
        buffer_requirements as PFN_vkGetDeviceBufferMemoryRequirements,
}

/// Defines hooks for commands that create an object from a translated structure. Each row has the
/// name of the hook, the name of the command, the types of the create info and the object, and an
/// expression that translates the create info.
macro_rules! creates {
    ($($function:ident $name:literal $info:ident $made:ident
        |$device:ident, $translation:ident, $given:ident, $arena:ident| $translated:expr;)*) => {$(
        unsafe extern "system" fn $function(
            device: vk::Device,
            info: *const vk::$info<'_>,
            allocator: *const vk::AllocationCallbacks<'_>,
            made: *mut vk::$made,
        ) -> vk::Result {
            unsafe {
                with_device($name, OUT_OF_MEMORY, device, |$device| {
                    let ($translation, next) =
                        ($device.translation.as_ref()?, $device.next.$function?);
                    let Some($given) = info.as_ref() else { return Some(OUT_OF_MEMORY) };
                    Some(Arena::with(|$arena| {
                        let (info, created) = $translated;
                        let result = next(device, &raw const info, allocator, made);
                        if result == vk::Result::SUCCESS {
                            created(*made);
                        }
                        result
                    }))
                })
            }
        }
    )*};
}

creates! {
    allocate_memory "vkAllocateMemory" MemoryAllocateInfo DeviceMemory
        |device, translation, info, arena| {
            (translation.usages.memory_allocate_info(info, arena), drop)
        };
    create_buffer "vkCreateBuffer" BufferCreateInfo Buffer
        |device, translation, info, arena| {
            let usage = usage_of_buffer(info);
            let known = Buffer {
                size: info.size,
                is_indirect: usage.contains(vk::BufferUsageFlags::INDIRECT_BUFFER),
                may_alias: may_alias(info),
            };
            let created = move |created| {
                if let Some(emulation) = &device.emulation {
                    emulation.objects().buffer_created(created, known);
                }
            };
            (translation.usages.buffer_create_info(info, arena), created)
        };
    create_render_pass "vkCreateRenderPass" RenderPassCreateInfo RenderPass
        |device, translation, info, arena| {
            let also_compute = Kind::RenderPass.is_translated();
            let views = Views::of_render_pass(info);
            let merged = device.draws_geometry().then(|| stages::render_pass(info, arena));
            let info = merged.as_ref().unwrap_or(info);
            let (info, barriers) = passes::render_pass(info, also_compute, arena);
            let render_pass = RenderPass { barriers, views };
            (info, move |created| translation.render_passes.created(created, render_pass))
        };
    create_render_pass2 "vkCreateRenderPass2" RenderPassCreateInfo2 RenderPass
        |device, translation, info, arena| {
            let also_compute = Kind::RenderPass.is_translated();
            let views = Views::of_render_pass2(info);
            let merged = device.draws_geometry().then(|| stages::render_pass2(info, arena));
            let info = merged.as_ref().unwrap_or(info);
            let (info, barriers) = passes::render_pass2(info, also_compute, arena);
            let render_pass = RenderPass { barriers, views };
            (info, move |created| translation.render_passes.created(created, render_pass))
        };
}

/// Whether the memory of a buffer may have another device address in another buffer.
///
/// # Safety
/// The structure is valid.
unsafe fn may_alias(info: &vk::BufferCreateInfo<'_>) -> bool {
    let external = unsafe { all_of::<vk::ExternalMemoryBufferCreateInfo<'_>>(info.p_next).next() };
    info.flags.contains(vk::BufferCreateFlags::SPARSE_ALIASED)
        || external.is_some_and(|external| !external.handle_types.is_empty())
}

unsafe extern "system" fn destroy_render_pass(
    device: vk::Device,
    render_pass: vk::RenderPass,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        with_device("vkDestroyRenderPass", (), device, |data| {
            let (translation, next) = (data.translation.as_ref()?, data.next.destroy_render_pass?);
            // The data is removed before the render pass is destroyed, because after that another
            // thread may create a render pass with the same handle.
            translation.render_passes.destroyed(render_pass);
            next(device, render_pass, allocator);
            Some(())
        });
    }
}

unsafe extern "system" fn buffer_requirements(
    device: vk::Device,
    info: *const vk::DeviceBufferMemoryRequirements<'_>,
    requirements: *mut vk::MemoryRequirements2<'_>,
) {
    let name = "vkGetDeviceBufferMemoryRequirements";
    unsafe {
        with_device(name, (), device, |data| {
            let (translation, next) = (data.translation.as_ref()?, data.next.buffer_requirements?);
            let Some(mut info) = info.as_ref().copied() else { return Some(()) };
            let Some(buffer) = info.p_create_info.as_ref() else { return Some(()) };
            Arena::with(|arena| {
                let buffer = translation.usages.buffer_create_info(buffer, arena);
                info.p_create_info = &raw const buffer;
                next(device, &raw const info, requirements);
            });
            Some(())
        });
    }
}

unsafe extern "system" fn set_layout_support(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    support: *mut vk::DescriptorSetLayoutSupport<'_>,
) {
    let name = "vkGetDescriptorSetLayoutSupport";
    unsafe {
        with_device(name, (), device, |data| {
            let next = data.next.set_layout_support?;
            let Some(info) = info.as_ref() else { return Some(()) };
            Arena::with(|arena| {
                let merged = data.draws_geometry().then(|| shader_stages::set_layout(info, arena));
                let info = usages::set_layout(merged.as_ref().unwrap_or(info), arena);
                next(device, &raw const info, support);
            });
            Some(())
        });
    }
}

unsafe extern "system" fn create_set_layout(
    device: vk::Device,
    info: *const vk::DescriptorSetLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::DescriptorSetLayout,
) -> vk::Result {
    unsafe {
        with_device("vkCreateDescriptorSetLayout", OUT_OF_MEMORY, device, |data| {
            let (emulation, next) = (data.emulation.as_ref()?, data.next.create_set_layout?);
            let Some(info) = info.as_ref() else { return Some(OUT_OF_MEMORY) };
            Some(Arena::with(|arena| {
                let merged = data.draws_geometry().then(|| shader_stages::set_layout(info, arena));
                let translated = usages::set_layout(merged.as_ref().unwrap_or(info), arena);
                let mut own_info = translated;
                own_info.flags &= !vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR;
                let mut own = vk::DescriptorSetLayout::null();
                let result = next(device, &raw const own_info, std::ptr::null(), &raw mut own);
                if result != vk::Result::SUCCESS {
                    return result;
                }
                let table = emulation.context().device().clone();
                let own = Arc::new(SetLayout::new(own, &own_info, table));
                let result = next(device, &raw const translated, allocator, layout);
                if result == vk::Result::SUCCESS {
                    _ = emulation.objects().set_layouts.insert(*layout, own);
                }
                result
            }))
        })
    }
}

unsafe extern "system" fn create_graphics_pipelines(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::GraphicsPipelineCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pipelines: *mut vk::Pipeline,
) -> vk::Result {
    unsafe {
        emulated("vkCreateGraphicsPipelines", FAILED, device, |emulation| {
            let given = slice(infos.cast(), count);
            let pipelines = std::slice::from_raw_parts_mut(pipelines, count as usize);
            emulation.create_graphics_pipelines(device, cache, given, allocator, pipelines)
        })
    }
}

unsafe extern "system" fn create_pipeline_layout(
    device: vk::Device,
    info: *const vk::PipelineLayoutCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    layout: *mut vk::PipelineLayout,
) -> vk::Result {
    unsafe {
        emulated("vkCreatePipelineLayout", FAILED, device, |emulation| {
            let next = emulation.context().device().fp_v1_0().create_pipeline_layout;
            let result = if emulation.draws_geometry() {
                Arena::with(|arena| {
                    let below = shader_stages::pipeline_layout(&*info, arena);
                    next(device, &raw const below, allocator, layout)
                })
            } else {
                next(device, info, allocator, layout)
            };
            if result == vk::Result::SUCCESS {
                let objects = emulation.objects();
                let sets = slice((*info).p_set_layouts, (*info).set_layout_count);
                let known = PipelineLayout {
                    sets: sets.iter().filter_map(|set| objects.set_layout(*set)).collect(),
                };
                _ = objects.pipeline_layouts.insert(*layout, Arc::new(known));
            }
            result
        })
    }
}

unsafe extern "system" fn create_shader_module(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    module: *mut vk::ShaderModule,
) -> vk::Result {
    unsafe {
        emulated("vkCreateShaderModule", FAILED, device, |emulation| {
            let next = emulation.context().device().fp_v1_0().create_shader_module;
            let words = std::slice::from_raw_parts((*info).p_code, (*info).code_size / 4);
            // Most pipelines rasterize stream 0, so the driver's module emits only to that stream.
            // For another stream the layer makes another module when the pipeline is created.
            let stripped = Stripped::of(words, 0);
            let mut below = *info;
            if let Some(stripped) = &stripped.words {
                below.p_code = stripped.as_ptr();
                below.code_size = size_of_val(&stripped[..]);
            }
            let draws_geometry = emulation.draws_geometry();
            if draws_geometry && needs_geometry(words) {
                below.p_code = PLACEHOLDER.as_ptr();
                below.code_size = size_of_val(&PLACEHOLDER);
            }
            let result = next(device, &raw const below, allocator, module);
            if result == vk::Result::SUCCESS
                && let Some(known) = stripped.kept(words, draws_geometry)
            {
                _ = emulation.objects().shader_modules.insert(*module, known);
            }
            result
        })
    }
}

/// `vkGetShaderModuleIdentifierEXT`. If the driver's module was rewritten, its identifier is not
/// that of the program's words. The program gets the identifier of its own words, as it would
/// without the layer.
unsafe extern "system" fn module_identifier(
    device: vk::Device,
    module: vk::ShaderModule,
    identifier: *mut vk::ShaderModuleIdentifierEXT<'_>,
) {
    unsafe {
        with_device("vkGetShaderModuleIdentifierEXT", (), device, |data| {
            let objects = data.emulation.as_ref()?.objects();
            let known = objects.shader_modules.get(module);
            match known.as_ref().filter(|module| module.is_stripped()) {
                Some(module) => {
                    let info = vk::ShaderModuleCreateInfo::default().code(&module.words);
                    data.next.module_info_identifier?(device, &raw const info, identifier);
                }
                None => data.next.module_identifier?(device, module, identifier),
            }
            objects.identified.insert(&*identifier, known);
            Some(())
        });
    }
}

unsafe extern "system" fn module_info_identifier(
    device: vk::Device,
    info: *const vk::ShaderModuleCreateInfo<'_>,
    identifier: *mut vk::ShaderModuleIdentifierEXT<'_>,
) {
    unsafe {
        with_device("vkGetShaderModuleCreateInfoIdentifierEXT", (), device, |data| {
            data.next.module_info_identifier?(device, info, identifier);
            let words = std::slice::from_raw_parts((*info).p_code, (*info).code_size / 4);
            let emulation = data.emulation.as_ref()?;
            let known = Stripped::of(words, 0).kept(words, emulation.draws_geometry());
            let objects = emulation.objects();
            objects.identified.insert(&*identifier, known);
            Some(())
        });
    }
}

unsafe extern "system" fn create_shaders(
    device: vk::Device,
    count: u32,
    infos: *const vk::ShaderCreateInfoEXT<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    shaders: *mut vk::ShaderEXT,
) -> vk::Result {
    unsafe {
        with_device("vkCreateShadersEXT", FAILED, device, |data| {
            let (emulation, next) = (data.emulation.as_ref()?, data.next.create_shaders?);
            let shaders = std::slice::from_raw_parts_mut(shaders, count as usize);
            let infos = slice(infos.cast(), count);
            Some(Arena::with(|arena| {
                let infos = if data.draws_geometry() {
                    arena.map(infos, |info| shader_stages::shader(info, arena))
                } else {
                    infos
                };
                emulation.create_shaders(device, next, infos, allocator, shaders)
            }))
        })
    }
}

unsafe extern "system" fn shader_binary(
    device: vk::Device,
    shader: vk::ShaderEXT,
    size: *mut usize,
    binary: *mut c_void,
) -> vk::Result {
    unsafe {
        with_device("vkGetShaderBinaryDataEXT", FAILED, device, |data| {
            let (emulation, next) = (data.emulation.as_ref()?, data.next.shader_binary?);
            Some(emulation.shader_binary(device, next, shader, size, binary))
        })
    }
}

unsafe extern "system" fn destroy_shader(
    device: vk::Device,
    shader: vk::ShaderEXT,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        with_device("vkDestroyShaderEXT", (), device, |data| {
            data.emulation.as_ref()?.shader_destroyed(shader);
            data.next.destroy_shader?(device, shader, allocator);
            Some(())
        });
    }
}

/// Defines hooks for commands that destroy an object. They remove the layer's data of the object
/// first, because another thread may create an object with the same handle as soon as the object is
/// destroyed.
macro_rules! destroys {
    ($($function:ident $name:literal $ty:ident $table:ident;)*) => {$(
        unsafe extern "system" fn $function(
            device: vk::Device,
            handle: vk::$ty,
            allocator: *const vk::AllocationCallbacks<'_>,
        ) {
            unsafe {
                emulated($name, (), device, |emulation| {
                    _ = emulation.objects().$table.remove(handle);
                    (emulation.context().device().fp_v1_0().$function)(device, handle, allocator);
                });
            }
        }
    )*};
}

destroys! {
    destroy_descriptor_set_layout "vkDestroyDescriptorSetLayout" DescriptorSetLayout set_layouts;
    destroy_pipeline_layout "vkDestroyPipelineLayout" PipelineLayout pipeline_layouts;
    destroy_query_pool "vkDestroyQueryPool" QueryPool queries;
    destroy_shader_module "vkDestroyShaderModule" ShaderModule shader_modules;
}

unsafe extern "system" fn destroy_buffer(
    device: vk::Device,
    buffer: vk::Buffer,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        emulated("vkDestroyBuffer", (), device, |emulation| {
            emulation.objects().buffer_destroyed(buffer);
            (emulation.context().device().fp_v1_0().destroy_buffer)(device, buffer, allocator);
        });
    }
}

unsafe extern "system" fn destroy_pipeline(
    device: vk::Device,
    pipeline: vk::Pipeline,
    allocator: *const vk::AllocationCallbacks<'_>,
) {
    unsafe {
        emulated("vkDestroyPipeline", (), device, |emulation| {
            emulation.pipeline_destroyed(pipeline);
            (emulation.context().device().fp_v1_0().destroy_pipeline)(device, pipeline, allocator);
        });
    }
}

unsafe extern "system" fn create_query_pool(
    device: vk::Device,
    info: *const vk::QueryPoolCreateInfo<'_>,
    allocator: *const vk::AllocationCallbacks<'_>,
    pool: *mut vk::QueryPool,
) -> vk::Result {
    unsafe {
        emulated("vkCreateQueryPool", FAILED, device, |emulation| {
            let next = emulation.context().device().fp_v1_0().create_query_pool;
            let is_own = |kind: &QueryKind| emulation.has_queries(*kind);
            let Some(kind) = kind_of((*info).query_type).filter(is_own) else {
                if (*info).query_type == vk::QueryType::PIPELINE_STATISTICS {
                    emulation.objects().count_statistics((*info).pipeline_statistics);
                }
                return next(device, info, allocator, pool);
            };
            let count = (*info).query_count;
            let queries = match emulation.create_queries(kind, count) {
                Ok(queries) => queries,
                Err(error) => {
                    tracing::error!("vkCreateQueryPool: {error}");
                    return error.vk_result().unwrap_or(FAILED);
                }
            };
            let below = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::OCCLUSION)
                .query_count(count);
            let below = if queries.is_shared() { info } else { &raw const below };
            let result = next(device, below, allocator, pool);
            if result == vk::Result::SUCCESS {
                _ = emulation.objects().queries.insert(*pool, Arc::new(queries));
            }
            result
        })
    }
}
