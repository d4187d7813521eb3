//! The device's own tessellation, captured by its transform feedback, against `shaders/src/tessellator.rs`: numbers, order of
//! patches, winding, and where vertices are.

use std::collections::HashMap;

use ash::{ext, vk};
use vkxfb_rewriter::tessellator::Tessellator;

use crate::case::{Draw, UNTOUCHED};
use crate::common::bare::BareInstance;
use crate::common::commands::{Counters, Range};
use crate::common::native::NativeDevice;
use crate::common::skip::{Why, skip};
use crate::common::{compile_stage, layer};
use crate::levels::{Levels, count, sets, tessellators};
use crate::program::modes;

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
    let modes = modes(tessellator, clockwise);
    format!(
        "#version 450
        layout({modes}) in;
        layout(location = 0) patch in float id;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0) out vec4 found;
        void main() {{ found = vec4(id, gl_TessCoord); }}"
    )
}

/// Room for vertices that should not be there.
const MORE: usize = 3000;

pub struct Native {
    device: NativeDevice,
    /// Which dynamic state of tessellation the device has.
    dynamic: Vec<vk::DynamicState>,
    /// Whether patch lists can have primitive restart.
    pub has_restart: bool,
}

impl Native {
    /// The first device, or why it cannot capture what the tests do.
    pub fn open() -> Result<Self, &'static str> {
        let instance = BareInstance::open();
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut state2 = vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default();
        let mut state3 = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default();
        let mut restart = vk::PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut xfb)
            .push_next(&mut restart)
            .push_next(&mut state2)
            .push_next(&mut state3);
        instance.features(&mut has);
        let core = has.features;
        let mut driver = vk::PhysicalDeviceDriverProperties::default();
        instance.properties(&mut vk::PhysicalDeviceProperties2::default().push_next(&mut driver));
        let has_points = state2.extended_dynamic_state2_patch_control_points == vk::TRUE;
        // lavapipe counts PrimitiveId from 0 again behind a restart.
        let has_restart = restart.primitive_topology_patch_list_restart == vk::TRUE
            && (driver.driver_id != vk::DriverId::MESA_LLVMPIPE || layer::is_there());
        let has_origin = state3.extended_dynamic_state3_tessellation_domain_origin == vk::TRUE;
        let mut state2 = vk::PhysicalDeviceExtendedDynamicState2FeaturesEXT::default()
            .extended_dynamic_state2_patch_control_points(has_points);
        let mut state3 = vk::PhysicalDeviceExtendedDynamicState3FeaturesEXT::default()
            .extended_dynamic_state3_tessellation_domain_origin(has_origin);
        let has_xfb = xfb.transform_feedback == vk::TRUE;
        assert!(has_xfb || !layer::is_there(), "the layer is there, and gives nothing");
        if core.tessellation_shader == vk::FALSE || !has_xfb {
            return Err("the device lacks tessellation shaders or transform feedback");
        }
        let mut xfb =
            vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default().transform_feedback(true);
        let enabled = vk::PhysicalDeviceFeatures::default()
            .tessellation_shader(true)
            .geometry_shader(core.geometry_shader == vk::TRUE);
        let mut features =
            vk::PhysicalDeviceFeatures2::default().features(enabled).push_next(&mut xfb);
        let (mut extensions, mut dynamic) = (vec![ext::transform_feedback::NAME.as_ptr()], vec![]);
        if has_points {
            features = features.push_next(&mut state2);
            extensions.push(ext::extended_dynamic_state2::NAME.as_ptr());
            dynamic.push(vk::DynamicState::PATCH_CONTROL_POINTS_EXT);
        }
        restart.p_next = std::ptr::null_mut();
        if has_restart {
            features = features.push_next(&mut restart);
            extensions.push(ext::primitive_topology_list_restart::NAME.as_ptr());
        }
        if has_origin {
            features = features.push_next(&mut state3);
            extensions.push(ext::extended_dynamic_state3::NAME.as_ptr());
            dynamic.push(vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT);
        }
        let device = NativeDevice::new(instance.into_device(&mut features, &extensions));
        Ok(Self { device, dynamic, has_restart })
    }

    /// Captures draws, into a buffer of so many dwords.
    ///
    /// # Safety
    /// The sources are valid shaders, and indices are within the buffer.
    pub unsafe fn capture(&self, capture: &Captured<'_>, dwords: usize) -> Vec<u32> {
        use vk::ShaderStageFlags as Stage;
        let [vertex, control, evaluation] = capture.sources;
        let mut stages = vec![
            (Stage::VERTEX, compile_stage("vert", vertex, &[])),
            (Stage::TESSELLATION_CONTROL, compile_stage("tesc", control, &[])),
            (Stage::TESSELLATION_EVALUATION, compile_stage("tese", evaluation, &[])),
        ];
        let geometry = capture.geometry.as_ref();
        stages.extend(geometry.map(|source| (Stage::GEOMETRY, compile_stage("geom", source, &[]))));
        let shaders: Vec<_> = stages.iter().map(|(stage, words)| (*stage, &**words)).collect();
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
        let mut vertex_input = vk::PipelineVertexInputStateCreateInfo::default();
        if !capture.levels.is_empty() {
            vertex_input = vertex_input
                .vertex_binding_descriptions(&bindings)
                .vertex_attribute_descriptions(&attributes);
        }
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::PATCH_LIST)
            .primitive_restart_enable(capture.restart);
        let mut origin = vk::PipelineTessellationDomainOriginStateCreateInfo::default();
        let mut tessellation =
            vk::PipelineTessellationStateCreateInfo::default().patch_control_points(32);
        let states = if capture.is_dynamic { &self.dynamic[..] } else { &[] };
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(states);
        if !states.contains(&vk::DynamicState::PATCH_CONTROL_POINTS_EXT) {
            tessellation.patch_control_points = capture.control_points;
        }
        if !states.contains(&vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT) {
            origin.domain_origin = capture.domain_origin();
        }
        let tessellation = tessellation.push_next(&mut origin);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .tessellation_state(&tessellation)
            .dynamic_state(&dynamic);

        let usage = vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER
            | vk::BufferUsageFlags::TRANSFORM_FEEDBACK_BUFFER_EXT;
        let levels: &[u8] = bytemuck::cast_slice(capture.levels);
        let indices: &[u8] = bytemuck::cast_slice(capture.indices);
        let mut image = [levels, indices].concat();
        let first = image.len().next_multiple_of(16);
        let captured = Range { offset: first as u64, size: 4 * dwords as u64 };
        image.resize(first + 4 * dwords, UNTOUCHED as u8);
        let (raw, commands) = (&self.device.raw, &self.device.commands);
        let image = unsafe {
            self.device.run(&shaders, info, (&image, usage), |cmd, buffer, pipeline| {
                self.device.in_pass(cmd, pipeline, || {
                    if capture.is_dynamic {
                        self.set_state(cmd, capture);
                    }
                    if !levels.is_empty() {
                        raw.cmd_bind_vertex_buffers(cmd, 0, &[buffer], &[0]);
                    }
                    let index_type = vk::IndexType::UINT16;
                    raw.cmd_bind_index_buffer(cmd, buffer, levels.len() as u64, index_type);
                    commands.bind_captures(cmd, buffer, &[Some(captured)]);
                    commands.begin(cmd, buffer, &Counters::default());
                    for draw in capture.draws {
                        commands.draw(cmd, buffer, &draw.command(0));
                    }
                    commands.end(cmd, buffer, &Counters::default());
                });
            })
        };
        let words = image[first..].as_chunks::<4>().0;
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// Sets what of the state of tessellation is dynamic.
    ///
    /// # Safety
    /// The command buffer is being recorded.
    unsafe fn set_state(&self, cmd: vk::CommandBuffer, capture: &Captured<'_>) {
        let (instance, device) = (self.device.instance(), &self.device.raw);
        // SAFETY: the caller's contract, and the device has the state.
        unsafe {
            if self.dynamic.contains(&vk::DynamicState::PATCH_CONTROL_POINTS_EXT) {
                let functions = ext::extended_dynamic_state2::Device::new(instance, device);
                functions.cmd_set_patch_control_points(cmd, capture.control_points);
            }
            if self.dynamic.contains(&vk::DynamicState::TESSELLATION_DOMAIN_ORIGIN_EXT) {
                let functions = ext::extended_dynamic_state3::Device::new(instance, device);
                functions.cmd_set_tessellation_domain_origin(cmd, capture.domain_origin());
            }
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
        let levels: Vec<f32> =
            sets.iter().flat_map(|s| s.outer.into_iter().chain(s.inner)).collect();
        // Several patches of high levels come out wrong in one draw (lavapipe 22.3.6).
        let draw = |first| Draw { first, ..Draw::vertices(1) };
        let draws: Vec<Draw> = (0..sets.len() as u32).map(draw).collect();
        let capture = Captured {
            sources: [VERTEX, CONTROL, evaluation],
            geometry: None,
            control_points: 1,
            lower_left,
            is_dynamic: false,
            restart: false,
            levels: &levels,
            indices: &[],
            draws: &draws,
        };
        let words = unsafe { self.capture(&capture, 4 * records) };
        let records = words.as_chunks::<4>().0.iter().take_while(|record| record[0] != UNTOUCHED);
        records.map(|record| record.map(f32::from_bits)).collect()
    }
}

/// What is captured natively.
pub struct Captured<'a> {
    pub sources: [&'a str; 3],
    pub geometry: Option<String>,
    pub control_points: u32,
    pub lower_left: bool,
    /// Whether the control points of a patch and the origin are dynamic state, where the device has it.
    pub is_dynamic: bool,
    /// Whether the largest index restarts patches.
    pub restart: bool,
    /// The vertex buffer, if the vertex shader reads levels.
    pub levels: &'a [f32],
    pub indices: &'a [u16],
    pub draws: &'a [Draw],
}

impl Captured<'_> {
    const fn domain_origin(&self) -> vk::TessellationDomainOrigin {
        if self.lower_left {
            vk::TessellationDomainOrigin::LOWER_LEFT
        } else {
            vk::TessellationDomainOrigin::UPPER_LEFT
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
        Err(reason) => return skip(Why::Expected(reason)),
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
}
