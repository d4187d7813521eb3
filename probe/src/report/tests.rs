use vkxfb_rewriter::topology::ProvokingVertex;

use crate::bug::{BugReport, Failing, FailingShader, bug_report};
use crate::report::samples::sample_report;
use crate::report::*;
use std::path::Path;

#[test]
fn outcomes_are_exit_codes() {
    let mut report = ProbeReport::new(DeviceInfo::default(), "");
    let case = Case {
        shader: "s".to_owned(),
        geometry: None,
        stage: CapturedStage::Vertex,
        topology: PrimitiveTopology::LineStrip,
        provoking: ProvokingVertex::Last,
        vertex_count: 5,
        instance_count: 1,
        specialized: false,
    };
    assert_eq!(report.outcome().exit_code(), 2, "nothing ran");
    report.skip(Backend::Native, case.topology, "no extension");
    assert_eq!(report.outcome().exit_code(), 2, "nothing ran");
    report.record(Backend::Compute, &case, Verdict::Match);
    assert_eq!(report.outcome().exit_code(), 0);
    report.record_error(Backend::Compute, &case, "device lost");
    assert_eq!(report.outcome().exit_code(), 2);
    let failure = sample_report().mismatches.remove(0);
    report.record(Backend::Compute, &case, Verdict::Mismatch(Box::new(failure.mismatch)));
    assert_eq!(report.outcome().exit_code(), 1);
    let cell = report.cell(Backend::Compute, case.topology).unwrap();
    assert_eq!((cell.run, cell.passed, cell.errors, cell.failed()), (3, 1, 1, 1));
}

#[test]
fn the_command_names_the_device_and_quotes_the_file() {
    let mut case = sample_report().mismatches.remove(0).case;
    let mut report = ProbeReport::new(DeviceInfo::default(), "");
    let topology = case.topology;
    case.shader = "identify".to_owned();
    case.geometry = Some("lines_to_points".to_owned());
    report.shader_options = vec!["--varyings".to_owned(), "a b".to_owned()];
    assert_eq!(
        report.repeat(&case, Some(Backend::Compute)),
        format!(
            "vkxfb probe --shader lines_to_points --backend compute --topology {topology} --provoking first \
             --vertices 12 --instances 3"
        )
    );
    case.shader = "it's mine/a b.spv".to_owned();
    case.geometry = None;
    report.device.index = Some(1);
    report.profile = "bifrost".to_owned();
    report.options = vec!["--timeout".to_owned(), "20".to_owned()];
    assert_eq!(
        report.repeat(&case, None),
        format!(
            r"vkxfb probe shader 'it'\''s mine/a b.spv' --varyings 'a b' --topology {topology} --provoking first "
        ) + "--vertices 12 --instances 3 --device 1 --profile bifrost --timeout 20"
    );
}

#[test]
fn what_the_validation_layer_says_is_no_success() {
    let mut report = ProbeReport::new(DeviceInfo::default(), "");
    let case = sample_report().mismatches.remove(0).case;
    report.record(Backend::Compute, &case, Verdict::Match);
    assert_eq!(report.outcome(), Outcome::AllRight);
    report.validation.push("error VUID-x: y".to_owned());
    assert_eq!(report.outcome(), Outcome::CouldNotRun);
}

#[test]
fn json_says_what_failed_where() {
    let json = to_json(&[sample_report()], None).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["schema"], SCHEMA);
    assert_eq!(value["outcome"], "mismatches");
    let flipped = value["reports"][0]["mismatches"]
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["mismatch"]["fault"] == "flipped-winding")
        .unwrap();
    assert_eq!(flipped["backend"], "compute");
    assert_eq!(flipped["case"]["topology"], "triangle-strip");
    assert_eq!(flipped["mismatch"]["first"]["captured"][1]["vertex"]["vertex"], 2);
}

#[test]
fn a_bug_report_has_what_a_driver_engineer_asks_for() {
    let report = sample_report();
    let failure = &report.mismatches[1];
    let shader = |stage, disassembly: Option<&str>| FailingShader {
        stage,
        spirv: vec![0x0723_0203, 0x0001_0300],
        disassembly: disassembly.map(str::to_owned),
    };
    let shaders = vec![
        shader("geometry shader", Some("; SPIR-V ```\n; Version: 1.3")),
        shader("vertex shader before it", None),
    ];
    let failing = &Failing { failure: failure.clone(), shaders };
    let reports = [report.clone()];
    let bug = BugReport { reports: &reports, failing: Some(failing), log: "WARN of the driver" };
    let text = bug_report(&bug).unwrap();
    for part in [
        report.device.name.as_str(),
        "panvk, Mesa 25.0.7",
        "conformance: 1.4.1.2",
        "kernel: linux 6.1.0",
        "machine: A Board",
        "command: `vkxfb probe --report bug.md`",
        "maxPushConstantsSize: 128",
        "WARN of the driver",
        failure.command.as_str(),
        "0302230700030100",
        "## SPIR-V of the geometry shader",
        "````spirv",
        "## SPIR-V of the vertex shader before it",
        "expected v1 v3 v2, captured v1 v2 v3: flipped winding",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    if let Some(directory) = std::env::var_os("VKXFB_GALLERY") {
        write_atomically(&Path::new(&directory).join("bug.md"), text.as_bytes()).unwrap();
    }
}

#[test]
fn a_file_is_written_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("report.json");
    write_atomically(&path, b"first").unwrap();
    write_atomically(&path, b"second").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"second");
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "no temporary file stays");
    let nowhere = directory.path().join("missing/report.json");
    assert!(write_atomically(&nowhere, b"third").is_err());
}

