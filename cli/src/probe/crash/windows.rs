//! Installs a filter for unhandled exceptions. The filter runs the program once more, and then ends this process with
//! the exit code of that run.

use std::os::windows::ffi::OsStrExt;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use windows_sys::Win32::Foundation::{CloseHandle, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::WriteFile;
use windows_sys::Win32::System::Console::{GetStdHandle, STD_ERROR_HANDLE};
use windows_sys::Win32::System::Diagnostics::Debug::{
    EXCEPTION_POINTERS, SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
    SetUnhandledExceptionFilter,
};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::Environment::GetCommandLineW;
use windows_sys::Win32::System::Threading::{
    CreateProcessW, GetCurrentProcess, GetCurrentProcessId, GetCurrentThreadId, GetExitCodeProcess,
    INFINITE, OpenThread, PROCESS_INFORMATION, STARTUPINFOW, SuspendThread, THREAD_SUSPEND_RESUME,
    TerminateProcess, WaitForSingleObject,
};

use super::MESSAGE;

/// `EXCEPTION_CONTINUE_SEARCH`: the exception ends the program.
const CONTINUE_SEARCH: i32 = 0;

/// The program and the command line with which the probe restarts, both terminated by zero. They are
/// prepared in advance, because the heap may be damaged or locked when a filter runs.
struct Again {
    program: Vec<u16>,
    command_line: Vec<u16>,
}

/// The program to restart. Null until it is prepared, and after a filter has taken it, so that a second crash ends the
/// program.
static AGAIN: AtomicPtr<Again> = AtomicPtr::new(null_mut());

/// Installs a filter that restarts this program after a crash, with the same arguments and
/// `--isolate`. If that fails, the exception ends the program.
pub(in crate::probe) fn start_again_isolated() {
    let Ok(program) = std::env::current_exe() else { return };
    let program = program.as_os_str().encode_wide().chain([0]).collect();
    // SAFETY: Windows returns a string that is terminated by zero and never changes.
    let command_line = unsafe {
        let start = GetCommandLineW();
        let length = (0..).take_while(|&at| *start.add(at) != 0).count();
        std::slice::from_raw_parts(start, length)
    };
    let command_line = command_line.iter().copied().chain(" --isolate\0".encode_utf16()).collect();
    AGAIN.store(Box::into_raw(Box::new(Again { program, command_line })), Ordering::Release);
    // SAFETY: the filter has the type that Windows asks for.
    unsafe {
        // After a crash, neither this process nor a child process shows a dialog that somebody would have to close.
        SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX);
        SetUnhandledExceptionFilter(Some(handle));
    }
}

unsafe extern "system" fn handle(_: *const EXCEPTION_POINTERS) -> i32 {
    let again = AGAIN.swap(null_mut(), Ordering::Acquire);
    // SAFETY: the pointer is null, or from a box that nobody else has any more.
    let Some(again) = (unsafe { again.as_mut() }) else { return CONTINUE_SEARCH };
    // SAFETY: the strings are terminated by zero, and that of the command line may be written. The
    // structures are valid with all members zero, except for their size.
    unsafe {
        let error = GetStdHandle(STD_ERROR_HANDLE);
        let mut written = 0;
        WriteFile(error, MESSAGE.as_ptr(), MESSAGE.len() as u32, &raw mut written, null_mut());
        let mut startup: STARTUPINFOW = std::mem::zeroed();
        startup.cb = size_of::<STARTUPINFOW>() as u32;
        let mut process: PROCESS_INFORMATION = std::mem::zeroed();
        let (program, command_line) = (again.program.as_ptr(), again.command_line.as_mut_ptr());
        let inherits_handles = 1;
        let created = CreateProcessW(
            program,
            command_line,
            null(),
            null(),
            inherits_handles,
            0,
            null(),
            null(),
            &raw const startup,
            &raw mut process,
        );
        if created == 0 {
            return CONTINUE_SEARCH;
        }
        suspend_other_threads();
        WaitForSingleObject(process.hProcess, INFINITE);
        let mut code = 0;
        GetExitCodeProcess(process.hProcess, &raw mut code);
        TerminateProcess(GetCurrentProcess(), code);
    }
    CONTINUE_SEARCH
}

/// Stops all threads of this process except this one. Otherwise they would go on beside the restarted probe if the
/// driver crashed in a thread of its own.
///
/// # Safety
/// None of the other threads is needed any more. A suspended thread keeps the locks that it has.
unsafe fn suspend_other_threads() {
    // SAFETY: the structure is valid with all members zero, except for its size.
    unsafe {
        let threads = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if threads == INVALID_HANDLE_VALUE {
            return;
        }
        let mut entry: THREADENTRY32 = std::mem::zeroed();
        entry.dwSize = size_of::<THREADENTRY32>() as u32;
        let (process, this) = (GetCurrentProcessId(), GetCurrentThreadId());
        let mut found = Thread32First(threads, &raw mut entry);
        while found != 0 {
            if entry.th32OwnerProcessID == process && entry.th32ThreadID != this {
                let thread = OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID);
                if !thread.is_null() {
                    SuspendThread(thread);
                    CloseHandle(thread);
                }
            }
            found = Thread32Next(threads, &raw mut entry);
        }
        CloseHandle(threads);
    }
}
