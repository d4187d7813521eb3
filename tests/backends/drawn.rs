//! Vertex shaders that draw what geometry shaders emit: the pixels are those that the device's own geometry stage draws.

use ash::{ext, vk};
use vkxfb::lower::{LowerError, Shader, drawn};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_rewriter::sysval::{DrawSysvals, Sysvals, draw_flags, split};

use crate::common::attachment::{self, Attachment, Drawing, Pass};
use crate::common::bare::{BareDevice, BareInstance};
use crate::common::skip::{Why, skip};
use crate::common::{compile_stage, validate};

const SIZE: u32 = 64;
const FORMAT: vk::Format = vk::Format::R32G32B32A32_SFLOAT;

/// Where in memory the parameters of a draw, their address, its indices, and those of the list are.
const PARAMETERS: u64 = 0;
const ADDRESS: u64 = 128;
const INDICES: u64 = 256;
const INDEX_COUNT: u32 = 48;
const LIST: u64 = INDICES + 4 * INDEX_COUNT as u64;
/// The number of input primitives in a part of a list.
const PART: u32 = 7;

/// A draw of a case.
#[derive(Debug, Clone, Copy)]
struct How {
    indexed: bool,
    instances: u32,
    provoking: ProvokingVertex,
}

/// By what a case is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// The device's own geometry stage.
    Native,
    /// A vertex shader, whose list has indices where primitives share vertices.
    Indices,
    /// The same, in parts: a few input primitives of an instance each.
    Parts,
    /// A vertex shader, whose list never has indices.
    Vertices,
}

/// The same vertices for all cases. Positions are exact, and triangles overlap.
const VERTEX: &str = "#version 450
    layout(location = 0) out vec4 colour;
    layout(location = 1) flat out uint number;
    void main() {
        uint i = uint(gl_VertexIndex) * 7u + uint(gl_InstanceIndex) * 3u;
        vec2 place = vec2((i * 37u) % 61u, (i * 23u + 5u) % 59u) / 32.0 - 1.0;
        gl_Position = vec4(place, float(i % 16u) / 16.0, 1.0);
        colour = vec4(i % 5u, i % 7u, i % 11u, 12u) / 12.0;
        number = i;
    }";

const FRAGMENT: &str = "#version 450
    layout(location = 0) in vec4 colour;
    layout(location = 1) flat in uint number;
    layout(location = 0) out vec4 drawn;
    void main() { drawn = colour + float(number); }";

const FRAGMENT_OF_PRIMITIVE: &str = "#version 450
    layout(location = 0) in vec4 colour;
    layout(location = 0) out vec4 drawn;
    void main() { drawn = colour + float(gl_PrimitiveID); }";

/// What a geometry shader declares, and what it does.
struct Case {
    takes: &'static str,
    emits: &'static str,
    main: &'static str,
    topology: PrimitiveTopology,
    /// Whether a list has other vertices than those that the shader emits.
    is_varying: bool,
    /// The number of vertices of an input primitive, if the list has indices.
    shared: Option<u32>,
    fragment: &'static str,
}

impl Case {
    const fn new(takes: &'static str, emits: &'static str, main: &'static str) -> Self {
        let topology = PrimitiveTopology::TriangleStrip;
        let (is_varying, shared, fragment) = (false, None, FRAGMENT);
        Self { takes, emits, main, topology, is_varying, shared, fragment }
    }

    const fn of(self, topology: PrimitiveTopology) -> Self {
        Self { topology, ..self }
    }

    const fn varying(self) -> Self {
        Self { is_varying: true, ..self }
    }

    const fn shared(self, vertices: u32) -> Self {
        Self { shared: Some(vertices), ..self }
    }

    const fn fragment(self, fragment: &'static str) -> Self {
        Self { fragment, ..self }
    }

    fn geometry(&self) -> String {
        let Self { takes, emits, main, .. } = self;
        format!(
            "#version 450
            layout({takes}) in;
            layout({emits}) out;
            layout(location = 0) in vec4 colour_in[];
            layout(location = 1) flat in uint number_in[];
            layout(location = 0) out vec4 colour;
            layout(location = 1) flat out uint number;
            void vertex(int i, vec4 offset) {{
                gl_Position = gl_in[i].gl_Position + offset;
                colour = colour_in[i];
                number = number_in[i];
                EmitVertex();
            }}
            void main() {{ {main} }}"
        )
    }
}

