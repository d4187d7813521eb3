//! What is refused, with which error.

use vkxfb::Shader;
use vkxfb::lower::{Backend, LowerError, Lowered, compute, vertex as vertex_backend};
use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureDesc, Draw, Pipeline, PipelineDesc, Recorder, RuntimeError,
};
use vkxfb::topology::PrimitiveTopology;
use vkxfb::vertex_input::VertexInput;
use vkxfb_probe::gpu::OpenOptions;

use crate::common::test_device::TestDevice;
use crate::common::{assemble, compile, compile_stage, device, disassemble, optimize, validate};

const VERTEX: &str = "#version 450
    void main() { gl_Position = vec4(0.0); }";

/// A control shader that returns three points; `code` comes before everything else.
fn control(code: &str) -> Vec<u32> {
    let source = format!(
        "#version 450
        layout(vertices = 3) out;
        void inner() {{ memoryBarrier(); }}
        void main() {{ {code} gl_TessLevelOuter[0] = 1.0; }}"
    );
    compile_stage("tesc", &source, &[])
}

/// The same with control barriers instead of memory barriers, which glslang allows anywhere.
fn control_with_barriers(code: &str) -> Vec<u32> {
    assemble(&with_barriers(&control(code), ["", ""]), "vulkan1.0")
}

