//! Runs a probe in child processes, one at a time, which a driver may crash: first the trials, which test properties of
//! the device, then the cases, which are captures. The draws of a batch are submitted together. After a loss of the
//! device, or a crash, the cases run one by one. If a case loses the device or crashes its process, that is recorded,
//! and another child process continues with the next case.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use vkxfb_probe::gpu::Gpu;
use vkxfb_probe::plan::{Batch, Plan};
use vkxfb_probe::report::{LostCase, ProbeReport};
use vkxfb_probe::run::{
    Event, Position, Progress, leave_out, numbered_cases, run_alone, run_together, run_trial,
};
use vkxfb_probe::trial::{Trial, TrialReport, TrialResult};
use vkxfb_rewriter::lower::Backend;

use super::running::{self, Running};

/// After this many losses (of the device, or crashes) in one batch of draws, the remaining cases of the batch are left
/// out.
const MAX_LOSSES_OF_BATCH: usize = 3;

/// After this many losses by one backend, its remaining cases are left out. Each backend has that many: a driver may
/// crash by each draw of one, and capture everything by another.
const MAX_LOSSES: usize = 32;

/// The time that a child process may take in addition to the time limit of a submission, to start and for
/// work on the host.
const HOST_TIME: Duration = Duration::from_secs(10);

/// The exit statuses of a child process that no driver has ended: after an error, and after a panic.
const OWN_ERRORS: [i32; 2] = [crate::status::COULD_NOT_RUN as i32, 101];

/// The task of a child process, which gets it as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Task {
    pub device: usize,
    /// The names of the backends whose large draws are left out: [`Plan::slow`].
    pub slow: Vec<String>,
    kind: TaskKind,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum TaskKind {
    /// Run the trials from this one on.
    Trials(Trial),
    /// Run all cases, and submit the draws of each batch together.
    Together,
    /// Run the cases from a position on, one by one.
    Cases(Position),
}

impl Task {
    /// Whether the task runs cases one by one, so that one that takes too long can be told.
    pub(super) const fn is_one_by_one(&self) -> bool {
        matches!(self.kind, TaskKind::Cases(_))
    }
}

/// Runs a task in this process, which is a child process. The events are written to standard output, as lines of JSON.
/// The file `running` names each trial, batch or case before it starts.
pub(super) fn work(
    task: &Task,
    mut gpu: Gpu,
    plan: &Plan,
    report: &mut ProbeReport,
    mut running: Option<Running>,
) -> Result<()> {
    let (batches, empty) = (plan.all_batches(), report.clone());
    if let TaskKind::Trials(first) = task.kind {
        for trial in Trial::ALL.into_iter().skip_while(|trial| *trial != first) {
            if let Some(running) = &mut running {
                running.say(&running::trial_line(report, trial))?;
            }
            let tried = run_trial(&mut gpu, plan, trial);
            let is_lost = tried.result == TrialResult::Lost;
            send(&Event::Trial(Box::new(tried)))?;
            if is_lost {
                return Ok(());
            }
        }
    }
    let mut tell = |event: Event| {
        if let (Some(running), Event::Begin(at)) = (&mut running, &event)
            && let Some(batch) = batches.get(at.batch)
        {
            let cases = numbered_cases(batch);
            running.say(&match at.case.checked_sub(1).and_then(|index| cases.get(index)) {
                Some(case) => running::case_line(&empty, batch, case),
                None => running::batch_line(&empty, at.batch + 1, batch),
            })?;
        }
        send(&event)
    };
    let works = match task.kind {
        TaskKind::Trials(_) => true,
        TaskKind::Together => run_together(&mut gpu, plan, report, &mut tell)?,
        TaskKind::Cases(from) => run_alone(&mut gpu, plan, from, report, &mut tell)?,
    };
    if works {
        send(&Event::Done(crate::print::once_each(&gpu.close())))?;
    }
    Ok(())
}

/// Writes an event to standard output, after what was logged before it, so that a crash loses nothing of the log.
fn send(event: &Event) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let text = crate::log::take();
    let logged = (!text.is_empty()).then_some(Event::Log(text));
    for event in logged.iter().chain([event]) {
        serde_json::to_writer(&mut out, event)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// The ways in which a child process can end.
enum ChildEnd {
    /// The process completed its task, or stopped after the first failure because of `--fail-fast`.
    Done,
    /// The device was lost, the process crashed, or it sent no events for too long. `at` is the
    /// position of the case that was running, if there was one.
    Lost { at: Option<Position>, how: String },
}

/// A probe of one device whose cases run in child processes.
pub(super) struct Isolated<'a> {
    /// The device in this process, of which only the properties are asked.
    pub gpu: &'a Gpu,
    pub plan: &'a Plan,
    /// The time limit of a submission.
    pub timeout: Duration,
    /// Whether cases run one by one from the start, with a time limit for each child process to answer.
    pub one_by_one: bool,
}

