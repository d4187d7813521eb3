//! Merges the modules of several pipeline stages into one shader.
//!
//! The merged module has the entry points of both modules, and everything that they need. Types
//! that SPIR-V forbids to declare twice are shared, so that a value of one stage can be copied to
//! the other.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{AddressingModel, Op};

use crate::spirv::debug_info::{debug_info_sets, is_of_sets};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::id_set::{IdMap, IdSet};
use crate::spirv::{Id, Instruction, Module, Section, result_of, visit_ids};

/// The reason why two modules cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The grammar does not tell which operands of an instruction are ids, so the ids cannot be replaced.
    #[error("{stage} has an instruction that cannot be renumbered: opcode {opcode}")]
    UnknownInstruction {
        /// The stage and the entry point of the second module.
        stage: String,
        /// The opcode.
        opcode: u16,
    },
    /// The memory models differ, but a module has only one. The models `Simple` and `GLSL450` have been replaced by the
    /// model `Vulkan` of another stage, except where variables are coherent or volatile and there are untyped pointers.
    #[error("{stage} has another memory model than the stages before it")]
    MemoryModel {
        /// The stage and the entry point of the second module.
        stage: String,
    },
}

/// Adds the contents of `other` to `module`, with new ids, and returns the entry point of `other` with its new ids.
/// Debug info instructions, other than names and lines, are omitted.
///
/// # Errors
/// [`MergeError`]. In this case `module` contains a part of `other`, and is not usable.
pub(crate) fn merge(
    module: &mut Module,
    other: &Module,
    entry: &EntryPoint,
) -> Result<EntryPoint, MergeError> {
    let stage = || format!("{:?} '{}'", entry.model, entry.name);
    module.raise_version(other);
    merge_memory_models(module, other).ok_or_else(|| MergeError::MemoryModel { stage: stage() })?;
    for section in [Section::Capabilities, Section::Extensions] {
        for i in other.section(section) {
            if !module.section(section).any(|known| known.words() == i.words()) {
                module.push_encoded(section, i.words());
            }
        }
    }
    let debug_info = debug_info_sets(other);
    let wide_integers = wide_integers(other);
    let mut merge = Merge { module, ids: other.id_map(), wide_integers, words: Vec::new() };
    let unknown = |opcode| MergeError::UnknownInstruction { stage: stage(), opcode };
    merge.imports(other, &debug_info);
    merge.declarations(other, &debug_info).map_err(unknown)?;
    const OTHERS: [Section; 7] = [
        Section::EntryPoints,
        Section::ExecutionModes,
        Section::Sources,
        Section::Names,
        Section::Processes,
        Section::Annotations,
        Section::Functions,
    ];
    for section in OTHERS {
        for i in other.section(section) {
            if !is_of_sets(i, &debug_info) {
                merge.push(section, i).map_err(unknown)?;
            }
        }
    }
    Ok(EntryPoint {
        function: merge.id(entry.function),
        interface: entry.interface.iter().map(|id| merge.id(*id)).collect(),
        ..entry.clone()
    })
}

/// Adds physical addressing to `module`'s memory model, if `other` has it. Returns `None` if the
/// memory models differ.
fn merge_memory_models(module: &mut Module, other: &Module) -> Option<()> {
    let of = |module: &Module| {
        let model = module.section(Section::MemoryModel).next();
        model.map(|i| (i.operand(0), i.operand(1)))
    };
    let ((addressing, model), (other_addressing, other_model)) = (of(module)?, of(other)?);
    if addressing == AddressingModel::Logical as u32 {
        module.edit(Section::MemoryModel, |_, operands| {
            if let [addressing, _] = operands {
                *addressing = other_addressing;
            }
        });
    }
    (model == other_model).then_some(())
}

/// Returns the ids of values whose integer type is wider than 32 bits. In an `OpSwitch` with such a
/// selector, each literal takes two words.
fn wide_integers(module: &Module) -> IdSet {
    let mut wide = module.id_set();
    let is_wide = |i: &Instruction<'_>| i.is(Op::TypeInt) && i.operand(1) > 32;
    let declarations = module.section(Section::Declarations);
    let types: FxHashSet<Id> = declarations.filter(is_wide).map(|i| i.id(0)).collect();
    if types.is_empty() {
        return wide;
    }
    for section in [Section::Declarations, Section::Functions] {
        let results = module.section(section).map(result_of);
        wide.extend(results.filter_map(|(ty, id)| types.contains(&ty?).then_some(id?)));
    }
    wide
}