const CASES: &[Case] = &[
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 3",
        "for (int i = 0; i < 3; i++) vertex(i, vec4(0.0));",
    ),
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 3",
        "if ((gl_PrimitiveIDIn & 1) == 0) for (int i = 0; i < 3; i++) vertex(i, vec4(0.0));",
    )
    .varying(),
    Case::new(
        "points",
        "triangle_strip, max_vertices = 4",
        "for (int i = 0; i < 4; i++) vertex(0, vec4(i & 1, i >> 1, 0.0, 0.0) * 0.25);",
    )
    .of(PrimitiveTopology::PointList)
    .shared(4),
    // As the data say: nothing, one triangle or two.
    Case::new(
        "points",
        "triangle_strip, max_vertices = 4",
        "for (int i = 0; i < int(number_in[0] % 5u); i++)
            vertex(0, vec4(i & 1, i >> 1, 0.0, 0.0) * 0.25);",
    )
    .of(PrimitiveTopology::PointList)
    .varying(),
    Case::new(
        "triangles",
        "line_strip, max_vertices = 4",
        "for (int i = 0; i < 4; i++) vertex(i % 3, vec4(0.0));",
    )
    .of(PrimitiveTopology::TriangleFan)
    .shared(4),
    Case::new("lines", "points, max_vertices = 2", "vertex(0, vec4(0.0)); vertex(1, vec4(0.0));")
        .of(PrimitiveTopology::LineStrip),
    Case::new(
        "lines",
        "points, max_vertices = 2",
        "gl_PointSize = 3.0; vertex(0, vec4(0.0)); gl_PointSize = 5.0; vertex(1, vec4(0.0));",
    )
    .of(PrimitiveTopology::LineList),
    Case::new(
        "triangles, invocations = 3",
        "triangle_strip, max_vertices = 3",
        "for (int i = 0; i < 3; i++) vertex(i, vec4(float(gl_InvocationID) * 0.125));",
    )
    .of(PrimitiveTopology::TriangleList),
    // Strips that are too short come before, between and after others.
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 12",
        "vertex(2, vec4(0.0)); vertex(1, vec4(0.0)); EndPrimitive();
        for (int i = 0; i < 4; i++) vertex(i % 3, vec4(0.0625 * i)); EndPrimitive();
        vertex(0, vec4(0.0)); EndPrimitive();
        for (int i = 3; i > 0; i--) vertex(i % 3, vec4(-0.125)); EndPrimitive();
        vertex(1, vec4(0.0)); vertex(0, vec4(0.0));",
    )
    .shared(7),
    // Some of the invocations emit two strips, some none, and some only what is no primitive.
    Case::new(
        "triangles, invocations = 3",
        "triangle_strip, max_vertices = 10",
        "float d = 0.125 * gl_InvocationID;
        if (((gl_PrimitiveIDIn + gl_InvocationID) % 3) != 0) {
            for (int i = 0; i < 5; i++) vertex(i % 3, vec4(0.25 * (i / 3) + d)); EndPrimitive();
            for (int i = 0; i < 4; i++) vertex(2 - i % 3, vec4(d - 0.25 * (i / 3)));
        } else vertex(1, vec4(d));",
    )
    .varying()
    .shared(27),
    // Vertices that are too many are left out.
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 6",
        "for (int i = 0; i < 5; i++) vertex(i % 3, vec4(0.125 * i)); EndPrimitive();
        for (int i = 0; i < 4; i++) vertex(i % 3, vec4(-0.125 * i));",
    )
    .shared(5),
    Case::new(
        "triangles_adjacency",
        "triangle_strip, max_vertices = 6",
        "for (int i = 0; i < 6; i += 2) vertex(i, vec4(0.0)); EndPrimitive();
        for (int i = 1; i < 6; i += 2) vertex(i, vec4(0.0));",
    )
    .of(PrimitiveTopology::TriangleStripWithAdjacency),
    Case::new(
        "lines_adjacency",
        "line_strip, max_vertices = 4",
        "for (int i = 0; i < 4; i++) vertex(i, vec4(0.0));",
    )
    .of(PrimitiveTopology::LineListWithAdjacency)
    .shared(4),
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 3",
        "for (int i = 0; i < 3; i++) { gl_PrimitiveID = 100 + gl_PrimitiveIDIn; vertex(i, vec4(0.0)); }",
    )
    .fragment(FRAGMENT_OF_PRIMITIVE),
    // Each vertex has another one: that of the provoking vertex counts.
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 6",
        "for (int i = 0; i < 6; i++) {
            gl_PrimitiveID = 100 * i + gl_PrimitiveIDIn;
            vertex(i % 3, vec4(0.25 * (i / 3)));
        }",
    )
    .shared(6)
    .fragment(FRAGMENT_OF_PRIMITIVE),
];

