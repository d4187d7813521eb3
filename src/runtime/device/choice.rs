//! Chooses the backend if the application does not choose one itself.

#![forbid(unsafe_code)]

use crate::runtime::device::features::RequiredFeatures;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::lower::vertex::MAX_FAN_VERTICES;

/// What an application will use in captures of a pipeline. By default every member is `false` or 0: the application
/// uses none of them.
///
/// Later versions may add members, so end a value of this type with `..CaptureNeeds::default()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CaptureNeeds {
    /// Indexed draws, with or without primitive restart.
    pub indexed: bool,
    /// Draws with and without primitive restart in one capture
    /// ([`Recorder::set_primitive_restart`](crate::runtime::Recorder::set_primitive_restart)).
    pub dynamic_restart: bool,
    /// Draws with different topologies and the same pipeline.
    pub dynamic_topology: bool,
    /// Draws with different provoking vertices and the same pipeline
    /// ([`Recorder::set_provoking_vertex`](crate::runtime::Recorder::set_provoking_vertex)).
    pub dynamic_provoking_vertex: bool,
    /// Draws with several pipelines in one capture
    /// ([`Recorder::bind_pipeline`](crate::runtime::Recorder::bind_pipeline)). Native transform feedback
    /// does not allow that.
    pub several_pipelines: bool,
    /// Draws whose arguments or vertex count are in a buffer. On the native backend some of them
    /// need features that not all devices have: [`RequiredFeatures::multi_draw_indirect`],
    /// [`RequiredFeatures::draw_indirect_count`],
    /// [`TransformFeedbackSupport::draw`](crate::runtime::TransformFeedbackSupport::draw).
    pub indirect: bool,
    /// Draws that `VK_EXT_multi_draw` records (`vkCmdDrawMultiEXT`).
    pub multi_draw: bool,
    /// Counter buffers at the begin or the end of a capture.
    pub counters: bool,
    /// Queries of a [`QueryPool`](crate::runtime::QueryPool) of this crate.
    pub queries: bool,
    /// A geometry shader after the vertex shader.
    pub geometry_shader: bool,
    /// Tessellation shaders after the vertex shader.
    pub tessellation_shaders: bool,
    /// A geometry shader that emits to several vertex streams.
    pub geometry_streams: bool,
    /// The largest number of vertices per instance of a triangle fan, or 0 if no fans are drawn.
    pub fan_vertices: u32,
    /// Whether the shader has side effects: it writes storage buffers or images, or uses atomics
    /// ([`Effects::side_effects`](vkxfb_rewriter::lower::Effects::side_effects)). If the application also draws with
    /// the shader, a compute capture repeats the side effects.
    pub side_effects: bool,
}

impl CaptureNeeds {
    /// The first of the needs that a backend cannot meet, as a phrase for messages, or `None` if it meets all of them.
    ///
    /// The compute backend meets all needs. The native and the vertex backend support neither dynamic primitive restart
    /// nor dynamic topologies, multi-draws or queries of this crate. The native backend also refuses a dynamic
    /// provoking vertex and several pipelines in one capture. The vertex backend captures only vertex shaders, in draws
    /// that are neither indirect nor indexed, without counters, and has [a
    /// limit](vkxfb_rewriter::lower::vertex::MAX_FAN_PRIMITIVES) for triangle fans.
    pub const fn refused_by(&self, backend: Backend) -> Option<&'static str> {
        match backend {
            Backend::Compute => None,
            Backend::Native | Backend::Vertex if self.dynamic_restart => {
                Some("dynamic primitive restart")
            }
            Backend::Native | Backend::Vertex if self.dynamic_topology => Some("dynamic topology"),
            Backend::Native | Backend::Vertex if self.multi_draw => Some("multi-draws"),
            Backend::Native | Backend::Vertex if self.queries => Some("queries of vkxfb"),
            Backend::Native if self.dynamic_provoking_vertex => Some("a dynamic provoking vertex"),
            Backend::Native if self.several_pipelines => {
                Some("another pipeline between Begin and End")
            }
            Backend::Native => None,
            Backend::Vertex if self.indexed => Some("indexed draws"),
            Backend::Vertex if self.indirect => Some("indirect draws"),
            Backend::Vertex if self.counters => Some("counters"),
            Backend::Vertex if self.geometry_shader || self.geometry_streams => {
                Some("geometry shaders")
            }
            Backend::Vertex if self.tessellation_shaders => Some("tessellation shaders"),
            Backend::Vertex if self.fan_vertices > MAX_FAN_VERTICES => {
                Some("triangle fans of more than 65537 vertices")
            }
            Backend::Vertex => None,
        }
    }
}

