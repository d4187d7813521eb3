//! Which of two captures takes longer, and a shader to time them with.

use std::time::Duration;

use vkxfb::spirv::words_from_bytes;
use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};

const ROUNDS: usize = 7;

/// A shader that takes 16 bytes and captures 32, with its vertex input state.
pub fn stream() -> (Vec<u32>, VertexInput) {
    let vertex_input = VertexInput {
        bindings: vec![VertexBinding { binding: 0, stride: 16, input_rate: InputRate::Vertex }],
        attributes: vec![VertexAttribute {
            location: 0,
            binding: 0,
            format: VertexFormat::R32G32B32A32Sfloat,
            offset: 0,
        }],
    };
    let words = words_from_bytes(include_bytes!("../../shaders/bench/stream.spv")).unwrap();
    (words, vertex_input)
}

/// How long two captures take.
pub struct Comparison {
    /// Medians.
    pub milliseconds: [f64; 2],
    /// How many times as long the first takes: the median over the rounds.
    pub ratio: f64,
}

/// Times two captures in turns, so that a noisy machine slows both. The first of each does not count.
pub fn compare<T: Copy>([a, b]: [T; 2], mut time: impl FnMut(T) -> Duration) -> Comparison {
    let mut round = || (1e3 * time(a).as_secs_f64(), 1e3 * time(b).as_secs_f64());
    round();
    let pairs: Vec<(f64, f64)> = (0..ROUNDS).map(|_| round()).collect();
    Comparison {
        milliseconds: [median(pairs.iter().map(|p| p.0)), median(pairs.iter().map(|p| p.1))],
        ratio: median(pairs.iter().map(|(a, b)| a / b)),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
