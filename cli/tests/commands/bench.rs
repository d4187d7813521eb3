//! Runs `vkxfb bench` as a user does, on lavapipe, for a few small captures.

use serde_json::Value;

use crate::command::{Ran, vkxfb};

fn bench(arguments: &[&str]) -> Ran {
    vkxfb(&[&["bench"], arguments].concat())
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    bench(&[arguments, &["--json"]].concat()).exits(0).json()
}

fn names(results: &Value, field: &str) -> Vec<String> {
    let results = results.as_array().unwrap();
    results.iter().map(|r| r[field].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Checks that derived values agree with the values from which they are derived.
#[track_caller]
fn assert_consistent(case: &Value) {
    let results = case["results"].as_array().unwrap();
    let time = |name: &str| {
        let result = results.iter().find(|r| r["contestant"] == name)?;
        Some(number(&result["time_ns"]["median"]))
    };
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    assert!(number(&case["rounds"]) >= 1.0, "{case}");
    for result in results {
        let spread = &result["time_ns"];
        let [min, p10, median, p90] = ["min", "p10", "median", "p90"].map(|f| number(&spread[f]));
        assert!(0.0 < min && min <= p10 && p10 <= median && median <= p90, "{result}");
        let [read, written] = ["bytes_read", "bytes_written"].map(|f| number(&case[f]));
        assert!(close(number(&result["captured_gb_per_s"]), written / median), "{result}");
        assert!(close(number(&result["moved_gb_per_s"]), (read + written) / median), "{result}");
        for (ratio, other) in [("to_roofline", "roofline"), ("to_native", "native")] {
            match time(other) {
                Some(other) => assert!(close(number(&result[ratio]), other / median), "{result}"),
                None => assert_eq!(result[ratio], Value::Null),
            }
        }
        assert_eq!(result["spread"].is_object(), result["contestant"] == "roofline");
    }
}

const ALL: [&str; 5] = ["native", "vertex", "compute", "compute-specialized", "roofline"];

#[test]
fn every_workload_is_right_and_consistent_under_validation() {
    let report = json(&[
        "--validate",
        "--rounds",
        "1",
        "--vertices",
        "3,606",
        "--size",
        "64",
        "--buffers",
        "3",
    ]);
    assert_eq!((&report["schema"], &report["wrong"]), (&1.into(), &Value::Array(Vec::new())));
    assert_eq!(report["validation"], Value::Array(Vec::new()));
    assert!(!report["device"]["name"].as_str().unwrap().is_empty());
    let cases = report["cases"].as_array().unwrap();
    for case in cases {
        assert_consistent(case);
        let indexed = case["workload"].as_str().unwrap().starts_with("indexed");
        let counters = case["workload"] == "many-draws-counters";
        let workload = case["workload"].as_str().unwrap();
        let later = workload.starts_with("geometry") || workload.starts_with("tessellated");
        if workload == "tessellated-2088" && case["vertices"] == 606 {
            // lavapipe 22.3 itself tessellates this many patches wrongly.
            continue;
        }
        let mut expected = ALL.to_vec();
        let mut missing = Vec::new();
        if indexed || counters || later {
            missing.push(expected.remove(1));
        }
        assert_eq!(names(&case["results"], "contestant"), expected, "{case}");
        assert_eq!(names(&case["missing"], "contestant"), missing, "{case}");
    }
    let mut workloads: Vec<&str> = cases.iter().map(|c| c["workload"].as_str().unwrap()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    assert_eq!(
        workloads,
        [
            "draw",
            "formats",
            "geometry-amplify",
            "geometry-cull",
            "geometry-pass-through",
            "indexed-grid",
            "indexed-strips",
            "indexed-strips-restart",
            "many-draws",
            "many-draws-counters",
            "tessellated-12",
            "tessellated-2088",
        ]
    );
    // Three vertices are too few for a primitive with adjacency.
    let draws = cases.iter().filter(|c| c["workload"] == "draw");
    let count = |n: u32| draws.clone().filter(|c| c["vertices"] == n).count();
    assert_eq!((count(3), count(606)), (6, 10));
    let pipelines = report["pipelines"].as_array().unwrap();
    // Pipelines are created for a list topology and for a strip topology.
    assert_eq!(names(&report["pipelines"], "contestant"), [&ALL[..4], &ALL[..4]].concat());
    assert_pipelines(pipelines);
}

#[test]
fn pipelines_are_compared_with_shaders_written_by_hand() {
    let report = json(&["--part", "pipelines", "--size", "32"]);
    let by_hand: Vec<&str> = [&ALL[..4], &["by-hand"]].concat();
    assert_eq!(names(&report["pipelines"], "contestant"), [&by_hand[..], &by_hand[..]].concat());
    assert_pipelines(report["pipelines"].as_array().unwrap());
}

#[track_caller]
fn assert_pipelines(pipelines: &[Value]) {
    for pipeline in pipelines {
        let is_by_hand = pipeline["contestant"] == "by-hand";
        assert_eq!(number(&pipeline["rewriting_ns"]["median"]) == 0.0, is_by_hand, "{pipeline}");
        for field in ["creation_ns", "first_use_ns"] {
            assert!(number(&pipeline[field]["median"]) > 0.0, "{pipeline}");
        }
    }
}

/// Compares bytes with values computed by hand, on which the ratios to the roofline depend.
#[test]
fn a_case_says_what_it_moves() {
    let report = json(&[
        "--part",
        "draw",
        "--topology",
        "triangle-fan",
        "--vertices",
        "1Ki",
        "--rounds",
        "1",
    ]);
    let [case] = report["cases"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(case["records"], 3 * 1022);
    assert_eq!(case["bytes_written"], 3 * 1022 * 32);
    assert_eq!(case["bytes_read"], 1024 * 16, "the hub once");
    assert_eq!((&case["record_bytes"], &case["buffers"]), (&32.into(), &1.into()));
}

/// llvmpipe's timestamps do not include the work (Mesa 22.3).
#[test]
fn timestamps_that_do_not_cover_the_work_are_not_used() {
    let report = json(&["--part", "draw", "--topology", "point-list", "--vertices", "64Ki"]);
    let clock = &report["clock"];
    let believed = clock["coverage"].as_f64().is_some_and(|coverage| coverage >= 0.5);
    assert_eq!(clock["timestamps"], believed, "{clock}");
    for result in report["cases"][0]["results"].as_array().unwrap() {
        let (gpu, wall) = (&result["gpu_ns"], &result["wall_ns"]);
        assert_eq!(gpu.is_object(), believed, "{result}");
        assert_eq!(&result["time_ns"], if believed { gpu } else { wall });
    }
}

/// The vertex backend refuses a fan whose first vertex one invocation would store too many times.
/// The other contestants are measured.
#[test]
fn fans_that_the_vertex_backend_refuses_are_measured_without_it() {
    let arguments = [
        "--part",
        "draw",
        "--topology",
        "triangle-fan",
        "--vertices",
        "65537,65538",
        "--rounds",
        "1",
    ];
    let report = json(&arguments);
    let [taken, refused] = report["cases"].as_array().unwrap().as_slice() else {
        panic!("{report}")
    };
    assert_eq!(names(&taken["results"], "contestant"), ALL);
    assert_eq!(names(&refused["results"], "contestant"), [ALL[0], ALL[2], ALL[3], ALL[4]]);
    assert_eq!(names(&refused["missing"], "contestant"), ["vertex"]);
    let reason = "the backend does not do triangle fans of more than 65537 vertices";
    assert_eq!(refused["missing"][0]["reason"], reason);
    let shown = bench(&arguments);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains(&format!("missing: vertex: {reason}")), "{}", shown.stdout);
}

#[test]
fn compute_alone_is_measured_on_the_floor() {
    let report = json(&[
        "--validate",
        "--profile",
        "bifrost",
        "--topology",
        "line-strip",
        "--vertices",
        "606",
        "--part",
        "draw",
        "--rounds",
        "1",
    ]);
    let case = &report["cases"][0];
    assert_consistent(case);
    assert_eq!(names(&case["results"], "contestant"), ALL[2..]);
    assert_eq!(names(&case["missing"], "contestant"), ALL[..2]);
}

/// Without device addresses, the roofline accesses memory by descriptors, up to the largest range
/// of a descriptor.
#[test]
fn descriptors_have_a_roofline_too() {
    let report = json(&[
        "--validate",
        "--resources",
        "descriptors",
        "--topology",
        "triangle-fan",
        "--vertices",
        "606",
        "--part",
        "draw",
        "--rounds",
        "1",
    ]);
    assert_eq!(report["validation"], Value::Array(Vec::new()));
    let case = &report["cases"][0];
    assert_consistent(case);
    let results = case["results"].as_array().unwrap();
    let roofline = results.iter().find(|r| r["contestant"] == "roofline").unwrap();
    assert_eq!(roofline["spread"]["resources"], "descriptors");
}

#[test]
fn tables_show_the_selection() {
    let ran = bench(&[
        "--part",
        "draw,pipelines",
        "--topology",
        "line-list,triangle-strip",
        "--vertices",
        "3,1Ki",
        "--backend",
        "compute",
        "--rounds",
        "1",
    ]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for shown in ["line-list ", "triangle-strip ", "1 Ki", "roofline", "Pipelines"] {
        assert!(ran.stdout.contains(shown), "no '{shown}' in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains("native  "), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_runs() {
    for (arguments, said) in [
        (&["--size", "20"] as &[&str], "16, 32, 64 and 256"),
        (&["--size", "16", "--buffers", "2"], "at least"),
        (&["--buffers", "5"], "1 to 4 buffers"),
        (&["--vertices", "0"], "1 to 67108864"),
        (&["--vertices", "many"], "16Ki"),
        (&["--vertices", "65Mi"], "1 to 67108864"),
        (&["--part", "speed"], "many-draws"),
        (&["--topology", "hexagons"], "hexagons"),
        (&["--part", "draw", "--topology", "patch-list"], "nothing to measure"),
        (&["--backend", "cuda"], "compute-specialized"),
        (&["--rounds", "0"], "1..=10000"),
        (&["--limit=-1"], "seconds"),
        (
            &["--part", "draw", "--topology", "triangle-list-with-adjacency", "--vertices", "3"],
            "nothing to measure",
        ),
        (&["--profile", "bifrost", "--backend", "native", "--vertices", "3"], "native"),
        (&["--device", "no such device"], "no such device"),
    ] {
        let ran = bench(arguments);
        assert_eq!(ran.status, 2, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{arguments:?}: no '{said}' in: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{arguments:?}: {}", ran.stdout);
    }
}
