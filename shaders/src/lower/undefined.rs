//! This module gives the value 0 to outputs and variables that a shader leaves undefined. It does so on the backends
//! that store captures by shader code.
//!
//! The specification leaves a captured component undefined if the shader does not write it. Drivers
//! remove stores of undefined values, so the previous contents of the capture buffer would stay,
//! and could leak to whoever reads the buffer. In native captures such a component is 0 on most
//! drivers, and programs rely on that. Captured outputs that may be unwritten, and all variables
//! that may be read before they are written, are therefore initialised to 0. The analysis proves
//! for most variables that they are written on every path: these are not changed.

use rustc_hash::{FxHashMap, FxHashSet};
use spirv::{Op, StorageClass};

use super::store::StoredOutputs;
use crate::capture::CapturedOutput;
use crate::spirv::assignment::Unassigned;
use crate::spirv::declarations::{Declarations, Type};
use crate::spirv::emit::{Builder, Code};
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::{Id, Module, Section};

/// The values that a shader may leave undefined.
#[derive(Debug, Clone, Default)]
pub(super) struct Undefined {
    /// The indices in [`Layout::outputs`](crate::capture::Layout::outputs) of the outputs that are
    /// not written on every path.
    pub(super) outputs: Vec<usize>,
    /// Those `Private` variables that the shader may read before it writes them, with their types.
    private: Vec<(Id, Id)>,
    /// Those variables of functions that the shader may read before it writes them.
    locals: FxHashSet<Id>,
    /// Whether the shader may use undefined values other than outputs: unwritten variables or `OpUndef`.
    pub(super) has_values: bool,
}

impl Undefined {
    pub(super) fn of(
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
        outputs: &[CapturedOutput],
    ) -> Self {
        let places: Vec<(Id, &[u32])> =
            outputs.iter().map(|o| (o.variable, o.path.as_slice())).collect();
        let Unassigned { places, variables } = Unassigned::of(module, declarations, entry, &places);
        let private = declarations
            .variables(StorageClass::Private)
            .filter(|v| variables.contains(&v.id) && has_null(declarations, v.pointee))
            .map(|v| (v.id, v.pointee));
        let is_undefined = |section| module.section(section).any(|i| i.is(Op::Undef));
        Self {
            outputs: places,
            private: private.collect(),
            has_values: !variables.is_empty()
                || is_undefined(Section::Declarations)
                || is_undefined(Section::Functions),
            locals: variables.into_iter().collect(),
        }
    }

    /// Replaces `OpUndef` by constants of 0. Gives the initialiser 0 to each variable of a function that the shader may
    /// read before it writes it. Both apply only to types that consist of numbers and booleans.
    pub(super) fn define_values(&self, module: &mut Module, declarations: &Declarations) {
        if !self.has_values {
            return;
        }
        let is_undefined = |ty: Id, op: Op| op == Op::Undef && has_null(declarations, ty);
        let mut moved = Vec::new();
        module.retain(Section::Functions, |i| {
            let is_undefined = i.op().is_some_and(|op| is_undefined(i.id(0), op));
            if is_undefined {
                moved.push([i.operand(0), i.operand(1)]);
            }
            !is_undefined
        });
        for operands in moved {
            module.push(Section::Declarations, Op::ConstantNull, &operands);
        }
        module.replace(Section::Declarations, |i| {
            let is_undefined = i.op().is_some_and(|op| is_undefined(i.id(0), op));
            is_undefined.then(|| {
                let mut null = Code::default();
                null.push(Op::ConstantNull, i.operands());
                null.words().to_vec()
            })
        });
        let builder = &mut Builder::new(module);
        let mut nulls = FxHashMap::default();
        for i in builder.module.section(Section::Functions) {
            if i.is(Op::Variable)
                && self.locals.contains(&i.id(1))
                && let Some(Type::Pointer { pointee, .. }) = declarations.ty(i.id(0))
                && has_null(declarations, *pointee)
            {
                nulls.insert(i.id(1), *pointee);
            }
        }
        for value in nulls.values_mut() {
            *value = builder.declare(Op::ConstantNull, &[value.0]);
        }
        module.replace(Section::Functions, |i| {
            let null = nulls.get(&i.id(1)).filter(|_| i.is(Op::Variable))?;
            let mut variable = Code::default();
            variable.push(Op::Variable, &[i.operands(), &[null.0]].concat());
            Some(variable.words().to_vec())
        });
    }

    /// Excludes the variables in `kept` from [`clear`](Self::clear), because they must keep their
    /// values between runs of the shader.
    pub(super) fn keep(&mut self, kept: &FxHashSet<Id>) {
        self.private.retain(|(id, _)| !kept.contains(id));
    }

    /// Generates the stores of 0 to outputs and `Private` variables. They have to run before the
    /// shader.
    pub(super) fn clear(
        &self,
        builder: &mut Builder<'_>,
        code: &mut Code,
        outputs: &StoredOutputs<'_>,
    ) {
        for (variable, ty) in &self.private {
            let null = builder.declare(Op::ConstantNull, &[ty.0]);
            code.push(Op::Store, &[variable.0, null.0]);
        }
        for index in &self.outputs {
            let Some(output) = outputs.layout.outputs.get(*index) else { continue };
            let (pointer, ty) = outputs.pointer(builder, code, output);
            let null = builder.declare(Op::ConstantNull, &[ty.0]);
            code.push(Op::Store, &[pointer.0, null.0]);
        }
    }
}

/// Whether the type consists of numbers and booleans, so that `OpConstantNull` can set it to 0.
fn has_null(declarations: &Declarations, ty: Id) -> bool {
    let mut seen = FxHashSet::default();
    let mut open = vec![ty];
    while let Some(ty) = open.pop() {
        if !seen.insert(ty) {
            continue;
        }
        match declarations.ty(ty) {
            Some(Type::Int { .. } | Type::Float { .. } | Type::Other(Op::TypeBool)) => {}
            Some(
                Type::Vector { component: part, .. }
                | Type::Matrix { column: part, .. }
                | Type::Array { element: part, .. },
            ) => open.push(*part),
            Some(Type::Struct { members }) => open.extend(members),
            _ => return false,
        }
    }
    true
}
