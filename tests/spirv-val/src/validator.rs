//! The validator as a function.

use std::ffi::CStr;
use std::ptr;

use spirv_tools_sys::diagnostics::{Diagnostic, diagnostic_destroy};
use spirv_tools_sys::shared::{Binary, SpirvResult, TargetEnv, context_create, context_destroy};
use spirv_tools_sys::val;

/// Validates a module for a target, which is named as on the command line of spirv-val:
/// `vulkan1.0`, `vulkan1.1spv1.4`.
///
/// # Errors
/// The messages of the validator, or that the target is unknown.
pub fn validate(words: &[u32], target: &str) -> Result<(), String> {
    let environment: TargetEnv =
        target.parse().map_err(|_| format!("spirv-val knows no target {target}"))?;
    let binary = Binary { code: words.as_ptr(), size: words.len() };
    let mut diagnostic: *mut Diagnostic = ptr::null_mut();
    // SAFETY: the binary is that of a slice, and the context is of this call alone.
    let result = unsafe {
        let context = context_create(environment);
        if context.is_null() {
            return Err(format!("spirv-val has no context for {target}"));
        }
        let result = val::validate(context, &binary, &mut diagnostic);
        context_destroy(context);
        result
    };
    // SAFETY: null, or a diagnostic of the call above, whose message is a string.
    let message = unsafe {
        let text =
            diagnostic.as_ref().filter(|d| !d.error.is_null()).map(|d| CStr::from_ptr(d.error));
        let text = text.map_or(String::new(), |text| text.to_string_lossy().into_owned());
        diagnostic_destroy(diagnostic);
        text
    };
    match result {
        SpirvResult::Success => Ok(()),
        error => Err(format!("spirv-val for {target}: {error}: {message}")),
    }
}
