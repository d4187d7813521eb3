//! Runs the trials and the cases of a probe in child processes, each alone. One that takes the device or its process
//! with it is recorded, and another child goes on behind it.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use vkxfb::lower::Backend;
use vkxfb_probe::gpu::Gpu;
use vkxfb_probe::plan::{Batch, Plan};
use vkxfb_probe::report::{LostCase, ProbeReport};
use vkxfb_probe::run::{Event, Loss, Position, Progress, numbered_cases, run_alone, run_trial};
use vkxfb_probe::trial::{Trial, TrialResult, Tried};

/// After so many losses with one batch, its other cases are left out.
const MOST_OF_A_BATCH: usize = 3;

/// After so many losses, all other cases are left out.
const MOST: usize = 64;

/// What a child takes beside the time that the device has for a case: its start, and what the host does.
const SPARE: Duration = Duration::from_secs(10);

/// What a child is told to do.
#[derive(Debug, Clone)]
pub(super) struct Task {
    /// Index of the device.
    pub device: usize,
    /// [`Plan::slow`]
    pub slow: Vec<Backend>,
    what: What,
}

#[derive(Debug, Clone, Copy)]
enum What {
    /// The cases from there on.
    Cases(Position),
    /// A trial.
    Trial(Trial),
}

impl FromStr for Task {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (device, what) = text.split_once(':')?;
            let (what, slow) = what.split_once('/')?;
            let slow = slow.split_terminator('+').map(crate::parse_backend);
            let slow = slow.collect::<Result<_, _>>().ok()?;
            let what = match what.split_once(':') {
                Some((batch, case)) => {
                    What::Cases(Position { batch: batch.parse().ok()?, case: case.parse().ok()? })
                }
                None => What::Trial(what.parse().ok()?),
            };
            Some(Self { device: device.parse().ok()?, slow, what })
        };
        parse().ok_or_else(|| "for the probe's own use".to_owned())
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Cases(Position { batch, case }) => write!(f, "{}:{batch}:{case}/", self.device),
            What::Trial(trial) => write!(f, "{}:{trial}/", self.device),
        }?;
        self.slow.iter().try_for_each(|backend| write!(f, "{backend}+"))
    }
}

/// The child's part: runs a trial, or cases, and tells of them on standard output.
pub(super) fn work(task: &Task, mut gpu: Gpu, plan: &Plan, report: &mut ProbeReport) -> Result<()> {
    let mut out = std::io::stdout();
    let mut tell = |event: Event| {
        serde_json::to_writer(&mut out, &event)?;
        out.write_all(b"\n")?;
        out.flush()
    };
    let works = match task.what {
        What::Cases(from) => run_alone(&mut gpu, plan, from, report, &mut tell)?,
        What::Trial(trial) => {
            let tried = run_trial(&mut gpu, plan, trial);
            let works = tried.result != TrialResult::Lost;
            tell(Event::Tried(Box::new(tried)))?;
            works
        }
    };
    if works {
        tell(Event::Done(crate::once_each(&gpu.close())))?;
    }
    Ok(())
}

/// How a child ended.
enum End {
    /// Everything is done, or a failure is enough.
    Done,
    /// The device was lost, the child ended or did not end, with that case if one had begun.
    Lost { at: Option<Position>, how: String },
}

/// A probe whose cases run in child processes.
pub(super) struct Isolated<'a> {
    pub plan: &'a Plan,
    pub device: usize,
    /// How long the device has for a case.
    pub timeout: Duration,
}

