//! Draws pictures of captures: the primitives, and the order in which the vertices of each are
//! written.
//!
//! Vertices are placed as in the specification's figures of [primitive
//! topologies](https://docs.vulkan.org/spec/latest/chapters/drawing.html#drawing-primitive-topologies), and adjacency
//! vertices are grey; those of tessellated patches are at their tessellation coordinates, with the origin at the upper
//! left. Each primitive shows its number, a dot at the vertex that is written first, and arrows to the other vertices
//! in order. So the picture shows the winding, and a rotated triangle looks different from one with flipped winding.
//!
//! The captured primitives are drawn beside the expected ones, with the same vertices. Primitives
//! that differ are red, and dashed if they were not written. Numbers are those of the whole draw: a
//! picture of primitive 70000 shows that number and a few neighbouring primitives, but not the
//! 70000 before it.

#![forbid(unsafe_code)]

mod lettering;
mod panel;
mod stage;
#[cfg(test)]
mod tests;
mod wireframe;

use svg::Document;
use svg::node::element::{Group, Rectangle, Style, Text, Title};

use crate::case::Case;
use crate::diagnose::{Fault, Mismatch, PrimitiveDiff, Slot, VertexRef};
use crate::row::{CapturedStage, Row};
use crate::shaders::PATCH_CONTROL_POINTS;

pub use wireframe::{Drawing, wireframe};

use lettering::{Lettering, Lines};
use panel::Panel;
use stage::Stage;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

/// The style sheet of the pictures. A page with inline pictures must contain it once.
pub const STYLE: &str = include_str!("picture.css");

/// The maximum number of primitives that a picture of a geometry shader shows, or one of tessellation shaders. The
/// first two patches that the probe's tessellation shaders divide have as many triangles.
pub const EMITTED: usize = 10;

/// The width of a panel in SVG user units. A panel is one drawing of some primitives: the expected ones, or the ones
/// that a backend captured.
const WIDTH: f32 = 400.0;
/// The distance of text from the left and right sides, in user units.
const MARGIN: f32 = 16.0;

/// Names a row, and the vertex stream, if there are several.
pub(super) fn title(row: Row, stream: Option<u32>) -> String {
    let stream = stream.map_or(String::new(), |stream| format!(", stream {stream}"));
    format!("{row}{stream}")
}

/// The number of vertices for which a picture of a topology has room. A picture can show all
/// primitives of an instance with this many vertices.
pub fn vertex_count(topology: PrimitiveTopology) -> u32 {
    if topology == PrimitiveTopology::PatchList {
        // The last vertex belongs to no patch: of the vertex counts that are probed, this is the one with two patches.
        return 2 * PATCH_CONTROL_POINTS + 1;
    }
    u32::try_from(Stage::new(topology, 0).vertices.len()).unwrap_or(u32::MAX)
}

/// Draws how a topology should be captured, for a page that contains [`STYLE`].
pub fn expected(topology: PrimitiveTopology, provoking: ProvokingVertex) -> String {
    let stage = Stage::new(topology, 0);
    let head = Head::of(&topology.to_string(), &subtitle(topology, &stage, provoking), WIDTH);
    let height = head.height() + stage.height;
    let group = expected_panel(&stage, provoking, &head, height);
    document(WIDTH, height, &topology.to_string(), Usage::Inline).add(group).to_string()
}

/// A comparison for a page that contains [`STYLE`], which places its parts as there is room.
pub struct Comparison {
    /// Pictures of the expected primitives and of the captured ones.
    pub pictures: [String; 2],
    /// The differences, in words.
    pub captions: Vec<String>,
}

/// Draws the expected primitives around a fault, and the captured ones.
pub fn comparison(
    row: impl Into<Row>,
    provoking: ProvokingVertex,
    mismatch: &Mismatch,
) -> Comparison {
    let row = row.into();
    let shown = shown(row, mismatch.stream, &mismatch.excerpt);
    let name = title(row, mismatch.stream);
    let (expected, captured) = (shown.expected(provoking), shown.captured("captured"));
    // Beside each other, both have their vertices at the same height.
    let head = expected.0.height().max(captured.0.height());
    let picture = |(of, panel): (Head, Group), what: &str| {
        document(WIDTH, head + shown.stage.height, &format!("{name}, {what}"), Usage::Inline)
            .add(of.over(panel, head))
            .to_string()
    };
    Comparison {
        pictures: [
            picture(expected, "expected around the fault"),
            picture(captured, "captured around the fault"),
        ],
        captions: captions(mismatch, &shown.diffs),
    }
}

/// A backend, and the primitives of an instance that it captured, from [`super::diagnose::trace`].
pub type CapturedBy<'a> = (Backend, &'a [PrimitiveDiff]);

