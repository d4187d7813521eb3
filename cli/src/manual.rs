//! Generates completions for shells and the manual page from the definitions of the arguments.

use std::io::Write;

use anyhow::Result;
use clap::Command;
use clap_complete::Shell;

use crate::print::show;

const EXAMPLES: &str = "Examples:
  vkxfb completions bash > ~/.local/share/bash-completion/completions/vkxfb
  vkxfb completions zsh > ~/.zfunc/_vkxfb
  vkxfb completions fish > ~/.config/fish/completions/vkxfb.fish";

/// The arguments of `vkxfb completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionArguments {
    /// The shell to generate the script for
    shell: Shell,
}

/// Prints the completions for a shell: `vkxfb completions`.
pub fn completions(arguments: &CompletionArguments, mut command: Command) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "vkxfb", &mut script);
    show(&String::from_utf8(script)?)?;
    Ok(0)
}

/// Prints a manual page with all commands, their options, examples and exit statuses: `vkxfb man`.
pub fn page(mut command: Command) -> Result<u8> {
    command.build();
    let mut page = Vec::new();
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    man.render_subcommands_section(&mut page)?;
    add_notes(&command, &mut page)?;
    man.render_version_section(&mut page)?;
    command.get_subcommands().try_for_each(|subcommand| add(subcommand, &mut page))?;
    show(&String::from_utf8(page)?)?;
    Ok(0)
}

/// Adds the sections of a command and its subcommands to the manual page.
fn add(command: &Command, page: &mut Vec<u8>) -> Result<()> {
    if command.get_name() == "help" {
        return Ok(());
    }
    let man = clap_mangen::Man::new(command.clone());
    writeln!(page, ".SH \"{}\"", command.get_bin_name().unwrap_or_default())?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    add_notes(command, page)?;
    command.get_subcommands().try_for_each(|subcommand| add(subcommand, page))
}

/// Adds what the help has behind the options: examples, explanations and exit statuses. Its lines stay as they are, which
/// `clap_mangen` would join.
fn add_notes(command: &Command, page: &mut Vec<u8>) -> Result<()> {
    let Some(notes) = command.get_after_help() else { return Ok(()) };
    writeln!(page, ".SH NOTES\n.nf")?;
    for line in notes.to_string().lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A line that begins so would be a request to roff.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(page, "{guard}{line}")?;
    }
    writeln!(page, ".fi")?;
    Ok(())
}
