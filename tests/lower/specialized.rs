//! Shaders that are specialized and inlined for a pipeline are valid, and as small as they should
//! be. Tests that compare captures with a model check that they capture the same data.

use vkxfb_probe::shaders::ProbeShader;
use vkxfb_rewriter::lower::kernel::{self, Kernel, MAX_WORKGROUP_SIZE, MIN_WORKGROUP_SIZE};
use vkxfb_rewriter::lower::reflect::vertex_reads;
use vkxfb_rewriter::lower::{Lowered, ResourcePlan, Shader, compute, vertex};
use vkxfb_rewriter::lower::{SpecIds, WideAccesses};
use vkxfb_rewriter::spirv::headers::{Op, StorageClass};
use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
use vkxfb_rewriter::spirv::{Module, Section};

use crate::common;
use crate::common::divergence::barriers_behind_divergent_exits;

const DESCRIPTORS: ResourcePlan = ResourcePlan::Descriptors { reads: 12, writes: 4 };

/// Returns the number of instructions with an opcode in functions.
fn count(words: &[u32], op: Op) -> usize {
    Module::parse(words).unwrap().section(Section::Functions).filter(|i| i.is(op)).count()
}

/// The draws for which a pipeline is created.
#[derive(Debug, Clone, Copy)]
enum Draws {
    /// One draw without indices.
    Single,
    /// One draw without indices, for which the CPU has checked that nothing can go wrong.
    Plain,
    Indexed,
    SingleRestarted,
    Batched,
    Every,
    Restarted,
}

impl Draws {
    const ALL: [Self; 7] = [
        Self::Single,
        Self::Plain,
        Self::Indexed,
        Self::SingleRestarted,
        Self::Batched,
        Self::Every,
        Self::Restarted,
    ];
}

/// Returns a shader that is specialized for a topology and for certain draws.
fn specialized(lowered: &Lowered, topology: u32, draws: Draws) -> Vec<u32> {
    let ids = lowered.spec_ids().unwrap();
    let restart = matches!(draws, Draws::SingleRestarted | Draws::Restarted);
    let general = matches!(draws, Draws::Every | Draws::Restarted);
    let is_plain = matches!(draws, Draws::Plain);
    let is_indexed = !is_plain && !matches!(draws, Draws::Single);
    let wide = if is_plain { WideAccesses::Aligned } else { WideAccesses::Tested };
    let values = [
        (ids.topology, topology.to_ne_bytes()),
        (ids.restart, u32::from(restart).to_ne_bytes()),
        (ids.general, u32::from(general).to_ne_bytes()),
        (ids.indexed, u32::from(is_indexed).to_ne_bytes()),
        (ids.unchecked, u32::from(is_plain).to_ne_bytes()),
        (ids.partial_indices, u32::from(!matches!(draws, Draws::Indexed)).to_ne_bytes()),
        (ids.wide_loads, (wide as u32).to_ne_bytes()),
        (ids.wide_stores, (wide as u32).to_ne_bytes()),
        (ids.batched, u32::from(matches!(draws, Draws::Batched)).to_ne_bytes()),
    ];
    let constants: Vec<_> = values
        .iter()
        .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
        .collect();
    lowered.specialized(&constants).unwrap()
}

fn lowered(words: &[u32]) -> Vec<Lowered> {
    let shader = Shader::new(words);
    let vertex_input = vertex_reads(&shader).unwrap().packed_vertex_input();
    let target = compute::Target::default();
    let targets = [
        target,
        target.resources(DESCRIPTORS),
        target.staging(2048),
        target.int64_accesses(true).byte_loads(true),
        target.shared_draws(true).staging(1024),
    ];
    let by_compute = targets.map(|target| {
        let options = compute::Options::new(&vertex_input).target(target);
        compute::lower(&shader, &options).unwrap()
    });
    by_compute.into_iter().chain([vertex::lower(&shader).unwrap()]).collect()
}

#[test]
fn probe_shaders_are_valid_for_every_pipeline() {
    for shader in ProbeShader::all() {
        for lowered in lowered(&shader.words()) {
            for topology in (0..8).chain([SpecIds::ANY_TOPOLOGY]) {
                for draws in Draws::ALL {
                    let words = specialized(&lowered, topology, draws);
                    common::validate(&words, "vulkan1.3");
                    let calls = count(&words, Op::FunctionCall);
                    assert_eq!(calls, 0, "{}: {topology}, {draws:?}", shader.name);
                    assert!(words.len() < lowered.words.len());
                }
            }
        }
    }
}

/// Control flow of applications' shaders that inlining can easily get wrong.
const APPLICATIONS: [&str; 6] = [
    // The continue construct is reached from before what the body computes.
    "for (int i = 0; i < n; i++) { if (a[i] < 0.0) continue; s += a[i] * a[(i + 1) & 7]; }",
    "int i = 0; do { i++; if (a[i & 7] > 0.5) continue; s += a[(i + 1) & 7] * float(n); } while (i < n);",
    // An image is sampled with an operand that a function with branches computes.
    "s = textureLod(sampler2D(tex, smp), vec2(branches(n)), 0.0).x;",
    // Returns from within selections, and what follows them.
    "s = cases(n, a[0] > 0.0);",
    "s = nested(n, n + 1);",
    "for (int i = 0; i < n; i++) { s += cases(i, a[i & 7] > 0.0); if (s > 9.0) break; s += nested(i, n); }",
];

