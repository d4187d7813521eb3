//! The validator as a function.

use std::ffi::{CStr, OsStr};
use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};
use std::ptr;

use spirv_tools_sys::diagnostics::{Diagnostic, diagnostic_destroy};
use spirv_tools_sys::shared::{Binary, SpirvResult, TargetEnv, context_create, context_destroy};
use spirv_tools_sys::val;

/// Validates a module for a target, which is named as on the command line of spirv-val:
/// `vulkan1.0`, `vulkan1.1spv1.4`. With `VKXFB_SPIRV_VAL` in the environment, the program of that name validates it, too.
///
/// # Errors
/// The messages of the validators, or that the target is unknown.
pub fn validate(words: &[u32], target: &str) -> Result<(), String> {
    validate_here(words, target)?;
    match std::env::var_os("VKXFB_SPIRV_VAL") {
        Some(program) => validate_by(&program, words, target),
        None => Ok(()),
    }
}

/// Lets a program that takes the arguments of spirv-val validate a module.
fn validate_by(program: &OsStr, words: &[u32], target: &str) -> Result<(), String> {
    let name = program.display();
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let mut child = Command::new(program)
        .args(["--target-env", target, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        let words = without_debug_info(words);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        match input.write_all(&bytes) {
            // A program that does not read all of it says why.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            result => result.map_err(failed)?,
        }
    }
    let output = child.wait_with_output().map_err(failed)?;
    let said = [output.stdout, output.stderr].concat();
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{name} for {target}: {}", String::from_utf8_lossy(&said)))
    }
}

/// Leaves out what says nothing of the code: Debian 12's glslang gets lines and columns wrong there.
fn without_debug_info(words: &[u32]) -> Vec<u32> {
    const EXT_INST_IMPORT: u32 = 11;
    const EXT_INST: u32 = 12;
    let (header, mut rest) = words.split_at(words.len().min(5));
    let mut kept = header.to_vec();
    let mut sets = Vec::new();
    while let Some(first) = rest.first() {
        let length = ((first >> 16) as usize).clamp(1, rest.len());
        let (instruction, others) = rest.split_at(length);
        rest = others;
        match (first & 0xffff, instruction) {
            (EXT_INST_IMPORT, [_, set, name @ ..]) => {
                let name: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
                if name.starts_with(b"NonSemantic.Shader.DebugInfo") {
                    sets.push(*set);
                }
            }
            (EXT_INST, [_, _, _, set, ..]) if sets.contains(set) => continue,
            _ => {}
        }
        kept.extend(instruction);
    }
    kept
}

fn validate_here(words: &[u32], target: &str) -> Result<(), String> {
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// More than a pipe holds.
    #[test]
    fn a_program_that_does_not_read_says_why_itself() {
        let mut words = vec![0x0723_0203, 0x0001_0000, 0, 1, 0];
        words.resize(100_000, 1 << 16);
        let said = validate_by(OsStr::new("false"), &words, "vulkan1.0");
        assert_eq!(said, Err("false for vulkan1.0: ".to_owned()));
    }
}
