//! Rewrites an entry point as one function without calls, without branches that are never taken, and
//! without variables whose values are known.
//!
//! Drivers do the same when they compile a pipeline, but it takes most of their compile time, because they first
//! process every function and branch of a general shader. Here a *walk* (`walk`) follows the code in the order of
//! execution, with the values of constants and variables that are known at each point. Functions that are never reached
//! are not parsed.
//!
//! Floating-point operations stay as they are, in the same order and with the same decorations, so
//! that results are identical to the bit. Control flow stays structured (`constructs`): a block is
//! written after all blocks that branch to it, except for the header of a loop. If one side of a selection is
//! empty, it is left out (`sides`).
//!
//! What cannot be rewritten in this way is kept: a function that has an unknown instruction, or that returns from
//! within a loop, is called as before; a variable with an index that is not known stays in memory; a module that would
//! grow beyond a limit is not changed at all.

mod constructs;
mod dead;
mod joins;
mod loops;
mod memory;
mod sides;
mod simplify;
pub(crate) mod source;
mod values;
mod walk;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{GlslStd450Op, Op};

use self::source::Source;
use self::values::Values;
use self::walk::{Known, Walk, private_variables};
use super::declarations::{Declarations, Type};
use super::entry_point::{EntryPoint, is_of_sets, isolate, reachable_from, remove_annotations};
use super::id_set::IdSet;
use super::{Id, Instruction, Module, Section, read_string, result_of};

/// The largest number of leaves of a variable whose values are tracked. A leaf is a part that is neither a
/// structure nor an array (`memory`).
const MAX_LEAVES: usize = 64;
/// The largest number of leaves (parts that are neither structures nor arrays) of all tracked variables together. It is
/// limited because the optimizer keeps a copy of the values of all leaves for each branch.
const MAX_ALL_LEAVES: usize = 4096;
/// The largest number of indices of an access chain that is combined from several chains.
const MAX_INDICES: usize = 64;
/// The largest depth of inlined calls and constructs together. Valid modules have no recursion.
const MAX_DEPTH: u32 = 96;
/// The largest number of attempts to rewrite an entry point. Each failed attempt finds functions that cannot be
/// inlined, finds a variable that has to stay in memory, or shows that the entry point needs returns within constructs.
const MAX_ATTEMPTS: u32 = 24;
/// The largest size of a rewritten entry point, in words: the first number times the number of words of the module's
/// functions, plus the second number.
const MAX_GROWTH: (usize, usize) = (4, 1 << 14);

/// The reason why a walk cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// A variable cannot be tracked, because it is accessed in a way that is not supported.
    Untrack(Id),
    /// A function has control flow that cannot be inlined into another function.
    Refuse(Id),
    /// The module is too large, or not valid.
    GiveUp,
}

/// Rewrites an entry point, and removes everything that it does not need: other entry points,
/// functions, declarations, names. Specialisation constants must have been
/// [replaced](super::specialization::specialize). Returns false if the module is unchanged.
pub(crate) fn optimize(module: &mut Module, entry: &EntryPoint) -> bool {
    let optimized = try_optimize(module, entry);
    let is_optimized = optimized.is_ok();
    if let Ok(optimized) = optimized {
        *module = optimized;
    }
    is_optimized
}

