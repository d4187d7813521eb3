//! Tests the file beside a report that names the case that runs now, in case the whole machine
//! freezes.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{PROBE_ONE_BATCH, Shaders, command, vkxfb};

/// Starts a probe of the compute backend with a simulated fault.
fn start(fault: &str, more: &[&str]) -> Child {
    let mut probe = command(&PROBE_ONE_BATCH);
    probe.args(["--backend", "compute"]).args(more).env("VKXFB_INJECT_FAULT", fault);
    probe.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits until the file contains `expected`, and returns its text.
fn wait_for(file: &Path, expected: &str) -> String {
    let start = Instant::now();
    let mut said = String::new();
    while start.elapsed() < Duration::from_secs(120) {
        said = std::fs::read_to_string(file).unwrap_or_default();
        if said.contains(expected) && said.ends_with('\n') {
            return said;
        }
        sleep(Duration::from_millis(2));
    }
    panic!("no '{expected}' in: {said}");
}

/// A call of the driver does not return, as if the machine had frozen.
#[test]
fn what_runs_is_in_a_file_while_it_does() {
    let files = Shaders::new();
    for option in ["--report", "--html"] {
        let results = files.path(&format!("results{option}"));
        let results = results.to_str().unwrap();
        let running = files.path(&format!("results{option}.running"));
        let mut probe = start("stuck:triangle-strip:7x1", &[option, results, "--timeout", "9"]);
        let said = wait_for(&running, "batch 1, compute, triangle-strip, shader identify");
        probe.kill().unwrap();
        probe.wait().unwrap();
        assert!(said.contains(" 7x1 "), "{said}");
        let (_, told) = said.split_once("to repeat it case by case: vkxfb ").unwrap();
        assert!(told.contains("--timeout 9 --isolate\n"), "{told}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(!Path::new(results).exists());

        // The next run prints what the earlier run was doing, and removes the file.
        let again = [&PROBE_ONE_BATCH[..], &["--backend", "native", option, results]].concat();
        let again = vkxfb(&again).exits(0);
        assert!(again.stderr.contains("did not end. It was at: "), "{}", again.stderr);
        let line = said.trim_end().strip_prefix("vkxfb probe, ").unwrap();
        assert!(again.stderr.contains(line), "{}", again.stderr);
        assert!(!running.exists() && Path::new(results).exists());

        // The printed command can be run without changes.
        let words: Vec<&str> = told.split_whitespace().collect();
        let json = vkxfb(&[&words[..], &["--quick", "--json"]].concat()).exits(0).json();
        assert_eq!(json["reports"][0]["cells"][0]["passed"], 28);
    }
}

#[test]
fn each_case_is_named_that_runs_alone() {
    let files = Shaders::new();
    let (report, running) = (files.path("report.md"), files.path("report.md.running"));
    let more = ["--report", report.to_str().unwrap(), "--isolate", "--timeout", "4"];
    let mut probe = start("hang:triangle-strip:7x1", &more);
    let said = wait_for(&running, "shader identify, first vertex provokes, 7 vertices, 1 instance");
    let (_, told) = said.split_once("to repeat it: vkxfb probe ").unwrap();
    assert!(told.contains("--vertices 7 --instances 1 "), "{told}");
    assert!(told.trim_end().ends_with("--timeout 4"), "{told}");
    assert_eq!(probe.wait().unwrap().code(), Some(2));
    assert!(!running.exists() && report.exists());
}

/// A trial may freeze the machine, too.
#[test]
fn trials_are_named_too() {
    let files = Shaders::new();
    let (report, running) = (files.path("report.md"), files.path("report.md.running"));
    let mut probe = start("stuck:vertex-stores", &["--report", report.to_str().unwrap()]);
    wait_for(&running, ": the trial vertex stores, before the cases\n");
    probe.kill().unwrap();
    probe.wait().unwrap();
}

/// What is there of others stays as it is, and nothing waits for it.
#[test]
fn a_file_of_others_is_not_what_runs() {
    let files = Shaders::new();
    let (report, running) = (files.path("report.md"), files.path("report.md.running"));
    let probe = || {
        let arguments = ["probe", "--quick", "--topology", "point-list", "--report"];
        command(&arguments).arg(&report).output().unwrap()
    };
    let refused = |of: &str| {
        let output = probe();
        assert_eq!(output.status.code(), Some(2), "{of}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("report.md.running is there, and is of no probe"), "{of}: {said}");
        assert!(!report.exists(), "{of}");
    };
    std::fs::write(&running, "my notes").unwrap();
    refused("a file");
    assert_eq!(std::fs::read_to_string(&running).unwrap(), "my notes");
    std::fs::remove_file(&running).unwrap();
    #[cfg(unix)]
    {
        let aim = files.path("aim");
        std::fs::write(&aim, "vkxfb probe, as if\n").unwrap();
        std::os::unix::fs::symlink(&aim, &running).unwrap();
        refused("a link");
        assert_eq!(std::fs::read_to_string(&aim).unwrap(), "vkxfb probe, as if\n");
        std::fs::remove_file(&running).unwrap();
        assert!(Command::new("mkfifo").arg(&running).status().unwrap().success());
        refused("a pipe");
        std::fs::remove_file(&running).unwrap();
    }
    // One that a probe has left is told, and replaced.
    std::fs::write(&running, "vkxfb probe, llvmpipe: the case\n").unwrap();
    let output = probe();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("is of a probe that did not end. It was at: llvmpipe: the case"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(!running.exists() && report.exists());
}
