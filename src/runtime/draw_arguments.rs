//! Draws captured vertices whose number only the GPU knows: a kernel converts counters to arguments
//! of `vkCmdDrawIndirect`.

use ash::vk;

use super::checks::multiple_of_4;
use super::descriptors::Purpose;
use super::job::{Job, Placing};
use super::parameters::{ByteCountDraw, IndirectDraw};
use super::recorder::check_byte_count;
use super::{ArenaAccess, Barrier, Context, Kernels, RuntimeError};
use crate::lower::kernel::Kernel;
use crate::sysval::Address;
use crate::sysval::draw_arguments::{CountedDraw, DrawArguments};

/// The destination of [`Kernels::write_draw_commands`]: an array of `VkDrawIndirectCommand`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawCommands {
    /// A buffer with the usage [`Context::draw_command_usage`].
    pub buffer: vk::Buffer,
    /// Bytes from its start to the first command, a multiple of 4.
    pub offset: u64,
    /// Bytes from one command to the next, a multiple of 4 and at least 16, the size of a command.
    /// Ignored if there are fewer than two draws.
    pub stride: u32,
}

impl Kernels {
    /// Writes commands for
    /// [`vkCmdDrawIndirect`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirect.html)
    /// that draw what
    /// [`vkCmdDrawIndirectByteCountEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html)
    /// would draw with the same arguments: `(counter - counter_offset) / vertex_stride` vertices
    /// from vertex 0 on. The application binds the capture buffers as vertex buffers, and records
    /// `vkCmdDrawIndirect` with the number of draws and the stride of `commands`. Any topology may
    /// be used.
    ///
    /// Records a kernel between two barriers. The barrier before it orders it after compute
    /// captures, after draws that read earlier commands, and after transfers. Counters that other
    /// commands wrote, including native captures, must be visible to [`Context::argument_scope`] of
    /// the compute backend. The barrier after it makes the commands visible to `DRAW_INDIRECT` with
    /// `INDIRECT_COMMAND_READ`. It does not make the captured vertices visible to draws: use
    /// [`Context::capture_barrier`] with
    /// [`ConsumerScope::VERTEX_BUFFER`](super::ConsumerScope::VERTEX_BUFFER) for them. The compute
    /// pipeline and its push constants are disturbed, and under the descriptor plan all descriptor
    /// sets of the compute bind point. The function takes 32 bytes of upload memory and 32 per draw
    /// from `arena`, and under the descriptor plan one descriptor set.
    ///
    /// # Errors
    /// [`RuntimeError::NoIndirectDraws`] on devices where indirect draws do not work: the
    /// application must read the counters back there and compute the vertex counts itself.
    /// [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`],
    /// [`RuntimeError::IndexOverflow`], [`RuntimeError::PastTheEnd`], [`RuntimeError::NoKernels`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::ArenaFull`],
    /// [`RuntimeError::NoDescriptorSet`]. Nothing is recorded in case of an error.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports graphics and compute, outside of
    /// a render pass instance and outside of conditional rendering, which would discard the
    /// dispatch. The kernels, the memory of the arena and the buffers belong to the device of
    /// `ctx`, and live until `cmd` is reset. The buffers have the usages that [`Context`] names,
    /// and that of `commands` is large enough for all commands. The `first_instance` of the draws
    /// is 0 unless `drawIndirectFirstInstance` is enabled.
    pub unsafe fn write_draw_commands<'a>(
        &'a self,
        ctx: &'a Context,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        draws: &[ByteCountDraw],
        commands: &DrawCommands,
    ) -> Result<(), RuntimeError> {
        if !ctx.has_indirect_draws() {
            return Err(RuntimeError::NoIndirectDraws);
        }
        draws.iter().try_for_each(check_byte_count)?;
        let DrawCommands { buffer, offset, stride } = *commands;
        multiple_of_4(|| "the offset of draw commands".to_owned(), offset)?;
        let size = IndirectDraw::command_size(false);
        let Some(last) = draws.len().checked_sub(1) else { return Ok(()) };
        if last > 0 {
            multiple_of_4(|| "the stride of draw commands".to_owned(), stride)?;
            if stride < size {
                let (what, stride, size) = ("draw commands", stride.into(), size.into());
                return Err(RuntimeError::SmallStride { what, stride, size });
            }
        }
        let all = last as u64 * u64::from(stride) + u64::from(size);
        // SAFETY: the caller's contract.
        unsafe {
            let mut job = Job::begin(ctx, arena.into(), self, cmd)?;
            let what = format_args!("the draw commands");
            let target = job.address(Purpose::State, what, buffer, offset, all)?;
            let mut reached = vec![target];
            for draw in draws {
                let what = format_args!("the counter of a draw");
                let (buffer, offset) = (draw.counter.buffer, draw.counter.offset);
                reached.push(job.address(Purpose::State, what, buffer, offset, 4)?);
            }
            let place = |placing: &mut Placing<'_, '_>| {
                let counters = reached.iter().skip(1);
                let counted =
                    draws.iter().zip(counters).map(|(draw, counter): (_, &Address)| CountedDraw {
                        counter: placing.resolve(*counter),
                        counter_offset: draw.counter_offset,
                        vertex_stride: draw.vertex_stride,
                        instance_count: draw.instance_count,
                        first_instance: draw.first_instance,
                        reserved: [0; 2],
                    });
                let counted: Vec<CountedDraw> = counted.collect();
                let draws = crate::sysval::split(placing.push(&counted)?.address);
                let commands = placing.resolve(target);
                let count = counted.len() as u32;
                placing.push(&[DrawArguments { draws, commands, stride, count, reserved: [0; 2] }])
            };
            let (kernel, behind) = (Kernel::DrawArguments, Barrier::ArgumentsToDraw);
            let upload = [size_of::<CountedDraw>() * draws.len(), size_of::<DrawArguments>()]
                .map(|size| size as u64);
            job.record(kernel, &reached, &upload, place, draws.len() as u64, behind)
        }
    }
}
