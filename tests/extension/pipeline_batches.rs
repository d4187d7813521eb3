//! Several graphics pipelines that are created by one call, natively and with the Vulkan layer. The
//! strict layer refuses those with a barrier in a function of the tessellation control shader, and creates the others.

use std::ffi::CStr;

use ash::vk::PipelineCreateFlags as Flags;
use ash::{ext, vk};

use super::program::CaptureCommands;
use crate::common;
use crate::common::bare::{BareDevice, BareInstance, HostBuffer};
use crate::common::native::WRITES;
use crate::common::skip::{Why, skip};
use crate::common::{attachment, layer};

pub const VERTEX: &str = "#version 450
    layout(constant_id = 0) const uint VALUE = 0;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = VALUE;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// The memory barrier becomes a barrier like that of `main`: glslang allows none in other functions.
pub const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(location = 0) in flat uint value[];
    layout(location = 0) out uint passed[];
    void function() { memoryBarrier(); }
    void main() {
        barrier();
        function();
        passed[gl_InvocationID] = value[gl_InvocationID];
        gl_TessLevelOuter[0] = 1.0;
        gl_TessLevelOuter[1] = 1.0;
    }";

pub const EVALUATION: &str = "#version 450
    layout(isolines, point_mode) in;
    layout(location = 0) in uint passed[];
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = passed[0];
        gl_Position = vec4(0.0);
    }";

/// A pipeline of such a call.
#[derive(Debug, Clone, Copy)]
struct Element {
    /// Whether the pipeline has tessellation shaders, which the layer refuses.
    is_refused: bool,
    flags: Flags,
    /// The index of the pipeline from which it is derived.
    base: Option<i32>,
}

const NONE: Flags = Flags::empty();
const EARLY: Flags = Flags::EARLY_RETURN_ON_FAILURE;
const BASE: Flags = Flags::ALLOW_DERIVATIVES;
/// A driver may create such a pipeline, or say that it would have to compile it.
const FAIL: Flags = Flags::FAIL_ON_PIPELINE_COMPILE_REQUIRED;

const fn made(flags: Flags) -> Element {
    Element { is_refused: false, flags, base: None }
}

const fn refused(flags: Flags) -> Element {
    Element { is_refused: true, flags, base: None }
}

const fn derived(base: i32) -> Element {
    Element { is_refused: false, flags: Flags::DERIVATIVE, base: Some(base) }
}

const BATCHES: [&[Element]; 12] = [
    &[made(NONE), made(EARLY)],
    &[refused(NONE)],
    // Pipelines that must not be compiled, beside others, and beside one that is refused.
    &[made(FAIL), made(NONE), made(FAIL)],
    &[made(FAIL), refused(NONE), made(NONE)],
    &[refused(EARLY), refused(NONE)],
    &[made(NONE), refused(NONE), made(NONE)],
    &[made(EARLY), refused(NONE), made(EARLY), refused(NONE)],
    &[made(NONE), refused(EARLY), made(NONE)],
    &[refused(NONE), made(NONE), refused(EARLY), made(NONE), refused(NONE)],
    // Pipelines are derived from others, before and behind those that are refused.
    &[refused(NONE), made(BASE), derived(1), refused(NONE), derived(1)],
    &[made(BASE), refused(NONE), derived(0), refused(NONE), made(BASE), derived(4)],
    // And from one that is refused.
    &[refused(BASE), derived(0), made(BASE), refused(NONE), derived(2)],
];

/// Creates pipelines that each capture their index in the call. The last result is that of the
/// command.
///
/// # Safety
/// The modules and the layout are of the device.
unsafe fn create(
    device: &ash::Device,
    [vertex, control, evaluation]: [vk::ShaderModule; 3],
    layout: vk::PipelineLayout,
    batch: &[Element],
) -> (Vec<vk::Pipeline>, vk::Result) {
    let entries = [vk::SpecializationMapEntry { size: 4, ..Default::default() }];
    let numbers: Vec<[u8; 4]> = (0..batch.len() as u32).map(u32::to_ne_bytes).collect();
    let info = |data| vk::SpecializationInfo::default().map_entries(&entries).data(data);
    let specializations: Vec<_> = numbers.iter().map(|number| info(number)).collect();
    let stages: Vec<_> = specializations
        .iter()
        .map(|specialization| {
            let stage = |stage, module| {
                vk::PipelineShaderStageCreateInfo::default()
                    .stage(stage)
                    .module(module)
                    .name(c"main")
            };
            [
                stage(vk::ShaderStageFlags::VERTEX, vertex).specialization_info(specialization),
                stage(vk::ShaderStageFlags::TESSELLATION_CONTROL, control),
                stage(vk::ShaderStageFlags::TESSELLATION_EVALUATION, evaluation),
            ]
        })
        .collect();
    let input = vk::PipelineVertexInputStateCreateInfo::default();
    let assemblies = [vk::PrimitiveTopology::POINT_LIST, vk::PrimitiveTopology::PATCH_LIST]
        .map(|topology| vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology));
    let tessellation = vk::PipelineTessellationStateCreateInfo::default().patch_control_points(1);
    let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
        .rasterizer_discard_enable(true)
        .line_width(1.0);
    let rendering = vk::PipelineRenderingCreateInfo::default();
    let infos: Vec<_> = batch
        .iter()
        .zip(&stages)
        .map(|(element, stages)| {
            let mut info = vk::GraphicsPipelineCreateInfo::default()
                .flags(element.flags)
                .stages(&stages[..if element.is_refused { 3 } else { 1 }])
                .tessellation_state(&tessellation)
                .vertex_input_state(&input)
                .input_assembly_state(&assemblies[usize::from(element.is_refused)])
                .rasterization_state(&rasterization)
                .layout(layout)
                .base_pipeline_index(element.base.unwrap_or(-1));
            info.p_next = (&raw const rendering).cast();
            info
        })
        .collect();
    match unsafe { device.create_graphics_pipelines(vk::PipelineCache::null(), &infos, None) } {
        Ok(made) => (made, vk::Result::SUCCESS),
        Err((made, error)) => (made, error),
    }
}

