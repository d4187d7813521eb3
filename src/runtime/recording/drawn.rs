//! The parameters of draws whose vertex shader was merged with a geometry shader
//! ([`vkxfb_rewriter::lower::drawn`]). The driver draws a list, and the shader reads from memory what the application has
//! bound for its draw. No command of a capture is involved. The layer uses this module; it is not a part of the crate's
//! stable interface.

use std::ops::Range;

use ash::vk;

use crate::runtime::device::checks::not_whole_size;
use crate::runtime::device::context::Context;
use crate::runtime::device::error::RuntimeError;
use crate::runtime::device::parameters::{Draw, DrawIndexed, IndexBuffer, VertexBuffer};
use crate::runtime::memory::addresses::address;
use crate::runtime::memory::arena::{ArenaAccess, aligned};
use crate::runtime::memory::descriptors::purpose::Purpose;
use crate::runtime::memory::window_table::WindowTable;
use crate::runtime::pipelines::pipeline::check_input;
use crate::runtime::pipelines::pulling::{self, PulledAttribute};
use vkxfb_rewriter::lower::drawn::Drawn;
use vkxfb_rewriter::lower::{Backend, LoweredGeometry};
use vkxfb_rewriter::sysval::{
    Address, AttributeDescriptor, DrawSysvals, INLINE_ATTRIBUTES, Sysvals, draw_flags, split,
};
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};
use vkxfb_rewriter::vertex_input::VertexInput;

/// What the parameters of a draw depend on, of a [drawn](Drawn) shader.
#[derive(Debug, Clone)]
pub struct DrawnShader {
    attributes: Vec<PulledAttribute>,
    geometry: LoweredGeometry,
    vertices: u32,
    push_constants: Range<u32>,
}

/// A direct draw of the application.
#[derive(Debug, Clone, Copy)]
pub enum DirectDraw {
    /// `vkCmdDraw`
    Vertices(Draw),
    /// `vkCmdDrawIndexed`, with the bound index buffer. Primitive restart is disabled.
    Indexed(DrawIndexed, IndexBuffer),
}

/// What is bound and set for a draw.
#[derive(Debug, Clone, Copy)]
pub struct BoundForDraw<'a> {
    /// The topology of the draw.
    pub topology: PrimitiveTopology,
    /// The provoking vertex mode of the pipeline, or that was set dynamically.
    pub provoking_vertex: ProvokingVertex,
    /// A vertex buffer for each binding that the shader reads.
    pub vertex_buffers: &'a [VertexBuffer],
    /// The push constants from byte 0 on. Bytes that are missing are 0.
    pub push_constants: &'a [u8],
}

/// The list that is drawn in place of the application's draw: `vkCmdDraw` from vertex 0 and instance 0 on, with
/// [`parameters`](Self::parameters) bound to the binding of the attribute at
/// [`PARAMETERS_LOCATION`](vkxfb_rewriter::lower::drawn::PARAMETERS_LOCATION).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawnList {
    /// A buffer, and the offset in bytes in it of the value of that attribute.
    pub parameters: (vk::Buffer, u64),
    /// The number of vertices of the list, for each instance.
    pub vertex_count: u32,
    /// The number of instances.
    pub instance_count: u32,
}

/// The parameters in memory, behind which the table follows. `at` is their own address: the value of the attribute.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Parameters {
    sysvals: Sysvals,
    at: Address,
    reserved: [u32; 2],
}

impl DrawnShader {
    /// Returns what the parameters of draws with a shader depend on. `input` is the vertex input state that the shader
    /// was lowered for, [without indices](vkxfb_rewriter::lower::drawn::Options::unindexed).
    ///
    /// # Errors
    /// [`RuntimeError::Unsupported`] if the shader's list has indices;
    /// [`RuntimeError::MissingAttribute`], [`RuntimeError::UnknownBinding`], [`RuntimeError::AttributeFormat`],
    /// [`RuntimeError::AttributeRate`], [`RuntimeError::Misaligned`].
    pub fn new(drawn: &Drawn, input: &VertexInput) -> Result<Self, RuntimeError> {
        if drawn.indices.is_ok() {
            let what = "a drawn geometry shader whose list has indices";
            return Err(RuntimeError::Unsupported { backend: Backend::Compute, what });
        }
        Ok(Self {
            attributes: pulling::resolve(input, &drawn.attributes)?,
            geometry: drawn.geometry,
            vertices: drawn.vertices,
            push_constants: drawn.push_constants.clone(),
        })
    }

