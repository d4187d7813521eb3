//! Runs the probe in a child process and, if that crashes, again in another child process.
//!
//! A filter for unhandled exceptions in the probe itself would not be enough: if a program aborts, or if its heap or
//! stack is found damaged, Windows ends the program without calling the filter.

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

/// Makes Windows show no dialog after a crash of this process or of its children: the probe would wait until somebody
/// closes the dialog.
pub(in crate::probe) fn show_no_dialogs() {
    // SAFETY: the function has no precondition.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

/// Runs this program in a child process with the same arguments and, if that crashes, in another one with `--isolate`
/// added. Returns the exit status. `None` if the caller has to probe, because this process is such a child process, or
/// because no child process can be started.
pub(in crate::probe) fn guard() -> Option<u8> {
    if std::env::var_os(IS_CHILD).is_some() {
        return None;
    }
    let job = job();
    let mut code = run(job.as_ref(), &[])?;
    if super::is_crash(code) {
        eprintln!("{}", super::MESSAGE);
        // If no second child process can be started, this process does not probe in its place: the driver that crashed
        // the child would crash this process, too.
        code = run(job.as_ref(), &["--isolate", "--restarted"])
            .unwrap_or(crate::status::COULD_NOT_RUN.into());
    }
    // A code that does not fit into 8 bits is not an exit status of this program. It means that the child could not do
    // its work.
    Some(u8::try_from(code).unwrap_or(crate::status::COULD_NOT_RUN))
}

/// Runs this program again, with more arguments, and returns its exit code.
fn run(job: Option<&OwnedHandle>, more: &[&str]) -> Option<i32> {
    let program = std::env::current_exe().ok()?;
    let arguments = std::env::args_os().skip(1);
    let mut command = Command::new(program);
    let mut child = command.args(arguments).args(more).env(IS_CHILD, "1").spawn().ok()?;
    if let Some(job) = job {
        // SAFETY: both handles are open. If the call fails, the child keeps running after somebody kills this process.
        unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) };
    }
    child.wait().ok().as_ref().and_then(ExitStatus::code)
}

/// Creates a job, whose processes Windows ends when this process ends in any way. `None` if that fails.
fn job() -> Option<OwnedHandle> {
    // SAFETY: the job is new and is closed with its handle. `limits` has the size that is passed, and is valid with
    // zeros in all other members.
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
