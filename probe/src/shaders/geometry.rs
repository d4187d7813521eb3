//! The probe's own geometry shaders and tessellation shaders, and formulas for the vertices that they emit.
//!
//! All shaders with one vertex stream are compiled from `shaders/probe/emit.glsl`, once for each kind of input
//! primitive. The shaders with several streams take points, and are compiled from `shaders/probe/streams.glsl`. The
//! kind of output primitive is an execution mode, which is changed in the compiled module. As in the probe's vertex
//! shaders, all operations are exact, and records identify their vertex.

mod patches;
mod streams;

pub use self::patches::PATCH_CONTROL_POINTS;

use std::collections::BTreeMap;

use spirv::{ExecutionMode, Op};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;
use vkxfb_rewriter::lower::GeometryInput;
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use super::{ProbeShader, mix32, put, tag};
use crate::diagnose::Patch;
use crate::emission::Emission;
use crate::shaders::{FIRST_INSTANCE, FIRST_VERTEX};

/// The number of words in the header of a SPIR-V module.
const HEADER: usize = 5;

/// The number of invocations of the geometry shader for each input primitive.
const INVOCATIONS: u32 = 2;

/// The size in bytes of a record in each capture buffer.
const STRIDES: [usize; 2] = [24, 12];

/// The kind of primitives that a geometry shader emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emitted {
    /// The execution mode is `OutputPoints`.
    Points,
    /// The execution mode is `OutputLineStrip`.
    Lines,
    /// The execution mode is `OutputTriangleStrip`.
    Triangles,
}

impl Emitted {
    /// All kinds. Triangles come first, because more can be wrong with them than with lines and
    /// points.
    pub const ALL: [Self; 3] = [Self::Triangles, Self::Lines, Self::Points];

    /// The topology of a draw that has the same primitives as an emitted strip.
    const fn topology(self) -> PrimitiveTopology {
        match self {
            Self::Points => PrimitiveTopology::PointList,
            Self::Lines => PrimitiveTopology::LineStrip,
            Self::Triangles => PrimitiveTopology::TriangleStrip,
        }
    }

    const fn mode(self) -> ExecutionMode {
        match self {
            Self::Points => ExecutionMode::OutputPoints,
            Self::Lines => ExecutionMode::OutputLineStrip,
            Self::Triangles => ExecutionMode::OutputTriangleStrip,
        }
    }

    /// The primitives in the plural.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::Triangles => "triangles",
        }
    }
}

/// The way in which a geometry shader of the probe divides the vertices that it emits into strips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Strips {
    /// Always one strip, which has two vertices more than the input primitive.
    One,
    /// Two strips, whose lengths depend on the input primitive. Some are empty, and some are too
    /// short for a primitive.
    Cut,
    /// Strips to this number of vertex streams (2 or 4). Each stream is captured to its own buffer.
    Streams(u32),
    /// No strips: these are tessellation shaders, which divide patches of [`PATCH_CONTROL_POINTS`].
    Divided,
}

/// A geometry shader, or a tessellation evaluation shader, whose records are given by formulas. The
/// vertex shader of its pipelines is [`vertex_shader`](Self::vertex_shader), and the control shader
/// before an evaluation shader is [`control`](Self::control).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProbeGeometry {
    /// The input primitives. They are points if the shader emits to several streams.
    pub input: GeometryInput,
    /// The output primitives.
    pub output: Emitted,
    /// The way in which the shader divides the emitted vertices into strips.
    pub strips: Strips,
}

impl ProbeGeometry {
    /// Returns all geometry and tessellation shaders of the probe.
    pub fn all() -> Vec<Self> {
        let inputs = [
            GeometryInput::Points,
            GeometryInput::Lines,
            GeometryInput::Triangles,
            GeometryInput::LinesAdjacency,
            GeometryInput::TrianglesAdjacency,
        ];
        let with_output = |input| Emitted::ALL.map(|output| (input, output));
        let of_one_stream = inputs.into_iter().flat_map(with_output).flat_map(|(input, output)| {
            [Strips::Cut, Strips::One].map(|strips| Self { input, output, strips })
        });
        of_one_stream.chain(streams::ALL).chain(patches::ALL).collect()
    }

