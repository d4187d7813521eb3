//! This module rewrites a shader for a backend: its functions take SPIR-V words, and return
//! [`Lowered`], which has the new words and says what a pipeline with them requires.
//!
//! * [`native`] keeps the shader's own decorations, or decorates it as a capture list says. Call
//!   `split_blocks` of the package `vkxfb-translators` first to split structures, so that native
//!   captures need no additional outputs.
//! * [`vertex`] makes the vertex shader store its captured outputs itself. The pipeline rasterizes as before.
//! * [`compute`] merges the vertex shader and the tessellation and geometry shaders after it into
//!   one compute shader.
//! * [`drawn`] merges a vertex shader and a geometry shader into a vertex shader, for devices without geometry shaders.
//! * [`strip`] removes transform feedback, for a driver that must not capture because another
//!   backend does.
//! * [`streams`] reduces a geometry shader to the vertex stream that is rasterized.
//!
//! [`native`] and [`compute`] capture the outputs of vertex, tessellation evaluation and geometry
//! shaders, [`vertex`] only those of vertex shaders. For the later stages, [`compute`] also takes
//! the shaders before the captured one. [`native`] takes them only if a
//! `vkxfb::runtime::Pipeline` is to be created from the result
//! ([`native::Options::vertex_shader`]). [`vertex`] and [`compute`] link functions of
//! `shaders/*.wgsl`, which implement primitive decomposition, into the shader; `library` generates
//! the bodies of the stubs in `shaders/stubs.wgsl`.

mod access;
pub mod compute;
mod descriptors;
mod device_address;
pub mod drawn;
mod effects;
mod error;
mod explicit_layout;
mod functions;
mod inputs;
pub mod interface;
pub mod kernel;
mod library;
mod lowered;
pub mod native;
mod options;
mod push_constants;
pub mod reflect;
mod resources;
mod specialized;
mod stages;
mod staging;
mod store;
pub mod streams;
pub mod strip;
mod sysvals;
mod undefined;
mod uses;
pub mod vertex;
mod widen;

use std::borrow::Cow;
use std::collections::BTreeSet;

pub use self::effects::Effects;
pub use self::error::LowerError;
pub use self::lowered::{
    Lowered, LoweredAttribute, LoweredCompute, LoweredKind, LoweredNative, LoweredStage,
    LoweredVertex, SpecIds, WideAccesses,
};
pub use self::resources::ResourcePlan;
pub use self::stages::modes::{
    GeometryInput, LoweredGeometry, LoweredTessellation, MAX_PATCH_SIZE,
};
pub use self::sysvals::SysvalsPlace;

use spirv::ExecutionModel;

use crate::capture::{BufferMode, CaptureError, CaptureList, Layout};
use crate::setters;
use crate::spirv::Module;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{
    EntryPoint, EntryPointError, find_captured_shader, find_vertex_shader,
};
use crate::spirv::specialization::{SpecializationConstant, specialize};
use crate::spirv::static_use::StaticUse;

/// The number of input locations that lowering supports. Devices have 16 to 64; without a limit, an
/// array of 2^32 elements would exhaust the memory.
pub const MAX_INPUT_LOCATIONS: u32 = 256;

/// A shader to lower, and what to capture from it.
///
/// ```
/// use vkxfb_rewriter::lower::Shader;
/// use vkxfb_rewriter::capture::BufferMode;
/// use vkxfb_rewriter::frontend::wgsl;
/// use vkxfb_rewriter::lower::native;
///
/// let spirv = wgsl::vertex_shader(
///     "struct Output { @builtin(position) position: vec4f, @location(0) colour: vec3f }
///     @vertex fn shade(@location(0) at: vec4f) -> Output { return Output(at, at.xyz); }",
///     None,
/// )?;
/// // The names of the outputs to capture, as `glTransformFeedbackVaryings` takes them.
/// let shader = Shader::new(&spirv).entry_point("shade");
/// let list = shader.varyings(&["@0", "@Position"], BufferMode::Interleaved)?;
///
/// let lowered = native::lower(&shader.captures(&list))?;
/// assert_eq!(lowered.layout.strides, [Some(12 + 16), None, None, None]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct Shader<'a> {
    /// The SPIR-V words.
    pub words: &'a [u32],
    /// The stage of the shader: vertex, or on the native and compute backends tessellation
    /// evaluation or geometry. `None` selects the first of these stages that the module has. If the
    /// options contain the shaders before this one ([`compute::Options::vertex_shader`]), `None`
    /// selects the stage that follows those shaders.
    pub stage: Option<ExecutionModel>,
    /// The name of the entry point; `None` selects the only one of the stage.
    pub entry_point: Option<&'a str>,
    /// The outputs to capture.
    pub captures: Captures<'a>,
    /// The values of specialisation constants, as in `VkSpecializationInfo`.
    ///
    /// They are written into the lowered module, and the constants without a value get their
    /// defaults. This is necessary because the lengths of arrays determine the offsets in a record,
    /// so that a layout is valid for one set of values only. The pipeline must not be given the
    /// values again; for other values the shader must be lowered again.
    pub specialization: &'a [SpecializationConstant<'a>],
}

