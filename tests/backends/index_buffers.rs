//! Index buffers of any size. The last index may be in a dword whose end is beyond the buffer; then
//! only the bytes of that index may be read.

use vkxfb::lower::Backend;
use vkxfb::runtime::{
    ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, DrawIndexed, IndexBuffer, IndexType,
    Pipeline, Recorder,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{OpenOptions, Profile};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device;
use crate::common::rng::Rng;
use crate::common::test_device::Owned;
use crate::common::test_device::TestDevice;

const COMPUTE: Backend = Backend::Compute;
const STRIP: PrimitiveTopology = PrimitiveTopology::TriangleStrip;
const PROVOKING: ProvokingVertex = ProvokingVertex::First;
/// The size of a record in bytes.
const STRIDE: usize = 16;

/// A draw of all indices in a buffer.
struct Case {
    index_type: IndexType,
    /// The bytes before the first index.
    offset: u64,
    indices: Vec<u32>,
    restarts: bool,
}

impl Case {
    fn new(random: &mut Rng, count: u32) -> Self {
        let index_type = [IndexType::Uint8, IndexType::Uint16][random.below(2) as usize];
        let restart = index_type.restart_index();
        let index = |random: &mut Rng| match random.below(6) {
            0 => restart,
            _ => random.below(restart),
        };
        Self {
            index_type,
            offset: u64::from(random.below(9) * index_type.size()),
            indices: (0..count).map(|_| index(random)).collect(),
            restarts: random.below(2) == 0,
        }
    }

    /// Returns the contents of the buffer, which ends with the last index.
    fn bytes(&self) -> Vec<u8> {
        let size = self.index_type.size() as usize;
        let indices = self.indices.iter().flat_map(|i| i.to_le_bytes().into_iter().take(size));
        // What is before the first index is no index.
        std::iter::repeat_n(0x5a, self.offset as usize).chain(indices).collect()
    }

    fn model(&self) -> Vec<u8> {
        let (shader, restart) = (ProbeShader::identify(), self.index_type.restart_index());
        let is_restart = |index: &u32| self.restarts && *index == restart;
        let mut bytes = Vec::new();
        for segment in self.indices.split(is_restart) {
            for output in 0..3 * STRIP.primitive_count(segment.len() as u32) {
                let mut record = [0; STRIDE];
                let vertex = segment[STRIP.gather(PROVOKING, output) as usize];
                shader.record(0, 0, vertex, &mut record);
                bytes.extend(record);
            }
        }
        bytes
    }
}

/// Captures all draws together, and returns the captured bytes.
fn captured(gpu: &mut TestDevice, pipeline: &Pipeline, cases: &[Case], size: u64) -> Vec<u8> {
    let ctx = gpu.context().clone();
    let target = gpu.buffer(size, ctx.buffer_usages(COMPUTE).capture);
    let mut make = |case: &Case| {
        let bytes = case.bytes();
        let size = bytes.len() as u64;
        let size = if ctx.enabled().byte_loads {
            size
        } else {
            // Otherwise that is what the buffer needs.
            size.next_multiple_of(4)
        };
        let buffer = gpu.buffer(size, ctx.buffer_usages(COMPUTE).index);
        gpu.write(&buffer, 0, &bytes).unwrap();
        buffer
    };
    let indices: Vec<Owned<Buffer>> = cases.iter().map(&mut make).collect();
    let draws = cases.len() as u64;
    let counts = cases.iter().map(|case| case.indices.len() as u64);
    let mut arena = gpu.arena(ArenaDesc {
        restarted_draws: draws,
        restarted_indices: counts.sum(),
        ..ArenaDesc::new(1, draws)
    });
    let kernels = gpu.kernels();
    gpu.submit(|ctx, cmd| {
        let buffers = [Some(CaptureBuffer::new(target.raw(), size))];
        let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            for (case, buffer) in cases.iter().zip(&indices) {
                let size = case.bytes().len() as u64 - case.offset;
                let bound = IndexBuffer::new(buffer.raw(), size, case.index_type);
                recorder.bind_index_buffer(&IndexBuffer { offset: case.offset, ..bound })?;
                recorder.set_primitive_restart(case.restarts)?;
                recorder.draw_indexed(STRIP, &DrawIndexed::new(case.indices.len() as u32))?;
            }
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap();
    gpu.contents(&target)
}

/// A shader that was lowered without loads of single bytes would read beyond such a buffer.
#[test]
fn shaders_without_byte_loads_need_whole_dwords() {
    use vkxfb::lower::{Shader, compute};
    use vkxfb::runtime::{PipelineDesc, RuntimeError};

    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        if !gpu.context().enabled().byte_loads {
            continue;
        }
        let shader = ProbeShader::identify();
        let target = gpu.compute_target(COMPUTE).unwrap();
        let target = target.byte_loads(false);
        let options = compute::Options::new(&shader.vertex_input).target(target);
        let lowered = compute::lower(&Shader::new(&shader.words()), &options).unwrap();
        let desc = PipelineDesc::new(&lowered);
        let pipeline = gpu.pipeline(&desc);
        let usage = gpu.context().buffer_usages(COMPUTE).index;
        // SAFETY: the buffer is live.
        let memory = |buffer: &Buffer, gpu: &TestDevice| unsafe {
            gpu.context().device().get_buffer_memory_requirements(buffer.raw()).size
        };
        let buffer = gpu.buffer(38, usage);
        let refused = memory(&buffer, &gpu) < 40 || !gpu.context().has_addresses();
        let mut arena = gpu.arena(ArenaDesc::new(1, 1));
        let kernels = gpu.kernels();
        gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for; nothing is captured.
            unsafe {
                let mut capture = Capture::new(ctx, &kernels);
                let desc = CaptureDesc::new(&pipeline);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                let bound = IndexBuffer::new(buffer.raw(), 38, IndexType::Uint16);
                recorder.bind_index_buffer(&bound)?;
                let drawn = recorder.draw_indexed(STRIP, &DrawIndexed::new(19));
                let is_refused = matches!(drawn, Err(RuntimeError::PartialDword { end: 38, .. }));
                assert_eq!(is_refused, refused, "{drawn:?}");
                recorder.bind_index_buffer(&IndexBuffer { size: 36, ..bound })?;
                recorder.draw_indexed(STRIP, &DrawIndexed::new(18))?;
                recorder.end(&[])?;
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn buffers_end_with_their_last_index() {
    for (profile, robustness) in
        [(Profile::Full, false), (Profile::Full, true), (Profile::Bifrost, false)]
    {
        for resources in device::RESOURCES {
            let options = OpenOptions { profile, resources, robustness, ..Default::default() };
            let mut gpu = device::open_with(options);
            let pipeline = device::restarting_pipeline(&gpu, PROVOKING);
            let mut random = Rng::new(1);
            for count in 3..40 {
                // One draw alone, and some that share a dispatch.
                let draws = if count % 3 == 0 { 1 } else { 4 };
                let cases: Vec<Case> =
                    (0..draws).map(|more| Case::new(&mut random, count + more)).collect();
                let expected: Vec<u8> = cases.iter().flat_map(Case::model).collect();
                // The capture ends with the last record.
                let size = expected.len().max(STRIDE) as u64;
                let found = captured(&mut gpu, &pipeline, &cases, size);
                assert!(found.starts_with(&expected), "{profile:?}, {resources:?}, {count}");
            }
        }
    }
}
