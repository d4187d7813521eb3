//! The cases of the benchmark: draws of a topology with records of a size, and the bytes that their
//! captures have to move.

#![forbid(unsafe_code)]

use std::fmt;

use serde::{Serialize, Serializer};
use vkxfb::runtime::Draw;
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::counts::MAX_BUFFER_SIZE;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex, Shape, XfbTopology};

use crate::vertices::Vertices;

/// The size in bytes of the loads and stores of the roofline kernel: a `uvec4`.
pub const QUAD: u64 = 16;

/// The number of indices of a strip between two restarts.
pub const STRIP: u32 = 100;

/// The number of quadrilaterals in a row of the grid. A row has one more vertex than
/// quadrilaterals.
const GRID_ROW: u32 = 255;

/// How the vertices are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Workload {
    /// One draw without indices.
    Draw,
    /// Many draws between one Begin and End.
    ManyDraws {
        /// The number of draws.
        draws: u32,
        /// Whether the capture resumes from counters, and writes them.
        counters: bool,
    },
    /// One draw with attributes in formats of real models: four attributes, 24 bytes per vertex.
    Formats,
    /// An indexed draw of two triangles for each cell of a grid. An inner vertex is used six times.
    Grid,
    /// An indexed draw of strips of [`STRIP`] indices, each followed by one more index.
    Strips {
        /// Whether the additional index restarts primitives. Otherwise it repeats the last index of
        /// the strip.
        restart: bool,
    },
    /// One draw with a geometry shader.
    Geometry(Emission),
    /// One draw of patches of [`PATCH`] control points, which are divided: `patch_control.tesc` and
    /// `patch_evaluation.tese`. All vertices of a patch are captured as its first control point.
    Tessellated(Division),
}

/// The number of control points of a patch.
pub const PATCH: u32 = 4;

/// How a patch is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Division {
    /// Into 12 triangles.
    Few,
    /// Into 2,088 triangles.
    Many,
}

impl Division {
    /// All variants, to iterate over them.
    pub const ALL: [Self; 2] = [Self::Few, Self::Many];

    /// Returns the tessellation levels: the number of segments of the horizontal sides and of the
    /// vertical ones.
    pub const fn levels(self) -> [u32; 2] {
        match self {
            Self::Few => [2, 3],
            Self::Many => [29, 36],
        }
    }

    /// Returns the number of records of a patch.
    const fn records(self) -> u64 {
        let [wide, high] = self.levels();
        3 * 2 * wide as u64 * high as u64
    }
}

/// The primitives that a geometry shader emits for triangles. Each emitted vertex is a copy of a
/// vertex of the input primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Emission {
    /// Each triangle, unchanged: `pass_through.geom`.
    PassThrough,
    /// Only triangles whose first vertex has an even number: `cull.geom`.
    Cull,
    /// For triangles whose first vertex has an even number, a strip of four triangles. For others,
    /// one triangle and an incomplete strip: `amplify.geom`.
    Amplify,
}

/// The number of vertices of the strip that [`Emission::Amplify`] emits for an even triangle.
const AMPLIFIED: u32 = 6;

impl Emission {
    /// All variants, to iterate over them.
    pub const ALL: [Self; 3] = [Self::PassThrough, Self::Cull, Self::Amplify];

    /// Returns the number of records for a triangle whose first vertex has an even number, and for a triangle
    /// whose first vertex has an odd number.
    const fn records(self) -> [u64; 2] {
        match self {
            Self::PassThrough => [3, 3],
            Self::Cull => [3, 0],
            Self::Amplify => [PrimitiveTopology::TriangleStrip.output_count(AMPLIFIED), 3],
        }
    }

