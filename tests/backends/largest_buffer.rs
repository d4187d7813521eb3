//! Huge captures, whose sizes and positions need 64 bits.

use vkxfb::counts::MAX_BUFFER_SIZE;
use vkxfb::lower::Backend;
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, CounterBuffer, Draw, Recorder,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::OpenOptions;

use crate::common::device;
use crate::common::test_device::TestDevice;

const COMPUTE: Backend = Backend::Compute;

/// Captures a strip whose records exceed 2^32 bytes, into a buffer of 2^32 - 4 bytes. It is clamped
/// once by the CPU and once by the setup kernel.
#[test]
#[ignore = "takes 4 GiB of device memory"]
fn captures_fill_the_largest_buffer() {
    let mut gpu = TestDevice::open(&OpenOptions::default());
    let strip = PrimitiveTopology::TriangleStrip;
    let pipeline = device::identifying_pipeline(&gpu);
    let usage = gpu.context().buffer_usages(COMPUTE).capture;
    let target = gpu.buffer(1 << 32, usage);
    let usage = gpu.context().buffer_usages(COMPUTE).counter;
    let counter = gpu.buffer(4, usage);
    let kernels = gpu.kernels();
    let (records, vertex_count) = (MAX_BUFFER_SIZE / 48 * 3, 100_000_000);
    for resumed in [false, true] {
        let mut arena = gpu.arena(ArenaDesc::new(1, 2));
        gpu.write(&counter, 0, &[0; 4]).unwrap();
        gpu.write(&target, (1 << 32) - 256, &[0xa5; 256]).unwrap();
        gpu.submit(|ctx, cmd| {
            let at = Some(CounterBuffer::new(counter.raw()));
            let bound = CaptureBuffer::new(target.raw(), MAX_BUFFER_SIZE);
            let buffers = [Some(bound)];
            let counters = [at.filter(|_| resumed)];
            let desc = CaptureDesc {
                buffers: &buffers,
                counters: &counters,
                ..CaptureDesc::new(&pipeline)
            };
            let draw = Draw { vertex_count, instance_count: 3, ..Draw::default() };
            // SAFETY: everything outlives the submission, which is waited for.
            unsafe {
                let mut capture = Capture::new(ctx, &kernels);
                let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
                recorder.draw(strip, &draw)?;
                recorder.draw(strip, &draw)?;
                recorder.end(&[at])?;
            }
            Ok(())
        })
        .unwrap();
        let position = gpu.read(&counter, 0..4).unwrap();
        assert_eq!(u32::from_le_bytes(position.try_into().unwrap()) as u64, 16 * records);
        let last = 16 * (records - 1);
        let bytes = gpu.read(&target, last..1 << 32).unwrap();
        let vertex = strip.gather(ProvokingVertex::First, records - 1) as u32;
        assert_eq!(bytes[..4], vertex.to_le_bytes());
        assert!(bytes[16..].iter().all(|byte| *byte == 0xa5), "{:x?}", &bytes[16..]);
    }
}
