use std::path::Path;

use super::*;
use crate::bug::{BugReport, bug_report};
use crate::report::{ProbeReport, samples::sample_report, to_json};

/// Converts a report to JSON, in which fields can easily be changed.
fn json(report: &ProbeReport) -> serde_json::Value {
    serde_json::from_str(&to_json(std::slice::from_ref(report), None).unwrap()).unwrap()
}

fn parse(value: &serde_json::Value) -> Recorded {
    Recorded::parse(Path::new("a.json"), &value.to_string()).unwrap()
}

/// Returns a report with two pipelines that the sample report does not have. `first` and `second` are the results of
/// these pipelines: names of lists (`right`, `wrong`, `not_run`, `not_tried`), each with the draws in the list.
fn small(first: &[(&str, &str)], second: &[(&str, &str)]) -> serde_json::Value {
    let mut value = json(&sample_report());
    let template = value["reports"][0]["results"][0].clone();
    let pipeline = |name: &str, lists: &[(&str, &str)]| {
        let mut results = template.clone();
        for list in ["right", "wrong", "not_run", "not_tried"] {
            results.as_object_mut().unwrap().remove(list);
        }
        results["shader"] = name.into();
        for (list, draws) in lists {
            results[*list] = (*draws).into();
        }
        results
    };
    value["reports"][0]["results"] = [pipeline("s", first), pipeline("t", second)].into();
    value
}

fn draws(changes: &[Change]) -> Vec<(String, u32, u32)> {
    let draw = |c: &Change| (c.case.shader.clone(), c.case.vertex_count, c.case.instance_count);
    changes.iter().map(draw).collect()
}

