//! The contents of the buffers and push constants that a shader under test reads. They are bytes
//! that the user supplies, or made-up bytes.
//!
//! Made-up bytes depend only on the shader, so all backends read the same bytes. Floats are from 0.25 to 1, so that
//! roots and logarithms of them are finite. Integers are from 0 to 3, so that loops are short and array indices small.

#![forbid(unsafe_code)]

mod block;

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::ops::Range;

use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};
use vkxfb_rewriter::lower::reflect::{
    DescriptorCount, DescriptorUse, ResourceType, resource_interface,
};
use vkxfb_rewriter::lower::{LowerError, Shader};
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};
use vkxfb_rewriter::spirv::entry_point::find_vertex_shader;
use vkxfb_rewriter::spirv::static_use::StaticUse;
use vkxfb_rewriter::spirv::{Id, Instruction, Module, Section};

use self::block::BlockLayout;

/// The number of made-up elements of a runtime array, whose length the shader does not say.
const MADE_UP_ELEMENTS: u32 = 4096;

/// The maximum size in bytes of a block with made-up contents.
const MAX_MADE_UP: u64 = 1 << 24;

/// Bytes that the user supplies, in a file or by other options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenBytes {
    /// The path of the file or, without a file, the option that supplies the bytes. Messages name it.
    pub name: String,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The ranges of `bytes` that have values, in order, where members of the block have none. `None` if nothing lacks.
    /// [`Missing::MakeUp`] makes up the others, and [`Missing::Refuse`] leaves them as they are.
    pub supplied: Option<Vec<Range<usize>>>,
}

/// The bytes that the user supplies for the buffers and push constants of a shader.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Given {
    /// The contents of buffers, by set and binding.
    pub buffers: BTreeMap<(u32, u32), GivenBytes>,
    /// The push constants from byte 0 on. `None` if the user supplies none.
    pub push_constants: Option<GivenBytes>,
}

/// The reaction to a buffer or push constants that the shader uses, and for which the user supplies no
/// contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Fail with [`ContentsError::Missing`].
    Refuse,
    /// Use made-up bytes.
    MakeUp,
}

/// The type of a buffer descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferKind {
    /// A uniform buffer.
    Uniform,
    /// A storage buffer.
    Storage,
}

/// A buffer that a shader reads, with its binding and contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferContents {
    /// The descriptor set.
    pub set: u32,
    /// The binding in the descriptor set.
    pub binding: u32,
    /// The type of the binding's descriptors.
    pub kind: BufferKind,
    /// The number of descriptors of the binding. The same buffer is bound to all of them.
    pub count: u32,
    /// The contents, padded to a multiple of 4 bytes.
    pub bytes: Vec<u8>,
}

/// The contents of a shader's buffers and push constants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// The buffers, by set and binding.
    pub buffers: Vec<BufferContents>,
    /// The push constants from byte 0 on, padded to a multiple of 4 bytes.
    pub push_constants: Vec<u8>,
    /// A description of each buffer, and of the push constants, whose contents are made up: "descriptor set 0 binding 1
    /// ('lights'), 64 bytes".
    pub made_up: Vec<String>,
}

/// A buffer or push constants that the shader reads, and for which the user supplies no contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingContents {
    /// The contents of a buffer are missing.
    Buffer {
        /// The descriptor set.
        set: u32,
        /// The binding in the descriptor set.
        binding: u32,
        /// The name of the shader's variable, or its id if it has no name.
        variable: String,
        /// The type of the descriptor.
        resource: ResourceType,
        /// The size that the contents must have, as text.
        size: String,
    },
    /// The push constants are missing.
    PushConstants {
        /// The name of the shader's variable, or its id if it has no name.
        variable: String,
        /// The size in bytes that the contents must have, counted from byte 0.
        bytes: u64,
    },
}

impl Display for MissingContents {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { set, binding, variable, resource, size } => {
                let name = in_parentheses(variable);
                write!(f, "descriptor set {set} binding {binding}{name}, {resource} of {size}")
            }
            Self::PushConstants { variable, bytes } => {
                write!(f, "the push constants{}, {bytes} bytes", in_parentheses(variable))
            }
        }
    }
}

/// Returns the name of a variable in parentheses, after a space. Empty if the variable has no name: its id says nothing
/// to those who have no disassembly.
fn in_parentheses(variable: &str) -> String {
    if variable.starts_with('%') { String::new() } else { format!(" ({variable})") }
}