    /// Returns the geometry shader or tessellation shaders with that name, if there are any.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|geometry| geometry.name() == name)
    }

    /// The vertex shader that precedes all geometry and tessellation shaders of the probe.
    pub fn vertex_shader() -> ProbeShader {
        ProbeShader::identify()
    }

    /// The name of the shader: for example `lines_adjacency_to_triangles`,
    /// `lines_adjacency_to_triangles_cut` or `points_to_triangles_2_streams`.
    pub fn name(&self) -> String {
        let input = match self.input {
            GeometryInput::Points => "points",
            GeometryInput::Lines => "lines",
            GeometryInput::Triangles => "triangles",
            GeometryInput::LinesAdjacency => "lines_adjacency",
            GeometryInput::TrianglesAdjacency => "triangles_adjacency",
            GeometryInput::Patches => "patches",
        };
        let name = format!("{input}_to_{}", self.output.name());
        match self.strips {
            Strips::One | Strips::Divided => name,
            Strips::Cut => name + "_cut",
            Strips::Streams(count) => format!("{name}_{count}_streams"),
        }
    }

    /// The name of the shader's compiled module in `shaders/probe/`, without the extension, and the
    /// bytes of that module. [`words`](Self::words) changes the [output primitives](Self::output)
    /// in it.
    pub const fn file(&self) -> (&'static str, &'static [u8]) {
        match (self.strips, self.input) {
            (Strips::Streams(count), _) => streams::file(count),
            (Strips::Divided, _) | (_, GeometryInput::Patches) => patches::file(self.output),
            (_, GeometryInput::Points) => {
                ("points", include_bytes!("../../../shaders/probe/points.spv"))
            }
            (_, GeometryInput::Lines) => {
                ("lines", include_bytes!("../../../shaders/probe/lines.spv"))
            }
            (_, GeometryInput::Triangles) => {
                ("triangles", include_bytes!("../../../shaders/probe/triangles.spv"))
            }
            (_, GeometryInput::LinesAdjacency) => {
                ("lines_adjacency", include_bytes!("../../../shaders/probe/lines_adjacency.spv"))
            }
            (_, GeometryInput::TrianglesAdjacency) => (
                "triangles_adjacency",
                include_bytes!("../../../shaders/probe/triangles_adjacency.spv"),
            ),
        }
    }

    /// Returns the module as words. It is SPIR-V 1.0 for Vulkan 1.0, and its entry point is `main`.
    pub fn words(&self) -> Vec<u32> {
        let mut words = words_of(self.file().1);
        let mut at = HEADER;
        while let Some(&[first, _, mode]) = words.get(at..at + 3) {
            let is_output = Emitted::ALL.iter().any(|emitted| mode == emitted.mode() as u32);
            if first & 0xffff == Op::ExecutionMode as u32 && is_output {
                words[at + 2] = self.output.mode() as u32;
                break;
            }
            at += (first >> 16).max(1) as usize;
        }
        words
    }

    /// The values of the shader's specialization constants.
    pub const fn constants(&self) -> &'static [SpecializationConstant<'static>] {
        match self.strips {
            Strips::One => &[SpecializationConstant { constant_id: 0, data: &[0; 4] }],
            Strips::Cut => &[SpecializationConstant { constant_id: 0, data: &[1, 0, 0, 0] }],
            Strips::Streams(_) | Strips::Divided => &[],
        }
    }

    /// The words of the tessellation control shader before an evaluation shader, and the values of its specialization
    /// constants. `None` for a geometry shader.
    pub fn control(&self) -> Option<(Vec<u32>, &'static [SpecializationConstant<'static>])> {
        let constants = patches::control_constants(self.output);
        (self.strips == Strips::Divided).then(|| (words_of(Self::CONTROL.1), constants))
    }

    /// The compiled module from which all [control](Self::control) shaders are made: the name of its file in
    /// `shaders/probe/`, without the extension, and its bytes.
    pub const CONTROL: (&str, &[u8]) = patches::CONTROL;

    /// The largest number of primitives that are emitted for an input primitive. `None` if it
    /// follows from the number of vertices that the shader declares.
    pub(crate) const fn most_primitives(&self) -> Option<u64> {
        match self.strips {
            Strips::Divided => Some(patches::MOST_PRIMITIVES),
            Strips::One | Strips::Cut | Strips::Streams(_) => None,
        }
    }

    /// The provoking vertex with which the plan captures the shader. Captures with the other provoking vertex
    /// as well would take twice as long, and hardly find more faults.
    pub const fn planned_provoking(&self) -> ProvokingVertex {
        match (self.strips, self.output) {
            (Strips::One, _) | (Strips::Streams(_), Emitted::Lines) => ProvokingVertex::Last,
            (Strips::Cut | Strips::Streams(_) | Strips::Divided, _) => ProvokingVertex::First,
        }
    }

    /// Returns the lengths of the strips that an invocation emits for an input primitive. They are
    /// 0 for shaders with several streams and for tessellation shaders, whose primitives
    /// [`streams::emit`] and [`patches::emit`] add.
    const fn strip_lengths(&self, primitive: u32, invocation: u32) -> [u32; 2] {
        match self.strips {
            Strips::Cut => [1 + (primitive + 2 * invocation) % 4, (primitive + invocation) % 4],
            Strips::One => [self.input.vertices() + 2, 0],
            Strips::Streams(_) | Strips::Divided => [0; 2],
        }
    }

    /// Returns the patches of a draw with any number of patches, which the probe's tessellation shaders divide into
    /// primitives of this many vertices. There are none if no such shader does.
    pub(crate) fn patches(vertices_per_primitive: usize) -> impl Iterator<Item = Patch> {
        let has_these = |output: &Emitted| {
            output.topology().vertices_per_primitive() as usize == vertices_per_primitive
        };
        Emitted::ALL.into_iter().find(has_these).into_iter().flat_map(patches::patches)
    }

    /// Returns the vertices and primitives that the shader emits to each vertex stream in a draw that begins
    /// at [`FIRST_VERTEX`] and [`FIRST_INSTANCE`].
    pub fn emission(
        &self,
        topology: PrimitiveTopology,
        provoking: ProvokingVertex,
        vertex_count: u32,
        instance_count: u32,
    ) -> BTreeMap<u32, Emission> {
        let primitives = topology.primitive_count(vertex_count);
        if let Strips::Streams(count) = self.strips {
            let of_stream = |stream| {
                let mut emitted = EmittedStrips::new(self.output, provoking);
                streams::emit(stream, primitives, &mut emitted);
                let write = |instance, vertex, records: &mut _| {
                    streams::write(stream, instance, vertex, records)
                };
                (stream, emitted.emission(instance_count, write))
            };
            return (0..count).map(of_stream).collect();
        }
        let mut emitted = EmittedStrips::new(self.output, provoking);
        if self.strips == Strips::Divided {
            let patches = patches::emit(self.output, vertex_count, &mut emitted);
            let emission = emitted.emission(instance_count, patches::write);
            return [(0, Emission { patches, ..emission })].into();
        }
        for primitive in 0..u32::try_from(primitives).unwrap_or(u32::MAX) {
            for invocation in 0..INVOCATIONS {
                let mut n = 0;
                for length in self.strip_lengths(primitive, invocation) {
                    emitted.add((n..n + length).map(|n| {
                        let slot = (n + invocation) % self.input.vertices();
                        let taken =
                            topology.assemble(provoking, primitives, primitive.into(), slot);
                        [FIRST_VERTEX + taken as u32, primitive, invocation, n]
                    }));
                    n += length;
                }
            }
        }
        let emission = emitted.emission(instance_count, |instance, emitted, records| {
            let [vertex, primitive, invocation, n] = emitted;
            let mixed = tag(instance, vertex) ^ primitive << 8 ^ invocation << 4 ^ n;
            let mut record = [0; STRIDES[0]];
            put(&mut record, 4, emitted);
            records[0].extend(record);
            let mut record = [0; STRIDES[1]];
            put(&mut record, 0, [instance, mix32(mixed)]);
            records[1].extend(record);
        });
        [(0, emission)].into()
    }
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    let (chunks, _) = bytes.as_chunks();
    chunks.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Four numbers that identify an emitted vertex, and from which its records are computed.
