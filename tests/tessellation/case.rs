//! Random captures of random pipelines: draws, the room for what they capture, and what is there afterwards.

use crate::common::commands::{Draw as Command, Instances, Span};
use crate::common::rng::Rng;
use crate::program::{Id, Program, RECORD_DWORDS, STRIDE};

/// How the device gets the arguments of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Direct,
    Indirect,
}

/// A draw, in the words of `VkDrawIndexedIndirectCommand`.
#[derive(Debug, Clone, Copy)]
pub struct Draw {
    pub how: How,
    pub indexed: bool,
    pub count: u32,
    pub instance_count: u32,
    pub first: u32,
    pub vertex_offset: i32,
    pub first_instance: u32,
}

impl Draw {
    /// A draw of one instance without indices.
    pub const fn vertices(count: u32) -> Self {
        Self {
            how: How::Direct,
            indexed: false,
            count,
            instance_count: 1,
            first: 0,
            vertex_offset: 0,
            first_instance: 0,
        }
    }

    /// The command of the draw. If it is indirect, its arguments are at `offset`.
    pub fn command(&self, offset: u64) -> Command {
        let Self { indexed, count, first, vertex_offset, .. } = *self;
        match self.how {
            How::Direct => Command::Direct {
                indexed,
                span: Span { first, count, vertex_offset },
                instances: Instances { first: self.first_instance, count: self.instance_count },
            },
            How::Indirect => {
                Command::Indirect { indexed, offset, draw_count: 1, stride: 20, count: None }
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct Case {
    pub seed: u64,
    pub program: Program,
    pub draws: Vec<Draw>,
    pub indices: Vec<u16>,
    /// Whether the index 0xffff restarts patches.
    pub restart: bool,
    /// The size of the capture buffer.
    pub size: u64,
    /// The counter to begin with.
    pub begin: Option<u32>,
}

/// What is there after a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub captured: Vec<u32>,
    pub counter: u32,
    /// Primitives written, needed and generated.
    pub queries: [u64; 3],
}

pub const UNTOUCHED: u32 = 0xa5a5_a5a5;

impl Case {
    /// `direct_only` for native captures. `most` is the largest level, if there is another limit than that of devices.
    pub fn random(seed: u64, direct_only: bool, most: Option<u32>) -> Self {
        let rng = &mut Rng::new(seed);
        let mut program = Program::random(rng);
        program.most = program.most.min(most.unwrap_or(u32::MAX));
        // What takes long is rare.
        let patches: &[u32] = if program.most > 20 { &[0, 1, 2] } else { &[0, 1, 2, 3, 7, 20] };
        // Natively all indices are within the buffer.
        let indices = if direct_only { 800 } else { 200 };
        let mut indices: Vec<u16> = (0..indices).map(|_| rng.below(3000) as u16).collect();
        let draws = (0..rng.range(1, 4))
            .map(|_| {
                let indexed = rng.percent(40);
                let count = rng.pick(patches) * program.taken + rng.below(program.taken);
                let indirect = !direct_only && rng.percent(40);
                Draw {
                    how: if indirect { How::Indirect } else { How::Direct },
                    indexed,
                    // Indices beyond the buffer are 0.
                    count,
                    instance_count: rng.pick(&[0, 1, 1, 1, 2, 3]),
                    first: rng.below(50),
                    vertex_offset: if indexed { rng.below(9) as i32 - 4 } else { 0 },
                    first_instance: rng.below(5),
                }
            })
            .collect();
        let restart = rng.percent(30);
        if restart {
            let often = rng.pick(&[2, 10, 40]);
            indices.iter_mut().for_each(|index| {
                if rng.percent(often) {
                    *index = u16::MAX;
                }
            });
        }
        let mut case = Self { seed, program, draws, indices, restart, size: 0, begin: None };
        // What takes long is rare.
        let mut all = case.primitives().len() as u64;
        while all > 20_000 && case.draws.len() > 1 {
            case.draws.pop();
            all = case.primitives().len() as u64;
        }
        let bytes = all * case.program.captured_vertices() as u64 * STRIDE;
        case.size = match rng.below(4) {
            0 => (bytes / 2 + u64::from(rng.below(200))).next_multiple_of(4),
            1 => u64::from(rng.below(2000)).next_multiple_of(4),
            _ => bytes + 4 * u64::from(rng.below(40)),
        }
        .max(4);
        case.begin = (!direct_only && rng.percent(30)).then(|| 4 * rng.below(100));
        case
    }

    /// The vertices of the patches of an instance.
    fn patches(&self, draw: &Draw, instance: u32) -> Vec<Vec<Id>> {
        let instance = draw.first_instance + instance;
        let places = draw.first..draw.first + draw.count;
        let taken = self.program.taken as usize;
        if !draw.indexed {
            let ids: Vec<Id> = places.map(|place| [place, instance]).collect();
            return ids.chunks_exact(taken).map(<[_]>::to_vec).collect();
        }
        // Indices beyond the buffer are 0.
        let index = |place: u32| self.indices.get(place as usize).copied().unwrap_or_default();
        let indices: Vec<u16> = places.map(index).collect();
        let id =
            |index: &u16| [u32::from(*index).wrapping_add_signed(draw.vertex_offset), instance];
        (indices.split(|index| self.restart && *index == u16::MAX))
            .flat_map(|segment| segment.chunks_exact(taken))
            .map(|patch| patch.iter().map(id).collect())
            .collect()
    }

    /// All primitives, each with its records.
    pub fn primitives(&self) -> Vec<Vec<[u32; RECORD_DWORDS]>> {
        let each = self.program.captured_vertices();
        let mut primitives = Vec::new();
        for draw in &self.draws {
            for instance in 0..draw.instance_count {
                for (patch, ids) in (0..).zip(self.patches(draw, instance)) {
                    let records = self.program.patch(&ids, patch);
                    primitives.extend(records.chunks(each).map(<[_]>::to_vec));
                }
            }
        }
        primitives
    }

    pub fn expected(&self) -> Outcome {
        let mut captured = vec![UNTOUCHED; self.size as usize / 4];
        let primitives = self.primitives();
        let mut position = u64::from(self.begin.unwrap_or(0));
        let mut written = 0;
        for primitive in &primitives {
            let bytes = primitive.len() as u64 * STRIDE;
            if position + bytes > self.size {
                break;
            }
            let first = position as usize / 4;
            captured[first..first + bytes as usize / 4].copy_from_slice(primitive.as_flattened());
            position += bytes;
            written += 1;
        }
        let needed = primitives.len() as u64;
        Outcome { captured, counter: position as u32, queries: [written, needed, needed] }
    }

    pub fn describe(&self) -> String {
        let Self { seed, program, draws, restart, size, begin, .. } = self;
        format!(
            "seed {seed}: {program:?}\nrestart {restart}, {size} bytes, begun at {begin:?}, {draws:#?}\n{}\n{}\n{:?}",
            program.control(),
            program.evaluation(),
            program.geometry()
        )
    }
}
