//! The words of a module, split into instructions.

mod decoration_groups;

use spirv::Op;

use crate::spirv::Id;
use crate::spirv::id_set::{IdMap, IdSet};

const HEADER_WORDS: usize = 5;
/// The largest id bound. The specification's universal limit for ids is 2^22 - 1. Compilers exceed that
/// limit, but do not come close to this number. Higher ids are left for instructions that passes add.
const MAX_BOUND: u32 = 1 << 30;

/// The reason why words are not a SPIR-V module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid SPIR-V at word {word}: {kind}")]
pub struct ParseError {
    /// Offset in words from the start of the module.
    pub word: usize,
    /// The problem at that word.
    pub kind: ParseErrorKind,
}

/// A problem in a module's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The number of bytes is not a multiple of 4.
    #[error("the file ends inside a word ({0} bytes)")]
    PartialWord(usize),
    /// The module is shorter than the header.
    #[error("{0} words are less than the header's 5")]
    TruncatedHeader(usize),
    /// The first word is not the magic number.
    #[error("the magic number is {0:#010x}, not 0x07230203")]
    Magic(u32),
    /// The id bound in the header is out of range.
    #[error("the id bound is {0}; it must be above 0 and at most 2^30")]
    Bound(u32),
    /// An instruction's word count is 0.
    #[error("opcode {0} has a word count of 0")]
    ZeroWordCount(u16),
    /// An instruction extends beyond the end of the module.
    #[error("opcode {opcode} takes {count} words, of which {left} are left")]
    TruncatedInstruction {
        /// The opcode.
        opcode: u16,
        /// The word count of the instruction.
        count: usize,
        /// The number of words up to the end of the module.
        left: usize,
    },
    /// An instruction is too short to contain its result id.
    #[error("opcode {0} is too short for its result id")]
    MissingResult(u16),
    /// A result id is 0, or not below the bound.
    #[error("result id {id} is not between 1 and the bound {bound}")]
    IdOutOfBound {
        /// The id.
        id: u32,
        /// The bound in the header.
        bound: u32,
    },
    /// Two instructions have the same result id.
    #[error("result id {0} is defined a second time")]
    DuplicateResult(u32),
    /// `OpFunction` inside a function, or `OpFunctionEnd` outside of one.
    #[error("functions are not properly nested")]
    FunctionNesting,
    /// The decoration groups would take more than 2^20 words when they are expanded.
    #[error("the decoration groups take more than 2^20 words, written out")]
    DecorationGroups,
}

/// Reads SPIR-V words from the bytes of a file, in either byte order.
///
/// # Errors
/// [`ParseErrorKind::Magic`], or [`ParseErrorKind::PartialWord`] if the number of bytes is not a
/// multiple of 4.
pub fn words_from_bytes(bytes: &[u8]) -> Result<Vec<u32>, ParseError> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    // The magic number is checked first, because its error is the most useful one for a file that is not SPIR-V.
    if let Some(first) = chunks.first()
        && ![*first, [first[3], first[2], first[1], first[0]]]
            .contains(&spirv::MAGIC_NUMBER.to_le_bytes())
    {
        let kind = ParseErrorKind::Magic(u32::from_le_bytes(*first));
        return Err(ParseError { word: 0, kind });
    }
    if !rest.is_empty() {
        return Err(ParseError {
            word: chunks.len(),
            kind: ParseErrorKind::PartialWord(bytes.len()),
        });
    }
    let swapped = chunks.first() == Some(&spirv::MAGIC_NUMBER.to_be_bytes());
    let read = if swapped { u32::from_be_bytes } else { u32::from_le_bytes };
    Ok(chunks.iter().map(|chunk| read(*chunk)).collect())
}

/// The sections of the logical layout, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Section {
    /// `OpCapability`
    Capabilities,
    /// `OpExtension`
    Extensions,
    /// `OpExtInstImport`
    Imports,
    /// `OpMemoryModel`
    MemoryModel,
    /// `OpEntryPoint`
    EntryPoints,
    /// `OpExecutionMode`, `OpExecutionModeId`
    ExecutionModes,
    /// `OpString`, `OpSource` and similar instructions
    Sources,
    /// `OpName`, `OpMemberName`
    Names,
    /// `OpModuleProcessed`
    Processes,
    /// `OpDecorate` and similar instructions
    Annotations,
    /// Types, constants and global variables
    Declarations,
    /// `OpFunction` to `OpFunctionEnd` of all functions
    Functions,
}

