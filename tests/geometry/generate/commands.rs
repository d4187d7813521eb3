//! Generates draw commands, and the arguments that some of them have in memory.

use super::Draws;
use super::draws::{INDICES, Image};
use crate::case::{Call, Draw, How};
use crate::common::rng::Rng;

/// The largest number of vertices of an instance.
const MOST: u32 = 14;

/// Returns a draw whose arguments are not in memory yet.
pub fn draw(rng: &mut Rng, draws: Draws) -> Draw {
    let indexed = rng.percent(50);
    let kind = if draws == Draws::All { rng.below(10) } else { 9 };
    match kind {
        0..=3 => {
            let calls: Vec<Call> = if rng.percent(5) {
                // More commands than a kernel has invocations.
                (0..rng.range(200, 600)).map(|_| rare_call(rng, indexed)).collect()
            } else {
                (0..rng.below(4)).map(|_| call(rng, indexed)).collect()
            };
            let count = rng.percent(40).then_some(0);
            let over = if count.is_some() { rng.below(3) } else { 0 };
            let most = calls.len() as u32 + over;
            let command = if indexed { 20 } else { 16 };
            let stride = command + if rng.percent(30) { 4 * rng.range(1, 3) } else { 0 };
            Draw { indexed, calls, how: How::Indirect { offset: 0, stride, most, count } }
        }
        4..=5 => {
            let call = Call { first: 0, ..call(rng, false) };
            let counter_offset = if rng.percent(30) { 4 * rng.range(1, 9) } else { 0 };
            let how = How::ByteCount { counter: 0, counter_offset, stride: 4 * rng.range(1, 9) };
            Draw { indexed: false, calls: vec![call], how }
        }
        _ => Draw { indexed, calls: vec![call(rng, indexed)], how: How::Direct },
    }
}

/// Returns a call that rarely draws anything.
fn rare_call(rng: &mut Rng, indexed: bool) -> Call {
    let call = call(rng, indexed);
    Call { count: if rng.percent(5) { call.count } else { 0 }, ..call }
}

fn call(rng: &mut Rng, indexed: bool) -> Call {
    let count = if rng.percent(10) { rng.below(3) } else { rng.range(1, MOST) };
    Call {
        first: rng.below(if indexed { INDICES - count + 1 } else { 6 }),
        count,
        vertex_offset: if indexed { rng.range(0, 8) as i32 - 4 } else { 0 },
        first_instance: if rng.percent(50) { 0 } else { rng.below(6) },
        instance_count: if rng.percent(60) { 1 } else { rng.below(4) },
    }
}

/// Adds the arguments of a draw to the memory.
pub fn place(image: &mut Image<'_>, draw: &mut Draw) {
    let Draw { indexed, calls, how } = draw;
    match how {
        How::Direct => {}
        How::Indirect { offset, stride, most, count } => {
            let mut bytes = Vec::new();
            // Beyond the count are commands that nothing draws.
            let skipped = call(image.rng, *indexed);
            for number in 0..*most as usize {
                bytes.resize(number * *stride as usize, 0xee);
                for word in command(*indexed, calls.get(number).unwrap_or(&skipped)) {
                    bytes.extend(word.to_le_bytes());
                }
            }
            *offset = image.add(&bytes).offset;
            if let Some(count) = count {
                // A count beyond the most counts as the most.
                let beyond = calls.len() as u32 == *most && image.rng.percent(50);
                let number = calls.len() as u32 + if beyond { 3 } else { 0 };
                *count = image.add(&number.to_le_bytes()).offset;
            }
        }
        How::ByteCount { counter, counter_offset, stride } => {
            let over = image.rng.below(*stride / 4) * 4;
            let bytes = calls[0].count * *stride + *counter_offset + over;
            *counter = image.add(&bytes.to_le_bytes()).offset;
        }
    }
}

fn command(indexed: bool, call: &Call) -> Vec<u32> {
    let mut words = vec![call.count, call.instance_count, call.first];
    if indexed {
        words.push(call.vertex_offset as u32);
    }
    words.push(call.first_instance);
    words
}