    /// Returns the number of the vertex that a record contains. Vertices and records are counted from the
    /// start of the draw.
    const fn vertex_of_record(self, record: u64) -> u64 {
        // The first vertices of triangles are alternately even and odd, because a triangle has
        // three vertices.
        let [even, odd] = self.records();
        let (pair, record) = (record / (even + odd), record % (even + odd));
        let (first, place) = match record.checked_sub(even) {
            // The strip repeats the three vertices of the triangle, and is decomposed like any
            // other strip.
            None if even > 3 => {
                let strip = PrimitiveTopology::TriangleStrip;
                (0, strip.gather(ProvokingVertex::First, record) % 3)
            }
            None => (0, record),
            Some(record) => (3, record),
        };
        6 * pair + first + place
    }
}

impl Workload {
    /// Returns the kind of geometry shader. `None` if there is none.
    pub const fn geometry(self) -> Option<Emission> {
        match self {
            Self::Geometry(emission) => Some(emission),
            _ => None,
        }
    }

    /// Returns how patches are divided. `None` if there are no tessellation shaders.
    pub const fn tessellation(self) -> Option<Division> {
        match self {
            Self::Tessellated(division) => Some(division),
            _ => None,
        }
    }

    /// Whether the draw is indexed.
    pub const fn is_indexed(self) -> bool {
        matches!(self, Self::Grid | Self::Strips { .. })
    }

    /// The contents of the vertex buffer.
    pub const fn vertices(self) -> Vertices {
        match self {
            Self::Formats => Vertices::Formats,
            _ => Vertices::Positions,
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Draw => "draw",
            Self::ManyDraws { counters: false, .. } => "many-draws",
            Self::ManyDraws { counters: true, .. } => "many-draws-counters",
            Self::Formats => "formats",
            Self::Grid => "indexed-grid",
            Self::Strips { restart: false } => "indexed-strips",
            Self::Strips { restart: true } => "indexed-strips-restart",
            Self::Geometry(Emission::PassThrough) => "geometry-pass-through",
            Self::Geometry(Emission::Cull) => "geometry-cull",
            Self::Geometry(Emission::Amplify) => "geometry-amplify",
            Self::Tessellated(Division::Few) => "tessellated-12",
            Self::Tessellated(Division::Many) => "tessellated-2088",
        })
    }
}

impl Serialize for Workload {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// The size of the record of a vertex, and its distribution over capture buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Record {
    /// The size of a vertex's record in bytes, summed over all capture buffers.
    bytes: u32,
    /// The number of capture buffers.
    buffers: u32,
}

/// The reason why records cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// There is no shader for records of this size.
    #[error("records of {0} bytes: there are shaders for 16, 32, 64 and 256")]
    Bytes(u32),
    /// The number of capture buffers is not allowed, or a buffer would get less than 16 bytes.
    #[error("{bytes} bytes per vertex in {buffers} buffers: 1 to 4 buffers, of at least 16 bytes")]
    Buffers {
        /// The size in bytes of the record.
        bytes: u32,
        /// The requested number of capture buffers.
        buffers: u32,
    },
}

impl Record {
    /// The sizes in bytes for which there are shaders.
    pub const SIZES: [u32; 4] = [16, 32, 64, 256];

    /// Makes a record of one of [`SIZES`](Self::SIZES). It is distributed over the buffers in units
    /// of 16 bytes, as evenly as possible.
    ///
    /// # Errors
    /// [`RecordError`]
    pub fn new(bytes: u32, buffers: u32) -> Result<Self, RecordError> {
        if !Self::SIZES.contains(&bytes) {
            return Err(RecordError::Bytes(bytes));
        }
        if buffers == 0 || buffers > bytes / 16 || buffers as usize > MAX_XFB_BUFFERS {
            return Err(RecordError::Buffers { bytes, buffers });
        }
        Ok(Self { bytes, buffers })
    }

    /// The size in bytes, in all buffers together.
    pub const fn bytes(self) -> u32 {
        self.bytes
    }

    /// The number of capture buffers.
    pub const fn buffers(self) -> u32 {
        self.buffers
    }

