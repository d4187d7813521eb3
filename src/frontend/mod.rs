//! Vertex shaders in WGSL and GLSL, compiled to the SPIR-V words that everything else here takes.
//!
//! naga does the work. Nothing in the source says what is captured: WGSL has no such
//! attribute, and naga drops GLSL's `xfb_*` layouts without a word, so that [`glsl`] refuses a source that
//! has any. Capture with a [`CaptureList`](crate::capture::CaptureList): by location, or by the names
//! that [`output_names`] lists.
//!
//! The words are SPIR-V 1.0 with names, which any Vulkan device takes, and hold what the vertex shader
//! reaches: descriptors with the sets and bindings of the source, push constants with its offsets. What the
//! language promises is kept: integer divisions by zero are defined, indices stay within arrays, variables
//! start as zero. Clip space is Vulkan's, as the source has it: nothing is flipped. naga writes no
//! specialisation constants: those of the source have the values that it gives them.
//!
//! naga panics where it meets what it does not expect. Such a panic is caught and returned as
//! [`FrontendError::Panic`]; the process's panic hook stays what it is, and runs first: [`NAGA_THREAD`] lets
//! it tell.

#![forbid(unsafe_code)]

#[cfg(feature = "glsl")]
pub mod glsl;
mod isolated;
mod tokens;
#[cfg(feature = "wgsl")]
pub mod wgsl;

pub use isolated::{MAX_NESTING, NAGA_THREAD};

use std::fmt;

use naga::back::pipeline_constants::{PipelineConstantError, process_overrides};
use naga::back::{PipelineConstants, spv};
use naga::compact::{KeepUnused, compact};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{ImageClass, Module, ShaderStage, TypeInner, WithSpan};
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

/// A source that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontendError {
    /// The source breaks the language's rules, or uses what naga does not know of it.
    #[error("{}{message}{}", prefix(.location), appended(.advice))]
    Source {
        /// Where, if naga says.
        location: Option<SourceLocation>,
        /// What naga says.
        message: String,
        /// What to do should the source be right.
        advice: Option<&'static str>,
    },
    /// Something that is known not to be supported.
    #[error("{}{what} cannot be compiled here: {advice}", prefix(.location))]
    Unsupported {
        /// Where, as far as it is known.
        location: Option<SourceLocation>,
        /// What, in the source's words.
        what: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// The source nests too deep for a parser that recurses.
    #[error("{}more than {MAX_NESTING} brackets, operators and branches within each other", prefix(.location))]
    Nesting {
        /// Where it passes the limit.
        location: Option<SourceLocation>,
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
    /// naga panicked: a defect of naga, whatever the source is. The panic hook has run before, in the thread
    /// [`NAGA_THREAD`]; the standard one prints a line. A process that aborts on panics is not spared.
    #[error("naga fails at the source, which is its defect, and other compilers may take it: {0}")]
    Panic(String),
    /// The system gives no thread to compile in.
    #[error("there is no thread to compile in: {0}")]
    Thread(String),
}

fn prefix(location: &Option<SourceLocation>) -> String {
    location.map_or_else(String::new, |location| format!("{location}: "))
}

fn appended(advice: &Option<&'static str>) -> String {
    advice.map_or_else(String::new, |advice| format!("; {advice}"))
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
            let location = declarations.decoration_value(variable.id, Decoration::Location)?;
            Some((location, declarations.name(variable.id)?))
        })
}

/// Validates a module and writes one of its vertex shaders, with what that reaches. `explain` makes an
/// error of what the validator says.
fn compile(
    mut module: Module,
    entry_point: Option<&str>,
    explain: impl Fn(&WithSpan<ValidationError>) -> FrontendError,
) -> Result<Vec<u32>, FrontendError> {
    let name = choose(&module, entry_point)?.to_owned();
    validate(&module, &explain)?;
    // What other shaders of the source use is not this one's to ask a device for, or to fail at.
    module.entry_points.retain(|entry| entry.stage == ShaderStage::Vertex && entry.name == name);
    compact(&mut module, KeepUnused::No);
    let info = validate(&module, &explain)?;
    let write_error = |error: &dyn std::error::Error| FrontendError::Write(messages(error));
    let (module, info) = process_overrides(&module, &info, None, &PipelineConstants::default())
        .map_err(|error| match error {
            PipelineConstantError::MissingValue(name) => FrontendError::Unsupported {
                location: None,
                what: format!("the constant '{name}' without a value"),
                advice: "give it one in the source",
            },
            error => write_error(&error),
        })?;
    check_types(&module)?;
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Vertex, entry_point: name };
    spv::write_vec(&module, &info, &options(), Some(&pipeline)).map_err(|error| write_error(&error))
}

fn validate(
    module: &Module,
    explain: &impl Fn(&WithSpan<ValidationError>) -> FrontendError,
) -> Result<ModuleInfo, FrontendError> {
    // Capabilities that Vulkan 1.0 devices may lack are the source's to ask for.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    validator.validate(module).map_err(|error| explain(&error))
}

/// What naga's writer panics at.
fn check_types(module: &Module) -> Result<(), FrontendError> {
    let is_external =
        |inner: &TypeInner| matches!(inner, TypeInner::Image { class: ImageClass::External, .. });
    if module.types.iter().any(|(_, ty)| is_external(&ty.inner)) {
        return Err(FrontendError::Unsupported {
            location: None,
            what: "texture_external".to_owned(),
            advice: "naga writes none for Vulkan, give the shader a texture_2d<f32>",
        });
    }
    Ok(())
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
        // Without a map this keeps the sets and bindings of the source, which has all of them.
        fake_missing_bindings: true,
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
