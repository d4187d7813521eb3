//! Checks of a pipeline description that precede all Vulkan calls, and of draws against their pipeline.

#![forbid(unsafe_code)]

use ash::vk;
use spirv::ExecutionModel;

use crate::runtime::device::capabilities::{Capabilities, Limits};
use crate::runtime::device::checks::check_limit;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::pipelines::pipeline::{Pipeline, PipelineDesc, vertex_input};
use crate::runtime::pipelines::pulling;
use crate::runtime::pipelines::pulling::PulledAttribute;
use vkxfb_rewriter::capture::{Layout, MAX_STREAMS};
use vkxfb_rewriter::lower::MAX_PATCH_SIZE;
use vkxfb_rewriter::lower::{Backend, Lowered, LoweredGeometry, LoweredKind};
use vkxfb_rewriter::tessellator::Domain;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

/// Checks that the number of control points of a patch is not 0, and not larger than the shaders of captures allow,
/// which is what every device allows.
pub(crate) fn check_control_points(points: u32) -> Result<(), RuntimeError> {
    if points == 0 {
        return Err(RuntimeError::NoControlPoints);
    }
    let what = || "the number of control points of a patch".to_owned();
    check_limit(what, points, "the size of a patch", MAX_PATCH_SIZE)
}

/// Checks that every set that the pipeline's shader reads is bound. `is_bound` takes a set number, and returns whether
/// a set is bound to it.
pub(crate) fn check_used_sets(
    pipeline: &Pipeline,
    is_bound: impl Fn(u32) -> bool,
) -> Result<(), RuntimeError> {
    match pipeline.used_sets().iter().find(|set| !is_bound(**set)) {
        None => Ok(()),
        Some(&set) => Err(RuntimeError::MissingDescriptorSet { set }),
    }
}

/// Checks that a draw has the fixed topology of its pipeline, if the pipeline has one.
pub(crate) fn check_topology(
    fixed: Option<PrimitiveTopology>,
    topology: PrimitiveTopology,
) -> Result<(), RuntimeError> {
    match fixed {
        Some(pipeline) if pipeline != topology => {
            Err(RuntimeError::TopologyMismatch { draw: topology, pipeline })
        }
        _ => Ok(()),
    }
}

/// Checks that the tessellation or geometry shaders take primitives of a topology, and that there are tessellation
/// shaders for a patch list.
pub(crate) fn check_input(
    geometry: Option<LoweredGeometry>,
    topology: PrimitiveTopology,
) -> Result<(), RuntimeError> {
    match geometry {
        Some(LoweredGeometry { input, .. }) if !input.takes(topology) => {
            Err(RuntimeError::GeometryInput { input, topology })
        }
        None if topology == PrimitiveTopology::PatchList => Err(RuntimeError::NoTessellation),
        _ => Ok(()),
    }
}

