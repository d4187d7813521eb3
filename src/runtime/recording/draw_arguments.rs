//! Draws of captured vertices whose number only the GPU knows: a kernel converts counters to arguments of
//! `vkCmdDrawIndirect`.

use ash::vk;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::multiple_of_4;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::{ByteCountDraw, IndirectDraw};
use crate::runtime::memory::addresses::address;
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::memory::arena::{Suballocation, aligned};
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::memory::window_table::WindowTable;
use crate::runtime::pipelines::kernels::Kernels;
use crate::runtime::recording::checks::check_byte_count;
use crate::runtime::recording::job::{Job, Placing};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::draw_arguments::{CountedDraw, DrawArguments};
use vkxfb_rewriter::sysval::{Address, join, split};

/// The size of a `VkDrawIndirectCommand` in bytes.
const COMMAND_SIZE: u32 = IndirectDraw::command_size(false);

/// The destination of [`Kernels::write_draw_commands`]: an array of `VkDrawIndirectCommand`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawCommands {
    /// A buffer with the usage [`BufferUsages::draw_commands`](crate::runtime::BufferUsages::draw_commands).
    pub buffer: vk::Buffer,
    /// The number of bytes from the start of the buffer to the first command, a multiple of 4.
    pub offset: u64,
    /// The number of bytes from one command to the next, a multiple of 4 and at least 16, the size
    /// of a command. Ignored if there are fewer than two draws.
    pub stride: u32,
}