fn in_words(missing: &[MissingContents]) -> String {
    missing.iter().map(MissingContents::to_string).collect::<Vec<_>>().join("; ")
}

/// The reason why [`Contents`] cannot be made for a shader.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentsError {
    /// The shader cannot be read.
    #[error(transparent)]
    Shader(#[from] LowerError),
    /// The user supplies no contents for these buffers and push constants, and none may be made up.
    #[error("no bytes are given for {}", in_words(.0))]
    Missing(Vec<MissingContents>),
    /// The user supplies contents for something that the shader does not use.
    #[error("{name} is for {what}, which the shader does not use; it uses: {used}")]
    Unused {
        /// The name of the contents: [`GivenBytes::name`].
        name: String,
        /// The resource that the contents are for: "descriptor set 0 binding 1" or "push constants".
        what: String,
        /// The resources that the shader uses, as text.
        used: String,
    },
    /// The supplied contents do not have the size of the block.
    #[error("{name} has {found} bytes; {what} takes {size}")]
    Size {
        /// The name of the contents: [`GivenBytes::name`].
        name: String,
        /// The size of the supplied contents in bytes.
        found: u64,
        /// The resource that the contents are for.
        what: String,
        /// The size that the contents must have, as text.
        size: String,
    },
    /// The shader uses a descriptor that is not a buffer, for example an image, or an array of buffers without a
    /// length.
    #[error(
        "descriptor set {set} binding {binding} ({variable}) is {what}, which cannot be given contents here: only \
         buffers can"
    )]
    Unsupported {
        /// The descriptor set.
        set: u32,
        /// The binding in the descriptor set.
        binding: u32,
        /// The name of the shader's variable, or its id if it has no name.
        variable: String,
        /// The type of the descriptor, as text.
        what: String,
    },
    /// Variables of one binding are buffers of different kinds, often in different stages.
    #[error(
        "descriptor set {set} binding {binding} is declared as {declared}; a binding is one of both"
    )]
    Kinds {
        /// The descriptor set.
        set: u32,
        /// The binding in the descriptor set.
        binding: u32,
        /// A text that describes two of the variables: the kind of each, and its name, or its id if it has no name.
        declared: String,
    },
    /// The shader uses a descriptor heap (`SPV_EXT_descriptor_heap`), which has no sets and
    /// bindings.
    #[error(
        "the shader takes descriptors from a heap ({variable}, SPV_EXT_descriptor_heap), which cannot be given contents \
         here"
    )]
    DescriptorHeap {
        /// The built-in and id of the heap's variable.
        variable: String,
    },
    /// The layout of a block is not supported, or the block is too large for made-up contents.
    #[error("{what}: {problem}")]
    Layout {
        /// The name of the block.
        what: String,
        /// The part of the layout that is not supported.
        problem: String,
    },
    /// The block contains, or may contain, device addresses. Contents cannot be made up for it, because the shader
    /// would read memory that does not exist.
    #[error("{what}: the shader follows device addresses, which cannot be made up")]
    Addresses {
        /// The name of the block.
        what: String,
    },
}