    /// Writes the parameters of a draw to the upload memory of `arena`, and returns the list that is drawn in its place.
    /// `None` if the draw has no primitives.
    ///
    /// # Errors
    /// [`RuntimeError::GeometryInput`]; [`RuntimeError::TooManyPrimitives`] if the list would have 2^32 vertices or more;
    /// [`RuntimeError::Unsupported`] if an attribute has elements that begin 4 GiB or more after its first one;
    /// [`RuntimeError::PartialDword`] if a vertex or index buffer ends within a dword that is not in the buffer;
    /// the errors of [`Recorder::draw`](crate::runtime::Recorder::draw) because of vertex buffers;
    /// [`RuntimeError::NoAddress`], [`RuntimeError::ArenaFull`] and the error of a failed allocation.
    ///
    /// # Safety
    /// The device of `ctx` is live, `arena` was made with `ctx`, and the buffers are live, were created with the usages
    /// that `ctx` returns for them, and contain their ranges. Until the memory is returned to the arena nothing but the
    /// list reads it.
    pub unsafe fn list<'a>(
        &self,
        ctx: &Context,
        arena: impl Into<ArenaAccess<'a>>,
        bound: &BoundForDraw<'_>,
        draw: &DirectDraw,
    ) -> Result<Option<DrawnList>, RuntimeError> {
        let BoundForDraw { topology, provoking_vertex, vertex_buffers, push_constants } = *bound;
        check_input(Some(self.geometry), topology)?;
        let mut drawn = DrawSysvals {
            flags: draw_flags(topology, 0, provoking_vertex),
            xfb_topology: topology.xfb_topology() as u32,
            ..DrawSysvals::default()
        };
        let count = match draw {
            DirectDraw::Vertices(draw) => {
                drawn.base_vertex = draw.first_vertex;
                (drawn.instance_count, drawn.first_instance) =
                    (draw.instance_count, draw.first_instance);
                draw.vertex_count
            }
            DirectDraw::Indexed(draw, buffer) => {
                drawn.base_vertex = draw.vertex_offset.cast_unsigned();
                (drawn.instance_count, drawn.first_instance) =
                    (draw.instance_count, draw.first_instance);
                unsafe { indices_of(ctx, &mut drawn, draw.first_index, buffer) }?;
                draw.index_count
            }
        };
        let primitives = topology.primitive_count(count);
        let vertex_count = primitives * u64::from(self.vertices);
        let vertex_count = u32::try_from(vertex_count).map_err(|_| {
            let max = u64::from(u32::MAX / self.vertices);
            RuntimeError::TooManyPrimitives { what: "primitives", primitives, max }
        })?;
        if vertex_count == 0 || drawn.instance_count == 0 {
            return Ok(None);
        }
        // A list of `vertex_count` vertices was counted, so there are fewer primitives.
        drawn.item_count = primitives as u32;
        let attributes = unsafe { self.attributes(ctx, vertex_buffers) }?;
        let instance_count = drawn.instance_count;
        let parameters =
            unsafe { self.write(ctx, arena.into(), drawn, attributes, push_constants) }?;
        Ok(Some(DrawnList { parameters, vertex_count, instance_count }))
    }

    /// Returns the descriptors of the attributes.
    ///
    /// # Errors
    /// Those of [`list`](Self::list) because of vertex buffers.
    ///
    /// # Safety
    /// The requirements of [`list`](Self::list) apply.
    unsafe fn attributes(
        &self,
        ctx: &Context,
        buffers: &[VertexBuffer],
    ) -> Result<Vec<AttributeDescriptor>, RuntimeError> {
        pulling::check_bound(buffers)?;
        pulling::check_buffers(Backend::Compute, &self.attributes, buffers)?;
        let descriptors = pulling::descriptors(&self.attributes, buffers, |buffer| {
            let VertexBuffer { binding, buffer, offset, size, .. } = *buffer;
            let what = format_args!("the vertex buffer of binding {binding}");
            let (table, purpose) = (&mut WindowTable::default(), Purpose::Read);
            // SAFETY: the caller's contract.
            unsafe { address(ctx, table, purpose, what, (buffer, offset, size)) }
        });
        let descriptors = descriptors.collect::<Result<Vec<_>, _>>()?;
        if descriptors.iter().any(AttributeDescriptor::reaches_far) {
            let what = "attributes that reach 4 GiB in a drawn geometry shader";
            return Err(RuntimeError::Unsupported { backend: Backend::Compute, what });
        }
        Ok(descriptors)
    }

    /// Writes the parameters and their table. Returns where the value of the attribute is.
    ///
    /// # Errors
    /// [`RuntimeError::NoAddress`], [`RuntimeError::ArenaFull`], and the error of a failed allocation.
    ///
    /// # Safety
    /// The requirements of [`list`](Self::list) apply.
    unsafe fn write(
        &self,
        ctx: &Context,
        mut arena: ArenaAccess<'_>,
        mut draw: DrawSysvals,
        attributes: Vec<AttributeDescriptor>,
        push_constants: &[u8],
    ) -> Result<(vk::Buffer, u64), RuntimeError> {
        let others = attributes.get(INLINE_ATTRIBUTES..).unwrap_or_default();
        let constants = self.push_constants.len();
        let size = size_of::<Parameters>() + constants + size_of_val(others);
        unsafe { arena.reserve(ctx, aligned(size as u64), 0) }?;
        let at = arena.upload_address() + arena.upload().taken();
        // What is not bound reads the parameters: a driver may execute a load in a branch that is not taken.
        let readable = |address: Address, limit: u32| if limit == 0 { split(at) } else { address };
        draw.index_address = readable(draw.index_address, draw.index_limit);
        let readable = |attribute: &AttributeDescriptor| AttributeDescriptor {
            address: readable(attribute.address, attribute.limit),
            ..*attribute
        };
        let mut sysvals = Sysvals {
            draw,
            table: split(at + size_of::<Parameters>() as u64),
            source: split(at),
            ..Sysvals::default()
        };
        for (inline, attribute) in sysvals.attributes.iter_mut().zip(&attributes) {
            *inline = readable(attribute);
        }
        let others: Vec<AttributeDescriptor> = others.iter().map(readable).collect();
        let parameters = Parameters { sysvals, at: split(at), reserved: [0; 2] };
        let pushed = push_constants.iter().copied().chain(std::iter::repeat(0));
        let pushed = pushed.skip(self.push_constants.start as usize).take(constants);
        let place = arena.upload().push_with(size, |target| {
            let bytes = bytemuck::bytes_of(&parameters).iter().copied();
            let bytes = bytes.chain(pushed).chain(bytemuck::cast_slice(&others).iter().copied());
            target.iter_mut().zip(bytes).for_each(|(target, byte)| *target = byte);
        })?;
        debug_assert_eq!(place.address, at);
        Ok((place.buffer, place.offset + std::mem::offset_of!(Parameters, at) as u64))
    }
}

