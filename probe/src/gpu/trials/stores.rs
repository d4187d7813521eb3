//! Tests whether stores in vertex shaders are reliable. A vertex shader must run for every vertex of a draw, even if
//! nothing is rasterized, and for no vertex that no primitive uses.
//!
//! Vulkan allows a device to shade a vertex again, without a limit, and captures store the same again then. It is
//! reported, because a shader's own stores and atomics happen again, too.

use ash::vk;

use vkxfb::runtime::{MemoryLocation, RuntimeError};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use super::{Kit, end, module};
use crate::gpu::{Gpu, GpuError, begin_render_pass};
use crate::trial::TrialResult;

/// The numbers of vertices or indices of draws. With each of these numbers, all primitives of every
/// topology are complete. The larger number exceeds the number of vertices that drivers process at
/// a time.
const VERTICES: [u32; 2] = [12, 3000];

/// The processing of a draw's primitives after the vertex shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Rasterizer discard is enabled.
    Discarded,
    /// The primitives are rasterized.
    Rasterized,
    /// All primitives are clipped, because they lie outside of the viewport.
    Clipped,
}

impl Fate {
    const ALL: [Self; 3] = [Self::Discarded, Self::Rasterized, Self::Clipped];

    const fn name(self) -> &'static str {
        match self {
            Self::Discarded => "discarded",
            Self::Rasterized => "rasterized",
            Self::Clipped => "clipped",
        }
    }
}

#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Pushed {
    first: u32,
    shift: f32,
}

pub(super) const PUSHED: u32 = size_of::<Pushed>() as u32;

/// A draw. Its shader counts how often it runs for each vertex, in one word for each vertex. `counts` is the index of
/// the first of these words.
struct StorePlace {
    topology: PrimitiveTopology,
    vertices: u32,
    indexed: bool,
    fate: Fate,
    counts: usize,
}

/// Returns the index (the number of a vertex) at position `index` of the index buffer: 0 1 2, 1 2 3, 2 3 4, and so on.
/// Consecutive groups of three have two vertices in common.
const fn indexed_vertex(index: u32) -> u32 {
    index / 3 + index % 3
}

impl StorePlace {
    /// Returns for each vertex the number of primitives that use it.
    fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.vertices as usize];
        for output in 0..self.topology.output_count(self.vertices) {
            let drawn = self.topology.gather(ProvokingVertex::First, output) as u32;
            let vertex = if self.indexed { indexed_vertex(drawn) } else { drawn };
            if let Some(uses) = uses.get_mut(vertex as usize) {
                *uses += 1;
            }
        }
        uses
    }
}

/// The draws that test stores in vertex shaders, and the number of words in which their shaders count how often they
/// run.
pub(super) struct Stores {
    topologies: Vec<PrimitiveTopology>,
    places: Vec<StorePlace>,
    words: usize,
}

impl Stores {
    /// Makes the list of draws. Topologies with adjacency are left out, because they need the feature `geometryShader`.
    /// `has_fans` says whether triangle fans are drawn: on a device with `VK_KHR_portability_subset`, they need the
    /// feature `triangleFans`.
    pub(super) fn new(has_fans: bool) -> Self {
        let is_drawn = |topology: &PrimitiveTopology| match topology {
            PrimitiveTopology::TriangleFan => has_fans,
            topology => !topology.has_adjacency(),
        };
        let topologies: Vec<_> = PrimitiveTopology::ALL.into_iter().filter(is_drawn).collect();
        let mut places = Vec::new();
        let mut words = 0;
        for &topology in &topologies {
            for fate in Fate::ALL {
                for vertices in VERTICES {
                    for indexed in [false, true] {
                        places.push(StorePlace {
                            topology,
                            vertices,
                            indexed,
                            fate,
                            counts: words,
                        });
                        words += vertices as usize;
                    }
                }
            }
        }
        Self { topologies, places, words }
    }

    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// Submits the draws. Returns how often the shader ran for each vertex, or `None` if nothing was executed.
    pub(super) fn run(&self, gpu: &mut Gpu, kit: &mut Kit) -> Result<Option<Vec<u32>>, GpuError> {
        let words = module(include_bytes!("../../../../shaders/trials/vertex_stores.spv"))?;
        let most = VERTICES.into_iter().max().unwrap_or(0);
        let indices: Vec<u32> = (0..most).map(indexed_vertex).collect();
        let device = gpu.context.device();
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: the module is valid, and the device supports its capabilities.
        let module = unsafe { device.create_shader_module(&info, None) }
            .map_err(RuntimeError::vulkan("vkCreateShaderModule"))?;
        // SAFETY: the device is live, and the module is the vertex shader of these draws.
        let created = unsafe { create_pipelines(gpu, kit, module, &self.topologies) };
        // SAFETY: the module is needed only while the pipelines are created.
        unsafe { device.destroy_shader_module(module, None) };
        created?;
        let (usage, size) = (vk::BufferUsageFlags::INDEX_BUFFER, indices.len() as u64 * 4);
        gpu.with_buffer(size, usage, MemoryLocation::Device, |gpu, buffer| {
            gpu.write(buffer, 0, bytemuck::cast_slice(&indices))?;
            self.submit(gpu, kit, buffer.raw())
        })?;
        kit.read(gpu)
    }

