//! SPIRV-Tools' validator, of Debian's package `spirv-tools`.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

// https://github.com/KhronosGroup/SPIRV-Tools, include/spirv-tools/libspirv.h
unsafe extern "C" {
    fn spvParseTargetEnv(name: *const c_char, environment: *mut c_int) -> bool;
    fn spvContextCreate(environment: c_int) -> *mut c_void;
    fn spvContextDestroy(context: *mut c_void);
    fn spvValidateBinary(
        context: *mut c_void,
        words: *const u32,
        count: usize,
        diagnostic: *mut *mut c_void,
    ) -> c_int;
    fn spvDiagnosticPrint(diagnostic: *mut c_void) -> c_int;
    fn spvDiagnosticDestroy(diagnostic: *mut c_void);
}

/// Whether SPIRV-Tools accepts the words for Vulkan 1.3. If `is_expected`, the reason why it does not is printed.
///
/// # Panics
/// If SPIRV-Tools does not know Vulkan 1.3.
pub fn is_valid(words: &[u32], is_expected: bool) -> bool {
    let mut environment = 0;
    let mut diagnostic = ptr::null_mut();
    // SAFETY: the string ends in a zero, the words and both places outlive the calls, and what is made is destroyed once.
    unsafe {
        assert!(spvParseTargetEnv(c"vulkan1.3".as_ptr(), &mut environment));
        let context = spvContextCreate(environment);
        let status = spvValidateBinary(context, words.as_ptr(), words.len(), &mut diagnostic);
        if status != 0 && is_expected {
            spvDiagnosticPrint(diagnostic);
        }
        spvDiagnosticDestroy(diagnostic);
        spvContextDestroy(context);
        status == 0
    }
}