fn try_optimize(module: &Module, entry: &EntryPoint) -> Result<Module, Stop> {
    let mut entry = entry.clone();
    let set = |wanted: fn(&str) -> bool| {
        let is_wanted = move |i: &Instruction<'_>| {
            let name = i.operands().get(1..).and_then(read_string);
            name.is_some_and(|(name, _)| wanted(&name))
        };
        module
            .section(Section::Imports)
            .filter(is_wanted)
            .map(|i| i.id(0))
            .collect::<FxHashSet<Id>>()
    };
    let dropped = set(|name| name.contains("DebugInfo"));
    let glsl = set(|name| name == "GLSL.std.450").into_iter().min_by_key(|id| id.0);
    let source = Source::of(module, &dropped);
    let declarations = Declarations::without_annotations(module);
    let decorations = Decorations::of(module);
    let pointee = |ty| match declarations.ty(ty) {
        Some(Type::Pointer { pointee, .. }) => Some(*pointee),
        _ => None,
    };
    let private = private_variables(module, pointee);
    let variable_types: FxHashMap<Id, Id> = [Section::Declarations, Section::Functions]
        .into_iter()
        .flat_map(|section| module.section(section))
        .filter(|i| i.is(Op::Variable))
        .map(|i| (i.id(1), i.id(0)))
        .collect();
    let limit = source.len() * MAX_GROWTH.0 + MAX_GROWTH.1;

    let mut untracked: FxHashSet<Id> = FxHashSet::default();
    // Variables with arrays are not tracked if they are indexed with an index that is not constant. The walk might find
    // that the index has a known value, but trying that is not worth another attempt.
    let has_array = |variable: &Id| match variable_types.get(variable) {
        Some(ty) => pointee(*ty).is_some_and(|ty| has_array(&declarations, ty)),
        None => false,
    };
    untracked.extend(source.indexed().filter(has_array));
    let mut refused: FxHashSet<Id> = FxHashSet::default();
    // Whether the entry point may have `OpReturn` within a construct. This is tried only if the code cannot
    // be rewritten without it, because some drivers turn such returns into variables and branches.
    let mut returns_early = false;
    for _ in 0..MAX_ATTEMPTS {
        let known = Known {
            source: &source,
            untracked: &untracked,
            refused: &refused,
            decorations: &decorations,
            glsl,
            limit,
            returns_early,
        };
        // Every attempt begins with a fresh copy of the module, without the declarations of previous
        // attempts.
        let mut attempt = module.without(Section::Functions);
        let values = Values::new(&mut attempt, &declarations);
        match Written::of(known, values, &private, entry.function) {
            Ok(written) => {
                written.finish(&mut attempt, module, &mut entry, &dropped);
                return Ok(attempt);
            }
            Err(Stop::Untrack(variable)) => {
                tracing::debug!(%variable, name = name_of(module, variable), "in memory");
                untracked.insert(variable);
            }
            Err(Stop::Refuse(function)) if function != entry.function => {
                tracing::debug!(%function, name = name_of(module, function), "called");
                // If a function has unsupported code, all functions with unsupported code are called, and not inlined,
                // from the next attempt on.
                let others = source.get(function).is_none().then(|| source.not_understood());
                for function in others.into_iter().flatten().chain([function]) {
                    refused.insert(function);
                    // A called function may access all variables that it refers to, so these must
                    // stay in memory.
                    source.references(function, &mut untracked);
                }
            }
            Err(Stop::Refuse(_)) if !returns_early => returns_early = true,
            Err(stop) => return Err(stop),
        }
    }
    Err(Stop::GiveUp)
}

struct Written {
    /// The instructions from `OpLabel` to the last terminator.
    code: Vec<u32>,
    /// The decorations of ids in `code`.
    annotations: Vec<Vec<u32>>,
}

impl Written {
    fn of(
        known: Known<'_>,
        values: Values<'_>,
        private: &[(Id, Id, Option<Id>)],
        function: Id,
    ) -> Result<Self, Stop> {
        let glsl = known.glsl;
        let mut walk = Walk::new(known, values);
        walk.run(function, private)?;
        let Walk { values, variables, mut annotations, .. } = walk;
        let (code, live) = dead::remove(&values, &variables, glsl);
        annotations.retain(|words| live.contains(&Id(words[1])));
        Ok(Self { code: sides::leave_out_empty(&code), annotations })
    }

    /// Adds the function of the entry point to the module, and those functions of `source` that it calls. Removes
    /// everything that is no longer referred to.
    fn finish(
        self,
        module: &mut Module,
        source: &Module,
        entry: &mut EntryPoint,
        dropped: &FxHashSet<Id>,
    ) {
        let calls = instructions(&self.code).filter(|i| i.is(Op::FunctionCall));
        let called = reachable_from(source, calls.map(|i| i.id(2)).collect());
        let is_dropped = |i: Instruction<'_>| is_of_sets(i, dropped);
        let mut is_kept = false;
        let mut removed = source.id_set();
        let mut head: &[u32] = &[];
        for i in source.section(Section::Functions) {
            if i.is(Op::Function) && i.id(1) == entry.function {
                (head, is_kept) = (i.words(), false);
                continue;
            }
            if i.is(Op::Function) {
                is_kept = called.contains(&i.id(1));
            }
            if !is_kept {
                removed.extend(result_of(i).1);
            } else if !is_dropped(i) {
                module.push_encoded(Section::Functions, i.words());
            }
        }
        for section in [Section::Names, Section::Processes] {
            module.retain(section, |_| false);
        }
        module.retain(Section::Declarations, |i| !is_dropped(i));
        remove_annotations(module, &removed);
        module.push_encoded(Section::Functions, head);
        module.push_encoded(Section::Functions, &self.code);
        module.push(Section::Functions, Op::FunctionEnd, &[]);
        for words in &self.annotations {
            module.push_encoded(Section::Annotations, words);
        }
        isolate(module, entry);
    }
}

fn instructions(words: &[u32]) -> impl Iterator<Item = Instruction<'_>> {
    let mut rest = words;
    std::iter::from_fn(move || {
        let length = (*rest.first()? >> 16) as usize;
        let (instruction, next) = rest.split_at_checked(length.max(1))?;
        rest = next;
        Some(Instruction::new(instruction))
    })
}

