//! Random programs: each output gets a value, or none, in one of many ways.

use super::interface::{BuiltIn, Variable};
use super::program::{Access, Expr, Op, Program, Stmt, Value, Via};
use super::pushed::Block;
use super::types::{Length, Scalar, Type};
use super::{Attribute, Space};
use crate::common::rng::Rng;

/// The range of a scalar's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    Any,
    /// From 1 to 64, for sizes of points.
    Size,
    /// From 0 to 3, for layers and viewports.
    Small,
}

pub struct Body<'a> {
    pub rng: &'a mut Rng,
    pub attributes: &'a [Attribute],
    pub pushed: Option<&'a Block>,
    pub space: &'a Space,
    /// Whether indices may be computed, and outputs may be read.
    pub computed_indices: bool,
    /// The loops that surround the current position.
    pub loops: Vec<u32>,
    next_loop: u32,
}

impl<'a> Body<'a> {
    pub fn new(
        rng: &'a mut Rng,
        attributes: &'a [Attribute],
        pushed: Option<&'a Block>,
        space: &'a Space,
    ) -> Self {
        let (computed_indices, loops, next_loop) = (true, Vec::new(), 0);
        Self { rng, attributes, pushed, space, computed_indices, loops, next_loop }
    }

    pub fn program(&mut self, variables: &[Variable]) -> Program {
        let mut program = Program::default();
        for variable in variables {
            let ty = variable.ty();
            let may = self.space.initializers && !variable.is_block() && !ty.is_specialised();
            let constant = (may && self.rng.percent(30)).then(|| self.constant(&ty));
            program.initializers.push(constant);
            program.outputs.push(ty);
        }
        let mut groups = Vec::new();
        for (output, variable) in variables.iter().enumerate() {
            groups.extend(self.variable(output, variable));
        }
        self.rng.shuffle(&mut groups);
        if self.rng.percent(25) {
            self.return_early(variables, &mut groups);
        }
        // Function 0 is the entry point.
        let mut functions = vec![Vec::new()];
        let called = self.rng.below(3);
        for group in groups {
            let group = self.wrapped(group);
            match self.rng.below(called + 1) as usize {
                0 => functions[0].extend(group),
                function => {
                    if functions.len() <= function {
                        functions.push(Vec::new());
                        let call = Stmt::Call(functions.len() - 1);
                        functions[0].push(call);
                    }
                    let function = function.min(functions.len() - 1);
                    functions[function].extend(group);
                }
            }
        }
        if functions.len() > 1 && self.rng.percent(30) {
            let at = self.rng.below(functions[1].len() as u32 + 1) as usize;
            let condition = self.condition();
            functions[1].insert(at, Stmt::If(condition, vec![Stmt::Return], vec![]));
        }
        program.functions = functions;
        program
    }

    /// Adds a return for some vertices, so that outputs that are written later get other values, or
    /// none, for them.
    fn return_early(&mut self, variables: &[Variable], groups: &mut Vec<Vec<Stmt>>) {
        let mut taken = Vec::new();
        for (output, variable) in variables.iter().enumerate() {
            if self.rng.percent(50) {
                taken.extend(self.variable(output, variable).into_iter().flatten());
            }
        }
        taken.push(Stmt::Return);
        let condition = self.condition();
        let at = self.rng.below(groups.len() as u32 + 1) as usize;
        groups.insert(at, vec![Stmt::If(condition, taken, vec![])]);
    }

    /// Wraps statements in control flow that does not change them, or that skips them for some
    /// vertices.
    fn wrapped(&mut self, group: Vec<Stmt>) -> Vec<Stmt> {
        match self.rng.below(20) {
            0 => vec![Stmt::If(self.condition(), group, vec![])],
            1 => match self.loop_number() {
                Some(number) => vec![Stmt::Loop(number, Length::Literal(2), group)],
                None => group,
            },
            _ => group,
        }
    }

    /// Returns the statements for a variable, in groups whose order does not matter.
    fn variable(&mut self, output: usize, variable: &Variable) -> Vec<Vec<Stmt>> {
        let items = variable.items();
        let constant = |index: u32| Expr::Const(Scalar::U32, index.into());
        let mut groups = Vec::new();
        let is_array_of_blocks = variable.elements().is_some();
        for element in 0..variable.elements().unwrap_or(1) {
            for (member, item) in (0u32..).zip(items) {
                let mut path = Vec::new();
                if is_array_of_blocks {
                    path.push(constant(element));
                }
                if variable.is_block() {
                    path.push(constant(member));
                }
                let range = match item.built_in {
                    Some(BuiltIn::PointSize) => Range::Size,
                    Some(BuiltIn::Layer | BuiltIn::ViewportIndex) => Range::Small,
                    _ => Range::Any,
                };
                self.computed_indices = item.built_in.is_none();
                let access = Access { output, path };
                let mut group = Vec::new();
                if range == Range::Size {
                    // A point list asks for a store, of the plainest kind.
                    let value = self.value(&item.ty, range);
                    group.push(Stmt::Store(access.clone(), item.ty.clone(), value, Via::Store));
                }
                group.extend(self.assign(access, &item.ty, range, 3));
                groups.push(group);
                self.computed_indices = true;
            }
        }
        groups
    }

