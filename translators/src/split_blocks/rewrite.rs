//! Replaces the outputs that are split by the new variables.
//!
//! Under the logical addressing model, a pointer to an output is the variable itself, the result of
//! an access chain, or a copy of either. Its definition precedes its uses in the order of the
//! words, so a single walk over the functions is sufficient. The walk keeps what each pointer to a
//! structure points to.

use rustc_hash::FxHashMap;
use spirv::Op;

use super::{Node, SplitError, SplitOutput};
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};
use vkxfb_rewriter::spirv::emit::{Builder, Code};
use vkxfb_rewriter::spirv::entry_point::{remove_annotations, remove_debug_info};
use vkxfb_rewriter::spirv::{Id, Instruction, Module, Section, read_string, visit_ids};

/// Replaces all references to the outputs that are split, and removes these outputs.
pub(super) fn rewrite(
    module: &mut Module,
    declarations: &Declarations,
    outputs: &[SplitOutput],
) -> Result<(), SplitError> {
    let mut removed = module.id_set();
    removed.extend(outputs.iter().map(|output| output.variable.id));
    // Debug info is removed first, because it may refer to any output and does not affect the
    // program.
    remove_debug_info(module, &mut removed);
    replace_in_interfaces(module, outputs)?;

    let functions: Vec<Vec<u32>> =
        module.section(Section::Functions).map(|i| i.words().to_vec()).collect();
    let pointers = outputs.iter().map(|output| {
        let pointee = Pointee { output, node: &output.root };
        (output.variable.id, pointee)
    });
    let mut rewriter = Rewriter {
        builder: Builder::new(module),
        declarations,
        pointers: pointers.collect(),
        aliases: FxHashMap::default(),
        code: Code::default(),
    };
    for mut words in functions {
        rewriter.instruction(&mut words)?;
    }
    removed.extend(rewriter.pointers.keys().copied());
    removed.extend(rewriter.aliases.keys().copied());
    let code = rewriter.code;
    module.retain(Section::Functions, |_| false);
    module.push_code(Section::Functions, &code);

    module.retain(Section::Declarations, |i| !(i.is(Op::Variable) && removed.contains(i.id(1))));
    remove_annotations(module, &removed);
    Ok(())
}

/// Replaces each output by its variables in the interfaces of all entry points that list the
/// output.
fn replace_in_interfaces(module: &mut Module, outputs: &[SplitOutput]) -> Result<(), SplitError> {
    let mut all = Code::default();
    for i in module.section(Section::EntryPoints) {
        let name = i.operands().get(2..).and_then(read_string);
        let Some((_, length)) = name.filter(|_| i.is(Op::EntryPoint)) else {
            all.copy(i.words());
            continue;
        };
        let mut operands = i.operands()[..2 + length].to_vec();
        for id in &i.operands()[2 + length..] {
            match outputs.iter().find(|output| output.variable.id.0 == *id) {
                Some(output) => output.root.leaves(&mut operands),
                None => operands.push(*id),
            }
        }
        if operands.len() >= usize::from(u16::MAX) {
            return Err(SplitError::InterfaceLimit(operands.len() - 2 - length));
        }
        all.push(Op::EntryPoint, &operands);
    }
    module.retain(Section::EntryPoints, |_| false);
    module.push_code(Section::EntryPoints, &all);
    Ok(())
}

impl Node {
    /// Appends the ids of the variables that replace the value.
    fn leaves(&self, ids: &mut Vec<u32>) {
        match self {
            Self::Inner(_, parts) => parts.iter().for_each(|part| part.leaves(ids)),
            Self::Leaf(_, variable) => ids.push(variable.0),
        }
    }

    fn ty(&self) -> Id {
        match self {
            Self::Inner(ty, _) | Self::Leaf(ty, _) => *ty,
        }
    }
}

/// The value that a pointer to a structure points to, and the output that contains the value.
#[derive(Clone, Copy)]
struct Pointee<'a> {
    output: &'a SplitOutput,
    node: &'a Node,
}

struct Rewriter<'m, 'a> {
    builder: Builder<'m>,
    declarations: &'a Declarations,
    /// The pointers to structures, by their ids. The rewritten module does not contain them.
    pointers: FxHashMap<Id, Pointee<'a>>,
    /// For each pointer to a whole member, the variable that replaces the member.
    aliases: FxHashMap<Id, Id>,
    code: Code,
}

