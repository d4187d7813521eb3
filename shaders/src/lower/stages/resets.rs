//! This module resets variables before a stage runs again in the same invocation.
//!
//! When an invocation begins, a module-scope variable has the value of its initializer. In a
//! capture of a geometry or tessellation shader, one invocation runs the vertex shader for several
//! vertices, and each run must begin with the same values.

use spirv::{Op, StorageClass};

use crate::spirv::declarations::Declarations;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Module, Section};

/// The values that variables must have before a stage runs.
#[derive(Debug, Default)]
pub(crate) struct Resets {
    /// The variables with an initializer, and the constants that initialize them.
    initialized: Vec<(Id, Id)>,
    /// The variables that are set to 0, and their types.
    cleared: Vec<(Id, Id)>,
}

impl Resets {
    /// Finds the `Private` and `Output` variables of an entry point that have initializers. If
    /// `clears_outputs` is true, its other outputs are set to 0, because the next stage may read
    /// them even if this stage does not write them.
    pub(super) fn of(
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
        clears_outputs: bool,
    ) -> Self {
        let used = StaticUse::of(module, entry.function);
        let is_used = |id: Id| used.contains(id) || entry.interface.contains(&id);
        let storages = [StorageClass::Private as u32, StorageClass::Output as u32];
        let variables = module.section(Section::Declarations).filter(|i| {
            i.is(Op::Variable) && i.operands().len() > 3 && storages.contains(&i.operand(2))
        });
        let initialized: Vec<(Id, Id)> =
            variables.map(|i| (i.id(1), i.id(3))).filter(|(id, _)| is_used(*id)).collect();
        let outputs = declarations.variables(StorageClass::Output).filter(|_| clears_outputs);
        let cleared = outputs
            .filter(|v| is_used(v.id) && !initialized.iter().any(|(id, _)| *id == v.id))
            .map(|v| (v.id, v.pointee));
        Self { cleared: cleared.collect(), initialized }
    }

    /// Moves the outputs to the returned resets. A tessellation control shader keeps its outputs
    /// between its runs for one patch, so they are reset at another time than the other variables.
    pub(super) fn take_outputs(&mut self, declarations: &Declarations) -> Self {
        let is_output = |id: Id| {
            let storage = declarations.variable(id).map(|variable| variable.storage);
            storage == Some(StorageClass::Output as u32)
        };
        let (outputs, others) =
            std::mem::take(&mut self.initialized).into_iter().partition(|(id, _)| is_output(*id));
        self.initialized = others;
        Self { initialized: outputs, cleared: std::mem::take(&mut self.cleared) }
    }

    pub(crate) fn store(&self, builder: &mut Builder<'_>, code: &mut Code) {
        for (variable, value) in &self.initialized {
            code.push(Op::Store, &[variable.0, value.0]);
        }
        for (variable, ty) in &self.cleared {
            let null = builder.declare(Op::ConstantNull, &[ty.0]);
            code.push(Op::Store, &[variable.0, null.0]);
        }
    }
}
