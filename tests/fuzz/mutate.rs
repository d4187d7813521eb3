//! The common entry point of the test `fuzz` and of libFuzzer's target `rewrite` (in `fuzz/`): bytes determine a
//! damaged module and a capture list, which are passed to every function that takes SPIR-V from outside.
//!
//! The bytes determine the seed module, the mutations and the list. When libFuzzer and proptest
//! vary and shorten bytes, they therefore vary and shorten cases, and few cases are refused because
//! of their header.

use std::borrow::Cow;

use spirv::{BuiltIn, Decoration, Op};
use vkxfb_rewriter::capture::locations_used;
use vkxfb_rewriter::capture::{BufferMode, CaptureEntry, CaptureList, Layout, Selector};
use vkxfb_rewriter::lower::reflect::{resource_interface, vertex_reads};
use vkxfb_rewriter::lower::strip::strip_xfb;
use vkxfb_rewriter::lower::{Captures, LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb_rewriter::spirv::declarations::Declarations;
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::spirv::{Module, read_string};
use vkxfb_translators::broadcast::{self, broadcast_color};
use vkxfb_translators::split_blocks::{self, split_blocks};
use vkxfb_translators::stream_output::{SlotLocations, StreamOutput, StreamOutputInfo};

/// The modules that are damaged. Of those in `seeds/`, glslang compiled these: `everything`, with
/// `-gVS`; `packed`, which shares locations by `Component`, contains blocks, an array of blocks and
/// 64-bit components, and was optimised by `spirv-opt -O`; `evaluation` and `streams`, a
/// tessellation evaluation and a geometry shader; and `narrow`, with inputs and outputs of 16 bits.
/// The others were assembled: `two` has two vertex shaders and a fragment shader, and `specialized`
/// has specialisation constants that decide an array's length, and decoration groups.
pub const SEEDS: [&[u8]; 12] = [
    include_bytes!("../../shaders/probe/identify.spv"),
    include_bytes!("../../shaders/probe/two_buffers.spv"),
    include_bytes!("../../shaders/probe/attributes.spv"),
    include_bytes!("../../shaders/bench/stream.spv"),
    include_bytes!("seeds/everything.spv"),
    include_bytes!("seeds/fragment.spv"),
    include_bytes!("seeds/two.spv"),
    include_bytes!("seeds/specialized.spv"),
    include_bytes!("seeds/packed.spv"),
    include_bytes!("seeds/evaluation.spv"),
    include_bytes!("seeds/streams.spv"),
    include_bytes!("seeds/narrow.spv"),
];

/// The number of words of the header, which is rarely worth damaging.
const HEADER: usize = 5;

/// Values at which limits may be exceeded or sums overflow.
const EDGES: [u32; 10] =
    [0, 1, 2, 3, 255, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/// Values of specialisation constants. The first is not valid as the length of an array.
const SPECIALIZATION: [SpecializationConstant<'static>; 2] = [
    SpecializationConstant { constant_id: 0, data: &[0xff; 4] },
    SpecializationConstant { constant_id: 1, data: &[2, 0, 0, 0] },
];

/// A damaged module, and the capture list for it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The damaged words.
    pub words: Vec<u32>,
    /// The capture list to use instead of the decorations, if any.
    pub list: Option<CaptureList>,
    entry_point: Option<&'static str>,
    workgroup_size: u32,
    attachments: u32,
}

/// What is done with a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Reads what can be read without lowering.
    Reflect,
    /// Lowers for the native backend.
    Native,
    /// Lowers for the vertex backend.
    Vertex,
    /// Lowers for the compute backend.
    Compute,
    /// Splits blocks of outputs.
    Split,
    /// Broadcasts the first colour.
    Broadcast,
    /// Removes transform feedback.
    Strip,
}

impl Way {
    /// All of it.
    pub const ALL: [Self; 7] = [
        Self::Reflect,
        Self::Native,
        Self::Vertex,
        Self::Compute,
        Self::Split,
        Self::Broadcast,
        Self::Strip,
    ];
}

/// A module, or the error as its type and as a message.
pub type Outcome = Result<Vec<u32>, (String, String)>;

