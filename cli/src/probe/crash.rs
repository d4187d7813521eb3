//! Restarts the probe after a crash of the driver, with each case in a child process. So the report can name the case
//! that crashes, but a probe without a crash needs no child processes.

#[cfg(unix)]
#[path = "crash/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "crash/windows.rs"]
mod system;

pub(super) use self::system::start_again_isolated;

const MESSAGE: &[u8] =
    b"lost: the driver crashed the probe; starting again with --isolate, which tells the case\n";
