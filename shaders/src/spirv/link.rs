//! Links functions of a library module into another module.
//!
//! The library is compiled from WGSL. Functions that cannot be written in WGSL are stubs, whose
//! bodies the caller provides ([`Define`]). A function is linked if other code refers to it by
//! name, together with the functions that it calls, its types, constants and variables.
//!
//! The application's module has precedence: its memory model and its version are kept, and its
//! types are reused if they are equal (see [`Builder`]). The library must therefore be SPIR-V 1.0.

use rustc_hash::FxHashMap;
use spirv::Op;

use super::emit::{Builder, Code, result_index};
use super::id_set::{IdMap, IdSet};
use super::module::encode;
use super::{Id, Instruction, Module, Section, grammar, read_string, result_of, string_words};

/// The reason why a library cannot be linked: a bug in the library, not in the application.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The library has no such function.
    #[error("the shader library has no function '{0}'")]
    NoFunction(String),
    /// The generated body of a stub uses another number of parameters than the stub has in the library.
    #[error(
        "the stub '{0}' of the shader library does not have the parameters that its body takes"
    )]
    StubParameters(String),
    /// The library refers to an id that it does not declare.
    #[error("the shader library refers to {0}, which it does not declare")]
    NotDeclared(Id),
    /// The grammar does not tell which operands of an instruction of the library are ids, so the ids cannot be
    /// replaced.
    #[error("the shader library has an instruction that the linker does not know: opcode {0}")]
    UnknownInstruction(u16),
}

/// A module whose functions can be found by their names.
#[derive(Debug)]
pub struct Library {
    module: Module,
    functions: FxHashMap<String, LibraryFunction>,
    /// The name of each function, by the function's id.
    names: FxHashMap<Id, String>,
    /// The words of each declaration, by its result id.
    declarations: FxHashMap<Id, Vec<u32>>,
    /// The ids of all functions and declarations. Every other id is local to a function.
    globals: IdSet,
    /// The words of names and decorations, by their target id.
    annotations: FxHashMap<Id, Vec<(Section, Vec<u32>)>>,
}

#[derive(Debug, Clone)]
struct LibraryFunction {
    id: Id,
    /// The encoded `OpName` that the function gets in the target module, with 0 in place of the
    /// function's id.
    name: Vec<u32>,
    /// The instructions from `OpFunction` to `OpFunctionEnd`.
    words: Vec<u32>,
    /// The indices in `words` of all ids, ascending.
    ids: Vec<usize>,
    /// The number of words before the first label, and the number of ids in these words.
    head: (usize, usize),
    parameters: Vec<Id>,
    /// The opcode of an instruction for which the grammar does not tell which operands are ids, if there is one. The
    /// function cannot be linked then.
    unknown: Option<u16>,
}

impl LibraryFunction {
    fn push(&mut self, i: Instruction<'_>) {
        let start = self.words.len() + 1;
        self.words.extend_from_slice(i.words());
        if !grammar::visit_ids(i, |index| self.ids.push(start + index)) {
            self.unknown = Some(i.opcode());
        }
        if i.is(Op::FunctionParameter) {
            self.parameters.push(i.id(1));
        }
        if i.is(Op::Function) || i.is(Op::FunctionParameter) {
            self.head = (self.words.len(), self.ids.len());
        }
    }
}

impl Library {
    /// Makes a library from a module.
    pub fn new(module: Module) -> Self {
        let names: FxHashMap<Id, String> = module
            .section(Section::Names)
            .filter(|i| i.is(Op::Name))
            .filter_map(|i| Some((i.id(0), read_string(i.operands().get(1..)?)?.0)))
            .collect();
        let mut functions: FxHashMap<String, LibraryFunction> = FxHashMap::default();
        let mut current: Option<LibraryFunction> = None;
        for i in module.section(Section::Functions) {
            if i.is(Op::Function) {
                current = Some(LibraryFunction {
                    id: i.id(1),
                    name: Vec::new(),
                    words: Vec::new(),
                    ids: Vec::new(),
                    head: (0, 0),
                    parameters: Vec::new(),
                    unknown: None,
                });
            }
            if let Some(function) = &mut current {
                function.push(i);
            }
            if i.is(Op::FunctionEnd)
                && let Some(mut function) = current.take()
                && let Some(name) = names.get(&function.id)
            {
                // The prefix distinguishes the library's functions from the application's.
                let prefix = if name.starts_with("xfb_") { "" } else { "xfb_" };
                let operands = [vec![0], string_words(&format!("{prefix}{name}"))].concat();
                encode(&mut function.name, Op::Name, &operands);
                functions.insert(name.clone(), function);
            }
        }
        let names: FxHashMap<Id, String> =
            functions.iter().map(|(name, f)| (f.id, name.clone())).collect();
        let declarations: FxHashMap<Id, Vec<u32>> = [Section::Declarations, Section::Imports]
            .into_iter()
            .flat_map(|section| module.section(section))
            .filter_map(|i| Some((result_of(i).1?, i.words().to_vec())))
            .collect();
        let mut annotations: FxHashMap<Id, Vec<_>> = FxHashMap::default();
        for section in [Section::Names, Section::Annotations] {
            for i in module.section(section) {
                if let Some(Op::Name | Op::MemberName | Op::Decorate | Op::MemberDecorate) = i.op()
                {
                    annotations.entry(i.id(0)).or_default().push((section, i.words().to_vec()));
                }
            }
        }
        let mut globals = module.id_set();
        names.keys().chain(declarations.keys()).for_each(|id| _ = globals.insert(*id));
        Self { module, functions, names, declarations, globals, annotations }
    }

