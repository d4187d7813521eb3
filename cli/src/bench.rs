//! `vkxfb bench`: measures captures.

use std::time::Duration;

use anyhow::{Result, bail};
use vkxfb_bench::Contestant;
use vkxfb_bench::plan::{Part, Plan, Selection};
use vkxfb_bench::run::{self, Effort};
use vkxfb_bench::table;
use vkxfb_probe::gpu::{DeviceSelector, Gpu, OpenOptions, Profile, Resources};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::PrimitiveTopology;

/// The arguments of `vkxfb bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BenchArguments {
    /// The device: its index, or a part of its name; by default the first
    #[arg(long)]
    device: Option<DeviceSelector>,
    /// Limit the features of the device that are used
    #[arg(long, value_enum, default_value_t)]
    profile: Profile,
    /// How the compute backend accesses memory, and which variants of the roofline (a kernel that
    /// only moves the bytes) are measured
    #[arg(long, value_enum, default_value_t)]
    resources: Resources,

    /// Pass lowered shaders to the driver without optimizing them, to rule out effects of the
    /// optimizer
    #[arg(long)]
    unoptimized: bool,
    /// Only these parts: draw, many-draws, indexed, formats, geometry, tessellation, pipelines
    #[arg(long, value_name = "PART,...", value_delimiter = ',', value_parser = crate::options::named_part::<Part>)]
    part: Vec<Part>,
    /// Only these topologies, for example triangle-list,triangle-strip
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = crate::options::part::<PrimitiveTopology>)]
    topology: Vec<PrimitiveTopology>,
    /// Only records of these sizes in bytes: 16, 32, 64, 256
    #[arg(long, value_name = "BYTES,...", value_delimiter = ',', value_parser = crate::options::part::<u32>)]
    size: Vec<u32>,
    /// Only records in these numbers of capture buffers: 1 to 4
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = crate::options::part::<u32>)]
    buffers: Vec<u32>,
    /// Only these numbers of vertices, or of indices: 3 to 64Mi
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = parse_count)]
    vertices: Vec<u32>,
    /// Only these contestants, in addition to the roofline: native, vertex, compute,
    /// compute-specialized
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = crate::options::named_part::<Contestant>)]
    backend: Vec<Contestant>,
    /// Measure every size, number of buffers and topology, with more numbers of vertices
    #[arg(long)]
    full: bool,
    /// The minimum number of timed captures of each contestant
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    rounds: u32,
    /// Leave out cases that would take longer, as predicted from measurements with fewer vertices; with --full the
    /// default is 60
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    limit: Option<Duration>,
    /// Run under the validation layer, which makes everything slower; its messages are errors
    #[arg(long)]
    validate: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  vkxfb bench                          every topology and workload, in a minute or two
  vkxfb bench --full --json            the full matrix, for machines; takes long
  vkxfb bench --part draw --topology triangle-strip --size 64 --vertices 1Mi,16Mi

Exit status: 0 all right; 1 a capture is wrong; 2 something kept the benchmark
from running, or the validation layer reported something. With --json
the error is an object then if there is no loader, driver or device,
{ \"error\": \"...\" }.";

/// Parses a count, which may have a binary unit: 300, 16Ki, 1Mi.
fn parse_count(text: &str) -> Result<u32, String> {
    let text = text.trim();
    let (digits, unit) = match text.split_at_checked(text.len().saturating_sub(2)) {
        Some((digits, "Ki")) => (digits, 1 << 10),
        Some((digits, "Mi")) => (digits, 1 << 20),
        _ => (text, 1),
    };
    let count: Option<u32> = digits.trim().parse().ok().and_then(|n: u32| n.checked_mul(unit));
    count.ok_or_else(|| "a number such as 300, 16Ki or 1Mi".to_owned())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.ok_or_else(|| "a number of seconds".to_owned())
}

impl BenchArguments {
    fn effort(&self) -> Effort {
        let effort = Effort::default();
        let limit = if self.full { Duration::from_secs(60) } else { effort.limit };
        Effort { min_rounds: self.rounds, limit: self.limit.unwrap_or(limit), ..effort }
    }

    fn plan(&self) -> Result<Plan> {
        Ok(Plan::new(&Selection {
            parts: self.part.clone(),
            topologies: self.topology.clone(),
            sizes: self.size.clone(),
            buffers: self.buffers.clone(),
            vertices: self.vertices.clone(),
            contestants: self.backend.clone(),
            full: self.full,
        })?)
    }
}

/// Runs `vkxfb bench`, and returns its exit status.
pub(crate) fn run(arguments: &BenchArguments) -> Result<u8> {
    // The arguments are checked before the device is opened, so that errors are reported at once.
    let plan = arguments.plan()?;
    let gpu = Gpu::open(&OpenOptions {
        device: arguments.device.clone(),
        profile: arguments.profile,
        resources: arguments.resources,
        unoptimized: arguments.unoptimized,
        validation: arguments.validate,
        ..OpenOptions::default()
    });
    let mut gpu = crate::print::error_as_json(gpu, arguments.json)?;
    // Backends that the user names must be available on the device.
    let asked: Vec<Backend> = arguments.backend.iter().filter_map(|c| c.backend()).collect();
    for backend in asked {
        gpu.capabilities().availability(backend)?;
        if !gpu.backends().contains(&backend) {
            bail!("the profile does not include the backend {backend}");
        }
    }
    let bar = crate::print::progress_bar();
    let result = run::run(&mut gpu, &plan, &arguments.effort(), |progress| {
        bar.set_length(progress.total as u64);
        bar.set_position(progress.done as u64);
        bar.set_message(progress.what.clone());
    });
    bar.finish_and_clear();
    let mut report = result?;
    report.validation = crate::print::once_each(&gpu.close());
    if arguments.json {
        crate::print::show_json(&report)?
    } else {
        crate::print::show(&table::render(&report))?
    }
    for wrong in report.wrong.iter().filter(|_| arguments.json) {
        crate::print::complain("wrong:", wrong);
    }
    Ok(match (report.wrong.is_empty(), report.validation.is_empty()) {
        (false, _) => 1,
        (true, false) => crate::status::COULD_NOT_RUN,
        (true, true) => 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_binary_units() {
        assert_eq!(parse_count("300"), Ok(300));
        assert_eq!(parse_count("16Ki"), Ok(16 << 10));
        assert_eq!(parse_count("64Mi"), Ok(64 << 20));
        for wrong in ["", "Mi", "-1", "1Gi", "8192Mi", "ä"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
    }
}