/// Whether a backend captured an instance exactly as expected.
pub fn is_right((_, diffs): CapturedBy<'_>) -> bool {
    diffs.iter().all(is_as_expected)
}

/// Whether a backend captured no vertex of an instance, so that there is nothing to draw, although the instance has
/// primitives.
pub fn is_empty((_, diffs): CapturedBy<'_>) -> bool {
    let has_vertex = |slot: &Slot| matches!(slot, Slot::Vertex(_) | Slot::Torn(_));
    diffs.iter().any(|diff| !diff.expected.is_empty())
        && !diffs.iter().flat_map(|diff| &diff.captured).any(has_vertex)
}

/// Lists backends, for a sentence.
fn names(captured: &[CapturedBy<'_>]) -> String {
    let names: Vec<_> = captured.iter().map(|(backend, _)| backend.to_string()).collect();
    names.join(", ")
}

/// Draws an instance: one picture of the expected primitives, and one for each different capture by backends that
/// captured something else. Captures without a vertex are only named, and so are the backends in `without`, which have
/// captured nothing of it. `stream` is the vertex stream, if there are several. The pictures are for a page that
/// contains [`STYLE`].
pub fn traces(
    case: &Case,
    stream: Option<u32>,
    captured: &[CapturedBy<'_>],
    without: &[Backend],
) -> Vec<String> {
    let (row, provoking) = (case.row(), case.provoking);
    let name = title(row, stream);
    let picture = |shown: &Shown<'_>, (head, panel): (Head, Group), what: &str| {
        let height = head.height() + shown.stage.height;
        let document = document(WIDTH, height, &format!("{name}, {what}"), Usage::Inline);
        document.add(head.over(panel, head.height())).to_string()
    };
    let (right, others): (Vec<_>, Vec<_>) = captured.iter().partition(|by| is_right(**by));
    let Some((_, diffs)) = right.first().or(others.first()) else { return Vec::new() };
    let diffs: &[PrimitiveDiff] = diffs;
    let shown_expected = shown(row, stream, diffs);
    let (_, panel) = shown_expected.expected(provoking);
    let (empty, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|by| is_empty(*by));
    let mut note = if right.is_empty() {
        format!("expected, the {provoking} vertex provokes")
    } else {
        format!("by {}; the {provoking} vertex provokes", names(&right))
    };
    if !empty.is_empty() {
        note += &format!("; no vertex by {}", names(&empty));
    }
    if !without.is_empty() {
        let without: Vec<_> = without.iter().map(Backend::to_string).collect();
        note += &format!("; not captured by {}", without.join(", "));
    }
    if let Some(shader) = &case.geometry {
        note = format!("{shader}, {note}");
    }
    let head = Head::of(&name, &note, WIDTH);
    let mut pictures = vec![picture(&shown_expected, (head, panel), "expected")];
    let mut alike: Vec<Vec<CapturedBy<'_>>> = Vec::new();
    for by in others {
        match alike.iter_mut().find(|all| all.first().is_some_and(|first| first.1 == by.1)) {
            Some(all) => all.push(by),
            None => alike.push(vec![by]),
        }
    }
    for all in alike {
        let Some((_, diffs)) = all.first() else { continue };
        let shown = shown(row, stream, diffs);
        let title = format!("captured, {}", names(&all));
        pictures.push(picture(&shown, shown.captured(&title), &title));
    }
    pictures
}

/// Draws how all topologies should be captured, as a separate SVG file.
pub fn overview(provoking: ProvokingVertex) -> String {
    const COLUMNS: usize = 2;
    const GUTTER: f32 = 16.0;
    let stages = PrimitiveTopology::ALL.map(|topology| {
        let stage = Stage::new(topology, 0);
        let head = Head::of(&topology.to_string(), &subtitle(topology, &stage, provoking), WIDTH);
        (stage, head)
    });
    let width = GUTTER + (WIDTH + GUTTER) * COLUMNS as f32;
    let name = "What transform feedback writes";
    let key = Lines::of(Lettering::Note, KEY, width - 2.0 * (GUTTER + 2.0));
    let mut y = 64.0 + key.extra();
    let mut panels = Group::new();
    for row in stages.chunks(COLUMNS) {
        let height = row.iter().map(|(s, head)| s.height + head.height()).fold(0.0, f32::max);
        for (column, (stage, head)) in row.iter().enumerate() {
            let x = GUTTER + (WIDTH + GUTTER) * column as f32;
            let panel = expected_panel(stage, provoking, head, height);
            panels = panels.add(card(x, y, WIDTH, height)).add(translated(panel, x, y));
        }
        y += height + GUTTER;
    }
    document(width, y, name, Usage::File)
        .add(text(GUTTER + 2.0, 28.0, "xf-title", name))
        .add(key.draw(GUTTER + 2.0, 48.0))
        .add(panels)
        .to_string()
}

/// Explains the pictures to readers of a page.
pub const KEY: &str = "Numbers in circles are vertices of the draw, the others primitives in the order in which they \
                       are written. The dot is the vertex of a primitive that is written first, the arrows lead to \
                       the next ones. Grey vertices are adjacency: never written.";

/// Explains the numbers of vertices in pictures of later stages.
pub const EMITTED_KEY: &str = "Behind a geometry shader, vertices are numbered in the order in which it emits them, in \
                               each vertex stream for itself, and strips stand beside each other. Behind tessellation \
                               shaders, they are the points of the patches, at their tessellation coordinates.";

/// Explains the marks that stand in place of vertices in pictures of wrong captures.
pub const WRONG_KEY: &str = "In place of a vertex, – is a record that was not written, ≠ one with parts of several \
                             vertices, and ? one that is of no vertex of the draw.";

fn subtitle(topology: PrimitiveTopology, stage: &Stage, provoking: ProvokingVertex) -> String {
    let m = topology.vertices_per_primitive();
    let count = stage.primitives;
    let last = match provoking {
        ProvokingVertex::First => "",
        ProvokingVertex::Last => ", the last provokes",
    };
    let plural = if m == 1 { "vertex" } else { "vertices" };
    format!("{} vertices, {count} primitives of {m} {plural}{last}", stage.vertices.len())
}

fn expected_panel(stage: &Stage, provoking: ProvokingVertex, head: &Head, height: f32) -> Group {
    let topology = stage.row.topology;
    let m = u64::from(topology.vertices_per_primitive());
    let mut panel = Panel::new(stage, "xf-expected");
    for primitive in stage.first..stage.first + stage.primitives {
        let vertices = (primitive * m..(primitive + 1) * m)
            .map(|output| topology.gather(provoking, output))
            .collect::<Vec<_>>();
        panel.right(primitive, &vertices);
    }
    // If the picture beside this one is taller, the panel is centred vertically.
    let spare = (height - head.height() - stage.height) / 2.0;
    head.over(panel.finish(), head.height() + spare)
}

/// The primitives that a picture shows, all of one instance, and the places of their vertices.
struct Shown<'a> {
    stage: Stage,
    /// The vertex stream. `None` if there is only one.
    stream: Option<u32>,
    diffs: Vec<&'a PrimitiveDiff>,
}

