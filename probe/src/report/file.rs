//! Writes files completely or not at all.

use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The object that a path refers to, after following links.
enum Destination {
    /// A regular file, or a path at which there is nothing yet.
    File(PathBuf),
    /// A terminal, a pipe or a device, which must not be replaced.
    Stream,
}

/// Writes a file completely or not at all: the contents are first written to a temporary file in the same directory,
/// which is then renamed. If the path is that of a terminal, a pipe or a device, writes to it directly.
///
/// # Errors
/// The error of the file system.
pub fn write_atomically(path: &Path, contents: &[u8]) -> Result<()> {
    match destination(path)? {
        Destination::Stream => {
            std::fs::OpenOptions::new().write(true).open(path)?.write_all(contents)
        }
        Destination::File(path) => {
            let mut file = beside(&path)?;
            file.write_all(contents)?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|e| e.error)?;
            Ok(())
        }
    }
}

/// Checks, before a long run, whether [`write_atomically`] can write to a path. Leaves no file behind. Terminals, pipes
/// and devices are not checked, and count as writable.
///
/// # Errors
/// The error of the file system.
pub fn check_writable(path: &Path) -> Result<()> {
    match destination(path)? {
        Destination::Stream => Ok(()),
        Destination::File(path) => beside(&path).map(drop),
    }
}

fn destination(path: &Path) -> Result<Destination> {
    match path.metadata() {
        Ok(found) if found.is_file() => path.canonicalize().map(Destination::File),
        Ok(found) if found.is_dir() => Err(Error::from(ErrorKind::IsADirectory)),
        Ok(_) => Ok(Destination::Stream),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Destination::File(path.to_owned())),
        Err(error) => Err(error),
    }
}

/// Creates a temporary file in the directory of `path`.
fn beside(path: &Path) -> Result<NamedTempFile> {
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    directory.metadata()?;
    let mut builder = tempfile::Builder::new();
    // Others should be able to read a report; by default, only the owner can read a temporary file.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o644));
    }
    // The full error message would contain the name of the temporary file, which the user does not
    // know.
    builder.prefix(".vkxfb-").tempfile_in(directory).map_err(|error| error.kind().into())
}