#[test]
fn each_kind_of_change_has_its_list() {
    let before = small(&[("right", "1x1 2x1 3x1 4x3"), ("wrong", "5x1 6x1")], &[("right", "7x1")]);
    let mut after = small(
        &[("right", "1x1 5x1"), ("wrong", "2x1"), ("not_run", "3x1 6x1")],
        &[("right", "7x1"), ("wrong", "8x1")],
    );
    after["reports"][0]["device"]["driver"] = "panvk, Mesa 26.0".into();
    after["reports"][0]["device"]["limits"]["maxPushConstantsSize"] = "256".into();
    let comparison = Comparison::new(&parse(&before), &parse(&after));
    let s = |vertices, instances| ("s".to_owned(), vertices, instances);
    assert_eq!(draws(&comparison.became_wrong), [s(2, 1), s(3, 1)]);
    assert_eq!(draws(&comparison.became_right), [s(5, 1)]);
    assert_eq!(draws(&comparison.otherwise_wrong), [s(6, 1)]);
    assert_eq!(draws(&comparison.new), [("t".to_owned(), 8, 1)]);
    assert_eq!(draws(&comparison.gone), [s(4, 3)]);
    assert_eq!((comparison.still_right, comparison.still_wrong), (2, 0));
    assert!(!comparison.is_no_worse());
    let facts: Vec<_> = comparison.facts.iter().map(|fact| fact.name.as_str()).collect();
    assert_eq!(facts, ["driver", "maxPushConstantsSize"]);
    let text = comparison.to_string();
    assert_eq!(
        text.lines().next().unwrap(),
        "1 case became wrong, 1 case could not run any more, 1 new case is not right: 2 right as before; \
         1 became right; 1 not right in another way; 1 new, 1 of them not right; 1 gone, all right"
    );
    for line in [
        "Mali-G52 r1 MC1 (Panfrost)\n",
        "  driver: panvk, Mesa 25.0.7 -> panvk, Mesa 26.0\n",
        "  maxPushConstantsSize: 128 -> 256\n",
        "became wrong (1):\n",
        "could not run any more (1):\n",
        "    right -> wrong: 2x1\n",
        "    right -> could not run: 3x1\n",
        "became right (1):\n",
        "    wrong -> right: 5x1\n",
        "new, and not right (1):\n",
        "gone (1):\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }

    let back = Comparison::new(&parse(&after), &parse(&before));
    assert_eq!(draws(&back.became_right), [s(2, 1), s(3, 1)]);
    assert_eq!((draws(&back.new).len(), draws(&back.gone).len()), (1, 1));
}

/// A case that a broken driver left no try for is not gone, and not forgotten.
#[test]
fn a_case_that_was_not_tried_is_worse() {
    let before = parse(&small(&[("right", "1x1 2x1"), ("not_run", "3x1")], &[]));
    let after = parse(&small(&[("right", "1x1"), ("not_tried", "2x1 3x1")], &[]));
    let comparison = Comparison::new(&before, &after);
    assert!(!comparison.is_no_worse());
    let text = comparison.to_string();
    let verdict = "1 case not tried any more: 1 right as before; 1 not right in another way\n";
    assert!(text.starts_with(verdict), "{text}");
    for line in ["    right -> not tried: 2x1\n", "    could not run -> not tried: 3x1\n"] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(Comparison::new(&after, &before).is_no_worse());
    assert_eq!(Comparison::new(&after, &after).still_wrong, 2);
}

/// A report in Markdown is read like the JSON in it. In the sample report the triangle strips are wrong, and a case of
/// the line lists could not run.
#[test]
fn a_report_in_markdown_says_the_same_as_its_json() {
    let report = sample_report();
    let reports = [report.clone()];
    let log = "```json\nnot this\n```\n";
    let text = bug_report(&BugReport { reports: &reports, failing: None, log }).unwrap();
    let markdown = Recorded::parse(Path::new("a.md"), &text).unwrap();
    assert_eq!(markdown, parse(&json(&report)));
    let same = Comparison::new(&markdown, &markdown);
    assert!(same.is_no_worse() && same.facts.is_empty() && same.new.is_empty());
    assert!(same.still_right > 0 && same.still_wrong > 0, "{same}");
}

#[test]
fn devices_are_paired_by_their_ids() {
    let one = small(&[("right", "1x1")], &[]);
    let mut other = small(&[("wrong", "1x1")], &[]);
    other["reports"][0]["device"]["device_id"] = 7.into();
    other["reports"][0]["device"]["name"] = "Other".into();
    // If each report has only one device, the two devices are compared even if they differ.
    assert!(!Comparison::new(&parse(&one), &parse(&other)).is_no_worse());
    let mut both = other.clone();
    both["reports"] = [other["reports"][0].clone(), one["reports"][0].clone()].into();
    let comparison = Comparison::new(&parse(&one), &parse(&both));
    // The case of the other device is new, and wrong.
    assert!(!comparison.is_no_worse() && comparison.became_wrong.is_empty(), "{comparison}");
    let gone = Comparison::new(&parse(&both), &parse(&one));
    assert!(!gone.is_no_worse());
    assert!(
        gone.to_string().starts_with("Other is gone: 1 right as before; 1 gone, 1 of them not")
    );
    assert_eq!((comparison.still_right, draws(&comparison.new).len()), (1, 1));
    let name = |name: &str| Some(name.to_owned());
    let mali = name("Mali-G52 r1 MC1 (Panfrost)");
    assert_eq!(comparison.devices, [(mali.clone(), mali), (None, name("Other"))]);
}

/// The error message for a file that is not a report names the file and the field.
#[test]
fn what_is_no_report_is_refused_by_field() {
    let refuse = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = small(&[("right", "1x1")], &[]);
        change(&mut value);
        Recorded::parse(Path::new("dir/a.json"), &value.to_string()).unwrap_err().to_string()
    };
    let results = "/reports/0/results/0";
    for (pointer, value, field) in [
        ("/schema", 2.into(), "schema: is 2, and this vkxfb reads 1"),
        ("/reports", "x".into(), "reports: invalid type: string"),
        (
            "/reports/0/device/vendor_id",
            "x".into(),
            "reports[0].device.vendor_id: invalid type: string",
        ),
        ("/reports/0/device/name", ().into(), "reports[0].device.name: invalid type: null"),
        ("/reports/0/results", ().into(), "reports[0].results: invalid type: null"),
        (
            &format!("{results}/backend"),
            1.into(),
            "reports[0].results[0].backend: invalid type: integer",
        ),
        (
            &format!("{results}/specialized"),
            1.into(),
            "reports[0].results[0].specialized: invalid type: integer",
        ),
        (
            &format!("{results}/right"),
            "1x1 3".into(),
            "reports[0].results[0].right: '3' is no draw",
        ),
    ] {
        let value: serde_json::Value = value;
        let error = refuse(&|all| *all.pointer_mut(pointer).unwrap() = value.clone());
        assert!(error.starts_with(&format!("dir/a.json: {field}")), "{error}");
    }
    let parse = |text: &str| Recorded::parse(Path::new("a"), text).unwrap_err();
    assert!(matches!(parse("# Notes\n"), ReadError::NoReport { .. }));
    assert!(matches!(parse("```json\n{\n"), ReadError::NoReport { .. }));
    assert!(matches!(parse("{ \"schema\": "), ReadError::Json { .. }));
    let missing = Recorded::read(Path::new("/missing/a.md")).unwrap_err();
    assert!(matches!(missing, ReadError::File { .. }), "{missing}");
}