impl Kernels {
    /// Writes commands for
    /// [`vkCmdDrawIndirect`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirect.html) that draw
    /// what
    /// [`vkCmdDrawIndirectByteCountEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawIndirectByteCountEXT.html)
    /// would draw with the same arguments: `(counter - counter_offset) / vertex_stride` vertices from vertex 0 on. The
    /// application binds the capture buffers as vertex buffers, and records `vkCmdDrawIndirect` with the number of
    /// draws and the stride of `commands`. Any topology may be used.
    ///
    /// Records a kernel between two barriers. The first barrier orders the kernel after compute captures, after draws
    /// that read commands of earlier calls, and after transfers. If other commands wrote the counters, including native
    /// captures, their writes must be visible to [`Context::argument_scope`] of the compute backend. The second barrier
    /// makes the commands visible to `DRAW_INDIRECT` with `INDIRECT_COMMAND_READ`. It does not make the captured
    /// vertices visible to draws: use [`Context::capture_barrier`] with
    /// [`ConsumerScope::VERTEX_BUFFER`](crate::runtime::ConsumerScope::VERTEX_BUFFER) for that.
    ///
    /// The bound compute pipeline and its push constants are disturbed, and under the descriptor plan all descriptor
    /// sets of the compute bind point. The function takes 32 bytes of upload memory and another 32 per draw from
    /// `arena`, and under the descriptor plan one descriptor set.
    ///
    /// # Errors
    /// [`RuntimeError::NoIndirectDraws`] on devices where indirect draws do not work: on these, the application must
    /// read the counters back and compute the vertex counts itself.
    /// [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`],
    /// [`RuntimeError::ZeroStride`], [`RuntimeError::PastTheEnd`], [`RuntimeError::NoKernels`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::DispatchTooLarge`], [`RuntimeError::ArenaFull`],
    /// [`RuntimeError::NoDescriptorSet`]. Nothing is recorded in case of an error.
    ///
    /// # Safety
    /// `cmd` is in the recording state, for a queue that supports graphics and compute, outside of a render pass
    /// instance and outside of conditional rendering, which would discard the dispatch. The kernels, the memory of the
    /// arena and the buffers belong to the device of `ctx`, and live until `cmd` is reset. The buffers have the usages
    /// that [`Context`] returns for their use, and the buffer of `commands` is large enough for all commands. The
    /// `first_instance` of the draws is 0 unless `drawIndirectFirstInstance` is enabled.
    pub unsafe fn write_draw_commands<'a>(
        &'a self,
        ctx: &'a Context,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
        draws: &[ByteCountDraw],
        commands: &DrawCommands,
    ) -> Result<(), RuntimeError> {
        if !ctx.settings().indirect_draws {
            return Err(RuntimeError::NoIndirectDraws);
        }
        draws.iter().try_for_each(check_byte_count)?;
        let DrawCommands { buffer, offset, stride } = *commands;
        multiple_of_4(|| "the offset of draw commands".to_owned(), offset)?;
        let size = COMMAND_SIZE;
        let Some(last) = draws.len().checked_sub(1) else { return Ok(()) };
        if last > 0 {
            multiple_of_4(|| "the stride of draw commands".to_owned(), stride)?;
            if stride < size {
                let (what, stride, size) = ("draw commands", stride.into(), size.into());
                return Err(RuntimeError::SmallStride { what, stride, size });
            }
        }
        let all = last as u64 * u64::from(stride) + u64::from(size);
        unsafe {
            let mut job = Job::begin(ctx, arena.into(), self, cmd)?;
            let what = format_args!("the draw commands");
            let target = job.address(Purpose::State, what, (buffer, offset, all))?;
            let mut reached = vec![target];
            for draw in draws {
                let what = format_args!("the counter of a draw");
                let range = (draw.counter.buffer, draw.counter.offset, 4);
                reached.push(job.address(Purpose::State, what, range)?);
            }
            let place = |placing: &mut Placing<'_, '_>| {
                let commands = join(placing.resolve(target));
                let counters = reached.iter().skip(1);
                let counted = (0..).zip(draws).zip(counters).map(|((number, draw), counter)| {
                    let command = split(commands + number * u64::from(stride));
                    counted_draw(draw, placing.resolve(*counter), command)
                });
                let counted: Vec<CountedDraw> = counted.collect();
                let (draws, count) = (split(placing.push(&counted)?.address), counted.len() as u32);
                placing.push(&[DrawArguments { draws, count, reserved: 0 }])
            };
            let (kernel, behind) = (Kernel::DrawArguments, Barrier::ArgumentsToDraw);
            let upload = [size_of::<CountedDraw>() * draws.len(), size_of::<DrawArguments>()]
                .map(|size| size as u64);
            job.record(kernel, &reached, &upload, place, draws.len() as u64, behind).map(drop)
        }
    }

    /// Like [`write_draw_commands`](Self::write_draw_commands), but the draws can be [added](LateDraws::push) until the
    /// command buffer is submitted. So a render pass can be recorded before its draws are known, although the kernel
    /// that writes their arguments must precede the pass.
    ///
    /// The function takes 16 bytes of upload memory from `arena`.
    ///
    /// # Errors
    /// The errors of `write_draw_commands` that do not concern a single draw; [`RuntimeError::NoLateDraws`] under
    /// the descriptor plan, which needs to know all buffers when the kernel is recorded.
    ///
    /// # Safety
    /// The requirements of `write_draw_commands` apply.
    pub unsafe fn write_draw_commands_later<'a>(
        &'a self,
        ctx: &'a Context,
        arena: impl Into<ArenaAccess<'a>>,
        cmd: vk::CommandBuffer,
    ) -> Result<LateDraws, RuntimeError> {
        if !ctx.settings().indirect_draws {
            return Err(RuntimeError::NoIndirectDraws);
        }
        if !ctx.has_addresses() {
            return Err(RuntimeError::NoLateDraws);
        }
        let (kernel, behind) = (Kernel::DrawArguments, Barrier::ArgumentsToDraw);
        let upload = [size_of::<DrawArguments>() as u64];
        let place = |placing: &mut Placing<'_, '_>| placing.push(&[DrawArguments::default()]);
        unsafe {
            let job = Job::begin(ctx, arena.into(), self, cmd)?;
            let parameters = job.record(kernel, &[], &upload, place, LATE_WORKGROUPS, behind)?;
            Ok(LateDraws { parameters, draws: Vec::new(), memory: None })
        }
    }
}

