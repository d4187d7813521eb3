//! The command `vkxfb`: parses arguments, calls the library, and shows the results. The exit status
//! is 0 if all is right; 1 if the probe found mismatches, or the benchmark or a comparison found
//! something wrong; and 2 if the command could not run.

mod attributes;
mod bench;
mod broadcast;
mod capture;
mod captured;
mod command;
mod everything;
mod files;
mod glslang;
mod hint;
mod info;
mod inspect;
mod layer;
mod log;
mod lower;
mod manual;
mod options;
mod output;
mod primitives;
mod print;
mod probe;
mod source;
mod specialize;
mod split;
mod stages;
mod status;
mod stream_output;
mod strip;
mod supplied;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::builder::Styles;
use clap::{CommandFactory, FromArgMatches};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::MakeWriterExt;
use vkxfb_probe::terminal;
use vkxfb_rewriter::frontend::NAGA_THREAD;

use crate::command::{Arguments, Command};
use crate::print::{complain, say, show};
use crate::status::COULD_NOT_RUN;

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("VKXFB_LOG").unwrap_or_else(|_| "warn".into()))
        .with_writer((|| log::Screen(std::io::stderr())).and(|| log::Keeper))
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .init();
    leave_naga_silent();
    let given = join_lists(std::env::args_os());
    let is_plain = !given.iter().all(is_printable);
    let arguments = parse(&given, is_plain);
    let command = arguments.unwrap_or_else(|error| leave(suggested(error), is_plain)).command;
    let result = match &command {
        Command::Bench(arguments) => bench::run(arguments),
        Command::BroadcastColor(arguments) => broadcast::run(arguments),
        Command::Capture(arguments) => capture::run(arguments),
        Command::Completions(arguments) => manual::completions(arguments, Arguments::command()),
        Command::Info(arguments) => info::run(arguments),
        Command::Man => manual::page(Arguments::command()),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Layer(arguments) => layer::run(arguments),
        Command::Lower(arguments) => lower::run(arguments),
        Command::SplitBlocks(arguments) => split::run(arguments),
        Command::StripXfb(arguments) => strip::run(arguments),
        Command::Probe(arguments) => probe::run(arguments),
    };
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            complain("error:", format_args!("{error:#}"));
            if let Some(hint) = hint::hint(&error, &command) {
                complain("hint:", hint);
            }
            ExitCode::from(COULD_NOT_RUN)
        }
    }
}

/// If the unknown command is `compare`, adds the suggestion `probe compare` to the error.
fn suggested(mut error: clap::Error) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let given = error.get(ContextKind::InvalidSubcommand);
    if matches!(given, Some(ContextValue::String(name)) if name == "compare") {
        let meant = ContextValue::Strings(vec!["probe compare".to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
    error
}

/// Whether nothing of an argument would control a terminal.
fn is_printable(argument: &OsString) -> bool {
    let argument = argument.to_string_lossy();
    terminal::in_line(&argument) == argument
}

/// Parses the arguments. What is said of them has clap's colours, unless it `is_plain`: among these colours the escape
/// sequences of an argument could not be told apart.
fn parse(given: &[OsString], is_plain: bool) -> Result<Arguments, clap::Error> {
    let mut command = Arguments::command();
    if is_plain {
        command = command.styles(Styles::plain());
    }
    let mut matches = command.try_get_matches_from_mut(given)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Ends the command with an error in its arguments, or with the help that these ask for. With `is_plain` it has no
/// colours, and what an argument would control the terminal with is escaped.
fn leave(error: clap::Error, is_plain: bool) -> ! {
    if !is_plain {
        error.exit();
    }
    let text = error.render().ansi().to_string();
    if error.use_stderr() {
        say(&text)
    } else {
        drop(show(&text))
    }
    std::process::exit(error.exit_code())
}

/// Stops naga's panics from printing messages, because the panics are caught and shown like other errors.
fn leave_naga_silent() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(NAGA_THREAD) {
            hook(panic);
        }
    }));
}

/// Joins list arguments that the shell has split at the spaces after commas, as in `--varyings a,
/// b`.
fn join_lists(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let is_option = |argument: &OsString| argument.as_encoded_bytes().starts_with(b"--");
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let before = joined.len().checked_sub(2).map(|at| is_option(&joined[at]));
        match joined.last_mut() {
            Some(list)
                if list.as_encoded_bytes().ends_with(b",")
                    && (before == Some(true) || is_option(list))
                    && !argument.as_encoded_bytes().starts_with(b"-") =>
            {
                list.push(argument);
            }
            _ => joined.push(argument),
        }
    }
    joined
}
