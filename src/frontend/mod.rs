//! Vertex shaders in WGSL and GLSL, compiled to the SPIR-V words that everything else here takes.
//!
//! naga does the work. Nothing in the source says what is captured: WGSL has no such
//! attribute, and naga drops GLSL's `xfb_*` layouts without a word, so that [`glsl`] refuses a source that
//! has any. Capture with a [`CaptureList`](crate::capture::CaptureList): by location, or by the names
//! that [`output_names`] lists.
//!
//! The words are SPIR-V 1.0 with names, which any Vulkan device takes. What the language promises is
//! kept: integer divisions by zero are defined, indices stay within arrays, variables start as zero.
//! naga wants every vertex shader to have a position. Clip space is Vulkan's, as the source has it: nothing
//! is flipped.

#![forbid(unsafe_code)]

#[cfg(feature = "glsl")]
pub mod glsl;
#[cfg(feature = "wgsl")]
pub mod wgsl;

use std::fmt;

use naga::back::spv;
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ValidationFlags, Validator};
use naga::{Module, ShaderStage};
use spirv::{Decoration, StorageClass};

use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;

/// A place in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLocation {
    /// Line, counted from 1.
    pub line: u32,
    /// Column in bytes, counted from 1.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl From<naga::SourceLocation> for SourceLocation {
    fn from(location: naga::SourceLocation) -> Self {
        Self { line: location.line_number, column: location.line_position }
    }
}

/// A source that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontendError {
    /// The source breaks the language's rules, or uses what naga does not know of it.
    #[error("{}{message}", prefix(.location))]
    Source {
        /// Where, if naga says.
        location: Option<SourceLocation>,
        /// What naga says.
        message: String,
    },
    /// No vertex shader of that name.
    #[error("the source has no vertex shader{}; it has: {found}", named(.name))]
    NoVertexShader {
        /// The name asked for.
        name: Option<String>,
        /// Names of the vertex shaders.
        found: String,
    },
    /// Several vertex shaders, and no name was given.
    #[error("the source has several vertex shaders, name one of: {found}")]
    Ambiguous {
        /// Their names.
        found: String,
    },
    /// GLSL that says what to capture: naga would drop that.
    #[error(
        "{location}: '{qualifier}' is not read here: list the outputs to capture instead \
         (--varyings), or compile the source with glslang"
    )]
    CaptureLayout {
        /// Where.
        location: SourceLocation,
        /// The first such qualifier.
        qualifier: String,
    },
    /// naga cannot write the shader as SPIR-V.
    #[error("the shader cannot be written as SPIR-V: {0}")]
    Write(String),
}

fn prefix(location: &Option<SourceLocation>) -> String {
    location.map_or_else(String::new, |location| format!("{location}: "))
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(" named '{name}'"))
}

/// The outputs that a [`Selector::Name`](crate::capture::Selector::Name) may name, with their locations.
/// Built-ins and outputs without name are left out.
///
/// naga makes a variable of each: in WGSL a member of the result's structure gives it its name, in GLSL
/// the output. A result that WGSL returns without a structure has none, and is captured by location.
pub fn output_names<'a>(
    declarations: &'a Declarations,
    entry: &'a EntryPoint,
) -> impl Iterator<Item = (u32, &'a str)> {
    declarations
        .variables(StorageClass::Output)
        .filter(|variable| entry.interface.contains(&variable.id))
        .filter_map(|variable| {
            let location = declarations.decoration(variable.id, Decoration::Location)?.first()?;
            Some((*location, declarations.name(variable.id)?))
        })
}

/// Validates a module and writes one of its vertex shaders.
fn compile(
    module: &Module,
    source: &str,
    entry_point: Option<&str>,
) -> Result<Vec<u32>, FrontendError> {
    let name = choose(module, entry_point)?;
    // Capabilities that Vulkan 1.0 devices may lack are the source's to ask for.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    let info = validator.validate(module).map_err(|error| FrontendError::Source {
        location: error.location(source).map(SourceLocation::from),
        message: messages(error.as_inner()),
    })?;
    let pipeline =
        spv::PipelineOptions { shader_stage: ShaderStage::Vertex, entry_point: name.to_owned() };
    spv::write_vec(module, &info, &options(), Some(&pipeline))
        .map_err(|error| FrontendError::Write(messages(&error)))
}

/// An error and all its causes.
fn messages(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn choose<'a>(module: &'a Module, name: Option<&str>) -> Result<&'a str, FrontendError> {
    let shaders = module.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Vertex);
    let names: Vec<&str> = shaders.map(|entry| entry.name.as_str()).collect();
    let found = || if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    match (name, names.as_slice()) {
        (None, [only]) => Ok(only),
        (None, [_, ..]) => Err(FrontendError::Ambiguous { found: found() }),
        (name, _) => names.iter().find(|found| Some(**found) == name).copied().ok_or_else(|| {
            FrontendError::NoVertexShader { name: name.map(str::to_owned), found: found() }
        }),
    }
}

/// What an application's shader is written with.
fn options() -> spv::Options<'static> {
    spv::Options {
        // Whatever the device; lowering keeps the version.
        lang_version: (1, 0),
        // Names select what is captured. Neither a flipped y nor a clamped point size: the source says
        // what it means, and what is captured is what it says.
        flags: spv::WriterFlags::DEBUG | spv::WriterFlags::LABEL_VARYINGS,
        // naga has every binding from the source, and writes nothing without one.
        fake_missing_bindings: false,
        binding_map: spv::BindingMap::default(),
        capabilities: None,
        // Both languages, or their users, count on it: an index out of range reads something of the
        // same object, and writes nothing outside it.
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Restrict,
            image_load: BoundsCheckPolicy::ReadZeroSkipWrite,
            binding_array: BoundsCheckPolicy::Restrict,
        },
        // A vertex shader has no workgroup memory.
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        // A counter in every loop is for browsers, whose compilers must not trust the source.
        force_loop_bounding: false,
        // WGSL defines x / 0.
        emit_int_div_checks: true,
        // No ray queries, tasks or meshes here.
        ray_query_initialization_tracking: false,
        trace_ray_argument_validation: false,
        task_dispatch_limits: None,
        mesh_shader_primitive_indices_clamp: false,
        // It would ask the device for storageInputOutput16.
        use_storage_input_output_16: false,
        debug_info: None,
    }
}
