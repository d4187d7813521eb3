//! Draws with geometry shaders, natively and again on the Vulkan layer, which draws them on a device whose geometry stage
//! is hidden. The pixels must be equal.

use ash::vk;

use crate::common::attachment::{self, Attachment, Pass};
use crate::common::bare::{BareDevice, BareInstance, HostBuffer};
use crate::common::skip::{Why, skip};
use crate::common::{compile_stage, layer};

const SIDE: u32 = 48;
const FORMAT: vk::Format = vk::Format::R32G32B32A32_SFLOAT;

/// The file to which a process on the layer writes its pixels.
const PIXELS: &str = "VKXFB_TEST_PIXELS";

/// Vertices and instances have attributes, and both stages push constants.
const VERTEX: &str = "#version 450
    layout(location = 0) in vec2 place;
    layout(location = 3) in vec4 tint;
    layout(push_constant) uniform Push { vec2 offset; } push;
    layout(location = 0) out vec4 colour;
    layout(location = 1) flat out uint number;
    void main() {
        gl_Position = vec4(place + push.offset, 0.5, 1.0);
        colour = tint;
        number = gl_VertexIndex + 100 * gl_InstanceIndex;
    }";

const FRAGMENT: &str = "#version 450
    layout(location = 0) in vec4 colour;
    layout(location = 1) flat in uint number;
    layout(push_constant) uniform Push { layout(offset = 16) vec4 added; } push;
    layout(location = 0) out vec4 drawn;
    void main() { drawn = colour + push.added + vec4(number, gl_PrimitiveID, 0, 0); }";

/// The constants: of the vertex, the geometry and the fragment shader. Those of the geometry shader lie between.
const CONSTANTS: [f32; 8] = [0.125, -0.0625, 0.25, 0.0, 0.0, 0.0, 0.5, 1.0];

/// A geometry shader, and what it takes.
struct Case {
    takes: &'static str,
    emits: &'static str,
    main: &'static str,
    topology: vk::PrimitiveTopology,
}

const CASES: [Case; 6] = [
    Case {
        takes: "triangles",
        emits: "triangle_strip, max_vertices = 3",
        main: "for (int i = 0; i < 3; i++) vertex(i, vec2(0.0));",
        topology: vk::PrimitiveTopology::TRIANGLE_STRIP,
    },
    Case {
        takes: "points",
        emits: "triangle_strip, max_vertices = 4",
        main: "for (int i = 0; i < 4; i++) vertex(0, vec2(i & 1, i >> 1) * push.size);",
        topology: vk::PrimitiveTopology::POINT_LIST,
    },
    // As the uniform buffer says, which the geometry shader alone reads.
    Case {
        takes: "triangles",
        emits: "triangle_strip, max_vertices = 3",
        main: "if ((gl_PrimitiveIDIn & 1) != values.culled) return;
            for (int i = 0; i < 3; i++) vertex(i, vec2(0.0));",
        topology: vk::PrimitiveTopology::TRIANGLE_LIST,
    },
    Case {
        takes: "triangles",
        emits: "line_strip, max_vertices = 4",
        main: "for (int i = 0; i < 4; i++) vertex(i % 3, vec2(0.0));",
        topology: vk::PrimitiveTopology::TRIANGLE_FAN,
    },
    Case {
        takes: "triangles_adjacency",
        emits: "triangle_strip, max_vertices = 6",
        main: "for (int i = 0; i < 6; i += 2) vertex(i, vec2(0.0)); EndPrimitive();
            for (int i = 1; i < 6; i += 2) vertex(i, vec2(push.size));",
        topology: vk::PrimitiveTopology::TRIANGLE_STRIP_WITH_ADJACENCY,
    },
    Case {
        takes: "lines, invocations = 2",
        emits: "triangle_strip, max_vertices = 4",
        main: "for (int i = 0; i < 4; i++)
            vertex(i >> 1, vec2(0.25 * (i & 1), 0.5 * gl_InvocationID - push.size));",
        topology: vk::PrimitiveTopology::LINE_STRIP,
    },
];

impl Case {
    fn geometry(&self) -> String {
        let Self { takes, emits, main, .. } = self;
        format!(
            "#version 450
            layout({takes}) in;
            layout({emits}) out;
            layout(set = 0, binding = 0) uniform Values {{ int culled; }} values;
            layout(push_constant) uniform Push {{ layout(offset = 8) float size; }} push;
            layout(location = 0) in vec4 colour_in[];
            layout(location = 1) flat in uint number_in[];
            layout(location = 0) out vec4 colour;
            layout(location = 1) flat out uint number;
            void vertex(int i, vec2 offset) {{
                gl_Position = gl_in[i].gl_Position + vec4(offset, 0.0, 0.0);
                colour = colour_in[i];
                number = number_in[i];
                gl_PrimitiveID = gl_PrimitiveIDIn;
                EmitVertex();
            }}
            void main() {{ {main} }}"
        )
    }
}

