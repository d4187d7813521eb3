//! Recording allocates no heap memory if the arena was used before for as many draws. Allocations
//! of drivers are not counted, because they do not use Rust's allocator.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, ByteCountDraw, Capture, CaptureBuffer, CaptureDesc, CounterBuffer,
    Draw, DrawIndexed, IndexBuffer, IndexType, IndirectDraw, Pipeline, PipelineDesc, QueryKind,
    QueryPool, Recorder, RuntimeError, VertexBuffer,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{OpenOptions, Resources};
use vkxfb_probe::shaders::ProbeShader;
use vkxfb_probe::subject::Subject;

use crate::common::descriptor_set::DescriptorSet;
use crate::common::device;
use crate::common::settings::sample_of;
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
/// The number of indices of a draw with primitive restart, which is enough for two workgroups of
/// the restart kernel.
const INDICES: u32 = 10_000;
/// The sizes in bytes of the buffer that is read and of the capture buffer.
const SIZES: [u64; 2] = [1 << 16, 1 << 25];
/// The number of bytes between dynamic offsets: the largest alignment that Vulkan allows a device
/// to require.
const OFFSET: u32 = 256;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;

/// The maximum number of draws of a recording. It is limited because the validation layer takes
/// long for many draws.
fn most_draws() -> u32 {
    sample_of(1000) as u32
}

/// The contents of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Direct,
    Indexed,
    Multi,
    Restarted,
    Indirect,
    IndexedIndirect,
    ByteCount,
    Counters,
    Queries,
    VertexBuffers,
    /// Each draw has other dynamic offsets than the previous one.
    DescriptorSets,
}

const KINDS: [Kind; 11] = [
    Kind::Direct,
    Kind::Indexed,
    Kind::Multi,
    Kind::Restarted,
    Kind::Indirect,
    Kind::IndexedIndirect,
    Kind::ByteCount,
    Kind::Counters,
    Kind::Queries,
    Kind::VertexBuffers,
    Kind::DescriptorSets,
];

/// Everything that captures need, and an application's descriptor set that no shader uses.
struct Everything {
    shader: ProbeShader,
    pipelines: [Owned<Pipeline>; 2],
    /// The buffer for attributes, indices and arguments, and the buffer that data is captured to.
    memory: [Owned<Buffer>; 2],
    counters: Owned<Buffer>,
    pools: [Owned<QueryPool>; 2],
    set: Owned<DescriptorSet>,
    gpu: TestDevice,
}

impl Everything {
    fn new(resources: Resources) -> Self {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let ctx = gpu.context().clone();
        let set = DescriptorSet::new(&gpu, vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC);
        // More attributes than fit in push constants.
        let shader = ProbeShader::attributes();
        let target = ctx.compute_target().unwrap();
        let lowered = Subject::built_in(shader.clone()).unwrap().lower(COMPUTE, &target).unwrap();
        let pipelines = [false, true].map(|primitive_restart| {
            let set_layouts = [set.layout];
            let desc = PipelineDesc {
                topology: Some(STRIP.into()),
                specialize_topology: false,
                primitive_restart,
                vertex_input: Some(&shader.vertex_input),
                set_layouts: &set_layouts,
                ..PipelineDesc::new(&lowered)
            };
            gpu.pipeline(&desc)
        });
        let usage = ctx.buffer_usages(COMPUTE).vertex
            | ctx.buffer_usages(COMPUTE).index
            | ctx.buffer_usages(COMPUTE).indirect
            | ctx.buffer_usages(COMPUTE).capture
            | vk::BufferUsageFlags::UNIFORM_BUFFER;
        let memory = SIZES.map(|size| gpu.buffer(size, usage));
        gpu.write(&memory[0], 0, &vec![0; memory[0].size() as usize]).unwrap();
        // SAFETY: the buffer has the usage, and nothing was submitted.
        unsafe { set.write_range(ctx.device(), memory[0].raw(), 0, 16) };
        let counters = gpu.filled(ctx.buffer_usages(COMPUTE).counter, &[0_u32; 4]);
        let pools = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated]
            .map(|kind| gpu.query_pool(kind, most_draws()));
        Self { shader, pipelines, memory, counters, pools, set, gpu }
    }

    fn arena(&mut self) -> Owned<Arena> {
        let draws = u64::from(most_draws());
        let desc = ArenaDesc {
            restarted_draws: draws,
            restarted_indices: draws * u64::from(INDICES),
            ..ArenaDesc::new(4 * draws, 4 * draws)
        };
        self.gpu.arena(desc)
    }

    /// Returns the number of allocations while this many draws are recorded.
    fn allocations(
        &mut self,
        capture: &mut Capture,
        arena: &mut Arena,
        kind: Kind,
        draws: u32,
    ) -> u64 {
        // SAFETY: the submission before was waited for.
        unsafe { arena.reset() };
        let [source, target] = &self.memory;
        let buffers: Vec<VertexBuffer> = self
            .shader
            .vertex_input
            .bindings
            .iter()
            .map(|b| VertexBuffer {
                binding: b.binding,
                buffer: source.raw(),
                offset: 0,
                size: source.size(),
                stride: None,
            })
            .collect();
        let at =
            |number: u64| Some(CounterBuffer { buffer: self.counters.raw(), offset: 4 * number });
        let counters = match kind {
            Kind::Counters => [at(0), at(1)],
            _ => [None; 2],
        };
        let restarts = usize::from(kind == Kind::Restarted);
        let captured = [Some(CaptureBuffer::new(target.raw(), target.size()))];
        let desc = CaptureDesc {
            buffers: &captured,
            vertex_buffers: &buffers,
            counters: &counters,
            ..CaptureDesc::new(&self.pipelines[restarts])
        };
        let (pools, set) = (&self.pools, self.set.raw);
        self.gpu
            .submit(|ctx, cmd| {
                let mut result = Ok(());
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    for pool in pools {
                        pool.reset(ctx, cmd, 0, most_draws())?;
                    }
                    let record = || {
                        let mut recorder = Recorder::begin(capture, arena, cmd, &desc)?;
                        recorder.bind_descriptor_sets(0, &[set], &[0])?;
                        recorder.bind_index_buffer(&IndexBuffer::new(
                            source.raw(),
                            u64::from(INDICES) * 2,
                            IndexType::Uint16,
                        ))?;
                        for number in 0..draws {
                            draw(&mut recorder, kind, number, source, &buffers, pools, set)?;
                        }
                        recorder.end(&counters).map(|_| ())
                    };
                    let counted = allocation_counter::measure(|| result = record());
                    result?;
                    Ok(counted.count_total)
                }
            })
            .unwrap()
    }
}