type EmittedVertex = [u32; 4];

type Records = [Vec<u8>; MAX_XFB_BUFFERS];

/// The strips that the shader emits to one stream for one instance.
struct EmittedStrips {
    /// The topology of a draw that has the same primitives as one of the strips.
    topology: PrimitiveTopology,
    provoking: ProvokingVertex,
    vertices: Vec<EmittedVertex>,
    /// The vertices of each primitive, one primitive after the other, as indices in `vertices`.
    primitives: Vec<u32>,
}

impl EmittedStrips {
    const fn new(output: Emitted, provoking: ProvokingVertex) -> Self {
        let topology = output.topology();
        Self { topology, provoking, vertices: Vec::new(), primitives: Vec::new() }
    }

    /// Adds a strip. The provoking vertex determines the order in which the vertices of its
    /// primitives are captured.
    fn add(&mut self, strip: impl Iterator<Item = EmittedVertex>) {
        let first = self.vertices.len() as u32;
        self.vertices.extend(strip);
        let captured = self.topology.output_count(self.vertices.len() as u32 - first);
        let vertex = |output| first + self.topology.gather(self.provoking, output) as u32;
        self.primitives.extend((0..captured).map(vertex));
    }

    /// Adds separate primitives. `primitives` are the vertices of each, as indices in `vertices`.
    fn add_primitives(
        &mut self,
        vertices: impl Iterator<Item = EmittedVertex>,
        primitives: &[u32],
    ) {
        let first = self.vertices.len() as u32;
        self.vertices.extend(vertices);
        self.primitives.extend(primitives.iter().map(|vertex| first + vertex));
    }