    /// The number of units of 16 bytes that a buffer gets. If they cannot be distributed evenly,
    /// each of the first buffers gets one more.
    pub const fn quads(self, buffer: u32) -> u32 {
        if buffer >= self.buffers {
            return 0;
        }
        let quads = self.bytes / 16;
        quads / self.buffers + (buffer < quads % self.buffers) as u32
    }

    /// The number of the first unit of 16 bytes that a buffer gets, counted from the start of the
    /// record.
    pub fn first_quad(self, buffer: u32) -> u32 {
        (0..buffer).map(|b| self.quads(b)).sum()
    }

    /// The size in bytes of a record in a buffer.
    pub const fn stride(self, buffer: u32) -> u32 {
        self.quads(buffer) * 16
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {} buffer", self.bytes, self.buffers)?;
        f.write_str(if self.buffers == 1 { "" } else { "s" })
    }
}

/// A draw and a record size for which captures are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Case {
    /// How the vertices are drawn.
    pub workload: Workload,
    /// The topology of the draws.
    pub topology: PrimitiveTopology,
    /// The size of the record of a vertex.
    pub record: Record,
    /// The number of vertices of each draw or, for indexed draws, of indices.
    pub vertices: u32,
}

/// The loads and stores of 16 bytes that a capture has to make, and that the roofline kernel makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// The number of loads of vertex data.
    pub sources: u64,
    /// Where vertex data is loaded: load `k` reads the unit of 16 bytes with the number `k / 2 * pattern[0] +
    /// k % 2 * pattern[1] + pattern[2]`.
    pub pattern: [u32; 3],
    /// The number of loads of indices.
    pub indices: u64,
    /// The number of stores to each capture buffer.
    pub targets: [u64; MAX_XFB_BUFFERS],
}

impl Work {
    /// Returns the unit of 16 bytes of vertex data that load `k` reads.
    pub const fn source(&self, k: u64) -> u64 {
        let [pair, next, first] = self.pattern;
        k / 2 * pair as u64 + k % 2 * next as u64 + first as u64
    }
}

impl Case {
    /// The number of draws between Begin and End.
    pub const fn draws(&self) -> u32 {
        match self.workload {
            Workload::ManyDraws { draws, .. } => draws,
            _ => 1,
        }
    }

    /// Whether the capture uses counters.
    pub const fn has_counters(&self) -> bool {
        matches!(self.workload, Workload::ManyDraws { counters: true, .. })
    }

    /// Whether an index restarts primitives.
    pub const fn has_restart(&self) -> bool {
        matches!(self.workload, Workload::Strips { restart: true })
    }

    /// Returns a draw. Consecutive draws read consecutive vertices.
    pub const fn draw(&self, number: u32) -> Draw {
        Draw {
            vertex_count: self.vertices,
            instance_count: 1,
            first_vertex: number * self.vertices,
            first_instance: 0,
        }
    }

    /// Returns an element of the index buffer.
    pub const fn index(&self, place: u32) -> u32 {
        match self.workload {
            Workload::Grid => {
                let (cell, corner) = (place / 6, place % 6);
                let row = GRID_ROW + 1;
                let first = cell / GRID_ROW * row + cell % GRID_ROW;
                first + [0, 1, row, row, 1, row + 1][corner as usize]
            }
            Workload::Strips { restart } => {
                let (strip, i) = (place / (STRIP + 1), place % (STRIP + 1));
                match (i < STRIP, restart) {
                    (true, _) => strip * STRIP + i,
                    (false, true) => u32::MAX,
                    (false, false) => strip * STRIP + STRIP - 1,
                }
            }
            _ => place,
        }
    }

    /// The number of vertices in the vertex buffer.
    pub const fn vertex_buffer_length(&self) -> u64 {
        let n = self.vertices as u64;
        match self.workload {
            Workload::Grid => {
                let cells = n.div_ceil(6);
                (cells / GRID_ROW as u64 + 2) * (GRID_ROW as u64 + 1)
            }
            Workload::ManyDraws { draws, .. } => n * draws as u64,
            _ => n,
        }
    }

