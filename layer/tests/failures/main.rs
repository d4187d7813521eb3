//! Each call of the driver fails once, of all that a program and the layer make for it: the program gets the error of
//! a call of its own, and where it repeats that, nothing is lost and nothing is left behind.
//!
//! The test is the loader: a driver that fails is between the layer and the one of the machine. It is skipped, with a
//! reason, where there is none; `tests/setup.sh` brings it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod chain;
mod program;

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use ash::vk;

/// What commands return that find no memory.
const MEMORY: [vk::Result; 2] =
    [vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY];

/// Panics, wherever they are caught.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// The words of the program's shader, where there is a compiler.
fn compile() -> Option<Vec<u32>> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("shader.vert"), program::SHADER).unwrap();
    let arguments = ["-V", "--target-env", "vulkan1.1", "shader.vert", "-o", "shader.spv"];
    let output =
        Command::new("glslangValidator").args(arguments).current_dir(directory.path()).output();
    let output = output.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let bytes = std::fs::read(directory.path().join("shader.spv")).unwrap();
    Some(vkxfb::spirv::words_from_bytes(&bytes).unwrap())
}

/// Whether there is a device, and the validation layer.
fn survey() -> Option<bool> {
    // SAFETY: the loader is one, and what is created is destroyed.
    unsafe {
        let entry = ash::Entry::load().ok()?;
        let layers = entry.enumerate_instance_layer_properties().ok()?;
        let validation = Ok(c"VK_LAYER_KHRONOS_validation");
        let validates = layers.iter().any(|layer| layer.layer_name_as_c_str() == validation);
        let instance = entry.create_instance(&Default::default(), None).ok()?;
        let devices = instance.enumerate_physical_devices().unwrap_or_default();
        instance.destroy_instance(None);
        (!devices.is_empty()).then_some(validates)
    }
}

/// Runs the program, and looks at all of it.
fn run(words: &[u32], validates: bool, context: &str) -> program::Report {
    let report = program::run(words, validates);
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{context}: a panic");
    assert!(report.messages.is_empty(), "{context}: {:#?}", report.messages);
    for (number, draws) in program::CAPTURES.into_iter().enumerate() {
        let is_right = report.captured[number] == program::expected(draws);
        assert!(is_right, "{context}: capture {number} is not what it should be");
    }
    let primitives = report.captured[0].len() as u64 / 4;
    assert_eq!(report.queries, [[primitives; 2]; 2], "{context}");
    report
}

#[test]
fn a_call_that_fails_is_an_error_and_nothing_is_lost() {
    let (Some(words), Some(validates)) = (compile(), survey()) else {
        return eprintln!("skipped: no device, or no compiler of GLSL");
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |information| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        hook(information);
    }));
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    let report = run(&words, validates, "nothing fails");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let calls = chain::calls();
    assert!(calls > 100, "{calls}");
    for call in 0..calls {
        // Both occur with each command, by turns.
        chain::fail(call, MEMORY[(call % 2) as usize]);
        let context = format!("call {call} of {calls} fails");
        let report = run(&words, validates, &context);
        let failed = chain::failed().unwrap_or_else(|| panic!("{context}: it was not made"));
        // The program gets one error, of a command of its own. Or none: a block of memory may do that is smaller.
        let is_right = match &report.failures[..] {
            [(_, error)] => MEMORY.contains(error),
            [] => ["vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory"].contains(&failed),
            _ => false,
        };
        assert!(is_right, "{context} ({failed}): {:?}", report.failures);
    }
}

#[test]
fn a_call_that_fails_without_addresses_is_an_error_and_nothing_is_lost() {
    // The layer reads it once; a process has one loader.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_call_that_fails_is_an_error_and_nothing_is_lost"])
        .env("VKXFB_HIDE_ADDRESSES", "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{told}");
}
