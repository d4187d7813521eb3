//! Tests memory that is not coherent: the host flushes what it writes, and invalidates what it
//! reads. On lavapipe, whose memory is coherent, copies of mapped memory emulate it, and the
//! validation layer checks the ranges.

use vkxfb::lower::{Backend, Shader};
use vkxfb::topology::PrimitiveTopology;
use vkxfb_probe::contents::{BufferKind, Given};
use vkxfb_probe::gpu::{Gpu, HostMemory, OpenOptions, Step};
use vkxfb_probe::plan::Plan;
use vkxfb_probe::report::{Outcome, ProbeReport};
use vkxfb_probe::run;
use vkxfb_probe::subject::Subject;
use vkxfb_probe::trial::{Trial, TrialResult};

use crate::common;

fn options() -> OpenOptions {
    OpenOptions { host_memory: HostMemory::NonCoherent, ..OpenOptions::default() }
}

/// Returns a small plan with the probe's own shaders, which read vertex buffers, and a shader that
/// reads a uniform buffer.
fn plan() -> Plan {
    let mut plan = Plan::full(&Backend::ALL, 1).unwrap();
    plan.quick();
    plan.vertex_counts = vec![3, 70];
    plan.geometry_vertex_counts = plan.vertex_counts.clone();
    plan.topologies = vec![PrimitiveTopology::TriangleStrip];
    let words = common::compile(
        "#version 450
         layout(set = 0, binding = 0) uniform Block { uvec4 words; };
         layout(xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) flat out uvec4 captured;
         void main() {
             captured = words + uint(gl_VertexIndex);
             gl_Position = vec4(0);
             gl_PointSize = 1;
         }",
        &["--target-env", "vulkan1.1"],
    );
    let (shader, given) = (Shader::new(&words), Given::default());
    let subject = Subject::from_shader("uniform", &shader, &given).unwrap();
    assert_eq!(subject.contents.buffers[0].kind, BufferKind::Uniform);
    plan.subjects.push(subject);
    plan
}

fn probe(gpu: &mut Gpu) -> ProbeReport {
    let plan = plan();
    let mut report = ProbeReport::new(run::device_info(gpu), "");
    report.trials = Trial::ALL.map(|trial| run::run_trial(gpu, &plan, trial)).to_vec();
    common::device::probe(gpu, &plan, &mut report);
    report
}

#[test]
fn uploads_are_flushed_and_what_is_read_back_is_invalidated() {
    let mut gpu = common::device::open_with(options());
    let report = probe(&mut gpu);
    assert_eq!(report.outcome(), Outcome::AllRight, "{:#?}", report.cells);
    assert!(report.trials.iter().all(|tried| tried.result == TrialResult::Works));
    assert!(
        report.cells.iter().all(|cell| cell.run > 0 || cell.skipped.is_some()),
        "{:#?}",
        report.cells
    );
}

/// Without flushes or without invalidations, every case is wrong.
#[test]
fn a_flush_or_an_invalidation_that_is_forgotten_is_seen() {
    for step in [Step::Flush, Step::Invalidation] {
        let mut gpu = Gpu::open(&options()).unwrap();
        gpu.omit_step(Some(step));
        let report = probe(&mut gpu);
        assert_eq!(report.outcome(), Outcome::Mismatches, "{step:?}");
        assert!(report.cells.iter().all(|cell| cell.passed == 0), "{step:?}: {:#?}", report.cells);
    }
}
