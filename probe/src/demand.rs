//! What the Vulkan specification demands where a capture is wrong: a sentence, the link to the section, and the case of
//! Vulkan's conformance suite (dEQP-VK) that tests the nearest to it.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::case::Case;
use crate::diagnose::Fault;
use crate::row::CapturedStage;
use crate::shaders::{Emitted, ProbeGeometry};

/// The page of the specification, to which the names of sections are appended.
const SPECIFICATION: &str = "https://registry.khronos.org/vulkan/specs/latest/html/vkspec.html";

/// The group of the conformance suite whose cases are named.
const CONFORMANCE: &str = "dEQP-VK.transform_feedback";

/// What a wrong case is held against, and how it can be shown to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// What the specification demands, as a sentence.
    pub text: String,
    /// The link to the section of the specification.
    pub link: String,
    /// The name of the nearest case of the conformance suite. `None` if no case of transform feedback is near.
    pub conformance: Option<String>,
    /// The command that writes a [program](crate::reproduce) that shows the case without vkxfb. `None` if there is no
    /// such program: for the captures of vkxfb's own backends and shaders from files.
    pub program: Option<String>,
}

impl Demand {
    /// Returns the demand that a case on a backend has not met.
    pub fn of(backend: Backend, case: &Case, fault: Fault) -> Self {
        let (text, section) = text(case, fault);
        let conformance = conformance(case, fault).map(|name| format!("{CONFORMANCE}.{name}"));
        let program = (backend == Backend::Native).then(|| case.program_command()).flatten();
        Self { text, link: format!("{SPECIFICATION}#{section}"), conformance, program }
    }
}

/// The section about captures, for what is the same for all topologies.
const CAPTURES: &str = "vertexpostproc-transform-feedback";

/// Returns what the specification demands, and the name of the section that says so.
fn text(case: &Case, fault: Fault) -> (String, &'static str) {
    let (text, section) = match fault {
        Fault::NothingExecuted => (
            "A fence is signaled once all commands that were submitted with it are complete.",
            "synchronization-fences-signaling",
        ),
        Fault::NothingCopiedIn | Fault::NothingCopiedBack => {
            ("A copy writes each byte of its regions to the destination buffer.", "copies-buffers")
        }
        Fault::NothingWritten => (
            "While transform feedback is active, the captured outputs of each primitive are appended to the bound \
             buffers.",
            CAPTURES,
        ),
        Fault::Overrun => (
            "Nothing is written outside of the bound ranges: of a primitive for which one of them has no room, no \
             buffer gets a byte.",
            CAPTURES,
        ),
        Fault::Rotation => return (provoking_text(case.provoking), CAPTURES),
        Fault::FlippedWinding | Fault::WrongVertex => return order(case),
        Fault::MissingPrimitive | Fault::MissingVertex | Fault::ExtraPrimitive => (
            "Each complete primitive that fits into the bound ranges is written once, whole, and in the order of the \
             draw, and an incomplete one is not written.",
            CAPTURES,
        ),
        Fault::TouchedGap => {
            ("Bytes of a record that no captured output covers keep what was in them.", CAPTURES)
        }
        Fault::WrongBytes => (
            "Each captured output is written at its Offset in the record of its vertex, and records are XfbStride \
             bytes apart.",
            CAPTURES,
        ),
        Fault::TornBuffers => (
            "All outputs of a vertex are written before those of another vertex, so that records with the same number \
             are of the same vertex in each buffer of a stream.",
            CAPTURES,
        ),
        Fault::WrongCounter => (
            "The end of transform feedback writes to each counter where the next primitive would begin: the number of \
             bytes that have been written to its buffer.",
            "vkCmdEndTransformFeedbackEXT",
        ),
    };
    (text.to_owned(), section)
}

fn provoking_text(provoking: ProvokingVertex) -> String {
    format!(
        "With transformFeedbackPreservesProvokingVertex, the provoking vertex of each primitive, here the {provoking}, \
         is the {provoking} that is written. For fans, transformFeedbackPreservesTriangleFanProvokingVertex is needed, \
         too."
    )
}

