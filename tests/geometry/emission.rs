//! Compares the numbers of primitives that geometry shaders are known to emit with those that the interpreter finds for
//! random inputs. No device is needed.
//!
//! What random shaders emit mostly depends on their inputs, so that nothing is known of it. So some inputs are replaced by
//! constants, and some arms of selections by arms that emit the same as the others, and set variables to other values.

use vkxfb::lower::{Shader, compute};

use crate::case::Case;
use crate::common::rng::Rng;
use crate::common::settings::{cases, number};
use crate::compile::{Modules, compile};
use crate::generate::draws::case;
use crate::generate::{Draws, Space};
use crate::interpret::{self, Inputs};
use crate::model::strips_of;
use crate::program::{Code, Condition, Expr, Program, Source, Statement, Written};

/// The number of programs that glslc compiles at a time.
const BATCH: u64 = 50;
/// The number of runs of each shader.
const RUNS: u64 = 64;

/// Inputs of a geometry shader that no vertex shader wrote: any at all.
struct AnyInputs {
    seed: u64,
    /// The largest number of bits of a value. Small values take other branches than large ones.
    bits: u32,
    /// The number of vertices of the primitive.
    vertices: u32,
}

impl Inputs for AnyInputs {
    fn read(&self, source: &Source, vertex: u32) -> u32 {
        let place = match source {
            Source::PrimitiveId => [0, 0, 0],
            Source::InvocationId => [1, 0, 0],
            Source::Input(item, leaf, _) => {
                [2 + *item as u64, *leaf as u64, u64::from(vertex % self.vertices)]
            }
            source => panic!("a geometry shader reads {source:?}"),
        };
        let seed = place.iter().fold(self.seed, |seed, number| Rng::new(seed ^ number).u64());
        (seed >> (64 - self.bits)) as u32
    }
}

/// Makes what a shader emits depend less on its inputs.
struct Decider {
    rng: Rng,
    /// In how many of a hundred places an input is replaced.
    percent: u32,
    globals: u32,
}

impl Decider {
    fn decide(rng: Rng, code: &mut Code) {
        let globals = code.globals.len() as u32;
        let mut this = Self { rng, percent: 0, globals };
        this.percent = this.rng.pick(&[0, 70, 90, 97]);
        code.helpers.iter_mut().for_each(|helper| this.block(helper));
        this.block(&mut code.main);
    }

    fn block(&mut self, statements: &mut Vec<Statement>) {
        for mut statement in std::mem::take(statements) {
            let mut asked = None;
            match &mut statement {
                Statement::Set(_, value) | Statement::Call(_, value) => self.expr(value),
                Statement::Write { values, how, .. } => {
                    values.iter_mut().for_each(|value| self.expr(value));
                    if let Written::Element(element) = how {
                        self.expr(element);
                    }
                }
                Statement::If(condition, then, otherwise) => {
                    if self.rng.below(100) >= self.percent / 2 {
                        self.condition(condition);
                    }
                    self.block(then);
                    self.block(otherwise);
                    if self.percent > 0 && self.rng.percent(60) {
                        otherwise.clone_from(then);
                        let global = self.rng.below(self.globals) as usize;
                        for arm in [then, otherwise] {
                            let value = Expr::Const(self.rng.below(2));
                            let place = self.rng.below(arm.len() as u32 + 1) as usize;
                            arm.insert(place, Statement::Set(global, value));
                        }
                        asked = Some(global);
                    }
                }
                Statement::Loop { trips, body, .. } => {
                    self.expr(trips);
                    self.block(body);
                }
                Statement::Break(condition)
                | Statement::Continue(condition)
                | Statement::Return(condition) => self.condition(condition),
                Statement::Emit(_) | Statement::End(_) => {}
            }
            statements.push(statement);
            // What the arms have set decides what is emitted.
            if let Some(global) = asked.filter(|_| self.rng.percent(70)) {
                let condition = Condition(Expr::Global(global), Expr::Const(1));
                statements.push(Statement::If(condition, vec![Statement::Emit(0)], Vec::new()));
            }
        }
    }

    fn condition(&mut self, Condition(a, b): &mut Condition) {
        self.expr(a);
        self.expr(b);
    }

