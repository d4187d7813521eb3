//! Where the ids of an instruction stand.

use std::sync::LazyLock;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind, OperandQuantifier};

use super::{Id, Instruction, read_string};

type Grammar = rspirv::grammar::Instruction<'static>;

/// What parsing asks of every instruction, looked up once.
#[derive(Debug, Clone, Copy)]
struct Entry {
    grammar: &'static Grammar,
    /// Index among the operands of the result type.
    ty: Option<usize>,
    /// Index among the operands of the result.
    result: Option<usize>,
    is_type: bool,
}

/// The table by opcode: rspirv's own look-up is linear.
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

/// Index among the operands of the result type and of the result.
fn result_positions(opcode: u16) -> (Option<usize>, Option<usize>) {
    lookup(opcode).map_or((None, None), |entry| (entry.ty, entry.result))
}

/// Whether an instruction declares a type.
pub(super) fn is_type(opcode: u16) -> bool {
    lookup(opcode).is_some_and(|entry| entry.is_type)
}

/// The result type and the result of an instruction, each where it has one. Both are absent for an
/// opcode that the grammar lacks.
pub fn result_of(instruction: Instruction<'_>) -> (Option<Id>, Option<Id>) {
    let (ty, result) = result_positions(instruction.opcode());
    let id = |position: Option<usize>| {
        position.and_then(|p| instruction.operands().get(p)).map(|word| Id(*word))
    };
    (id(ty), id(result))
}

/// The result of an instruction; an error where it is too short to hold it.
pub(super) fn result_of_checked(instruction: Instruction<'_>) -> Result<Option<Id>, ()> {
    match result_positions(instruction.opcode()).1 {
        None => Ok(None),
        Some(position) => instruction.operands().get(position).map(|id| Some(Id(*id))).ok_or(()),
    }
}

/// Calls `visit` with every operand that is an id. Returns false for an opcode, or a kind of operand,
/// whose ids are not known: then some may be missing.
pub(crate) fn visit_ids(words: &mut [u32], mut visit: impl FnMut(&mut u32)) -> bool {
    let Some((first, operands)) = words.split_first_mut() else { return false };
    let Some(Entry { grammar, .. }) = lookup(*first as u16) else { return false };
    let mut at = 0;
    for logical in grammar.operands {
        let repeat = logical.quantifier == OperandQuantifier::ZeroOrMore;
        while at < operands.len() {
            match logical.kind {
                OperandKind::IdResultType
                | OperandKind::IdResult
                | OperandKind::IdMemorySemantics
                | OperandKind::IdScope
                | OperandKind::IdRef => {
                    visit(&mut operands[at]);
                    at += 1;
                }
                OperandKind::PairIdRefIdRef => {
                    operands[at..].iter_mut().take(2).for_each(&mut visit);
                    at += 2;
                }
                OperandKind::PairIdRefLiteralInteger => {
                    visit(&mut operands[at]);
                    at += 2;
                }
                OperandKind::PairLiteralIntegerIdRef => {
                    if let Some(id) = operands.get_mut(at + 1) {
                        visit(id);
                    }
                    at += 2;
                }
                OperandKind::LiteralString => match read_string(&operands[at..]) {
                    Some((_, length)) => at += length,
                    None => return false,
                },
                OperandKind::LiteralContextDependentNumber => at = operands.len(),
                // The parameters of these may be ids, in a number that their value decides.
                OperandKind::ImageOperands | OperandKind::LiteralSpecConstantOpInteger => {
                    return false;
                }
                // Parameters of the core decorations and of Aligned are literals.
                OperandKind::Decoration | OperandKind::MemoryAccess => at = operands.len(),
                _ => at += 1,
            }
            if !repeat {
                break;
            }
        }
    }
    true
}
