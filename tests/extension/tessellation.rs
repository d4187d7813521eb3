//! Captures of tessellation shaders, natively and on the Vulkan layer: of pipelines that are linked of libraries, whose
//! sets are independent; with dynamic state that is set before the pipeline is bound or after it; in secondary command
//! buffers; and beside draws that capture nothing.

use ash::{ext, khr, vk};

use super::program::Program;
use crate::common::attachment;
use crate::common::bare::{BareInstance, HOST_READS};
use crate::common::native::WRITES;
use crate::common::{self, layer};

const VERTEX: &str = "#version 450
    layout(set = 0, binding = 0) uniform Values { uint value; };
    layout(location = 0) out flat uint number;
    void main() {
        number = gl_VertexIndex + value;
        gl_Position = vec4(0.0);
    }";

/// Divides each patch into one triangle. What it passes on tells the first control point, and how many there are.
const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(location = 0) in flat uint number[];
    layout(location = 0) out uint passed[];
    void main() {
        passed[gl_InvocationID] = number[0] + 100 * gl_PatchVerticesIn;
        for (int i = 0; i < 3; i++) gl_TessLevelOuter[i] = 1.0;
        gl_TessLevelInner[0] = 1.0;
    }";

/// In the corners of the triangle, 0, 1000 and 2000 are added.
fn evaluation(captures: bool) -> String {
    let xfb = if captures { "xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0, " } else { "" };
    format!(
        "#version 450
        layout(triangles, ccw) in;
        layout(set = 2, binding = 0) uniform Values {{ uint value; }};
        layout(location = 0) in uint passed[];
        layout({xfb}location = 0) out flat uint captured;
        void main() {{
            captured = uint(round(1000.0 * gl_TessCoord.x + 2000.0 * gl_TessCoord.y));
            captured += passed[0] + value;
            gl_Position = vec4(0.0);
        }}"
    )
}

/// The values that the shaders read from sets 0 and 2.
const VALUES: [u32; 2] = [10_000, 50_000];

/// The number of vertices of a draw.
const VERTICES: u32 = 6;
/// The number of records of a draw at most: three for each patch.
const RECORDS: u32 = 3 * VERTICES;
const UNTOUCHED: u32 = u32::MAX;

/// How a draw captures.
#[derive(Debug, Clone, Copy)]
struct Case {
    has_libraries: bool,
    /// Whether the number of control points is dynamic state.
    is_dynamic: bool,
    /// Whether that state is set before the pipeline is bound.
    is_set_before: bool,
    is_secondary: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        (0..16).map(|bits| {
            let [has_libraries, is_dynamic, is_set_before, is_secondary] =
                [0, 1, 2, 3].map(|bit| bits >> bit & 1 == 1);
            Self { has_libraries, is_dynamic, is_set_before, is_secondary }
        })
    }
}

struct Scene {
    program: Program,
    state: ext::extended_dynamic_state2::Device,
    target: vk::Buffer,
    captured: *mut u32,
    modules: [vk::ShaderModule; 5],
    set_layouts: [vk::DescriptorSetLayout; 3],
    /// The layout of pipelines, of a library that leaves set 1 to others, and of the one that has only set 1.
    layouts: [vk::PipelineLayout; 3],
    pool: vk::DescriptorPool,
    /// Sets 0 and 2.
    sets: [vk::DescriptorSet; 2],
    commands: vk::CommandPool,
}