/// Checks a description, of which `topology` is the fixed topology. Returns the attributes for which a capture needs
/// vertex buffers.
/// [`Pipeline::new`](crate::runtime::Pipeline::new) lists the errors.
pub(super) fn check(
    ctx: &Context,
    desc: &PipelineDesc<'_>,
    topology: Option<PrimitiveTopology>,
) -> Result<Vec<PulledAttribute>, RuntimeError> {
    let (shader, caps) = (desc.shader, ctx.capabilities());
    let (backend, enabled) = (shader.backend(), ctx.enabled());
    let need = |met: bool, what: &str, feature: &'static str| {
        if met {
            Ok(())
        } else {
            Err(RuntimeError::FeatureNotEnabled { what: what.to_owned(), feature })
        }
    };
    let geometry = shader.geometry();
    if shader.stage != ExecutionModel::Vertex && geometry.is_none() {
        return Err(RuntimeError::LoneStage { stage: shader.stage });
    }
    if let Some(topology) = topology {
        check_input(geometry, topology)?;
    }
    if geometry.is_some_and(|geometry| geometry.tessellation.is_some()) {
        check_control_points(desc.patch_control_points)?;
    }
    match &shader.kind {
        LoweredKind::Native(_) => {
            need(enabled.has(backend), "the native backend", "transformFeedback")?;
            let has_stage = shader.stage != ExecutionModel::Geometry || enabled.geometry_shader;
            need(has_stage, "a geometry shader on the native backend", "geometryShader")?;
            let is_tessellated = geometry.is_some_and(|of| of.tessellation.is_some());
            let has_stages = !is_tessellated || enabled.tessellation_shader;
            let what = "tessellation shaders on the native backend";
            need(has_stages, what, "tessellationShader")?;
            if let Some(of) = geometry.and_then(|of| of.tessellation) {
                let isolines = of.tessellator.domain != Domain::Isolines;
                let what = "isolines on the native backend";
                need(isolines || enabled.tessellation_isolines, what, "tessellationIsolines")?;
                let what = "points of tessellation shaders on the native backend";
                let points = !of.tessellator.points || enabled.tessellation_point_mode;
                need(points, what, "tessellationPointMode")?;
            }
            let streams = stream_count(shader);
            if streams > 1 {
                let what = "vertex streams other than 0 on the native backend";
                need(enabled.geometry_streams, what, "geometryStreams")?;
                let support = caps.transform_feedback.as_ref();
                check_limit(
                    || "the number of vertex streams of the geometry shader".to_owned(),
                    streams,
                    "maxTransformFeedbackStreams",
                    support.map_or(0, |support| support.max_streams),
                )?;
                let are_points = geometry.is_none_or(|geometry| geometry.output_vertices == 1);
                if !are_points && !support.is_some_and(|support| support.streams_lines_triangles) {
                    return Err(RuntimeError::MissingProperty {
                        what: "several vertex streams of lines or triangles".to_owned(),
                        property: "transformFeedbackStreamsLinesTriangles",
                    });
                }
            }
        }
        LoweredKind::Vertex(_) => {
            need(enabled.has(backend), "the vertex backend", "vertexPipelineStoresAndAtomics")?;
            let range = desc.push_constant_range();
            check_limit(
                || "the end of the push constants of the lowered shader in bytes".to_owned(),
                u64::from(range.offset) + u64::from(range.size),
                "maxPushConstantsSize",
                caps.limits.max_push_constants,
            )?;
        }
        LoweredKind::Compute(compute) => {
            let needed = ctx.resource_plan()?;
            let lowered = compute.resources;
            if lowered != needed {
                return Err(RuntimeError::ResourcePlan { lowered, needed });
            }
            let may_load_bytes = !compute.byte_loads || enabled.byte_loads;
            need(may_load_bytes, "the lowered shader", "storageBuffer8BitAccess and shaderInt8")?;
        }
    }
    if desc.descriptors.heaps().is_none() {
        check_set_layouts(desc, &caps.limits)?;
    } else if ctx.heap_commands().is_none() {
        let (what, feature) = ("a pipeline with descriptor heaps".to_owned(), "descriptorHeap");
        return Err(RuntimeError::FeatureNotEnabled { what, feature });
    }
    let input = desc.described_vertex_input()?;
    vertex_input::validate(input)?;
    if let Some(compute) = shader.compute() {
        let limits = &caps.limits;
        for (size, draws) in compute.workgroup_sizes.each() {
            if size == 0 {
                let what = format!("a workgroup of no invocations{draws}");
                return Err(RuntimeError::InvalidShader(what));
            }
            check_limit(
                || format!("the workgroup of the lowered shader{draws}"),
                size,
                "maxComputeWorkGroupInvocations",
                limits.workgroup_invocations(),
            )?;
        }
        check_limit(
            || "the shared memory of the lowered shader in bytes".to_owned(),
            compute.shared_memory,
            "maxComputeSharedMemorySize",
            limits.max_shared_memory,
        )?;
        return pulling::resolve(input, &compute.attributes);
    }
    if let Some(topology) = topology {
        let what = format!("topology {topology}");
        need(!topology.has_adjacency() || enabled.geometry_shader, &what, "geometryShader")?;
        let is_fan = topology == PrimitiveTopology::TriangleFan;
        need(!is_fan || enabled.triangle_fans, &what, "triangleFans")?;
    }
    vertex_input::check_limits(input, &caps.limits)?;
    if let Some((location, binding)) = vertex_input::beyond_stride(input) {
        let what = format!(
            "the attribute at location {location}, which ends behind the stride of binding {binding},"
        );
        let feature = "vertexAttributeAccessBeyondStride";
        need(enabled.attribute_access_beyond_stride, &what, feature)?;
    }
    if let Some(portability) = &caps.portability {
        vertex_input::check_strides(input, portability.min_binding_stride_alignment)?;
    }
    if let Some((max, some_are_0)) = vertex_input::divisors(input) {
        let feature = "vertexAttributeInstanceRateDivisor";
        need(enabled.vertex_divisor, "a vertex input divisor other than 1", feature)?;
        let feature = "vertexAttributeInstanceRateZeroDivisor";
        need(enabled.vertex_zero_divisor || !some_are_0, "the vertex input divisor 0", feature)?;
        let limit = caps.vertex_divisor.as_ref().map_or(u32::MAX, |support| support.max);
        let what = || "the largest vertex input divisor".to_owned();
        check_limit(what, max, "maxVertexAttribDivisor", limit)?;
    }
    if backend == Backend::Native {
        let last = desc.provoking_vertex == ProvokingVertex::Last;
        need(
            !last || enabled.provoking_vertex_last,
            "provoking vertex last",
            "provokingVertexLast",
        )?;
        check_native_limits(&shader.layout, caps)?;
    }
    pulling::resolve_all(input)
}

