//! The trial (test before the cases) of counter buffers. A capture must start at the offset that the counter has at
//! Begin, and write the offset of its end to the counter at End. This trial tests all combinations of buffers with and
//! without counters, for one to four buffers. Most programs use counters for all buffers or for none, so drivers may
//! have undetected faults with other combinations.

use vkxfb::runtime::{
    ArenaDesc, Capture, CaptureBuffer, CaptureDesc, CounterBuffer, Draw, MemoryLocation, Pipeline,
    PipelineDesc, Recorder,
};
use vkxfb_rewriter::capture::{CaptureEntry, CaptureList, MAX_XFB_BUFFERS, Selector};
use vkxfb_rewriter::lower::{Backend, LowerError, Lowered, Shader, compute, native};
use vkxfb_rewriter::spirv::words_from_bytes;
use vkxfb_rewriter::topology::PrimitiveTopology;
use vkxfb_rewriter::vertex_input::VertexInput;

use crate::gpu::{Gpu, GpuError};
use crate::plan::Plan;
use crate::run::error::BatchError;
use crate::subject::SubjectError;
use crate::trial::{Trial, TrialReport, TrialResult};

const TOPOLOGY: PrimitiveTopology = PrimitiveTopology::TriangleList;
/// The number of vertices of the draw: two triangles, and a vertex that belongs to no triangle.
const VERTICES: u32 = 7;
const RECORDS: usize = 6;

/// The size in bytes of each capture buffer. The memory of one capture, its *slot*, has the buffers and then the
/// counters, which take 16 bytes each.
const BUFFER: usize = 256;
const COUNTER: usize = 16;
const SLOT: usize = MAX_XFB_BUFFERS * (BUFFER + COUNTER);

/// The value of all bytes before the capture, except those of the counters.
const UNTOUCHED: u8 = 0xa5;

/// A capture: the number of its buffers, and bit masks of the buffers that have a counter at Begin
/// and at End. Each combination captures to its own range of memory, the *slot*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Combination {
    buffers: usize,
    begin: usize,
    end: usize,
}

impl Combination {
    fn all(buffers: usize) -> impl Iterator<Item = Self> {
        let subsets = 1 << buffers;
        (0..subsets)
            .flat_map(move |begin| (0..subsets).map(move |end| Self { buffers, begin, end }))
    }

    /// The stride in bytes of a buffer. Each buffer has a different stride.
    const fn stride(buffer: usize) -> usize {
        4 * (buffer + 1)
    }

    /// The value of a buffer's counter before the capture.
    const fn counter(buffer: usize) -> usize {
        (buffer + 2) * Self::stride(buffer)
    }

    const fn has(subset: usize, buffer: usize) -> bool {
        subset >> buffer & 1 != 0
    }

    /// Returns the contents of a slot (the memory of one capture) before the capture.
    fn before() -> Vec<u8> {
        let mut slot = vec![UNTOUCHED; SLOT];
        for buffer in 0..MAX_XFB_BUFFERS {
            put(&mut slot, counter_at(buffer), Self::counter(buffer));
        }
        slot
    }

    /// Returns the contents that the slot (the memory of this capture) should have after the capture.
    fn after(self) -> Vec<u8> {
        let mut slot = Self::before();
        for buffer in 0..self.buffers {
            let start = if Self::has(self.begin, buffer) { Self::counter(buffer) } else { 0 };
            for record in 0..RECORDS {
                let at = buffer * BUFFER + start + record * Self::stride(buffer);
                put(&mut slot, at, 4 * record + buffer);
            }
            if Self::has(self.end, buffer) {
                let end = start + RECORDS * Self::stride(buffer);
                put(&mut slot, counter_at(buffer), end);
            }
        }
        slot
    }
}

const fn counter_at(buffer: usize) -> usize {
    MAX_XFB_BUFFERS * BUFFER + buffer * COUNTER
}

fn put(slot: &mut [u8], at: usize, value: usize) {
    if let Some(target) = slot.get_mut(at..at + 4) {
        target.copy_from_slice(&(value as u32).to_le_bytes());
    }
}

