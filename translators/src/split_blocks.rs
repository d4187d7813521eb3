//! Splits output structures into one output variable per member.
//!
//! Every output of the entry point that is a structure, a block, or an array of structures that are
//! not blocks, is replaced by one variable per member. Nested structures and arrays of structures
//! are split too: `out S { dmat3x4 a; struct { float b; } c[2]; } s` becomes `s_a`, `s_c_0_b` and
//! `s_c_1_b`. Each variable has the member's interpolation and its location, which is the next one
//! after the previous member if the member has none. It also has the offset in the record at which
//! the structure's decorations captured the member, so the captured bytes do not change. `rewrite`
//! replaces access chains, and splits loads, stores and initialisers of whole structures. The
//! structure types are kept for values of these types.
//!
//! Each new variable can be captured by its own decorations, so that
//! [`native`](vkxfb_rewriter::lower::native) needs no additional locations.
//!
//! Blocks with built-ins are not changed. Errors are: arrays of blocks, arrays of structures that
//! are indexed by a value that is not constant, and pointers to structures that are used by
//! instructions other than loads, stores and copies. The next stage matches outputs by location. It
//! need not be changed, whether it reads variables or a block.

mod error;
mod rewrite;

pub use error::SplitError;

use spirv::{Decoration, ExecutionModel, Op, StorageClass};

use vkxfb_rewriter::capture::{CaptureError, Layout};
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type, Variable};
use vkxfb_rewriter::spirv::emit::Builder;
use vkxfb_rewriter::spirv::entry_point::{CAPTURED_STAGES, EntryPoint, find_captured_shader};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::spirv::types::{block_type, has_built_in_members, locations_of, structure_of};
use vkxfb_rewriter::spirv::{Instruction, Module, Section, result_of, specialize};

/// The largest number of variables into which structures are split. No device has as many output
/// components.
const MAX_VARIABLES: usize = 512;

/// The options of [`split_blocks`]. By default, the module must have a single shader, and its
/// outputs are split.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
#[must_use]
pub struct SplitOptions<'a> {
    /// The stage whose outputs are split, as in [`Shader::stage`](vkxfb_rewriter::lower::Shader::stage):
    /// vertex, tessellation evaluation or geometry. Outputs of other stages are arrays with one
    /// element per vertex, or cannot be captured.
    pub stage: Option<ExecutionModel>,
    /// The name of the entry point. `None` selects the only entry point of the stage.
    pub entry_point: Option<&'a str>,
    /// The values of specialisation constants, as in [`Shader`](vkxfb_rewriter::lower::Shader::specialization).
    pub specialization: &'a [SpecializationConstant<'a>],
}

impl<'a> SplitOptions<'a> {
    /// Selects the stage.
    pub const fn stage(mut self, stage: ExecutionModel) -> Self {
        self.stage = Some(stage);
        self
    }

    /// Selects the entry point with this name.
    pub const fn entry_point(mut self, name: &'a str) -> Self {
        self.entry_point = Some(name);
        self
    }

    /// Sets [`specialization`](field@Self::specialization).
    pub const fn specialization(mut self, values: &'a [SpecializationConstant<'a>]) -> Self {
        self.specialization = values;
        self
    }
}

/// The result of [`split_blocks`]: a module whose entry point has no structures among its outputs, except
/// those with built-ins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Split {
    /// The SPIR-V words. Specialisation constants have been replaced by constants.
    pub words: Vec<u32>,
    /// The name of the entry point.
    pub entry_point: String,
    /// The new variables, which replace members of structures.
    pub members: Vec<Member>,
}

/// A variable that replaces a member.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The id of the new variable.
    pub variable: Id,
    /// The variable of which this was a member. The module no longer contains that variable.
    pub of: Id,
    /// The indices that lead from that variable to the member.
    pub path: Vec<u32>,
    /// The `Location` decoration of the new variable.
    pub location: u32,
}

/// Splits the structures among the outputs of an entry point.
///
/// # Errors
/// [`SplitError`] says why the outputs cannot be split.
#[tracing::instrument(level = "debug", skip_all)]
pub fn split_blocks(words: &[u32], options: &SplitOptions<'_>) -> Result<Split, SplitError> {
    let mut module = Module::parse(words)?;
    specialize(&mut module, options.specialization)?;
    let entry = find_captured_shader(&module, options.stage, options.entry_point)?;
    if !CAPTURED_STAGES.contains(&entry.model) {
        return Err(SplitError::Stage(entry.model));
    }
    let declarations = Declarations::of(&module);
    let layout = captured(&module, &declarations, &entry)?;
    let mut outputs = Vec::new();
    let mut members = Vec::new();
    for variable in declarations.variables(StorageClass::Output) {
        if entry.interface.contains(&variable.id) && is_split(&declarations, variable)? {
            let mut walk = SplitWalk {
                builder: Builder::new(&mut module),
                declarations: &declarations,
                layout: &layout,
                variable,
                members: &mut members,
                steps: 0,
            };
            let location = declarations.decoration_value(variable.id, Decoration::Location);
            let name = declarations.name(variable.id).unwrap_or_default().to_owned();
            let decorations = walk.decorations(variable.id, None);
            let root = walk.node(variable.pointee, vec![], location, &name, &decorations)?.0;
            outputs.push(SplitOutput { variable: *variable, root });
        }
    }
    let entry_point = entry.name;
    if outputs.is_empty() {
        return Ok(Split { words: module.words(), entry_point, members });
    }
    rewrite::rewrite(&mut module, &declarations, &outputs)?;
    tracing::debug!(split = outputs.len(), members = members.len(), "rewritten");
    Ok(Split { words: module.words(), entry_point, members })
}

