//! Plots a run: captured bytes per second over the number of vertices, with a panel for each
//! topology.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;

use svg::Document;
use svg::node::element::path::Data;
use svg::node::element::{Circle, Group, Line, Path, Rectangle, Style, Text};
use vkxfb_probe::picture::text_width;
use vkxfb_rewriter::topology::PrimitiveTopology;

use crate::case::Workload;
use crate::contestant::Contestant;
use crate::report::{BenchReport, CaseReport};

const STYLE: &str = include_str!("plot.css");

const COLUMNS: usize = 2;
/// The size of a panel, in user units of SVG.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 250.0;
/// The margins of a panel, in user units.
const LEFT: f64 = 52.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 34.0;
/// The height of the head above the panels, in user units.
const HEAD: f64 = 84.0;
const GUTTER: f64 = 16.0;

/// The ranges of the axes, which all panels share. Vertices are shown by powers of two, bytes per
/// second by powers of ten.
struct Axes {
    /// The range of the x axis, as exponents of two.
    x: [f64; 2],
    /// The range of the y axis, as exponents of ten. They are integers.
    y: [f64; 2],
}

impl Axes {
    fn of(cases: &[&CaseReport]) -> Self {
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], v| {
                [low.min(v), high.max(v)]
            })
        };
        let x = range(&mut cases.iter().map(|c| f64::from(c.vertices).log2()));
        let rates = cases.iter().flat_map(|c| &c.results).map(|r| r.captured_gb_per_s);
        let y = range(&mut rates.filter(|rate| *rate > 0.0).map(f64::log10));
        // If the range is small, for example because there is only one point, it is widened.
        let widen = |[low, high]: [f64; 2]| {
            if high - low < 1.0 { [low - 1.0, low + 1.0] } else { [low, high] }
        };
        Self { x: widen(x), y: widen([y[0].floor(), y[1].ceil()]) }
    }

    fn at(&self, vertices: f64, rate: f64) -> (f64, f64) {
        let part = |[low, high]: [f64; 2], value: f64| (value - low) / (high - low);
        let x = LEFT + part(self.x, vertices.log2()) * (WIDTH - LEFT - RIGHT);
        let y = HEIGHT - BOTTOM - part(self.y, rate.log10()) * (HEIGHT - TOP - BOTTOM);
        (x, y)
    }
}

/// Renders the plot as an SVG file. It shows draws without indices, for the record that was
/// measured with the most numbers of vertices. `None` if no such draw was measured.
pub fn render(report: &BenchReport) -> Option<String> {
    let draws: Vec<_> = report.cases.iter().filter(|c| c.workload == Workload::Draw).collect();
    let record_of = |case: &CaseReport| (case.record_bytes, case.buffers);
    let records: BTreeSet<_> = draws.iter().map(|c| record_of(c)).collect();
    let most = |r: &(u32, u32)| draws.iter().filter(|c| record_of(c) == *r).count();
    let record = records.into_iter().rev().max_by_key(most)?;
    let cases: Vec<_> = draws.into_iter().filter(|c| record_of(c) == record).collect();
    let axes = Axes::of(&cases);
    let is_shown = |t: &PrimitiveTopology| cases.iter().any(|c| c.topology == *t);
    let topologies: Vec<_> = PrimitiveTopology::ALL.into_iter().filter(is_shown).collect();

    let columns = COLUMNS.min(topologies.len());
    let rows = topologies.len().div_ceil(COLUMNS);
    let height = HEAD + (HEIGHT + GUTTER) * rows as f64;
    let device = &report.device.name;
    let (bytes, buffers) = record;
    let plural = if buffers == 1 { "" } else { "s" };
    let note = format!(
        "captured bytes, 10\u{2079} a second, over the vertices of a draw; \
         {bytes} bytes per vertex in {buffers} buffer{plural}"
    );
    let (legend, legend_width) = legend(&cases);
    // The plot is as wide as the panels or the text above them, whichever is wider.
    let text_width = |text: &str, size, is_bold| f64::from(text_width(text, size, is_bold));
    let head = [text_width(device, 18.0, true), text_width(&note, 11.0, false), legend_width];
    let panels = (WIDTH + GUTTER) * columns.max(1) as f64 - GUTTER;
    let width = head.into_iter().fold(panels, f64::max).ceil() + 2.0 * GUTTER;
    let mut document = Document::new()
        .set("viewBox", (0, 0, width, height))
        .set("width", width)
        .set("height", height)
        .add(Style::new(STYLE))
        .add(Rectangle::new().set("width", width).set("height", height).set("class", "page"))
        .add(text(GUTTER, 26.0, "title", device))
        .add(text(GUTTER, 45.0, "note", &note))
        .add(legend);
    for (i, topology) in topologies.into_iter().enumerate() {
        let x = GUTTER + (WIDTH + GUTTER) * (i % COLUMNS) as f64;
        let y = HEAD + (HEIGHT + GUTTER) * (i / COLUMNS) as f64;
        let of_topology: Vec<_> =
            cases.iter().copied().filter(|c| c.topology == topology).collect();
        let panel = panel(topology, &of_topology, &axes);
        document = document.add(panel.set("transform", format!("translate({x} {y})")));
    }
    Some(document.to_string())
}

