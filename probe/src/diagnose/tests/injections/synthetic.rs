//! A synthetic capture without faults, and ways to make it wrong.

use std::ops::Range;

use vkxfb_rewriter::capture::{CapturedOutput, Layout, MAX_XFB_BUFFERS};
use vkxfb_rewriter::lower::GeometryInput;
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::NumericClass;

use crate::diagnose::{CapturedBuffer, Expectation, Patch, Sequence, VertexRef};
use crate::emission::Emission;
use crate::sentinel::{self, Fill};
use crate::shaders::{Emitted, PATCH_CONTROL_POINTS, ProbeGeometry, Strips};

/// The number of vertices of an instance, unless patches are divided: enough for two primitives of every topology.
const VERTICES: u32 = 12;
const INSTANCES: u32 = 3;
/// The size in bytes of the guard region on each side of a bound range.
const GUARD: usize = 64;

/// The instance and the primitive that are changed. The primitive has an odd number, and there are primitives
/// before and after it.
pub(super) const TARGET: (u32, u64) = (1, 1);

/// An offset in a record of buffer 0 that is in a gap between outputs.
pub(super) const INNER_GAP: usize = 17;
/// An offset in a record of buffer 1 that is in the gap after its only output.
pub(super) const OUTER_GAP: usize = 9;

struct SyntheticBuffer {
    stride: usize,
    /// The ranges of bytes of a record that outputs cover.
    covered: Vec<Range<usize>>,
    records: Vec<u8>,
    allocation: Vec<u8>,
    counter: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// A draw with a vertex shader.
    Draw(PrimitiveTopology, ProvokingVertex),
    /// A geometry shader that emits strips of five, one, four and two vertices. The topology is that of a draw with the
    /// same primitives as such a strip: for emitted points, a point list.
    Emitted(PrimitiveTopology),
    /// The probe's own tessellation shaders, which divide two patches. The device has another order of primitives than
    /// the model, and triangles begin with another vertex.
    Divided(Emitted),
}

/// The primitives of an instance.
enum Primitives {
    /// Those of a draw with a vertex shader.
    Assembled(PrimitiveTopology, ProvokingVertex),
    /// Those of later stages.
    Listed {
        vertices_per_primitive: u32,
        vertex_count: u32,
        /// The vertices of all primitives, in the order of the model.
        model: Vec<u32>,
        /// The same vertices in the order in which they are captured.
        captured: Vec<u32>,
        patches: Vec<Patch>,
    },
}

impl Source {
    /// Iterates over all sources: draws of each topology with each provoking vertex, geometry shaders that emit points,
    /// line strips and triangle strips, and tessellation shaders that divide patches into points, lines and triangles.
    pub fn all() -> impl Iterator<Item = Self> {
        use PrimitiveTopology as T;
        let draws = |topology| ProvokingVertex::ALL.map(|vertex| Self::Draw(topology, vertex));
        let emitted = [T::PointList, T::LineStrip, T::TriangleStrip].map(Self::Emitted);
        let divided = Emitted::ALL.map(Self::Divided);
        T::ALL.into_iter().flat_map(draws).chain(emitted).chain(divided)
    }

    fn primitives(self) -> Primitives {
        match self {
            Self::Draw(topology, provoking) => Primitives::Assembled(topology, provoking),
            Self::Emitted(strip) => {
                let vertices = Self::emitted(strip);
                Primitives::Listed {
                    vertices_per_primitive: strip.vertices_per_primitive(),
                    vertex_count: VERTICES,
                    model: vertices.clone(),
                    captured: vertices,
                    patches: Vec::new(),
                }
            }
            Self::Divided(output) => Self::divided(output),
        }
    }

    fn divided(output: Emitted) -> Primitives {
        let (input, strips) = (GeometryInput::Patches, Strips::Divided);
        let shader = ProbeGeometry { input, output, strips };
        let draw = (PrimitiveTopology::PatchList, 2 * PATCH_CONTROL_POINTS);
        let mut emission = shader.emission(draw.0, ProvokingVertex::First, draw.1, 1);
        let Emission { vertices_per_primitive, vertex_count, vertices, patches, .. } =
            emission.remove(&0).unwrap_or_else(|| Emission::listed(1, 0, Default::default()));
        let m = vertices_per_primitive as usize;
        let (mut captured, mut rest) = (Vec::new(), vertices.as_slice());
        for patch in &patches {
            let (own, others) = rest.split_at(patch.primitives as usize * m);
            for primitive in own.chunks_exact(m).rev() {
                let by = usize::from(m == 3);
                captured.extend(primitive[by..].iter().chain(&primitive[..by]));
            }
            rest = others;
        }
        let model = vertices;
        Primitives::Listed { vertices_per_primitive, vertex_count, model, captured, patches }
    }