struct Merge<'m> {
    module: &'m mut Module,
    /// For each id of the added module, the id in the target module.
    ids: IdMap<Id>,
    wide_integers: IdSet,
    /// The words of the instruction that was renumbered last.
    words: Vec<u32>,
}

impl Merge<'_> {
    fn id(&mut self, id: Id) -> Id {
        self.ids.get(id).unwrap_or_else(|| {
            let new = self.module.fresh_id();
            self.ids.insert(id, new);
            new
        })
    }

    /// Sets `words` to the words of an instruction, with the ids of the target module.
    ///
    /// # Errors
    /// The opcode, if the grammar does not tell which of its operands are ids.
    fn renumber(&mut self, i: Instruction<'_>) -> Result<(), u16> {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        words.extend_from_slice(i.words());
        let is_wide = self.wide_integers.contains(i.id(0));
        let renumber = |index: usize| {
            if let Some(word) = words.get_mut(index + 1) {
                *word = self.id(Id(*word)).0;
            }
        };
        let known = if i.is(Op::Switch) && is_wide {
            // The ids are the selector, the default label, and a label after each literal of two
            // words.
            [0, 1].into_iter().chain((4..i.operands().len()).step_by(3)).for_each(renumber);
            true
        } else {
            visit_ids(i, renumber)
        };
        self.words = words;
        if known { Ok(()) } else { Err(i.opcode()) }
    }

    fn push(&mut self, section: Section, i: Instruction<'_>) -> Result<(), u16> {
        self.renumber(i)?;
        self.module.push_encoded(section, &self.words);
        Ok(())
    }

    /// Adds the instruction sets that `other` imports, except those for debug info.
    fn imports(&mut self, other: &Module, debug_info: &FxHashSet<Id>) {
        for i in other.section(Section::Imports).filter(|i| !debug_info.contains(&i.id(0))) {
            let name = &i.operands()[1..];
            let known = self
                .module
                .section(Section::Imports)
                .find(|known| &known.operands()[1..] == name)
                .map(|known| known.id(0));
            match known {
                Some(known) => self.ids.insert(i.id(0), known),
                None => {
                    let operands = [&[self.id(i.id(0)).0], name].concat();
                    self.module.push(Section::Imports, Op::ExtInstImport, &operands);
                }
            }
        }
    }

    /// Adds the types, constants and variables of `other`.
    ///
    /// # Errors
    /// The opcode of an instruction that [`renumber`](Self::renumber) cannot renumber.
    fn declarations(&mut self, other: &Module, debug_info: &FxHashSet<Id>) -> Result<(), u16> {
        let key = |i: Instruction<'_>| {
            let operands = i.operands().get(1..)?;
            Some(([&[u32::from(i.opcode())], operands].concat(), i.id(0)))
        };
        let unique = self.module.section(Section::Declarations).filter(is_unique_type);
        let mut known: FxHashMap<Vec<u32>, Id> = unique.filter_map(key).collect();
        for i in other.section(Section::Declarations) {
            if is_of_sets(i, debug_info) {
                continue;
            }
            if is_unique_type(&i) {
                // The key does not contain the id of the type itself.
                self.renumber(i)?;
                let found = key(Instruction::new(&self.words));
                if let Some((key, new)) = found {
                    if let Some(same) = known.get(&key) {
                        self.ids.insert(i.id(0), *same);
                        continue;
                    }
                    known.insert(key, new);
                }
                self.module.push_encoded(Section::Declarations, &self.words);
            } else {
                self.push(Section::Declarations, i)?;
            }
        }
        Ok(())
    }
}

/// Whether an instruction declares a type that SPIR-V forbids to declare twice: a type that is neither an aggregate
/// nor a pointer.
fn is_unique_type(i: &Instruction<'_>) -> bool {
    use Op::{TypeArray, TypeForwardPointer, TypePointer, TypeRuntimeArray, TypeStruct};
    let Some(op) = i.op() else { return false };
    let is_type = result_of(*i) == (None, Some(i.id(0)));
    is_type
        && !matches!(
            op,
            TypeArray | TypeRuntimeArray | TypeStruct | TypePointer | TypeForwardPointer
        )
}
