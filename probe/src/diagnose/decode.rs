//! Finds the records of a capture, and determines the expected contents of each record and the vertex that the record
//! contains.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

use crate::diagnose::faults::{Slot, VertexRef};
use crate::diagnose::inputs::{CapturedBuffer, DiagnoseError, Expectation};
use crate::diagnose::spans::split_record;
use crate::sentinel;

/// A capture buffer to which outputs are captured.
pub(super) struct DecodedBuffer<'a> {
    pub captured: &'a CapturedBuffer<'a>,
    /// The size in bytes of a record, which is not 0.
    pub stride: usize,
    /// The bytes of a record that are compared: those of all outputs except the ones with undefined values. Adjacent
    /// ranges are merged.
    pub defined: Vec<Range<usize>>,
    /// The bytes of a record that no output covers.
    pub gaps: Vec<Range<usize>>,
    /// The expected records of all vertices: the element of [`Expectation::records`] for this buffer.
    records: &'a [u8],
    /// The start of the first record, in bytes from the start of the allocation.
    pub start: usize,
    /// The end of the last expected record, in bytes from the start of the allocation.
    pub end: usize,
    by_content: OnceCell<HashMap<u64, u32>>,
}

/// An expectation, together with the capture that is compared with it.
pub(super) struct Capture<'a> {
    pub expectation: &'a Expectation<'a>,
    pub buffers: Vec<DecodedBuffer<'a>>,
    /// Buffers that are bound, but to which no output is captured.
    pub idle: Vec<&'a CapturedBuffer<'a>>,
    by_content: OnceCell<HashMap<u64, u32>>,
}