/// Returns which vertices primitives have, and the section about them. The numbers are those of
/// [`PrimitiveTopology::gather`], in words.
fn order(case: &Case) -> (String, &'static str) {
    use PrimitiveTopology as T;
    let wound = "two of which change places in odd triangles, so that all have the same winding";
    let (text, section) = match (case.stage, case.topology) {
        (CapturedStage::Tessellation, _) | (_, T::PatchList) => (
            "The primitives of a patch have the winding or direction that the evaluation shader declares, and those of \
             one patch are written before those of the next. The order within a patch is the device's choice."
                .to_owned(),
            "tessellation-vertex-winding-order",
        ),
        (CapturedStage::Geometry, _) => (
            "Strips that a geometry shader emits are written as separate primitives, in the order in which they are \
             emitted, with the vertices that a strip of a draw has."
                .to_owned(),
            CAPTURES,
        ),
        (CapturedStage::GeometryStreams, _) => (
            "Each vertex stream has primitives of its own, which are written to the buffers with its outputs. They are \
             written whether those of other streams fit or not."
                .to_owned(),
            CAPTURES,
        ),
        (_, T::PointList) => ("Point i is vertex i.".to_owned(), "drawing-point-lists"),
        (_, T::LineList) => {
            ("Line i is written as vertices 2i and 2i + 1.".to_owned(), "drawing-line-lists")
        }
        (_, T::LineStrip) => {
            ("Line i is written as vertices i and i + 1.".to_owned(), "drawing-line-strips")
        }
        (_, T::TriangleList) => (
            "Triangle i is written as vertices 3i, 3i + 1 and 3i + 2.".to_owned(),
            "drawing-triangle-lists",
        ),
        (_, T::TriangleStrip) => (
            format!("Triangle i is written as vertices i, i + 1 and i + 2, {wound}."),
            "drawing-triangle-strips",
        ),
        (_, T::TriangleFan) => (
            "Triangle i is written as vertices i + 1, i + 2 and 0, in this cyclic order.".to_owned(),
            "drawing-triangle-fans",
        ),
        (_, T::LineListWithAdjacency) => (
            "Line i is written as vertices 4i + 1 and 4i + 2: the outer two of four are adjacent to it.".to_owned(),
            "drawing-line-lists-with-adjacency",
        ),
        (_, T::LineStripWithAdjacency) => (
            "Line i is written as vertices i + 1 and i + 2: the first and the last of the strip are adjacent to it."
                .to_owned(),
            "drawing-line-strips-with-adjacency",
        ),
        (_, T::TriangleListWithAdjacency) => (
            "Triangle i is written as vertices 6i, 6i + 2 and 6i + 4: those between them are adjacent to it.".to_owned(),
            "drawing-triangle-lists-with-adjacency",
        ),
        (_, T::TriangleStripWithAdjacency) => (
            format!("Triangle i is written as vertices 2i, 2i + 2 and 2i + 4, {wound}: odd vertices are adjacent."),
            "drawing-triangle-strips-with-adjacency",
        ),
    };
    (text, section)
}

/// Returns the name of the nearest case, without that of the group of all cases of transform feedback.
fn conformance(case: &Case, fault: Fault) -> Option<String> {
    let is_vertex = case.stage == CapturedStage::Vertex;
    let name = match fault {
        Fault::NothingExecuted | Fault::NothingCopiedIn | Fault::NothingCopiedBack => return None,
        Fault::NothingWritten => "simple.basic_1_256",
        Fault::Overrun => "simple.query_triangle_list_0_6_32bits",
        Fault::WrongCounter => "simple.resume_1_256",
        Fault::TouchedGap if is_vertex => "simple.holes_vert",
        Fault::TouchedGap => "simple.holes_geom",
        Fault::WrongBytes if is_vertex => "fuzz.random_vertex.basic_types.0",
        Fault::WrongBytes => "fuzz.random_geometry.basic_types.0",
        Fault::TornBuffers => "simple.basic_2_256",
        Fault::Rotation
        | Fault::FlippedWinding
        | Fault::WrongVertex
        | Fault::MissingPrimitive
        | Fault::MissingVertex
        | Fault::ExtraPrimitive => return Some(format!("simple.{}", order_case(case))),
    };
    Some(name.to_owned())
}