impl<'a> Rewriter<'_, 'a> {
    fn instruction(&mut self, words: &mut [u32]) -> Result<(), SplitError> {
        if !self.aliases.is_empty() {
            let mut positions = Vec::new();
            visit_ids(Instruction::new(words), |index| positions.push(1 + index));
            for position in positions {
                if let Some(variable) = self.aliases.get(&Id(words[position])) {
                    words[position] = variable.0;
                }
            }
        }
        let i = Instruction::new(words);
        let pointee = |index| self.pointers.get(&i.id(index)).copied();
        match i.op() {
            Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                if let Some(pointee) = pointee(2) {
                    return self.access_chain(i, pointee);
                }
            }
            Some(Op::CopyObject) => {
                if let Some(pointee) = pointee(2) {
                    self.pointers.insert(i.id(1), pointee);
                    return Ok(());
                }
            }
            Some(Op::Load) => {
                if let Some(pointee) = pointee(2) {
                    self.load(pointee.node, Some(i.id(1)));
                    return Ok(());
                }
            }
            Some(Op::Store) => {
                if let Some(pointee) = pointee(0) {
                    self.store(pointee.node, i.id(1));
                    return Ok(());
                }
            }
            Some(Op::CopyMemory) => match (pointee(0), pointee(1)) {
                (None, None) => {}
                (Some(to), None) => {
                    let value = self.builder.module.fresh_id();
                    self.code.push(Op::Load, &[to.node.ty().0, value.0, i.operand(1)]);
                    self.store(to.node, value);
                    return Ok(());
                }
                (to, Some(from)) => {
                    let value = self.load(from.node, None);
                    match to {
                        Some(to) => self.store(to.node, value),
                        None => self.code.push(Op::Store, &[i.operand(0), value.0]),
                    }
                    return Ok(());
                }
            },
            _ => {}
        }
        self.reject_pointers(i)?;
        self.code.copy(words);
        Ok(())
    }

    /// Rewrites an access chain into a structure. If it ends at a member, its result is replaced by
    /// the member's variable. If it goes into the member, it becomes an access chain into the
    /// variable. If it ends at a structure, it is removed, and its result is kept as a pointer to a
    /// structure.
    fn access_chain(
        &mut self,
        i: Instruction<'_>,
        Pointee { output, mut node }: Pointee<'a>,
    ) -> Result<(), SplitError> {
        let instruction = i.id(1);
        let label = || self.declarations.label(output.variable.id);
        let mut indices = i.operands().get(3..).unwrap_or_default();
        while let (Node::Inner(ty, parts), Some((index, rest))) = (node, indices.split_first()) {
            let Some(index) = self.declarations.constant(Id(*index)) else {
                let is_array = matches!(self.declarations.ty(*ty), Some(Type::Array { .. }));
                return Err(if is_array {
                    SplitError::DynamicIndex { variable: label(), instruction }
                } else {
                    SplitError::InvalidIndex { variable: label(), instruction }
                });
            };
            node = parts
                .get(index as usize)
                .ok_or_else(|| SplitError::InvalidIndex { variable: label(), instruction })?;
            indices = rest;
        }
        match node {
            Node::Inner(..) => {
                self.pointers.insert(instruction, Pointee { output, node });
            }
            Node::Leaf(_, variable) if indices.is_empty() => {
                self.aliases.insert(instruction, *variable);
            }
            Node::Leaf(_, variable) => {
                let mut operands = vec![i.operand(0), instruction.0, variable.0];
                operands.extend(indices);
                self.code.push(i.op().unwrap_or(Op::AccessChain), &operands);
            }
        }
        Ok(())
    }

    /// Loads a structure from its variables. The value has the id `result`, or a new id if that is
    /// `None`. Returns the id.
    fn load(&mut self, node: &Node, result: Option<Id>) -> Id {
        let parts: Vec<u32> = match node {
            Node::Inner(_, parts) => parts.iter().map(|part| self.load(part, None).0).collect(),
            Node::Leaf(_, variable) => vec![variable.0],
        };
        let op = match node {
            Node::Inner(..) => Op::CompositeConstruct,
            Node::Leaf(..) => Op::Load,
        };
        let result = result.unwrap_or_else(|| self.builder.module.fresh_id());
        let operands = [&[node.ty().0, result.0], parts.as_slice()].concat();
        self.code.push(op, &operands);
        result
    }

    fn store(&mut self, node: &Node, value: Id) {
        match node {
            Node::Inner(_, parts) => {
                for (index, part) in (0u32..).zip(parts) {
                    let operands = [value.0, index];
                    let builder = &mut self.builder;
                    let value =
                        self.code.value(builder, Op::CompositeExtract, part.ty(), &operands);
                    self.store(part, value);
                }
            }
            Node::Leaf(_, variable) => self.code.push(Op::Store, &[variable.0, value.0]),
        }
    }

    /// Returns an error if the instruction uses a pointer to a structure.
    fn reject_pointers(&self, i: Instruction<'_>) -> Result<(), SplitError> {
        let mut found = None;
        visit_ids(i, |index| {
            if let Some(pointee) = self.pointers.get(&i.id(index)) {
                found.get_or_insert((i.id(index), pointee.output));
            }
        });
        match found {
            None => Ok(()),
            Some((pointer, output)) => Err(SplitError::PointerUse {
                variable: self.declarations.label(output.variable.id),
                pointer,
                opcode: i.opcode(),
            }),
        }
    }
}
