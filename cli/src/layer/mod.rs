//! `vkxfb layer`: prints, installs and removes the manifest of the Vulkan layer, by which the
//! loader finds the layer.

mod installed;
mod manifest;

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};

pub(super) use self::installed::{Installed, installed};
use self::manifest::{FILE_NAME, Kind};
pub(super) use self::manifest::{Manifest, NAME};

/// The arguments of `vkxfb layer`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  vkxfb layer install --user          for programs of this user that ask for the layer, as with
  VK_INSTANCE_LAYERS=VK_LAYER_VKXFB_transform_feedback my-program
  vkxfb layer install --implicit=always   for every program of the machine (as root)
  vkxfb layer uninstall --user
  vkxfb layer manifest                the file for the loader, for packages
  vkxfb info                          where the layer is installed, and its state on each device

An explicit layer is loaded if the program or the loader's variables ask for
it. An implicit layer is loaded by the loader itself: on request if
ENABLE_VKXFB_TRANSFORM_FEEDBACK=1 is set, or always; never if
DISABLE_VKXFB_TRANSFORM_FEEDBACK=1 is set.

The layer reads VKXFB_FORCE_ENABLE, VKXFB_REPLACE_PARTIAL,
VKXFB_OPTIMIZE_SHADERS and VKXFB_LOG, or vk_layer_settings.txt:
  vkxfb_transform_feedback.force_enable = true      even if the driver has the extension
  vkxfb_transform_feedback.replace_partial = true   if it lacks queries, draws or geometry streams
  vkxfb_transform_feedback.optimize_shaders = false to rule out the optimizer of shaders

Exit status: 0, or 2 if it cannot be done.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the manifest.
    Manifest(ManifestArguments),
    /// Write the manifest to the directory where the loader looks for it.
    Install(InstallArguments),
    /// Remove the manifest that install wrote.
    Uninstall(UninstallArguments),
}

#[derive(Debug, clap::Args)]
struct ManifestArguments {
    #[command(flatten)]
    kind: KindArguments,
    /// The library in the manifest: a path, relative to the directory of the manifest, or a name
    /// that the dynamic linker looks up
    #[arg(long, value_name = "PATH", default_value_os_t = PathBuf::from(manifest::library_name()))]
    library: PathBuf,
}

#[derive(Debug, clap::Args)]
struct InstallArguments {
    #[command(flatten)]
    kind: KindArguments,
    /// Install for this user, in $XDG_DATA_HOME or ~/.local/share; otherwise for all users, in /etc
    #[arg(long)]
    user: bool,
    /// The layer's library; by default it is searched for near this command
    #[arg(long, value_name = "PATH")]
    library: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct UninstallArguments {
    /// Uninstall what was installed for this user; otherwise for all users
    #[arg(long)]
    user: bool,
}

#[derive(Debug, clap::Args)]
struct KindArguments {
    /// Let the loader load the layer even for programs that do not ask for it
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "on-request"
    )]
    implicit: Option<When>,
}

/// When the loader loads an implicit layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum When {
    /// If ENABLE_VKXFB_TRANSFORM_FEEDBACK=1 is set
    OnRequest,
    /// For every program
    Always,
}

impl KindArguments {
    fn kind(&self) -> Kind {
        match self.implicit {
            None => Kind::Explicit,
            Some(When::OnRequest) => Kind::OnRequest,
            Some(When::Always) => Kind::Always,
        }
    }
}

/// Runs `vkxfb layer`.
pub(crate) fn run(arguments: &Arguments) -> Result<u8> {
    match &arguments.command {
        Command::Manifest(arguments) => {
            super::show(&Manifest::new(arguments.kind.kind(), &arguments.library)?.text()?)?;
        }
        Command::Install(arguments) => super::show(&install(arguments)?)?,
        Command::Uninstall(arguments) => super::show(&uninstall(arguments)?)?,
    }
    Ok(0)
}

/// Returns the directory in which the loader looks for directories of manifests.
fn root(user: bool) -> Result<PathBuf> {
    if cfg!(not(unix)) {
        bail!("the loader of this system does not look for manifests in directories");
    }
    if !user {
        return Ok(PathBuf::from("/etc/vulkan"));
    }
    let home = installed::data_home().context("neither XDG_DATA_HOME nor HOME is set")?;
    Ok(home.join("vulkan"))
}

/// Writes the manifest. Returns the message for the user.
fn install(arguments: &InstallArguments) -> Result<String> {
    let library = match &arguments.library {
        Some(library) => library
            .canonicalize()
            .with_context(|| format!("cannot install {}", library.display()))?,
        None => manifest::find_library(&std::env::current_exe()?)?,
    };
    if !library.is_file() {
        bail!("cannot install {}: it is not a file", library.display());
    }
    let kind = arguments.kind.kind();
    let manifest = Manifest::new(kind, &library)?;
    let root = root(arguments.user)?;
    let directory = root.join(kind.directory());
    let file = directory.join(FILE_NAME);
    // If the file exists, it may only be overwritten if it is a manifest of this layer.
    if file.exists() {
        check_ours(&file)?;
    }
    std::fs::create_dir_all(&directory)
        .with_context(|| cannot(&format!("make {}", directory.display()), arguments.user))?;
    super::write_atomically(&file, manifest.text()?.as_bytes())
        .with_context(|| cannot(&format!("write {}", file.display()), arguments.user))?;

    let mut said = format!("wrote {}\n", file.display());
    // If both manifests, explicit and implicit, existed, the loader would find the layer twice.
    let other = root.join(kind.other_directory()).join(FILE_NAME);
    if other.exists() {
        remove(&other, arguments.user)?;
        writeln!(said, "removed {}", other.display())?;
    }
    writeln!(said, "the library is {}", library.display())?;
    writeln!(
        said,
        "{}",
        match kind {
            Kind::Explicit => format!("programs get the layer with VK_INSTANCE_LAYERS={NAME}"),
            Kind::OnRequest => format!("programs get the layer with {}=1", manifest::ENABLE),
            Kind::Always =>
                format!("every program gets the layer, except with {}=1", manifest::DISABLE),
        }
    )?;
    Ok(said)
}

/// Removes the manifest that [`install`] wrote. Returns the message for the user.
fn uninstall(arguments: &UninstallArguments) -> Result<String> {
    let root = root(arguments.user)?;
    let files = Kind::DIRECTORIES.map(|directory| root.join(directory).join(FILE_NAME));
    let mut said = String::new();
    for file in files.iter().filter(|file| file.exists()) {
        remove(file, arguments.user)?;
        writeln!(said, "removed {}", file.display())?;
    }
    if said.is_empty() {
        let files = files.each_ref().map(|file| file.display().to_string());
        let other = if arguments.user { "for the machine" } else { "for a user (--user)" };
        bail!(
            "nothing to remove: no {}; the layer may be installed {other}",
            files.join(" and no ")
        );
    }
    Ok(said)
}

fn remove(file: &Path, user: bool) -> Result<()> {
    check_ours(file)?;
    std::fs::remove_file(file).with_context(|| cannot(&format!("remove {}", file.display()), user))
}

/// Checks that a file may be overwritten or removed, because it is a manifest of this layer or does
/// not exist.
fn check_ours(file: &Path) -> Result<()> {
    match Manifest::read(file) {
        Ok(Some(_)) => Ok(()),
        Ok(None) => bail!("{} is not a manifest of {NAME}, and is not changed", file.display()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

fn cannot(what: &str, user: bool) -> String {
    if user {
        format!("cannot {what}")
    } else {
        format!("cannot {what} (as root, or with --user?)")
    }
}