impl Scene {
    fn open() -> Option<Self> {
        let instance = BareInstance::open();
        let physical = instance.physical_device();
        let names = [
            ext::transform_feedback::NAME,
            ext::extended_dynamic_state2::NAME,
            ext::graphics_pipeline_library::NAME,
            khr::pipeline_library::NAME,
        ];
        // SAFETY: the instance is live.
        let all = unsafe { instance.raw.enumerate_device_extension_properties(physical) }.unwrap();
        let has = |name| all.iter().any(|e| e.extension_name_as_c_str() == Ok(name));
        // SAFETY: as above.
        let core = unsafe { instance.raw.get_physical_device_features(physical) };
        if core.tessellation_shader == vk::FALSE || !names.into_iter().all(has) {
            let gives = !has(ext::transform_feedback::NAME);
            layer::skip_without("tessellation, dynamic state or pipeline libraries", gives);
            return None;
        }
        let mut xfb =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let mut rendering = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
        let mut points = vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default()
            .extended_dynamic_state2_patch_control_points(true);
        let mut libraries = vk::PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT::default()
            .graphics_pipeline_library(true);
        let core = vk::PhysicalDeviceFeatures::default().tessellation_shader(true);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(core)
            .push_next(&mut xfb)
            .push_next(&mut rendering)
            .push_next(&mut points)
            .push_next(&mut libraries);
        let names = names.map(|name| name.as_ptr());
        let mut program = Program::on(instance.into_device(&mut features, &names));
        let usage = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let (target, captured) = program.buffer(RECORDS as usize, usage);
        let values = VALUES.map(|value| {
            let (buffer, mapped) = program.buffer(4, vk::BufferUsageFlags::UNIFORM_BUFFER);
            // SAFETY: the buffer has that size.
            unsafe { mapped.write(value) };
            buffer
        });
        let raw = &program.raw;
        let state = ext::extended_dynamic_state2::Device::new(program.instance(), raw);
        use vk::ShaderStageFlags as Stage;
        // SAFETY: all of it is of the device, and destroyed with the scene.
        unsafe {
            let modules = [
                ("vert", VERTEX),
                ("tesc", CONTROL),
                ("tese", &evaluation(true)),
                ("tese", &evaluation(false)),
                ("frag", "#version 450\nvoid main() {}"),
            ];
            let modules = modules.map(|(stage, source)| {
                attachment::shader_module(raw, &common::compile_stage(stage, source, &[]))
            });
            let stages = [Stage::VERTEX, Stage::FRAGMENT, Stage::TESSELLATION_EVALUATION];
            let ty = vk::DescriptorType::UNIFORM_BUFFER;
            let set_layouts = stages.map(|stage| program.set_layout(&[(0, ty, stage)]));
            let null = vk::DescriptorSetLayout::null();
            let independent = vk::PipelineLayoutCreateFlags::INDEPENDENT_SETS_EXT;
            let [first, second, third] = set_layouts;
            let layouts = [set_layouts, [first, null, third], [null, second, null]].map(|sets| {
                let info =
                    vk::PipelineLayoutCreateInfo::default().flags(independent).set_layouts(&sets);
                raw.create_pipeline_layout(&info, None).unwrap()
            });
            let used = [set_layouts[0], set_layouts[2]];
            let (pool, sets) = program.descriptor_sets(used, &[(ty, 2)]);
            for (set, buffer) in sets.iter().zip(values) {
                program.write_set((*set, 0, ty), (buffer, 0, vk::WHOLE_SIZE));
            }
            let commands = program.command_pool();
            Some(Self {
                state,
                target,
                captured,
                modules,
                set_layouts,
                layouts,
                pool,
                sets,
                commands,
                program,
            })
        }
    }

    fn close(self) {
        let raw = &self.program.raw;
        // SAFETY: every submission was waited for.
        unsafe {
            raw.destroy_command_pool(self.commands, None);
            raw.destroy_descriptor_pool(self.pool, None);
            self.layouts.iter().for_each(|layout| raw.destroy_pipeline_layout(*layout, None));
            for layout in self.set_layouts {
                raw.destroy_descriptor_set_layout(layout, None);
            }
            self.modules.iter().for_each(|module| raw.destroy_shader_module(*module, None));
        }
    }

