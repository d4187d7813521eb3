//! What Mesa's compiler for a Mali-G52 (Bifrost, v7) generates for captures: the numbers of memory
//! messages, arithmetic cycles and threads. The compiler reports them on any machine on which it
//! was built: `VKXFB_PANVK` is the directory that `.ci/README.md` says how to create. Nothing is
//! executed.
//!
//! `cargo test --test device -- --nocapture captures_stay_small` prints all figures.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ash::vk;
use vkxfb::runtime::{ExpectedDraws, Pipeline, PipelineDesc};
use vkxfb_probe::gpu::{Gpu, OpenOptions, Resources};
use vkxfb_rewriter::capture::CaptureList;
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Backend, Shader, compute};
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::common;
use crate::common::skip::{Why, skip};

/// `PAN_GPU_ID` of a Mali-G52.
const G52: &str = "7212";

/// The start of a line that is printed before the statistics of the next shader.
const MARK: &str = "vkxfb compiles ";

/// Names of shaders, and the vectors that each captures from the attributes `a` and `b`.
const SHADERS: [(&str, &[&str]); 4] = [
    ("one attribute", &["a", "a.yzwx + 1.0"]),
    ("two attributes", &["a + b", "a * b"]),
    ("mat4", &["a + b", "a * b", "a - b", "a"]),
    ("8 vec4", &["a + b", "a * b", "a - b", "a", "a + 2.0", "a + 3.0", "a + 4.0", "a + 5.0"]),
];

/// A tessellation control shader whose levels depend on data, and an evaluation shader that reads where it is: together
/// they need all of the tessellator. The levels of the shaders of the benchmarks are constants.
const CONTROL: &str = "#version 450
    layout(vertices = 4) out;
    layout(location = 0) in vec4 v0[];
    layout(location = 0) out vec4 passed[];
    void main() {
        passed[gl_InvocationID] = v0[gl_InvocationID];
        gl_TessLevelInner[0] = v0[0].x; gl_TessLevelInner[1] = v0[0].y;
        gl_TessLevelOuter[0] = v0[0].x; gl_TessLevelOuter[1] = v0[1].x;
        gl_TessLevelOuter[2] = v0[2].x; gl_TessLevelOuter[3] = v0[3].x;
    }";
const EVALUATION: &str = "#version 450
    layout(quads, equal_spacing, ccw) in;
    layout(location = 0) in vec4 passed[];
    layout(location = 0) out vec4 captured;
    void main() {
        gl_Position = vec4(gl_TessCoord, 1.0);
        captured = passed[0];
    }";

/// The kinds of draws for which pipelines with stages are compiled.
const STAGE_KINDS: [Kind; 3] = [KINDS[0], KINDS[1], KINDS[4]];

const PLANS: [(&str, Resources); 2] =
    [("by address", Resources::Best), ("by descriptors", Resources::Descriptors)];

