//! A geometry shader with two vertex streams, over frames of which two are in flight: points that multiply, and sparks
//! that they leave behind. Each frame captures from the points that the frame before captured, however many these are,
//! which only the device knows; queries tell the host.
//!
//! `cargo run --example streams` prints a line for each frame. The shaders are shaders/examples/point.vert and
//! split.geom.

#[path = "../common/mod.rs"]
mod common;

use anyhow::{Result, ensure};
use ash::vk;
use vkxfb::runtime::vulkan::vertex_input_descriptions;
use vkxfb::runtime::{ByteCountDraw, DrawCommands, QueryKind, QueryResult};
use vkxfb::*;

use common::headless::Headless;
use common::shader::words;

const FRAMES: u32 = 12;
/// The points that there are at first.
const FIRST: u32 = 4;
/// The most points, and the most sparks of a frame, that there is room for.
const ROOM: u64 = 1 << 12;

/// A point, as the shaders read it and as it is captured.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Point {
    position: [f32; 2],
    age: u32,
}

const STRIDE: u32 = size_of::<Point>() as u32;

/// Runs the example.
pub fn main() -> Result<()> {
    let vertex = words(include_bytes!("../../shaders/examples/point.spv"));
    let geometry = words(include_bytes!("../../shaders/examples/split.spv"));
    // SAFETY: all handles are of one device, which is idle where the host reads, and where anything is destroyed.
    unsafe {
        let mut headless = Headless::open()?;
        let xfb = &mut headless.xfb;

        // Records of 12 bytes in buffer 0, of 8 bytes in buffer 1.
        let binding = vk::VertexInputBindingDescription::default().stride(STRIDE);
        let attribute = |location, format, offset| {
            let attribute = vk::VertexInputAttributeDescription::default();
            attribute.location(location).format(format).offset(offset)
        };
        let vertex_input = vertex_input_descriptions(
            &[binding],
            &[attribute(0, vk::Format::R32G32_SFLOAT, 0), attribute(1, vk::Format::R32_UINT, 8)],
        )?;
        let stages = Stages {
            vertex_input: &vertex_input,
            ..Stages::new(&vertex).geometry(&geometry).varyings(&[
                "position",
                "age",
                "gl_NextBuffer",
                "spark",
            ])
        };
        let pipeline = xfb.pipeline(&stages)?;

        // Points are captured from one buffer into the other, and in the next frame the other way round. A counter says
        // how many bytes of a buffer are points.
        let points = ROOM * u64::from(STRIDE);
        let mut side = || {
            let mut points = xfb.buffer("points", points, MemoryLocation::Readback)?;
            let mut counter = xfb.buffer("counter", 4, MemoryLocation::Readback)?;
            let first =
                (0..FIRST).map(|number| Point { position: [0.0, number as f32], age: number });
            let first: Vec<Point> = first.collect();
            let bytes = bytemuck::cast_slice(&first);
            points.mapped_mut()[..bytes.len()].copy_from_slice(bytes);
            counter.mapped_mut().copy_from_slice(&(bytes.len() as u32).to_le_bytes());
            points.flush(xfb.context())?;
            counter.flush(xfb.context())?;
            anyhow::Ok([points, counter])
        };
        let sides = [side()?, side()?];
        let sparks = xfb.buffer("sparks", ROOM * 8, MemoryLocation::Readback)?;
        // Two queries for each frame in flight, one for each vertex stream.
        let count = 2 * Device::FRAMES_IN_FLIGHT as u32;
        let pool = xfb.query_pool(QueryKind::TransformFeedbackStream, count)?;
        let mut counted = Vec::new();
        let commands = xfb.buffer("draw command", 16, MemoryLocation::Readback)?;

        for frame in 0..FRAMES {
            let [from, to] = [&sides[frame as usize % 2], &sides[(frame as usize + 1) % 2]];
            let first = 2 * frame % count;
            headless.frame(|xfb, cmd| {
                // The frame before the last has been executed.
                if frame >= Device::FRAMES_IN_FLIGHT as u32 {
                    counted.push([pool.result(first)?, pool.result(first + 1)?]);
                }
                pool.reset(xfb.context(), cmd, first, 2)?;
                let buffers = [&to[0], &sparks]
                    .map(|buffer| Some(CaptureBuffer::new(buffer.raw(), buffer.size())));
                let earlier = [VertexBuffer::new(0, from[0].raw(), from[0].size())];
                let desc = CaptureDesc {
                    buffers: &buffers,
                    vertex_buffers: &earlier,
                    ..CaptureDesc::new(&pipeline)
                };
                let counters = [Some(CounterBuffer::new(to[1].raw()))];
                let all = ByteCountDraw::new(CounterBuffer::new(from[1].raw()), STRIDE);
                let host = ConsumerScope::HOST;
                xfb.capture_with_counters(cmd, &desc, &counters, host, |recorder| {
                    for stream in 0..2 {
                        recorder.begin_query(&pool, first + stream, stream)?;
                    }
                    recorder.draw_indirect_byte_count(vk::PrimitiveTopology::POINT_LIST, &all)?;
                    (0..2).try_for_each(|stream| recorder.end_query(pool.kind(), stream))
                })?;
                // In a render pass, vkCmdDrawIndirect with this command draws the points that were captured.
                let all = ByteCountDraw::new(CounterBuffer::new(to[1].raw()), STRIDE);
                let command = DrawCommands { buffer: commands.raw(), offset: 0, stride: 0 };
                xfb.write_draw_commands(cmd, &[all], &command)?;
                xfb.context().capture_barrier(cmd, Backend::Compute, host);
                Ok(())
            })?;
        }
        headless.wait()?;
        for frame in FRAMES - Device::FRAMES_IN_FLIGHT as u32..FRAMES {
            let first = 2 * frame % count;
            counted.push([pool.result(first)?, pool.result(first + 1)?]);
        }

        let mut expected: Vec<Point> = (0..FIRST)
            .map(|number| Point { position: [0.0, number as f32], age: number })
            .collect();
        let mut left = Vec::new();
        for (frame, counted) in counted.into_iter().enumerate() {
            (expected, left) = split(&expected);
            let [points, sparks] = counted.map(Option::unwrap_or_default);
            println!(
                "frame {frame:2}: {:4} points, {:3} sparks",
                points.primitives_written, sparks.primitives_written
            );
            let all = |count: usize| {
                let count = count as u64;
                QueryResult { primitives_written: count, primitives_needed: count }
            };
            ensure!(points == all(expected.len()) && sparks == all(left.len()), "not as many");
        }
        let last = &sides[FRAMES as usize % 2][0];
        let bytes = expected.len() * size_of::<Point>();
        let captured: &[Point] = bytemuck::cast_slice(&headless.xfb.read(last)?[..bytes]);
        ensure!(captured == expected, "the points are others");
        let bytes = left.len() * size_of::<[f32; 2]>();
        let captured: &[[f32; 2]] = bytemuck::cast_slice(&headless.xfb.read(&sparks)?[..bytes]);
        ensure!(captured == left, "the sparks are others");
        let command: &[u32] = bytemuck::cast_slice(headless.xfb.read(&commands)?);
        ensure!(command == [expected.len() as u32, 1, 0, 0], "the command draws {command:?}");
        headless.close((
            commands,
            sides.map(|[points, counter]| (points, counter)),
            sparks,
            pool,
            pipeline,
        ))
    }
}

/// What the geometry shader makes of points: the points of the next frame, and sparks.
fn split(points: &[Point]) -> (Vec<Point>, Vec<[f32; 2]>) {
    let next = points.iter().flat_map(|point| {
        let count = if point.age % 2 == 1 && point.age < 8 { 2 } else { 1 };
        (0..count).map(|number| Point {
            position: [point.position[0] + 1.0, point.position[1] + number as f32],
            age: point.age + 1 + number,
        })
    });
    let sparks = points.iter().filter(|point| point.age % 3 == 2).map(|point| point.position);
    (next.collect(), sparks.collect())
}
