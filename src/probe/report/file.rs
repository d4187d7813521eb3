//! Files that are there as a whole or not at all.

use std::io::Write;
use std::path::Path;

/// Writes a file as a whole or not at all: into a temporary file beside it first, which then takes
/// its name.
///
/// # Errors
/// What the file system says.
pub fn write_atomically(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    // A report is to be read by others; tempfile's default keeps it to its owner.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o644));
    }
    let mut file = builder.prefix(".vkxfb-").tempfile_in(directory)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}