fn shown(row: Row, stream: Option<u32>, diffs: &[PrimitiveDiff]) -> Shown<'_> {
    let instance = diffs.first().map_or(0, |diff| diff.instance);
    let of_instance = || diffs.iter().filter(|diff| diff.instance == instance);
    let first = of_instance().map(|diff| diff.primitive).min().unwrap_or(0);
    let mut stage = match row.stage {
        CapturedStage::Vertex => Stage::new(row.topology, first / 2 * 2),
        CapturedStage::Geometry | CapturedStage::GeometryStreams => {
            Stage::of_emitted(row, &of_instance().collect::<Vec<_>>())
        }
        CapturedStage::Tessellation => Stage::of_patches(row, &of_instance().collect::<Vec<_>>()),
    };
    let end = stage.first + stage.primitives;
    let diffs: Vec<_> =
        of_instance().filter(|diff| diff.primitive < end || diff.expected.is_empty()).collect();
    stage.keep(|vertex| {
        diffs.iter().any(|diff| {
            diff.expected.iter().any(|v| u64::from(v.vertex) == vertex)
                || diff.captured.iter().any(|s| vertex_of(s, diff.instance) == Some(vertex))
        })
    });
    Shown { stage, stream, diffs }
}

impl Shown<'_> {
    /// Draws the expected primitives. Returns the title with a note, and the panel (the drawing).
    fn expected(&self, provoking: ProvokingVertex) -> (Head, Group) {
        let Self { stage, stream, diffs } = self;
        // Primitives that the draw does not have are left out, so the panel may have fewer primitives than there is
        // space for.
        let mut panel = Panel::new(stage, "xf-expected");
        for diff in diffs.iter().filter(|diff| !diff.expected.is_empty()) {
            let vertices: Vec<_> = diff.expected.iter().map(|v| u64::from(v.vertex)).collect();
            panel.right(diff.primitive, &vertices);
        }
        let instance = diffs.first().map_or(0, |diff| diff.instance);
        let head = format!("{}: expected", title(stage.row, *stream));
        let convention = format!("instance {instance}, the {provoking} vertex provokes");
        (Head::of(&head, &convention, WIDTH), panel.finish())
    }

    /// Draws the captured primitives. Returns the title `head` with a note, and the panel (the drawing).
    fn captured(&self, head: &str) -> (Head, Group) {
        let Self { stage, diffs, .. } = self;
        let mut panel = Panel::new(stage, "xf-captured");
        for diff in diffs {
            panel.captured(diff);
        }
        let note = if diffs.iter().any(|diff| diff.fault.is_some()) {
            "differences in red"
        } else if diffs.iter().any(|diff| !is_as_expected(diff)) {
            // If the device does not guarantee the order of vertices, a rotation is not a fault.
            "rotated, as it may be"
        } else {
            "as expected"
        };
        (Head::of(head, note, WIDTH), panel.finish())
    }
}