impl Isolated<'_> {
    fn task(&self, kind: TaskKind) -> Task {
        let slow = self.plan.slow.iter().map(Backend::to_string).collect();
        Task { device: self.gpu.device_index(), slow, kind }
    }

    /// Runs the trials (tests of properties that devices do not report). Returns whether none lost the device.
    pub(super) fn run_trials(&self, report: &mut ProbeReport) -> Result<bool> {
        while let Some(trial) = Trial::ALL.get(report.trials.len()) {
            let made = report.trials.len();
            let task = self.task(TaskKind::Trials(*trial));
            let ChildEnd::Lost { how, .. } = self.run_child(&task, &[], report, &mut |_| {})?
            else {
                break;
            };
            // The child has told of a lost device itself.
            let new = report.trials.get(made..).unwrap_or_default();
            if !new.last().is_some_and(|tried| tried.result == TrialResult::Lost)
                && let Some(trial) = Trial::ALL.get(report.trials.len())
            {
                report.trials.push(TrialReport::new(*trial, TrialResult::Lost, how));
            }
        }
        Ok(report.trials.iter().all(|tried| tried.result != TrialResult::Lost))
    }

    /// Runs the cases of the plan, and after a loss those from there on one by one.
    pub(super) fn run_together(
        &self,
        report: &mut ProbeReport,
        mut observe: impl FnMut(Progress<'_>),
    ) -> Result<()> {
        let batches = self.plan.all_batches();
        let task = self.task(TaskKind::Together);
        match self.run_child(&task, &batches, report, &mut observe)? {
            ChildEnd::Done => Ok(()),
            ChildEnd::Lost { at: None, how } => {
                bail!("of a child process, before its first case: {how}")
            }
            ChildEnd::Lost { at: Some(at), how } => {
                let going_on = format_args!("{how}; going on in child processes, case by case");
                crate::print::complain("lost:", going_on);
                self.run_from_loss(at, &how, report, observe)
            }
        }
    }

    /// Runs the cases of the plan from a position on, one by one. After too many losses by a backend, its remaining
    /// cases are left out.
    pub(super) fn run(
        &self,
        mut from: Position,
        report: &mut ProbeReport,
        mut observe: impl FnMut(Progress<'_>),
    ) -> Result<()> {
        let batches = self.plan.all_batches();
        let (mut of_batch, mut lost_batch) = (0, None);
        while from.batch < batches.len() {
            let task = self.task(TaskKind::Cases(from));
            let (at, how) = match self.run_child(&task, &batches, report, &mut observe)? {
                ChildEnd::Done => return Ok(()),
                ChildEnd::Lost { at, how } => (at, how),
            };
            let Some(at) = at else {
                if report.losses.is_empty() {
                    bail!("of a child process, before its first case: {how}");
                }
                let why = format!("not tried: of a child process, before its first case: {how}");
                leave_out(self.gpu, &batches[from.batch..], from.case, &why, report);
                return Ok(());
            };
            let Some(batch) = batches.get(at.batch) else {
                bail!("a child process began a batch that there is not: {}", at.batch);
            };
            of_batch = if lost_batch == Some(at.batch) { of_batch + 1 } else { 1 };
            lost_batch = Some(at.batch);
            let next_batch = Position { batch: at.batch + 1, case: 0 };
            from = record(at, batch, &how, report).unwrap_or(next_batch);
            let backend = batch.group.backend;
            if report.losses.iter().filter(|lost| lost.backend == backend).count() >= MAX_LOSSES {
                let why = format!("not tried: {MAX_LOSSES} cases by {backend} were lost before");
                // The batches of a backend follow each other.
                let others = batches[from.batch..].iter();
                let end = from.batch + others.take_while(|b| b.group.backend == backend).count();
                leave_out(self.gpu, &batches[from.batch..end], from.case, &why, report);
                from = Position { batch: end, case: 0 };
            } else if of_batch == MAX_LOSSES_OF_BATCH && from != next_batch {
                let why = format!(
                    "not tried: {MAX_LOSSES_OF_BATCH} cases of the same shader were lost before"
                );
                leave_out(self.gpu, std::slice::from_ref(batch), from.case, &why, report);
                from = next_batch;
            }
        }
        Ok(())
    }

    /// Continues the run one by one after the draws of a batch were lost together, beginning with the first case that was
    /// not captured. If no case of that batch is lost alone, reports the loss for that first case.
    fn run_from_loss(
        &self,
        at: Position,
        how: &str,
        report: &mut ProbeReport,
        observe: impl FnMut(Progress<'_>),
    ) -> Result<()> {
        self.run(at, report, observe)?;
        let batches = self.plan.all_batches();
        let Some(batch) = batches.get(at.batch) else { return Ok(()) };
        let (backend, cases) = (batch.group.backend, numbered_cases(batch));
        let is_named = |lost: &LostCase| lost.backend == backend && cases.contains(&lost.case);
        if !report.losses.iter().any(is_named)
            && let Some(case) = cases.get(at.case.saturating_sub(1))
        {
            let others = batch.draws.len().saturating_sub(1);
            let how = format!("{how}, together with {others} others; alone none did it");
            report.record_loss(backend, case, how);
        }
        Ok(())
    }

    /// Runs a task in a child process, and adds its results to the report.
    fn run_child(
        &self,
        task: &Task,
        batches: &[Batch<'_>],
        report: &mut ProbeReport,
        observe: &mut impl FnMut(Progress<'_>),
    ) -> Result<ChildEnd> {
        let mut child = ChildProcess::start(task)?;
        let mut at = None;
        let limit = self.timeout + HOST_TIME;
        let is_limited = self.one_by_one || task.is_one_by_one();
        loop {
            let line = if is_limited {
                child.lines.recv_timeout(limit)
            } else {
                child.lines.recv().map_err(RecvTimeoutError::from)
            };
            let line = match line {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = limit.as_secs();
                    let how = format!("its process did not answer for {seconds} s, and was ended");
                    return Ok(ChildEnd::Lost { at, how });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = child.process.wait().context("cannot wait for a child process")?;
                    // It has said so itself.
                    if status.code().is_some_and(|code| OWN_ERRORS.contains(&code)) {
                        bail!("a child process failed ({status})");
                    }
                    return Ok(ChildEnd::Lost { at, how: format!("its process ended ({status})") });
                }
            };
            let event = serde_json::from_str(&line)
                .with_context(|| format!("a child process wrote what is no result: {line}"))?;
            match event {
                Event::Begin(position) => {
                    if let Some(batch) = batches.get(position.batch) {
                        let (done, total) = (position.batch, batches.len());
                        observe(Progress { done, total, batch });
                    }
                    at = Some(position);
                }
                Event::Findings(findings) => {
                    report.absorb(*findings);
                    if self.plan.fail_fast && report.has_failures() {
                        return Ok(ChildEnd::Done);
                    }
                }
                Event::Trial(tried) => report.trials.push(*tried),
                Event::Log(text) => crate::log::keep(&text),
                Event::Lost(how) => return Ok(ChildEnd::Lost { at, how }),
                Event::Done(messages) => {
                    add_messages(report, messages);
                    return Ok(ChildEnd::Done);
                }
            }
        }
    }
}

/// Adds messages of the validation layer to the report. Each process that opens the device may have the same ones.
pub(super) fn add_messages(report: &mut ProbeReport, messages: Vec<String>) {
    for message in messages {
        if !report.validation.contains(&message) {
            report.validation.push(message);
        }
    }
}

/// Adds a loss (of the device, or a crash) at a position to the report. Returns the next position in the same batch of
/// draws; `None` if there is none.
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
    // The device was lost while the batch was prepared, so no case of the batch can run.
    let (first, others) = cases.split_first()?;
    report.record_loss(backend, first, how);
    for case in others {
        report.record_error(backend, case, how);
    }
    None
}

/// Makes Windows show no dialog after a crash of a child process: the probe would wait until somebody closes the dialog.
#[cfg(windows)]
pub(super) fn show_no_dialogs() {
    use windows_sys::Win32::System::Diagnostics::Debug::{
        SEM_FAILCRITICALERRORS, SEM_NOGPFAULTERRORBOX, SetErrorMode,
    };
    // SAFETY: the function has no precondition. Child processes inherit the mode.
    unsafe { SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX) };
}

/// A running child process. It is killed when this value is dropped.
struct ChildProcess {
    process: Child,
    lines: Receiver<String>,
}

impl ChildProcess {
    /// Starts this program as a child process, with the arguments of this process and the task.
    fn start(task: &Task) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's file")?;
        // Behind `--` it would be the name of a file.
        let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        let worker = ["--worker".into(), serde_json::to_string(task)?.into()];
        arguments.splice(end..end, worker);
        let mut process = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a child process")?;
        let out = process.stdout.take();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = out.into_iter().flat_map(|out| BufReader::new(out).lines());
            // The loop ends at a line that cannot be read, or if the receiver was dropped.
            for line in lines.map_while(std::io::Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { process, lines })
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // This fails if the process has exited, which is fine.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
