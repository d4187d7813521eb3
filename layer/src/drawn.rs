//! What differs for programs and for the driver where the layer draws geometry shaders, on devices whose driver has no
//! such stage. The driver gets a vertex shader in place of the vertex and the geometry shader. So what programs say of the
//! geometry stage is said to the driver of the vertex stage, or not at all.
//!
//! * `features` has the features and limits that programs see.
//! * `stages` translates the stages of dependencies, and `shader_stages` those of descriptors and push constants.
//!
//! These modules know no devices: whether geometry shaders are drawn there is decided by
//! `CaptureSupport::draws_geometry`, and by what the program enables.

pub(crate) mod features;
pub(crate) mod shader_stages;
pub(crate) mod stages;

use ash::vk;

/// Returns the topology that the driver gets for one that a program sets: without the adjacency that only geometry shaders
/// read, and drivers without them do not take. Draws with geometry shaders are lists, for which another one is set.
pub(crate) const fn without_adjacency(topology: vk::PrimitiveTopology) -> vk::PrimitiveTopology {
    use vk::PrimitiveTopology as Topology;
    match topology {
        Topology::LINE_LIST_WITH_ADJACENCY => Topology::LINE_LIST,
        Topology::LINE_STRIP_WITH_ADJACENCY => Topology::LINE_STRIP,
        Topology::TRIANGLE_LIST_WITH_ADJACENCY => Topology::TRIANGLE_LIST,
        Topology::TRIANGLE_STRIP_WITH_ADJACENCY => Topology::TRIANGLE_STRIP,
        topology => topology,
    }
}