/// The number of workgroups of the kernel of [`LateDraws`]. It is fixed, because the kernel is recorded before the
/// number of draws is known. The invocations loop over the draws.
const LATE_WORKGROUPS: u64 = 16;

/// The number of draws that fit into the first allocation. When an allocation is full, a new one for twice as many
/// draws replaces it.
const FIRST_LATE_DRAWS: usize = 16;

/// Draws that are added to a kernel after it was recorded
/// ([`Kernels::write_draw_commands_later`]).
#[derive(Debug)]
pub struct LateDraws {
    /// The kernel's [`DrawArguments`] in upload memory, which contain the address and the number of the draws.
    parameters: Suballocation,
    draws: Vec<CountedDraw>,
    /// Upload memory that contains the draws, and the number of draws that fit into it. `None` as long as no draw was
    /// added.
    memory: Option<(Suballocation, usize)>,
}

impl LateDraws {
    /// Adds a draw. The kernel writes the command for this draw at the offset of `commands`; the stride of `commands`
    /// is ignored. The first call takes upload memory for 16 draws of 32 bytes. Whenever the memory is full, the next
    /// call takes memory for twice as many draws; the arena gets the smaller memory back only when it is reset.
    ///
    /// # Errors
    /// The errors of [`Kernels::write_draw_commands`] that concern a single draw, and [`RuntimeError::ArenaFull`]. In
    /// case of an error the draw is not added.
    ///
    /// # Safety
    /// The requirements of `write_draw_commands` apply. `ctx` and `arena` are those of the call that returned `self`,
    /// and the arena was not reset since. The command buffer is not pending execution.
    pub unsafe fn push<'a>(
        &mut self,
        ctx: &Context,
        arena: impl Into<ArenaAccess<'a>>,
        draw: &ByteCountDraw,
        commands: &DrawCommands,
    ) -> Result<(), RuntimeError> {
        check_byte_count(draw)?;
        let DrawCommands { buffer, offset, .. } = *commands;
        multiple_of_4(|| "the offset of draw commands".to_owned(), offset)?;
        let mut arena = arena.into();
        let [counter, command] = unsafe {
            let mut table = WindowTable::default();
            let mut address = |what, range| address(ctx, &mut table, Purpose::State, what, range);
            let (from, at) = (draw.counter.buffer, draw.counter.offset);
            [
                address(format_args!("the counter of a draw"), (from, at, 4))?,
                address(format_args!("the draw commands"), (buffer, offset, COMMAND_SIZE.into()))?,
            ]
        };
        let number = self.draws.len();
        let memory = match self.memory {
            Some((memory, room)) if number < room => memory,
            _ => {
                let room = (2 * number).max(FIRST_LATE_DRAWS);
                let size = (room * size_of::<CountedDraw>()) as u64;
                unsafe { arena.reserve(ctx, aligned(size), 0) }?;
                let memory = arena.upload().take(size)?;
                // SAFETY: the memory was just taken.
                unsafe { arena.upload().write(memory, 0, bytemuck::cast_slice(&self.draws)) };
                self.memory = Some((memory, room));
                memory
            }
        };
        let counted = counted_draw(draw, split(counter), split(command));
        self.draws.push(counted);
        let (draws, count) = (split(memory.address), self.draws.len() as u32);
        let parameters = DrawArguments { draws, count, reserved: 0 };
        let (upload, at) = (arena.upload(), number * size_of::<CountedDraw>());
        // SAFETY: the caller's contract: the command buffer is not pending execution, so the device does not access the
        // memory.
        unsafe {
            upload.write(memory, at, bytemuck::bytes_of(&counted));
            upload.write(self.parameters, 0, bytemuck::bytes_of(&parameters));
        }
        Ok(())
    }
}

fn counted_draw(draw: &ByteCountDraw, counter: Address, command: Address) -> CountedDraw {
    CountedDraw {
        counter,
        command,
        counter_offset: draw.counter_offset,
        vertex_stride: draw.vertex_stride,
        instance_count: draw.instance_count,
        first_instance: draw.first_instance,
    }
}
