//! A program whose captures allocate memory in every possible way, and which repeats commands that
//! fail.

use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use ash::{Device, Entry, Instance, ext, khr, vk};

use crate::chain;

const VERTICES: u32 = 12;
/// The number of draws in a capture. They need more memory than an arena has initially.
const DRAWS: u32 = 600;
/// The size in bytes of a capture buffer.
const CAPTURED: u64 = (DRAWS * VERTICES * 16) as u64;
/// The push constant. [`SUMMAND`] is the content of the uniform buffer.
const FACTOR: f32 = 3.0;
const SUMMAND: f32 = 0.5;

pub const SHADER: &str = "#version 450
    layout(location = 0) in vec4 value;
    layout(set = 0, binding = 0) uniform Summands { vec4 summand; };
    layout(push_constant) uniform Factors { vec4 factor; };
    layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) out vec4 captured;
    void main() {
        captured = value * factor + summand;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

#[derive(Debug)]
pub struct Report {
    /// The commands of the program that failed, with their results.
    pub failures: Vec<(&'static str, vk::Result)>,
    /// The messages of the validation layer, which is between the functions that fail and the
    /// driver.
    pub messages: Vec<String>,
    /// The captured values of each capture.
    pub captured: Vec<Vec<f32>>,
    /// The numbers of primitives written and needed: as results of the query, and as copied by the
    /// device.
    pub queries: [[u64; 2]; 2],
}

/// Returns the values that `draws` captured draws must write.
pub fn expected(draws: u32) -> Vec<f32> {
    let draw = (0..VERTICES * 4).map(|number| number as f32 * FACTOR + SUMMAND);
    (0..draws).flat_map(|_| draw.clone()).collect()
}

/// The number of draws of each capture.
pub const CAPTURES: [u32; 7] = [DRAWS, 1, 1, 1, 1, 2, 1];

/// Calls a command, and once more if it fails. The list has the commands that failed, with their
/// results.
struct Attempts(Vec<(&'static str, vk::Result)>);

impl Attempts {
    fn make<T>(
        &mut self,
        name: &'static str,
        mut call: impl FnMut() -> Result<T, vk::Result>,
    ) -> T {
        call().unwrap_or_else(|error| {
            self.0.push((name, error));
            call().unwrap_or_else(|error| panic!("{name} failed again: {error}"))
        })
    }
}

/// # Safety
/// Called by Vulkan alone, with a `Mutex<Vec<String>>`.
unsafe extern "system" fn collect(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    messages: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the messenger's user data, which outlives it, and a valid structure.
    unsafe {
        let text = CStr::from_ptr((*data).p_message).to_string_lossy().into_owned();
        (*messages.cast::<Mutex<Vec<String>>>()).lock().unwrap().push(text);
    }
    vk::FALSE
}

/// A setting of the layer, with its value.
type Setting = (&'static CStr, bool);

const FORCED: Setting = (c"force_enable", true);

/// Runs the program. `validates` adds the validation layer, and `optimizes` is the layer's setting
/// `optimize_shaders`.
pub fn run(words: &[u32], validates: bool, optimizes: bool) -> Report {
    let mut attempts = Attempts(Vec::new());
    let settings = [FORCED, (c"optimize_shaders", optimizes)];
    let ((captured, queries), messages) =
        with_device(validates, &settings, &mut attempts, |program, attempts| {
            // SAFETY: the device is live.
            unsafe { program.run(words, attempts) }
        });
    Report { failures: attempts.0, messages, captured, queries }
}

/// Waits for the result of a query that never ends. Calls `before` first. Returns the result of the
/// wait, and the messages of the validation layer.
pub fn waits_for_a_query(
    validates: bool,
    before: impl FnOnce(),
) -> (Result<(), vk::Result>, Vec<String>) {
    with_device(validates, &[FORCED], &mut Attempts(Vec::new()), |program, _| {
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
            .query_count(1);
        // SAFETY: the device is live, and the query was reset.
        unsafe {
            let pool = program.device.create_query_pool(&info, None).unwrap();
            program.device.reset_query_pool(pool, 0, 1);
            before();
            let (mut found, wait) = ([[0_u64; 2]], vk::QueryResultFlags::WAIT);
            let flags = wait | vk::QueryResultFlags::TYPE_64;
            let result = program.device.get_query_pool_results(pool, 0, &mut found, flags);
            program.device.destroy_query_pool(pool, None);
            result
        }
    })
}

/// Creates a device with structures in its chain, and returns the result.
pub fn creates_a_device(validates: bool, chain: *const c_void) -> Result<(), vk::Result> {
    let called = with_device(validates, &[FORCED], &mut Attempts(Vec::new()), |program, _| {
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(program.family)
            .queue_priorities(&[1.0])];
        let extensions = [ext::conditional_rendering::NAME.as_ptr()];
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions);
        chain::with_device_link(chain, |p_next| {
            let info = vk::DeviceCreateInfo { p_next, ..info };
            // SAFETY: the instance is live.
            unsafe {
                let device = program.instance.enumerate_physical_devices()?[0];
                program.instance.create_device(device, &info, None)?.destroy_device(None);
            }
            Ok(())
        })
    });
    called.0
}

/// Returns how the layer describes itself as a tool for the first device. `setting` is set to true.
pub fn describes(setting: Option<&'static CStr>) -> String {
    let entry = chain::entry();
    let messenger = vk::DebugUtilsMessengerCreateInfoEXT::default();
    let settings: Vec<Setting> = setting.map(|name| (name, true)).into_iter().collect();
    // SAFETY: everything is used as Vulkan requires, and destroyed.
    unsafe {
        let instance =
            create_instance(&entry, messenger, false, &settings, &mut Attempts(Vec::new()));
        let device = instance.enumerate_physical_devices().unwrap()[0];
        // The layer is the first tool in the list.
        let mut tools = [vk::PhysicalDeviceToolProperties::default()];
        let tools = &mut tools[..];
        let got = instance.get_physical_device_tool_properties(device, tools);
        assert!(matches!(got, Ok(()) | Err(vk::Result::INCOMPLETE)), "{got:?}");
        let description = tools[0].description_as_c_str().unwrap().to_str().unwrap().to_owned();
        instance.destroy_instance(None);
        description
    }
}

/// Calls `call` with a device. `settings` are the layer's. Also returns the messages of the
/// validation layer.
fn with_device<R>(
    validates: bool,
    settings: &[Setting],
    attempts: &mut Attempts,
    call: impl FnOnce(&Program, &mut Attempts) -> R,
) -> (R, Vec<String>) {
    let entry = chain::entry();
    let messages = Box::new(Mutex::new(Vec::new()));
    let messenger = vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
        )
        .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
        .pfn_user_callback(Some(collect))
        .user_data((&raw const *messages).cast_mut().cast());
    // SAFETY: everything is used as Vulkan requires, and destroyed.
    let called = unsafe {
        let instance = create_instance(&entry, messenger, validates, settings, attempts);
        let debug_utils = ext::debug_utils::Instance::new(&entry, &instance);
        let messenger =
            validates.then(|| debug_utils.create_debug_utils_messenger(&messenger, None).unwrap());
        let (device, family) = create_device(&instance, attempts);
        let program = Program { instance, device, family };
        let called = call(&program, attempts);
        program.device.destroy_device(None);
        if let Some(messenger) = messenger {
            debug_utils.destroy_debug_utils_messenger(messenger, None);
        }
        program.instance.destroy_instance(None);
        called
    };
    (called, messages.into_inner().unwrap())
}

/// Creates an instance with the layer, to which `settings` are passed.
///
/// # Safety
/// The user data of the messenger outlives the instance.
unsafe fn create_instance(
    entry: &Entry,
    mut messenger: vk::DebugUtilsMessengerCreateInfoEXT<'_>,
    validates: bool,
    settings: &[Setting],
    attempts: &mut Attempts,
) -> Instance {
    let values = [vk::FALSE, vk::TRUE];
    let setting = |(name, value): &Setting| vk::LayerSettingEXT {
        p_layer_name: c"VK_LAYER_VKXFB_transform_feedback".as_ptr(),
        p_setting_name: name.as_ptr(),
        ty: vk::LayerSettingTypeEXT::BOOL32,
        value_count: 1,
        p_values: (&raw const values[usize::from(*value)]).cast::<c_void>(),
        ..Default::default()
    };
    let settings: Vec<_> = settings.iter().map(setting).collect();
    let mut settings = vk::LayerSettingsCreateInfoEXT::default().settings(&settings);
    let app = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_3);
    let layers = [c"VK_LAYER_KHRONOS_validation".as_ptr()];
    let (flags, mut extensions) = chain::portability();
    if validates {
        extensions.push(ext::debug_utils::NAME.as_ptr());
    }
    let mut info = vk::InstanceCreateInfo::default()
        .flags(flags)
        .application_info(&app)
        .enabled_extension_names(&extensions)
        .push_next(&mut messenger)
        .push_next(&mut settings);
    if validates {
        info = info.enabled_layer_names(&layers);
    }
    attempts.make("vkCreateInstance", || {
        chain::with_instance_link(info.p_next, |p_next| {
            let info = vk::InstanceCreateInfo { p_next, ..info };
            // SAFETY: the layers and extensions exist if the program validates.
            unsafe { entry.create_instance(&info, None) }
        })
    })
}

/// Creates a device of the first physical device, with a queue of a graphics family.
///
/// # Safety
/// The instance is live.
unsafe fn create_device(instance: &Instance, attempts: &mut Attempts) -> (Device, u32) {
    // SAFETY: the caller's contract.
    unsafe {
        let devices =
            attempts.make("vkEnumeratePhysicalDevices", || instance.enumerate_physical_devices());
        let families = instance.get_physical_device_queue_family_properties(devices[0]);
        let graphics =
            |f: &vk::QueueFamilyProperties| f.queue_flags.contains(vk::QueueFlags::GRAPHICS);
        let family = families.iter().position(graphics).unwrap() as u32;
        let queues = [vk::DeviceQueueCreateInfo::default()
            .queue_family_index(family)
            .queue_priorities(&[1.0])];
        let extensions = [
            ext::transform_feedback::NAME,
            ext::vertex_input_dynamic_state::NAME,
            ext::graphics_pipeline_library::NAME,
            khr::pipeline_library::NAME,
            khr::push_descriptor::NAME,
        ]
        .map(CStr::as_ptr);
        let mut feedback =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut vertex_input = vk::PhysicalDeviceVertexInputDynamicStateFeaturesEXT::default()
            .vertex_input_dynamic_state(true);
        let mut library = vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default()
            .graphics_pipeline_library(true);
        let mut core = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut reset = vk::PhysicalDeviceHostQueryResetFeatures::default().host_query_reset(true);
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&queues)
            .enabled_extension_names(&extensions)
            .push_next(&mut feedback)
            .push_next(&mut vertex_input)
            .push_next(&mut library)
            .push_next(&mut core)
            .push_next(&mut reset);
        let device = attempts.make("vkCreateDevice", || {
            chain::with_device_link(info.p_next, |p_next| {
                instance.create_device(devices[0], &vk::DeviceCreateInfo { p_next, ..info }, None)
            })
        });
        (device, family)
    }
}

