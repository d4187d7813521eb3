//! `vkxfb layer`: prints, installs and removes the manifest of the Vulkan layer, by which the
//! loader finds the layer. On Windows the loader learns from the registry where the manifest is.

mod installed;
mod manifest;
mod registry;

use std::ffi::OsString;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};

pub(super) use self::installed::{Installed, installed};
use self::manifest::{FILE_NAME, Kind};
pub(super) use self::manifest::{Manifest, NAME};
use self::registry::{Hive, Registry};

/// The arguments of `vkxfb layer`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LayerArguments {
    #[command(subcommand)]
    command: LayerCommand,
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

The layer reads VKXFB_FORCE_ENABLE, VKXFB_REPLACE_PARTIAL, VKXFB_DESCRIPTORS,
VKXFB_OPTIMIZE_SHADERS, VKXFB_STRICT and VKXFB_LOG, or vk_layer_settings.txt:
  vkxfb_transform_feedback.force_enable = true      even if the driver has the extension
  vkxfb_transform_feedback.replace_partial = true   if it lacks queries, draws or geometry streams
  vkxfb_transform_feedback.descriptors = true       capture by descriptors, not by addresses
  vkxfb_transform_feedback.optimize_shaders = false to rule out the optimizer of shaders
  vkxfb_transform_feedback.strict = true            fail where a capture is lost

Exit status: 0, or 2 if it cannot be done.";

#[derive(Debug, Subcommand)]
enum LayerCommand {
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
    #[arg(long, value_name = "PATH", default_value_os_t = manifest::packaged_library())]
    library: PathBuf,
}

#[derive(Debug, clap::Args)]
struct InstallArguments {
    #[command(flatten)]
    kind: KindArguments,
    /// Install for this user, in $XDG_DATA_HOME or ~/.local/share; otherwise for all users, in /etc.
    /// On Windows, in %LOCALAPPDATA% and HKEY_CURRENT_USER, otherwise in %ProgramFiles% and
    /// HKEY_LOCAL_MACHINE
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
pub(crate) fn run(arguments: &LayerArguments) -> Result<u8> {
    match &arguments.command {
        LayerCommand::Manifest(arguments) => {
            let manifest = Manifest::new(arguments.kind.kind(), &arguments.library)?;
            crate::print::show_json_text(&manifest.text()?)?;
        }
        LayerCommand::Install(InstallArguments { kind, user, library }) => {
            let library = find_library(library.as_deref())?;
            let mut registry = registry::of_system();
            let mut site = Site::of_system(*user, registry.as_deref_mut())?;
            crate::print::show(&site.install(kind.kind(), &library)?)?;
        }
        LayerCommand::Uninstall(UninstallArguments { user }) => {
            let mut registry = registry::of_system();
            crate::print::show(&Site::of_system(*user, registry.as_deref_mut())?.uninstall()?)?;
        }
    }
    Ok(0)
}

/// Returns the library that the user names, or that is near this command.
fn find_library(named: Option<&Path>) -> Result<PathBuf> {
    let Some(library) = named else {
        return manifest::find_library(&std::env::current_exe()?);
    };
    // On Windows the path that `std::fs::canonicalize` returns begins with \\?\, which the loader does not take.
    let found = dunce::canonicalize(library);
    let library = found.with_context(|| format!("cannot install {}", library.display()))?;
    if !library.is_file() {
        bail!("cannot install {}: it is not a file", library.display());
    }
    Ok(library)
}

/// Returns the directory that contains the directories of manifests on a system. The loader looks in it, except on
/// Windows, where the registry names the manifests. On Windows, the same users may write to the directory as to the
/// hive of the registry that names the manifest.
fn root(os: &str, user: bool, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let directory = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        Ok(PathBuf::from(value.with_context(|| format!("{name} is not set"))?).join("vkxfb"))
    };
    match (os, user) {
        ("android", _) => bail!("the loader of Android reads no manifests; see layer/ANDROID.md"),
        ("windows", true) => directory("LOCALAPPDATA"),
        ("windows", false) => directory("ProgramFiles"),
        (_, true) => {
            let home = installed::data_home().context("neither XDG_DATA_HOME nor HOME is set")?;
            Ok(home.join("vulkan"))
        }
        (_, false) => Ok(PathBuf::from("/etc/vulkan")),
    }
}

/// Where the layer is installed: for this user, or for all users.
struct Site<'a> {
    user: bool,
    root: PathBuf,
    registry: Option<&'a mut (dyn Registry + 'static)>,
}