impl Contents {
    /// Returns the contents for the shaders of one pipeline, which share descriptor sets and push
    /// constants.
    ///
    /// # Errors
    /// [`ContentsError`]
    pub fn of_stages(
        shaders: &[&Shader<'_>],
        given: &Given,
        missing: Missing,
    ) -> Result<Self, ContentsError> {
        let interfaces = shaders.iter().map(|shader| resource_interface(shader));
        let interfaces: Vec<_> = interfaces.collect::<Result<_, _>>()?;
        let sources = shaders.iter().map(|shader| ModuleSource::of(shader));
        let mut sources: Vec<ModuleSource> = sources.collect::<Result<_, _>>()?;
        if let Some(variable) = sources.iter_mut().find_map(|source| source.heap.take()) {
            return Err(ContentsError::DescriptorHeap { variable });
        }
        let descriptors = || interfaces.iter().flat_map(|interface| &interface.descriptors);
        let mut bindings: BTreeMap<(u32, u32), Vec<&DescriptorUse>> = BTreeMap::new();
        for descriptor in descriptors() {
            bindings.entry((descriptor.set, descriptor.binding)).or_default().push(descriptor);
        }
        let mut this = Self::default();
        let mut lacking = Vec::new();
        for uses in bindings.values() {
            match this.buffer(&sources, uses, given, missing) {
                Ok(buffer) => this.buffers.push(buffer),
                Err(ContentsError::Missing(all)) => lacking.extend(all),
                Err(error) => return Err(error),
            }
        }
        for ((set, binding), bytes) in &given.buffers {
            if !bindings.contains_key(&(*set, *binding)) {
                let used = descriptors().map(place_of).collect();
                return Err(unused(bytes, format!("descriptor set {set} binding {binding}"), used));
            }
        }
        let end = interfaces.iter().map(|interface| interface.push_constants.end).max();
        match this.constants(&sources, end.unwrap_or(0).into(), given, missing) {
            Ok(bytes) => this.push_constants = bytes,
            Err(ContentsError::Missing(all)) => lacking.extend(all),
            Err(error) => return Err(error),
        }
        if lacking.is_empty() { Ok(this) } else { Err(ContentsError::Missing(lacking)) }
    }

    /// Whether the shader uses neither buffers nor push constants.
    pub const fn is_empty(&self) -> bool {
        self.buffers.is_empty() && self.push_constants.is_empty()
    }

    /// The number of descriptor sets of the pipeline layout: one more than the number of the last set that is used, or
    /// 0 if no set is used.
    pub fn set_count(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.set as usize + 1).max().unwrap_or(0)
    }

    fn buffer(
        &mut self,
        sources: &[ModuleSource],
        uses: &[&DescriptorUse],
        given: &Given,
        missing: Missing,
    ) -> Result<BufferContents, ContentsError> {
        let (first, kind, count) = binding_of(uses)?;
        let (set, binding) = (first.set, first.binding);
        let what = place_of(first);
        let layouts = sources.iter().flat_map(|source| {
            let blocks = source.blocks(set, binding).into_iter();
            blocks.map(move |(variable, pointee, ty)| {
                let elements = source.elements_read(variable, pointee);
                Ok(BlockLayout::of(&source.declarations, ty)?.with_elements(elements))
            })
        });
        let layouts: Vec<BlockLayout> = layouts
            .collect::<Result<_, _>>()
            .map_err(|problem| ContentsError::Layout { what: what.clone(), problem })?;
        // Several variables may have the same binding, so the buffer must be large enough for the
        // largest of them.
        let size = layouts.iter().map(|block| block.size).max().unwrap_or(0);
        let stride = layouts.iter().filter_map(|block| block.stride).max();
        let seed = set.rotate_left(16) ^ binding;
        let bytes = match (given.buffers.get(&(set, binding)), missing) {
            (Some(GivenBytes { bytes, supplied: Some(supplied), .. }), Missing::MakeUp) => {
                check_addresses(sources, &what, &layouts)?;
                self.filled(&what, &layouts, bytes, supplied, seed)?
            }
            (Some(bytes), _) => check_size(bytes, &what, &layouts)?.to_vec(),
            (None, Missing::Refuse) => {
                return Err(ContentsError::Missing(vec![MissingContents::Buffer {
                    set,
                    binding,
                    variable: name_of(first),
                    resource: first.resource,
                    size: longest(&layouts).map(BlockLayout::size_in_words).unwrap_or_default(),
                }]));
            }
            (None, Missing::MakeUp) => {
                check_addresses(sources, &what, &layouts)?;
                let tail = u64::from(stride.unwrap_or(0)) * u64::from(MADE_UP_ELEMENTS);
                let bytes = made_up(&what, &layouts, size + tail, seed)?;
                self.made_up.push(format!("{what}, {} bytes", bytes.len()));
                bytes
            }
        };
        Ok(BufferContents { set, binding, kind, count, bytes: dwords(bytes) })
    }