/// Records a draw, and what else a capture of this kind contains for each draw.
///
/// # Safety
/// As [`Recorder::draw_indirect`].
unsafe fn draw(
    recorder: &mut Recorder<'_>,
    kind: Kind,
    number: u32,
    source: &Buffer,
    vertex_buffers: &[VertexBuffer],
    pools: &[Owned<QueryPool>; 2],
    set: vk::DescriptorSet,
) -> Result<(), RuntimeError> {
    let plain = Draw::new(3 + number % 300);
    let indexed = DrawIndexed::new(100);
    let indirect = IndirectDraw {
        buffer: source.raw(),
        offset: 0,
        draw_count: 2,
        stride: 20,
        count: Some((source.raw(), 64)),
    };
    unsafe {
        match kind {
            Kind::Direct | Kind::Counters => recorder.draw(STRIP, &plain),
            Kind::Indexed => recorder.draw_indexed(STRIP, &indexed),
            Kind::Multi => recorder.draw_multi(STRIP, &[plain]),
            Kind::Restarted => {
                let index_count = if number < 4 { INDICES } else { 10 };
                recorder.draw_indexed(STRIP, &DrawIndexed { index_count, ..indexed })
            }
            Kind::Indirect => recorder.draw_indirect(STRIP, &indirect),
            Kind::IndexedIndirect => recorder.draw_indexed_indirect(STRIP, &indirect),
            Kind::ByteCount => recorder.draw_indirect_byte_count(
                STRIP,
                &ByteCountDraw {
                    instance_count: 1,
                    first_instance: 0,
                    counter: CounterBuffer::new(source.raw()),
                    counter_offset: 0,
                    vertex_stride: 4,
                },
            ),
            Kind::Queries => {
                for pool in pools {
                    recorder.begin_query(pool, number, 0)?;
                }
                recorder.draw(STRIP, &plain)?;
                pools.iter().try_for_each(|pool| recorder.end_query(pool.kind(), 0))
            }
            Kind::VertexBuffers => {
                // Binding the same buffers again would have no effect.
                let skipped = 16 * u64::from(number % 2);
                for buffer in vertex_buffers {
                    let (offset, size) = (buffer.offset + skipped, buffer.size - skipped);
                    recorder.bind_vertex_buffers(&[VertexBuffer { offset, size, ..*buffer }])?;
                }
                recorder.draw(STRIP, &plain)
            }
            Kind::DescriptorSets => {
                recorder.bind_descriptor_sets(0, &[set], &[OFFSET * (number % 4)])?;
                recorder.draw(STRIP, &plain)
            }
        }
    }
}

/// With descriptors, a recording allocates memory for descriptor sets, but none for draws.
#[test]
fn draws_allocate_nothing_by_descriptors() {
    let mut all = Everything::new(Resources::Descriptors);
    let mut arena = all.arena();
    let mut capture = all.gpu.new_capture();
    for kind in KINDS {
        // Few draws need another pipeline than many, which is created when it is first needed.
        let most = most_draws();
        for draws in [10, most] {
            all.allocations(&mut capture, &mut arena, kind, draws);
        }
        let few = all.allocations(&mut capture, &mut arena, kind, 10);
        let many = all.allocations(&mut capture, &mut arena, kind, most);
        assert_eq!(many, few, "{kind:?}");
    }
}

#[test]
fn nothing_is_allocated_while_recording() {
    let mut all = Everything::new(Resources::Best);
    let mut arena = all.arena();
    let mut capture = all.gpu.new_capture();
    for kind in KINDS {
        all.allocations(&mut capture, &mut arena, kind, most_draws());
        assert_eq!(all.allocations(&mut capture, &mut arena, kind, most_draws()), 0, "{kind:?}");
    }
}
