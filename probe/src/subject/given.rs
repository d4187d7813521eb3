//! An owned copy of a [`Shader`].

use spirv::ExecutionModel;
use vkxfb::lower::Shader;
use vkxfb::spirv::specialization::SpecializationConstant;

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
