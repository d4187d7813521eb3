//! Random programs. The model runs at the same time, so that choices can depend on the values of
//! the counters.

mod counters;
mod draws;
mod passes;
mod space;
mod state;

use vkxfb_probe::sentinel;

pub use self::counters::counter_combinations;
pub use self::space::Space;
use crate::common::commands::{Counters, Draw, Range};
use crate::common::rng::Rng;
use crate::model::{Fact, Model};
use crate::program::{IndexBuffer, Pass, Program, State, StateChange, Step};
use crate::sets::{HANDLES, OBJECTS, SPACING};
use crate::shaders::{INSTANCE_STRIDE, Shader, VERTEX_STRIDE};

/// Bytes before and after a capture buffer: the largest `minStorageBufferOffsetAlignment` that
/// Vulkan allows, so that no descriptor with an aligned start overlaps memory that other commands
/// access.
const GUARD: u64 = 256;
/// The number of bytes that captures to one buffer share.
const REGION: u64 = 4096;
/// The number of elements in the vertex buffers.
const VERTICES: u64 = 64;
const INSTANCES: u64 = 16;
const BUFFERS: [&str; 4] = ["buffer 0", "buffer 1", "buffer 2", "buffer 3"];
/// The number of counters of a program.
const COUNTERS: u64 = 8;

/// A query that was begun and has not ended.
struct Open {
    query: usize,
    in_pass: bool,
}

/// Records of [`Shader::Identify`] in memory, and the counter that contains their size.
struct Captured {
    range: Range,
    counter: u64,
}

struct Generator<'a> {
    rng: Rng,
    space: &'a Space,
    program: Program,
    model: Model,
    /// For each buffer, the range that may be bound.
    regions: [Range; 4],
    /// Whether each buffer is bound in this program.
    is_bound: [bool; 4],
    ranges: [Option<Range>; 4],
    counters: Vec<u64>,
    vertices: [Range; 2],
    /// Indices at the start of the memory.
    front_indices: IndexBuffer,
    captured: Vec<Captured>,
    open: Vec<Open>,
    /// The pass that was begun and has not ended.
    pass: Option<Pass>,
    /// Whether the current pass must not read what it captured, because no barrier has made that
    /// visible.
    is_unseen: bool,
    /// The counters that were written, and those that were read by draws, since the last barrier: nothing orders a read of
    /// the former, or a write of any of them.
    written: Vec<u64>,
    read: Vec<u64>,
    /// Whether queries may begin.
    has_queries: bool,
    /// The bound state, if a pipeline is bound.
    pipeline: Option<State>,
    /// Whether the program sets primitive restart indices. No driver can run such a program
    /// natively.
    restart_indices: bool,
    /// The facts that the program must avoid.
    avoided: Vec<Fact>,
}

/// Generates the program of a seed.
pub fn generate(seed: u64, space: &Space) -> Program {
    let mut generator = Generator::new(seed, space);
    for _ in 0..generator.rng.range(1, 3) {
        generator.round();
    }
    if space.index_out_of_range && generator.rng.percent(10) {
        generator.out_of_range();
    }
    generator.program
}

