//! Pictures of the topologies: which primitives there are, and in which order each is written.
//!
//! Vertices are placed as in the specification's figures ([primitive
//! topologies](https://docs.vulkan.org/spec/latest/chapters/drawing.html#drawing-primitive-topologies)),
//! and adjacency vertices are grey. A primitive has its number, a dot at the vertex that is written
//! first, and arrows to the others. So the picture shows the winding, and distinguishes a rotation
//! from a flipped winding.
//!
//! The captured primitives are drawn beside the expected ones, over the same vertices. Primitives
//! that differ are red, and dashed if they were not written. All numbers are those of the draw: a
//! picture of primitive 70000 shows a few of its neighbours, not the 70000 before it.

#![forbid(unsafe_code)]

mod lettering;
mod panel;
mod stage;
#[cfg(test)]
mod tests;
mod wireframe;

use svg::Document;
use svg::node::element::{Group, Rectangle, Style, Text, Title};

use super::diagnose::{Fault, Mismatch, PrimitiveDiff, Slot, VertexRef};
use super::report::{CapturedStage, Row};
pub use lettering::text_width;

pub use wireframe::{Drawing, wireframe};

use lettering::{Lettering, Lines};
use panel::Panel;
use stage::Stage;
use vkxfb::lower::Backend;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

/// The style sheet of the pictures. A page that has them inline needs it once.
pub const STYLE: &str = include_str!("picture.css");

/// The maximum number of primitives of a geometry shader in a picture.
pub const EMITTED: usize = 8;

/// Width of a panel in user units.
const WIDTH: f32 = 400.0;
/// The distance of text from the sides.
const MARGIN: f32 = 16.0;
/// Height of a line below the panels.
const LINE: f32 = 18.0;

/// The name of a row, with the vertex stream if there are several.
fn title(row: Row, stream: Option<u32>) -> String {
    let stream = stream.map_or(String::new(), |stream| format!(", stream {stream}"));
    format!("{row}{stream}")
}

/// The number of vertices that pictures of a topology have room for. An instance with so many
/// vertices is shown completely.
pub fn vertex_count(topology: PrimitiveTopology) -> u32 {
    u32::try_from(Stage::new(topology, 0).vertices.len()).unwrap_or(u32::MAX)
}

/// A picture of one topology as it should be captured, for a page that contains [`STYLE`].
pub fn expected(topology: PrimitiveTopology, provoking: ProvokingVertex) -> String {
    let stage = Stage::new(topology, 0);
    let head = Head::of(&topology.to_string(), &subtitle(topology, &stage, provoking), WIDTH);
    let height = head.height() + stage.height;
    let group = expected_panel(&stage, provoking, &head, height);
    document(WIDTH, height, &topology.to_string(), Usage::Inline).add(group).to_string()
}

/// A picture of the expected primitives around a fault, beside the captured ones, for a page that
/// contains [`STYLE`].
pub fn comparison(row: impl Into<Row>, provoking: ProvokingVertex, mismatch: &Mismatch) -> String {
    mismatch_document(row.into(), provoking, mismatch, Usage::Inline).to_string()
}

/// A backend, and the primitives of an instance as it captured them: a result of [`super::diagnose::trace`].
pub type CapturedBy<'a> = (Backend, &'a [PrimitiveDiff]);

/// Whether a backend captured an instance as expected.
pub fn is_right((_, diffs): CapturedBy<'_>) -> bool {
    diffs.iter().all(is_as_expected)
}

/// Pictures of an instance: the expected primitives, and those of each backend that captured something else. They show one
/// vertex stream, if there are several. For a page that contains [`STYLE`].
pub fn traces(
    row: impl Into<Row>,
    stream: Option<u32>,
    provoking: ProvokingVertex,
    captured: &[CapturedBy<'_>],
) -> Vec<String> {
    let row = row.into();
    let name = title(row, stream);
    let picture = |shown: &Shown<'_>, (head, panel): (Head, Group), what: &str| {
        let height = head.height() + shown.stage.height;
        let document = document(WIDTH, height, &format!("{name}, {what}"), Usage::Inline);
        document.add(head.over(panel, head.height())).to_string()
    };
    let (right, others): (Vec<_>, Vec<_>) = captured.iter().partition(|by| is_right(**by));
    let Some((_, diffs)) = right.first().or(others.first()) else { return Vec::new() };
    let shown_expected = shown(row, stream, diffs);
    let (_, panel) = shown_expected.expected(provoking);
    let names: Vec<_> = right.iter().map(|(backend, _)| backend.to_string()).collect();
    let note = match names.is_empty() {
        true => format!("expected, the {provoking} vertex provokes"),
        false => format!("by {}; the {provoking} vertex provokes", names.join(", ")),
    };
    let head = Head::of(&name, &note, WIDTH);
    let mut pictures = vec![picture(&shown_expected, (head, panel), "expected")];
    for (by, diffs) in others {
        let shown = shown(row, stream, diffs);
        let title = format!("captured, {by}");
        pictures.push(picture(&shown, shown.captured(&title), &title));
    }
    pictures
}

