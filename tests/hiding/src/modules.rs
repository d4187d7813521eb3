//! Finds in SPIR-V what only devices with geometry shaders take.

use spirv::{Capability, ExecutionModel, MAGIC_NUMBER, Op};

use crate::hidden::Hidden;

/// The number of words before the first instruction.
const HEADER: usize = 5;

/// Returns what a module has that is hidden. What is not SPIR-V of this machine's byte order has nothing: the driver says
/// what is wrong with it.
///
/// A fragment shader that reads `Layer` or `PrimitiveId` declares `Geometry`, too, unless the device has another capability
/// for it, and a driver without geometry shaders may refuse it for that.
pub(crate) fn violations(hidden: Hidden, words: &[u32]) -> Vec<String> {
    let mut found = Vec::new();
    if words.first() != Some(&MAGIC_NUMBER) {
        return found;
    }
    let mut rest = words.get(HEADER..).unwrap_or_default();
    while let Some(first) = rest.first() {
        let (length, opcode) = ((first >> 16) as usize, first & 0xffff);
        let Some(instruction) = rest.get(..length.max(1)) else { break };
        let operand = instruction.get(1).copied();
        match Op::from_u32(opcode) {
            Some(Op::Capability) => {
                let capability = operand.and_then(Capability::from_u32);
                if let Some(capability) = capability.filter(|it| hidden.is_hidden(*it)) {
                    found.push(format!("the module declares the capability {capability:?}"));
                }
            }
            Some(Op::EntryPoint) => {
                let is_geometry = operand == Some(ExecutionModel::Geometry as u32);
                if is_geometry && hidden.geometry {
                    found.push("the module has an entry point of the model Geometry".to_owned());
                }
            }
            // Both come before the first function.
            Some(Op::Function) => break,
            _ => {}
        }
        rest = &rest[instruction.len()..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIDDEN: Hidden = Hidden { geometry: true, transform_feedback: false };

    fn module(instructions: &[&[u32]]) -> Vec<u32> {
        [&[MAGIC_NUMBER, 0x1_0000, 0, 8, 0][..], &instructions.concat()].concat()
    }

    #[test]
    fn capabilities_and_entry_points_are_found() {
        let shader = [2 << 16 | Op::Capability as u32, Capability::Shader as u32];
        let geometry = [2 << 16 | Op::Capability as u32, Capability::Geometry as u32];
        let captures = [2 << 16 | Op::Capability as u32, Capability::TransformFeedback as u32];
        let entry = [4 << 16 | Op::EntryPoint as u32, ExecutionModel::Geometry as u32, 1, 0];
        assert!(violations(HIDDEN, &module(&[&shader, &captures])).is_empty());
        assert_eq!(violations(HIDDEN, &module(&[&shader, &geometry, &entry])).len(), 2);
        let all = Hidden { transform_feedback: true, ..HIDDEN };
        assert_eq!(violations(all, &module(&[&shader, &captures])).len(), 1);
        assert!(violations(Hidden::default(), &module(&[&shader, &geometry, &entry])).is_empty());
    }

    #[test]
    fn what_is_damaged_has_an_end() {
        assert!(violations(HIDDEN, &[]).is_empty());
        assert!(violations(HIDDEN, &module(&[&[0, 0, 0]])).is_empty());
        assert!(violations(HIDDEN, &module(&[&[9 << 16 | Op::Capability as u32]])).is_empty());
    }
}
