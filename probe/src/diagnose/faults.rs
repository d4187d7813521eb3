//! The names of faults, and the choice of the one that a capture is reported under.

use std::fmt;

use serde::Serialize;

use super::decode::Capture;
use super::{primitives, surroundings};

/// What can be wrong with a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The device executed nothing of the submission.
    NothingExecuted,
    /// The memory that is captured to was not initialised: the copy to it had no effect.
    NothingCopiedIn,
    /// What was captured was not copied to where it is read.
    NothingCopiedBack,
    /// Everything but the capture was executed: no byte has changed.
    NothingWritten,
    /// Bytes outside the part of the bound range that the draw owns have changed: a guard before or
    /// behind the range, what an earlier draw wrote, or a buffer that nothing is captured to.
    Overrun,
    /// The vertices of a triangle start with another one, in the same cyclic order, although the
    /// order is promised.
    Rotation,
    /// The vertices of a triangle in the opposite cyclic order, or a line from its end to its start.
    FlippedWinding,
    /// A vertex that does not belong to the primitive.
    WrongVertex,
    /// A whole primitive was never written, or left out with the following ones moved up.
    MissingPrimitive,
    /// Some vertices of a primitive were never written.
    MissingVertex,
    /// A primitive that the draw does not have: behind the expected end, or pushed in between.
    ExtraPrimitive,
    /// Bytes of a record that no output covers have changed.
    TouchedGap,
    /// A record that is no vertex's: some or all of its outputs hold something else.
    WrongBytes,
    /// The capture buffers disagree about the vertex of one record.
    TornBuffers,
    /// The bytes are right, the counter after End is not.
    WrongCounter,
}

impl Fault {
    /// Every fault, the most serious first.
    pub const ALL: [Self; 15] = [
        Self::NothingExecuted,
        Self::NothingCopiedIn,
        Self::NothingCopiedBack,
        Self::NothingWritten,
        Self::Overrun,
        Self::Rotation,
        Self::FlippedWinding,
        Self::WrongVertex,
        Self::MissingPrimitive,
        Self::MissingVertex,
        Self::ExtraPrimitive,
        Self::TouchedGap,
        Self::WrongBytes,
        Self::TornBuffers,
        Self::WrongCounter,
    ];

    /// The name as an engineer says it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NothingExecuted => "nothing executed",
            Self::NothingCopiedIn => "nothing copied in",
            Self::NothingCopiedBack => "nothing copied back",
            Self::NothingWritten => "nothing written",
            Self::Overrun => "overrun",
            Self::Rotation => "rotation",
            Self::FlippedWinding => "flipped winding",
            Self::WrongVertex => "wrong vertex",
            Self::MissingPrimitive => "missing primitive",
            Self::MissingVertex => "missing vertex",
            Self::ExtraPrimitive => "extra primitive",
            Self::TouchedGap => "touched gap",
            Self::WrongBytes => "wrong bytes",
            Self::TornBuffers => "torn buffers",
            Self::WrongCounter => "wrong counter",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A vertex of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct VertexRef {
    /// Instance, from 0.
    pub instance: u32,
    /// Vertex of the instance, from 0, after the index buffer where there is one.
    pub vertex: u32,
}

/// What a captured record turned out to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// The outputs of this vertex, in every buffer.
    Vertex(VertexRef),
    /// The sentinel: nobody wrote it.
    Untouched,
    /// In each buffer, by number, another vertex (`None`: untouched).
    Torn(Vec<(u32, Option<VertexRef>)>),
    /// No vertex's record. Listed are the outputs that are not the expected vertex's.
    Unknown {
        /// Names of the outputs, `buffer B offset O` where the module has none.
        wrong_outputs: Vec<String>,
    },
}

impl Slot {
    /// The vertex, where there is one.
    pub const fn vertex(&self) -> Option<VertexRef> {
        match self {
            Self::Vertex(vertex) => Some(*vertex),
            _ => None,
        }
    }

    /// As text; the instance is named where it is not `instance`.
    fn text(&self, instance: Option<u32>) -> String {
        let vertex = |v: &VertexRef| match instance {
            Some(instance) if instance == v.instance => format!("v{}", v.vertex),
            _ => format!("v{} of instance {}", v.vertex, v.instance),
        };
        match self {
            Self::Vertex(v) => vertex(v),
            Self::Untouched => "-".to_owned(),
            Self::Unknown { .. } => "?".to_owned(),
            Self::Torn(buffers) => {
                let parts: Vec<_> = buffers
                    .iter()
                    .map(|(_, v)| v.as_ref().map_or_else(|| "-".to_owned(), vertex))
                    .collect();
                format!("[{}]", parts.join("|"))
            }
        }
    }
}

