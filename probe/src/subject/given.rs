//! An owned copy of a [`Shader`].

use spirv::ExecutionModel;
#[cfg(test)]
use spirv::{ExecutionMode, Op};
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;

/// An owned copy of a [`Shader`], except for its capture list.
#[derive(Debug, Clone)]
pub(super) struct GivenShader {
    words: Vec<u32>,
    stage: Option<ExecutionModel>,
    entry_point: Option<String>,
    /// The values of specialization constants, by `SpecId`.
    constants: Vec<(u32, Vec<u8>)>,
}

impl GivenShader {
    pub(super) fn of(shader: &Shader<'_>) -> Self {
        let constants = shader.specialization.iter();
        Self {
            words: shader.words.to_vec(),
            stage: shader.stage,
            entry_point: shader.entry_point.map(str::to_owned),
            constants: constants.map(|value| (value.constant_id, value.data.to_vec())).collect(),
        }
    }

    /// Replaces an execution mode, as a driver would that takes one for the other.
    #[cfg(test)]
    pub(super) fn replace_mode(&mut self, from: ExecutionMode, to: ExecutionMode) {
        let mode = [(3 << 16) | Op::ExecutionMode as u32, from as u32];
        let is_it = |words: &[u32]| [words[0], words[2]] == mode;
        let at = self.words.windows(3).position(is_it).unwrap();
        self.words[at + 2] = to as u32;
    }

    /// Returns the values of specialization constants, which [`shader`](Self::shader) takes.
    pub(super) fn values(&self) -> Vec<SpecializationConstant<'_>> {
        let values = self.constants.iter();
        values
            .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
            .collect()
    }

    pub(super) fn shader<'a>(&'a self, values: &'a [SpecializationConstant<'a>]) -> Shader<'a> {
        let mut shader = Shader::new(&self.words).specialization(values);
        (shader.stage, shader.entry_point) = (self.stage, self.entry_point.as_deref());
        shader
    }
}