/// A device on which cases are drawn, and a buffer with parameters.
struct Canvas {
    device: BareDevice,
    vertex: Vec<u32>,
    /// Whether the last vertex of a primitive can be the provoking one.
    last_vertex: bool,
}

impl Canvas {
    /// Opens a device on which geometry shaders that emit points must write their size, or must not.
    fn open(has_point_size: bool) -> Option<Self> {
        let instance = BareInstance::open();
        let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut addresses)
            .push_next(&mut provoking);
        instance.features(&mut has);
        let core = has.features;
        let needed = [
            core.geometry_shader,
            core.shader_tessellation_and_geometry_point_size,
            core.large_points,
            addresses.buffer_device_address,
        ];
        if needed.contains(&vk::FALSE) {
            return None;
        }
        let enabled = vk::PhysicalDeviceFeatures::default()
            .geometry_shader(true)
            .shader_tessellation_and_geometry_point_size(has_point_size)
            .large_points(true);
        let mut addresses =
            vk::PhysicalDeviceBufferDeviceAddressFeatures::default().buffer_device_address(true);
        let last_vertex = provoking.provoking_vertex_last == vk::TRUE;
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default()
            .provoking_vertex_last(last_vertex);
        let mut features =
            vk::PhysicalDeviceFeatures2::default().features(enabled).push_next(&mut addresses);
        let mut extensions = Vec::new();
        if last_vertex {
            features = features.push_next(&mut provoking);
            extensions.push(ext::provoking_vertex::NAME.as_ptr());
        }
        let device = instance.into_device(&mut features, &extensions);
        Some(Self { device, vertex: compile_stage("vert", VERTEX, &[]), last_vertex })
    }

    /// Draws a case, and returns the pixels.
    fn draw(&self, case: &Case, how: How, by: By) -> Vec<u8> {
        let How { indexed, instances, provoking } = how;
        let geometry = compile_stage("geom", &case.geometry(), &[]);
        let fragment = compile_stage("frag", case.fragment, &[]);
        let drawn = (by != By::Native).then(|| self.lower(case, &geometry, &fragment, by).unwrap());
        let device = &self.device.raw;
        let count = INDEX_COUNT - 3;
        let items = case.topology.primitive_count(count) as u32;
        let list = drawn.as_ref().and_then(|(drawn, _)| drawn.indices.as_ref().ok());
        let list = list.map(|indices| match by {
            By::Parts => indices.list(PART, provoking),
            _ => indices.list(items, provoking),
        });
        let list: &[u8] = list.as_deref().map_or(&[], bytemuck::cast_slice);
        let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER;
        // An index list is bound in any case.
        let size = LIST + list.len().max(4) as u64;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        let flags =
            vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut memory = self.device.host_buffer_with(&info, (&raw const flags).cast());
        let pixels = u64::from(SIZE * SIZE) * 16;
        let found = self.device.host_buffer(pixels, vk::BufferUsageFlags::TRANSFER_DST);
        let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        // SAFETY: every handle is of the device, and in use only until the submission is done.
        unsafe {
            let info = vk::BufferDeviceAddressInfo::default().buffer(memory.raw);
            let address = device.get_buffer_device_address(&info);
            let mut bytes = contents(case, how, count, address);
            bytes.extend_from_slice(list);
            bytes.resize(size as usize, 0);
            memory.bytes_mut().copy_from_slice(&bytes);
            let target = Attachment::new(device, FORMAT, SIZE);
            let pass = Pass::clearing(device, FORMAT, SIZE, &[target.view]);
            let layout = device.create_pipeline_layout(&Default::default(), None).unwrap();
            let (vertex, fragment) = match &drawn {
                Some((drawn, fragment)) => (&drawn.words, fragment),
                None => (&self.vertex, &fragment),
            };
            let mut shaders = vec![
                (vk::ShaderStageFlags::VERTEX, &vertex[..]),
                (vk::ShaderStageFlags::FRAGMENT, &fragment[..]),
            ];
            let mut topology = vk::PrimitiveTopology::from_raw(case.topology.as_raw());
            match &drawn {
                Some((drawn, _)) => topology = list_of(drawn),
                None => shaders.push((vk::ShaderStageFlags::GEOMETRY, &geometry)),
            }
            let bindings = [vk::VertexInputBindingDescription {
                binding: 0,
                stride: 0,
                input_rate: vk::VertexInputRate::INSTANCE,
            }];
            let attributes = [vk::VertexInputAttributeDescription {
                location: drawn::PARAMETERS_LOCATION,
                binding: 0,
                format: vk::Format::R32G32_UINT,
                offset: 0,
            }];
            let mut input = vk::PipelineVertexInputStateCreateInfo::default();
            if drawn.is_some() {
                input = input
                    .vertex_binding_descriptions(&bindings)
                    .vertex_attribute_descriptions(&attributes);
            }
            let blend = vk::PipelineColorBlendAttachmentState::default()
                .color_write_mask(vk::ColorComponentFlags::RGBA);
            let mut drawing = Drawing::new(SIZE, blend, 1);
            drawing.last_vertex = provoking == ProvokingVertex::Last;
            let pipeline = attachment::with_stages(device, &shaders, |stages| {
                let chain = std::ptr::null();
                drawing
                    .pipeline_with_input(device, stages, &input, topology, layout, pass.raw, chain)
            });
            self.device.submit(writes, |cmd| {
                let clears = [vk::ClearValue::default()];
                pass.instance(device, cmd, &clears, pipeline, || match &drawn {
                    Some((drawn, _)) => {
                        device.cmd_bind_vertex_buffers(cmd, 0, &[memory.raw], &[ADDRESS]);
                        let index_type = vk::IndexType::UINT16;
                        device.cmd_bind_index_buffer(cmd, memory.raw, LIST, index_type);
                        draw_list(device, cmd, drawn, items, instances, by);
                    }
                    None if indexed => {
                        let index_type = vk::IndexType::UINT32;
                        device.cmd_bind_index_buffer(cmd, memory.raw, INDICES, index_type);
                        device.cmd_draw_indexed(cmd, count, instances, 2, 1, 4);
                    }
                    None => device.cmd_draw(cmd, count, instances, 3, 4),
                });
                target.copy(device, cmd, SIZE, (found.raw, 0));
            });
            let result = found.bytes().to_vec();
            self.device.destroy_buffer(memory);
            self.device.destroy_buffer(found);
            device.destroy_pipeline(pipeline, None);
            device.destroy_pipeline_layout(layout, None);
            pass.destroy(device);
            target.destroy(device);
            result
        }
    }

    fn lower(
        &self,
        case: &Case,
        geometry: &[u32],
        fragment: &[u32],
        by: By,
    ) -> Result<(drawn::Drawn, Vec<u32>), LowerError> {
        let (geometry, vertex) = (Shader::new(geometry), Shader::new(&self.vertex));
        let free = drawn::output_locations(&geometry)?;
        let fragment = drawn::fragment::lower(&Shader::new(fragment), free, false)?;
        validate(&fragment.words, "vulkan1.2");
        let input = VertexInput::default();
        let mut options = drawn::Options::new(&vertex, &input).unindexed(by == By::Vertices);
        options.primitive_id = fragment.primitive_id;
        let drawn = drawn::lower(&geometry, &options)?;
        validate(&drawn.words, "vulkan1.2");
        assert_eq!(!drawn.is_fixed, case.is_varying, "{}", case.main);
        let vertices = drawn.indices.as_ref().ok().map(|_| drawn.vertices);
        assert_eq!(vertices, case.shared.filter(|_| by != By::Vertices), "{}", case.main);
        Ok((drawn, fragment.words))
    }
}

