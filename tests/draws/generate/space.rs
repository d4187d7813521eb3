//! The features that programs may use on a device.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::Capabilities;
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::Gpu;

use crate::common::commands::QueryKind;
use crate::known;
use crate::model::Fact;
use crate::native;
use crate::program::PassKind;

/// The features that programs may use.
#[derive(Debug, Clone)]
pub struct Space {
    pub topologies: Vec<PrimitiveTopology>,
    pub last_provoking: bool,
    pub uint8: bool,
    pub full_index: bool,
    pub list_restart: bool,
    pub indexed: bool,
    pub multi_draw: bool,
    pub indirect: bool,
    pub multi_indirect: bool,
    pub indirect_first_instance: bool,
    pub indirect_count: bool,
    pub counters: bool,
    pub byte_count: bool,
    pub index_out_of_range: bool,
    pub queries: Vec<QueryKind>,
    /// Whether a capture may have draws with different pipelines.
    pub several_pipelines: bool,
    pub dynamic_provoking: bool,
    pub dynamic_restart: bool,
    pub restart_index: bool,
    pub conditional: bool,
    /// The ways in which passes are recorded.
    pub passes: Vec<PassKind>,
    /// The known faults of the device. Most programs avoid all of them or all but one, so that
    /// everything else is tested, and each fault separately.
    pub faulty: Vec<Fact>,
}

impl Space {
    /// Returns the features of a device for native captures.
    pub fn of(gpu: &Gpu) -> Self {
        let (enabled, draws) = (gpu.context().enabled(), gpu.draw_features());
        let caps = gpu.capabilities();
        let xfb = caps.transform_feedback.as_ref();
        let mut queries = Vec::new();
        queries.extend(xfb.is_some_and(|xfb| xfb.queries).then_some(QueryKind::Stream));
        queries.extend(draws.primitives_generated_query.then_some(QueryKind::Generated));
        let adjacency = enabled.geometry_shader;
        let indirect = native::draws_indirectly();
        Self {
            topologies: PrimitiveTopology::ALL
                .into_iter()
                .filter(|t| adjacency || !t.has_adjacency())
                .collect(),
            last_provoking: enabled.provoking_vertex_last && enabled.preserve_provoking_vertex,
            uint8: draws.index_type_uint8,
            full_index: draws.full_draw_index_uint32,
            list_restart: draws.list_restart,
            indexed: true,
            multi_draw: draws.multi_draw,
            indirect,
            multi_indirect: enabled.multi_draw_indirect,
            indirect_first_instance: draws.indirect_first_instance,
            indirect_count: enabled.draw_indirect_count,
            counters: true,
            byte_count: indirect && xfb.is_some_and(|xfb| xfb.draw),
            index_out_of_range: gpu.robustness().buffer_access2,
            queries,
            several_pipelines: true,
            dynamic_provoking: true,
            dynamic_restart: true,
            restart_index: true,
            conditional: draws.conditional_rendering,
            passes: PassKind::ALL
                .into_iter()
                .filter(|kind| match kind {
                    PassKind::RenderPass | PassKind::Subpasses => true,
                    PassKind::RenderPass2 => caps.api_version >= vk::API_VERSION_1_2,
                    PassKind::Rendering | PassKind::Suspended => draws.dynamic_rendering,
                })
                .collect(),
            faulty: known::faulty(caps),
        }
    }

    /// Returns all features.
    pub fn whole() -> Self {
        Self {
            topologies: PrimitiveTopology::ALL.to_vec(),
            last_provoking: true,
            uint8: true,
            full_index: true,
            list_restart: true,
            indexed: true,
            multi_draw: true,
            indirect: true,
            multi_indirect: true,
            indirect_first_instance: true,
            indirect_count: true,
            counters: true,
            byte_count: true,
            index_out_of_range: true,
            queries: vec![QueryKind::Stream, QueryKind::Generated],
            several_pipelines: true,
            dynamic_provoking: true,
            dynamic_restart: true,
            restart_index: true,
            conditional: true,
            passes: PassKind::ALL.to_vec(),
            faulty: Vec::new(),
        }
    }

    /// Removes features that the recorder does not support, and those for which applications record
    /// Vulkan's own commands on a graphics backend.
    pub fn restrict_to_recorder(&mut self, backend: Backend, capabilities: &Capabilities) {
        self.multi_draw = false;
        self.queries.clear();
        self.dynamic_restart = false;
        self.restart_index = false;
        self.conditional = false;
        self.several_pipelines &= backend != Backend::Native;
        self.dynamic_provoking &= backend != Backend::Native;
        if backend == Backend::Vertex {
            self.indexed = false;
            self.indirect = false;
            self.counters = false;
            self.byte_count = false;
            self.index_out_of_range = false;
            self.faulty = known::faulty_draws(capabilities);
        }
    }

    /// Removes state for which there are not enough descriptors for kernels. They need one for
    /// scratch memory, one for the buffer of counters, and one for the pool of each kind of query.
    pub fn restrict_state(&mut self, descriptors: u32) {
        self.counters &= descriptors >= 2;
        self.byte_count &= self.counters;
        self.queries.truncate(descriptors.saturating_sub(2) as usize);
    }
}
