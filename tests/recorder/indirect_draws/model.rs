//! Compares random calls with a model that works primitive by primitive.

use vkxfb::runtime::{
    ArenaSize, Buffer, ConditionalRendering, Draw, IndirectDraw, QueryKind, QueryPool, QueryResult,
    Recorder, RuntimeError,
};
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::captures::{self, BEFORE, Captures, STRIDE};
use crate::common::rng::Rng;
use crate::common::test_device::Owned;

const KINDS: [QueryKind; 2] = [QueryKind::TransformFeedbackStream, QueryKind::PrimitivesGenerated];

/// A call that draws.
#[derive(Debug, Clone)]
struct Call {
    topology: PrimitiveTopology,
    /// The `VkDrawIndirectCommand` of each draw.
    commands: Vec<[u32; 4]>,
    /// The number of bytes from one command to the next.
    stride: u32,
    /// The value in the count buffer.
    count: Option<u32>,
    /// The value of the predicate, and whether the condition is inverted.
    predicate: Option<(u32, bool)>,
    /// Whether the call is recorded as direct draws.
    is_direct: bool,
    /// Whether a query of each kind begins before the call.
    begins_queries: bool,
}

impl Call {
    fn new(random: &mut Rng, most: u32, has_queries: bool) -> Self {
        let command = |random: &mut Rng| {
            [random.below(8), random.below(3), random.below(1 << 30), random.below(1 << 30)]
        };
        let draws = [1, random.below(4), random.below(most)][random.below(3) as usize];
        let one_in = |random: &mut Rng, rarely| random.below(rarely) == 0;
        let predicate = (random.below(3) * random.below(1 << 31), one_in(random, 2));
        Self {
            topology: PrimitiveTopology::ALL[random.below(10) as usize],
            commands: (0..draws).map(|_| command(random)).collect(),
            stride: 16 + 4 * random.below(3),
            count: one_in(random, 2).then(|| random.below(draws + 3)),
            predicate: one_in(random, 4).then_some(predicate),
            is_direct: draws < 5 && one_in(random, 4),
            begins_queries: has_queries && one_in(random, 4),
        }
    }

    /// Returns the number of draws that are not discarded.
    fn drawn(&self) -> usize {
        let is_discarded = self.predicate.is_some_and(|(value, inverted)| (value == 0) != inverted);
        let count = self.count.filter(|_| !self.is_direct).unwrap_or(u32::MAX) as usize;
        if is_discarded { 0 } else { self.commands.len().min(count) }
    }
}

/// Returns the results of calls if `room` records fit: the records, and the results of the queries.
fn model(calls: &[Call], room: u32) -> (Vec<u8>, [Vec<QueryResult>; 2]) {
    let (mut bytes, mut results) = (Vec::new(), [Vec::new(), Vec::new()]);
    for call in calls {
        if call.begins_queries {
            results.iter_mut().for_each(|results| results.push(QueryResult::default()));
        }
        let m = u64::from(call.topology.vertices_per_primitive());
        for (index, [count, instances, first, first_instance]) in
            (0u32..).zip(&call.commands).take(call.drawn())
        {
            for instance in 0..*instances {
                for primitive in 0..call.topology.primitive_count(*count) {
                    let fits = bytes.len() as u64 + m * u64::from(STRIDE)
                        <= u64::from(room) * u64::from(STRIDE);
                    if let Some(result) = results[0].last_mut() {
                        result.primitives_written += u64::from(fits);
                        result.primitives_needed += 1;
                    }
                    if let Some(result) = results[1].last_mut() {
                        result.primitives_needed += 1;
                    }
                    for slot in (0..m).filter(|_| fits) {
                        let vertex =
                            call.topology.gather(ProvokingVertex::First, primitive * m + slot);
                        let vertex = first + vertex as u32;
                        let record = [vertex, first_instance + instance, index, *first_instance];
                        bytes.extend(record.map(u32::to_le_bytes).concat());
                    }
                }
            }
        }
    }
    (bytes, results)
}