/// One primitive, as expected and as captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrimitiveDiff {
    /// Instance, from 0.
    pub instance: u32,
    /// Primitive of the instance, from 0.
    pub primitive: u64,
    /// The vertices that it consists of, in the order in which they are written. Empty for a
    /// primitive that should not exist.
    pub expected: Vec<VertexRef>,
    /// What its records hold.
    pub captured: Vec<Slot>,
    /// What is wrong; `None` where nothing is, or the rotation is legal.
    pub fault: Option<Fault>,
}

impl PrimitiveDiff {
    /// The expected vertices as text: `v5 v7 v6`.
    pub fn expected_text(&self) -> String {
        if self.expected.is_empty() {
            return "nothing".to_owned();
        }
        let names: Vec<_> = self.expected.iter().map(|v| format!("v{}", v.vertex)).collect();
        names.join(" ")
    }

    /// What was captured as text: `v5 v6 v7`; `-` is a record that nobody wrote, `?` one of no vertex,
    /// `[v5|v6]` one on which the buffers disagree.
    pub fn captured_text(&self) -> String {
        if self.captured.is_empty() {
            return "nothing".to_owned();
        }
        let names: Vec<_> = self.captured.iter().map(|s| s.text(Some(self.instance))).collect();
        names.join(" ")
    }
}

/// How a capture differs from what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// Its name.
    pub fault: Fault,
    /// Other faults in the same capture, each once.
    pub also: Vec<Fault>,
    /// The first primitive that differs. `None` where the fault lies outside the records of
    /// primitives, as a touched guard does.
    pub first: Option<PrimitiveDiff>,
    /// Primitives that differ, of all instances; one that no draw has counts as well.
    pub differing_primitives: u64,
    /// Primitives rotated legally; they do not count as differing.
    pub rotated_primitives: u64,
    /// Capture buffer in which the first wrong byte lies.
    pub buffer: u32,
    /// The first wrong byte, counted from the start of the bound range: negative in the guard before
    /// it. For a wrong counter, the counter's value.
    pub byte_offset: i64,
    /// A sentence on what else is known.
    pub note: Option<String>,
    /// Up to eight primitives around the first one that differs, right ones included, of the same
    /// instance, from an even primitive on.
    pub excerpt: Vec<PrimitiveDiff>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = &self.first {
            write!(
                f,
                "primitive {} (instance {}): expected {}, captured {}: ",
                first.primitive,
                first.instance,
                first.expected_text(),
                first.captured_text()
            )?;
        }
        write!(f, "{}", self.fault)?;
        if let Some(note) = &self.note {
            write!(f, "; {note}")?;
        }
        if !self.also.is_empty() {
            let names: Vec<_> = self.also.iter().map(|fault| fault.name()).collect();
            write!(f, "; also {}", names.join(", "))?;
        }
        Ok(())
    }
}

/// What came of comparing a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every byte is as it should be.
    Match,
    /// Some triangles are rotated, and the capture never promised not to; all else is right.
    RotationAllowed {
        /// Primitives that are.
        primitives: u64,
        /// The first of them.
        first: PrimitiveDiff,
    },
    /// Something is wrong.
    Mismatch(Box<Mismatch>),
}

/// A fault found somewhere, before it is known which one the capture is reported under.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub fault: Fault,
    /// The primitive, counted over all instances, by which findings are ordered.
    pub place: u64,
    pub first: Option<PrimitiveDiff>,
    pub buffer: u32,
    pub byte_offset: i64,
    pub note: Option<String>,
}

/// The verdict on a capture that is known to differ.
pub(super) fn judge(capture: &Capture<'_>) -> Verdict {
    let scan = primitives::scan(capture);
    let mut findings = scan.findings;
    findings.extend(surroundings::findings(capture));
    findings.sort_by_key(|finding| match finding.fault {
        Fault::Overrun => (0, 0),
        Fault::WrongCounter => (2, 0),
        _ => (1, finding.place),
    });
    let mut findings = findings.into_iter();
    let Some(primary) = findings.next() else {
        return match scan.first_rotation {
            Some(first) => Verdict::RotationAllowed { primitives: scan.rotated, first },
            None => Verdict::Match,
        };
    };
    let mut also = Vec::new();
    for Finding { fault, .. } in findings {
        if fault != primary.fault && !also.contains(&fault) {
            also.push(fault);
        }
    }
    let outside = u64::from(scan.differing == 0 && primary.first.is_some());
    Verdict::Mismatch(Box::new(Mismatch {
        fault: primary.fault,
        also,
        differing_primitives: scan.differing + outside,
        rotated_primitives: scan.rotated,
        buffer: primary.buffer,
        byte_offset: primary.byte_offset,
        note: primary.note,
        excerpt: primitives::around(capture, primary.place, primary.first.as_ref()),
        first: primary.first,
    }))
}