/// A name, and draws that need one Vulkan pipeline: a large draw, or several small draws of any
/// topology.
type Kind = (&'static str, fn(ExpectedDraws) -> ExpectedDraws);

/// The kinds of draws. If draws of a kind may need a second pipeline, it is the one of [`OTHERS`].
const KINDS: [Kind; 7] = [
    ("plain", |draws| draws),
    ("single", |draws| ExpectedDraws { checked: true, ..draws }),
    ("indexed", |draws| ExpectedDraws { indexed: true, ..draws }),
    ("batched", |draws| ExpectedDraws { several: true, ..draws }),
    ("general", |draws| ExpectedDraws { indirect: true, ..draws }),
    ("single restart", |draws| ExpectedDraws { restart: true, ..draws }),
    ("restart", |draws| ExpectedDraws { restart: true, indirect: true, ..draws }),
];

const OTHERS: [(&str, Kind); 4] = [
    ("single", KINDS[4]),
    ("indexed", KINDS[4]),
    ("batched", KINDS[0]),
    ("single restart", KINDS[6]),
];

const TOPOLOGIES: [(&str, Option<PrimitiveTopology>); 5] = [
    ("lists", Some(PrimitiveTopology::TriangleList)),
    ("line strips", Some(PrimitiveTopology::LineStrip)),
    ("strips", Some(PrimitiveTopology::TriangleStrip)),
    ("fans", Some(PrimitiveTopology::TriangleFan)),
    ("any topology", None),
];

/// For some captures, the maximum numbers of messages and of arithmetic cycles, and the number of
/// threads that share a register file. The limits are just above the results of Mesa 25.0.7. The
/// results with primitive restart include both ways to find a draw, of which each invocation
/// executes one.
const MOST: [(&str, f64, f64, u32); 57] = [
    ("one attribute, by address, plain, lists", 3.0, 1.0, 2),
    ("one attribute, by address, plain, strips", 7.0, 2.6, 2),
    // Three invocations for two primitives: other pipelines have four.
    ("one attribute, by address, plain, fans", 5.0, 2.8, 2),
    ("mat4, by address, plain, strips", 15.0, 3.8, 2),
    ("one attribute, by descriptors, plain, strips", 14.0, 3.8, 2),
    ("one attribute, by address, single, lists", 3.0, 2.7, 2),
    ("one attribute, by address, single, line strips", 5.0, 3.3, 2),
    ("one attribute, by address, single, strips", 7.0, 4.3, 2),
    ("one attribute, by address, single, fans", 5.0, 3.8, 2),
    ("one attribute, by address, indexed, lists", 4.0, 3.5, 2),
    ("one attribute, by address, indexed, strips", 8.0, 5.1, 2),
    // No dispatch executes all messages: two are for what is bound, if small draws that share the dispatch do not have
    // it in common, and two are for where the capture begins, if only the GPU knows that.
    ("one attribute, by address, batched, lists", 12.0, 5.8, 2),
    ("one attribute, by address, single restart, strips", 11.0, 9.8, 2),
    ("one attribute, by descriptors, indexed, lists", 8.0, 4.4, 2),
    ("one attribute, by address, general, lists", 11.0, 8.1, 2),
    ("mat4, by address, single, lists", 7.0, 3.7, 2),
    ("mat4, by address, general, strips", 23.0, 12.3, 2),
    ("one attribute, by address, restart, lists", 17.0, 16.4, 2),
    ("one attribute, by address, restart, strips", 21.0, 16.2, 2),
    ("one attribute, by address, restart, fans", 19.0, 15.8, 2),
    ("one attribute, by address, restart, any topology", 21.0, 20.8, 1),
    ("mat4, by address, restart, strips", 29.0, 18.7, 2),
    ("mat4, by address, restart, fans", 25.0, 18.1, 2),
    ("one attribute, by descriptors, single, lists", 6.0, 3.3, 2),
    ("one attribute, by descriptors, single, strips", 14.0, 5.5, 2),
    ("mat4, by descriptors, single, strips", 33.0, 8.6, 2),
    ("two attributes, by descriptors, restart, strips", 101.0, 25.7, 2),
    ("mat4, by descriptors, restart, lists", 81.0, 24.0, 2),
    ("kernel Setup, by address", 157.0, 62.0, 1),
    ("kernel Setup of several draws, by address", 221.0, 75.2, 1),
    ("kernel Setup with restarts of several draws, by address", 229.0, 85.0, 1),
    ("kernel Setup of later stages of several draws, by address", 187.0, 68.9, 1),
    ("kernel Resume, by address", 28.0, 15.7, 1),
    ("kernel RestartScan, by address", 54.0, 36.0, 1),
    // Of eight entries per invocation.
    ("kernel EntrySums, by address", 13.0, 7.0, 2),
    ("kernel PlaceEntries, by address", 88.0, 30.9, 1),
    // At least three pulls and six stores.
    ("pass through, by address, plain", 13.0, 5.4, 2),
    ("pass through, by address, single", 15.0, 7.6, 2),
    ("pass through, by address, general", 24.0, 15.8, 1),
    ("cull, by address, plain", 13.0, 5.9, 1),
    ("cull, by address, single", 15.0, 8.1, 1),
    ("cull, by address, general", 24.0, 16.1, 1),
    // A strip of up to six vertices, whose number is not known, and one of two.
    ("amplify, by address, plain", 21.0, 11.0, 1),
    ("amplify, by address, single", 23.0, 13.2, 1),
    ("amplify, by address, general", 32.0, 21.2, 1),
    ("tessellation, by address, plain", 7.0, 6.0, 1),
    ("tessellation, by address, single", 9.0, 7.6, 1),
    ("tessellation, by address, general", 16.0, 12.4, 1),
    ("tessellation by data, by address, plain", 7.0, 25.5, 1),
    ("tessellation by data, by address, single", 9.0, 27.0, 1),
    ("tessellation by data, by address, general", 16.0, 31.9, 1),
    ("fractional tessellation by data, by address, plain", 7.0, 36.2, 1),
    ("fractional tessellation by data, by address, single", 9.0, 37.7, 1),
    ("fractional tessellation by data, by address, general", 40.0, 42.6, 1),
    ("kernel Setup of later stages, by address", 137.0, 58.4, 1),
    ("kernel Setup of several draws, by descriptors", 606.0, 149.7, 1),
    ("kernel Setup with restarts of several draws, by descriptors", 623.0, 161.1, 1),
];

/// What has to spill registers, and how often it spills and fills: fractional spacing, behind the general way to find a
/// draw.
const SPILLS: [(&str, &str); 1] =
    [("fractional tessellation by data, by address, general", "5:19")];

#[test]
fn captures_stay_small() {
    let Some(directory) = std::env::var_os("VKXFB_PANVK").map(PathBuf::from) else {
        skip(Why::Expected("VKXFB_PANVK names no directory of Mesa's compiler for Mali"));
        return;
    };
    let all = compiled_for(G52, &directory);
    for Statistics { name, messages, arithmetic, instructions, threads, spills } in &all {
        println!("{name:54} {messages:4} / {arithmetic:6.2} / {instructions:5} {threads} {spills}");
    }
    for (name, most_messages, most_arithmetic, threads) in MOST {
        let found = all.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no {name}"));
        assert!(found.messages <= most_messages, "{found:?}");
        assert!(found.arithmetic <= most_arithmetic, "{found:?}");
        assert!(found.threads >= threads, "{found:?}");
    }
    for found in &all {
        let known = SPILLS.iter().find(|(name, _)| *name == found.name);
        assert_eq!(found.spills, known.map_or("0:0", |(_, spills)| *spills), "{found:?}");
    }
}

/// The statistics that the compiler prints for a shader.
#[derive(Debug)]
struct Statistics {
    name: String,
    messages: f64,
    arithmetic: f64,
    instructions: u32,
    threads: u32,
    /// The numbers of spills and fills.
    spills: String,
}

impl Statistics {
    /// From a line like `SHADER-DB: ... shader: 90 inst, ..., 2.666667 arith, ..., 0:0 spills:fills`.
    fn parse(name: &str, line: &str) -> Self {
        let parts = || line.rsplit("shader: ").next().unwrap().split(", ");
        let value = |unit: &str| {
            let value = parts().find_map(|part| part.strip_suffix(unit));
            value.unwrap_or_else(|| panic!("no{unit}: {line}")).trim().to_owned()
        };
        Self {
            name: name.to_owned(),
            messages: value(" ldst").parse().unwrap(),
            arithmetic: value(" arith").parse().unwrap(),
            instructions: value(" inst").parse().unwrap(),
            threads: value(" threads").parse().unwrap(),
            spills: value(" spills:fills"),
        }
    }
}

/// Returns the statistics of everything that [`compiles_everything`] compiles. It runs in a
/// separate process, with the driver and a replaced kernel driver that does nothing.
fn compiled_for(gpu: &str, directory: &Path) -> Vec<Statistics> {
    let manifests = std::fs::read_dir(directory.join("src/panfrost/vulkan")).unwrap();
    let manifest = manifests
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().ends_with(".json") && is_of_the_build(path))
        .unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", common::name_of(compiles_everything), "--ignored", "--nocapture"])
        .env("LD_PRELOAD", directory.join("src/panfrost/drm-shim/libpanfrost_noop_drm_shim.so"))
        .env("VK_DRIVER_FILES", &manifest)
        .env("VK_ICD_FILENAMES", &manifest)
        .env("PAN_GPU_ID", gpu)
        .env("PAN_I_WANT_A_BROKEN_VULKAN_DRIVER", "1")
        .env("BIFROST_MESA_DEBUG", "shaderdb")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{errors}", output.status);
    let mut name = None;
    let of_line = |line: &str| {
        if let Some(next) = line.strip_prefix(MARK) {
            name = Some(next.to_owned());
        }
        line.starts_with("SHADER-DB")
            .then(|| name.take())?
            .map(|name| Statistics::parse(&name, line))
    };
    errors.lines().filter_map(of_line).collect()
}

