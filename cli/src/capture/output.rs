//! Formats the captured records as a table, CSV, JSON, PLY or glTF.

mod gltf;
mod ply;
mod vertices;

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use ply_rs_bw::ply::Encoding;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use vkxfb_probe::terminal::in_line;
use vkxfb_rewriter::topology::PrimitiveTopology;

use super::progress::Steps;
use super::records::{Column, Number, Records, place};

/// How captured vertices are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A table for reading
    Table,
    /// Column names in the first line, then a line for each vertex
    Csv,
    /// Also contains the device, the types and the counts
    Json,
    /// A mesh, in binary
    Ply,
    /// A mesh, as PLY in text
    PlyText,
    /// A mesh, as binary glTF, which has to be written to a file
    Glb,
}

impl Format {
    /// Returns the format for a file with this extension: a table for `.txt` and for a file without an extension.
    pub(super) fn of(file: &Path) -> Result<Self> {
        let extension = file.extension().map(|extension| extension.to_string_lossy());
        match extension.as_deref() {
            None | Some("txt") => Ok(Self::Table),
            Some("png" | "svg") => {
                bail!("{}: --picture draws that; --output writes the vertices", file.display())
            }
            Some("gltf") => bail!("{}: glTF is written as .glb, its binary form", file.display()),
            Some(other) => Self::from_str(other, true).map_err(|_| {
                // The text has the same extension.
                let all = Self::value_variants().iter().filter(|format| **format != Self::PlyText);
                let all = all.filter_map(Self::to_possible_value);
                let all: Vec<_> = all.map(|format| format!(".{}", format.get_name())).collect();
                let all = all.join(", ").replace(".table", ".txt");
                anyhow!("{}: cannot write .{other}; use {all}, or --format", file.display())
            }),
        }
    }

    /// Checks that the format can represent the numbers of these columns.
    pub(super) fn check(self, columns: &[Column]) -> Result<()> {
        match self {
            Self::Table | Self::Csv | Self::Json => Ok(()),
            Self::Glb if place(columns).is_none() => {
                bail!("nothing that is captured is a position, which a mesh of glTF has")
            }
            Self::Glb => Ok(()),
            Self::Ply | Self::PlyText => ply::check(columns),
        }
    }
}

pub(super) struct Shown<'a> {
    pub(super) device: &'a str,
    pub(super) backend: &'static str,
    pub(super) topology: PrimitiveTopology,
    pub(super) primitives_written: u64,
    pub(super) primitives_needed: u64,
    /// The vertex stream that is shown.
    pub(super) stream: u32,
    pub(super) others: &'a [u32],
    pub(super) records: &'a Records<'a>,
}

/// The maximum number of rows of a table on a terminal.
const MOST_ROWS: usize = 200;

const RULES: TableStyle =
    TableStyle::new().top_border(RULE).header_separator(RULE).bottom_border(RULE);
const RULE: LineStyle = LineStyle::none().fill('─').junction('─');

