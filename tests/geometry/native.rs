//! Captures with the device's own transform feedback. Each Vulkan command is recorded directly,
//! without the crate.

mod pipeline;

use ash::{ext, khr, vk};

use crate::case::{Call, Case, Draw, How, Kind, Query, Section, Span};
use crate::common::attachment::area;
use crate::common::bare::{BareDevice, BareInstance};
use crate::compile::Modules;
use crate::generate::Streams;
use crate::program::{Emitted, Program};
use vkxfb::runtime::IndexType;

pub struct Native {
    device: BareDevice,
    xfb: ext::transform_feedback::Device,
    indirect_count: khr::draw_indirect_count::Device,
    pass: vk::RenderPass,
    framebuffer: vk::Framebuffer,
    layout: vk::PipelineLayout,
    pub float64: bool,
    pub int64: bool,
    pub streams: Streams,
    /// Whether primitives generated can be queried for other streams than 0.
    pub generated_streams: bool,
}

/// The memory and queries after a case.
pub struct Found {
    pub image: Vec<u8>,
    pub queries: Vec<[u64; 2]>,
}

/// The stages and accesses with which transform feedback writes.
const WRITES: (vk::PipelineStageFlags, vk::AccessFlags) = (
    vk::PipelineStageFlags::TRANSFORM_FEEDBACK_EXT,
    vk::AccessFlags::from_raw(
        vk::AccessFlags::TRANSFORM_FEEDBACK_WRITE_EXT.as_raw()
            | vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT.as_raw(),
    ),
);

impl Native {
    /// Opens the first device, or returns the reason why it cannot capture what the tests need.
    pub fn open() -> Result<Self, &'static str> {
        let instance = BareInstance::open();
        let mut xfb = vk::PhysicalDeviceTransformFeedbackFeaturesEXT::default();
        let mut provoking = vk::PhysicalDeviceProvokingVertexFeaturesEXT::default();
        let mut generated = vk::PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT::default();
        let mut has = vk::PhysicalDeviceFeatures2::default()
            .push_next(&mut xfb)
            .push_next(&mut provoking)
            .push_next(&mut generated);
        // SAFETY: the instance is live.
        unsafe { instance.raw.get_physical_device_features2(instance.physical_device(), &mut has) };
        let core = has.features;
        let mut limits = vk::PhysicalDeviceTransformFeedbackPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
        let device = instance.physical_device();
        // SAFETY: the instance is live, and the device has the extension.
        unsafe { instance.raw.get_physical_device_properties2(device, &mut properties) };
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
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(enabled)
            .push_next(&mut xfb)
            .push_next(&mut provoking)
            .push_next(&mut generated);
        let extensions = [
            ext::transform_feedback::NAME.as_ptr(),
            ext::provoking_vertex::NAME.as_ptr(),
            ext::primitives_generated_query::NAME.as_ptr(),
            khr::draw_indirect_count::NAME.as_ptr(),
        ];
        let device = instance.into_device(&mut features, &extensions);
        let xfb = ext::transform_feedback::Device::new(device.instance(), &device.raw);
        let indirect_count = khr::draw_indirect_count::Device::new(device.instance(), &device.raw);
        let subpasses = [vk::SubpassDescription::default()];
        let pass = vk::RenderPassCreateInfo::default().subpasses(&subpasses);
        // SAFETY: the device is live.
        let (pass, framebuffer, layout) = unsafe {
            let pass = device.raw.create_render_pass(&pass, None).unwrap();
            let info =
                vk::FramebufferCreateInfo::default().render_pass(pass).width(1).height(1).layers(1);
            let framebuffer = device.raw.create_framebuffer(&info, None).unwrap();
            let layout = device.raw.create_pipeline_layout(&Default::default(), None).unwrap();
            (pass, framebuffer, layout)
        };
        let float64 = core.shader_float64 == vk::TRUE;
        let int64 = core.shader_int64 == vk::TRUE;
        Ok(Self {
            device,
            xfb,
            indirect_count,
            pass,
            framebuffer,
            layout,
            float64,
            int64,
            streams,
            generated_streams,
        })
    }

    /// Destroys everything; one message of the validation layer fails the test.
    pub fn close(self) {
        // SAFETY: every submission was waited for.
        unsafe {
            self.device.raw.destroy_pipeline_layout(self.layout, None);
            self.device.raw.destroy_framebuffer(self.framebuffer, None);
            self.device.raw.destroy_render_pass(self.pass, None);
        }
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
        let is_of_other = |query: &Query| query.kind == Kind::Generated && query.stream > 0;
        if !self.generated_streams && case.queries.iter().any(is_of_other) {
            return Err("the device counts primitives generated of stream 0 alone");
        }
        Ok(())
    }

    pub fn take_messages(&self) -> Vec<String> {
        self.device.take_messages()
    }

    pub fn run(&self, case: &Case, modules: &Modules) -> Found {
        use vk::BufferUsageFlags as Usage;
        let device = &self.device.raw;
        let usage = Usage::VERTEX_BUFFER
            | Usage::INDEX_BUFFER
            | Usage::INDIRECT_BUFFER
            | Usage::TRANSFORM_FEEDBACK_BUFFER_EXT
            | Usage::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let (buffer, memory) = self.device.host_buffer(case.image.len() as u64, usage);
        // SAFETY: every handle is of the device, and lives until the submission is done; the memory holds the image.
        unsafe {
            let flags = vk::MemoryMapFlags::empty();
            let mapped = device.map_memory(memory, 0, vk::WHOLE_SIZE, flags).unwrap();
            let image = std::slice::from_raw_parts_mut(mapped.cast::<u8>(), case.image.len());
            image.copy_from_slice(&case.image);
            let pipeline = self.pipeline(case, modules);
            let pools = [Kind::Stream, Kind::Generated].map(|kind| self.pool(case, kind));
            self.device.submit(WRITES, |cmd| {
                for pool in pools {
                    device.cmd_reset_query_pool(cmd, pool, 0, case.queries.len().max(1) as u32);
                }
                let recording = Recording { native: self, case, cmd, buffer, pipeline, pools };
                recording.record();
            });
            let image = image.to_vec();
            let queries = self.results(case, pools);
            for pool in pools {
                device.destroy_query_pool(pool, None);
            }
            device.destroy_pipeline(pipeline, None);
            device.destroy_buffer(buffer, None);
            device.free_memory(memory, None);
            Found { image, queries }
        }
    }

    /// Creates a pool with a query for each query of the case, whatever its kind.
    unsafe fn pool(&self, case: &Case, kind: Kind) -> vk::QueryPool {
        let query_type = match kind {
            Kind::Stream => vk::QueryType::TRANSFORM_FEEDBACK_STREAM_EXT,
            Kind::Generated => vk::QueryType::PRIMITIVES_GENERATED_EXT,
        };
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(query_type)
            .query_count(case.queries.len().max(1) as u32);
        // SAFETY: the device is live and has queries of that type.
        unsafe { self.device.raw.create_query_pool(&info, None) }.unwrap()
    }

    /// # Safety
    /// The submission of the case was waited for.
    unsafe fn results(&self, case: &Case, pools: [vk::QueryPool; 2]) -> Vec<[u64; 2]> {
        let device = &self.device.raw;
        let result = |(place, query): (u32, &Query)| {
            let pool = pools[query.kind as usize];
            let flags = vk::QueryResultFlags::TYPE_64;
            let (mut two, mut one) = ([[0u64; 2]], [0u64]);
            // SAFETY: the caller's contract: it is available.
            unsafe {
                match query.kind {
                    Kind::Stream => {
                        device.get_query_pool_results(pool, place, &mut two, flags).unwrap();
                    }
                    Kind::Generated => {
                        device.get_query_pool_results(pool, place, &mut one, flags).unwrap();
                        two[0][0] = one[0];
                    }
                }
            }
            two[0]
        };
        (0..).zip(&case.queries).map(result).collect()
    }
}