#[test]
fn a_file_that_cannot_be_written_is_known_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("page.html");
    check_writable(&path).unwrap();
    assert!(!path.exists(), "nothing is written by asking");
    assert!(check_writable(&directory.path().join("missing/page.html")).is_err());
    assert!(check_writable(directory.path()).is_err(), "a directory");
}

#[cfg(unix)]
#[test]
fn links_and_devices_stay_what_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let (file, link) = (directory.path().join("page.html"), directory.path().join("link.html"));
    std::fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    write_atomically(&link, b"new").unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"new");
    assert!(link.symlink_metadata().unwrap().is_symlink());
    // The path is a link to the null device, so that a failure of this test does not replace the
    // device itself.
    let null = directory.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    check_writable(&null).unwrap();
    write_atomically(&null, b"gone").unwrap();
    assert!(!null.metadata().unwrap().is_file());
}

/// A sample in whose JSON every field is.
fn full_report() -> ProbeReport {
    let mut report = sample_report();
    report.options.push("--unoptimized".to_owned());
    report.shader_options.push("--varyings".to_owned());
    report.injected = Some("faults were injected".to_owned());
    report.validation.push("error".to_owned());
    let rate = crate::trial::Rate { backend: Backend::Compute, vertices_per_second: 1.0 };
    report.trials[0].rates.push(rate);
    let case = report.mismatches[0].case.clone();
    report.record_error(Backend::Vertex, &case, "refused");
    report.mismatches[0].mismatch.stream = Some(1);
    report.traces[0].stream = Some(1);
    let vertex = crate::diagnose::VertexRef { instance: 0, vertex: 0 };
    report.traces[0].primitives[0].captured.extend([
        crate::diagnose::Slot::Torn(vec![(0, Some(vertex)), (1, None)]),
        crate::diagnose::Slot::Unknown { wrong_outputs: vec!["colour".to_owned()] },
    ]);
    report
}

/// The page of the JSON's fields has those that there are, and no other.
#[test]
fn every_field_is_documented() {
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::Value;

    /// Adds the names of the fields of all objects in `value`, by the name of the field that the object is in.
    fn collect(value: &Value, of: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
        match value {
            // Its fields are what the device has.
            Value::Object(_) if of == "limits" => {}
            Value::Object(fields) => {
                for (name, value) in fields {
                    found.entry(of.to_owned()).or_default().insert(name.clone());
                    collect(value, name, found);
                }
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, of, found)),
            _ => {}
        }
    }

    fn quoted(text: &str) -> Vec<String> {
        text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    let json = to_json(&[full_report()], Some("a device is lost")).unwrap();
    let mut found = BTreeMap::new();
    collect(&serde_json::from_str(&json).unwrap(), ".", &mut found);

    let page = include_str!("../../../cli/JSON.md");
    let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for section in page.split("\n## ").skip(1) {
        let (heading, rest) = section.split_once('\n').unwrap();
        let rows = rest.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.filter_map(|row| row.split(" | ").next());
        let names: BTreeSet<String> = cells.flat_map(quoted).collect();
        for object in quoted(heading) {
            documented.insert(object, names.clone());
        }
    }
    assert_eq!(documented, found);

    assert!(page.contains(&format!("is the version of this format: {SCHEMA}.")));
    let value_names = |values: Vec<Value>| {
        for value in values {
            let name = format!("`{}`", value.as_str().unwrap());
            assert!(page.contains(&name), "no {name} on the page");
        }
    };
    value_names(crate::diagnose::Fault::ALL.map(|v| serde_json::to_value(v).unwrap()).into());
    value_names(crate::trial::Trial::ALL.map(|v| serde_json::to_value(v).unwrap()).into());
    let outcomes = [Outcome::AllRight, Outcome::Mismatches, Outcome::CouldNotRun];
    value_names(outcomes.map(|v| serde_json::to_value(v).unwrap()).into());
    let results = [
        TrialResult::Works,
        TrialResult::DoneWithout,
        TrialResult::Wrong,
        TrialResult::Absent,
        TrialResult::NotRun,
        TrialResult::Lost,
    ];
    value_names(results.map(|v| serde_json::to_value(v).unwrap()).into());
}
