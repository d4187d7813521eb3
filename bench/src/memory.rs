//! Allocates the buffers of a case, which all contestants share.

use ash::vk;
use vkxfb::runtime::{
    Arena, ArenaDesc, ArenaSize, Buffer, BufferUsages, Capture, CaptureBuffer, CounterBuffer,
    IndexBuffer, IndexType, MemoryLocation, Pipeline, PipelineUse, RuntimeError, VertexBuffer,
};
use vkxfb_probe::gpu::{Gpu, GpuError};
use vkxfb_rewriter::capture::MAX_XFB_BUFFERS;

use crate::case::Case;
use crate::roofline::{Reached, ReachedBuffers};
use crate::vertices::Vertices;

/// The number of bytes that are copied to the device at a time.
const CHUNK: usize = 16 << 20;

/// The size in bytes of an index.
const INDEX: u64 = 4;

/// The reason why the memory of a case could not be allocated.
#[derive(Debug, thiserror::Error)]
pub(super) enum MemoryError {
    /// The case needs more memory than the device has, or than its limits allow.
    #[error("{0}")]
    TooMuch(String),
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

impl MemoryError {
    /// Whether another case, which needs less memory, may be measured.
    pub(super) const fn is_limit(&self) -> bool {
        use vk::Result as R;
        match self {
            Self::TooMuch(_) | Self::Gpu(GpuError::Runtime(RuntimeError::Allocation { .. })) => {
                true
            }
            Self::Gpu(GpuError::Runtime(RuntimeError::Vulkan { result, .. })) => {
                matches!(*result, R::ERROR_OUT_OF_DEVICE_MEMORY | R::ERROR_OUT_OF_HOST_MEMORY)
            }
            Self::Gpu(_) => false,
        }
    }
}

/// The vertex buffer on the device. It is kept for the next case, which can use it if the buffer contains
/// enough vertices.
#[derive(Default)]
pub(super) struct Sources {
    kept: Option<(Vertices, u64, Buffer)>,
}

impl Sources {
    /// Returns the buffer with the vertices of a case.
    fn get(&mut self, gpu: &mut Gpu, case: &Case) -> Result<&Buffer, MemoryError> {
        let vertices = case.workload.vertices();
        // The roofline kernel reads whole units of 16 bytes, and the last unit may contain up to two vertices
        // after the last vertex of the case.
        let length = case.vertex_buffer_length() + 2;
        let suffices = |(kept, kept_length, _): &(Vertices, u64, Buffer)| {
            *kept == vertices && *kept_length >= length
        };
        if !self.kept.as_ref().is_some_and(suffices) {
            self.destroy(gpu);
            let size = (length * u64::from(vertices.size())).next_multiple_of(16);
            let usage = usage(gpu, |usages| usages.vertex);
            let buffer = gpu.create_buffer(size, usage, MemoryLocation::Device)?;
            let filled = fill(gpu, &buffer, vertices.size() as usize, |first, bytes| {
                vertices.fill(first as u32, bytes);
            });
            if let Err(error) = filled {
                gpu.destroy_buffer(buffer);
                return Err(error.into());
            }
            self.kept = Some((vertices, length, buffer));
        }
        match &self.kept {
            Some((_, _, buffer)) => Ok(buffer),
            None => Err(MemoryError::TooMuch("no vertex buffer".to_owned())),
        }
    }

