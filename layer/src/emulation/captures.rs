//! The captures of a command buffer: collected as its passes are recorded, played before them or after them.

mod active_queries;
pub(super) mod binds;
mod collect;
mod passes;

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaAccess, ArenaDesc, Buffer, ByteCountDraw, Capture, DrawCommands, RuntimeError,
};

use self::active_queries::ActiveQuery;
use self::collect::Active;
use self::passes::Pass;
use super::Emulation;
use super::descriptor_pools::DescriptorPools;
use super::pipelines::PipelineError;
use super::state::State;

/// What an arena has before it grows.
const ARENA: ArenaDesc = ArenaDesc { upload: 16 << 10, scratch: 16 << 10, descriptor_sets: 8 };

/// What is recorded outside of a pass, in the order of the pass.
#[derive(Clone)]
pub(crate) enum Hoisted {
    Capture(Arc<Mutex<Capture>>),
    /// The arguments of a draw of what was captured.
    Commands(ByteCountDraw, DrawCommands),
}

/// What becomes of a command behind the layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forward {
    /// It goes on as it is.
    Yes,
    /// It ends here.
    No,
    /// A `vkCmdDrawIndirect` of one draw takes its place.
    DrawIndirect(vk::Buffer, u64),
    /// A `vkCmdBeginQuery` does: for its own queries the driver need not know the indexed command.
    BeginQuery(vk::QueryPool, u32, vk::QueryControlFlags),
    /// A `vkCmdEndQuery` does.
    EndQuery(vk::QueryPool, u32),
}

/// What the layer knows of a command buffer that may capture.
pub(crate) struct Captures {
    emulation: Arc<Emulation>,
    pub(super) state: State,
    active: Option<Active>,
    queries: [Option<ActiveQuery>; 2],
    /// Queries of the driver that are active: draws that rasterize nothing count for them.
    pub(super) other_queries: u32,
    hoisted: Vec<Hoisted>,
    /// Values to collect in.
    spare: Vec<Capture>,
    arena: Option<Arena>,
    /// Of sets with descriptors that were pushed.
    descriptor_pools: DescriptorPools,
    commands: Vec<Buffer>,
    command_count: u64,
    /// The pass that is being recorded.
    pass: Option<Pass>,
    /// Whether the whole command buffer is part of a pass.
    continues: bool,
    /// Why it cannot be recorded.
    failed: Option<vk::Result>,
    /// The last variant, of the state as it is.
    variant: Option<vkxfb::runtime::Pipeline>,
}

impl Captures {
    pub(crate) fn new(emulation: &Arc<Emulation>) -> Self {
        Self {
            emulation: Arc::clone(emulation),
            state: State::default(),
            active: None,
            queries: [None, None],
            other_queries: 0,
            hoisted: Vec::new(),
            spare: Vec::new(),
            arena: None,
            descriptor_pools: DescriptorPools::default(),
            commands: Vec::new(),
            command_count: 0,
            pass: None,
            continues: false,
            failed: None,
            variant: None,
        }
    }

    pub(super) fn emulation(&self) -> &Arc<Emulation> {
        &self.emulation
    }

    /// Recording begins anew: the device is done with what was recorded before.
    ///
    /// `is_counted`: whether a query of the driver's is active that a secondary command buffer inherits.
    pub(crate) fn reset(&mut self, continues: bool, is_counted: bool) {
        self.state = State::default();
        self.queries = [None, None];
        self.other_queries = u32::from(is_counted);
        self.failed = None;
        self.variant = None;
        self.pass = None;
        self.continues = continues;
        if let Some(mut active) = self.active.take() {
            active.capture.clear();
            self.spare.push(active.capture);
        }
        self.forget();
        if let Some(arena) = &mut self.arena {
            // SAFETY: by Vulkan's rules no submission of the command buffer is under way.
            unsafe { arena.reset() };
        }
        // SAFETY: as above.
        unsafe { self.descriptor_pools.reset(self.emulation.context().device()) };
        self.command_count = 0;
    }