/// Draws the list of some input primitives.
///
/// # Safety
/// The command buffer is being recorded, and the pipeline, the parameters and the indices are bound.
unsafe fn draw_list(
    device: &ash::Device,
    cmd: vk::CommandBuffer,
    drawn: &drawn::Drawn,
    items: u32,
    instances: u32,
    by: By,
) {
    unsafe {
        match &drawn.indices {
            Err(_) => device.cmd_draw(cmd, items * drawn.vertices, instances, 0, 0),
            Ok(indices) if by == By::Parts => {
                for instance in 0..instances {
                    for first in (0..items).step_by(PART as usize) {
                        let count = indices.count() * PART.min(items - first);
                        let offset = (first * drawn.vertices).cast_signed();
                        device.cmd_draw_indexed(cmd, count, 1, 0, offset, instance);
                    }
                }
            }
            Ok(indices) => {
                device.cmd_draw_indexed(cmd, items * indices.count(), instances, 0, 0, 0);
            }
        }
    }
}

/// The list that a drawn shader draws.
fn list_of(drawn: &drawn::Drawn) -> vk::PrimitiveTopology {
    match drawn.geometry.output_vertices {
        1 => vk::PrimitiveTopology::POINT_LIST,
        2 => vk::PrimitiveTopology::LINE_LIST,
        _ => vk::PrimitiveTopology::TRIANGLE_LIST,
    }
}