    fn expr(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Source(_) if self.rng.percent(self.percent) => {
                *expr = match self.rng.below(2) {
                    0 => Expr::Const(self.rng.below(16)),
                    _ => Expr::Global(self.rng.below(self.globals) as usize),
                };
            }
            Expr::Source(Source::Input(_, _, vertex)) => self.expr(vertex),
            Expr::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::Select(condition, a, b) => {
                self.condition(condition);
                self.expr(a);
                self.expr(b);
            }
            Expr::Const(_)
            | Expr::Global(_)
            | Expr::Argument
            | Expr::Counter(_)
            | Expr::Source(_) => {}
        }
    }
}

/// The number of primitives that a run emits to each stream, or what is wrong with it.
fn run(program: &Program, inputs: &AnyInputs) -> Result<[u32; 4], String> {
    let (events, _) = interpret::run(&program.geometry, inputs, &program.outputs);
    let mut primitives = [0; 4];
    for (stream, primitives) in (0..).zip(&mut primitives) {
        let strips = strips_of(&events, stream);
        let vertices: usize = strips.iter().sum();
        if vertices > program.max_vertices as usize {
            return Err(format!("emits {vertices} vertices to stream {stream}"));
        }
        let size = program.emitted.vertices();
        *primitives =
            strips.into_iter().map(|length| (length + 1).saturating_sub(size) as u32).sum();
    }
    Ok(primitives)
}

/// Returns the number of primitives that each run of the geometry shader is known to emit to each stream.
fn known(case: &Case, modules: &Modules) -> Option<[u32; 4]> {
    let (vertex, input) = (Shader::new(&modules.vertex), case.vertex_input());
    let options = compute::Options::new(&input).vertex_shader(&vertex);
    let lowered = compute::lower(&Shader::new(&modules.geometry), &options);
    let lowered = lowered.unwrap_or_else(|e| panic!("seed {}: {e}", case.seed));
    let geometry = lowered.compute().unwrap().geometry.unwrap();
    let primitives = geometry.primitives?;
    Some([0, 1, 2, 3].map(|stream| if geometry.emits_to(stream) { primitives } else { 0 }))
}

#[test]
fn shaders_emit_the_number_of_primitives_that_is_known() {
    let count = cases("VKXFB_EMISSION", 2000);
    let first = number("VKXFB_SEED", 0);
    let (mut numbers, mut of_streams, mut missed) = (0, 0, 0);
    let seeds: Vec<u64> = (first..first + count).collect();
    for seeds in seeds.chunks(BATCH as usize) {
        let space = Space::whole(Draws::Direct);
        let decided = |seed: &u64| {
            let mut case = case(*seed, &space);
            Decider::decide(Rng::new(!seed), &mut case.program.geometry);
            // For the vertices that are added.
            case.program.max_vertices += 8;
            case
        };
        let cases: Vec<Case> = seeds.iter().map(decided).collect();
        let programs: Vec<_> = cases.iter().map(|case| &case.program).collect();
        for (case, modules) in cases.iter().zip(compile(&programs)) {
            let inputs = |seed: u64| AnyInputs {
                seed,
                bits: [1, 2, 4, 8, 32][seed as usize % 5],
                vertices: case.program.input.vertices(),
            };
            let mut runs = (0..RUNS).map(|seed| run(&case.program, &inputs(seed)));
            let Some(primitives) = known(case, &modules) else {
                // Runs that happen to be equal need not be so for all inputs.
                let first = runs.next().unwrap();
                missed += u32::from(
                    first.as_ref().is_ok_and(|found| *found != [0; 4])
                        && runs.all(|run| run == first),
                );
                continue;
            };
            numbers += 1;
            of_streams += u32::from(primitives[1..] != [0; 3]);
            assert!(primitives != [0; 4], "seed {}", case.seed);
            for run in runs {
                assert_eq!(run, Ok(primitives), "seed {}\n{}", case.seed, case.describe());
            }
        }
    }
    println!(
        "{count} shaders: {numbers} with known numbers, {of_streams} of them with other streams than 0; \
         {missed} others had the same numbers in all runs"
    );
    assert!(numbers > 0 && of_streams > 0);
}
