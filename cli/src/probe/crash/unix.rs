//! Installs signal handlers that replace the program by a new one.

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::MESSAGE;

/// The program and arguments with which the probe restarts. They are prepared in advance, because a
/// signal handler must not allocate memory.
struct Again {
    program: CString,
    /// Pointers to `_arguments`, without the last one, terminated by a null pointer.
    pointers: Vec<*const c_char>,
    /// Pointers to all `_arguments`, the last of which says that the head of the results is shown.
    pointers_after_head: Vec<*const c_char>,
    _arguments: Vec<CString>,
}

// SAFETY: the memory that the pointers point to is in the same structure, and is never changed.
unsafe impl Send for Again {}
// SAFETY: the memory that the pointers point to is in the same structure, and is never changed.
unsafe impl Sync for Again {}

static AGAIN: OnceLock<Again> = OnceLock::new();

/// The number of heads of results, one for each device, that this program is to show.
static HEADS: AtomicUsize = AtomicUsize::new(0);

/// Whether all heads of results are shown, so that the restarted program need not repeat them.
static ARE_HEADS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Notes how many devices are probed. The head of a single device is not repeated after a crash.
pub(in crate::probe) fn expect_heads(devices: usize) {
    HEADS.store(devices, Ordering::Relaxed);
}

/// Notes that the head of a device's results is shown.
pub(in crate::probe) fn head_is_shown() {
    if HEADS.load(Ordering::Relaxed) == 1 {
        ARE_HEADS_SHOWN.store(true, Ordering::Relaxed);
    }
}

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
    let more = [c"--isolate", c"--restarted", c"--head-is-shown"];
    let arguments = arguments.chain(more.into_iter().map(|argument| Ok(argument.to_owned())));
    let arguments: Vec<CString> = arguments.collect::<Result<_, _>>().ok()?;
    let pointers_to = |arguments: &[CString]| {
        let pointers = arguments.iter().map(|argument| argument.as_ptr());
        pointers.chain(std::iter::once(std::ptr::null())).collect()
    };
    let (_, without_head) = arguments.split_last()?;
    Some(Again {
        program,
        pointers: pointers_to(without_head),
        pointers_after_head: pointers_to(&arguments),
        _arguments: arguments,
    })
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
            let pointers = if ARE_HEADS_SHOWN.load(Ordering::Relaxed) {
                &again.pointers_after_head
            } else {
                &again.pointers
            };
            libc::execv(again.program.as_ptr(), pointers.as_ptr());
        }
    }
    // SAFETY: signal handlers may call this. The signal has its default action again, which ends
    // the program.
    unsafe {
        libc::raise(signal);
    }
}
