//! Fragment colour broadcast: writes the output of a fragment shader at location 0 to every colour
//! attachment.
//!
//! OpenGL's `gl_FragColor` is written to all colour attachments, and `gl_FragData[n]` to attachment
//! n. SPIR-V has no such built-ins: the output at location 0 is written only to attachment 0. This
//! pass interprets that output as `gl_FragColor`: for each further attachment n it adds an output
//! of the same type at location n, and copies the value to it when the entry point returns:
//!
//! ```text
//! void main() {
//!     shader();                          // the original entry point
//!     gl_FragData[1] = gl_FragData[0];
//!     ...
//! }
//! ```
//!
//! # Why at the end, and not at every store
//!
//! An attachment gets the value that an output has when the entry point returns. An invocation that
//! ends in another way (`OpKill`, `OpTerminateInvocation`) writes no attachment. So a copy at the
//! end is equivalent to an additional store after each store: a component that was stored has the
//! value of its last store, and a component that was never stored is undefined in both cases.
//!
//! The copy covers every kind of store: access chains with any index, `OpCopyMemory`, initializers,
//! called functions, and pointers that are results of instructions unknown to this crate. (Pointers
//! to outputs cannot be arguments, because SPIR-V's logical addressing does not allow that:
//! compilers write `out` parameters back after the call.) The copy costs one load, and one store
//! per attachment, however many stores the shader has. Compilers can see that all outputs have the
//! same value.
//!
//! # What is broadcast
//!
//! All outputs of the entry point at location 0 are broadcast: scalars and vectors of any component
//! type, and arrays of them. The copies keep all decorations except `Location`: for example
//! `Component`, if several outputs share the location, and `Index`. Built-ins (`FragDepth`, ...)
//! are not copied. An output with `Index` 1 is `gl_SecondaryFragColorEXT`, the second source of
//! dual-source blending. Devices support it for few attachments (`maxFragmentDualSrcAttachments`,
//! mostly 1). A larger number of attachments is an error.
//!
//! A shader with an output at another location writes `gl_FragData`, which is an error.

use spirv::{Decoration, ExecutionModel, Op, StorageClass};

use vkxfb_rewriter::lower::interface;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type, Variable};
use vkxfb_rewriter::spirv::emit::{Builder, Code};
use vkxfb_rewriter::spirv::entry_point::{EntryPoint, find_fragment_shader};
use vkxfb_rewriter::spirv::{EntryPointError, Id, ParseError};
use vkxfb_rewriter::spirv::{Module, Section, read_string};

/// The options of [`broadcast_color`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct BroadcastOptions<'a> {
    /// The name of the entry point. `None` selects the only fragment shader.
    pub entry_point: Option<&'a str>,
    /// The number of colour attachments of the subpass. If the shader is used in several subpasses,
    /// the largest number.
    pub attachments: u32,
    /// The device's `maxFragmentOutputAttachments`.
    pub max_attachments: u32,
    /// The device's `maxFragmentDualSrcAttachments`. 0 if `dualSrcBlend` is not enabled.
    pub max_dual_source_attachments: u32,
}

impl<'a> BroadcastOptions<'a> {
    /// Returns options that select the only fragment shader, without dual-source blending.
    pub const fn new(attachments: u32, max_attachments: u32) -> Self {
        Self { entry_point: None, attachments, max_attachments, max_dual_source_attachments: 0 }
    }

    /// Selects the entry point with this name.
    pub const fn entry_point(mut self, name: &'a str) -> Self {
        self.entry_point = Some(name);
        self
    }

    /// Sets [`max_dual_source_attachments`](field@Self::max_dual_source_attachments).
    pub const fn max_dual_source_attachments(mut self, attachments: u32) -> Self {
        self.max_dual_source_attachments = attachments;
        self
    }
}

/// The result of [`broadcast_color`]: a fragment shader that writes to every attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broadcast {
    /// The SPIR-V words. If there is a single attachment, they are the input.
    pub words: Vec<u32>,
    /// The name of the entry point in `words`.
    pub entry_point: String,
    /// The outputs that were added, in the order of locations.
    pub added: Vec<AddedOutput>,
    /// Whether the shader has a second source for blending (an output with `Index` 1).
    pub dual_source: bool,
}

/// An output that was added to the fragment shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AddedOutput {
    /// The id of the added variable.
    pub variable: Id,
    /// The id of the variable at location 0 whose value is copied to the added variable.
    pub source: Id,
    /// The `Location` decoration, which is the number of the attachment.
    pub location: u32,
    /// The `Index` decoration: 1 for the second source of dual-source blending, and otherwise 0.
    pub index: u32,
    /// The `Component` decoration, 0 if there is none.
    pub component: u32,
}

