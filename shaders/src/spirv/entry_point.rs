//! Finds an entry point, and removes everything that only other entry points use.

use spirv::{BuiltIn, Decoration, ExecutionModel, Op, StorageClass};

use crate::spirv::debug_info::{debug_info_sets, is_of_sets};
use crate::spirv::id_set::IdSet;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Instruction, Module, Section, ids_of, read_string, result_of};

/// An `OpEntryPoint`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryPoint {
    /// The stage of the entry point.
    pub model: ExecutionModel,
    /// The id of the entry point's function.
    pub function: Id,
    /// The name of the entry point, which other stages of the module may have, too.
    pub name: String,
    /// The ids of the global variables in the interface of the entry point.
    pub interface: Vec<Id>,
}

impl EntryPoint {
    /// Whether an `OpEntryPoint` is this entry point.
    pub fn is(&self, i: Instruction<'_>) -> bool {
        let name = i.operands().get(2..).and_then(read_string);
        i.is(Op::EntryPoint)
            && i.operand(0) == self.model as u32
            && i.id(1) == self.function
            && name.is_some_and(|(name, _)| name == self.name)
    }
}

/// The reason why an entry point was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryPointError {
    /// The module has no entry point of the stage.
    #[error("the module has no {stage} shader; it has: {found}")]
    NoShader {
        /// The stage in words.
        stage: &'static str,
        /// The names and stages of the entry points that the module has.
        found: String,
    },
    /// The module has no entry point of the stage with that name.
    #[error("the module has no {stage} shader named '{name}'; it has: {found}")]
    NotFound {
        /// The stage in words.
        stage: &'static str,
        /// The requested name.
        name: String,
        /// The names and stages of the entry points that the module has.
        found: String,
    },
    /// The module has several entry points of the stage, and no name was given.
    #[error("the module has several {stage} shaders, name one of: {found}")]
    Ambiguous {
        /// The stage in words.
        stage: &'static str,
        /// The names of the module's entry points of that stage.
        found: String,
    },
}

/// Finds the vertex shader with a name; without a name, the only vertex shader.
///
/// # Errors
/// [`EntryPointError`], which lists the entry points of the module.
pub fn find_vertex_shader(
    module: &Module,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    find_entry_point(module, ExecutionModel::Vertex, name)
}

/// Finds the fragment shader with a name; without a name, the only fragment shader.
///
/// # Errors
/// [`EntryPointError`], which lists the entry points of the module.
pub fn find_fragment_shader(
    module: &Module,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    find_entry_point(module, ExecutionModel::Fragment, name)
}

/// Finds the shader with a stage and a name; without a name, the only shader of the stage.
///
/// # Errors
/// [`EntryPointError`], which lists the entry points of the module.
pub fn find_entry_point(
    module: &Module,
    model: ExecutionModel,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    let stage = stage_name(model);
    let all = entry_points(module);
    let of_stage = || all.iter().filter(|(m, _)| *m == model as u32).map(|(_, entry)| entry);
    match (name, of_stage().next(), of_stage().count()) {
        (_, None, _) => Err(EntryPointError::NoShader { stage, found: list(&all) }),
        (Some(name), ..) => of_stage().find(|e| e.name == name).cloned().ok_or_else(|| {
            EntryPointError::NotFound { stage, name: name.to_owned(), found: list(&all) }
        }),
        (None, Some(only), 1) => Ok(only.clone()),
        // Without a name there must be only one entry point of the stage.
        (None, ..) => {
            let names: Vec<String> = of_stage().map(|entry| format!("'{}'", entry.name)).collect();
            Err(EntryPointError::Ambiguous { stage, found: names.join(", ") })
        }
    }
}

/// The stages whose outputs transform feedback can capture. A pipeline may have several of these stages, and
/// only the outputs of the last one are captured.
pub const CAPTURED_STAGES: [ExecutionModel; 3] =
    [ExecutionModel::Vertex, ExecutionModel::TessellationEvaluation, ExecutionModel::Geometry];