    /// Returns the vertices of the primitives that the geometry shader emits.
    fn emitted(strip: PrimitiveTopology) -> Vec<u32> {
        let of_strip = |(first, length): (u32, u32)| {
            let vertex = move |output| first + strip.gather(ProvokingVertex::First, output) as u32;
            (0..strip.output_count(length)).map(vertex)
        };
        [(0, 5), (5, 1), (6, 4), (10, 2)].into_iter().flat_map(of_strip).collect()
    }
}

impl From<PrimitiveTopology> for Source {
    fn from(topology: PrimitiveTopology) -> Self {
        Self::Draw(topology, ProvokingVertex::First)
    }
}

/// A capture of three instances into two buffers, whose bytes can be changed.
pub(super) struct Synthetic {
    primitives: Primitives,
    pub preserves_provoking_vertex: bool,
    layout: Layout,
    buffers: Vec<SyntheticBuffer>,
}

/// Returns the layout of the outputs. Buffer 0 has a position, a gap of a dword, and a colour.
/// Buffer 1 has a coordinate and a gap of a dword.
fn layout() -> Layout {
    let output = |buffer, offset, components, name: &str| CapturedOutput {
        buffer,
        offset,
        components,
        class: NumericClass::Float,
        bits: 32,
        location: None,
        component: 0,
        variable: Id(0),
        path: Vec::new(),
        name: Some(name.to_owned()),
    };
    Layout {
        strides: [Some(32), Some(12), None, None],
        streams: [0; 4],
        outputs: vec![
            output(0, 0, 4, "position"),
            output(0, 20, 3, "colour"),
            output(1, 0, 2, "coordinate"),
        ],
        varyings: Vec::new(),
    }
}

impl SyntheticBuffer {
    fn new(layout: &Layout, buffer: u32, vertices: u32, written: usize, spare: usize) -> Self {
        let stride = layout.strides[buffer as usize].unwrap_or_default() as usize;
        let covered = layout
            .outputs_of(buffer as usize)
            .map(|o| o.offset as usize..(o.offset + o.size()) as usize)
            .collect();
        // The expected records are filled with sentinels (hashes of buffer number and offset), so that the records of
        // all vertices differ. The buffer number in these hashes is not that of a capture buffer, so that no record
        // equals a sentinel in the allocation.
        let mut records = vec![0; (vertices * INSTANCES) as usize * stride];
        sentinel::fill(buffer + MAX_XFB_BUFFERS as u32, &mut records);
        // The draw starts to write one record after the start of the bound range.
        let bound = (1 + written + spare) * stride;
        let mut allocation = vec![0; GUARD + bound + GUARD];
        sentinel::fill(buffer, &mut allocation);
        Self { stride, covered, records, allocation, counter: ((1 + written) * stride) as u32 }
    }

    fn start(&self, record: usize) -> usize {
        GUARD + (1 + record) * self.stride
    }
}

impl Synthetic {
    pub fn new(source: Source) -> Self {
        let mut capture = Self {
            primitives: source.primitives(),
            preserves_provoking_vertex: true,
            layout: layout(),
            buffers: Vec::new(),
        };
        let m = capture.vertices_per_primitive();
        let (vertices, written) = (capture.sequence().vertex_count(), capture.record_count());
        capture.buffers = [0, 1]
            .map(|buffer| SyntheticBuffer::new(&capture.layout, buffer, vertices, written, m))
            .into();
        capture.write_all();
        capture
    }

