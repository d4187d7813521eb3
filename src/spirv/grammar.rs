//! The positions of ids in instructions.

use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};
use spirv::MemoryAccess;

use super::{Id, Instruction, read_string};

type Grammar = rspirv::grammar::Instruction<'static>;

/// The properties of an instruction that parsing needs.
#[derive(Debug, Clone, Copy)]
struct Entry {
    grammar: &'static Grammar,
    /// The index of the result type among the operands.
    ty: Option<usize>,
    /// The index of the result among the operands.
    result: Option<usize>,
    is_type: bool,
}

/// The table by opcode, because rspirv's own look-up is linear.
static BY_OPCODE: LazyLock<Vec<Option<Entry>>> = LazyLock::new(|| {
    let mut table = Vec::new();
    for grammar in INSTRUCTION_TABLE.iter() {
        let opcode = grammar.opcode as usize;
        if table.len() <= opcode {
            table.resize(opcode + 1, None);
        }
        let position = |kind| grammar.operands.iter().take(2).position(|o| o.kind == kind);
        table[opcode] = Some(Entry {
            grammar,
            ty: position(OperandKind::IdResultType),
            result: position(OperandKind::IdResult),
            is_type: grammar.opname.starts_with("Type"),
        });
    }
    table
});

fn lookup(opcode: u16) -> Option<&'static Entry> {
    BY_OPCODE.get(usize::from(opcode))?.as_ref()
}

/// The indices of the result type and of the result among the operands.
fn result_positions(opcode: u16) -> (Option<usize>, Option<usize>) {
    lookup(opcode).map_or((None, None), |entry| (entry.ty, entry.result))
}

/// Whether an instruction declares a type.
pub(super) fn is_type(opcode: u16) -> bool {
    lookup(opcode).is_some_and(|entry| entry.is_type)
}

/// The result type and the result of an instruction, if it has them. Both are `None` for an opcode
/// that is not in the grammar.
pub fn result_of(instruction: Instruction<'_>) -> (Option<Id>, Option<Id>) {
    let (ty, result) = result_positions(instruction.opcode());
    let id = |position: Option<usize>| {
        position.and_then(|p| instruction.operands().get(p)).map(|word| Id(*word))
    };
    (id(ty), id(result))
}

/// The result of an instruction; an error if the instruction is too short to contain it.
pub(super) fn result_of_checked(instruction: Instruction<'_>) -> Result<Option<Id>, ()> {
    match result_positions(instruction.opcode()).1 {
        None => Ok(None),
        Some(position) => instruction.operands().get(position).map(|id| Some(Id(*id))).ok_or(()),
    }
}

/// Calls `visit` with the index of every operand that is an id. Returns false if an opcode or a
/// kind of operand is not known; some ids may be missing then.
pub(crate) fn visit_ids(instruction: Instruction<'_>, mut visit: impl FnMut(usize)) -> bool {
    let Some(Entry { grammar, .. }) = lookup(instruction.opcode()) else { return false };
    let operands = instruction.operands();
    let end = operands.len();
    let mut at = 0;
    for logical in grammar.operands {
        let repeat = logical.quantifier == OperandQuantifier::ZeroOrMore;
        while at < end {
            match logical.kind {
                OperandKind::IdResultType
                | OperandKind::IdResult
                | OperandKind::IdMemorySemantics
                | OperandKind::IdScope
                | OperandKind::IdRef => {
                    visit(at);
                    at += 1;
                }
                OperandKind::PairIdRefIdRef => {
                    (at..end).take(2).for_each(&mut visit);
                    at += 2;
                }
                OperandKind::PairIdRefLiteralInteger => {
                    visit(at);
                    at += 2;
                }
                OperandKind::PairLiteralIntegerIdRef => {
                    if at + 1 < end {
                        visit(at + 1);
                    }
                    at += 2;
                }
                OperandKind::LiteralString => match read_string(&operands[at..]) {
                    Some((_, length)) => at += length,
                    None => return false,
                },
                OperandKind::LiteralContextDependentNumber => at = end,
                // All parameters of image operands are ids, and they are the last operands.
                OperandKind::ImageOperands => {
                    (at + 1..end).for_each(&mut visit);
                    at = end;
                }
                OperandKind::MemoryAccess => {
                    let access = MemoryAccess::from_bits_retain(operands[at]);
                    at += 1 + usize::from(access.contains(MemoryAccess::ALIGNED));
                    let ids = (access & MEMORY_ACCESS_IDS).bits().count_ones() as usize;
                    (at..end).take(ids).for_each(&mut visit);
                    at += ids;
                }
                // The parameters of these may be ids; their number depends on the value.
                OperandKind::LiteralSpecConstantOpInteger
                | OperandKind::CooperativeMatrixOperands
                | OperandKind::TensorAddressingOperands => return false,
                // The parameters of core decorations and of loop control are literals.
                OperandKind::Decoration | OperandKind::LoopControl => at = end,
                _ => at += 1,
            }
            if !repeat {
                break;
            }
        }
    }
    true
}

/// The ids among the operands. If not all of them are known, all operands are returned.
pub(crate) fn ids_of(instruction: Instruction<'_>) -> Vec<Id> {
    let mut ids = Vec::new();
    if visit_ids(instruction, |index| ids.push(instruction.id(index))) {
        return ids;
    }
    instruction.operands().iter().map(|word| Id(*word)).collect()
}

/// The memory operands that have an id as their parameter.
const MEMORY_ACCESS_IDS: MemoryAccess = MemoryAccess::MAKE_POINTER_AVAILABLE
    .union(MemoryAccess::MAKE_POINTER_VISIBLE)
    .union(MemoryAccess::ALIAS_SCOPE_INTEL_MASK)
    .union(MemoryAccess::NO_ALIAS_INTEL_MASK);