fn outcome<T, E: std::error::Error>(
    result: Result<T, E>,
    words: impl FnOnce(T) -> Vec<u32>,
) -> Outcome {
    result.map(words).map_err(|error| (format!("{error:?}"), error.to_string()))
}

/// Bytes, taken one after the other, followed by zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % end.max(1)
    }

    fn small(&mut self) -> u32 {
        let byte = self.byte();
        match byte {
            0..=0x7f => u32::from(byte % 32),
            _ => EDGES[usize::from(byte) % EDGES.len()],
        }
    }
}

impl Case {
    /// Returns the case that bytes determine.
    pub fn new(bytes: &[u8]) -> Self {
        let mut bytes = Bytes(bytes);
        let mut words = seed(bytes.byte());
        for _ in 0..bytes.byte() % 6 {
            mutate(&mut words, &mut bytes);
        }
        let list = (bytes.byte() % 2 == 1).then(|| list(&words, &mut bytes));
        let entry_point = match bytes.byte() {
            0..=0x5f => None,
            0x60..=0xdf => Some("main"),
            _ => Some("other"),
        };
        let workgroup_size = if bytes.byte() >= 0xf0 { bytes.small() } else { 64 };
        Self { words, list, entry_point, workgroup_size, attachments: 1 + bytes.small() % 40 }
    }

    /// Whether a validator may accept the case although lowering refuses it: the validator does not
    /// compute array lengths, and thus locations, that depend on specialisation constants.
    pub fn has_open_lengths(&self) -> bool {
        let is_open = |op: u32| op == Op::SpecConstant as u32 || op == Op::SpecConstantOp as u32;
        instructions(&self.words).into_iter().any(|(start, _)| is_open(self.words[start] & 0xffff))
    }

    /// Rewrites the case in these ways. Returns the name of each outcome with the outcome.
    pub fn run(&self, ways: &[Way]) -> Vec<(&'static str, Outcome)> {
        let specialization = &SPECIALIZATION[usize::from(self.workgroup_size % 2 == 1)..];
        let mut shader = Shader::new(&self.words).specialization(specialization);
        shader.entry_point = self.entry_point;
        shader.captures = self.list.as_ref().map_or(Captures::Decorations, Captures::List);
        ways.iter().flat_map(|way| self.run_in(*way, &shader)).collect()
    }

    fn run_in(&self, way: Way, shader: &Shader<'_>) -> Vec<(&'static str, Outcome)> {
        // A lowered shader, and what is left of it where all its constants have their defaults.
        let twice = |names: [&'static str; 2], lowered: Result<Lowered, LowerError>| {
            let specialized = lowered.as_ref().ok().map(|lowered| lowered.specialized(&[]));
            let specialized = specialized.map(|words| (names[1], outcome(words, |words| words)));
            let lowered = (names[0], outcome(lowered, |lowered| lowered.words));
            [Some(lowered), specialized].into_iter().flatten().collect()
        };
        match way {
            Way::Reflect => {
                _ = resource_interface(shader);
                self.reflect();
                Vec::new()
            }
            Way::Native => {
                vec![("native", outcome(native::lower(shader), |lowered| lowered.words))]
            }
            Way::Vertex => twice(["vertex", "vertex, specialized"], vertex::lower(shader)),
            Way::Compute => {
                let reads = vertex_reads(shader);
                let vertex_input =
                    reads.map(|reads| reads.packed_vertex_input()).unwrap_or_default();
                let options = compute::Options::new(&vertex_input).target(
                    compute::Target::default()
                        .workgroup_sizes(compute::WorkgroupSizes::all(self.workgroup_size))
                        .staging((self.words.len() as u32 % 4) << 10),
                );
                twice(["compute", "compute, specialized"], compute::lower(shader, &options))
            }
            Way::Split => {
                let mut split = split_blocks::SplitOptions::default();
                split.entry_point = self.entry_point;
                let outcome = outcome(split_blocks(&self.words, &split), |split| split.words);
                vec![("split", outcome)]
            }
            Way::Broadcast => {
                let mut broadcast = broadcast::BroadcastOptions::new(self.attachments, 32)
                    .max_dual_source_attachments(8);
                broadcast.entry_point = self.entry_point;
                let outcome = outcome(broadcast_color(&self.words, &broadcast), |b| b.words);
                vec![("broadcast", outcome)]
            }
            Way::Strip => {
                vec![("strip", outcome(strip_xfb(&self.words), |words| self.stripped(words)))]
            }
        }
    }

