//! The file that names what a probe runs now: a trial (a test of the device), a batch (draws that are submitted
//! together) or a case (a captured draw). The file is beside the report. If the whole machine freezes, only this file
//! tells which trial, batch or case caused that.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Seek, Write};
use std::path::{Path, PathBuf};

use vkxfb_probe::plan::Batch;
use vkxfb_probe::report::{Case, ProbeReport};
use vkxfb_probe::trial::Trial;

/// What the line begins with, by which a probe knows a file that an earlier one left.
const HEAD: &str = "vkxfb probe, ";

/// A file with one line, which names the trial (a test of the device), batch (draws that are submitted together) or
/// case (a captured draw) that runs now. The line is on the disk before the trial, batch or
/// case starts.
pub(super) struct Running {
    path: PathBuf,
    file: File,
    /// Whether this process removes the file at the end. Child processes leave that to their parent.
    is_own: bool,
}

impl Running {
    /// Opens the file that names what runs, beside `file`, which is the file of a report or page. `None` if there is no
    /// report or page, or if it is written to a device or a pipe. If an earlier probe did not end, its file still
    /// exists. Then the main process prints the line in that file and replaces it. Child processes continue the file of
    /// the main process.
    ///
    /// # Errors
    /// The errors of the file system. [`AlreadyExists`](ErrorKind::AlreadyExists) if there is a file of that name, or a
    /// link, a pipe or the like, that no probe has left: nothing is read from it but the head of a file, and it stays.
    pub(super) fn beside(file: Option<&Path>, is_own: bool) -> Result<Option<Self>> {
        let is_stream = |file: &Path| file.metadata().is_ok_and(|found| !found.is_file());
        let Some(file) = file.filter(|file| !is_stream(file)) else { return Ok(None) };
        let mut name = OsString::from(file);
        name.push(".running");
        let path = PathBuf::from(name);
        let left = left_in(&path)?;
        if is_own && let Some(left) = &left {
            let (shown, left) = (path.display(), vkxfb_probe::terminal::in_line(left));
            crate::print::remark(format_args!(
                "{shown} is of a probe that did not end. It was at: {left}"
            ));
            std::fs::remove_file(&path)?;
        }
        let is_new = left.is_none() || is_own;
        // A new file is created through no link.
        let file = OpenOptions::new().write(true).create_new(is_new).open(&path)?;
        // The name of the file has to be on the disk, too, so the directory is synchronized.
        #[cfg(unix)]
        if let Some(directory) = path.parent() {
            let directory =
                if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
            File::open(directory)?.sync_all()?;
        }
        let mut this = Self { path, file, is_own };
        if is_new {
            this.say("which begins")?;
        }
        Ok(Some(this))
    }

    /// Replaces the line, and waits until it is on the disk.
    ///
    /// # Errors
    /// The errors of the file system.
    pub(super) fn say(&mut self, what: &str) -> Result<()> {
        let line = format!("{HEAD}{}\n", what.replace('\n', " "));
        self.file.rewind()?;
        // The new line is written over the old one, and only then is the file shortened, so that
        // the file is never empty.
        self.file.write_all(line.as_bytes())?;
        self.file.set_len(line.len() as u64)?;
        self.file.sync_all()
    }
}

/// Returns the line of a file that a probe has left; `None` if there is no file.
///
/// # Errors
/// The errors of the file system; [`AlreadyExists`](ErrorKind::AlreadyExists) if it is of no probe.
fn left_in(path: &Path) -> Result<Option<String>> {
    let other = || {
        let text = format!(
            "{} is there, and is of no probe: remove it, or name another report",
            path.display()
        );
        Error::new(ErrorKind::AlreadyExists, text)
    };
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        // What is read from a pipe may never come.
        Ok(found) if !found.is_file() => return Err(other()),
        Ok(_) => {}
    }
    // More than any line has.
    let mut head = Vec::new();
    File::open(path)?.take(1 << 16).read_to_end(&mut head)?;
    let text = String::from_utf8_lossy(&head);
    // A machine that froze at once may have left an empty one.
    let line = if text.is_empty() { Some("its start") } else { text.strip_prefix(HEAD) };
    Ok(Some(line.ok_or_else(other)?.trim_end().to_owned()))
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_own {
            // The report contains everything that the file says.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

pub(super) fn trial_line(report: &ProbeReport, trial: Trial) -> String {
    format!("{}: the trial {}, before the cases", report.device.name, trial.title())
}

/// Describes a batch, whose draws are submitted together, with the command that runs it case by
/// case.
pub(super) fn batch_line(report: &ProbeReport, number: usize, batch: &Batch<'_>) -> String {
    let Batch { group, draws } = batch;
    let draws: Vec<_> = draws.iter().map(|(v, i)| format!("{v}x{i}")).collect();
    let (draws, command) = (draws.join(" "), report.repeat_group(group));
    let (device, pipeline) = (&report.device.name, group.case((0, 0), false).pipeline());
    let backend = group.backend;
    let isolate = if report.options.iter().any(|o| o == "--isolate") { "" } else { " --isolate" };
    format!(
        "{device}: batch {number}, {backend}, {pipeline}, draws (vertices x instances) {draws}; \
         to repeat it case by case: {command}{isolate}"
    )
}

/// Describes a case that runs alone, not in a batch, with the command that repeats the case.
pub(super) fn case_line(report: &ProbeReport, batch: &Batch<'_>, case: &Case) -> String {
    let (device, backend) = (&report.device.name, batch.group.backend);
    let command = report.repeat(case, Some(backend));
    format!("{device}: {backend}, {case}; to repeat it: {command}")
}