/// The number of the last vertex stream that the shader emits to or captures, plus one.
pub(super) fn stream_count(shader: &Lowered) -> u32 {
    let emitted = shader.geometry().map_or(1, |geometry| geometry.streams);
    let captured = shader.layout.streams.into_iter().fold(1, |all, stream| all | 1 << stream);
    (emitted | captured).ilog2() + 1
}

/// Checks that all sets that the shader uses have layouts, and that there are at most `maxBoundDescriptorSets` layouts,
/// including the set layout of the descriptor plan.
fn check_set_layouts(desc: &PipelineDesc<'_>, limits: &Limits) -> Result<(), RuntimeError> {
    let layouts = desc.set_layouts;
    let has_own = desc.shader.compute().is_some_and(|compute| compute.descriptor_set.is_some());
    let with = if has_own { ", with one for the buffers of captures," } else { "" };
    check_limit(
        || format!("the number of descriptor set layouts{with}"),
        layouts.len() as u64 + u64::from(has_own),
        "maxBoundDescriptorSets",
        limits.max_descriptor_sets,
    )?;
    let has_layout = |set: &&u32| {
        let layout = usize::try_from(**set).ok().and_then(|set| layouts.get(set));
        layout.is_some_and(|layout| *layout != vk::DescriptorSetLayout::null())
    };
    match desc.shader.descriptor_sets.iter().find(|set| !has_layout(set)) {
        None => Ok(()),
        Some(&set) => Err(RuntimeError::MissingSetLayout { set, layouts: layouts.len() }),
    }
}

/// Checks the number of capture buffers, their strides, and the captured bytes of a vertex against the limits in
/// `VkPhysicalDeviceTransformFeedbackPropertiesEXT`. The captured bytes are counted from the start of the record, and
/// include bytes that no output fills ([VUID-RuntimeSpirv-Offset-06308 and
/// VUID-RuntimeSpirv-XfbBuffer-06309](https://docs.vulkan.org/spec/latest/appendices/spirvenv.html#spirvenv-module-validation-runtime)).
fn check_native_limits(layout: &Layout, caps: &Capabilities) -> Result<(), RuntimeError> {
    let Some(limits) = &caps.transform_feedback else { return Ok(()) };
    let mut stream_sizes = [0u32; MAX_STREAMS as usize];
    for (buffer, stride) in layout.buffers() {
        let index = u32::try_from(buffer).unwrap_or(u32::MAX);
        check_limit(
            || format!("the number of capture buffers up to buffer {buffer}"),
            index.saturating_add(1),
            "maxTransformFeedbackBuffers",
            limits.max_buffers,
        )?;
        check_limit(
            || format!("the stride of capture buffer {buffer} in bytes"),
            stride,
            "maxTransformFeedbackBufferDataStride",
            limits.max_buffer_data_stride,
        )?;
        let ends =
            layout.outputs_of(buffer).map(|output| output.offset.saturating_add(output.size()));
        let size = ends.max().unwrap_or(0);
        check_limit(
            || format!("the data of a vertex in capture buffer {buffer} in bytes"),
            size,
            "maxTransformFeedbackBufferDataSize",
            limits.max_buffer_data_size,
        )?;
        if let Some(sum) = stream_sizes.get_mut(layout.streams[buffer] as usize) {
            *sum = sum.saturating_add(size);
        }
    }
    for (stream, size) in stream_sizes.into_iter().enumerate() {
        check_limit(
            || format!("the captured data of a vertex of stream {stream} in bytes"),
            size,
            "maxTransformFeedbackStreamDataSize",
            limits.max_stream_data_size,
        )?;
    }
    Ok(())
}