    fn constants(
        &mut self,
        sources: &[ModuleSource],
        end: u64,
        given: &Given,
        missing: Missing,
    ) -> Result<Vec<u8>, ContentsError> {
        let blocks =
            || sources.iter().filter_map(|source| Some((source, source.push_constants()?)));
        let Some((_, (variable, _))) = blocks().next() else {
            return match &given.push_constants {
                Some(bytes) => Err(unused(bytes, "push constants".to_owned(), Vec::new())),
                None => Ok(Vec::new()),
            };
        };
        let what = format!("the push constant block{}", in_parentheses(&variable));
        let layouts = || -> Result<Vec<BlockLayout>, ContentsError> {
            let layouts =
                blocks().map(|(source, (_, ty))| BlockLayout::of(&source.declarations, ty));
            let layouts: Vec<BlockLayout> = layouts
                .collect::<Result<_, _>>()
                .map_err(|problem| ContentsError::Layout { what: what.clone(), problem })?;
            check_addresses(sources, &what, &layouts)?;
            Ok(layouts)
        };
        let bytes = match (&given.push_constants, missing) {
            (Some(GivenBytes { bytes, supplied: Some(supplied), .. }), Missing::MakeUp) => {
                self.filled(&what, &layouts()?, bytes, supplied, u32::MAX)?
            }
            (Some(bytes), _) => check_size(bytes, &what, &[BlockLayout::of_size(end)])?.to_vec(),
            (None, Missing::Refuse) => {
                let missing = MissingContents::PushConstants { variable, bytes: end };
                return Err(ContentsError::Missing(vec![missing]));
            }
            (None, Missing::MakeUp) => {
                let layouts = layouts()?;
                self.made_up.push(format!("{what}, {end} bytes"));
                made_up(&what, &layouts, end, u32::MAX)?
            }
        };
        // The user's file may have padding after the block. The padding is cut off, because with the padding the push
        // constants could exceed `maxPushConstantsSize`.
        Ok(dwords(bytes.into_iter().take(end as usize).collect()))
    }

    /// Returns the contents of a block with the bytes that the user supplies, and with made-up bytes elsewhere.
    fn filled(
        &mut self,
        what: &str,
        layouts: &[BlockLayout],
        given: &[u8],
        supplied: &[Range<usize>],
        seed: u32,
    ) -> Result<Vec<u8>, ContentsError> {
        let end = supplied.last().map_or(0, |range| range.end as u64);
        let sizes = layouts.iter().map(|block| block.filled_size(end, MADE_UP_ELEMENTS.into()));
        let mut bytes = made_up(what, layouts, sizes.max().unwrap_or(0).max(end), seed)?;
        let mut left = bytes.len();
        for range in supplied {
            if let (Some(to), Some(from)) = (bytes.get_mut(range.clone()), given.get(range.clone()))
            {
                to.copy_from_slice(from);
                left -= from.len();
            }
        }
        self.made_up.push(format!("{what}, {left} of {} bytes", bytes.len()));
        Ok(bytes)
    }
}

/// The module of a shader, and the ids that the entry point of the shader uses.
struct ModuleSource {
    module: Module,
    declarations: Declarations,
    used: StaticUse,
    follows_addresses: bool,
    /// The built-in and id of the variable of a descriptor heap. `None` if the shader uses none.
    heap: Option<String>,
}

impl ModuleSource {
    fn of(shader: &Shader<'_>) -> Result<Self, LowerError> {
        let module = shader.module()?;
        let entry = match shader.find(&module) {
            Ok(entry) => entry,
            Err(_) => find_vertex_shader(&module, shader.entry_point)?,
        };
        let used = StaticUse::of(&module, entry.function);
        Ok(Self {
            declarations: Declarations::of(&module),
            follows_addresses: has_addresses(&module),
            heap: heap_of(&module, &used),
            used,
            module,
        })
    }

    fn used(&self, storage: StorageClass) -> impl Iterator<Item = (Id, Id)> {
        let used = |variable: &Id| self.used.contains(*variable);
        let variables = self.declarations.variables(storage).map(|v| (v.id, v.pointee));
        variables.filter(move |(id, _)| used(id))
    }

    /// Returns the blocks that the shader uses at a binding. Each block is described by the id of its variable, the
    /// type that the variable points to, and the type of the block. The two types differ if the variable is an array of
    /// blocks.
    fn blocks(&self, set: u32, binding: u32) -> Vec<(Id, Id, Id)> {
        let storages = [StorageClass::Uniform, StorageClass::StorageBuffer];
        let has = |id, decoration, number| {
            self.declarations.decoration(id, decoration) == Some(&[number])
        };
        storages
            .into_iter()
            .flat_map(|storage| self.used(storage))
            .filter(|(id, _)| has(*id, Decoration::DescriptorSet, set))
            .filter(|(id, _)| has(*id, Decoration::Binding, binding))
            .map(|(variable, pointee)| (variable, pointee, self.element(pointee)))
            .collect()
    }