    /// The names of all functions, in any order.
    pub fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }
}

/// A stub that needs a body.
#[derive(Debug)]
pub struct Stub {
    /// The name of the stub.
    pub name: String,
    /// The ids of its parameters in the target module.
    pub parameters: Vec<Id>,
}

impl Stub {
    /// The parameters of a stub with `N` parameters.
    ///
    /// # Errors
    /// [`LinkError::StubParameters`] if the stub has another number of parameters.
    pub fn parameters<const N: usize>(&self) -> Result<[Id; N], LinkError> {
        let parameters = self.parameters.as_slice().try_into();
        parameters.map_err(|_| LinkError::StubParameters(self.name.clone()))
    }
}

/// Provides the bodies of stubs.
pub trait Define {
    /// The error type.
    type Error: From<LinkError>;

    /// Returns the body of `stub`: the instructions after the first label, up to and including the terminator. `None`
    /// keeps the library's own body. The instructions may call further functions of the library.
    ///
    /// # Errors
    /// Those of the implementation.
    fn define(
        &mut self,
        linker: &mut Linker<'_, '_>,
        stub: &Stub,
    ) -> Result<Option<Code>, Self::Error>;
}

/// Links a [`Library`] into a module.
#[derive(Debug)]
pub struct Linker<'l, 'm> {
    /// The builder of the target module.
    pub builder: Builder<'m>,
    library: &'l Library,
    /// For each id of the library that was linked, the id in the target module.
    ids: IdMap<Id>,
    /// The functions that have an id in the target module, but whose code is not copied yet.
    pending: Vec<(&'l str, &'l LibraryFunction)>,
    code: Vec<u32>,
}

impl<'l, 'm> Linker<'l, 'm> {
    /// Makes a linker. Nothing is linked yet.
    pub fn new(module: &'m mut Module, library: &'l Library) -> Self {
        Self {
            builder: Builder::new(module),
            library,
            ids: library.module.id_map(),
            pending: Vec::new(),
            code: Vec::new(),
        }
    }

    /// Returns the id of a function of the library. [`finish`](Self::finish) will link the
    /// function.
    ///
    /// # Errors
    /// [`LinkError::NoFunction`] if the library has no such function.
    pub fn function(&mut self, name: &str) -> Result<Id, LinkError> {
        let (name, function) = self
            .library
            .functions
            .get_key_value(name)
            .ok_or_else(|| LinkError::NoFunction(name.to_owned()))?;
        if let Some(id) = self.ids.get(function.id) {
            return Ok(id);
        }
        let id = self.builder.module.fresh_id();
        self.ids.insert(function.id, id);
        self.pending.push((name, function));
        self.push_for(Section::Names, &function.name, id);
        Ok(id)
    }

    /// Returns the interface of an entry point of the library, with the ids of the target module.
    /// The variables of the interface are linked.
    ///
    /// # Errors
    /// [`LinkError`] if there is no such entry point.
    pub fn entry_interface(&mut self, name: &str) -> Result<Vec<Id>, LinkError> {
        let library = self.library;
        for i in library.module.section(Section::EntryPoints) {
            if let Some((found, length)) = i.operands().get(2..).and_then(read_string)
                && found == name
            {
                let interface = &i.operands()[2 + length..];
                return interface.iter().map(|id| self.import(Id(*id))).collect();
            }
        }
        Err(LinkError::NoFunction(name.to_owned()))
    }

    /// Links every function for which [`function`](Self::function) was called, and the functions that these call.
    ///
    /// # Errors
    /// Those of `definitions`, and [`LinkError`].
    pub fn finish<D: Define>(&mut self, definitions: &mut D) -> Result<(), D::Error> {
        while let Some((name, function)) = self.pending.pop() {
            if let Some(opcode) = function.unknown {
                return Err(LinkError::UnknownInstruction(opcode).into());
            }
            let (head, head_ids) = function.head;
            self.copy(&function.words[..head], &function.ids[..head_ids], 0)?;
            let parameters = function.parameters.iter();
            let stub = Stub {
                name: name.to_owned(),
                parameters: parameters.map(|id| self.local(*id)).collect(),
            };
            match definitions.define(self, &stub)? {
                Some(code) => {
                    let label = self.builder.module.fresh_id();
                    let module = &mut *self.builder.module;
                    module.push(Section::Functions, Op::Label, &[label.0]);
                    module.push_code(Section::Functions, &code);
                    module.push(Section::Functions, Op::FunctionEnd, &[]);
                }
                None => self.copy(&function.words[head..], &function.ids[head_ids..], head)?,
            }
        }
        Ok(())
    }

