//! The memory of programs on a device, and their command buffers: the parts that all executors
//! share.

use ash::vk;
use vkxfb::lower::Backend;
use vkxfb::runtime::{Buffer, ConsumerScope, Context, MemoryLocation, RuntimeError};
use vkxfb_probe::gpu::{Gpu, GpuError};

use crate::program::Program;
use crate::sets;

/// A command buffer of a program, for `record` to record.
pub struct Round<'a> {
    pub program: &'a Program,
    /// The index of the program in the batch.
    pub number: usize,
    /// The index of the command buffer in the program.
    pub round: usize,
    /// The buffer that contains the program's memory.
    pub memory: vk::Buffer,
}

/// Copies the memory of each program to a separate buffer, has the command buffers of `together`
/// programs at a time recorded and submitted, and reads the memory back.
pub fn execute(
    gpu: &mut Gpu,
    programs: &[Program],
    usage: vk::BufferUsageFlags,
    together: usize,
    mut record: impl FnMut(&Context, vk::CommandBuffer, &Round<'_>) -> Result<(), GpuError>,
) -> Result<Vec<Vec<u8>>, GpuError> {
    let mut buffers = Vec::new();
    let result = (|| {
        for program in programs {
            // Shaders read whole dwords; native draws read up to the end of the buffer.
            let by_shaders =
                vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS;
            let size = if usage.intersects(by_shaders) {
                program.memory.len().next_multiple_of(4) as u64
            } else {
                program.memory.len() as u64
            };
            buffers.push(gpu.create_buffer(size, usage | sets::USAGE, MemoryLocation::Device)?);
        }
        copy_in(gpu, programs, &buffers)?;
        let rounds = programs.iter().map(|p| p.rounds.len()).max().unwrap_or(0);
        for round in 0..rounds {
            let all: Vec<Round<'_>> = programs
                .iter()
                .zip(&buffers)
                .enumerate()
                .filter(|(_, (program, _))| round < program.rounds.len())
                .map(|(number, (program, buffer))| Round {
                    program,
                    number,
                    round,
                    memory: buffer.raw(),
                })
                .collect();
            for submission in all.chunks(together) {
                gpu.submit(|ctx, cmd| {
                    // SAFETY: the command buffer is being recorded.
                    unsafe { barrier(ctx, cmd) };
                    submission.iter().try_for_each(|round| record(ctx, cmd, round))
                })?;
            }
        }
        copy_out(gpu, programs, &buffers)
    })();
    for buffer in buffers {
        gpu.destroy_buffer(buffer);
    }
    result
}

fn copy_in(gpu: &mut Gpu, programs: &[Program], buffers: &[Buffer]) -> Result<(), GpuError> {
    let size = programs.iter().map(|p| p.memory.len() as u64).sum();
    let none = vk::BufferUsageFlags::empty();
    let mut staging = gpu.create_buffer(size, none, MemoryLocation::Upload)?;
    // SAFETY: the device does not use it yet.
    let mut rest = unsafe { staging.mapped_mut() };
    for program in programs {
        let (start, behind) = rest.split_at_mut(program.memory.len());
        start.copy_from_slice(&program.memory);
        rest = behind;
    }
    let result = gpu.submit(|ctx, cmd| {
        let mut src_offset = 0;
        for (program, buffer) in programs.iter().zip(buffers) {
            let size = program.memory.len() as u64;
            let region = vk::BufferCopy { src_offset, dst_offset: 0, size };
            // SAFETY: the ranges are inside of both.
            unsafe { ctx.device().cmd_copy_buffer(cmd, staging.raw(), buffer.raw(), &[region]) };
            src_offset += size;
        }
        Ok(())
    });
    gpu.destroy_buffer(staging);
    result
}

fn copy_out(
    gpu: &mut Gpu,
    programs: &[Program],
    buffers: &[Buffer],
) -> Result<Vec<Vec<u8>>, GpuError> {
    let size = programs.iter().map(|p| p.memory.len() as u64).sum();
    let none = vk::BufferUsageFlags::empty();
    let staging = gpu.create_buffer(size, none, MemoryLocation::Readback)?;
    let submitted = gpu.submit(|ctx, cmd| {
        let mut dst_offset = 0;
        // SAFETY: the command buffer is being recorded; the ranges are inside of both.
        unsafe {
            barrier(ctx, cmd);
            for (program, buffer) in programs.iter().zip(buffers) {
                let size = program.memory.len() as u64;
                let region = vk::BufferCopy { src_offset: 0, dst_offset, size };
                ctx.device().cmd_copy_buffer(cmd, buffer.raw(), staging.raw(), &[region]);
                dst_offset += size;
            }
            barrier(ctx, cmd);
        }
        Ok(())
    });
    let result = submitted.and_then(|()| {
        // SAFETY: nothing is in flight, and the context is that of the buffer.
        let mut rest = unsafe {
            staging.invalidate(gpu.context())?;
            staging.mapped()
        };
        let mut memories = Vec::new();
        for program in programs {
            let (start, behind) = rest.split_at(program.memory.len());
            memories.push(start.to_vec());
            rest = behind;
        }
        Ok(memories)
    });
    gpu.destroy_buffer(staging);
    result
}

/// Returns the scope of commands after a capture that may read or overwrite what it wrote,
/// including its counters.
pub fn next(backend: Backend) -> ConsumerScope {
    let vertices = match backend {
        Backend::Native | Backend::Vertex => ConsumerScope::VERTEX_BUFFER,
        Backend::Compute => ConsumerScope::COMPUTE_SHADER,
    };
    let vertices = (vertices.stages, vertices.access);
    let scopes = [Context::write_scope(backend), Context::argument_scope(backend)];
    let (stages, access) = scopes.iter().fold(vertices, |all, one| (all.0 | one.0, all.1 | one.1));
    ConsumerScope { stages, access }
}

/// Makes everything before the barrier visible to everything after it, including the host.
///
/// # Safety
/// `cmd` is being recorded, outside of a render pass instance.
pub unsafe fn barrier(ctx: &Context, cmd: vk::CommandBuffer) {
    let barrier = vk::MemoryBarrier::default()
        .src_access_mask(vk::AccessFlags::MEMORY_WRITE)
        .dst_access_mask(vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
    let all = vk::PipelineStageFlags::ALL_COMMANDS;
    unsafe {
        ctx.device().cmd_pipeline_barrier(
            cmd,
            all,
            all | vk::PipelineStageFlags::HOST,
            vk::DependencyFlags::empty(),
            &[barrier],
            &[],
            &[],
        );
    }
}

/// Converts the result of a failed command to an error.
pub fn failed(call: &'static str) -> impl Fn(vk::Result) -> GpuError {
    move |result| RuntimeError::Vulkan { call, result }.into()
}
