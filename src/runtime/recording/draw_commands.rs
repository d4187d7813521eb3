//! The functions of [`Recorder`] that capture draws. Each checks its arguments and passes them to the backend.

use ash::vk;

use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::{
    Arguments, ByteCountDraw, Draw, DrawIndexed, IndirectDraw, known_topology,
};
use crate::runtime::recording::checks::{check_byte_count, check_indirect};
use crate::runtime::recording::recorder::Backing;
use crate::runtime::recording::recorder::Recorder;
use vkxfb_rewriter::topology::PrimitiveTopology;

impl Recorder<'_> {
    /// Captures a draw. Its records follow those of the draws before it.
    ///
    /// `VertexIndex` and `InstanceIndex` are computed modulo 2^32, as in all draws.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownTopology`], [`RuntimeError::TopologyMismatch`], [`RuntimeError::GeometryInput`],
    /// [`RuntimeError::NoTessellation`], [`RuntimeError::DispatchTooLarge`], [`RuntimeError::NotBegun`]; [`RuntimeError::MissingDescriptorSet`] for a set
    /// that the shader reads; with geometry or tessellation shaders on the compute backend
    /// [`RuntimeError::TooManyPrimitives`] and, for indirect commands, [`RuntimeError::TooManyDraws`].
    ///
    /// Because of the vertex buffers that the pipeline reads: [`RuntimeError::MissingVertexBuffer`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::StaticStride`], [`RuntimeError::NoAddress`],
    /// [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`].
    ///
    /// On the vertex backend: [`RuntimeError::ArenaFull`] and a failed allocation, if push constants or sysvals are in
    /// memory; [`RuntimeError::Limit`] for a triangle fan with more primitives than
    /// [`MAX_FAN_PRIMITIVES`](vkxfb_rewriter::lower::vertex::MAX_FAN_PRIMITIVES).
    ///
    /// Nothing is recorded in case of an error, and the capture may continue.
    ///
    /// # Safety
    /// The requirements of [`begin`](Self::begin) apply. On the native and vertex backends the draw is in the same
    /// render pass instance as [`begin`](Self::begin), and all vertices lie within their buffers, unless
    /// `robustBufferAccess` is enabled. On the native backend all indices lie within their buffer, unless
    /// `robustBufferAccess2` is enabled.
    pub unsafe fn draw(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        unsafe { self.record(known_topology(topology)?, Arguments::Draw(draw), 0) }
    }

    /// Captures an indexed draw.
    ///
    /// With primitive restart, the compute backend needs one invocation per index and instance (two for a triangle
    /// fan), because only the GPU knows the restarts. An indirect dispatch is limited to 2^32 - 1 invocations per draw
    /// and 2^31 - 1 indices per instance: records beyond that are missing, although counters and queries include them.
    /// For a direct dispatch [`RuntimeError::DispatchTooLarge`] is returned instead.
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw), and [`RuntimeError::NoIndexBuffer`]; [`RuntimeError::Unsupported`] on the
    /// vertex backend; [`RuntimeError::PartialDword`] if the index buffer ends within a dword, and the shader was
    /// lowered without [loads of single bytes](vkxfb_rewriter::lower::compute::Target::byte_loads).
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn draw_indexed(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &DrawIndexed,
    ) -> Result<(), RuntimeError> {
        unsafe { self.record(known_topology(topology)?, Arguments::Indexed(draw), 0) }
    }

    /// Captures several draws with `DrawIndex` 0, 1, 2, ...
    /// ([`vkCmdDrawMultiEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiEXT.html)).
    ///
    /// # Errors
    /// The errors of [`draw`](Self::draw) for the first draw that cannot be captured; the draws before it are captured.
    /// [`RuntimeError::Unsupported`] on the native and vertex backends.
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn draw_multi(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draws: &[Draw],
    ) -> Result<(), RuntimeError> {
        let topology = known_topology(topology)?;
        for (index, draw) in (0..).zip(draws) {
            unsafe { self.record_multi(topology, Arguments::Draw(draw), index) }?;
        }
        Ok(())
    }

    /// Captures several indexed draws with `DrawIndex` 0, 1, 2, ...
    /// ([`vkCmdDrawMultiIndexedEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiIndexedEXT.html)).
    /// With primitive restart, the limits of [`draw_indexed`](Self::draw_indexed) apply to each draw.
    ///
    /// # Errors
    /// The errors of [`draw_multi`](Self::draw_multi) and [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    pub unsafe fn draw_multi_indexed(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draws: &[DrawIndexed],
    ) -> Result<(), RuntimeError> {
        let topology = known_topology(topology)?;
        for (index, draw) in (0..).zip(draws) {
            unsafe { self.record_multi(topology, Arguments::Indexed(draw), index) }?;
        }
        Ok(())
    }

    /// Captures draws whose arguments are in a buffer.
    ///
    /// The compute backend collects them as one draw, whatever `draw_count` is: the GPU reads the number of draws and
    /// processes only that many. It skips draws for which the buffers have no room left, unless a query counts them.
    /// The command takes scratch memory of the [arena](crate::runtime::ArenaDesc) for `draw_count` draws, or for about
    /// as many draws as records fit into the capture buffers, if that is less. The limit is 2^24 - 1 draws: further
    /// draws are neither captured nor counted.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::GeometryInput`], [`RuntimeError::NoTessellation`],
    /// [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`], [`RuntimeError::MissingDescriptorSet`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`];
    /// [`RuntimeError::DispatchTooLarge`] if the device has no indirect dispatch; [`RuntimeError::CommandsPastTheEnd`]
    /// under the descriptor plan; [`RuntimeError::Unsupported`] on the vertex backend;
    /// [`RuntimeError::FeatureNotEnabled`] on the native backend, for a count in a buffer without `drawIndirectCount`,
    /// and for several draws without `multiDrawIndirect`.
    ///
    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply. The buffer contains the arguments of `draw_count` draws, and
    /// earlier writes to it are visible to [`Context::argument_scope`](crate::runtime::Context::argument_scope). On the
    /// native backend the `firstInstance` of the draws is 0 unless `drawIndirectFirstInstance` is enabled, and a count
    /// in a buffer is at most `maxDrawIndirectCount`.
    pub unsafe fn draw_indirect(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw, IndirectDraw::command_size(false))?;
        unsafe { self.record(known_topology(topology)?, Arguments::Indirect(draw), 0) }
    }

    /// Captures indexed draws whose arguments are in a buffer.
    ///
    /// With primitive restart, the limits of [`draw_indexed`](Self::draw_indexed) apply to each draw. The compute
    /// backend then searches all indices of the bound range for restarts. It does so once per capture, or between two
    /// [flushes](Self::flush), for all indirect draws with the same topology, bound range and restart index. So do not
    /// bind a larger range than the draws use.
    ///
    /// # Errors
    /// The errors of [`draw_indirect`](Self::draw_indirect), and [`RuntimeError::NoIndexBuffer`],
    /// [`RuntimeError::PartialDword`].
    ///
    /// # Safety
    /// The requirements of [`draw_indirect`](Self::draw_indirect) apply.
    pub unsafe fn draw_indexed_indirect(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw, IndirectDraw::command_size(true))?;
        unsafe { self.record(known_topology(topology)?, Arguments::IndexedIndirect(draw), 0) }
    }

    /// Captures a draw of the vertices that an earlier capture wrote: the GPU computes their number from a counter.
    ///
    /// # Errors
    /// The errors of [`draw_indirect`](Self::draw_indirect) without [`RuntimeError::FeatureNotEnabled`];
    /// [`RuntimeError::ZeroStride`]; [`RuntimeError::MissingProperty`] on the native backend, without
    /// `transformFeedbackDraw`.
    ///
    /// # Safety
    /// The requirements of [`draw_indirect`](Self::draw_indirect) apply.
    pub unsafe fn draw_indirect_byte_count(
        &mut self,
        topology: impl Into<vk::PrimitiveTopology>,
        draw: &ByteCountDraw,
    ) -> Result<(), RuntimeError> {
        check_byte_count(draw)?;
        unsafe { self.record(known_topology(topology)?, Arguments::ByteCount(draw), 0) }
    }

    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    unsafe fn record(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        tracing::trace!(%topology, ?arguments, "draw");
        unsafe {
            match self.backing() {
                Backing::Graphics(graphics) => graphics.record(topology, arguments),
                Backing::Compute(streams) => streams.push(topology, arguments, draw_index),
            }
        }
    }

    /// # Safety
    /// The requirements of [`draw`](Self::draw) apply.
    unsafe fn record_multi(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        if let Backing::Graphics(graphics) = self.backing() {
            return Err(graphics.unsupported("multi-draws"));
        }
        unsafe { self.record(topology, arguments, draw_index) }
    }
}
