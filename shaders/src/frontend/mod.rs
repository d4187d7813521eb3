//! Compiles vertex shaders in WGSL, and modules of naga, to SPIR-V words, with naga. GLSL is compiled by glslang, whose
//! SPIR-V this crate takes.
//!
//! WGSL has no attribute that says what to capture. Capture with a [`CaptureList`](crate::capture::CaptureList): by
//! location, or by the names that [`output_names`] lists.
//!
//! The words are SPIR-V 1.0, which every Vulkan device supports, and include names. They contain what the vertex shader
//! uses: descriptors with the sets and bindings of the source, and push constants with the offsets of the source. The
//! guarantees of the language hold: integer divisions by zero are defined, indices stay within arrays, variables are
//! initialised to zero. The position is not changed or flipped. naga does not write specialisation constants: those in
//! the source have the values that they are compiled with ([`wgsl::vertex_shader_with`]), or their default values.
//!
//! naga panics on input that it does not expect. Such a panic is caught and returned as
//! [`FrontendError::Panic`]. The process's panic hook is not changed, and runs first: it can
//! recognize the panic by [`NAGA_THREAD`].

mod isolated;
pub mod module;
mod overrides;
mod tokens;
pub mod wgsl;

pub use isolated::{MAX_NESTING, NAGA_THREAD};

use std::fmt;

use naga::back::pipeline_constants::process_overrides;
use naga::back::spv;
use naga::compact::{KeepUnused, compact};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};
use naga::{ImageClass, Module, ShaderStage, TypeInner, WithSpan};
use spirv::{Decoration, StorageClass};

use self::overrides::Overrides;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::EntryPoint;

/// A position in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLocation {
    /// The line, counted from 1.
    pub line: u32,
    /// The column in bytes, counted from 1.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// The reason why a source cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrontendError {
    /// The source or the module is invalid, or uses a part of the language that naga does not support.
    #[error("{}{message}", prefix(.location))]
    Source {
        /// The position, if naga reports it.
        location: Option<SourceLocation>,
        /// The message of naga.
        message: String,
    },
    /// The source uses a feature of the language that naga is known not to compile.
    #[error("{}{what} cannot be compiled here: {advice}", prefix(.location))]
    Unsupported {
        /// The position, if it is known.
        location: Option<SourceLocation>,
        /// The unsupported feature, in the words of the source.
        what: String,
        /// Advice on how to avoid the feature.
        advice: &'static str,
    },
    /// The source or the module is nested more deeply than [`MAX_NESTING`] levels, for
    /// which naga's stack is known to suffice.
    #[error("{}more than {MAX_NESTING} brackets, operators, branches or blocks within each other", prefix(.location))]
    Nesting {
        /// The position at which the limit is exceeded.
        location: Option<SourceLocation>,
    },
    /// There is no vertex shader with that name.
    #[error("the source has no vertex shader{}; it has: {found}", named(.name))]
    NoVertexShader {
        /// The requested name.
        name: Option<String>,
        /// The names of the vertex shaders.
        found: String,
    },
    /// There are several vertex shaders, and no name was given.
    #[error("the source has several vertex shaders, name one of: {found}")]
    Ambiguous {
        /// The names of the vertex shaders.
        found: String,
    },
    /// An `override` constant has no value: neither the source nor the caller gives it one.
    #[error(
        "the constant '{key}' has no value: give it one in the source, or beside it \
         (wgsl::vertex_shader_with; --constant {key}=VALUE)"
    )]
    NoValue {
        /// The `@id` of the constant, or its name if it has none.
        key: String,
    },
    /// A value was given for an `override` constant that the source does not have.
    #[error("the source has no override constant '{key}'; it has: {found}")]
    NoOverride {
        /// The `@id` or the name that was given.
        key: String,
        /// The constants that the source has.
        found: String,
    },
    /// A value was given that the type of its `override` constant cannot represent.
    #[error("the override constant '{key}' cannot be {value}")]
    OverrideValue {
        /// The `@id` of the constant, or its name if it has none.
        key: String,
        /// The value.
        value: String,
    },
    /// naga cannot write the shader as SPIR-V.
    #[error("the shader cannot be written as SPIR-V: {0}")]
    Write(String),
    /// naga panicked, which is always a bug in naga. The panic hook has run before, in the thread
    /// [`NAGA_THREAD`]; the default hook prints a line. If panics abort the process, this error
    /// cannot be returned.
    #[error(
        "naga fails with a panic, which is a bug in naga; other compilers may accept the source: {0}"
    )]
    Panic(String),
    /// The system cannot create a thread to compile in.
    #[error("there is no thread to compile in: {0}")]
    Thread(String),
}