/// The reason why a fragment shader's colour cannot be broadcast.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BroadcastError {
    /// The words are not a SPIR-V module.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The module has no such fragment shader.
    #[error(transparent)]
    EntryPoint(#[from] EntryPointError),
    /// The number of attachments is 0, or exceeds the limit of the device.
    #[error("{attachments} colour attachments; the device supports 1 to {max_attachments}")]
    Attachments {
        /// The requested number of attachments.
        attachments: u32,
        /// `maxFragmentOutputAttachments`
        max_attachments: u32,
    },
    /// The shader has no output at location 0.
    #[error("fragment shader '{entry_point}' has no output at location 0")]
    NoColor {
        /// The entry point.
        entry_point: String,
    },
    /// An output has no location and is not a built-in.
    #[error("output {variable} has no Location")]
    NoLocation {
        /// The variable's name or id.
        variable: String,
    },
    /// The shader writes `gl_FragData`.
    #[error(
        "output {variable} is at location {location}: the shader writes attachments one by one \
         (gl_FragData), so that location 0 stands for no other"
    )]
    FragData {
        /// The variable's name or id.
        variable: String,
        /// The first location above 0 that the output takes.
        location: u32,
    },
    /// An output is not a scalar, a vector, or an array of scalars or vectors with a known length.
    #[error("output {variable} at location 0 is {ty}, not a scalar, a vector or an array of one")]
    Type {
        /// The variable's name or id.
        variable: String,
        /// The type in words.
        ty: String,
    },
    /// The number of attachments exceeds the limit for dual-source blending.
    #[error(
        "output {variable} is the second source of dual-source blending (Index 1), for which the \
         device supports {max_dual_source_attachments} attachments, not {attachments}"
    )]
    DualSource {
        /// The variable's name or id.
        variable: String,
        /// The requested number of attachments.
        attachments: u32,
        /// `maxFragmentDualSrcAttachments`
        max_dual_source_attachments: u32,
    },
    /// Another entry point has the same function, which therefore cannot be called: SPIR-V does not
    /// allow calls of entry points.
    #[error("entry point '{other}' has the same function as '{entry_point}'")]
    SharedFunction {
        /// The name of the entry point.
        entry_point: String,
        /// The name of the other entry point.
        other: String,
    },
    /// `OpEntryPoint` cannot list so many variables. The number is that of the variables in the
    /// interface.
    #[error("the entry point's interface has {0} variables, more than OpEntryPoint can list")]
    InterfaceLimit(usize),
}

/// Makes a fragment shader write its output at location 0 to every attachment.
///
/// # Errors
/// [`BroadcastError`] says why the colour cannot be broadcast.
pub fn broadcast_color(
    words: &[u32],
    options: &BroadcastOptions<'_>,
) -> Result<Broadcast, BroadcastError> {
    let &BroadcastOptions { attachments, max_attachments, .. } = options;
    if attachments == 0 || attachments > max_attachments {
        return Err(BroadcastError::Attachments { attachments, max_attachments });
    }
    let mut module = Module::parse(words)?;
    let entry = find_fragment_shader(&module, options.entry_point)?;
    let declarations = Declarations::of(&module);
    let colors = colors(&module, &declarations, &entry, options)?;
    let mut broadcast = Broadcast {
        words: Vec::new(),
        entry_point: entry.name.clone(),
        added: Vec::new(),
        dual_source: colors.iter().any(|color| color.index != 0),
    };
    if attachments == 1 {
        broadcast.words = words.to_vec();
        return Ok(broadcast);
    }
    reject_shared_function(&module, &entry)?;

    for location in 1..attachments {
        broadcast.added.extend(colors.iter().map(|color| color.copy(&mut module, location)));
    }
    let wrapper = emit_wrapper(&mut Builder::new(&mut module), &entry, &colors, &broadcast.added);
    interface::move_execution_modes(&mut module, &entry, wrapper);
    let added = broadcast.added.iter().map(|output| output.variable);
    let io = entry.interface.iter().copied().chain(added).collect();
    let stage = ExecutionModel::Fragment;
    interface::set_entry_point(&mut module, &declarations, &entry, stage, wrapper, io)?;
    broadcast.words = module.words();
    Ok(broadcast)
}

/// An output at location 0, whose value is copied.
#[derive(Debug, Clone)]
struct Color {
    variable: Variable,
    index: u32,
    component: u32,
    /// The operands of `OpDecorate` after the target, without `Location`.
    decorations: Vec<Vec<u32>>,
}

impl Color {
    /// Declares an output at another location, with the same type and decorations.
    fn copy(&self, module: &mut Module, location: u32) -> AddedOutput {
        let mut decorations = self.decorations.clone();
        decorations.push(vec![Decoration::Location as u32, location]);
        let Variable { id: source, pointer, .. } = self.variable;
        let variable = module.fresh_id();
        // The new output needs no initializer, because it is always written.
        let operands = [pointer.0, variable.0, StorageClass::Output as u32];
        module.push(Section::Declarations, Op::Variable, &operands);
        for decoration in decorations {
            let operands = [&[variable.0], decoration.as_slice()].concat();
            module.push(Section::Annotations, Op::Decorate, &operands);
        }
        let array = if self.index == 0 { "gl_FragData" } else { "gl_SecondaryFragDataEXT" };
        Builder::new(module).name(variable, &format!("{array}[{location}]"));
        AddedOutput { variable, source, location, index: self.index, component: self.component }
    }
}

