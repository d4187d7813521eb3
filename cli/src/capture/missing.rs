//! Collects everything that the user has to supply for a capture, so that one message can list it.

use std::fmt::{self, Display, Formatter};

use anyhow::Result;

/// The values and files that the user has to supply but did not supply.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// A description of each missing value or file, with the option that supplies it.
    items: Vec<String>,
    /// Lines that help to choose, such as the columns of a file.
    remarks: Vec<String>,
}

impl Missing {
    /// Adds a missing value or file, with the option that supplies it.
    pub(super) fn add(&mut self, item: String) {
        self.items.push(item);
    }

    /// Adds a line below the list, unless it has been added before.
    pub(super) fn remark(&mut self, line: Option<String>) {
        self.remarks.extend(line.filter(|line| !self.remarks.contains(line)));
    }

    /// Fails if anything is missing.
    pub(super) fn check(self) -> Result<()> {
        if self.items.is_empty() { Ok(()) } else { Err(self.into()) }
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