/// Cases with and without a geometry shader are different cases. Cases in older reports, which do
/// not mention geometry shaders, are those of vertex shaders.
#[test]
fn cases_of_geometry_shaders_are_told_apart() {
    let older = small(&[("right", "1x1")], &[("right", "7x1")]);
    let mut after = small(&[("right", "1x1")], &[("wrong", "7x1")]);
    after["reports"][0]["results"][1]["geometry"] = "g".into();
    let comparison = Comparison::new(&parse(&older), &parse(&after));
    assert_eq!(draws(&comparison.new), [("t".to_owned(), 7, 1)]);
    assert_eq!(draws(&comparison.gone), [("t".to_owned(), 7, 1)]);
    assert_eq!((comparison.still_right, comparison.became_wrong.len()), (1, 0));
    assert!(comparison.to_string().contains("shader t, geometry shader g, "), "{comparison}");
}

/// If one of the compared runs was quick and the other was not, the comparison says so, and does not list the cases
/// that only one of them has.
#[test]
fn a_quick_probe_beside_a_full_one_is_short() {
    let mut quick = small(&[("right", "1x1")], &[("right", "7x1")]);
    quick["reports"][0]["command"] = "vkxfb probe --quick --json".into();
    let full = small(&[("right", "1x1 2x1 3x1")], &[("right", "7x1 8x1")]);
    let said = |before, after| {
        let comparison = Comparison::new(&parse(before), &parse(after));
        assert!(comparison.is_no_worse(), "{comparison}");
        comparison.to_string()
    };
    let verdict = "no case became wrong: 2 right as before; 3";
    let first = "the first probe was --quick, which leaves out cases\n";
    assert_eq!(said(&quick, &full), format!("{verdict} new, all right\n{first}"));
    let second = first.replace("first", "second");
    assert_eq!(said(&full, &quick), format!("{verdict} gone, all right\n{second}"));
    // If no report was made with `--quick`, the comparison names the topology whose cases are gone.
    let fewer = small(&[("right", "1x1")], &[("right", "7x1")]);
    let (backend, topology) = row_of(&full, 0);
    let gone = format!("gone (3):\n  {backend} {topology}: 3, 2 are left\n");
    assert_eq!(said(&full, &fewer), format!("{verdict} gone, all right\n{gone}"));
}

