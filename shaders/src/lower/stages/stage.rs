//! This module reads a stage after the vertex shader, and generates the code that runs it.

use spirv::{Op, StorageClass};

use crate::lower::inputs::Inputs;
use crate::lower::stages::resets::Resets;
use crate::lower::store::StoredOutputs;
use crate::lower::undefined::Undefined;
use crate::spirv::declarations::{Declarations, Variable};
use crate::spirv::emit::Code;
use crate::spirv::entry_point::EntryPoint;
use crate::spirv::link::Linker;
use crate::spirv::{Id, Module};
use crate::vertex_input::VertexInput;

/// The data that all stages of a pipeline share.
#[derive(Clone, Copy)]
pub(super) struct StageContext<'a> {
    pub(super) declarations: &'a Declarations,
    pub(super) vertex_input: &'a VertexInput,
}

/// A stage after the vertex shader.
pub(super) struct Stage<'a> {
    pub(super) function: Id,
    /// The inputs that have one value per run of the stage, and that are not outputs of the previous stage, such as
    /// `PrimitiveId`.
    pub(super) inputs: Inputs<'a>,
    pub(super) resets: Resets,
}

impl<'a> Stage<'a> {
    /// Reads the stage of the entry point `entry`. `is_per_run` says whether an input has one value per run of the
    /// stage and is not an output of the previous stage; only such inputs go into [`inputs`](field@Self::inputs).
    pub(super) fn new(
        module: &Module,
        StageContext { declarations, vertex_input }: StageContext<'a>,
        entry: &EntryPoint,
        is_per_run: impl Fn(&Variable) -> bool,
    ) -> Self {
        let inputs = declarations.variables(StorageClass::Input);
        let inputs = inputs.filter(|v| entry.interface.contains(&v.id) && is_per_run(v));
        Self {
            function: entry.function,
            inputs: Inputs::of_stage(declarations, inputs, vertex_input),
            resets: Resets::of(module, declarations, entry, false),
        }
    }

    /// Generates the body of a stub that resets the variables in `resets`, sets `undefined` outputs and variables to 0,
    /// and then runs the stage.
    pub(super) fn shade(
        &self,
        linker: &mut Linker<'_, '_>,
        undefined: &Undefined,
        outputs: &StoredOutputs<'_>,
    ) -> Code {
        let builder = &mut linker.builder;
        let mut code = Code::default();
        self.resets.store(builder, &mut code);
        undefined.clear(builder, &mut code, outputs);
        let void = builder.void();
        code.call(builder, void, self.function, &[]);
        code.push(Op::Return, &[]);
        code
    }
}
