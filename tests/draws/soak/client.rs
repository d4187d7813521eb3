//! One thread of the soak.

use ash::vk;
use vkxfb::runtime::{Buffer, MemoryLocation};
use vkxfb_probe::gpu::GpuError;

use super::Device;
use crate::common::rng::Rng;
use crate::generate::{Space, generate};
use crate::images::{self, Round, failed};
use crate::known;
use crate::model;
use crate::native::{self, Native, Queries, Secondaries};
use crate::program::{Outcome, Program};
use crate::sets::{self, Sets};

/// The number of steps after which pipelines, layouts and render passes are created again.
const LIFETIME: u64 = 6;

/// The objects of a thread.
pub struct Client<'d> {
    device: &'d Device,
    space: Space,
    rng: Rng,
    native: Native,
    pool: vk::CommandPool,
    /// The primary command buffers.
    command_buffers: Vec<vk::CommandBuffer>,
    secondaries: Secondaries,
    fence: vk::Fence,
    steps: u64,
}

/// The objects with which a program is run.
struct Resources {
    memory: Buffer,
    hidden: Buffer,
    queries: Queries,
    sets: Sets,
}

fn make_pool(device: &Device) -> Result<vk::CommandPool, GpuError> {
    let info = vk::CommandPoolCreateInfo::default()
        .queue_family_index(device.family)
        .flags(vk::CommandPoolCreateFlags::RESET_COMMAND_BUFFER);
    // SAFETY: the device is live.
    unsafe { device.ctx.device().create_command_pool(&info, None) }
        .map_err(failed("vkCreateCommandPool"))
}

impl<'d> Client<'d> {
    pub fn new(device: &'d Device, thread: u64) -> Self {
        let gpu = device.gpu();
        let ctx = &device.ctx;
        // SAFETY: the device is live.
        let fence =
            unsafe { ctx.device().create_fence(&vk::FenceCreateInfo::default(), None) }.unwrap();
        Self {
            device,
            space: Space::of(&gpu),
            rng: Rng::new(thread),
            native: Native::new(&gpu).unwrap(),
            pool: make_pool(device).unwrap(),
            command_buffers: Vec::new(),
            secondaries: Secondaries::new(ctx, device.family).unwrap(),
            fence,
            steps: 0,
        }
    }

    /// Runs a program, from the allocation of its memory to the destruction of its objects.
    pub fn step(&mut self, seed: u64) -> Result<(), String> {
        let program = generate(seed, &self.space);
        let (expected, facts) = model::run(&program);
        let excluded = known::excluded(&self.device.gpu(), &program, &facts);
        if excluded.is_some() {
            return Ok(());
        }
        let told = |error: GpuError| format!("{error:?}");
        let mut resources = self.make(&program).map_err(told)?;
        let recorded = self.record(&program, &resources);
        let compared = recorded.map_err(told).and_then(|()| {
            // The command buffers are executed once, or several times with the same memory.
            for _ in 0..self.rng.range(1, 3) {
                let outcome = self.execute(&program, &mut resources).map_err(told)?;
                program.compare(&expected, &outcome)?;
            }
            Ok(())
        });
        self.take_down(resources).map_err(told)?;
        let messages = self.device.messages();
        compared
            .and_then(|()| if messages.is_empty() { Ok(()) } else { Err(format!("{messages:#?}")) })
    }

    fn make(&mut self, program: &Program) -> Result<Resources, GpuError> {
        let mut gpu = self.device.gpu();
        let programs = std::slice::from_ref(program);
        let usage = native::usage(&gpu) | sets::USAGE;
        let counters = vk::BufferUsageFlags::TRANSFORM_FEEDBACK_COUNTER_BUFFER_EXT;
        let size = program.memory.len() as u64;
        let memory = gpu.create_buffer(size, usage, MemoryLocation::Upload)?;
        let hidden = gpu.create_buffer(16, counters, MemoryLocation::Device)?;
        let queries = Queries::new(&self.device.ctx, programs);
        let sets = Sets::new(&self.device.ctx, self.native.set_layouts(), 1)?;
        Ok(Resources { memory, hidden, queries, sets })
    }

    fn record(&mut self, program: &Program, resources: &Resources) -> Result<(), GpuError> {
        let ctx = &self.device.ctx;
        let missing = program.rounds.len().saturating_sub(self.command_buffers.len());
        if missing > 0 {
            let info = vk::CommandBufferAllocateInfo::default()
                .command_pool(self.pool)
                .command_buffer_count(missing as u32);
            // SAFETY: the device is live.
            let allocated = unsafe { ctx.device().allocate_command_buffers(&info) };
            self.command_buffers.extend(allocated.map_err(failed("vkAllocateCommandBuffers"))?);
        }
        self.native.set_hidden_counters(&resources.hidden);
        for (round, cmd) in self.command_buffers.iter().take(program.rounds.len()).enumerate() {
            let memory = resources.memory.raw();
            let place = Round { program, number: 0, round, memory };
            let begin = vk::CommandBufferBeginInfo::default();
            // SAFETY: what was submitted before was waited for; the program is valid by its making.
            unsafe {
                let device = ctx.device();
                device
                    .begin_command_buffer(*cmd, &begin)
                    .map_err(failed("vkBeginCommandBuffer"))?;
                images::barrier(ctx, *cmd);
                let Resources { queries, sets, .. } = resources;
                self.native.record(ctx, *cmd, &place, queries, sets, &mut self.secondaries)?;
                images::barrier(ctx, *cmd);
                device.end_command_buffer(*cmd).map_err(failed("vkEndCommandBuffer"))?;
            }
        }
        Ok(())
    }