impl<'a> Capture<'a> {
    pub fn new(
        expectation: &'a Expectation<'a>,
        captured: &'a [CapturedBuffer<'a>],
    ) -> Result<Self, DiagnoseError> {
        let needed = expectation.sequence.primitive_count() * u64::from(expectation.instance_count);
        let written = expectation.primitives_written;
        if written > needed {
            return Err(DiagnoseError::Primitives { written, needed });
        }
        let mut seen = [false; MAX_XFB_BUFFERS];
        let mut buffers = Vec::new();
        let mut idle = Vec::new();
        for captured in captured {
            let index = captured.buffer as usize;
            match seen.get_mut(index) {
                None => return Err(DiagnoseError::NoSuchBuffer(captured.buffer)),
                Some(true) => return Err(DiagnoseError::BufferTwice(captured.buffer)),
                Some(seen) => *seen = true,
            }
            let size = captured.bytes.len() as u64;
            if captured.bound.start > captured.bound.end || captured.bound.end > size {
                return Err(DiagnoseError::BoundRange {
                    buffer: captured.buffer,
                    bound: captured.bound.clone(),
                    size,
                });
            }
            match expectation.layout.strides[index] {
                Some(stride) if stride > 0 => {
                    buffers.push(DecodedBuffer::new(expectation, captured, stride)?);
                }
                _ => idle.push(captured),
            }
        }
        Ok(Self { expectation, buffers, idle, by_content: OnceCell::new() })
    }

    /// Whether the capture has no difference at all, not even a rotation that Vulkan allows.
    pub fn is_right(&self) -> bool {
        self.buffers.iter().all(|b| {
            self.records_are_right(b) && b.gaps_are_untouched() && b.surroundings_are_untouched()
        }) && self.idle.iter().all(|c| is_untouched(c, 0..c.bytes.len()))
            && counters_are_right(self)
    }

    fn records_are_right(&self, buffer: &DecodedBuffer<'_>) -> bool {
        let e = self.expectation;
        let of_instance = e.sequence.vertex_count() as usize * buffer.stride;
        let outputs = e.sequence.output_count();
        let written = buffer.captured.bytes.get(buffer.start..buffer.end).unwrap_or_default();
        let mut captured = written.chunks_exact(buffer.stride);
        for instance in buffer.records.chunks_exact(of_instance.max(1)) {
            for (output, record) in (0..outputs).zip(&mut captured) {
                let vertex = e.sequence.gather(output) as usize;
                let start = vertex.saturating_mul(buffer.stride);
                let expected = instance.get(start..).and_then(|rest| rest.get(..buffer.stride));
                let is_right = |expected: &[u8]| {
                    buffer.defined.iter().all(|r| record[r.clone()] == expected[r.clone()])
                };
                if !expected.is_some_and(is_right) {
                    return false;
                }
            }
        }
        captured.next().is_none()
    }

    pub fn vertices_per_primitive(&self) -> u64 {
        u64::from(self.expectation.sequence.vertices_per_primitive())
    }

    pub fn primitives_per_instance(&self) -> u64 {
        self.expectation.sequence.primitive_count()
    }

    /// The number of primitives of the draw, whether or not they fit into the buffers.
    pub fn primitives_needed(&self) -> u64 {
        self.primitives_per_instance() * u64::from(self.expectation.instance_count)
    }

    /// Returns the instance of a primitive, and the number of the primitive within that instance.
    /// A primitive beyond the end of the draw is located as if the last instance had more primitives.
    pub fn locate(&self, primitive: u64) -> (u32, u64) {
        let per_instance = self.primitives_per_instance();
        let last = u64::from(self.expectation.instance_count.saturating_sub(1));
        let instance = primitive.checked_div(per_instance).unwrap_or(0).min(last);
        (u32::try_from(instance).unwrap_or(u32::MAX), primitive - instance * per_instance)
    }

    /// Returns the vertices of a primitive, in order. Empty for a primitive that the draw does not have.
    pub fn expected(&self, primitive: u64) -> Vec<VertexRef> {
        if primitive >= self.primitives_needed() {
            return Vec::new();
        }
        let e = self.expectation;
        let m = self.vertices_per_primitive();
        let (instance, primitive) = self.locate(primitive);
        (primitive * m..(primitive + 1) * m)
            .map(|output| VertexRef { instance, vertex: e.sequence.gather(output) })
            .collect()
    }

    /// Whether a record lies within the bound range of every buffer.
    pub fn has_room_for(&self, record: u64) -> bool {
        self.buffers.iter().all(|b| {
            let end = (b.start as u64).saturating_add((record + 1).saturating_mul(b.stride as u64));
            end <= b.captured.bound.end
        })
    }

    /// Whether a record contains `vertex` in all buffers.
    pub fn holds(&self, record: u64, vertex: VertexRef) -> bool {
        self.buffers.iter().all(|b| b.holds(self.expectation, record, vertex))
    }

    pub fn is_untouched(&self, record: u64) -> bool {
        self.buffers.iter().all(|b| b.is_untouched(record))
    }

    /// Determines what a record contains. If several vertices have the same outputs, prefers `expected`, and then
    /// `mates`, which are the vertices of the expected primitive.
    pub fn decode(&self, record: u64, expected: Option<VertexRef>, mates: &[VertexRef]) -> Slot {
        let near = || expected.iter().chain(mates).copied();
        if let Some(vertex) = near().find(|v| self.holds(record, *v)) {
            return Slot::Vertex(vertex);
        }
        if self.is_untouched(record) {
            return Slot::Untouched;
        }
        if let Some(vertex) = self.find(&self.buffers, &self.by_content, record, expected) {
            return Slot::Vertex(vertex);
        }
        let parts: Vec<_> = self.buffers.iter().map(|b| self.part(b, record, near())).collect();
        if parts.len() > 1 && parts.iter().all(|(_, part)| part.is_some()) {
            return Slot::Torn(parts.into_iter().map(|(b, part)| (b, part.flatten())).collect());
        }
        Slot::Unknown {
            wrong_outputs: expected.map_or_else(Vec::new, |v| self.wrong_outputs(record, v)),
        }
    }

    /// Returns the vertex whose outputs a record contains in all buffers. `None` if there is none.
    pub fn vertex(&self, record: u64) -> Option<VertexRef> {
        self.find(&self.buffers, &self.by_content, record, None)
    }

    /// Returns the number of a buffer, and what a record contains in that buffer: `None` if its bytes are the outputs
    /// of no vertex, `Some(None)` if nothing was written (they are still the sentinels from before the capture), and
    /// otherwise the vertex whose outputs they are. If several vertices have the same outputs, prefers the ones in
    /// `near`.
    fn part(
        &self,
        buffer: &DecodedBuffer<'_>,
        record: u64,
        mut near: impl Iterator<Item = VertexRef>,
    ) -> (u32, Option<Option<VertexRef>>) {
        let first = near.next();
        let vertex = first
            .into_iter()
            .chain(near)
            .find(|v| buffer.holds(self.expectation, record, *v))
            .or_else(|| self.find(std::slice::from_ref(buffer), &buffer.by_content, record, first));
        let part = match vertex {
            Some(vertex) => Some(Some(vertex)),
            None => buffer.is_untouched(record).then_some(None),
        };
        (buffer.captured.buffer, part)
    }

    /// Finds the vertex whose outputs a record contains in `buffers`. `None` if there is none. Looks up the hash of the
    /// record in `by_content`, the hashes of the expected records of all vertices, which are computed when they are
    /// first needed.
    fn find(
        &self,
        buffers: &[DecodedBuffer<'_>],
        by_content: &OnceCell<HashMap<u64, u32>>,
        record: u64,
        expected: Option<VertexRef>,
    ) -> Option<VertexRef> {
        let e = self.expectation;
        let vertex_count = e.sequence.vertex_count();
        let count = u64::from(vertex_count) * u64::from(e.instance_count);
        let by_content = by_content.get_or_init(|| {
            let mut by_content = HashMap::new();
            for index in 0..u32::try_from(count).unwrap_or(u32::MAX) {
                let hash = hash(buffers, |b| b.record_of(e, split(index, vertex_count)));
                by_content.entry(hash).or_insert(index);
            }
            by_content
        });
        let index = *by_content.get(&hash(buffers, |b| b.captured_record(record)))?;
        let found = split(index, vertex_count);
        let holds = |v: &VertexRef| buffers.iter().all(|b| b.holds(e, record, *v));
        // The vertex may have the same outputs in several instances. Then the expected instance is
        // preferred.
        let here = expected.map(|x| VertexRef { instance: x.instance, ..found });
        here.filter(holds).or(Some(found).filter(holds))
    }

    fn wrong_outputs(&self, record: u64, vertex: VertexRef) -> Vec<String> {
        let mut wrong = Vec::new();
        for b in &self.buffers {
            let captured = b.captured_record(record).unwrap_or_default();
            let expected = b.record_of(self.expectation, vertex).unwrap_or_default();
            let outputs = self.expectation.layout.outputs.iter().enumerate();
            for (_, output) in outputs.filter(|(index, output)| {
                output.buffer == b.captured.buffer && !self.expectation.undefined.contains(index)
            }) {
                let range = output.offset as usize..(output.offset + output.size()) as usize;
                if captured.get(range.clone()) != expected.get(range) {
                    wrong.push(output.name.clone().unwrap_or_else(|| {
                        format!("buffer {} offset {}", output.buffer, output.offset)
                    }));
                }
            }
        }
        wrong
    }

    /// Finds the first wrong byte of a record. Returns the buffer of the byte, and the offset of the byte from the
    /// start of the bound range. Without an expected vertex, every byte that was written is wrong. If no byte is wrong,
    /// returns offset 0 in the first buffer.
    pub fn first_wrong_byte(&self, record: u64, expected: Option<VertexRef>) -> (u32, i64) {
        for b in &self.buffers {
            let at = b.start + record as usize * b.stride;
            let Some(captured) = b.captured_record(record) else { continue };
            let wrong = match expected.and_then(|v| b.record_of(self.expectation, v)) {
                Some(e) => b.defined.iter().flat_map(Range::clone).find(|i| captured[*i] != e[*i]),
                None => sentinel::first_touched(b.captured.buffer, at as u64, captured)
                    .map(|touched| touched as usize - at),
            };
            if let Some(wrong) = wrong {
                return (b.captured.buffer, b.offset_in_bound((at + wrong) as u64));
            }
        }
        (self.buffers.first().map_or(0, |b| b.captured.buffer), 0)
    }
}