/// Sets the indices of a draw that begins at `first_index` of a bound index buffer.
///
/// # Errors
/// [`RuntimeError::PartialDword`], [`RuntimeError::PastTheEnd`], [`RuntimeError::NoAddress`].
///
/// # Safety
/// The requirements of [`DrawnShader::list`] apply.
unsafe fn indices_of(
    ctx: &Context,
    draw: &mut DrawSysvals,
    first_index: u32,
    indices: &IndexBuffer,
) -> Result<(), RuntimeError> {
    let IndexBuffer { buffer, offset, size, index_type } = *indices;
    not_whole_size(|| "the index buffer".to_owned(), size)?;
    let bytes = index_type.size();
    draw.flags |= bytes;
    // Of a null buffer all indices are 0, as of one that ends before the first index.
    if buffer == vk::Buffer::null() {
        return Ok(());
    }
    let (table, what) = (&mut WindowTable::default(), format_args!("the index buffer"));
    let start = unsafe { address(ctx, table, Purpose::Read, what, (buffer, offset, size)) }?;
    let limit = u32::try_from(size / u64::from(bytes)).unwrap_or(u32::MAX);
    draw.index_limit = limit.saturating_sub(first_index);
    draw.index_address = split(start + u64::from(first_index) * u64::from(bytes));
    Ok(())
}