    /// The number of primitives of a draw, before tessellation and geometry shaders.
    pub const fn primitives(&self) -> u64 {
        match self.topology {
            PrimitiveTopology::PatchList => (self.vertices / PATCH) as u64,
            topology => topology.primitive_count(self.vertices),
        }
    }

    /// The number of records of all draws.
    pub const fn records(&self) -> u64 {
        match self.workload {
            Workload::Strips { restart: true } => {
                let whole = (self.vertices / (STRIP + 1)) as u64;
                let rest = self.vertices % (STRIP + 1);
                whole * self.topology.output_count(STRIP)
                    + self.topology.output_count(if rest < STRIP { rest } else { STRIP })
            }
            Workload::Geometry(emission) => {
                let [even, odd] = emission.records();
                let triangles = self.topology.primitive_count(self.vertices);
                triangles.div_ceil(2) * even + triangles / 2 * odd
            }
            Workload::Tessellated(division) => self.primitives() * division.records(),
            _ => self.topology.output_count(self.vertices) * self.draws() as u64,
        }
    }

    /// The size in bytes of the captured data in a buffer.
    pub const fn buffer_size(&self, buffer: u32) -> u64 {
        self.records() * self.record.stride(buffer) as u64
    }

    /// Whether anything is captured, and all of it fits into buffers of the maximum size.
    pub fn fits(&self) -> bool {
        self.records() > 0
            && (0..self.record.buffers()).all(|b| self.buffer_size(b) <= MAX_BUFFER_SIZE)
    }

    /// Returns the vertex of a record. Both numbers are counted over all draws.
    pub const fn vertex_of_record(&self, record: u64) -> u32 {
        let provoking = ProvokingVertex::First;
        match self.workload {
            Workload::Strips { restart: true } => {
                let per_strip = self.topology.output_count(STRIP);
                let place = self.topology.gather(provoking, record % per_strip);
                self.index((record / per_strip * (STRIP as u64 + 1) + place) as u32)
            }
            Workload::Grid | Workload::Strips { .. } => {
                self.index(self.topology.gather(provoking, record) as u32)
            }
            Workload::Geometry(emission) => emission.vertex_of_record(record) as u32,
            Workload::Tessellated(division) => PATCH * (record / division.records()) as u32,
            Workload::ManyDraws { .. } | Workload::Draw | Workload::Formats => {
                let per_draw = self.topology.output_count(self.vertices);
                let (draw, record) = (record / per_draw, record % per_draw);
                (draw * self.vertices as u64 + self.topology.gather(provoking, record)) as u32
            }
        }
    }

    /// The number of vertices that a capture has to read. Each vertex counts once, whether it is in
    /// a record or not. All vertices of a culled triangle and all control points of a patch count,
    /// because a graphics pipeline shades them before the next stage runs, and because they are in
    /// the same units of memory.
    fn contributing(&self) -> u64 {
        let primitives = self.topology.primitive_count(self.vertices);
        let n = u64::from(self.vertices);
        match self.workload {
            Workload::Grid => {
                let cells = n / 6;
                let (rows, rest) = (cells / u64::from(GRID_ROW), cells % u64::from(GRID_ROW));
                let row = u64::from(GRID_ROW) + 1;
                match (rows, rest) {
                    (0, 0) => 0,
                    (0, _) => 2 * (rest + 1),
                    (_, 0) => (rows + 1) * row,
                    _ => (rows + 1) * row + rest + 1,
                }
            }
            Workload::Strips { .. } => {
                n / u64::from(STRIP + 1) * u64::from(STRIP)
                    + (n % u64::from(STRIP + 1)).min(STRIP.into())
            }
            Workload::Tessellated(_) => self.primitives() * u64::from(PATCH),
            _ => {
                let hub = u64::from(self.topology.shape() == Shape::TriFan && primitives > 0);
                (self.topology.item_count(primitives) + hub) * u64::from(self.draws())
            }
        }
    }