impl<'a> DecodedBuffer<'a> {
    fn new(
        expectation: &Expectation<'a>,
        captured: &'a CapturedBuffer<'a>,
        stride: u32,
    ) -> Result<Self, DiagnoseError> {
        let (buffer, bound, position) = (captured.buffer, &captured.bound, captured.position);
        let (defined, gaps) =
            split_record(expectation.layout, expectation.undefined, buffer, stride)?;
        let records = expectation.records[buffer as usize];
        let stride = u64::from(stride);
        let vertices =
            u64::from(expectation.sequence.vertex_count()) * u64::from(expectation.instance_count);
        let expected = vertices.saturating_mul(stride);
        let found = records.len() as u64;
        if found != expected {
            return Err(DiagnoseError::Records { buffer, expected, found });
        }
        let m = u64::from(expectation.sequence.vertices_per_primitive());
        let needed = (expectation.primitives_written * m).saturating_mul(stride);
        let size = bound.end - bound.start;
        if position.saturating_add(needed) > size && needed > 0 {
            return Err(DiagnoseError::DoesNotFit { buffer, position, needed, size });
        }
        // Vulkan allows a draw to start past the end of the bound range, if the counter says so. In that case no record
        // fits.
        let start = bound.start + position.min(size);
        Ok(Self {
            captured,
            stride: stride as usize,
            defined,
            gaps,
            records,
            start: start as usize,
            end: (start + needed) as usize,
            by_content: OnceCell::new(),
        })
    }

