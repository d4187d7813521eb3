pub(crate) mod injections;

use crate::diagnose::*;
use crate::sentinel;
use proptest::prelude::*;
use vkxfb_rewriter::capture::{CapturedOutput, Layout, MAX_XFB_BUFFERS};
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::NumericClass;

impl Fault {
    /// All kinds of faults, from the most to the least serious.
    pub(crate) const ALL: [Self; 15] = [
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
}

const GUARD: usize = 20;

fn output(buffer: u32, offset: u32, components: u32) -> CapturedOutput {
    let class = NumericClass::Uint;
    CapturedOutput {
        buffer,
        offset,
        components,
        class,
        bits: 32,
        variable: Id(1),
        path: Vec::new(),
        name: None,
        location: None,
        component: 0,
    }
}

fn layout(two: bool) -> Layout {
    let mut layout = Layout {
        strides: [Some(16), None, None, None],
        streams: [0; 4],
        outputs: vec![output(0, 0, 1), output(0, 8, 2)],
        varyings: vec![],
    };
    if two {
        layout.strides[2] = Some(8);
        layout.outputs.push(output(2, 4, 1));
    }
    layout
}

/// A capture without faults, with what is expected of it.
#[derive(Debug)]
struct Right {
    layout: Layout,
    topology: PrimitiveTopology,
    provoking: ProvokingVertex,
    vertex_count: u32,
    instance_count: u32,
    written: u64,
    records: [Vec<u8>; MAX_XFB_BUFFERS],
    undefined: Vec<usize>,
    allocations: Vec<(u32, Vec<u8>)>,
    position: usize,
}

impl Right {
    #[expect(clippy::too_many_arguments, reason = "each is one dimension of the test")]
    fn new(
        topology: PrimitiveTopology,
        provoking: ProvokingVertex,
        vertex_count: u32,
        instance_count: u32,
        two: bool,
        position: usize,
        spare: usize,
        written: u64,
    ) -> Self {
        let layout = layout(two);
        let mut records: [Vec<u8>; MAX_XFB_BUFFERS] = Default::default();
        let mut allocations = Vec::new();
        let outputs = topology.output_count(vertex_count);
        let needed = topology.primitive_count(vertex_count) * u64::from(instance_count);
        let written = written.min(needed);
        let count = written * u64::from(topology.vertices_per_primitive());
        for (buffer, stride) in layout.buffers() {
            let stride = stride as usize;
            let table = &mut records[buffer];
            table.resize((vertex_count * instance_count) as usize * stride, 0);
            sentinel::fill(buffer as u32 + 9, table);
            let mut bytes = vec![0; GUARD + position + count as usize * stride + spare + GUARD];
            sentinel::fill(buffer as u32, &mut bytes);
            for record in 0..count {
                let vertex = topology.gather(provoking, record % outputs);
                let from = (record / outputs * u64::from(vertex_count) + vertex) as usize * stride;
                let to = GUARD + position + record as usize * stride;
                for o in layout.outputs_of(buffer) {
                    let range = o.offset as usize..(o.offset + o.size()) as usize;
                    bytes[to + range.start..to + range.end]
                        .copy_from_slice(&table[from + range.start..from + range.end]);
                }
            }
            allocations.push((buffer as u32, bytes));
        }
        Self {
            layout,
            topology,
            provoking,
            vertex_count,
            instance_count,
            written,
            records,
            undefined: Vec::new(),
            allocations,
            position,
        }
    }

