//! The kinds of faults, and how a verdict describes a fault.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of fault that a capture can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The device executed none of the commands of the submission.
    NothingExecuted,
    /// The copy that initializes the capture buffers had no effect.
    NothingCopiedIn,
    /// The copy of the capture buffers to the memory that the host reads had no effect.
    NothingCopiedBack,
    /// The capture had no effect, although the other commands were executed: no byte has changed.
    NothingWritten,
    /// Bytes have changed outside the part of the bound range that the draw may write. They are in
    /// a guard region before or after the range, in data that an earlier draw wrote, or in a buffer
    /// to which nothing is captured.
    Overrun,
    /// The vertices of a triangle are in the right cyclic order but begin with the wrong vertex,
    /// although the device guarantees which vertex is first.
    Rotation,
    /// The vertices of a triangle are in the opposite cyclic order, or those of a line are swapped.
    FlippedWinding,
    /// A primitive contains a vertex that does not belong to it.
    WrongVertex,
    /// None of the vertices of a primitive was written, or the primitive was left out and the
    /// following primitives moved up.
    MissingPrimitive,
    /// Some vertices of a primitive were not written.
    MissingVertex,
    /// There is a primitive that the draw does not have: after the expected end, or inserted
    /// between others.
    ExtraPrimitive,
    /// Bytes of a record that are not covered by an output have changed.
    TouchedGap,
    /// The bytes of a record belong to no vertex: some or all of its outputs have wrong values.
    WrongBytes,
    /// The parts of one record in different capture buffers are from different vertices.
    TornBuffers,
    /// The bytes are right, but the counter has a wrong value after End.
    WrongCounter,
}

impl Fault {
    /// The name of the fault in plain words: the one in JSON, with spaces in place of hyphens.
    pub fn name(self) -> String {
        struct InJson(Fault);

        impl fmt::Display for InJson {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // A formatter is a serializer of what is only a name.
                self.0.serialize(f)
            }
        }

        InJson(self).to_string().replace('-', " ")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// A vertex of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VertexRef {
    /// The instance, from 0.
    pub instance: u32,
    /// The number of the vertex in the instance, from 0. In an indexed draw, the number of the
    /// index.
    pub vertex: u32,
}

/// The contents that were found in a captured record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slot {
    /// The record contains the outputs of this vertex, in all buffers.
    Vertex(VertexRef),
    /// The record was not written: it still contains the sentinels (the bytes from before the capture).
    Untouched,
    /// The parts of the record in different buffers are from different vertices. Each element has the number of a
    /// buffer and the vertex in it, or `None` for a part that was not written.
    Torn(Vec<(u32, Option<VertexRef>)>),
    /// The contents are not the record of any vertex.
    Unknown {
        /// The outputs that differ from those of the expected vertex: their names, or `buffer B
        /// offset O` if the module has no name for an output.
        wrong_outputs: Vec<String>,
    },
}

impl Slot {
    /// Returns the vertex that the record contains in all buffers, if there is one.
    pub const fn vertex(&self) -> Option<VertexRef> {
        match self {
            Self::Vertex(vertex) => Some(*vertex),
            _ => None,
        }
    }

    /// Formats the content as text. The instance of a vertex is omitted if it is `instance`.
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

/// A primitive, as it should be captured and as it was captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimitiveDiff {
    /// The instance, from 0.
    pub instance: u32,
    /// The number of the primitive in the instance, from 0.
    pub primitive: u64,
    /// The vertices that should be written, in order. Empty for a primitive that the draw does not
    /// have.
    pub expected: Vec<VertexRef>,
    /// The contents of the primitive's records, in order.
    pub captured: Vec<Slot>,
    /// The fault of this primitive. `None` if it is right, or rotated in a way that Vulkan allows.
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

    /// The captured vertices as text: `v5 v6 v7`. `-` stands for a record that was not written, `?`
    /// for a record of no vertex, and `[v5|v6]` for a record whose parts are from different
    /// vertices.
    pub fn captured_text(&self) -> String {
        if self.captured.is_empty() {
            return "nothing".to_owned();
        }
        let names: Vec<_> = self.captured.iter().map(|s| s.text(Some(self.instance))).collect();
        names.join(" ")
    }
}

/// Says how a capture differs from the expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The fault under which the capture is reported.
    pub fault: Fault,
    /// The vertex stream that was captured. `None` if the shader emits to only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// The other faults in the same capture, without repetitions.
    pub also: Vec<Fault>,
    /// The first primitive that differs. `None` if the fault is not in a primitive, for example if
    /// a guard region was written.
    pub first: Option<PrimitiveDiff>,
    /// The number of primitives of all instances whose records differ from the expected ones. If there are none, but
    /// [`first`](Self::first) is set (for an extra primitive or a touched gap), the number is 1.
    pub differing_primitives: u64,
    /// The number of primitives that are rotated in a way that Vulkan allows. They are not counted as differing.
    pub rotated_primitives: u64,
    /// The capture buffer with the first wrong byte.
    pub buffer: u32,
    /// The offset in bytes of the first wrong byte from the start of the bound range; negative in the guard region
    /// before the range. For a wrong counter, the counter's value.
    pub byte_offset: i64,
    /// Further information, as a sentence. `None` if there is none.
    pub note: Option<String>,
    /// Up to eight primitives around the one with the fault, including right ones; for a fault that is in no primitive,
    /// the first or the last primitives. The primitives are of the same instance, and the number of the first is even.
    /// Empty if a step of the submission had no effect.
    pub excerpt: Vec<PrimitiveDiff>,
}

impl Mismatch {
    /// Makes the mismatch for a fault that is in no primitive that is known.
    pub(crate) fn of_no_primitive(
        fault: Fault,
        buffer: u32,
        byte_offset: i64,
        note: impl Into<String>,
    ) -> Self {
        Self {
            fault,
            stream: None,
            also: Vec::new(),
            first: None,
            differing_primitives: 0,
            rotated_primitives: 0,
            buffer,
            byte_offset,
            note: Some(note.into()),
            excerpt: Vec::new(),
        }
    }
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

/// The result of comparing a capture with the expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every byte is right.
    Match,
    /// Some triangles are rotated, which Vulkan allows if the device does not guarantee which
    /// vertex is first. Everything else is right.
    RotationAllowed {
        /// The number of rotated primitives.
        primitives: u64,
        /// The first of these primitives.
        first: PrimitiveDiff,
    },
    /// The capture is wrong.
    Mismatch(Box<Mismatch>),
}

/// A fault that was found in a capture. A capture with several findings is reported under only one of them.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub fault: Fault,
    /// The number of the primitive with the fault, counted over all instances. For an overrun it is 0, and for a wrong
    /// counter the number of primitives that should be written. Findings are sorted by this number, except that
    /// overruns come first and wrong counters last.
    pub place: u64,
    pub first: Option<PrimitiveDiff>,
    pub buffer: u32,
    pub byte_offset: i64,
    pub note: Option<String>,
}
