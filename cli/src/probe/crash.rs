//! Restarts the probe after a crash of the driver, with each case in a child process. So the report can name the case
//! that crashes, but a probe without a crash does not need a process for each case.

#[cfg(unix)]
#[path = "crash/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "crash/windows.rs"]
mod system;

pub(super) use self::system::guard;
#[cfg(windows)]
pub(super) use self::system::show_no_dialogs;

const MESSAGE: &str =
    "lost: the driver crashed the probe; starting again with --isolate, which tells the case";

/// Whether an exit code of Windows means that the program crashed or aborted. Otherwise it ended by itself, or somebody
/// ended it.
#[cfg(any(windows, test))]
fn is_crash(code: i32) -> bool {
    /// What C's `abort` exits with, in the runtime of Visual Studio. The probe has no such exit status.
    const ABORT: i32 = 3;
    /// `STATUS_CONTROL_C_EXIT`
    const CONTROL_C: u32 = 0xC000_013A;
    // Exceptions have numbers with the highest bit. What aborts in Rust or in newer C ends like one.
    code == ABORT || (code < 0 && code.cast_unsigned() != CONTROL_C)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crashes_are_told_from_exit_statuses() {
        // Access violation, damaged stack (which an abort is reported as), breakpoint, exception of C++, C's abort.
        let crashes = [0xC000_0005, 0xC000_0409, 0x8000_0003, 0xE06D_7363, 3_u32];
        assert!(crashes.into_iter().all(|code| is_crash(code.cast_signed())));
        // The statuses of the probe, of a panic, and what Ctrl-C ends with.
        assert!([0, 1, 2, 101, 0xC000_013A_u32].into_iter().all(|c| !is_crash(c.cast_signed())));
    }
}
