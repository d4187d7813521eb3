//! The errors of lowering.

use spirv::{ExecutionMode, ExecutionModel};

use super::push_constants;
use super::{GeometryInput, ResourcePlan, SysvalsPlace};
use crate::capture::CaptureError;
use crate::spirv::ParseError;
use crate::spirv::entry_point::EntryPointError;
use crate::spirv::link::LinkError;
use crate::spirv::merge::MergeError;
use crate::spirv::specialization::SpecializationError;

/// The reason why a shader cannot be lowered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// The words are not a SPIR-V module.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The module has no shader with the requested stage and name, or several.
    #[error(transparent)]
    EntryPoint(#[from] EntryPointError),
    /// The capture list or the decorations do not match the shader, or are not supported.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Values do not match the module's specialisation constants.
    #[error(transparent)]
    Specialization(#[from] SpecializationError),
    /// The shader library cannot be linked into the module. This is a bug in this crate.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The captures need more output locations than the device has.
    #[error(
        "the captures need {needed} output locations of their own, of which {left} are left \
         (the limit is {max_output_components} components)"
    )]
    LocationBudget {
        /// The number of locations that the captures need, in addition to the shader's own.
        needed: u32,
        /// The number of locations that are left.
        left: u32,
        /// The limit that was exceeded:
        /// [`EmitOptions::max_output_components`](super::native::EmitOptions::max_output_components).
        max_output_components: u32,
    },
    /// The shader is of a stage whose outputs cannot be captured.
    #[error(
        "outputs of {0:?} shaders are not captured; those of vertex, tessellation evaluation and geometry \
         shaders are"
    )]
    Stage(ExecutionModel),
    /// The modules of two stages cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// The stage of a shader is not the stage that the shader's place in the pipeline requires.
    #[error("{stage:?} '{entry_point}' follows shaders that a {expected:?} shader follows")]
    OtherStage {
        /// The stage of the shader.
        stage: ExecutionModel,
        /// The stage that follows the shaders before it.
        expected: ExecutionModel,
        /// The name of the entry point.
        entry_point: String,
    },
    /// A tessellation shader lacks an execution mode that every pipeline with tessellation must have.
    #[error("tessellation shader '{entry_point}' does not declare the {what}")]
    TessellationModes {
        /// The name of the entry point.
        entry_point: String,
        /// What the missing execution mode declares, in words.
        what: &'static str,
    },
    /// A geometry shader does not take the primitives that patches are divided into.
    #[error(
        "geometry shader '{entry_point}' takes {takes:?}, and patches are divided into primitives of {vertices} vertices"
    )]
    TessellatedPrimitives {
        /// The name of the entry point.
        entry_point: String,
        /// The input primitives of the geometry shader.
        takes: GeometryInput,
        /// The number of vertices of the primitives that patches are divided into.
        vertices: u32,
    },
    /// Tessellation shaders are given without the vertex shader before them.
    #[error("tessellation shaders are given without a vertex shader")]
    NoVertexShader,
    /// A tessellation evaluation shader is given without the tessellation control shader before it.
    #[error("a tessellation evaluation shader is given without a tessellation control shader")]
    NoControlShader,
    /// A tessellation control shader is given without the tessellation evaluation shader after it.
    #[error("a tessellation control shader is given without a tessellation evaluation shader")]
    NoEvaluationShader,
    /// The compute backend cannot split a tessellation control shader at its barriers. Either a
    /// barrier is in a loop, in a selection, after a possible return, or in a function other than
    /// that of the entry point, which GLSL does not allow. Or the shader uses, after a barrier, a
    /// value from before it that cannot be stored in an array, such as some pointers.
    #[error("tessellation control shader '{entry_point}' has a barrier {what}")]
    ControlBarrier {
        /// The name of the entry point.
        entry_point: String,
        /// Where the barrier is, or what is behind it.
        what: &'static str,
    },
    /// A geometry shader lacks an execution mode that every geometry shader must have.
    #[error("geometry shader '{entry_point}' does not declare the {what}")]
    GeometryModes {
        /// The name of the entry point.
        entry_point: String,
        /// What the missing execution mode declares, in words.
        what: &'static str,
    },
    /// A geometry shader emits to a vertex stream that does not exist or is not a constant.
    #[error(
        "geometry shader '{entry_point}' emits to vertex stream {stream}; the streams are 0 to 3"
    )]
    Stream {
        /// The name of the entry point.
        entry_point: String,
        /// The stream, or the id of the value that is not a constant.
        stream: String,
    },
    /// The execution modes of two stages require different behaviour of floating-point operations, which one
    /// shader cannot have.
    #[error("a stage has the execution mode {mode:?}, and the one before it has the opposite")]
    FloatControls {
        /// The execution mode that the later stage declares.
        mode: ExecutionMode,
    },
    /// An output or input between two stages has a type that does not consist of 32-bit or 64-bit
    /// numbers.
    #[error("{variable} is {ty}, which cannot be passed from stage to stage")]
    PassedType {
        /// The variable's name or id.
        variable: String,
        /// The type in words.
        ty: String,
    },
    /// A vertex shader is required, but the shader is of another stage: the vertex backend captures
    /// only vertex shaders, and the compute backend takes shaders of later stages only together
    /// with those before them.
    #[error(
        "{stage:?} '{entry_point}' is given where a vertex shader is expected: the compute backend captures a later stage \
         together with the vertex shader before it, and the vertex backend captures vertex shaders alone"
    )]
    NativeOnly {
        /// The stage of the shader.
        stage: ExecutionModel,
        /// The name of the entry point.
        entry_point: String,
    },
    /// A geometry shader cannot be drawn by a vertex shader. The member says what it has, in words.
    #[error("a vertex shader cannot draw a geometry shader with {0}")]
    NotDrawn(&'static str),
    /// A push constant contains a type other than numbers and device addresses.
    #[error("push constant {member} is {ty}, which has no bytes to be read from")]
    PushConstantType {
        /// The value, such as `'lights[0].colour' of 'params' (%12)`.
        member: String,
        /// The type in words.
        ty: String,
    },
    /// Push constants are accessed by untyped pointers in a way that has no typed equivalent.
    #[error(
        "push constants of {variable} are accessed by untyped pointers (SPV_KHR_untyped_pointers) as other types than \
         that of the variable"
    )]
    UntypedPushConstants {
        /// The variable's name or id.
        variable: String,
    },
    /// The offset of a push constant is not known or not supported.
    #[error("push constant {member}, or a part of it, {problem}")]
    PushConstantLayout {
        /// The value, such as `'lights[0].colour' of 'params' (%12)`.
        member: String,
        /// What is wrong with the layout, in words.
        problem: String,
    },
    /// The compute backend cannot supply the value of a built-in input.
    #[error("input {variable} is the built-in {built_in}, which the compute backend cannot supply")]
    BuiltIn {
        /// The variable's name or id.
        variable: String,
        /// The built-in (`SpvBuiltIn`).
        built_in: String,
    },
    /// An input has a type that no vertex format matches.
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
    /// An input, output or push constant with 8-bit or 16-bit components cannot be converted.
    #[error(
        "{id} is {ty}, or copies it as a whole: an input, output or push constant with 8-bit or 16-bit \
         components is not supported on this backend if it has an initialiser, has too many parts, or \
         is a matrix of push constants for whose components the module has no arithmetic capability"
    )]
    NarrowComposite {
        /// The name or id of the variable, the pointer or the value.
        id: String,
        /// The type in words.
        ty: String,
    },
    /// An input has no location and is not a built-in.
    #[error("input {variable} has no Location")]
    NoLocation {
        /// The variable's name or id.
        variable: String,
    },
    /// An input is at a location that no device supports.
    #[error("input {variable} takes locations up to {last}; at most {max} are supported")]
    LocationLimit {
        /// The variable's name or id.
        variable: String,
        /// The last location of the input.
        last: u64,
        /// The number of supported locations.
        max: u32,
    },
    /// The vertex input state has no attribute at a location that the shader reads, or does not
    /// have the attribute's binding.
    #[error(
        "input {variable} reads location {location}, for which the vertex input has no {missing}"
    )]
    NoAttribute {
        /// The variable's name or id.
        variable: String,
        /// The location that the input reads.
        location: u32,
        /// What the vertex input state lacks: "attribute" or "binding N".
        missing: String,
    },
    /// Either the format or the shader's input has 64-bit components, but not both.
    #[error(
        "input {variable} has components of {expected} bits, but the attribute at location {location} is \
         read as {found} bits"
    )]
    AttributeWidth {
        /// The variable's name or id.
        variable: String,
        /// The location that the input reads.
        location: u32,
        /// The component size of the shader's input in bits.
        expected: u32,
        /// The component size of the format in bits: 64 for 64-bit formats, 32 for all other formats.
        found: u32,
    },
    /// A 64-bit input reads components that the format lacks: 64-bit components have no default
    /// values.
    #[error(
        "input {variable} reads {needed} 64-bit components of the attribute at location {location}, \
         which has {found}"
    )]
    AttributeComponents {
        /// The variable's name or id.
        variable: String,
        /// The location that the input reads.
        location: u32,
        /// The number of components that are read, counted from the first.
        needed: u32,
        /// The number of components of the format.
        found: u32,
    },
    /// The shader uses the descriptor set of the resource plan, or a set after it.
    #[error(
        "variable {variable} is in descriptor set {used}: the resource plan uses set {set}, and the \
         application may use only the sets before it"
    )]
    DescriptorSet {
        /// The variable's name or id.
        variable: String,
        /// The number of the variable's descriptor set.
        used: u32,
        /// The number of the resource plan's descriptor set.
        set: u32,
    },
    /// The resource plan has too few or too many storage buffers.
    #[error(
        "the resource plan has {reads} storage buffers to read and {writes} to write: there has to be one to \
         write, more to read, and at most {max} in all",
        max = ResourcePlan::MAX_STORAGE_BUFFERS
    )]
    StorageBuffers {
        /// The number of buffers that are read.
        reads: u32,
        /// The number of buffers that are written.
        writes: u32,
    },
    /// The offset of the sysvals in the push constants is not aligned, or the sysvals end beyond the largest size of
    /// push constants that any device supports.
    #[error(
        "sysvals at byte {} of the push constants: the offset has to be a multiple of {alignment}, and \
         push constants end at byte {max} at the latest",
        .0.offset(),
        alignment = SysvalsPlace::ALIGNMENT,
        max = push_constants::layout::MAX_PUSH_CONSTANTS
    )]
    SysvalsOffset(SysvalsPlace),
    /// One of the workgroup sizes is 0.
    #[error("the workgroup size is 0")]
    WorkgroupSize,
    /// The interface of the entry point has more variables than `OpEntryPoint` can list.
    #[error("the entry point's interface has {0} variables, more than OpEntryPoint can list")]
    InterfaceLimit(usize),
}