/// A [`comparison`] as a separate file.
pub fn comparison_file(
    row: impl Into<Row>,
    provoking: ProvokingVertex,
    mismatch: &Mismatch,
) -> String {
    mismatch_document(row.into(), provoking, mismatch, Usage::File).to_string()
}

/// All topologies as they should be captured, as a separate file.
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

/// How to read a picture.
pub const KEY: &str = "The dot is the vertex written first, the arrows lead to the next ones. Grey \
                       vertices are adjacency: never written.";

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
    // Centred vertically, if a neighbour is taller.
    let spare = (height - head.height() - stage.height) / 2.0;
    head.over(panel.finish(), head.height() + spare)
}

/// A document with the expected and the captured picture, side by side, and the differences below
/// them.
fn mismatch_document(
    row: Row,
    provoking: ProvokingVertex,
    mismatch: &Mismatch,
    usage: Usage,
) -> Document {
    let shown = shown(row, mismatch.stream, &mismatch.excerpt);
    let width = WIDTH * 2.0;
    let captions = captions(mismatch, &shown.diffs);
    let captions = captions
        .iter()
        .map(|caption| Lines::of(Lettering::Caption, caption, width - 2.0 * MARGIN))
        .collect::<Vec<_>>();
    let (expected, captured) = (shown.expected(provoking), shown.captured("captured"));
    // Vertices stand at the same height on both sides.
    let head = expected.0.height().max(captured.0.height());
    let below = head + shown.stage.height;
    let height = below + captions.iter().map(Lines::height).sum::<f32>() + 6.0;
    let description = format!("{}, expected and captured", title(row, mismatch.stream));
    let mut document = document(width, height, &description, usage)
        .add(expected.0.over(expected.1, head))
        .add(translated(captured.0.over(captured.1, head), WIDTH, 0.0));
    let mut y = below + 10.0;
    for caption in &captions {
        document = document.add(caption.draw(MARGIN, y));
        y += caption.height();
    }
    document
}

/// The primitives of one instance that fit the picture, and their stage.
struct Shown<'a> {
    stage: Stage,
    /// The vertex stream, if there are several.
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
    /// The panel of the expected primitives, and its head.
    fn expected(&self, provoking: ProvokingVertex) -> (Head, Group) {
        let Self { stage, stream, diffs } = self;
        // Only expected primitives: an excerpt may end before the stage does.
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

    /// The panel of the captured primitives, and its head.
    fn captured(&self, head: &str) -> (Head, Group) {
        let Self { stage, diffs, .. } = self;
        let mut panel = Panel::new(stage, "xf-captured");
        for diff in diffs {
            panel.captured(diff);
        }
        let note = match diffs.iter().any(|diff| diff.fault.is_some()) {
            true => "differences in red",
            // If the order is not promised, a rotation is not a difference.
            false if diffs.iter().any(|diff| !is_as_expected(diff)) => "rotated, as it may be",
            false => "as expected",
        };
        (Head::of(head, note, WIDTH), panel.finish())
    }
}

/// The fault under which the capture is reported, the first of each other kind, and how many more
/// there are.
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

/// A title, and a note below it.
struct Head {
    title: Lines,
    note: Lines,
}

impl Head {
    /// For a picture of that width.
    fn of(title: &str, note: &str, width: f32) -> Self {
        let lines = |lettering, content| Lines::of(lettering, content, width - 2.0 * MARGIN);
        Self { title: lines(Lettering::Title, title), note: lines(Lettering::Note, note) }
    }

    fn height(&self) -> f32 {
        46.0 + self.title.extra() + self.note.extra()
    }

    /// The head, and a panel that begins at `y`.
    fn over(&self, panel: Group, y: f32) -> Group {
        Group::new()
            .add(self.title.draw(MARGIN, 24.0))
            .add(self.note.draw(MARGIN, 41.0 + self.title.extra()))
            .add(translated(panel, 0.0, y))
    }
}

/// Whether a picture contains its style sheet.
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
    // XML cannot represent control characters, which names of outputs may contain.
    let content = content.replace(char::is_control, "\u{fffd}");
    Text::new(content).set("class", class).set("x", x).set("y", y)
}

fn is_as_expected(diff: &PrimitiveDiff) -> bool {
    diff.captured.iter().map(Slot::vertex).eq(diff.expected.iter().copied().map(Some))
}

/// The vertex that a slot contains, if it is one of that instance.
fn vertex_of(slot: &Slot, instance: u32) -> Option<u64> {
    match slot {
        Slot::Vertex(VertexRef { instance: i, vertex }) if *i == instance => {
            Some(u64::from(*vertex))
        }
        _ => None,
    }
}
