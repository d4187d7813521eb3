//! This module finds what a geometry shader emits, as far as the code determines it, whatever the inputs are.
//!
//! The walk simulates the code with the scalars that are known: constants, results of
//! operations on known values, and contents of variables. If the condition of a branch is known,
//! the walk continues at the branch's target.
//!
//! If the condition is not known, the walk skips the selection construct, provided that all paths
//! lead to its merge block and none emits vertices. It also skips all loops and function calls that
//! do not emit. After skipped code, everything that the code may have changed is unknown.
//!
//! Where code that emits branches by an unknown condition, each of the arms is simulated. At the merge block of a
//! selection construct, runs that have emitted the same continue as one run, which knows what all of them know. So the
//! walk finds all that runs can emit.
//!
//! At unsupported code, or where too much would have to be simulated, the walk ends without a result.

mod compute;
mod run;
mod simulate;
mod skip;
mod strips;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use self::run::{Known, Run};
use self::strips::Emitted;
pub(in crate::lower) use self::strips::{Output, Strips};
use crate::capture::MAX_STREAMS;
use crate::lower::stages::followed::{Followed, Part, Scalars};
use crate::lower::stages::relaxed::Relaxed;
use crate::spirv::debug_info::debug_info_sets;
use crate::spirv::declarations::Declarations;
use crate::spirv::optimize::source::Source;
use crate::spirv::specialization::fold::{ConstantValue, Scalar};
use crate::spirv::{Id, Module, Section, result_of};

/// The largest number of instruction words to simulate. A loop that emits a few hundred vertices,
/// the most that devices allow, takes fewer words. Endless or very long loops reach this number
/// within milliseconds.
const MAX_WORDS: usize = 1 << 17;
/// The largest depth of calls.
const MAX_CALLS: usize = 64;
/// The largest number of ways in which runs may differ in what they emit.
const MAX_OUTCOMES: usize = 1 << 8;

/// Returns the number of primitives that a shader emits to each of its streams, if the walk finds that every run emits
/// the same strips, and the number is the same for all streams. Otherwise returns `None`. A wrong number would lose
/// primitives, or write over others; without a number, a first run of the shader counts the primitives.
///
/// Also returns `None` if the number is 0, and if any run may emit more vertices than the shader declares: captures do
/// not count the vertices of shaders whose number is known.
pub(super) fn always_emitted(module: &Module, function: Id, output: Output) -> Option<u32> {
    let declarations = Declarations::without_annotations(module);
    let outcomes = outcomes(module, &declarations, function, output, Sought::Same)?;
    let strips = outcomes.first().filter(|_| outcomes.len() == 1)?;
    let mut numbers = (0..MAX_STREAMS)
        .filter(|stream| output.streams >> stream & 1 != 0)
        .map(|stream| strips.primitives_of(stream, output.vertices));
    let first = numbers.next().filter(|primitives| *primitives > 0)?;
    numbers.all(|primitives| primitives == first).then_some(first)
}

/// What the runs of a geometry shader emit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::lower) enum Emission {
    /// All runs emit the same strips.
    Always(Strips),
    /// Each run emits these strips, or nothing.
    AllOrNothing(Strips),
    /// Runs emit at most this number of primitives, to all streams together.
    UpTo(u32),
}

/// Finds what the runs of a geometry shader emit. Vertices beyond those that the shader declares are left out.
pub(in crate::lower) fn emission(module: &Module, function: Id, output: Output) -> Emission {
    let declarations = Declarations::without_annotations(module);
    let Some(outcomes) = outcomes(module, &declarations, function, output, Sought::All) else {
        let primitives = (output.most.saturating_add(1)).saturating_sub(output.vertices);
        return Emission::UpTo(primitives.saturating_mul(output.streams.count_ones()));
    };
    let nothing = Strips::default();
    let mut emitting = outcomes.iter().filter(|strips| **strips != nothing);
    match (emitting.next(), emitting.next()) {
        (None, _) => Emission::Always(nothing),
        (Some(strips), None) if outcomes.len() == 1 => Emission::Always(strips.clone()),
        (Some(strips), None) => Emission::AllOrNothing(strips.clone()),
        _ => {
            let primitives = outcomes.iter().map(|strips| strips.primitives(output.vertices));
            Emission::UpTo(primitives.max().unwrap_or(0))
        }
    }
}

/// What a walk looks for. It ends without a result as soon as it finds that it cannot succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sought {
    /// What all runs emit, if it is the same, and no run emits more vertices than the shader declares.
    Same,
    /// All that runs can emit.
    All,
}

