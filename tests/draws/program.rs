//! A program: the contents of its memory, and Vulkan commands that use it. All offsets are in bytes
//! from the start of the memory.

use std::fmt;

use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use crate::common::commands::{Counters, Draw, QueryKind, Range};
use crate::sets::{OBJECTS, SPACING};
use crate::shaders::Shader;

/// Commands, and the memory that they read and write.
#[derive(Debug, Clone)]
pub struct Program {
    pub seed: u64,
    /// The contents of the memory: capture buffers with their guards, counters, indices, vertices,
    /// arguments.
    pub memory: Vec<u8>,
    /// The areas of the memory: names and starts, in ascending order.
    pub areas: Vec<(&'static str, u64)>,
    /// The offset of the objects that descriptor sets read. Each object begins [`SPACING`] bytes
    /// after the previous one.
    pub objects: u64,
    /// The kinds of the queries. Each query is begun and ended once.
    pub queries: Vec<QueryKind>,
    /// The command buffers, which are submitted one after the other.
    pub rounds: Vec<Vec<Step>>,
}

/// The results of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub memory: Vec<u8>,
    /// The results of the queries, by the index in [`Program::queries`].
    pub queries: Vec<[u64; 2]>,
}

impl Program {
    /// Returns the names of the commands of all draws.
    pub fn draws(&self) -> impl Iterator<Item = &'static str> {
        self.rounds.iter().flatten().filter_map(|step| match step {
            Step::Draw(draw) => Some(draw.name()),
            _ => None,
        })
    }

    /// Returns the steps of a round as they are executed: the steps of a secondary command buffer
    /// are repeated as often as it is executed.
    pub fn executed(&self, round: usize) -> Vec<&Step> {
        let mut rest = &self.rounds[round][..];
        let mut executed = Vec::new();
        while let [step, behind @ ..] = rest {
            rest = behind;
            match step {
                Step::BeginSecondary(times) => {
                    let (inside, behind) = secondary(behind);
                    for _ in 0..*times {
                        executed.push(step);
                        executed.extend(inside);
                        executed.push(&Step::EndSecondary);
                    }
                    rest = behind;
                }
                step => executed.push(step),
            }
        }
        executed
    }

    /// Returns an error that describes the first difference of two outcomes.
    pub fn compare(&self, expected: &Outcome, found: &Outcome) -> Result<(), String> {
        let all = self.queries.iter().zip(expected.queries.iter().zip(&found.queries)).enumerate();
        let mut wrong = all.filter(|(_, (_, (expected, found)))| expected != found);
        let differs = |(a, b): (&u8, &u8)| a != b;
        if let Some(at) = expected.memory.iter().zip(&found.memory).position(differs) {
            let at = at / 4 * 4;
            let dwords = |memory: &[u8]| -> Vec<u32> {
                let words = memory[at..].chunks_exact(4).take(6);
                words.map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
            };
            let area = self.areas.iter().rev().find(|(_, start)| *start <= at as u64);
            let (name, start) = area.copied().unwrap_or(("memory", 0));
            return Err(format!(
                "byte {at} ({name} + {}): {:x?} instead of {:x?}",
                at as u64 - start,
                dwords(&found.memory),
                dwords(&expected.memory)
            ));
        }
        if let Some((query, (kind, (expected, found)))) = wrong.next() {
            return Err(format!("query {query}, {kind:?}: {found:?} instead of {expected:?}"));
        }
        if expected == found { Ok(()) } else { Err("results of another length".to_owned()) }
    }
}

/// A command, or a step that structures the commands of a program.
#[derive(Debug, Clone)]
pub enum Step {
    BeginPass(Pass),
    /// Begins the next part of the pass: see [`PassKind`].
    NextPart,
    EndPass,
    /// Begins a secondary command buffer, which is executed that many times. It ends with
    /// [`EndSecondary`](Self::EndSecondary), and consists of a whole part of a pass, or of a whole
    /// round.
    BeginSecondary(u32),
    EndSecondary,
    /// A barrier that makes everything before it visible to everything after it, inside or outside
    /// of a pass.
    Barrier,
    Change(StateChange),
    /// Binds capture buffers, by their number. A number that is `None` is never bound in the
    /// program.
    CaptureBuffers([Option<Range>; 4]),
    Begin(Counters),
    End(Counters),
    BeginQuery(usize),
    EndQuery(usize),
    Draw(Draw),
}

/// How a pass is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pass {
    pub kind: PassKind,
    /// Whether each part of it is a secondary command buffer.
    pub secondaries: bool,
}

/// With which commands a pass is recorded, and what its parts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PassKind {
    /// A render pass of one subpass, begun with `vkCmdBeginRenderPass`.
    #[default]
    RenderPass,
    /// A render pass of one subpass, begun with `vkCmdBeginRenderPass2`.
    RenderPass2,
    /// A render pass whose parts are subpasses. Each subpass depends on all subpasses before.
    Subpasses,
    /// Dynamic rendering that begins and ends for each part, with a barrier between parts.
    Rendering,
    /// Dynamic rendering whose parts are suspended and resumed. There is no barrier between parts,
    /// so a part does not see what another part captured.
    Suspended,
}

impl PassKind {
    pub const ALL: [Self; 5] =
        [Self::RenderPass, Self::RenderPass2, Self::Subpasses, Self::Rendering, Self::Suspended];
    /// The largest number of parts of a pass.
    pub const PARTS: u32 = 3;

