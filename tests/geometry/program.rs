//! The generated programs: a vertex and a geometry shader in an abstract form, which `glsl.rs`
//! converts to GLSL and `interpret.rs` runs on the CPU.
//!
//! All arithmetic is on `uint`, modulo 2^32. A value is converted to another type only when an
//! output is written or an input is read, and these conversions are exact.

use vkxfb::topology::PrimitiveTopology;

/// The component type of an interface variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    Uint,
    Int,
    /// A float, which contains the low 16 bits of a value as a number.
    Float,
    Double,
    /// A `uint64_t` with the value in both of its halves.
    Uint64,
}

impl Scalar {
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Uint | Self::Int | Self::Float => 4,
            Self::Double | Self::Uint64 => 8,
        }
    }

    /// Returns the bits that are stored when a value is written.
    pub fn store(self, value: u32) -> u64 {
        match self {
            Self::Uint | Self::Int => value.into(),
            Self::Float => f32::from(value as u16).to_bits().into(),
            Self::Double => f64::from(value).to_bits(),
            Self::Uint64 => u64::from(value) << 32 | u64::from(value),
        }
    }

    /// Returns the value of bits that are read.
    pub fn load(self, bits: u64) -> u32 {
        match self {
            Self::Uint | Self::Int | Self::Uint64 => bits as u32,
            Self::Float => f32::from_bits(bits as u32) as u32,
            Self::Double => f64::from_bits(bits) as u32,
        }
    }
}

/// The type of an interface variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Type {
    /// A vector of 1 to 4 components; one component is a scalar.
    Vector(Scalar, u32),
    Array(Box<Type>, u32),
    Struct(Vec<Type>),
}

/// A scalar of a type, with its path from the variable in GLSL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    pub path: String,
    pub scalar: Scalar,
}

impl Type {
    /// Returns the scalars, in the order of memory.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.add_leaves(String::new(), &mut leaves);
        leaves
    }

    fn add_leaves(&self, path: String, leaves: &mut Vec<Leaf>) {
        match self {
            Self::Vector(scalar, 1) => leaves.push(Leaf { path, scalar: *scalar }),
            Self::Vector(scalar, components) => {
                leaves.extend("xyzw".chars().take(*components as usize).map(|component| Leaf {
                    path: format!("{path}.{component}"),
                    scalar: *scalar,
                }));
            }
            Self::Array(element, length) => {
                for i in 0..*length {
                    element.add_leaves(format!("{path}[{i}]"), leaves);
                }
            }
            Self::Struct(members) => {
                for (i, member) in members.iter().enumerate() {
                    member.add_leaves(format!("{path}.m{i}"), leaves);
                }
            }
        }
    }

    /// Returns the size in a record in bytes. No structure of the generator contains 64-bit
    /// components, so there is no padding.
    pub fn bytes(&self) -> u32 {
        self.leaves().iter().map(|leaf| leaf.scalar.bytes()).sum()
    }

    /// Returns the alignment of offsets in a record.
    pub fn alignment(&self) -> u32 {
        self.leaves().iter().map(|leaf| leaf.scalar.bytes()).max().unwrap_or(4)
    }

    pub fn locations(&self) -> u32 {
        match self {
            Self::Vector(scalar, components) => (components * scalar.bytes()).div_ceil(16),
            Self::Array(element, length) => length * element.locations(),
            Self::Struct(members) => members.iter().map(Self::locations).sum(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BuiltIn {
    Position,
    PointSize,
    ClipDistance,
    CullDistance,
    PrimitiveId,
    Layer,
    ViewportIndex,
}

impl BuiltIn {
    /// Whether the built-in is a member of `gl_PerVertex`.
    pub fn is_per_vertex(self) -> bool {
        self <= Self::CullDistance
    }
}

/// Where an output is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is a separate variable at this location.
    Location(u32),
    /// It is a member of the block with this number.
    Block(usize),
    BuiltIn(BuiltIn),
}

/// A variable or a member of a block.
#[derive(Debug, Clone)]
pub struct Item {
    pub place: Place,
    pub ty: Type,
    pub flat: bool,
    /// The vertex stream of an output of a geometry shader.
    pub stream: u32,
    /// The buffer and the offset to which it is captured, if it is.
    pub captured: Option<(usize, u32)>,
}

/// The outputs of a stage.
#[derive(Debug, Clone, Default)]
pub struct Outputs {
    pub items: Vec<Item>,
    /// The first locations of the blocks.
    pub blocks: Vec<u32>,
}

impl Outputs {
    pub fn built_in(&self, which: BuiltIn) -> Option<usize> {
        self.items.iter().position(|item| item.place == Place::BuiltIn(which))
    }
}

/// The inputs that expressions can read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    VertexIndex,
    InstanceIndex,
    /// A component of the attribute at a location.
    Attribute(usize, u32),
    PrimitiveId,
    InvocationId,
    /// A scalar of an output of the vertex shader: the item, the leaf, and the number of the
    /// vertex, which is taken modulo the number of vertices of the primitive.
    Input(usize, usize, Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Xor,
    And,
    Or,
    /// A shift by the low 5 bits of the second operand.
    Shift,
    /// The remainder of a division by the second operand plus 1. The generator ensures that the sum
    /// does not overflow.
    Mod,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expr {
    Const(u32),
    /// A global variable of the module.
    Global(usize),
    /// The argument of the helper function.
    Argument,
    /// The counter of an enclosing loop.
    Counter(usize),
    Source(Source),
    Binary(Op, Box<Expr>, Box<Expr>),
    Select(Box<Condition>, Box<Expr>, Box<Expr>),
}

/// The condition that the first expression is less than the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition(pub Expr, pub Expr);

/// The way in which code writes an item.
#[derive(Debug, Clone)]
pub enum Written {
    /// At once, by a constructor.
    Whole,
    /// Each scalar by itself.
    Scalars,
    /// The scalars of one element of an array. Its number is the expression, modulo the length of the array.
    Element(Expr),
}

#[derive(Debug, Clone)]
pub enum Statement {
    Set(usize, Expr),
    /// Writes the scalars of an item, or of an element of it.
    Write {
        item: usize,
        values: Vec<Expr>,
        how: Written,
    },
    /// Emits a vertex to a vertex stream.
    Emit(u32),
    /// Ends the primitive of a vertex stream.
    End(u32),
    If(Condition, Vec<Statement>, Vec<Statement>),
    /// A loop that counts from 0 to an expression, which is evaluated once.
    Loop {
        counter: usize,
        trips: Expr,
        body: Vec<Statement>,
    },
    Break(Condition),
    Continue(Condition),
    Return(Condition),
    /// Calls the helper function with this number.
    Call(usize, Expr),
}

/// The code of a stage.
#[derive(Debug, Clone, Default)]
pub struct Code {
    /// The initial values of the global variables of the module.
    pub globals: Vec<u32>,
    /// The helper functions. Each calls only earlier ones.
    pub helpers: Vec<Vec<Statement>>,
    pub main: Vec<Statement>,
}

impl Code {
    /// Whether the code writes elements of outputs by indices that are not constant.
    pub fn indexes_outputs(&self) -> bool {
        self.helpers.iter().chain([&self.main]).any(|statements| indexes_outputs(statements))
    }
}

fn indexes_outputs(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Write { how: Written::Element(element), .. } => {
            !matches!(element, Expr::Const(_))
        }
        Statement::If(_, then, otherwise) => indexes_outputs(then) || indexes_outputs(otherwise),
        Statement::Loop { body, .. } => indexes_outputs(body),
        _ => false,
    })
}

/// A vertex attribute, with components of unsigned integers.
#[derive(Debug, Clone, Copy)]
pub struct Attribute {
    pub components: u32,
    pub per_instance: bool,
}

/// The input primitives of a geometry shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Points,
    Lines,
    LinesAdjacency,
    Triangles,
    TrianglesAdjacency,
}

