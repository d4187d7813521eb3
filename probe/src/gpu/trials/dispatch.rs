//! Tests whether `vkCmdDispatchIndirect` runs as many workgroups as the device has written into the arguments.

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb_rewriter::lower::Backend;

use super::{Kit, end, module};
use crate::gpu::{Gpu, GpuError};

/// The number of workgroups of each dispatch along each axis. The first dispatch is direct, the
/// others are indirect.
const GROUPS: [[u32; 3]; 5] = [[3, 2, 4], [5, 1, 1], [3, 2, 4], [0, 1, 1], [1000, 1, 1]];

#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Pushed {
    first: u32,
    groups: [u32; 3],
    is_argument: u32,
}

pub(super) const PUSHED: u32 = size_of::<Pushed>() as u32;

/// A dispatch, and the indices of its arguments and of its counts in the buffer of words.
struct DispatchPlace {
    groups: [u32; 3],
    /// The index of the first word of the `VkDispatchIndirectCommand`. `None` for the direct
    /// dispatch.
    arguments: Option<u32>,
    /// The index of the first count. For each workgroup that should run, one word counts how often it ran. The word
    /// after these words counts all workgroups that should not have run.
    counts: u32,
}

impl DispatchPlace {
    fn expected(&self) -> usize {
        self.groups.iter().product::<u32>() as usize
    }
}

/// Makes the stores of shaders visible to indirect dispatches and to later shaders.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
unsafe fn stores_to_dispatches(ctx: &Context, cmd: vk::CommandBuffer) {
    let (shader, none) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::DependencyFlags::empty());
    let behind = shader | vk::PipelineStageFlags::DRAW_INDIRECT;
    let stores = vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::SHADER_WRITE)
        .dst_access_mask(stores | vk::AccessFlags::INDIRECT_COMMAND_READ);
    unsafe {
        ctx.device().cmd_pipeline_barrier(cmd, shader, behind, none, &[barrier], &[], &[]);
    }
}

pub(super) struct Dispatches {
    places: Vec<DispatchPlace>,
    words: usize,
}

impl Dispatches {
    pub(super) fn new() -> Self {
        let mut at = 0;
        let mut take = |words: u32| {
            let start = at;
            at += words;
            start
        };
        let places = GROUPS.iter().enumerate().map(|(index, &groups)| DispatchPlace {
            groups,
            arguments: (index > 0).then(|| take(groups.len() as u32)),
            counts: take(groups.iter().product::<u32>() + 1),
        });
        let places = places.collect();
        Self { places, words: at as usize }
    }

    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// Runs the dispatches. Returns the contents of the buffer of words after that, or `None` if nothing was executed.
    pub(super) fn run(&self, gpu: &mut Gpu, kit: &mut Kit) -> Result<Option<Vec<u32>>, GpuError> {
        let words = module(include_bytes!("../../../../shaders/trials/dispatch.spv"))?;
        let device = gpu.context.device();
        let none = vk::SpecializationInfo::default();
        // SAFETY: the device is live, the module is valid, and the layout has the push constants
        // and descriptors that the module declares.
        let pipeline =
            unsafe { super::super::compute_pipeline(device, kit.layout, &words, c"main", &none) }?;
        kit.pipelines.push(pipeline);
        let does_nothing = gpu.ignores_indirect_dispatches();
        gpu.submit(|ctx, cmd| {
            let device = ctx.device();
            let push = |first, groups, is_argument: bool| {
                let pushed = Pushed { first, groups, is_argument: is_argument.into() };
                let bytes = bytemuck::bytes_of(&pushed);
                // SAFETY: the command buffer is being recorded. `kit.layout` belongs to this device, and has a range of
                // push constants for the stage `kit.stage` that contains these bytes.
                unsafe { device.cmd_push_constants(cmd, kit.layout, kit.stage, 0, bytes) };
            };
            // SAFETY: everything outlives the submission, and the shader accesses only the words of the buffer that
            // belong to one of the `places`: its dispatch arguments and its counts.
            unsafe {
                device.cmd_bind_pipeline(cmd, vk::PipelineBindPoint::COMPUTE, pipeline);
                kit.begin(ctx, cmd);
                for place in &self.places {
                    if let Some(arguments) = place.arguments {
                        push(arguments, place.groups, true);
                        device.cmd_dispatch(cmd, 1, 1, 1);
                    }
                }
                for place in &self.places {
                    // The dispatches write different words, so one barrier before the first of them would
                    // be enough. But the validation layer treats the buffer as a whole, and would report
                    // hazards between the dispatches.
                    stores_to_dispatches(ctx, cmd);
                    push(place.counts, place.groups, false);
                    match (place.arguments, place.groups) {
                        (None, [x, y, z]) => device.cmd_dispatch(cmd, x, y, z),
                        (Some(_), _) if does_nothing => {}
                        (Some(at), _) => {
                            let offset = u64::from(at) * 4;
                            device.cmd_dispatch_indirect(cmd, kit.words.raw(), offset);
                        }
                    }
                }
                end(ctx, cmd, Backend::Compute);
            }
            Ok(())
        })?;
        kit.read(gpu)
    }

