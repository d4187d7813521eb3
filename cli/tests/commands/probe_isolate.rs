//! Tests probes with a driver that loses the device, crashes or hangs: the probe names the case,
//! and continues with the next one. The faults are simulated, at the captures of one draw.

use serde_json::Value;

use crate::command::{PROBE_ONE_BATCH, Ran, Shaders, command, vkxfb};

/// The compute backend captures each draw by two pipelines.
const COMPUTE: [&str; 2] = ["--backend", "compute"];

fn probe(fault: &str, more: &[&str]) -> Ran {
    let mut command = command(&PROBE_ONE_BATCH);
    command.args(more).env("VKXFB_INJECT_FAULT", fault);
    Ran::new(command.output().unwrap())
}

/// Returns the report of a probe in which some cases could not run.
#[track_caller]
fn report(fault: &str, more: &[&str]) -> Value {
    let json = probe(fault, &[more, &["--json"]].concat()).exits(2).json();
    json["reports"][0].clone()
}

/// Checks that both pipelines of one draw are named as lost, and that the other 26 cases are right.
#[track_caller]
fn assert_draw_is_lost(report: &Value, how: &str) {
    let losses = report["losses"].as_array().unwrap();
    let folded: Vec<_> = losses.iter().map(|l| l["case"]["specialized"].clone()).collect();
    assert_eq!(folded, [false, true], "{losses:#?}");
    for loss in losses {
        assert_eq!(loss["backend"], "compute");
        assert_eq!(loss["case"]["topology"], "triangle-strip");
        assert_eq!(
            (&loss["case"]["vertex_count"], &loss["case"]["instance_count"]),
            (&7.into(), &1.into())
        );
        assert!(loss["how"].as_str().unwrap().contains(how), "{loss}");
        assert!(loss["command"].as_str().unwrap().contains("--vertices 7 --instances 1"), "{loss}");
    }
    let cell = &report["cells"][0];
    let counts = ["run", "passed", "errors"].map(|count| cell[count].as_u64().unwrap());
    assert_eq!(counts, [28, 26, 2], "{cell:#}");
    for results in report["results"].as_array().unwrap() {
        assert_eq!(results["not_run"], "7x1", "{results}");
    }
}

