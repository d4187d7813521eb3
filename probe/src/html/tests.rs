use vkxfb::lower::Backend;

use super::*;
use crate::report::samples::sample_report;

/// Text from outside cannot open a tag.
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
    let page = render(&[report]);
    assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)"));
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
        assert!(page.contains(&format!("<title>{}</title>", picture::title(topology))));
    }
}

/// The expected picture comes once, and beside it what every backend captured.
#[test]
fn every_backend_is_pictured() {
    let report = sample_report();
    assert_eq!(report.traces.len(), 2 * PrimitiveTopology::ALL.len() + 1);
    let page = render(&[report]);
    for topology in PrimitiveTopology::ALL {
        let name = picture::title(topology);
        let count = |what: &str| page.matches(&format!("<title>{name}, {what}</title>")).count();
        assert_eq!(count("expected"), 1);
        assert_eq!((count("captured, native"), count("captured, compute")), (1, 1));
        assert_eq!(count("captured, vertex"), 0);
    }
    // What a geometry shader emits has a picture of its own, and a row of the table.
    for what in ["expected", "captured, compute", "expected and captured"] {
        assert!(
            page.contains(&format!("<title>POINT_LIST into geometry, {what}</title>")),
            "{what}"
        );
    }
    assert!(page.contains("<th>POINT_<wbr>LIST into geometry</th>"));
}

/// On a narrow screen, long names break between their words.
#[test]
fn long_names_break_between_their_words() {
    let page = render(&[sample_report()]);
    assert!(page.contains("<th>TRIANGLE_<wbr>STRIP_<wbr>WITH_<wbr>ADJACENCY</th>"), "{page}");
    assert!(page.contains("<dt>vertex<wbr>Pipeline<wbr>Stores<wbr>And<wbr>Atomics</dt>"), "{page}");
    assert_eq!(Breakable("a<B>Ç_d").to_string(), "a&lt;B&gt;Ç_<wbr>d");
}

/// `VKXFB_GALLERY=dir cargo test gallery` writes the page to a directory.
#[test]
fn gallery_page() {
    let page = render(&[sample_report()]);
    assert!(page.ends_with("</html>\n"));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    for absent in ["http://", "https://", "<script", "<link"] {
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains(absent), "{absent}");
    }
    if let Some(directory) = std::env::var_os("VKXFB_GALLERY") {
        std::fs::write(std::path::Path::new(&directory).join("report.html"), page).unwrap();
    }
}
