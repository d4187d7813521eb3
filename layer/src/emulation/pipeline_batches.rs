//! Implements `vkCreateGraphicsPipelines`, which creates several pipelines in one call. If the
//! layer rejects some of them, [the driver still creates the
//! others](https://docs.vulkan.org/spec/latest/chapters/pipelines.html#pipelines-multiple).

use ash::vk;

use super::Emulation;
use super::drawn::{Replaced, replaced};
use super::graphics_pipelines::{Below, Own, capturing, flags_of, translated};
use super::objects::Objects;
use super::pipelines::PipelineError;
use crate::chain::all_of;
use crate::chain::copy::Chain;

type Info = vk::GraphicsPipelineCreateInfo<'static>;
type Flags = vk::PipelineCreateFlags2KHR;
type FlagsInfo = vk::PipelineCreateFlags2CreateInfoKHR<'static>;

impl Emulation {
    /// `vkCreateGraphicsPipelines`
    ///
    /// # Safety
    /// The contract of the command. `pipelines` has room for all pipelines.
    pub(crate) unsafe fn create_graphics_pipelines(
        &self,
        device: vk::Device,
        cache: vk::PipelineCache,
        given: &[Info],
        allocator: *const vk::AllocationCallbacks<'_>,
        pipelines: &mut [vk::Pipeline],
    ) -> vk::Result {
        pipelines.fill(vk::Pipeline::null());
        let mut batch = Batch::default();
        let mut refused = None;
        for (number, info) in given.iter().enumerate() {
            let (added, returns_early) = unsafe {
                let returns_early = flags_of(info).contains(Flags::EARLY_RETURN_ON_FAILURE);
                (batch.add(self, number, info, cache), returns_early)
            };
            if let Err(error) = added {
                let result = error.result();
                // A positive result is not an error. So the first error is returned, and a positive
                // result only if there is no error.
                if result > vk::Result::SUCCESS {
                    tracing::debug!("vkCreateGraphicsPipelines: pipeline {number}: {error}");
                    refused.get_or_insert(result);
                } else {
                    tracing::error!("vkCreateGraphicsPipelines: pipeline {number}: {error}");
                    refused = refused.filter(|first| *first < vk::Result::SUCCESS).or(Some(result));
                }
                if returns_early {
                    break;
                }
            }
        }
        let next = self.context().device().fp_v1_0().create_graphics_pipelines;
        let temporary = std::mem::take(&mut batch.temporary);
        let result = batch.create(
            |count, infos, made| unsafe { next(device, cache, count, infos, allocator, made) },
            self.objects(),
            pipelines,
        );
        for module in temporary {
            // SAFETY: the layer created the module only for these pipelines, which now exist or
            // have failed.
            unsafe { self.context().device().destroy_shader_module(module, None) };
        }
        // The driver's result is returned if it is an error; otherwise the layer's result has precedence.
        refused.filter(|_| result >= vk::Result::SUCCESS).unwrap_or(result)
    }
}

/// The pipelines of a `vkCreateGraphicsPipelines` that the layer does not reject, so that the
/// driver creates them.
#[derive(Default)]
struct Batch {
    /// The create infos for the driver.
    infos: Vec<Info>,
    /// Memory for the parts of `infos` that the layer changed.
    below: Vec<Below>,
    /// For each element of `infos`, its index in the program's array; in ascending order.
    numbers: Vec<usize>,
    own: Vec<Own>,
    /// For each element of `infos`, what the layer keeps of a geometry shader that it draws, with the memory that the
    /// create info points to.
    drawn: Vec<Option<Replaced>>,
    /// Shader modules of the layer that the driver needs until the pipelines are created.
    temporary: Vec<vk::ShaderModule>,
}

