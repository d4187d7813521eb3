//! Rewriting a shader for a backend: SPIR-V words in, words and a report of what they bind out.
//!
//! [`native`] takes the shader as it is, or decorates it as a list says; [`split_blocks`] takes structures apart, so
//! that this needs no outputs of its own. Both take tessellation evaluation and geometry shaders as well as vertex
//! shaders, the other backends vertex shaders alone. [`vertex`] lets it store its own contributions while it goes on
//! to rasterize. [`compute`] turns it into a compute shader. The two latter link in the functions of
//! `shaders/*.wgsl`, in which the decomposition is written; `library` gives the stubs there their bodies. [`strip`]
//! takes transform feedback out, for a driver that is not to capture.

#![forbid(unsafe_code)]

pub mod broadcast;
pub mod compute;
mod descriptors;
mod device_address;
mod error;
mod explicit_layout;
mod functions;
mod inputs;
mod interface;
pub mod kernel;
mod library;
mod lowered;
pub mod native;
mod push_constants;
pub mod reflect;
mod resources;
pub mod split_blocks;
mod staging;
mod store;
pub mod strip;
mod sysvals;
mod undefined;
mod uses;
pub mod vertex;
mod widen;

use std::collections::BTreeSet;

pub use self::error::LowerError;
pub use self::lowered::{
    Lowered, LoweredAttribute, LoweredCompute, LoweredKind, LoweredVertex, SpecIds,
};
pub use self::resources::ResourcePlan;
pub use self::sysvals::SysvalsPlace;

use spirv::ExecutionModel;

use crate::capture::{CaptureError, CaptureList, Layout};
use crate::spirv::Module;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{
    EntryPoint, EntryPointError, find_captured_shader, find_vertex_shader,
};
use crate::spirv::specialization::{SpecializationConstant, specialize};
use crate::spirv::static_use::StaticUse;

/// Locations that inputs may take. Devices have 16 to 64; without a limit an array could ask for 2^32.
pub const MAX_INPUT_LOCATIONS: u32 = 256;

/// A shader that is to be lowered, and what of it is to be captured.
///
/// ```
/// use vkxfb::Shader;
/// use vkxfb::capture::{BufferMode, CaptureList};
/// use vkxfb::frontend::wgsl;
/// use vkxfb::lower::native;
/// use vkxfb::spirv::declarations::Declarations;
///
/// let spirv = wgsl::vertex_shader(
///     "struct Output { @builtin(position) position: vec4f, @location(0) colour: vec3f }
///     @vertex fn shade(@location(0) at: vec4f) -> Output { return Output(at, at.xyz); }",
///     None,
/// )?;
/// // What is captured of a shader without decorations, as OpenGL names it.
/// let shader = Shader::new(&spirv).entry_point("shade");
/// let module = shader.module()?;
/// let (declarations, entry) = (Declarations::of(&module), shader.find(&module)?);
/// let names = ["@0", "@Position"];
/// let list =
///     CaptureList::from_varyings(&declarations, &entry, &names, BufferMode::Interleaved)?;
///
/// let lowered = native::lower(&shader.captures(&list))?;
/// assert_eq!(lowered.layout.strides, [Some(12 + 16), None, None, None]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Shader<'a> {
    /// SPIR-V.
    pub words: &'a [u32],
    /// The stage: vertex, or on the native backend also tessellation evaluation or geometry. `None` takes the
    /// first of these that the module has.
    pub stage: Option<ExecutionModel>,
    /// The shader's name; `None` takes the only one of the stage.
    pub entry_point: Option<&'a str>,
    /// What is captured.
    pub captures: Captures<'a>,
    /// The values of specialisation constants: what `VkSpecializationInfo` would give the pipeline.
    ///
    /// They are written into the lowered module, and the constants without a value become their defaults:
    /// lengths of arrays decide where a record's values lie, so that a layout belongs to one set of values.
    /// A pipeline is given none of them again, and cannot contradict the layout by others. Another set of
    /// values is another lowering.
    pub specialization: &'a [SpecializationConstant<'a>],
}