    pub fn offset_in_bound(&self, at: u64) -> i64 {
        from_bound(self.captured, at)
    }

    /// Returns the captured bytes of a record. `None` if the record is not completely within the
    /// allocation.
    pub fn captured_record(&self, record: u64) -> Option<&'a [u8]> {
        let at = usize::try_from(record).ok()?.checked_mul(self.stride)?.checked_add(self.start)?;
        self.captured.bytes.get(at..at.checked_add(self.stride)?)
    }

    fn record_of(&self, e: &Expectation<'_>, v: VertexRef) -> Option<&'a [u8]> {
        let vertices = e.sequence.vertex_count() as usize;
        let index = v.instance as usize * vertices + v.vertex as usize;
        self.records.get(index * self.stride..(index + 1) * self.stride)
    }

    fn holds(&self, e: &Expectation<'_>, record: u64, vertex: VertexRef) -> bool {
        match (self.captured_record(record), self.record_of(e, vertex)) {
            (Some(c), Some(e)) => self.defined.iter().all(|r| c[r.clone()] == e[r.clone()]),
            _ => false,
        }
    }

    fn is_untouched(&self, record: u64) -> bool {
        let at = self.start + record as usize * self.stride;
        self.defined.iter().all(|r| is_untouched(self.captured, at + r.start..at + r.end))
    }

    fn gaps_are_untouched(&self) -> bool {
        self.gaps.is_empty()
            || (self.start..self.end).step_by(self.stride).all(|at| {
                self.gaps.iter().all(|r| is_untouched(self.captured, at + r.start..at + r.end))
            })
    }

    fn surroundings_are_untouched(&self) -> bool {
        is_untouched(self.captured, 0..self.start)
            && is_untouched(self.captured, self.end..self.captured.bytes.len())
    }
}

/// Converts an offset in the allocation to an offset from the start of the bound range, which may
/// be negative.
pub(super) fn from_bound(captured: &CapturedBuffer<'_>, at: u64) -> i64 {
    at.cast_signed().wrapping_sub(captured.bound.start.cast_signed())
}

/// Whether nothing was written to a range of the allocation: it still contains the sentinels from before the capture.
pub(super) fn is_untouched(captured: &CapturedBuffer<'_>, range: Range<usize>) -> bool {
    let bytes = captured.bytes.get(range.clone()).unwrap_or_default();
    sentinel::first_touched(captured.buffer, range.start as u64, bytes).is_none()
}

fn split(index: u32, vertex_count: u32) -> VertexRef {
    VertexRef { instance: index / vertex_count, vertex: index % vertex_count }
}

fn hash<'a>(
    buffers: &[DecodedBuffer<'a>],
    mut record: impl FnMut(&DecodedBuffer<'a>) -> Option<&'a [u8]>,
) -> u64 {
    let mut hasher = DefaultHasher::new();
    for b in buffers {
        let bytes = record(b).unwrap_or_default();
        for range in &b.defined {
            hasher.write(bytes.get(range.clone()).unwrap_or_default());
        }
    }
    hasher.finish()
}

fn counters_are_right(capture: &Capture<'_>) -> bool {
    counters(capture).all(|(captured, expected)| captured.counter.is_none_or(|c| c == expected))
}

/// Iterates over the buffers, with the value that the counter of each should have after End.
pub(super) fn counters<'a>(
    capture: &'a Capture<'_>,
) -> impl Iterator<Item = (&'a CapturedBuffer<'a>, u32)> {
    let written = capture.expectation.primitives_written;
    let records = written.saturating_mul(capture.vertices_per_primitive());
    let appended = move |b: &DecodedBuffer<'_>| records.saturating_mul(b.stride as u64);
    let captured = capture.buffers.iter().map(move |b| (b.captured, appended(b)));
    captured.chain(capture.idle.iter().map(|c| (*c, 0))).map(|(captured, appended)| {
        let counter = captured.position.saturating_add(appended);
        (captured, u32::try_from(counter).unwrap_or(u32::MAX))
    })
}