impl Shown<'_> {
    /// Returns the capture in a format. Text ends with a line break.
    pub(super) fn render(&self, format: Format, progress: &Steps) -> Result<Vec<u8>> {
        Ok(match format {
            Format::Table => self.table(self.records.vertices).into_bytes(),
            Format::Csv => self.csv()?,
            Format::Json => {
                let mut json = serde_json::to_vec_pretty(&Json::of(self))?;
                json.push(b'\n');
                json
            }
            Format::Ply => ply::render(self, Encoding::BinaryLittleEndian, progress)?,
            Format::PlyText => ply::render(self, Encoding::Ascii, progress)?,
            Format::Glb => gltf::render(self)?,
        })
    }

    /// Summarizes the capture in a sentence.
    pub(super) fn summary(&self) -> String {
        let Self { topology, backend, device, primitives_written, primitives_needed, .. } = self;
        let vertices = self.records.vertices;
        let lost = match primitives_needed.checked_sub(*primitives_written) {
            Some(0) => String::new(),
            Some(lost) => format!(", {lost} did not fit"),
            // A faulty driver may report fewer primitives needed than primitives written.
            None => format!(", the query counted {primitives_needed}"),
        };
        let vertex = if vertices == 1 { "vertex" } else { "vertices" };
        let of_stream = match (self.stream, self.others) {
            (0, []) => String::new(),
            (stream, []) => format!(" of stream {stream}"),
            (stream, others) => {
                let others: Vec<String> = others.iter().map(u32::to_string).collect();
                format!(" of stream {stream} (others: --stream {})", others.join(", "))
            }
        };
        let primitive = if *primitives_written == 1 { "primitive" } else { "primitives" };
        format!(
            "{vertices} {vertex} of {primitives_written} {primitive} ({topology}){of_stream} written{lost}; \
             backend {backend}, {}",
            in_line(device)
        )
    }

    fn per_primitive(&self) -> usize {
        self.topology.vertices_per_primitive() as usize
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.records.columns.iter().flat_map(Column::names)
    }

    fn numbers(&self, vertex: usize) -> impl Iterator<Item = Number> {
        self.records.columns.iter().flat_map(move |column| self.records.numbers(vertex, column))
    }

    /// Returns the table for a terminal, with at most [`MOST_ROWS`] rows.
    pub(super) fn table_for_terminal(&self) -> String {
        self.table(MOST_ROWS)
    }

    fn table(&self, most: usize) -> String {
        let mut table = Table::new();
        table.load_style(RULES).force_no_tty();
        // A table is for reading, wherever it goes: a line break in a name must not look like a row.
        let names = self.names().map(|name| in_line(&name));
        table.set_header(["primitive".to_owned()].into_iter().chain(names));
        let vertices = self.records.vertices;
        for vertex in 0..vertices.min(most) {
            let primitive = (vertex / self.per_primitive()).to_string();
            let numbers = self.numbers(vertex).map(|number| number.to_string());
            table.add_row([primitive].into_iter().chain(numbers));
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let lines = table.trim_fmt();
        let cut = match vertices.saturating_sub(most) {
            0 => String::new(),
            more => format!(
                "{more} of {vertices} rows are not shown; --output FILE or a pipe has all\n"
            ),
        };
        format!("{lines}\n{cut}{}\n", self.summary())
    }

    fn csv(&self) -> Result<Vec<u8>> {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        writer.write_record(["primitive".to_owned()].into_iter().chain(self.names()))?;
        for vertex in 0..self.records.vertices {
            let primitive = (vertex / self.per_primitive()).to_string();
            let numbers = self.numbers(vertex).map(|number| number.to_string());
            writer.write_record([primitive].into_iter().chain(numbers))?;
        }
        writer.into_inner().context("cannot write CSV")
    }
}

#[derive(Serialize)]
struct Json<'a> {
    device: &'a str,
    backend: &'static str,
    topology: String,
    vertices_per_primitive: usize,
    primitives_written: u64,
    /// The number of primitives that would have been written if the buffers were large enough.
    primitives_needed: u64,
    /// The vertex stream that is shown.
    stream: u32,
    columns: Vec<JsonColumn<'a>>,
    records: Vec<JsonRecord<'a>>,
}

#[derive(Serialize)]
struct JsonColumn<'a> {
    name: String,
    /// The type in GLSL.
    #[serde(rename = "type")]
    ty: &'a str,
    buffer: u32,
    /// The offset in bytes from the start of the record.
    offset: u32,
}

#[derive(Serialize)]
struct JsonRecord<'a> {
    primitive: usize,
    outputs: Outputs<'a>,
}

/// The values of a vertex. They are serialized as a map from names of outputs to values, in the order of the outputs.
struct Outputs<'a> {
    records: &'a Records<'a>,
    vertex: usize,
}

impl<'a> Json<'a> {
    fn of(shown: &'a Shown<'a>) -> Self {
        let column = |column: &'a Column| {
            let (buffer, offset) = column.place();
            let name = match &column.letters[..] {
                [_] => column.names().concat(),
                _ => column.name.clone(),
            };
            JsonColumn { name, ty: &column.ty, buffer, offset }
        };
        let record = |vertex| JsonRecord {
            primitive: vertex / shown.per_primitive(),
            outputs: Outputs { records: shown.records, vertex },
        };
        Self {
            device: shown.device,
            backend: shown.backend,
            topology: shown.topology.to_string(),
            vertices_per_primitive: shown.per_primitive(),
            primitives_written: shown.primitives_written,
            primitives_needed: shown.primitives_needed,
            stream: shown.stream,
            columns: shown.records.columns.iter().map(column).collect(),
            records: (0..shown.records.vertices).map(record).collect(),
        }
    }
}

/// A scalar becomes a number, and a vector becomes a list.
impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = self.records.columns;
        let mut map = serializer.serialize_map(Some(columns.len()))?;
        for column in columns {
            let numbers = self.records.numbers(self.vertex, column);
            match &numbers[..] {
                [number] => map.serialize_entry(&column.names().concat(), number)?,
                _ => map.serialize_entry(&column.name, &numbers)?,
            }
        }
        map.end()
    }
}
