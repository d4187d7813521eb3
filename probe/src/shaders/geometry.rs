//! The probe's geometry shaders, and formulas for what they emit.
//!
//! One source (`shaders/probe/emit.glsl`) is compiled for each kind of primitives that is taken. What is emitted is told
//! by an execution mode, which is put in here, and by a specialization constant. As with the vertex shaders all is exact,
//! and most records tell their vertex.

use spirv::{ExecutionMode, Op};
use vkxfb::capture::MAX_XFB_BUFFERS;
use vkxfb::internal::lower::GeometryInput;
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::{ProbeShader, mix32, put, tag};
use crate::emission::Emission;
use crate::subject::{FIRST_INSTANCE, FIRST_VERTEX};

/// Words of the header of a module.
const HEADER: usize = 5;

/// The invocations that each primitive has.
const INVOCATIONS: u32 = 2;

/// Bytes of a record in each buffer.
const STRIDES: [usize; 2] = [24, 12];

/// What a geometry shader emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emitted {
    /// `OutputPoints`
    Points,
    /// `OutputLineStrip`
    Lines,
    /// `OutputTriangleStrip`
    Triangles,
}

impl Emitted {
    /// All of them. The first has all that can be wrong with a primitive.
    pub const ALL: [Self; 3] = [Self::Triangles, Self::Lines, Self::Points];

    /// The topology whose draws have such strips.
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

    const fn name(self) -> &'static str {
        match self {
            Self::Points => "points",
            Self::Lines => "lines",
            Self::Triangles => "triangles",
        }
    }
}

/// A geometry shader whose captured outputs are known in advance. It stands behind
/// [`vertex_shader`](Self::vertex_shader).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProbeGeometry {
    /// The primitives that it takes.
    pub input: GeometryInput,
    /// The primitives that it emits.
    pub output: Emitted,
    /// Whether how much it emits depends on the primitive, in strips that are cut, and incomplete, and empty. Otherwise
    /// it is always one strip of two vertices more than the primitive has.
    pub cut: bool,
}

impl ProbeGeometry {
    /// Every geometry shader of the probe.
    pub fn all() -> Vec<Self> {
        let inputs = [
            GeometryInput::Points,
            GeometryInput::Lines,
            GeometryInput::Triangles,
            GeometryInput::LinesAdjacency,
            GeometryInput::TrianglesAdjacency,
        ];
        let with_output = |input| Emitted::ALL.map(|output| (input, output));
        let all = inputs.into_iter().flat_map(with_output);
        all.flat_map(|(input, output)| [true, false].map(|cut| Self { input, output, cut }))
            .collect()
    }

