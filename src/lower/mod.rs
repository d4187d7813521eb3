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
mod explicit_layout;
mod functions;
mod inputs;
mod interface;
pub mod kernel;
mod library;
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
use std::ops::Range;

pub use self::resources::ResourcePlan;
pub use self::sysvals::SysvalsPlace;

use spirv::ExecutionModel;
use xxhash_rust::xxh3::Xxh3Default;

use crate::capture::{CaptureError, CaptureList, Layout};
use crate::spirv::NumericClass;
use crate::spirv::declarations::Declarations;
use crate::spirv::entry_point::{
    EntryPoint, EntryPointError, find_captured_shader, find_vertex_shader,
};
use crate::spirv::link::LinkError;
use crate::spirv::specialization::{SpecializationConstant, SpecializationError, specialize};
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Module, ParseError};
use crate::vertex_input::{InputRate, VertexFormat};

/// Locations that inputs may take. Devices have 16 to 64; without a limit an array could ask for 2^32.
pub const MAX_INPUT_LOCATIONS: u32 = 256;

/// A shader that cannot be lowered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The words are no SPIR-V module.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The module lacks the shader.
    #[error(transparent)]
    EntryPoint(#[from] EntryPointError),
    /// The decorations describe no capture that is supported.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Values that the module's specialisation constants cannot have.
    #[error(transparent)]
    Specialization(#[from] SpecializationError),
    /// A mistake in this crate's shader library.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// More outputs than the device has room for.
    #[error(
        "the captures need {needed} output locations of their own, of which {left} are left \
         (the limit is {max_output_components} components)"
    )]
    LocationBudget {
        /// Locations that the captures need, beyond the shader's own.
        needed: u32,
        /// Locations that are left.
        left: u32,
        /// The limit, as [`native::EmitOptions`] has it.
        max_output_components: u32,
    },
    /// A stage whose outputs are not captured.
    #[error(
        "outputs of {0:?} shaders are not captured; those of vertex, tessellation evaluation and geometry \
         shaders are"
    )]
    Stage(ExecutionModel),
    /// A stage that only the driver captures.
    #[error(
        "{stage:?} '{entry_point}' can be captured on the native backend only; the others take vertex shaders"
    )]
    NativeOnly {
        /// The stage.
        stage: ExecutionModel,
        /// The entry point.
        entry_point: String,
    },
    /// A push constant that is no number, nor made of numbers and device addresses.
    #[error("push constant {member} is {ty}, which has no bytes to be read from")]
    PushConstantType {
        /// Where it is in which variable.
        member: String,
        /// The type in words.
        ty: String,
    },
    /// A push constant whose bytes cannot be told.
    #[error("push constant {member}, or a part of it, {problem}")]
    PushConstantLayout {
        /// Where it is in which variable.
        member: String,
        /// What is wrong.
        problem: String,
    },
    /// A built-in input that a compute shader cannot be given.
    #[error("input {variable} is the built-in {built_in}, which the compute backend cannot supply")]
    BuiltIn {
        /// The variable's name or id.
        variable: String,
        /// `SpvBuiltIn`.
        built_in: String,
    },
    /// An input that no vertex format fills.
    #[error(
        "input {variable} is {ty}; the compute backend pulls only scalars and vectors, and matrices, arrays and \
         structures of them"
    )]
    InputType {
        /// The variable's name or id.
        variable: String,
        /// The type in words.
        ty: String,
    },
    /// An input, output or push constant of 8 or 16 bits a component, or a value of one, that is not converted.
    #[error(
        "{id} is {ty}, or moves it as a whole: of inputs, outputs and push constants with components of 8 and 16 \
         bits, those with initialisers, those of very many parts, and matrices of push constants that the module may \
         not compute with are not supported on this backend"
    )]
    NarrowComposite {
        /// The name or id of the variable, the pointer or the value.
        id: String,
        /// The type in words.
        ty: String,
    },
    /// An input that is neither a built-in nor has a location.
    #[error("input {variable} has no Location")]
    NoLocation {
        /// The variable's name or id.
        variable: String,
    },
    /// An input at a location that no device has.
    #[error("input {variable} takes locations up to {last}; at most {max} are supported")]
    LocationLimit {
        /// The variable's name or id.
        variable: String,
        /// The last location that it takes.
        last: u64,
        /// Locations that are supported.
        max: u32,
    },
    /// The vertex input state lacks an attribute or its binding.
    #[error(
        "input {variable} reads location {location}, for which the vertex input has no {missing}"
    )]
    NoAttribute {
        /// The variable's name or id.
        variable: String,
        /// The location.
        location: u32,
        /// "attribute" or "binding N".
        missing: String,
    },
    /// Format and shader disagree.
    #[error(
        "input {variable} is {expected:?}, but the attribute at location {location} is {found:?}"
    )]
    AttributeClass {
        /// The variable's name or id.
        variable: String,
        /// The location.
        location: u32,
        /// What the shader reads.
        expected: NumericClass,
        /// What the format holds.
        found: NumericClass,
    },
    /// Format and shader disagree on what is 64 bits wide.
    #[error(
        "input {variable} has components of {expected} bits, but the attribute at location {location} is \
         read as {found} bits"
    )]
    AttributeWidth {
        /// The variable's name or id.
        variable: String,
        /// The location.
        location: u32,
        /// Bits of the shader's components.
        expected: u32,
        /// Bits that the format gives: 64 for 64-bit formats, 32 for all others.
        found: u32,
    },
    /// A 64-bit input wants components that the format lacks: there are no default ones of 64 bits.
    #[error(
        "input {variable} reads {needed} 64-bit components of the attribute at location {location}, \
         which has {found}"
    )]
    AttributeComponents {
        /// The variable's name or id.
        variable: String,
        /// The location.
        location: u32,
        /// Components that are read, counted from the first.
        needed: u32,
        /// Components of the format.
        found: u32,
    },
    /// The shader uses the descriptor set of the resource plan, or one behind it.
    #[error(
        "variable {variable} is in descriptor set {used}: set {set} is the resource plan's, and the \
         application's are those below"
    )]
    DescriptorSet {
        /// The variable's name or id.
        variable: String,
        /// Its set.
        used: u32,
        /// The plan's.
        set: u32,
    },
    /// A resource plan by descriptors with too few of them, or too many.
    #[error(
        "the resource plan has {reads} storage buffers to read and {writes} to write: there has to be one to \
         write, more to read, and at most {max} in all",
        max = ResourcePlan::MAX_STORAGE_BUFFERS
    )]
    StorageBuffers {
        /// Buffers to read.
        reads: u32,
        /// Buffers to write.
        writes: u32,
    },
    /// Sysvals where no push constants may be.
    #[error(
        "push constants from byte {} on for sysvals: it has to be a multiple of {alignment}, and {max} bytes are \
         the end of all push constants",
        .0.offset(),
        alignment = SysvalsPlace::ALIGNMENT,
        max = push_constants::MAX_PUSH_CONSTANTS
    )]
    SysvalsOffset(SysvalsPlace),
    /// Workgroups without invocations.
    #[error("the workgroup size is 0")]
    WorkgroupSize,
    /// An interface too long for one instruction.
    #[error("the entry point's interface has {0} variables, more than OpEntryPoint can list")]
    InterfaceLimit(usize),
}