    pub(super) fn destroy(&mut self, gpu: &mut Gpu) {
        if let Some((_, _, buffer)) = self.kept.take() {
            gpu.destroy_buffer(buffer);
        }
    }
}

/// The buffers and the arena of a case.
pub(super) struct Memory {
    pub(super) vertices: VertexBuffer,
    pub(super) indices: Option<IndexBuffer>,
    pub(super) captures: Vec<Option<CaptureBuffer>>,
    pub(super) counters: Vec<Option<CounterBuffer>>,
    /// The same buffers, for the roofline kernel.
    pub(super) reached: ReachedBuffers,
    pub(super) arena: Arena,
    /// The size with which the arena was created. The arena may have grown since then.
    arena_size: ArenaSize,
    pub(super) capture: Capture,
    /// The capture buffers, by their number.
    pub(super) targets: Vec<Buffer>,
    others: Vec<Buffer>,
}

impl Memory {
    /// Allocates the buffers of a case.
    pub(super) fn new(
        gpu: &mut Gpu,
        sources: &mut Sources,
        case: &Case,
    ) -> Result<Self, MemoryError> {
        check_limits(gpu, case)?;
        let (mut targets, mut others) = (Vec::new(), Vec::new());
        let made = Self::allocate(gpu, sources, case, &mut targets, &mut others);
        match made {
            Ok((vertices, indices, counters, reached, arena)) => {
                let bound = |buffer: &Buffer| {
                    let (buffer, size) = (buffer.raw(), buffer.size());
                    Some(CaptureBuffer { buffer, offset: 0, size })
                };
                let captures = targets.iter().map(bound).collect();
                Ok(Self {
                    vertices,
                    indices,
                    captures,
                    counters,
                    reached,
                    arena,
                    arena_size: arena_for(case, None),
                    capture: Capture::new(gpu.context(), &gpu.kernels()),
                    targets,
                    others,
                })
            }
            Err(error) => {
                for buffer in targets.into_iter().chain(others) {
                    gpu.destroy_buffer(buffer);
                }
                Err(error)
            }
        }
    }

    #[allow(clippy::type_complexity, reason = "the parts of one structure")]
    fn allocate(
        gpu: &mut Gpu,
        sources: &mut Sources,
        case: &Case,
        targets: &mut Vec<Buffer>,
        others: &mut Vec<Buffer>,
    ) -> Result<
        (VertexBuffer, Option<IndexBuffer>, Vec<Option<CounterBuffer>>, ReachedBuffers, Arena),
        MemoryError,
    > {
        let device = MemoryLocation::Device;
        let capture_usage = usage(gpu, |usages| usages.capture);
        let mut reached = ReachedBuffers::default();
        for buffer in 0..case.record.buffers() {
            let made = gpu.create_buffer(case.buffer_size(buffer), capture_usage, device)?;
            reached.targets[buffer as usize % MAX_XFB_BUFFERS] = Reached::from(&made);
            targets.push(made);
        }
        let mut indices = None;
        if case.workload.is_indexed() {
            let size = case.index_bytes().next_multiple_of(16);
            let buffer = gpu.create_buffer(size, usage(gpu, |usages| usages.index), device)?;
            let raw = buffer.raw();
            reached.indices = Reached::from(&buffer);
            let filled = fill(gpu, &buffer, INDEX as usize, |first, bytes| {
                for (place, bytes) in (first..).zip(bytes.as_chunks_mut().0) {
                    let place = place as u32;
                    let index = if place < case.vertices { case.index(place) } else { 0 };
                    *bytes = index.to_le_bytes();
                }
            });
            others.push(buffer);
            filled?;
            let size = case.index_bytes();
            let index_type = IndexType::Uint32;
            indices = Some(IndexBuffer { buffer: raw, offset: 0, size, index_type });
        }
        let mut counters = Vec::new();
        if case.has_counters() {
            let usage = usage(gpu, |usages| usages.counter);
            let buffer = gpu.create_buffer(16, usage, device)?;
            let counter =
                |i: u32| Some(CounterBuffer { buffer: buffer.raw(), offset: u64::from(i) * 4 });
            counters = (0..case.record.buffers()).map(counter).collect();
            others.push(buffer);
        }
        let source = sources.get(gpu, case)?;
        reached.source = Reached::from(source);
        let (buffer, size) = (source.raw(), source.size());
        let vertices = VertexBuffer { binding: 0, buffer, offset: 0, size, stride: None };
        let arena = gpu.create_arena(arena_for(case, None))?;
        Ok((vertices, indices, counters, reached, arena))
    }