fn text(x: f64, y: f64, class: &str, content: &str) -> Text {
    Text::new(content).set("x", x).set("y", y).set("class", class)
}

fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) -> Line {
    let line = Line::new().set("x1", x1).set("y1", y1).set("x2", x2).set("y2", y2);
    line.set("class", class)
}

/// Draws a line and the name for each contestant. Also returns how wide all are together.
fn legend(cases: &[&CaseReport]) -> (Group, f64) {
    let is_shown = |c: &Contestant| cases.iter().any(|case| case.result(*c).is_some());
    let mut group = Group::new();
    let mut x = GUTTER;
    for contestant in Contestant::ALL.into_iter().filter(is_shown) {
        let name = &contestant.to_string();
        let class = format!("line {name}");
        group = group.add(line((x, 64.0), (x + 24.0, 64.0), &class)).add(text(
            x + 30.0,
            68.0,
            "label",
            name,
        ));
        x += 52.0 + f64::from(text_width(name, 12.0, false));
    }
    (group, x - GUTTER)
}

fn panel(topology: PrimitiveTopology, cases: &[&CaseReport], axes: &Axes) -> Group {
    let frame = Rectangle::new().set("width", WIDTH).set("height", HEIGHT).set("class", "card");
    let mut group = Group::new().add(frame).add(text(LEFT, 20.0, "name", &topology.to_string()));
    for exponent in axes.y[0] as i32..=axes.y[1] as i32 {
        let rate = 10f64.powi(exponent);
        let ((left, y), (right, _)) =
            (axes.at(axes.x[0].exp2(), rate), axes.at(axes.x[1].exp2(), rate));
        let label = text(left - 6.0, y + 3.5, "tick end", &number(rate));
        group = group.add(line((left, y), (right, y), "grid")).add(label);
    }
    let bottom = HEIGHT - BOTTOM;
    for exponent in (axes.x[0].ceil() as i32..=axes.x[1].floor() as i32).filter(|e| e % 5 == 0) {
        let (x, _) = axes.at(f64::from(exponent).exp2(), 1.0);
        group = group.add(line((x, TOP), (x, bottom), "grid")).add(text(
            x,
            bottom + 16.0,
            "tick middle",
            &power_of_two(exponent),
        ));
    }
    for contestant in Contestant::ALL {
        group = group.add(series(contestant, cases, axes));
    }
    group
}

/// Draws a line through the medians of a contestant, and bars from the tenth to the ninetieth
/// percentile.
fn series(contestant: Contestant, cases: &[&CaseReport], axes: &Axes) -> Group {
    let mut group = Group::new();
    let mut data: Option<Data> = None;
    for case in cases {
        let Some(result) = case.result(contestant) else { continue };
        let at = |time: f64| axes.at(f64::from(case.vertices), case.bytes_written as f64 / time);
        let time = result.time_ns;
        if time.p10 <= 0.0 {
            continue;
        }
        let point = at(time.median);
        data = Some(match data {
            None => Data::new().move_to(point),
            Some(data) => data.line_to(point),
        });
        let class = |kind: &str| format!("{kind} {contestant}");
        let dot = Circle::new().set("cx", point.0).set("cy", point.1).set("r", 2.2);
        group = group
            .add(line(at(time.p10), at(time.p90), &class("spread")))
            .add(dot.set("class", class("dot")));
    }
    match data {
        None => group,
        Some(data) => {
            let class = format!("line {contestant}");
            group.add(Path::new().set("d", data).set("class", class))
        }
    }
}

/// Formats a power of ten without trailing zeros.
fn number(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

/// Formats a power of two: for the exponent 20, "1 Mi".
fn power_of_two(exponent: i32) -> String {
    let (unit, rest) = match exponent {
        20.. => (" Mi", exponent - 20),
        10.. => (" Ki", exponent - 10),
        _ => ("", exponent),
    };
    format!("{}{unit}", 1 << rest.clamp(0, 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_named_in_binary_units() {
        assert_eq!(
            [0, 5, 10, 15, 20, 25].map(power_of_two),
            ["1", "32", "1 Ki", "32 Ki", "1 Mi", "32 Mi"]
        );
        assert_eq!([0.001, 1.0, 100.0].map(number), ["0.001", "1", "100"]);
    }
}
