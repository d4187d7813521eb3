//! Generates the bodies of shaders.

use crate::common::rng::Rng;
use crate::program::{
    Attribute, BuiltIn, Code, Condition, Expr, Item, Op, Outputs, Place, Source, Statement, Type,
    Written,
};

/// What expressions and statements at a position may use.
struct Scope<'a> {
    vertex: &'a Outputs,
    /// The outputs of the stage.
    outputs: &'a Outputs,
    /// The sources of values, except for the outputs of the vertex shader.
    sources: Vec<Source>,
    reads_inputs: bool,
    globals: usize,
    argument: bool,
    /// The number of surrounding loops.
    counters: usize,
    /// The helper functions that may be called, with the largest number of vertices that each
    /// emits.
    helpers: Vec<u32>,
    /// The number of vertex streams.
    streams: u32,
}

/// The limits for what a geometry shader emits.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// The number of vertices of a primitive.
    pub primitive: u32,
    /// The largest number of vertices.
    pub most: u32,
    /// The number of vertex streams.
    pub streams: u32,
}

pub fn vertex(rng: &mut Rng, attributes: &[Attribute], outputs: &Outputs) -> Code {
    let mut sources = vec![Source::VertexIndex, Source::InstanceIndex];
    for (location, attribute) in attributes.iter().enumerate() {
        sources.extend((0..attribute.components).map(|c| Source::Attribute(location, c)));
    }
    let globals = rng.range(1, 3) as usize;
    let mut scope = Scope {
        vertex: outputs,
        outputs,
        sources,
        reads_inputs: false,
        globals,
        argument: false,
        counters: 0,
        helpers: Vec::new(),
        streams: 1,
    };
    let mut main = Vec::new();
    for _ in 0..rng.below(4) {
        main.push(scope.quiet(rng));
    }
    let mut items: Vec<usize> = (0..outputs.items.len()).collect();
    rng.shuffle(&mut items);
    main.extend(items.into_iter().flat_map(|item| scope.writes(rng, item)));
    Code { globals: (0..globals).map(|_| rng.below(100)).collect(), helpers: Vec::new(), main }
}

/// Returns the code of a geometry shader, and the largest number of vertices that it emits.
pub fn geometry(rng: &mut Rng, vertex: &Outputs, outputs: &Outputs, sizes: Sizes) -> (Code, u32) {
    let Sizes { primitive: size, most, streams } = sizes;
    let globals = rng.range(1, 4) as usize;
    let mut scope = Scope {
        vertex,
        outputs,
        sources: vec![Source::PrimitiveId, Source::InvocationId],
        reads_inputs: true,
        globals,
        argument: true,
        counters: 0,
        helpers: Vec::new(),
        streams,
    };
    let mut helpers = Vec::new();
    for _ in 0..rng.below(3) {
        let budget = rng.range(1, 4).min(most);
        let (code, emissions) = scope.block(rng, budget, 2);
        helpers.push(code);
        scope.helpers.push(emissions);
    }
    scope.argument = false;
    let (mut main, mut emissions) = (Vec::new(), 0);
    // Without it most strips would end too early.
    if most >= size && rng.percent(75) {
        // Often with some left, for a strip that the rest of the code emits.
        let longest = if rng.percent(50) { most.div_ceil(2).max(size) } else { most };
        let length = rng.range(size, longest);
        main.push(scope.strip(rng, length));
        if rng.percent(50) {
            main.push(Statement::End(scope.stream(rng)));
        }
        emissions = length;
    }
    while emissions < most && rng.percent(75) {
        let (more, emitted) = scope.block(rng, most - emissions, 3);
        emissions += emitted;
        if rng.percent(50) { main.extend(more) } else { drop(main.splice(0..0, more)) }
    }
    // An output that no code writes may be left out by a compiler, with its captures.
    let mut written = vec![false; outputs.items.len()];
    mark_written(&main, &helpers, &mut written);
    for item in (0..written.len()).filter(|item| !written[*item]) {
        drop(main.splice(0..0, scope.writes(rng, item)));
    }
    let globals = (0..globals).map(|_| rng.below(100)).collect();
    (Code { globals, helpers, main }, emissions)
}

/// Marks the items that the statements write.
fn mark_written(statements: &[Statement], helpers: &[Vec<Statement>], written: &mut [bool]) {
    for statement in statements {
        match statement {
            Statement::Write { item, .. } => written[*item] = true,
            Statement::If(_, then, otherwise) => {
                mark_written(then, helpers, written);
                mark_written(otherwise, helpers, written);
            }
            Statement::Loop { body, .. } => mark_written(body, helpers, written),
            Statement::Call(helper, _) => mark_written(&helpers[*helper], helpers, written),
            _ => {}
        }
    }
}