    /// Creates a pipeline with so many control points, or with dynamic ones, and the libraries that it is linked of.
    ///
    /// # Safety
    /// The caller destroys all of them, the pipeline first.
    unsafe fn pipelines(
        &self,
        has_libraries: bool,
        control_points: Option<u32>,
        captures: bool,
    ) -> Vec<vk::Pipeline> {
        use vk::ShaderStageFlags as Stage;
        let raw = &self.program.raw;
        let evaluation = self.modules[if captures { 2 } else { 3 }];
        let stages = [
            (Stage::VERTEX, self.modules[0]),
            (Stage::TESSELLATION_CONTROL, self.modules[1]),
            (Stage::TESSELLATION_EVALUATION, evaluation),
        ];
        let stages = stages.map(|(stage, module)| {
            vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main")
        });
        let input = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::PATCH_LIST);
        let tessellation = vk::PipelineTessellationStateCreateInfo::default()
            .patch_control_points(control_points.unwrap_or(32));
        let states = [vk::DynamicState::PATCH_CONTROL_POINTS_EXT];
        let states = if control_points.is_none() { &states[..] } else { &[] };
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(states);
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0);
        let mut rendering = vk::PipelineRenderingCreateInfo::default();
        let of_input = vk::GraphicsPipelineCreateInfo::default()
            .vertex_input_state(&input)
            .input_assembly_state(&assembly);
        let cache = vk::PipelineCache::null();
        // SAFETY: the structures are valid.
        unsafe {
            let create = |info: vk::GraphicsPipelineCreateInfo<'_>| {
                raw.create_graphics_pipelines(cache, &[info], None).unwrap()[0]
            };
            if !has_libraries {
                let info = of_input
                    .stages(&stages)
                    .tessellation_state(&tessellation)
                    .dynamic_state(&dynamic)
                    .rasterization_state(&rasterization)
                    .layout(self.layouts[0])
                    .push_next(&mut rendering);
                return vec![create(info)];
            }
            use vk::GraphicsPipelineLibraryFlagsEXT as Part;
            // Sets can be independent only where a library has the fragment shader, so nothing is discarded.
            let rasterization = rasterization.rasterizer_discard_enable(false);
            let (viewports, scissors) = ([vk::Viewport::default()], [attachment::area(1)]);
            let viewports =
                viewports.map(|viewport| vk::Viewport { width: 1.0, height: 1.0, ..viewport });
            let viewport = vk::PipelineViewportStateCreateInfo::default()
                .viewports(&viewports)
                .scissors(&scissors);
            let samples = vk::PipelineMultisampleStateCreateInfo::default()
                .rasterization_samples(vk::SampleCountFlags::TYPE_1);
            let blend = vk::PipelineColorBlendStateCreateInfo::default();
            let depth = vk::PipelineDepthStencilStateCreateInfo::default();
            let fragment = [vk::PipelineShaderStageCreateInfo::default()
                .stage(Stage::FRAGMENT)
                .module(self.modules[4])
                .name(c"main")];
            // lavapipe 22.3 also reads states that do not belong to a library.
            let none = vk::GraphicsPipelineCreateInfo::default()
                .viewport_state(&viewport)
                .rasterization_state(&rasterization)
                .multisample_state(&samples)
                .depth_stencil_state(&depth)
                .color_blend_state(&blend);
            let parts = [
                (Part::VERTEX_INPUT_INTERFACE, of_input),
                (
                    Part::PRE_RASTERIZATION_SHADERS,
                    none.stages(&stages)
                        .tessellation_state(&tessellation)
                        .dynamic_state(&dynamic)
                        .layout(self.layouts[1]),
                ),
                (Part::FRAGMENT_SHADER, none.stages(&fragment).layout(self.layouts[2])),
                (Part::FRAGMENT_OUTPUT_INTERFACE, none),
            ];
            let libraries = parts.map(|(part, info)| {
                let mut rendering = vk::PipelineRenderingCreateInfo::default();
                let mut part = vk::GraphicsPipelineLibraryCreateInfoEXT::default().flags(part);
                let info = info.flags(vk::PipelineCreateFlags::LIBRARY_KHR);
                create(info.push_next(&mut part).push_next(&mut rendering))
            });
            let mut linked = vk::PipelineLibraryCreateInfoKHR::default().libraries(&libraries);
            let info = vk::GraphicsPipelineCreateInfo::default().layout(self.layouts[0]);
            [&[create(info.push_next(&mut linked))], &libraries[..]].concat()
        }
    }

    /// Records a command buffer by `record`, in rendering, and submits it if `vkEndCommandBuffer` succeeds. Returns that
    /// result, and what is captured.
    ///
    /// # Safety
    /// What is recorded is valid.
    unsafe fn submit(
        &self,
        is_secondary: bool,
        record: impl FnOnce(vk::CommandBuffer),
    ) -> (vk::Result, Vec<u32>) {
        let raw = &self.program.raw;
        // SAFETY: the caller's contract; the submission is waited for.
        unsafe {
            let captured = std::slice::from_raw_parts_mut(self.captured, RECORDS as usize);
            captured.fill(UNTOUCHED);
            let level = vk::CommandBufferLevel::PRIMARY;
            let cmd = self.program.command_buffers(self.commands, level, 1)[0];
            raw.begin_command_buffer(cmd, &Default::default()).unwrap();
            let contents = if is_secondary {
                vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS
            } else {
                vk::RenderingFlags::empty()
            };
            let info = vk::RenderingInfo::default()
                .flags(contents)
                .render_area(attachment::area(1))
                .layer_count(1);
            raw.cmd_begin_rendering(cmd, &info);
            if is_secondary {
                let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
                    .rasterization_samples(vk::SampleCountFlags::TYPE_1);
                let inherited =
                    vk::CommandBufferInheritanceInfo::default().push_next(&mut rendering);
                let secondary = self.program.secondary(self.commands, &inherited, record);
                raw.cmd_execute_commands(cmd, &[secondary]);
            } else {
                record(cmd);
            }
            raw.cmd_end_rendering(cmd);
            self.program.barrier(cmd, WRITES, HOST_READS);
            let ended = raw.end_command_buffer(cmd).err().unwrap_or(vk::Result::SUCCESS);
            if ended == vk::Result::SUCCESS {
                self.program.execute(&[cmd]);
            }
            (ended, captured.to_vec())
        }
    }

    /// Draws without transform feedback by the first pipeline, if there is one, and captures a draw by the second.
    /// `states` are the numbers of control points that are set before the second pipeline is bound, and after it.
    ///
    /// # Safety
    /// The command buffer is being recorded, in rendering.
    unsafe fn draw(
        &self,
        cmd: vk::CommandBuffer,
        drawn: Option<vk::Pipeline>,
        captured: vk::Pipeline,
        states: [Option<u32>; 2],
    ) {
        let (raw, xfb) = (&self.program.raw, self.program.xfb());
        let (point, layout) = (vk::PipelineBindPoint::GRAPHICS, self.layouts[0]);
        unsafe {
            for (number, set) in [0, 2].into_iter().zip(self.sets) {
                raw.cmd_bind_descriptor_sets(cmd, point, layout, number, &[set], &[]);
            }
            if let Some(drawn) = drawn {
                raw.cmd_bind_pipeline(cmd, point, drawn);
                raw.cmd_draw(cmd, VERTICES, 1, 0, 0);
            }
            if let Some(points) = states[0] {
                self.state.cmd_set_patch_control_points(cmd, points);
            }
            raw.cmd_bind_pipeline(cmd, point, captured);
            if let Some(points) = states[1] {
                self.state.cmd_set_patch_control_points(cmd, points);
            }
            let (offset, size) = (0, u64::from(4 * RECORDS));
            xfb.bind_target(cmd, self.target, offset, size);
            xfb.begin(cmd);
            raw.cmd_draw(cmd, VERTICES, 1, 0, 0);
            xfb.end(cmd);
        }
    }
}