/// Returns a shader with this code in its main function.
fn application(body: &str) -> Vec<u32> {
    let source = format!(
        "#version 450
        layout(push_constant) uniform Constants {{ int n; float a[8]; }};
        layout(set = 0, binding = 0) uniform texture2D tex;
        layout(set = 0, binding = 1) uniform sampler smp;
        layout(location = 0, xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0) out float captured;
        float branches(int n) {{ float r = 1.0; if (n > 3) r = a[n & 7]; else r += a[1]; return r; }}
        float cases(int k, bool b) {{
            switch (k) {{
                case 0: if (b) return 1.0;
                case 1: return 2.0;
                default: return a[k & 7];
            }}
        }}
        float nested(int k, int l) {{
            float x = 0.0;
            switch (k) {{
                case 0: switch (l) {{ case 0: return 1.0; default: break; }} x = a[1]; break;
                default: return 2.0;
            }}
            return x;
        }}
        void main() {{
            float s = float(gl_VertexIndex);
            {body}
            captured = s;
            gl_Position = vec4(s);
        }}"
    );
    common::compile(&source, &[])
}

#[test]
fn control_flow_of_applications_stays_valid() {
    for body in APPLICATIONS {
        for lowered in lowered(&application(body)) {
            for topology in [0, 2, SpecIds::ANY_TOPOLOGY] {
                let words = specialized(&lowered, topology, Draws::Single);
                common::validate(&words, "vulkan1.3");
            }
        }
    }
}

/// The pipeline for a list topology has no branch for other topologies, indices or restarts, and no
/// variable. The pipeline for all draws of any topology has them.
#[test]
fn what_cannot_occur_is_not_there() {
    let lowered = lowered(&ProbeShader::identify().words());
    let list = specialized(&lowered[0], 0, Draws::Single);
    assert_eq!((count(&list, Op::Variable), count(&list, Op::LoopMerge)), (0, 0));
    assert!(list.len() * 5 < lowered[0].words.len(), "{}", list.len());
    let any = specialized(&lowered[0], SpecIds::ANY_TOPOLOGY, Draws::Restarted);
    assert!(count(&any, Op::LoopMerge) > 0 && any.len() > 4 * list.len());
    let module = Module::parse(&list).unwrap();
    assert_eq!(module.section(Section::Names).count(), 0);
    let private = module.section(Section::Declarations).filter(|i| i.is(Op::Variable));
    assert_eq!(private.filter(|i| i.operand(2) == StorageClass::Private as u32).count(), 0);
}

#[test]
fn kernels_are_valid() {
    for kernel in Kernel::ALL {
        for resources in
            [ResourcePlan::DeviceAddress, ResourcePlan::Descriptors { reads: 12, writes: 4 }]
        {
            for (max_invocations, byte_loads) in
                [(MIN_WORKGROUP_SIZE, false), (MAX_WORKGROUP_SIZE, true)]
            {
                let target = kernel::Target::default()
                    .resources(resources)
                    .max_invocations(max_invocations)
                    .byte_loads(byte_loads);
                let words = kernel::lower(kernel, &target).unwrap();
                common::validate(&words, "vulkan1.3");
                // One function returns from within a loop.
                let is_called = matches!(
                    kernel,
                    Kernel::Restart
                        | Kernel::RestartScan
                        | Kernel::PatchRestart
                        | Kernel::PatchRestartScan
                );
                let functions = 1 + usize::from(is_called);
                assert_eq!(count(&words, Op::Function), functions, "{kernel:?}");
            }
        }
    }
}

/// See tests/common/divergence.rs.
#[test]
fn invocations_come_to_barriers_of_kernels_together() {
    for kernel in Kernel::ALL {
        for (max_invocations, byte_loads) in
            [(MIN_WORKGROUP_SIZE, false), (MAX_WORKGROUP_SIZE, true)]
        {
            let resources = ResourcePlan::DeviceAddress;
            let target = kernel::Target::default()
                .resources(resources)
                .max_invocations(max_invocations)
                .byte_loads(byte_loads);
            let words = kernel::lower(kernel, &target).unwrap();
            assert_eq!(barriers_behind_divergent_exits(&words), [], "{kernel:?}");
        }
    }
}

/// The invocations of captures come to barriers together, too, except where the invocations of a
/// workgroup load their draw together. That is only for llvmpipe, and shows that the test finds
/// such a barrier.
#[test]
fn invocations_come_to_barriers_of_captures_together() {
    let all = lowered(&ProbeShader::identify().words());
    // As `lowered` lists them.
    let shares = 4;
    for (number, lowered) in all.iter().enumerate() {
        let mut found = 0;
        for topology in (0..8).chain([SpecIds::ANY_TOPOLOGY]) {
            for draws in Draws::ALL {
                let words = specialized(lowered, topology, draws);
                found += barriers_behind_divergent_exits(&words).len();
            }
        }
        assert_eq!(found > 0, number == shares, "{number}: {found}");
    }
}