/// Finds the shader whose outputs are captured: the shader of `stage` with this `name`, or without
/// a name the only shader of the stage. If `stage` is `None`, the first stage of
/// [`CAPTURED_STAGES`] is taken for which the module has a shader (with this name).
///
/// # Errors
/// [`EntryPointError`], which lists the entry points of the module.
pub fn find_captured_shader(
    module: &Module,
    stage: Option<ExecutionModel>,
    name: Option<&str>,
) -> Result<EntryPoint, EntryPointError> {
    if let Some(stage) = stage {
        return find_entry_point(module, stage, name);
    }
    let all = entry_points(module);
    let is_there = |stage: &ExecutionModel| {
        all.iter().any(|(model, entry)| {
            *model == *stage as u32 && name.is_none_or(|name| name == entry.name)
        })
    };
    match (CAPTURED_STAGES.into_iter().find(is_there), name) {
        (Some(stage), _) => find_entry_point(module, stage, name),
        (None, None) => Err(EntryPointError::NoShader { stage: ANY_STAGE, found: list(&all) }),
        (None, Some(name)) => Err(EntryPointError::NotFound {
            stage: ANY_STAGE,
            name: name.to_owned(),
            found: list(&all),
        }),
    }
}

/// The name of [`CAPTURED_STAGES`] in messages.
const ANY_STAGE: &str = "vertex, tessellation evaluation or geometry";

/// All entry points, each with the number of its execution model. If the number is unknown,
/// [`EntryPoint::model`] is `Vertex`.
pub(crate) fn entry_points(module: &Module) -> Vec<(u32, EntryPoint)> {
    let entry = |i: Instruction<'_>| {
        let (name, length) = read_string(i.operands().get(2..)?)?;
        let interface = i.operands()[2 + length..].iter().map(|id| Id(*id)).collect();
        let model = ExecutionModel::from_u32(i.operand(0)).unwrap_or(ExecutionModel::Vertex);
        Some((i.operand(0), EntryPoint { model, function: i.id(1), name, interface }))
    };
    module
        .section(Section::EntryPoints)
        .filter(|i| i.is(Op::EntryPoint))
        .filter_map(entry)
        .collect()
}

fn list(all: &[(u32, EntryPoint)]) -> String {
    let all: Vec<String> = all
        .iter()
        .map(|(model, entry)| match ExecutionModel::from_u32(*model) {
            Some(model) => format!("{model:?} '{}'", entry.name),
            None => format!("execution model {model} '{}'", entry.name),
        })
        .collect();
    if all.is_empty() { "no entry point".to_owned() } else { all.join(", ") }
}

/// Returns the name of a stage in messages.
pub fn stage_name(model: ExecutionModel) -> &'static str {
    match model {
        ExecutionModel::Vertex => "vertex",
        ExecutionModel::TessellationControl => "tessellation control",
        ExecutionModel::TessellationEvaluation => "tessellation evaluation",
        ExecutionModel::Geometry => "geometry",
        ExecutionModel::Fragment => "fragment",
        ExecutionModel::GLCompute => "compute",
        ExecutionModel::TaskNV | ExecutionModel::TaskEXT => "task",
        ExecutionModel::MeshNV | ExecutionModel::MeshEXT => "mesh",
        ExecutionModel::RayGenerationKHR => "ray generation",
        ExecutionModel::IntersectionKHR => "intersection",
        ExecutionModel::AnyHitKHR => "any-hit",
        ExecutionModel::ClosestHitKHR => "closest-hit",
        ExecutionModel::MissKHR => "miss",
        ExecutionModel::CallableKHR => "callable",
        ExecutionModel::Kernel => "OpenCL kernel",
    }
}

pub(crate) fn entry_functions(module: &Module) -> impl Iterator<Item = Id> {
    module.section(Section::EntryPoints).filter(|i| i.is(Op::EntryPoint)).map(|i| i.id(1))
}

/// Whether another entry point has the same function.
pub fn shares_function(module: &Module, entry: &EntryPoint) -> bool {
    module
        .section(Section::EntryPoints)
        .filter(|i| i.is(Op::EntryPoint) && i.id(1) == entry.function)
        .nth(1)
        .is_some()
}

