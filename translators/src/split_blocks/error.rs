//! The errors of splitting outputs.

use spirv::ExecutionModel;

use vkxfb_rewriter::capture::CaptureError;
use vkxfb_rewriter::spirv::specialization::SpecializationError;
use vkxfb_rewriter::spirv::{EntryPointError, Id, ParseError};

use super::MAX_VARIABLES;

/// The reason why the outputs of a module cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// The words are not a SPIR-V module.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The module has no such shader.
    #[error(transparent)]
    EntryPoint(#[from] EntryPointError),
    /// The decorations do not match the shader, or are not supported.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Outputs of this stage are arrays, or cannot be captured.
    #[error(
        "outputs of {0:?} shaders are not split; those of vertex, tessellation evaluation and geometry shaders \
         are"
    )]
    Stage(ExecutionModel),
    /// Values do not match the module's specialisation constants.
    #[error(transparent)]
    Specialization(#[from] SpecializationError),
    /// An output is an array of blocks. Each block would be captured to a different buffer.
    #[error("output {variable} is an array of blocks, which is not split")]
    ArrayOfBlocks {
        /// The variable's name or id.
        variable: String,
    },
    /// A member has a type that outputs cannot have.
    #[error("output {variable}: member {path:?} is {ty}")]
    MemberType {
        /// The variable's name or id.
        variable: String,
        /// The path of the member.
        path: Vec<u32>,
        /// The type in words.
        ty: String,
    },
    /// Neither the variable nor the member has a location.
    #[error("output {variable}: member {path:?} has no Location")]
    NoLocation {
        /// The variable's name or id.
        variable: String,
        /// The path of the member.
        path: Vec<u32>,
    },
    /// The outputs have more members than any device has output components.
    #[error("the outputs have more than {max} members", max = MAX_VARIABLES)]
    TooManyMembers,
    /// A structure in an array is selected by an index that is not constant.
    #[error("output {variable}: {instruction} selects a structure by an index that is no constant")]
    DynamicIndex {
        /// The variable's name or id.
        variable: String,
        /// The result id of the access chain.
        instruction: Id,
    },
    /// An access chain has an index out of range.
    #[error("output {variable}: {instruction} selects a member that there is not")]
    InvalidIndex {
        /// The variable's name or id.
        variable: String,
        /// The result id of the access chain.
        instruction: Id,
    },
    /// A pointer to a structure is used by an instruction other than a load, a store or a copy.
    #[error("output {variable}: opcode {opcode} uses a pointer to the structure {pointer}")]
    PointerUse {
        /// The variable's name or id.
        variable: String,
        /// The id of the pointer.
        pointer: Id,
        /// The opcode of the instruction.
        opcode: u16,
    },
    /// An initialiser is neither null nor a constant composite.
    #[error("output {variable} has the initialiser {initializer}, which cannot be taken apart")]
    Initializer {
        /// The variable's name or id.
        variable: String,
        /// The id of the initialiser.
        initializer: Id,
    },
    /// `OpEntryPoint` cannot list so many variables. The number is that of the variables in the
    /// interface.
    #[error("the entry point's interface has {0} variables, more than OpEntryPoint can list")]
    InterfaceLimit(usize),
}
