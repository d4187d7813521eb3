//! Passes: render passes of one subpass and of several, and dynamic rendering.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{ConsumerScope, Context};
use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::images::{self, failed};
use crate::program::{Pass, PassKind, Step};

/// A part of a pass.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pass: Pass,
    number: u32,
    /// The number of parts of the pass.
    count: u32,
}

/// The kind of pass for which the pipelines of a part are created.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    RenderPass,
    Subpass(u32),
    Rendering,
}

impl Part {
    /// Returns the first part of a pass, whose steps come next.
    pub fn first(pass: Pass, steps: &[Step]) -> Self {
        let pass_steps = steps.iter().take_while(|step| !matches!(step, Step::EndPass));
        let count = 1 + pass_steps.filter(|step| matches!(step, Step::NextPart)).count() as u32;
        Self { pass, number: 0, count }
    }

    pub const fn next(self) -> Self {
        Self { number: self.number + 1, ..self }
    }

    pub const fn target(self) -> Target {
        match self.pass.kind {
            PassKind::RenderPass | PassKind::RenderPass2 => Target::RenderPass,
            PassKind::Subpasses => Target::Subpass(self.number),
            PassKind::Rendering | PassKind::Suspended => Target::Rendering,
        }
    }

    const fn contents(self) -> vk::SubpassContents {
        if self.pass.secondaries {
            vk::SubpassContents::SECONDARY_COMMAND_BUFFERS
        } else {
            vk::SubpassContents::INLINE
        }
    }

    /// Returns the flags of dynamic rendering, except for those of its contents.
    fn flags(self) -> vk::RenderingFlags {
        let mut flags = vk::RenderingFlags::empty();
        if self.pass.kind == PassKind::Suspended && self.number > 0 {
            flags |= vk::RenderingFlags::RESUMING;
        }
        if self.pass.kind == PassKind::Suspended && self.number + 1 < self.count {
            flags |= vk::RenderingFlags::SUSPENDING;
        }
        flags
    }
}

/// Render passes without attachments, each with a framebuffer of one pixel.
pub struct Passes {
    /// A render pass of one subpass, and one of [`PassKind::PARTS`] subpasses.
    render_passes: [vk::RenderPass; 2],
    /// The render pass of one subpass, created with `vkCreateRenderPass2`; null below Vulkan 1.2.
    render_pass2: vk::RenderPass,
    framebuffers: [vk::Framebuffer; 2],
    scopes: Scopes,
}

/// The stages and accesses before and after a barrier.
type Scopes = [(vk::PipelineStageFlags, vk::AccessFlags); 2];

/// The scopes of barriers between captures of one pass, which [`Passes`] declares as self-dependencies of each subpass.
fn scopes(gpu: &Gpu) -> Scopes {
    let ConsumerScope { mut stages, mut access } = images::next(Backend::Native);
    // What a capture counted may be a predicate.
    if gpu.draw_features().conditional_rendering {
        stages |= vk::PipelineStageFlags::CONDITIONAL_RENDERING_EXT;
        access |= vk::AccessFlags::CONDITIONAL_RENDERING_READ_EXT;
    }
    [Context::write_scope(Backend::Native), (stages, access)]
}

const AREA: vk::Rect2D = vk::Rect2D {
    offset: vk::Offset2D { x: 0, y: 0 },
    extent: vk::Extent2D { width: 1, height: 1 },
};

