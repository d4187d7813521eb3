//! The shaders that a probe captures: the probe's own, whose expected records are given by
//! formulas, or shaders from files.

#![forbid(unsafe_code)]

mod given;
mod point_size;

pub use self::point_size::{has_later_point_size, writes_point_size};

use std::borrow::Cow;
use std::collections::BTreeMap;

use spirv::ExecutionModel;
use vkxfb_rewriter::capture::{CaptureError, CaptureList, Layout};
use vkxfb_rewriter::lower::LoweredGeometry;
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{
    Backend, Captures, LowerError, Lowered, Shader, compute, native, vertex,
};
use vkxfb_rewriter::spirv::ParseError;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::{InputRate, NumericClass, VertexBinding, VertexInput};

use self::given::GivenShader;
use crate::case::Case;
use crate::contents::{Contents, ContentsError, Given, Missing};
use crate::emission::Emission;
use crate::row::CapturedStage;
pub use crate::shaders::{FIRST_INSTANCE, FIRST_VERTEX};
use crate::shaders::{PATCH_CONTROL_POINTS, ProbeGeometry, ProbeShader};

/// The reason why a shader cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The file is not SPIR-V.
    #[error("{file}")]
    Parse {
        /// The path of the file.
        file: String,
        /// The problem with the module.
        source: ParseError,
    },
    /// The shader cannot be lowered, or has nothing to capture.
    #[error("{name}")]
    Lower {
        /// The name of the shader.
        name: String,
        /// The reason why the shader cannot be lowered.
        source: LowerError,
    },
    /// No contents can be made for the buffers and push constants that the shader reads.
    #[error("{name}")]
    Contents {
        /// The name of the shader.
        name: String,
        /// The reason why contents cannot be made.
        source: ContentsError,
    },
    /// The shader stores to memory, so a second capture could read other values than the first.
    #[error("{name}: the shader stores to memory, so that no two captures of it would be alike")]
    SideEffects {
        /// The name of the shader.
        name: String,
    },
}

/// The shaders that are probed: a vertex shader, or a geometry shader or tessellation evaluation shader with the
/// shaders before it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The name of the probe's vertex shader, or the path of the file.
    pub name: String,
    /// The geometry shader or tessellation shaders whose outputs are captured. `None` if the outputs of the vertex
    /// shader are captured.
    pub geometry: Option<SubjectGeometry>,
    /// The only provoking vertex with which plans capture these shaders; `None` if they capture with both.
    pub provoking: Option<ProvokingVertex>,
    /// The layout of the captured outputs.
    pub layout: Layout,
    /// The vertex input that the vertex shader reads.
    pub vertex_input: VertexInput,
    /// The indices, in the layout, of the outputs that the shader does not write on every path: [`Lowered::unwritten`].
    pub unwritten: Vec<usize>,
    /// Whether the shader may read undefined values other than unwritten outputs:
    /// [`Lowered::reads_undefined`].
    pub reads_undefined: bool,
    /// The contents of the descriptors and push constants.
    pub contents: Contents,
    vertex: GivenShader,
    list: Option<CaptureList>,
    formulas: Option<ProbeShader>,
    writes_point_size: bool,
}

/// The geometry shader of a [`Subject`], or its tessellation evaluation shader.
#[derive(Debug, Clone)]
pub struct SubjectGeometry {
    /// The name of the probe's shader, or the path of the file.
    pub name: String,
    /// The primitives and vertex streams that the shader declares.
    pub declared: LoweredGeometry,
    /// Whether the shader has the capability `GeometryPointSize` or `TessellationPointSize`, for
    /// which a device needs the feature `shaderTessellationAndGeometryPointSize`.
    pub has_point_size: bool,
    /// The tessellation control shader, if `stage` is a tessellation evaluation shader. `None` if it is a geometry
    /// shader.
    control: Option<GivenShader>,
    stage: GivenShader,
    formulas: Option<ProbeGeometry>,
}

impl Subject {
    /// Makes a subject (the shaders under test) from one of the probe's own vertex shaders.
    ///
    /// # Errors
    /// Only if the shader is invalid, which would be a defect of this crate.
    pub fn built_in(shader: ProbeShader) -> Result<Self, SubjectError> {
        let words = shader.words();
        let given = Given::default();
        let subject = Self::from_shader(shader.name, &Shader::new(&words), &given)?;
        Ok(Self { vertex_input: shader.vertex_input.clone(), formulas: Some(shader), ..subject })
    }

