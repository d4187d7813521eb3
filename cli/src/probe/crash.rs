//! Restarts the probe with `--isolate` after a crash of the driver. The cases then run in child processes, so that the
//! report can name each case that crashes. A probe without a crash does not need these processes.

#[cfg(unix)]
#[path = "crash/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "crash/windows.rs"]
mod system;

pub(super) use self::system::guard;
#[cfg(windows)]
pub(super) use self::system::show_no_dialogs;
#[cfg(unix)]
pub(super) use self::system::{expect_heads, head_is_shown};

const MESSAGE: &str =
    "lost: the driver crashed the probe; starting again with --isolate, which tells the case";

/// Whether an exit code of Windows means that the program crashed or aborted. With any other code, the program exited
/// normally, or somebody ended it.
#[cfg(any(windows, test))]
fn is_crash(code: i32) -> bool {
    /// The exit code after a call of C's `abort`, in the runtime of Visual Studio. The probe itself never exits with
    /// it.
    const ABORT: i32 = 3;
    /// `STATUS_CONTROL_C_EXIT`
    const CONTROL_C: u32 = 0xC000_013A;
    // The exit code after an unhandled exception is the code of the exception, whose highest bit is set. Aborts in
    // Rust, and in newer runtimes of C, also end the program with such a code.
    code == ABORT || (code < 0 && code.cast_unsigned() != CONTROL_C)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_are_told_from_exit_statuses() {
        // Access violation, stack buffer overrun (also the code of aborts), breakpoint, exception of C++, and the code
        // of C's `abort` in the runtime of Visual Studio.
        let crashes = [0xC000_0005, 0xC000_0409, 0x8000_0003, 0xE06D_7363, 3_u32];
        assert!(crashes.into_iter().all(|code| is_crash(code.cast_signed())));
        // The exit statuses of the probe, the status after a panic, and the code after Ctrl-C.
        assert!([0, 1, 2, 101, 0xC000_013A_u32].into_iter().all(|c| !is_crash(c.cast_signed())));
    }
}