impl Passes {
    pub fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let (ctx, scopes) = (gpu.context(), scopes(gpu));
        let mut passes = Self {
            render_passes: [vk::RenderPass::null(); 2],
            render_pass2: vk::RenderPass::null(),
            framebuffers: [vk::Framebuffer::null(); 2],
            scopes,
        };
        for (number, count) in [1, PassKind::PARTS].into_iter().enumerate() {
            passes.render_passes[number] = render_pass(ctx, count, scopes)?;
            let frame = vk::FramebufferCreateInfo::default()
                .render_pass(passes.render_passes[number])
                .width(1)
                .height(1)
                .layers(1);
            // SAFETY: the device is live.
            passes.framebuffers[number] = unsafe { ctx.device().create_framebuffer(&frame, None) }
                .map_err(failed("vkCreateFramebuffer"))?;
        }
        if ctx.capabilities().api_version >= vk::API_VERSION_1_2 {
            passes.render_pass2 = render_pass2(ctx, scopes)?;
        }
        Ok(passes)
    }

    /// Returns the render pass, subpass and framebuffer of a part, which is not one of dynamic
    /// rendering.
    fn of(&self, part: Part) -> (vk::RenderPass, u32, vk::Framebuffer) {
        match part.pass.kind {
            PassKind::RenderPass2 => (self.render_pass2, 0, self.framebuffers[0]),
            PassKind::Subpasses => (self.render_passes[1], part.number, self.framebuffers[1]),
            _ => (self.render_passes[0], 0, self.framebuffers[0]),
        }
    }

    /// Returns the render pass and subpass for which pipelines are created.
    pub fn of_target(&self, target: Target) -> (vk::RenderPass, u32) {
        match target {
            Target::RenderPass => (self.render_passes[0], 0),
            Target::Subpass(subpass) => (self.render_passes[1], subpass),
            Target::Rendering => (vk::RenderPass::null(), 0),
        }
    }

    /// Calls `f` with the inheritance info of a secondary command buffer in a part.
    pub fn with_inheritance<R>(
        &self,
        part: Part,
        f: impl FnOnce(&vk::CommandBufferInheritanceInfo<'_>) -> R,
    ) -> R {
        let mut rendering = vk::CommandBufferInheritanceRenderingInfo::default()
            .flags(part.flags())
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let info = vk::CommandBufferInheritanceInfo::default();
        if part.pass.kind.is_dynamic() {
            f(&info.push_next(&mut rendering))
        } else {
            let (render_pass, subpass, framebuffer) = self.of(part);
            f(&info.render_pass(render_pass).subpass(subpass).framebuffer(framebuffer))
        }
    }

    /// # Safety
    /// `cmd` is being recorded, outside of a pass.
    pub unsafe fn begin(&self, ctx: &Context, cmd: vk::CommandBuffer, part: Part) {
        let device = ctx.device();
        let (render_pass, _, framebuffer) = self.of(part);
        let info = vk::RenderPassBeginInfo::default()
            .render_pass(render_pass)
            .framebuffer(framebuffer)
            .render_area(AREA);
        unsafe {
            match part.pass.kind {
                PassKind::RenderPass | PassKind::Subpasses => {
                    device.cmd_begin_render_pass(cmd, &info, part.contents());
                }
                PassKind::RenderPass2 => {
                    let begin = vk::SubpassBeginInfo::default().contents(part.contents());
                    device.cmd_begin_render_pass2(cmd, &info, &begin);
                }
                PassKind::Rendering | PassKind::Suspended => {
                    let mut flags = part.flags();
                    if part.pass.secondaries {
                        flags |= vk::RenderingFlags::CONTENTS_SECONDARY_COMMAND_BUFFERS;
                    }
                    let info =
                        vk::RenderingInfo::default().flags(flags).render_area(AREA).layer_count(1);
                    device.cmd_begin_rendering(cmd, &info);
                }
            }
        }
    }

    /// # Safety
    /// `cmd` is being recorded, in the part before.
    pub unsafe fn next_part(&self, ctx: &Context, cmd: vk::CommandBuffer, part: Part) {
        let device = ctx.device();
        unsafe {
            match part.pass.kind {
                PassKind::RenderPass | PassKind::RenderPass2 => panic!("it has one part"),
                PassKind::Subpasses => device.cmd_next_subpass(cmd, part.contents()),
                PassKind::Rendering => {
                    device.cmd_end_rendering(cmd);
                    images::barrier(ctx, cmd);
                    self.begin(ctx, cmd, part);
                }
                PassKind::Suspended => {
                    device.cmd_end_rendering(cmd);
                    self.begin(ctx, cmd, part);
                }
            }
        }
    }

    /// Makes everything before the barrier in the pass visible to everything after it.
    ///
    /// # Safety
    /// `cmd` is being recorded, in an instance of one of the render passes.
    pub unsafe fn barrier(&self, ctx: &Context, cmd: vk::CommandBuffer) {
        let [(source, writes), (destination, reads)] = self.scopes;
        let barrier = vk::MemoryBarrier::default().src_access_mask(writes).dst_access_mask(reads);
        let (device, flags) = (ctx.device(), vk::DependencyFlags::empty());
        unsafe {
            device.cmd_pipeline_barrier(cmd, source, destination, flags, &[barrier], &[], &[]);
        }
    }

    /// # Safety
    /// `cmd` is being recorded, in the last part of the pass.
    pub unsafe fn end(ctx: &Context, cmd: vk::CommandBuffer, part: Part) {
        let device = ctx.device();
        unsafe {
            match part.pass.kind {
                PassKind::RenderPass => device.cmd_end_render_pass(cmd),
                PassKind::Subpasses => {
                    for _ in part.number + 1..PassKind::PARTS {
                        device.cmd_next_subpass(cmd, vk::SubpassContents::INLINE);
                    }
                    device.cmd_end_render_pass(cmd);
                }
                PassKind::RenderPass2 => {
                    device.cmd_end_render_pass2(cmd, &vk::SubpassEndInfo::default());
                }
                PassKind::Rendering | PassKind::Suspended => device.cmd_end_rendering(cmd),
            }
        }
    }

    /// # Safety
    /// Nothing is in flight.
    pub unsafe fn destroy(self, device: &ash::Device) {
        unsafe {
            for framebuffer in self.framebuffers {
                device.destroy_framebuffer(framebuffer, None);
            }
            for render_pass in self.render_passes.into_iter().chain([self.render_pass2]) {
                device.destroy_render_pass(render_pass, None);
            }
        }
    }
}