/// Returns the layout that the shader's decorations define. It is empty if there are none.
fn captured(
    module: &Module,
    declarations: &Declarations,
    entry: &EntryPoint,
) -> Result<Layout, CaptureError> {
    match Layout::from_decorations(module, declarations, entry) {
        Err(CaptureError::NoXfbMode { .. }) => Ok(Layout::default()),
        other => other,
    }
}

/// Whether an output is a structure that must be split. Structures with built-ins are not split.
fn is_split(declarations: &Declarations, variable: &Variable) -> Result<bool, SplitError> {
    let Some((ty, members)) = structure_of(declarations, variable.pointee) else {
        return Ok(false);
    };
    if has_built_in_members(declarations, ty, members) {
        return Ok(false);
    }
    if block_type(declarations, variable.pointee).is_some_and(|block| block.length.is_some()) {
        let variable = declarations.label(variable.id);
        return Err(SplitError::ArrayOfBlocks { variable });
    }
    Ok(true)
}

/// An output that is split, with the variables that replace its members.
struct SplitOutput {
    variable: Variable,
    root: Node,
}

/// A value within an output.
enum Node {
    /// A structure, or an array of structures: its type, and its members or elements.
    Inner(Id, Vec<Node>),
    /// A value that became a variable: its type, and the variable.
    Leaf(Id, Id),
}

/// Decorations, as the operands of `OpDecorate` after the target.
type Decorations = Vec<Vec<u32>>;

/// Decorations of a structure or a member that its parts do not inherit: explicit layouts, and
/// locations and offsets, which are computed for each part.
const NOT_INHERITED: [Decoration; 9] = [
    Decoration::Block,
    Decoration::Location,
    Decoration::XfbBuffer,
    Decoration::XfbStride,
    Decoration::Offset,
    Decoration::RowMajor,
    Decoration::ColMajor,
    Decoration::MatrixStride,
    Decoration::ArrayStride,
];

/// Creates the variables for one output.
struct SplitWalk<'a> {
    builder: Builder<'a>,
    declarations: &'a Declarations,
    layout: &'a Layout,
    variable: &'a Variable,
    members: &'a mut Vec<Member>,
    /// The number of values that were visited. It is limited, because types may nest endlessly
    /// without members.
    steps: usize,
}

