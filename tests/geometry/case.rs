//! A program with its draws, and the memory that they use.

use vkxfb::runtime::IndexType;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb::vertex_input::{InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput};

use crate::common::commands::{
    Counters, Draw as Command, Instances, QueryKind, Range, Span as Vertices,
};
use crate::glsl;
use crate::model::Emissions;
use crate::program::{Attribute, Program};

/// The arguments of a draw command, or of one of the commands in memory.
#[derive(Debug, Clone)]
pub struct Call {
    /// The first vertex, or the first index.
    pub first: u32,
    pub count: u32,
    /// The vertex offset of indexed draws; otherwise 0.
    pub vertex_offset: i32,
    pub first_instance: u32,
    pub instance_count: u32,
}

/// Where the arguments of a draw come from.
#[derive(Debug, Clone)]
pub enum How {
    Direct,
    /// Commands in memory, of which those in `calls` are drawn.
    Indirect {
        offset: u64,
        stride: u32,
        /// The argument `drawCount` or `maxDrawCount`.
        most: u32,
        /// The position of the number of draws in memory, if it is there.
        count: Option<u64>,
    },
    /// A counter with a number of bytes, from which the number of vertices follows after an offset
    /// is subtracted.
    ByteCount {
        counter: u64,
        counter_offset: u32,
        stride: u32,
    },
}

/// A draw command, and the draws that it executes.
#[derive(Debug, Clone)]
pub struct Draw {
    pub indexed: bool,
    pub calls: Vec<Call>,
    pub how: How,
}

impl Draw {
    /// The command with its arguments.
    pub fn command(&self) -> Command {
        let instances =
            |call: &Call| Instances { first: call.first_instance, count: call.instance_count };
        match (&self.how, &self.calls[..]) {
            (How::Direct, [call, ..]) => Command::Direct {
                indexed: self.indexed,
                span: Vertices {
                    first: call.first,
                    count: call.count,
                    vertex_offset: call.vertex_offset,
                },
                instances: instances(call),
            },
            (&How::Indirect { offset, stride, most, count }, _) => {
                Command::Indirect { indexed: self.indexed, offset, draw_count: most, stride, count }
            }
            (&How::ByteCount { counter, counter_offset, stride }, [call, ..]) => {
                Command::ByteCount {
                    instances: instances(call),
                    counter,
                    counter_offset,
                    vertex_stride: stride,
                }
            }
            (_, []) => panic!("{self:?} draws nothing"),
        }
    }
}

/// The draws between a Begin and its End.
#[derive(Debug)]
pub struct Section {
    /// For each buffer, whether Begin reads its counter. `end` says whether End writes it.
    pub begin: [bool; 4],
    pub end: [bool; 4],
    pub draws: Vec<Draw>,
    /// The primitives that each draw emits.
    pub emitted: Vec<Emissions>,
}

/// The time during which a query is active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// From before the first capture to after the last capture.
    Whole,
    /// During some draws of a section.
    Draws { section: usize, draws: std::ops::Range<usize> },
}

#[derive(Debug, Clone)]
pub struct Query {
    pub kind: QueryKind,
    pub stream: u32,
    pub span: Span,
}

#[derive(Debug)]
pub struct Case {
    pub seed: u64,
    pub program: Program,
    pub topology: PrimitiveTopology,
    pub provoking: ProvokingVertex,
    pub restart: bool,
    /// All memory that the device reads and writes: vertices, indices, counters, captured data.
    pub image: Vec<u8>,
    /// The vertex buffers, by the number of the binding, which is that of the attribute.
    pub vertices: Vec<Range>,
    pub indices: Range,
    pub index_type: IndexType,
    /// The position of the counters of the four buffers.
    pub counters: u64,
    pub captures: [Option<Range>; 4],
    pub sections: Vec<Section>,
    pub queries: Vec<Query>,
}

impl Case {
    /// Returns the position of the counter of a buffer.
    pub const fn counter(&self, buffer: usize) -> u64 {
        self.counters + 4 * buffer as u64
    }

    /// Returns the counters that are passed to Begin or End.
    pub fn counters_of(&self, given: &[bool; 4]) -> Counters {
        let counter = |buffer: usize| given[buffer].then(|| self.counter(buffer));
        Counters { first: 0, counters: (0..4).map(counter).collect() }
    }

    pub fn vertex_input(&self) -> VertexInput {
        let attributes = || (0u32..).zip(&self.program.attributes);
        let binding = |(binding, attribute): (u32, &Attribute)| VertexBinding {
            binding,
            stride: 4 * attribute.components,
            input_rate: if attribute.per_instance {
                InputRate::INSTANCE
            } else {
                InputRate::Vertex
            },
        };
        let attribute = |(location, attribute): (u32, &Attribute)| VertexAttribute {
            location,
            binding: location,
            format: [
                VertexFormat::R32Uint,
                VertexFormat::R32G32Uint,
                VertexFormat::R32G32B32Uint,
                VertexFormat::R32G32B32A32Uint,
            ][attribute.components as usize - 1],
            offset: 0,
        };
        VertexInput {
            bindings: attributes().map(binding).collect(),
            attributes: attributes().map(attribute).collect(),
        }
    }

    /// Describes the case completely, for the message of a failure.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "{:?}, provoking vertex {:?}, restart {}, indices {:?} at {:?}\n",
            self.topology, self.provoking, self.restart, self.index_type, self.indices
        );
        text += &format!("strides {:?}, captures {:?}\n", self.program.strides, self.captures);
        text += &format!("streams of buffers {:?}\n", self.program.buffer_streams);
        text += &format!("counters at {}, queries {:?}\n", self.counters, self.queries);
        for section in &self.sections {
            text += &format!("begin {:?}\n", section.begin);
            for (draw, emitted) in section.draws.iter().zip(&section.emitted) {
                let of = |s| emitted.primitives.iter().filter(move |p| p.stream == s).count();
                let counts: Vec<usize> = (0..self.program.streams).map(of).collect();
                text += &format!("  {draw:?}: {counts:?} primitives\n");
            }
            text += &format!("end {:?}\n", section.end);
        }
        format!(
            "{text}// vertex shader\n{}// geometry shader\n{}",
            glsl::vertex(&self.program),
            glsl::geometry(&self.program)
        )
    }
}