/// Captures with every combination on each backend of the plan that supports counters.
pub(super) fn try_counters(gpu: &mut Gpu, plan: &Plan) -> Result<TrialReport, BatchError> {
    let trial = Trial::Counters;
    gpu.fail_trial_if_injected(trial)?;
    let backends: Vec<Backend> =
        plan.backends.iter().copied().filter(|backend| *backend != Backend::Vertex).collect();
    if backends.is_empty() {
        return Ok(TrialReport::new(
            trial,
            TrialResult::Absent,
            "no backend of the run takes counters",
        ));
    }
    let mut count = 0;
    for &backend in &backends {
        for buffers in 1..=MAX_XFB_BUFFERS {
            let combinations: Vec<Combination> = Combination::all(buffers).collect();
            let wrong = match capture(gpu, backend, &combinations)? {
                Some(slots) => first_wrong(&combinations, &slots),
                None => Some("captures write nothing".to_owned()),
            };
            if let Some(wrong) = wrong {
                let text = format!("{backend}: {wrong}");
                return Ok(TrialReport::new(trial, TrialResult::Wrong, text));
            }
            count += combinations.len();
        }
    }
    let names: Vec<_> = backends.iter().map(ToString::to_string).collect();
    let text = format!(
        "right, with counters for all, some or none of the buffers ({count} captures by {})",
        names.join(" and ")
    );
    Ok(TrialReport::new(trial, TrialResult::Works, text))
}

/// Describes the first difference between the slots (the memory of each capture) and their expected contents. `None` if
/// there is none.
fn first_wrong(combinations: &[Combination], slots: &[u8]) -> Option<String> {
    combinations.iter().zip(slots.chunks(SLOT)).find_map(|(combination, found)| {
        let expected = combination.after();
        let at = expected.iter().zip(found).position(|(a, b)| a != b)? / 4 * 4;
        let dword = |bytes: &[u8]| match bytes.get(at..at + 4) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        };
        let place = match at.checked_sub(MAX_XFB_BUFFERS * BUFFER) {
            Some(counter) => format!("the counter of buffer {}", counter / COUNTER),
            None => format!("byte {} of buffer {}", at % BUFFER, at / BUFFER),
        };
        let Combination { buffers, begin, end } = *combination;
        let named = |subset: usize| {
            let of: Vec<_> = (0..buffers).filter(|b| Combination::has(subset, *b)).collect();
            if of.is_empty() { "none".to_owned() } else { format!("those of {of:?}") }
        };
        Some(format!(
            "{buffers} buffers, counters at Begin: {}, at End: {}: {place} is {:#x}, not {:#x}",
            named(begin),
            named(end),
            dword(found),
            dword(&expected)
        ))
    })
}

/// Lowers the trial's shader so that it captures to `buffers` buffers.
fn lower(gpu: &Gpu, backend: Backend, buffers: usize) -> Result<Lowered, BatchError> {
    let name = || "counters.vert".to_owned();
    let words = words_from_bytes(include_bytes!("../../../shaders/trials/counters.spv"))
        .map_err(|source| SubjectError::Parse { file: name(), source })?;
    let mut strides = [None; MAX_XFB_BUFFERS];
    let captures = strides.iter_mut().enumerate().take(buffers).map(|(buffer, stride)| {
        *stride = Some(Combination::stride(buffer) as u32);
        let selector = Selector::Location { location: buffer as u32, component: 0, components: 1 };
        CaptureEntry::new(selector, buffer as u32, 0)
    });
    let captures = captures.collect();
    let list = CaptureList::default().captures(captures).strides(strides);
    let shader = Shader::new(&words).captures(&list);
    let lowered = match backend {
        Backend::Native => native::lower(&shader),
        _ => {
            let target = gpu.compute_target(backend)?;
            let input = VertexInput::default();
            compute::lower(&shader, &compute::Options::new(&input).target(target))
        }
    };
    let error = |source: LowerError| SubjectError::Lower { name: name(), source };
    Ok(lowered.map_err(error)?)
}

/// Captures with each combination into its slot (the memory of that capture). Returns the contents of all slots, or
/// `None` if they show that the copies or the captures were not executed.
fn capture(
    gpu: &mut Gpu,
    backend: Backend,
    combinations: &[Combination],
) -> Result<Option<Vec<u8>>, BatchError> {
    let buffers = combinations.first().map_or(0, |first| first.buffers);
    let lowered = lower(gpu, backend, buffers)?;
    let input = VertexInput::default();
    let desc = PipelineDesc {
        vertex_input: Some(&input),
        topology: Some(TOPOLOGY.into()),
        render_pass: gpu.render_pass(),
        ..PipelineDesc::new(&lowered)
    };
    // SAFETY: the device of the context is live, and the module was lowered for this backend and
    // uses no descriptor sets.
    let pipeline = unsafe { Pipeline::new(gpu.context(), &desc) }.map_err(GpuError::from)?;
    let result = with_memory(gpu, &pipeline, combinations);
    gpu.destroy_pipeline(pipeline);
    Ok(result?)
}

