//! What the layer has to find.

use std::ffi::CStr;

use ash::prelude::VkResult;
use ash::{ext, khr, vk};
use spirv::Capability;

use crate::device::{Program, create_device};
use crate::shaders;

/// The beginning of the line that precedes what the layer says about a case.
pub const BEGIN: &str = "case: ";
/// What the program says of a case for which the device lacks an extension.
pub const LACKS: &str = "the device lacks";

/// A violation, or several.
pub struct Case {
    pub name: &'static str,
    /// What the layer says. Nothing if it has said that before.
    pub says: &'static [&'static str],
    /// Returns what the command does, or `vkEndCommandBuffer` after it.
    violate: fn(&Program) -> VkResult<()>,
    fails: vk::Result,
    /// What the case needs, of the extensions that not every driver has.
    needs: Option<&'static CStr>,
}

const fn case(
    name: &'static str,
    says: &'static [&'static str],
    violate: fn(&Program) -> VkResult<()>,
) -> Case {
    Case { name, says, violate, fails: vk::Result::ERROR_VALIDATION_FAILED_EXT, needs: None }
}

impl Case {
    const fn needs(mut self, extension: &'static CStr) -> Self {
        self.needs = Some(extension);
        self
    }

    const fn fails(mut self, result: vk::Result) -> Self {
        self.fails = result;
        self
    }
}

const STAGE: vk::PipelineStageFlags = vk::PipelineStageFlags::GEOMETRY_SHADER;
const STAGE_2: vk::PipelineStageFlags2 = vk::PipelineStageFlags2::GEOMETRY_SHADER;
const TOP: vk::PipelineStageFlags = vk::PipelineStageFlags::TOP_OF_PIPE;
const POINTS: vk::PrimitiveTopology = vk::PrimitiveTopology::POINT_LIST;