/// A trial tests a property of the device that captures rely on. So the comparison fails if the trial worked in the
/// first report, or was not in it, and is wrong in the second.
#[test]
fn a_trial_that_became_wrong_is_worse() {
    let with = |trials: &[(&str, &str)]| {
        let mut value = small(&[("right", "1x1")], &[]);
        let trial = |(trial, result): &(&str, &str)| serde_json::json!({ "trial": trial, "result": result, "text": "" });
        value["reports"][0]["trials"] = trials.iter().map(trial).collect();
        parse(&value)
    };
    let (indirect, stores) = ("indirect-dispatch", "vertex-stores");
    let before = with(&[(indirect, "works"), (stores, "done-without")]);
    for (after, worse) in [
        (
            &[(indirect, "wrong"), (stores, "works")][..],
            "the trial of indirect dispatch became wrong",
        ),
        (&[(indirect, "works"), (stores, "lost")], "the trial of vertex stores was lost"),
        (&[(indirect, "not-run")], "the trial of indirect dispatch could not be tried"),
        // The report `before` does not contain the trial `counters`.
        (&[(indirect, "works"), ("counters", "wrong")], "the trial of counters became wrong"),
    ] {
        let after = with(after);
        let comparison = Comparison::new(&before, &after);
        assert!(!comparison.is_no_worse(), "{comparison}");
        let text = comparison.to_string();
        assert!(text.starts_with(&format!("{worse}: 1 right as before\n")), "{text}");
        // The report `after` is no worse than itself. If the two reports are swapped, nothing became wrong.
        assert!(Comparison::new(&after, &after).is_no_worse());
        assert!(Comparison::new(&after, &before).is_no_worse());
    }
    // A trial is not worse if captures do without the property that it tests (`done-without`), if the device lacks the
    // tested feature (`absent`), or if the second report does not contain the trial.
    for after in [&[(indirect, "done-without"), (stores, "absent")][..], &[]] {
        assert!(Comparison::new(&before, &with(after)).is_no_worse());
    }
}

fn row_of(value: &serde_json::Value, pipeline: usize) -> (String, String) {
    let results = &value["reports"][0]["results"][pipeline];
    let text = |name: &str| results[name].as_str().unwrap().to_owned();
    (text("backend"), text("topology"))
}

/// If all cases of a backend or of a topology of a backend are gone, the comparison fails, and the
/// first line says so.
#[test]
fn what_nothing_captures_any_more_is_named() {
    let mut both = small(&[("right", "1x1 2x1")], &[("right", "7x1")]);
    both["reports"][0]["results"][1]["backend"] = "native".into();
    both["reports"][0]["results"][1]["topology"] = "triangle-fan".into();
    let one = small(&[("right", "1x1 2x1")], &[]);
    let gone = Comparison::new(&parse(&both), &parse(&one));
    assert!(!gone.is_no_worse() && gone.became_wrong.is_empty());
    assert_eq!(gone.gone_backends, [(0, "native".to_owned())]);
    let verdict = "the native backend is gone: 2 right as before; 1 gone, all right\n";
    let row = "gone (1):\n  native triangle-fan: 1, none is left\n";
    assert_eq!(gone.to_string(), format!("{verdict}{row}"));
    // `left` has lost the triangle fans of the native backend, but its native backend still captures another topology.
    let mut other = both.clone();
    other["reports"][0]["results"][0]["backend"] = "native".into();
    let mut left = one.clone();
    left["reports"][0]["results"][0]["backend"] = "native".into();
    let gone = Comparison::new(&parse(&other), &parse(&left));
    assert!(!gone.is_no_worse() && gone.gone_backends.is_empty());
    assert!(gone.to_string().starts_with("native triangle-fan is gone: 2 right"), "{gone}");
    // If the second report has more cases than the first, nothing became worse.
    assert!(Comparison::new(&parse(&one), &parse(&both)).is_no_worse());
}

#[test]
fn a_report_without_cases_is_refused() {
    let parse = |text: &str| Recorded::parse(Path::new("dir/a.md"), text).unwrap_err();
    let empty = small(&[], &[]).to_string();
    assert!(matches!(parse(&empty), ReadError::NoCases { .. }));
    assert!(matches!(parse("# Notes\n"), ReadError::NoReport { .. }));
    let reports = [sample_report()];
    let whole = bug_report(&BugReport { reports: &reports, failing: None, log: "" }).unwrap();
    for end in [60, whole.len() / 2, whole.len() - 10] {
        let error = parse(&whole[..whole.floor_char_boundary(end)]);
        assert!(matches!(error, ReadError::CutOff { .. }), "{end}: {error}");
    }
}