/// Whether a manifest names the library in the build directory, not the path at which it would be
/// installed.
fn is_of_the_build(manifest: &Path) -> bool {
    manifest.to_string_lossy().contains("devenv")
}

fn source(vectors: &[&str]) -> String {
    let count = vectors.len();
    let stride = 16 * count;
    let second = if vectors.iter().any(|vector| vector.contains('b')) {
        "layout(location = 1) in vec4 b;"
    } else {
        ""
    };
    let values = vectors.join(", ");
    format!(
        "#version 450
        layout(location = 0) in vec4 a; {second}
        layout(location = 0, xfb_buffer = 0, xfb_stride = {stride}, xfb_offset = 0) out vec4 v[{count}];
        void main() {{ v = vec4[]({values}); gl_Position = vec4(0.0); }}"
    )
}

#[test]
#[ignore = "captures_stay_small starts it with another driver"]
fn compiles_everything() {
    for (plan, resources) in PLANS {
        let gpu = Gpu::open(&OpenOptions { resources, ..Default::default() }).unwrap();
        let (ctx, cache) = (gpu.context(), vk::PipelineCache::null());
        for (shader_name, vectors) in SHADERS {
            let words = common::compile(&source(vectors), &[]);
            let shader = Shader::new(&words);
            let vertex_input = vertex_reads(&shader).unwrap().packed_vertex_input();
            let target = gpu.compute_target(Backend::Compute).unwrap();
            let options = compute::Options::new(&vertex_input).target(target);
            let lowered = compute::lower(&shader, &options).unwrap();
            for (kind, describe) in KINDS {
                for (topology_name, topology) in TOPOLOGIES {
                    // Their draws have one topology.
                    let is_for_one = ["plain", "single", "indexed"].contains(&kind);
                    if is_for_one && topology.is_none() {
                        continue;
                    }
                    let mut desc = PipelineDesc {
                        primitive_restart: kind.ends_with("restart"),
                        ..PipelineDesc::new(&lowered)
                    };
                    if let Some(topology) = topology {
                        desc = PipelineDesc { topology: Some(topology.into()), ..desc };
                    }
                    // SAFETY: the device is live, and the pipeline is of it.
                    unsafe {
                        let pipeline = Pipeline::new(ctx, &desc).unwrap();
                        let draws =
                            ExpectedDraws::new(topology.unwrap_or(PrimitiveTopology::PointList));
                        for (_, (_, describe)) in OTHERS.iter().filter(|(of, _)| *of == kind) {
                            pipeline.prepare(ctx, &[describe(draws)], cache).unwrap();
                        }
                        eprintln!("{MARK}{shader_name}, {plan}, {kind}, {topology_name}");
                        pipeline.prepare(ctx, &[describe(draws)], cache).unwrap();
                        gpu.destroy_pipeline(pipeline);
                    }
                }
            }
        }
        if resources == Resources::Best {
            compile_stages(&gpu, plan);
        }
        let kernels = gpu.kernels();
        // Kernels of a single invocation are for processors.
        for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_serial() != Some(true)) {
            eprintln!("{MARK}kernel {kernel}, {plan}");
            // SAFETY: as above.
            unsafe { kernels.prepare_each(ctx, &[kernel], cache) }.unwrap();
        }
    }
}

