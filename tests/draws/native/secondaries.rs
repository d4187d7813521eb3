//! The secondary command buffers that a primary command buffer executes.

use ash::vk;
use vkxfb::runtime::Context;
use vkxfb_probe::gpu::GpuError;

use super::passes::{Part, Passes};
use crate::images::failed;

/// A pool, and the command buffers that were allocated from it. Their recorded commands stay valid
/// until [`reset`](Self::reset).
pub struct Secondaries {
    pool: vk::CommandPool,
    all: Vec<vk::CommandBuffer>,
    /// The number of these command buffers that are recorded.
    used: usize,
}

impl Secondaries {
    pub fn new(ctx: &Context, queue_family: u32) -> Result<Self, GpuError> {
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(queue_family);
        // SAFETY: the device is live.
        let pool = unsafe { ctx.device().create_command_pool(&info, None) }
            .map_err(failed("vkCreateCommandPool"))?;
        Ok(Self { pool, all: Vec::new(), used: 0 })
    }

    /// # Safety
    /// Nothing that executes them is in flight.
    pub unsafe fn reset(&mut self, ctx: &Context) -> Result<(), GpuError> {
        if std::mem::take(&mut self.used) == 0 {
            return Ok(());
        }
        let flags = vk::CommandPoolResetFlags::empty();
        unsafe { ctx.device().reset_command_pool(self.pool, flags) }
            .map_err(failed("vkResetCommandPool"))
    }

    /// Begins a command buffer that is executed `times` times in a part of a pass, or outside of
    /// passes.
    ///
    /// # Safety
    /// The part belongs to these passes, which outlive the command buffer.
    pub unsafe fn begin(
        &mut self,
        ctx: &Context,
        passes: &Passes,
        part: Option<Part>,
        times: u32,
    ) -> Result<vk::CommandBuffer, GpuError> {
        if self.used == self.all.len() {
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.pool)
                .level(vk::CommandBufferLevel::SECONDARY)
                .command_buffer_count(1);
            // SAFETY: the device is live.
            let allocated = unsafe { ctx.device().allocate_command_buffers(&info) };
            self.all.extend(allocated.map_err(failed("vkAllocateCommandBuffers"))?);
        }
        let cmd = self.all[self.used];
        self.used += 1;
        let mut flags = vk::CommandBufferUsageFlags::empty();
        if times > 1 {
            flags |= vk::CommandBufferUsageFlags::SIMULTANEOUS_USE;
        }
        if part.is_some() {
            flags |= vk::CommandBufferUsageFlags::RENDER_PASS_CONTINUE;
        }
        let begin = |inheritance: &vk::CommandBufferInheritanceInfo<'_>| {
            let info =
                vk::CommandBufferBeginInfo::default().flags(flags).inheritance_info(inheritance);
            // SAFETY: it is not in use.
            unsafe { ctx.device().begin_command_buffer(cmd, &info) }
        };
        match part {
            Some(part) => passes.with_inheritance(part, begin),
            None => begin(&vk::CommandBufferInheritanceInfo::default()),
        }
        .map_err(failed("vkBeginCommandBuffer"))?;
        Ok(cmd)
    }

    /// # Safety
    /// It is being recorded.
    pub unsafe fn end(&self, ctx: &Context, cmd: vk::CommandBuffer) -> Result<(), GpuError> {
        unsafe { ctx.device().end_command_buffer(cmd) }.map_err(failed("vkEndCommandBuffer"))
    }

    /// # Safety
    /// Nothing that executes them is in flight.
    pub unsafe fn destroy(self, ctx: &Context) {
        unsafe { ctx.device().destroy_command_pool(self.pool, None) };
    }
}