    /// Returns statements that give a value to a part of an output.
    fn assign(&mut self, access: Access, ty: &Type, range: Range, depth: u32) -> Vec<Stmt> {
        let is_scalar = matches!(ty, Type::Scalar(_));
        match self.rng.below(100) {
            0..4 => vec![],
            4..8 if depth > 0 => {
                let mut twice = self.assign(access.clone(), ty, range, depth - 1);
                twice.extend(self.assign(access, ty, range, depth - 1));
                twice
            }
            8..13 if depth > 0 => {
                let condition = self.condition();
                let then = self.assign(access.clone(), ty, range, depth - 1);
                vec![Stmt::If(condition, then, self.assign(access, ty, range, depth - 1))]
            }
            13..16 if depth > 0 => {
                let selector = self.masked(3);
                let cases = self.rng.range(1, 3);
                let case = |_| self.assign(access.clone(), ty, range, depth - 1);
                vec![Stmt::Switch(selector, (0..cases).map(case).collect())]
            }
            16..50 if !is_scalar => self.by_parts(access, ty, range, depth),
            _ if ty.is_specialised() => self.by_parts(access, ty, range, depth),
            _ if is_scalar && self.rng.percent(10) => self.in_two_steps(access, ty, range),
            _ => vec![self.store(access, ty, range)],
        }
    }

    fn by_parts(&mut self, access: Access, ty: &Type, range: Range, depth: u32) -> Vec<Stmt> {
        if ty.is_uniform()
            && self.computed_indices
            && self.rng.percent(40)
            && let Some(stmt) = self.in_loop(&access, ty, range, depth)
        {
            return vec![stmt];
        }
        let depth = depth.saturating_sub(1);
        let mut parts: Vec<u32> = (0..ty.part_count()).collect();
        if self.rng.percent(30) {
            self.rng.shuffle(&mut parts);
        }
        let mut stmts = Vec::new();
        for part in parts {
            let step = Expr::Const(Scalar::U32, part.into());
            stmts.extend(self.assign(extended(&access, step), &ty.part(part), range, depth));
        }
        if ty.is_uniform() && self.computed_indices && self.rng.percent(15) {
            // Another store, at an index that differs from vertex to vertex.
            let mask = (1 << ty.part_count().ilog2()) - 1;
            let step = self.masked(mask);
            stmts.extend(self.assign(extended(&access, step), &ty.part(0), range, depth));
        }
        stmts
    }

    fn in_loop(&mut self, access: &Access, ty: &Type, range: Range, depth: u32) -> Option<Stmt> {
        let number = self.loop_number()?;
        let length = match ty {
            Type::Array(_, length) => *length,
            _ => Length::Literal(ty.part_count()),
        };
        self.loops.push(number);
        let access = extended(access, Expr::Index(number));
        let body = self.assign(access, &ty.part(0), range, depth.saturating_sub(1));
        self.loops.pop();
        Some(Stmt::Loop(number, length, body))
    }

    fn loop_number(&mut self) -> Option<u32> {
        self.next_loop += 1;
        (self.next_loop <= 16).then(|| self.next_loop - 1)
    }

    fn store(&mut self, access: Access, ty: &Type, range: Range) -> Stmt {
        let via = match self.rng.below(20) {
            0 => Via::Local,
            1 => Via::Copy,
            2 if self.loops.is_empty() => Via::Returned,
            _ => Via::Store,
        };
        let value = self.value(ty, range);
        Stmt::Store(access, ty.clone(), value, via)
    }

    /// Returns statements that write a scalar, read it, and write it again.
    fn in_two_steps(&mut self, access: Access, ty: &Type, range: Range) -> Vec<Stmt> {
        let Type::Scalar(scalar) = *ty else { return vec![self.store(access, ty, range)] };
        if scalar.is_float() || range != Range::Any || !self.computed_indices {
            return vec![self.store(access, ty, range)];
        }
        let first = self.store(access.clone(), ty, range);
        let load = Expr::Load(Box::new(access.clone()));
        let other = self.scalar(scalar, range);
        let op = self.rng.pick(&[Op::Add, Op::Xor, Op::Sub]);
        let changed = Expr::Binary(op, scalar, Box::new(load), Box::new(other));
        vec![first, Stmt::Store(access, ty.clone(), Value::Scalar(changed), Via::Store)]
    }
}

fn extended(access: &Access, step: Expr) -> Access {
    let mut access = access.clone();
    access.path.push(step);
    access
}
