//! The costs of captures, in units that can be counted on any machine: dispatches, and invocations
//! in the device's pipeline statistics. `vkxfb bench` measures times, and
//! cli/tests/commands/bench_bars.rs checks their ratios.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, CaptureBuffer, CaptureDesc, Draw, DrawIndexed, IndexBuffer,
    IndexType, Pipeline, Recorded, Recorder,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{GpuError, OpenOptions};
use vkxfb_probe::shaders::ProbeShader;

use crate::common::device;
use crate::common::skip::{Why, skip};
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
/// The size of a record in bytes.
const STRIDE: u64 = 16;
/// The number of vertices or indices of a draw: more than llvmpipe processes in one loop, and not a
/// multiple of a workgroup.
const COUNT: u32 = 200_003;
/// The number of indices of a segment, including the restart index.
const SEGMENT: u32 = 101;
/// The maximum number of invocations that process neither a vertex nor an index: unused invocations
/// of workgroups, and those of the setup kernel.
const OVERHEAD: u64 = 4096;

struct Cost {
    recorded: Recorded,
    /// The number of invocations of all dispatches.
    invocations: u64,
}

/// Submits what `record` records, and returns how many invocations of compute shaders the device counted.
fn counted<R>(
    gpu: &mut TestDevice,
    record: impl FnOnce(vk::CommandBuffer) -> Result<R, GpuError>,
) -> (R, u64) {
    let device = gpu.context().device().clone();
    let info = vk::QueryPoolCreateInfo::default()
        .query_type(vk::QueryType::PIPELINE_STATISTICS)
        .query_count(1)
        .pipeline_statistics(vk::QueryPipelineStatisticFlags::COMPUTE_SHADER_INVOCATIONS);
    let mut invocations = [0_u64];
    // SAFETY: the feature is enabled, `record` leaves no render pass instance open, and the submission is waited for.
    unsafe {
        let pool = device.create_query_pool(&info, None).unwrap();
        let result = gpu.submit(|_, cmd| {
            device.cmd_reset_query_pool(cmd, pool, 0, 1);
            device.cmd_begin_query(cmd, pool, 0, vk::QueryControlFlags::empty());
            let result = record(cmd)?;
            device.cmd_end_query(cmd, pool, 0);
            Ok(result)
        });
        let wait = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
        device.get_query_pool_results(pool, 0, &mut invocations, wait).unwrap();
        device.destroy_query_pool(pool, None);
        (result.unwrap(), invocations[0])
    }
}

/// A buffer to capture to, and one of indices.
struct Buffers {
    arena: Owned<Arena>,
    indices: Owned<Buffer>,
    target: Owned<Buffer>,
    gpu: TestDevice,
}

impl Buffers {
    /// Returns `None` on a device that does not count invocations.
    fn new() -> Option<Self> {
        let mut gpu = TestDevice::open(&OpenOptions::default());
        if !gpu.draw_features().pipeline_statistics_query {
            skip(Why::Expected(format!("{} does not count", gpu.capabilities().device_name)));
            return None;
        }
        let index = |i| if i % SEGMENT == SEGMENT - 1 { u32::MAX } else { i };
        let values: Vec<u32> = (0..COUNT).map(index).collect();
        let indices = gpu.filled(gpu.context().buffer_usages(COMPUTE).index, &values);
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let target = gpu.buffer(u64::from(COUNT) * 3 * STRIDE, usage);
        let arena = gpu.arena(ArenaDesc {
            restarted_draws: 1,
            restarted_indices: COUNT.into(),
            ..ArenaDesc::new(1, 1)
        });
        Some(Self { arena, indices, target, gpu })
    }

