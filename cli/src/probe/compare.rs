//! `vkxfb probe compare`: compares the reports of two probe runs.

use std::path::PathBuf;

use anyhow::Result;
use vkxfb_probe::compare::{Comparison, Recorded};

/// The arguments of `vkxfb probe compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompareArguments {
    /// The report of the first probe: the file of --report, or the saved output of --json
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The report of the second probe, in either form
    #[arg(value_name = "B")]
    after: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  vkxfb probe --report before.md
  vkxfb probe --report after.md             with another driver, or board
  vkxfb probe compare before.md after.md    which cases became right, which
                                            wrong, which are new or gone
  vkxfb probe --json > after.json
  vkxfb probe compare --json before.md after.json

Devices are paired by vendor and device ID; of two reports of one device each,
those two are compared. A case is right, wrong, or could not run.

Exit status: 0 nothing is worse; 1 a case that was right is not any more, a
new case is not right, a trial (indirect-dispatch, vertex-stores, counters)
became wrong or could not be made any more, or a device, a backend or a
topology of a backend has no case any more; 2 a file is no report, is cut off,
or has no case. So it can be the gate of a CI job. Other cases that are gone
are counted, and are no reason to fail: a probe with --quick has fewer.";

/// Runs `vkxfb probe compare`, and returns its exit status.
pub(super) fn run(arguments: &CompareArguments) -> Result<u8> {
    let before = Recorded::read(&arguments.before)?;
    let after = Recorded::read(&arguments.after)?;
    let comparison = Comparison::new(&before, &after);
    if arguments.json {
        crate::print::show_json(&comparison)?
    } else {
        crate::print::show(&comparison.to_string())?
    }
    Ok(u8::from(!comparison.is_no_worse()))
}
