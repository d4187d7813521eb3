//! A lowered shader.

use std::ops::Range;

use spirv::ExecutionModel;
use xxhash_rust::xxh3::Xxh3Default;

use super::compute::WorkgroupSizes;
use super::effects::Effects;
use super::resources::{check_sets_before, move_descriptor_set};
use super::{Backend, LowerError, LoweredGeometry, ResourcePlan, SysvalsPlace, vertex};
use crate::capture::Layout;
use crate::spirv::Module;
use crate::vertex_input::{InputRate, VertexFormat, VertexInput};

/// A shader that was rewritten for a backend, with the information that the runtime needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Lowered {
    /// The backend, and the information for this backend only.
    #[doc(hidden)]
    pub kind: LoweredKind,
    /// The stage of the original shader: vertex; on the compute and the native backend also tessellation evaluation
    /// and geometry.
    pub stage: ExecutionModel,
    /// The SPIR-V words.
    pub words: Vec<u32>,
    /// The name of the entry point in `words`.
    pub entry_point: String,
    /// The layout of the captured outputs.
    pub layout: Layout,
    /// The side effects of the shader.
    pub effects: Effects,
    /// The numbers of the descriptor sets that the shader itself uses, ascending. A pipeline needs
    /// their layouts.
    pub descriptor_sets: Vec<u32>,
    /// The range of bytes of the application's push constants that the shader reads, rounded to
    /// multiples of 16. The native backend reads push constants directly: there it is the range of the whole block,
    /// which a pipeline layout must contain. `0..0` if there are none.
    pub push_constants: Range<u32>,
    /// Indices in [`Layout::outputs`] of the outputs that the shader may leave unwritten on some
    /// path; for a geometry shader, on some path to a vertex that it emits. The specification leaves
    /// the captured value undefined then; on the vertex and compute backends it is 0. None are listed
    /// for geometry shaders on the native backend.
    pub unwritten: Vec<usize>,
    /// Whether the shader may use other undefined values: `OpUndef`, or variables that are read
    /// before they are written. On the vertex and compute backends they are 0.
    pub reads_undefined: bool,
}

/// The information in [`Lowered`] for one backend only.
#[derive(Debug, Clone)]
pub enum LoweredKind {
    /// [`Backend::Native`], for which no code is generated.
    Native(LoweredNative),
    /// [`Backend::Vertex`]
    Vertex(LoweredVertex),
    /// [`Backend::Compute`]
    Compute(LoweredCompute),
}

/// The information for the native backend only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LoweredNative {
    /// The shaders before the one that is captured, beginning with the [vertex
    /// shader](super::native::Options::vertex_shader).
    pub before: Vec<LoweredStage>,
    /// The input and output primitives of the geometry shader or tessellation shaders, if they are captured together
    /// with a vertex shader.
    pub geometry: Option<LoweredGeometry>,
}

/// A shader that precedes the captured shader in the pipeline. Its own outputs are not captured.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoweredStage {
    /// The stage.
    pub stage: ExecutionModel,
    /// The SPIR-V words.
    pub words: Vec<u32>,
    /// The name of the entry point in `words`.
    pub entry_point: String,
}

/// The information for the vertex backend only. Its generated code uses device addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoweredVertex {
    /// The `SpecId`s of the constants that specialise the shader.
    pub spec_ids: SpecIds,
    /// The place from which the generated code reads its [`Sysvals`](crate::sysval::Sysvals).
    pub sysvals: SysvalsPlace,
}