/// Where it says what is captured.
#[derive(Debug, Clone, Copy, Default)]
pub enum Captures<'a> {
    /// The module's decorations, under the execution mode `Xfb`.
    #[default]
    Decorations,
    /// A list, whatever the decorations say.
    List(&'a CaptureList),
}

impl<'a> Shader<'a> {
    /// The only shader of a module, with what its decorations capture.
    pub const fn new(words: &'a [u32]) -> Self {
        let captures = Captures::Decorations;
        Self { words, stage: None, entry_point: None, captures, specialization: &[] }
    }

    /// Sets [`entry_point`](field@Self::entry_point).
    pub const fn entry_point(mut self, name: &'a str) -> Self {
        self.entry_point = Some(name);
        self
    }

    /// Sets [`captures`](field@Self::captures): a list, whatever the decorations say.
    pub const fn captures(mut self, list: &'a CaptureList) -> Self {
        self.captures = Captures::List(list);
        self
    }

    /// Sets [`specialization`](field@Self::specialization).
    pub const fn specialization(mut self, values: &'a [SpecializationConstant<'a>]) -> Self {
        self.specialization = values;
        self
    }

    /// The module with its specialisation constants made constants: what a [`CaptureList`] for this shader
    /// is made from, where lengths of arrays depend on them.
    ///
    /// # Errors
    /// [`LowerError::Parse`], [`LowerError::Specialization`].
    pub fn module(&self) -> Result<Module, LowerError> {
        Ok(self.specialized()?.0)
    }

    /// The same, and the `SpecId`s that an application may use of the pipeline, to no effect.
    fn specialized(&self) -> Result<(Module, BTreeSet<u32>), LowerError> {
        let mut module = Module::parse(self.words)?;
        let mut spec_ids = specialize(&mut module, self.specialization)?;
        spec_ids.extend(self.specialization.iter().map(|constant| constant.constant_id));
        tracing::debug!(words = self.words.len(), ?spec_ids, "module read");
        Ok((module, spec_ids))
    }

    /// The shader itself, of [`module`](Self::module).
    ///
    /// # Errors
    /// [`EntryPointError`]
    pub fn find(&self, module: &Module) -> Result<EntryPoint, EntryPointError> {
        find_captured_shader(module, self.stage, self.entry_point)
    }

    /// What [`Lowered::has_side_effects`] is when the shader is lowered.
    ///
    /// # Errors
    /// As [`module`](Self::module) and [`find`](Self::find).
    pub fn has_side_effects(&self) -> Result<bool, LowerError> {
        let module = self.module()?;
        let used = StaticUse::of(&module, self.find(&module)?.function);
        Ok(interface::has_side_effects(&module, &Declarations::of(&module), &used))
    }

    /// The same for a backend that rewrites what runs.
    fn vertex_shader(&self, module: &Module) -> Result<EntryPoint, LowerError> {
        let entry = match self.find(module) {
            Err(_) if self.stage.is_none() => find_vertex_shader(module, self.entry_point)?,
            found => found?,
        };
        match entry.model {
            ExecutionModel::Vertex => Ok(entry),
            stage => Err(LowerError::NativeOnly { stage, entry_point: entry.name }),
        }
    }

    /// The layout of what is captured.
    fn layout(
        &self,
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
    ) -> Result<Layout, CaptureError> {
        let layout = match self.captures {
            Captures::Decorations => Layout::from_decorations(module, declarations, entry),
            Captures::List(list) => Layout::from_list(declarations, entry, list),
        }?;
        layout.trace(&entry.name);
        Ok(layout)
    }
}

/// Who does the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// The driver's own `VK_EXT_transform_feedback`.
    Native,
    /// The vertex shader stores its contributions itself, in the application's own draw.
    Vertex,
    /// The vertex shader runs as a compute shader that pulls its vertices.
    Compute,
}

impl Backend {
    /// All of them, the driver's own first.
    pub const ALL: [Self; 3] = [Self::Native, Self::Vertex, Self::Compute];

    /// The name in lower case, as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Vertex => "vertex",
            Self::Compute => "compute",
        }
    }
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