/// A shader that is to be lowered, and what of it is to be captured.
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

/// A shader rewritten for a backend, and what the runtime has to know about it.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The backend that it was rewritten for, and what only captures by that backend need to know.
    pub kind: LoweredKind,
    /// The stage of the shader that went in: other than vertex on the native backend only.
    pub stage: ExecutionModel,
    /// SPIR-V.
    pub words: Vec<u32>,
    /// Name of the entry point in `words`.
    pub entry_point: String,
    /// What is captured.
    pub layout: Layout,
    /// Whether the shader itself stores, writes images or uses atomics. Where the application keeps
    /// its draw beside a compute capture, that happens twice.
    pub has_side_effects: bool,
    /// Numbers of the descriptor sets that the shader itself uses, in order: those of which a pipeline needs
    /// the layouts. [`reflect::resource_interface`] says what is in them.
    pub descriptor_sets: Vec<u32>,
    /// Bytes of the application's push constants that the shader reads, from a multiple of 16 to a multiple of
    /// 16: what [`Sysvals::table`](crate::sysval::Sysvals::table) begins with. On the native backend, which
    /// reads them where they are, those of its whole block: a range of a pipeline layout has to have the block.
    /// `0..0` where there are none.
    pub push_constants: Range<u32>,
    /// Indices in [`Layout::outputs`] of what the shader does not write on every path, as far as its code shows.
    /// Where it does not, the specification leaves the captured value undefined; on the vertex and compute
    /// backends it is 0.
    pub unwritten: Vec<usize>,
    /// Whether the shader may use other values that are undefined: `OpUndef`, or variables that are read before
    /// they are written. On the vertex and compute backends they are 0.
    pub reads_undefined: bool,
}

/// What of a [`Lowered`] shader is of one backend alone.
#[derive(Debug, Clone)]
pub enum LoweredKind {
    /// [`Backend::Native`]: no code is generated.
    Native,
    /// [`Backend::Vertex`]
    Vertex(LoweredVertex),
    /// [`Backend::Compute`]
    Compute(LoweredCompute),
}