    fn diagnose(&self) -> Verdict {
        let expectation = Expectation {
            sequence: Sequence::Assembled {
                topology: self.topology,
                provoking: self.provoking,
                vertex_count: self.vertex_count,
            },
            preserves_provoking_vertex: true,
            instance_count: self.instance_count,
            layout: &self.layout,
            records: self.records.each_ref().map(|r| r.as_slice()),
            undefined: &self.undefined,
            primitives_written: self.written,
        };
        let captured: Vec<_> = self
            .allocations
            .iter()
            .map(|(buffer, bytes)| CapturedBuffer {
                buffer: *buffer,
                bytes,
                bound: GUARD as u64..(bytes.len() - GUARD) as u64,
                position: self.position as u64,
                counter: None,
            })
            .collect();
        trace(&expectation, &captured, 0, 0, 100).unwrap();
        diagnose(&expectation, &captured).unwrap()
    }
}

prop_compose! {
    fn any_capture()(
        topology in proptest::sample::select(&PrimitiveTopology::ALL[..]),
        provoking in proptest::sample::select(&ProvokingVertex::ALL[..]),
        vertices in 0..24u32,
        instances in 0..4u32,
        two in any::<bool>(),
        position in 0..8usize,
        spare in 0..60usize,
        written in 0..80u64,
    ) -> Right {
        Right::new(topology, provoking, vertices, instances, two, position * 4, spare, written)
    }
}

/// A change of the bytes that were read back: flips bits of a byte, fills a range, or moves bytes.
#[derive(Debug, Clone)]
enum Corruption {
    Flip(usize, u8),
    Fill(usize, usize, u8),
    Move(usize, usize, usize),
}

fn any_corruption() -> impl Strategy<Value = Corruption> {
    prop_oneof![
        (any::<usize>(), 1..=255u8).prop_map(|(at, bits)| Corruption::Flip(at, bits)),
        (any::<usize>(), 0..200usize, any::<u8>()).prop_map(|(a, n, b)| Corruption::Fill(a, n, b)),
        (any::<usize>(), any::<usize>(), 0..200usize).prop_map(|(from, to, n)| Corruption::Move(
            from / 4 * 4,
            to / 4 * 4,
            n
        )),
    ]
}

proptest! {
    #[test]
    fn a_right_capture_matches(capture in any_capture()) {
        prop_assert_eq!(capture.diagnose(), Verdict::Match);
    }

    /// Whatever bytes are changed, the diagnosis does not panic. The verdict is a match if, and only if, no byte has
    /// changed.
    #[test]
    fn a_changed_byte_is_a_mismatch(
        mut capture in any_capture(),
        corruptions in proptest::collection::vec((any::<bool>(), any_corruption()), 1..4),
    ) {
        let right = capture.allocations.clone();
        for (which, corruption) in corruptions {
            let index = usize::from(which) % capture.allocations.len();
            let bytes = &mut capture.allocations[index].1;
            let size = bytes.len();
            match corruption {
                Corruption::Flip(at, bits) => bytes[at % size] ^= bits,
                Corruption::Fill(at, n, value) => {
                    let at = at % size;
                    bytes[at..(at + n).min(size)].fill(value);
                }
                Corruption::Move(from, to, n) => {
                    let (from, to) = (from % size, to % size);
                    let n = n.min(size - from).min(size - to);
                    bytes.copy_within(from..from + n, to);
                }
            }
        }
        let verdict = capture.diagnose();
        prop_assert_eq!(capture.allocations == right, verdict == Verdict::Match, "{:?}", verdict);
    }

    /// If the vertices of one primitive are in another order, the diagnosis names a rotation or a flipped winding, and
    /// no other fault.
    #[test]
    fn a_permuted_primitive_is_named(
        topology in proptest::sample::select(&PrimitiveTopology::ALL[..]),
        provoking in proptest::sample::select(&ProvokingVertex::ALL[..]),
        order in Just([0usize, 1, 2]).prop_shuffle(),
        at in any::<u64>(),
    ) {
        let m = topology.vertices_per_primitive() as usize;
        let mut capture = Right::new(topology, provoking, 18, 2, true, 4, 60, 1000);
        let primitive = (at % capture.written) as usize;
        let kept: Vec<_> = order.into_iter().filter(|slot| *slot < m).collect();
        for (buffer, bytes) in &mut capture.allocations {
            let stride = capture.layout.strides[*buffer as usize].unwrap() as usize;
            let start = GUARD + capture.position + primitive * m * stride;
            let old = bytes.clone();
            for (slot, from) in kept.iter().enumerate() {
                for o in capture.layout.outputs_of(*buffer as usize) {
                    let range = o.offset as usize..(o.offset + o.size()) as usize;
                    let (to, from) = (start + slot * stride, start + from * stride);
                    bytes[to + range.start..to + range.end]
                        .copy_from_slice(&old[from + range.start..from + range.end]);
                }
            }
        }
        let fault = match kept.as_slice() {
            [0] | [0, 1] | [0, 1, 2] => None,
            [1, 2, 0] | [2, 0, 1] => Some(Fault::Rotation),
            _ => Some(Fault::FlippedWinding),
        };
        match (capture.diagnose(), fault) {
            (Verdict::Match, None) => {}
            (Verdict::Mismatch(m), Some(fault)) => {
                prop_assert_eq!(m.fault, fault);
                prop_assert_eq!(m.also, []);
                prop_assert_eq!(m.differing_primitives, 1);
                let first = m.first.unwrap();
                let per_instance = topology.primitive_count(18);
                let found = u64::from(first.instance) * per_instance + first.primitive;
                prop_assert_eq!(found, primitive as u64);
            }
            (verdict, _) => prop_assert!(false, "{:?}", verdict),
        }
    }
}

#[test]
fn contradictions_are_errors() {
    let layout = layout(false);
    let records = [0; 48];
    let bytes = [0; 100];
    let expectation = Expectation {
        sequence: Sequence::Assembled {
            topology: PrimitiveTopology::PointList,
            provoking: ProvokingVertex::First,
            vertex_count: 3,
        },
        preserves_provoking_vertex: true,
        instance_count: 1,
        layout: &layout,
        records: [&records, &[], &[], &[]],
        undefined: &[],
        primitives_written: 3,
    };
    let buffer =
        CapturedBuffer { buffer: 0, bytes: &bytes, bound: 0..48, position: 0, counter: None };
    let error = |e: &Expectation<'_>, c: &[CapturedBuffer<'_>]| diagnose(e, c).unwrap_err();
    let with = |change: fn(&mut CapturedBuffer<'_>)| {
        let mut changed = buffer.clone();
        change(&mut changed);
        error(&expectation, &[changed])
    };
    assert_eq!(with(|b| b.buffer = 4), DiagnoseError::NoSuchBuffer(4));
    assert!(matches!(with(|b| b.bound = 0..101), DiagnoseError::BoundRange { .. }));
    assert!(matches!(with(|b| b.position = 4), DiagnoseError::DoesNotFit { .. }));
    assert!(matches!(with(|b| b.bound.start = 50), DiagnoseError::BoundRange { .. }));
    assert_eq!(
        error(&expectation, &[buffer.clone(), buffer.clone()]),
        DiagnoseError::BufferTwice(0)
    );
    let few = Expectation { records: [&records[1..], &[], &[], &[]], ..expectation };
    assert!(matches!(error(&few, std::slice::from_ref(&buffer)), DiagnoseError::Records { .. }));
    let many = Expectation { primitives_written: 4, ..expectation };
    assert!(matches!(
        error(&many, std::slice::from_ref(&buffer)),
        DiagnoseError::Primitives { .. }
    ));
    let mut wide = layout.clone();
    wide.outputs.push(output(0, 12, 2));
    let wide = Expectation { layout: &wide, ..expectation };
    assert!(matches!(error(&wide, std::slice::from_ref(&buffer)), DiagnoseError::Output { .. }));
    let mut far = layout.clone();
    far.outputs.push(output(0, u32::MAX - 3, 2));
    let far = Expectation { layout: &far, ..expectation };
    let DiagnoseError::Output { end, .. } = error(&far, &[buffer]) else { panic!("{far:?}") };
    assert_eq!(end, (1 << 32) + 4);
}

/// Measures how long the diagnosis of a right capture of 200 MB takes. The time is meaningful only with `--release`.
#[test]
#[ignore = "a measurement"]
fn large_captures_take_about_a_second() {
    let capture = Right::new(
        PrimitiveTopology::TriangleStrip,
        ProvokingVertex::First,
        4_200_000,
        1,
        false,
        0,
        0,
        u64::MAX,
    );
    let start = std::time::Instant::now();
    assert_eq!(capture.diagnose(), Verdict::Match);
    let megabytes = capture.allocations[0].1.len() / 1_000_000;
    println!("{megabytes} MB in {:?}", start.elapsed());
}