/// In this order, because the layer says each violation once.
pub const ALL: &[Case] = &[
    case(
        "features of Vulkan 1.0",
        &[
            "vkCreateDevice: geometryShader is enabled",
            "vkCreateDevice: shaderTessellationAndGeometryPointSize is enabled",
        ],
        |program| {
            let features = vk::PhysicalDeviceFeatures::default()
                .geometry_shader(true)
                .shader_tessellation_and_geometry_point_size(true);
            let (instance, device) = (&program.instance, program.physical_device);
            // SAFETY: the device is of the instance.
            unsafe { create_device(instance, device, &features, &[]) }.map(|_| ())
        },
    )
    .fails(vk::Result::ERROR_FEATURE_NOT_PRESENT),
    case(
        "features in the chain",
        &[
            "vkCreateDevice: multiviewGeometryShader is enabled",
            "vkCreateDevice: primitivesGeneratedQueryWithNonZeroStreams is enabled",
            "vkCreateDevice: transformFeedback is enabled",
            "vkCreateDevice: geometryStreams is enabled",
        ],
        |program| {
            let mut multiview =
                vk::PhysicalDeviceMultiviewFeatures::default().multiview_geometry_shader(true);
            let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
                .primitives_generated_query_with_non_zero_streams(true);
            let mut captures = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
                .transform_feedback(true)
                .geometry_streams(true);
            let info = vk::DeviceCreateInfo::default()
                .push_next(&mut captures)
                .push_next(&mut generated)
                .push_next(&mut multiview);
            // SAFETY: the device is of the instance.
            unsafe { program.instance.create_device(program.physical_device, &info, None) }
                .map(|_| ())
        },
    )
    .fails(vk::Result::ERROR_FEATURE_NOT_PRESENT),
    case(
        "extensions",
        &[
            "vkCreateDevice: VK_EXT_transform_feedback is enabled",
            "vkCreateDevice: VK_EXT_primitives_generated_query is enabled",
        ],
        |program| {
            let features = vk::PhysicalDeviceFeatures::default();
            let names = [ext::transform_feedback::NAME, ext::primitives_generated_query::NAME];
            let (instance, device) = (&program.instance, program.physical_device);
            // SAFETY: the device is of the instance.
            unsafe { create_device(instance, device, &features, &names) }.map(|_| ())
        },
    )
    .fails(vk::Result::ERROR_EXTENSION_NOT_PRESENT),
    case(
        "module",
        &[
            "vkCreateShaderModule: the module declares the capability Geometry",
            "vkCreateShaderModule: the module has an entry point of the model Geometry",
        ],
        |program| program.module(&shaders::geometry()).map(|_| ()),
    ),
    case(
        "module that captures",
        &["vkCreateShaderModule: the module declares the capability TransformFeedback"],
        |program| program.module(&shaders::fragment(&[Capability::TransformFeedback])).map(|_| ()),
    ),
    case("fragment shader that declares the capability, again", &[], |program| {
        program.module(&shaders::fragment(&[Capability::Geometry])).map(|_| ())
    }),
    case(
        "stage",
        &["vkCreateGraphicsPipelines: stage of a VkPipelineShaderStageCreateInfo has GEOMETRY"],
        |program| {
            let pipeline = program.pipeline(POINTS, |stages| {
                let stage = stages[0].stage(vk::ShaderStageFlags::GEOMETRY);
                stages.push(stage);
            });
            pipeline.map(|_| ())
        },
    ),
    case(
        "module in the chain of a stage",
        &[
            "vkCreateGraphicsPipelines: the module declares the capability Geometry",
            "vkCreateGraphicsPipelines: the module has an entry point of the model Geometry",
        ],
        |program| {
            let words = shaders::geometry();
            let inline = vk::ShaderModuleCreateInfo::default().code(&words);
            let pipeline = program.pipeline(POINTS, |stages| {
                stages[0].module = vk::ShaderModule::null();
                stages[0].p_next = (&raw const inline).cast();
            });
            pipeline.map(|_| ())
        },
    ),
    case(
        "topology",
        &["vkCreateGraphicsPipelines: the topology is TRIANGLE_STRIP_WITH_ADJACENCY"],
        |program| {
            let topology = vk::PrimitiveTopology::TRIANGLE_STRIP_WITH_ADJACENCY;
            program.pipeline(topology, |_| {}).map(|_| ())
        },
    ),
    case(
        "topology that is set",
        &["vkCmdSetPrimitiveTopology: the topology is LINE_LIST_WITH_ADJACENCY"],
        |program| {
            let topology = vk::PrimitiveTopology::LINE_LIST_WITH_ADJACENCY;
            // SAFETY: the command buffer is recorded, and never executes.
            program.record(|device, cmd| unsafe {
                device.cmd_set_primitive_topology(cmd, topology);
            })
        },
    ),
    case(
        "set layout",
        &["vkCreateDescriptorSetLayout: stageFlags of binding 3 has GEOMETRY"],
        |program| {
            let bindings = set_bindings();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            // SAFETY: the device is live.
            unsafe { program.device.create_descriptor_set_layout(&info, None) }.map(|_| ())
        },
    ),
    case(
        "support of a set layout",
        &["vkGetDescriptorSetLayoutSupport: stageFlags of binding 3 has GEOMETRY"],
        |program| {
            let bindings = set_bindings();
            let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
            let mut support = vk::DescriptorSetLayoutSupport::default();
            // SAFETY: the device is live.
            unsafe { program.device.get_descriptor_set_layout_support(&info, &mut support) };
            match support.supported {
                vk::FALSE => Err(vk::Result::ERROR_VALIDATION_FAILED_EXT),
                _ => Ok(()),
            }
        },
    ),
    case(
        "pipeline layout",
        &["vkCreatePipelineLayout: stageFlags of a VkPushConstantRange has GEOMETRY"],
        |program| {
            let stage_flags = vk::ShaderStageFlags::GEOMETRY | vk::ShaderStageFlags::FRAGMENT;
            let ranges = [vk::PushConstantRange { stage_flags, offset: 0, size: 4 }];
            let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
            // SAFETY: the device is live.
            unsafe { program.device.create_pipeline_layout(&info, None) }.map(|_| ())
        },
    ),
    case("push", &["vkCmdPushConstants: stageFlags has GEOMETRY"], |program| {
        let stages = vk::ShaderStageFlags::GEOMETRY;
        // SAFETY: as above.
        program.record(|device, cmd| unsafe {
            device.cmd_push_constants(cmd, program.layout, stages, 0, &[0; 4]);
        })
    }),
    case(
        "barrier",
        &[
            "vkCmdPipelineBarrier: srcStageMask has GEOMETRY_SHADER",
            "vkCmdPipelineBarrier: dstStageMask has GEOMETRY_SHADER",
        ],
        |program| {
            let flags = vk::DependencyFlags::empty();
            // SAFETY: as above.
            program.record(|device, cmd| unsafe {
                device.cmd_pipeline_barrier(cmd, STAGE, TOP | STAGE, flags, &[], &[], &[]);
            })
        },
    ),
    case(
        "stage of captures",
        &["vkCmdPipelineBarrier: srcStageMask has TRANSFORM_FEEDBACK_EXT"],
        |program| {
            let flags = vk::DependencyFlags::empty();
            let stage = vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT;
            // SAFETY: as above.
            program.record(|device, cmd| unsafe {
                device.cmd_pipeline_barrier(cmd, stage, TOP, flags, &[], &[], &[]);
            })
        },
    ),
    case(
        "barrier of Vulkan 1.3",
        &["vkCmdPipelineBarrier2: dstStageMask of a VkMemoryBarrier2 has GEOMETRY_SHADER"],
        |program| {
            // SAFETY: as above.
            program.record(|device, cmd| unsafe {
                device.cmd_pipeline_barrier2(cmd, &with_dependency());
            })
        },
    ),
    case(
        "events",
        &[
            "vkCmdSetEvent: stageMask has GEOMETRY_SHADER",
            "vkCmdResetEvent: stageMask has GEOMETRY_SHADER",
            "vkCmdWaitEvents: dstStageMask has GEOMETRY_SHADER",
            "vkCmdSetEvent2: dstStageMask of a VkMemoryBarrier2 has GEOMETRY_SHADER",
            "vkCmdResetEvent2: stageMask has GEOMETRY_SHADER",
            "vkCmdWaitEvents2: dstStageMask of a VkMemoryBarrier2 has GEOMETRY_SHADER",
        ],
        |program| {
            let info = vk::EventCreateInfo::default();
            // SAFETY: as above.
            program.record(|device, cmd| unsafe {
                let event = device.create_event(&info, None).unwrap();
                device.cmd_set_event(cmd, event, STAGE);
                device.cmd_reset_event(cmd, event, STAGE);
                device.cmd_wait_events(cmd, &[event], TOP, STAGE, &[], &[], &[]);
                device.cmd_set_event2(cmd, event, &with_dependency());
                device.cmd_reset_event2(cmd, event, STAGE_2);
                device.cmd_wait_events2(cmd, &[event], &[with_dependency()]);
            })
        },
    ),
    case(
        "timestamps",
        &[
            "vkCmdWriteTimestamp: pipelineStage has GEOMETRY_SHADER",
            "vkCmdWriteTimestamp2: stage has GEOMETRY_SHADER",
        ],
        |program| {
            let info = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::TIMESTAMP)
                .query_count(2);
            // SAFETY: as above.
            program.record(|device, cmd| unsafe {
                let pool = device.create_query_pool(&info, None).unwrap();
                device.cmd_write_timestamp(cmd, STAGE, pool, 0);
                device.cmd_write_timestamp2(cmd, STAGE_2, pool, 1);
            })
        },
    ),
    case(
        "statistics",
        &["vkCreateQueryPool: pipelineStatistics has GEOMETRY_SHADER_PRIMITIVES"],
        |program| {
            let statistics = vk::QueryPipelineStatisticFlags::GEOMETRY_SHADER_PRIMITIVES
                | vk::QueryPipelineStatisticFlags::CLIPPING_PRIMITIVES;
            let info = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::PIPELINE_STATISTICS)
                .pipeline_statistics(statistics)
                .query_count(1);
            // SAFETY: the device is live.
            unsafe { program.device.create_query_pool(&info, None) }.map(|_| ())
        },
    ),
    case(
        "render pass",
        &["vkCreateRenderPass: srcStageMask of a VkSubpassDependency has GEOMETRY_SHADER"],
        |program| {
            let subpasses = [vk::SubpassDescription::default()];
            let dependencies = [vk::SubpassDependency {
                src_stage_mask: STAGE,
                dst_stage_mask: vk::PipelineStageFlags::FRAGMENT_SHADER,
                ..Default::default()
            }];
            let info = vk::RenderPassCreateInfo::default()
                .subpasses(&subpasses)
                .dependencies(&dependencies);
            // SAFETY: the device is live.
            unsafe { program.device.create_render_pass(&info, None) }.map(|_| ())
        },
    ),
    case(
        "render pass of Vulkan 1.2",
        &[
            "vkCreateRenderPass2: dstStageMask of a VkSubpassDependency2 has GEOMETRY_SHADER",
            "vkCreateRenderPass2: srcStageMask of a VkMemoryBarrier2 has GEOMETRY_SHADER",
        ],
        |program| {
            let subpasses = [vk::SubpassDescription2::default()];
            let mut barrier = vk::MemoryBarrier2::default().src_stage_mask(STAGE_2);
            let dependencies = [
                vk::SubpassDependency2::default().src_stage_mask(TOP).dst_stage_mask(STAGE),
                // The barrier replaces these masks.
                vk::SubpassDependency2::default().src_stage_mask(STAGE).push_next(&mut barrier),
            ];
            let info = vk::RenderPassCreateInfo2::default()
                .subpasses(&subpasses)
                .dependencies(&dependencies);
            // SAFETY: the device is live.
            unsafe { program.device.create_render_pass2(&info, None) }.map(|_| ())
        },
    ),
    case(
        "submission",
        &["vkQueueSubmit: an element of pWaitDstStageMask has GEOMETRY_SHADER"],
        |program| {
            let semaphores = [semaphore(program)];
            let submit = vk::SubmitInfo::default()
                .wait_semaphores(&semaphores)
                .wait_dst_stage_mask(&[STAGE]);
            // SAFETY: the layer refuses it, so nothing waits for what nobody signals.
            unsafe { program.device.queue_submit(program.queue, &[submit], vk::Fence::null()) }
        },
    ),
    case(
        "submission of Vulkan 1.3",
        &[
            "vkQueueSubmit2: stageMask of a wait has GEOMETRY_SHADER",
            "vkQueueSubmit2: stageMask of a signal has GEOMETRY_SHADER",
        ],
        |program| {
            let semaphores = [vk::SemaphoreSubmitInfo::default()
                .semaphore(semaphore(program))
                .stage_mask(STAGE_2)];
            let submit = vk::SubmitInfo2::default()
                .wait_semaphore_infos(&semaphores)
                .signal_semaphore_infos(&semaphores);
            // SAFETY: as above.
            unsafe { program.device.queue_submit2(program.queue, &[submit], vk::Fence::null()) }
        },
    ),
    case(
        "shader objects",
        &[
            "vkCreateShadersEXT: stage of a VkShaderCreateInfoEXT has GEOMETRY",
            "vkCreateShadersEXT: the module declares the capability Geometry",
            "vkCreateShadersEXT: the module has an entry point of the model Geometry",
            "vkCreateShadersEXT: nextStage of a VkShaderCreateInfoEXT has GEOMETRY",
        ],
        |program| {
            let words = [shaders::geometry(), shaders::vertex()];
            let [geometry, vertex] = words.each_ref().map(|words| {
                vk::ShaderCreateInfoEXT::default()
                    .code_type(vk::ShaderCodeTypeEXT::SPIRV)
                    .code(bytes(words))
                    .name(c"main")
            });
            let infos = [
                geometry.stage(vk::ShaderStageFlags::GEOMETRY),
                vertex
                    .stage(vk::ShaderStageFlags::VERTEX)
                    .next_stage(vk::ShaderStageFlags::GEOMETRY | vk::ShaderStageFlags::FRAGMENT),
            ];
            let commands = ext::shader_object::Device::new(&program.instance, &program.device);
            // SAFETY: the device is live.
            unsafe { commands.create_shaders(&infos, None) }.map(|_| ()).map_err(|(made, error)| {
                assert_eq!(made, [vk::ShaderEXT::null(); 2]);
                error
            })
        },
    )
    .needs(ext::shader_object::NAME),
    case(
        "bound shader object",
        &["vkCmdBindShadersEXT: a stage of pStages has GEOMETRY"],
        |program| {
            let words = shaders::vertex();
            let info = vk::ShaderCreateInfoEXT::default()
                .stage(vk::ShaderStageFlags::VERTEX)
                .code_type(vk::ShaderCodeTypeEXT::SPIRV)
                .code(bytes(&words))
                .name(c"main");
            let commands = ext::shader_object::Device::new(&program.instance, &program.device);
            let stages = [vk::ShaderStageFlags::GEOMETRY];
            // SAFETY: as above.
            let shaders = unsafe { commands.create_shaders(&[info], None) }.unwrap();
            // SAFETY: as above; null may be bound.
            let none = program.record(|_, cmd| unsafe {
                commands.cmd_bind_shaders(cmd, &stages, &[vk::ShaderEXT::null()]);
            });
            assert_eq!(none, Ok(()));
            // SAFETY: as above.
            program.record(|_, cmd| unsafe {
                commands.cmd_bind_shaders(cmd, &stages, &shaders);
            })
        },
    )
    .needs(ext::shader_object::NAME),
    case("push by a structure", &["vkCmdPushConstants2KHR: stageFlags has GEOMETRY"], |program| {
        let commands = khr::maintenance6::Device::new(&program.instance, &program.device);
        let info = vk::PushConstantsInfoKHR::default()
            .layout(program.layout)
            .stage_flags(vk::ShaderStageFlags::GEOMETRY)
            .values(&[0; 4]);
        // SAFETY: as above.
        program.record(|_, cmd| unsafe { commands.cmd_push_constants2(cmd, &info) })
    })
    .needs(khr::maintenance6::NAME),
];

