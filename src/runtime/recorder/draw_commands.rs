//! The draw commands of a capture. Each checks what it is given, and hands it to its backend.

use super::Recorder;
use super::checks::{check_byte_count, check_draw, check_indirect, check_range};
use super::state::Backing;
use crate::runtime::RuntimeError;
use crate::runtime::parameters::{ByteCountDraw, Draw, DrawIndexed, IndirectDraw};
use crate::topology::PrimitiveTopology;

/// The arguments of a draw.
#[derive(Debug, Clone, Copy)]
pub(super) enum Arguments<'a> {
    Draw(&'a Draw),
    Indexed(&'a DrawIndexed),
    Indirect(&'a IndirectDraw),
    IndexedIndirect(&'a IndirectDraw),
    ByteCount(&'a ByteCountDraw),
}

impl Recorder<'_> {
    /// Captures a draw, behind those before it.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::IndexOverflow`], [`RuntimeError::DispatchTooLarge`],
    /// [`RuntimeError::NotBegun`]; of the vertex buffers that the pipeline reads
    /// [`RuntimeError::MissingVertexBuffer`], [`RuntimeError::Misaligned`], [`RuntimeError::StaticStride`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::TooManyBuffers`], [`RuntimeError::PartialDword`],
    /// [`RuntimeError::PastTheEnd`]; of push constants, and of sysvals in memory, [`RuntimeError::ArenaFull`] and a
    /// failed allocation (vertex);
    /// [`RuntimeError::Limit`] (vertex: a triangle fan of more than
    /// [`MAX_FAN_PRIMITIVES`](crate::lower::vertex::MAX_FAN_PRIMITIVES)). Nothing is recorded then, and the capture
    /// may go on.
    ///
    /// # Safety
    /// As [`begin`](Self::begin), with the same render pass instance if there is one. On the native
    /// and vertex backends the vertices lie within their buffers, unless `robustBufferAccess` is
    /// enabled; natively so do the indices, unless `robustBufferAccess2` is.
    pub unsafe fn draw(
        &mut self,
        topology: PrimitiveTopology,
        draw: &Draw,
    ) -> Result<(), RuntimeError> {
        check_draw(draw)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::Draw(draw), 0) }
    }

    /// Captures an indexed draw.
    ///
    /// With primitive restart, the compute backend takes an invocation, for a triangle fan two, for each index
    /// of each instance, as only they find the restarts. Where the GPU sizes the dispatch,
    /// 2^32 - 1 invocations of a draw and 2^31 - 1 indices of an instance are the limit: what further ones would
    /// write is missing, while counters and queries count it. Where the CPU does, it is
    /// [`RuntimeError::DispatchTooLarge`].
    ///
    /// # Errors
    /// As [`draw`](Self::draw), and [`RuntimeError::NoIndexBuffer`], [`RuntimeError::Unsupported`]
    /// (vertex).
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn draw_indexed(
        &mut self,
        topology: PrimitiveTopology,
        draw: &DrawIndexed,
    ) -> Result<(), RuntimeError> {
        check_range("instance", draw.first_instance, draw.instance_count)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::Indexed(draw), 0) }
    }

    /// Captures draws whose `DrawIndex` counts up from 0
    /// ([`vkCmdDrawMultiEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiEXT.html)).
    ///
    /// # Errors
    /// As [`draw`](Self::draw) for the first draw that cannot be captured; those before it are.
    /// [`RuntimeError::Unsupported`] (native and vertex).
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn draw_multi(
        &mut self,
        topology: PrimitiveTopology,
        draws: &[Draw],
    ) -> Result<(), RuntimeError> {
        for (index, draw) in (0..).zip(draws) {
            check_draw(draw)?;
            // SAFETY: the caller's contract.
            unsafe { self.record_multi(topology, Arguments::Draw(draw), index) }?;
        }
        Ok(())
    }

    /// Captures indexed draws whose `DrawIndex` counts up from 0
    /// ([`vkCmdDrawMultiIndexedEXT`](https://docs.vulkan.org/refpages/latest/refpages/source/vkCmdDrawMultiIndexedEXT.html)).
    /// With primitive restart each has the limit of [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Errors
    /// As [`draw_multi`](Self::draw_multi) and [`draw_indexed`](Self::draw_indexed).
    ///
    /// # Safety
    /// As [`draw`](Self::draw).
    pub unsafe fn draw_multi_indexed(
        &mut self,
        topology: PrimitiveTopology,
        draws: &[DrawIndexed],
    ) -> Result<(), RuntimeError> {
        for (index, draw) in (0..).zip(draws) {
            check_range("instance", draw.first_instance, draw.instance_count)?;
            // SAFETY: the caller's contract.
            unsafe { self.record_multi(topology, Arguments::Indexed(draw), index) }?;
        }
        Ok(())
    }

    /// Captures draws whose arguments the GPU reads.
    ///
    /// On the compute backend they are collected as one draw, however many they may be: the GPU finds out how many
    /// there are, and goes through those alone. Where nothing more fits and no query counts it passes over them. They
    /// take scratch of the [arena](crate::runtime::ArenaDesc) for no more draws than records fit. The first 2^24 - 1
    /// draws are made: what further ones would write is missing, and nothing counts it.
    ///
    /// # Errors
    /// [`RuntimeError::TopologyMismatch`], [`RuntimeError::Misaligned`], [`RuntimeError::SmallStride`],
    /// [`RuntimeError::NoAddress`], [`RuntimeError::Limit`], [`RuntimeError::TooManyBuffers`],
    /// [`RuntimeError::DispatchTooLarge`] (where the device has no indirect dispatch),
    /// [`RuntimeError::CommandsPastTheEnd`] (by descriptors),
    /// [`RuntimeError::Unsupported`] (vertex), [`RuntimeError::FeatureNotEnabled`] (native: with a count without
    /// `drawIndirectCount`, of several draws without `multiDrawIndirect`).
    ///
    /// # Safety
    /// As [`draw`](Self::draw). The arguments, of all draws that there may be, lie within their buffer, and are visible
    /// to [`Context::argument_scope`](crate::runtime::Context::argument_scope). On the native backend their
    /// `firstInstance` is 0 unless `drawIndirectFirstInstance` is enabled, and a count in a buffer is at most
    /// `maxDrawIndirectCount`.
    pub unsafe fn draw_indirect(
        &mut self,
        topology: PrimitiveTopology,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw, IndirectDraw::command_size(false))?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::Indirect(draw), 0) }
    }

    /// Captures indexed draws whose arguments the GPU reads.
    ///
    /// With primitive restart each has the limit of [`draw_indexed`](Self::draw_indexed), and the compute backend looks
    /// through all indices that are bound, once in a capture or between two [flushes](Self::flush) for all indirect
    /// draws of one topology that find the same bound: bind no more of them than the draws may use.
    ///
    /// # Errors
    /// As [`draw_indirect`](Self::draw_indirect), and [`RuntimeError::NoIndexBuffer`].
    ///
    /// # Safety
    /// As [`draw_indirect`](Self::draw_indirect).
    pub unsafe fn draw_indexed_indirect(
        &mut self,
        topology: PrimitiveTopology,
        draw: &IndirectDraw,
    ) -> Result<(), RuntimeError> {
        check_indirect(draw, IndirectDraw::command_size(true))?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::IndexedIndirect(draw), 0) }
    }

    /// Captures a draw of as many vertices as an earlier capture wrote.
    ///
    /// # Errors
    /// As [`draw_indirect`](Self::draw_indirect) but for [`RuntimeError::FeatureNotEnabled`];
    /// [`RuntimeError::Misaligned`] for a stride of 0, too, [`RuntimeError::IndexOverflow`], and
    /// [`RuntimeError::MissingProperty`] (native, without `transformFeedbackDraw`).
    ///
    /// # Safety
    /// As [`draw_indirect`](Self::draw_indirect).
    pub unsafe fn draw_indirect_byte_count(
        &mut self,
        topology: PrimitiveTopology,
        draw: &ByteCountDraw,
    ) -> Result<(), RuntimeError> {
        check_byte_count(draw)?;
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, Arguments::ByteCount(draw), 0) }
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn record(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        tracing::trace!(%topology, ?arguments, "draw");
        // SAFETY: the caller's contract.
        unsafe {
            match self.backing() {
                Backing::Graphics(graphics) => graphics.record(topology, arguments),
                Backing::Capture(capture) => capture.push(topology, arguments, draw_index),
            }
        }
    }

    /// # Safety
    /// As [`draw`](Self::draw).
    unsafe fn record_multi(
        &mut self,
        topology: PrimitiveTopology,
        arguments: Arguments<'_>,
        draw_index: u32,
    ) -> Result<(), RuntimeError> {
        if let Backing::Graphics(graphics) = self.backing() {
            return Err(graphics.unsupported("multi-draws"));
        }
        // SAFETY: the caller's contract.
        unsafe { self.record(topology, arguments, draw_index) }
    }
}