    /// The size in bytes of the vertices and indices that a capture has to read.
    pub fn bytes_read(&self) -> u64 {
        self.contributing() * u64::from(self.workload.vertices().size()) + self.index_bytes()
    }

    /// The size in bytes of the data that a capture has to write.
    pub fn bytes_written(&self) -> u64 {
        self.records() * u64::from(self.record.bytes())
    }

    /// The size in bytes of the index buffer.
    pub const fn index_bytes(&self) -> u64 {
        if self.workload.is_indexed() { self.vertices as u64 * 4 } else { 0 }
    }

    /// Returns the loads and stores that the roofline kernel makes.
    pub fn work(&self) -> Work {
        let bytes = self.contributing() * u64::from(self.workload.vertices().size());
        let pattern = match self.topology.xfb_topology() {
            XfbTopology::LineListAdj => [4, 1, 1],
            XfbTopology::LineStripAdj => [2, 1, 1],
            XfbTopology::TriListAdj | XfbTopology::TriStripAdj => [4, 2, 0],
            _ => [2, 1, 0],
        };
        Work {
            sources: bytes.div_ceil(QUAD),
            pattern,
            indices: self.index_bytes().div_ceil(QUAD),
            targets: std::array::from_fn(|b| {
                self.records() * u64::from(self.record.quads(b as u32))
            }),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workload, topology, record, vertices } = self;
        write!(f, "{workload} {topology}, {record}, {vertices} vertices")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn workloads() -> impl Iterator<Item = (Workload, PrimitiveTopology)> {
        let plain = PrimitiveTopology::ALL.into_iter().map(|t| (Workload::Draw, t));
        let list = PrimitiveTopology::TriangleList;
        let geometry = Emission::ALL.map(|emission| (Workload::Geometry(emission), list));
        let patches = PrimitiveTopology::PatchList;
        let divided = Division::ALL.map(|division| (Workload::Tessellated(division), patches));
        plain.chain(geometry).chain(divided).chain([
            (Workload::ManyDraws { draws: 7, counters: false }, PrimitiveTopology::TriangleStrip),
            (Workload::Grid, PrimitiveTopology::TriangleList),
            (Workload::Strips { restart: false }, PrimitiveTopology::TriangleStrip),
            (Workload::Strips { restart: true }, PrimitiveTopology::TriangleStrip),
        ])
    }

    /// The number and the pattern of the loads agree with the vertices of the records.
    #[test]
    fn a_capture_reads_the_vertices_that_it_records() {
        for (workload, topology) in workloads() {
            for vertices in [3, 6, 12, 100, 101, 102, 204, 1530, 1536, 3060] {
                let record = Record::new(32, 1).unwrap();
                let case = Case { workload, topology, record, vertices };
                if case.records() == 0 {
                    continue;
                }
                if workload == Workload::Grid && !vertices.is_multiple_of(6) {
                    continue;
                }
                let read: BTreeSet<u64> =
                    (0..case.records()).map(|r| u64::from(case.vertex_of_record(r))).collect();
                let work = case.work();
                // The vertices of a strip that is too short for a triangle are read, but are in no
                // record.
                let short = matches!(workload, Workload::Strips { .. });
                let is_culled = workload == Workload::Geometry(Emission::Cull);
                if workload.tessellation().is_some() {
                    let patches = u64::from(vertices / PATCH);
                    assert_eq!(work.sources, patches * u64::from(PATCH), "{case}");
                    assert_eq!(read.len() as u64, patches, "{case}");
                } else if is_culled {
                    let triangles = topology.primitive_count(vertices);
                    assert_eq!(work.sources, 3 * triangles, "{case}");
                    assert_eq!(read.len() as u64, 3 * triangles.div_ceil(2), "{case}");
                } else if !short {
                    assert_eq!(work.sources, read.len() as u64, "{case}");
                }
                if topology == PrimitiveTopology::TriangleFan || workload == Workload::Draw {
                    let sources: BTreeSet<u64> =
                        (0..work.sources).map(|k| work.source(k)).collect();
                    assert_eq!(sources, read, "{case}");
                }
                assert!(*read.last().unwrap() < case.vertex_buffer_length(), "{case}");
                let last = (0..work.sources).map(|k| work.source(k)).max().unwrap();
                assert!(last < case.vertex_buffer_length(), "{case}");
            }
        }
    }

    #[test]
    fn restarted_strips_are_the_strips_one_by_one() {
        let topology = PrimitiveTopology::TriangleStrip;
        for vertices in [99, 100, 101, 104, 505] {
            let workload = Workload::Strips { restart: true };
            let case = Case { workload, topology, record: Record::new(16, 1).unwrap(), vertices };
            let indices: Vec<u32> = (0..vertices).map(|i| case.index(i)).collect();
            let mut expected = Vec::new();
            for strip in indices.split(|i| *i == u32::MAX) {
                let records = topology.output_count(strip.len() as u32);
                let gather = |r| strip[topology.gather(ProvokingVertex::First, r) as usize];
                expected.extend((0..records).map(gather));
            }
            let found: Vec<u32> = (0..case.records()).map(|r| case.vertex_of_record(r)).collect();
            assert_eq!(found, expected);
        }
    }

    /// The records of the formulas for geometry shaders are those that their source code emits.
    #[test]
    fn geometry_shaders_emit_what_their_source_says() {
        let topology = PrimitiveTopology::TriangleList;
        for emission in Emission::ALL {
            for vertices in [2, 3, 5, 6, 9, 300, 302, 303] {
                let workload = Workload::Geometry(emission);
                let case =
                    Case { workload, topology, record: Record::new(32, 1).unwrap(), vertices };
                let mut expected = Vec::new();
                for first in (0..vertices / 3).map(|triangle| 3 * triangle) {
                    let (is_even, v) = (first % 2 == 0, [first, first + 1, first + 2]);
                    let strips: &[&[usize]] = match (emission, is_even) {
                        (Emission::PassThrough, _) | (Emission::Cull, true) => &[&[0, 1, 2]],
                        (Emission::Cull, false) => &[],
                        (Emission::Amplify, true) => &[&[0, 1, 2, 0, 1, 2]],
                        (Emission::Amplify, false) => &[&[0, 1, 2], &[0, 1]],
                    };
                    for strip in strips {
                        // In every second triangle of a strip, the last two vertices are exchanged.
                        for (i, w) in strip.windows(3).enumerate() {
                            let order = if i % 2 == 0 { [0, 1, 2] } else { [0, 2, 1] };
                            expected.extend(order.map(|corner| v[w[corner]]));
                        }
                    }
                }
                let found: Vec<u32> =
                    (0..case.records()).map(|r| case.vertex_of_record(r)).collect();
                assert_eq!(found, expected, "{case}");
            }
        }
    }

    #[test]
    fn records_are_split_without_loss() {
        for bytes in Record::SIZES {
            for buffers in 0..6 {
                let Ok(record) = Record::new(bytes, buffers) else {
                    assert!(buffers == 0 || buffers > 4 || buffers > bytes / 16);
                    continue;
                };
                let strides: Vec<u32> = (0..6).map(|b| record.stride(b)).collect();
                assert_eq!(strides.iter().sum::<u32>(), bytes);
                assert!(strides[..buffers as usize].iter().all(|s| *s > 0));
                assert_eq!(record.first_quad(buffers), bytes / 16);
            }
        }
        assert!(Record::new(48, 1).is_err());
    }

    #[test]
    fn what_passes_the_largest_buffer_is_no_case() {
        let record = Record::new(256, 1).unwrap();
        let topology = PrimitiveTopology::PointList;
        let case = |vertices| Case { workload: Workload::Draw, topology, record, vertices };
        assert!(case((1 << 24) - 1).fits());
        assert!(!case(1 << 24).fits());
        let none = Case { topology: PrimitiveTopology::LineListWithAdjacency, ..case(3) };
        assert!(!none.fits());
    }
}