impl Batch {
    /// Adds the pipeline with index `number` in the program's array.
    ///
    /// # Errors
    /// The pipeline is rejected.
    ///
    /// # Safety
    /// The structure is valid for `vkCreateGraphicsPipelines`, and outlives `self`.
    unsafe fn add(
        &mut self,
        emulation: &Emulation,
        number: usize,
        given: &Info,
        cache: vk::PipelineCache,
    ) -> Result<(), PipelineError> {
        unsafe {
            let own = capturing(emulation, given, cache)?;
            let mut info = *given;
            let mut below = translated(emulation, &mut info, &mut self.temporary)?;
            let drawn = match &emulation.drawing {
                Some(drawing) => {
                    replaced(emulation, drawing, given, &mut info, &mut self.temporary)?
                }
                None => None,
            };
            rebase(&mut info, &mut below, &self.numbers)?;
            self.infos.push(info);
            self.below.push(below);
            self.numbers.push(number);
            self.own.push(own);
            self.drawn.push(drawn);
        }
        Ok(())
    }

    /// Creates the pipelines with `create`, which takes their number, their create infos, and
    /// memory for the handles. Keeps the layer's data of each pipeline that was created, even if
    /// others were not.
    fn create(
        self,
        create: impl FnOnce(u32, *const Info, *mut vk::Pipeline) -> vk::Result,
        objects: &Objects,
        pipelines: &mut [vk::Pipeline],
    ) -> vk::Result {
        if self.infos.is_empty() {
            return vk::Result::SUCCESS;
        }
        // A driver may leave an element unchanged if it fails to create that pipeline.
        let mut made = vec![vk::Pipeline::null(); self.infos.len()];
        let result = create(made.len() as u32, self.infos.as_ptr(), made.as_mut_ptr());
        let kept = self.own.into_iter().zip(self.drawn);
        for ((pipeline, number), (own, drawn)) in made.into_iter().zip(self.numbers).zip(kept) {
            pipelines[number] = pipeline;
            if pipeline != vk::Pipeline::null()
                && let Some((Some(drawn), _)) = drawn
            {
                _ = objects.drawn.insert(pipeline, drawn);
            }
            match own {
                _ if pipeline == vk::Pipeline::null() => {}
                Own::Nothing => {}
                Own::Library(parts) => _ = objects.libraries.insert(pipeline, parts),
                Own::Pipeline(own) => _ = objects.pipelines.insert(pipeline, own),
            }
        }
        result
    }
}

/// Changes the base of a [derivative
/// pipeline](https://docs.vulkan.org/spec/latest/chapters/pipelines.html#pipelines-pipeline-derivatives) from its index
/// in the program's array to its index in the driver's array. `numbers` has the indices, in the program's array, of the
/// pipelines that precede the derivative and that the driver creates. If the base is not among them, the pipeline no
/// longer is a derivative. That only affects how long its creation takes.
///
/// # Errors
/// The flags have to be changed, but come after a structure of unknown type in the chain.
///
/// # Safety
/// The structure is valid for `vkCreateGraphicsPipelines`.
unsafe fn rebase(
    info: &mut Info,
    below: &mut Below,
    numbers: &[usize],
) -> Result<(), PipelineError> {
    let flags = unsafe { flags_of(info) };
    let Ok(base) = usize::try_from(info.base_pipeline_index) else { return Ok(()) };
    if !flags.contains(Flags::DERIVATIVE) {
        return Ok(());
    }
    if let Ok(index) = numbers.binary_search(&base) {
        info.base_pipeline_index = index as i32;
        return Ok(());
    }
    info.base_pipeline_index = -1;
    info.flags &= !vk::PipelineCreateFlags::DERIVATIVE;
    unsafe {
        if all_of::<FlagsInfo>(info.p_next).next().is_some() {
            let mut chain = Chain::copy(info.p_next);
            chain.remove::<FlagsInfo>().map_err(PipelineError::Chain)?;
            chain.push(&FlagsInfo::default().flags(flags & !Flags::DERIVATIVE));
            info.p_next = chain.link();
            below.chain = Some(chain);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