/// A buffer with memory that the host can read and write.
#[derive(Clone, Copy)]
struct Buffer {
    raw: vk::Buffer,
    memory: vk::DeviceMemory,
    mapped: *mut c_void,
}

/// The objects that recorded commands use.
struct Bound {
    pool: vk::QueryPool,
    /// The capture buffers. The buffers after this field are for vertices, counters, the uniform
    /// block, and copied query results.
    captured: [Buffer; CAPTURES.len()],
    vertices: Buffer,
    counters: Buffer,
    summands: Buffer,
    results: Buffer,
    set: vk::DescriptorSet,
    layout: vk::PipelineLayout,
    pushed_layout: vk::PipelineLayout,
    /// Pipelines with static vertex input, with dynamic vertex input, linked from libraries, with
    /// push descriptors, and with a library only for the shader.
    pipelines: [vk::Pipeline; 5],
}

struct Program {
    instance: Instance,
    device: Device,
    family: u32,
}

impl Program {
    /// # Safety
    /// The device is live.
    unsafe fn run(&self, words: &[u32], attempts: &mut Attempts) -> (Vec<Vec<f32>>, [[u64; 2]; 2]) {
        use vk::BufferUsageFlags as Usage;
        let device = &self.device;
        // SAFETY: the caller's contract; what is used was created here.
        unsafe {
            let capture = Usage::TRANSFORM_FEEDBACK_BUFFER_EXT;
            let count = Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT | Usage::INDIRECT_BUFFER;
            let captured = CAPTURES.map(|_| self.buffer(CAPTURED, capture, attempts));
            let vertices = self.buffer(16 * u64::from(VERTICES), Usage::VERTEX_BUFFER, attempts);
            let counters = self.buffer(4, count, attempts);
            let summands = self.buffer(16, Usage::UNIFORM_BUFFER, attempts);
            let results = self.buffer(16, Usage::TRANSFER_DST, attempts);
            for number in 0..VERTICES * 4 {
                vertices.mapped.cast::<f32>().add(number as usize).write(number as f32);
            }
            summands.mapped.cast::<[f32; 4]>().write([SUMMAND; 4]);

            let binding = [vk::DescriptorSetLayoutBinding::default()
                .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::VERTEX)];
            let set_layouts = [
                vk::DescriptorSetLayoutCreateFlags::empty(),
                vk::DescriptorSetLayoutCreateFlags::PUSH_DESCRIPTOR_KHR,
            ]
            .map(|flags| {
                let info =
                    vk::DescriptorSetLayoutCreateInfo::default().flags(flags).bindings(&binding);
                attempts.make("vkCreateDescriptorSetLayout", || {
                    device.create_descriptor_set_layout(&info, None)
                })
            });
            let range = [vk::PushConstantRange::default()
                .stage_flags(vk::ShaderStageFlags::VERTEX)
                .size(16)];
            let [layout, pushed_layout] = set_layouts.map(|set| {
                let sets = [set];
                let info = vk::PipelineLayoutCreateInfo::default()
                    .set_layouts(&sets)
                    .push_constant_ranges(&range);
                attempts
                    .make("vkCreatePipelineLayout", || device.create_pipeline_layout(&info, None))
            });
            let sizes = [vk::DescriptorPoolSize::default()
                .ty(vk::DescriptorType::UNIFORM_BUFFER)
                .descriptor_count(1)];
            let info = vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(&sizes);
            let descriptors = attempts
                .make("vkCreateDescriptorPool", || device.create_descriptor_pool(&info, None));
            let info = vk::DescriptorSetAllocateInfo::default()
                .descriptor_pool(descriptors)
                .set_layouts(&set_layouts[..1]);
            let set = attempts
                .make("vkAllocateDescriptorSets", || device.allocate_descriptor_sets(&info))[0];
            let written = [vk::DescriptorBufferInfo::default().buffer(summands.raw).range(16)];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(set)
                .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER)
                .buffer_info(&written);
            device.update_descriptor_sets(&[write], &[]);

