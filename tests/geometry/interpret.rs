//! Runs the abstract shaders on the CPU.

use crate::program::{Code, Condition, Expr, Op, Outputs, Source, Statement, Type, Written};

/// The value of each scalar of each output; `None` if it is undefined.
pub type Values = Vec<Vec<Option<u64>>>;

/// What a geometry shader does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It emits a vertex with these outputs to a vertex stream.
    Vertex(u32, Values),
    /// It ends the primitive of a vertex stream.
    EndPrimitive(u32),
}

/// The inputs of an invocation.
pub trait Inputs {
    /// Returns the value of a source. `vertex` is 0 for all sources except [`Source::Input`].
    fn read(&self, source: &Source, vertex: u32) -> u32;
}

enum Flow {
    Next,
    Break,
    Continue,
    Return,
}

/// The values that expressions within a function depend on.
#[derive(Default)]
struct Frame {
    argument: u32,
    /// The counters of all loops that were entered, by the number of the loop.
    counters: Vec<u32>,
}

struct Machine<'a> {
    code: &'a Code,
    inputs: &'a dyn Inputs,
    outputs: &'a Outputs,
    globals: Vec<u32>,
    values: Values,
    events: Vec<Event>,
}

/// Runs an invocation. Returns what it emitted, and its outputs at the end.
pub fn run(code: &Code, inputs: &dyn Inputs, outputs: &Outputs) -> (Vec<Event>, Values) {
    let globals = code.globals.clone();
    let mut machine =
        Machine { code, inputs, outputs, globals, values: undefined(outputs), events: Vec::new() };
    machine.block(&code.main, &mut Frame::default());
    (machine.events, machine.values)
}

fn undefined(outputs: &Outputs) -> Values {
    outputs.items.iter().map(|item| vec![None; item.ty.leaves().len()]).collect()
}

impl Machine<'_> {
    fn block(&mut self, statements: &[Statement], frame: &mut Frame) -> Flow {
        for statement in statements {
            match self.statement(statement, frame) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        Flow::Next
    }

    fn statement(&mut self, statement: &Statement, frame: &mut Frame) -> Flow {
        match statement {
            Statement::Set(global, value) => self.globals[*global] = self.value(value, frame),
            Statement::Write { item, values, how } => {
                let ty = &self.outputs.items[*item].ty;
                let first = match (how, ty) {
                    (Written::Element(element), Type::Array(_, length)) => {
                        (self.value(element, frame) % length) as usize * values.len()
                    }
                    _ => 0,
                };
                for (number, leaf) in ty.leaves().iter().enumerate().skip(first).take(values.len())
                {
                    let value = self.value(&values[number - first], frame);
                    self.values[*item][number] = Some(leaf.scalar.store(value));
                }
            }
            Statement::Emit(stream) => {
                // What outputs are after a vertex the specification leaves undefined.
                let values = std::mem::replace(&mut self.values, undefined(self.outputs));
                self.events.push(Event::Vertex(*stream, values));
            }
            Statement::End(stream) => self.events.push(Event::EndPrimitive(*stream)),
            Statement::If(condition, then, otherwise) => {
                return if self.holds(condition, frame) {
                    self.block(then, frame)
                } else {
                    self.block(otherwise, frame)
                };
            }
            Statement::Loop { counter, trips, body } => {
                let trips = self.value(trips, frame);
                if frame.counters.len() <= *counter {
                    frame.counters.resize(counter + 1, 0);
                }
                for trip in 0..trips {
                    frame.counters[*counter] = trip;
                    match self.block(body, frame) {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        Flow::Return => return Flow::Return,
                    }
                }
            }
            Statement::Break(condition) if self.holds(condition, frame) => return Flow::Break,
            Statement::Continue(condition) if self.holds(condition, frame) => {
                return Flow::Continue;
            }
            Statement::Return(condition) if self.holds(condition, frame) => return Flow::Return,
            Statement::Break(_) | Statement::Continue(_) | Statement::Return(_) => {}
            Statement::Call(helper, argument) => {
                let argument = self.value(argument, frame);
                let code = self.code;
                let mut frame = Frame { argument, counters: Vec::new() };
                self.block(&code.helpers[*helper], &mut frame);
            }
        }
        Flow::Next
    }

    fn holds(&self, Condition(a, b): &Condition, frame: &Frame) -> bool {
        self.value(a, frame) < self.value(b, frame)
    }

    fn value(&self, expr: &Expr, frame: &Frame) -> u32 {
        match expr {
            Expr::Const(value) => *value,
            Expr::Global(global) => self.globals[*global],
            Expr::Argument => frame.argument,
            Expr::Counter(counter) => frame.counters[*counter],
            Expr::Source(source) => {
                let vertex = match source {
                    Source::Input(_, _, vertex) => self.value(vertex, frame),
                    _ => 0,
                };
                self.inputs.read(source, vertex)
            }
            Expr::Select(condition, a, b) => {
                if self.holds(condition, frame) {
                    self.value(a, frame)
                } else {
                    self.value(b, frame)
                }
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.value(a, frame), self.value(b, frame));
                match op {
                    Op::Add => a.wrapping_add(b),
                    Op::Sub => a.wrapping_sub(b),
                    Op::Mul => a.wrapping_mul(b),
                    Op::Xor => a ^ b,
                    Op::And => a & b,
                    Op::Or => a | b,
                    Op::Shift => a >> (b & 31),
                    Op::Mod => a % (b + 1),
                }
            }
        }
    }
}