fn has_array(declarations: &Declarations, ty: Id) -> bool {
    let (mut seen, mut open) = (FxHashSet::from_iter([ty]), vec![ty]);
    while let Some(ty) = open.pop() {
        match declarations.ty(ty) {
            Some(Type::Array { .. }) => return true,
            Some(Type::Struct { members }) => {
                open.extend(members.iter().filter(|member| seen.insert(**member)));
            }
            _ => {}
        }
    }
    false
}

fn name_of(module: &Module, id: Id) -> Option<String> {
    let mut names = module.section(Section::Names).filter(|i| i.is(Op::Name));
    let name = names.find(|i| i.id(0) == id)?;
    name.operands().get(1..).and_then(read_string).map(|(name, _)| name)
}

/// The decorations of ids. Decorations of members are not included.
struct Decorations<'m> {
    decorated: IdSet,
    /// The decorations, sorted by target id.
    all: Vec<Instruction<'m>>,
}

impl<'m> Decorations<'m> {
    fn of(module: &'m Module) -> Self {
        let is_decoration = |i: &Instruction<'_>| {
            matches!(i.op(), Some(Op::Decorate | Op::DecorateId | Op::DecorateString))
                && !i.operands().is_empty()
        };
        let mut all: Vec<_> = module.section(Section::Annotations).filter(is_decoration).collect();
        all.sort_by_key(|i| i.id(0));
        let mut decorated = module.id_set();
        decorated.extend(all.iter().map(|i| i.id(0)));
        Self { decorated, all }
    }

    fn has(&self, id: Id) -> bool {
        self.decorated.contains(id)
    }

    fn get(&self, id: Id) -> &[Instruction<'m>] {
        if !self.has(id) {
            return &[];
        }
        let begin = self.all.partition_point(|i| i.id(0) < id);
        let end = self.all.partition_point(|i| i.id(0) <= id);
        &self.all[begin..end]
    }
}

/// Whether the only effect of an instruction is to compute its result from its operands.
fn is_pure(i: Instruction<'_>, glsl: Option<Id>) -> bool {
    use Op::*;
    let Some(op) = i.op() else { return false };
    match op {
        // The instructions of `GLSL.std.450` are pure, except those in this list: they store to memory, or interpolate.
        // Other extended instructions do not count as pure.
        ExtInst => {
            glsl == Some(i.id(2))
                && !matches!(
                    GlslStd450Op::from_u32(i.operand(3)),
                    None | Some(
                        GlslStd450Op::Modf
                            | GlslStd450Op::Frexp
                            | GlslStd450Op::InterpolateAtCentroid
                            | GlslStd450Op::InterpolateAtSample
                            | GlslStd450Op::InterpolateAtOffset
                    )
                )
        }
        AccessChain
        | InBoundsAccessChain
        | VectorExtractDynamic
        | VectorInsertDynamic
        | VectorShuffle
        | CompositeConstruct
        | CompositeExtract
        | CompositeInsert
        | CopyObject
        | Transpose
        | ConvertFToU
        | ConvertFToS
        | ConvertSToF
        | ConvertUToF
        | UConvert
        | SConvert
        | FConvert
        | QuantizeToF16
        | ConvertPtrToU
        | ConvertUToPtr
        | Bitcast
        | SNegate
        | FNegate
        | IAdd
        | FAdd
        | ISub
        | FSub
        | IMul
        | FMul
        | UDiv
        | SDiv
        | FDiv
        | UMod
        | SRem
        | SMod
        | FRem
        | FMod
        | VectorTimesScalar
        | MatrixTimesScalar
        | VectorTimesMatrix
        | MatrixTimesVector
        | MatrixTimesMatrix
        | OuterProduct
        | Dot
        | IAddCarry
        | ISubBorrow
        | UMulExtended
        | SMulExtended
        | Any
        | All
        | IsNan
        | IsInf
        | LogicalEqual
        | LogicalNotEqual
        | LogicalOr
        | LogicalAnd
        | LogicalNot
        | Select
        | IEqual
        | INotEqual
        | UGreaterThan
        | SGreaterThan
        | UGreaterThanEqual
        | SGreaterThanEqual
        | ULessThan
        | SLessThan
        | ULessThanEqual
        | SLessThanEqual
        | FOrdEqual
        | FUnordEqual
        | FOrdNotEqual
        | FUnordNotEqual
        | FOrdLessThan
        | FUnordLessThan
        | FOrdGreaterThan
        | FUnordGreaterThan
        | FOrdLessThanEqual
        | FUnordLessThanEqual
        | FOrdGreaterThanEqual
        | FUnordGreaterThanEqual
        | ShiftRightLogical
        | ShiftRightArithmetic
        | ShiftLeftLogical
        | BitwiseOr
        | BitwiseXor
        | BitwiseAnd
        | Not
        | BitFieldInsert
        | BitFieldSExtract
        | BitFieldUExtract
        | BitReverse
        | BitCount => true,
        _ => false,
    }
}
