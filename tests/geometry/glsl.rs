//! Converts the abstract shaders to GLSL.

use std::fmt::Write;

use crate::program::{
    BuiltIn, Code, Condition, Emitted, Expr, Input, Item, Leaf, Op, Outputs, Place, Program,
    Scalar, Source, Statement, Type, Written,
};

/// The names of the variables in the expressions of a shader.
struct Names<'a> {
    program: &'a Program,
    /// Whether the shader is the geometry shader.
    geometry: bool,
}

const HEAD: &str = "#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : enable
";

/// Returns the GLSL of the vertex shader.
pub fn vertex(program: &Program) -> String {
    let mut text = HEAD.to_owned();
    for (location, attribute) in program.attributes.iter().enumerate() {
        let ty = type_name(&Type::Vector(Scalar::Uint, attribute.components), "");
        writeln!(text, "layout(location = {location}) in {ty} a{location};").unwrap();
    }
    structures(&mut text, &program.vertex_outputs, 'V');
    outputs(&mut text, program, &program.vertex_outputs, 'v');
    code(&mut text, &program.vertex, &Names { program, geometry: false });
    text
}

/// Returns the GLSL of the geometry shader.
pub fn geometry(program: &Program) -> String {
    let mut text = HEAD.to_owned();
    let input = match program.input {
        Input::Points => "points",
        Input::Lines => "lines",
        Input::LinesAdjacency => "lines_adjacency",
        Input::Triangles => "triangles",
        Input::TrianglesAdjacency => "triangles_adjacency",
    };
    let emitted = match program.emitted {
        // GLSL has several streams of points alone: compile.rs puts in what is emitted.
        _ if program.streams > 1 => "points",
        Emitted::Points => "points",
        Emitted::LineStrip => "line_strip",
        Emitted::TriangleStrip => "triangle_strip",
    };
    writeln!(text, "layout({input}, invocations = {}) in;", program.invocations).unwrap();
    writeln!(text, "layout({emitted}, max_vertices = {}) out;", program.max_vertices).unwrap();
    for (buffer, stride) in program.strides.iter().enumerate() {
        if let Some(stride) = stride {
            writeln!(text, "layout(xfb_buffer = {buffer}, xfb_stride = {stride}) out;").unwrap();
        }
    }
    structures(&mut text, &program.vertex_outputs, 'V');
    inputs(&mut text, &program.vertex_outputs);
    structures(&mut text, &program.outputs, 'G');
    outputs(&mut text, program, &program.outputs, 'g');
    code(&mut text, &program.geometry, &Names { program, geometry: true });
    text
}

const fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Uint => "uint",
        Scalar::Int => "int",
        Scalar::Float => "float",
        Scalar::Double => "double",
        Scalar::Uint64 => "uint64_t",
    }
}

/// Returns the name of a type, without the lengths of arrays.
fn type_name(ty: &Type, structure: &str) -> String {
    match ty {
        Type::Vector(scalar, 1) => scalar_name(*scalar).to_owned(),
        Type::Vector(scalar, components) => {
            let prefix = match scalar {
                Scalar::Uint => "u",
                Scalar::Int => "i",
                Scalar::Float => "",
                Scalar::Double => "d",
                Scalar::Uint64 => "u64",
            };
            format!("{prefix}vec{components}")
        }
        Type::Array(element, _) => type_name(element, structure),
        Type::Struct(_) => structure.to_owned(),
    }
}

/// Returns the lengths of arrays, as they are written after a name or a type.
fn lengths(ty: &Type) -> String {
    match ty {
        Type::Array(element, length) => format!("[{length}]{}", lengths(element)),
        Type::Vector(..) | Type::Struct(_) => String::new(),
    }
}

fn structure_of(ty: &Type) -> Option<&[Type]> {
    match ty {
        Type::Struct(members) => Some(members),
        Type::Array(element, _) => structure_of(element),
        Type::Vector(..) => None,
    }
}

fn structures(text: &mut String, outputs: &Outputs, prefix: char) {
    for (number, item) in outputs.items.iter().enumerate() {
        let Some(members) = structure_of(&item.ty) else { continue };
        write!(text, "struct {prefix}{number} {{").unwrap();
        for (i, member) in members.iter().enumerate() {
            write!(text, " {} m{i}{};", type_name(member, ""), lengths(member)).unwrap();
        }
        writeln!(text, " }};").unwrap();
    }
}

