use vkxfb_rewriter::lower::Backend;

use super::*;
use crate::diagnose::Verdict;
use crate::report::samples::sample_report;

/// Text from drivers and shaders cannot open an HTML tag.
#[test]
fn what_comes_from_outside_is_escaped() {
    let mut report = sample_report();
    let hostile = "</style><script>alert('1')</script>&\u{7}";
    report.device.name = hostile.to_owned();
    report.device.driver = hostile.to_owned();
    report.device.limits.insert(hostile.to_owned(), hostile.to_owned());
    report.profile = hostile.to_owned();
    report.skip(Backend::Vertex, PrimitiveTopology::PointList, hostile);
    for failure in &mut report.mismatches {
        failure.case.shader = hostile.to_owned();
        failure.command = hostile.to_owned();
        failure.mismatch.note = Some(hostile.to_owned());
    }
    for trace in &mut report.traces {
        trace.case.geometry = Some(hostile.to_owned());
    }
    let page = render(&[report]);
    assert!(page.contains("&lt;script&gt;alert(&apos;1&apos;)"));
    for forbidden in ["<script", "\u{7}"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("</style>").count(), 1);
}

#[test]
fn without_captures_the_topologies_are_shown_as_they_should_be() {
    let mut report = sample_report();
    report.traces.clear();
    let page = render(&[report]);
    for topology in PrimitiveTopology::ALL {
        assert!(page.contains(&format!("<title>{}</title>", topology)));
    }
}

/// If all backends captured a topology as expected, there is one picture for all of them, in a
/// fold-out. Otherwise there are further pictures, only for the backends that captured something
/// else.
#[test]
fn every_backend_is_pictured() {
    let report = sample_report();
    assert_eq!(report.traces.len(), 2 * PrimitiveTopology::ALL.len() + 1);
    let page = render(&[report]);
    for topology in PrimitiveTopology::ALL {
        let name = topology;
        let count = |what: &str| page.matches(&format!("<title>{name}, {what}</title>")).count();
        assert_eq!(count("expected"), 1);
        assert_eq!((count("captured, native"), count("captured, compute")), (0, 0));
    }
    assert!(page.contains("by native, compute; the first vertex provokes"), "{page}");
    let (open, folded) = page.split_once("<details><summary><h2>What was captured as").unwrap();
    assert!(!open.contains("line-list, expected</title>"));
    assert!(folded.contains("line-list, expected</title>"));
    // Geometry shaders have their own pictures, and their own row of the table.
    for what in ["expected", "expected around the fault", "captured around the fault"] {
        assert!(
            page.contains(&format!("<title>point-list into geometry, {what}</title>")),
            "{what}"
        );
    }
    assert!(page.contains("<th>point-list into geometry</th>"));

    let mut report = sample_report();
    let is_it = |trace: &&mut Trace| {
        (trace.backend, trace.case.row()) == (Backend::Native, PrimitiveTopology::LineList.into())
    };
    let wrong = report.traces.iter_mut().find(is_it).unwrap();
    wrong.primitives[0].captured.reverse();
    let page = render(&[report]);
    let (_, otherwise) = page.split_once("<h2>What was captured otherwise").unwrap();
    let (otherwise, _) = otherwise.split_once("<h2>What was captured as expected").unwrap();
    assert!(otherwise.contains("<title>line-list, captured, native</title>"));
    assert!(!otherwise.contains("<title>line-list, captured, compute</title>"));
}

/// Backends that captured the same share a picture. Each topology has its own, and names the backends that have not
/// captured it. What has no vertex of the draw is only named.
#[test]
fn each_topology_has_a_picture() {
    let mut report = sample_report();
    let emitted = report.traces.pop().unwrap();
    assert_eq!(emitted.case.stage, CapturedStage::Geometry);
    for topology in [PrimitiveTopology::PointList, PrimitiveTopology::LineStrip] {
        let mut trace = emitted.clone();
        trace.case.topology = topology;
        report.traces.push(trace);
    }
    for trace in &mut report.traces {
        match trace.case.row() {
            row if row == PrimitiveTopology::LineList.into() => {
                trace.primitives[0].captured.reverse();
            }
            row if row == PrimitiveTopology::TriangleList.into() => {
                let slots = trace.primitives.iter_mut().flat_map(|diff| &mut diff.captured);
                slots.for_each(|slot| *slot = crate::diagnose::Slot::Untouched);
            }
            _ => {}
        }
    }
    let page = render(&[report]);
    for title in [
        "line-list, captured, native, compute",
        "point-list into geometry, expected",
        "line-strip into geometry, expected",
    ] {
        assert!(page.contains(&format!("<title>{title}</title>")), "{title}: {page}");
    }
    // The note below the title is broken into lines.
    let (_, emitted) =
        page.split_once("<title>line-strip into geometry, expected</title>").unwrap();
    let (emitted, _) = emitted.split_once("</svg>").unwrap();
    assert!(emitted.contains("points_to_triangles_cut, by compute; the first"), "{emitted}");
    assert!(emitted.contains("not captured by native"), "{emitted}");
    assert!(!page.contains("<title>triangle-list,"), "{page}");
    assert!(
        page.contains("Without any vertex of the draw, and so without a picture: triangle-list.")
    );
    assert!(page.contains(picture::WRONG_KEY));
}

