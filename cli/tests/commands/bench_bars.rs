//! Checks that captures on llvmpipe have not become slower relative to the roofline and to native:
//! compares ratios within one run with the bars in `cli/tests/commands/bench-bars.json`. Absolute times do
//! not matter.
//!
//! It takes minutes, needs a machine without other load, and is not part of the ordinary run:
//! `cargo test --release -p vkxfb-cli --test commands -- --ignored --nocapture bench_bars`. With
//! `VKXFB_BENCH_JSON=FILE` it reads the output of `vkxfb bench --json` instead, as of the newest
//! lavapipe (`tests/setup.sh --newest run-newest target/release/vkxfb bench --json ...`), whose bars
//! they are. A bar should be raised when a capture gets faster.

use std::process::Command;

use serde_json::Value;

/// The number of runs with a ratio below its bar after which the test fails. One such run may be
/// due to other programs on the machine.
const TRIES: usize = 3;

fn bars() -> Value {
    serde_json::from_str(include_str!("bench-bars.json")).unwrap()
}

fn measure(bars: &Value) -> Value {
    if let Some(file) = std::env::var_os("VKXFB_BENCH_JSON") {
        return serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    let arguments = bars["arguments"].as_array().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_vkxfb"))
        .args(["bench", "--json"])
        .args(arguments.iter().map(|argument| argument.as_str().unwrap()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the case with the most vertices of a workload and topology.
fn largest<'a>(report: &'a Value, workload: &Value, topology: &Value) -> Option<&'a Value> {
    let cases = report["cases"].as_array().unwrap().iter();
    let of = cases.filter(|c| c["workload"] == *workload && c["topology"] == *topology);
    of.max_by_key(|c| c["vertices"].as_u64())
}

fn result<'a>(case: &'a Value, contestant: &Value) -> Option<&'a Value> {
    case["results"].as_array().unwrap().iter().find(|r| r["contestant"] == *contestant)
}

/// Returns descriptions of the ratios that are below their bars.
fn below(bars: &Value, report: &Value) -> Vec<String> {
    let device = report["device"]["name"].as_str().unwrap();
    let expected = bars["device"].as_str().unwrap();
    let driver = report["device"]["driver"].as_str().unwrap();
    let version = bars["driver"].as_str().unwrap();
    let is_theirs = device.contains(expected) && driver.contains(version);
    assert!(is_theirs, "the bars are those of {expected}, {version}; this is {device}, {driver}");
    let mut below = Vec::new();
    for bar in bars["bars"].as_array().unwrap() {
        let (workload, topology, contestant) =
            (&bar["workload"], &bar["topology"], &bar["contestant"]);
        let what = format!("{workload} {topology} {contestant}");
        let case = largest(report, workload, topology);
        let Some(found) = case.and_then(|case| result(case, contestant)) else {
            below.push(format!("{what}: not measured"));
            continue;
        };
        for ratio in ["to_roofline", "to_native"] {
            let least = bar[ratio].as_f64().unwrap();
            match found[ratio].as_f64() {
                Some(found) if found >= least => {}
                found => below.push(format!("{what}: {ratio} is {found:?}, at least {least}")),
            }
        }
    }
    // Deciding the topology at run time costs little compared with a specialised pipeline.
    let least = bars["dispatch"].as_f64().unwrap();
    for case in report["cases"].as_array().unwrap() {
        let time = |name: &str| {
            result(case, &Value::from(name)).and_then(|r| r["time_ns"]["median"].as_f64())
        };
        let is_large = case["bytes_written"].as_u64().unwrap() > 16 << 20;
        if let (Some(general), Some(special), true) =
            (time("compute"), time("compute-specialized"), is_large)
            && special / general < least
        {
            let (workload, topology) = (&case["workload"], &case["topology"]);
            let found = special / general;
            below.push(format!("{workload} {topology}: dispatch is {found:.2}, at least {least}"));
        }
    }
    for bar in bars["times"].as_array().unwrap() {
        let time = |case: &Value| {
            let case = largest(report, &case["workload"], &case["topology"])?;
            result(case, &bar["contestant"])?["time_ns"]["median"].as_f64()
        };
        let most = bar["most"].as_f64().unwrap();
        match (time(&bar["of"]), time(&bar["to"])) {
            (Some(of), Some(to)) if of / to <= most => {}
            (of, to) => {
                let found = of.zip(to).map(|(of, to)| of / to);
                let what = format!("{} to {}", bar["of"], bar["to"]);
                below.push(format!("{what}: time is {found:?}, at most {most}"));
            }
        }
    }
    below
}

