//! A sample report that contains every kind of result, for tests of the code that shows reports.

use vkxfb_rewriter::topology::ProvokingVertex;

use crate::diagnose::tests::injections;
use crate::report::*;
use crate::trial::Trial;

pub(crate) fn sample_report() -> ProbeReport {
    use PrimitiveTopology as T;
    let device = DeviceInfo {
        index: None,
        name: "Mali-G52 r1 MC1 (Panfrost)".to_owned(),
        driver: "panvk, Mesa 25.0.7".to_owned(),
        driver_version: "25.0.7".to_owned(),
        conformance_version: Some("1.4.1.2".to_owned()),
        api_version: "1.0.335".to_owned(),
        vendor_id: 0x13b5,
        device_id: 0x7402_1000,
        backends: vec![
            BackendSupport {
                backend: Backend::Native,
                missing: vec!["no extension VK_EXT_transform_feedback".to_owned()],
                topologies: Vec::new(),
            },
            BackendSupport {
                backend: Backend::Vertex,
                missing: vec!["no feature vertexPipelineStoresAndAtomics".to_owned()],
                topologies: Vec::new(),
            },
            BackendSupport {
                backend: Backend::Compute,
                missing: Vec::new(),
                topologies: T::ALL.into(),
            },
        ],
        limits: [
            ("maxBoundDescriptorSets", "4"),
            ("maxComputeWorkGroupCount[0]", "65535"),
            ("maxComputeWorkGroupInvocations", "256"),
            ("maxPushConstantsSize", "128"),
            ("bufferDeviceAddress", "true"),
            ("vertexPipelineStoresAndAtomics", "false"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
    };
    let mut report = ProbeReport::new(device, "bifrost");
    report.host = HostInfo {
        os: "linux".to_owned(),
        kernel: Some("6.1.0".to_owned()),
        architecture: "aarch64".to_owned(),
        machine: Some("A Board".to_owned()),
        cpu: None,
        memory_kib: Some(1 << 20),
    };
    report.date = "2026-01-31 17:05 UTC".to_owned();
    report.command = "vkxfb probe --report bug.md".to_owned();
    report.trials = vec![
        TrialReport::new(
            Trial::IndirectDispatch,
            TrialResult::DoneWithout,
            "does nothing, and is not used",
        ),
        TrialReport::new(
            Trial::VertexStores,
            TrialResult::Absent,
            "no feature vertexPipelineStoresAndAtomics",
        ),
        TrialReport::new(Trial::Speed, TrialResult::Works, "compute 9.5 million vertices/s"),
    ];
    for topology in T::ALL {
        let case = Case {
            shader: "two-buffers".to_owned(),
            geometry: None,
            stage: CapturedStage::Vertex,
            topology,
            provoking: ProvokingVertex::First,
            vertex_count: 12,
            instance_count: 3,
            specialized: false,
        };
        let small = Case { vertex_count: crate::picture::vertex_count(topology), ..case.clone() };
        for backend in [Backend::Native, Backend::Compute] {
            report.trace(backend, &small, None, injections::sample_trace(topology));
        }
        for _ in 0..120 {
            report.record(Backend::Compute, &case, Verdict::Match);
        }
        for (name, verdict) in injections::samples(topology) {
            let shown = match topology {
                T::TriangleStrip => name == "last two vertices swapped",
                T::TriangleFan => name == "primitive left out",
                T::LineStripWithAdjacency => name == "bit of one output",
                T::TriangleList => name == "rotated, and no order promised",
                T::PointList => name == "first byte of the guard behind",
                _ => false,
            };
            if shown {
                report.record(Backend::Compute, &case, verdict);
            }
        }
        if topology == T::LineList {
            report.record_error(Backend::Compute, &case, "ERROR_DEVICE_LOST at vkQueueSubmit");
        }
        report.skip(Backend::Native, topology, "no VK_EXT_transform_feedback");
        if topology.has_adjacency() {
            report.skip(Backend::Vertex, topology, "no geometryShader");
        } else {
            report.skip(
                Backend::Vertex,
                topology,
                "vertexPipelineStoresAndAtomics is not a feature of this device",
            );
        }
    }
    let emitted = Case {
        shader: "identify".to_owned(),
        geometry: Some("points_to_triangles_cut".to_owned()),
        stage: CapturedStage::Geometry,
        topology: T::PointList,
        provoking: ProvokingVertex::First,
        vertex_count: crate::picture::vertex_count(T::PointList),
        instance_count: 3,
        specialized: false,
    };
    let source = injections::Source::Emitted(T::TriangleStrip);
    for (name, verdict) in injections::samples(source) {
        if ["nothing", "first two vertices swapped"].contains(&name) {
            report.record(Backend::Compute, &emitted, verdict);
        }
    }
    report.trace(Backend::Compute, &emitted, None, injections::sample_trace(source));
    report.skip(Backend::Vertex, emitted.row(), "the vertex backend takes vertex shaders alone");
    let lost = |vertex_count| Case { vertex_count, ..emitted.clone() };
    for (backend, vertex_count) in
        [(Backend::Compute, 7), (Backend::Compute, 9), (Backend::Native, 7), (Backend::Native, 9)]
    {
        report.record_loss(
            backend,
            &lost(vertex_count),
            "the device was lost during vkQueueSubmit",
        );
    }
    for vertex_count in [12, 70] {
        let untried = Case { topology: T::LineStrip, ..lost(vertex_count) };
        report.record_not_tried(Backend::Native, &untried, "the device was lost with 64 cases");
    }
    report.note("two-buffers: compute and native differ by 1 ulp in 3 floats".to_owned());
    report.elapsed_s = 3.25;
    report
}
