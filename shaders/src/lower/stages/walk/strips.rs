//! What runs of a geometry shader emit.

use crate::capture::MAX_STREAMS;

const STREAMS: usize = MAX_STREAMS as usize;

/// What a geometry shader declares of its output.
#[derive(Debug, Clone, Copy)]
pub(in crate::lower) struct Output {
    /// The number of vertices of a primitive.
    pub vertices: u32,
    /// The largest number of vertices that a run emits to each stream. Further ones are ignored at run time.
    pub most: u32,
    /// The vertex streams that the shader emits to: bit n is set for stream n.
    pub streams: u32,
}

/// The lengths of the strips that a run emits to each stream, in order. Strips without a primitive are left out. All
/// points of a stream are one strip.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::lower) struct Strips([Vec<u32>; STREAMS]);

impl Strips {
    /// The number of primitives, with `vertices` vertices each, of all streams.
    pub(in crate::lower) fn primitives(&self, vertices: u32) -> u32 {
        (0..MAX_STREAMS).map(|stream| self.primitives_of(stream, vertices)).sum()
    }

    /// The number of primitives, with `vertices` vertices each, of one stream.
    pub(super) fn primitives_of(&self, stream: u32, vertices: u32) -> u32 {
        self.of_stream(stream).iter().map(|length| (length + 1).saturating_sub(vertices)).sum()
    }

    /// The lengths of the strips of one stream.
    pub(in crate::lower) fn of_stream(&self, stream: u32) -> &[u32] {
        self.0.get(stream as usize).map_or(&[], |lengths| lengths)
    }

    /// The lengths of the strips of each stream.
    #[cfg(test)]
    pub(in crate::lower) fn lengths(&self) -> &[Vec<u32>; STREAMS] {
        &self.0
    }
}

/// What a run has emitted up to some point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Emitted {
    strips: Strips,
    /// The number of vertices of each stream's current strip.
    open: [u32; STREAMS],
    /// The number of vertices that the run may still emit to each stream.
    left: [u32; STREAMS],
}

impl Emitted {
    pub(super) fn new(most: u32) -> Self {
        Self { strips: Strips::default(), open: [0; STREAMS], left: [most; STREAMS] }
    }

    /// Adds a vertex. Returns false if it is one too many, and ignored.
    pub(super) fn add(&mut self, stream: usize) -> bool {
        let (Some(open), Some(left)) = (self.open.get_mut(stream), self.left.get_mut(stream))
        else {
            return false;
        };
        let is_added = *left > 0;
        *left -= u32::from(is_added);
        *open += u32::from(is_added);
        is_added
    }

    /// Ends the current strip of a stream.
    pub(super) fn end_strip(&mut self, stream: usize, vertices: u32) {
        let (Some(open), Some(strips)) = (self.open.get_mut(stream), self.strips.0.get_mut(stream))
        else {
            return;
        };
        // Points are not parted.
        if vertices > 1 {
            let length = std::mem::take(open);
            strips.extend((length >= vertices).then_some(length));
        }
    }

    /// Ends the run.
    pub(super) fn end(mut self, vertices: u32) -> Strips {
        for (strips, open) in self.strips.0.iter_mut().zip(self.open) {
            strips.extend((open >= vertices).then_some(open));
        }
        self.strips
    }

    /// Whether all further vertices are ignored.
    pub(super) fn is_full(&self, streams: u32) -> bool {
        self.left.iter().zip(0..).all(|(left, stream)| *left == 0 || streams >> stream & 1 == 0)
    }

    /// The number of strips, which is what takes memory here.
    pub(super) fn len(&self) -> usize {
        self.strips.0.iter().map(Vec::len).sum()
    }
}