/// How a case is drawn.
#[derive(Debug, Clone, Copy)]
struct Way {
    indices: Option<vk::IndexType>,
    instances: u32,
    /// Whether the topology and the strides of vertex buffers are dynamic.
    is_dynamic: bool,
    is_secondary: bool,
}

impl Way {
    fn all() -> impl Iterator<Item = Self> {
        (0..12).map(|number| Self {
            indices: [None, Some(vk::IndexType::UINT16), Some(vk::IndexType::UINT32)][number % 3],
            instances: [1, 3][number / 6],
            is_dynamic: number / 3 % 2 == 1,
            is_secondary: number % 4 == 3,
        })
    }
}

const VERTICES: u32 = 24;
/// Where in the buffer the attributes of vertices and of instances, the indices of both types, and the uniform buffer are.
const PLACES: u64 = 0;
const TINTS: u64 = 256;
const INDICES: [u64; 2] = [512, 640];
const VALUES: u64 = 1024;
const END: u64 = VALUES + 256;

/// The number of indices, and the first one. With 16 bits the last index is in half a dword.
const COUNT: u32 = 21;
const FIRST: u32 = 1;

fn contents() -> Vec<u8> {
    let mut bytes = vec![0; END as usize];
    let mut put = |at: u64, data: &[u8]| {
        bytes[at as usize..at as usize + data.len()].copy_from_slice(data);
    };
    let place = |i: u32| [(i * 37 % 29) as f32 / 14.5 - 1.0, (i * 23 % 31) as f32 / 15.5 - 1.0];
    let places: Vec<[f32; 2]> = (0..VERTICES).map(place).collect();
    put(PLACES, bytemuck::cast_slice(&places));
    let tints: Vec<[f32; 4]> = (0..4).map(|i| [i as f32, 0.25, 0.5, 1.0]).collect();
    put(TINTS, bytemuck::cast_slice(&tints));
    let indices: Vec<u32> = (0..COUNT + FIRST).map(|i| i * 5 % 19).collect();
    let narrow: Vec<u16> = indices.iter().map(|index| *index as u16).collect();
    put(INDICES[0], bytemuck::cast_slice(&narrow));
    put(INDICES[1], bytemuck::cast_slice(&indices));
    put(VALUES, &1_i32.to_le_bytes());
    bytes
}

/// A device with geometry shaders, and what all draws read.
struct Scene {
    device: BareDevice,
    memory: HostBuffer,
    found: HostBuffer,
    layout: vk::PipelineLayout,
    set_layout: vk::DescriptorSetLayout,
    set: vk::DescriptorSet,
    descriptors: vk::DescriptorPool,
}

impl Scene {
    fn open() -> Option<Self> {
        let instance = BareInstance::open();
        let mut dynamic = vk::PhysicalDeviceExtendedDynamicStateFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default().push_next(&mut dynamic);
        instance.features(&mut has);
        if has.features.geometry_shader == vk::FALSE {
            return None;
        }
        let enabled = vk::PhysicalDeviceFeatures::default().geometry_shader(true);
        let mut dynamic = vk::PhysicalDeviceExtendedDynamicStateFeaturesEXT::default()
            .extended_dynamic_state(true);
        let mut features =
            vk::PhysicalDeviceFeatures2::default().features(enabled).push_next(&mut dynamic);
        let extensions = [ash::ext::extended_dynamic_state::NAME.as_ptr()];
        let device = instance.into_device(&mut features, &extensions);
        let usage = vk::BufferUsageFlags::VERTEX_BUFFER
            | vk::BufferUsageFlags::INDEX_BUFFER
            | vk::BufferUsageFlags::UNIFORM_BUFFER;
        let mut memory = device.host_buffer(END, usage);
        let pixels = u64::from(SIDE * SIDE) * 16;
        let found = device.host_buffer(pixels, vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: every handle is of the device.
        unsafe {
            memory.bytes_mut().copy_from_slice(&contents());
            let uniform = vk::DescriptorType::UNIFORM_BUFFER;
            let set_layout = device.set_layout(&[(0, uniform, vk::ShaderStageFlags::GEOMETRY)]);
            let (descriptors, [set]) = device.descriptor_sets([set_layout], &[(uniform, 1)]);
            device.write_set((set, 0, uniform), (memory.raw, VALUES, 4));
            let range =
                |stage_flags, offset, size| vk::PushConstantRange { stage_flags, offset, size };
            let ranges = [
                range(vk::ShaderStageFlags::VERTEX, 0, 8),
                range(vk::ShaderStageFlags::GEOMETRY, 8, 4),
                range(vk::ShaderStageFlags::FRAGMENT, 16, 16),
            ];
            let layouts = [set_layout];
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&layouts)
                .push_constant_ranges(&ranges);
            let layout = device.raw.create_pipeline_layout(&info, None).unwrap();
            Some(Self { device, memory, found, layout, set_layout, set, descriptors })
        }
    }

