//! Tests the trials of a probe: they run before the cases, and the report names those that fail.
//! The faults are simulated.

use serde_json::Value;

use crate::command::{self, PROBE_ONE_BATCH, Ran, Shaders, command};

fn probe(fault: Option<&str>, more: &[&str]) -> Ran {
    let mut command = command(&PROBE_ONE_BATCH);
    command.args(more).envs(fault.map(|fault| ("VKXFB_INJECT_FAULT", fault)));
    Ran::new(command.output().unwrap())
}

/// Returns the name, the result and the text of each trial in the JSON.
fn trials(ran: &Ran) -> Vec<[String; 3]> {
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let trials = json["reports"][0]["trials"].as_array().unwrap();
    trials.iter().map(|t| [text(&t["trial"]), text(&t["result"]), text(&t["text"])]).collect()
}

/// Checks that only `trial` has another result than on lavapipe, and that all cases run.
#[track_caller]
fn assert_only(fault: &str, more: &[&str], exits: u8, trial: &str, result: &str, says: &str) {
    let ran = probe(Some(fault), &[more, &["--json"]].concat()).exits(exits.into());
    let all = trials(&ran);
    assert_eq!(all.len(), 4, "{all:?}");
    for [name, came_out, text] in &all {
        let expected = if name == trial { result } else { "works" };
        assert_eq!(came_out, expected, "{fault}: {name}: {text}");
        assert!(name != trial || text.contains(says), "{fault}: {text}");
    }
    let cells = &ran.json()["reports"][0]["cells"];
    let passed: u64 = cells.as_array().unwrap().iter().map(|c| c["passed"].as_u64().unwrap()).sum();
    assert_eq!(passed, 14 * 5, "{cells:#}");
}

#[test]
fn what_a_device_can_do_is_said_first() {
    let files = Shaders::new();
    let file = files.path("report.md");
    let ran = probe(None, &["--report", file.to_str().unwrap(), "--validate"]).exits(0);
    let (head, _) = ran.stdout.split_once("──").unwrap();
    let report = std::fs::read_to_string(&file).unwrap();
    for line in [
        "backends           native, vertex, compute",
        "topologies         all 10",
        "indirect dispatch  works",
        "vertex stores      sound: each vertex once",
        "counters           right, with counters for all, some or none of the buffers (680 captures by",
        "speed              native ",
    ] {
        assert!(head.contains(line), "{line}\n{head}");
        assert!(report.contains(line), "{line}\n{report}");
    }

    let floor = probe(None, &["--profile", "bifrost", "--json"]).exits(0);
    let results: Vec<_> = trials(&floor).into_iter().map(|[_, result, _]| result).collect();
    assert_eq!(results, ["absent", "absent", "works", "works"]);
    let device = &floor.json()["reports"][0]["device"];
    let missing = &device["backends"][1]["missing"];
    assert_eq!(missing[0], "no feature vertexPipelineStoresAndAtomics", "{device:#}");
    assert_eq!(device["backends"][2]["topologies"].as_array().unwrap().len(), 10);
    let report = &floor.json()["reports"][0];
    let rate = &report["trials"][3]["rates"][0];
    assert!(rate["vertices_per_second"].as_f64().unwrap() > 1000.0, "{rate}");
}

/// Vulkan lets a device shade a vertex again, so that it is said, and is no failure.
#[test]
fn a_driver_that_stores_some_vertices_twice_is_all_right() {
    let says = "stored oftener than primitives use them, first vertex 0";
    assert_only("twice", &[], 0, "vertex-stores", "done-without", says);
    let files = Shaders::new();
    let (again, once) = (files.path("again.md"), files.path("once.md"));
    let (again, once) = (again.to_str().unwrap(), once.to_str().unwrap());
    let ran = probe(Some("twice"), &["--report", again]).exits(0);
    assert!(ran.stdout.contains("sound, as Vulkan allows: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nall right (70 cases"), "{}", ran.stdout);
    // Another driver's property, and no worse.
    probe(None, &["--report", once]).exits(0);
    let compared = command::vkxfb(&["probe", "compare", once, again]).exits(0);
    assert!(
        compared.stdout.contains("vertex-stores: works -> done-without"),
        "{}",
        compared.stdout
    );
}