    /// The geometry shader of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|geometry| geometry.name() == name)
    }

    /// The vertex shader before it.
    pub fn vertex_shader() -> ProbeShader {
        ProbeShader::identify()
    }

    /// Its name, such as `lines_adjacency_to_triangles`, with `_cut` behind it where strips are [cut](Self::cut).
    pub fn name(&self) -> String {
        let (input, _) = self.file();
        let cut = if self.cut { "_cut" } else { "" };
        format!("{input}_to_{}{cut}", self.output.name())
    }

    /// The name of its source in `shaders/probe/`, without the extension, and the module: the same for all that take such
    /// primitives. It emits triangles.
    pub const fn file(&self) -> (&'static str, &'static [u8]) {
        match self.input {
            GeometryInput::Points => {
                ("points", include_bytes!("../../../shaders/probe/points.spv"))
            }
            GeometryInput::Lines => ("lines", include_bytes!("../../../shaders/probe/lines.spv")),
            GeometryInput::Triangles => {
                ("triangles", include_bytes!("../../../shaders/probe/triangles.spv"))
            }
            GeometryInput::LinesAdjacency => {
                ("lines_adjacency", include_bytes!("../../../shaders/probe/lines_adjacency.spv"))
            }
            GeometryInput::TrianglesAdjacency => (
                "triangles_adjacency",
                include_bytes!("../../../shaders/probe/triangles_adjacency.spv"),
            ),
        }
    }

    /// The module as words: SPIR-V 1.0 for Vulkan 1.0; the entry point is `main`.
    pub fn words(&self) -> Vec<u32> {
        let (chunks, _) = self.file().1.as_chunks();
        let mut words: Vec<u32> = chunks.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let mut at = HEADER;
        while let Some(&[first, _, mode]) = words.get(at..at + 3) {
            let is_output = mode == ExecutionMode::OutputTriangleStrip as u32;
            if first & 0xffff == Op::ExecutionMode as u32 && is_output {
                words[at + 2] = self.output.mode() as u32;
                break;
            }
            at += (first >> 16).max(1) as usize;
        }
        words
    }

    /// The values of its specialisation constants.
    pub const fn constants(&self) -> [SpecializationConstant<'static>; 1] {
        let data: &[u8; 4] = if self.cut { &[1, 0, 0, 0] } else { &[0; 4] };
        [SpecializationConstant { constant_id: 0, data }]
    }

    /// The vertices of the strips that an invocation emits.
    const fn strips(&self, primitive: u32, invocation: u32) -> [u32; 2] {
        match self.cut {
            true => [1 + (primitive + 2 * invocation) % 4, (primitive + invocation) % 4],
            false => [self.input.vertices() + 2, 0],
        }
    }

    /// What it emits for a draw from [`FIRST_VERTEX`] and [`FIRST_INSTANCE`] on.
    pub fn emission(
        &self,
        topology: PrimitiveTopology,
        provoking: ProvokingVertex,
        vertex_count: u32,
        instance_count: u32,
    ) -> Emission {
        let strip = self.output.topology();
        let primitives = topology.primitive_count(vertex_count);
        let mut origins = Vec::new();
        let mut vertices = Vec::new();
        for primitive in 0..u32::try_from(primitives).unwrap_or(u32::MAX) {
            for invocation in 0..INVOCATIONS {
                let mut n = 0;
                for length in self.strips(primitive, invocation) {
                    let start = origins.len() as u32;
                    let gather = |output| start + strip.gather(provoking, output) as u32;
                    vertices.extend((0..strip.output_count(length)).map(gather));
                    for _ in 0..length {
                        let slot = (n + invocation) % self.input.vertices();
                        let taken =
                            topology.assemble(provoking, primitives, primitive.into(), slot);
                        origins.push([FIRST_VERTEX + taken as u32, primitive, invocation, n]);
                        n += 1;
                    }
                }
            }
        }
        let mut records = [const { Vec::new() }; MAX_XFB_BUFFERS];
        for instance in FIRST_INSTANCE..FIRST_INSTANCE + instance_count {
            for origin in &origins {
                let [vertex, primitive, invocation, n] = *origin;
                let mixed = tag(instance, vertex) ^ primitive << 8 ^ invocation << 4 ^ n;
                let mut record = [0; STRIDES[0]];
                put(&mut record, 4, *origin);
                records[0].extend(record);
                let mut record = [0; STRIDES[1]];
                put(&mut record, 0, [instance, mix32(mixed)]);
                records[1].extend(record);
            }
        }
        Emission {
            vertices_per_primitive: strip.vertices_per_primitive(),
            vertex_count: origins.len() as u32,
            vertices,
            instance_count,
            records,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::Subject;
    use vkxfb::topology::PrimitiveTopology as T;

    /// The modules declare what their names say, and the compute backend counts what is cut, and nothing else.
    #[test]
    fn modules_are_what_they_are_called() {
        let all = ProbeGeometry::all();
        assert_eq!(all.len(), 5 * 3 * 2);
        for geometry in all {
            let name = geometry.name();
            assert_eq!(ProbeGeometry::by_name(&name), Some(geometry));
            let subject = Subject::built_in_geometry(geometry).unwrap();
            let declared = subject.geometry.unwrap().declared;
            assert_eq!((declared.input, declared.invocations), (geometry.input, INVOCATIONS));
            let vertices = geometry.output.topology().vertices_per_primitive();
            assert_eq!(declared.output_vertices, vertices, "{name}");
            assert_eq!(subject.layout.strides, [Some(24), Some(12), None, None]);
            let emitted = geometry.output.topology().primitive_count(geometry.strips(0, 0)[0]);
            let always = (!geometry.cut).then_some(emitted as u32);
            assert_eq!(declared.primitives, always, "{name}");
            for primitive in 0..8 {
                let strips = geometry.strips(primitive, primitive % INVOCATIONS);
                assert!(strips.iter().sum::<u32>() <= declared.max_vertices, "{name}");
            }
        }
    }

    /// Worked out by hand: two triangles of a strip, by two invocations each.
    #[test]
    fn what_is_emitted_is_in_strips() {
        let geometry = ProbeGeometry::by_name("triangles_to_triangles_cut").unwrap();
        let emission = geometry.emission(T::TriangleStrip, ProvokingVertex::First, 4, 3);
        // Strips of 1 and 0, 3 and 1, 2 and 1, 4 and 2 vertices.
        assert_eq!((emission.vertex_count, emission.primitive_count()), (14, 3 * 3));
        assert_eq!(emission.vertices, [1, 2, 3, 8, 9, 10, 9, 11, 10]);
        let words = |record: &[u8]| {
            let (words, _) = record.as_chunks();
            words.iter().map(|word| u32::from_le_bytes(*word)).collect::<Vec<_>>()
        };
        // The second vertex of invocation 1 of the second triangle, which is 1, 3, 2; the first five are left out.
        let record = words(&emission.records[0][9 * 24..][..24]);
        assert_eq!(record, [0, 5 + 2, 1, 1, 1, 0]);
        let other = words(&emission.records[1][(14 + 9) * 12..][..12]);
        assert_eq!(other, [2 + 1, mix32(tag(3, 7) ^ 1 << 8 ^ 1 << 4 ^ 1), 0]);
        let last = geometry.emission(T::TriangleStrip, ProvokingVertex::Last, 4, 3);
        assert_eq!(last.vertices, [1, 2, 3, 8, 9, 10, 10, 9, 11]);
    }
}