    /// Returns the minimum number of elements of the runtime array in a block: 1, or more if the shader accesses later
    /// elements with constant indices.
    fn elements_read(&self, variable: Id, pointee: Id) -> u64 {
        let is_chain = |i: &Instruction<'_>| {
            matches!(i.op(), Some(Op::AccessChain | Op::InBoundsAccessChain))
                && i.id(2) == variable
                && self.used.contains(i.id(1))
        };
        let chains = self.module.section(Section::Functions).filter(is_chain);
        let last =
            chains.filter_map(|i| self.element_number(pointee, i.operands().get(3..)?)).max();
        u64::from(last.unwrap_or(0)) + 1
    }

    /// Returns the constant index that an access chain applies to a runtime array. `None` if the chain has no such
    /// index.
    fn element_number(&self, mut ty: Id, indices: &[u32]) -> Option<u32> {
        for index in indices {
            let index = self.declarations.constant(Id(*index));
            match self.declarations.ty(ty)? {
                Type::RuntimeArray { .. } => return index,
                Type::Array { element, .. } => ty = *element,
                Type::Struct { members } => ty = *members.get(index? as usize)?,
                _ => return None,
            }
        }
        None
    }

    /// Returns the type of the innermost elements of an array type. For other types, returns the
    /// type itself.
    fn element(&self, mut ty: Id) -> Id {
        while let Some(Type::Array { element, .. } | Type::RuntimeArray { element }) =
            self.declarations.ty(ty)
        {
            ty = *element;
        }
        ty
    }

    /// Returns the name, or otherwise the id, of the variable of push constants, and the type of their block. `None` if
    /// the shader uses no push constants.
    fn push_constants(&self) -> Option<(String, Id)> {
        let (id, ty) = self.used(StorageClass::PushConstant).next()?;
        let name = self.declarations.name(id).or_else(|| self.declarations.name(ty));
        Some((name.map_or_else(|| id.to_string(), |name| format!("'{name}'")), ty))
    }
}

/// Checks that no part of the contents is a device address, or may be one, because addresses cannot be made up.
fn check_addresses(
    sources: &[ModuleSource],
    what: &str,
    blocks: &[BlockLayout],
) -> Result<(), ContentsError> {
    // If the module uses device addresses, any integer may be an address: a shader may load addresses as 64-bit
    // integers or as pairs of 32-bit integers.
    let follow = sources.iter().any(|source| source.follows_addresses);
    if follow || blocks.iter().any(|block| block.has_pointers) {
        Err(ContentsError::Addresses { what: what.to_owned() })
    } else {
        Ok(())
    }
}

fn has_addresses(module: &Module) -> bool {
    let addresses = Capability::PhysicalStorageBufferAddresses as u32;
    module.section(Section::Capabilities).any(|i| i.operand(0) == addresses)
}

/// Returns the built-in and id of the variable of a descriptor heap that a shader uses. `None` if it uses none. Such a
/// variable is an untyped pointer without set and binding.
fn heap_of(module: &Module, used: &StaticUse) -> Option<String> {
    let heap = |i: Instruction<'_>| match BuiltIn::from_u32(i.operand(2)) {
        Some(which @ (BuiltIn::ResourceHeapEXT | BuiltIn::SamplerHeapEXT)) => {
            Some(format!("{which:?} {}", i.id(0)))
        }
        _ => None,
    };
    let is_built_in = |i: &Instruction<'_>| {
        i.is(Op::Decorate) && i.operand(1) == Decoration::BuiltIn as u32 && used.contains(i.id(0))
    };
    module.section(Section::Annotations).filter(is_built_in).find_map(heap)
}

