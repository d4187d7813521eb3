//! Draws with primitive restart and so many indices that several workgroups process them: compares
//! segments that end anywhere, draws that begin anywhere in the index buffer or exceed it, and
//! overflow with a model that works index by index.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::Barrier;
use vkxfb::runtime::{
    ArenaDesc, Buffer, CaptureBuffer, CaptureDesc, CounterBuffer, DrawIndexed, IndexBuffer,
    IndexType, IndirectDraw, Pipeline, Recorder,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_probe::gpu::{OpenOptions, Profile};
use vkxfb_probe::shaders::ProbeShader;

use crate::common;
use crate::common::device;
use crate::common::rng::Rng;
use crate::common::skip::{Why, skip};
use crate::common::test_device::{Owned, TestDevice};

const COMPUTE: Backend = Backend::Compute;
/// The size of a record in bytes.
const STRIDE: usize = 16;
/// The contents of memory before data is captured to it.
const BEFORE: u8 = 0xa5;

/// Calls with one index buffer.
struct Case {
    index_type: IndexType,
    indices: Vec<u32>,
    calls: Vec<Call>,
}

/// A draw, or an indirect command. All calls share the result of processing the indices.
#[derive(Debug)]
struct Call {
    topology: PrimitiveTopology,
    draws: Vec<DrawIndexed>,
    /// The number of bytes from one command to the next, if the call is indirect.
    stride: Option<u32>,
}

impl Case {
    /// A workgroup of the restart kernel processes 8192 indices. Without indirect dispatches, an
    /// indirect draw needs as many invocations as the number of indices times the number of
    /// primitives that fit, so few primitives fit then.
    fn new(seed: u64, has_indirect: bool) -> Self {
        let mut random = Rng::new(seed);
        let index_type =
            [IndexType::Uint8, IndexType::Uint16, IndexType::Uint32][random.below(3) as usize];
        let restart = index_type.restart_index();
        let rarely = [2, 7, 40, 1000, 9000, u32::MAX][random.below(6) as usize];
        let index = |random: &mut Rng| match random.below(rarely) {
            0 => restart,
            _ => random.below(restart.min(1 << 20)),
        };
        let is_short = !has_indirect && seed % 2 == 1;
        let may_be_indirect = has_indirect || is_short;
        let (count, beyond) = if is_short {
            ([0, 31, 32, 100][random.below(4) as usize], 50)
        } else {
            ([0, 100, 8191, 8192, 8193, 20_000, 40_000][random.below(7) as usize], 30_000)
        };
        let indices = (0..count).map(|_| index(&mut random)).collect();
        let draw = |random: &mut Rng| {
            let first_index = [0, 1, 8192, random.below(count + 50)][random.below(4) as usize];
            let rest = count.saturating_sub(first_index);
            // Some stop short of the end of the indices, and some pass it.
            let index_count = [rest, random.below(rest + 1), rest + random.below(beyond)];
            DrawIndexed {
                index_count: index_count[random.below(3) as usize],
                instance_count: random.below(3),
                first_index,
                vertex_offset: random.below(1000).cast_signed() - 500,
                first_instance: random.below(1 << 30),
            }
        };
        let topology = |random: &mut Rng| PrimitiveTopology::ALL[random.below(10) as usize];
        let calls = (0..3)
            .map(|_| {
                let topology = topology(&mut random);
                let is_indirect = may_be_indirect && random.below(2) == 0;
                let count = if is_indirect { [1, 1, 2, 5][random.below(4) as usize] } else { 1 };
                let stride = is_indirect.then(|| [20, 24][random.below(2) as usize]);
                let draws = (0..count).map(|_| draw(&mut random)).collect();
                Call { topology, draws, stride }
            })
            .collect();
        Self { index_type, indices, calls }
    }

    /// Returns the records of all draws, if this many records fit.
    fn model(&self, provoking: ProvokingVertex, room: usize) -> Vec<u8> {
        let shader = ProbeShader::identify();
        let restart = self.index_type.restart_index();
        let mut bytes = Vec::new();
        for (topology, draw) in self.draws() {
            let m = u64::from(topology.vertices_per_primitive());
            let end = draw.first_index + draw.index_count;
            // Indices beyond the end are 0.
            let index = |at| self.indices.get(at as usize).copied().unwrap_or(0);
            let indices: Vec<u32> = (draw.first_index..end).map(index).collect();
            for instance in 0..draw.instance_count {
                for segment in indices.split(|index| *index == restart) {
                    for primitive in 0..topology.primitive_count(segment.len() as u32) {
                        if bytes.len() + m as usize * STRIDE > room * STRIDE {
                            continue;
                        }
                        for output in primitive * m..(primitive + 1) * m {
                            let vertex = segment[topology.gather(provoking, output) as usize];
                            let mut record = [0; STRIDE];
                            shader.record(
                                0,
                                draw.first_instance + instance,
                                vertex.wrapping_add_signed(draw.vertex_offset),
                                &mut record,
                            );
                            bytes.extend(record);
                        }
                    }
                }
            }
        }
        bytes
    }

    /// Returns each draw of all calls.
    fn draws(&self) -> impl Iterator<Item = (PrimitiveTopology, &DrawIndexed)> {
        self.calls.iter().flat_map(|call| call.draws.iter().map(|draw| (call.topology, draw)))
    }

    /// Returns the commands of all indirect calls, and the offset at which those of each call
    /// begin.
    fn commands(&self) -> (Vec<u32>, Vec<u64>) {
        let (mut words, mut starts) = (Vec::new(), Vec::new());
        for call in &self.calls {
            starts.push(4 * words.len() as u64);
            for d in call.draws.iter().filter(|_| call.stride.is_some()) {
                let offset = d.vertex_offset.cast_unsigned();
                let command =
                    [d.index_count, d.instance_count, d.first_index, offset, d.first_instance];
                words.extend(command);
                // Padding, which no draw must read as a count.
                words.resize(words.len() + (call.stride.unwrap_or(20) / 4 - 5) as usize, u32::MAX);
            }
        }
        (words, starts)
    }

    fn index_bytes(&self) -> Vec<u8> {
        let size = self.index_type.size() as usize;
        self.indices.iter().flat_map(|i| i.to_le_bytes().into_iter().take(size)).collect()
    }
}

/// Makes a buffer with these bytes, padded to whole dwords, of which there is at least one.
fn buffer(gpu: &mut TestDevice, usage: vk::BufferUsageFlags, bytes: &[u8]) -> Owned<Buffer> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4).max(4), 0);
    gpu.filled(usage, &bytes)
}