    /// Executes the recorded command buffers, with the initial memory of the program.
    fn execute(
        &mut self,
        program: &Program,
        resources: &mut Resources,
    ) -> Result<Outcome, GpuError> {
        let device = self.device.ctx.device();
        // SAFETY: nothing that uses it is in flight.
        let memory = unsafe { resources.memory.mapped_mut() };
        memory[..program.memory.len()].copy_from_slice(&program.memory);
        let command_buffers = &self.command_buffers[..program.rounds.len()];
        // All at once, in one batch or in as many as there are.
        let at_once = if self.rng.percent(50) { command_buffers.len() } else { 1 };
        let batches: Vec<_> = command_buffers
            .chunks(at_once)
            .map(|batch| vk::SubmitInfo::default().command_buffers(batch))
            .collect();
        // SAFETY: the command buffers are executable, and the fence is not signalled.
        unsafe {
            {
                let queue = self.device.queue.lock().unwrap();
                device
                    .queue_submit(*queue, &batches, self.fence)
                    .map_err(failed("vkQueueSubmit"))?;
            }
            device
                .wait_for_fences(&[self.fence], true, u64::MAX)
                .map_err(failed("vkWaitForFences"))?;
            device.reset_fences(&[self.fence]).map_err(failed("vkResetFences"))?;
            let memory = resources.memory.mapped()[..program.memory.len()].to_vec();
            let queries = resources.queries.results(&resources.queries.places[0])?;
            Ok(Outcome { memory, queries })
        }
    }

    /// Destroys the objects of the program, before or after its command buffers, of which a random
    /// part is freed or reset.
    fn take_down(&mut self, resources: Resources) -> Result<(), GpuError> {
        self.steps += 1;
        let is_first = self.rng.percent(50);
        let mut resources = Some(resources);
        if is_first && let Some(resources) = resources.take() {
            self.destroy_resources(resources);
        }
        if self.steps.is_multiple_of(LIFETIME) {
            let native = Native::new(&self.device.gpu())?;
            let old = std::mem::replace(&mut self.native, native);
            // SAFETY: nothing is in flight.
            unsafe { old.destroy(&self.device.ctx) };
        }
        let device = self.device.ctx.device();
        let releases = self.rng.percent(50);
        // SAFETY: nothing is in flight.
        unsafe {
            self.secondaries.reset(&self.device.ctx)?;
            match self.rng.below(6) {
                0 => {
                    let flags = if releases {
                        vk::CommandPoolResetFlags::RELEASE_RESOURCES
                    } else {
                        vk::CommandPoolResetFlags::empty()
                    };
                    device
                        .reset_command_pool(self.pool, flags)
                        .map_err(failed("vkResetCommandPool"))?;
                }
                1 => {
                    let flags = if releases {
                        vk::CommandBufferResetFlags::RELEASE_RESOURCES
                    } else {
                        vk::CommandBufferResetFlags::empty()
                    };
                    for cmd in &self.command_buffers {
                        device
                            .reset_command_buffer(*cmd, flags)
                            .map_err(failed("vkResetCommandBuffer"))?;
                    }
                }
                2 if !self.command_buffers.is_empty() => {
                    device.free_command_buffers(self.pool, &self.command_buffers);
                    self.command_buffers.clear();
                }
                3 => {
                    device.destroy_command_pool(self.pool, None);
                    self.command_buffers.clear();
                    self.pool = make_pool(self.device)?;
                }
                4 => {
                    let made = Secondaries::new(&self.device.ctx, self.device.family)?;
                    std::mem::replace(&mut self.secondaries, made).destroy(&self.device.ctx);
                }
                // The command buffers are reset implicitly when recording begins.
                _ => {}
            }
        }
        if let Some(resources) = resources {
            self.destroy_resources(resources);
        }
        Ok(())
    }

    fn destroy_resources(&self, resources: Resources) {
        let Resources { memory, hidden, queries, sets } = resources;
        // SAFETY: nothing is in flight.
        unsafe {
            sets.destroy(&self.device.ctx);
            queries.destroy();
        }
        let mut gpu = self.device.gpu();
        gpu.destroy_buffer(memory);
        gpu.destroy_buffer(hidden);
    }

    pub fn destroy(self) {
        let ctx = &self.device.ctx;
        // SAFETY: every submission was waited for.
        unsafe {
            self.native.destroy(ctx);
            self.secondaries.destroy(ctx);
            ctx.device().destroy_command_pool(self.pool, None);
            ctx.device().destroy_fence(self.fence, None);
        }
    }
}