/// Records the command buffer of a case.
struct Recording<'a> {
    native: &'a Native,
    case: &'a Case,
    cmd: vk::CommandBuffer,
    buffer: vk::Buffer,
    pipeline: vk::Pipeline,
    /// The query pools, by kind.
    pools: [vk::QueryPool; 2],
}

impl Recording<'_> {
    /// # Safety
    /// The command buffer is being recorded, and the handles live until it was executed.
    unsafe fn record(&self) {
        let device = &self.native.device.raw;
        // SAFETY: the caller's contract.
        unsafe {
            self.queries(|span| *span == Span::Whole, true);
            for (number, section) in self.case.sections.iter().enumerate() {
                if number > 0 {
                    let access = WRITES.1 | vk::AccessFlags::TRANSFORM_FEEDBACK_COUNTER_READ_EXT;
                    let barrier = vk::MemoryBarrier::default()
                        .src_access_mask(WRITES.1)
                        .dst_access_mask(access);
                    let none = vk::DependencyFlags::empty();
                    let cmd = self.cmd;
                    device.cmd_pipeline_barrier(
                        cmd,
                        WRITES.0,
                        WRITES.0,
                        none,
                        &[barrier],
                        &[],
                        &[],
                    );
                }
                let begin = vk::RenderPassBeginInfo::default()
                    .render_pass(self.native.pass)
                    .framebuffer(self.native.framebuffer)
                    .render_area(area(1));
                device.cmd_begin_render_pass(self.cmd, &begin, vk::SubpassContents::INLINE);
                self.section(number, section);
                device.cmd_end_render_pass(self.cmd);
            }
            self.queries(|span| *span == Span::Whole, false);
        }
    }

    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn section(&self, number: usize, section: &Section) {
        let (device, cmd, case) = (&self.native.device.raw, self.cmd, self.case);
        let xfb = self.native.xfb.fp();
        let graphics = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the caller's contract.
        unsafe {
            device.cmd_bind_pipeline(cmd, graphics, self.pipeline);
            for (binding, vertices) in (0..).zip(&case.vertices) {
                device.cmd_bind_vertex_buffers(cmd, binding, &[self.buffer], &[vertices.offset]);
            }
            let index_type = match case.index_type {
                IndexType::Uint16 => vk::IndexType::UINT16,
                IndexType::Uint32 => vk::IndexType::UINT32,
                other => panic!("{other:?} needs an extension"),
            };
            device.cmd_bind_index_buffer(cmd, self.buffer, case.indices.offset, index_type);
            for (number, capture) in (0..).zip(&case.captures) {
                let Some(capture) = capture else { continue };
                (xfb.cmd_bind_transform_feedback_buffers_ext)(
                    cmd,
                    number,
                    1,
                    &self.buffer,
                    &capture.offset,
                    &capture.size,
                );
            }
            let (buffers, offsets) = self.counters(&section.begin);
            (xfb.cmd_begin_transform_feedback_ext)(cmd, 0, 4, buffers.as_ptr(), offsets.as_ptr());
            for (place, draw) in section.draws.iter().enumerate() {
                let is_at = |span: &Span, end: fn(&std::ops::Range<usize>) -> usize| {
                    matches!(span, Span::Draws { section, draws }
                        if *section == number && end(draws) == place)
                };
                self.queries(|span| is_at(span, |draws| draws.start), true);
                self.draw(draw);
                self.queries(|span| is_at(span, |draws| draws.end - 1), false);
            }
            let (buffers, offsets) = self.counters(&section.end);
            (xfb.cmd_end_transform_feedback_ext)(cmd, 0, 4, buffers.as_ptr(), offsets.as_ptr());
        }
    }

    unsafe fn draw(&self, draw: &Draw) {
        let (device, cmd, buffer) = (&self.native.device.raw, self.cmd, self.buffer);
        // SAFETY: the caller's contract.
        unsafe {
            match (&draw.how, draw.indexed) {
                (How::Direct, indexed) => {
                    let call = &draw.calls[0];
                    let Call { first, count, vertex_offset, first_instance, .. } = *call;
                    let instances = call.instance_count;
                    if indexed {
                        device.cmd_draw_indexed(
                            cmd,
                            count,
                            instances,
                            first,
                            vertex_offset,
                            first_instance,
                        )
                    } else {
                        device.cmd_draw(cmd, count, instances, first, first_instance)
                    }
                }
                (&How::Indirect { offset, stride, most, count: None }, false) => {
                    device.cmd_draw_indirect(cmd, buffer, offset, most, stride);
                }
                (&How::Indirect { offset, stride, most, count: None }, true) => {
                    device.cmd_draw_indexed_indirect(cmd, buffer, offset, most, stride);
                }
                (&How::Indirect { offset, stride, most, count: Some(count) }, false) => {
                    let with_count = &self.native.indirect_count;
                    with_count
                        .cmd_draw_indirect_count(cmd, buffer, offset, buffer, count, most, stride);
                }
                (&How::Indirect { offset, stride, most, count: Some(count) }, true) => {
                    let with_count = &self.native.indirect_count;
                    with_count.cmd_draw_indexed_indirect_count(
                        cmd, buffer, offset, buffer, count, most, stride,
                    );
                }
                (&How::ByteCount { counter, counter_offset, stride }, _) => {
                    let Call { first_instance, instance_count, .. } = draw.calls[0];
                    (self.native.xfb.fp().cmd_draw_indirect_byte_count_ext)(
                        cmd,
                        instance_count,
                        first_instance,
                        buffer,
                        counter,
                        counter_offset,
                        stride,
                    );
                }
            }
        }
    }

    fn counters(&self, given: &[bool; 4]) -> ([vk::Buffer; 4], [u64; 4]) {
        let counters = self.case.counters_of(given);
        let buffer = |counter: Option<u64>| counter.map_or(vk::Buffer::null(), |_| self.buffer);
        (counters.map(buffer), counters.map(Option::unwrap_or_default))
    }

    /// Begins or ends some queries.
    ///
    /// # Safety
    /// As [`record`](Self::record).
    unsafe fn queries(&self, which: impl Fn(&Span) -> bool, begin: bool) {
        let cmd = self.cmd;
        for (place, query) in (0..).zip(&self.case.queries) {
            if !which(&query.span) {
                continue;
            }
            let pool = self.pools[query.kind as usize];
            // SAFETY: the caller's contract.
            unsafe {
                if begin {
                    let flags = vk::QueryControlFlags::empty();
                    let begin = self.native.xfb.fp().cmd_begin_query_indexed_ext;
                    begin(cmd, pool, place, flags, query.stream);
                } else {
                    let end = self.native.xfb.fp().cmd_end_query_indexed_ext;
                    end(cmd, pool, place, query.stream);
                }
            }
        }
    }
}
