//! A shader as a backend has rewritten it.

use std::ops::Range;

use spirv::ExecutionModel;
use xxhash_rust::xxh3::Xxh3Default;

use super::{Backend, ResourcePlan, SysvalsPlace, vertex};
use crate::capture::Layout;
use crate::vertex_input::{InputRate, VertexFormat};

/// A shader rewritten for a backend, and what the runtime has to know about it.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// The backend that it was rewritten for, and what only captures by that backend need to know.
    pub kind: LoweredKind,
    /// The stage of the shader that went in: other than vertex on the native backend only.
    pub stage: ExecutionModel,
    /// SPIR-V.
    pub words: Vec<u32>,
    /// Name of the entry point in `words`.
    pub entry_point: String,
    /// What is captured.
    pub layout: Layout,
    /// Whether the shader itself stores, writes images or uses atomics. Where the application keeps
    /// its draw beside a compute capture, that happens twice.
    pub has_side_effects: bool,
    /// Numbers of the descriptor sets that the shader itself uses, in order: those of which a pipeline needs
    /// the layouts. [`reflect::resource_interface`](super::reflect::resource_interface) says what is in them.
    pub descriptor_sets: Vec<u32>,
    /// Bytes of the application's push constants that the shader reads, from a multiple of 16 to a multiple of
    /// 16: what [`Sysvals::table`](crate::sysval::Sysvals::table) begins with. On the native backend, which
    /// reads them where they are, those of its whole block: a range of a pipeline layout has to have the block.
    /// `0..0` where there are none.
    pub push_constants: Range<u32>,
    /// Indices in [`Layout::outputs`] of what the shader does not write on every path, as far as its code shows.
    /// Where it does not, the specification leaves the captured value undefined; on the vertex and compute
    /// backends it is 0.
    pub unwritten: Vec<usize>,
    /// Whether the shader may use other values that are undefined: `OpUndef`, or variables that are read before
    /// they are written. On the vertex and compute backends they are 0.
    pub reads_undefined: bool,
}

/// What of a [`Lowered`] shader is of one backend alone.
#[derive(Debug, Clone)]
pub enum LoweredKind {
    /// [`Backend::Native`]: no code is generated.
    Native,
    /// [`Backend::Vertex`]
    Vertex(LoweredVertex),
    /// [`Backend::Compute`]
    Compute(LoweredCompute),
}

/// What the vertex backend has of a [`Lowered`] shader. Its generated code reaches memory by device addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoweredVertex {
    /// Specialisation constants of what may occur.
    pub spec_ids: SpecIds,
    /// Where the generated code finds its [`Sysvals`](crate::sysval::Sysvals).
    pub sysvals: SysvalsPlace,
}

/// What the compute backend has of a [`Lowered`] shader. Its [`Sysvals`](crate::sysval::Sysvals) are in the first push
/// constants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredCompute {
    /// Specialisation constants of what may occur.
    pub spec_ids: SpecIds,
    /// How the generated code reaches memory.
    pub resources: ResourcePlan,
    /// The attribute that each descriptor slot of the sysvals serves, in slot order.
    pub attributes: Vec<LoweredAttribute>,
    /// Invocations of a workgroup.
    pub workgroup_size: u32,
    /// Bytes of shared memory of a workgroup.
    pub shared_memory: u32,
}

/// A vertex attribute as a compute shader was lowered to pull it. Its binding, its offset and the stride are
/// told at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoweredAttribute {
    /// Location of the shader's input.
    pub location: u32,
    /// Format of the data.
    pub format: VertexFormat,
    /// What advances the element.
    pub input_rate: InputRate,
}

/// `SpecId`s of constants by which a pipeline folds away what cannot occur. By their defaults everything is
/// decided at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecIds {
    /// The value of the [`XfbTopology`](crate::topology::XfbTopology) of all draws, or by default
    /// [`ANY_TOPOLOGY`](Self::ANY_TOPOLOGY).
    pub topology: u32,
    /// Whether primitive restart may be enabled, as a boolean. Compute only.
    pub restart: u32,
    /// Whether a dispatch may have several draws, or an index buffer. Compute only.
    pub general: u32,
    /// Whether the device profits from knowing which accesses are aligned to their size.
    pub wide: u32,
}

impl SpecIds {
    /// Draws may have any topology.
    pub const ANY_TOPOLOGY: u32 = u32::MAX;
}

impl Lowered {
    /// The backend that it was rewritten for.
    pub const fn backend(&self) -> Backend {
        match self.kind {
            LoweredKind::Native => Backend::Native,
            LoweredKind::Vertex(_) => Backend::Vertex,
            LoweredKind::Compute(_) => Backend::Compute,
        }
    }

    /// What the compute backend has of it; `None` on the others.
    pub const fn compute(&self) -> Option<&LoweredCompute> {
        match &self.kind {
            LoweredKind::Compute(compute) => Some(compute),
            LoweredKind::Native | LoweredKind::Vertex(_) => None,
        }
    }

    /// Specialisation constants of what may occur. `None` on the native backend.
    pub const fn spec_ids(&self) -> Option<SpecIds> {
        match &self.kind {
            LoweredKind::Native => None,
            LoweredKind::Vertex(vertex) => Some(vertex.spec_ids),
            LoweredKind::Compute(compute) => Some(compute.spec_ids),
        }
    }

    /// How the generated code reaches memory. `None` on the native backend, which generates none.
    pub const fn resources(&self) -> Option<ResourcePlan> {
        match &self.kind {
            LoweredKind::Native => None,
            LoweredKind::Vertex(_) => Some(vertex::RESOURCES),
            LoweredKind::Compute(compute) => Some(compute.resources),
        }
    }

    /// Where the generated code finds its [`Sysvals`](crate::sysval::Sysvals). `None` on the native backend, which
    /// generates none.
    pub const fn sysvals(&self) -> Option<SysvalsPlace> {
        match &self.kind {
            LoweredKind::Native => None,
            LoweredKind::Vertex(vertex) => Some(vertex.sysvals),
            LoweredKind::Compute(_) => Some(SysvalsPlace::FIRST),
        }
    }

    /// A key to keep what is made of [`words`](Self::words) by: pipelines, a driver's binaries.
    ///
    /// It is [XXH3](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) of 128 bits with
    /// seed 0, of the words as little-endian bytes: what `xxh128sum` prints for the module as a file,
    /// on every machine. So it depends on what was lowered and by which options, and on nothing
    /// else: one version of this crate gives one module for them. Whatever is beside the words is not
    /// in it, such as [`entry_point`](Self::entry_point) where a module has several, or vertex input
    /// state.
    ///
    /// XXH3 is no cryptographic hash: who wants two modules of one key can make them.
    pub fn cache_key(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        // As one slice where that is how the words lie in memory.
        if cfg!(target_endian = "little") {
            hash.update(bytemuck::cast_slice(&self.words));
        } else {
            self.words.iter().for_each(|word| hash.update(&word.to_le_bytes()));
        }
        hash.digest128()
    }
}