/// Captures into a buffer for this many records, and compares the results.
fn check(gpu: &mut TestDevice, pipeline: &Pipeline, case: &Case, expected: &[u8], room: usize) {
    let ctx = gpu.context().clone();
    let target = vec![BEFORE; room * STRIDE + 12];
    let target = buffer(gpu, ctx.buffer_usages(COMPUTE).capture, &target);
    let counter = buffer(gpu, ctx.buffer_usages(COMPUTE).counter, &[BEFORE; 4]);
    let indices = case.index_bytes();
    let size = indices.len() as u64;
    let indices = buffer(gpu, ctx.buffer_usages(COMPUTE).index, &indices);
    let (commands, starts) = case.commands();
    let usage = ctx.buffer_usages(COMPUTE).indirect;
    let arguments = buffer(gpu, usage, bytemuck::cast_slice(&commands));
    let draws = case.draws().count() as u64;
    let desc = ArenaDesc {
        restarted_draws: draws,
        restarted_indices: draws * case.indices.len() as u64,
        ..ArenaDesc::new(1, draws)
    };
    let mut arena = gpu.arena(desc);
    let mut capture = gpu.new_capture();

    let bound = CaptureBuffer::new(target.raw(), target.size());
    let buffers = [Some(bound)];
    let desc = CaptureDesc { buffers: &buffers, ..CaptureDesc::new(pipeline) };
    gpu.submit(|_, cmd| {
        // SAFETY: everything outlives the submission, which is waited for.
        unsafe {
            let mut recorder = Recorder::begin(&mut capture, &mut *arena, cmd, &desc)?;
            recorder.bind_index_buffer(&IndexBuffer::new(indices.raw(), size, case.index_type))?;
            for (Call { topology, draws, stride }, offset) in case.calls.iter().zip(starts) {
                match *stride {
                    Some(stride) => {
                        let indirect = IndirectDraw {
                            buffer: arguments.raw(),
                            offset,
                            draw_count: draws.len() as u32,
                            stride,
                            count: None,
                        };
                        recorder.draw_indexed_indirect(*topology, &indirect)?;
                    }
                    None => recorder.draw_indexed(*topology, &draws[0])?,
                }
            }
            recorder.end(&[Some(CounterBuffer::new(counter.raw()))])?;
        }
        Ok(())
    })
    .unwrap();

    let what = format!("{:?}, {} indices, {:?}", case.index_type, case.indices.len(), case.calls);
    let found: Vec<u8> = gpu.contents(&target);
    let behind = std::iter::repeat(&BEFORE);
    let differs = found.iter().zip(expected.iter().chain(behind)).position(|(a, b)| a != b);
    assert_eq!(differs, None, "first byte that differs of {}: {what}", expected.len());
    let position = gpu.read(&counter, 0..4).unwrap();
    assert_eq!(position, (expected.len() as u32).to_le_bytes(), "{what}");
}