#[test]
#[ignore = "takes minutes, and needs a machine without other load"]
fn captures_are_no_slower_than_they_were() {
    let bars = bars();
    let mut failed = below(&bars, &measure(&bars));
    let tries = if std::env::var_os("VKXFB_BENCH_JSON").is_some() { 1 } else { TRIES };
    for _ in 1..tries {
        if failed.is_empty() {
            break;
        }
        println!("again, as these were below:\n{}", failed.join("\n"));
        let now = below(&bars, &measure(&bars));
        let name = |text: &String| text.split(" is ").next().map(str::to_owned);
        let still: Vec<_> = now.iter().map(name).collect();
        failed.retain(|text| still.contains(&name(text)));
    }
    assert!(failed.is_empty(), "below the bar:\n{}", failed.join("\n"));
}

/// Tests the comparison itself, as part of the ordinary run.
#[test]
fn a_ratio_below_its_bar_is_found() {
    let bars = bars();
    let mut cases: Vec<Value> = Vec::new();
    for bar in bars["bars"].as_array().unwrap() {
        let key = [&bar["workload"], &bar["topology"]];
        let result = serde_json::json!({
            "contestant": bar["contestant"],
            "to_roofline": bar["to_roofline"],
            "to_native": bar["to_native"],
            "time_ns": { "median": 1.0 },
        });
        match cases.iter_mut().find(|c| [&c["workload"], &c["topology"]] == key) {
            Some(case) => case["results"].as_array_mut().unwrap().push(result),
            None => cases.push(serde_json::json!({
                "workload": bar["workload"],
                "topology": bar["topology"],
                "vertices": 1 << 20,
                "bytes_written": 32 << 20,
                "results": [result],
            })),
        }
    }
    let slow_restart = |report: &Value| {
        let mut report = report.clone();
        let cases = report["cases"].as_array_mut().unwrap().iter_mut();
        for case in cases.filter(|case| case["workload"] == "indexed-strips-restart") {
            for result in case["results"].as_array_mut().unwrap() {
                result["time_ns"]["median"] = 3.5.into();
            }
        }
        below(&bars, &report)
    };
    let device = serde_json::json!({ "name": "llvmpipe (test)", "driver": "Mesa 26.0 (test)" });
    let report = serde_json::json!({ "device": device, "cases": cases });
    assert_eq!(below(&bars, &report), Vec::<String>::new());

    let spoil = |f: &dyn Fn(&mut Value)| {
        let mut report = report.clone();
        f(&mut report["cases"][0]);
        below(&bars, &report)
    };
    let lower = |ratio: &'static str| {
        spoil(&move |case| {
            let value = &mut case["results"][0][ratio];
            *value = Value::from(value.as_f64().unwrap() * 0.99);
        })
    };
    for ratio in ["to_roofline", "to_native"] {
        let found = lower(ratio);
        assert!(found.len() == 1 && found[0].contains(ratio), "{found:?}");
    }
    let slow = spoil(&|case| case["results"][0]["time_ns"]["median"] = 2.0.into());
    assert!(slow.len() == 1 && slow[0].contains("dispatch"), "{slow:?}");
    let slow = slow_restart(&report);
    assert!(slow.len() == 1 && slow[0].contains("at most 3"), "{slow:?}");
    let gone = spoil(&|case| case["results"] = Value::Array(Vec::new()));
    assert_eq!(gone.len(), 2, "{gone:?}");
    assert!(gone.iter().all(|text| text.contains("not measured")), "{gone:?}");
}
