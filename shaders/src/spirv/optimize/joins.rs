//! Writes the labels and the phis of blocks with several predecessors.

use spirv::Op;

use crate::spirv::Id;
use crate::spirv::declarations::Type;
use crate::spirv::optimize::limits::Stop;
use crate::spirv::optimize::memory::TrackedState;
use crate::spirv::optimize::simplify;
use crate::spirv::optimize::walk::{Edge, Frame, TargetRole, Walk, WalkStep};

/// The value of a variable in a block with several predecessors, each of which may have another value for the
/// variable.
enum Joined {
    Value(Id),
    /// A structure whose members are joined one by one: its type, and its members.
    Parts(Id, Vec<Joined>),
}

impl<'s> Walk<'s, '_> {
    /// Begins the merge block of a construct. The returns within the construct were written as branches to this block.
    /// From there, the inlined function returns the value that the phis of the block select.
    pub(super) fn join_returns(
        &mut self,
        frame: &mut Frame<'s>,
        out: Id,
        role: TargetRole,
    ) -> Result<WalkStep, Stop> {
        let (TargetRole::If(returns) | TargetRole::Switch(returns)) = role else {
            return Err(Stop::GiveUp);
        };
        let states: Vec<(&TrackedState, Id)> =
            returns.iter().map(|r| (&r.state, r.block)).collect();
        self.join_states(&states, out);
        let ty = self.known.source.head(frame.function).id(0);
        let values: Vec<(Id, Id)> = returns.iter().map(|r| (r.value, r.block)).collect();
        let value = self.join_parts(ty, &values);
        self.give_back(frame, value)
    }

    /// Joins values from several blocks: returns the value if all are the same, otherwise a phi
    /// ([`join_values`](Self::join_values)) or a composite. If the members of the values are known, they are joined one
    /// by one, so that members that are the same on all paths stay known. No other values may be joined in the block
    /// after this call, because it may write an `OpCompositeConstruct` after the phis.
    fn join_parts(&mut self, ty: Id, values: &[(Id, Id)]) -> Id {
        // All phis come before the other instructions of a block, so they are written first.
        let joined = self.join_tree(ty, values);
        self.build(joined)
    }

    fn join_tree(&mut self, ty: Id, values: &[(Id, Id)]) -> Joined {
        let is_same = values.windows(2).all(|pair| pair[0].0 == pair[1].0);
        let Some(Type::Struct { members }) = self.values.ty(ty).filter(|_| !is_same) else {
            return Joined::Value(self.join_values(ty, values));
        };
        let mut parts = Vec::with_capacity(members.len());
        for number in 0..members.len() as u32 {
            let mut of_part = Vec::with_capacity(values.len());
            for (value, block) in values {
                match simplify::known_part(&mut self.values, *value, number) {
                    Some(part) => of_part.push((part, *block)),
                    None => return Joined::Value(self.join_values(ty, values)),
                }
            }
            parts.push(of_part);
        }
        let parts = members.iter().zip(parts);
        Joined::Parts(ty, parts.map(|(ty, values)| self.join_tree(*ty, &values)).collect())
    }

    fn build(&mut self, joined: Joined) -> Id {
        match joined {
            Joined::Value(value) => value,
            Joined::Parts(ty, parts) => {
                let parts: Vec<Id> = parts.into_iter().map(|part| self.build(part)).collect();
                self.values.construct(ty, &parts)
            }
        }
    }

    /// Begins the block with the label `out`, to which several branches (`edges`) lead.
    pub(super) fn join(&mut self, edges: &[Edge], out: Id) {
        let states: Vec<(&TrackedState, Id)> = edges.iter().map(|e| (&e.state, e.block)).collect();
        self.join_states(&states, out);
    }

    fn join_states(&mut self, states: &[(&TrackedState, Id)], out: Id) {
        self.values.push(Op::Label, &[out.0]);
        self.block = out;
        let count = states.iter().map(|(state, _)| state.len()).min().unwrap_or(0);
        let mut joined = TrackedState::with_capacity(count);
        for leaf in 0..count {
            let first = states[0].0[leaf];
            if states.iter().all(|(state, _)| state[leaf] == first) {
                joined.push(first);
                continue;
            }
            let values: Vec<(Id, Id)> = states.iter().map(|(s, block)| (s[leaf], *block)).collect();
            let ty = self.tracked.leaf_types[leaf];
            joined.push(self.join_values(ty, &values));
        }
        self.state = joined;
    }
}