/// What the vertex backend has of a [`Lowered`] shader. Its generated code reaches memory by device addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoweredVertex {
    /// Specialisation constants of what may occur.
    pub spec_ids: SpecIds,
    /// Where the generated code finds its [`Sysvals`](crate::sysval::Sysvals).
    pub sysvals: SysvalsPlace,
}

/// What the compute backend has of a [`Lowered`] shader. Its [`Sysvals`](crate::sysval::Sysvals) are in the first push
/// constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredCompute {
    /// Specialisation constants of what may occur.
    pub spec_ids: SpecIds,
    /// How the generated code reaches memory.
    pub resources: ResourcePlan,
    /// The attribute that each descriptor slot of the sysvals serves, in slot order.
    pub attributes: Vec<LoweredAttribute>,
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
    /// Bytes of shared memory of a workgroup.
    pub shared_memory: u32,
}

/// A vertex attribute as a compute shader was lowered to pull it. Its binding, its offset and the stride are
/// told at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoweredAttribute {
    /// Location of the shader's input.
    pub location: u32,
    /// Format of the data.
    pub format: VertexFormat,
    /// What advances the element.
    pub input_rate: InputRate,
}

/// `SpecId`s of constants by which a pipeline folds away what cannot occur. By their defaults everything is
/// decided at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecIds {
    /// The value of the [`XfbTopology`](crate::topology::XfbTopology) of all draws, or by default
    /// [`ANY_TOPOLOGY`](Self::ANY_TOPOLOGY).
    pub topology: u32,
    /// Whether primitive restart may be enabled, as a boolean. Compute only.
    pub restart: u32,
    /// Whether a dispatch may have several draws, or an index buffer. Compute only.
    pub general: u32,
    /// Whether the device profits from knowing which accesses are aligned to their size.
    pub wide: u32,
}

impl SpecIds {
    /// Draws may have any topology.
    pub const ANY_TOPOLOGY: u32 = u32::MAX;
}

impl Lowered {
    /// The backend that it was rewritten for.
    pub const fn backend(&self) -> Backend {
        match self.kind {
            LoweredKind::Native => Backend::Native,
            LoweredKind::Vertex(_) => Backend::Vertex,
            LoweredKind::Compute(_) => Backend::Compute,
        }
    }

    /// What the compute backend has of it; `None` on the others.
    pub const fn compute(&self) -> Option<&LoweredCompute> {
        match &self.kind {
            LoweredKind::Compute(compute) => Some(compute),
            LoweredKind::Native | LoweredKind::Vertex(_) => None,
        }
    }

    /// Specialisation constants of what may occur. `None` on the native backend.
    pub const fn spec_ids(&self) -> Option<SpecIds> {
        match &self.kind {
            LoweredKind::Native => None,
            LoweredKind::Vertex(vertex) => Some(vertex.spec_ids),
            LoweredKind::Compute(compute) => Some(compute.spec_ids),
        }
    }

    /// How the generated code reaches memory. `None` on the native backend, which generates none.
    pub const fn resources(&self) -> Option<ResourcePlan> {
        match &self.kind {
            LoweredKind::Native => None,
            LoweredKind::Vertex(_) => Some(vertex::RESOURCES),
            LoweredKind::Compute(compute) => Some(compute.resources),
        }
    }

    /// Where the generated code finds its [`Sysvals`](crate::sysval::Sysvals). `None` on the native backend, which
    /// generates none.
    pub const fn sysvals(&self) -> Option<SysvalsPlace> {
        match &self.kind {
            LoweredKind::Native => None,
            LoweredKind::Vertex(vertex) => Some(vertex.sysvals),
            LoweredKind::Compute(_) => Some(SysvalsPlace::FIRST),
        }
    }

    /// A key to keep what is made of [`words`](Self::words) by: pipelines, a driver's binaries.
    ///
    /// It is [XXH3](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) of 128 bits with
    /// seed 0, of the words as little-endian bytes: what `xxh128sum` prints for the module as a file,
    /// on every machine. So it depends on what was lowered and by which options, and on nothing
    /// else: one version of this crate gives one module for them. Whatever is beside the words is not
    /// in it, such as [`entry_point`](Self::entry_point) where a module has several, or vertex input
    /// state.
    ///
    /// XXH3 is no cryptographic hash: who wants two modules of one key can make them.
    pub fn cache_key(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        // As one slice where that is how the words lie in memory.
        if cfg!(target_endian = "little") {
            hash.update(bytemuck::cast_slice(&self.words));
        } else {
            self.words.iter().for_each(|word| hash.update(&word.to_le_bytes()));
        }
        hash.digest128()
    }
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