            let info = vk::ShaderModuleCreateInfo::default().code(words);
            let module =
                attempts.make("vkCreateShaderModule", || device.create_shader_module(&info, None));
            let libraries = self.libraries(module, layout, attempts);
            let pipelines = [
                self.pipeline(module, layout, false, attempts),
                self.pipeline(module, layout, true, attempts),
                self.linked(&libraries, layout, attempts),
                self.pipeline(module, pushed_layout, false, attempts),
                self.with_shader_library(libraries[1], layout, attempts),
            ];

            let info = vk::QueryPoolCreateInfo::default()
                .query_type(vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT)
                .query_count(1);
            let pool = attempts.make("vkCreateQueryPool", || device.create_query_pool(&info, None));
            let info = vk::CommandPoolCreateInfo::default()
                .queue_family_index(self.family)
                .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
            let commands =
                attempts.make("vkCreateCommandPool", || device.create_command_pool(&info, None));
            let [primary, secondary] =
                [vk::CommandBufferLevel::PRIMARY, vk::CommandBufferLevel::SECONDARY].map(|level| {
                    let info = vk::CommandBufferAllocateInfo::default()
                        .command_pool(commands)
                        .level(level)
                        .command_buffer_count(1);
                    attempts
                        .make("vkAllocateCommandBuffers", || device.allocate_command_buffers(&info))
                        [0]
                });
            let bound = Bound {
                pool,
                captured,
                vertices,
                counters,
                summands,
                results,
                set,
                layout,
                pushed_layout,
                pipelines,
            };
            self.record(secondary, "the secondary command buffer", attempts, |cmd| {
                self.secondary(cmd, &bound);
            });
            self.record(primary, "the primary command buffer", attempts, |cmd| {
                self.primary(cmd, &bound, secondary);
            });

