//! Writes files of results.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use vkxfb_probe::report::{check_writable, write_atomically};

/// Checks, before the command does its work, that the files for the results can be written, and that no two results go
/// to the same file.
pub(crate) fn check_outputs<'a>(
    files: impl IntoIterator<Item = &'a Option<PathBuf>>,
) -> Result<()> {
    let mut places = Vec::new();
    for file in files.into_iter().flatten() {
        check_writable(file).with_context(|| cannot_write(file))?;
        let place = std::path::absolute(file).with_context(|| cannot_write(file))?;
        // Several results may go to the same device or pipe, such as `/dev/null`.
        if places.contains(&place) && (!place.exists() || place.is_file()) {
            bail!("{} is to hold two results", file.display());
        }
        places.push(place);
    }
    Ok(())
}

pub(crate) fn write(file: &Path, contents: &(impl AsRef<[u8]> + ?Sized)) -> Result<()> {
    write_atomically(file, contents.as_ref()).with_context(|| cannot_write(file))
}

fn cannot_write(file: &Path) -> String {
    format!("cannot write {}", file.display())
}
