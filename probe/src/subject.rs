//! The shader that a probe captures: one of the probe's own, whose records are formulas, or a file.

#![forbid(unsafe_code)]

mod point_size;

use std::path::Path;

use vkxfb::capture::{CaptureError, Layout};
use vkxfb::lower::reflect::vertex_reads;
use vkxfb::lower::{Backend, LowerError, Lowered, Shader, compute, native, vertex};
use vkxfb::spirv::{ParseError, words_from_bytes};
use vkxfb::vertex_input::{InputRate, NumericClass, VertexBinding, VertexInput};

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
    /// The shader needs what a probe does not know.
    #[error("{name}: the shader uses {what}, which a probe has no contents for")]
    Resources {
        /// The shader.
        name: String,
        /// "descriptor set N binding M", or "push constants".
        what: String,
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
    words: Vec<u32>,
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
            words,
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

    /// A SPIR-V module with capture decorations, called `name`, which is what `vkxfb probe --shader` would take
    /// for it. Its attributes are given made-up contents; descriptors and push constants it may not use.
    ///
    /// # Errors
    /// [`SubjectError`]
    pub fn from_words(name: &str, words: Vec<u32>) -> Result<Self, SubjectError> {
        let name = name.to_owned();
        let lower = |source| SubjectError::Lower { name: name.clone(), source };
        let writes_point_size = point_size::writes_point_size(&words)
            .map_err(|source| SubjectError::Parse { file: name.clone(), source })?;
        let lowered = native::lower(&Shader::new(&words)).map_err(lower)?;
        // It may be captured, but there would be nothing to look at.
        if lowered.layout.outputs.is_empty() {
            return Err(lower(CaptureError::NothingCaptured.into()));
        }
        let reads = vertex_reads(&Shader::new(&words)).map_err(lower)?;
        if let Some(what) = reads.resources.first().cloned() {
            return Err(SubjectError::Resources { name, what });
        }
        Ok(Self {
            vertex_input: reads.packed_vertex_input(),
            layout: lowered.layout,
            unwritten: lowered.unwritten,
            reads_undefined: lowered.reads_undefined,
            words,
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
        let shader = Shader::new(&self.words);
        match backend {
            Backend::Native => native::lower(&shader),
            Backend::Vertex => vertex::lower(&shader),
            Backend::Compute => {
                let vertex_input = &self.vertex_input;
                compute::lower(&shader, &compute::Options { vertex_input, target: *target })
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
