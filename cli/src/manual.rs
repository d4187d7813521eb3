//! Generated from the arguments: completions for shells, and the manual page.

use std::io::Write;

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use super::{Arguments, show};

const EXAMPLES: &str = "Examples:
  vkxfb completions bash > ~/.local/share/bash-completion/completions/vkxfb
  vkxfb completions zsh > ~/.zfunc/_vkxfb
  vkxfb completions fish > ~/.config/fish/completions/vkxfb.fish";

/// Arguments of `vkxfb completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionArguments {
    /// The shell
    shell: Shell,
}

/// `vkxfb completions`
pub fn completions(arguments: &CompletionArguments) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "vkxfb", &mut script);
    show(&String::from_utf8(script)?)?;
    Ok(0)
}

/// `vkxfb man`: one page, with every command and its options.
pub fn page() -> Result<u8> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    for subcommand in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let man = clap_mangen::Man::new(subcommand.clone());
        writeln!(page, ".SH \"{}\"", subcommand.get_bin_name().unwrap_or_default())?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
    }
    show(&String::from_utf8(page)?)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands below the options of a command and of those below it.
    fn check_width(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines() {
            // Examples stay on a line, to be copied, but those of newer commands are as narrow as the rest.
            let is_example = line.starts_with("  ") && command.get_name() != "capture";
            assert!(is_example || line.chars().count() <= 78, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(check_width);
    }

    #[test]
    fn help_fits_into_a_terminal() {
        check_width(&Arguments::command());
    }
}