            let fence =
                attempts.make("vkCreateFence", || device.create_fence(&Default::default(), None));
            let queue = device.get_device_queue(self.family, 0);
            let buffers = [primary];
            let submit = vk::SubmitInfo::default().command_buffers(&buffers);
            attempts.make("vkQueueSubmit", || device.queue_submit(queue, &[submit], fence));
            attempts.make("vkWaitForFences", || device.wait_for_fences(&[fence], true, u64::MAX));
            let mut query = [[0_u64; 2]];
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            attempts.make("vkGetQueryPoolResults", || {
                device.get_query_pool_results(pool, 0, &mut query, flags)
            });
            let copied = results.mapped.cast::<[u64; 2]>().read();
            let read = |(buffer, draws): (&Buffer, u32)| {
                let count = (draws * VERTICES * 4) as usize;
                std::slice::from_raw_parts(buffer.mapped.cast::<f32>(), count).to_vec()
            };
            let found = captured.iter().zip(CAPTURES).map(read).collect();

            device.destroy_fence(fence, None);
            device.destroy_command_pool(commands, None);
            device.destroy_query_pool(pool, None);
            for pipeline in pipelines.into_iter().chain(libraries) {
                device.destroy_pipeline(pipeline, None);
            }
            device.destroy_shader_module(module, None);
            device.destroy_descriptor_pool(descriptors, None);
            device.destroy_pipeline_layout(layout, None);
            device.destroy_pipeline_layout(pushed_layout, None);
            for layout in set_layouts {
                device.destroy_descriptor_set_layout(layout, None);
            }
            for buffer in captured.into_iter().chain([vertices, counters, summands, results]) {
                device.destroy_buffer(buffer.raw, None);
                device.free_memory(buffer.memory, None);
            }
            (found, [query[0], copied])
        }
    }

    /// # Safety
    /// The device is live.
    unsafe fn buffer(
        &self,
        size: u64,
        usage: vk::BufferUsageFlags,
        attempts: &mut Attempts,
    ) -> Buffer {
        let device = &self.device;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: the caller's contract.
        unsafe {
            let raw = attempts.make("vkCreateBuffer", || device.create_buffer(&info, None));
            let requirements = device.get_buffer_memory_requirements(raw);
            // The only memory type of lavapipe is visible to the host.
            let index = requirements.memory_type_bits.trailing_zeros();
            let info = vk::MemoryAllocateInfo::default()
                .allocation_size(requirements.size)
                .memory_type_index(index);
            let memory = attempts.make("vkAllocateMemory", || device.allocate_memory(&info, None));
            attempts.make("vkBindBufferMemory", || device.bind_buffer_memory(raw, memory, 0));
            let flags = vk::MemoryMapFlags::empty();
            let mapped = attempts
                .make("vkMapMemory", || device.map_memory(memory, 0, vk::WHOLE_SIZE, flags));
            Buffer { raw, memory, mapped }
        }
    }

    /// Creates a pipeline that captures points, and discards rasterization.
    ///
    /// # Safety
    /// The handles are of the device.
    unsafe fn pipeline(
        &self,
        module: vk::ShaderModule,
        layout: vk::PipelineLayout,
        has_dynamic_input: bool,
        attempts: &mut Attempts,
    ) -> vk::Pipeline {
        let state = State::new(module);
        let (input, assembly, rasterization) =
            (state.input(), state.assembly(), state.rasterization());
        let dynamic = vk::PipelineDynamicStateCreateInfo::default()
            .dynamic_states(&[vk::DynamicState::VERTEX_INPUT_EXT]);
        let mut rendering = vk::PipelineRenderingCreateInfo::default();
        let mut info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&state.stages)
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .rasterization_state(&rasterization)
            .layout(layout)
            .push_next(&mut rendering);
        if has_dynamic_input {
            info = info.dynamic_state(&dynamic);
        }
        // SAFETY: the caller's contract.
        unsafe { self.create(&info, attempts) }
    }

    /// Creates the libraries from which a pipeline is linked.
    ///
    /// # Safety
    /// The contract of [`pipeline`](Self::pipeline).
    unsafe fn libraries(
        &self,
        module: vk::ShaderModule,
        layout: vk::PipelineLayout,
        attempts: &mut Attempts,
    ) -> [vk::Pipeline; 2] {
        use vk::GraphicsPipelineLibraryFlagsEXT as Part;
        let state = State::new(module);
        let (input, assembly, rasterization) =
            (state.input(), state.assembly(), state.rasterization());
        [Part::VERTEX_INPUT_INTERFACE, Part::PRE_RASTERIZATION_SHADERS].map(|part| {
            let mut library = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(part);
            let mut rendering = vk::PipelineRenderingCreateInfo::default();
            let mut info = vk::GraphicsPipelineCreateInfo::default()
                .flags(vk::PipelineCreateFlags::LIBRARY_KHR)
                .push_next(&mut library);
            info = match part {
                Part::VERTEX_INPUT_INTERFACE => {
                    info.vertex_input_state(&input).input_assembly_state(&assembly)
                }
                _ => info
                    .stages(&state.stages)
                    .rasterization_state(&rasterization)
                    .layout(layout)
                    .push_next(&mut rendering),
            };
            // SAFETY: the caller's contract.
            unsafe { self.create(&info, attempts) }
        })
    }

    /// # Safety
    /// The contract of [`pipeline`](Self::pipeline).
    unsafe fn linked(
        &self,
        libraries: &[vk::Pipeline],
        layout: vk::PipelineLayout,
        attempts: &mut Attempts,
    ) -> vk::Pipeline {
        let mut linked = vk::PipelineLibraryCreateInfoKHR::default().libraries(libraries);
        let info = vk::GraphicsPipelineCreateInfo::default().layout(layout).push_next(&mut linked);
        // SAFETY: the caller's contract.
        unsafe { self.create(&info, attempts) }
    }

    /// Creates a pipeline that defines the vertex input itself, and links a library with the
    /// shader, as ANGLE does.
    ///
    /// # Safety
    /// The contract of [`pipeline`](Self::pipeline).
    unsafe fn with_shader_library(
        &self,
        library: vk::Pipeline,
        layout: vk::PipelineLayout,
        attempts: &mut Attempts,
    ) -> vk::Pipeline {
        let state = State::new(vk::ShaderModule::null());
        let (input, assembly) = (state.input(), state.assembly());
        let libraries = [library];
        let mut linked = vk::PipelineLibraryCreateInfoKHR::default().libraries(&libraries);
        let mut own = vk::GraphicsPipelineLibraryCreateInfoEXT::default()
            .flags(vk::GraphicsPipelineLibraryFlagsEXT::VERTEX_INPUT_INTERFACE);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .vertex_input_state(&input)
            .input_assembly_state(&assembly)
            .layout(layout)
            .push_next(&mut linked)
            .push_next(&mut own);
        // SAFETY: the caller's contract.
        unsafe { self.create(&info, attempts) }
    }

    /// # Safety
    /// The contract of [`pipeline`](Self::pipeline).
    unsafe fn create(
        &self,
        info: &vk::GraphicsPipelineCreateInfo<'_>,
        attempts: &mut Attempts,
    ) -> vk::Pipeline {
        let cache = vk::PipelineCache::null();
        attempts.make("vkCreateGraphicsPipelines", || {
            // SAFETY: the caller's contract.
            let made = unsafe { self.device.create_graphics_pipelines(cache, &[*info], None) };
            made.map(|pipelines| pipelines[0]).map_err(|(pipelines, error)| {
                assert!(pipelines.iter().all(|pipeline| *pipeline == vk::Pipeline::null()));
                error
            })
        })
    }

    /// Records a command buffer with `commands`, and once more if that fails.
    ///
    /// # Safety
    /// The command buffer is of the device, and not in use.
    unsafe fn record(
        &self,
        cmd: vk::CommandBuffer,
        what: &'static str,
        attempts: &mut Attempts,
        commands: impl Fn(vk::CommandBuffer),
    ) {
        let device = &self.device;
        let inherited = vk::CommandBufferInheritanceInfo::default();
        let info = vk::CommandBufferBeginInfo::default().inheritance_info(&inherited);
        let mut is_invalid = false;
        attempts.make(what, || {
            // SAFETY: the caller's contract.
            unsafe {
                if is_invalid {
                    let flags = vk::CommandBufferResetFlags::empty();
                    device.reset_command_buffer(cmd, flags)?;
                }
                is_invalid = true;
                device.begin_command_buffer(cmd, &info)?;
                commands(cmd);
                device.end_command_buffer(cmd)
            }
        });
    }

    /// Records captures in passes that begin and end in the secondary command buffer.
    ///
    /// # Safety
    /// The command buffer is being recorded, and the handles are of the device.
    unsafe fn secondary(&self, cmd: vk::CommandBuffer, bound: &Bound) {
        // SAFETY: the caller's contract.
        unsafe {
            self.bind(cmd, bound);
            self.capture(cmd, bound, 0, 1, None, || self.draw(cmd));
        }
    }

    /// # Safety
    /// The contract of [`secondary`](Self::secondary).
    unsafe fn primary(&self, cmd: vk::CommandBuffer, bound: &Bound, secondary: vk::CommandBuffer) {
        use vk::{AccessFlags as Access, PipelineStageFlags as Stage};
        let device = &self.device;
        // SAFETY: the caller's contract.
        unsafe {
            let push = khr::push_descriptor::Device::new(&self.instance, device);
            let feedback = ext::transform_feedback::Device::new(&self.instance, device);
            device.cmd_reset_query_pool(cmd, bound.pool, 0, 1);
            device.cmd_execute_commands(cmd, &[secondary]);
            self.bind(cmd, bound);
            device.cmd_begin_query(cmd, bound.pool, 0, vk::QueryControlFlags::empty());
            self.capture(cmd, bound, 0, 0, Some(&bound.counters), || {
                for _ in 0..DRAWS {
                    self.draw(cmd);
                }
            });
            device.cmd_end_query(cmd, bound.pool, 0);
            // A draw by byte count that is itself captured.
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT)
                .dst_access_mask(Access::INDIRECT_COMMAND_READ);
            device.cmd_pipeline_barrier(
                cmd,
                Stage::TRANSFORM_FEEDBACK_EXT,
                Stage::DRAW_INDIRECT,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
            let counter = bound.counters.raw;
            let draw_count = || {
                // With this offset, the byte count is that of one draw.
                let offset = (DRAWS - 1) * VERTICES * 16;
                let draw = feedback.fp().cmd_draw_indirect_byte_count_ext;
                draw(cmd, 1, 0, counter, 0, offset, 16);
            };
            self.capture(cmd, bound, 2, 2, None, draw_count);
            // A draw by byte count that is not captured. It does not use the linked pipeline, with
            // which the validation layer of Debian 12 crashes.
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, bound.pipelines[0]);
            self.rendering(cmd, draw_count);
            device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, bound.pipelines[1]);
            let input = ext::vertex_input_dynamic_state::Device::new(&self.instance, device);
            let binding = vk::VertexInputBindingDescription2EXT::default().stride(16).divisor(1);
            let attribute = vk::VertexInputAttributeDescription2EXT::default()
                .format(vk::Format::R32G32B32A32_SFLOAT);
            input.cmd_set_vertex_input(cmd, &[binding], &[attribute]);
            self.capture(cmd, bound, 1, 3, None, || self.draw(cmd));
            let written =
                [vk::DescriptorBufferInfo::default().buffer(bound.summands.raw).range(16)];
            let write = [vk::WriteDescriptorSet::default()
                .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER)
                .buffer_info(&written)];
            let point = vk::PipelineBindPoint::GRAPHICS;
            push.cmd_push_descriptor_set(cmd, point, bound.pushed_layout, 0, &write);
            self.push(cmd, bound.pushed_layout);
            self.capture(cmd, bound, 3, 4, None, || self.draw(cmd));
            self.bind(cmd, bound);
            self.capture(cmd, bound, 2, 5, None, || {
                self.draw(cmd);
                self.draw(cmd);
            });
            self.capture(cmd, bound, 4, 6, None, || self.draw(cmd));
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            device.cmd_copy_query_pool_results(
                cmd,
                bound.pool,
                0,
                1,
                bound.results.raw,
                0,
                16,
                flags,
            );
            let barrier = vk::MemoryBarrier::default()
                .src_access_mask(Access::TRANSFORM_FEEDBACK_WRITE_EXT | Access::TRANSFER_WRITE)
                .dst_access_mask(Access::HOST_READ);
            device.cmd_pipeline_barrier(
                cmd,
                Stage::TRANSFORM_FEEDBACK_EXT | Stage::TRANSFER,
                Stage::HOST,
                vk::DependencyFlags::empty(),
                &[barrier],
                &[],
                &[],
            );
        }
    }

    /// # Safety
    /// The contract of [`secondary`](Self::secondary).
    unsafe fn bind(&self, cmd: vk::CommandBuffer, bound: &Bound) {
        let point = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the caller's contract.
        unsafe {
            let device = &self.device;
            device.cmd_bind_vertex_buffers(cmd, 0, &[bound.vertices.raw], &[0]);
            device.cmd_bind_descriptor_sets(cmd, point, bound.layout, 0, &[bound.set], &[]);
            self.push(cmd, bound.layout);
        }
    }

    /// # Safety
    /// The contract of [`secondary`](Self::secondary).
    unsafe fn push(&self, cmd: vk::CommandBuffer, layout: vk::PipelineLayout) {
        let factor = [FACTOR; 4].map(f32::to_ne_bytes).concat();
        let stages = vk::ShaderStageFlags::VERTEX;
        // SAFETY: the caller's contract.
        unsafe { self.device.cmd_push_constants(cmd, layout, stages, 0, &factor) };
    }

    /// Records a pass without attachments, which contains `commands`.
    ///
    /// # Safety
    /// The contract of [`secondary`](Self::secondary), outside of a pass.
    unsafe fn rendering(&self, cmd: vk::CommandBuffer, commands: impl FnOnce()) {
        let extent = vk::Extent2D { width: 1, height: 1 };
        let info = vk::RenderingInfo::default()
            .render_area(vk::Rect2D { extent, ..Default::default() })
            .layer_count(1);
        // SAFETY: the caller's contract.
        unsafe {
            self.device.cmd_begin_rendering(cmd, &info);
            commands();
            self.device.cmd_end_rendering(cmd);
        }
    }

    /// Records a pass with a capture, which contains `draws`.
    ///
    /// # Safety
    /// The contract of [`rendering`](Self::rendering).
    unsafe fn capture(
        &self,
        cmd: vk::CommandBuffer,
        bound: &Bound,
        pipeline: usize,
        target: usize,
        counter: Option<&Buffer>,
        draws: impl FnOnce(),
    ) {
        let counter = counter.map(|counter| counter.raw);
        let pointer = counter.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let (count, pipeline) = (u32::from(counter.is_some()), bound.pipelines[pipeline]);
        // SAFETY: the caller's contract.
        unsafe {
            let feedback = ext::transform_feedback::Device::new(&self.instance, &self.device);
            let xfb = feedback.fp();
            let (buffer, none) = (bound.captured[target].raw, std::ptr::null());
            self.rendering(cmd, || {
                let point = vk::PipelineBindPoint::GRAPHICS;
                self.device.cmd_bind_pipeline(cmd, point, pipeline);
                (xfb.cmd_bind_transform_feedback_buffers_ext)(cmd, 0, 1, &buffer, &0, &CAPTURED);
                // The counter is written at the end, but not read at the beginning.
                (xfb.cmd_begin_transform_feedback_ext)(cmd, 0, 0, none, std::ptr::null());
                draws();
                (xfb.cmd_end_transform_feedback_ext)(cmd, 0, count, pointer, std::ptr::null());
            });
        }
    }

    /// # Safety
    /// The contract of [`secondary`](Self::secondary), in a pass.
    unsafe fn draw(&self, cmd: vk::CommandBuffer) {
        // SAFETY: the caller's contract.
        unsafe { self.device.cmd_draw(cmd, VERTICES, 1, 0, 0) };
    }
}

/// The structures that all pipelines share.
struct State<'a> {
    stages: [vk::PipelineShaderStageCreateInfo<'a>; 1],
    bindings: [vk::VertexInputBindingDescription; 1],
    attributes: [vk::VertexInputAttributeDescription; 1],
}

impl State<'_> {
    fn new(module: vk::ShaderModule) -> Self {
        Self {
            stages: [vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::VERTEX)
                .module(module)
                .name(c"main")],
            bindings: [vk::VertexInputBindingDescription { stride: 16, ..Default::default() }],
            attributes: [vk::VertexInputAttributeDescription {
                format: vk::Format::R32G32B32A32_SFLOAT,
                ..Default::default()
            }],
        }
    }

    fn input(&self) -> vk::PipelineVertexInputStateCreateInfo<'_> {
        vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&self.bindings)
            .vertex_attribute_descriptions(&self.attributes)
    }

    fn assembly(&self) -> vk::PipelineInputAssemblyStateCreateInfo<'static> {
        vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::POINT_LIST)
    }

    fn rasterization(&self) -> vk::PipelineRasterizationStateCreateInfo<'static> {
        vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0)
    }
}
