//! Compares reports of probes as a user does.

use serde_json::Value;

use crate::command::{PROBE_ONE_BATCH, Ran, Shaders, command, vkxfb};

#[test]
fn a_report_is_compared_with_one_where_a_case_is_wrong() {
    let files = Shaders::new();
    let report = files.path("before.md");
    let report = report.to_str().unwrap();
    // All cases of this small probe are right.
    let probe = [&PROBE_ONE_BATCH[..], &["--backend", "compute"]].concat();
    vkxfb(&[&probe[..], &["--report", report]].concat()).exits(0);
    let text = std::fs::read_to_string(report).unwrap();
    let command = format!("- command: `vkxfb {} --report {report}`\n", probe.join(" "));
    let architecture = format!("- architecture: {}\n", std::env::consts::ARCH);
    for part in
        ["no capture came out wrong", "- kernel: ", "- conformance: ", &architecture, &command]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }

    // The same probe is written as JSON. A changed copy has another driver, and a wrong draw.
    let json = vkxfb(&[&probe[..], &["--json"]].concat()).exits(0).stdout;
    let same = files.file("same.json", json.as_bytes());
    let compared = vkxfb(&["probe", "compare", report, &same]).exits(0);
    assert_eq!(compared.stdout, "no case became wrong: 28 right as before\n");
    let mut value: Value = serde_json::from_str(&json).unwrap();
    value["reports"][0]["device"]["driver"] = "another driver".into();
    let results = &mut value["reports"][0]["results"][0];
    assert_eq!(results["specialized"], false);
    let right = results["right"].as_str().unwrap().replace("7x3 ", "");
    results["right"] = right.into();
    results["wrong"] = "7x3".into();
    let wrong = files.file("wrong.json", value.to_string().as_bytes());
    let compared = vkxfb(&["probe", "compare", report, &wrong]).exits(1);
    for part in [
        " -> another driver\n",
        "became wrong (1):\n",
        "compute triangle-strip, shader identify, first vertex provokes\n",
        "right -> wrong: 7x3\n",
    ] {
        assert!(compared.stdout.contains(part), "{part}\n{}", compared.stdout);
    }
    let back = vkxfb(&["probe", "compare", &wrong, report, "--json"]).exits(0).json();
    assert_eq!(back["became_right"][0]["vertex_count"], 7);
    assert_eq!(back["became_wrong"], Value::Array(Vec::new()));
}

/// A trial that becomes wrong fails the gate of a CI job, even if all cases are right.
#[test]
fn a_trial_that_becomes_wrong_fails_the_gate() {
    let files = Shaders::new();
    let report = |name: &str, fault: Option<&str>| {
        let file = files.path(name).to_str().unwrap().to_owned();
        let probe = [&PROBE_ONE_BATCH[..], &["--backend", "compute", "--report", &file]].concat();
        let mut probe = command(&probe);
        if let Some(fault) = fault {
            probe.env("VKXFB_INJECT_FAULT", fault);
        }
        Ran::new(probe.output().unwrap()).exits(i32::from(fault.is_some()));
        file
    };
    let before = report("before.md", None);
    let after = report("after.md", Some("no-indirect"));
    let compared = vkxfb(&["probe", "compare", &before, &after]).exits(1).stdout;
    let verdict = "the trial of indirect dispatch became wrong: 28 right as before\n\
         faults were injected in the second probe: this says nothing about a driver\n";
    assert!(compared.starts_with(verdict), "{compared}");
    assert!(compared.contains("  indirect-dispatch: works -> wrong\n"), "{compared}");
    let json = vkxfb(&["probe", "compare", &before, &after, "--json"]).exits(1).json();
    assert_eq!(json["worse_trials"][0]["name"], "indirect-dispatch");
    vkxfb(&["probe", "compare", &after, &before]).exits(0);
}

#[test]
fn files_that_are_no_reports_are_refused_by_name_and_field() {
    let files = Shaders::new();
    let notes = files.file("notes.md", b"# Notes\n");
    let old = files.file(
        "old.json",
        br#"{ "schema": 1, "tool_version": "0", "reports": [{
        "device": { "name": "Old", "vendor_id": 1, "device_id": 2 } }] }"#,
    );
    vkxfb(&["probe", "compare", &old, &notes]).refuses(&[
        "old.json",
        "reports[0].device",
        "`driver`",
    ]);
    vkxfb(&["probe", "compare", &notes, &old]).refuses(&["notes.md", "no report of a probe"]);
    vkxfb(&["probe", "compare", "/missing/a.md", &old]).refuses(&["/missing/a.md"]);
    let help = vkxfb(&["probe", "compare", "--help"]).exits(0).stdout;
    assert!(help.contains("Examples:") && help.contains("Exit status: 0"), "{help}");
}

/// A backend is gone, for example, if an update of a driver removes transform feedback.
#[test]
fn a_backend_that_is_gone_fails_the_gate() {
    let files = Shaders::new();
    let of = |name: &str, more: &[&str]| {
        let one = ["probe", "--device", "0", "--quick", "--shader", "identify", "--json"];
        let one = [&one[..], &["--provoking", "first", "--topology", "TRIANGLE_STRIP"]].concat();
        let json = vkxfb(&[&one[..], more].concat()).exits(0).stdout;
        files.file(name, json.as_bytes())
    };
    let all = of("all.json", &[]);
    let compute = of("compute.json", &["--backend", "Compute"]);
    let gone = vkxfb(&["probe", "compare", &all, &compute]).exits(1).stdout;
    let verdict =
        "the native backend is gone, the vertex backend is gone: 28 right as before; 42 gone";
    assert!(gone.starts_with(verdict), "{gone}");
    assert!(gone.contains("gone (42):\n  native triangle-strip: 14, none is left\n"), "{gone}");
    vkxfb(&["probe", "compare", &compute, &all]).exits(0);
    let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&all).unwrap()).unwrap();
    value["reports"] = Value::Array(Vec::new());
    let empty = files.file("empty.json", value.to_string().as_bytes());
    vkxfb(&["probe", "compare", &all, &empty]).refuses(&["empty.json", "no case"]);
    let ran = vkxfb(&["compare", &all, &compute]).exits(2);
    assert!(ran.stderr.contains("probe compare"), "{}", ran.stderr);
}
