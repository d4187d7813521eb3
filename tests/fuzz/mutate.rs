//! The one entry of both fuzzers: bytes become a damaged module and a capture list, and these go through
//! everything that takes SPIR-V from outside.
//!
//! The bytes are a program: which seed, which mutations, which list. So libFuzzer's and proptest's ways
//! to vary and to shorten bytes vary and shorten cases, and few cases are refused by their header.

use spirv::{BuiltIn, Op};
use vkxfb::capture::{
    BufferMode, Capture, CaptureList, Layout, Selector, SlotLocations, StreamOutput,
    StreamOutputInfo, locations_used,
};
use vkxfb::lower::broadcast::{self, broadcast_color};
use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Captures, Shader, compute, native, vertex};
use vkxfb::spirv::declarations::Declarations;
use vkxfb::spirv::entry_point::find_vertex_shader;
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::spirv::{Module, words_from_bytes};

/// What is damaged. Those in `seeds/` are glslang's: `everything` is made with `-gVS`, the others were
/// assembled: `two` has two vertex shaders and a fragment shader, `specialized` specialisation constants that
/// decide an array's length, and decoration groups.
const SEEDS: [&[u8]; 8] = [
    include_bytes!("../../shaders/probe/identify.spv"),
    include_bytes!("../../shaders/probe/two_buffers.spv"),
    include_bytes!("../../shaders/probe/attributes.spv"),
    include_bytes!("../../shaders/bench/stream.spv"),
    include_bytes!("seeds/everything.spv"),
    include_bytes!("seeds/fragment.spv"),
    include_bytes!("seeds/two.spv"),
    include_bytes!("seeds/specialized.spv"),
];

/// Words of the header, which is rarely worth damaging.
const HEADER: usize = 5;

/// Values that a limit or a sum may trip over.
const EDGES: [u32; 10] =
    [0, 1, 2, 3, 255, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

/// Values of specialisation constants; the first fits no array's length.
const SPECIALIZATION: [SpecializationConstant<'static>; 2] = [
    SpecializationConstant { constant_id: 0, data: &[0xff; 4] },
    SpecializationConstant { constant_id: 1, data: &[2, 0, 0, 0] },
];

/// A damaged module, and what is asked of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// SPIR-V, or what was.
    pub words: Vec<u32>,
    /// In place of the decorations.
    pub list: Option<CaptureList>,
    entry_point: Option<&'static str>,
    workgroup_size: u32,
    attachments: u32,
}

/// Bytes, taken one after the other; zeros behind the end.
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
    /// The case that bytes stand for.
    pub fn new(bytes: &[u8]) -> Self {
        let mut bytes = Bytes(bytes);
        let mut words = seed(bytes.byte());
        for _ in 0..bytes.byte() % 8 {
            mutate(&mut words, &mut bytes);
        }
        let list = (bytes.byte() % 2 == 1).then(|| list(&mut bytes));
        let entry_point = [None, None, Some("main"), Some("other")][bytes.below(4)];
        let workgroup_size = if bytes.byte().is_multiple_of(8) { bytes.small() } else { 64 };
        Self { words, list, entry_point, workgroup_size, attachments: bytes.small() % 40 }
    }

    /// Lowers the case in every way; the modules that came out.
    pub fn run(&self) -> Vec<(&'static str, Vec<u32>)> {
        let captures = self.list.as_ref().map_or(Captures::Decorations, Captures::List);
        let shader = Shader {
            entry_point: self.entry_point,
            captures,
            specialization: &SPECIALIZATION[usize::from(self.workgroup_size % 2 == 1)..],
            ..Shader::new(&self.words)
        };
        let reads = vertex_reads(&shader);
        let vertex_input = reads.map(|reads| reads.packed_vertex_input()).unwrap_or_default();
        let options =
            compute::Options { vertex_input: &vertex_input, workgroup_size: self.workgroup_size };
        let broadcast = broadcast::Options {
            entry_point: self.entry_point,
            attachments: self.attachments,
            max_attachments: 32,
            max_dual_source_attachments: 8,
        };
        self.reflect();
        [
            ("native", native::lower(&shader).map(|lowered| lowered.words).ok()),
            ("vertex", vertex::lower(&shader).map(|lowered| lowered.words).ok()),
            ("compute", compute::lower(&shader, &options).map(|lowered| lowered.words).ok()),
            ("broadcast", broadcast_color(&self.words, &broadcast).map(|b| b.words).ok()),
        ]
        .into_iter()
        .filter_map(|(name, words)| Some((name, words?)))
        .collect()
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
            let _ = CaptureList::from_stream_output(&module, &declarations, &entry, &records(list));
        }
        locations_used(&declarations, &entry);
    }
}