const fn built_in_name(built_in: BuiltIn) -> &'static str {
    match built_in {
        BuiltIn::Position => "gl_Position",
        BuiltIn::PointSize => "gl_PointSize",
        BuiltIn::ClipDistance => "gl_ClipDistance",
        BuiltIn::CullDistance => "gl_CullDistance",
        BuiltIn::PrimitiveId => "gl_PrimitiveID",
        BuiltIn::Layer => "gl_Layer",
        BuiltIn::ViewportIndex => "gl_ViewportIndex",
    }
}

/// Returns the items of a block, with their names.
fn members<'a>(
    outputs: &'a Outputs,
    is_in: impl Fn(Place) -> bool,
) -> Vec<(usize, String, &'a Item)> {
    let name = |(number, item): (usize, &'a Item)| match item.place {
        Place::BuiltIn(built_in) => (number, built_in_name(built_in).to_owned(), item),
        _ => (number, format!("m{number}"), item),
    };
    outputs.items.iter().enumerate().filter(|(_, item)| is_in(item.place)).map(name).collect()
}

fn is_per_vertex(place: Place) -> bool {
    matches!(place, Place::BuiltIn(built_in) if built_in.is_per_vertex())
}

/// Returns the members of a block, with the offsets of those that are captured.
fn body(members: &[(usize, String, &Item)], prefix: char, captures: bool) -> String {
    let mut text = String::new();
    for (number, name, item) in members {
        let ty = type_name(&item.ty, &format!("{}{number}", prefix.to_ascii_uppercase()));
        let offset = match item.captured {
            Some((_, offset)) if captures => format!("layout(xfb_offset = {offset}) "),
            _ => String::new(),
        };
        write!(text, " {offset}{ty} {name}{};", lengths(&item.ty)).unwrap();
    }
    text
}

fn outputs(text: &mut String, program: &Program, outputs: &Outputs, prefix: char) {
    // A block without captured members is put to some buffer, too, by the default of the shader.
    let any = |stream: u32| {
        let is_of_stream = |b: &usize| {
            program.strides[*b].is_some()
                && (program.streams == 1 || program.buffer_streams[*b] == stream)
        };
        (0..4).find(is_of_stream).filter(|_| prefix == 'g')
    };
    let buffer_of = |members: &[(usize, String, &Item)]| {
        let captured = members.iter().find_map(|(_, _, item)| item.captured);
        let stream = members.first().map_or(0, |(_, _, item)| item.stream);
        captured.map(|(buffer, _)| buffer).or_else(|| any(stream))
    };
    let per_vertex = members(outputs, is_per_vertex);
    if !per_vertex.is_empty() {
        if let Some(buffer) = buffer_of(&per_vertex) {
            write!(text, "layout(xfb_buffer = {buffer}) ").unwrap();
        }
        writeln!(text, "out gl_PerVertex {{{} }};", body(&per_vertex, prefix, true)).unwrap();
    }
    for (block, location) in outputs.blocks.iter().enumerate() {
        let members = members(outputs, |place| place == Place::Block(block));
        let buffer = buffer_of(&members).map(|b| format!(", xfb_buffer = {b}")).unwrap_or_default();
        let body = body(&members, prefix, true);
        let upper = prefix.to_ascii_uppercase();
        let stream =
            stream_of(program, prefix, members.first().map_or(0, |(_, _, item)| item.stream));
        writeln!(
            text,
            "layout({stream}location = {location}{buffer}) out {upper}B{block} {{{body} }} {prefix}b{block};"
        )
        .unwrap();
    }
    for (number, item) in outputs.items.iter().enumerate() {
        let Place::Location(location) = item.place else { continue };
        let captured = match item.captured {
            Some((buffer, offset)) => format!(", xfb_buffer = {buffer}, xfb_offset = {offset}"),
            None => String::new(),
        };
        let flat = if item.flat { "flat " } else { "" };
        let ty = type_name(&item.ty, &format!("{}{number}", prefix.to_ascii_uppercase()));
        let lengths = lengths(&item.ty);
        writeln!(
            text,
            "layout({}location = {location}{captured}) {flat}out {ty} {prefix}{number}{lengths};",
            stream_of(program, prefix, item.stream)
        )
        .unwrap();
    }
}

/// Returns the stream qualifier, if a geometry shader has several streams.
fn stream_of(program: &Program, prefix: char, stream: u32) -> String {
    if prefix == 'g' && program.streams > 1 {
        format!("stream = {stream}, ")
    } else {
        String::new()
    }
}

