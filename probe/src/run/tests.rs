//! Tests on any device that is available; on lavapipe in CI. A test is skipped, with a message, if there is none.

use spirv::ExecutionMode;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::diagnose::{Fault, Mismatch, Slot};
use crate::gpu::{GpuError, OpenOptions};
use crate::run::*;
use crate::shaders::ProbeGeometry;
use crate::subject::Subject;

/// A driver that takes clockwise for counter-clockwise flips every triangle of every patch, and the probe says so.
#[test]
fn an_exchanged_vertex_order_of_patches_is_seen() {
    let mut gpu = match Gpu::open(&OpenOptions::default()) {
        Ok(gpu) => gpu,
        Err(error @ (GpuError::NoLoader { .. } | GpuError::NoDriver | GpuError::NoDevice)) => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let right = Subject::built_in_geometry(ProbeGeometry::by_name("patches_to_triangles").unwrap());
    let mut flipped = right.unwrap();
    flipped.replace_mode(ExecutionMode::VertexOrderCcw, ExecutionMode::VertexOrderCw);
    let mut plan =
        Plan::full(gpu.backends(), gpu.context().settings().max_workgroups_per_axis).unwrap();
    plan.subjects = vec![flipped];
    plan.provoking = vec![ProvokingVertex::First];
    // Two patches, of one and of four quads.
    (plan.geometry_vertex_counts, plan.instance_counts) = (vec![7], vec![3]);
    let mut report = ProbeReport::new(device_info(&gpu), "");
    let mut findings = Vec::new();
    let mut tell = |event| {
        if let Event::Findings(found) = event {
            findings.push(found);
        }
        Ok(())
    };
    assert!(run_together(&mut gpu, &plan, &mut report, &mut tell).unwrap());
    findings.into_iter().for_each(|found| report.absorb(*found));
    let cases = report.cells.iter().filter(|cell| cell.skipped.is_none());
    let backends: Vec<Backend> = cases.map(|cell| cell.backend).collect();
    assert!(backends.contains(&Backend::Compute), "{backends:?}");
    assert_eq!(report.mismatches.len(), backends.len(), "{:#?}", report.cells);
    for wrong in &report.mismatches {
        let Mismatch { fault, also, differing_primitives, .. } = &wrong.mismatch;
        assert_eq!((*fault, also.as_slice()), (Fault::FlippedWinding, &[][..]), "{wrong:?}");
        assert_eq!(*differing_primitives, 3 * 2 * (1 + 4), "{wrong:?}");
    }
    // The pictures show what was captured, with the winding that it has.
    assert_eq!(report.traces.len(), backends.len());
    for trace in &report.traces {
        assert_eq!(trace.case.topology, PrimitiveTopology::PatchList);
        assert_eq!(trace.primitives.len(), 2 * (1 + 4));
        for primitive in &trace.primitives {
            assert_eq!(primitive.fault, Some(Fault::FlippedWinding));
            assert!(primitive.captured.iter().all(|slot| matches!(slot, Slot::Vertex(_))));
        }
    }
    drop(gpu.close());
}