    /// Makes a subject from one of the probe's own geometry or tessellation shaders, with its
    /// vertex shader.
    ///
    /// # Errors
    /// Only if a shader is invalid, which would be a defect of this crate.
    pub fn built_in_geometry(geometry: ProbeGeometry) -> Result<Self, SubjectError> {
        let vertex = ProbeGeometry::vertex_shader();
        let (words, own) = (vertex.words(), geometry.words());
        let behind = Shader::new(&own).specialization(geometry.constants());
        let (name, given) = (geometry.name(), Given::default());
        let behind = Some((name.as_str(), &behind));
        let control = geometry.control();
        let control = control.as_ref();
        let control = control.map(|(words, values)| {
            let shader = Shader::new(words).specialization(values);
            shader.stage(ExecutionModel::TessellationControl)
        });
        let before = (&Shader::new(&words), control.as_ref());
        let mut subject = Self::of_stages(vertex.name, before, behind, &given)?;
        subject.formulas = Some(vertex);
        if let Some(stage) = &mut subject.geometry {
            stage.formulas = Some(geometry);
        }
        Ok(subject)
    }

    /// Makes a subject from a vertex shader. `name` is also the argument of `vkxfb probe shader`.
    /// Attributes, and buffers and push constants for which `given` has no contents, get made-up
    /// [contents](Contents::made_up).
    ///
    /// # Errors
    /// [`SubjectError`]
    pub fn from_shader(
        name: &str,
        shader: &Shader<'_>,
        given: &Given,
    ) -> Result<Self, SubjectError> {
        Self::from_stages(name, shader, None, given)
    }