fn prefix(location: &Option<SourceLocation>) -> String {
    location.map_or_else(String::new, |location| format!("{location}: "))
}

fn named(name: &Option<String>) -> String {
    name.as_ref().map_or_else(String::new, |name| format!(" named '{name}'"))
}

/// The outputs that a [`Selector::Name`](crate::capture::Selector::Name) can name: their locations
/// and names. Built-ins and outputs without a name are not listed.
///
/// naga makes a variable from each output, with the name of the member of the result's structure. A result without a
/// structure has no name, and must be captured by location.
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

/// Validates a module, and writes one of its vertex shaders with everything that it uses. `values`
/// are the values of `override` constants; `explain` makes the error of this crate from an error of
/// naga's validator.
fn compile(
    mut module: Module,
    entry_point: Option<&str>,
    values: &[(&str, f64)],
    explain: impl Fn(&WithSpan<ValidationError>) -> FrontendError,
) -> Result<Vec<u32>, FrontendError> {
    let name = choose(&module, entry_point)?.to_owned();
    validate(&module, &explain)?;
    let mut overrides = Overrides::new(&module, values)?;
    // Removes other shaders, which may need device features or fail validation.
    module.entry_points.retain(|entry| entry.stage == ShaderStage::Vertex && entry.name == name);
    compact(&mut module, KeepUnused::No);
    let info = validate(&module, &explain)?;
    let write_error = |error: &dyn std::error::Error| FrontendError::Write(messages(error));
    overrides.keep_those_of(&module);
    let (module, info) = process_overrides(&module, &info, None, overrides.values())
        .map_err(|error| overrides.explain(&module, &info, &error))?;
    check_types(&module)?;
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Vertex, entry_point: name };
    spv::write_vec(&module, &info, &options(), Some(&pipeline)).map_err(|error| write_error(&error))
}

fn validate(
    module: &Module,
    explain: &impl Fn(&WithSpan<ValidationError>) -> FrontendError,
) -> Result<ModuleInfo, FrontendError> {
    // All capabilities are allowed: the application's device may support more than Vulkan 1.0 requires.
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    validator.validate(module).map_err(|error| explain(&error))
}

/// Rejects types for which naga's writer panics.
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

/// The options for writing an application's shader.
fn options() -> spv::Options<'static> {
    spv::Options {
        // Every device supports this version. Lowering keeps it, unless a later stage has a later version.
        lang_version: (1, 0),
        // Names are written, because capture lists refer to outputs by name. The flags that flip y
        // and clamp the point size are not set, because captures must contain the values that the
        // source computes.
        flags: spv::WriterFlags::DEBUG | spv::WriterFlags::LABEL_VARYINGS,
        // An empty map keeps the sets and bindings of the source. naga requires them in the source.
        fake_missing_bindings: true,
        binding_map: spv::BindingMap::default(),
        capabilities: None,
        // Programs in WGSL rely on restricted indices: an index that is out of range reads
        // another element of the same object, and writes nothing outside of the object.
        bounds_check_policies: BoundsCheckPolicies {
            index: BoundsCheckPolicy::Restrict,
            buffer: BoundsCheckPolicy::Restrict,
            image_load: BoundsCheckPolicy::ReadZeroSkipWrite,
            binding_array: BoundsCheckPolicy::Restrict,
        },
        // Vertex shaders have no workgroup memory.
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        // Only browsers need loops that are bounded, because they compile sources that they must
        // not trust.
        force_loop_bounding: false,
        // WGSL defines the result of x / 0, which needs a check.
        emit_int_div_checks: true,
        // Vertex shaders have no ray queries, tasks or meshes.
        ray_query_initialization_tracking: false,
        trace_ray_argument_validation: false,
        task_dispatch_limits: None,
        mesh_shader_primitive_indices_clamp: false,
        // With this option, the device would need the feature storageInputOutput16.
        use_storage_input_output_16: false,
        debug_info: None,
    }
}