/// The text of a module with control barriers instead of memory barriers. `around` is code before and behind each.
fn with_barriers(words: &[u32], around: [&str; 2]) -> String {
    let text = disassemble(words);
    let lines = text.lines().map(|line| match line.split_once("OpMemoryBarrier") {
        Some((_, operands)) => {
            let scope = operands.split_whitespace().next().unwrap();
            format!("{}OpControlBarrier {scope} {operands}{}", around[0], around[1])
        }
        None => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

const EVALUATION: &str = "#version 450
    layout(triangles) in;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
    void main() { found = gl_TessCoord.x; }";

const GEOMETRY: &str = "#version 450
    layout(lines) in;
    layout(points, max_vertices = 1) out;
    layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
    void main() { found = 1.0; EmitVertex(); }";

fn lower_with(target: compute::Target, control: &[u32]) -> Result<Lowered, LowerError> {
    let (vertex, evaluation) = (compile(VERTEX, &[]), compile_stage("tese", EVALUATION, &[]));
    let (vertex, control, input) =
        (Shader::new(&vertex), Shader::new(control), VertexInput::default());
    let options = compute::Options::new(&input)
        .vertex_shader(&vertex)
        .control_shader(&control)
        .target(target);
    compute::lower(&Shader::new(&evaluation), &options)
}

/// Every invocation has to execute a barrier exactly once.
#[test]
fn barriers_in_control_flow_are_refused() {
    let flow = "has a barrier in a loop or a selection, or behind a return";
    for (code, said) in [
        ("if (gl_PrimitiveID == 7) memoryBarrier();", flow),
        ("for (int i = 0; i < gl_PrimitiveID; i++) memoryBarrier();", flow),
        ("if (gl_PrimitiveID == 7) return; memoryBarrier();", flow),
        ("inner();", "has a barrier in a function that the entry point calls"),
        // So spirv-opt's pass merge-return wraps a function.
        ("switch (0) { default: memoryBarrier(); }", flow),
    ] {
        let lowered = lower_with(compute::Target::default(), &control_with_barriers(code));
        let error = lowered.unwrap_err();
        assert!(matches!(error, LowerError::ControlBarrier { .. }), "{code}: {error}");
        assert!(error.to_string().contains(said), "{code}: {error}");
    }
}

/// Also where nothing branches to a merge or continue block.
#[test]
fn control_flow_between_barriers_is_kept() {
    for code in [
        "",
        "if (gl_PrimitiveID == 7) gl_TessLevelOuter[1] = 1.0;",
        "for (int i = 0; i < gl_PrimitiveID; i++) gl_TessLevelOuter[1] += 1.0;",
        "for (;;) { gl_TessLevelOuter[1] = 1.0; break; }",
        "if (gl_PrimitiveID == 7) for (;;) { if (gl_InvocationID == 1) break; else break; }",
    ] {
        is_kept(&format!("{code} memoryBarrier();"));
        is_kept(&format!("memoryBarrier(); {code}"));
        is_kept(&format!("{code} memoryBarrier(); {code} memoryBarrier(); {code}"));
    }
    for code in [
        "if (gl_PrimitiveID == 7) return;",
        "if (gl_PrimitiveID == 7) return; else return;",
        "if (gl_PrimitiveID == 7) { gl_TessLevelOuter[1] = 1.0; return; } else { return; }",
        "switch (gl_PrimitiveID) { case 1: return; default: gl_TessLevelOuter[1] = 1.0; return; }",
        "for (;;) { if (gl_PrimitiveID == 7) return; else break; }",
        "for (;;) return;",
    ] {
        is_kept(&format!("memoryBarrier(); {code}"));
    }
}

fn is_kept(code: &str) {
    let lowered = lower_with(compute::Target::default(), &control_with_barriers(code));
    let lowered = lowered.unwrap_or_else(|error| panic!("{code}: {error}"));
    for words in [&lowered.words, &lowered.specialized(&[]).unwrap()] {
        validate(words, "vulkan1.0");
    }
}

/// A phi may name an unreachable block, which is in no phase.
#[test]
fn unreachable_blocks_between_barriers_are_dropped() {
    let behind = "
        OpBranch %live
        %live = OpLabel
        OpBranch %joined
        %dead = OpLabel
        OpBranch %joined
        %joined = OpLabel
        %phi = OpPhi %float %float_1 %live %float_1 %dead";
    let code = "memoryBarrier();";
    let words = assemble(&with_barriers(&control(code), ["", behind]), "vulkan1.0");
    let lowered = lower_with(compute::Target::default(), &words).unwrap();
    validate(&lowered.words, "vulkan1.0");
}

/// Optimizers load a handle once, however often a shader uses it.
#[test]
fn handles_are_loaded_again_behind_barriers() {
    let source = "#version 450
        layout(vertices = 3) out;
        layout(set = 0, binding = 0) uniform sampler2D both;
        layout(set = 0, binding = 1) uniform texture2D images[2];
        layout(set = 0, binding = 2) uniform sampler how;
        void main() {
            gl_TessLevelOuter[0] = textureLod(both, vec2(0.25), 0.0).x;
            gl_TessLevelOuter[1] = textureLod(sampler2D(images[1], how), vec2(0.5), 0.0).x;
            barrier();
            gl_TessLevelInner[0] = textureLod(both, vec2(0.75), 0.0).x;
            gl_TessLevelInner[1] = textureLod(sampler2D(images[1], how), vec2(0.25), 0.0).x;
        }";
    let words = optimize(&compile_stage("tesc", source, &[]), &["-O"]);
    let text = disassemble(&words);
    let is_load = |line: &&str| line.contains("OpLoad") && line.ends_with("%both");
    assert_eq!(text.lines().filter(is_load).count(), 1, "{text}");
    let lowered = lower_with(compute::Target::default(), &words).unwrap();
    for words in [&lowered.words, &lowered.specialized(&[]).unwrap()] {
        validate(words, "vulkan1.0");
    }
}

/// A pointer is computed again in each phase that uses it, and keeps its decorations.
#[test]
fn pointers_behind_barriers_may_be_non_uniform() {
    let source = "#version 450
        #extension GL_EXT_nonuniform_qualifier : require
        layout(vertices = 3) out;
        layout(set = 0, binding = 0) uniform Block { float level; } blocks[4];
        void main() {
            gl_TessLevelOuter[0] = blocks[nonuniformEXT(gl_InvocationID)].level;
            memoryBarrier();
        }";
    let words = compile_stage("tesc", source, &["--target-env", "vulkan1.2"]);
    // The pointer and the variable in the shader's only `OpAccessChain` of the array.
    let text = disassemble(&words);
    let chain =
        text.lines().find(|line| line.contains("OpAccessChain") && line.contains("%blocks"));
    let pointer = chain.unwrap().split_whitespace().next().unwrap();
    let behind = format!("\n%again = OpLoad %float {pointer}\nOpStore %level_behind %again");
    let text = with_barriers(&words, ["", &behind]);
    let chain_of_level = text
        .lines()
        .find(|line| line.contains("OpAccessChain") && line.contains("%gl_TessLevelOuter"))
        .unwrap();
    let level = chain_of_level.split_whitespace().next().unwrap();
    let words = assemble(&text.replace("%level_behind", level), "vulkan1.2");
    let lowered = lower_with(compute::Target::default(), &words).unwrap();
    let text = disassemble(&lowered.words);
    let chains: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("OpAccessChain") && line.contains("%blocks"))
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(chains.len(), 2, "{text}");
    for pointer in chains {
        assert!(text.contains(&format!("OpDecorate {pointer} NonUniform\n")), "{pointer}\n{text}");
    }
}

#[test]
fn shaders_that_do_not_go_together_are_refused() {
    let (vertex, evaluation) = (compile(VERTEX, &[]), compile_stage("tese", EVALUATION, &[]));
    let geometry = compile_stage("geom", GEOMETRY, &[]);
    let control = control("");
    let [vertex, control, evaluation, geometry] =
        [&vertex, &control, &evaluation, &geometry].map(|words| Shader::new(words));
    let input = VertexInput::default();
    let options = compute::Options::new(&input).vertex_shader(&vertex);
    let error = |shader: &Shader<'_>, options: compute::Options<'_>| {
        compute::lower(shader, &options).map(|_| ()).unwrap_err()
    };
    let without = compute::Options::new(&input);
    for options in [without.control_shader(&control), without.evaluation_shader(&evaluation)] {
        assert!(matches!(error(&vertex, options), LowerError::NoVertexShader));
        assert!(matches!(error(&geometry, options), LowerError::NoVertexShader));
    }
    assert!(matches!(
        error(&geometry, options.evaluation_shader(&evaluation)),
        LowerError::NoControlShader
    ));
    assert!(matches!(
        error(&geometry, options.control_shader(&control).evaluation_shader(&evaluation)),
        LowerError::TessellatedPrimitives { vertices: 3, .. }
    ));
    assert!(matches!(
        error(&evaluation, options.control_shader(&evaluation)),
        LowerError::EntryPoint(_)
    ));
    assert!(matches!(error(&evaluation, options), LowerError::EntryPoint(_)));
    let stage = spirv::ExecutionModel::Vertex;
    assert!(matches!(
        error(&vertex.stage(stage), options.control_shader(&control)),
        LowerError::OtherStage { .. }
    ));
}

#[test]
fn pipelines_and_draws_of_patches_are_checked() {
    let mut gpu = device::open_with(OpenOptions::default());
    let target = gpu.compute_target(Backend::Compute).unwrap();
    let lowered = lower_with(target, &control("")).unwrap();
    let error = |desc: &PipelineDesc<'_>| {
        // SAFETY: the context is of a live device, and nothing is made.
        unsafe { Pipeline::new(gpu.context(), desc) }.map(|_| ()).unwrap_err()
    };
    let desc = PipelineDesc::new(&lowered);
    assert!(matches!(error(&desc), RuntimeError::NoControlPoints));
    assert!(matches!(
        error(&PipelineDesc { patch_control_points: 33, ..desc }),
        RuntimeError::Limit { .. }
    ));
    let desc = PipelineDesc { patch_control_points: 4, ..desc };
    assert!(matches!(
        error(&PipelineDesc { topology: Some(PrimitiveTopology::TriangleList.into()), ..desc }),
        RuntimeError::GeometryInput { .. }
    ));

    // Of a vertex shader alone.
    let vertex = compile(
        "#version 450
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float found;
        void main() { found = 1.0; }",
        &[],
    );
    let input = VertexInput::default();
    let options = compute::Options::new(&input).target(target);
    let alone = compute::lower(&Shader::new(&vertex), &options).unwrap();
    let patches = PrimitiveTopology::PatchList;
    assert!(matches!(
        error(&PipelineDesc { topology: Some(patches.into()), ..PipelineDesc::new(&alone) }),
        RuntimeError::NoTessellation
    ));
    let graphics = vertex_backend::lower(&Shader::new(&vertex)).unwrap();
    let desc = PipelineDesc { topology: Some(patches.into()), ..PipelineDesc::new(&graphics) };
    for is_dynamic in [false, true] {
        let error = error(&PipelineDesc { specialize_topology: !is_dynamic, ..desc });
        assert!(matches!(error, RuntimeError::NoTessellation), "{error}");
    }
    assert!(matches!(draw(&mut gpu, &PipelineDesc::new(&alone)), RuntimeError::NoTessellation));
}

/// What is said of a draw of patches.
fn draw(gpu: &mut TestDevice, desc: &PipelineDesc<'_>) -> RuntimeError {
    let pipeline = gpu.pipeline(desc);
    let mut arena = gpu.arena(ArenaDesc::new(1, 1));
    let kernels = gpu.kernels();
    let mut said = None;
    gpu.submit(|ctx, cmd| {
        let desc = CaptureDesc::new(&pipeline);
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut capture = Capture::new(ctx, &kernels);
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            said = recorder.draw(PrimitiveTopology::PatchList, &Draw::new(3)).err();
            recorder.end(&[])?;
        }
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error:?}"));
    said.unwrap()
}

/// GL translators generate a control shader where a program has none, with another memory model than that of the program's
/// shaders.
#[test]
fn stages_with_other_memory_models_are_merged() {
    let sources = [
        ("vert", VERTEX.to_owned()),
        ("tesc", CONTROL.to_owned()),
        ("tese", EVALUATION.to_owned()),
    ];
    for upgraded in 0..8 {
        let stages: Vec<Vec<u32>> = (0..)
            .zip(&sources)
            .map(|(number, (stage, source))| {
                let words = compile_stage(stage, source, &["--target-env", "vulkan1.2"]);
                match upgraded >> number & 1 {
                    0 => words,
                    _ => optimize(&words, &["--upgrade-memory-model"]),
                }
            })
            .collect();
        let lowered = lower_stages(&stages).unwrap_or_else(|error| panic!("{upgraded}: {error}"));
        for words in [&lowered.words, &lowered.specialized(&[]).unwrap()] {
            validate(words, "vulkan1.2");
            let is_vulkan =
                disassemble(words).contains("OpMemoryModel PhysicalStorageBuffer64 Vulkan");
            assert_eq!(is_vulkan, upgraded != 0, "{upgraded}");
        }
    }
}

/// What other invocations see, and when, is said of variables in one memory model, and of accesses in the other.
#[test]
fn stages_with_other_memory_models_keep_what_others_see() {
    const BUFFERS: &str = "#version 450
        struct S { vec4 a; float b[3]; };
        layout(set = 0, binding = 0) DECORATED buffer B { float level; uint count; S from; S to; };
        IMAGE
        float touch() {
            level += 1.0;
            to = from;
            memoryBarrier();
            LOAD
            return float(atomicAdd(count, 1u) + atomicCompSwap(count, 1u, 2u));
        }";
    // The optimizer of Debian 12 makes wrong code of images.
    const IMAGE: &str = "layout(set = 0, binding = 1, r32ui) DECORATED uniform uimage2D image;";
    const LOAD: &str = "memoryBarrierImage();
        imageStore(image, ivec2(0), imageLoad(image, ivec2(1)) + imageAtomicAdd(image, ivec2(0), 1u));";
    let touching = |source: &str, decoration, has_image| {
        let (image, load) = if has_image { (IMAGE, LOAD) } else { ("", "") };
        let buffers = BUFFERS.replace("IMAGE", image).replace("LOAD", load);
        let source = source.replacen("#version 450", &buffers.replace("DECORATED", decoration), 1);
        source.replacen("void main() {", "void main() { if (touch() == 0.5) level = 2.0;", 1)
    };
    for decoration in ["", "coherent", "volatile"] {
        for vulkan in 1..7u32 {
            let mut number = 0;
            let sources = [("vert", VERTEX), ("tesc", CONTROL), ("tese", EVALUATION)];
            let stages = sources.map(|(stage, source)| {
                let is_vulkan = vulkan >> number & 1 == 1;
                number += 1;
                let source = touching(source, decoration, !is_vulkan);
                let words = compile_stage(stage, &source, &["--target-env", "vulkan1.2"]);
                if is_vulkan { optimize(&words, &["--upgrade-memory-model"]) } else { words }
            });
            let raised = 3 - vulkan.count_ones() as usize;
            let what = format!("{decoration:?}, {vulkan}");
            let lowered = lower_stages(&stages).unwrap_or_else(|error| panic!("{what}: {error}"));
            validate(&lowered.words, "vulkan1.2");
            let text = disassemble(&lowered.words);
            assert!(!text.contains(" Coherent") && !text.contains(" Volatile\n"), "{what}");
            // As many accesses as each of the three stages has.
            let count = |accesses: &str| text.matches(accesses).count();
            let (visible, available) = (count("MakePointerVisible"), count("MakePointerAvailable"));
            if decoration.is_empty() {
                assert_eq!((visible, available), (0, 0), "{what}");
            } else {
                assert!(visible >= 6 && available >= 6, "{what}: {visible}, {available}");
                assert_eq!(count("MakeTexelVisible"), raised, "{what}");
                assert_eq!(count("MakeTexelAvailable"), raised, "{what}");
            }
            if decoration == "volatile" {
                assert!(count("Volatile|") >= 6 * raised, "{what}: {}", count("Volatile|"));
            }
        }
    }
}

/// Lowers a vertex, a control and an evaluation shader.
fn lower_stages(stages: &[Vec<u32>]) -> Result<Lowered, LowerError> {
    let [vertex, control, evaluation] = stages else { panic!("{} stages", stages.len()) };
    let (vertex, control, input) =
        (Shader::new(vertex), Shader::new(control), VertexInput::default());
    let options = compute::Options::new(&input).vertex_shader(&vertex).control_shader(&control);
    compute::lower(&Shader::new(evaluation), &options)
}

const CONTROL: &str = "#version 450
    layout(vertices = 3) out;
    void main() {
        gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
        gl_TessLevelOuter = float[](1.0, 1.0, 1.0, 1.0);
        gl_TessLevelInner = float[](1.0, 1.0);
        barrier();
    }";