    /// Makes the emission of a draw, whose instances all emit these strips. `write` appends the
    /// records of a vertex of an instance.
    fn emission(
        self,
        instance_count: u32,
        write: impl Fn(u32, EmittedVertex, &mut Records),
    ) -> Emission {
        let mut records = [const { Vec::new() }; MAX_XFB_BUFFERS];
        for instance in FIRST_INSTANCE..FIRST_INSTANCE + instance_count {
            for vertex in &self.vertices {
                write(instance, *vertex, &mut records);
            }
        }
        Emission {
            vertices_per_primitive: self.topology.vertices_per_primitive(),
            vertex_count: self.vertices.len() as u32,
            vertices: self.primitives,
            instance_count,
            records,
            patches: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;
    use vkxfb_rewriter::topology::PrimitiveTopology as T;

    /// The modules declare the primitives that the names of the shaders mention. Lowering finds the number of
    /// primitives that a shader emits if the shader always emits one strip, and no number if it emits two. For shaders
    /// with several streams and for tessellation shaders the test does not check this number.
    #[test]
    fn modules_are_what_they_are_called() {
        let all = ProbeGeometry::all();
        assert_eq!(all.len(), 5 * 3 * 2 + streams::ALL.len() + patches::ALL.len());
        for geometry in all {
            let name = geometry.name();
            assert_eq!(ProbeGeometry::by_name(&name), Some(geometry));
            let subject = Subject::built_in_geometry(geometry).unwrap();
            let declared = subject.geometry.unwrap().declared;
            let vertices = geometry.output.topology().vertices_per_primitive();
            assert_eq!((declared.input, declared.output_vertices), (geometry.input, vertices));
            if let Strips::Streams(count) = geometry.strips {
                assert_eq!((declared.streams, declared.invocations), ((1 << count) - 1, 1));
                assert_eq!(subject.layout.captured_streams().len(), count as usize, "{name}");
                continue;
            }
            if geometry.strips == Strips::Divided {
                let declared = declared.tessellation.unwrap().tessellator;
                assert_eq!(declared, patches::tessellator(geometry.output), "{name}");
                continue;
            }
            assert_eq!(declared.invocations, INVOCATIONS, "{name}");
            assert_eq!(subject.layout.strides, [Some(24), Some(12), None, None]);
            let emitted = geometry.strip_lengths(0, 0)[0];
            let emitted = geometry.output.topology().primitive_count(emitted) as u32;
            let always = (geometry.strips == Strips::One).then_some(emitted);
            assert_eq!(declared.primitives, always, "{name}");
            for primitive in 0..8 {
                let strips = geometry.strip_lengths(primitive, primitive % INVOCATIONS);
                assert!(strips.iter().sum::<u32>() <= declared.max_vertices, "{name}");
            }
        }
    }

    /// An emission has the vertices and primitives of all strips, in the order in which the invocations emit them. The
    /// expected values were worked out by hand, for two triangles of a strip and two invocations for each.
    #[test]
    fn what_is_emitted_is_in_strips() {
        let geometry = ProbeGeometry::by_name("triangles_to_triangles_cut").unwrap();
        let emission = &geometry.emission(T::TriangleStrip, ProvokingVertex::First, 4, 3)[&0];
        // The four invocations emit two strips each. These have 1 and 0, then 3 and 1, then 2 and 1, and then 4 and 2
        // vertices.
        assert_eq!((emission.vertex_count, emission.primitive_count()), (14, 3 * 3));
        assert_eq!(emission.vertices, [1, 2, 3, 8, 9, 10, 9, 11, 10]);
        let words = |record: &[u8]| {
            let (words, _) = record.as_chunks();
            words.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>()
        };
        // The record is that of the second vertex of invocation 1 for the second triangle, whose vertices are 1, 3, 2.
        // These are counted from the draw's first vertex, which has the number 5 (`FIRST_VERTEX`).
        let record = words(&emission.records[0][9 * 24..][..24]);
        assert_eq!(record, [0, 5 + 2, 1, 1, 1, 0]);
        let other = words(&emission.records[1][(14 + 9) * 12..][..12]);
        assert_eq!(other, [2 + 1, mix32(tag(3, 7) ^ 1 << 8 ^ 1 << 4 ^ 1), 0]);
        let last = geometry.emission(T::TriangleStrip, ProvokingVertex::Last, 4, 3);
        assert_eq!(last[&0].vertices, [1, 2, 3, 8, 9, 10, 10, 9, 11]);
    }
}