/// The memory of a draw: parameters for a vertex shader, and indices.
fn contents(case: &Case, how: How, count: u32, memory: u64) -> Vec<u8> {
    let mut draw = DrawSysvals {
        flags: draw_flags(case.topology, 0, how.provoking),
        item_count: case.topology.primitive_count(count) as u32,
        instance_count: how.instances,
        base_vertex: 3,
        xfb_topology: case.topology.xfb_topology() as u32,
        first_instance: 4,
        ..DrawSysvals::default()
    };
    if how.indexed {
        draw.flags |= 4;
        draw.base_vertex = 1;
        draw.index_address = split(memory + INDICES + 4 * 2);
        draw.index_limit = INDEX_COUNT - 2;
    }
    let sysvals = Sysvals { draw, source: split(memory + PARAMETERS), ..Sysvals::default() };
    let mut bytes = bytemuck::bytes_of(&sysvals).to_vec();
    bytes.extend_from_slice(bytemuck::cast_slice(&split(memory + PARAMETERS)));
    bytes.resize(INDICES as usize, 0);
    let indices: Vec<u32> = (0..INDEX_COUNT).map(|i| (i * 5) % 17).collect();
    bytes.extend_from_slice(bytemuck::cast_slice(&indices));
    bytes
}

#[test]
fn the_pixels_are_those_of_the_geometry_stage() {
    let [Some(without), Some(with)] = [false, true].map(Canvas::open) else {
        skip(Why::Expected("no geometry shaders, or no addresses of buffers"));
        return;
    };
    for case in CASES {
        let canvas = if case.main.contains("gl_PointSize") { &with } else { &without };
        for (indexed, instances, provoking) in [
            (false, 1, ProvokingVertex::First),
            (true, 1, ProvokingVertex::Last),
            (false, 3, ProvokingVertex::Last),
            (true, 2, ProvokingVertex::First),
        ] {
            if provoking == ProvokingVertex::Last && !canvas.last_vertex {
                continue;
            }
            let how = How { indexed, instances, provoking };
            let texels = |by| -> Vec<[f32; 4]> {
                bytemuck::cast_slice(&canvas.draw(case, how, by)).to_vec()
            };
            let native = texels(By::Native);
            let painted = native.iter().filter(|texel| **texel != [0.0; 4]).count();
            assert!(painted > 10, "{}: {painted} pixels", case.main);
            let ways: &[By] = match case.shared {
                Some(_) => &[By::Indices, By::Parts, By::Vertices],
                None => &[By::Vertices],
            };
            for by in ways {
                let differ = native.iter().zip(&texels(*by)).filter(|(a, b)| a != b).count();
                let what = format!("{} -> {}: {}", case.takes, case.emits, case.main);
                assert_eq!(differ, 0, "{what}, {how:?}, {by:?}");
            }
        }
    }
}
