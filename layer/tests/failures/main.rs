//! Lets each call of the driver fail once, among all calls that a program and the layer make. A
//! command that the program called must return the error. If the program repeats the command, the
//! results must be correct, and nothing may be leaked. By default only every fifth call fails, and
//! with `VKXFB_FULL=1` every call.
//!
//! The test acts as the loader, and puts functions that fail between the layer and the driver of
//! the machine. It is skipped, with a reason, if the machine has no driver; `tests/setup.sh`
//! installs one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod chain;
#[path = "../../../examples/common/portability.rs"]
mod portability;
mod program;
#[path = "../../../tests/common/skip.rs"]
mod skip;

use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ash::vk;
use skip::{Why, skip};

/// The results of commands that cannot allocate memory.
const MEMORY: [vk::Result; 2] =
    [vk::Result::ERROR_OUT_OF_HOST_MEMORY, vk::Result::ERROR_OUT_OF_DEVICE_MEMORY];

/// Locked by each test, because the process has only one failing driver.
static ONE: Mutex<()> = Mutex::new(());

/// The number of panics, including those that are caught.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Compiles the program's shaders. `None` if there is no GLSL compiler.
fn compile() -> Option<program::Shaders> {
    Some(program::Shaders {
        vertex: compile_stage("shader.vert", program::SHADER)?,
        geometry: compile_stage("shader.geom", program::GEOMETRY)?,
    })
}

fn compile_stage(file: &str, source: &str) -> Option<Vec<u32>> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(file), source).unwrap();
    let arguments = ["-V", "--target-env", "vulkan1.1", file, "-o", "shader.spv"];
    let output =
        Command::new("glslangValidator").args(arguments).current_dir(directory.path()).output();
    let output = output.ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let bytes = std::fs::read(directory.path().join("shader.spv")).unwrap();
    Some(vkxfb::spirv::words_from_bytes(&bytes).unwrap())
}

/// Returns whether the validation layer is installed. `None` if there is no device.
fn survey() -> Option<bool> {
    // SAFETY: the loader is one, and what is created is destroyed.
    unsafe {
        let entry = ash::Entry::load().ok()?;
        let layers = entry.enumerate_instance_layer_properties().ok()?;
        let validation = Ok(c"VK_LAYER_KHRONOS_validation");
        let validates = layers.iter().any(|layer| layer.layer_name_as_c_str() == validation);
        let (flags, extensions) = portability::enumeration(&entry).ok()?;
        let info = vk::InstanceCreateInfo::default().flags(flags);
        let info = info.enabled_extension_names(&extensions);
        let instance = entry.create_instance(&info, None).ok()?;
        let devices = instance.enumerate_physical_devices().unwrap_or_default();
        instance.destroy_instance(None);
        (!devices.is_empty()).then_some(validates)
    }
}

/// Returns the distance between calls that fail. The program runs once for each of them, so only
/// `VKXFB_FULL=1`, which `.ci/run` sets, lets every call fail. The distance is odd, because even
/// and odd calls fail with different errors.
fn step() -> usize {
    if skip::is_full() { 1 } else { 5 }
}

fn run(shaders: &program::Shaders, validates: bool, context: &str) -> program::Report {
    checked(program::run(shaders, validates, true), context)
}

fn checked(report: program::Report, context: &str) -> program::Report {
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{context}: a panic");
    assert!(report.messages.is_empty(), "{context}: {:#?}", report.messages);
    for (number, draws) in program::CAPTURES.into_iter().enumerate() {
        let is_right = report.captured[number] == program::expected(draws);
        assert!(is_right, "{context}: capture {number} is not what it should be");
    }
    let primitives = report.captured[0].len() as u64 / 4;
    assert_eq!(report.queries, [[primitives; 2]; 2], "{context}");
    assert_eq!(report.generated, program::GENERATED, "{context}");
    report
}

#[test]
fn a_call_that_fails_is_an_error_and_nothing_is_lost() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(shaders), Some(validates)) = (compile(), survey()) else {
        return skip(Why::Missing("no device, or no compiler of GLSL"));
    };
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |information| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        hook(information);
    }));
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    let report = run(&shaders, validates, "nothing fails");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let calls = chain::calls();
    assert!(calls > 100, "{calls}");
    for call in (0..calls).step_by(step()) {
        // Even and odd calls fail with different errors.
        chain::fail(call, MEMORY[(call % 2) as usize]);
        let context = format!("call {call} of {calls} fails");
        let report = run(&shaders, validates, &context);
        let failed = chain::failed().unwrap_or_else(|| panic!("{context}: it was not made"));
        // The program gets one error, from a command that it called. It may also get none, because
        // the allocator of captures may try a smaller block.
        let is_right = match &report.failures[..] {
            [(_, error)] => MEMORY.contains(error),
            [] => ["vkCreateBuffer", "vkAllocateMemory", "vkBindBufferMemory"].contains(&failed),
            _ => false,
        };
        assert!(is_right, "{context} ({failed}): {:?}", report.failures);
    }
}