/// The information for the compute backend only. Its [`Sysvals`](crate::sysval::Sysvals) are the
/// first push constants.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoweredCompute {
    /// The `SpecId`s of the constants that specialise the shader.
    pub spec_ids: SpecIds,
    /// The way in which the generated code reaches memory.
    pub resources: ResourcePlan,
    /// The number that the descriptor set of the [plan](Self::resources) has in [`Lowered::words`]: one more than
    /// the module's last set. A [`Pipeline`](crate::runtime::Pipeline) moves it after its set layouts, as
    /// [`Lowered::move_descriptor_set`] does. `None` if there are no descriptors.
    pub descriptor_set: Option<u32>,
    /// The vertex input state that the shader was lowered for.
    pub vertex_input: VertexInput,
    /// The input and output primitives of the geometry shader, if one is captured.
    pub geometry: Option<LoweredGeometry>,
    /// The attributes, in the order of their descriptors in the sysvals.
    pub attributes: Vec<LoweredAttribute>,
    /// Invocations per workgroup: the values that a pipeline gives the constant
    /// [`workgroup_size`](SpecIds::workgroup_size).
    pub workgroup_sizes: WorkgroupSizes,
    /// Bytes of shared memory per workgroup of the largest size.
    pub shared_memory: u32,
    /// Whether workgroups collect records in shared memory before they store them. Some pipelines store their
    /// records directly nevertheless: those for draws that staging does not make faster.
    pub is_staged: bool,
    /// Whether index buffers may [end within a dword](super::compute::Target::byte_loads).
    pub byte_loads: bool,
}

/// A vertex attribute that a compute shader was lowered to pull. Its binding, offset and stride are
/// set at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LoweredAttribute {
    /// The location of the shader's input.
    pub location: u32,
    /// The format of the data.
    pub format: VertexFormat,
    /// The rate at which the element advances.
    pub input_rate: InputRate,
}

/// The `SpecId`s of constants that a pipeline can set, mostly to remove code for cases that cannot occur. By
/// default the shader decides all cases at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecIds {
    /// The value of the [`XfbTopology`](crate::topology::XfbTopology) of all draws; the default is
    /// [`ANY_TOPOLOGY`](Self::ANY_TOPOLOGY).
    pub topology: u32,
    /// A boolean: primitive restart may be enabled. Compute only.
    pub restart: u32,
    /// A boolean: a dispatch may have draws that kernels place, or vertex buffers larger than 4 GiB.
    /// Compute only.
    pub general: u32,
    /// A boolean, by default false: the dispatch has several draws that the CPU lists. Compute only.
    pub batched: u32,
    /// A boolean: a draw may have an index buffer. Compute only.
    pub indexed: u32,
    /// A boolean, by default false: the dispatch is a [fused](crate::sysval::setup::Fused) capture. Compute
    /// only.
    pub fused: u32,
    /// The [`WideAccesses`] of loads; the default is [`Tested`](WideAccesses::Tested).
    pub wide_loads: u32,
    /// The [`WideAccesses`] of stores.
    pub wide_stores: u32,
    /// A boolean, by default false: the dispatch has one draw of one instance without indices, and the CPU has
    /// checked that all its elements exist. Compute only.
    pub unchecked: u32,
    /// Invocations per workgroup; by default [`WorkgroupSizes::others`]. Compute only.
    pub workgroup_size: u32,
}

/// The way in which a shader accesses vectors of dwords. Either all of these vectors are aligned to their
/// size, or none is. With a declared alignment of only 4 bytes many devices split a vector into dwords; with
/// descriptors each dword then takes a separate access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum WideAccesses {
    /// The shader declares an alignment of 4 bytes.
    Narrow = 0,
    /// The shader tests the address, and accesses it with the full alignment if it has that.
    Tested = 1,
    /// The shader declares the full alignment: the runtime knows that all addresses have it.
    Aligned = 2,
}

impl SpecIds {
    /// A value of the constant [`topology`](field@Self::topology): draws may have any topology.
    pub const ANY_TOPOLOGY: u32 = u32::MAX;
}

impl Lowered {
    /// The backend that the shader was lowered for.
    pub const fn backend(&self) -> Backend {
        match self.kind {
            LoweredKind::Native(_) => Backend::Native,
            LoweredKind::Vertex(_) => Backend::Vertex,
            LoweredKind::Compute(_) => Backend::Compute,
        }
    }

    /// The information for the compute backend; `None` on the other backends.
    #[doc(hidden)]
    pub const fn compute(&self) -> Option<&LoweredCompute> {
        match &self.kind {
            LoweredKind::Compute(compute) => Some(compute),
            LoweredKind::Native(_) | LoweredKind::Vertex(_) => None,
        }
    }

