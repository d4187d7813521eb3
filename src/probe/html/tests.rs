use super::*;
use crate::lower::Backend;
use crate::probe::report::samples::sample_report;

/// Nothing from outside opens a tag.
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
    assert_eq!(report.traces.len(), PrimitiveTopology::ALL.len());
    report.traces.clear();
    let page = render(&[report]);
    for topology in PrimitiveTopology::ALL {
        assert!(page.contains(&format!("<title>{}</title>", picture::title(topology))));
    }
}

/// `VKXFB_GALLERY=dir cargo test gallery` keeps the page to be looked at.
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
