//! Restarts the probe after a crash of the driver. The restarted probe captures the cases in child processes, so the
//! report can name the case that crashes. A probe without a crash needs no child processes.

#[cfg(unix)]
#[path = "crash/unix.rs"]
mod system;
#[cfg(windows)]
#[path = "crash/windows.rs"]
mod system;

pub(super) use self::system::start_again_isolated;

const MESSAGE: &[u8] =
    b"lost: the driver crashed the probe; starting again with --isolate, which tells the case\n";
