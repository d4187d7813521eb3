//! Numbers the footnotes of a table, for texts that are too long for its cells.

/// The texts of the footnotes, without repetitions.
#[derive(Debug, Default)]
pub(crate) struct Footnotes(Vec<String>);

impl Footnotes {
    /// Returns the number of a text, from 1. Adds the text if it is new.
    pub fn number(&mut self, text: &str) -> usize {
        let index = self.0.iter().position(|t| t == text).unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        });
        index + 1
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.0.iter().map(String::as_str))
    }
}
