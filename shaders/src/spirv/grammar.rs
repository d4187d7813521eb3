//! The opcodes of instructions, and the positions of ids in them.

use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, LogicalOperand, OperandKind, OperandQuantifier};
use spirv::{MemoryAccess, Op};

use super::{Id, Instruction, Section};

/// The properties of an opcode, from the grammar.
#[derive(Debug, Clone, Copy)]
struct Entry {
    op: Op,
    /// The section that the instruction belongs to; `None` if that is the section of the previous instruction.
    section: Option<Section>,
    operands: &'static [LogicalOperand],
    /// The number of leading operands that are exactly one id each.
    leading_ids: usize,
    /// The index of the result type among the operands.
    ty: Option<u8>,
    /// The index of the result among the operands.
    result: Option<u8>,
}

/// All instructions, by opcode. rspirv's own look-up is linear.
static BY_OPCODE: LazyLock<Vec<Option<Entry>>> = LazyLock::new(|| {
    let mut table = Vec::new();
    for grammar in INSTRUCTION_TABLE.iter() {
        let opcode = grammar.opcode as usize;
        if table.len() <= opcode {
            table.resize(opcode + 1, None);
        }
        let operands = grammar.operands;
        let position =
            |kind| (0u8..2).zip(operands).find(|(_, o)| o.kind == kind).map(|(at, _)| at);
        let is_one_id =
            |o: &&LogicalOperand| is_id(o.kind) && o.quantifier == OperandQuantifier::One;
        let is_declaration = ["Type", "Constant", "SpecConstant"]
            .iter()
            .any(|kind| grammar.opname.starts_with(kind));
        table[opcode] = Some(Entry {
            op: grammar.opcode,
            section: Section::of(grammar.opcode, is_declaration),
            operands,
            leading_ids: operands.iter().take_while(is_one_id).count(),
            ty: position(OperandKind::IdResultType),
            result: position(OperandKind::IdResult),
        });
    }
    table
});

fn lookup(opcode: u16) -> Option<&'static Entry> {
    BY_OPCODE.get(usize::from(opcode))?.as_ref()
}

pub(super) fn op(opcode: u16) -> Option<Op> {
    lookup(opcode).map(|entry| entry.op)
}

const fn is_id(kind: OperandKind) -> bool {
    matches!(
        kind,
        OperandKind::IdResultType
            | OperandKind::IdResult
            | OperandKind::IdMemorySemantics
            | OperandKind::IdScope
            | OperandKind::IdRef
    )
}

/// The indices of the result type and of the result among the operands.
fn result_positions(opcode: u16) -> (Option<u8>, Option<u8>) {
    lookup(opcode).map_or((None, None), |entry| (entry.ty, entry.result))
}

/// The index of the result among the operands (`None` if there is no result), and the section that the instruction
/// belongs to (`None` if that is the section of the previous instruction).
pub(super) fn result_and_section(opcode: u16) -> (Option<u8>, Option<Section>) {
    lookup(opcode).map_or((None, None), |entry| (entry.result, entry.section))
}

/// The result type and the result of an instruction, if it has them. Both are `None` for an opcode
/// that is not in the grammar.
pub fn result_of(instruction: Instruction<'_>) -> (Option<Id>, Option<Id>) {
    let (ty, result) = result_positions(instruction.opcode());
    let id = |position: Option<u8>| {
        position.and_then(|p| instruction.operands().get(usize::from(p))).map(|word| Id(*word))
    };
    (id(ty), id(result))
}

