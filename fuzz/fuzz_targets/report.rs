//! A report of the probe, in JSON or in Markdown, which `vkxfb probe compare` reads and compares.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use vkxfb_probe::compare::{Comparison, Recorded};

/// A report that the others are compared with.
static OTHER: LazyLock<Recorded> = LazyLock::new(|| {
    let text = include_str!("../corpus/report/sample.json");
    Recorded::parse(Path::new("sample.json"), text).unwrap_or_else(|error| panic!("{error}"))
});

fuzz_target!(|text: &str| {
    let Ok(report) = Recorded::parse(Path::new("report"), text) else { return };
    let same = Comparison::new(&report, &report);
    assert!(same.became_wrong.is_empty() && same.became_right.is_empty(), "{same}");
    assert!(same.new.is_empty() && same.gone.is_empty() && same.facts.is_empty(), "{same}");
    for (before, after) in [(&report, &report), (&*OTHER, &report), (&report, &*OTHER)] {
        let comparison = Comparison::new(before, after);
        _ = (comparison.is_no_worse(), comparison.to_string());
    }
});