    /// Makes the arena large enough for a capture of the case with a pipeline. If the pipeline has
    /// more shaders than a vertex shader, a capture needs more memory, whose size depends on the
    /// pipeline.
    pub(super) fn make_room(
        &mut self,
        gpu: &mut Gpu,
        case: &Case,
        pipeline: &Pipeline,
    ) -> Result<(), GpuError> {
        let (size, has) = (arena_for(case, Some(pipeline)), self.arena_size);
        if size.upload > has.upload || size.scratch > has.scratch {
            let arena = gpu.create_arena(size)?;
            gpu.destroy_arena(std::mem::replace(&mut self.arena, arena));
            self.arena_size = size;
        }
        Ok(())
    }

    pub(super) fn destroy(self, gpu: &mut Gpu) {
        for buffer in self.targets.into_iter().chain(self.others) {
            gpu.destroy_buffer(buffer);
        }
        gpu.destroy_arena(self.arena);
    }
}

/// The size of an arena for one capture of a case. Without a pipeline there is no room for tessellation and geometry
/// shaders.
fn arena_for(case: &Case, pipeline: Option<&Pipeline>) -> ArenaSize {
    let draws = u64::from(case.draws());
    let primitives = case.primitives() * draws;
    let used = |pipeline| PipelineUse { draws, primitives, ..PipelineUse::new(pipeline, 1) };
    let pipelines: Vec<_> = pipeline.map(used).into_iter().collect();
    let restarted_draws = if case.has_restart() { draws } else { 0 };
    let desc = ArenaDesc {
        restarted_draws,
        restarted_indices: restarted_draws * u64::from(case.vertices),
        pipelines: &pipelines,
        ..ArenaDesc::new(1, draws)
    };
    let mut size = ArenaSize::from(&desc);
    // The arena has room for a descriptor of each attribute, although not all may be used.
    size.upload += case.workload.vertices().vertex_input().attributes.len() as u64 * 16;
    size
}

/// Returns the usage that a buffer needs for all backends of the device, and for each variant of
/// the roofline.
fn usage(
    gpu: &Gpu,
    purpose: impl Fn(BufferUsages) -> vk::BufferUsageFlags,
) -> vk::BufferUsageFlags {
    let ctx = gpu.context();
    let roofline = vk::BufferUsageFlags::STORAGE_BUFFER;
    let usages = gpu.backends().iter().map(|backend| purpose(ctx.buffer_usages(*backend)));
    usages.fold(roofline, |all, usage| all | usage)
}

/// Checks that the device allows the memory that a case needs.
fn check_limits(gpu: &Gpu, case: &Case) -> Result<(), MemoryError> {
    let limits = gpu.memory_limits();
    let targets = (0..case.record.buffers()).map(|b| case.buffer_size(b));
    let source = case.vertex_buffer_length() * u64::from(case.workload.vertices().size());
    let sizes: Vec<u64> = targets.chain([source, case.index_bytes()]).collect();
    let largest = sizes.iter().copied().max().unwrap_or(0);
    if largest > limits.max_buffer {
        let max = limits.max_buffer;
        let reason = format!("a buffer of {largest} bytes: the device allows {max}");
        return Err(MemoryError::TooMuch(reason));
    }
    // Only part of the memory may be used, because other programs use the device, too.
    let (sum, heap) = (sizes.iter().sum::<u64>(), limits.device_heap);
    if sum > heap / 10 * 9 {
        let reason = format!("buffers of {sum} bytes: the device's memory is {heap}");
        return Err(MemoryError::TooMuch(reason));
    }
    Ok(())
}

/// Fills a buffer with elements of `size` bytes. `f` writes several elements at a time, and gets the number
/// of the first of them.
fn fill(
    gpu: &mut Gpu,
    buffer: &Buffer,
    size: usize,
    mut f: impl FnMut(u64, &mut [u8]),
) -> Result<(), GpuError> {
    let chunk = CHUNK / size * size;
    let mut bytes = vec![0; chunk.min(usize::try_from(buffer.size()).unwrap_or(chunk))];
    let mut at = 0;
    while at < buffer.size() {
        let left = buffer.size() - at;
        let length = usize::try_from(left).unwrap_or(chunk).min(bytes.len());
        let part = bytes.get_mut(..length).unwrap_or_default();
        f(at / size as u64, part);
        gpu.write(buffer, at, part)?;
        at += length as u64;
    }
    Ok(())
}