    /// Copies instructions of a function, with new ids. `start` is the index of their first word in
    /// the function.
    fn copy(&mut self, words: &[u32], ids: &[usize], start: usize) -> Result<(), LinkError> {
        let mut code = std::mem::take(&mut self.code);
        code.clear();
        code.extend_from_slice(words);
        for place in ids {
            let id = &mut code[place - start];
            *id = self.mapped(Id(*id))?.0;
        }
        self.builder.module.push_encoded(Section::Functions, &code);
        self.code = code;
        Ok(())
    }

    /// Returns the id in the target module for an id of the library to which a function refers.
    fn mapped(&mut self, id: Id) -> Result<Id, LinkError> {
        match self.ids.get(id) {
            Some(new) => Ok(new),
            None if self.library.globals.contains(id) => self.global(id),
            None => Ok(self.local(id)),
        }
    }

    fn global(&mut self, id: Id) -> Result<Id, LinkError> {
        let library = self.library;
        match library.names.get(&id) {
            Some(name) => self.function(name),
            None => self.import(id),
        }
    }

    fn local(&mut self, id: Id) -> Id {
        self.ids.get(id).unwrap_or_else(|| {
            let new = self.builder.module.fresh_id();
            self.ids.insert(id, new);
            new
        })
    }

    /// Returns the id in the target module for a type, constant, variable or instruction set of the library. The first
    /// call for an id adds the declaration to the target module.
    fn import(&mut self, id: Id) -> Result<Id, LinkError> {
        if let Some(id) = self.ids.get(id) {
            return Ok(id);
        }
        let library = self.library;
        let words = library.declarations.get(&id).ok_or(LinkError::NotDeclared(id))?;
        let op =
            Instruction::new(words).op().ok_or(LinkError::UnknownInstruction(words[0] as u16))?;
        let new = match op {
            Op::ExtInstImport => self.import_instruction_set(&words[2..]),
            Op::TypeStruct | Op::TypeArray | Op::TypeRuntimeArray => {
                let operands = self.renumber_operands(words, 0)?;
                let new = self.builder.declare_new(op, &operands);
                self.copy_annotations(id, new);
                new
            }
            Op::Variable => {
                let mut operands = self.renumber_operands(words, 1)?;
                let new = self.builder.module.fresh_id();
                operands.insert(1, new.0);
                self.builder.module.push(Section::Declarations, op, &operands);
                self.copy_annotations(id, new);
                new
            }
            _ => match result_index(op) {
                Some(result) => {
                    let operands = self.renumber_operands(words, result)?;
                    self.builder.declare(op, &operands)
                }
                None => return Err(LinkError::UnknownInstruction(words[0] as u16)),
            },
        };
        self.ids.insert(id, new);
        Ok(new)
    }

    /// Returns the operands of a declaration, with the ids of the target module and without the
    /// result. `result` is the index of the result.
    fn renumber_operands(&mut self, words: &[u32], result: usize) -> Result<Vec<u32>, LinkError> {
        let i = Instruction::new(words);
        // The result is mapped to itself until its new id is known.
        self.ids.insert(i.id(result), i.id(result));
        let mut renumbered = i.operands().to_vec();
        let mut failure = None;
        let known = grammar::visit_ids(i, |index| {
            match self.ids.get(i.id(index)).map_or_else(|| self.global(i.id(index)), Ok) {
                Ok(Id(new)) => renumbered[index] = new,
                Err(error) => failure = Some(error),
            }
        });
        self.ids.remove(i.id(result));
        renumbered.remove(result);
        match failure {
            Some(error) => Err(error),
            None if !known => Err(LinkError::UnknownInstruction(i.opcode())),
            None => Ok(renumbered),
        }
    }

    fn import_instruction_set(&mut self, name: &[u32]) -> Id {
        let module = &mut *self.builder.module;
        let known = module.section(Section::Imports).find(|i| i.operands().get(1..) == Some(name));
        if let Some(i) = known {
            return i.id(0);
        }
        let id = module.fresh_id();
        let mut operands = vec![id.0];
        operands.extend_from_slice(name);
        module.push(Section::Imports, Op::ExtInstImport, &operands);
        id
    }

    fn copy_annotations(&mut self, id: Id, new: Id) {
        for (section, words) in self.library.annotations.get(&id).into_iter().flatten() {
            self.push_for(*section, words, new);
        }
    }

    /// Appends a copy of a name or decoration, with `target` as its target.
    fn push_for(&mut self, section: Section, words: &[u32], target: Id) {
        self.code.clear();
        self.code.extend_from_slice(words);
        self.code[1] = target.0;
        self.builder.module.push_encoded(section, &self.code);
    }
}