#[test]
fn a_driver_that_stores_vertices_that_no_primitive_uses_is_named() {
    let says = "stored that no primitive uses, first vertex 6";
    assert_only("unused", &[], 1, "vertex-stores", "wrong", says);
    let files = Shaders::new();
    let file = files.path("unused.md");
    let ran = probe(Some("unused"), &["--report", file.to_str().unwrap()]).exits(1);
    assert!(ran.stdout.contains("not sound: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("vertex stores came out wrong (70 cases"), "{}", ran.stdout);
    let report = std::fs::read_to_string(&file).unwrap();
    assert!(report.starts_with("# Transform feedback: vertex stores came out wrong"), "{report}");

    // The report is compared with that of a driver without the fault.
    let sound = files.path("sound.md");
    let page = files.path("sound.html");
    let (sound, page) = (sound.to_str().unwrap(), page.to_str().unwrap());
    probe(None, &["--report", sound, "--html", page]).exits(0);
    let compared = command::vkxfb(&["probe", "compare", file.to_str().unwrap(), sound]).exits(0);
    assert!(compared.stdout.contains("vertex-stores: wrong -> works"), "{}", compared.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<dt>vertex stores</dt><dd>sound: each vertex once"), "{page}");
}

#[test]
fn indirect_dispatches_that_do_nothing_are_named() {
    assert_only("no-indirect", &[], 1, "indirect-dispatch", "wrong", "does nothing");
}

#[test]
fn a_driver_that_executes_nothing_is_named() {
    let ran = probe(Some("nothing"), &["--json"]).exits(1);
    let named = [
        ["indirect-dispatch", "wrong", "nothing is executed"],
        ["vertex-stores", "wrong", "nothing is executed"],
        ["counters", "wrong", "native: captures write nothing"],
        ["speed", "wrong", "captures by native write nothing"],
    ];
    assert_eq!(trials(&ran), named.map(|texts| texts.map(str::to_owned)));
    let report = &ran.json()["reports"][0];
    assert_eq!(report["mismatch_count"], 70);
    assert_eq!(report["mismatches"][0]["mismatch"]["fault"], "nothing-executed");
}

#[test]
fn a_trial_that_takes_the_device_is_named_and_the_rest_runs() {
    let lost = "the device was lost during vkQueueSubmit";
    for isolate in [&[][..], &["--isolate"]] {
        assert_only("lost:vertex-stores", isolate, 2, "vertex-stores", "lost", lost);
    }
    let ran = probe(Some("lost:vertex-stores"), &[]).exits(2);
    assert!(ran.stdout.contains("\nvertex stores lost (70 cases"), "{}", ran.stdout);
    let says = "did not finish within 1s";
    assert_only(
        "hang:indirect-dispatch",
        &["--timeout", "1"],
        2,
        "indirect-dispatch",
        "lost",
        says,
    );
    #[cfg(unix)]
    assert_only("crash:speed", &[], 2, "speed", "lost", "signal: 6");
}

/// Child processes leave out the same draws as their parent.
#[test]
fn large_draws_that_take_too_long_are_left_out_and_told() {
    let probe = ["probe", "--device", "0", "--backend", "compute", "--topology", "triangle-strip"];
    let probe = [&probe[..], &["--shader", "identify", "--provoking", "first", "--json"]].concat();
    for more in [&[][..], &["--isolate"]] {
        let limit = [&probe[..], &["--submission-limit", "1"], more].concat();
        let json = command::vkxfb(&limit).exits(0).json();
        let report = &json["reports"][0];
        assert_eq!(report["cells"][0]["passed"], 16 * 2 * 2, "{:#}", report["cells"]);
        let note = report["notes"][0].as_str().unwrap();
        assert!(note.contains("large draws by compute are left out"), "{note}");
        assert!(note.contains("1 ms (--submission-limit)"), "{note}");
    }
}

/// A report with simulated faults says so, so that nobody takes it for a report about a driver.
#[test]
fn made_up_faults_are_said_everywhere() {
    let files = Shaders::new();
    let (report, page) = (files.path("report.md"), files.path("page.html"));
    let more = ["--report", report.to_str().unwrap(), "--html", page.to_str().unwrap()];
    let ran = probe(Some("nothing"), &more).exits(1);
    let read = |path| std::fs::read_to_string(path).unwrap();
    for text in [ran.stdout, read(report), read(page)] {
        assert!(text.contains("faults were injected (VKXFB_INJECT_FAULT=nothing)"), "{text}");
    }
    let kinds = [
        "twice",
        "unused",
        "no-indirect",
        "wrong",
        "access",
        "stuck",
        "lost:triangle-strip:any",
        "counters",
    ];
    probe(Some("wrog"), &[]).refuses(&kinds);
}

/// A wrong capture can be made up, too, so that its picture can be seen.
#[test]
fn a_winding_can_be_made_wrong() {
    let files = Shaders::new();
    let page = files.path("page.html");
    let more = ["--backend", "compute", "--html", page.to_str().unwrap()];
    let ran = probe(Some("wrong:triangle-strip:7x1"), &more).exits(1);
    assert!(
        ran.stdout.contains("triangle-strip: flipped winding on compute, for"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("2 of 28 cases came out wrong"), "{}", ran.stdout);
    // The table has no columns of backends that were not asked for.
    assert!(!ran.stdout.contains(" native  "), "{}", ran.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    for what in ["expected around the fault", "captured around the fault"] {
        assert!(page.contains(&format!("<title>triangle-strip, {what}</title>")), "{page}");
    }
}

/// In patches, too: the vertices of a patch are told apart.
#[test]
fn a_winding_in_a_patch_can_be_made_wrong() {
    let files = Shaders::new();
    let page = files.path("page.html");
    let shader = ["--shader", "patches_to_triangles"];
    let output = ["--device", "0", "--backend", "compute", "--html", page.to_str().unwrap()];
    let mut wrong = command(&[&["probe"], &shader[..], &output].concat());
    wrong.env("VKXFB_INJECT_FAULT", "wrong:patch-list:any");
    let ran = Ran::new(wrong.output().unwrap()).exits(1);
    let told = "patch-list into tessellation: flipped winding on compute, for";
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    let page = std::fs::read_to_string(page).unwrap();
    for title in ["captured around the fault", "captured, compute"] {
        let title = format!("<title>patch-list into tessellation, {title}</title>");
        assert!(page.contains(&title), "{title}: {page}");
    }
}

#[test]
fn what_arguments_take_is_said() {
    for (option, value, says) in [
        ("--timeout", "0.5", "whole seconds"),
        ("--timeout", "0", "at least 1"),
        ("--topology", "strip", "one of: point-list, line-list"),
        ("--html", "-", "/dev/stdout"),
        ("--report", "-", "/dev/stdout"),
    ] {
        command::vkxfb(&["probe", option, value]).refuses(&[says]);
    }
    command::vkxfb(&["probe", "--shader", "identfy"])
        .refuses(&["one of identify, two_buffers, attributes", "vkxfb probe shader FILE"]);
}