/// Some devices have vertex streams of points alone. Each shader with several streams has its own pictures, so that no
/// backend is beside another one that has captured another shader.
#[test]
fn pictures_of_streams_are_of_one_shader() {
    let mut report = sample_report();
    let emitted = report.traces.last().unwrap().clone();
    for (backend, shader) in [
        (Backend::Native, "points_to_points_4_streams"),
        (Backend::Compute, "points_to_points_4_streams"),
        (Backend::Compute, "points_to_lines_4_streams"),
    ] {
        let mut case = emitted.case.clone();
        (case.stage, case.geometry) = (CapturedStage::GeometryStreams, Some(shader.to_owned()));
        for stream in [0, 1] {
            report.trace(backend, &case, Some(stream), emitted.primitives.clone());
        }
    }
    let page = render(&[report]);
    for stream in [0, 1] {
        let title =
            format!("<title>point-list into vertex streams, stream {stream}, expected</title>");
        let pictures = page.split(&title).skip(1).map(|rest| rest.split("</svg>").next().unwrap());
        let [points, lines] = pictures.collect::<Vec<_>>()[..] else { panic!("{page}") };
        assert!(points.contains("points_to_points_4_streams, by native, compute;"), "{points}");
        assert!(!points.contains("not captured"), "{points}");
        assert!(lines.contains("points_to_lines_4_streams, by compute;"), "{lines}");
        assert!(lines.contains("not captured by native"), "{lines}");
    }
}

/// A trial that failed is shown like a case that did, and made-up faults are told beside the verdict.
#[test]
fn trials_that_failed_come_first() {
    let mut report = sample_report();
    (report.mismatches, report.mismatch_count) = (Vec::new(), 0);
    (report.losses, report.cells) = (Vec::new(), Vec::new());
    report.trials[0].result = TrialResult::Lost;
    report.injected = Some("faults were injected (lost:<trial>)".to_owned());
    for cell in &sample_report().cells {
        let case = Case { topology: cell.topology, ..sample_report().traces[0].case.clone() };
        report.record(cell.backend, &case, Verdict::Match);
    }
    let page = render(std::slice::from_ref(&report));
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}\n{page}"));
    let order = [
        "<span class=\"badge bad\">indirect dispatch lost</span>",
        "faults were injected (lost:&lt;trial&gt;)",
        "<section class=\"failure\">\n<h3><span class=\"badge bad\">lost</span> trial of indirect dispatch",
        "<span>--quick</span>",
        "<table>",
    ];
    assert!(order.map(at).is_sorted(), "{page}");
    report.trials[2].result = TrialResult::Wrong;
    assert!(render(&[report]).contains("<span class=\"badge bad\">2 trials failed</span>"));
}

/// On a narrow screen, long names can be broken between their words.
#[test]
fn long_names_break_between_their_words() {
    let page = render(&[sample_report()]);
    assert!(page.contains("<dt>vertex<wbr>Pipeline<wbr>Stores<wbr>And<wbr>Atomics</dt>"), "{page}");
    assert_eq!(Breakable("a<B>Ç_d").to_string(), "a&lt;B&gt;Ç_<wbr>d");
}

/// A case that lost the device is shown with its draw and its command, and similar cases are
/// listed.
#[test]
fn lost_cases_are_shown() {
    let page = render(&[sample_report()]);
    for part in [
        "<span class=\"badge bad\">lost</span> point-list into geometry on native and compute",
        "the device was lost during vkQueueSubmit",
        "<span>--shader</span> <span>points_to_triangles_cut</span> <span>--backend</span>",
        "<span>--vertices</span> <span>7</span> <span>--instances</span> <span>3</span>",
        "<summary>3 other cases</summary>",
        "mismatches, 2 not tried</span>",
        "<td class=\"warn\"><small>2 not tried <sup>",
        "<li>the device was lost with 64 cases</li>",
        "first vertex provokes: 9x3</p>",
        "first vertex provokes: 7x3 9x3</p>",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

/// The page begins with lost cases and the first mismatches. After them come the table, the facts about device and run,
/// and further mismatches. So even on a small screen, a reader sees first what is wrong.
#[test]
fn what_is_wrong_comes_first() {
    let page = render(&[sample_report()]);
    let at = |what: &str| page.find(what).unwrap_or_else(|| panic!("{what}\n{page}"));
    let order = [">lost<", "<h2>Mismatches", "<table>", "class=\"facts\"", "<h2>More mismatches"];
    assert!(order.map(at).is_sorted(), "{page}");
}

/// If a driver captures all cases of a row wrongly in the same way, there is one section for all of
/// them.
#[test]
fn wrong_cases_that_are_alike_share_a_card() {
    let mut report = sample_report();
    let cards = |report: &ProbeReport| {
        render(std::slice::from_ref(report)).matches("<section class=\"failure\">").count()
    };
    let before = cards(&report);
    let Failure { backend, mut case, mismatch, .. } = report.mismatches[0].clone();
    for vertex_count in 100..130 {
        case.vertex_count = vertex_count;
        report.record(backend, &case, Verdict::Mismatch(Box::new(mismatch.clone())));
    }
    assert_eq!(cards(&report), before);
    assert!(render(&[report]).contains("<summary>30 other cases</summary>"));
}

/// A page is complete, closes all its pictures, and needs no other file: it only links to the
/// specification. With `VKXFB_GALLERY=dir` in the environment, `cargo test gallery` also writes the
/// page to that directory.
#[test]
fn gallery_page() {
    let page = render(&[sample_report()]);
    assert!(page.ends_with("</html>\n"));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    let own = page.replace("http://www.w3.org/2000/svg", "");
    let own = own.replace("<a href=\"https://registry.khronos.org/vulkan/specs/", "");
    for absent in ["http://", "https://", "<script", "<link"] {
        assert!(!own.contains(absent), "{absent}");
    }
    if let Some(directory) = std::env::var_os("VKXFB_GALLERY") {
        std::fs::write(std::path::Path::new(&directory).join("report.html"), page).unwrap();
    }
}