const SECTIONS: usize = Section::Functions as usize + 1;

impl Section {
    /// The section that an instruction belongs to; `is_declaration` says whether the instruction declares
    /// a type or a constant. `None` for instructions such as `OpExtInst`, which belong to the section of the
    /// previous instruction.
    pub(super) fn of(op: Op, is_declaration: bool) -> Option<Self> {
        use Op::*;
        Some(match op {
            Capability => Self::Capabilities,
            Extension => Self::Extensions,
            ExtInstImport => Self::Imports,
            MemoryModel => Self::MemoryModel,
            EntryPoint => Self::EntryPoints,
            ExecutionMode | ExecutionModeId => Self::ExecutionModes,
            String | SourceExtension | Source | SourceContinued => Self::Sources,
            Name | MemberName => Self::Names,
            ModuleProcessed => Self::Processes,
            Decorate | MemberDecorate | DecorationGroup | GroupDecorate | GroupMemberDecorate
            | DecorateId | DecorateString | MemberDecorateString | MemberDecorateIdEXT => {
                Self::Annotations
            }
            Variable => Self::Declarations,
            // Several sections may contain these instructions. `Declarations` is the first of these sections.
            Line | NoLine | Undef => Self::Declarations,
            Function => Self::Functions,
            _ if is_declaration => Self::Declarations,
            _ => return None,
        })
    }
}

/// An instruction, as a view of its words in a module.
#[derive(Debug, Clone, Copy)]
pub struct Instruction<'a> {
    words: &'a [u32],
}

impl<'a> Instruction<'a> {
    /// Makes an instruction from its words, at least one.
    pub fn new(words: &'a [u32]) -> Self {
        debug_assert!(!words.is_empty());
        Self { words }
    }

    /// The opcode, which may be unknown.
    pub fn opcode(self) -> u16 {
        self.words[0] as u16
    }

    /// Whether the opcode is `op`.
    pub fn is(self, op: Op) -> bool {
        u32::from(self.opcode()) == op as u32
    }

    /// The opcode, if it is known.
    pub fn op(self) -> Option<Op> {
        super::grammar::op(self.opcode())
    }

    /// The words after the first one, which contains the opcode and the word count.
    pub fn operands(self) -> &'a [u32] {
        &self.words[1..]
    }

    /// Operand `index`, or 0 if the instruction is shorter. 0 is not a valid id.
    pub fn operand(self, index: usize) -> u32 {
        self.operands().get(index).copied().unwrap_or(0)
    }

    /// Operand `index` as an id.
    pub fn id(self, index: usize) -> Id {
        Id(self.operand(index))
    }

    /// All words of the instruction, the first one included.
    pub fn words(self) -> &'a [u32] {
        self.words
    }
}

/// The range of words of an instruction in [`Module::arena`].
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    length: u16,
}

/// A SPIR-V module. See the [module documentation](super).
#[derive(Debug, Clone)]
pub struct Module {
    version: u32,
    generator: u32,
    schema: u32,
    bound: u32,
    /// The words of all instructions, including instructions that were replaced or removed.
    arena: Vec<u32>,
    /// The instructions of each section in order, as ranges of `arena`.
    sections: [Vec<Span>; SECTIONS],
}