fn seed(number: u8) -> Vec<u32> {
    words_from_bytes(SEEDS[usize::from(number) % SEEDS.len()]).unwrap_or_default()
}

/// Where the instructions start, as far as their lengths lead.
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
    let kind = bytes.byte() % 16;
    let spans = instructions(words);
    if spans.is_empty() {
        return;
    }
    let (start, end) = spans[bytes.below(spans.len())];
    // An operand; of instructions without, the first word.
    let operand = start + 1 + bytes.below(end - start - 1);
    let at = if operand < end { operand } else { start };
    match kind {
        0 | 1 => words[at] ^= 1 << (bytes.byte() % 32),
        2 | 3 => words[at] = bytes.small(),
        4 | 5 => words[at] = words[bytes.below(words.len())],
        6 => words[at] = words[at].wrapping_add(1),
        7 => {
            words[start] =
                words[start] & 0xffff_0000 | words[spans[bytes.below(spans.len())].0] & 0xffff
        }
        8 => words[start] ^= 1 << (bytes.byte() % 32),
        9 => {
            let copy = words[start..end].to_vec();
            let (to, _) = spans[bytes.below(spans.len())];
            words.splice(to..to, copy);
        }
        10 => drop(words.drain(start..end)),
        11 => {
            let copy: Vec<u32> = words.drain(start..end).collect();
            let to = bytes.below(words.len() + 1).max(HEADER.min(words.len()));
            let spans = instructions(words);
            let to = spans.iter().map(|span| span.0).find(|start| *start >= to).unwrap_or(to);
            words.splice(to..to, copy);
        }
        12 => {
            let other = seed(bytes.byte());
            let others = instructions(&other);
            let first = bytes.below(others.len());
            let last = (first + bytes.below(20)).min(others.len() - 1);
            words.splice(start..end, other[others[first].0..others[last].1].iter().copied());
        }
        13 => words.truncate(at),
        14 => {
            let header = bytes.below(HEADER);
            words[header] = bytes.small();
        }
        _ => words.swap(at, spans[bytes.below(spans.len())].0),
    }
}

/// Stream-output records with the numbers of a list.
fn records(list: &CaptureList) -> StreamOutputInfo {
    let record = |capture: &Capture| {
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
    let locations = match list.captures.len().is_multiple_of(3) {
        true => SlotLocations::Packed,
        false => SlotLocations::Unpacked,
    };
    let strides = list.strides.map(|stride| stride.unwrap_or(0) / 4);
    StreamOutputInfo { outputs, strides, locations, outputs_written }
}

fn list(bytes: &mut Bytes<'_>) -> CaptureList {
    const NAMES: [&str; 10] = [
        "id",
        "checksum",
        "colour",
        "gl_Position",
        "nested.inner[1].wide",
        "nested.matrix[0]",
        "gl_ClipDistance[1]",
        "wide",
        "x[4294967295]",
        "..[",
    ];
    let mut list = CaptureList::default();
    for stride in &mut list.strides {
        *stride = match bytes.byte() % 4 {
            0 => None,
            1 => Some(bytes.small()),
            _ => Some(256),
        };
    }
    let mut offset = 0;
    for _ in 0..bytes.byte() % 6 {
        let selector = match bytes.byte() % 3 {
            0 => Selector::Location {
                location: bytes.small(),
                component: bytes.small() % 5,
                components: bytes.small(),
            },
            1 => Selector::BuiltIn {
                built_in: [BuiltIn::Position, BuiltIn::PointSize, BuiltIn::ClipDistance]
                    [bytes.below(3)],
                component: bytes.small(),
                components: bytes.small(),
            },
            _ => Selector::Name(NAMES[bytes.below(NAMES.len())].to_owned()),
        };
        let at = if bytes.byte().is_multiple_of(8) { bytes.small() } else { offset };
        offset += 16;
        list.captures.push(Capture { selector, buffer: bytes.small() % 5, offset: at });
    }
    list
}