/// Compiles pipelines with geometry or tessellation shaders.
fn compile_stages(gpu: &Gpu, plan: &str) {
    let (ctx, cache) = (gpu.context(), vk::PipelineCache::null());
    let list = CaptureList::new(32).output("@Position", 0).output("captured", 16);
    let vertex = words_from_bytes(include_bytes!("../../shaders/bench/record_32.spv")).unwrap();
    let vertex = Shader::new(&vertex);
    let vertex_input = vertex_reads(&vertex).unwrap().packed_vertex_input();
    let bench = |bytes: &[u8]| words_from_bytes(bytes).unwrap();
    let stages = [
        ("pass through", None, bench(include_bytes!("../../shaders/bench/pass_through.spv"))),
        ("cull", None, bench(include_bytes!("../../shaders/bench/cull.spv"))),
        ("amplify", None, bench(include_bytes!("../../shaders/bench/amplify.spv"))),
        (
            "tessellation",
            Some(bench(include_bytes!("../../shaders/bench/patch_control.spv"))),
            bench(include_bytes!("../../shaders/bench/patch_evaluation.spv")),
        ),
        (
            "tessellation by data",
            Some(common::compile_stage("tesc", CONTROL, &[])),
            common::compile_stage("tese", EVALUATION, &[]),
        ),
        (
            "fractional tessellation by data",
            Some(common::compile_stage("tesc", CONTROL, &[])),
            common::compile_stage("tese", &EVALUATION.replace("equal", "fractional_odd"), &[]),
        ),
    ];
    for (name, control, captured) in &stages {
        let control = control.as_deref().map(Shader::new);
        let target = gpu.compute_target(Backend::Compute).unwrap();
        let mut options = compute::Options::new(&vertex_input).target(target);
        options.vertex_shader = Some(&vertex);
        options.control_shader = control.as_ref();
        let shader = Shader::new(captured).captures(&list);
        let lowered = compute::lower(&shader, &options).unwrap();
        let topology = match control {
            Some(_) => vk::PrimitiveTopology::PATCH_LIST,
            None => vk::PrimitiveTopology::TRIANGLE_LIST,
        };
        for (kind, describe) in STAGE_KINDS {
            let desc = PipelineDesc {
                topology: Some(topology),
                patch_control_points: 4,
                ..PipelineDesc::new(&lowered)
            };
            // SAFETY: the device is live, and the pipeline is of it.
            unsafe {
                let pipeline = Pipeline::new(ctx, &desc).unwrap();
                let draws = ExpectedDraws::new(topology);
                for (_, (_, describe)) in OTHERS.iter().filter(|(of, _)| *of == kind) {
                    pipeline.prepare(ctx, &[describe(draws)], cache).unwrap();
                }
                eprintln!("{MARK}{name}, {plan}, {kind}");
                pipeline.prepare(ctx, &[describe(draws)], cache).unwrap();
                gpu.destroy_pipeline(pipeline);
            }
        }
    }
}