impl<'a> Generator<'a> {
    fn new(seed: u64, space: &'a Space) -> Self {
        let mut rng = Rng::new(seed);
        let (memory, areas, queries, rounds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let program = Program { seed, memory, areas, objects: 0, queries, rounds };
        let mut avoided = space.faulty.clone();
        match rng.below(10) {
            0 => avoided.clear(),
            1..4 if !avoided.is_empty() => {
                avoided.swap_remove(rng.below(avoided.len() as u32) as usize);
            }
            _ => {}
        }
        let restart_indices = space.restart_index && rng.percent(10);
        let dares = |rng: &mut Rng, fact| !avoided.contains(&fact) && rng.percent(15);
        let all_bound = !dares(&mut rng, Fact::Unbound);
        let is_bound = std::array::from_fn(|_| all_bound || rng.percent(60));
        let nothing = Range { offset: 0, size: 0 };
        let mut generator = Self {
            rng,
            space,
            program,
            model: Model::new(Vec::new()),
            regions: [nothing; 4],
            is_bound,
            ranges: [None; 4],
            counters: Vec::new(),
            vertices: [nothing; 2],
            front_indices: IndexBuffer { range: nothing, index_size: 2 },
            captured: Vec::new(),
            open: Vec::new(),
            pass: None,
            is_unseen: false,
            written: Vec::new(),
            read: Vec::new(),
            has_queries: true,
            pipeline: None,
            restart_indices,
            avoided,
        };
        generator.front_indices = generator.place_indices();
        generator.place_objects();
        for (buffer, name) in BUFFERS.into_iter().enumerate() {
            let mut bytes = vec![0; (GUARD + REGION + GUARD) as usize];
            sentinel::fill(buffer as u32, &mut bytes);
            let offset = generator.place(name, &bytes) + GUARD;
            generator.regions[buffer] = Range { offset, size: REGION };
        }
        // There are dwords between counters, which must not change.
        for _ in 0..COUNTERS {
            let value = match generator.rng.below(10) {
                0..4 => 0,
                4..9 => 4 * generator.rng.below(150),
                _ => 4 * generator.rng.below(1 << 28),
            };
            let at = generator.place_dwords("counter", &[!value, value, !value]) + 4;
            generator.counters.push(at);
        }
        let elements =
            [VERTICES * u64::from(VERTEX_STRIDE), INSTANCES * u64::from(INSTANCE_STRIDE)];
        generator.vertices = elements.map(|size| {
            let dwords: Vec<u32> = (0..size / 4).map(|_| generator.rng.u32()).collect();
            Range { offset: generator.place_dwords("vertices", &dwords), size }
        });
        generator
    }

    /// Adds data to the memory, at a multiple of 4. Returns its position.
    fn place(&mut self, name: &'static str, bytes: &[u8]) -> u64 {
        for memory in [&mut self.program.memory, &mut self.model.memory] {
            memory.resize(memory.len().next_multiple_of(4), 0xa5);
            memory.extend(bytes);
        }
        let start = (self.program.memory.len() - bytes.len()) as u64;
        self.program.areas.push((name, start));
        start
    }

    fn place_dwords(&mut self, name: &'static str, dwords: &[u32]) -> u64 {
        let bytes: Vec<u8> = dwords.iter().flat_map(|d| d.to_le_bytes()).collect();
        self.place(name, &bytes)
    }

    /// Places the objects that descriptor sets read before all capture buffers: if there are few
    /// descriptors, those of captures also cover the memory between their ranges.
    fn place_objects(&mut self) {
        let alignment = SPACING as usize;
        for memory in [&mut self.program.memory, &mut self.model.memory] {
            memory.resize(memory.len().next_multiple_of(alignment), 0xa5);
        }
        let dwords: Vec<u32> =
            (0..HANDLES * OBJECTS * SPACING / 4).map(|_| self.rng.u32()).collect();
        let objects = self.place_dwords("objects", &dwords);
        (self.program.objects, self.model.objects) = (objects, objects);
    }

    fn push(&mut self, step: Step) {
        match &step {
            Step::Barrier => self.forget_accesses(),
            Step::NextPart if self.pass.is_some_and(|pass| pass.kind.orders_parts()) => {
                self.forget_accesses();
            }
            Step::End(counters) => self.written.extend(counters.counters.iter().flatten()),
            Step::Draw(Draw::ByteCount { counter, .. }) => self.read.push(*counter),
            Step::Change(StateChange::BeginConditionalRendering(condition)) => {
                self.read.push(condition.offset);
            }
            _ => {}
        }
        self.model.step(&step, &self.program.queries);
        self.program.rounds.last_mut().unwrap().push(step);
    }

    fn forget_accesses(&mut self) {
        self.written.clear();
        self.read.clear();
    }

    /// A counter that a draw may read, if there is one.
    fn seen_counter(&mut self) -> Option<u64> {
        let mut seen = self.counters.clone();
        seen.retain(|counter| !self.written.contains(counter));
        (!seen.is_empty()).then(|| self.rng.pick(&seen))
    }

    fn change(&mut self, change: StateChange) {
        self.push(Step::Change(change));
    }

    fn begin_round(&mut self) {
        self.program.rounds.push(Vec::new());
        self.model.begin_round();
    }

    fn maybe_begin_query(&mut self, percent: u32) {
        if self.space.queries.is_empty() || !self.has_queries || !self.rng.percent(percent) {
            return;
        }
        let kind = self.rng.pick(&self.space.queries);
        if self.open.iter().any(|open| self.program.queries[open.query] == kind) {
            return;
        }
        let query = self.program.queries.len();
        self.program.queries.push(kind);
        self.open.push(Open { query, in_pass: self.pass.is_some() });
        self.push(Step::BeginQuery(query));
    }

    /// Ends some of the queries that may end here.
    fn maybe_end_queries(&mut self) {
        if self.rng.percent(50) {
            self.end_queries(self.pass.is_some());
        }
    }

    /// Ends the queries that began inside of the current pass, or those that began outside.
    fn end_queries(&mut self, in_pass: bool) {
        let open = std::mem::take(&mut self.open);
        let (ended, open): (Vec<_>, Vec<_>) = open.into_iter().partition(|o| o.in_pass == in_pass);
        self.open = open;
        for Open { query, .. } in ended {
            self.push(Step::EndQuery(query));
        }
    }

    /// Adds draws that are not captured.
    fn outside(&mut self) {
        let shader = self.rng.pick(&Shader::ALL);
        self.bind_pipeline(shader);
        self.bind_vertices();
        self.maybe_begin_query(25);
        for _ in 0..self.rng.range(1, 2) {
            self.change_state();
            self.draw();
        }
        self.end_conditional_rendering();
        self.maybe_end_queries();
    }

    /// Adds a Begin, draws, and the End.
    fn capture(&mut self) {
        let shader = self.rng.pick(&Shader::ALL);
        self.bind_pipeline(shader);
        self.bind_vertices();
        let is_resumed = self.ranges.iter().any(Option::is_some) && self.rng.percent(60);
        if !is_resumed {
            self.choose_ranges(None);
        }
        self.push(Step::CaptureBuffers(self.ranges));
        self.begin();
        self.draws();
        self.end(shader);
        self.neighbours();
    }

    /// Adds captures that need no barrier after the one before: they write other bytes and other counters, and read
    /// nothing that it wrote.
    fn neighbours(&mut self) {
        let count = u64::from(self.rng.below(4));
        let before = self.ranges;
        for number in 0..count {
            match self.pipeline.filter(|_| self.rng.percent(80)) {
                Some(state) => self.change(StateChange::Pipeline(state)),
                None => {
                    let shader = self.rng.pick(&Shader::ALL);
                    self.bind_pipeline(shader);
                }
            }
            if self.rng.percent(30) {
                self.bind_vertices();
            }
            for (buffer, range) in self.ranges.iter_mut().enumerate() {
                let (Some(range), Some(before)) = (range, before[buffer]) else { continue };
                let region = self.regions[buffer];
                let half = region.size / 2;
                let is_first = before.offset < region.offset + half;
                let start = region.offset + if is_first { half } else { 0 };
                let (share, skipped) = (half / 4, 4 * u64::from(self.rng.below(16)));
                *range = Range { offset: start + number * share + skipped, size: share - skipped };
            }
            self.push(Step::CaptureBuffers(self.ranges));
            self.push(Step::Begin(Counters::default()));
            self.draws();
            self.end_conditional_rendering();
            let steps = self.program.rounds.last().unwrap().iter();
            let counters = steps.filter_map(|step| match step {
                Step::Begin(counters) | Step::End(counters) => Some(&counters.counters),
                _ => None,
            });
            let used: Vec<u64> = counters.flatten().copied().flatten().collect();
            let mut unused = self.counters.clone();
            unused.retain(|counter| {
                self.space.counters && !used.contains(counter) && !self.read.contains(counter)
            });
            self.rng.shuffle(&mut unused);
            let counters =
                self.ranges.iter().map(|range| range.and_then(|_| unused.pop())).collect();
            self.push(Step::End(Counters { first: 0, counters }));
        }
        self.ranges = before;
    }

    /// Adds draws of the number of vertices that an earlier capture wrote.
    fn consume(&mut self) {
        let at = self.rng.below(self.captured.len() as u32) as usize;
        let Captured { range, counter } = self.captured[at];
        self.bind_pipeline(Shader::Fetch);
        self.choose_ranges(Some(range));
        self.change(StateChange::VertexBuffers([range, self.vertices[1]]));
        self.push(Step::CaptureBuffers(self.ranges));
        self.begin();
        self.byte_count_draw(counter);
        if self.rng.percent(50) {
            self.draws();
        }
        self.end(Shader::Fetch);
    }

    fn draws(&mut self) {
        for _ in 0..self.rng.range(1, 4) {
            self.maybe_begin_query(15);
            self.change_state();
            self.draw();
            if self.rng.percent(30) {
                self.maybe_end_queries();
            }
        }
    }

    /// Chooses the ranges to capture to. None of them overlaps memory that is read.
    fn choose_ranges(&mut self, read: Option<Range>) {
        // One buffer that is too small for what is drawn will do.
        let tight = self.rng.percent(50).then(|| self.rng.below(4) as usize);
        for buffer in 0..4 {
            if !self.is_bound[buffer] {
                continue;
            }
            let region = self.regions[buffer];
            let (half, start) = (region.size / 2, 4 * u64::from(self.rng.below(16)));
            let mut offset = region.offset + start;
            let is_read = |r: Range| r.offset < region.offset + half && r.offset >= region.offset;
            if read.map_or(self.rng.percent(30), is_read) {
                offset += half;
            }
            let most = half - start;
            let size = match tight {
                Some(tight) if tight == buffer => 4 * u64::from(self.rng.range(1, 250)),
                _ => most - 4 * u64::from(self.rng.below(64)),
            };
            self.ranges[buffer] = Some(Range { offset, size: size.min(most) });
        }
    }

    fn begin(&mut self) {
        let begin = Step::Begin(self.some_counters(false));
        if self.is_avoided(&begin) {
            self.push(Step::Begin(Counters::default()))
        } else {
            self.push(begin)
        }
    }

    /// Makes a random choice. Returns false if the program avoids `fact`.
    fn dares(&mut self, fact: Fact, percent: u32) -> bool {
        !self.avoided.contains(&fact) && self.rng.percent(percent)
    }

    /// Whether a step causes a fact that the program avoids.
    fn is_avoided(&self, step: &Step) -> bool {
        let mut model = self.model.clone();
        model.step(step, &self.program.queries);
        self.avoided.iter().any(|fact| model.facts.contains(fact))
    }

    fn end(&mut self, shader: Shader) {
        self.end_capture_queries();
        self.end_conditional_rendering();
        let counters = self.some_counters(true);
        self.push(Step::End(counters.clone()));
        // Ranges and counters that no longer belong together are harmless: the model knows.
        for buffer in 0..4 {
            if let Some(counter) = counters.of(buffer) {
                self.captured.retain(|captured| captured.counter != counter);
            }
        }
        if let (Shader::Identify, Some(range), Some(counter)) =
            (shader, self.ranges[0], counters.of(0))
        {
            self.captured.push(Captured { range, counter });
        }
    }

    /// Ends some queries before the End, and others after it.
    fn end_capture_queries(&mut self) {
        if self.rng.percent(50) {
            self.maybe_end_queries();
        }
    }

    /// Chooses counters for buffers that are bound. If they are written, all of them are different.
    fn some_counters(&mut self, written: bool) -> Counters {
        let mut slots = self.counters.clone();
        // Buffers have their own counters most of the time, so that captures go on where one ended.
        if self.rng.percent(15) {
            self.rng.shuffle(&mut slots);
        }
        let rate = if written { 80 } else { 60 };
        let mut counters: Vec<Option<u64>> = (0..4)
            .map(|buffer| {
                let is_counted =
                    self.space.counters && self.is_bound[buffer] && self.rng.percent(rate);
                let accessed = [&self.written, &self.read];
                let is_ordered = !(written && accessed.iter().any(|c| c.contains(&slots[buffer])));
                (is_counted && is_ordered).then(|| slots[buffer])
            })
            .collect();
        while counters.last() == Some(&None) {
            counters.pop();
        }
        let mut first = 0;
        if counters.len() > 1 && self.dares(Fact::FirstCounter, 20) {
            first = self.rng.below(counters.len() as u32);
            counters.drain(..first as usize);
        }
        Counters { first, counters }
    }
}