impl RequiredFeatures {
    /// The backend that captures on a device with these features, or `None` if no backend meets the needs.
    ///
    /// The compute backend is preferred, because it was the fastest in all measurements. But a shader with side effects
    /// should run only once, as it does on the native and the vertex backend. For such a shader the native backend is
    /// preferred, then the vertex backend, then the compute backend. If the driver is known to shade vertices that are
    /// not in the draw, the vertex backend comes last.
    ///
    /// Natively, geometry shaders are captured only if [`geometry_shader`](Self::geometry_shader) is enabled, several
    /// vertex streams only if [`geometry_streams`](Self::geometry_streams) is enabled, and tessellation shaders only if
    /// [`tessellation_shader`](Self::tessellation_shader) is enabled. Triangle fans are captured by the native and the
    /// vertex backend only if [`triangle_fans`](Self::triangle_fans) is set.
    pub fn choose(&self, needs: &CaptureNeeds) -> Option<Backend> {
        let can_run = |backend: &&Backend| {
            let has_stage = self.geometry_shader || !needs.geometry_shader;
            let has_streams = self.geometry_streams || !needs.geometry_streams;
            let has_tessellation = self.tessellation_shader || !needs.tessellation_shaders;
            let has_fans = self.triangle_fans || needs.fan_vertices == 0;
            **backend == Backend::Compute
                || (has_stage && has_streams && has_tessellation && has_fans)
        };
        let backends: Vec<Backend> = self.backends().iter().filter(can_run).copied().collect();
        choose(&backends, self.speculative_vertices, needs)
    }
}

fn choose(
    backends: &[Backend],
    speculative_vertices: bool,
    needs: &CaptureNeeds,
) -> Option<Backend> {
    let order = match (needs.side_effects, speculative_vertices) {
        (false, _) => [Backend::Compute, Backend::Native, Backend::Vertex],
        (true, false) => [Backend::Native, Backend::Vertex, Backend::Compute],
        (true, true) => [Backend::Native, Backend::Compute, Backend::Vertex],
    };
    order.into_iter().find(|b| backends.contains(b) && needs.refused_by(*b).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::device::capabilities::tests::full;
    use crate::runtime::device::features::required_features;

    #[test]
    fn fans_are_captured_by_compute_where_the_device_has_none() {
        let mut required = required_features(&full(), &Backend::ALL).unwrap();
        let needs =
            |fan_vertices| CaptureNeeds { fan_vertices, side_effects: true, ..Default::default() };
        assert_eq!(required.choose(&needs(5)), Some(Backend::Native));
        required.triangle_fans = false;
        assert_eq!(required.choose(&needs(5)), Some(Backend::Compute));
        assert_eq!(required.choose(&needs(0)), Some(Backend::Native));
    }

    #[test]
    fn later_stages_are_needed_natively_alone() {
        let caps = full();
        let needs =
            CaptureNeeds { tessellation_shaders: true, side_effects: true, ..Default::default() };
        let mut required = required_features(&caps, &Backend::ALL).unwrap();
        assert_eq!(required.choose(&needs), Some(Backend::Native));
        required.tessellation_shader = false;
        assert_eq!(required.choose(&needs), Some(Backend::Compute));
        assert_eq!(needs.refused_by(Backend::Vertex), Some("tessellation shaders"));

        let needs =
            CaptureNeeds { geometry_shader: true, side_effects: true, ..Default::default() };
        let mut required = required_features(&caps, &Backend::ALL).unwrap();
        assert_eq!(required.choose(&needs), Some(Backend::Native));
        let streams = CaptureNeeds { geometry_streams: true, ..needs };
        assert_eq!(required.choose(&streams), Some(Backend::Native));
        required.geometry_streams = false;
        assert_eq!(required.choose(&streams), Some(Backend::Compute));
        required.geometry_shader = false;
        assert_eq!(required.choose(&needs), Some(Backend::Compute));
        let vertex = required_features(&caps, &[Backend::Vertex]).unwrap();
        assert_eq!(vertex.choose(&needs), None);
    }

    #[test]
    fn side_effects_happen_once_where_that_can_be() {
        assert_eq!(MAX_FAN_VERTICES, 65_537, "the number in the reason");
        let direct = CaptureNeeds { side_effects: true, ..Default::default() };
        let indexed = CaptureNeeds { indexed: true, ..direct };
        let multi = CaptureNeeds { multi_draw: true, ..direct };
        let fan = |fan_vertices| CaptureNeeds { fan_vertices, ..direct };
        let on = |backends: &[Backend], needs: &_| choose(backends, false, needs);
        let all = &Backend::ALL;
        assert_eq!(on(all, &CaptureNeeds::default()), Some(Backend::Compute));
        assert_eq!(on(all, &direct), Some(Backend::Native));
        assert_eq!(on(all, &multi), Some(Backend::Compute));
        let emulated = &[Backend::Vertex, Backend::Compute];
        assert_eq!(on(emulated, &direct), Some(Backend::Vertex));
        for changing in [
            CaptureNeeds { several_pipelines: true, ..direct },
            CaptureNeeds { dynamic_provoking_vertex: true, ..direct },
        ] {
            assert_eq!(on(all, &changing), Some(Backend::Vertex));
            assert_eq!(on(&[Backend::Native], &changing), None);
        }
        assert_eq!(on(emulated, &indexed), Some(Backend::Compute));
        assert_eq!(on(&[Backend::Vertex], &indexed), None);
        assert_eq!(on(emulated, &fan(65_537)), Some(Backend::Vertex));
        assert_eq!(on(emulated, &fan(65_538)), Some(Backend::Compute));
        assert_eq!(on(&[Backend::Vertex], &fan(65_538)), None);
        assert_eq!(on(&[Backend::Native], &fan(u32::MAX)), Some(Backend::Native));
        assert_eq!(on(&[Backend::Native], &indexed), Some(Backend::Native));
    }
}