/// Finds the outputs at location 0. It is an error if there are none, or if there are outputs at
/// other locations.
fn colors(
    module: &Module,
    declarations: &Declarations,
    entry: &EntryPoint,
    options: &BroadcastOptions<'_>,
) -> Result<Vec<Color>, BroadcastError> {
    let label = |variable: &Variable| declarations.label(variable.id);
    let mut colors = Vec::new();
    let outputs = declarations
        .variables(StorageClass::Output)
        .filter(|v| entry.interface.contains(&v.id))
        .filter(|v| interface::built_in(declarations, v.id).is_none());
    for variable in outputs {
        let parameter = |which| declarations.decoration_value(variable.id, which);
        let location = parameter(Decoration::Location)
            .ok_or_else(|| BroadcastError::NoLocation { variable: label(variable) })?;
        if location > 0 {
            return Err(BroadcastError::FragData { variable: label(variable), location });
        }
        match locations(declarations, variable.pointee) {
            None => {
                let ty = declarations.type_name(variable.pointee);
                return Err(BroadcastError::Type { variable: label(variable), ty });
            }
            Some(1) => {}
            Some(_) => {
                return Err(BroadcastError::FragData { variable: label(variable), location: 1 });
            }
        }
        let index = parameter(Decoration::Index).unwrap_or(0);
        // With one attachment nothing is copied, so dual-source blending is always allowed.
        let max_dual_source_attachments = options.max_dual_source_attachments;
        if index != 0 && options.attachments > max_dual_source_attachments.max(1) {
            return Err(BroadcastError::DualSource {
                variable: label(variable),
                attachments: options.attachments,
                max_dual_source_attachments,
            });
        }
        let decorations = module
            .section(Section::Annotations)
            .filter(|i| i.is(Op::Decorate) && i.id(0) == variable.id)
            .filter(|i| i.operand(1) != Decoration::Location as u32)
            .filter_map(|i| Some(i.operands().get(1..)?.to_vec()))
            .collect();
        let component = parameter(Decoration::Component).unwrap_or(0);
        colors.push(Color { variable: *variable, index, component, decorations });
    }
    if colors.is_empty() {
        Err(BroadcastError::NoColor { entry_point: entry.name.clone() })
    } else {
        Ok(colors)
    }
}

/// Returns the number of locations of a type. `None` if a fragment shader's output cannot have this
/// type.
fn locations(declarations: &Declarations, ty: Id) -> Option<u32> {
    match declarations.ty(ty)? {
        Type::Array { element, length } => {
            declarations.vector(*element)?;
            declarations.constant(*length).filter(|length| *length > 0)
        }
        _ => declarations.vector(ty).map(|_| 1),
    }
}

/// Returns an error if the function of the entry point is also that of another entry point, because
/// the function of an entry point cannot be called.
fn reject_shared_function(module: &Module, entry: &EntryPoint) -> Result<(), BroadcastError> {
    let others = module
        .section(Section::EntryPoints)
        .filter(|i| i.is(Op::EntryPoint) && i.id(1) == entry.function && !entry.is(*i));
    match others.filter_map(|i| read_string(i.operands().get(2..)?)).next() {
        None => Ok(()),
        Some((other, _)) => {
            Err(BroadcastError::SharedFunction { entry_point: entry.name.clone(), other })
        }
    }
}

/// Emits the new entry point:
/// `void broadcast_main() { shader(); gl_FragData[1] = gl_FragData[0]; ... }`
fn emit_wrapper(
    builder: &mut Builder<'_>,
    entry: &EntryPoint,
    colors: &[Color],
    outputs: &[AddedOutput],
) -> Id {
    let mut code = Code::default();
    let wrapper = code.begin_procedure(builder);
    let void = builder.void();
    code.call(builder, void, entry.function, &[]);
    for color in colors {
        let Variable { id, pointee, .. } = color.variable;
        let value = code.value(builder, Op::Load, pointee, &[id.0]);
        for output in outputs.iter().filter(|output| output.source == id) {
            code.push(Op::Store, &[output.variable.0, value.0]);
        }
    }
    code.end_procedure(builder, wrapper, "broadcast_main");
    wrapper
}

impl From<interface::InterfaceLimit> for BroadcastError {
    fn from(interface::InterfaceLimit(variables): interface::InterfaceLimit) -> Self {
        Self::InterfaceLimit(variables)
    }
}
