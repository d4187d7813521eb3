//! The device's own tessellation, captured by its transform feedback, against `src/tessellator.rs`: numbers, order of
//! patches, winding, and where vertices are.

use std::collections::HashMap;

use ash::{ext, vk};
use vkxfb::internal::tessellator::{Domain, Spacing, Tessellator};

use crate::common::attachment::{area, shader_module};
use crate::common::bare::{BareDevice, BareInstance};
use crate::common::compile_stage;
use crate::levels::{Levels, count, sets, tessellators};

const VERTEX: &str = "#version 450
    layout(location = 0) in vec4 outer;
    layout(location = 1) in vec2 inner;
    layout(location = 0) out vec4 passed_outer;
    layout(location = 1) out vec3 passed_inner;
    void main() { passed_outer = outer; passed_inner = vec3(inner, gl_VertexIndex); }";

const CONTROL: &str = "#version 450
    layout(vertices = 1) out;
    layout(location = 0) in vec4 outer[];
    layout(location = 1) in vec3 inner[];
    layout(location = 0) patch out float id;
    void main() {
        for (int i = 0; i < 4; i++) gl_TessLevelOuter[i] = outer[0][i];
        gl_TessLevelInner[0] = inner[0].x;
        gl_TessLevelInner[1] = inner[0].y;
        id = inner[0].z;
    }";

/// Captures the number of the patch, and the coordinates.
fn evaluation(tessellator: Tessellator, clockwise: bool) -> String {
    let domain = match tessellator.domain {
        Domain::Triangles => "triangles",
        Domain::Quads => "quads",
        Domain::Isolines => "isolines",
    };
    let spacing = match tessellator.spacing {
        Spacing::Equal => "equal_spacing",
        Spacing::FractionalEven => "fractional_even_spacing",
        Spacing::FractionalOdd => "fractional_odd_spacing",
    };
    let order = if clockwise { "cw" } else { "ccw" };
    let points = if tessellator.points { ", point_mode" } else { "" };
    format!(
        "#version 450
        layout({domain}, {spacing}, {order}{points}) in;
        layout(location = 0) patch in float id;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out vec4 found;
        void main() {{ found = vec4(id, gl_TessCoord); }}"
    )
}

/// Room for vertices that should not be there.
const MORE: usize = 3000;

struct Native {
    device: BareDevice,
    xfb: ext::transform_feedback::Device,
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    layout: vk::PipelineLayout,
}

