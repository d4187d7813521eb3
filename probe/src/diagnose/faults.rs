//! The faults, and the choice of the fault under which a capture is reported.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::decode::Capture;
use super::{primitives, surroundings};

/// What can be wrong with a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The device executed nothing of the submission.
    NothingExecuted,
    /// The memory of the capture buffers was not initialised: the copy to it had no effect.
    NothingCopiedIn,
    /// The captured data was not copied to the memory that the host reads.
    NothingCopiedBack,
    /// Everything but the capture was executed: no byte has changed.
    NothingWritten,
    /// Bytes have changed outside the part of the bound range that the draw may write: in a guard
    /// before or after the range, in what an earlier draw wrote, or in a buffer that is not
    /// captured to.
    Overrun,
    /// The vertices of a triangle start with the wrong vertex, in the right cyclic order, although
    /// the order is promised.
    Rotation,
    /// The vertices of a triangle in the opposite cyclic order, or a line from its end to its
    /// start.
    FlippedWinding,
    /// A vertex that does not belong to the primitive.
    WrongVertex,
    /// A whole primitive was not written, or was left out so that the following ones moved up.
    MissingPrimitive,
    /// Some vertices of a primitive were not written.
    MissingVertex,
    /// A primitive that the draw does not have: after the expected end, or inserted between others.
    ExtraPrimitive,
    /// Bytes of a record that no output covers have changed.
    TouchedGap,
    /// A record that is not that of any vertex: some or all of its outputs have wrong values.
    WrongBytes,
    /// The capture buffers contain different vertices for one record.
    TornBuffers,
    /// The bytes are right, but the counter after End is wrong.
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

    /// The name, in plain words.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VertexRef {
    /// Instance, from 0.
    pub instance: u32,
    /// Vertex of the instance, from 0. With an index buffer, this counts indices.
    pub vertex: u32,
}

/// What a captured record contains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// The outputs of this vertex, in every buffer.
    Vertex(VertexRef),
    /// The sentinel: the record was not written.
    Untouched,
    /// Different vertices in different buffers, with the number of each buffer (`None`: untouched).
    Torn(Vec<(u32, Option<VertexRef>)>),
    /// Not the record of any vertex. Lists the outputs that differ from those of the expected
    /// vertex.
    Unknown {
        /// Names of the outputs, or `buffer B offset O` if the module has no name.
        wrong_outputs: Vec<String>,
    },
}

impl Slot {
    /// The vertex, if the record is that of one.
    pub const fn vertex(&self) -> Option<VertexRef> {
        match self {
            Self::Vertex(vertex) => Some(*vertex),
            _ => None,
        }
    }

    /// As text, with the instance if it is not `instance`.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimitiveDiff {
    /// Instance, from 0.
    pub instance: u32,
    /// Primitive of the instance, from 0.
    pub primitive: u64,
    /// Its vertices, in the order in which they should be written. Empty for a primitive that
    /// should not exist.
    pub expected: Vec<VertexRef>,
    /// What its records contain.
    pub captured: Vec<Slot>,
    /// What is wrong. `None` if nothing is wrong, or if the primitive is legally rotated.
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

    /// The captured vertices as text: `v5 v6 v7`. `-` is a record that was not written, `?` a
    /// record of no vertex, and `[v5|v6]` a record in which the buffers disagree.
    pub fn captured_text(&self) -> String {
        if self.captured.is_empty() {
            return "nothing".to_owned();
        }
        let names: Vec<_> = self.captured.iter().map(|s| s.text(Some(self.instance))).collect();
        names.join(" ")
    }
}

/// How a capture differs from what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The fault under which the capture is reported.
    pub fault: Fault,
    /// The vertex stream whose capture it is, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// Other faults in the same capture, each once.
    pub also: Vec<Fault>,
    /// The first primitive that differs. `None` if the fault is outside the records of primitives,
    /// such as a touched guard.
    pub first: Option<PrimitiveDiff>,
    /// The number of primitives that differ, in all instances, including primitives that the draw
    /// does not have.
    pub differing_primitives: u64,
    /// The number of legally rotated primitives, which do not count as differing.
    pub rotated_primitives: u64,
    /// Capture buffer with the first wrong byte.
    pub buffer: u32,
    /// The first wrong byte, counted from the start of the bound range: negative in the guard
    /// before it. For a wrong counter, the counter's value.
    pub byte_offset: i64,
    /// Further information, in a sentence.
    pub note: Option<String>,
    /// Up to eight primitives around the first that differs, including right ones. All are of the
    /// same instance, and the first has an even number.
    pub excerpt: Vec<PrimitiveDiff>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stream) = self.stream {
            write!(f, "vertex stream {stream}: ")?;
        }
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

/// The result of comparing a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every byte is right.
    Match,
    /// Some triangles are rotated, which is legal because the order is not promised. Everything
    /// else is right.
    RotationAllowed {
        /// The number of rotated primitives.
        primitives: u64,
        /// The first of them.
        first: PrimitiveDiff,
    },
    /// Something is wrong.
    Mismatch(Box<Mismatch>),
}

/// A fault that was found. The capture is reported under one of its findings.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub fault: Fault,
    /// The number of the primitive, counted over all instances. Findings are sorted by it.
    pub place: u64,
    pub first: Option<PrimitiveDiff>,
    pub buffer: u32,
    pub byte_offset: i64,
    pub note: Option<String>,
}

/// Finds the verdict on a capture that differs.
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
        stream: None,
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
