//! Converts the functions of a module for the data flow analysis: to blocks of events, which are reads, writes, calls,
//! and emissions of vertices.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use crate::spirv::assignment::is_initialized;
use crate::spirv::debug_info::{debug_info_sets, is_of_sets};
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::pointers::{Pointer, Pointers};
use crate::spirv::{Id, Instruction, Module, Section, ids_of};

/// The scalars of a variable are tracked separately if the variable has at most `MAX_COMPONENTS` scalars, and if all
/// variables before it have fewer than `MAX_COMPONENTS_IN_ALL` components (numbered scalars) together. Otherwise the
/// variable is tracked as a whole, as one component.
const MAX_COMPONENTS: u64 = 1 << 10;
const MAX_COMPONENTS_IN_ALL: usize = 1 << 14;

/// An effect of an instruction on tracked variables, which the analysis has to know.
#[derive(Debug, Clone)]
pub(super) enum Event {
    /// The components (numbered scalars) in the range are written.
    Write(Range<usize>),
    /// The components of the variable are read, or may be read.
    Read { variable: Id, components: Range<usize> },
    /// A geometry shader emits a vertex, which reads all outputs.
    Emit,
    /// The function with this id is called.
    Call(Id),
}

#[derive(Debug)]
pub(super) struct ScannedBlock<'m> {
    pub(super) events: Vec<Event>,
    /// Whether the function returns at the end of the block.
    pub(super) returns: bool,
    /// The indices of the blocks that may follow.
    pub(super) successors: Vec<usize>,
    /// The last instruction of the block that was read so far. When the whole block was read, it is
    /// the terminator.
    terminator: Option<Instruction<'m>>,
}

#[derive(Debug)]
pub(super) struct Function<'m> {
    pub(super) id: Id,
    /// The blocks in the order of the module. The function begins at the first block.
    pub(super) blocks: Vec<ScannedBlock<'m>>,
    /// The function's own variables that have no initializer.
    pub(super) locals: Vec<Id>,
    /// The number of components of the module-scope variables and of the function's own variables.
    pub(super) components: usize,
}

/// The component numbers of a variable of type `ty`: its scalars have consecutive numbers from `first` on.
#[derive(Debug, Clone, Copy)]
struct Numbered {
    first: usize,
    ty: Id,
    /// Whether the scalars of the variable are tracked separately. Otherwise the variable has one
    /// component.
    is_apart: bool,
}

/// Numbers the scalars of variables. The number of a scalar is called its component.
#[derive(Debug, Clone)]
pub(super) struct Components<'a> {
    declarations: &'a Declarations,
    variables: FxHashMap<Id, Numbered>,
    /// The number of scalars of each type, by the type's id.
    counts: FxHashMap<Id, u64>,
    count: usize,
}