/// Returns the first use of a binding, the type of its descriptors, and the largest number of descriptors that a use
/// declares. Fails if a use declares descriptors other than buffers, or if the uses declare different types.
fn binding_of<'d>(
    uses: &[&'d DescriptorUse],
) -> Result<(&'d DescriptorUse, BufferKind, u32), ContentsError> {
    let mut found: Option<(&DescriptorUse, BufferKind, u32)> = None;
    for descriptor in uses.iter().copied() {
        let refuse = |what: String| ContentsError::Unsupported {
            set: descriptor.set,
            binding: descriptor.binding,
            variable: name_of(descriptor),
            what,
        };
        let kind = match descriptor.resource {
            ResourceType::UniformBuffer => BufferKind::Uniform,
            ResourceType::StorageBuffer => BufferKind::Storage,
            other => return Err(refuse(other.to_string())),
        };
        let count = match descriptor.count {
            DescriptorCount::One => 1,
            DescriptorCount::Array(count) => count,
            DescriptorCount::RuntimeArray => {
                return Err(refuse(format!(
                    "{} in an array without a length",
                    descriptor.resource
                )));
            }
        };
        match &mut found {
            None => found = Some((descriptor, kind, count)),
            Some((other, other_kind, _)) if *other_kind != kind => {
                let kind_of = |of: &DescriptorUse| format!("{} ({})", of.resource, name_of(of));
                return Err(ContentsError::Kinds {
                    set: descriptor.set,
                    binding: descriptor.binding,
                    declared: format!("{} and as {}", kind_of(other), kind_of(descriptor)),
                });
            }
            Some((.., most)) => *most = count.max(*most),
        }
    }
    // This error does not happen, because `uses` contains at least one use.
    found.ok_or_else(|| ContentsError::Layout {
        what: "a binding".to_owned(),
        problem: "no variable".to_owned(),
    })
}

fn place_of(descriptor: &DescriptorUse) -> String {
    let DescriptorUse { set, binding, .. } = descriptor;
    format!("descriptor set {set} binding {binding}{}", in_parentheses(&name_of(descriptor)))
}

/// Returns the name of a descriptor's variable, or the id of the variable if it has no name.
fn name_of(descriptor: &DescriptorUse) -> String {
    let variable = &descriptor.variable;
    variable.split_once(" (%").map_or(&**variable, |(name, _)| name).to_owned()
}

fn unused(bytes: &GivenBytes, what: String, used: Vec<String>) -> ContentsError {
    let used = if used.is_empty() { "none".to_owned() } else { used.join(", ") };
    ContentsError::Unused { name: bytes.name.clone(), what, used }
}

/// Returns the largest of several blocks with the same binding; `None` if there are none. A block with a runtime array
/// counts as larger than one without.
fn longest(blocks: &[BlockLayout]) -> Option<&BlockLayout> {
    blocks.iter().max_by_key(|block| (block.stride.is_some(), block.size))
}

/// Returns the bytes that the user supplies for all blocks with the same binding. Fails if their number does not fit
/// the blocks. `what` describes the binding in the error.
fn check_size<'b>(
    given: &'b GivenBytes,
    what: &str,
    blocks: &[BlockLayout],
) -> Result<&'b [u8], ContentsError> {
    let found = given.bytes.len() as u64;
    let refuse = |block: &BlockLayout| ContentsError::Size {
        name: given.name.clone(),
        found,
        what: what.to_owned(),
        size: block.size_in_words(),
    };
    // Empty contents are too short for any block, because an empty buffer cannot be bound.
    let is_short = |block: &&BlockLayout| found == 0 || !block.is_filled_by(found);
    if let Some(short) = blocks.iter().find(is_short) {
        return Err(refuse(short));
    }
    // The contents must end where one of the blocks, or an element of its runtime array, can end. Otherwise the error
    // names the size of the largest block.
    match longest(blocks) {
        Some(longest) if !blocks.iter().any(|block| block.ends_with(found)) => Err(refuse(longest)),
        _ => Ok(&given.bytes),
    }
}

/// Makes up `size` bytes of contents for all blocks with the same binding. Fails if that is more than [`MAX_MADE_UP`].
fn made_up(
    what: &str,
    blocks: &[BlockLayout],
    size: u64,
    seed: u32,
) -> Result<Vec<u8>, ContentsError> {
    if size > MAX_MADE_UP {
        return Err(ContentsError::Layout {
            what: what.to_owned(),
            problem: format!("no more than {MAX_MADE_UP} bytes are made up, and it has {size}"),
        });
    }
    let mut bytes = vec![0; size as usize];
    // All blocks begin at the same byte. Where they overlap, the values have the types of the first block, because the
    // first block is written last.
    for block in blocks.iter().rev() {
        block.make_up(&mut bytes, seed);
    }
    Ok(bytes)
}

/// Pads bytes with zeros to a multiple of 4.
fn dwords(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(4).max(4 * usize::from(!bytes.is_empty())), 0);
    bytes
}