/// Returns the bytes of a module.
fn bytes(words: &[u32]) -> &[u8] {
    // SAFETY: words have no padding, and bytes no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) }
}

fn semaphore(program: &Program) -> vk::Semaphore {
    // SAFETY: the device is live.
    unsafe { program.device.create_semaphore(&Default::default(), None) }.unwrap()
}

/// The second binding is visible to geometry shaders. The first is visible to all, which names none.
fn set_bindings() -> [vk::DescriptorSetLayoutBinding<'static>; 2] {
    let binding = vk::DescriptorSetLayoutBinding::default()
        .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER)
        .descriptor_count(1);
    [
        binding.stage_flags(vk::ShaderStageFlags::ALL),
        binding.binding(3).stage_flags(vk::ShaderStageFlags::GEOMETRY),
    ]
}

fn with_dependency() -> vk::DependencyInfo<'static> {
    static BARRIERS: [vk::MemoryBarrier2<'static>; 1] = [vk::MemoryBarrier2 {
        s_type: vk::StructureType::MEMORY_BARRIER_2,
        p_next: std::ptr::null(),
        src_stage_mask: vk::PipelineStageFlags2::ALL_COMMANDS,
        src_access_mask: vk::AccessFlags2::NONE,
        dst_stage_mask: STAGE_2,
        dst_access_mask: vk::AccessFlags2::NONE,
        _marker: std::marker::PhantomData,
    }];
    vk::DependencyInfo::default().memory_barriers(&BARRIERS)
}

/// Commits all violations for which the device has what they need, and returns how many cases there were.
pub fn commit(program: &Program) -> usize {
    for case in ALL {
        eprintln!("{BEGIN}{}", case.name);
        if let Some(name) = case.needs.filter(|name| !program.extensions.contains(name)) {
            eprintln!("{LACKS} {}", name.to_string_lossy());
            continue;
        }
        assert_eq!((case.violate)(program), Err(case.fails), "{}", case.name);
    }
    // What was recorded before is forgotten.
    assert_eq!(program.record(|_, _| {}), Ok(()));
    program.end();
    ALL.len()
}

/// The cases that any driver with geometry shaders takes, even if their feature is not enabled.
const TAKEN: [&str; 6] =
    ["barrier", "barrier of Vulkan 1.3", "events", "pipeline layout", "push", "set layout"];

/// Does what would be a violation, and returns how many cases there were.
pub fn try_some(program: &Program) -> usize {
    let tried = ALL.iter().filter(|case| TAKEN.contains(&case.name));
    tried.map(|case| assert_eq!((case.violate)(program), Ok(()), "{}", case.name)).count()
}
