//! Finding an entry point, and taking everything away that belongs to others.

use std::collections::{HashMap, HashSet};

use spirv::{ExecutionModel, Op, StorageClass};

use super::{Id, Instruction, Module, Section, read_string, result_of};

/// `OpEntryPoint`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    /// The stage.
    pub model: ExecutionModel,
    /// The function.
    pub function: Id,
    /// The name.
    pub name: String,
    /// The interface.
    pub interface: Vec<Id>,
}

impl EntryPoint {
    /// Whether that `OpEntryPoint` is this one.
    pub(crate) fn is(&self, i: Instruction<'_>) -> bool {
        let name = i.operands().get(2..).and_then(read_string);
        i.is(Op::EntryPoint)
            && i.operand(0) == self.model as u32
            && i.id(1) == self.function
            && name.is_some_and(|(name, _)| name == self.name)
    }
}

/// A module without the entry point that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryPointError {
    /// No entry point of the stage.
    #[error("the module has no {stage} shader; it has: {found}")]
    NoShader {
        /// The stage in words.
        stage: &'static str,
        /// Stage and name of what is there.
        found: String,
    },
    /// No entry point of the stage has that name.
    #[error("the module has no {stage} shader named '{name}'; it has: {found}")]
    NotFound {
        /// The stage in words.
        stage: &'static str,
        /// The name asked for.
        name: String,
        /// Stage and name of what is there.
        found: String,
    },
    /// Several, and no name was given.
    #[error("the module has several {stage} shaders, name one of: {found}")]
    Ambiguous {
        /// The stage in words.
        stage: &'static str,
        /// Stage and name of what is there.
        found: String,
    },
}

/// The vertex shader of that name, or the only one.
///
/// # Errors
/// [`EntryPointError`] with what the module has instead.
pub fn find_vertex_shader(
    module: &Module,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    find_entry_point(module, ExecutionModel::Vertex, name)
}

/// The fragment shader of that name, or the only one.
///
/// # Errors
/// [`EntryPointError`] with what the module has instead.
pub fn find_fragment_shader(
    module: &Module,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    find_entry_point(module, ExecutionModel::Fragment, name)
}

/// The shader of that stage and name, or the only one of the stage.
///
/// # Errors
/// [`EntryPointError`] with what the module has instead.
pub fn find_entry_point(
    module: &Module,
    model: ExecutionModel,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    let stage = stage_name(model);
    let all: Vec<(u32, EntryPoint)> = module
        .section(Section::EntryPoints)
        .filter(|i| i.is(Op::EntryPoint))
        .filter_map(|i| {
            let (name, length) = read_string(i.operands().get(2..)?)?;
            let interface = i.operands()[2 + length..].iter().map(|id| Id(*id)).collect();
            Some((i.operand(0), EntryPoint { model, function: i.id(1), name, interface }))
        })
        .collect();
    let found = || {
        let list: Vec<String> = all
            .iter()
            .map(|(model, entry)| match ExecutionModel::from_u32(*model) {
                Some(model) => format!("{model:?} '{}'", entry.name),
                None => format!("execution model {model} '{}'", entry.name),
            })
            .collect();
        if list.is_empty() { "no entry point".to_owned() } else { list.join(", ") }
    };
    let of_stage = || all.iter().filter(|(m, _)| *m == model as u32).map(|(_, entry)| entry);
    match (name, of_stage().next(), of_stage().count()) {
        (_, None, _) => Err(EntryPointError::NoShader { stage, found: found() }),
        (Some(name), ..) => of_stage().find(|e| e.name == name).cloned().ok_or_else(|| {
            EntryPointError::NotFound { stage, name: name.to_owned(), found: found() }
        }),
        (None, Some(only), 1) => Ok(only.clone()),
        (None, ..) => Err(EntryPointError::Ambiguous { stage, found: found() }),
    }
}