#[test]
fn restarts_are_found_by_many_workgroups() {
    let profiles = [Profile::Full, Profile::Bifrost];
    for (profile, resources) in profiles.into_iter().zip(device::RESOURCES) {
        // By descriptors, in workgroups in which each invocation processes two blocks of indices.
        let workgroup_invocations = (resources == device::RESOURCES[1]).then_some(128);
        let options =
            OpenOptions { profile, resources, workgroup_invocations, ..Default::default() };
        let mut gpu = device::open_with(options);
        let lowered = device::lower(&gpu, &ProbeShader::identify(), COMPUTE);
        assert_eq!(lowered.layout.strides[0], Some(STRIDE as u32));
        let ways = [ProvokingVertex::First, ProvokingVertex::Last];
        let pipelines = ways.map(|provoking| device::restarting_pipeline(&gpu, provoking));
        for seed in 0..60 {
            let case = Case::new(seed, gpu.context().settings().indirect_dispatch);
            let way = seed as usize % 2;
            let all = case.model(ways[way], usize::MAX / STRIDE);
            let most = all.len() / STRIDE;
            // Everything fits, or the draw in the middle overflows.
            let room = if seed % 3 == 0 { most / 2 } else { most };
            let expected = case.model(ways[way], room);
            check(&mut gpu, &pipelines[way], &case, &expected, room);
        }
    }
}

/// With descriptors, synchronization validation detects what kernels read and write, and reports if
/// either of the two barriers between them is omitted.
#[test]
fn restarts_without_their_barriers_are_reported() {
    if !common::settings::has_validation() {
        return skip(Why::Expected("without the validation layer"));
    }
    let options = OpenOptions { resources: device::RESOURCES[1], ..Default::default() };
    let mut gpu = device::open_with(options);
    let pipeline = device::restarting_pipeline(&gpu, ProvokingVertex::First);
    let index = |at: u32| if at.is_multiple_of(101) { u32::MAX } else { at };
    let indices = (0..20_000).map(index).collect();
    let draw = DrawIndexed::new(20_000);
    let topology = PrimitiveTopology::TriangleStrip;
    let calls = vec![Call { topology, draws: vec![draw], stride: None }];
    let case = Case { index_type: IndexType::Uint32, indices, calls };
    let expected = case.model(ProvokingVertex::First, usize::MAX / STRIDE);
    for omitted in [None, Some(Barrier::RestartToScan), Some(Barrier::RestartToSetup)] {
        // SAFETY: without a barrier the tests run on a CPU driver alone, which runs one dispatch
        // after another.
        unsafe { gpu.omit_barrier(omitted) };
        check(&mut gpu, &pipeline, &case, &expected, expected.len() / STRIDE);
        let found = gpu.take_messages();
        let is_hazard = |id: &str| id.starts_with("SYNC-HAZARD-");
        assert!(found.iter().all(|message| is_hazard(&message.id)), "{omitted:?}: {found:?}");
        assert_eq!(found.is_empty(), omitted.is_none(), "{omitted:?}: {found:?}");
    }
}

