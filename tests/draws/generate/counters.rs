//! Programs with every combination of counters at Begin and at End.

use vkxfb::topology::PrimitiveTopology;

use super::{Generator, Space};
use crate::common::commands::{Counters, Draw, Instances, Span};
use crate::program::{Pass, Program, Step};
use crate::shaders::Shader;

/// Which of the bound buffers have a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    None,
    Every,
    /// Every other bound buffer has a counter, from the first or from the second on.
    Alternate(usize),
}

impl Counted {
    const ALL: [Self; 4] = [Self::None, Self::Every, Self::Alternate(0), Self::Alternate(1)];

    /// Whether a buffer has a counter. `number` is its number among the bound buffers.
    const fn has(self, number: usize) -> bool {
        match self {
            Self::None => false,
            Self::Every => true,
            Self::Alternate(first) => number % 2 == first,
        }
    }
}

/// What captures draw: one small draw, several draws, or draws that only the GPU knows. They are
/// recorded in different ways.
#[derive(Debug, Clone, Copy)]
enum Drawn {
    One,
    Several,
    Indirect,
}

/// Returns programs with one capture for each combination of counters at Begin and at End, for one
/// to four buffers. All pipelines have the same topology, without primitive restart, because
/// creating pipelines takes most of the time.
pub fn counter_combinations(space: &Space) -> Vec<Program> {
    let space = &Space {
        topologies: vec![PrimitiveTopology::TriangleList],
        last_provoking: false,
        list_restart: false,
        ..space.clone()
    };
    let buffers = [
        (Shader::Identify, [true; 4]),
        (Shader::Fetch, [true; 4]),
        (Shader::Spread, [true, true, false, true]),
        (Shader::Spread, [true; 4]),
    ];
    let mut programs = Vec::new();
    for (shader, is_bound) in buffers {
        for begin in Counted::ALL {
            for end in Counted::ALL {
                for drawn in [Drawn::One, Drawn::Several, Drawn::Indirect] {
                    if matches!(drawn, Drawn::Indirect) && !space.indirect {
                        continue;
                    }
                    let seed = programs.len() as u64;
                    let mut generator = Generator::new(seed, space);
                    generator.is_bound = is_bound;
                    generator.counted_capture(shader, begin, end, drawn);
                    programs.push(generator.program);
                }
            }
        }
    }
    programs
}

impl Generator<'_> {
    fn counted_capture(&mut self, shader: Shader, begin: Counted, end: Counted, drawn: Drawn) {
        self.begin_round();
        let pass = Pass::default();
        self.push(Step::BeginPass(pass));
        self.pass = Some(pass);
        self.bind_pipeline(shader);
        self.bind_vertices();
        self.choose_ranges(None);
        self.push(Step::CaptureBuffers(self.ranges));
        self.push(Step::Begin(self.counters_of(shader, begin)));
        let instances = Instances { first: 0, count: 1 };
        let span = |first, count| Span { first, count, vertex_offset: 0 };
        match drawn {
            Drawn::Indirect => {
                let offset = self.place_dwords("arguments", &[9, 1, 2, 0]);
                let (indexed, draw_count, stride, count) = (false, 1, 16, None);
                self.push(Step::Draw(Draw::Indirect {
                    indexed,
                    offset,
                    draw_count,
                    stride,
                    count,
                }));
            }
            Drawn::One => {
                self.push(Step::Draw(Draw::Direct { indexed: false, span: span(1, 9), instances }));
            }
            Drawn::Several => {
                for span in [span(0, 7), span(3, 8)] {
                    self.push(Step::Draw(Draw::Direct { indexed: false, span, instances }));
                }
            }
        }
        self.push(Step::End(self.counters_of(shader, end)));
        self.push(Step::EndPass);
        self.pass = None;
    }

    fn counters_of(&self, shader: Shader, counted: Counted) -> Counters {
        let strides = shader.strides();
        let captured = (0..4).filter(|buffer| strides[*buffer].is_some() && self.is_bound[*buffer]);
        let captured: Vec<usize> = captured.collect();
        let slot = |buffer: usize| {
            let number = captured.iter().position(|captured| *captured == buffer)?;
            counted.has(number).then(|| self.counters[buffer])
        };
        let mut counters: Vec<Option<u64>> = (0..4).map(slot).collect();
        while counters.last() == Some(&None) {
            counters.pop();
        }
        Counters { first: 0, counters }
    }
}