    /// Whether the pass is dynamic rendering, so that barriers are only allowed outside of it.
    pub const fn is_dynamic(self) -> bool {
        matches!(self, Self::Rendering | Self::Suspended)
    }

    /// Whether the pass has parts with [`Step::NextPart`] between them.
    pub const fn has_parts(self) -> bool {
        !matches!(self, Self::RenderPass | Self::RenderPass2)
    }

    /// Whether a part sees what the parts before captured.
    pub const fn orders_parts(self) -> bool {
        matches!(self, Self::Subpasses | Self::Rendering)
    }
}

/// A change of the state of later draws.
#[derive(Debug, Clone)]
pub enum StateChange {
    /// Binds a pipeline. While transform feedback is active, its strides must be the same.
    Pipeline(State),
    /// Sets the provoking vertex until a pipeline is bound.
    ProvokingVertex(ProvokingVertex),
    /// Enables or disables primitive restart until a pipeline is bound. It is enabled only if the
    /// pipeline was created with primitive restart.
    PrimitiveRestart(bool),
    /// Sets the primitive restart index until an index buffer is bound.
    PrimitiveRestartIndex(u32),
    BeginConditionalRendering(Condition),
    EndConditionalRendering,
    VertexBuffers([Range; 2]),
    IndexBuffer(IndexBuffer),
    /// Binds descriptor sets from number `first` on.
    DescriptorSets {
        first: usize,
        sets: Vec<BoundSet>,
    },
    /// Sets push constants from dword `first` on.
    PushConstants {
        first: usize,
        dwords: Vec<u32>,
    },
}

/// Conditional rendering: draws are discarded if a dword is 0 or, if inverted, if it is not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    pub offset: u64,
    pub inverted: bool,
}

/// The state that is fixed in a graphics pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    pub shader: Shader,
    pub topology: PrimitiveTopology,
    pub provoking: ProvokingVertex,
    pub restart: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexBuffer {
    pub range: Range,
    /// The size of an index in bytes: 1, 2 or 4.
    pub index_size: u64,
}

impl IndexBuffer {
    /// Returns the index that restarts primitives.
    pub fn restart_index(index_size: u64) -> u32 {
        u32::MAX >> (32 - 8 * index_size)
    }
}

/// A descriptor set with its dynamic offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BoundSet {
    /// Which of the descriptor sets with that number is bound.
    pub handle: u32,
    /// The object to which the dynamic offset of each binding leads, for the bindings that the set
    /// has.
    pub objects: [u32; 2],
}

impl BoundSet {
    /// Returns where a binding begins. `objects` is the offset of the objects in the memory.
    pub fn place(&self, objects: u64, binding: usize) -> u64 {
        objects + u64::from((self.handle * OBJECTS + self.objects[binding]) * SPACING)
    }
}

/// Formats the commands, with the arguments and the indices that they read from memory.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  queries {:?}", self.queries)?;
        for (number, step) in self
            .rounds
            .iter()
            .enumerate()
            .flat_map(|(number, steps)| steps.iter().map(move |step| (number, step)))
        {
            writeln!(f, "  {number} {step:?}")?;
            match step {
                Step::Change(StateChange::IndexBuffer(IndexBuffer { range, index_size })) => {
                    let start = range.offset as usize;
                    let bytes = &self.memory[start..start + range.size as usize];
                    let all = bytes.chunks(*index_size as usize);
                    let index = |b: &[u8]| b.iter().rev().fold(0, |i, b| i << 8 | u32::from(*b));
                    writeln!(f, "      indices {:x?}", all.map(index).collect::<Vec<_>>())?;
                }
                Step::Draw(Draw::Indirect { offset, draw_count, stride, indexed, .. }) => {
                    for command in 0..u64::from(*draw_count) {
                        let at = (offset + command * u64::from(*stride)) as usize;
                        let bytes = &self.memory[at..at + if *indexed { 20 } else { 16 }];
                        let words = bytes.chunks_exact(4);
                        let words = words.map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
                        writeln!(f, "      command {:x?}", words.collect::<Vec<_>>())?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Outcome {
    /// Makes the smallest possible error in the results: flips one bit.
    pub fn perturb(&mut self) {
        let middle = self.memory.len() / 2;
        self.memory[middle] ^= 1;
    }
}

/// Splits the steps after the beginning of a secondary command buffer into those of this command
/// buffer and those after it.
pub fn secondary(steps: &[Step]) -> (&[Step], &[Step]) {
    let end = steps.iter().position(|step| matches!(step, Step::EndSecondary));
    let end = end.expect("a secondary command buffer ends");
    (&steps[..end], &steps[end + 1..])
}

/// Returns the queries that begin in these steps.
pub fn queries_of(steps: &[Step]) -> impl Iterator<Item = usize> {
    steps.iter().filter_map(|step| match step {
        Step::BeginQuery(query) => Some(*query),
        _ => None,
    })
}

/// For each program and query, its kind and its index in the pool of that kind.
pub type QueryPlaces = Vec<Vec<(QueryKind, u32)>>;

/// Assigns the queries of each program of a batch to positions in the pools. Also returns the
/// number of queries in each pool.
pub fn place_queries(programs: &[Program]) -> ([u32; 2], QueryPlaces) {
    let mut counts = [0; 2];
    let mut place = |kind: QueryKind| {
        let next = &mut counts[kind as usize];
        *next += 1;
        (kind, *next - 1)
    };
    let of_program = |program: &Program| program.queries.iter().map(|kind| place(*kind)).collect();
    let places = programs.iter().map(of_program).collect();
    (counts, places)
}