/// Draws with a pipeline, and returns the captured data.
///
/// # Safety
/// The pipeline and the buffer are of the device.
unsafe fn captured(device: &BareDevice, pipeline: vk::Pipeline, target: &HostBuffer) -> u32 {
    let functions = CaptureCommands::new(device);
    let (raw, mapped) = (&device.raw, target.pointer::<u32>());
    // SAFETY: the caller's contract; the submission is waited for.
    unsafe {
        mapped.write(u32::MAX);
        device.submit(WRITES, |cmd| {
            functions.bind_target(cmd, target.raw, 0, 4);
            attachment::begin_rendering(raw, cmd);
            raw.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
            functions.begin(cmd);
            raw.cmd_draw(cmd, 1, 1, 0, 0);
            functions.end(cmd);
            raw.cmd_end_rendering(cmd);
        });
        mapped.read()
    }
}

/// Replaces the memory barriers of a shader by its barrier, if it has one.
pub fn with_equal_barriers(words: &[u32]) -> Vec<u32> {
    let text = common::disassemble(words);
    match text.lines().find(|line| line.contains("OpControlBarrier")) {
        None => words.to_vec(),
        Some(barrier) => {
            let replace =
                |line| if str::contains(line, "OpMemoryBarrier") { barrier } else { line };
            common::assemble(&text.lines().map(replace).collect::<Vec<_>>().join("\n"), "vulkan1.2")
        }
    }
}

#[test]
fn pipelines_are_made_beside_those_that_are_refused() {
    let instance = BareInstance::open();
    // SAFETY: the instance is live.
    let core = unsafe { instance.raw.get_physical_device_features(instance.physical_device()) };
    if core.tessellation_shader == vk::FALSE {
        return skip(Why::Expected("the device lacks tessellationShader"));
    }
    let mut feedback =
        vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
    let mut vulkan13 = vk::PhysicalDeviceVulkan13Features::default()
        .dynamic_rendering(true)
        .pipeline_creation_cache_control(true);
    let core = vk::PhysicalDeviceFeatures::default().tessellation_shader(true);
    let mut features = vk::PhysicalDeviceFeatures2::default()
        .features(core)
        .push_next(&mut feedback)
        .push_next(&mut vulkan13);
    let extensions = [ext::transform_feedback::NAME].map(CStr::as_ptr);
    let device = instance.into_device(&mut features, &extensions);
    let raw = &device.raw;
    let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
    let target = device.host_buffer(4, usage);
    // SAFETY: every handle is of the device, and in use only until a submission is done.
    unsafe {
        let layout = raw.create_pipeline_layout(&Default::default(), None).unwrap();
        let modules = [("vert", VERTEX), ("tesc", CONTROL), ("tese", EVALUATION)];
        let modules = modules.map(|(stage, source)| {
            let words = common::compile_stage(stage, source, &[]);
            attachment::shader_module(raw, &with_equal_barriers(&words))
        });
        for batch in BATCHES {
            let (made, result) = create(raw, modules, layout, batch);
            let is_refused = |element: &Element| element.is_refused && layer::is_there();
            let fails = batch.iter().any(is_refused);
            assert_eq!(result < vk::Result::SUCCESS, fails, "{batch:?}: {result:?}");
            let end = batch
                .iter()
                .position(|element| is_refused(element) && element.flags.contains(EARLY))
                .unwrap_or(batch.len());
            for (number, (pipeline, element)) in made.into_iter().zip(batch).enumerate() {
                let is_made = number < end && !is_refused(element);
                if pipeline == vk::Pipeline::null() && element.flags.contains(FAIL) {
                    let required = vk::Result::PIPELINE_COMPILE_REQUIRED;
                    assert!(fails || result == required, "{batch:?}: {result:?}");
                    continue;
                }
                assert_eq!(pipeline != vk::Pipeline::null(), is_made, "{number} of {batch:?}");
                if is_made {
                    let found = captured(&device, pipeline, &target);
                    assert_eq!(found as usize, number, "{batch:?}");
                    raw.destroy_pipeline(pipeline, None);
                }
            }
        }
        for module in modules {
            raw.destroy_shader_module(module, None);
        }
        raw.destroy_pipeline_layout(layout, None);
        device.destroy_buffer(target);
    }
}

#[test]
fn pipelines_are_made_beside_those_that_are_refused_on_the_layer() {
    for run in [layer::run_on_it, layer::run_below_validation] {
        run(pipelines_are_made_beside_those_that_are_refused, &[layer::STRICT]);
    }
}