impl Native {
    fn open() -> Result<Self, &'static str> {
        let instance = BareInstance::open();
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default().push_next(&mut xfb);
        // SAFETY: the instance is live.
        unsafe { instance.raw.get_physical_device_features2(instance.physical_device(), &mut has) };
        let core = has.features;
        if core.tessellation_shader == vk::FALSE || xfb.transform_feedback == vk::FALSE {
            instance.close();
            return Err("the device lacks tessellation shaders or transform feedback");
        }
        let mut xfb =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let enabled = vk::PhysicalDeviceFeatures::default().tessellation_shader(true);
        let mut features =
            vk::PhysicalDeviceFeatures2::default().features(enabled).push_next(&mut xfb);
        let extensions = [ext::transform_feedback::NAME.as_ptr()];
        let device = instance.into_device(&mut features, &extensions);
        let xfb = ext::transform_feedback::Device::new(device.instance(), &device.raw);
        let subpasses = [vk::SubpassDescription::default()];
        let pass = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
        // SAFETY: the device is live.
        unsafe {
            let pass = device.raw.create_render_pass(&pass, None).unwrap();
            let info =
                vk::FramebufferCreateInfo::default().render_pass(pass).width(1).height(1).layers(1);
            let framebuffer = device.raw.create_framebuffer(&info, None).unwrap();
            let layout = device.raw.create_pipeline_layout(&Default::default(), None).unwrap();
            Ok(Self { device, xfb, pass, framebuffer, layout })
        }
    }

    fn close(self) {
        // SAFETY: every submission was waited for.
        unsafe {
            self.device.raw.destroy_pipeline_layout(self.layout, None);
            self.device.raw.destroy_framebuffer(self.framebuffer, None);
            self.device.raw.destroy_render_pass(self.pass, None);
        }
        self.device.close();
    }

    /// # Safety
    /// The source is a valid shader.
    unsafe fn pipeline(&self, evaluation: &str, lower_left: bool) -> vk::Pipeline {
        let device = &self.device.raw;
        let stages = [
            (vk::ShaderStageFlags::VERTEX, compile_stage("vert", VERTEX, &[])),
            (vk::ShaderStageFlags::TESSELLATION_CONTROL, compile_stage("tesc", CONTROL, &[])),
            (vk::ShaderStageFlags::TESSELLATION_EVALUATION, compile_stage("tese", evaluation, &[])),
        ];
        let bindings = [vk::VertexInputBindingDescription::default().stride(24)];
        let attribute = |location, format, offset| vk::VertexInputAttributeDescription {
            location,
            binding: 0,
            format,
            offset,
        };
        let attributes = [
            attribute(0, vk::Format::R32G32B32A32_SFLOAT, 0),
            attribute(1, vk::Format::R32G32_SFLOAT, 16),
        ];
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::PATCH_LIST);
        let mut origin = vk::PipelineTessellationDomainOriginStateCreateInfo::default()
            .domain_origin(match lower_left {
                true => vk::TessellationDomainOrigin::LOWER_LEFT,
                false => vk::TessellationDomainOrigin::UPPER_LEFT,
            });
        let tessellation = vk::PipelineTessellationStateCreateInfo::default()
            .patch_control_points(1)
            .push_next(&mut origin);
        let raster = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0);
        // SAFETY: the caller's contract.
        unsafe {
            let modules: Vec<_> =
                stages.iter().map(|(_, words)| shader_module(device, words)).collect();
            let stages: Vec<_> = (stages.iter().zip(&modules))
                .map(|((stage, _), module)| {
                    vk::PipelineShaderStageCreateInfo::default()
                        .stage(*stage)
                        .module(*module)
                        .name(c"main")
                })
                .collect();
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&vertex_input)
                .input_assembly_state(&assembly)
                .tessellation_state(&tessellation)
                .rasterization_state(&raster)
                .layout(self.layout)
                .render_pass(self.pass);
            let cache = vk::PipelineCache::null();
            let pipeline = device.create_graphics_pipelines(cache, &[info], None).unwrap()[0];
            modules.into_iter().for_each(|module| device.destroy_shader_module(module, None));
            pipeline
        }
    }

    /// Captures a patch of each set of levels. Returns the records before the first one that was not written.
    ///
    /// # Safety
    /// The source is a valid shader.
    unsafe fn run(
        &self,
        evaluation: &str,
        lower_left: bool,
        sets: &[Levels],
        records: usize,
    ) -> Vec<[f32; 4]> {
        let device = &self.device.raw;
        let usage = vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let levels: Vec<f32> =
            sets.iter().flat_map(|s| s.outer.into_iter().chain(s.inner)).collect();
        let first = (4 * levels.len() as u64).next_multiple_of(16);
        let size = first + 16 * records as u64;
        let (buffer, memory) = self.device.host_buffer(size, usage);
        // SAFETY: every handle is of the device, and lives until the submission is done.
        unsafe {
            let flags = vk::MemoryMapFlags::empty();
            let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, flags).unwrap();
            let mapped = std::slice::from_raw_parts_mut(mapped.cast::<f32>(), size as usize / 4);
            mapped.fill(-1.0);
            mapped[..levels.len()].copy_from_slice(&levels);
            let pipeline = self.pipeline(evaluation, lower_left);
            let writes = (
                vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
                vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT,
            );
            self.device.submit(writes, |cmd| {
                let begin = vk::RenderPassBeginInfo::default()
                    .render_pass(self.pass)
                    .framebuffer(self.framebuffer)
                    .render_area(area(1));
                device.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
                device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::GRAPHICS, pipeline);
                device.cmd_bind_vertex_buffers(cmd, 0, &[buffer], &[0]);
                let xfb = self.xfb.fp();
                let size = size - first;
                (xfb.cmd_bind_transform_feedback_buffers_ext)(cmd, 0, 1, &buffer, &first, &size);
                let none = std::ptr::null();
                (xfb.cmd_begin_transform_feedback_ext)(cmd, 0, 0, std::ptr::null(), none);
                // Several patches of high levels come out wrong in one draw (lavapipe 22.3.6).
                for patch in 0..sets.len() as u32 {
                    device.cmd_draw(cmd, 1, 1, patch, 0);
                }
                (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 0, std::ptr::null(), none);
                device.cmd_end_render_pass(cmd);
            });
            let records = mapped[first as usize / 4..].as_chunks::<4>().0;
            let found = records.iter().take_while(|record| record[0] >= 0.0).copied().collect();
            device.destroy_pipeline(pipeline, None);
            device.destroy_buffer(buffer, None);
            device.free_memory(memory, None);
            found
        }
    }
}

/// Points by squares of twice the tolerance.
struct Near(HashMap<[i32; 2], Vec<[f32; 2]>>);

const TOLERANCE: f32 = 1e-3;