    /// Strips a stripped module again. Nothing must be left to remove, except for instructions that
    /// were hidden by misplaced ones.
    fn stripped(&self, words: Cow<'_, [u32]>) -> Vec<u32> {
        let words = words.into_owned();
        match strip_xfb(&words) {
            Ok(Cow::Borrowed(again)) => assert_eq!(again, words),
            Ok(Cow::Owned(again)) => assert!(again.len() < words.len(), "{self:?}"),
            Err(error) => panic!("{error}: {self:?}"),
        }
        words
    }

    /// Reads what can be read without lowering.
    fn reflect(&self) {
        let Ok(module) = Module::parse(&self.words) else { return };
        let groups = [Op::DecorationGroup, Op::GroupDecorate, Op::GroupMemberDecorate];
        let has_groups =
            |words: &[u32]| words.iter().any(|w| groups.iter().any(|op| w & 0xffff == *op as u32));
        if !has_groups(&self.words) {
            assert_eq!(module.words(), self.words);
        }
        let Ok(entry) = find_vertex_shader(&module, self.entry_point) else { return };
        let declarations = Declarations::of(&module);
        let _ = Layout::from_decorations(&module, &declarations, &entry);
        if let Some(list) = &self.list {
            let _ = Layout::from_list(&declarations, &entry, list);
        }
        for mode in [BufferMode::Interleaved, BufferMode::Separate] {
            let names = ["gl_Position", "gl_SkipComponents3", "colour", "nested.inner[1].wide"];
            let _ = CaptureList::from_varyings(&declarations, &entry, &names, mode);
        }
        if let Some(list) = &self.list {
            let _ = records(list).list_of(&module, &declarations, &entry);
        }
        locations_used(&declarations, &entry);
    }
}

fn seed(number: u8) -> Vec<u32> {
    words_from_bytes(SEEDS[usize::from(number) % SEEDS.len()]).unwrap_or_default()
}

/// Returns where the instructions start, as far as their lengths can be followed.
fn instructions(words: &[u32]) -> Vec<(usize, usize)> {
    let (mut at, mut spans) = (HEADER, Vec::new());
    while let Some(word) = words.get(at) {
        let end = at + (*word >> 16).max(1) as usize;
        spans.push((at, end.min(words.len())));
        at = end;
    }
    spans
}

fn mutate(words: &mut Vec<u32>, bytes: &mut Bytes<'_>) {
    let kind = bytes.byte() % 64;
    if kind >= 29 {
        return redecorate(words, bytes);
    }
    let spans = instructions(words);
    if spans.is_empty() {
        return;
    }
    let (start, end) = spans[bytes.below(spans.len())];
    // An operand; of instructions without, the first word.
    let operand = start + 1 + bytes.below(end - start - 1);
    let at = if operand < end { operand } else { start };
    match kind {
        0..=2 => words[at] ^= 1 << (bytes.byte() % 32),
        3..=6 => words[at] = bytes.small(),
        7..=12 => words[at] = words[bytes.below(words.len())],
        13..=15 => words[at] = words[at].wrapping_add(1),
        16 => {
            words[start] =
                words[start] & 0xffff_0000 | words[spans[bytes.below(spans.len())].0] & 0xffff
        }
        17 => words[start] ^= 1 << (bytes.byte() % 32),
        18 | 19 => {
            let copy = words[start..end].to_vec();
            let (to, _) = spans[bytes.below(spans.len())];
            words.splice(to..to, copy);
        }
        20 | 21 => drop(words.drain(start..end)),
        22 | 23 => {
            let copy: Vec<u32> = words.drain(start..end).collect();
            let to = bytes.below(words.len() + 1).max(HEADER.min(words.len()));
            let spans = instructions(words);
            let to = spans.iter().map(|span| span.0).find(|start| *start >= to).unwrap_or(to);
            words.splice(to..to, copy);
        }
        24 | 25 => {
            let other = seed(bytes.byte());
            let others = instructions(&other);
            let first = bytes.below(others.len());
            let last = (first + bytes.below(20)).min(others.len() - 1);
            words.splice(start..end, other[others[first].0..others[last].1].iter().copied());
        }
        26 => words.truncate(at),
        27 => {
            let header = bytes.below(HEADER);
            words[header] = bytes.small();
        }
        _ => words.swap(at, spans[bytes.below(spans.len())].0),
    }
}