    /// Returns whether `words`, the result of [`run`](Self::run), shows that the dispatches worked, and a description
    /// for the report.
    pub(super) fn judge(&self, words: &[u32]) -> (bool, String) {
        let counts = |place: &DispatchPlace| {
            let start = place.counts as usize;
            words.get(start..=start + place.expected()).unwrap_or_default().to_vec()
        };
        let is_right = |place: &DispatchPlace| {
            let counts = counts(place);
            let (outside, inside) = counts.split_last().unwrap_or((&0, &[]));
            *outside == 0 && inside.iter().all(|&count| count == 1)
        };
        let (direct, indirect) = self.places.split_at(1);
        if !direct.iter().all(is_right) {
            return (false, "does not work, and neither does a direct one".to_owned());
        }
        if indirect.iter().all(is_right) {
            return (true, "works".to_owned());
        }
        if indirect.iter().all(|place| counts(place).iter().all(|&count| count == 0)) {
            return (false, "does nothing".to_owned());
        }
        let wrong = indirect.iter().find(|place| !is_right(place));
        let text = wrong.map(|place| {
            let [x, y, z] = place.groups;
            let run: u32 = counts(place).iter().sum();
            format!("wrong: {x} x {y} x {z} workgroups were asked for, {run} ran")
        });
        (false, text.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words that are in the buffer after the dispatches if the device works correctly.
    fn right(dispatches: &Dispatches) -> Vec<u32> {
        let mut words = vec![0; dispatches.words()];
        for place in &dispatches.places {
            if let Some(at) = place.arguments {
                words[at as usize..at as usize + 3].copy_from_slice(&place.groups);
            }
            words[place.counts as usize..][..place.expected()].fill(1);
        }
        words
    }

    #[test]
    fn each_workgroup_has_to_run_once() {
        let dispatches = Dispatches::new();
        let words = right(&dispatches);
        assert_eq!(dispatches.judge(&words), (true, "works".to_owned()));
        // Each element changes one count. The three changes are: a workgroup ran twice, a workgroup did not run,
        // and a workgroup ran that should not exist.
        let place = &dispatches.places[2];
        let (first, behind) = (place.counts as usize, place.counts as usize + place.expected());
        for (word, count, ran) in [(first, 2, 25), (first + 7, 0, 23), (behind, 1, 25)] {
            let mut wrong = words.clone();
            wrong[word] = count;
            let text = format!("wrong: 3 x 2 x 4 workgroups were asked for, {ran} ran");
            assert_eq!(dispatches.judge(&wrong), (false, text));
        }
    }

    #[test]
    fn what_does_nothing_is_told_from_a_device_that_does_nothing() {
        let dispatches = Dispatches::new();
        let mut words = right(&dispatches);
        for place in &dispatches.places[1..] {
            words[place.counts as usize..][..place.expected()].fill(0);
        }
        assert_eq!(dispatches.judge(&words), (false, "does nothing".to_owned()));
        words.fill(0);
        let (works, text) = dispatches.judge(&words);
        assert!(!works && text.ends_with("neither does a direct one"), "{text}");
    }
}