    /// The primitives in the order in which they are captured.
    fn sequence(&self) -> Sequence<'_> {
        match &self.primitives {
            Primitives::Assembled(topology, provoking) => Sequence::Assembled {
                topology: *topology,
                provoking: *provoking,
                vertex_count: VERTICES,
            },
            Primitives::Listed { vertices_per_primitive, vertex_count, captured, .. } => {
                Sequence::Emitted {
                    vertices_per_primitive: *vertices_per_primitive,
                    vertex_count: *vertex_count,
                    vertices: captured,
                    patches: &[],
                }
            }
        }
    }

    /// The primitives in the order of the model.
    fn model(&self) -> Sequence<'_> {
        let mut sequence = self.sequence();
        if let (
            Sequence::Emitted { vertices, patches, .. },
            Primitives::Listed { model, patches: divided, .. },
        ) = (&mut sequence, &self.primitives)
        {
            (*vertices, *patches) = (model, divided);
        }
        sequence
    }

    pub fn write_all(&mut self) {
        for record in 0..self.record_count() {
            let vertex = self.expected(record);
            self.write(record, vertex);
        }
    }

    /// Fills the allocations with a constant, as if the step of the submission that should overwrite the constant had
    /// no effect.
    pub fn refill(&mut self, fill: Fill) {
        self.buffers.iter_mut().for_each(|b| fill.fill(&mut b.allocation));
    }

    pub fn expectation(&self) -> Expectation<'_> {
        Expectation {
            sequence: self.model(),
            preserves_provoking_vertex: self.preserves_provoking_vertex,
            instance_count: INSTANCES,
            layout: &self.layout,
            records: [&self.buffers[0].records, &self.buffers[1].records, &[], &[]],
            undefined: &[],
            primitives_written: self.sequence().primitive_count() * u64::from(INSTANCES),
        }
    }

    pub fn captured(&self) -> [CapturedBuffer<'_>; 2] {
        [0, 1].map(|buffer| {
            let b = &self.buffers[buffer];
            let bound = self.bound(buffer);
            CapturedBuffer {
                buffer: buffer as u32,
                bytes: &b.allocation,
                bound: bound.start as u64..bound.end as u64,
                position: b.stride as u64,
                counter: Some(b.counter),
            }
        })
    }

    pub fn vertices_per_primitive(&self) -> usize {
        self.sequence().vertices_per_primitive() as usize
    }

    pub fn record_count(&self) -> usize {
        (self.sequence().output_count() * u64::from(INSTANCES)) as usize
    }

    /// Returns the number of the first record of the primitive that is changed, [`TARGET`].
    pub fn target_record(&self) -> usize {
        let (instance, primitive) = TARGET;
        let primitive = u64::from(instance) * self.sequence().primitive_count() + primitive;
        primitive as usize * self.vertices_per_primitive()
    }

    pub fn expected(&self, record: usize) -> VertexRef {
        let sequence = self.sequence();
        let outputs = sequence.output_count();
        let (instance, output) = (record as u64 / outputs, record as u64 % outputs);
        VertexRef { instance: instance as u32, vertex: sequence.gather(output) }
    }

    /// Returns a vertex of the same instance that does not belong to the primitive that is changed, [`TARGET`].
    pub fn stranger(&self) -> VertexRef {
        let first = self.target_record();
        let own = (first..first + self.vertices_per_primitive()).map(|r| self.expected(r).vertex);
        let own: Vec<_> = own.collect();
        let vertex = (0..self.sequence().vertex_count())
            .rev()
            .find(|v| !own.contains(v))
            .unwrap_or_default();
        VertexRef { instance: TARGET.0, vertex }
    }

    pub fn write(&mut self, record: usize, vertex: VertexRef) {
        (0..self.buffers.len()).for_each(|buffer| self.write_buffer(buffer, record, vertex));
    }

    pub fn write_buffer(&mut self, buffer: usize, record: usize, vertex: VertexRef) {
        let vertices = self.sequence().vertex_count();
        let b = &mut self.buffers[buffer];
        let from = (vertex.instance * vertices + vertex.vertex) as usize * b.stride;
        let to = b.start(record);
        for range in &b.covered {
            b.allocation[to + range.start..to + range.end]
                .copy_from_slice(&b.records[from + range.start..from + range.end]);
        }
    }

    pub fn erase(&mut self, record: usize) {
        (0..self.buffers.len()).for_each(|buffer| self.erase_buffer(buffer, record));
    }

    pub fn erase_buffer(&mut self, buffer: usize, record: usize) {
        let b = &mut self.buffers[buffer];
        let start = b.start(record);
        for at in start..start + b.stride {
            b.allocation[at] = sentinel::byte(buffer as u32, at as u64);
        }
    }

    /// Writes the vertices of the primitive that is changed, [`TARGET`], in another order.
    pub fn permute(&mut self, order: &[usize; 3]) {
        let first = self.target_record();
        let vertices: Vec<_> =
            (0..self.vertices_per_primitive()).map(|slot| self.expected(first + slot)).collect();
        for slot in 0..vertices.len() {
            self.write(first + slot, vertices[order[slot]]);
        }
    }

    pub fn damage(&mut self, buffer: usize, at: usize) {
        self.buffers[buffer].allocation[at] ^= 0x20;
    }

    /// The bound range, in bytes from the start of the allocation.
    pub fn bound(&self, buffer: usize) -> Range<usize> {
        GUARD..self.buffers[buffer].allocation.len() - GUARD
    }

    /// The start of a record, in bytes from the start of the allocation.
    pub fn record_start(&self, buffer: usize, record: usize) -> usize {
        self.buffers[buffer].start(record)
    }

    /// The end of the last record, in bytes from the start of the allocation.
    pub fn end(&self, buffer: usize) -> usize {
        self.buffers[buffer].start(self.record_count())
    }

    pub fn counter_short(&mut self) {
        let m = self.vertices_per_primitive() as u32;
        let b = &mut self.buffers[0];
        b.counter -= m * b.stride as u32;
    }
}