    /// Gives back the memory that is kept for what is recorded next. Nothing uses it any more.
    pub(crate) fn release(&mut self) {
        self.spare = Vec::new();
        let (arena, commands) = (self.arena.take(), std::mem::take(&mut self.commands));
        let ctx = self.emulation.context();
        // SAFETY: by Vulkan's rules no submission of the command buffer is under way when it is reset or freed.
        unsafe { self.descriptor_pools.release(ctx.device()) };
        self.emulation.memory().with(|allocator| {
            // SAFETY: as above.
            unsafe {
                if let Some(arena) = arena {
                    arena.destroy(ctx, allocator);
                }
                for buffer in commands {
                    buffer.destroy(ctx, allocator);
                }
            }
        });
    }

    /// Forgets what was hoisted, and keeps what it was collected in.
    fn forget(&mut self) {
        for hoisted in self.hoisted.drain(..) {
            if let Hoisted::Capture(capture) = hoisted
                && let Ok(capture) = Arc::try_unwrap(capture)
            {
                let mut capture = capture.into_inner().unwrap_or_else(PoisonError::into_inner);
                capture.clear();
                self.spare.push(capture);
            }
        }
    }

    /// Something cannot be captured: the command buffer's end returns why.
    fn refuse(&mut self, what: &str, error: impl Into<PipelineError>) {
        let error = error.into();
        tracing::error!("{what}: {error}");
        self.failed = Some(match error.result() {
            result @ (vk::Result::ERROR_OUT_OF_HOST_MEMORY
            | vk::Result::ERROR_DEVICE_LOST
            | vk::Result::ERROR_UNKNOWN) => result,
            // vkEndCommandBuffer has no others.
            _ => vk::Result::ERROR_OUT_OF_DEVICE_MEMORY,
        });
    }

    /// Whether a command says the pipeline layout. `VK_EXT_device_generated_commands` lets its chain say what of one
    /// there is instead; the extension is hidden, so that is refused.
    pub(super) fn has_layout(&mut self, what: &str, layout: vk::PipelineLayout) -> bool {
        let has_it = layout != vk::PipelineLayout::null();
        if !has_it {
            self.refuse(what, PipelineError::Layout);
        }
        has_it
    }

    /// Why the command buffer cannot be recorded, if so.
    pub(crate) const fn failed(&self) -> Option<vk::Result> {
        self.failed
    }

    fn is_inside(&self) -> bool {
        self.continues || self.pass.is_some()
    }

    /// Does something with the arena, which is made where there is none, and grows.
    ///
    /// # Errors
    /// A failed allocation, or what the call says.
    ///
    /// # Safety
    /// The device is live.
    unsafe fn with_arena(
        &mut self,
        call: impl for<'a> FnOnce(&'a Emulation, ArenaAccess<'a>) -> Result<(), RuntimeError>,
    ) -> Result<(), RuntimeError> {
        let emulation = Arc::clone(&self.emulation);
        let mut memory = emulation.memory().clone();
        // SAFETY: the caller's contract.
        unsafe {
            let arena = match &mut self.arena {
                Some(arena) => arena,
                none => none.insert(Arena::new(emulation.context(), &mut memory, &ARENA)?),
            };
            call(&emulation, arena.growing(&mut memory))
        }
    }

    /// A capture to collect in.
    fn spare_capture(&mut self) -> Capture {
        let spare = self.spare.pop();
        spare.unwrap_or_else(|| Capture::new(self.emulation.context(), self.emulation.kernels()))
    }

    /// What a command buffer finds behind others that it executed.
    pub(super) fn forget_state(&mut self) {
        self.state.forget();
        self.variant = None;
    }

    /// Records something of the layer's own outside of a pass: with an arena, and what it disturbs bound again.
    ///
    /// # Safety
    /// The command buffer is being recorded, outside of a pass.
    pub(super) unsafe fn record_outside(
        &mut self,
        what: &str,
        cmd: vk::CommandBuffer,
        record: impl for<'a> FnOnce(&'a Emulation, ArenaAccess<'a>) -> Result<(), RuntimeError>,
    ) {
        let emulation = Arc::clone(&self.emulation);
        let suspended = self.state.conditional_rendering;
        // SAFETY: the caller's contract.
        unsafe {
            if suspended.is_some() {
                emulation.end_conditional_rendering(cmd);
            }
            if let Err(error) = self.with_arena(record) {
                self.refuse(what, error);
            }
            self.state.disturbed.before().restore(&emulation, cmd);
            if let Some(condition) = suspended {
                emulation.begin_conditional_rendering(cmd, &condition);
            }
        }
    }
}

impl Drop for Captures {
    fn drop(&mut self) {
        self.release();
    }
}