impl<'a> Components<'a> {
    pub(super) fn new(declarations: &'a Declarations) -> Self {
        Self {
            declarations,
            variables: FxHashMap::default(),
            counts: FxHashMap::default(),
            count: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds a variable: its scalars get the next numbers.
    pub(super) fn add(&mut self, variable: Id, ty: Id) {
        let scalars = self.scalars(ty);
        let is_apart = scalars <= MAX_COMPONENTS && self.count < MAX_COMPONENTS_IN_ALL;
        self.variables.insert(variable, Numbered { first: self.count, ty, is_apart });
        self.count += if is_apart { scalars as usize } else { 1 };
    }

    pub(super) fn of(&self, variable: Id) -> Option<Range<usize>> {
        self.range(variable, &[])
    }

    /// The components (numbered scalars) that a path of constant indices selects in a variable; all of them if the
    /// variable is tracked as a whole. `None` for invalid indices.
    pub(super) fn range(&self, variable: Id, path: &[u32]) -> Option<Range<usize>> {
        let Numbered { mut first, mut ty, is_apart } = *self.variables.get(&variable)?;
        if !is_apart {
            return Some(first..first + 1);
        }
        for index in path {
            let (skipped, part) = match self.declarations.ty(ty)? {
                Type::Struct { members } => {
                    let part = *members.get(*index as usize)?;
                    let before = &members[..*index as usize];
                    (before.iter().map(|ty| self.known(*ty)).sum(), part)
                }
                Type::Array { element: part, length } => {
                    let is_inside = *index < self.declarations.constant(*length)?;
                    (is_inside.then_some(u64::from(*index) * self.known(*part))?, *part)
                }
                Type::Matrix { column: part, count } | Type::Vector { component: part, count } => {
                    ((index < count).then_some(u64::from(*index) * self.known(*part))?, *part)
                }
                _ => return None,
            };
            first += skipped as usize;
            ty = part;
        }
        Some(first..first + self.known(ty) as usize)
    }

    /// The components that a store to a pointer certainly writes. (A component is the number of a tracked scalar.)
    /// `None` if that is not known, because an index of the pointer is not constant. `None`, too, if the store writes
    /// only a part of a variable whose scalars are not tracked separately, or if the variable is not tracked or an
    /// index is invalid.
    fn written(&self, pointer: &Pointer) -> Option<Range<usize>> {
        let Pointer { variable, path, is_dynamic } = pointer;
        let is_apart = self.variables.get(variable)?.is_apart;
        let is_known = !is_dynamic && (path.is_empty() || is_apart);
        is_known.then(|| self.range(*variable, path))?
    }

    fn known(&self, ty: Id) -> u64 {
        self.counts.get(&ty).copied().unwrap_or(1)
    }

    /// Returns the number of scalars of a type, and stores it in `counts`, together with the numbers of the types that
    /// the type contains. An opaque value counts as one scalar.
    fn scalars(&mut self, ty: Id) -> u64 {
        if let Some(count) = self.counts.get(&ty) {
            return *count;
        }
        let declarations = self.declarations;
        let count = match declarations.ty(ty) {
            Some(
                Type::Vector { component: part, count } | Type::Matrix { column: part, count },
            ) => self.scalars(*part).saturating_mul((*count).into()),
            Some(Type::Array { element, length }) => {
                // An unknown length counts as too long for the scalars to be tracked separately.
                let length = declarations.constant(*length).map_or(u64::MAX, u64::from);
                self.scalars(*element).max(1).saturating_mul(length)
            }
            Some(Type::Struct { members }) => {
                members.iter().fold(0, |sum: u64, ty| sum.saturating_add(self.scalars(*ty)))
            }
            _ => 1,
        };
        self.counts.insert(ty, count);
        count
    }
}

pub(super) struct Scan<'a, 'm> {
    pub(super) module: &'m Module,
    pub(super) declarations: &'a Declarations,
    /// The components (numbered scalars) of the module-scope variables.
    pub(super) globals: &'a Components<'a>,
    /// The module-scope variables that are tracked.
    pub(super) variables: &'a [Id],
}

impl<'m> Scan<'_, 'm> {
    /// Reads the functions in `reachable`, in the order of the module.
    pub(super) fn functions(&self, reachable: &FxHashSet<Id>) -> Vec<Function<'m>> {
        let debug_info = debug_info_sets(self.module);
        let undefined: FxHashSet<Id> = [Section::Declarations, Section::Functions]
            .into_iter()
            .flat_map(|section| self.module.section(section))
            .filter(|i| i.is(Op::Undef))
            .map(|i| i.id(1))
            .collect();
        let mut functions = Vec::new();
        let mut body: Option<Body<'_, 'm>> = None;
        for i in self.module.section(Section::Functions) {
            match i.op() {
                Some(Op::Function) if reachable.contains(&i.id(1)) => {
                    body = Some(Body {
                        components: self.globals.clone(),
                        pointers: Pointers::to(self.declarations, self.variables.iter().copied()),
                        undefined: &undefined,
                        debug_info: &debug_info,
                        labels: FxHashMap::default(),
                        function: Function {
                            id: i.id(1),
                            blocks: Vec::new(),
                            locals: Vec::new(),
                            components: 0,
                        },
                    });
                }
                Some(Op::FunctionEnd) => functions.extend(body.take().map(Body::finish)),
                _ => body.iter_mut().for_each(|body| body.read(i)),
            }
        }
        functions
    }
}

