//! Captures draws, and reads back the results.

use ash::vk;
use vkxfb::lower::{Backend, Shader, compute};
use vkxfb::runtime::{
    ArenaSize, Buffer, CaptureBuffer, CaptureDesc, Context, CounterBuffer, Pipeline, PipelineDesc,
    QueryPool, Recorder, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::{OpenOptions, Profile, Resources};

use crate::common::test_device::{Owned, TestDevice};
use crate::common::{self, device};

pub const COMPUTE: Backend = Backend::Compute;
pub const POINTS: PrimitiveTopology = PrimitiveTopology::PointList;
/// The size of a record in bytes.
pub const STRIDE: u32 = 16;
/// The contents of memory before data is captured to it.
pub const BEFORE: u8 = 0xa5;

/// Captures the vertex index, the instance index and the draw index.
pub const WHICH: &str = "#version 460
    layout(xfb_buffer = 0, xfb_stride = 16) out;
    layout(location = 0, xfb_offset = 0) out flat uvec4 captured;
    void main() {
        captured = uvec4(gl_VertexIndex, gl_InstanceIndex, gl_DrawID, gl_BaseInstance);
        gl_Position = vec4(0.0);
    }";

/// A device, a pipeline that captures [`WHICH`], and a counter.
pub struct Captures {
    pipeline: Owned<Pipeline>,
    counter: Owned<Buffer>,
    pub gpu: TestDevice,
}

/// The results of a capture.
pub struct Found {
    /// The contents of the capture buffer.
    pub bytes: Vec<u8>,
    /// The value of the counter.
    pub position: u32,
    /// The part of the arena that was used.
    pub taken: ArenaSize,
    /// The number of bytes that the CPU allocated while recording, and the number of allocations.
    pub allocated: (u64, u64),
}

impl Found {
    /// Returns the `VertexIndex` of all records before the position.
    pub fn vertices(&self) -> Vec<u32> {
        let records = self.bytes.chunks_exact(STRIDE as usize);
        let captured = records.take((self.position / STRIDE) as usize);
        captured.map(|record| u32::from_le_bytes(record[..4].try_into().unwrap())).collect()
    }
}

impl Captures {
    pub fn new(resources: Resources, profile: Profile) -> Self {
        let workgroup_invocations = (resources == Resources::Descriptors).then_some(128);
        let options =
            OpenOptions { resources, profile, workgroup_invocations, ..Default::default() };
        let mut gpu = device::open_with(options);
        let none = VertexInput::default();
        let target = gpu.compute_target(COMPUTE).unwrap();
        let words = common::compile(WHICH, &[]);
        let options = compute::Options::new(&none).target(target);
        let lowered = compute::lower(&Shader::new(&words), &options).unwrap();
        let desc = PipelineDesc {
            topology: Some(POINTS.into()),
            specialize_topology: false,
            provoking_vertex: ProvokingVertex::First,
            primitive_restart: true,
            vertex_input: Some(&none),
            render_pass: gpu.render_pass(),
            ..PipelineDesc::new(&lowered)
        };
        let pipeline = gpu.pipeline(&desc);
        let usage = gpu.context().buffer_usages(COMPUTE).counter;
        let counter = gpu.buffer(4, usage);
        Self { pipeline, counter, gpu }
    }

    /// Creates a buffer for indirect arguments, counts, predicates and counters.
    pub fn buffer(&mut self, words: &[u32]) -> Owned<Buffer> {
        let ctx = self.gpu.context();
        let usage = ctx.buffer_usages(COMPUTE).indirect | ctx.buffer_usages(COMPUTE).counter;
        self.gpu.filled(usage, if words.is_empty() { &[0] } else { words })
    }

    /// Creates a buffer of indices.
    pub fn indices<T: bytemuck::NoUninit>(&mut self, indices: &[T]) -> Owned<Buffer> {
        let usage = self.gpu.context().buffer_usages(COMPUTE).index;
        self.gpu.filled(usage, indices)
    }

    /// Captures into a buffer for `room` records. The counter starts at record `first`.
    pub fn capture(
        &mut self,
        first: u32,
        room: u32,
        arena: impl Into<ArenaSize>,
        pools: &[Owned<QueryPool>],
        record: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Found {
        self.capture_behind(|_, _| (), first, room, arena, pools, record)
    }

    /// As [`capture`](Self::capture), after other commands.
    pub fn capture_behind(
        &mut self,
        before: impl FnOnce(&Context, vk::CommandBuffer),
        first: u32,
        room: u32,
        arena: impl Into<ArenaSize>,
        pools: &[Owned<QueryPool>],
        record: impl FnOnce(&mut Recorder<'_>) -> Result<(), RuntimeError>,
    ) -> Found {
        let Self { pipeline, counter, gpu } = self;
        let size = u64::from(room * STRIDE + STRIDE - 4);
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let target = gpu.filled(usage, &vec![BEFORE; size as usize]);
        gpu.write(counter, 0, &(first * STRIDE).to_le_bytes()).unwrap();
        let mut arena = gpu.arena(arena);
        let mut capture = gpu.new_capture();
        let counters = [Some(CounterBuffer::new(counter.raw()))];
        let buffers = [Some(CaptureBuffer::new(target.raw(), size))];
        let desc = CaptureDesc {
            buffers: &buffers,
            counters: if first > 0 { &counters } else { &[] },
            ..CaptureDesc::new(pipeline)
        };
        let allocated = gpu
            .submit(|ctx, cmd| {
                let mut result = Ok(());
                before(ctx, cmd);
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    for pool in pools {
                        pool.reset(ctx, cmd, 0, pool.count())?;
                    }
                    let capture = || {
                        let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                        record(&mut recorder)?;
                        recorder.end(&counters).map(|_| ())
                    };
                    let counted = allocation_counter::measure(|| result = capture());
                    result?;
                    Ok((counted.bytes_total, counted.count_total))
                }
            })
            .unwrap();
        let taken = arena.used();
        let position = gpu.contents(counter)[0];
        Found { bytes: gpu.contents(&target), position, taken, allocated }
    }
}

/// Ways to capture: with addresses and with descriptors, and with dispatches that the GPU or the
/// CPU sizes.
pub const WAYS: [(Resources, Profile); 3] = [
    (Resources::Best, Profile::Full),
    (Resources::Descriptors, Profile::Full),
    (Resources::Best, Profile::Bifrost),
];

/// Captures in each of [`WAYS`].
pub fn all() -> impl Iterator<Item = Captures> {
    WAYS.into_iter().map(|(resources, profile)| Captures::new(resources, profile))
}