/// Returns captions: the fault under which the capture is reported, the first fault of each other
/// kind among the shown primitives, and how many more primitives differ.
fn captions(mismatch: &Mismatch, shown: &[&PrimitiveDiff]) -> Vec<String> {
    let mut captions = Vec::new();
    let note = mismatch.note.as_ref().map_or_else(String::new, |note| format!("; {note}"));
    let mut named = vec![mismatch.fault];
    match &mismatch.first {
        Some(first) => captions.push(caption(first, mismatch.fault)),
        None => captions.push(format!("{}{note}", mismatch.fault)),
    }
    if mismatch.first.is_some()
        && let Some(note) = &mismatch.note
    {
        captions.push(note.clone());
    }
    for diff in shown {
        match diff.fault {
            Some(fault) if !named.contains(&fault) && mismatch.also.contains(&fault) => {
                named.push(fault);
                captions.push(caption(diff, fault));
            }
            _ => {}
        }
    }
    let wrong = shown.iter().filter(|diff| diff.fault.is_some()).count();
    let told = named.len() - usize::from(mismatch.first.is_none());
    if wrong > told {
        captions.push(format!("{} more of the primitives shown differ", wrong - told));
    }
    captions
}

fn caption(diff: &PrimitiveDiff, fault: Fault) -> String {
    let (expected, captured) = (diff.expected_text(), diff.captured_text());
    format!("primitive {}: {fault}. Expected {expected}, captured {captured}", diff.primitive)
}

/// The title of a picture, and a note below it.
struct Head {
    title: Lines,
    note: Lines,
}

impl Head {
    /// Breaks title and note into lines for a picture of this width.
    fn of(title: &str, note: &str, width: f32) -> Self {
        let lines = |lettering, content| Lines::of(lettering, content, width - 2.0 * MARGIN);
        Self { title: lines(Lettering::Title, title), note: lines(Lettering::Note, note) }
    }

    fn height(&self) -> f32 {
        46.0 + self.title.extra() + self.note.extra()
    }

    /// Draws the title and the note, and a panel that begins at `y`.
    fn over(&self, panel: Group, y: f32) -> Group {
        Group::new()
            .add(self.title.draw(MARGIN, 24.0))
            .add(self.note.draw(MARGIN, 41.0 + self.title.extra()))
            .add(translated(panel, 0.0, y))
    }
}

/// Whether a picture is inline in a page, or is a file that contains the style sheet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Usage {
    Inline,
    File,
}

fn document(width: f32, height: f32, name: &str, usage: Usage) -> Document {
    let document = Document::new();
    let document = match usage {
        Usage::Inline => document,
        Usage::File => document.add(Style::new(STYLE)),
    };
    document
        .set("class", "xf")
        .set("role", "img")
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .add(Title::new(name))
        .add(Rectangle::new().set("class", "xf-page").set("width", width).set("height", height))
}

fn card(x: f32, y: f32, width: f32, height: f32) -> Rectangle {
    Rectangle::new()
        .set("class", "xf-card")
        .set("x", x)
        .set("y", y)
        .set("width", width)
        .set("height", height)
        .set("rx", 8)
}

fn translated(group: Group, x: f32, y: f32) -> Group {
    Group::new().set("transform", format!("translate({x} {y})")).add(group)
}

fn text(x: f32, y: f32, class: &str, content: &str) -> Text {
    // Names of outputs may contain control characters, which XML cannot represent.
    let content = content.replace(char::is_control, "\u{fffd}");
    Text::new(content).set("class", class).set("x", x).set("y", y)
}

fn is_as_expected(diff: &PrimitiveDiff) -> bool {
    diff.captured.iter().map(Slot::vertex).eq(diff.expected.iter().copied().map(Some))
}

/// Returns the vertex that a record contains, if it is a vertex of this instance.
fn vertex_of(slot: &Slot, instance: u32) -> Option<u64> {
    match slot {
        Slot::Vertex(VertexRef { instance: i, vertex }) if *i == instance => {
            Some(u64::from(*vertex))
        }
        _ => None,
    }
}
