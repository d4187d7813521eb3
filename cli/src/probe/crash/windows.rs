//! Runs the probe in a child process, and another child after a crash.
//!
//! A filter of exceptions in the probe itself would not do: Windows ends a program that aborts, or whose heap or stack is
//! found damaged, without a call of any filter.

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::process::{Command, ExitStatus};
use std::ptr::{from_ref, null};

use windows_sys::Win32::System::Diagnostics::Debug::{
    SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject,
};

/// The name of the environment variable that tells a child process that it is one.
const IS_CHILD: &str = "VKXFB_PROBE_IS_CHILD";

/// Has a crash of this process or its children show no dialog that somebody would have to close.
pub(in crate::probe) fn show_no_dialogs() {
    // SAFETY: the function has no precondition.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

/// Runs this program again, with the same arguments, and after a crash once more, with `--isolate`. Returns the exit status.
/// `None` if the caller has to probe: because this process is the child, or cannot start one.
pub(in crate::probe) fn guard() -> Option<u8> {
    if std::env::var_os(IS_CHILD).is_some() {
        return None;
    }
    let job = job();
    let mut code = run(job.as_ref(), &[])?;
    if super::is_crash(code) {
        eprintln!("{}", super::MESSAGE);
        // The driver that crashed a child would crash this process, too.
        code = run(job.as_ref(), &["--isolate"]).unwrap_or(crate::COULD_NOT_RUN.into());
    }
    // What is no status of this program means that it could not do its work.
    Some(u8::try_from(code).unwrap_or(crate::COULD_NOT_RUN))
}

/// Runs this program again, with more arguments, and returns its exit code.
fn run(job: Option<&OwnedHandle>, more: &[&str]) -> Option<i32> {
    let program = std::env::current_exe().ok()?;
    let arguments = std::env::args_os().skip(1);
    let mut command = Command::new(program);
    let mut child = command.args(arguments).args(more).env(IS_CHILD, "1").spawn().ok()?;
    if let Some(job) = job {
        // SAFETY: both handles are open. If it fails, the child outlives this process where somebody kills that.
        unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) };
    }
    child.wait().ok().as_ref().and_then(ExitStatus::code)
}

/// Creates a job whose processes end when this process does, however that ends.
fn job() -> Option<OwnedHandle> {
    // SAFETY: the job is new and closed with its handle, the structure has the size that is given, and is valid with all
    // other members zero.
    unsafe {
        let job = CreateJobObjectW(null(), null());
        if job.is_null() {
            return None;
        }
        let job = OwnedHandle::from_raw_handle(job);
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = std::mem::zeroed();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let set = SetInformationJobObject(
            job.as_raw_handle(),
            JobObjectExtendedLimitInformation,
            from_ref(&limits).cast(),
            size_of_val(&limits) as u32,
        );
        (set != 0).then_some(job)
    }
}
