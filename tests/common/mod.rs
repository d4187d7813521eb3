//! Calls the Khronos tools, which `tests/setup.sh` installs.

#![allow(dead_code, reason = "each test uses some of it")]
#![allow(clippy::unwrap_used, missing_docs, reason = "a test may panic, and is no API")]

pub mod attachment;
pub mod bare;
pub mod batches;
pub mod commands;
pub mod descriptor_set;
pub mod device;
pub mod discard;
pub mod divergence;
pub mod layer;
pub mod native;
#[path = "../../examples/common/portability.rs"]
pub mod portability;
pub mod render;
pub mod rng;
pub mod settings;
pub mod skip;
pub mod test_device;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vkxfb_rewriter::spirv::headers::Op;
use vkxfb_rewriter::spirv::{Id, Module, Section, result_of};

/// A vertex shader that captures the number of each vertex.
pub const CAPTURES: &str = "#version 450
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out flat uint captured;
    void main() {
        captured = gl_VertexIndex;
        gl_Position = vec4(0.0);
        gl_PointSize = 1.0;
    }";

/// Returns the name by which a test of this binary is run: its path in the crate.
pub fn name_of<T: Fn()>(_test: T) -> &'static str {
    let path = std::any::type_name::<T>();
    path.split_once("::").map_or(path, |(_, name)| name)
}

/// Runs a tool that `tests/setup.sh` installs. Returns its standard output, or panics with its
/// messages.
pub fn run_tool(tool: &str, arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(tool)
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{tool}: {error} (tests/setup.sh installs it)"));
    assert!(
        output.status.success(),
        "{tool} {}: {}\n{}{}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The SPIR-V versions that glslang can generate, with the environments that accept them.
pub const VERSIONS: [(&str, &str); 7] = [
    ("spirv1.0", "vulkan1.0"),
    ("spirv1.1", "vulkan1.1"),
    ("spirv1.2", "vulkan1.1"),
    ("spirv1.3", "vulkan1.1"),
    ("spirv1.4", "vulkan1.1spv1.4"),
    ("spirv1.5", "vulkan1.2"),
    ("spirv1.6", "vulkan1.3"),
];

/// Compiles a GLSL vertex shader with glslang.
pub fn compile(source: &str, arguments: &[&str]) -> Vec<u32> {
    compile_stage("vert", source, arguments)
}

/// Compiles a GLSL shader with glslang. `stage` is a name of glslang: `vert`, `frag` and so on.
///
/// glslang takes 0.2 s to start, so it compiles each shader only once in a process: tests use one
/// shader for several devices and backends.
pub fn compile_stage(stage: &str, source: &str, arguments: &[&str]) -> Vec<u32> {
    let key = [stage.to_owned(), source.to_owned(), arguments.join(" ")];
    if let Some(words) = compiled().get(&key) {
        return words.clone();
    }
    // The lock is not held, so that other threads can compile at the same time.
    let words = run_glslang(stage, source, arguments);
    compiled().insert(key, words.clone());
    words
}

/// The words of each stage and source, with the arguments of glslang.
fn compiled() -> MutexGuard<'static, BTreeMap<[String; 3], Vec<u32>>> {
    static COMPILED: Mutex<BTreeMap<[String; 3], Vec<u32>>> = Mutex::new(BTreeMap::new());
    COMPILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Compiles many shaders in one process of shaderc's glslc, a form of glslang, so that
/// [`compile_stage`] finds them. The elements are stages and sources.
pub fn compile_ahead(shaders: impl IntoIterator<Item = (&'static str, String)>) {
    let directory = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for (number, (stage, source)) in shaders.into_iter().enumerate() {
        let file = format!("{number}.{stage}");
        std::fs::write(directory.path().join(&file), &source).unwrap();
        files.push((file, [stage.to_owned(), source, String::new()]));
    }
    let names = files.iter().map(|(file, _)| file.as_str());
    run_tool("glslc", &["-c"].into_iter().chain(names).collect::<Vec<_>>(), directory.path());
    for (file, key) in files {
        let bytes = std::fs::read(directory.path().join(file + ".spv")).unwrap();
        compiled().insert(key, vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap());
    }
}

fn run_glslang(stage: &str, source: &str, arguments: &[&str]) -> Vec<u32> {
    let directory = tempfile::tempdir().unwrap();
    let file = format!("shader.{stage}");
    std::fs::write(directory.path().join(&file), source).unwrap();
    let mut all = vec!["-V", &file, "-o", "shader.spv"];
    all.extend(arguments);
    run_tool("glslangValidator", &all, directory.path());
    let bytes = std::fs::read(directory.path().join("shader.spv")).unwrap();
    vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap()
}

/// Assembles SPIR-V.
pub fn assemble(source: &str, target: &str) -> Vec<u32> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("shader.spvasm"), source).unwrap();
    let arguments =
        ["--preserve-numeric-ids", "--target-env", target, "shader.spvasm", "-o", "shader.spv"];
    run_tool("spirv-as", &arguments, directory.path());
    let bytes = std::fs::read(directory.path().join("shader.spv")).unwrap();
    vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap()
}

/// Panics if the current spirv-val rejects the words. The spirv-val of Debian 12 is a part of its
/// validation layer, which checks the shaders of captures.
pub fn validate(words: &[u32], target: &str) {
    spirv_val::validate(words, target).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(casts_of_pointers(words), 0, "SwiftShader cannot cast a pointer to a pointer");
}

/// The number of `OpBitcast`s from a pointer to another pointer.
pub fn casts_of_pointers(words: &[u32]) -> usize {
    let module = Module::parse(words).unwrap();
    let pointers: HashSet<Id> = module
        .section(Section::Declarations)
        .filter(|i| i.is(Op::TypePointer))
        .map(|i| i.id(0))
        .collect();
    let values: HashSet<Id> = module
        .section(Section::Functions)
        .filter_map(|i| match result_of(i) {
            (Some(ty), Some(value)) if pointers.contains(&ty) => Some(value),
            _ => None,
        })
        .collect();
    let casts = module.section(Section::Functions).filter(|i| i.is(Op::Bitcast));
    casts.filter(|i| pointers.contains(&i.id(0)) && values.contains(&i.id(2))).count()
}

/// Returns the words as SPIR-V assembly.
pub fn disassemble(words: &[u32]) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("shader.spv"), bytemuck::cast_slice(words)).unwrap();
    run_tool("spirv-dis", &["--no-header", "shader.spv"], directory.path())
}

/// Applies passes of spirv-opt to a module.
pub fn optimize(words: &[u32], passes: &[&str]) -> Vec<u32> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("in.spv"), bytemuck::cast_slice(words)).unwrap();
    let arguments = [passes, &["in.spv", "-o", "out.spv"]].concat();
    run_tool("spirv-opt", &arguments, directory.path());
    let bytes = std::fs::read(directory.path().join("out.spv")).unwrap();
    vkxfb_rewriter::spirv::words_from_bytes(&bytes).unwrap()
}