    fn submit(&self, gpu: &mut Gpu, kit: &Kit, indices: vk::Buffer) -> Result<(), GpuError> {
        let (render_pass, framebuffer) = (gpu.render_pass, gpu.framebuffer);
        let (stores_twice, stores_unused) = (gpu.stores_twice(), gpu.stores_unused());
        gpu.submit(|ctx, cmd| {
            let device = ctx.device();
            // SAFETY: everything outlives the submission. Each draw reads existing indices, and its
            // shader writes only its own counts.
            unsafe {
                kit.begin(ctx, cmd);
                begin_render_pass(ctx, cmd, render_pass, framebuffer);
                device.cmd_bind_index_buffer(cmd, indices, 0, vk::IndexType::UINT32);
                for (topology, pipelines) in
                    self.topologies.iter().zip(kit.pipelines.chunks_exact(2))
                {
                    for place in self.places.iter().filter(|place| place.topology == *topology) {
                        let pipeline = pipelines[usize::from(place.fate != Fate::Discarded)];
                        device.cmd_bind_pipeline(cmd, POINT, pipeline);
                        let shift = if place.fate == Fate::Clipped { 100.0 } else { 0.0 };
                        let pushed = Pushed { first: place.counts as u32, shift };
                        let bytes = bytemuck::bytes_of(&pushed);
                        device.cmd_push_constants(cmd, kit.layout, kit.stage, 0, bytes);
                        if place.indexed {
                            device.cmd_draw_indexed(cmd, place.vertices, 1, 0, 0, 0)
                        } else {
                            device.cmd_draw(cmd, place.vertices, 1, 0, 0)
                        }
                        if stores_twice {
                            device.cmd_draw(cmd, 6, 1, 0, 0);
                        }
                        // Of an indexed draw, no primitive uses the last vertices.
                        if stores_unused && place.indexed {
                            device.cmd_draw(cmd, 6, 1, place.vertices - 6, 0);
                        }
                    }
                }
                device.cmd_end_render_pass(cmd);
                end(ctx, cmd, Backend::Vertex);
            }
            Ok(())
        })
    }

    /// Returns the result of the trial, and a description for the report. `words` has the counts that
    /// [`run`](Self::run) returned.
    pub(super) fn judge(&self, words: &[u32]) -> (TrialResult, String) {
        let (mut missing, mut unused, mut repeated) =
            (Vertices::default(), Vertices::default(), Vertices::default());
        let mut shaded_again = 0;
        for place in &self.places {
            let counts = words.get(place.counts..).unwrap_or_default();
            for ((vertex, uses), &count) in (0u32..).zip(place.uses()).zip(counts) {
                match (uses, count) {
                    (0, 0) => {}
                    (0, _) => unused.add(place, vertex, count),
                    (_, 0) => missing.add(place, vertex, count),
                    _ if count > uses => repeated.add(place, vertex, count),
                    _ => shaded_again += u32::from(count > 1),
                }
            }
        }
        let draws = self.places.len();
        let faults = [(missing, "not stored"), (unused, "stored that no primitive uses")];
        let faults: Vec<_> = faults.iter().filter_map(|(of, what)| of.text(what)).collect();
        if !faults.is_empty() {
            (TrialResult::Wrong, format!("not sound: {}", faults.join("; ")))
        } else if let Some(again) = repeated.text("stored oftener than primitives use them") {
            (TrialResult::DoneWithout, format!("sound, as Vulkan allows: {again} ({draws} draws)"))
        } else if shaded_again > 0 {
            let text = "sound: each vertex once, shared ones sometimes again";
            (TrialResult::Works, format!("{text} ({draws} draws)"))
        } else {
            (TrialResult::Works, format!("sound: each vertex once ({draws} draws)"))
        }
    }
}

const POINT: vk::PipelineBindPoint = vk::PipelineBindPoint::GRAPHICS;

/// Vertices that were stored in the same unexpected way: their number, and an example.
#[derive(Default)]
struct Vertices {
    count: u32,
    /// A description of the first of these vertices.
    example: String,
}

impl Vertices {
    fn add(&mut self, place: &StorePlace, vertex: u32, count: u32) {
        if self.count == 0 {
            let StorePlace { topology, vertices, indexed, fate, .. } = place;
            let indexed = if *indexed { "indexed " } else { "" };
            self.example = format!(
                "vertex {vertex} of {vertices} in a {} {indexed}draw of {topology}, {count} times",
                fate.name()
            );
        }
        self.count += 1;
    }

    fn text(&self, what: &str) -> Option<String> {
        let Self { count, example } = self;
        let noun = if *count == 1 { "vertex" } else { "vertices" };
        (*count > 0).then(|| format!("{count} {noun} {what}, first {example}"))
    }
}