    /// Returns the cost of one draw, with or without an index buffer.
    fn cost(&mut self, pipeline: &Pipeline, topology: PrimitiveTopology, indexed: bool) -> Cost {
        let Self { arena, indices, target, gpu } = self;
        let mut capture = gpu.new_capture();
        // SAFETY: the submission before was waited for.
        unsafe { arena.reset() };
        let (recorded, invocations) = counted(gpu, |cmd| {
            let bound = CaptureBuffer::new(target.raw(), target.size());
            let buffers = [Some(bound)];
            let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut recorder = Recorder::begin(&mut capture, &mut **arena, cmd, &desc)?;
                if indexed {
                    recorder.bind_index_buffer(&IndexBuffer::new(
                        indices.raw(),
                        indices.size(),
                        IndexType::Uint32,
                    ))?;
                    let (index_count, instance_count) = (COUNT, 1);
                    let draw =
                        DrawIndexed { index_count, instance_count, ..DrawIndexed::default() };
                    recorder.draw_indexed(topology, &draw)?;
                } else {
                    let (vertex_count, instance_count) = (COUNT, 1);
                    let draw = Draw { vertex_count, instance_count, ..Draw::default() };
                    recorder.draw(topology, &draw)?;
                }
                Ok(recorder.end(&[])?)
            }
        });
        Cost { recorded, invocations }
    }
}

/// Primitive restart costs one pass over the indices by few workgroups, in addition to the capture.
#[test]
fn restart_looks_through_the_indices_once() {
    let Some(mut buffers) = Buffers::new() else { return };
    let without = device::identifying_pipeline(&buffers.gpu);
    let with = device::restarting_pipeline(&buffers.gpu, ProvokingVertex::First);
    use PrimitiveTopology::{TriangleFan, TriangleList, TriangleStrip};
    for topology in [TriangleList, TriangleStrip, TriangleFan] {
        let plain = buffers.cost(&without, topology, true);
        let restarted = buffers.cost(&with, topology, true);
        println!(
            "{topology}: {} invocations, with restart {}",
            plain.invocations, restarted.invocations
        );
        // The invocations that capture, and those of the pass over the indices, each of which
        // handles several.
        let most = plain.invocations + u64::from(COUNT) / 16 + OVERHEAD;
        assert!(restarted.invocations <= most, "{topology}: {} > {most}", restarted.invocations);
        assert_eq!(
            (plain.recorded.capture_dispatches, plain.recorded.kernel_dispatches),
            (1, 0),
            "{topology}"
        );
        assert_eq!(restarted.recorded.capture_dispatches, 1, "{topology}");
        assert!(restarted.recorded.kernel_dispatches <= 4, "{topology}: {:?}", restarted.recorded);
    }
}

/// Storing the first vertex of a fan is distributed over the invocations: a fan has at most twice
/// the invocations of a strip, and each invocation stores that vertex at most once. llvmpipe ends
/// loops after 65,536 iterations, so a loop could not store it to every primitive.
#[test]
fn the_hub_of_a_fan_is_shared_out() {
    let Some(mut buffers) = Buffers::new() else { return };
    let pipeline = device::identifying_pipeline(&buffers.gpu);
    let strip = buffers.cost(&pipeline, PrimitiveTopology::TriangleStrip, false);
    let fan = buffers.cost(&pipeline, PrimitiveTopology::TriangleFan, false);
    println!("strip: {} invocations, fan {}", strip.invocations, fan.invocations);
    assert!(strip.invocations <= u64::from(COUNT) + OVERHEAD, "{}", strip.invocations);
    assert!(fan.invocations <= 2 * u64::from(COUNT) + OVERHEAD, "{}", fan.invocations);
    assert_eq!((fan.recorded.capture_dispatches, fan.recorded.kernel_dispatches), (1, 0));

    let shader = ProbeShader::identify();
    let records = PrimitiveTopology::TriangleFan.output_count(COUNT);
    let bytes = buffers.gpu.read(&buffers.target, 0..records * STRIDE).unwrap();
    for (output, found) in (0..).zip(bytes.chunks_exact(STRIDE as usize)) {
        let vertex = PrimitiveTopology::TriangleFan.gather(ProvokingVertex::First, output);
        let mut expected = [0; STRIDE as usize];
        shader.record(0, 0, vertex as u32, &mut expected);
        assert_eq!(found, expected, "record {output}");
    }
}