/// Captures calls into a buffer for `room` records, and compares the results with the model.
fn check(captures: &mut Captures, calls: &[Call], room: u32) {
    let what = format!("{calls:?}, room for {room}");
    let (captured, results) = model(calls, room);
    let (mut words, mut places) = (Vec::new(), Vec::new());
    for call in calls {
        let place = words.len() as u64;
        for command in &call.commands {
            words.extend(command);
            words.resize(words.len() + call.stride as usize / 4 - 4, u32::MAX);
        }
        words.extend([call.count.unwrap_or(0), call.predicate.map_or(0, |(value, _)| value)]);
        places.push((4 * place, 4 * (words.len() as u64 - 2)));
    }
    let arguments = captures.buffer(&words);
    let pools = [0, 1].map(|i| {
        let count = results[i].len().max(1) as u32;
        captures.gpu.query_pool(KINDS[i], count)
    });
    let desc = ArenaSize { upload: 1 << 16, scratch: 1 << 20, descriptor_sets: 2 };
    let found = captures.capture(0, room, desc, &pools, |recorder| {
        let mut query = None;
        for (call, (start, end)) in calls.iter().zip(&places) {
            // SAFETY: all buffers outlive the submission.
            unsafe { record(recorder, call, &arguments, *start, *end, &pools, &mut query) }?;
        }
        match query {
            Some(_) => KINDS.into_iter().try_for_each(|kind| recorder.end_query(kind, 0)),
            None => Ok(()),
        }
    });
    let mut expected = vec![BEFORE; found.bytes.len()];
    expected[..captured.len()].copy_from_slice(&captured);
    let differs = found.bytes.iter().zip(&expected).position(|(found, expected)| found != expected);
    assert_eq!(differs, None, "first byte that differs: {what}");
    assert_eq!(found.position as usize, captured.len(), "{what}");
    for (pool, results) in pools.iter().zip(&results) {
        for (query, result) in (0u32..).zip(results) {
            // SAFETY: the device is live.
            let found = unsafe { pool.result(query) }.unwrap();
            assert_eq!(found, Some(*result), "{:?} {query}: {what}", pool.kind());
        }
    }
}

/// Records a call whose commands start at byte `start` of a buffer, and whose count and predicate
/// are at byte `end`.
///
/// # Safety
/// As [`Recorder::draw_indirect`].
unsafe fn record(
    recorder: &mut Recorder<'_>,
    call: &Call,
    arguments: &Buffer,
    start: u64,
    end: u64,
    pools: &[Owned<QueryPool>; 2],
    query: &mut Option<u32>,
) -> Result<(), RuntimeError> {
    let buffer = arguments.raw();
    unsafe {
        if call.begins_queries {
            for pool in pools {
                if query.is_some() {
                    recorder.end_query(pool.kind(), 0)?;
                }
                recorder.begin_query(pool, query.map_or(0, |query| query + 1), 0)?;
            }
            *query = Some(query.map_or(0, |query| query + 1));
        }
        if let Some((_, inverted)) = call.predicate {
            let condition = ConditionalRendering { buffer, offset: end + 4, inverted };
            recorder.begin_conditional_rendering(&condition)?;
        }
        if call.is_direct {
            let draws =
                call.commands.iter().map(|[count, instances, first, first_instance]| Draw {
                    vertex_count: *count,
                    instance_count: *instances,
                    first_vertex: *first,
                    first_instance: *first_instance,
                });
            recorder.draw_multi(call.topology, &draws.collect::<Vec<_>>())?;
        } else {
            let draw_count = call.commands.len() as u32;
            let count = call.count.map(|_| (buffer, end));
            let (offset, stride) = (start, call.stride);
            let draw = IndirectDraw { buffer, offset, draw_count, stride, count };
            recorder.draw_indirect(call.topology, &draw)?;
        }
        if call.predicate.is_some() {
            recorder.end_conditional_rendering()?;
        }
    }
    Ok(())
}

/// Calls with few and with many draws, around the size of a block of the setup kernel, with every
/// kind of overflow.
#[test]
fn indirect_draws_are_what_the_model_draws() {
    for mut captures in captures::all() {
        for seed in 0..40 {
            let mut random = Rng::new(seed);
            let calls = 1 + random.below([2, 5, 300][seed as usize % 3]);
            let most = [5, 300, 8, 600][seed as usize % 4];
            let has_queries = seed % 5 < 3;
            let calls: Vec<Call> =
                (0..calls).map(|_| Call::new(&mut random, most, has_queries)).collect();
            let all = model(&calls, u32::MAX / STRIDE).0.len() as u32 / STRIDE;
            for room in [all, all / 2, random.below(all + 1), random.below(8)] {
                check(&mut captures, &calls, room.min(20_000));
            }
        }
    }
}
