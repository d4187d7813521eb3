use super::*;
use crate::report::samples::sample_report;

#[test]
fn plain_text_fits_the_terminal() {
    let text = render(&sample_report(), false);
    assert!(!text.contains('\u{1b}'), "colours only if told so");
    for line in text.lines() {
        assert!(line.chars().count() <= WIDTH, "{} columns: {line}", line.chars().count());
    }
    for part in [
        "ok 120",
        "1 of 121: flipped winding",
        "(1 rotated, allowed)",
        "primitive 1 (instance 1): expected v1 v3 v2, captured v1 v2 v3: flipped winding",
        "skipped [1]",
        "[1] no VK_EXT_transform_feedback",
        "point-list into geometry: lost on native and compute: 4 cases, the first of which is",
        "5 of 1212 cases came out wrong",
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
