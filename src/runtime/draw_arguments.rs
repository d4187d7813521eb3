//! Drawing what was captured, where only the GPU knows how much that is: counters become the arguments of
//! `vkCmdDrawIndirect`.

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

/// Where [`Kernels::write_draw_commands`] writes `VkDrawIndirectCommand`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawCommands {
    /// A buffer with the usage [`Context::draw_command_usage`].
    pub buffer: vk::Buffer,
    /// Bytes from its start to the first command, a multiple of 4.
    pub offset: u64,
    /// Bytes from one command to the next, a multiple of 4 and no less than the 16 that a command has; ignored for
    /// less than two draws.
    pub stride: u32,
}

impl Kernels {
    /// Writes commands for
    /// [`vkCmdDrawIndirect`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirect.html) that draw
    /// what [`vkCmdDrawIndirectByteCountEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html)
    /// would with the same arguments: `(counter - counter_offset) / vertex_stride` vertices from vertex 0 on, with any
    /// topology. The application binds what was captured as vertex buffers, and records `vkCmdDrawIndirect` with as
    /// many draws and the stride of `commands`.
    ///
    /// Records a kernel between two barriers. The one before orders it behind captures by compute, behind draws that
    /// read earlier commands, and behind transfers; counters that somebody else wrote, also native captures, have to
    /// be visible to [`Context::argument_scope`] of the compute backend. The one behind makes the commands visible to
    /// `DRAW_INDIRECT` with `INDIRECT_COMMAND_READ`. What was captured is not yet visible to draws: for that is
    /// [`Context::capture_barrier`] with
    /// [`ConsumerScope::VERTEX_BUFFER`](super::ConsumerScope::VERTEX_BUFFER). Disturbed are the compute pipeline, its
    /// push constants and, where descriptors take the place of device addresses, all sets of the compute bind point.
    /// From `arena` it takes 32 bytes of upload and 32 a draw, and with descriptors a set.
    ///
    /// # Errors
    /// [`RuntimeError::NoIndirectDraws`] on devices where indirect draws do nothing: there the application reads the
    /// counters back and draws with the vertices that they come to. [`RuntimeError::Misaligned`],
    /// [`RuntimeError::SmallStride`], [`RuntimeError::IndexOverflow`], [`RuntimeError::PastTheEnd`],
    /// [`RuntimeError::NoKernels`], [`RuntimeError::NoAddress`], [`RuntimeError::Limit`],
    /// [`RuntimeError::TooManyBuffers`], [`RuntimeError::DispatchTooLarge`], [`RuntimeError::ArenaFull`],
    /// [`RuntimeError::NoDescriptorSet`]. Nothing is recorded then.
    ///
    /// # Safety
    /// `cmd` is being recorded, for a queue with graphics and compute, outside of a render pass instance and of
    /// conditional rendering, which would discard it. The kernels
    /// and what is taken from the arena live until it is reset, and are of the device of `ctx`; so are the buffers,
    /// which have the usages that [`Context`] names, and of which that of `commands` holds all of them. The
    /// `first_instance` of the draws is 0 unless `drawIndirectFirstInstance` is enabled.
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
