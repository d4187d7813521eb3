//! Restarts the probe after a crash of the driver, with each case in a child process. So the case that crashed is found, and
//! probes without a crash need no child processes.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::OnceLock;

/// The program and arguments for the restart. Prepared in advance, because a signal handler must not allocate memory.
struct Again {
    program: CString,
    /// Pointers into `_arguments`, terminated by a null pointer.
    pointers: Vec<*const c_char>,
    _arguments: Vec<CString>,
}

// SAFETY: nothing changes what the pointers point to, and it lives as long as they do.
unsafe impl Send for Again {}
// SAFETY: as above.
unsafe impl Sync for Again {}

static AGAIN: OnceLock<Again> = OnceLock::new();

/// The signals of crashes.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

const MESSAGE: &[u8] =
    b"lost: the driver crashed the probe; starting again with --isolate, which tells the case\n";

/// Installs signal handlers that restart this program after a crash, with its arguments and `--isolate`. If it cannot be
/// restarted, it ends with the signal.
pub(super) fn start_again_isolated() {
    let Some(again) = again() else { return };
    if AGAIN.set(again).is_err() {
        return;
    }
    for signal in SIGNALS {
        // SAFETY: an action of zeros is valid; the handler only calls what a signal handler may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(c_int) as usize;
            // A crash in the handler is not handled again. SA_ONSTACK, because the stack may have overflowed.
            action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

fn again() -> Option<Again> {
    let program = CString::new(std::env::current_exe().ok()?.as_os_str().as_bytes()).ok()?;
    let arguments = std::env::args_os().map(|argument| CString::new(argument.into_vec()));
    let arguments = arguments.chain(std::iter::once(Ok(c"--isolate".to_owned())));
    let arguments: Vec<CString> = arguments.collect::<Result<_, _>>().ok()?;
    let pointers = arguments.iter().map(|argument| argument.as_ptr());
    let pointers = pointers.chain(std::iter::once(std::ptr::null())).collect();
    Some(Again { program, pointers, _arguments: arguments })
}

extern "C" fn handle(signal: c_int) {
    if let Some(again) = AGAIN.get() {
        // SAFETY: signal handlers may call all of these; the strings end with zeros, and the list with a null pointer.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            // Signals that are blocked would stay blocked in the restarted program.
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::execv(again.program.as_ptr(), again.pointers.as_ptr());
        }
    }
    // SAFETY: as above; the signal has its default action again.
    unsafe {
        libc::raise(signal);
    }
}
