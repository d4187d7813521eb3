//! Vertex shaders that draw what geometry shaders emit: the pixels are those that the device's own geometry stage draws.

use ash::vk;
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

/// Where in memory the parameters of a draw, their address, and its indices are.
const PARAMETERS: u64 = 0;
const ADDRESS: u64 = 128;
const INDICES: u64 = 256;
const INDEX_COUNT: u32 = 48;
const END: u64 = INDICES + 4 * INDEX_COUNT as u64;

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
    fragment: &'static str,
}

impl Case {
    const fn new(takes: &'static str, emits: &'static str, main: &'static str) -> Self {
        let topology = PrimitiveTopology::TriangleStrip;
        Self { takes, emits, main, topology, is_varying: false, fragment: FRAGMENT }
    }

    const fn of(self, topology: PrimitiveTopology) -> Self {
        Self { topology, ..self }
    }

    const fn varying(self) -> Self {
        Self { is_varying: true, ..self }
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
    .of(PrimitiveTopology::PointList),
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
    .of(PrimitiveTopology::TriangleFan),
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
    ),
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
    .of(PrimitiveTopology::LineListWithAdjacency),
    Case::new(
        "triangles",
        "triangle_strip, max_vertices = 3",
        "for (int i = 0; i < 3; i++) { gl_PrimitiveID = 100 + gl_PrimitiveIDIn; vertex(i, vec4(0.0)); }",
    )
    .fragment(FRAGMENT_OF_PRIMITIVE),
];

/// A device on which cases are drawn, and a buffer with parameters.
struct Canvas {
    device: BareDevice,
    vertex: Vec<u32>,
}

impl Canvas {
    /// Opens a device on which geometry shaders that emit points must write their size, or must not.
    fn open(has_point_size: bool) -> Option<Self> {
        let instance = BareInstance::open();
        let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
        let mut has = vk::PhysicalDeviceFeatures2::default().push_next(&mut addresses);
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
        let mut features =
            vk::PhysicalDeviceFeatures2::default().features(enabled).push_next(&mut addresses);
        let device = instance.into_device(&mut features, &[]);
        Some(Self { device, vertex: compile_stage("vert", VERTEX, &[]) })
    }

    /// Draws a case, and returns the pixels: by the device's own geometry stage, or by a vertex shader.
    fn draw(&self, case: &Case, indexed: bool, instances: u32, by_vertex_shader: bool) -> Vec<u8> {
        let geometry = compile_stage("geom", &case.geometry(), &[]);
        let fragment = compile_stage("frag", case.fragment, &[]);
        let drawn = by_vertex_shader.then(|| self.lower(case, &geometry, &fragment).unwrap());
        let device = &self.device.raw;
        let count = INDEX_COUNT - 3;
        let usage = vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS
            | vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER;
        let info = vk::BufferCreateInfo::default().size(END).usage(usage);
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
            memory.bytes_mut().copy_from_slice(&contents(case, indexed, count, instances, address));
            let target = Attachment::new(device, FORMAT, SIZE);
            let pass = Pass::clearing(device, FORMAT, SIZE, &[target.view]);
            let layout = device.create_pipeline_layout(&Default::default(), None).unwrap();
            let (vertex, fragment, vertices) = match &drawn {
                Some((drawn, fragment)) => (&drawn.words, fragment, Some(drawn.vertices)),
                None => (&self.vertex, &fragment, None),
            };
            let mut shaders = vec![
                (vk::ShaderStageFlags::VERTEX, &vertex[..]),
                (vk::ShaderStageFlags::FRAGMENT, &fragment[..]),
            ];
            let mut topology = vk::PrimitiveTopology::from_raw(case.topology.as_raw());
            match &drawn {
                Some((drawn, _)) => topology = list(drawn),
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
            let drawing = Drawing::new(SIZE, blend, 1);
            let pipeline = attachment::with_stages(device, &shaders, |stages| {
                let chain = std::ptr::null();
                drawing
                    .pipeline_with_input(device, stages, &input, topology, layout, pass.raw, chain)
            });
            self.device.submit(writes, |cmd| {
                let clears = [vk::ClearValue::default()];
                pass.instance(device, cmd, &clears, pipeline, || match vertices {
                    Some(vertices) => {
                        let items = case.topology.primitive_count(count) as u32;
                        device.cmd_bind_vertex_buffers(cmd, 0, &[memory.raw], &[ADDRESS]);
                        device.cmd_draw(cmd, items * vertices, instances, 0, 0);
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
    ) -> Result<(drawn::Drawn, Vec<u32>), LowerError> {
        let (geometry, vertex) = (Shader::new(geometry), Shader::new(&self.vertex));
        let free = drawn::fragment::output_locations(&geometry)?;
        let fragment = drawn::fragment::lower(&Shader::new(fragment), free)?;
        validate(&fragment.words, "vulkan1.2");
        let input = VertexInput::default();
        let mut options = drawn::Options::new(&vertex, &input);
        options.primitive_id = fragment.primitive_id;
        let drawn = drawn::lower(&geometry, &options)?;
        validate(&drawn.words, "vulkan1.2");
        assert_eq!(drawn.geometry.primitives.is_none(), case.is_varying, "{}", case.main);
        Ok((drawn, fragment.words))
    }
}

/// The list that a drawn shader draws.
fn list(drawn: &drawn::Drawn) -> vk::PrimitiveTopology {
    match drawn.geometry.output_vertices {
        1 => vk::PrimitiveTopology::POINT_LIST,
        2 => vk::PrimitiveTopology::LINE_LIST,
        _ => vk::PrimitiveTopology::TRIANGLE_LIST,
    }
}

/// The memory of a draw: parameters for a vertex shader, and indices.
fn contents(case: &Case, indexed: bool, count: u32, instances: u32, memory: u64) -> Vec<u8> {
    let mut draw = DrawSysvals {
        flags: draw_flags(case.topology, 0, ProvokingVertex::First),
        item_count: case.topology.primitive_count(count) as u32,
        instance_count: instances,
        base_vertex: 3,
        xfb_topology: case.topology.xfb_topology() as u32,
        first_instance: 4,
        ..DrawSysvals::default()
    };
    if indexed {
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
        for (indexed, instances) in [(false, 1), (true, 1), (false, 3), (true, 2)] {
            let [native, drawn] = [false, true]
                .map(|by_vertex_shader| canvas.draw(case, indexed, instances, by_vertex_shader));
            let texels = |bytes: &[u8]| -> Vec<[f32; 4]> { bytemuck::cast_slice(bytes).to_vec() };
            let (native, drawn) = (texels(&native), texels(&drawn));
            let painted = native.iter().filter(|texel| **texel != [0.0; 4]).count();
            assert!(painted > 10, "{}: {painted} pixels", case.main);
            let differ = native.iter().zip(&drawn).filter(|(a, b)| a != b).count();
            let what = format!("{} -> {}: {}", case.takes, case.emits, case.main);
            assert_eq!(differ, 0, "{what}, indexed {indexed}, {instances} instances");
        }
    }
}