/// Returns stream outputs with the numbers of a list.
fn records(list: &CaptureList) -> StreamOutputInfo {
    let record = |capture: &CaptureEntry| {
        let Selector::Location { location, component, components } = capture.selector else {
            return None;
        };
        Some(StreamOutput {
            register_index: location,
            start_component: component,
            num_components: if components > 31 { components } else { components % 5 },
            output_buffer: capture.buffer,
            dst_offset: capture.offset / 4,
            stream: 0,
        })
    };
    let outputs: Vec<StreamOutput> = list.captures.iter().filter_map(record).collect();
    // Every slot, in every second case, for what is not there.
    let outputs_written = outputs.len().is_multiple_of(2).then_some(u64::MAX);
    let locations = if list.captures.len().is_multiple_of(3) {
        SlotLocations::Packed
    } else {
        SlotLocations::Unpacked
    };
    let strides = list.strides.map(|stride| stride.unwrap_or(0) / 4);
    StreamOutputInfo { outputs, strides, locations, outputs_written }
}

/// The decorations for transform feedback, each with one parameter.
const PARTS: [Decoration; 7] = [
    Decoration::Location,
    Decoration::Component,
    Decoration::Offset,
    Decoration::XfbBuffer,
    Decoration::XfbStride,
    Decoration::Stream,
    Decoration::BuiltIn,
];

/// A transform feedback decoration in a module: the position of its kind, which is followed by its
/// single parameter.
struct Part {
    start: usize,
    kind: usize,
    decoration: Decoration,
}

/// Returns the transform feedback decorations of a module.
fn parts(words: &[u32]) -> Vec<Part> {
    let part = |(start, end): (usize, usize)| {
        let kind = match words[start] & 0xffff {
            op if op == Op::Decorate as u32 => start + 2,
            op if op == Op::MemberDecorate as u32 => start + 3,
            _ => return None,
        };
        let decoration = *PARTS.iter().find(|d| words.get(kind) == Some(&(**d as u32)))?;
        (kind + 2 == end).then_some(Part { start, kind, decoration })
    };
    instructions(words).into_iter().filter_map(part).collect()
}

/// Returns a parameter that is plausible for most shaders.
fn parameter(decoration: Decoration, bytes: &mut Bytes<'_>) -> u32 {
    let byte = bytes.byte();
    if byte >= 0xf0 {
        return bytes.small();
    }
    let byte = u32::from(byte);
    match decoration {
        Decoration::Location => byte % 12,
        Decoration::Component | Decoration::XfbBuffer => byte % 4,
        Decoration::Stream => u32::from(byte > 0xc0),
        Decoration::Offset => byte % 48 * 4,
        Decoration::XfbStride => 16 + byte % 64 * 4,
        _ => [BuiltIn::Position, BuiltIn::PointSize, BuiltIn::ClipDistance, BuiltIn::VertexIndex]
            [byte as usize % 4] as u32,
    }
}