/// Removes everything that the entry point does not need: all other entry points, and the functions
/// and declarations that it does not [use](StaticUse), except outputs of its interface and the
/// `WorkgroupSize` of compute shaders. Returns the ids that it uses, including these exceptions.
pub fn isolate(module: &mut Module, entry: &mut EntryPoint) -> StaticUse {
    module.retain(Section::EntryPoints, |i| entry.is(i));
    module.retain(Section::ExecutionModes, |i| i.id(0) == entry.function);

    let mut used = StaticUse::of(module, entry.function);
    let outputs = module.section(Section::Declarations).filter(|i| {
        i.is(Op::Variable)
            && i.operand(2) == StorageClass::Output as u32
            && entry.interface.contains(&i.id(1))
    });
    let outputs: Vec<Id> = outputs.map(|i| i.id(1)).collect();
    used.add(module, outputs);
    if entry.model == ExecutionModel::GLCompute {
        let is_size = |i: &Instruction<'_>| {
            i.is(Op::Decorate)
                && i.operands().get(1..)
                    == Some(&[Decoration::BuiltIn as u32, BuiltIn::WorkgroupSize as u32])
        };
        let sizes = module.section(Section::Annotations).filter(is_size);
        let sizes: Vec<Id> = sizes.map(|i| i.id(0)).collect();
        used.add(module, sizes);
    }

    let mut removed = module.id_set();
    let mut keep = true;
    module.retain(Section::Functions, |i| {
        if i.is(Op::Function) {
            keep = used.contains(i.id(1));
        }
        if !keep && let (_, Some(id)) = result_of(i) {
            removed.insert(id);
        }
        keep
    });
    let variables = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
    removed.extend(variables.map(|i| i.id(1)).filter(|id| !used.contains(*id)));
    remove_debug_info(module, &mut removed);
    // Declarations that the remaining debug info refers to are kept, too.
    let sets = debug_info_sets(module);
    let debug_info = [Section::Declarations, Section::Functions].map(|section| {
        let of_sets = module.section(section).filter(|i| is_of_sets(*i, &sets));
        of_sets.flat_map(ids_of).collect::<Vec<_>>()
    });
    used.add(module, debug_info.concat());

    module.retain(Section::Declarations, |i| {
        let declared = match i.op() {
            Some(Op::TypeForwardPointer) => Some(i.id(0)),
            _ => result_of(i).1,
        };
        let unused = declared.filter(|id| !used.contains(*id));
        removed.extend(unused);
        unused.is_none()
    });
    remove_annotations(module, &removed);
    entry.interface.retain(|id| !removed.contains(*id));
    remove_from_interfaces(module, &removed);
    used
}

/// Removes ids from the interface of each entry point.
pub(crate) fn remove_from_interfaces(module: &mut Module, removed: &IdSet) {
    module.replace(Section::EntryPoints, |i| {
        let (_, name) = i.operands().get(2..).and_then(read_string)?;
        let (head, interface) = i.words().split_at_checked(3 + name)?;
        let mut words = head.to_vec();
        words.extend(interface.iter().filter(|id| !removed.contains(Id(**id))));
        words[0] = (words.len() as u32) << 16 | Op::EntryPoint as u32;
        Some(words)
    });
}

/// Removes names and decorations of removed ids, and of their members.
pub fn remove_annotations(module: &mut Module, removed: &IdSet) {
    for section in [Section::Names, Section::Annotations] {
        module.retain(section, |i| !target_of(i).is_some_and(|id| removed.contains(id)));
    }
}

/// Returns the id to which an instruction gives a name or a decoration.
fn target_of(i: Instruction<'_>) -> Option<Id> {
    use Op::{
        Decorate, DecorateId, DecorateString, MemberDecorate, MemberDecorateIdEXT,
        MemberDecorateString, MemberName, Name,
    };
    match i.op()? {
        Name | MemberName | Decorate | DecorateId | DecorateString | MemberDecorate
        | MemberDecorateString | MemberDecorateIdEXT => Some(i.id(0)),
        _ => None,
    }
}

/// Removes debug info that refers to removed ids, and debug info that refers to such debug info.
pub fn remove_debug_info(module: &mut Module, removed: &mut IdSet) {
    let sets = debug_info_sets(module);
    if sets.is_empty() {
        return;
    }
    for section in [Section::Declarations, Section::Functions] {
        module.retain(section, |i| {
            // The first four operands are result type, result, set and number. All operands after these are
            // ids.
            let refers = is_of_sets(i, &sets)
                && i.operands().iter().skip(4).any(|id| removed.contains(Id(*id)));
            if refers {
                removed.insert(i.id(1));
            }
            !refers
        });
    }
}