impl SplitWalk<'_> {
    /// Creates the variables for a value. Returns the node, and the location after the value.
    fn node(
        &mut self,
        ty: Id,
        path: Vec<u32>,
        mut location: Option<u32>,
        name: &str,
        inherited: &Decorations,
    ) -> Result<(Node, Option<u32>), SplitError> {
        self.steps += 1;
        if self.steps > 4 * MAX_VARIABLES {
            return Err(SplitError::TooManyMembers);
        }
        if structure_of(self.declarations, ty).is_none() {
            return self.leaf(ty, path, location, name, inherited);
        }
        let mut parts = Vec::new();
        let declarations = self.declarations;
        match declarations.ty(ty) {
            Some(Type::Struct { members }) => {
                for (member, part) in (0u32..).zip(members) {
                    let own =
                        declarations.member_decoration_value(ty, member, Decoration::Location);
                    location = own.or(location);
                    let name = match declarations.member_name(ty, member) {
                        Some(member_name) if name.is_empty() => member_name.to_owned(),
                        Some(member_name) => format!("{name}_{member_name}"),
                        None => format!("{name}_{member}"),
                    };
                    let mut decorations = inherited.clone();
                    decorations.extend(self.decorations(ty, Some(member)));
                    let path = [path.as_slice(), &[member]].concat();
                    let (node, next) = self.node(*part, path, location, &name, &decorations)?;
                    location = next;
                    parts.push(node);
                }
            }
            Some(Type::Array { element, length }) => {
                let length = declarations.constant(*length);
                let length = length.ok_or_else(|| self.member_type(ty, &path))?;
                for index in 0..length {
                    let path = [path.as_slice(), &[index]].concat();
                    let name = format!("{name}_{index}");
                    let (node, next) = self.node(*element, path, location, &name, inherited)?;
                    location = next;
                    parts.push(node);
                }
            }
            _ => return Err(self.member_type(ty, &path)),
        }
        Ok((Node::Inner(ty, parts), location))
    }

    /// Creates the variable for a value that is not split further.
    fn leaf(
        &mut self,
        ty: Id,
        path: Vec<u32>,
        location: Option<u32>,
        name: &str,
        inherited: &Decorations,
    ) -> Result<(Node, Option<u32>), SplitError> {
        if self.members.len() >= MAX_VARIABLES {
            return Err(SplitError::TooManyMembers);
        }
        let locations = locations_of(self.declarations, ty);
        if locations == 0 {
            return Err(self.member_type(ty, &path));
        }
        let Some(location) = location else {
            let variable = self.declarations.label(self.variable.id);
            return Err(SplitError::NoLocation { variable, path });
        };
        let mut decorations = inherited.clone();
        decorations.push(vec![Decoration::Location as u32, location]);
        // The part with the lowest offset determines the offset of the variable.
        let captured = self
            .layout
            .outputs
            .iter()
            .filter(|output| output.variable == self.variable.id && output.path.starts_with(&path))
            .min_by_key(|output| output.offset);
        if let Some(output) = captured
            && let Some(stride) = self.layout.strides.get(output.buffer as usize).copied().flatten()
        {
            decorations.push(vec![Decoration::XfbBuffer as u32, output.buffer]);
            decorations.push(vec![Decoration::XfbStride as u32, stride]);
            decorations.push(vec![Decoration::Offset as u32, output.offset]);
        }
        decorations.sort_unstable();
        decorations.dedup();

        let initializer = self.initializer(ty, &path)?;
        let pointer = self.builder.pointer(StorageClass::Output, ty);
        let module = &mut *self.builder.module;
        let variable = module.fresh_id();
        for decoration in decorations {
            let operands = [&[variable.0], decoration.as_slice()].concat();
            module.push(Section::Annotations, Op::Decorate, &operands);
        }
        let mut operands = vec![pointer.0, variable.0, StorageClass::Output as u32];
        operands.extend(initializer.map(|id| id.0));
        module.push(Section::Declarations, Op::Variable, &operands);
        if !name.is_empty() {
            self.builder.name(variable, name);
        }
        self.members.push(Member { variable, of: self.variable.id, path, location });
        Ok((Node::Leaf(ty, variable), location.checked_add(locations)))
    }

    /// Returns the decorations of a variable or a member that its parts inherit.
    fn decorations(&self, target: Id, member: Option<u32>) -> Decorations {
        let annotations = self.builder.module.section(Section::Annotations);
        let of_target = annotations.filter(|i| i.id(0) == target).filter_map(|i| match member {
            None if i.is(Op::Decorate) => i.operands().get(1..),
            Some(member) if i.is(Op::MemberDecorate) && i.operand(1) == member => {
                i.operands().get(2..)
            }
            _ => None,
        });
        let is_inherited =
            |d: &&[u32]| d.first().is_some_and(|d| NOT_INHERITED.iter().all(|n| *n as u32 != *d));
        of_target.filter(is_inherited).map(<[u32]>::to_vec).collect()
    }

    /// Returns the part of the output's initialiser that initialises a member. `None` if the output
    /// has no initialiser.
    fn initializer(&mut self, ty: Id, path: &[u32]) -> Result<Option<Id>, SplitError> {
        let module = &*self.builder.module;
        let find = |id| {
            let is_it = |i: &Instruction<'_>| result_of(*i).1 == Some(id);
            module.section(Section::Declarations).find(is_it)
        };
        let Some(variable) = find(self.variable.id).filter(|i| i.operands().len() > 3) else {
            return Ok(None);
        };
        let initializer = variable.id(3);
        let mut constant = initializer;
        for index in path {
            let parts = match find(constant).and_then(|i| Some((i.op()?, i.operands()))) {
                Some((Op::ConstantNull, _)) => {
                    return Ok(Some(self.builder.declare(Op::ConstantNull, &[ty.0])));
                }
                Some((Op::ConstantComposite | Op::SpecConstantComposite, operands)) => operands,
                _ => &[],
            };
            constant = match parts.get(2 + *index as usize) {
                Some(part) => Id(*part),
                None => {
                    let variable = self.declarations.label(self.variable.id);
                    return Err(SplitError::Initializer { variable, initializer });
                }
            };
        }
        Ok(Some(constant))
    }

    fn member_type(&self, ty: Id, path: &[u32]) -> SplitError {
        SplitError::MemberType {
            variable: self.declarations.label(self.variable.id),
            path: path.to_vec(),
            ty: self.declarations.type_name(ty),
        }
    }
}