/// Creates a render pass of `count` subpasses. Each subpass has dependencies on itself and on all
/// subpasses before.
fn render_pass(ctx: &Context, count: u32, scopes: Scopes) -> Result<vk::RenderPass, GpuError> {
    let subpass =
        vk::SubpassDescription::default().pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS);
    let subpasses = vec![subpass; count as usize];
    let [(source, writes), (destination, reads)] = scopes;
    let dependencies: Vec<_> = (0..count)
        .flat_map(|dst| (0..=dst).map(move |src| (src, dst)))
        .map(|(src, dst)| {
            vk::SubpassDependency::default()
                .src_subpass(src)
                .dst_subpass(dst)
                .src_stage_mask(source)
                .dst_stage_mask(destination)
                .src_access_mask(writes)
                .dst_access_mask(reads)
        })
        .collect();
    let info =
        vk::RenderPassCreateInfo::default().subpasses(&subpasses).dependencies(&dependencies);
    // SAFETY: the device is live.
    unsafe { ctx.device().create_render_pass(&info, None) }.map_err(failed("vkCreateRenderPass"))
}

/// Creates a render pass of one subpass with `vkCreateRenderPass2`.
fn render_pass2(ctx: &Context, scopes: Scopes) -> Result<vk::RenderPass, GpuError> {
    let subpasses =
        [vk::SubpassDescription2::default().pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)];
    let [(source, writes), (destination, reads)] = scopes;
    let dependencies = [vk::SubpassDependency2::default()
        .src_stage_mask(source)
        .dst_stage_mask(destination)
        .src_access_mask(writes)
        .dst_access_mask(reads)];
    let info =
        vk::RenderPassCreateInfo2::default().subpasses(&subpasses).dependencies(&dependencies);
    // SAFETY: the device is live, of Vulkan 1.2 or later.
    unsafe { ctx.device().create_render_pass2(&info, None) }.map_err(failed("vkCreateRenderPass2"))
}
