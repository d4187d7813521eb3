//! Makes failing programs smaller, so that a reader can see the cause.

use crate::common::commands::Draw;
use crate::program::{Program, StateChange, Step};
use crate::shaders::CONSTANTS;

/// Returns the smallest failing program that is found by removing one thing after the other.
pub fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut smallest = program.clone();
    loop {
        let found = candidates(&smallest).find(|candidate| fails(candidate));
        match found {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Returns programs with one thing less. Those without a large thing come first.
fn candidates(program: &Program) -> impl Iterator<Item = Program> {
    let places = |round: usize| (0..program.rounds[round].len()).map(move |at| (round, at));
    let places: Vec<(usize, usize)> = (0..program.rounds.len()).flat_map(places).collect();
    let captures = places.clone().into_iter().filter_map(|(r, at)| without_capture(program, r, at));
    let steps = places.clone().into_iter().filter_map(|(r, at)| without_step(program, r, at));
    let queries = (0..program.queries.len()).map(|query| without_query(program, query));
    let simpler = places.into_iter().flat_map(|(r, at)| simpler(program, r, at));
    captures.chain(steps).chain(queries).chain(simpler)
}

/// Returns the program without the Begin at this step, its End, and the draws between them.
fn without_capture(program: &Program, round: usize, at: usize) -> Option<Program> {
    let steps = &program.rounds[round];
    let is_end = |step: &Step| matches!(step, Step::End(_));
    let end = match steps[at] {
        Step::Begin(_) => at + steps[at..].iter().position(is_end)?,
        _ => return None,
    };
    let mut smaller = program.clone();
    let mut place = 0;
    smaller.rounds[round].retain(|step| {
        let is_inside = (at..=end).contains(&place);
        place += 1;
        !is_inside || matches!(step, Step::BeginQuery(_) | Step::EndQuery(_) | Step::Change(_))
    });
    Some(smaller)
}

/// Returns the program without a draw, or without a change of state that later steps do not need. A
/// change that sets all push constants is kept, because it may be the first.
fn without_step(program: &Program, round: usize, at: usize) -> Option<Program> {
    let is_needless = match &program.rounds[round][at] {
        Step::Draw(_) => true,
        Step::Change(change) => match change {
            StateChange::PushConstants { dwords, .. } => dwords.len() < CONSTANTS,
            StateChange::ProvokingVertex(_)
            | StateChange::PrimitiveRestart(_)
            | StateChange::PrimitiveRestartIndex(_) => true,
            _ => false,
        },
        _ => false,
    };
    is_needless.then(|| {
        let mut smaller = program.clone();
        smaller.rounds[round].remove(at);
        smaller
    })
}

fn without_query(program: &Program, gone: usize) -> Program {
    let mut smaller = program.clone();
    smaller.queries.remove(gone);
    for steps in &mut smaller.rounds {
        steps.retain_mut(|step| match step {
            Step::BeginQuery(query) | Step::EndQuery(query) => {
                let keep = *query != gone;
                *query -= usize::from(*query > gone);
                keep
            }
            _ => true,
        });
    }
    smaller
}

/// Returns the program with a simpler draw, or with one counter less.
fn simpler(program: &Program, round: usize, at: usize) -> Vec<Program> {
    let with = |step: Step| {
        let mut smaller = program.clone();
        smaller.rounds[round][at] = step;
        smaller
    };
    match &program.rounds[round][at] {
        Step::Begin(counters) | Step::End(counters) => (0..counters.counters.len())
            .filter(|i| counters.counters[*i].is_some())
            .map(|i| {
                let mut smaller = program.clone();
                if let Step::Begin(c) | Step::End(c) = &mut smaller.rounds[round][at] {
                    c.counters[i] = None;
                }
                smaller
            })
            .collect(),
        Step::Draw(draw) => {
            simpler_draws(draw).into_iter().map(|draw| with(Step::Draw(draw))).collect()
        }
        _ => Vec::new(),
    }
}

fn simpler_draws(draw: &Draw) -> Vec<Draw> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Draw) -> bool| {
        let mut draw = draw.clone();
        if change(&mut draw) {
            all.push(draw);
        }
    };
    push(&|draw| match draw {
        Draw::Direct { instances, .. }
        | Draw::Multi { instances, .. }
        | Draw::ByteCount { instances, .. } => {
            let more = instances.count > 1;
            instances.count -= u32::from(more);
            more
        }
        Draw::Indirect { draw_count, .. } => {
            let more = *draw_count > 1;
            *draw_count -= u32::from(more);
            more
        }
    });
    push(&|draw| match draw {
        Draw::Direct { span, .. } if span.count > 1 => {
            span.count -= 1;
            true
        }
        Draw::Multi { spans, .. } if spans.len() > 1 => spans.pop().is_some(),
        _ => false,
    });
    push(&|draw| match draw {
        Draw::Multi { spans, .. } if spans.len() > 1 => {
            spans.remove(0);
            true
        }
        _ => false,
    });
    all
}