/// Writes the outputs of the vertex shader as inputs of the geometry shader.
fn inputs(text: &mut String, outputs: &Outputs) {
    let per_vertex = members(outputs, is_per_vertex);
    if !per_vertex.is_empty() {
        let body = body(&per_vertex, 'v', false);
        writeln!(text, "in gl_PerVertex {{{body} }} gl_in[];").unwrap();
    }
    for (block, location) in outputs.blocks.iter().enumerate() {
        let members = members(outputs, |place| place == Place::Block(block));
        let body = body(&members, 'v', false);
        writeln!(text, "layout(location = {location}) in VB{block} {{{body} }} vb{block}[];")
            .unwrap();
    }
    for (number, item) in outputs.items.iter().enumerate() {
        let Place::Location(location) = item.place else { continue };
        let flat = if item.flat { "flat " } else { "" };
        let ty = type_name(&item.ty, &format!("V{number}"));
        let lengths = lengths(&item.ty);
        writeln!(text, "layout(location = {location}) {flat}in {ty} v{number}[]{lengths};")
            .unwrap();
    }
}

fn code(text: &mut String, code: &Code, names: &Names<'_>) {
    for (number, value) in code.globals.iter().enumerate() {
        writeln!(text, "uint t{number} = {value}u;").unwrap();
    }
    for (number, helper) in code.helpers.iter().enumerate() {
        writeln!(text, "void h{number}(uint p) {{").unwrap();
        names.block(text, helper, 1);
        writeln!(text, "}}").unwrap();
    }
    writeln!(text, "void main() {{").unwrap();
    names.block(text, &code.main, 1);
    writeln!(text, "}}").unwrap();
}