/// Finds all that runs of a geometry shader can emit.
fn outcomes(
    module: &Module,
    declarations: &Declarations,
    function: Id,
    output: Output,
    sought: Sought,
) -> Option<BTreeSet<Strips>> {
    let debug_info = debug_info_sets(module);
    let source = Source::of(module, &debug_info);
    let relaxed = Relaxed::of(module);
    let followed = Followed::of(module, &source, declarations, &debug_info, &relaxed, function)?;
    let mut walk = EmissionWalk {
        source: &source,
        declarations,
        relaxed: &relaxed,
        lengths: shuffled(module, declarations),
        variables: followed.parts.clone(),
        followed: &followed,
        lost: FxHashMap::default(),
        has_wide_literals: false,
        words: MAX_WORDS,
        calls: Vec::new(),
        output,
        sought,
        outcomes: BTreeSet::new(),
    };
    let run = walk.begin(module)?;
    for (_, run) in walk.call(function, run)? {
        walk.end(run)?;
    }
    Some(walk.outcomes)
}

struct EmissionWalk<'s> {
    source: &'s Source<'s>,
    declarations: &'s Declarations,
    relaxed: &'s Relaxed,
    /// The numbers of components of the vectors that are first operands of `OpVectorShuffle`.
    lengths: FxHashMap<Id, u32>,
    /// For each followed pointer: what it points to. A variable of a scalar points to itself, a parameter of a
    /// simulated function to the variable that was passed.
    variables: FxHashMap<Id, Part>,
    followed: &'s Followed,
    /// The ids of results and variables whose values are unknown after the walk has skipped a function or a construct;
    /// `None` if the walk cannot skip it. The key is the id of the function, or the label of the construct's header.
    lost: FxHashMap<Id, Option<Rc<[Id]>>>,
    /// Whether the module has integers of more than 32 bits, so that literals of an `OpSwitch` may
    /// have two words.
    has_wide_literals: bool,
    /// The number of words that may still be simulated. What takes time or memory otherwise counts as words.
    words: usize,
    /// The functions that are being simulated.
    calls: Vec<Id>,
    output: Output,
    sought: Sought,
    /// What the runs emitted that have ended.
    outcomes: BTreeSet<Strips>,
}

impl EmissionWalk<'_> {
    /// Returns the beginning of all runs, with the constants and variables of the module. In every run, variables begin
    /// with the values of their initializers, which [`Resets`](super::resets::Resets) stores.
    fn begin(&mut self, module: &Module) -> Option<Run> {
        let mut constants = Known::default();
        for i in module.section(Section::Declarations) {
            match i.op() {
                Some(Op::TypeInt) => self.has_wide_literals |= i.operand(1) > 32,
                Some(Op::ConstantComposite) => {
                    let Some(scalars) = Scalars::of(self.declarations, i.id(0)) else { continue };
                    let parts = i.operands().iter().skip(2);
                    // Of a vector all constituents are scalars. Others are in invalid modules.
                    for (number, part) in (0..scalars.count).zip(parts) {
                        let value = constants.get(&(Id(*part), 0)).copied();
                        let is_relaxed = self.relaxed.contains(i.id(1));
                        let value = value.filter(|v: &ConstantValue| {
                            v.scalar() == scalars.scalar
                                && (!is_relaxed || v.fits_relaxed_precision())
                        });
                        constants.extend(value.map(|value| ((i.id(1), number), value)));
                    }
                }
                _ => {
                    let scalar = Scalar::of(self.declarations, i.id(0));
                    let value = scalar.and_then(|scalar| ConstantValue::of_constant(scalar, i));
                    let is_relaxed = self.relaxed.contains(i.id(1));
                    let value = value.filter(|v| !is_relaxed || v.fits_relaxed_precision());
                    constants.extend(value.map(|value| ((i.id(1), 0), value)));
                }
            }
        }
        let mut run = Run::new(Rc::new(constants), Emitted::new(self.output.most));
        for i in module.section(Section::Declarations).filter(|i| i.is(Op::Variable)) {
            self.begin_variable(i, &mut run)?;
        }
        Some(run)
    }

    /// Subtracts `words` from the number of words that may still be simulated. Returns `None` if
    /// fewer are left.
    fn spend(&mut self, words: usize) -> Option<()> {
        self.words = self.words.checked_sub(words)?;
        Some(())
    }

    /// Ends a run: all that it emits is known.
    fn end(&mut self, run: Run) -> Option<()> {
        self.spend(run.emitted.len())?;
        self.outcomes.insert(run.emitted.end(self.output.vertices));
        let most = if self.sought == Sought::Same { 1 } else { MAX_OUTCOMES };
        (self.outcomes.len() <= most).then_some(())
    }
}

/// Finds the numbers of components of vectors that are shuffled.
fn shuffled(module: &Module, declarations: &Declarations) -> FxHashMap<Id, u32> {
    let functions = || module.section(Section::Functions);
    let shuffles = functions().filter(|i| i.is(Op::VectorShuffle) && i.operands().len() > 3);
    let shuffled: FxHashSet<Id> = shuffles.map(|i| i.id(2)).collect();
    let all = module.section(Section::Declarations).chain(functions());
    let vectors = all.filter_map(|i| match result_of(i) {
        (Some(ty), Some(result)) if shuffled.contains(&result) => {
            Some((result, Scalars::of(declarations, ty)?.count))
        }
        _ => None,
    });
    vectors.collect()
}