fn square(point: [f32; 2]) -> [i32; 2] {
    point.map(|x| (x / (2.0 * TOLERANCE)).floor() as i32)
}

impl Near {
    fn of(points: &[[f32; 2]]) -> Self {
        let mut squares: HashMap<[i32; 2], Vec<[f32; 2]>> = HashMap::new();
        for point in points {
            squares.entry(square(*point)).or_default().push(*point);
        }
        Self(squares)
    }

    /// The distance to the nearest point, if there is one within the tolerance.
    fn distance(&self, point: [f32; 2]) -> Option<f32> {
        let [x, y] = square(point);
        let around = (-1..=1).flat_map(|i| (-1..=1).map(move |j| [x + i, y + j]));
        let points = around.filter_map(|square| self.0.get(&square)).flatten();
        let distance =
            points.map(|other| (other[0] - point[0]).abs().max((other[1] - point[1]).abs()));
        distance.min_by(f32::total_cmp).filter(|distance| *distance <= TOLERANCE)
    }
}

fn area_of(triangle: &[[f32; 2]]) -> f64 {
    let [a, b, c] = [0, 1, 2].map(|v: usize| triangle[v].map(f64::from));
    ((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2.0
}

#[test]
fn the_device_divides_alike() {
    let native = match Native::open() {
        Ok(native) => native,
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    let (mut patches, mut vertices, mut differ, mut farthest) = (0u64, 0u64, 0u64, 0f32);
    let mut areas = 0f64;
    for (which, tessellator) in tessellators().into_iter().enumerate() {
        // All orders and origins with each domain.
        let (clockwise, lower_left) = (which % 4 < 2, which % 3 == 1);
        // u points to the right; v points down if the origin is the upper left corner.
        let tessellator = Tessellator { flipped: clockwise == lower_left, ..tessellator };
        let each = tessellator.primitive_vertices();
        for sets in sets(which, count()).chunks(100) {
            let divided: Vec<_> =
                sets.iter().map(|s| tessellator.divide(s.outer, s.inner)).collect();
            let all: u32 = divided.iter().map(|patch| each * patch.primitive_count()).sum();
            let source = evaluation(tessellator, clockwise);
            // SAFETY: the source is valid.
            let found = unsafe { native.run(&source, lower_left, sets, all as usize + MORE) };
            assert!(found.len() < all as usize + MORE, "{tessellator:?}: too many");
            let numbers: Vec<u32> = found.iter().map(|record| record[0] as u32).collect();
            assert!(numbers.is_sorted(), "{tessellator:?}: patches are in order");
            for (number, (levels, patch)) in sets.iter().zip(&divided).enumerate() {
                let what = || format!("{tessellator:?} {levels:?}");
                let range = numbers.partition_point(|n| *n < number as u32)
                    ..numbers.partition_point(|n| *n <= number as u32);
                let theirs: Vec<[f32; 2]> = found[range].iter().map(|r| [r[1], r[2]]).collect();
                patches += 1;
                vertices += theirs.len() as u64;
                let count = patch.primitive_count();
                if theirs.len() as u32 != each * count {
                    differ += 1;
                    eprintln!("{}: {count}, not {}", what(), theirs.len() as u32 / each);
                    continue;
                }
                let of = |primitive| (0..each).map(move |slot| (primitive, slot));
                let ours: Vec<[f32; 2]> = (0..count)
                    .flat_map(of)
                    .map(|(primitive, slot)| patch.coordinates(primitive, slot))
                    .map(|[u, v, _]| [u, v])
                    .collect();
                for (some, others) in [(&ours, &theirs), (&theirs, &ours)] {
                    let near = Near::of(others);
                    for point in some {
                        let distance = near.distance(*point);
                        let distance = distance.unwrap_or_else(|| panic!("{point:?} {}", what()));
                        farthest = farthest.max(distance);
                    }
                }
                if each == 3 && count > 0 {
                    let [a, b] = [&ours, &theirs].map(|all| {
                        let areas: Vec<f64> = all.chunks(3).map(area_of).collect();
                        // Thin triangles may be turned by rounding.
                        let sign = areas.iter().sum::<f64>().signum();
                        assert!(areas.iter().all(|area| area * sign > -1e-6), "{}", what());
                        areas.iter().sum::<f64>()
                    });
                    areas = areas.max((a - b).abs());
                    assert!((a - b).abs() < 1e-6, "{a}, not {b}: {}", what());
                }
            }
        }
    }
    eprintln!(
        "{patches} patches of {vertices} vertices: {differ} with another number of primitives; \
        vertices within {farthest}, areas within {areas}"
    );
    assert_eq!(differ, 0);
    native.close();
}
