//! Files that are there as a whole or not at all.

use std::io::{Error, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Where bytes for a path go.
enum Destination {
    /// A file, links followed, that is there or not.
    File(PathBuf),
    /// A terminal, a pipe, a device: it cannot be replaced, and must not be.
    Stream,
}

/// Writes a file as a whole or not at all: into a temporary file beside it first, which then takes
/// its name. What is not a file is written to as it is.
///
/// # Errors
/// What the file system says.
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

/// Whether [`write_atomically`] could write there, so that a long run need not end in finding out.
/// Nothing stays of the attempt.
///
/// # Errors
/// What the file system says.
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

/// A temporary file in the directory of `path`.
fn beside(path: &Path) -> Result<NamedTempFile> {
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    directory.metadata()?;
    let mut builder = tempfile::Builder::new();
    // A report is to be read by others; tempfile's default keeps it to its owner.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o644));
    }
    // Its own message names the temporary file, which nobody asked for.
    builder.prefix(".vkxfb-").tempfile_in(directory).map_err(|error| error.kind().into())
}
