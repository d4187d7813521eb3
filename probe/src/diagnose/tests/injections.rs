//! Puts every kind of fault into a correct capture, and checks that the diagnosis names it.
//!
//! The captures are synthetic. Each has three instances in two buffers, with gaps between or after outputs. It begins at
//! an offset in the bound ranges that is not 0, and after it there is space for one more primitive. The test shows
//! whether [`diagnose`] finds every fault, so that a verdict without a fault can be trusted.

mod synthetic;

use std::fmt;

use crate::diagnose::{CapturedBuffer, Expectation, Fault, Verdict, VertexRef, diagnose};
use crate::sentinel::Fill;
pub(crate) use synthetic::Source;
use synthetic::Synthetic;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

/// The result of changing one capture in one way.
#[derive(Debug)]
struct Check {
    /// The topology of the capture. For a geometry shader, `emitted` and the topology of a draw that has the same
    /// primitives as its strips; for tessellation shaders, `patches divided into` and the kind of primitives.
    topology: String,
    /// The provoking vertex of the capture.
    provoking: String,
    /// A text that says how the capture was changed.
    injected: &'static str,
    /// The fault that must be reported. `None` if the change is not a fault.
    fault: Option<Fault>,
    /// The verdict as text.
    verdict: String,
    /// Whether the verdict names `fault` and no other fault, at the right primitive.
    passed: bool,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topology, provoking, injected, verdict, .. } = self;
        write!(f, "{topology} ({provoking} vertex provokes), {injected}: {verdict}")
    }
}

/// A way of changing a capture, and the expected fault.
struct Injection {
    name: &'static str,
    fault: Option<Fault>,
    /// The minimum number of vertices of a primitive for which the change is possible.
    vertices: u32,
    apply: fn(&mut Synthetic),
    /// Whether the change is in a primitive that the verdict must name as the first wrong one.
    at_primitive: bool,
}

const fn injection(
    name: &'static str,
    fault: Fault,
    vertices: u32,
    apply: fn(&mut Synthetic),
) -> Injection {
    Injection { name, fault: Some(fault), vertices, apply, at_primitive: true }
}

const fn elsewhere(name: &'static str, fault: Fault, apply: fn(&mut Synthetic)) -> Injection {
    Injection { name, fault: Some(fault), vertices: 1, apply, at_primitive: false }
}