/// The ways to specify the outputs to capture.
#[derive(Debug, Clone, Copy, Default)]
pub enum Captures<'a> {
    /// The decorations of the module specify the outputs. The module must have the execution mode `Xfb`.
    #[default]
    Decorations,
    /// A list specifies the outputs. Decorations are ignored.
    List(&'a CaptureList),
    /// These outputs are captured in interleaved mode: the names are those that [`Shader::varyings`] takes. Decorations
    /// are ignored.
    Varyings(&'a [&'a str]),
    /// No outputs are captured: the primitives are only counted. Decorations are ignored.
    Nothing,
}

impl<'a> From<&'a [u32]> for Shader<'a> {
    fn from(words: &'a [u32]) -> Self {
        Self::new(words)
    }
}

impl<'a> From<&'a Vec<u32>> for Shader<'a> {
    fn from(words: &'a Vec<u32>) -> Self {
        Self::new(words)
    }
}

impl<'a> Shader<'a> {
    /// Describes the shader of a module with a single entry point, whose decorations say what is
    /// captured.
    pub const fn new(words: &'a [u32]) -> Self {
        let captures = Captures::Decorations;
        Self { words, stage: None, entry_point: None, captures, specialization: &[] }
    }

    setters! {
        stage?: ExecutionModel,
        entry_point?: &'a str,
        specialization: &'a [SpecializationConstant<'a>],
    }

    /// Sets [`captures`](field@Self::captures) to a list. Decorations are ignored.
    pub const fn captures(mut self, list: &'a CaptureList) -> Self {
        self.captures = Captures::List(list);
        self
    }

    /// Makes a capture list from the names of outputs, as `glTransformFeedbackVaryings` takes them ([OpenGL 4.6 section
    /// 11.1.2.1](https://registry.khronos.org/OpenGL/specs/gl/glspec46.core.pdf)).
    ///
    /// An output can also be named by its location or built-in, because modules may have no names,
    /// or names that the compiler chose: `@3` is the output at location 3, `@3.yz` the second and
    /// third 32-bit components of that location, `@Position` the output with the built-in
    /// `Position` of SPIR-V, `@Position.xyz` its first three components. The GLSL names of
    /// built-ins (`gl_Position`) are found whatever names the module uses.
    ///
    /// Unlike in OpenGL, an output may be named several times. Then it is captured to each of these places.
    ///
    /// # Errors
    /// [`LowerError::Parse`], [`LowerError::Specialization`], [`LowerError::EntryPoint`], and
    /// [`LowerError::Capture`]: an output does not exist, there are too many buffers, a special name is
    /// used in [`BufferMode::Separate`], or records are too long.
    pub fn varyings(
        &self,
        names: &[impl AsRef<str>],
        mode: BufferMode,
    ) -> Result<CaptureList, LowerError> {
        let module = self.module()?;
        let (declarations, entry) = (Declarations::of(&module), self.find(&module)?);
        Ok(CaptureList::from_varyings(&declarations, &entry, names, mode)?)
    }

    /// The list of the outputs to capture, if [`captures`](field@Self::captures) is a list or names of outputs. Names are
    /// looked up in the shader that [`find`](Self::find) finds, so of a module with several stages
    /// [`stage`](field@Self::stage) must say which.
    ///
    /// # Errors
    /// The errors of [`varyings`](Self::varyings), for names.
    pub fn list(&self) -> Result<Option<Cow<'a, CaptureList>>, LowerError> {
        Ok(match self.captures {
            Captures::Decorations | Captures::Nothing => None,
            Captures::List(list) => Some(Cow::Borrowed(list)),
            Captures::Varyings(names) => {
                Some(Cow::Owned(self.varyings(names, BufferMode::Interleaved)?))
            }
        })
    }

    /// Parses the words, and replaces specialisation constants by constants. If lengths of arrays
    /// depend on specialisation constants, make a [`CaptureList`] from this module, in which these
    /// lengths are known.
    ///
    /// # Errors
    /// [`LowerError::Parse`], [`LowerError::Specialization`].
    pub fn module(&self) -> Result<Module, LowerError> {
        Ok(self.specialized()?.0)
    }

    /// Returns the [`module`](Self::module) with the `SpecId`s of its constants and of the given values. The lowered
    /// module must not use these `SpecId`s for other constants, because the application's pipelines may set values for
    /// them.
    fn specialized(&self) -> Result<(Module, BTreeSet<u32>), LowerError> {
        let mut module = Module::parse(self.words)?;
        let mut spec_ids = specialize(&mut module, self.specialization)?;
        spec_ids.extend(self.specialization.iter().map(|constant| constant.constant_id));
        push_constants::make_typed(&mut module);
        tracing::debug!(words = self.words.len(), ?spec_ids, "module read");
        Ok((module, spec_ids))
    }

    /// Finds the shader's entry point in the module that [`module`](Self::module) returns.
    ///
    /// # Errors
    /// [`EntryPointError`]
    pub fn find(&self, module: &Module) -> Result<EntryPoint, EntryPointError> {
        find_captured_shader(module, self.stage, self.entry_point)
    }

    /// Returns the value that [`Lowered::effects`] has when this shader is lowered without shaders
    /// before it.
    ///
    /// # Errors
    /// [`LowerError::Parse`], [`LowerError::Specialization`], [`LowerError::EntryPoint`].
    pub fn effects(&self) -> Result<Effects, LowerError> {
        let module = self.module()?;
        let used = StaticUse::of(&module, self.find(&module)?.function);
        Ok(Effects::of(&module, &Declarations::of(&module), &used))
    }

    /// Finds the entry point of a shader that has to be a vertex shader. If `self.stage` is `None`,
    /// the module's vertex shader is selected.
    ///
    /// # Errors
    /// [`EntryPointError`], [`LowerError::NativeOnly`] for a shader of another stage.
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

    /// Finds the entry point of a shader that follows other shaders in the pipeline, so that it has
    /// to be of the stage `expected`. If `self.stage` is `None`, the module's shader of this stage
    /// is selected, although the module may also have a vertex shader.
    ///
    /// # Errors
    /// [`EntryPointError`], [`LowerError::OtherStage`].
    fn later_shader(
        &self,
        module: &Module,
        expected: ExecutionModel,
    ) -> Result<EntryPoint, LowerError> {
        let stage = self.stage.unwrap_or(expected);
        let entry = find_captured_shader(module, Some(stage), self.entry_point)?;
        if entry.model == expected {
            Ok(entry)
        } else {
            Err(LowerError::OtherStage { stage, expected, entry_point: entry.name })
        }
    }

    /// Computes the layout of the captured outputs, which lowering returns in [`Lowered::layout`], without lowering the
    /// shader.
    ///
    /// # Errors
    /// [`LowerError::Parse`], [`LowerError::Specialization`], [`LowerError::EntryPoint`], [`LowerError::Capture`].
    pub fn layout(&self) -> Result<Layout, LowerError> {
        let module = self.module()?;
        let (declarations, entry) = (Declarations::of(&module), self.find(&module)?);
        Ok(self.layout_of(&module, &declarations, &entry)?)
    }

    fn layout_of(
        &self,
        module: &Module,
        declarations: &Declarations,
        entry: &EntryPoint,
    ) -> Result<Layout, CaptureError> {
        let layout = match self.captures {
            Captures::Decorations => Layout::from_decorations(module, declarations, entry),
            Captures::Nothing => Ok(Layout::default()),
            Captures::List(list) => Layout::from_list(declarations, entry, list),
            Captures::Varyings(names) => {
                let mode = BufferMode::Interleaved;
                let list = CaptureList::from_varyings(declarations, entry, names, mode)?;
                Layout::from_list(declarations, entry, &list)
            }
        }?;
        layout.trace(&entry.name);
        Ok(layout)
    }
}

/// The ways to capture a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// The driver captures with `VK_EXT_transform_feedback`.
    Native,
    /// The vertex shader stores its captured outputs itself, in the application's own draw.
    Vertex,
    /// The vertex shader, together with the tessellation and geometry shaders that follow it, runs
    /// as a compute shader, which reads vertex attributes from the vertex buffers itself.
    Compute,
}

impl Backend {
    /// All backends, native first.
    pub const ALL: [Self; 3] = [Self::Native, Self::Vertex, Self::Compute];

    /// The name in lower case, as on the command line.
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
