//! What a capture lacks, all in one message.

use std::fmt::{self, Display, Formatter};

use anyhow::Result;

/// What nobody gave.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// Each with what would give it.
    items: Vec<String>,
    /// What helps to choose.
    remarks: Vec<String>,
}

impl Missing {
    /// Notes what is missing, and what would give it.
    pub(super) fn add(&mut self, item: String) {
        self.items.push(item);
    }

    /// Adds a line below all that is missing, once.
    pub(super) fn remark(&mut self, line: Option<String>) {
        self.remarks.extend(line.filter(|line| !self.remarks.contains(line)));
    }

    /// An error where anything is missing.
    pub(super) fn check(self) -> Result<()> {
        match self.items.is_empty() {
            true => Ok(()),
            false => Err(self.into()),
        }
    }
}

impl std::error::Error for Missing {}

impl Display for Missing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("these are missing:")?;
        self.items.iter().try_for_each(|item| write!(f, "\n  {item}"))?;
        self.remarks.iter().try_for_each(|line| write!(f, "\n{line}"))
    }
}
