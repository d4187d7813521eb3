//! Random draws and their indices and arguments.

use super::Generator;
use crate::common::commands::{Draw, Instances, Range, Span};
use crate::model::{Fact, Model};
use crate::program::{IndexBuffer, Pass, StateChange, Step};
use crate::shaders::{Shader, VERTEX_STRIDE};

/// The largest number of primitives of a draw, so that programs stay small.
const MANY: u32 = 20;

impl Generator<'_> {
    /// Adds a draw of any kind, after binding everything that it needs.
    pub(super) fn draw(&mut self) {
        for _ in 0..10 {
            let draw = self.any_draw();
            if self.is_legal(&draw) {
                return self.push(Step::Draw(draw));
            }
        }
    }

    pub(super) fn byte_count_draw(&mut self, counter: u64) {
        let draw = Draw::ByteCount {
            instances: self.instances(true),
            counter,
            counter_offset: self.counter_offset(),
            vertex_stride: VERTEX_STRIDE * self.rng.range(1, 2),
        };
        if self.is_legal(&draw) {
            self.push(Step::Draw(draw));
        }
    }

    /// Adds the last capture of a program. Its indices end with the memory.
    pub(super) fn out_of_range(&mut self) {
        self.begin_round();
        self.push(Step::BeginPass(Pass::default()));
        let shader = self.rng.pick(&[Shader::Identify, Shader::Spread]);
        self.bind_pipeline(shader);
        self.choose_ranges(None);
        self.push(Step::CaptureBuffers(self.ranges));
        self.begin();
        let args = self.place_dwords("arguments", &[0; 5]);
        self.bind_indices();
        let size = self.model.indices.unwrap().range.size as u32;
        let span = Span {
            first: match self.rng.below(5) {
                0 => self.rng.u32() >> 1,
                _ => self.rng.below(size + 8),
            },
            count: self.rng.below(MANY),
            vertex_offset: self.vertex_offset(),
        };
        let instances = self.instances(false);
        if !self.space.indirect || self.rng.percent(70) {
            self.push(Step::Draw(Draw::Direct { indexed: true, span, instances }))
        } else {
            self.set_dwords(args, &command(true, span, instances));
            let indirect = (args, 1, 20, None);
            let (offset, draw_count, stride, count) = indirect;
            let indexed = true;
            self.push(Step::Draw(Draw::Indirect { indexed, offset, draw_count, stride, count }));
        }
        let counters = self.some_counters(true);
        self.push(Step::End(counters));
        self.push(Step::EndPass);
    }

    fn set_dwords(&mut self, at: u64, dwords: &[u32]) {
        let bytes: Vec<u8> = dwords.iter().flat_map(|d| d.to_le_bytes()).collect();
        for memory in [&mut self.program.memory, &mut self.model.memory] {
            memory[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
        }
    }

    /// Whether a draw is small and reads nothing outside of the bound ranges.
    fn is_legal(&self, draw: &Draw) -> bool {
        self.executed(&[Step::Draw(draw.clone())], 400).is_some()
    }

    /// Returns the model after steps. Returns `None` if they have `many` primitives or more, read
    /// something outside of the bound ranges, or cause a fact that the program avoids.
    pub(super) fn executed(&self, steps: &[Step], many: u64) -> Option<Model> {
        let mut model = self.model.clone();
        for step in steps {
            if let Step::Draw(Draw::ByteCount { counter, vertex_stride, .. }) = step
                && model.dword(*counter) / vertex_stride > 4 * MANY
            {
                return None;
            }
            model.step(step, &self.program.queries);
        }
        let is_illegal = |fact: &Fact| {
            matches!(fact, Fact::IndexOutOfRange | Fact::VertexOutOfRange)
                || self.avoided.contains(fact)
        };
        let is_small = model.primitives - self.model.primitives < many;
        (is_small && !model.facts.iter().any(is_illegal)).then_some(model)
    }

    fn any_draw(&mut self) -> Draw {
        loop {
            let indexed = self.space.indexed && self.rng.percent(60);
            let kind = self.rng.below(100);
            return match kind {
                0..40 => {
                    let (span, instances) = (self.bound_span(indexed), self.instances(false));
                    Draw::Direct { indexed, span, instances }
                }
                40..60 if self.space.multi_draw => self.multi_draw(indexed),
                60..92 if self.space.indirect => self.indirect(indexed),
                92.. if self.space.byte_count && !self.is_unseen => {
                    let Some(counter) = self.seen_counter() else { continue };
                    Draw::ByteCount {
                        instances: self.instances(false),
                        counter,
                        counter_offset: self.counter_offset(),
                        vertex_stride: 4 * self.rng.range(2, 40),
                    }
                }
                _ => continue,
            };
        }
    }

    fn counter_offset(&mut self) -> u32 {
        if self.dares(Fact::ByteCountOffset, 30) { 4 * self.rng.below(40) } else { 0 }
    }

    fn multi_draw(&mut self, indexed: bool) -> Draw {
        let first = self.bound_span(indexed);
        let more = self.rng.below(4);
        let mut spans: Vec<Span> = (0..more).map(|_| self.span(indexed)).collect();
        spans.push(first);
        let vertex_offset = (indexed && self.rng.percent(40)).then(|| self.vertex_offset());
        Draw::Multi { indexed, spans, instances: self.instances(false), vertex_offset }
    }

    fn indirect(&mut self, indexed: bool) -> Draw {
        if indexed && self.rng.percent(60) {
            self.change(StateChange::IndexBuffer(self.front_indices));
        } else if indexed {
            self.maybe_bind_indices();
        }
        let most = if self.space.multi_indirect { 4 } else { 1 };
        let least = u32::from(self.rng.percent(85));
        let draw_count = self.rng.range(least, most);
        let size = if indexed { 20 } else { 16 };
        let counted = self.space.indirect_count && self.rng.percent(40);
        let stride = if draw_count <= 1 && !counted {
            self.rng.pick(&[0, 4, size])
        } else {
            size + 4 * self.rng.pick(&[0, 0, 1, 3])
        };
        let mut dwords = Vec::new();
        for index in 0..draw_count {
            // The padding between commands would draw something if it were read.
            dwords.resize((index * stride.max(size) / 4) as usize, 3);
            let (span, instances) = (self.span(indexed), self.instances(true));
            dwords.extend(command(indexed, span, instances));
        }
        let offset = self.place_dwords("arguments", &dwords);
        let count = counted.then(|| {
            let count = match self.rng.below(4) {
                0 => self.rng.below(draw_count + 1),
                1 => draw_count + self.rng.below(5),
                _ => draw_count,
            };
            self.place_dwords("draw count", &[3, count, 3]) + 4
        });
        Draw::Indirect { indexed, offset, draw_count, stride, count }
    }

    fn instances(&mut self, indirect: bool) -> Instances {
        let count = match self.rng.below(20) {
            0 => 0,
            1..13 => 1,
            _ => self.rng.range(2, 4),
        };
        let first = match self.rng.below(20) {
            _ if indirect && !self.space.indirect_first_instance => 0,
            0 => self.far(count),
            1..8 => self.rng.below(12),
            _ => 0,
        };
        Instances { first, count }
    }

    /// Returns the number of the first of `count` vertices or instances. In half of the cases it is
    /// so high that the numbers wrap.
    fn far(&mut self, count: u32) -> u32 {
        if self.rng.percent(50) { u32::MAX - self.rng.below(count + 2) } else { self.rng.u32() }
    }

    /// Returns a random span of vertices or, if indices are bound, of indices.
    fn bound_span(&mut self, indexed: bool) -> Span {
        if indexed {
            self.maybe_bind_indices();
        }
        self.span(indexed)
    }

    fn span(&mut self, indexed: bool) -> Span {
        let count = match self.rng.below(10) {
            0 => self.rng.below(3),
            1 => self.rng.below(3 * MANY),
            _ => self.rng.below(MANY),
        };
        if !indexed {
            let first = match self.rng.below(30) {
                0..2 => self.far(count),
                2..15 => self.rng.below(30),
                _ => 0,
            };
            return Span { first, count, vertex_offset: 0 };
        }
        let IndexBuffer { range, index_size } = self.model.indices.unwrap();
        let indices = (range.size / index_size) as u32;
        let first = if self.rng.percent(50) { 0 } else { self.rng.below(indices + 1) };
        Span { first, count: count.min(indices - first), vertex_offset: self.vertex_offset() }
    }

    fn vertex_offset(&mut self) -> i32 {
        match self.rng.below(20) {
            0 => self.far(40).cast_signed(),
            1..4 => self.rng.below(40).cast_signed() - 20,
            4..8 => self.rng.below(20).cast_signed(),
            _ => 0,
        }
    }

    fn maybe_bind_indices(&mut self) {
        if self.model.indices.is_none() || self.rng.percent(40) {
            self.bind_indices();
        }
    }

    fn bind_indices(&mut self) {
        let buffer = self.place_indices();
        self.change(StateChange::IndexBuffer(buffer));
    }

    /// Adds indices that consist of segments of random lengths, with restart indices between them,
    /// also at the start, at the end, and several in a row.
    pub(super) fn place_indices(&mut self) -> IndexBuffer {
        let index_size = match self.rng.below(3) {
            0 if self.space.uint8 => 1,
            1 if self.space.full_index => 4,
            _ => 2,
        };
        let restart = IndexBuffer::restart_index(index_size);
        let is_usual = self.rng.percent(85);
        let mut indices = Vec::new();
        let cuts = self.rng.below(7);
        for _ in 0..cuts {
            for _ in 0..self.rng.below(11) {
                indices.push(if is_usual {
                    self.rng.below(40)
                } else {
                    match self.rng.below(8) {
                        0 => restart - 1,
                        1 => self.rng.u32() & restart,
                        _ => self.rng.below(40),
                    }
                });
            }
            if self.rng.percent(80) {
                indices.push(restart);
            }
        }
        for _ in 0..self.rng.below(24) {
            indices.push(self.rng.below(40));
        }
        if indices.is_empty() {
            indices.push(restart);
        }
        let bytes: Vec<u8> = indices
            .iter()
            .flat_map(|index| index.to_le_bytes().into_iter().take(index_size as usize))
            .collect();
        let range = Range { offset: self.place("indices", &bytes), size: bytes.len() as u64 };
        IndexBuffer { range, index_size }
    }
}

/// Returns a `VkDrawIndirectCommand` or a `VkDrawIndexedIndirectCommand` as dwords.
fn command(indexed: bool, span: Span, instances: Instances) -> Vec<u32> {
    let mut dwords = vec![span.count, instances.count, span.first];
    dwords.extend(indexed.then_some(span.vertex_offset.cast_unsigned()));
    dwords.push(instances.first);
    dwords
}