impl Module {
    /// Splits words into instructions.
    ///
    /// # Errors
    /// [`ParseError`] with the offset of the first invalid word: an invalid header or word count, a
    /// result id that is out of bound or defined twice, or functions that are not properly nested.
    /// Everything else is checked by later passes, or by `spirv-val`.
    pub fn parse(words: &[u32]) -> Result<Self, ParseError> {
        let fail = |word, kind| Err(ParseError { word, kind });
        let &[magic, version, generator, bound, schema, ..] = words else {
            return fail(words.len(), ParseErrorKind::TruncatedHeader(words.len()));
        };
        if magic != spirv::MAGIC_NUMBER {
            return fail(0, ParseErrorKind::Magic(magic));
        }
        if bound == 0 || bound > MAX_BOUND {
            return fail(3, ParseErrorKind::Bound(bound));
        }
        let mut module = Self {
            version,
            generator,
            schema,
            bound,
            arena: words.to_vec(),
            sections: Default::default(),
        };
        let mut defined = IdSet::new(bound, words.len());
        let mut section = Section::Capabilities;
        let mut in_function = false;
        let mut at = HEADER_WORDS;
        while at < words.len() {
            let (opcode, count) = (words[at] as u16, (words[at] >> 16) as usize);
            let left = words.len() - at;
            if count == 0 {
                return fail(at, ParseErrorKind::ZeroWordCount(opcode));
            }
            if count > left {
                return fail(at, ParseErrorKind::TruncatedInstruction { opcode, count, left });
            }
            let instruction = Instruction { words: &words[at..at + count] };
            let (result, begun) = super::grammar::result_and_section(opcode);
            if let Some(result) = result {
                let Some(id) = instruction.operands().get(usize::from(result)).copied() else {
                    return fail(at, ParseErrorKind::MissingResult(opcode));
                };
                if id == 0 || id >= bound {
                    return fail(at, ParseErrorKind::IdOutOfBound { id, bound });
                }
                if !defined.insert(Id(id)) {
                    return fail(at, ParseErrorKind::DuplicateResult(id));
                }
            }
            let begins = instruction.is(Op::Function);
            let ends = instruction.is(Op::FunctionEnd);
            if (begins && in_function) || (ends && !in_function) {
                return fail(at, ParseErrorKind::FunctionNesting);
            }
            in_function = (in_function || begins) && !ends;
            section = begun.map_or(section, |begun| begun.max(section));
            module.sections[section as usize].push(Span { start: at as u32, length: count as u16 });
            at += count;
        }
        if in_function {
            return fail(words.len(), ParseErrorKind::FunctionNesting);
        }
        decoration_groups::expand(&mut module)?;
        Ok(module)
    }

    /// The words of the module. Directly after [`parse`](Self::parse) they are the parsed words,
    /// unless these contain decoration groups.
    pub fn words(&self) -> Vec<u32> {
        let mut words = Vec::with_capacity(self.arena.len() + HEADER_WORDS);
        words.extend([spirv::MAGIC_NUMBER, self.version, self.generator, self.bound, self.schema]);
        // Instructions that are adjacent in the arena are copied together.
        let mut run = 0..0;
        for span in self.sections.iter().flatten() {
            let start = span.start as usize;
            if start != run.end {
                words.extend_from_slice(&self.arena[run]);
                run = start..start;
            }
            run.end += usize::from(span.length);
        }
        words.extend_from_slice(&self.arena[run]);
        words
    }

    /// Returns a copy of the module without the instructions of the section `left_out`.
    pub(crate) fn without(&self, left_out: Section) -> Self {
        let mut copy = Self { arena: Vec::new(), sections: Default::default(), ..*self };
        for (number, section) in self.sections.iter().enumerate() {
            if number != left_out as usize {
                let spans = section.iter().map(|span| {
                    let start = copy.arena.len() as u32;
                    copy.arena.extend_from_slice(self.span(*span));
                    Span { start, ..*span }
                });
                copy.sections[number] = spans.collect();
            }
        }
        copy
    }

    /// The SPIR-V version as (major, minor).
    pub fn version(&self) -> (u8, u8) {
        ((self.version >> 16) as u8, (self.version >> 8) as u8)
    }

    /// Raises the version of the module to that of another module, if the other version is higher.
    pub(super) fn raise_version(&mut self, other: &Self) {
        self.version = self.version.max(other.version);
    }

    /// An empty set for the ids of the module.
    pub fn id_set(&self) -> IdSet {
        IdSet::new(self.bound, self.arena.len())
    }

    /// An empty map from the ids of the module.
    pub(crate) fn id_map<T: Copy>(&self) -> IdMap<T> {
        IdMap::new(self.bound, self.arena.len())
    }