    /// Creates the pipeline of a case. If states are dynamic, the pipeline has others than are set.
    ///
    /// # Safety
    /// The render pass is of the device.
    unsafe fn pipeline(&self, case: &Case, is_dynamic: bool, pass: vk::RenderPass) -> vk::Pipeline {
        let words = [
            (vk::ShaderStageFlags::VERTEX, compile_stage("vert", VERTEX, &[])),
            (vk::ShaderStageFlags::GEOMETRY, compile_stage("geom", &case.geometry(), &[])),
            (vk::ShaderStageFlags::FRAGMENT, compile_stage("frag", FRAGMENT, &[])),
        ];
        let stages = [0, 1, 2].map(|number| (words[number].0, &words[number].1[..]));
        let stride = |stride| if is_dynamic { 4 * stride } else { stride };
        let bindings = [
            vk::VertexInputBindingDescription {
                binding: 0,
                stride: stride(8),
                input_rate: vk::VertexInputRate::VERTEX,
            },
            vk::VertexInputBindingDescription {
                binding: 2,
                stride: stride(16),
                input_rate: vk::VertexInputRate::INSTANCE,
            },
        ];
        let attributes = [
            vk::VertexInputAttributeDescription {
                location: 0,
                binding: 0,
                format: vk::Format::R32G32_SFLOAT,
                offset: 0,
            },
            vk::VertexInputAttributeDescription {
                location: 3,
                binding: 2,
                format: vk::Format::R32G32B32A32_SFLOAT,
                offset: 0,
            },
        ];
        let input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default().topology(case.topology);
        let side = SIDE as f32;
        let viewports =
            [vk::Viewport { width: side, height: side, max_depth: 1.0, ..Default::default() }];
        let scissors = [attachment::area(SIDE)];
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewports(&viewports)
            .scissors(&scissors);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let blends = [vk::PipelineColorBlendAttachmentState::default()
            .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let states =
            [vk::DynamicState::PRIMITIVE_TOPOLOGY, vk::DynamicState::VERTEX_INPUT_BINDING_STRIDE];
        let states = if is_dynamic { &states[..] } else { &[] };
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(states);
        unsafe {
            attachment::with_stages(&self.device.raw, &stages, |stages| {
                let info = vk::GraphicsPipelineCreateInfo::default()
                    .stages(stages)
                    .vertex_input_state(&input)
                    .input_assembly_state(&assembly)
                    .viewport_state(&viewport)
                    .rasterization_state(&raster)
                    .multisample_state(&samples)
                    .color_blend_state(&blend)
                    .dynamic_state(&dynamic)
                    .layout(self.layout)
                    .render_pass(pass);
                let cache = vk::PipelineCache::null();
                self.device.raw.create_graphics_pipelines(cache, &[info], None).unwrap()[0]
            })
        }
    }

    /// Records the draw of a case.
    ///
    /// # Safety
    /// The command buffer is in a pass, or continues one.
    unsafe fn record(&self, cmd: vk::CommandBuffer, case: &Case, way: Way, pipeline: vk::Pipeline) {
        let device = &self.device.raw;
        let point = vk::PipelineBindPoint::GRAPHICS;
        unsafe {
            device.cmd_bind_pipeline(cmd, point, pipeline);
            device.cmd_bind_descriptor_sets(cmd, point, self.layout, 0, &[self.set], &[]);
            let bytes: &[u8] = bytemuck::cast_slice(&CONSTANTS);
            for (stages, range) in [
                (vk::ShaderStageFlags::VERTEX, 0..8),
                (vk::ShaderStageFlags::GEOMETRY, 8..12),
                (vk::ShaderStageFlags::FRAGMENT, 16..32),
            ] {
                let part = &bytes[range.clone()];
                device.cmd_push_constants(cmd, self.layout, stages, range.start as u32, part);
            }
            let buffer = self.memory.raw;
            if way.is_dynamic {
                device.cmd_set_primitive_topology(cmd, case.topology);
                for (binding, at, stride) in [(0, PLACES, 8), (2, TINTS, 16)] {
                    let (buffers, offsets) = ([buffer], [at]);
                    let strides = [stride];
                    device.cmd_bind_vertex_buffers2(
                        cmd,
                        binding,
                        &buffers,
                        &offsets,
                        None,
                        Some(&strides),
                    );
                }
            } else {
                device.cmd_bind_vertex_buffers(cmd, 0, &[buffer], &[PLACES]);
                device.cmd_bind_vertex_buffers(cmd, 2, &[buffer], &[TINTS]);
            }
            match way.indices {
                None => device.cmd_draw(cmd, COUNT, way.instances, 2, 1),
                Some(index_type) => {
                    let at = INDICES[usize::from(index_type == vk::IndexType::UINT32)];
                    device.cmd_bind_index_buffer(cmd, buffer, at, index_type);
                    device.cmd_draw_indexed(cmd, COUNT, way.instances, FIRST, 3, 1);
                }
            }
        }
    }

    /// Draws a case, and returns the pixels.
    fn draw(&self, case: &Case, way: Way) -> Vec<u8> {
        let device = &self.device.raw;
        let writes = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        // SAFETY: every handle is of the device, and in use only until the submission is done.
        unsafe {
            let target = Attachment::new(device, FORMAT, SIDE);
            let pass = Pass::clearing(device, FORMAT, SIDE, &[target.view]);
            let pipeline = self.pipeline(case, way.is_dynamic, pass.raw);
            let pool = self.device.command_pool();
            let clears = [vk::ClearValue::default()];
            let secondary = way.is_secondary.then(|| {
                let level = vk::CommandBufferLevel::SECONDARY;
                let secondary = self.device.command_buffers(pool, level, 1)[0];
                let inherited = vk::CommandBufferInheritanceInfo::default().render_pass(pass.raw);
                let info = vk::CommandBufferBeginInfo::default()
                    .flags(vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE)
                    .inheritance_info(&inherited);
                device.begin_command_buffer(secondary, &info).unwrap();
                self.record(secondary, case, way, pipeline);
                device.end_command_buffer(secondary).unwrap();
                secondary
            });
            self.device.submit(writes, |cmd| {
                let begin = pass.begin_info(&clears);
                match secondary {
                    Some(secondary) => {
                        let contents = vk::SubpassContents::SECONDARY_COMMAND_BUFFERS;
                        device.cmd_begin_render_pass(cmd, &begin, contents);
                        device.cmd_execute_commands(cmd, &[secondary]);
                    }
                    None => {
                        device.cmd_begin_render_pass(cmd, &begin, vk::SubpassContents::INLINE);
                        self.record(cmd, case, way, pipeline);
                    }
                }
                device.cmd_end_render_pass(cmd);
                target.copy(device, cmd, SIDE, (self.found.raw, 0));
            });
            let pixels = self.found.bytes().to_vec();
            device.destroy_command_pool(pool, None);
            device.destroy_pipeline(pipeline, None);
            pass.destroy(device);
            target.destroy(device);
            pixels
        }
    }

    fn close(self) {
        let device = &self.device.raw;
        // SAFETY: nothing is in flight.
        unsafe {
            device.destroy_pipeline_layout(self.layout, None);
            device.destroy_descriptor_set_layout(self.set_layout, None);
            device.destroy_descriptor_pool(self.descriptors, None);
            self.device.destroy_buffer(self.memory);
            self.device.destroy_buffer(self.found);
        }
        let messages = self.device.take_messages();
        assert!(messages.is_empty(), "{messages:#?}");
    }
}

/// Returns the pixels of all cases, drawn in all ways. `None` without geometry shaders.
fn all_pixels() -> Option<Vec<u8>> {
    let scene = Scene::open()?;
    let mut all = Vec::new();
    for case in &CASES {
        for way in Way::all() {
            let pixels = scene.draw(case, way);
            let texels: &[[f32; 4]] = bytemuck::cast_slice(&pixels);
            let painted = texels.iter().filter(|texel| **texel != [0.0; 4]).count();
            assert!(painted > 10, "{}, {way:?}: {painted} pixels", case.main);
            all.extend(pixels);
        }
    }
    scene.close();
    Some(all)
}

#[test]
fn geometry_shaders_are_drawn_on_the_layer() {
    if layer::is_there() {
        let Some(pixels) = all_pixels() else {
            layer::skip_without("geometry shaders", true);
            return;
        };
        std::fs::write(std::env::var_os(PIXELS).unwrap(), pixels).unwrap();
        return;
    }
    let Some(native) = all_pixels() else {
        skip(Why::Expected("no geometry shaders".to_owned()));
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pixels");
    let variables = [(PIXELS, file.to_str().unwrap()), layer::DRAWS_STAGES];
    let Some(_) = layer::run_above_hiding(geometry_shaders_are_drawn_on_the_layer, &variables)
    else {
        return;
    };
    let drawn = std::fs::read(file).unwrap();
    let size = native.len() / CASES.len() / Way::all().count();
    let parts = native.chunks(size).zip(drawn.chunks(size)).enumerate();
    for (number, (native, drawn)) in parts {
        let case = &CASES[number / Way::all().count()];
        let way = Way::all().nth(number % Way::all().count());
        assert!(native == drawn, "{} -> {}: {}, {way:?}", case.takes, case.emits, case.main);
    }
    assert_eq!(native.len(), drawn.len());
}