impl Input {
    pub const ALL: [Self; 5] = [
        Self::Points,
        Self::Lines,
        Self::LinesAdjacency,
        Self::Triangles,
        Self::TrianglesAdjacency,
    ];

    pub const fn vertices(self) -> u32 {
        match self {
            Self::Points => 1,
            Self::Lines => 2,
            Self::LinesAdjacency => 4,
            Self::Triangles => 3,
            Self::TrianglesAdjacency => 6,
        }
    }

    pub fn topologies(self) -> &'static [PrimitiveTopology] {
        use PrimitiveTopology::*;
        match self {
            Self::Points => &[PointList],
            Self::Lines => &[LineList, LineStrip],
            Self::LinesAdjacency => &[LineListWithAdjacency, LineStripWithAdjacency],
            Self::Triangles => &[TriangleList, TriangleStrip, TriangleFan],
            Self::TrianglesAdjacency => &[TriangleListWithAdjacency, TriangleStripWithAdjacency],
        }
    }
}

/// The output primitives of a geometry shader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emitted {
    Points,
    LineStrip,
    TriangleStrip,
}

impl Emitted {
    pub const ALL: [Self; 3] = [Self::Points, Self::LineStrip, Self::TriangleStrip];

    pub const fn vertices(self) -> usize {
        match self {
            Self::Points => 1,
            Self::LineStrip => 2,
            Self::TriangleStrip => 3,
        }
    }
}

/// A vertex and a geometry shader, with what is captured of them.
#[derive(Debug, Clone)]
pub struct Program {
    pub attributes: Vec<Attribute>,
    pub vertex_outputs: Outputs,
    pub vertex: Code,
    pub input: Input,
    pub emitted: Emitted,
    pub invocations: u32,
    pub max_vertices: u32,
    /// The number of vertex streams.
    pub streams: u32,
    pub outputs: Outputs,
    pub geometry: Code,
    /// The stride of each capture buffer. `None` if nothing is captured to it.
    pub strides: [Option<u32>; 4],
    /// The vertex stream that each buffer captures.
    pub buffer_streams: [u32; 4],
}

impl Program {
    /// Whether any output of a vertex stream is captured.
    pub fn captures(&self, stream: u32) -> bool {
        let buffers = self.strides.iter().zip(self.buffer_streams);
        buffers.into_iter().any(|(stride, of)| stride.is_some() && of == stream)
    }
}
