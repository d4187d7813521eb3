//! naga in a thread of its own, where neither its panics nor its recursion end the process.
//!
//! naga has panics for what it does not expect, and walks expressions and statements by recursion. A thread
//! catches the first, and has a stack whose size does not depend on the caller's. How deep a source nests is
//! bounded before.
//!
//! The process's panic hook is the application's. It is left alone, and runs for a panic of naga as for any
//! other, before the error is returned: the standard one prints a line. A hook that is to be silent knows
//! the thread by its name, [`NAGA_THREAD`]. Where panics abort the process, nothing can catch them.

use std::any::Any;
use std::thread;

use super::tokens::Tokens;
use super::{FrontendError, SourceLocation};

/// The name of the thread that naga runs in, by which a panic hook can tell its panics.
pub const NAGA_THREAD: &str = "vkxfb-naga";

/// Bytes of its stack: [`MAX_NESTING`] times what naga takes for a level without optimisation, and room
/// for what macros make of a source.
const STACK_SIZE: usize = 64 << 20;

/// How many brackets, operators and branches of a source may stand within each other.
pub const MAX_NESTING: usize = 1000;

/// Runs something with naga.
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

/// What a panic says.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic".to_owned())
}

/// Refuses a source that nests deeper than [`MAX_NESTING`].
pub(super) fn check_nesting(tokens: &Tokens<'_>) -> Result<(), FrontendError> {
    let (mut code, mut directive) = (Nesting::default(), Nesting::default());
    for (index, token) in tokens.list().iter().enumerate() {
        let text = tokens.text(index);
        if text == "#" {
            directive = Nesting::default();
        }
        let nesting = if token.directive { &mut directive } else { &mut code };
        nesting.take(text);
        if nesting.depth() > MAX_NESTING {
            let location: Option<SourceLocation> = tokens.location(index);
            return Err(FrontendError::Nesting { location });
        }
    }
    Ok(())
}

/// An upper bound of how deep a parser recurses: every operator of an expression, every bracket around it
/// and every `else` before it may be a level.
#[derive(Debug, Default)]
struct Nesting {
    /// Operators of the expressions and `else` of the blocks that are open, a pair a bracket.
    levels: Vec<(usize, usize)>,
    /// Those outside of all brackets.
    outside: (usize, usize),
    /// Their sum.
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
                // A block is a statement, and ends one.
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