    /// The shaders before the one that is captured, if all remain stages of a graphics pipeline, as on the native
    /// backend.
    #[doc(hidden)]
    pub fn before(&self) -> &[LoweredStage] {
        match &self.kind {
            LoweredKind::Native(native) => &native.before,
            LoweredKind::Vertex(_) | LoweredKind::Compute(_) => &[],
        }
    }

    /// The input and output primitives of the geometry shader or tessellation shaders, if they are captured together
    /// with the vertex shader.
    #[doc(hidden)]
    pub const fn geometry(&self) -> Option<LoweredGeometry> {
        match &self.kind {
            LoweredKind::Native(native) => native.geometry,
            LoweredKind::Vertex(_) => None,
            LoweredKind::Compute(compute) => compute.geometry,
        }
    }

    /// The `SpecId`s of the constants that specialise the shader; `None` on the native backend.
    #[doc(hidden)]
    pub const fn spec_ids(&self) -> Option<SpecIds> {
        match &self.kind {
            LoweredKind::Native(_) => None,
            LoweredKind::Vertex(vertex) => Some(vertex.spec_ids),
            LoweredKind::Compute(compute) => Some(compute.spec_ids),
        }
    }

    /// The way in which the generated code reaches memory; `None` on the native backend, which has no
    /// generated code.
    #[doc(hidden)]
    pub const fn resources(&self) -> Option<ResourcePlan> {
        match &self.kind {
            LoweredKind::Native(_) => None,
            LoweredKind::Vertex(_) => Some(vertex::RESOURCES),
            LoweredKind::Compute(compute) => Some(compute.resources),
        }
    }

    /// Gives the descriptor set of the resource plan another number. An application needs this if it creates pipelines
    /// from the words itself, with more set layouts than the shader uses. Does nothing if there are no descriptors.
    ///
    /// # Errors
    /// [`LowerError::DescriptorSet`] if the module uses that set or a later one; [`LowerError::Parse`] for words
    /// that are not those of a lowered module.
    pub fn move_descriptor_set(&mut self, set: u32) -> Result<(), LowerError> {
        let LoweredKind::Compute(LoweredCompute { descriptor_set: Some(number), .. }) =
            &mut self.kind
        else {
            return Ok(());
        };
        let mut module = Module::parse(&self.words)?;
        check_sets_before(&module, *number, set)?;
        move_descriptor_set(&mut module, *number, set);
        self.words = module.words();
        *number = set;
        Ok(())
    }

    /// The place from which the generated code reads its [`Sysvals`](crate::sysval::Sysvals); `None` on the
    /// native backend, which has no generated code.
    #[doc(hidden)]
    pub const fn sysvals(&self) -> Option<SysvalsPlace> {
        match &self.kind {
            LoweredKind::Native(_) => None,
            LoweredKind::Vertex(vertex) => Some(vertex.sysvals),
            LoweredKind::Compute(_) => Some(SysvalsPlace::FIRST),
        }
    }

    /// A key for caches of objects that depend on [`words`](Self::words): pipelines, binaries of a
    /// driver.
    ///
    /// It is [XXH3](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) with 128 bits and seed 0, of the
    /// words as little-endian bytes. On every machine this is what `xxh128sum` prints for the module as a file. The key
    /// depends only on the original shader, the options, the version of this crate and what
    /// [`move_descriptor_set`](Self::move_descriptor_set) was called with, because lowering is deterministic. A
    /// [`Pipeline`](crate::runtime::Pipeline) compiles the words for its number of set layouts, so a cache of pipelines
    /// needs that number, too. The key does not depend on anything outside of the words, such as
    /// [`entry_point`](Self::entry_point) if a module has several, vertex input state, or the
    /// [shaders](Self::before) before the captured one.
    ///
    /// XXH3 is not a cryptographic hash: it is possible to construct two modules with the same key.
    #[doc(hidden)]
    pub fn cache_key(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        // Hash one slice if the words are little-endian in memory.
        if cfg!(target_endian = "little") {
            hash.update(bytemuck::cast_slice(&self.words));
        } else {
            self.words.iter().for_each(|word| hash.update(&word.to_le_bytes()));
        }
        hash.digest128()
    }
}