/// The changes: every kind of fault, some in several ways. The first two changes are not faults.
const INJECTIONS: &[Injection] = &[
    Injection { name: "nothing", fault: None, vertices: 1, apply: |_| {}, at_primitive: false },
    Injection {
        name: "rotated, and no order promised",
        fault: None,
        vertices: 3,
        apply: |s| {
            s.preserves_provoking_vertex = false;
            s.permute(&[1, 2, 0]);
        },
        at_primitive: false,
    },
    injection("rotated by one", Fault::Rotation, 3, |s| s.permute(&[1, 2, 0])),
    injection("rotated by two", Fault::Rotation, 3, |s| s.permute(&[2, 0, 1])),
    injection("last two vertices swapped", Fault::FlippedWinding, 3, |s| s.permute(&[0, 2, 1])),
    injection("first two vertices swapped", Fault::FlippedWinding, 2, |s| s.permute(&[1, 0, 2])),
    injection("swapped, and no order promised", Fault::FlippedWinding, 3, |s| {
        s.preserves_provoking_vertex = false;
        s.permute(&[2, 1, 0]);
    }),
    injection("vertex of another primitive", Fault::WrongVertex, 1, |s| {
        let record = s.target_record();
        let vertex = s.stranger();
        s.write(record, vertex);
    }),
    injection("same vertex of another instance", Fault::WrongVertex, 1, |s| {
        let record = s.target_record();
        let vertex = VertexRef { instance: 0, ..s.expected(record) };
        s.write(record, vertex);
    }),
    injection("one vertex twice", Fault::WrongVertex, 2, |s| {
        let record = s.target_record();
        let vertex = s.expected(record);
        s.write(record + 1, vertex);
    }),
    injection("primitive not written", Fault::MissingPrimitive, 1, |s| {
        let record = s.target_record();
        (record..record + s.vertices_per_primitive()).for_each(|r| s.erase(r));
    }),
    injection("primitive left out", Fault::MissingPrimitive, 1, |s| {
        let (m, end) = (s.vertices_per_primitive(), s.record_count());
        for record in s.target_record()..end - m {
            let vertex = s.expected(record + m);
            s.write(record, vertex);
        }
        (end - m..end).for_each(|r| s.erase(r));
    }),
    injection("vertex not written", Fault::MissingVertex, 2, |s| {
        let record = s.target_record() + 1;
        s.erase(record);
    }),
    injection("primitive written twice in a row", Fault::ExtraPrimitive, 1, |s| {
        let m = s.vertices_per_primitive();
        for record in s.target_record()..s.record_count() + m {
            let vertex = s.expected(record - m);
            s.write(record, vertex);
        }
    }),
    elsewhere("primitive behind the last", Fault::ExtraPrimitive, |s| {
        let (m, end) = (s.vertices_per_primitive(), s.record_count());
        for record in end..end + m {
            let vertex = s.expected(record - m);
            s.write(record, vertex);
        }
    }),
    elsewhere("one byte behind the last primitive", Fault::ExtraPrimitive, |s| {
        let at = s.end(1) + 3;
        s.damage(1, at);
    }),
    elsewhere("first byte of the guard behind", Fault::Overrun, |s| {
        let at = s.bound(0).end;
        s.damage(0, at);
    }),
    elsewhere("last byte of the guard before", Fault::Overrun, |s| {
        let at = s.bound(1).start - 1;
        s.damage(1, at);
    }),
    elsewhere("byte before the position", Fault::Overrun, |s| {
        let at = s.bound(0).start + 2;
        s.damage(0, at);
    }),
    injection("gap inside a record", Fault::TouchedGap, 1, |s| {
        let at = s.record_start(0, s.target_record()) + synthetic::INNER_GAP;
        s.damage(0, at);
    }),
    injection("gap at the end of a record", Fault::TouchedGap, 1, |s| {
        let at = s.record_start(1, s.target_record()) + synthetic::OUTER_GAP;
        s.damage(1, at);
    }),
    injection("bit of one output", Fault::WrongBytes, 1, |s| {
        let at = s.record_start(0, s.target_record());
        s.damage(0, at);
    }),
    injection("buffers a vertex apart", Fault::TornBuffers, 1, |s| {
        let record = s.target_record();
        let vertex = s.stranger();
        s.write_buffer(1, record, vertex);
    }),
    injection("one buffer not written", Fault::TornBuffers, 1, |s| {
        let record = s.target_record();
        s.erase_buffer(1, record);
    }),
    elsewhere("counter one primitive short", Fault::WrongCounter, |s| s.counter_short()),
    elsewhere("submission not executed", Fault::NothingExecuted, |s| {
        s.refill(Fill::BeforeSubmission);
    }),
    elsewhere("sentinels not copied, and captured over", Fault::NothingCopiedIn, |s| {
        s.refill(Fill::BeforeCopyIn);
        s.write_all();
    }),
    elsewhere("sentinels not copied, and nothing captured", Fault::NothingCopiedIn, |s| {
        s.refill(Fill::BeforeCopyIn);
    }),
    elsewhere("capture not copied back", Fault::NothingCopiedBack, |s| {
        s.refill(Fill::BeforeCopyBack);
    }),
    elsewhere("capture not executed", Fault::NothingWritten, |s| {
        (0..s.record_count()).for_each(|record| s.erase(record));
    }),
];

/// The function under test: [`diagnose`], or a replacement with which this test must fail.
type Diagnosis = fn(&Expectation<'_>, &[CapturedBuffer<'_>]) -> Result<Verdict, String>;

/// Puts every fault into a capture of each topology with each provoking vertex, and into captures
/// of geometry and tessellation shaders.
fn run() -> Vec<Check> {
    run_with(|e, c| diagnose(e, c).map_err(|error| error.to_string()))
}

/// Whether all checks passed.
fn passed(checks: &[Check]) -> bool {
    !checks.is_empty() && checks.iter().all(|c| c.passed)
}

fn run_with(diagnosis: Diagnosis) -> Vec<Check> {
    let mut checks = Vec::new();
    for source in Source::all() {
        let vertices = Synthetic::new(source).vertices_per_primitive();
        for injection in INJECTIONS {
            if injection.vertices as usize <= vertices {
                checks.push(check(source, injection, diagnosis));
            }
        }
    }
    checks
}

