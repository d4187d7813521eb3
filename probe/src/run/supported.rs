//! Finds the cases that a device or backend does not support. They are left out, and the report
//! says why.

use vkxfb::runtime::CaptureNeeds;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexFormat;

use crate::gpu::Gpu;
use crate::plan::CaseGroup;
use crate::row::CapturedStage;
use crate::subject::SubjectGeometry;

/// Whether the device can capture draws of a topology on a backend.
pub(super) fn has_topology(gpu: &Gpu, backend: Backend, topology: PrimitiveTopology) -> bool {
    let enabled = gpu.context().enabled();
    backend == Backend::Compute
        || match topology {
            PrimitiveTopology::TriangleFan => enabled.triangle_fans,
            topology => !topology.has_adjacency() || enabled.geometry_shader,
        }
}

/// Returns the reason why a group of cases (those with the same backend, shaders, provoking vertex and topology) cannot
/// run on a device that has the backend. `None` if it can.
pub(super) fn unsupported(gpu: &Gpu, group: &CaseGroup<'_>) -> Option<String> {
    let enabled = gpu.context().enabled();
    let is_graphics = group.backend != Backend::Compute;
    if let Some(geometry) = &group.subject.geometry {
        let reason = match group.backend {
            Backend::Vertex => Some("the vertex backend takes vertex shaders alone".to_owned()),
            Backend::Native => unsupported_geometry(gpu, group, geometry),
            Backend::Compute => None,
        };
        if reason.is_some() {
            return reason;
        }
    }
    if !has_topology(gpu, group.backend, group.topology) {
        let (feature, what) = match group.topology {
            PrimitiveTopology::TriangleFan => ("triangleFans", "fans are"),
            _ => ("geometryShader", "adjacency is"),
        };
        return Some(format!("no {feature}: {what} illegal in a graphics pipeline"));
    }
    let is_points = group.topology == PrimitiveTopology::PointList;
    if is_graphics && is_points && !group.subject.may_take_points() {
        return Some("the shader writes no PointSize: points are illegal then".to_owned());
    }
    // A graphics pipeline must not have a format that the device does not support.
    let lacks = |format: &VertexFormat| is_graphics && !gpu.has_vertex_format(*format);
    let mut formats = group.subject.vertex_input.attributes.iter().map(|a| a.format);
    if let Some(format) = formats.find(lacks) {
        let format = ash::vk::Format::from(format);
        return Some(format!("no vertex buffers of VK_FORMAT_{format:?}"));
    }
    let is_last = group.provoking == ProvokingVertex::Last;
    if group.backend == Backend::Native && is_last && !enabled.provoking_vertex_last {
        return Some("last-vertex cases: no provokingVertexLast".to_owned());
    }
    None
}

/// Returns the reason why the native backend cannot capture a geometry shader or tessellation shaders. `None` if it
/// can.
fn unsupported_geometry(
    gpu: &Gpu,
    group: &CaseGroup<'_>,
    geometry: &SubjectGeometry,
) -> Option<String> {
    let enabled = gpu.context().enabled();
    let (has_stage, feature) = match group.subject.captured_stage() {
        CapturedStage::Tessellation => (enabled.tessellation_shader, "tessellationShader"),
        _ => (enabled.geometry_shader, "geometryShader"),
    };
    if !has_stage {
        return Some(format!("no {feature}"));
    }
    if geometry.has_point_size && !gpu.has_later_point_size() {
        return Some("no shaderTessellationAndGeometryPointSize".to_owned());
    }
    let streams = group.subject.stream_count();
    if streams == 1 {
        return None;
    }
    let support = gpu.capabilities().transform_feedback.as_ref()?;
    let buffers = group.subject.layout.buffers().map(|(buffer, _)| buffer as u32 + 1).max();
    let are_points = geometry.declared.output_vertices == 1;
    if !enabled.geometry_streams {
        Some("no geometryStreams".to_owned())
    } else if support.max_streams < streams {
        Some(format!("maxTransformFeedbackStreams is {}", support.max_streams))
    } else if Some(support.max_buffers) < buffers {
        Some(format!("maxTransformFeedbackBuffers is {}", support.max_buffers))
    } else if !are_points && !support.streams_lines_triangles {
        Some("no transformFeedbackStreamsLinesTriangles".to_owned())
    } else {
        None
    }
}

/// Returns the reason why the backend cannot capture a draw with this many vertices of a group of cases. `None` if it
/// can.
pub(super) fn refused(group: &CaseGroup<'_>, vertex_count: u32) -> Option<&'static str> {
    let is_fan = group.topology == PrimitiveTopology::TriangleFan;
    let fan_vertices = if is_fan { vertex_count } else { 0 };
    CaptureNeeds { fan_vertices, ..CaptureNeeds::default() }.refused_by(group.backend)
}
