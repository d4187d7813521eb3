//! The shader that a probe captures: one of the probe's own, whose records are formulas, or a file.

#![forbid(unsafe_code)]

mod point_size;

pub use self::point_size::writes_point_size;

use std::path::Path;

use spirv::ExecutionModel;
use vkxfb::capture::{CaptureError, CaptureList, Layout};
use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Backend, Captures, LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb::spirv::specialization::SpecializationConstant;
use vkxfb::spirv::{ParseError, words_from_bytes};
use vkxfb::vertex_input::{InputRate, NumericClass, VertexBinding, VertexInput};

use crate::contents::{Contents, ContentsError, Given, Missing};
use crate::shaders::ProbeShader;

/// A shader that cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Read {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no SPIR-V.
    #[error("{file}")]
    Parse {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: ParseError,
    },
    /// The shader captures nothing that can be captured.
    #[error("{name}")]
    Lower {
        /// The shader.
        name: String,
        /// Why.
        source: LowerError,
    },
    /// The shader cannot be given what it reads.
    #[error("{name}")]
    Contents {
        /// The shader.
        name: String,
        /// Why.
        source: ContentsError,
    },
    /// What the shader reads would depend on what it did before.
    #[error("{name}: the shader stores to memory, so that no two captures of it would be alike")]
    SideEffects {
        /// The shader.
        name: String,
    },
}

/// A shader to be probed, in its lowered forms.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Name of the probe's shader, or the path of the file.
    pub name: String,
    /// What it captures.
    pub layout: Layout,
    /// What it reads.
    pub vertex_input: VertexInput,
    /// Indices in the layout of what it does not write on every path: [`Lowered::unwritten`].
    pub unwritten: Vec<usize>,
    /// Whether it may use other undefined values: [`Lowered::reads_undefined`].
    pub reads_undefined: bool,
    /// What its descriptors and push constants hold.
    pub contents: Contents,
    words: Vec<u32>,
    stage: Option<ExecutionModel>,
    entry_point: Option<String>,
    list: Option<CaptureList>,
    /// Values of specialisation constants by `SpecId`.
    constants: Vec<(u32, Vec<u8>)>,
    formulas: Option<ProbeShader>,
    writes_point_size: bool,
}

/// The first vertex and instance of a probe's draws: not 0, so that whoever forgets them is found out.
pub const FIRST_VERTEX: u32 = 5;
/// See [`FIRST_VERTEX`].
pub const FIRST_INSTANCE: u32 = 2;

impl Subject {
    /// One of the probe's own shaders.
    ///
    /// # Errors
    /// None that is not a mistake of this crate.
    pub fn built_in(shader: ProbeShader) -> Result<Self, SubjectError> {
        let words = shader.words();
        let lower = |source| SubjectError::Lower { name: shader.name.to_owned(), source };
        let lowered = native::lower(&Shader::new(&words)).map_err(lower)?;
        Ok(Self {
            name: shader.name.to_owned(),
            layout: lowered.layout,
            unwritten: lowered.unwritten,
            reads_undefined: lowered.reads_undefined,
            vertex_input: shader.vertex_input.clone(),
            contents: Contents::default(),
            words,
            stage: None,
            entry_point: None,
            list: None,
            constants: Vec::new(),
            formulas: Some(shader),
            writes_point_size: true,
        })
    }

