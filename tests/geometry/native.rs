//! Captures with the device's own transform feedback. Each Vulkan command is recorded directly,
//! without the crate.

use ash::{ext, khr, vk};
use vkxfb::runtime::IndexType;
use vkxfb::topology::ProvokingVertex;

use crate::case::{Case, Query, Section, Span};
use crate::common::bare::BareInstance;
use crate::common::commands::{QueryKind, QueryPools};
use crate::common::discard;
use crate::common::native::{NativeDevice, WRITES};
use crate::compile::Modules;
use crate::drawn::DrawnCase;
use crate::generate::Streams;
use crate::program::{Emitted, Program};

pub struct Native {
    device: NativeDevice,
    /// The name of the driver, for its known faults.
    pub driver: String,
    pub float64: bool,
    pub int64: bool,
    pub streams: Streams,
    /// Whether primitives generated can be queried for other streams than 0.
    pub generated_streams: bool,
    /// Whether shaders can read buffers by their addresses.
    pub addresses: bool,
}

/// The memory and queries after a case.
pub struct Found {
    pub image: Vec<u8>,
    pub queries: Vec<[u64; 2]>,
}

impl Native {
    /// Opens the first device, or returns the reason why it cannot capture what the tests need.
    pub fn open() -> Result<Self, &'static str> {
        let instance = BareInstance::open();
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
        let mut addresses = vk::PhysicalDeviceBufferDeviceAddressFeatures::default();
        let mut has = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut xfb)
            .push_next(&mut provoking)
            .push_next(&mut generated)
            .push_next(&mut addresses);
        instance.features(&mut has);
        let core = has.features;
        let mut limits = vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default();
        instance.properties(&mut vk::PhysicalDeviceProperties2::default().push_next(&mut limits));
        let streams = match limits.max_transform_feedback_streams {
            _ if xfb.geometry_streams == vk::FALSE => Streams::One,
            ..4 => Streams::One,
            _ if limits.transform_feedback_streams_lines_triangles == vk::FALSE => Streams::Points,
            _ => Streams::All,
        };
        let generated_streams =
            generated.primitives_generated_query_with_non_zero_streams == vk::TRUE;
        let needed = [
            core.geometry_shader,
            core.multi_viewport,
            core.shader_clip_distance,
            core.shader_cull_distance,
            core.shader_tessellation_and_geometry_point_size,
            core.multi_draw_indirect,
            core.draw_indirect_first_instance,
            xfb.transform_feedback,
            provoking.provoking_vertex_last,
            provoking.transform_feedback_preserves_provoking_vertex,
            generated.primitives_generated_query,
            generated.primitives_generated_query_with_rasterizer_discard,
        ];
        if needed.contains(&vk::FALSE) {
            return Err("the device lacks features");
        }
        let enabled = vk::PhysicalDeviceFeatures::default()
            .geometry_shader(true)
            .multi_viewport(true)
            .shader_clip_distance(true)
            .shader_cull_distance(true)
            .shader_tessellation_and_geometry_point_size(true)
            .multi_draw_indirect(true)
            .draw_indirect_first_instance(true)
            .shader_float64(core.shader_float64 == vk::TRUE)
            .shader_int64(core.shader_int64 == vk::TRUE);
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default()
            .transform_feedback(true)
            .geometry_streams(streams != Streams::One);
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default()
            .provoking_vertex_last(true)
            .transform_feedback_preserves_provoking_vertex(true);
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default()
            .primitives_generated_query(true)
            .primitives_generated_query_with_rasterizer_discard(true)
            .primitives_generated_query_with_non_zero_streams(generated_streams);
        let addresses = addresses.buffer_device_address;
        let mut by_address = vk::PhysicalDeviceBufferDeviceAddressFeatures::default()
            .buffer_device_address(addresses == vk::TRUE);
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(enabled)
            .push_next(&mut xfb)
            .push_next(&mut provoking)
            .push_next(&mut generated)
            .push_next(&mut by_address);
        let extensions = [
            ext::transform_feedback::NAME.as_ptr(),
            ext::provoking_vertex::NAME.as_ptr(),
            ext::primitives_generated_query::NAME.as_ptr(),
            khr::draw_indirect_count::NAME.as_ptr(),
        ];
        Ok(Self {
            driver: instance.driver_name(),
            device: NativeDevice::new(instance.into_device(&mut features, &extensions)),
            float64: core.shader_float64 == vk::TRUE,
            int64: core.shader_int64 == vk::TRUE,
            streams,
            generated_streams,
            addresses: addresses == vk::TRUE,
        })
    }

    /// Returns an error with the reason if the device cannot capture a case.
    pub fn takes(&self, case: &Case) -> Result<(), &'static str> {
        let Program { streams, emitted, .. } = case.program;
        if streams > 1 && self.streams == Streams::One {
            return Err("the device has no four vertex streams");
        }
        if streams > 1 && emitted != Emitted::Points && self.streams == Streams::Points {
            return Err("the device has several vertex streams of points alone");
        }
        let is_of_other = |query: &Query| query.kind == QueryKind::Generated && query.stream > 0;
        if !self.generated_streams && case.queries.iter().any(is_of_other) {
            return Err("the device counts primitives generated of stream 0 alone");
        }
        Ok(())
    }

    pub fn take_messages(&self) -> Vec<String> {
        self.device.take_messages()
    }

    pub fn run(&self, case: &Case, modules: &Modules) -> Found {
        let shaders = [
            (vk::ShaderStageFlags::VERTEX, &*modules.vertex),
            (vk::ShaderStageFlags::GEOMETRY, &*modules.geometry),
        ];
        self.run_shaders(case, &shaders, None)
    }

    /// Runs a case with a vertex shader that draws what the geometry shader emits.
    pub fn run_drawn(&self, case: &Case, drawn: &DrawnCase) -> Found {
        let shaders = [(vk::ShaderStageFlags::VERTEX, &*drawn.words)];
        self.run_shaders(case, &shaders, Some(drawn))
    }

    fn run_shaders(
        &self,
        case: &Case,
        shaders: &[(vk::ShaderStageFlags, &[u32])],
        drawn: Option<&DrawnCase>,
    ) -> Found {
        use vk::BufferUsageFlags as Usage;
        let mut usage = Usage::VERTEX_BUFFER
            | Usage::INDEX_BUFFER
            | Usage::INDIRECT_BUFFER
            | Usage::TRANSFORM_FEEDBACK_BUFFER_EXT
            | Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let (mut input, mut topology) = (case.vertex_input(), case.topology);
        let mut memory = case.image.clone();
        if let Some(drawn) = drawn {
            (input, topology) = (drawn.vertex_input.clone(), drawn.topology);
            usage |= Usage::SHADER_DEVICE_ADDRESS | Usage::TRANSFER_DST;
            drawn.extend(&mut memory);
        }
        let (bindings, attributes) = discard::vertex_input(&input);
        let vertex_input = vk::PipelineVertexInputStateCreateInfo::default()
            .vertex_binding_descriptions(&bindings)
            .vertex_attribute_descriptions(&attributes);
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::from_raw(topology.as_raw()))
            .primitive_restart_enable(case.restart);
        let mode = match case.provoking {
            ProvokingVertex::First => vk::ProvokingVertexModeEXT::FIRST_VERTEX,
            ProvokingVertex::Last => vk::ProvokingVertexModeEXT::LAST_VERTEX,
        };
        let mut provoking = vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT::default()
            .provoking_vertex_mode(mode);
        let raster = vk::PipelineRasterizationStateCreateInfo::default()
            .rasterizer_discard_enable(true)
            .line_width(1.0)
            .push_next(&mut provoking);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .rasterization_state(&raster);
        // Each pool has a query for each of the case, whatever its kind.
        let count = case.queries.len().max(1) as u32;
        let (device, pools) = (&self.device, QueryPools::new(&self.device.raw, [count; 2]));
        // SAFETY: the modules are valid; every handle is of the device, and lives until the submission is done.
        let mut image = unsafe {
            device.run(shaders, info, (&memory, usage), |cmd, buffer, pipeline| {
                if let Some(drawn) = drawn {
                    drawn.upload(device, cmd, case, buffer);
                }
                for kind in [QueryKind::Stream, QueryKind::Generated] {
                    device.raw.cmd_reset_query_pool(cmd, pools.of(kind), 0, count);
                }
                Recording { device, case, cmd, buffer, pipeline, pools: &pools, drawn }.record();
            })
        };
        image.truncate(case.image.len());
        let result = |(place, query): (u32, &Query)| pools.result(query.kind, place).unwrap();
        let queries = (0..).zip(&case.queries).map(result).collect();
        // SAFETY: the submission was waited for.
        unsafe { pools.destroy() };
        Found { image, queries }
    }
}

