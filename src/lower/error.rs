//! Why a shader cannot be lowered.

use spirv::ExecutionModel;

use super::push_constants;
use super::{ResourcePlan, SysvalsPlace};
use crate::capture::CaptureError;
use crate::spirv::entry_point::EntryPointError;
use crate::spirv::link::LinkError;
use crate::spirv::specialization::SpecializationError;
use crate::spirv::{NumericClass, ParseError};

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
        /// The limit, as [`native::EmitOptions`](super::native::EmitOptions) has it.
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