/// Returns the name of the case that tests the order of vertices, in the group `simple`.
fn order_case(case: &Case) -> String {
    let geometry = case.geometry.as_deref().and_then(ProbeGeometry::by_name);
    match case.stage {
        CapturedStage::GeometryStreams => "multistreams_1".to_owned(),
        CapturedStage::Geometry => match geometry.map(|geometry| geometry.output) {
            Some(Emitted::Triangles) => "lines_or_triangles_triangle_strip_1",
            Some(Emitted::Lines) => "lines_or_triangles_line_strip_1",
            Some(Emitted::Points) | None => "streams_1",
        }
        .to_owned(),
        // The suite draws points in most of its cases, and so it has none that is about their order.
        CapturedStage::Vertex if case.topology == PrimitiveTopology::PointList => {
            "basic_1_256".to_owned()
        }
        CapturedStage::Vertex | CapturedStage::Tessellation => {
            let topology = case.topology.name().replace('-', "_");
            // The numbers of vertices in the draws of the suite.
            let tested = [6, 8, 10, 12].into_iter();
            let nearest = tested.min_by_key(|n: &u32| n.abs_diff(case.vertex_count)).unwrap_or(6);
            format!("winding_{topology}_{nearest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;

    fn case(row: Row, geometry: Option<&str>) -> Case {
        Case {
            shader: "identify".to_owned(),
            geometry: geometry.map(str::to_owned),
            stage: row.stage,
            topology: row.topology,
            provoking: ProvokingVertex::First,
            vertex_count: 7,
            instance_count: 1,
            specialized: false,
        }
    }

    /// A shader of the probe for each row, and for geometry shaders one for each kind of output primitive.
    fn cases() -> Vec<Case> {
        let all = ProbeGeometry::all();
        let mut cases = Vec::new();
        for row in Row::all() {
            if row.stage == CapturedStage::Vertex {
                cases.push(case(row, None));
            } else {
                cases.extend(all.iter().map(|shader| case(row, Some(&shader.name()))));
            }
        }
        cases
    }

    /// Every fault has a sentence, the link to a section, and mostly a case of the conformance
    /// suite. Its names have the form that they have there; with `VKXFB_DEQP_CASES`, a file with a
    /// name in each line, they are in that list.
    #[test]
    fn each_fault_is_held_against_the_specification() {
        let list =
            std::env::var_os("VKXFB_DEQP_CASES").map(|file| std::fs::read_to_string(file).unwrap());
        let known: Option<std::collections::BTreeSet<&str>> =
            list.as_deref().map(|list| list.lines().collect());
        for case in cases() {
            for fault in Fault::ALL {
                let Demand { text, link, conformance, program } =
                    Demand::of(Backend::Native, &case, fault);
                assert!(text.ends_with('.') && !text.contains("  "), "{text}");
                let section = link.strip_prefix(&format!("{SPECIFICATION}#")).unwrap();
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
                assert!(!section.is_empty() && section.chars().all(is_name), "{link}");
                assert!(program.is_some(), "{case}");
                let Some(name) = conformance else {
                    let steps =
                        [Fault::NothingExecuted, Fault::NothingCopiedIn, Fault::NothingCopiedBack];
                    assert!(steps.contains(&fault), "{fault}");
                    continue;
                };
                let own = name.strip_prefix("dEQP-VK.transform_feedback.").unwrap();
                let is_name =
                    |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._".contains(c);
                assert!(own.chars().all(is_name), "{name}");
                assert!(known.as_ref().is_none_or(|known| known.contains(name.as_str())), "{name}");
            }
        }
    }

    /// Only the driver's own capture can be shown without vkxfb.
    #[test]
    fn other_backends_have_no_program() {
        let case = case(PrimitiveTopology::LineStrip.into(), None);
        for backend in [Backend::Vertex, Backend::Compute] {
            assert_eq!(Demand::of(backend, &case, Fault::WrongVertex).program, None);
        }
    }

    /// Returns the value of `2i + 1`, `i` or `0`.
    fn value(term: &str, i: u64) -> Option<u64> {
        let (factor, added) = match term.split_once('i') {
            Some((factor, added)) => (factor, added.strip_prefix(" + ").unwrap_or(added)),
            None => ("0", term),
        };
        let number =
            |text: &str, empty| if text.is_empty() { Some(empty) } else { text.parse().ok() };
        Some(number(factor, 1)? * i + number(added, 0)?)
    }

    /// The sentences name the vertices that the model has. Two of an odd triangle change places.
    #[test]
    fn the_sentences_are_about_the_model() {
        for topology in PrimitiveTopology::ALL {
            let (text, _) = order(&case(topology.into(), None));
            let (_, list) =
                text.split_once("vertices ").or_else(|| text.split_once("vertex ")).unwrap();
            let terms = list.split([',', '.', ':']).flat_map(|part| part.split(" and "));
            let m = topology.vertices_per_primitive();
            let terms: Vec<&str> = terms.map(str::trim).take(m as usize).collect();
            for i in 0..4 {
                let said: Vec<u64> = terms.iter().map(|term| value(term, i).unwrap()).collect();
                let first = i * u64::from(m);
                let gather = |at| topology.gather(ProvokingVertex::First, at);
                let mut vertices: Vec<u64> = (first..first + u64::from(m)).map(gather).collect();
                if text.contains("change places in odd") && i % 2 == 1 {
                    vertices.swap(1, 2);
                }
                assert_eq!(said, vertices, "{text}");
            }
        }
    }
}