fn with_memory(
    gpu: &mut Gpu,
    pipeline: &Pipeline,
    combinations: &[Combination],
) -> Result<Option<Vec<u8>>, GpuError> {
    let backend = pipeline.backend();
    let ctx = gpu.context();
    let usage = ctx.buffer_usages(backend).capture | ctx.buffer_usages(backend).counter;
    // No combination captures to the last slot. If its contents are not the same after the submission, the copy to the
    // memory or the copy from the memory was not executed.
    let bytes = vec![Combination::before(); combinations.len() + 1].concat();
    gpu.with_buffer(bytes.len() as u64, usage, MemoryLocation::Device, |gpu, memory| {
        gpu.write(memory, 0, &bytes)?;
        let count = combinations.len() as u64;
        let mut arena = gpu.create_arena(ArenaDesc::new(count, count))?;
        let kernels = gpu.kernels();
        let (render_pass, framebuffer) = (gpu.render_pass(), gpu.framebuffer());
        let is_graphics = backend != Backend::Compute;
        let raw = memory.raw();
        let submitted = gpu.submit(|ctx, cmd| {
            // SAFETY: everything outlives the submission, which is waited for. Graphics pipelines
            // were created for the render pass. Each combination captures to memory of its own.
            unsafe {
                if is_graphics {
                    crate::gpu::begin_render_pass(ctx, cmd, render_pass, framebuffer);
                }
                for (number, combination) in combinations.iter().enumerate() {
                    let start = (number * SLOT) as u64;
                    let bound = |buffer: usize| {
                        let offset = start + (buffer * BUFFER) as u64;
                        Some(CaptureBuffer { buffer: raw, offset, size: BUFFER as u64 })
                    };
                    let counter = |subset: usize, buffer: usize| {
                        let offset = start + counter_at(buffer) as u64;
                        let counter = CounterBuffer { buffer: raw, offset };
                        Combination::has(subset, buffer).then_some(counter)
                    };
                    let Combination { buffers, begin, end } = *combination;
                    let targets: Vec<_> = (0..buffers).map(bound).collect();
                    let begin: Vec<_> = (0..buffers).map(|b| counter(begin, b)).collect();
                    let end: Vec<_> = (0..buffers).map(|b| counter(end, b)).collect();
                    let desc = CaptureDesc {
                        buffers: &targets,
                        counters: &begin,
                        ..CaptureDesc::new(pipeline)
                    };
                    let mut capture = Capture::new(ctx, &kernels);
                    let mut recorder = Recorder::begin(&mut capture, &mut arena, cmd, &desc)?;
                    let (vertex_count, instance_count) = (VERTICES, 1);
                    let draw = Draw { vertex_count, instance_count, ..Draw::default() };
                    recorder.draw(TOPOLOGY, &draw)?;
                    recorder.end(&end)?;
                }
                if is_graphics {
                    ctx.device().cmd_end_render_pass(cmd);
                }
            }
            Ok(())
        });
        gpu.destroy_arena(arena);
        submitted?;
        let found = gpu.read(memory, 0..memory.size())?;
        let (slots, last) = found.split_at(combinations.len() * SLOT);
        let is_executed = last == Combination::before() && found != bytes;
        Ok(is_executed.then(|| slots.to_vec()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_are_tried_and_each_difference_is_named() {
        let all: Vec<Combination> = (1..=MAX_XFB_BUFFERS).flat_map(Combination::all).collect();
        assert_eq!(all.len(), 4 + 16 + 64 + 256);
        let mut slots: Vec<u8> = all.iter().flat_map(|combination| combination.after()).collect();
        assert_eq!(first_wrong(&all, &slots), None);
        let last = (all.len() - 1) * SLOT;
        slots[last + counter_at(2)] += 1;
        let said = first_wrong(&all, &slots).unwrap();
        assert!(said.starts_with("4 buffers, counters at Begin: those of [0, 1, 2, 3]"), "{said}");
        assert!(said.contains(": the counter of buffer 2 is "), "{said}");
        slots[last + BUFFER + 1] += 1;
        let said = first_wrong(&all, &slots).unwrap();
        assert!(said.contains(": byte 0 of buffer 1 is "), "{said}");
    }
}