impl Scope<'_> {
    /// Returns a statement that emits a strip of `length` vertices, or of fewer if that depends on
    /// data.
    fn strip(&mut self, rng: &mut Rng, length: u32) -> Statement {
        let trips =
            if rng.percent(60) { Expr::Const(length) } else { modulo(self.expr(rng, 2), length) };
        self.counters += 1;
        let mut body = Vec::new();
        let stream = self.stream(rng);
        self.vertex_to(rng, stream, &mut body);
        // Now and then it is several strips, of which some are too short.
        if rng.percent(40) {
            let end = vec![Statement::End(stream)];
            body.push(Statement::If(self.condition(rng), end, Vec::new()));
        }
        self.counters -= 1;
        Statement::Loop { counter: self.counters, trips, body }
    }

    /// Returns some statements, and the largest number of vertices that they emit, which is at most
    /// `budget`.
    fn block(&mut self, rng: &mut Rng, budget: u32, depth: u32) -> (Vec<Statement>, u32) {
        let mut statements = Vec::new();
        let mut emitted = 0;
        for _ in 0..rng.range(1, 4) {
            emitted += self.add(rng, &mut statements, budget - emitted, depth);
        }
        (statements, emitted)
    }

    /// Adds a statement, and returns the largest number of vertices that it emits.
    fn add(&mut self, rng: &mut Rng, to: &mut Vec<Statement>, budget: u32, depth: u32) -> u32 {
        match rng.below(100) {
            0..=34 if budget > 0 => {
                self.vertex(rng, to);
                1
            }
            35..=41 => {
                to.push(Statement::End(self.stream(rng)));
                0
            }
            45..=64 if depth > 0 && budget > 0 => {
                let most = rng.range(1, 6.min(budget));
                let trips = if rng.percent(40) {
                    Expr::Const(most)
                } else {
                    modulo(self.expr(rng, 2), most)
                };
                self.counters += 1;
                let (mut body, emitted) = self.block(rng, budget / most, depth - 1);
                if rng.percent(50) && emitted < budget / most {
                    self.vertex(rng, &mut body);
                    self.counters -= 1;
                    to.push(Statement::Loop { counter: self.counters, trips, body });
                    return (emitted + 1) * most;
                }
                if rng.percent(20) {
                    let condition = self.condition(rng);
                    let at = rng.below(body.len() as u32 + 1) as usize;
                    let exit = if rng.percent(50) {
                        Statement::Break(condition)
                    } else {
                        Statement::Continue(condition)
                    };
                    body.insert(at, exit);
                }
                self.counters -= 1;
                to.push(Statement::Loop { counter: self.counters, trips, body });
                emitted * most
            }
            65..=74 if depth > 0 => {
                let condition = self.condition(rng);
                let (then, a) = self.block(rng, budget, depth - 1);
                let (otherwise, b) = if rng.percent(50) {
                    self.block(rng, budget, depth - 1)
                } else {
                    (Vec::new(), 0)
                };
                to.push(Statement::If(condition, then, otherwise));
                a.max(b)
            }
            75..=84 => {
                let fits = |(_, emitted): &(usize, &u32)| **emitted <= budget;
                let callable: Vec<_> = self.helpers.iter().enumerate().filter(fits).collect();
                if callable.is_empty() {
                    return 0;
                }
                let (helper, &emitted) = rng.pick(&callable);
                to.push(Statement::Call(helper, self.expr(rng, 2)));
                emitted
            }
            85..=87 => {
                to.push(Statement::Return(self.condition(rng)));
                0
            }
            _ => {
                to.push(self.quiet(rng));
                0
            }
        }
    }

    fn stream(&self, rng: &mut Rng) -> u32 {
        if self.streams > 1 { rng.below(self.streams) } else { 0 }
    }

    /// Adds statements that emit a vertex to some stream.
    fn vertex(&mut self, rng: &mut Rng, to: &mut Vec<Statement>) {
        let stream = self.stream(rng);
        self.vertex_to(rng, stream, to);
    }

    /// Adds statements that emit a vertex, and write most of its outputs before, except those of
    /// other streams.
    fn vertex_to(&mut self, rng: &mut Rng, stream: u32, to: &mut Vec<Statement>) {
        let unwritten = if rng.percent(15) { 30 } else { 0 };
        for (item, Item { stream: of, .. }) in self.outputs.items.iter().enumerate() {
            let percent = if *of == stream { unwritten } else { 85 };
            if !rng.percent(percent) {
                to.extend(self.writes(rng, item));
            }
        }
        to.push(Statement::Emit(stream));
    }

    /// Returns a statement that emits nothing. It writes outputs only in a geometry shader.
    fn quiet(&mut self, rng: &mut Rng) -> Statement {
        match rng.below(10) {
            0..=1 => {
                let condition = self.condition(rng);
                let global = rng.below(self.globals as u32) as usize;
                let value = self.expr(rng, 2);
                Statement::If(condition, vec![Statement::Set(global, value)], Vec::new())
            }
            2 => {
                let trips = modulo(self.expr(rng, 2), rng.range(1, 5));
                let global = rng.below(self.globals as u32) as usize;
                self.counters += 1;
                let value = self.expr(rng, 2);
                self.counters -= 1;
                let body = vec![Statement::Set(global, value)];
                Statement::Loop { counter: self.counters, trips, body }
            }
            3 if self.reads_inputs => {
                let item = rng.below(self.outputs.items.len() as u32) as usize;
                self.write(rng, item, &self.outputs.items[item].ty, Written::Whole)
            }
            _ => Statement::Set(rng.below(self.globals as u32) as usize, self.expr(rng, 3)),
        }
    }

    /// Returns a statement that writes an item as a whole, and often one that writes an element of it again, if it is an
    /// array.
    fn writes(&self, rng: &mut Rng, item: usize) -> Vec<Statement> {
        let ty = &self.outputs.items[item].ty;
        let how = if rng.percent(70) { Written::Whole } else { Written::Scalars };
        let mut writes = vec![self.write(rng, item, ty, how)];
        if let Type::Array(element, _) = ty
            && rng.percent(40)
        {
            let how = Written::Element(self.expr(rng, 2));
            writes.push(self.write(rng, item, element, how));
        }
        writes
    }

    /// Returns a statement that writes scalars of an item. `ty` is the type of what it writes.
    fn write(&self, rng: &mut Rng, item: usize, ty: &Type, how: Written) -> Statement {
        let place = self.outputs.items[item].place;
        let value = |_| {
            let value = self.expr(rng, 2);
            match place {
                // What is beyond the layers and the viewports has no meaning.
                Place::BuiltIn(BuiltIn::Layer | BuiltIn::ViewportIndex) => {
                    binary(Op::And, value, Expr::Const(3))
                }
                Place::BuiltIn(BuiltIn::PointSize) => {
                    let small = binary(Op::And, value, Expr::Const(31));
                    binary(Op::Or, small, Expr::Const(1))
                }
                _ => value,
            }
        };
        let values = (0..ty.leaves().len()).map(value).collect();
        Statement::Write { item, values, how }
    }

    fn condition(&self, rng: &mut Rng) -> Condition {
        let most = rng.range(1, 5);
        let value = modulo(self.expr(rng, 2), most);
        if rng.percent(70) {
            Condition(value, Expr::Const(rng.range(1, most)))
        } else {
            Condition(value, modulo(self.expr(rng, 1), rng.range(1, 5)))
        }
    }

    fn expr(&self, rng: &mut Rng, depth: u32) -> Expr {
        if depth == 0 || rng.percent(20) {
            return self.leaf(rng);
        }
        if rng.percent(10) {
            let condition = Box::new(self.condition_of_leaves(rng));
            let (a, b) = (self.expr(rng, depth - 1), self.expr(rng, depth - 1));
            return Expr::Select(condition, Box::new(a), Box::new(b));
        }
        let op = rng.pick(&[Op::Add, Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::And, Op::Or]);
        let a = self.expr(rng, depth - 1);
        match rng.below(10) {
            0 => binary(Op::Shift, a, Expr::Const(rng.below(8))),
            1 => modulo(a, rng.range(1, 999)),
            _ => binary(op, a, self.expr(rng, depth - 1)),
        }
    }

    fn condition_of_leaves(&self, rng: &mut Rng) -> Condition {
        Condition(modulo(self.leaf(rng), 3), Expr::Const(rng.range(1, 3)))
    }

    fn leaf(&self, rng: &mut Rng) -> Expr {
        match rng.below(100) {
            0..=14 => {
                let end = if rng.percent(80) { 16 } else { u32::MAX };
                Expr::Const(rng.below(end))
            }
            15..=24 => Expr::Global(rng.below(self.globals as u32) as usize),
            25..=34 if self.argument => Expr::Argument,
            35..=54 if self.counters > 0 => Expr::Counter(rng.below(self.counters as u32) as usize),
            55..=84 if self.reads_inputs => {
                let items = &self.vertex.items;
                if items.is_empty() {
                    return Expr::Const(1);
                }
                let item = rng.below(items.len() as u32) as usize;
                let leaf = rng.below(items[item].ty.leaves().len() as u32) as usize;
                let vertex = self.vertex_number(rng);
                Expr::Source(Source::Input(item, leaf, Box::new(vertex)))
            }
            _ => Expr::Source(rng.pick(&self.sources)),
        }
    }

    /// Returns an expression for the vertex of the primitive that is read.
    fn vertex_number(&self, rng: &mut Rng) -> Expr {
        match rng.below(10) {
            0..=5 => Expr::Const(rng.below(6)),
            6..=7 if self.counters > 0 => Expr::Counter(self.counters - 1),
            8 => Expr::Global(rng.below(self.globals as u32) as usize),
            _ => {
                let source = Expr::Source(rng.pick(&self.sources));
                binary(Op::Add, source, Expr::Const(rng.below(6)))
            }
        }
    }
}

fn binary(op: Op, a: Expr, b: Expr) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

/// Returns an expression with values from 0 to `most`.
fn modulo(value: Expr, most: u32) -> Expr {
    binary(Op::Mod, value, Expr::Const(most))
}
