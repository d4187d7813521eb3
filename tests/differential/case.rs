//! A shader with its draws, and the expected contents of the capture buffers.

use vkxfb::runtime::Draw;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::CaptureResult;
use vkxfb_probe::sentinel;

use crate::common::rng::Rng;
use crate::generator::interface::BuiltIn;
use crate::generator::program::Cell;
use crate::generator::pushed::Block;
use crate::generator::types::Scalar;
use crate::generator::{Generated, Space, generate};

/// The number of bytes before and after a bound range, in which nothing may be written.
const GUARD: u64 = 64;

/// A shader and its draws.
pub struct Case {
    pub seed: u64,
    pub shader: Generated,
    pub topology: PrimitiveTopology,
    pub draws: Vec<(PrimitiveTopology, Draw)>,
    /// Whether the pipelines are specialised for the topology.
    pub specialize: bool,
    /// The bytes that each bound range has in addition to what is captured.
    slack: u64,
}

/// The bound range of a buffer, and the contents of the whole buffer before the capture.
pub struct Target {
    pub offset: u64,
    pub size: u64,
    pub initial: Vec<u8>,
}

/// The contents of the buffers, and the counts, after a capture.
pub struct Expected {
    buffers: Vec<Option<Buffer>>,
    primitives: u64,
    positions: [u64; 4],
}

struct Buffer {
    bytes: Vec<u8>,
    loose: Vec<Loose>,
}

/// A captured scalar that need not be exact.
struct Loose {
    at: usize,
    bytes: usize,
    /// The bits of the expected float, and by how many ULP the captured float may differ; `None` if
    /// nothing was written, so that any value is accepted.
    near: Option<(u32, u32)>,
}

impl Case {
    pub fn new(seed: u64, space: &Space, topologies: &[PrimitiveTopology]) -> Self {
        let shader = generate(seed, space);
        let rng = &mut Rng::new(!seed);
        // Points need a size.
        let has_size = shader.built_in(BuiltIn::PointSize).is_some();
        let is_legal = |t: &&PrimitiveTopology| has_size || **t != PrimitiveTopology::PointList;
        let legal: Vec<_> = topologies.iter().filter(is_legal).copied().collect();
        let topology = rng.pick(&legal);
        let draw = |rng: &mut Rng| Draw {
            vertex_count: rng.range(3, 12),
            instance_count: rng.range(1, 2),
            first_vertex: rng.below(4),
            first_instance: rng.below(3),
        };
        let draws = (0..rng.range(1, 2)).map(|_| (topology, draw(rng))).collect();
        // Folded shaders compile in half the time.
        let (specialize, slack) = (rng.percent(80), 4 * u64::from(rng.below(20)));
        Self { seed, shader, topology, draws, specialize, slack }
    }

    /// The number of all captured vertices.
    fn vertices(&self) -> u64 {
        let of = |(t, d): &(PrimitiveTopology, Draw)| {
            t.output_count(d.vertex_count) * u64::from(d.instance_count)
        };
        self.draws.iter().map(of).sum()
    }

    /// Returns the bound ranges, by buffer number.
    pub fn targets(&self) -> Vec<Option<Target>> {
        let target = |(buffer, stride): (u32, &Option<u32>)| {
            let size = (self.vertices() * u64::from((*stride)?)).max(4) + self.slack;
            let offset = GUARD + 4 * u64::from(buffer);
            let mut initial = vec![0; (offset + size + GUARD) as usize];
            sentinel::fill(buffer, &mut initial);
            Some(Target { offset, size, initial })
        };
        (0u32..).zip(&self.shader.interface.strides).map(target).collect()
    }

    pub fn vertex_buffers(&self) -> Vec<(u32, Vec<u8>)> {
        let end = |f: fn(&Draw) -> u32| self.draws.iter().map(|(_, d)| f(d)).max().unwrap_or(0);
        self.shader.vertex_buffers(
            end(|d| d.first_vertex + d.vertex_count),
            end(|d| d.first_instance + d.instance_count),
        )
    }

    /// Returns the push constants of each draw.
    pub fn push_constants(&self) -> Vec<Vec<u8>> {
        let draws = 0..self.draws.len() as u32;
        let of_block = |block: &Block| draws.map(|draw| block.bytes(draw)).collect();
        self.shader.pushed.as_ref().map_or_else(Vec::new, of_block)
    }

    /// Returns the results that the model computes.
    pub fn expected(&self) -> Expected {
        let buffer = |target: Target| Buffer { bytes: target.initial, loose: Vec::new() };
        let targets = self.targets();
        let starts: Vec<u64> = targets.iter().map(|t| t.as_ref().map_or(0, |t| t.offset)).collect();
        let mut buffers: Vec<_> = targets.into_iter().map(|t| t.map(buffer)).collect();
        let mut record = 0;
        let mut primitives = 0;
        for (number, (topology, draw)) in (0..).zip(&self.draws) {
            let outputs = topology.output_count(draw.vertex_count);
            primitives +=
                topology.primitive_count(draw.vertex_count) * u64::from(draw.instance_count);
            for instance in 0..draw.instance_count {
                for output in 0..outputs {
                    let vertex = topology.gather(ProvokingVertex::First, output) as u32;
                    let instance = draw.first_instance + instance;
                    let cells = self.shader.cells(number, instance, draw.first_vertex + vertex);
                    for (captured, cell) in self.shader.captured.iter().zip(cells) {
                        let stride = self.shader.interface.strides[captured.buffer].unwrap();
                        let at = starts[captured.buffer]
                            + record * u64::from(stride)
                            + u64::from(captured.offset);
                        let buffer = buffers[captured.buffer].as_mut().unwrap();
                        buffer.put(at as usize, captured.scalar, cell);
                    }
                    record += 1;
                }
            }
        }
        let positions = std::array::from_fn(|buffer| {
            record * u64::from(self.shader.interface.strides[buffer].unwrap_or(0))
        });
        Expected { buffers, primitives, positions }
    }
}