    /// Makes a subject from a vertex shader and, if `geometry` is not `None`, a geometry shader with its name. In
    /// that case the outputs of the geometry shader are captured: see `vkxfb probe shader FILE --geometry FILE`.
    ///
    /// # Errors
    /// [`SubjectError`]
    pub fn from_stages(
        name: &str,
        vertex: &Shader<'_>,
        geometry: Option<(&str, &Shader<'_>)>,
        given: &Given,
    ) -> Result<Self, SubjectError> {
        Self::of_stages(name, (vertex, None), geometry, given)
    }

    /// Like [`from_stages`](Self::from_stages), but with a tessellation control shader, if there is one. The shader
    /// that follows it is then a tessellation evaluation shader.
    fn of_stages(
        name: &str,
        (vertex, control): (&Shader<'_>, Option<&Shader<'_>>),
        geometry: Option<(&str, &Shader<'_>)>,
        given: &Given,
    ) -> Result<Self, SubjectError> {
        let captured = geometry.map_or(vertex, |(_, geometry)| geometry);
        let captured_name = geometry.map_or(name, |(name, _)| name).to_owned();
        let lower = |source| SubjectError::Lower { name: captured_name.clone(), source };
        let before = geometry.map(|_| vertex);
        let mut options = native::Options::new();
        (options.vertex_shader, options.control_shader) = (before, control);
        let lowered = native::lower_with(captured, &options).map_err(lower)?;
        // To capture nothing is valid in Vulkan, but there would be nothing to compare.
        if lowered.layout.outputs.is_empty() {
            return Err(lower(CaptureError::NothingCaptured.into()));
        }
        let of_vertex = |source| SubjectError::Lower { name: name.to_owned(), source };
        let vertex_input = vertex_reads(vertex).map_err(of_vertex)?.packed_vertex_input();
        let stages: Vec<&Shader<'_>> =
            before.into_iter().chain(control).chain([captured]).collect();
        let contents = Contents::of_stages(&stages, given, Missing::MakeUp)
            .map_err(|source| SubjectError::Contents { name: captured_name.clone(), source })?;
        if lowered.effects.side_effects {
            return Err(SubjectError::SideEffects { name: captured_name });
        }
        let writes_point_size = writes_point_size(vertex.words)
            .map_err(|source| SubjectError::Parse { file: name.to_owned(), source })?;
        // Only lowering for the compute backend finds the outputs that a geometry shader does not
        // write.
        let by_compute = before.and_then(|before| {
            let mut options = compute::Options::new(&vertex_input).vertex_shader(before);
            options.control_shader = control;
            compute::lower(captured, &options).ok()
        });
        let has_point_size = has_later_point_size(captured.words)
            .map_err(|source| SubjectError::Parse { file: captured_name.clone(), source })?;
        let declared = lowered.geometry();
        let geometry = geometry.zip(declared).map(|((name, shader), declared)| SubjectGeometry {
            name: name.to_owned(),
            declared,
            has_point_size,
            control: control.map(GivenShader::of),
            stage: GivenShader::of(shader),
            formulas: None,
        });
        Ok(Self {
            name: name.to_owned(),
            geometry,
            provoking: None,
            vertex_input,
            layout: lowered.layout,
            unwritten: by_compute.map_or(lowered.unwritten, |lowered| lowered.unwritten),
            reads_undefined: lowered.reads_undefined,
            contents,
            vertex: GivenShader::of(vertex),
            list: captured.list().map_err(lower)?.map(Cow::into_owned),
            formulas: None,
            writes_point_size,
        })
    }

    /// Replaces an execution mode of the geometry shader or evaluation shader. What is expected of it stays the same.
    #[cfg(test)]
    pub(crate) fn replace_mode(&mut self, from: spirv::ExecutionMode, to: spirv::ExecutionMode) {
        self.geometry.as_mut().unwrap().stage.replace_mode(from, to);
    }

    /// Lowers the shaders for a backend. Only the compute backend uses `target`.
    ///
    /// # Errors
    /// [`SubjectError::Lower`]
    pub fn lower(
        &self,
        backend: Backend,
        target: &compute::Target,
    ) -> Result<Lowered, SubjectError> {
        let vertex_values = self.vertex.values();
        let vertex = self.vertex.shader(&vertex_values);
        let behind = self.geometry.as_ref().map(|geometry| &geometry.stage);
        let values = behind.map(GivenShader::values).unwrap_or_default();
        let mut captured = behind.map_or(vertex, |stage| stage.shader(&values));
        captured.captures = self.list.as_ref().map_or(Captures::Decorations, Captures::List);
        let before = behind.map(|_| &vertex);
        let control = self.geometry.as_ref().and_then(|geometry| geometry.control.as_ref());
        let control_values = control.map(GivenShader::values).unwrap_or_default();
        let control = control.map(|stage| stage.shader(&control_values));
        match backend {
            Backend::Native => {
                let mut options = native::Options::new();
                options.vertex_shader = before;
                options.control_shader = control.as_ref();
                native::lower_with(&captured, &options)
            }
            Backend::Vertex => vertex::lower(&captured),
            Backend::Compute => {
                let mut options = compute::Options::new(&self.vertex_input).target(*target);
                options.vertex_shader = before;
                options.control_shader = control.as_ref();
                compute::lower(&captured, &options)
            }
        }
        .map_err(|source| SubjectError::Lower { name: self.captured_name().to_owned(), source })
    }

    /// Whether a case captures the shaders of this subject.
    pub fn is_of(&self, case: &Case) -> bool {
        let geometry = self.geometry.as_ref().map(|geometry| &geometry.name);
        self.name == case.shader && geometry == case.geometry.as_ref()
    }

    /// The stage whose outputs are captured.
    pub const fn captured_stage(&self) -> CapturedStage {
        match &self.geometry {
            None => CapturedStage::Vertex,
            Some(geometry) if geometry.control.is_some() => CapturedStage::Tessellation,
            Some(_) if self.stream_count() > 1 => CapturedStage::GeometryStreams,
            Some(_) => CapturedStage::Geometry,
        }
    }

    /// The number of vertex streams up to the last one to which the shader emits; 1 without a
    /// geometry shader.
    pub const fn stream_count(&self) -> u32 {
        match &self.geometry {
            Some(SubjectGeometry { declared, .. }) => (declared.streams | 1).ilog2() + 1,
            None => 1,
        }
    }

    /// Returns the vertex stream whose buffers are made too small for a draw. The other streams
    /// must be captured as if the buffers of this stream were large enough. The stream depends on
    /// the draw. `None` for some draws, and always if the shader emits to only one stream.
    pub fn overflowing_stream(&self, vertices: u32, instances: u32) -> Option<u32> {
        let count = self.stream_count();
        let stream = vertices.wrapping_add(instances) % (count + 1);
        (count > 1 && stream < count).then_some(stream)
    }

    /// The name of the shader that is captured.
    pub fn captured_name(&self) -> &str {
        self.geometry.as_ref().map_or(&self.name, |geometry| &geometry.name)
    }

    /// Whether the subject can be drawn with a topology: a geometry shader takes only one kind of
    /// input primitive, and only tessellation shaders take patches.
    pub fn takes(&self, topology: PrimitiveTopology) -> bool {
        match &self.geometry {
            Some(geometry) => geometry.declared.input.takes(topology),
            None => topology != PrimitiveTopology::PatchList,
        }
    }

    /// The number of vertices of a captured primitive: 1, 2 or 3.
    pub fn vertices_per_primitive(&self, topology: PrimitiveTopology) -> u32 {
        let of_draw = topology.vertices_per_primitive();
        self.geometry.as_ref().map_or(of_draw, |geometry| geometry.declared.output_vertices)
    }

    /// The maximum number of primitives that are captured for an instance with this many vertices;
    /// saturates at `u64::MAX`.
    pub fn most_primitives(&self, topology: PrimitiveTopology, vertices: u32) -> u64 {
        let drawn = match topology {
            PrimitiveTopology::PatchList => u64::from(vertices / PATCH_CONTROL_POINTS),
            topology => topology.primitive_count(vertices),
        };
        let Some(SubjectGeometry { declared, formulas, .. }) = &self.geometry else {
            return drawn;
        };
        if let Some(most) = formulas.as_ref().and_then(ProbeGeometry::most_primitives) {
            return drawn.saturating_mul(most);
        }
        // A geometry shader emits the most primitives if all its vertices are in one strip.
        let strip = declared.max_vertices.saturating_sub(declared.output_vertices - 1);
        drawn.saturating_mul(u64::from(declared.invocations) * u64::from(strip))
    }

    /// Whether the records are given by formulas, because the subject is one of the probe's own
    /// shaders.
    pub const fn has_formulas(&self) -> bool {
        self.formulas.is_some()
    }

    /// Returns the indices in the layout of the outputs that have undefined values on a backend,
    /// because the shader does not write them on every path.
    pub fn undefined(&self, backend: Backend) -> &[usize] {
        match backend {
            Backend::Native => &self.unwritten,
            // These backends capture 0 for outputs that the shader does not write.
            Backend::Vertex | Backend::Compute => &[],
        }
    }

    /// Whether the subject may be drawn as points in a graphics pipeline. Without a geometry
    /// shader, the vertex shader must write `PointSize` for that.
    pub const fn may_take_points(&self) -> bool {
        self.geometry.is_some() || self.writes_point_size
    }

    /// Returns the records of the vertices and instances of a draw that begins at [`FIRST_VERTEX`] and
    /// [`FIRST_INSTANCE`], in the form of [`Expectation::records`](super::diagnose::Expectation::records). `None` for a
    /// shader from a file, and for a buffer to which the shader does not capture.
    pub fn records(&self, buffer: usize, vertices: u32, instances: u32) -> Option<Vec<u8>> {
        let shader = self.formulas.as_ref()?;
        let stride = self.layout.strides.get(buffer).copied().flatten()? as usize;
        let mut records = vec![0; stride * vertices as usize * instances as usize];
        let all = (0..instances).flat_map(|i| (0..vertices).map(move |v| (i, v)));
        // The records come first in `zip`: if there are none, because the instances have no vertices, the loop ends at
        // once. With `all` first it would go over all instances.
        for (record, (instance, vertex)) in records.chunks_exact_mut(stride).zip(all) {
            shader.record(buffer, FIRST_INSTANCE + instance, FIRST_VERTEX + vertex, record);
        }
        Some(records)
    }

    /// Returns the vertices and primitives that one of the probe's own geometry or tessellation
    /// shaders emits to each vertex stream in a draw that begins at [`FIRST_VERTEX`] and
    /// [`FIRST_INSTANCE`]. `None` for any other shader.
    pub fn emission(
        &self,
        topology: PrimitiveTopology,
        provoking: ProvokingVertex,
        vertices: u32,
        instances: u32,
    ) -> Option<BTreeMap<u32, Emission>> {
        let formulas = self.geometry.as_ref()?.formulas?;
        Some(formulas.emission(topology, provoking, vertices, instances))
    }

    /// Returns the contents of a vertex buffer for a draw that begins at [`FIRST_VERTEX`] and [`FIRST_INSTANCE`], and
    /// has this many vertices and instances.
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
            made_up_vertices(binding, elements, class)
        })
    }
}

/// Returns the size in bytes of the range to which a draw with this many primitives is captured. `is_overflowing` says
/// whether the range should be too small for them: see [`Subject::overflowing_stream`].
pub(crate) const fn range_size(
    primitives: u64,
    bytes_per_primitive: u32,
    is_overflowing: bool,
) -> u64 {
    let bytes = bytes_per_primitive as u64;
    if is_overflowing {
        // The range has space for half of the primitives, and for all but the last 4 bytes of one more primitive.
        // Because this primitive does not fit completely, the device must not write any byte of it.
        primitives / 2 * bytes + (bytes - 4)
    } else {
        // The range has space for one primitive more than the draw has, so that a surplus primitive would be noticed.
        (primitives + 1) * bytes
    }
}

/// Makes up the contents of a vertex buffer with `elements` elements of the class `class`, which differ for each
/// element: floats from -2 to 2, or small integers.
pub fn made_up_vertices(binding: &VertexBinding, elements: u32, class: NumericClass) -> Vec<u8> {
    let dwords = (binding.stride * elements).div_ceil(4);
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
