//! What keeps outputs from being split.

use spirv::ExecutionModel;

use super::MAX_VARIABLES;
use crate::capture::CaptureError;
use crate::spirv::entry_point::EntryPointError;
use crate::spirv::specialization::SpecializationError;
use crate::spirv::{Id, ParseError};

/// A module whose outputs cannot be split.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// The words are no SPIR-V module.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The module lacks the shader.
    #[error(transparent)]
    EntryPoint(#[from] EntryPointError),
    /// The decorations describe no capture that is supported.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A stage whose outputs are arrays, or not captured.
    #[error(
        "outputs of {0:?} shaders are not split; those of vertex, tessellation evaluation and geometry shaders \
         are"
    )]
    Stage(ExecutionModel),
    /// Values that the module's specialisation constants cannot have.
    #[error(transparent)]
    Specialization(#[from] SpecializationError),
    /// Each block of an array is captured to a buffer of its own.
    #[error("output {variable} is an array of blocks, which is not split")]
    ArrayOfBlocks {
        /// The variable's name or id.
        variable: String,
    },
    /// A member that can be no output.
    #[error("output {variable}: member {path:?} is {ty}")]
    MemberType {
        /// The variable's name or id.
        variable: String,
        /// Indices that lead to the member.
        path: Vec<u32>,
        /// The type in words.
        ty: String,
    },
    /// Neither the variable nor the member has a location.
    #[error("output {variable}: member {path:?} has no Location")]
    NoLocation {
        /// The variable's name or id.
        variable: String,
        /// Indices that lead to the member.
        path: Vec<u32>,
    },
    /// More members than any device has output components for.
    #[error("the outputs have more than {max} members", max = MAX_VARIABLES)]
    TooManyMembers,
    /// An element of an array of structures is selected at run time.
    #[error("output {variable}: {instruction} selects a structure by an index that is no constant")]
    DynamicIndex {
        /// The variable's name or id.
        variable: String,
        /// The access chain.
        instruction: Id,
    },
    /// An access chain that leads nowhere.
    #[error("output {variable}: {instruction} selects a member that there is not")]
    InvalidIndex {
        /// The variable's name or id.
        variable: String,
        /// The access chain.
        instruction: Id,
    },
    /// A pointer to a structure is used otherwise than to load, store or copy.
    #[error("output {variable}: opcode {opcode} uses a pointer to the structure {pointer}")]
    PointerUse {
        /// The variable's name or id.
        variable: String,
        /// The pointer.
        pointer: Id,
        /// The opcode.
        opcode: u16,
    },
    /// An initialiser that is neither null nor a constant composite.
    #[error("output {variable} has the initialiser {initializer}, which cannot be taken apart")]
    Initializer {
        /// The variable's name or id.
        variable: String,
        /// The constant.
        initializer: Id,
    },
    /// An interface too long for one instruction.
    #[error("the entry point's interface has {0} variables, more than OpEntryPoint can list")]
    InterfaceLimit(usize),
}
