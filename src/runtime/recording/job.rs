//! A [`Job`] is a kernel that is recorded on its own, not as a part of a capture, with its parameters and the barriers
//! around it.

use std::fmt;

use ash::vk;

use crate::runtime::device::barrier::Barrier;
use crate::runtime::device::checks::fold;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::memory::addresses::{address, resolve};
use crate::runtime::memory::arena::ArenaAccess;
use crate::runtime::memory::arena::{Suballocation, aligned};
use crate::runtime::memory::buffers::BufferRange;
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::memory::window_table::{LastSets, User, WindowTable};
use crate::runtime::pipelines::kernels::Kernels;
use crate::runtime::pipelines::kernels::{Dispatch, Pipelines};
use vkxfb_rewriter::lower::kernel::Kernel;
use vkxfb_rewriter::sysval::{Address, join, split};

/// The argument of the closure that is passed to [`Job::record`]. With it the closure resolves addresses and copies the
/// kernel's parameters to upload memory.
pub(crate) struct Placing<'j, 'a> {
    ctx: &'j Context,
    table: &'j WindowTable,
    arena: &'j mut ArenaAccess<'a>,
}

impl Placing<'_, '_> {
    /// Translates an address from [`Job::address`] to the address that shaders use.
    pub(crate) fn resolve(&self, address: Address) -> Address {
        resolve(self.ctx, self.table, address)
    }

    /// Copies values into the upload memory of the arena.
    ///
    /// # Errors
    /// [`RuntimeError::ArenaFull`].
    pub(crate) fn push<T: bytemuck::NoUninit>(
        &mut self,
        values: &[T],
    ) -> Result<Suballocation, RuntimeError> {
        self.arena.upload().push(values.iter().copied())
    }
}

/// Prepares one dispatch of a kernel, and records it.
pub(crate) struct Job<'a> {
    ctx: &'a Context,
    arena: ArenaAccess<'a>,
    kernels: &'a Pipelines,
    cmd: vk::CommandBuffer,
    table: WindowTable,
}

impl<'a> Job<'a> {
    /// Begins to prepare a dispatch.
    ///
    /// # Errors
    /// [`RuntimeError::NoKernels`].
    ///
    /// # Safety
    /// All objects belong to the device of `ctx`. `cmd` is in the recording state, for a queue that
    /// supports compute, outside of a render pass instance. The kernels and the memory of `arena`
    /// live until `cmd` is reset.
    pub(crate) unsafe fn begin(
        ctx: &'a Context,
        arena: ArenaAccess<'a>,
        kernels: &'a Kernels,
        cmd: vk::CommandBuffer,
    ) -> Result<Self, RuntimeError> {
        let kernels = kernels.pipelines()?;
        Ok(Self { ctx, arena, kernels, cmd, table: WindowTable::default() })
    }

    /// Returns the address of a range of a buffer. It must be [resolved](Placing::resolve) before
    /// it is passed to a shader.
    ///
    /// # Errors
    /// The errors of [`address`].
    ///
    /// # Safety
    /// The requirements of [`address`] apply until the command buffer is reset.
    pub(crate) unsafe fn address(
        &mut self,
        purpose: Purpose,
        what: fmt::Arguments<'_>,
        range: BufferRange,
    ) -> Result<Address, RuntimeError> {
        unsafe { address(self.ctx, &mut self.table, purpose, what, range) }.map(split)
    }

    /// Records the kernel between two barriers. The first barrier orders the kernel after all earlier captures, kernels
    /// and transfers; the caller chooses the second barrier, `behind`. `place` writes the kernel's data and returns the
    /// memory of its parameters, which this function also returns. `upload` contains the sizes in bytes of all
    /// allocations that `place` makes, and `reached` all addresses that the kernel accesses.
    ///
    /// # Errors
    /// [`RuntimeError::DispatchTooLarge`], and the errors of `place`, [`Kernels::prepare`] and
    /// [`ArenaAccess::reserve`]. Nothing is recorded in case of an error.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply, and `place` returns parameters of `kernel`.
    pub(crate) unsafe fn record(
        self,
        kernel: Kernel,
        reached: &[Address],
        upload: &[u64],
        place: impl FnOnce(&mut Placing<'_, '_>) -> Result<Suballocation, RuntimeError>,
        workgroups: u64,
        behind: Barrier,
    ) -> Result<Suballocation, RuntimeError> {
        let Self { ctx, mut arena, kernels, cmd, mut table } = self;
        let workgroups = fold(workgroups, ctx.settings().max_workgroups_per_axis)?;
        unsafe { kernels.get(ctx, ctx.parameter_transport(), kernel, vk::PipelineCache::null()) }?;
        let upload = upload.iter().map(|bytes| aligned(*bytes)).sum();
        unsafe { arena.reserve(ctx, upload, 0) }?;
        if let Some(limits) = ctx.table() {
            let [upload, scratch] = arena.windows();
            table.set_arena(upload, scratch);
            table.assign(limits, reached.iter().copied().map(join));
        }
        let mark = arena.mark();
        let placed = place(&mut Placing { ctx, table: &table, arena: &mut arena });
        let placed = placed.and_then(|parameters| {
            let set = ctx.table().map(|limits| {
                // SAFETY: by the caller's contract the assigned buffers are live.
                unsafe { LastSets::default().get(ctx, limits, &table, &mut arena, User::Kernels) }
            });
            Ok((parameters, set.transpose()?))
        });
        let (parameters, set) = match placed {
            Ok(placed) => placed,
            Err(error) => {
                arena.rewind(mark);
                return Err(error);
            }
        };
        let dispatch = Dispatch { kernel, parameters: parameters.address, workgroups };
        unsafe {
            ctx.kernel_barrier(cmd, Barrier::BeforeJob, false);
            kernels.dispatch(ctx, cmd, ctx.parameter_transport(), set, &dispatch)?;
            ctx.kernel_barrier(cmd, behind, false);
        }
        Ok(parameters)
    }
}