/// There are more workgroups than the scan over them has invocations, so the scan needs several
/// rounds. Draws begin before, between and after the restarts, the first and last of which are
/// several rounds apart.
#[test]
fn restarts_are_carried_from_round_to_round() {
    const INDICES: u32 = 2_200_000;
    const RESTARTS: [u32; 3] = [5, 1_100_000, 2_150_000];
    let mut gpu = device::open(Profile::Full);
    if !gpu.context().settings().indirect_dispatch {
        return skip(Why::Expected("as many indices would be dispatched for each primitive"));
    }
    let pipeline = device::restarting_pipeline(&gpu, ProvokingVertex::First);
    let index = |at: u32| if RESTARTS.contains(&at) { 255 } else { at % 251 };
    let indices = (0..INDICES).map(index).collect();
    let draw =
        |first_index, index_count| DrawIndexed { first_index, ..DrawIndexed::new(index_count) };
    // Six indices a primitive: the captures stay small.
    let topology = PrimitiveTopology::TriangleListWithAdjacency;
    let near = |at: u32| draw(at - 20, 40);
    let draws = vec![draw(0, 40), near(RESTARTS[1]), near(RESTARTS[2]), draw(6, INDICES)];
    let calls = vec![
        Call { topology, draws, stride: Some(20) },
        Call { topology, draws: vec![draw(3, INDICES - 3)], stride: None },
    ];
    let case = Case { index_type: IndexType::Uint8, indices, calls };
    let expected = case.model(ProvokingVertex::First, usize::MAX / STRIDE);
    check(&mut gpu, &pipeline, &case, &expected, expected.len() / STRIDE);
}

/// The sizes that [`ArenaDesc`] adds up are enough for many draws, too.
#[test]
fn many_restarted_draws_fit_in_what_they_are_said_to_take() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let pipeline = device::restarting_pipeline(&gpu, ProvokingVertex::Last);
        let indices = (0..64).map(|at| if at % 9 == 8 { 0xffff } else { at }).collect();
        let call = |first_index| {
            let draw = DrawIndexed { first_index, ..DrawIndexed::new(40) };
            Call { topology: PrimitiveTopology::LineStrip, draws: vec![draw], stride: None }
        };
        let calls = (0..24).map(call).collect();
        let case = Case { index_type: IndexType::Uint16, indices, calls };
        let expected = case.model(ProvokingVertex::Last, usize::MAX / STRIDE);
        check(&mut gpu, &pipeline, &case, &expected, expected.len() / STRIDE);
    }
}

/// llvmpipe ends the loops of an invocation after 65,535 rounds. A kernel of a single invocation takes a round for each
/// restart in the blocks of 32 indices where a draw begins and ends. It places up to 897 draws in a turn, of commands
/// of one draw and of a command of all.
#[test]
fn draws_with_many_restarts_are_placed_by_one_invocation() {
    for resources in device::RESOURCES {
        let mut gpu = device::open_with(OpenOptions { resources, ..Default::default() });
        let pipeline = device::restarting_pipeline(&gpu, ProvokingVertex::First);
        // Every other index is a restart. Each draw begins before the last restart of a block, and ends behind the last
        // one of another. The table of an indirect draw has blocks of all bound indices.
        let indices: Vec<u32> = (0..128).map(|at| if at % 2 == 0 { 0xffff } else { at }).collect();
        let draw = DrawIndexed { first_index: 29, ..DrawIndexed::new(66) };
        for (commands, each) in [(897, 1), (898, 1), (1, 897), (1, 25_000)] {
            let call = || {
                let draws = vec![draw; each];
                Call { topology: PrimitiveTopology::PointList, draws, stride: Some(20) }
            };
            let calls = (0..commands).map(|_| call()).collect();
            let case = Case { index_type: IndexType::Uint16, indices: indices.clone(), calls };
            let expected = case.model(ProvokingVertex::First, usize::MAX / STRIDE);
            check(&mut gpu, &pipeline, &case, &expected, expected.len() / STRIDE);
        }
    }
}