impl Buffer {
    fn put(&mut self, at: usize, scalar: Scalar, cell: Cell) {
        let bytes = scalar.bytes() as usize;
        match cell {
            Cell::Exact(bits) => {
                self.bytes[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
            }
            Cell::Near(bits, ulp) => self.loose.push(Loose { at, bytes, near: Some((bits, ulp)) }),
            Cell::Undefined => self.loose.push(Loose { at, bytes, near: None }),
        }
    }

    /// Compares a buffer. An error names the first byte that is wrong.
    fn compare(&self, found: &[u8]) -> Result<(), String> {
        if self.bytes.len() != found.len() {
            return Err(format!("{} bytes instead of {}", found.len(), self.bytes.len()));
        }
        let mut expected = self.bytes.clone();
        for Loose { at, bytes, near } in &self.loose {
            let range = *at..at + bytes;
            if let Some((bits, tolerance)) = near {
                let found = u32::from_le_bytes(found[range.clone()].try_into().unwrap());
                let distance = ulp_distance(found, *bits);
                if distance > i64::from(*tolerance) {
                    return Err(format!(
                        "byte {at}: {} instead of {}, by {distance} ULP of {tolerance}",
                        f32::from_bits(found),
                        f32::from_bits(*bits)
                    ));
                }
            }
            expected[range.clone()].copy_from_slice(&found[range]);
        }
        match expected.iter().zip(found).position(|(a, b)| a != b) {
            None => Ok(()),
            Some(at) => {
                let at = at / 4 * 4;
                let end = (at + 16).min(found.len());
                Err(format!(
                    "byte {at}: {:02x?} instead of {:02x?}",
                    &found[at..end],
                    &expected[at..end]
                ))
            }
        }
    }
}

/// The distance of two numbers of the same sign in ULP.
fn ulp_distance(a: u32, b: u32) -> i64 {
    (i64::from(a) - i64::from(b)).abs()
}

impl Expected {
    /// Makes the smallest possible error in the expected results: flips one bit of a byte that must
    /// be exact.
    pub fn perturb(&mut self) {
        let is_owed =
            |b: &Buffer, at: usize| !b.loose.iter().any(|l| (l.at..l.at + l.bytes).contains(&at));
        for buffer in self.buffers.iter_mut().flatten() {
            let middle = buffer.bytes.len() / 2;
            if let Some(at) = (middle..buffer.bytes.len()).find(|at| is_owed(buffer, *at)) {
                buffer.bytes[at] ^= 1;
                return;
            }
        }
    }

    /// Compares the results of a capture with the expected ones.
    pub fn compare(&self, found: &CaptureResult) -> Result<(), String> {
        let counts = (found.captured.primitives_written, found.captured.primitives_needed);
        if counts != (self.primitives, self.primitives) {
            return Err(format!("primitives {counts:?} instead of {}", self.primitives));
        }
        if found.captured.positions != self.positions {
            return Err(format!(
                "positions {:?} instead of {:?}",
                found.captured.positions, self.positions
            ));
        }
        for (number, (expected, found)) in self.buffers.iter().zip(&found.buffers).enumerate() {
            if let (Some(expected), Some(found)) = (expected, found) {
                let start = GUARD as usize + 4 * number;
                expected
                    .compare(found)
                    .map_err(|e| format!("buffer {number} (bound at byte {start}), {e}"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_that_is_owed_is_compared() {
        for seed in 0..40 {
            let case = Case::new(seed, &Space::whole(), &[PrimitiveTopology::TriangleStrip]);
            for buffer in case.expected().buffers.into_iter().flatten() {
                let mut found = buffer.bytes.clone();
                for loose in buffer.loose.iter() {
                    if let Some((bits, _)) = loose.near {
                        found[loose.at..loose.at + 4].copy_from_slice(&bits.to_le_bytes());
                    }
                }
                assert_eq!(buffer.compare(&found), Ok(()));
                for at in 0..found.len() {
                    let loose = buffer.loose.iter().find(|l| (l.at..l.at + l.bytes).contains(&at));
                    found[at] ^= 0x40;
                    let is_found_out = buffer.compare(&found).is_err();
                    found[at] ^= 0x40;
                    match loose {
                        None => assert!(is_found_out, "seed {seed} byte {at}"),
                        Some(Loose { near: None, .. }) => assert!(!is_found_out),
                        Some(loose) if at == loose.at + 3 => assert!(is_found_out),
                        Some(_) => {}
                    }
                }
            }
        }
    }
}