/// Calls `visit` with the index of every operand that is an id. Returns false if an opcode or a
/// kind of operand is not known; some ids may be missing then.
///
/// The literals of an `OpSwitch` are assumed to be one word each. They are two words each if the selector is wider than
/// 32 bits, which cannot be seen from the instruction alone.
pub fn visit_ids(instruction: Instruction<'_>, mut visit: impl FnMut(usize)) -> bool {
    let Some(entry) = lookup(instruction.opcode()) else { return false };
    let operands = instruction.operands();
    let end = operands.len();
    // Most instructions have no operands but their leading ids.
    let mut at = entry.leading_ids.min(end);
    (0..at).for_each(&mut visit);
    for logical in &entry.operands[entry.leading_ids..] {
        let repeat = logical.quantifier == OperandQuantifier::ZeroOrMore;
        while at < end {
            match logical.kind {
                kind if is_id(kind) => {
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
                // The parameters of these operands may be ids, and their number depends on the
                // operand's value.
                OperandKind::LiteralSpecConstantOpInteger
                | OperandKind::CooperativeMatrixOperands
                | OperandKind::TensorAddressingOperands => return false,
                // These opcodes are for decorations and execution modes whose parameters are ids.
                OperandKind::Decoration | OperandKind::ExecutionMode
                    if matches!(
                        entry.op,
                        Op::DecorateId | Op::MemberDecorateIdEXT | Op::ExecutionModeId
                    ) =>
                {
                    (at + 1..end).for_each(&mut visit);
                    at = end;
                }
                // The parameters of other decorations and of loop control are literals.
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

/// What an operand says about the order of accesses to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OrderOperand {
    Scope,
    Semantics,
}

/// The indices of the operands of barriers and atomic operations that are scopes and memory semantics.
pub(super) fn order_operands(
    instruction: Instruction<'_>,
) -> impl Iterator<Item = (usize, OrderOperand)> {
    let entry = lookup(instruction.opcode());
    let leading = entry.map_or(&[][..], |entry| &entry.operands[..entry.leading_ids]);
    let orders = leading.iter().any(|operand| operand.kind == OperandKind::IdMemorySemantics);
    let end = if orders { instruction.operands().len() } else { 0 };
    leading.iter().enumerate().take(end).filter_map(|(at, operand)| match operand.kind {
        OperandKind::IdScope => Some((at, OrderOperand::Scope)),
        OperandKind::IdMemorySemantics => Some((at, OrderOperand::Semantics)),
        _ => None,
    })
}

/// Returns the ids among the operands. If the grammar does not tell which operands are ids, all
/// operands are returned.
pub(crate) fn ids_of(instruction: Instruction<'_>) -> Vec<Id> {
    let mut ids = Vec::new();
    if visit_ids(instruction, |index| ids.push(instruction.id(index))) {
        return ids;
    }
    instruction.operands().iter().map(|word| Id(*word)).collect()
}

/// The bits of a memory operand mask whose parameter is an id.
const MEMORY_ACCESS_IDS: MemoryAccess = MemoryAccess::MAKE_POINTER_AVAILABLE
    .union(MemoryAccess::MAKE_POINTER_VISIBLE)
    .union(MemoryAccess::ALIAS_SCOPE_INTEL_MASK)
    .union(MemoryAccess::NO_ALIAS_INTEL_MASK);

/// Splits the memory operands of `OpCopyMemory`: returns those of the store to the target, and those of the load from
/// the source. Since SPIR-V 1.4 there may be separate operands for each; otherwise they apply to both.
pub(crate) fn accesses_of_copy(operands: &[u32]) -> [Vec<u32>; 2] {
    let (target, source) = operands.split_at(access_length(operands).min(operands.len()));
    let source = if source.is_empty() { target } else { source };
    [
        without_access(target, MemoryAccess::MAKE_POINTER_VISIBLE),
        without_access(source, MemoryAccess::MAKE_POINTER_AVAILABLE),
    ]
}

/// The number of words of the memory operands at the start of `operands`: the mask, and a parameter for some of its
/// bits. 0 if there are none.
fn access_length(operands: &[u32]) -> usize {
    let Some(mask) = operands.first() else { return 0 };
    let parameters = MEMORY_ACCESS_IDS.union(MemoryAccess::ALIGNED);
    1 + (MemoryAccess::from_bits_retain(*mask) & parameters).bits().count_ones() as usize
}

/// Removes the bit `bit` and its parameter from memory operands. The parameters follow the mask, in the order of the
/// bits.
fn without_access(operands: &[u32], bit: MemoryAccess) -> Vec<u32> {
    let mut operands = operands.to_vec();
    if let Some(mask) = operands.first_mut().filter(|mask| **mask & bit.bits() != 0) {
        let lower = *mask & (bit.bits() - 1);
        *mask &= !bit.bits();
        let parameter = access_length(&[lower]);
        if parameter < operands.len() {
            operands.remove(parameter);
        }
    }
    operands
}

/// The words of a literal string: UTF-8, low byte first, with at least one terminating 0.
pub fn string_words(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Reads a literal string at the start of `words`. Returns it with the number of its words, or
/// `None` if it is not terminated. Invalid UTF-8 is replaced.
pub fn read_string(words: &[u32]) -> Option<(String, usize)> {
    let end = words.iter().position(|w| w.to_le_bytes().contains(&0))?;
    let bytes: Vec<u8> =
        words[..=end].iter().flat_map(|w| w.to_le_bytes()).take_while(|b| *b != 0).collect();
    Some((String::from_utf8_lossy(&bytes).into_owned(), end + 1))
}

#[cfg(test)]
mod tests {
    use spirv::{Decoration, ExecutionMode};

    use super::*;

    #[test]
    fn all_opcodes_are_in_the_grammar() {
        for opcode in 0..=u16::MAX {
            assert_eq!(op(opcode), Op::from_u32(opcode.into()));
        }
    }

    #[test]
    fn parameters_that_are_ids_are_visited() {
        let ids = |op: Op, operands: &[u32]| {
            let words = [&[(operands.len() as u32 + 1) << 16 | op as u32], operands].concat();
            ids_of(Instruction::new(&words)).into_iter().map(|id| id.0).collect::<Vec<_>>()
        };
        let mode = ExecutionMode::FPFastMathDefault as u32;
        assert_eq!(ids(Op::ExecutionModeId, &[1, mode, 2, 3]), [1, 2, 3]);
        let counter = Decoration::CounterBuffer as u32;
        assert_eq!(ids(Op::DecorateId, &[1, counter, 2]), [1, 2]);
        assert_eq!(ids(Op::MemberDecorateIdEXT, &[1, 7, counter, 2]), [1, 2]);
        assert_eq!(ids(Op::Decorate, &[1, Decoration::Location as u32, 2]), [1]);
        let mode = ExecutionMode::OutputVertices as u32;
        assert_eq!(ids(Op::ExecutionMode, &[1, mode, 2]), [1]);
    }

    #[test]
    fn a_copy_is_a_store_and_a_load() {
        let of = |operands: &[u32]| accesses_of_copy(operands);
        assert_eq!(of(&[]), [vec![], vec![]]);
        // Volatile | Aligned 4.
        assert_eq!(of(&[3, 4]), [vec![3, 4], vec![3, 4]]);
        // Aligned 4 | MakePointerAvailable %7 | MakePointerVisible %8 | NonPrivatePointer.
        assert_eq!(of(&[0x3a, 4, 7, 8]), [vec![0x2a, 4, 7], vec![0x32, 4, 8]]);
        // The store and the load have separate operands.
        assert_eq!(of(&[0x2a, 4, 7, 1]), [vec![0x2a, 4, 7], vec![1]]);
        assert_eq!(of(&[0, 0x32, 4, 8]), [vec![0], vec![0x32, 4, 8]]);
    }
}
