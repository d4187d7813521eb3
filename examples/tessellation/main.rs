//! Tessellation: a square of four control points becomes the triangles of a hill, which are captured.
//!
//! `cargo run --example tessellation -- --output hill.obj` writes them as a file that any viewer of meshes opens. The shaders
//! are shaders/examples/corner.vert, divide.tesc and hill.tese.

#[path = "../common/mod.rs"]
mod common;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use ash::vk;
use vkxfb::{CaptureDesc, ConsumerScope, Draw, MemoryLocation, Stages};

use common::headless::Headless;
use common::shader::words;

type Triangle = [[f32; 3]; 3];

/// The squares of which the control shader makes one, in each direction, and the two triangles of each.
const TRIANGLES: u64 = 5 * 3 * 2;

/// Runs the example with the program's arguments.
pub fn main() -> Result<()> {
    let [output] = common::arguments::named(["output"], std::env::args().skip(1))?;
    run(common::arguments::path(output))
}

/// Captures the triangles, checks them, and writes them to the file.
pub fn run(output: Option<PathBuf>) -> Result<()> {
    let vertex = words(include_bytes!("../../shaders/examples/corner.spv"));
    let control = words(include_bytes!("../../shaders/examples/divide.spv"));
    let evaluation = words(include_bytes!("../../shaders/examples/hill.spv"));
    // SAFETY: all handles are of one device, which is idle where the host reads, and where anything is destroyed.
    let triangles = unsafe {
        let mut headless = Headless::open()?;
        let stages =
            Stages::new(&vertex).tessellation(&control, &evaluation, 4).varyings(&["position"]);
        let pipeline = headless.xfb.pipeline(&stages)?;
        let size = TRIANGLES * size_of::<Triangle>() as u64;
        let captured = headless.xfb.buffer("captured", size, MemoryLocation::Readback)?;
        headless.frame(|xfb, cmd| {
            let desc = CaptureDesc {
                buffers: captured.as_capture_buffers(),
                ..CaptureDesc::new(&pipeline)
            };
            xfb.capture(cmd, &desc, ConsumerScope::HOST, |recorder| {
                recorder.draw(vk::PrimitiveTopology::PATCH_LIST, &Draw::new(4))
            })?;
            Ok(())
        })?;
        headless.wait()?;
        let triangles: Vec<Triangle> = bytemuck::cast_slice(headless.xfb.read(&captured)?).to_vec();
        headless.close((captured, pipeline))?;
        triangles
    };
    // The evaluation shader asks for triangles that turn counter-clockwise, where the second coordinate points down.
    let area = |[a, b, c]: &Triangle| {
        ((c[0] - a[0]) * (b[1] - a[1]) - (b[0] - a[0]) * (c[1] - a[1])) / 2.0
    };
    ensure!(
        triangles.iter().all(|triangle| area(triangle) > 0.0),
        "a triangle turns the wrong way"
    );
    let whole: f32 = triangles.iter().map(area).sum();
    ensure!((whole - 1.0).abs() < 1e-5, "the triangles have {whole} of the square");
    println!("{} triangles", triangles.len());
    if let Some(path) = output {
        let mut text = String::new();
        for [x, y, z] in triangles.iter().flatten() {
            writeln!(text, "v {x} {y} {z}")?;
        }
        for first in (1..=3 * triangles.len()).step_by(3) {
            writeln!(text, "f {first} {} {}", first + 1, first + 2)?;
        }
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}