/// A program that waits for a query on a lost device gets the error. The layer does not read
/// results of the driver's pool, whose queries are never reset
/// (VUID-vkGetQueryPoolResults-None-09401).
#[test]
fn a_lost_device_ends_the_wait_for_a_query() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(validates) = survey() else { return skip(Why::Missing("no device")) };
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    let (result, messages) = program::waits_for_a_query(validates, chain::lose);
    assert_eq!(result, Err(vk::Result::ERROR_DEVICE_LOST));
    assert_eq!(chain::find(), ["vkGetFenceStatus"]);
    assert!(messages.is_empty(), "{messages:#?}");
}

/// Without the optimizer, the driver gets other shaders, and the captures are the same.
#[test]
fn the_optimizer_can_be_switched_off() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(shaders), Some(validates)) = (compile(), survey()) else {
        return skip(Why::Missing("no device, or no compiler of GLSL"));
    };
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    let code = [true, true, false].map(|optimizes| {
        chain::take_code();
        let report = program::run(&shaders, validates, optimizes);
        assert!(checked(report, "nothing fails").failures.is_empty());
        chain::take_code()
    });
    assert!(code[0] == code[1] && code[1] != code[2], "{code:?}");
}

/// The driver accepts the feature `inheritedConditionalRendering`, but the layer does not report it.
#[test]
fn a_feature_that_is_not_reported_cannot_be_enabled() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(validates) = survey() else { return skip(Why::Missing("no device")) };
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    for is_inherited in [false, true] {
        let features = vk::PhysicalDeviceConditionalRenderingFeaturesEXT::default()
            .conditional_rendering(true)
            .inherited_conditional_rendering(is_inherited);
        let created = program::creates_a_device(validates, (&raw const features).cast());
        let refused = Err(vk::Result::ERROR_FEATURE_NOT_PRESENT);
        assert_eq!(created, if is_inherited { refused } else { Ok(()) });
    }
}

/// Instances of Vulkan 1.1 are ones of 1.2 below the layer, which hides what programs have not requested. If the driver has
/// no instances of 1.2, they are of 1.1, and nothing is hidden.
#[test]
fn an_instance_is_of_1_1_if_there_is_none_of_1_2() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if survey().is_none() {
        return skip(Why::Missing("no device"));
    }
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    for (refused, has_command) in
        [(0, Ok(false)), (vk::API_VERSION_1_2, Ok(true)), (vk::API_VERSION_1_1, Ok(false))]
    {
        chain::refuse(refused);
        let created = program::has_command_of_1_2();
        chain::refuse(0);
        assert_eq!(created, has_command, "{refused:#x}");
    }
}

/// If the driver's own extension is partial, the layer's description says what it lacks, and
/// settings make the layer replace it.
#[test]
fn a_partial_extension_is_told_of_and_replaced() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if survey().is_none() {
        return skip(Why::Missing("no device"));
    }
    chain::fail(u64::MAX, vk::Result::SUCCESS);
    let lacks = ", without transformFeedbackQueries, transformFeedbackDraw";
    for (setting, is_partial, state) in [
        (None, false, "dormant"),
        (None, true, "dormant"),
        (Some(c"replace_partial"), false, "dormant"),
        (Some(c"replace_partial"), true, "active"),
        (Some(c"force_enable"), false, "active"),
        (Some(c"force_enable"), true, "active"),
    ] {
        chain::be_partial(is_partial);
        let text = program::describes(setting);
        chain::be_partial(false);
        assert!(text.starts_with(state), "{setting:?}: {text}");
        assert_eq!(text.ends_with(lacks), is_partial, "{setting:?}: {text}");
    }
}

#[test]
fn a_call_that_fails_without_addresses_is_an_error_and_nothing_is_lost() {
    if compile().is_none() || survey().is_none() {
        return skip(Why::Missing("no device, or no compiler of GLSL"));
    }
    // This needs another process, because all tests of a process have the same environment. In it the layer counts
    // primitives, too.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_call_that_fails_is_an_error_and_nothing_is_lost"])
        .env("VKXFB_DESCRIPTORS", "1")
        .env("VKXFB_HIDE_GENERATED_QUERIES", "1")
        .env("VKXFB_LOG", "vkxfb_layer::device=info")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, told) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && told.contains("addresses=false"), "{said}{told}");
}