fn stage_name(model: ExecutionModel) -> &'static str {
    match model {
        ExecutionModel::Vertex => "vertex",
        ExecutionModel::TessellationControl => "tessellation control",
        ExecutionModel::TessellationEvaluation => "tessellation evaluation",
        ExecutionModel::Geometry => "geometry",
        ExecutionModel::Fragment => "fragment",
        ExecutionModel::GLCompute => "compute",
        _ => "such",
    }
}

/// Whether the entry point's function is that of another entry point too.
pub fn shares_function(module: &Module, entry: &EntryPoint) -> bool {
    module
        .section(Section::EntryPoints)
        .filter(|i| i.is(Op::EntryPoint) && i.id(1) == entry.function)
        .nth(1)
        .is_some()
}

/// Removes all other entry points, with the functions and interface variables that only they use.
pub fn isolate(module: &mut Module, entry: &EntryPoint) {
    let is_ours = |i: Instruction<'_>| entry.is(i);
    if module.section(Section::EntryPoints).all(is_ours) {
        return;
    }
    module.retain(Section::EntryPoints, is_ours);
    module.retain(Section::ExecutionModes, |i| i.id(0) == entry.function);

    let reachable = reachable_functions(module, entry.function);
    let mut removed = HashSet::new();
    let mut keep = true;
    module.retain(Section::Functions, |i| {
        if i.is(Op::Function) {
            keep = reachable.contains(&i.id(1));
        }
        if !keep && let (_, Some(id)) = result_of(i) {
            removed.insert(id);
        }
        keep
    });
    module.retain(Section::Declarations, |i| {
        let is_interface = i.is(Op::Variable)
            && [StorageClass::Input as u32, StorageClass::Output as u32].contains(&i.operand(2));
        let keep = !is_interface || entry.interface.contains(&i.id(1));
        if !keep {
            removed.insert(i.id(1));
        }
        keep
    });
    remove_debug_info(module, &mut removed);
    for section in [Section::Names, Section::Annotations] {
        module.retain(section, |i| {
            let targets_id = matches!(
                i.op(),
                Some(Op::Name | Op::Decorate | Op::DecorateId | Op::DecorateString)
            );
            !(targets_id && removed.contains(&i.id(0)))
        });
    }
}

/// Removes debug info that refers to something removed, and is therefore removed too.
pub(crate) fn remove_debug_info(module: &mut Module, removed: &mut HashSet<Id>) {
    let sets = debug_info_sets(module);
    for section in [Section::Declarations, Section::Functions] {
        module.retain(section, |i| {
            // Result type, result, set and number come first; all else are ids.
            let refers = i.is(Op::ExtInst)
                && sets.contains(&i.id(2))
                && i.operands().iter().skip(4).any(|id| removed.contains(&Id(*id)));
            if refers {
                removed.insert(i.id(1));
            }
            !refers
        });
    }
}

/// Instruction sets that describe the module, and do nothing.
pub(crate) fn debug_info_sets(module: &Module) -> HashSet<Id> {
    let is_debug_info = |name: &str| name.starts_with("NonSemantic.") || name.contains("DebugInfo");
    module
        .section(Section::Imports)
        .filter(|i| {
            let name = i.operands().get(1..).and_then(read_string);
            name.is_some_and(|(name, _)| is_debug_info(&name))
        })
        .map(|i| i.id(0))
        .collect()
}

/// A function and those that it calls.
pub(crate) fn reachable_functions(module: &Module, root: Id) -> HashSet<Id> {
    let mut calls: HashMap<Id, Vec<Id>> = HashMap::new();
    let mut function = Id(0);
    for i in module.section(Section::Functions) {
        if i.is(Op::Function) {
            function = i.id(1);
        } else if i.is(Op::FunctionCall) {
            calls.entry(function).or_default().push(i.id(2));
        }
    }
    let mut reachable = HashSet::from([root]);
    let mut open = vec![root];
    while let Some(function) = open.pop() {
        for callee in calls.get(&function).into_iter().flatten() {
            if reachable.insert(*callee) {
                open.push(*callee);
            }
        }
    }
    reachable
}