/// A function that is being read.
struct Body<'a, 'm> {
    components: Components<'a>,
    pointers: Pointers<'a>,
    /// The results of `OpUndef` instructions.
    undefined: &'a FxHashSet<Id>,
    /// The instruction sets for debug info. Their instructions have no effect.
    debug_info: &'a FxHashSet<Id>,
    /// The index of the block for each label.
    labels: FxHashMap<u32, usize>,
    function: Function<'m>,
}

impl<'m> Body<'_, 'm> {
    fn read(&mut self, i: Instruction<'m>) {
        if i.is(Op::Label) {
            self.labels.insert(i.operand(0), self.function.blocks.len());
            let (events, successors) = (Vec::new(), Vec::new());
            self.function.blocks.push(ScannedBlock {
                events,
                returns: false,
                successors,
                terminator: None,
            });
            return;
        }
        if self.pointers.follow(i) {
            return;
        }
        match i.op() {
            Some(Op::Line | Op::NoLine) => return,
            _ if is_of_sets(i, self.debug_info) => return,
            Some(Op::Variable)
                if i.operand(2) == StorageClass::Function as u32 && !is_initialized(i) =>
            {
                self.add_variable(i);
            }
            Some(Op::Load) => self.read_from(i.id(2)),
            Some(Op::Store) if self.undefined.contains(&i.id(1)) => {}
            Some(Op::Store) => self.write_to(i.id(0)),
            Some(Op::CopyMemory) => {
                self.read_from(i.id(1));
                self.write_to(i.id(0));
            }
            Some(Op::EmitVertex | Op::EmitStreamVertex) => self.push(Event::Emit),
            Some(Op::FunctionCall) => {
                i.operands().iter().skip(3).for_each(|argument| self.read_from(Id(*argument)));
                self.push(Event::Call(i.id(2)));
            }
            _ => self.escape(i),
        }
        if let Some(block) = self.function.blocks.last_mut() {
            block.terminator = Some(i);
        }
    }

    fn add_variable(&mut self, i: Instruction<'_>) {
        if let Some(&Type::Pointer { pointee, .. }) = self.components.declarations.ty(i.id(0)) {
            self.components.add(i.id(1), pointee);
            self.pointers.add(i.id(1));
            self.function.locals.push(i.id(1));
        }
    }

    fn push(&mut self, event: Event) {
        if let Some(block) = self.function.blocks.last_mut() {
            block.events.push(event);
        }
    }

    fn read_from(&mut self, pointer: Id) {
        let Some(Pointer { variable, path, .. }) = self.pointers.get(pointer) else { return };
        if let Some(components) = self.components.range(*variable, path) {
            let variable = *variable;
            self.push(Event::Read { variable, components });
        }
    }

    fn write_to(&mut self, pointer: Id) {
        let pointer = self.pointers.get(pointer);
        if let Some(components) = pointer.and_then(|pointer| self.components.written(pointer)) {
            self.push(Event::Write(components));
        }
    }

    /// Handles an instruction for which `read` has no rule: it counts as a read through each of its pointer operands.
    fn escape(&mut self, i: Instruction<'_>) {
        // Few instructions have pointer operands, so most end here. A literal that is equal to the id of a pointer
        // passes this test, too.
        if !i.operands().iter().any(|word| self.pointers.get(Id(*word)).is_some()) {
            return;
        }
        ids_of(i).into_iter().for_each(|id| self.read_from(id));
    }

    fn finish(self) -> Function<'m> {
        let mut function = self.function;
        function.components = self.components.count();
        for block in &mut function.blocks {
            let Some(terminator) = block.terminator else { continue };
            block.returns = matches!(terminator.op(), Some(Op::Return | Op::ReturnValue));
            // All operands are looked up: if a literal of an OpSwitch is equal to the id of a label, the
            // function gets a path that does not exist. This can only make the result more conservative.
            let labels = terminator.operands().iter().filter_map(|word| self.labels.get(word));
            block.successors = labels.copied().collect();
        }
        function
    }
}