/// Changes the value, kind or target of a transform feedback decoration, or adds another decoration
/// to its target.
fn redecorate(words: &mut Vec<u32>, bytes: &mut Bytes<'_>) {
    let parts = parts(words);
    if parts.is_empty() {
        return;
    }
    let chosen = &parts[bytes.below(parts.len())];
    let Part { start, kind, decoration } = *chosen;
    match bytes.byte() % 8 {
        0..=2 => words[kind + 1] = parameter(decoration, bytes),
        3 => {
            // The value of another decoration, so that two are equal.
            let alike: Vec<&Part> = parts.iter().filter(|p| p.decoration == decoration).collect();
            words[kind + 1] = words[alike[bytes.below(alike.len())].kind + 1];
        }
        4 => {
            let other = &parts[bytes.below(parts.len())];
            words[start + 1] = words[other.start + 1];
        }
        5 => drop(words.drain(start..kind + 2)),
        more => {
            let decoration = match more {
                6 => Decoration::Component,
                _ => PARTS[bytes.below(PARTS.len())],
            };
            let mut copy = words[start..kind].to_vec();
            copy.extend([decoration as u32, parameter(decoration, bytes)]);
            words.splice(start..start, copy);
        }
    }
}

/// Returns a capture list for the module. Most of its outputs exist and do not overlap.
fn list(words: &[u32], bytes: &mut Bytes<'_>) -> CaptureList {
    const NAMES: [&str; 15] = [
        "id",
        "checksum",
        "colour",
        "gl_Position",
        "gl_PerVertex.gl_Position",
        "nested.inner[1].wide",
        "nested.matrix[0]",
        "nested",
        "gl_ClipDistance[1]",
        "wide",
        "first",
        "low",
        "pair[1].a",
        "x[4294967295]",
        "..[",
    ];
    let parts = parts(words);
    let locations: Vec<u32> = parts
        .iter()
        .filter(|part| part.decoration == Decoration::Location)
        .map(|part| words[part.kind + 1])
        .collect();
    // Those of what is decorated: inputs and outputs.
    let is_part = |id: &u32| parts.iter().any(|part| words[part.start + 1] == *id);
    let names: Vec<String> = instructions(words)
        .into_iter()
        .filter(|(start, _)| words[*start] & 0xffff == Op::Name as u32)
        .filter(|(start, _)| words.get(start + 1).is_some_and(is_part))
        .filter_map(|(start, end)| Some(read_string(words.get(start + 2..end)?)?.0))
        .collect();
    let mut list = CaptureList::default();
    let mut ends = [0u32; 5];
    for _ in 0..bytes.byte() % 8 {
        let components = match bytes.byte() {
            byte @ 0..=0xdf => 1 + u32::from(byte) % 6,
            _ => bytes.small(),
        };
        let component = match bytes.byte() {
            0..=0x9f => 0,
            byte => u32::from(byte) % 5,
        };
        let selector = match bytes.byte() % 4 {
            0 | 1 => {
                let location = match locations.get(bytes.below(locations.len() + 1)) {
                    Some(location) => *location,
                    None => bytes.small(),
                };
                Selector::Location { location, component, components }
            }
            2 => {
                let built_in = [
                    BuiltIn::Position,
                    BuiltIn::Position,
                    BuiltIn::PointSize,
                    BuiltIn::ClipDistance,
                    BuiltIn::CullDistance,
                ][bytes.below(5)];
                Selector::BuiltIn { built_in, component, components }
            }
            _ if bytes.byte() < 0x80 && !names.is_empty() => {
                Selector::Name(names[bytes.below(names.len())].clone())
            }
            _ => Selector::Name(NAMES[bytes.below(NAMES.len())].to_owned()),
        };
        let buffer = [0, 0, 0, 0, 1, 1, 2, 3, 4][bytes.below(9)];
        let end = &mut ends[buffer];
        let offset = if bytes.byte() >= 0xf0 { bytes.small() } else { *end };
        // Names may be of anything.
        let size = match &selector {
            Selector::Name(_) => 16 << (bytes.byte() % 5),
            _ => components.min(16) * 4,
        };
        *end = offset.saturating_add(size);
        list.captures.push(CaptureEntry::new(selector, buffer as u32, offset));
    }
    for (stride, end) in list.strides.iter_mut().zip(ends) {
        *stride = match bytes.byte() {
            0..=0xdf if end > 0 => Some(end.saturating_add(u32::from(bytes.byte()) % 4 * 4)),
            0..=0xdf => None,
            _ => Some(bytes.small()),
        };
    }
    list
}
