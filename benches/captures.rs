//! Measures frames of 1,000 small captures, of one draw each: the CPU time of recording, and the time
//! of the whole frame. The workgroups of a fused capture do the work of kernels, too; kernels do it where
//! a second draw follows, here one of no points. Captures that are begun in one value share the kernel, and the CPU
//! computes where each one begins. `cargo bench --bench captures`

#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::time::{Duration, Instant};

use vkxfb::lower::Backend;
use vkxfb::runtime::{
    Arena, ArenaDesc, Buffer, Capture, CaptureBuffer, CaptureDesc, CaptureOrder, CounterBuffer,
    Draw, MemoryLocation, Pipeline, PipelineDesc,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::gpu::{Gpu, OpenOptions};
use vkxfb_probe::shaders::ProbeShader;
use vkxfb_probe::subject::Subject;

const COMPUTE: Backend = Backend::Compute;
/// Captures of a frame.
const CAPTURES: u32 = 1_000;
/// How often each frame is measured. The result is the median.
const ROUNDS: usize = 31;
/// Bytes of a record.
const STRIDE: u64 = 16;

/// A frame of captures.
struct Frame {
    text: &'static str,
    points: u32,
    /// Whether each capture begins where the counter says that the one before ended, or each at the
    /// start of a range of its own. Each ends in a counter.
    is_resumed: bool,
    way: Way,
}

/// How the captures of a frame are recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By kernels, because each capture has another draw, of no points.
    Kernels,
    Fused,
    /// In one value, by `Capture::begin_next`.
    Together,
}

/// Frames of captures, each in all ways.
const FRAMES: [[Frame; 3]; 6] = [
    each_way("resumed", 64, true),
    each_way("resumed", 300, true),
    each_way("of a range each", 3, false),
    each_way("of a range each", 64, false),
    each_way("of a range each", 300, false),
    each_way("of a range each", 512, false),
];

const fn each_way(text: &'static str, points: u32, is_resumed: bool) -> [Frame; 3] {
    [
        Frame { text, points, is_resumed, way: Way::Kernels },
        Frame { text, points, is_resumed, way: Way::Fused },
        Frame { text, points, is_resumed, way: Way::Together },
    ]
}

struct Bench {
    pipeline: Pipeline,
    arena: Arena,
    target: Buffer,
    counters: Buffer,
}

impl Bench {
    fn new(gpu: &mut Gpu) -> Self {
        let subject = Subject::built_in(ProbeShader::identify()).unwrap();
        let target = gpu.compute_target(COMPUTE).unwrap();
        let lowered = subject.lower(COMPUTE, &target).unwrap();
        assert_eq!(lowered.layout.strides[0], Some(STRIDE as u32));
        let desc = PipelineDesc {
            topology: Some(PrimitiveTopology::PointList.into()),
            ..PipelineDesc::new(&lowered)
        };
        // SAFETY: the device is live.
        let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }.unwrap();
        let captures = u64::from(CAPTURES);
        let arena = gpu.create_arena(ArenaDesc::new(captures, captures)).unwrap();
        let most = FRAMES.iter().flatten().map(|frame| u64::from(frame.points)).max().unwrap();
        let usage = gpu.context().buffer_usages(COMPUTE).capture;
        let size = captures * most * STRIDE;
        let target = gpu.create_buffer(size, usage, MemoryLocation::Device).unwrap();
        let usage = gpu.context().buffer_usages(COMPUTE).counter;
        let counters = gpu.create_buffer(captures * 4, usage, MemoryLocation::Device).unwrap();
        Self { pipeline, arena, target, counters }
    }

    /// Runs a frame. Returns the time of recording, and the time until the device has finished.
    fn run(&mut self, gpu: &mut Gpu, frame: &Frame) -> [Duration; 2] {
        gpu.write(&self.counters, 0, &vec![0; self.counters.size() as usize]).unwrap();
        let kernels = gpu.kernels();
        // SAFETY: the frame before has finished.
        unsafe { self.arena.reset() };
        let mut capture = Capture::new(gpu.context(), &kernels);
        let mut order = CaptureOrder::default();
        let range = u64::from(frame.points) * STRIDE;
        let start = Instant::now();
        let recording = gpu.submit(|_, cmd| {
            let start = Instant::now();
            for number in 0..u64::from(CAPTURES) {
                let of = if frame.is_resumed { 0 } else { number };
                let counter = CounterBuffer { buffer: self.counters.raw(), offset: of * 4 };
                let buffer = CaptureBuffer {
                    buffer: self.target.raw(),
                    offset: of * range,
                    size: if frame.is_resumed { self.target.size() } else { range },
                };
                let (buffers, counters) = ([Some(buffer)], [Some(counter)]);
                let mut desc =
                    CaptureDesc { buffers: &buffers, ..CaptureDesc::new(&self.pipeline) };
                let (is_first, is_together) = (number == 0, frame.way == Way::Together);
                // The counters are 0 at first, and a capture without counters begins there, too.
                if frame.is_resumed && !(is_first && is_together) {
                    desc = CaptureDesc { counters: &counters, ..desc };
                }
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe {
                    if is_together && !is_first {
                        assert!(capture.begin_next(&desc)?)
                    } else {
                        capture.begin(&desc)?
                    }
                    let mut recorder = capture.recorder();
                    recorder.draw(PrimitiveTopology::PointList, &Draw::new(frame.points))?;
                    if frame.way == Way::Kernels {
                        recorder.draw(PrimitiveTopology::PointList, &Draw::new(0))?;
                    }
                    recorder.end(&counters)?;
                    if !is_together {
                        capture.play_in_order(&mut self.arena, cmd, &mut order)?;
                    }
                }
            }
            if frame.way == Way::Together {
                // SAFETY: everything outlives the submission, which is waited for.
                unsafe { capture.play_in_order(&mut self.arena, cmd, &mut order) }?;
            }
            Ok(start.elapsed())
        });
        [recording.unwrap(), start.elapsed()]
    }

    fn destroy(self, gpu: &mut Gpu) {
        gpu.destroy_pipeline(self.pipeline);
        gpu.destroy_arena(self.arena);
        gpu.destroy_buffer(self.target);
        gpu.destroy_buffer(self.counters);
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let mut gpu = Gpu::open(&OpenOptions::default()).unwrap();
    let mut bench = Bench::new(&mut gpu);
    println!("{}: frames of {CAPTURES} captures", gpu.capabilities().device_name);
    let mut times =
        FRAMES.as_flattened().iter().map(|_| [Vec::new(), Vec::new()]).collect::<Vec<_>>();
    // The first round compiles pipelines.
    for round in 0..=ROUNDS {
        for (frame, times) in FRAMES.as_flattened().iter().zip(&mut times) {
            for (time, all) in bench.run(&mut gpu, frame).into_iter().zip(times) {
                if round > 0 {
                    all.push(time.as_secs_f64() * 1e3);
                }
            }
        }
    }
    for (frame, [recording, all]) in FRAMES.as_flattened().iter().zip(times) {
        let (recording, all) = (median(recording), median(all));
        let Frame { text, points, way, .. } = frame;
        let how = match way {
            Way::Kernels => "with kernels",
            Way::Fused => "fused",
            Way::Together => "together",
        };
        println!(
            "  {points:>4} points {text:<15} {how:<12}: recorded in {recording:>6.3} ms, {all:>7.3} ms in all"
        );
    }
    bench.destroy(&mut gpu);
    assert!(gpu.close().is_empty());
}
