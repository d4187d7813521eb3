//! Writes loops: headers, bodies and continue constructs.

use rustc_hash::FxHashSet;
use spirv::Op;

use crate::spirv::Id;
use crate::spirv::optimize::limits::Stop;
use crate::spirv::optimize::memory::NOTHING;
use crate::spirv::optimize::source::{CodeBlock, phi_value};
use crate::spirv::optimize::walk::{BranchTarget, Frame, TargetRole, Walk, WalkStep};

impl<'s> Walk<'s, '_> {
    /// Writes a loop. At its header, the values of variables that the loop stores to are not known. So each part of
    /// these variables that is neither a structure nor an array has a phi.
    pub(super) fn walk_loop(
        &mut self,
        frame: &mut Frame<'s>,
        label: Id,
        block: &'s CodeBlock,
        merge: Id,
        next: Id,
    ) -> Result<WalkStep, Stop> {
        if next == label {
            return Err(frame.refuse());
        }
        let stored = self.known.source.stored_in_loop(frame.function, label, merge);
        let stored: FxHashSet<Id> = stored.into_iter().map(|id| self.lookup(id)).collect();
        let leaves: FxHashSet<usize> =
            stored.iter().flat_map(|id| self.tracked.leaves(&self.values, *id)).collect();
        let mut leaves: Vec<usize> = leaves.into_iter().collect();
        leaves.sort_unstable();

        let before = self.block;
        let header = self.values.fresh();
        self.values.push(Op::Branch, &[header.0]);
        self.values.begin_scope();
        self.values.push(Op::Label, &[header.0]);
        self.block = header;
        // The operands of phis for the back edge are written later, when their values are known.
        let mut open = Vec::new();
        for leaf in leaves {
            let ty = self.tracked.leaf_types[leaf];
            let value = match self.state[leaf] {
                NOTHING => self.values.undefined(ty),
                value => value,
            };
            let place = self.values.words.len() + 5;
            let id = self.values.define(Op::Phi, ty, &[value.0, before.0, 0, 0]);
            self.state[leaf] = id;
            open.push((Ok(leaf), place, id, ty));
        }
        for i in self.known.source.phis(block) {
            let value = self.lookup_value(i.id(1))?;
            let place = self.values.words.len() + 5;
            let id = self.values.define(Op::Phi, i.id(0), &[value.0, before.0, 0, 0]);
            self.annotate(i.id(1), id);
            self.ids.insert(i.id(1), id);
            open.push((Err(i), place, id, i.id(0)));
        }
        let [merge_out, next_out] = [(); 2].map(|()| self.values.fresh());
        let control = self.known.source.merge(block);
        let control = control.and_then(|i| i.operands().get(2..)).unwrap_or(&[0]);
        self.values.push(Op::LoopMerge, &[&[merge_out.0, next_out.0], control].concat());
        let place = self.values.words.len() + 1;
        self.values.push(Op::Branch, &[0]);
        self.begin_block(Some(place));

        let target = |label, out, role| BranchTarget { label, out, edges: Vec::new(), role };
        self.targets.push(target(merge, merge_out, TargetRole::Loop));
        self.targets.push(target(next, next_out, TargetRole::Next));
        self.nest()?;
        // Values of the body must not be reused in the continue construct, because a branch from
        // the middle of the body may lead there.
        self.values.begin_scope();
        let step = self.walk_block(frame, label, block)?;
        self.walk(frame, step)?;
        self.values.end_scope();
        let Some(continued) = self.targets.pop() else { return Err(Stop::GiveUp) };
        self.targets.push(target(label, header, TargetRole::Next));
        if continued.edges.is_empty() {
            self.values.push(Op::Label, &[next_out.0]);
            self.values.push(Op::Branch, &[header.0]);
            for (_, place, id, _) in open {
                self.values.words[place..place + 2].copy_from_slice(&[id.0, next_out.0]);
            }
            self.targets.pop();
        } else {
            self.join(&continued.edges, next_out);
            self.walk(frame, WalkStep::At(next, continued.edges))?;
            let back = self.targets.pop().map(|target| target.edges).unwrap_or_default();
            let [edge] = &back[..] else { return Err(frame.refuse()) };
            for (of, place, _, ty) in open {
                let value = match of {
                    Ok(leaf) => edge.state.get(leaf).copied().unwrap_or(NOTHING),
                    Err(phi) => {
                        let value = phi_value(phi, edge.from).ok_or_else(|| frame.refuse())?;
                        self.lookup_value(value)?
                    }
                };
                let value = match value {
                    NOTHING => self.values.undefined(ty),
                    value => value,
                };
                self.values.words[place..place + 2].copy_from_slice(&[value.0, edge.block.0]);
            }
        }
        self.values.end_scope();
        let target = self.close()?;
        self.merge(frame, target)
    }
}
