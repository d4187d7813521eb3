//! Installs signal handlers that replace the program by a new one.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::OnceLock;

use super::MESSAGE;

/// The program and arguments with which the probe restarts. They are prepared in advance, because a
/// signal handler must not allocate memory.
struct Again {
    program: CString,
    /// Pointers to `_arguments`, terminated by a null pointer.
    pointers: Vec<*const c_char>,
    _arguments: Vec<CString>,
}

// SAFETY: the memory that the pointers point to is in the same structure, and is never changed.
unsafe impl Send for Again {}
// SAFETY: the memory that the pointers point to is in the same structure, and is never changed.
unsafe impl Sync for Again {}

static AGAIN: OnceLock<Again> = OnceLock::new();

/// The signals that mean a crash.
const SIGNALS: [c_int; 5] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];

/// Installs signal handlers that restart this program after a crash, with the same arguments and
/// `--isolate`. If that fails, the signal ends the program. Returns `None`, since the caller has to probe.
pub(in crate::probe) fn guard() -> Option<u8> {
    AGAIN.set(again()?).ok()?;
    for signal in SIGNALS {
        // SAFETY: a `sigaction` of zeros is valid, and the handler only calls functions that signal
        // handlers may call.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(c_int) as usize;
            // A second crash, inside of the handler, ends the program. The handler has its own
            // stack (`SA_ONSTACK`), because the normal stack may have overflowed.
            action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
    None
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
        // SAFETY: signal handlers may call all of these functions. The strings are terminated by
        // zeros, and the list by a null pointer.
        unsafe {
            for text in [MESSAGE, "\n"] {
                libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
            }
            // A signal is blocked while it is handled, and would stay blocked in the restarted
            // program.
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::execv(again.program.as_ptr(), again.pointers.as_ptr());
        }
    }
    // SAFETY: signal handlers may call this. The signal has its default action again, which ends
    // the program.
    unsafe {
        libc::raise(signal);
    }
}
