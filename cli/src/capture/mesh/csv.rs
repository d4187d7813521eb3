//! Reads CSV files, which have column names in the first line, and then a line for each vertex.

use anyhow::{Context, Result, bail};

use super::{Parsed, Scalar, Values};

pub(super) fn parse(bytes: &[u8]) -> Result<Parsed> {
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_reader(bytes);
    let names: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    if names.iter().all(String::is_empty) {
        bail!("no line with the names of the columns");
    }
    let is_again = |at: &usize| !names[*at].is_empty() && names[..*at].contains(&names[*at]);
    if let Some(again) = (0..names.len()).find(is_again) {
        bail!("two columns are named '{}'", names[again]);
    }
    let mut columns: Vec<Numbers> = names.iter().map(|_| Numbers::default()).collect();
    let mut vertices = 0;
    for record in reader.records() {
        let record = record?;
        let line = record.position().map_or(0, ::csv::Position::line);
        for ((column, name), cell) in columns.iter_mut().zip(&names).zip(&record) {
            column
                .push(cell)
                .with_context(|| format!("line {line}, column {name}: '{cell}' is no number"))?;
        }
        vertices += 1;
    }
    let scalar = |(name, numbers): (String, Numbers)| Scalar { name, values: numbers.finish() };
    let scalars = names.into_iter().zip(columns).map(scalar).collect();
    Ok(Parsed { scalars, vertices, ..Parsed::default() })
}

/// The numbers of a column. They are integers if all of them are integers; otherwise all are floats.
#[derive(Default)]
struct Numbers {
    ints: Vec<i128>,
    /// All numbers as floats. `None` while all are integers.
    floats: Option<Vec<f64>>,
}

impl Numbers {
    fn push(&mut self, cell: &str) -> Result<()> {
        match (&mut self.floats, cell.parse::<i128>()) {
            (Some(floats), _) => floats.push(cell.parse()?),
            (None, Ok(int)) => self.ints.push(int),
            (None, Err(_)) => {
                let float = cell.parse()?;
                let ints = std::mem::take(&mut self.ints).into_iter();
                self.floats = Some(ints.map(|int| int as f64).chain([float]).collect());
            }
        }
        Ok(())
    }

    fn finish(self) -> Values {
        match self.floats {
            Some(floats) => Values::Float(floats),
            None => Values::Int { values: self.ints, one: 1 },
        }
    }
}