/// Adds two pipelines for each topology to the kit: one that discards primitives, and one that
/// rasterizes them.
///
/// # Safety
/// The device is live, and the module is the vertex shader of the draws of [`Stores`].
unsafe fn create_pipelines(
    gpu: &Gpu,
    kit: &mut Kit,
    module: vk::ShaderModule,
    topologies: &[PrimitiveTopology],
) -> Result<(), RuntimeError> {
    let stages = [vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::VERTEX)
        .module(module)
        .name(c"main")];
    let input = vk::PipelineVertexInputStateCreateInfo::default();
    let samples = vk::PipelineMultisampleStateCreateInfo::default()
        .rasterization_samples(vk::SampleCountFlags::TYPE_1);
    let viewports =
        [vk::Viewport { width: 1.0, height: 1.0, max_depth: 1.0, ..Default::default() }];
    let scissors =
        [vk::Rect2D { extent: vk::Extent2D { width: 1, height: 1 }, ..Default::default() }];
    let viewport =
        vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissors(&scissors);
    for &topology in topologies {
        let assembly =
            vk::PipelineInputAssemblyStateCreateInfo::default().topology(topology.into());
        for discards in [true, false] {
            let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
                .rasterizer_discard_enable(discards)
                .line_width(1.0);
            let info = vk::GraphicsPipelineCreateInfo::default()
                .stages(&stages)
                .vertex_input_state(&input)
                .input_assembly_state(&assembly)
                .viewport_state(&viewport)
                .rasterization_state(&rasterization)
                .multisample_state(&samples)
                .layout(kit.layout)
                .render_pass(gpu.render_pass);
            // SAFETY: the caller's contract; all required state is given, and the layout has what
            // the module declares.
            let made = unsafe {
                gpu.context.device().create_graphics_pipelines(
                    vk::PipelineCache::null(),
                    &[info],
                    None,
                )
            };
            let made = made.map_err(|(_, result)| result);
            kit.pipelines.extend(made.map_err(RuntimeError::vulkan("vkCreateGraphicsPipelines"))?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(stores: &Stores, count: impl Fn(u32) -> u32) -> Vec<u32> {
        let mut words = vec![0; stores.words()];
        for place in &stores.places {
            for (word, uses) in words[place.counts..].iter_mut().zip(place.uses()) {
                *word = count(uses);
            }
        }
        words
    }

    #[test]
    fn vertices_may_be_shaded_again() {
        let stores = Stores::new(true);
        let (result, text) = stores.judge(&counts(&stores, |uses| uses.min(1)));
        assert_eq!(result, TrialResult::Works);
        assert!(text.starts_with("sound: each vertex once ("), "{text}");
        let (result, text) = stores.judge(&counts(&stores, |uses| uses));
        assert_eq!(result, TrialResult::Works);
        assert!(text.contains("shared ones sometimes again"), "{text}");
        let (result, text) = stores.judge(&counts(&stores, |uses| 2 * uses));
        assert_eq!(result, TrialResult::DoneWithout);
        let says = "oftener than primitives use them, first vertex 0 of 12 in a discarded draw of \
                    point-list, 2 times";
        assert!(text.starts_with("sound, as Vulkan allows: ") && text.contains(says), "{text}");
    }

    #[test]
    fn vertices_that_are_missing_or_unused_are_named() {
        let stores = Stores::new(true);
        // What is stored oftener does not hide a fault.
        let words = counts(&stores, |uses| 2 * uses);
        for (indexed, vertex, count, what) in
            [(false, 5, 0, "not stored"), (true, 7, 1, "stored that no primitive uses")]
        {
            let is_it = |place: &&StorePlace| {
                place.topology == PrimitiveTopology::TriangleList
                    && (place.vertices, place.indexed, place.fate) == (12, indexed, Fate::Clipped)
            };
            let at = stores.places.iter().find(is_it).unwrap().counts + vertex;
            let mut wrong = words.clone();
            wrong[at] = count;
            let draw = if indexed { "indexed draw" } else { "draw" };
            let expected = format!(
                "not sound: 1 vertex {what}, first vertex {vertex} of 12 in a clipped {draw} of \
                 triangle-list, {count} times"
            );
            assert_eq!(stores.judge(&wrong), (TrialResult::Wrong, expected));
        }
    }

    /// `StorePlace::uses` returns, for each vertex, the number of primitives that use it. The expected
    /// numbers were worked out by hand.
    #[test]
    fn uses_are_those_of_the_primitives() {
        let uses = |topology, indexed| {
            StorePlace { topology, vertices: 12, indexed, fate: Fate::Discarded, counts: 0 }.uses()
        };
        assert_eq!(uses(PrimitiveTopology::TriangleStrip, false)[..4], [1, 2, 3, 3]);
        assert_eq!(uses(PrimitiveTopology::TriangleFan, false)[..3], [10, 1, 2]);
        let indexed = uses(PrimitiveTopology::TriangleList, true);
        assert_eq!(indexed, [1, 2, 3, 3, 2, 1, 0, 0, 0, 0, 0, 0]);
    }
}
