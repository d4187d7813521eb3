//! Runs naga in a separate thread, so that neither panics nor stack overflows of naga terminate the process. There is
//! one exception: naga may overflow the stack for a module with extremely deep expressions (`module`).
//!
//! naga panics on input that it does not expect, and processes expressions and statements
//! recursively. The thread catches panics. The size of its stack does not depend on the caller's
//! stack, and the nesting of the source or of the module is limited before naga runs.
//!
//! The application's panic hook is not changed. If naga panics, the hook runs before the error is returned; the default
//! hook prints a line. A hook can identify the thread by its name, [`NAGA_THREAD`], to stay silent. Panics cannot be
//! caught if they are configured to abort the process.

use std::any::Any;
use std::thread;

use naga::{Block, Module, Statement};

use super::tokens::Tokens;
use super::{FrontendError, SourceLocation};

/// The name of the thread that naga runs in. A panic hook can use it to recognize naga's panics.
pub const NAGA_THREAD: &str = "vkxfb-naga";

/// The stack size in bytes. It is enough for [`MAX_NESTING`] levels in builds without optimisation.
const STACK_SIZE: usize = 64 << 20;

/// The largest number of levels of nested brackets, operators and branches in a source, and of nested
/// blocks in a module.
pub const MAX_NESTING: usize = 1000;

/// Runs `run`, a closure that uses naga. It runs in a new thread. Returns the closure's result. A panic is returned as
/// an error.
pub(super) fn isolated<T: Send>(
    run: impl FnOnce() -> Result<T, FrontendError> + Send,
) -> Result<T, FrontendError> {
    let builder = thread::Builder::new().name(NAGA_THREAD.to_owned()).stack_size(STACK_SIZE);
    thread::scope(|scope| match builder.spawn_scoped(scope, run) {
        Ok(worker) => {
            worker.join().unwrap_or_else(|panic| Err(FrontendError::Panic(said(&*panic))))
        }
        Err(error) => Err(FrontendError::Thread(error.to_string())),
    })
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic".to_owned())
}

/// Returns an error for a source with more than [`MAX_NESTING`] levels.
pub(super) fn check_nesting(tokens: &Tokens<'_>) -> Result<(), FrontendError> {
    let mut nesting = Nesting::default();
    for index in 0..tokens.list().len() {
        nesting.take(tokens.text(index));
        if nesting.depth() > MAX_NESTING {
            let location: Option<SourceLocation> = tokens.location(index);
            return Err(FrontendError::Nesting { location });
        }
    }
    Ok(())
}

pub(super) fn check_blocks(module: &Module) -> Result<(), FrontendError> {
    let shaders = module.entry_points.iter().map(|entry| &entry.function);
    let functions = module.functions.iter().map(|(_, function)| function).chain(shaders);
    let mut blocks: Vec<(usize, &Block)> = functions.map(|function| (1, &function.body)).collect();
    while let Some((level, block)) = blocks.pop() {
        if level > MAX_NESTING {
            return Err(FrontendError::Nesting { location: None });
        }
        for statement in block {
            match statement {
                Statement::Block(inner) => blocks.push((level + 1, inner)),
                Statement::If { accept, reject, .. } => {
                    blocks.extend([accept, reject].map(|inner| (level + 1, inner)));
                }
                Statement::Switch { cases, .. } => {
                    blocks.extend(cases.iter().map(|case| (level + 1, &case.body)));
                }
                Statement::Loop { body, continuing, .. } => {
                    blocks.extend([body, continuing].map(|inner| (level + 1, inner)));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Computes an upper bound of a parser's recursion depth. Each operator of an expression, each
/// enclosing bracket and each preceding `else` may be a level.
#[derive(Debug, Default)]
struct Nesting {
    /// For each open bracket: the number of operators so far in the expression within it, and the
    /// number of `else` so far in the block within it.
    levels: Vec<(usize, usize)>,
    /// The same two numbers outside of all brackets.
    outside: (usize, usize),
    /// The sum of all numbers in `levels` and in `outside`.
    sum: usize,
}

impl Nesting {
    fn depth(&self) -> usize {
        self.levels.len() + self.sum
    }

    fn take(&mut self, text: &str) {
        match text {
            "(" | "[" | "{" => self.levels.push((0, 0)),
            ")" | "]" | "}" => {
                if let Some((operators, branches)) = self.levels.pop() {
                    self.sum -= operators + branches;
                }
                // A new statement begins after a block, so the operators before the block, such as those of the
                // condition of an `if`, no longer count.
                if text == "}" {
                    self.end_of_expression();
                }
            }
            ";" | "," => self.end_of_expression(),
            "else" => {
                self.innermost().1 += 1;
                self.sum += 1;
            }
            "if" | "for" | "while" | "do" | "switch" => self.operator(),
            _ if text.starts_with(|c: char| c.is_ascii_punctuation() && c != '_') => {
                self.operator()
            }
            _ => {}
        }
    }

    fn innermost(&mut self) -> &mut (usize, usize) {
        self.levels.last_mut().unwrap_or(&mut self.outside)
    }

    fn operator(&mut self) {
        self.innermost().0 += 1;
        self.sum += 1;
    }

    fn end_of_expression(&mut self) {
        self.sum -= std::mem::take(&mut self.innermost().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_errors() {
        let panics = |said: &'static str| isolated::<()>(move || panic!("{said}"));
        assert_eq!(panics("TooLarge"), Err(FrontendError::Panic("TooLarge".to_owned())));
        let named = || Ok(thread::current().name() == Some(NAGA_THREAD));
        assert_eq!(isolated(named), Ok(true));
    }
}