impl Isolated<'_> {
    fn task(&self, what: What) -> Task {
        Task { device: self.device, slow: self.plan.slow.clone(), what }
    }

    /// Makes the trials that the report does not have yet.
    pub(super) fn run_trials(&self, report: &mut ProbeReport) -> Result<()> {
        for trial in Trial::ALL {
            if report.trials.iter().any(|tried| tried.trial == trial) {
                continue;
            }
            let made = report.trials.len();
            let task = self.task(What::Trial(trial));
            if let End::Lost { how, .. } = self.run_child(&task, &[], report, &mut |_| {})?
                && report.trials.len() == made
            {
                report.trials.push(Tried::new(trial, TrialResult::Lost, how));
            }
        }
        Ok(())
    }

    /// Runs the plan from a position on.
    pub(super) fn run(
        &self,
        mut from: Position,
        report: &mut ProbeReport,
        mut observe: impl FnMut(Progress<'_>),
    ) -> Result<()> {
        let batches = self.plan.all_batches();
        let (mut of_batch, mut lost_batch) = (0, None);
        while from.batch < batches.len() {
            let task = self.task(What::Cases(from));
            let (at, how) = match self.run_child(&task, &batches, report, &mut observe)? {
                End::Done => return Ok(()),
                End::Lost { at, how } => (at, how),
            };
            let Some(at) = at else {
                if report.losses.is_empty() {
                    bail!("of a child process, before its first case: {how}");
                }
                let why = format!("left out: of a child process, before its first case: {how}");
                leave_out(&batches[from.batch..], &why, report);
                return Ok(());
            };
            let Some(batch) = batches.get(at.batch) else {
                bail!("a child process began a batch that there is not: {}", at.batch);
            };
            of_batch = if lost_batch == Some(at.batch) { of_batch + 1 } else { 1 };
            lost_batch = Some(at.batch);
            let next_batch = Position { batch: at.batch + 1, case: 0 };
            from = record(at, batch, &how, report).unwrap_or(next_batch);
            if report.losses.len() >= MOST {
                let why = format!("left out: the device was lost with {MOST} cases");
                leave_out(&batches[from.batch..], &why, report);
                return Ok(());
            }
            if of_batch == MOST_OF_A_BATCH && from != next_batch {
                let why = format!("left out: lost with {MOST_OF_A_BATCH} cases of the same shader");
                leave_out(std::slice::from_ref(batch), &why, report);
                from = next_batch;
            }
        }
        Ok(())
    }

    /// Goes on where the device was lost, with the cases of the batch in which it was.
    pub(super) fn run_from_loss(
        &self,
        loss: &Loss,
        report: &mut ProbeReport,
        observe: impl FnMut(Progress<'_>),
    ) -> Result<()> {
        self.run(loss.at, report, observe)?;
        let batches = self.plan.all_batches();
        let Some(batch) = batches.get(loss.at.batch) else { return Ok(()) };
        let (backend, cases) = (batch.group.backend, numbered_cases(batch));
        let is_named = |lost: &LostCase| lost.backend == backend && cases.contains(&lost.case);
        if !report.losses.iter().any(is_named)
            && let Some(case) = cases.get(loss.at.case.saturating_sub(1))
        {
            let others = batch.draws.len().saturating_sub(1);
            let how = format!("{}, together with {others} others; alone none did it", loss.how);
            report.record_loss(backend, case, how);
        }
        Ok(())
    }

    /// Lets a child do a task.
    fn run_child(
        &self,
        task: &Task,
        batches: &[Batch<'_>],
        report: &mut ProbeReport,
        observe: &mut impl FnMut(Progress<'_>),
    ) -> Result<End> {
        let mut child = Running::start(task)?;
        let mut at = None;
        loop {
            let line = match child.lines.recv_timeout(self.timeout + SPARE) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = (self.timeout + SPARE).as_secs();
                    let how = format!("its process did not answer for {seconds} s, and was ended");
                    return Ok(End::Lost { at, how });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = child.process.wait().context("cannot wait for a child process")?;
                    return Ok(End::Lost { at, how: format!("its process ended ({status})") });
                }
            };
            let event = serde_json::from_str(&line)
                .with_context(|| format!("a child process wrote what is no result: {line}"))?;
            match event {
                Event::Begin(position) => {
                    if let Some(batch) = batches.get(position.batch) {
                        let (done, total, group) = (position.batch, batches.len(), batch.group);
                        observe(Progress { done, total, group });
                    }
                    at = Some(position);
                }
                Event::Found(findings) => {
                    report.absorb(*findings);
                    if self.plan.fail_fast && report.has_failures() {
                        return Ok(End::Done);
                    }
                }
                Event::Tried(tried) => report.trials.push(*tried),
                Event::Lost(how) => return Ok(End::Lost { at, how }),
                Event::Done(messages) => {
                    report.validation.extend(messages);
                    return Ok(End::Done);
                }
            }
        }
    }
}

/// Records a loss. Returns the next position in the same batch, if there is one.
fn record(
    at: Position,
    batch: &Batch<'_>,
    how: &str,
    report: &mut ProbeReport,
) -> Option<Position> {
    let (backend, cases) = (batch.group.backend, numbered_cases(batch));
    if let Some(index) = at.case.checked_sub(1) {
        report.record_loss(backend, cases.get(index)?, how);
        return (at.case < cases.len()).then_some(Position { case: at.case + 1, ..at });
    }
    // What all of them need could not be made.
    let (first, others) = cases.split_first()?;
    report.record_loss(backend, first, how);
    for case in others {
        report.record_error(backend, case, how);
    }
    None
}

fn leave_out(batches: &[Batch<'_>], why: &str, report: &mut ProbeReport) {
    for Batch { group, .. } in batches {
        report.skip(group.backend, group.row(), why);
    }
}

/// A child process, which ends when this is dropped.
struct Running {
    process: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Starts this program once more, with the same arguments.
    fn start(task: &Task) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's file")?;
        let mut process = Command::new(program)
            .args(std::env::args_os().skip(1))
            .arg("--worker")
            .arg(task.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a child process")?;
        let out = process.stdout.take();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines());
            // A line that cannot be read is the end, and so is a receiver that is gone.
            for line in lines.map_while(std::io::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { process, lines })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