/// Records the command buffer of a case.
struct Recording<'a> {
    device: &'a NativeDevice,
    case: &'a Case,
    cmd: vk::CommandBuffer,
    buffer: vk::Buffer,
    pipeline: vk::Pipeline,
    pools: &'a QueryPools,
    drawn: Option<&'a DrawnCase>,
}

impl Recording<'_> {
    /// # Safety
    /// The command buffer is being recorded, and the handles live until it was executed.
    unsafe fn record(&self) {
        unsafe {
            self.queries(|span| *span == Span::Whole, true);
            for (number, section) in self.case.sections.iter().enumerate() {
                if number > 0 {
                    let access = WRITES.1 | vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_READ_EXT;
                    self.device.barrier(self.cmd, WRITES, (WRITES.0, access));
                }
                self.device.in_pass(self.cmd, self.pipeline, || self.section(number, section));
            }
            self.queries(|span| *span == Span::Whole, false);
        }
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn section(&self, number: usize, section: &Section) {
        let (device, commands) = (&self.device.raw, &self.device.commands);
        let (cmd, case, buffer) = (self.cmd, self.case, self.buffer);
        unsafe {
            if self.drawn.is_none() {
                for (binding, vertices) in (0..).zip(&case.vertices) {
                    device.cmd_bind_vertex_buffers(cmd, binding, &[buffer], &[vertices.offset]);
                }
            }
            let index_type = match case.index_type {
                IndexType::Uint16 => vk::IndexType::UINT16,
                IndexType::Uint32 => vk::IndexType::UINT32,
                other => panic!("{other:?} needs an extension"),
            };
            device.cmd_bind_index_buffer(cmd, buffer, case.indices.offset, index_type);
            commands.bind_captures(cmd, buffer, &case.captures);
            commands.begin(cmd, buffer, &case.counters_of(&section.begin));
            for (place, draw) in section.draws.iter().enumerate() {
                let is_at = |span: &Span, end: fn(&std::ops::Range<usize>) -> usize| {
                    matches!(span, Span::Draws { section, draws }
                        if *section == number && end(draws) == place)
                };
                self.queries(|span| is_at(span, |draws| draws.start), true);
                match self.drawn {
                    Some(drawn) => drawn.record(device, cmd, buffer, [number, place]),
                    None => commands.draw(cmd, buffer, &draw.command()),
                }
                self.queries(|span| is_at(span, |draws| draws.end - 1), false);
            }
            commands.end(cmd, buffer, &case.counters_of(&section.end));
        }
    }

    /// Begins or ends some queries.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn queries(&self, which: impl Fn(&Span) -> bool, begin: bool) {
        let (cmd, xfb) = (self.cmd, self.device.commands.xfb());
        for (place, query) in (0..).zip(&self.case.queries) {
            if !which(&query.span) {
                continue;
            }
            let pool = self.pools.of(query.kind);
            unsafe {
                if begin {
                    let flags = vk::QueryControlFlags::empty();
                    (xfb.cmd_begin_query_indexed_ext)(cmd, pool, place, flags, query.stream);
                } else {
                    (xfb.cmd_end_query_indexed_ext)(cmd, pool, place, query.stream);
                }
            }
        }
    }
}
