use vkxfb_rewriter::topology::PrimitiveTopology;

use super::*;
use crate::diagnose::Verdict;
use crate::report::Case;
use crate::report::samples::sample_report;

#[test]
fn plain_text_fits_the_terminal() {
    let text = render(&sample_report(), false);
    assert!(!text.contains('\u{1b}'), "colours only if told so");
    for line in text.lines() {
        let columns = line.chars().count();
        // A link is a single word, which cannot be broken.
        assert!(columns <= WIDTH || !line.trim().contains(' '), "{columns} columns: {line}");
    }
    for part in [
        "https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html#drawing-triangle-strips\n",
        "  nearest conformance test: dEQP-VK.transform_feedback.simple.winding_triangle_strip_12\n",
        "ok 120",
        "1 of 121: flipped winding",
        "(1 rotated, allowed)",
        "primitive 1 (instance 1): expected v1 v3 v2, captured v1 v2 v3: flipped winding",
        "skipped [1]",
        "[1] no VK_EXT_transform_feedback",
        "point-list into geometry: lost on native and compute: 4 cases, the first of which is",
        "5 of 1212 cases came out wrong, 2 not tried",
        "2 not tried [7]",
        "[7] the device was lost with 64 cases",
        "2 of 2 lost [5]",
        "2 lost [5]",
        "point-list into geometry",
        "1 of 4: flipped winding",
        "geometry shader points_to_triangles_cut, first vertex provokes",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    if let Some(directory) = std::env::var_os("VKXFB_GALLERY") {
        std::fs::write(std::path::Path::new(&directory).join("table.txt"), text).unwrap();
    }
}

/// What is wrong in the same way is told once, with a draw that has a primitive.
#[test]
fn wrong_cases_that_are_alike_are_told_once() {
    let mut report = sample_report();
    let mut failure = report.mismatches[0].clone();
    (report.mismatches, report.mismatch_count) = (Vec::new(), 0);
    report.cells.clear();
    report.losses.clear();
    failure.mismatch.excerpt.clear();
    for (topology, vertex_count) in [
        (PrimitiveTopology::LineList, 0),
        (PrimitiveTopology::LineStrip, 1),
        (PrimitiveTopology::TriangleStrip, 7),
    ] {
        let case = Case { topology, vertex_count, ..failure.case.clone() };
        let verdict = Verdict::Mismatch(Box::new(failure.mismatch.clone()));
        report.record(Backend::Compute, &case, verdict);
    }
    report.injected = Some("faults were injected".to_owned());
    let text = render(&report, false);
    let fault = failure.mismatch.fault;
    let head = format!("triangle-strip and 2 other rows: {fault} on compute, for example\n");
    assert_eq!(text.matches(&format!(": {fault} on")).count(), 1, "{text}");
    assert!(text.contains(&head), "{text}");
    assert!(text.contains("first vertex provokes, 7 vertices") && !text.contains("vertex  "));
    let (_, end) = text.split_once("note: faults were injected\n").unwrap();
    assert_eq!(end.trim().lines().count(), 1, "{end}");
    // Backends without results have no column.
    assert!(text.contains("\n topology         compute\n"), "{text}");
}

#[test]
fn colours_change_nothing_else() {
    let report = sample_report();
    let coloured = render(&report, true);
    assert!(coloured.contains('\u{1b}'));
    if let Some(directory) = std::env::var_os("VKXFB_GALLERY") {
        std::fs::write(std::path::Path::new(&directory).join("table.ansi"), &coloured).unwrap();
    }
    let stripped = anstream::adapter::strip_str(&coloured).to_string();
    let trimmed: Vec<_> = stripped.lines().map(str::trim_end).collect();
    assert!(trimmed.into_iter().eq(render(&report, false).lines()));
}

#[test]
fn control_characters_stay_out() {
    let mut report = sample_report();
    report.device.name = "\u{1b}[31mdevice".to_owned();
    report.note("\u{7}bell".to_owned());
    let text = render(&report, false);
    assert!(!text.contains(['\u{1b}', '\u{7}']));
}