    /// A SPIR-V file with capture decorations, as [`from_words`](Self::from_words).
    ///
    /// # Errors
    /// [`SubjectError`]
    pub fn from_file(path: &Path) -> Result<Self, SubjectError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path)
            .map_err(|source| SubjectError::Read { file: name.clone(), source })?;
        let words = words_from_bytes(&bytes)
            .map_err(|source| SubjectError::Parse { file: name.clone(), source })?;
        Self::from_words(&name, words)
    }

    /// A SPIR-V module with capture decorations, called `name`: [`from_shader`](Self::from_shader), of which nothing
    /// more is given.
    ///
    /// # Errors
    /// [`SubjectError`]
    pub fn from_words(name: &str, words: Vec<u32>) -> Result<Self, SubjectError> {
        Self::from_shader(name, &Shader::new(&words), &Given::default())
    }

    /// A vertex shader, called `name`, which is what `vkxfb probe --shader` would take for it. Its attributes, and
    /// what of its descriptors and push constants is not given, have made-up [contents](Contents::made_up).
    ///
    /// # Errors
    /// [`SubjectError`]
    pub fn from_shader(
        name: &str,
        shader: &Shader<'_>,
        given: &Given,
    ) -> Result<Self, SubjectError> {
        let name = name.to_owned();
        let lower = |source| SubjectError::Lower { name: name.clone(), source };
        let writes_point_size = writes_point_size(shader.words)
            .map_err(|source| SubjectError::Parse { file: name.clone(), source })?;
        let lowered = native::lower(shader).map_err(lower)?;
        // It may be captured, but there would be nothing to look at.
        if lowered.layout.outputs.is_empty() {
            return Err(lower(CaptureError::NothingCaptured.into()));
        }
        let reads = vertex_reads(shader).map_err(lower)?;
        let contents = Contents::of(shader, given, Missing::MakeUp)
            .map_err(|source| SubjectError::Contents { name: name.clone(), source })?;
        if lowered.effects.side_effects {
            return Err(SubjectError::SideEffects { name });
        }
        let constants = shader.specialization.iter();
        Ok(Self {
            vertex_input: reads.packed_vertex_input(),
            layout: lowered.layout,
            unwritten: lowered.unwritten,
            reads_undefined: lowered.reads_undefined,
            contents,
            words: shader.words.to_vec(),
            stage: shader.stage,
            entry_point: shader.entry_point.map(str::to_owned),
            list: match shader.captures {
                Captures::Decorations | Captures::Nothing => None,
                Captures::List(list) => Some(list.clone()),
            },
            constants: constants.map(|value| (value.constant_id, value.data.to_vec())).collect(),
            formulas: None,
            writes_point_size,
            name,
        })
    }

    /// The shader as `backend` takes it, on the compute backend for `target`.
    ///
    /// # Errors
    /// [`SubjectError::Lower`]
    pub fn lower(
        &self,
        backend: Backend,
        target: &compute::Target,
    ) -> Result<Lowered, SubjectError> {
        let values = self.constants.iter();
        let values = values
            .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data });
        let values: Vec<_> = values.collect();
        let mut shader = Shader::new(&self.words).specialization(&values);
        (shader.stage, shader.entry_point) = (self.stage, self.entry_point.as_deref());
        shader.captures = self.list.as_ref().map_or(Captures::Decorations, Captures::List);
        match backend {
            Backend::Native => native::lower(&shader),
            Backend::Vertex => vertex::lower(&shader),
            Backend::Compute => {
                let vertex_input = &self.vertex_input;
                compute::lower(&shader, &compute::Options::new(vertex_input).target(*target))
            }
        }
        .map_err(|source| SubjectError::Lower { name: self.name.clone(), source })
    }

    /// Whether [`records`](Self::records) knows what the shader writes.
    pub const fn has_formulas(&self) -> bool {
        self.formulas.is_some()
    }

    /// Indices in the layout of what may hold anything where `backend` captures it.
    pub fn undefined(&self, backend: Backend) -> &[usize] {
        match backend {
            Backend::Native => &self.unwritten,
            // There it is 0.
            Backend::Vertex | Backend::Compute => &[],
        }
    }

    /// Whether a graphics pipeline of points may be made of it.
    pub const fn writes_point_size(&self) -> bool {
        self.writes_point_size
    }

    /// The records of `vertices` from [`FIRST_VERTEX`] on in `instances` from [`FIRST_INSTANCE`] on, as
    /// [`Expectation::records`](super::diagnose::Expectation::records) takes them, or `None` for a
    /// shader from a file.
    pub fn records(&self, buffer: usize, vertices: u32, instances: u32) -> Option<Vec<u8>> {
        let shader = self.formulas.as_ref()?;
        let stride = self.layout.strides.get(buffer).copied().flatten()? as usize;
        let mut records = vec![0; stride * vertices as usize * instances as usize];
        let all = (0..instances).flat_map(|i| (0..vertices).map(move |v| (i, v)));
        // The records lead: instances without a vertex are not walked through.
        for (record, (instance, vertex)) in records.chunks_exact_mut(stride).zip(all) {
            shader.record(buffer, FIRST_INSTANCE + instance, FIRST_VERTEX + vertex, record);
        }
        Some(records)
    }

    /// The contents of a vertex buffer that serves that many vertices and instances from the firsts on.
    pub fn vertex_buffer(&self, binding: &VertexBinding, vertices: u32, instances: u32) -> Vec<u8> {
        let elements = match binding.input_rate {
            InputRate::Vertex => FIRST_VERTEX + vertices,
            InputRate::Instance { .. } => FIRST_INSTANCE + instances,
        };
        let by_formula = self
            .formulas
            .as_ref()
            .and_then(|shader| shader.vertex_buffer(binding.binding, elements));
        by_formula.unwrap_or_else(|| {
            let class = self
                .vertex_input
                .attributes
                .iter()
                .find(|a| a.binding == binding.binding)
                .map_or(NumericClass::Uint, |a| a.format.class());
            made_up(binding, elements, class)
        })
    }
}

/// Values that differ from element to element: floats from -2 to 2, small integers.
fn made_up(binding: &VertexBinding, elements: u32, class: NumericClass) -> Vec<u8> {
    let dwords = binding.stride / 4 * elements;
    (0..dwords)
        .flat_map(|i| {
            let hash = (i ^ binding.binding.rotate_left(16)).wrapping_mul(0x9e37_79b1);
            let hash = (hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b) >> 8;
            match class {
                NumericClass::Float => ((hash as f32) / (1 << 22) as f32 - 2.0).to_le_bytes(),
                NumericClass::Sint | NumericClass::Uint => (hash & 0x3ff).to_le_bytes(),
            }
        })
        .collect()
}