#[test]
fn a_lost_device_is_told_with_its_case_and_the_others_run() {
    assert_draw_is_lost(&report("lost:triangle-strip:7x1", &COMPUTE), "lost during vkQueueSubmit");
    let files = Shaders::new();
    let file = files.path("lost.md");
    let more = [&COMPUTE[..], &["--report", file.to_str().unwrap()]].concat();
    let ran = probe("lost:triangle-strip:7x1", &more).exits(2);
    let text = std::fs::read_to_string(&file).unwrap();
    for part in ["# Transform feedback: lost (triangle-strip)", "## Log", "going on in child"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    for part in ["triangle-strip: lost on compute", "7 vertices, 1 instance", "2 of 28 cases lost"]
    {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    assert!(ran.stderr.contains("going on in child processes"), "{}", ran.stderr);
}

#[test]
fn a_device_that_does_not_finish_is_told_with_its_case() {
    let more = [&COMPUTE[..], &["--timeout", "1"]].concat();
    assert_draw_is_lost(&report("hang:triangle-strip:7x1", &more), "did not finish within 1s");
}

#[cfg(unix)]
#[test]
fn a_crash_is_told_with_its_case() {
    let more = [&COMPUTE[..], &["--isolate"]].concat();
    assert_draw_is_lost(&report("crash:triangle-strip:7x1", &more), "signal: 6");
    // Without `--isolate`, the cases run one by one after the crash.
    for crash in ["crash", "access"] {
        let ran =
            probe(&format!("{crash}:triangle-strip:7x1"), &[&COMPUTE[..], &["--json"]].concat());
        assert!(ran.stderr.contains("going on in child processes"), "{}", ran.stderr);
        assert_draw_is_lost(&ran.exits(2).json()["reports"][0], "signal: ");
    }
}

/// A probe that goes on after a crash does not take its own file for one that another probe left, nor show its head
/// again, and its report has what child processes logged.
#[cfg(unix)]
#[test]
fn a_probe_that_goes_on_repeats_nothing() {
    let files = Shaders::new();
    let file = files.path("crash.md");
    let more = [&COMPUTE[..], &["--report", file.to_str().unwrap()]].concat();
    let mut command = command(&PROBE_ONE_BATCH);
    command.args(&more).env("VKXFB_LOG", "vkxfb_probe=debug");
    command.env("VKXFB_INJECT_FAULT", "crash:triangle-strip:7x1");
    let ran = Ran::new(command.output().unwrap()).exits(2);
    assert!(!ran.stderr.contains("did not end"), "{}", ran.stderr);
    assert_eq!(ran.stdout.matches("indirect dispatch  ").count(), 1, "{}", ran.stdout);
    let report = std::fs::read_to_string(&file).unwrap();
    assert!(!report.contains("--worker"), "{report}");
    // The device is opened by the probe itself, for the trials, for the cases together, and then after each loss.
    assert!(report.matches(" opened device=").count() > 3, "{report}");
    let ran = probe("crash:vertex-stores", &more).exits(2);
    assert_eq!(ran.stdout.matches("indirect dispatch  ").count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("vertex stores      lost: "), "{}", ran.stdout);
}

/// A call of the driver that does not return is found only in a child process, because the probe
/// cannot limit its time.
#[test]
fn a_driver_that_does_not_return_is_told_with_its_case() {
    let more = ["--backend", "native", "--isolate", "--timeout", "1"];
    let report = report("stuck:triangle-strip:7x1", &more);
    let losses = report["losses"].as_array().unwrap();
    assert_eq!(losses.len(), 1, "{losses:#?}");
    assert!(losses[0]["how"].as_str().unwrap().contains("did not answer"), "{losses:#?}");
    assert_eq!(losses[0]["case"]["vertex_count"], 7);
    assert_eq!(report["cells"][0]["passed"], 13);
}

#[test]
fn what_does_not_fit_the_memory_is_left_out_and_told() {
    let all = ["probe", "--device", "0", "--shader", "identify", "--topology", "triangle-strip"];
    let all = [&all[..], &COMPUTE, &["--json"]].concat();
    let small = vkxfb(&[&all[..], &["--memory", "64M"]].concat()).exits(0).json();
    let report = &small["reports"][0];
    assert_eq!(report["cells"][0]["passed"], 16 * 2 * 2 * 2, "{:#}", report["cells"][0]);
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains("more than 64 MiB (--memory)"), "{note}");
    let none = vkxfb(&[&all[..], &["--memory", "64K"]].concat()).exits(2);
    assert!(none.stderr.contains("the limit is"), "{}", none.stderr);
    assert!(none.json()["error"].as_str().unwrap().contains("the limit is"), "{}", none.stdout);
    vkxfb(&[&all[..], &["--memory", "64X"]].concat()).refuses(&["such as 256M"]);
}

/// Each case is right alone. The report says so, but its outcome is not that all is right.
#[test]
fn a_device_that_only_many_cases_lose_is_told_so() {
    let report = report("together:triangle-strip:7x1", &COMPUTE);
    let losses = report["losses"].as_array().unwrap();
    assert_eq!(losses.len(), 1, "{losses:#?}");
    let how = losses[0]["how"].as_str().unwrap();
    assert!(how.contains("together with 13 others; alone none did it"), "{how}");
    assert_eq!(report["cells"][0]["passed"], 28);
}

#[test]
fn a_shader_that_is_always_lost_is_left_out_after_a_while() {
    let report = report("lost:triangle-strip:any", &COMPUTE);
    assert_eq!(report["losses"].as_array().unwrap().len(), 3);
    let cell = &report["cells"][0];
    assert_eq!((&cell["run"], &cell["passed"]), (&3.into(), &0.into()), "{cell:#}");
    assert_eq!((&cell["skipped"], &cell["not_tried"]), (&Value::Null, &25.into()), "{cell:#}");
    let why = cell["not_tried_because"][0].as_str().unwrap();
    assert!(why.contains("3 cases of the same shader were lost before"), "{cell:#}");
    assert_eq!(report["left_out"], 25);
    let not_tried = report["results"].as_array().unwrap().iter().map(|of| &of["not_tried"]);
    let not_tried: Vec<_> = not_tried.map(|draws| draws.as_str().unwrap()).collect();
    let [first, folded] = not_tried[..] else { panic!("{not_tried:?}") };
    assert!(first.starts_with("3x3 7x1") && folded.starts_with("0x1 0x3 3x1"), "{not_tried:?}");
}

/// A backend by which every draw is lost takes no try from the others. What of it was not tried is told everywhere.
#[test]
fn a_backend_that_is_always_lost_leaves_the_others_their_tries() {
    let files = Shaders::new();
    let file = |name: &str| files.path(name).to_str().unwrap().to_owned();
    let (lost, page, sound) = (file("lost.md"), file("lost.html"), file("sound.md"));
    let all = ["probe", "--device", "0", "--quick", "--shader", "identify", "--json", "--report"];
    vkxfb(&[&all[..], &[&sound]].concat()).exits(0);
    let mut command = command(&all);
    command.args([&lost, "--html", &page]).env("VKXFB_INJECT_FAULT", "lost:vertex");
    let ran = Ran::new(command.output().unwrap());
    let report = &ran.exits(2).json()["reports"][0];

    let sum = |backend: &str, count: &str| -> u64 {
        let cells = report["cells"].as_array().unwrap().iter();
        cells
            .filter(|cell| cell["backend"] == backend)
            .filter_map(|cell| cell[count].as_u64())
            .sum()
    };
    // Two provoking vertices, ten topologies, fourteen draws.
    let draws = 2 * 10 * 14;
    assert_eq!(sum("native", "passed"), draws);
    assert_eq!(sum("compute", "passed"), 2 * draws);
    let losses = report["losses"].as_array().unwrap();
    assert!(losses.iter().all(|loss| loss["backend"] == "vertex"), "{losses:#?}");
    assert_eq!((sum("vertex", "run"), losses.len()), (32, 32));
    let not_tried = 2 * draws - 32;
    assert_eq!((sum("vertex", "not_tried"), &report["left_out"]), (not_tried, &not_tried.into()));

    let read = |file: &str| std::fs::read_to_string(file).unwrap();
    let told = [
        &format!("{not_tried} not tried"),
        "not tried: 3 cases of the same shader were lost before",
        "not tried: 32 cases by vertex were lost before",
    ];
    for text in [read(&lost), read(&page)] {
        for told in told {
            assert!(text.contains(told), "{told}\n{text}");
        }
    }
    let compared = vkxfb(&["probe", "compare", &sound, &lost]).exits(1).stdout;
    let verdict = format!("32 cases could not run any more, {not_tried} cases not tried any more");
    assert!(compared.starts_with(&verdict), "{compared}");
}

/// The results are compared for all backends, and for a shader whose reference records have to be
/// captured.
#[test]
fn what_child_processes_find_is_what_one_process_finds() {
    let files = Shaders::new();
    let shader = files.glsl(
        "shader.spv",
        "#version 450
         layout(xfb_buffer = 0, xfb_stride = 4, xfb_offset = 0, location = 0) out flat uint v;
         void main() { v = gl_VertexIndex; gl_Position = vec4(0); gl_PointSize = 1; }",
    );
    let few = ["--device", "0", "--quick", "--topology", "triangle-fan", "--json"];
    let all = [&["probe"], &few[..]].concat();
    let own = [&["probe", "shader", &shader], &few[..]].concat();
    for (name, probe) in [("built-in", &all), ("own", &own)] {
        let (together, alone) =
            (vkxfb(probe).exits(0), vkxfb(&[&probe[..], &["--isolate"]].concat()));
        let together = files.file("together.json", together.stdout.as_bytes());
        let alone = files.file("alone.json", alone.exits(0).stdout.as_bytes());
        let compared = vkxfb(&["probe", "compare", &together, &alone, "--json"]).exits(0).json();
        assert!(compared["still_right"].as_u64().unwrap() >= 14, "{name}: {compared:#}");
        for list in ["became_right", "otherwise_wrong", "new", "gone", "facts"] {
            assert_eq!(compared[list], Value::Array(Vec::new()), "{name}: {compared:#}");
        }
    }
}
