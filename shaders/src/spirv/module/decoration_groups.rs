//! Expands decoration groups
//! ([`OpDecorationGroup`](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#OpDecorationGroup)):
//! the decorations of a group are copied to each of its targets, and the group is removed. Passes
//! then find every decoration at its target.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::Op;

use super::{Instruction, Module, ParseError, ParseErrorKind, Section, Span};

/// The largest number of words that all expanded groups may take. Only modules made to exhaust
/// memory need more.
pub(super) const MAX_WORDS: usize = 1 << 20;

/// Expands the groups of a module that was just parsed.
pub(super) fn expand(module: &mut Module) -> Result<(), ParseError> {
    use Op::{DecorationGroup, GroupDecorate, GroupMemberDecorate};
    let is_of_groups = |i: Instruction<'_>| {
        matches!(i.op(), Some(DecorationGroup | GroupDecorate | GroupMemberDecorate))
    };
    if !module.section(Section::Annotations).any(is_of_groups) {
        return Ok(());
    }
    let groups: FxHashSet<_> = module
        .section(Section::Annotations)
        .filter(|i| i.is(DecorationGroup))
        .map(|i| i.id(0))
        .collect();
    let mut decorations: FxHashMap<_, Vec<Vec<u32>>> = FxHashMap::default();
    for i in module.section(Section::Annotations) {
        let decorates = matches!(i.op(), Some(Op::Decorate | Op::DecorateId | Op::DecorateString));
        if decorates && groups.contains(&i.id(0)) {
            decorations.entry(i.id(0)).or_default().push(i.words().to_vec());
        }
    }

    let old = std::mem::take(&mut module.sections[Section::Annotations as usize]);
    let mut added = 0;
    for span in old {
        let words = module.span(span).to_vec();
        let i = Instruction::new(&words);
        let of_group = decorations.get(&i.id(0)).map_or(&[][..], Vec::as_slice);
        let expanded: Box<dyn Iterator<Item = Vec<u32>>> = match i.op() {
            Some(GroupDecorate) => Box::new(
                words.iter().skip(2).flat_map(|target| of_group.iter().map(|d| of(d, *target))),
            ),
            Some(GroupMemberDecorate) => {
                Box::new(words[2.min(words.len())..].chunks_exact(2).flat_map(|target| {
                    of_group.iter().filter_map(|d| of_member(d, target[0], target[1]))
                }))
            }
            _ if groups.contains(&i.id(0)) => continue,
            _ => {
                module.sections[Section::Annotations as usize].push(span);
                continue;
            }
        };
        for words in expanded {
            added += words.len();
            if added > MAX_WORDS {
                let (word, kind) = (span.start as usize, ParseErrorKind::DecorationGroups);
                return Err(ParseError { word, kind });
            }
            let span = Span { start: module.arena.len() as u32, length: words.len() as u16 };
            module.arena.extend(words);
            module.sections[Section::Annotations as usize].push(span);
        }
    }
    module.retain(Section::Names, |i| !(i.is(Op::Name) && groups.contains(&i.id(0))));
    Ok(())
}

/// Returns a copy of a group's decoration that decorates `target`.
fn of(decoration: &[u32], target: u32) -> Vec<u32> {
    let mut words = decoration.to_vec();
    words[1] = target;
    words
}

/// Returns a copy of a group's decoration that decorates a member. `None` for `OpDecorateId`, which has no counterpart
/// for members: a group for members must not contain it.
fn of_member(decoration: &[u32], structure: u32, member: u32) -> Option<Vec<u32>> {
    let op = match Instruction::new(decoration).op()? {
        Op::Decorate => Op::MemberDecorate,
        Op::DecorateString => Op::MemberDecorateString,
        _ => return None,
    };
    let length = u16::try_from(decoration.len() + 1).ok()?;
    let mut words = vec![u32::from(length) << 16 | op as u32, structure, member];
    words.extend(&decoration[2..]);
    Some(words)
}