impl Names<'_> {
    fn block(&self, text: &mut String, statements: &[Statement], depth: usize) {
        for statement in statements {
            write!(text, "{:1$}", "", 4 * depth).unwrap();
            self.statement(text, statement, depth);
        }
    }

    fn statement(&self, text: &mut String, statement: &Statement, depth: usize) {
        let close = |text: &mut String| writeln!(text, "{:1$}}}", "", 4 * depth).unwrap();
        match statement {
            Statement::Set(global, value) => {
                writeln!(text, "t{global} = {};", self.expr(value)).unwrap();
            }
            Statement::Write { item, values, how } => self.write(text, *item, values, how),
            Statement::Emit(stream) => match self.program.streams {
                1 => writeln!(text, "EmitVertex();").unwrap(),
                _ => writeln!(text, "EmitStreamVertex({stream});").unwrap(),
            },
            Statement::End(stream) => match self.program.streams {
                1 => writeln!(text, "EndPrimitive();").unwrap(),
                _ => writeln!(text, "EndStreamPrimitive({stream});").unwrap(),
            },
            Statement::If(condition, then, otherwise) => {
                writeln!(text, "if ({}) {{", self.condition(condition)).unwrap();
                self.block(text, then, depth + 1);
                if !otherwise.is_empty() {
                    writeln!(text, "{:1$}}} else {{", "", 4 * depth).unwrap();
                    self.block(text, otherwise, depth + 1);
                }
                close(text);
            }
            Statement::Loop { counter: i, trips, body } => {
                let trips = self.expr(trips);
                writeln!(text, "for (uint i{i} = 0u, n{i} = {trips}; i{i} < n{i}; ++i{i}) {{")
                    .unwrap();
                self.block(text, body, depth + 1);
                close(text);
            }
            Statement::Break(condition) => {
                writeln!(text, "if ({}) break;", self.condition(condition)).unwrap();
            }
            Statement::Continue(condition) => {
                writeln!(text, "if ({}) continue;", self.condition(condition)).unwrap();
            }
            Statement::Return(condition) => {
                writeln!(text, "if ({}) return;", self.condition(condition)).unwrap();
            }
            Statement::Call(helper, argument) => {
                writeln!(text, "h{helper}({});", self.expr(argument)).unwrap();
            }
        }
    }

    fn write(&self, text: &mut String, number: usize, values: &[Expr], how: &Written) {
        let (outputs, prefix) = if self.geometry {
            (&self.program.outputs, 'g')
        } else {
            (&self.program.vertex_outputs, 'v')
        };
        let item = &outputs.items[number];
        let name = match item.place {
            Place::Location(_) => format!("{prefix}{number}"),
            Place::Block(block) => format!("{prefix}b{block}.m{number}"),
            Place::BuiltIn(built_in) => built_in_name(built_in).to_owned(),
        };
        let (name, ty) = match (how, &item.ty) {
            (Written::Element(element), Type::Array(ty, length)) => {
                (format!("{name}[{} % {length}u]", self.expr(element)), &**ty)
            }
            (_, ty) => (name, ty),
        };
        let leaves = ty.leaves();
        let mut stored = leaves.iter().zip(values).map(|(leaf, value)| self.stored(leaf, value));
        if matches!(how, Written::Whole) {
            let structure = format!("{}{number}", prefix.to_ascii_uppercase());
            let value = constructed(ty, &structure, &mut stored);
            writeln!(text, "{name} = {value};").unwrap();
            return;
        }
        let stored: Vec<String> = stored.collect();
        for (leaf, value) in leaves.iter().zip(stored) {
            write!(text, "{name}{} = {value}; ", leaf.path).unwrap();
        }
        writeln!(text).unwrap();
    }

    fn stored(&self, leaf: &Leaf, value: &Expr) -> String {
        let value = self.expr(value);
        match leaf.scalar {
            Scalar::Uint => value,
            Scalar::Int => format!("int({value})"),
            Scalar::Float => format!("float({value} & 0xffffu)"),
            Scalar::Double => format!("double({value})"),
            Scalar::Uint64 => format!("(uint64_t({value}) * 4294967297UL)"),
        }
    }

    fn condition(&self, Condition(a, b): &Condition) -> String {
        format!("{} < {}", self.expr(a), self.expr(b))
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Const(value) => format!("{value}u"),
            Expr::Global(global) => format!("t{global}"),
            Expr::Argument => "p".to_owned(),
            Expr::Counter(counter) => format!("i{counter}"),
            Expr::Source(source) => self.source(source),
            Expr::Select(condition, a, b) => {
                format!("({} ? {} : {})", self.condition(condition), self.expr(a), self.expr(b))
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                match op {
                    Op::Add => format!("({a} + {b})"),
                    Op::Sub => format!("({a} - {b})"),
                    Op::Mul => format!("({a} * {b})"),
                    Op::Xor => format!("({a} ^ {b})"),
                    Op::And => format!("({a} & {b})"),
                    Op::Or => format!("({a} | {b})"),
                    Op::Shift => format!("({a} >> ({b} & 31u))"),
                    Op::Mod => format!("({a} % ({b} + 1u))"),
                }
            }
        }
    }

    fn source(&self, source: &Source) -> String {
        match source {
            Source::VertexIndex => "uint(gl_VertexIndex)".to_owned(),
            Source::InstanceIndex => "uint(gl_InstanceIndex)".to_owned(),
            Source::PrimitiveId => "uint(gl_PrimitiveIDIn)".to_owned(),
            Source::InvocationId => "uint(gl_InvocationID)".to_owned(),
            Source::Attribute(location, component) => {
                match self.program.attributes[*location].components {
                    1 => format!("a{location}"),
                    _ => format!("a{location}[{component}]"),
                }
            }
            Source::Input(number, leaf, vertex) => {
                let vertices = self.program.input.vertices();
                let vertex = match **vertex {
                    Expr::Const(value) => (value % vertices).to_string(),
                    ref vertex => format!("{} % {vertices}u", self.expr(vertex)),
                };
                let item = &self.program.vertex_outputs.items[*number];
                let name = match item.place {
                    Place::Location(_) => format!("v{number}[{vertex}]"),
                    Place::Block(block) => format!("vb{block}[{vertex}].m{number}"),
                    Place::BuiltIn(which) => format!("gl_in[{vertex}].{}", built_in_name(which)),
                };
                format!("uint({name}{})", item.ty.leaves()[*leaf].path)
            }
        }
    }
}

/// Returns a constructor expression of a type, from the values of its scalars.
fn constructed(ty: &Type, structure: &str, values: &mut impl Iterator<Item = String>) -> String {
    let parts: Vec<String> = match ty {
        Type::Vector(_, 1) => return values.next().unwrap(),
        Type::Vector(_, components) => values.by_ref().take(*components as usize).collect(),
        Type::Array(element, length) => {
            (0..*length).map(|_| constructed(element, structure, values)).collect()
        }
        Type::Struct(members) => {
            members.iter().map(|member| constructed(member, structure, values)).collect()
        }
    };
    format!("{}{}({})", type_name(ty, structure), lengths(ty), parts.join(", "))
}