#[test]
fn tessellated_draws_capture() {
    let Some(scene) = Scene::open() else { return };
    let raw = &scene.program.raw;
    for case in Case::all() {
        for points in [1, 2, 3] {
            let fixed = (!case.is_dynamic).then_some(points);
            let set = |is_here: bool| (case.is_dynamic && is_here).then_some(points);
            let states = [set(case.is_set_before), set(!case.is_set_before)];
            // SAFETY: every handle is of the device, and in use only until the submission is done.
            unsafe {
                let captured = scene.pipelines(case.has_libraries, fixed, true);
                // One with another number of control points, which captures nothing.
                let drawn = scene.pipelines(case.has_libraries, Some(4 - points), false);
                let (result, found) = scene.submit(case.is_secondary, |cmd| {
                    scene.draw(cmd, Some(drawn[0]), captured[0], states);
                });
                assert_eq!(result, vk::Result::SUCCESS, "{case:?}");
                let mut triangles: Vec<Vec<u32>> = found.chunks(3).map(<[u32]>::to_vec).collect();
                for triangle in &mut triangles {
                    let first = (0..3).min_by_key(|corner| triangle[*corner]).unwrap();
                    triangle.rotate_left(first);
                }
                let [value, more] = VALUES;
                let patch = |number| {
                    let all = number * points + value + more + 100 * points;
                    // The origin is in the upper left corner, so counterclockwise is from v to u.
                    [0, 2000, 1000].map(|corner| all + corner).to_vec()
                };
                let mut expected: Vec<_> = (0..VERTICES / points).map(patch).collect();
                expected.resize(triangles.len(), vec![UNTOUCHED; 3]);
                assert_eq!(triangles, expected, "{points} control points: {case:?}");
                for pipeline in captured.into_iter().chain(drawn) {
                    raw.destroy_pipeline(pipeline, None);
                }
            }
        }
    }
    scene.close();
}

#[test]
fn tessellated_draws_capture_on_the_layer() {
    for run in [layer::run_on_it, layer::run_below_validation] {
        run(tessellated_draws_capture, &[]);
    }
}

/// A draw that Vulkan does not allow: nothing sets the number of control points.
#[test]
fn control_points_are_missing() {
    if !layer::is_there() {
        return;
    }
    let Some(scene) = Scene::open() else { return };
    // SAFETY: every handle is of the device, and nothing is submitted.
    unsafe {
        let pipelines = scene.pipelines(false, None, true);
        let record = |cmd| scene.draw(cmd, None, pipelines[0], [None; 2]);
        let (result, _) = scene.submit(false, record);
        assert_eq!(result, vk::Result::ERROR_UNKNOWN);
        pipelines.iter().for_each(|pipeline| scene.program.raw.destroy_pipeline(*pipeline, None));
    }
    scene.close();
}

#[test]
fn control_points_that_are_missing_are_named_on_the_layer() {
    let variables = [("VKXFB_TEST_VALIDATION", "0"), layer::STRICT];
    let Some(said) = layer::run_on_it(control_points_are_missing, &variables) else { return };
    assert!(said.contains("no vkCmdSetPatchControlPointsEXT sets it"), "{said}");
}