fn check(source: Source, injection: &Injection, diagnosis: Diagnosis) -> Check {
    let mut capture = Synthetic::new(source);
    (injection.apply)(&mut capture);
    let verdict = diagnosis(&capture.expectation(), &capture.captured());
    let (passed, verdict) = match verdict {
        Err(error) => (false, error),
        Ok(Verdict::Match) => {
            (injection.fault.is_none() && capture.preserves_provoking_vertex, "match".to_owned())
        }
        Ok(Verdict::RotationAllowed { primitives, .. }) => (
            injection.fault.is_none() && !capture.preserves_provoking_vertex && primitives == 1,
            format!("{primitives} rotated, allowed"),
        ),
        Ok(Verdict::Mismatch(mismatch)) => {
            let place = mismatch.first.as_ref().map(|f| (f.instance, f.primitive));
            let right = Some(mismatch.fault) == injection.fault
                && mismatch.also.is_empty()
                && (!injection.at_primitive || place == Some(synthetic::TARGET));
            (right, mismatch.to_string())
        }
    };
    let (topology, provoking) = match source {
        Source::Draw(topology, provoking) => (topology.to_string(), provoking),
        Source::Emitted(strip) => (format!("emitted {strip}"), ProvokingVertex::First),
        Source::Divided(output) => {
            (format!("patches divided into {}", output.name()), ProvokingVertex::First)
        }
    };
    Check {
        topology,
        provoking: provoking.to_string(),
        injected: injection.name,
        fault: injection.fault,
        verdict,
        passed,
    }
}

/// Returns the primitives of a correct capture, as [`diagnose::trace`](crate::diagnose::trace)
/// does.
pub(crate) fn sample_trace(source: impl Into<Source>) -> Vec<crate::diagnose::PrimitiveDiff> {
    let capture = Synthetic::new(source.into());
    crate::diagnose::trace(&capture.expectation(), &capture.captured(), 0, 0, 64).unwrap()
}

/// Returns the verdict on a capture after each of the [`INJECTIONS`] (changes) that is possible for its primitives, as
/// samples for pictures.
pub(crate) fn samples(source: impl Into<Source>) -> Vec<(&'static str, Verdict)> {
    let source = source.into();
    let vertices = Synthetic::new(source).vertices_per_primitive();
    let fitting = INJECTIONS.iter().filter(|i| i.vertices as usize <= vertices);
    fitting
        .map(|injection| {
            let mut capture = Synthetic::new(source);
            (injection.apply)(&mut capture);
            let verdict = diagnose(&capture.expectation(), &capture.captured());
            (injection.name, verdict.unwrap())
        })
        .collect()
}

#[test]
fn every_fault_is_injected_and_named() {
    let checks = run();
    for check in &checks {
        assert!(check.passed, "{check}");
    }
    assert!(passed(&checks));
    for fault in Fault::ALL {
        assert!(checks.iter().any(|c| c.fault == Some(fault)), "{fault} is never injected");
    }
}

#[test]
fn a_trace_is_of_one_instance() {
    for topology in PrimitiveTopology::ALL {
        let trace = sample_trace(topology);
        assert_eq!(trace.len() as u64, topology.primitive_count(12));
        assert!(trace.iter().all(|diff| diff.fault.is_none() && diff.instance == 0));
    }
}

#[test]
fn a_diagnosis_that_sees_nothing_fails() {
    let checks = run_with(|_, _| Ok(Verdict::Match));
    assert!(checks.iter().all(|c| c.passed == (c.injected == "nothing")));
    assert!(!passed(&checks));
}

#[test]
fn a_diagnosis_that_misnames_fails() {
    let checks = run_with(|e, c| {
        let verdict = diagnose(e, c).map_err(|error| error.to_string())?;
        Ok(match verdict {
            Verdict::Mismatch(mut m) if m.fault == Fault::FlippedWinding => {
                m.fault = Fault::Rotation;
                Verdict::Mismatch(m)
            }
            other => other,
        })
    });
    assert!(
        checks.iter().all(|c| c.passed == (c.fault != Some(Fault::FlippedWinding))),
        "only what was misnamed fails"
    );
    assert!(!passed(&[]));
}