    /// The instructions of a section.
    pub fn section(&self, section: Section) -> impl DoubleEndedIterator<Item = Instruction<'_>> {
        self.sections[section as usize].iter().map(|span| Instruction { words: self.span(*span) })
    }

    /// Returns an unused id.
    pub fn fresh_id(&mut self) -> Id {
        let id = Id(self.bound);
        self.bound += 1;
        id
    }

    /// Appends an instruction to a section. Operands beyond [`MAX_OPERANDS`] are left out.
    pub fn push(&mut self, section: Section, op: Op, operands: &[u32]) {
        let span = self.store(op, operands);
        self.sections[section as usize].push(span);
    }

    /// Appends encoded instructions, of [`Code`](super::emit::Code) or of a parsed module, to a section. Trailing
    /// words that are not a whole instruction are left out.
    pub(crate) fn push_encoded(&mut self, section: Section, words: &[u32]) {
        let mut rest = words;
        while let Some(length) = rest.first().map(|word| word >> 16)
            && let Some((instruction, next)) = rest.split_at_checked(length as usize)
            && length > 0
        {
            let start = self.arena.len() as u32;
            self.arena.extend_from_slice(instruction);
            self.sections[section as usize].push(Span { start, length: length as u16 });
            rest = next;
        }
        debug_assert!(rest.is_empty(), "malformed instructions: {rest:?}");
    }

    /// Removes the instructions of a section for which `keep` returns false.
    pub fn retain(&mut self, section: Section, mut keep: impl FnMut(Instruction<'_>) -> bool) {
        let arena = &self.arena;
        self.sections[section as usize]
            .retain(|span| keep(Instruction { words: words_of(arena, *span) }));
    }

    /// Replaces the instructions of a section for which `replace` returns an encoded instruction.
    pub fn replace(
        &mut self,
        section: Section,
        mut replace: impl FnMut(Instruction<'_>) -> Option<Vec<u32>>,
    ) {
        for index in 0..self.sections[section as usize].len() {
            let span = self.sections[section as usize][index];
            if let Some(words) = replace(Instruction { words: self.span(span) }) {
                debug_assert_eq!(
                    words.first().map(|word| (word >> 16) as usize),
                    Some(words.len())
                );
                let start = self.arena.len() as u32;
                self.sections[section as usize][index] = Span { start, length: words.len() as u16 };
                self.arena.extend(words);
            }
        }
    }

    /// Calls `edit` with the opcode and the operands of each instruction of a section. `edit` may
    /// change the operands. Instructions with unknown opcodes are skipped.
    pub fn edit(&mut self, section: Section, mut edit: impl FnMut(Op, &mut [u32])) {
        for span in &self.sections[section as usize] {
            let start = span.start as usize;
            let words = &mut self.arena[start..start + usize::from(span.length)];
            if let Some(op) = Op::from_u32(words[0] & 0xffff) {
                edit(op, &mut words[1..]);
            }
        }
    }

    /// Whether the module has this memory model.
    pub fn has_memory_model(&self, model: spirv::MemoryModel) -> bool {
        self.section(Section::MemoryModel).any(|i| i.operand(1) == model as u32)
    }

    /// Declares a capability, if it is not declared yet.
    pub fn add_capability(&mut self, capability: spirv::Capability) {
        let known = self.section(Section::Capabilities).any(|i| i.operand(0) == capability as u32);
        if !known {
            self.push(Section::Capabilities, Op::Capability, &[capability as u32]);
        }
    }

    /// Removes the declaration of a capability.
    pub fn remove_capability(&mut self, capability: spirv::Capability) {
        self.retain(Section::Capabilities, |i| i.operand(0) != capability as u32);
    }

    /// Declares an extension, if it is not declared yet.
    pub fn add_extension(&mut self, name: &str) {
        let words = super::string_words(name);
        if !self.section(Section::Extensions).any(|i| i.operands() == words) {
            self.push(Section::Extensions, Op::Extension, &words);
        }
    }

    /// Removes the declaration of an extension.
    pub fn remove_extension(&mut self, name: &str) {
        let words = super::string_words(name);
        self.retain(Section::Extensions, |i| i.operands() != words);
    }

    fn store(&mut self, op: Op, operands: &[u32]) -> Span {
        let start = self.arena.len() as u32;
        encode(&mut self.arena, op, operands);
        Span { start, length: (self.arena.len() - start as usize) as u16 }
    }

    fn span(&self, span: Span) -> &[u32] {
        words_of(&self.arena, span)
    }
}

/// The largest number of operands of an instruction: its word count has 16 bits.
pub const MAX_OPERANDS: usize = u16::MAX as usize - 1;

/// Appends an instruction. Operands beyond [`MAX_OPERANDS`] are left out.
pub(crate) fn encode(words: &mut Vec<u32>, op: Op, operands: &[u32]) {
    let operands = operands.get(..MAX_OPERANDS).unwrap_or(operands);
    words.push(((operands.len() + 1) as u32) << 16 | op as u32);
    words.extend_from_slice(operands);
}

fn words_of(arena: &[u32], span: Span) -> &[u32] {
    &arena[span.start as usize..span.start as usize + usize::from(span.length)]
}