impl<'a> Site<'a> {
    fn of_system(user: bool, registry: Option<&'a mut (dyn Registry + 'static)>) -> Result<Self> {
        let root = root(std::env::consts::OS, user, |name| std::env::var_os(name))?;
        Ok(Self { user, root, registry })
    }

    const fn hive(&self) -> Hive {
        if self.user { Hive::User } else { Hive::Machine }
    }

    /// Writes the manifest. Returns the message for the user.
    fn install(&mut self, kind: Kind, library: &Path) -> Result<String> {
        let manifest = Manifest::new(kind, library)?;
        let directory = self.root.join(kind.directory());
        let file = directory.join(FILE_NAME);
        // If the file exists, it may only be overwritten if it is a manifest of this layer.
        if file.exists() {
            check_ours(&file)?;
        }
        std::fs::create_dir_all(&directory)
            .with_context(|| self.cannot(&format!("make {}", directory.display())))?;
        vkxfb_probe::report::write_atomically(&file, manifest.text()?.as_bytes())
            .with_context(|| self.cannot(&format!("write {}", file.display())))?;

        let mut said = format!("wrote {}\n", file.display());
        let (hive, implicit) = (self.hive(), kind.is_implicit());
        if let Some(registry) = &mut self.registry {
            registry::add(*registry, hive, implicit, &file)
                .with_context(|| self.cannot(&format!("write {}", hive.path(implicit))))?;
            writeln!(said, "added it to {}", hive.path(implicit))?;
        }
        // If an explicit and an implicit manifest existed, the loader would find the layer twice.
        self.remove(kind.other_directory(), &mut said)?;
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

    /// Removes the manifest that [`install`](Self::install) wrote. Returns the message for the user.
    fn uninstall(&mut self) -> Result<String> {
        let mut said = String::new();
        for directory in Kind::DIRECTORIES {
            self.remove(directory, &mut said)?;
        }
        if said.is_empty() {
            let file = |directory| self.root.join(directory).join(FILE_NAME).display().to_string();
            let other = if self.user { "for the machine" } else { "for a user (--user)" };
            bail!(
                "nothing to remove: no {}; the layer may be installed {other}",
                Kind::DIRECTORIES.map(file).join(" and no ")
            );
        }
        Ok(said)
    }

    /// Removes the manifest in a directory, if there is one, and the value in the registry that names it. Adds to
    /// `said`, the message for the user, what was removed. Fails if the file is not a manifest of this layer.
    fn remove(&mut self, directory: &str, said: &mut String) -> Result<()> {
        let file = self.root.join(directory).join(FILE_NAME);
        let (hive, implicit) = (self.hive(), directory == Kind::Always.directory());
        check_ours(&file)?;
        if let Some(registry) = &mut self.registry {
            let removed = registry::remove(*registry, hive, implicit, &file)
                .with_context(|| self.cannot(&format!("write {}", hive.path(implicit))))?;
            if removed {
                writeln!(said, "removed it from {}", hive.path(implicit))?;
            }
        }
        if file.exists() {
            std::fs::remove_file(&file)
                .with_context(|| self.cannot(&format!("remove {}", file.display())))?;
            writeln!(said, "removed {}", file.display())?;
        }
        Ok(())
    }

    fn cannot(&self, what: &str) -> String {
        let all_may = if cfg!(windows) { "as administrator" } else { "as root" };
        if self.user {
            format!("cannot {what}")
        } else {
            format!("cannot {what} ({all_may}, or with --user?)")
        }
    }
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

#[cfg(test)]
mod tests {
    use super::registry::FakeRegistry;
    use super::*;

    /// On Windows the registry names the installed manifest, and no other manifest.
    #[test]
    fn the_registry_follows_the_manifest() {
        for user in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let library = root.path().join("vkxfb_layer.dll");
            let mut registry = FakeRegistry::default();
            let mut site =
                Site { user, root: root.path().to_owned(), registry: Some(&mut registry) };
            let mut listed = |kind: Option<Kind>| {
                let said = match kind {
                    Some(kind) => site.install(kind, &library).unwrap(),
                    None => site.uninstall().unwrap(),
                };
                let registry = site.registry.as_deref().unwrap();
                let listed = registry::manifests(registry);
                for (file, _) in &listed {
                    assert!(Manifest::read(file).unwrap().is_some(), "{}", file.display());
                }
                let hive = if user { "HKEY_CURRENT_USER" } else { "HKEY_LOCAL_MACHINE" };
                assert!(said.contains(hive), "{said}");
                listed.into_iter().map(|(_, implicit)| implicit).collect::<Vec<_>>()
            };
            assert_eq!(listed(Some(Kind::Explicit)), [false]);
            assert_eq!(listed(Some(Kind::Always)), [true]);
            assert_eq!(listed(Some(Kind::OnRequest)), [true]);
            assert_eq!(listed(Some(Kind::Explicit)), [false]);
            assert_eq!(listed(None), [false; 0]);
            assert!(site.uninstall().unwrap_err().to_string().contains("nothing to remove"));
        }
    }

    /// Uninstalling removes the value in the registry that names a manifest, even if the file of that manifest was
    /// removed before.
    #[test]
    fn a_lost_manifest_leaves_the_registry() {
        let root = tempfile::tempdir().unwrap();
        let mut registry = FakeRegistry::default();
        let mut site =
            Site { user: true, root: root.path().to_owned(), registry: Some(&mut registry) };
        site.install(Kind::Explicit, Path::new("layer.dll")).unwrap();
        std::fs::remove_dir_all(root.path()).unwrap();
        assert!(site.uninstall().unwrap().contains("removed it from HKEY_CURRENT_USER"));
        assert_eq!(registry, FakeRegistry::default());
    }

    #[test]
    fn each_system_has_its_directory() {
        let variable = |name: &str| match name {
            "LOCALAPPDATA" => Some(r"C:\Users\me\AppData\Local".into()),
            "ProgramFiles" => Some(r"C:\Program Files".into()),
            _ => None,
        };
        let of = |os, user| root(os, user, variable).map_err(|error| error.to_string());
        let windows = |path: &str| Ok(Path::new(path).join("vkxfb"));
        assert_eq!(of("windows", true), windows(r"C:\Users\me\AppData\Local"));
        assert_eq!(of("windows", false), windows(r"C:\Program Files"));
        assert_eq!(of("linux", false), Ok(PathBuf::from("/etc/vulkan")));
        assert_eq!(of("macos", false), Ok(PathBuf::from("/etc/vulkan")));
        assert!(of("android", true).unwrap_err().contains("ANDROID.md"));
        let unset = root("windows", true, |_| None).unwrap_err().to_string();
        assert_eq!(unset, "LOCALAPPDATA is not set");
    }
}
