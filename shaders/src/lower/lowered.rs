//! This module defines [`Lowered`], a lowered shader with the information that the runtime needs.

use std::ops::Range;

use spirv::ExecutionModel;
use xxhash_rust::xxh3::Xxh3Default;

use crate::capture::Layout;
use crate::lower::effects::Effects;
use crate::lower::options::WorkgroupSizes;
use crate::lower::resources::{check_sets_before, move_descriptor_set};
use crate::lower::{Backend, LowerError, LoweredGeometry, ResourcePlan, SysvalsPlace, vertex};
use crate::spirv::Module;
use crate::vertex_input::{InputRate, VertexFormat, VertexInput};

/// A shader that was rewritten for a backend, with the information that the runtime needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Lowered {
    /// The backend, and the information for this backend only.
    pub kind: LoweredKind,
    /// The stage of the captured shader before it was lowered: vertex, or on the compute and native
    /// backends tessellation evaluation or geometry.
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
    /// The range of bytes of the application's push constants that the shader reads, rounded to multiples of 16. On the
    /// native backend it is the range of the whole blocks of all stages, also rounded: the shaders keep their blocks,
    /// so the pipeline layout must contain all of them. `0..0` if the shader reads none.
    pub push_constants: Range<u32>,
    /// The indices in [`Layout::outputs`] of the outputs that the shader may leave unwritten on
    /// some path; for a geometry shader, on some path to a vertex that it emits. The specification
    /// leaves the captured values of these outputs undefined; on the vertex and compute backends
    /// they are 0. On the native backend, none are listed for geometry shaders.
    pub unwritten: Vec<usize>,
    /// Whether the shader may use undefined values other than [`unwritten`](Self::unwritten) outputs: `OpUndef`, or
    /// variables that are read before they are written. On the vertex and compute backends these values are 0.
    pub reads_undefined: bool,
}

/// The information in [`Lowered`] for one backend only.
#[derive(Debug, Clone)]
pub enum LoweredKind {
    /// The backend is [`Backend::Native`].
    Native(LoweredNative),
    /// The backend is [`Backend::Vertex`].
    Vertex(LoweredVertex),
    /// The backend is [`Backend::Compute`].
    Compute(LoweredCompute),
}

/// The information for the native backend only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LoweredNative {
    /// The shaders before the captured one, beginning with the [vertex
    /// shader](super::native::Options::vertex_shader); empty if no vertex shader was given.
    pub before: Vec<LoweredStage>,
    /// The input and output primitives of the geometry shader or tessellation shaders; `None` if no
    /// vertex shader was given.
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

/// The information for the vertex backend only. The generated code of this backend uses device
/// addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoweredVertex {
    /// The `SpecId`s of the constants that specialise the shader.
    pub spec_ids: SpecIds,
    /// Where the generated code reads its [`Sysvals`](crate::sysval::Sysvals): in push constants or in memory.
    pub sysvals: SysvalsPlace,
}

/// The information for the compute backend only. On this backend, the
/// [`Sysvals`](crate::sysval::Sysvals) are the first push constants.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoweredCompute {
    /// The `SpecId`s of the constants that specialise the shader.
    pub spec_ids: SpecIds,
    /// Whether the generated code accesses memory by device addresses or by descriptors.
    pub resources: ResourcePlan,
    /// The number of the [resource plan's](Self::resources) descriptor set in [`Lowered::words`]:
    /// one more than that of the last set that the module declares. A
    /// `vkxfb::runtime::Pipeline` with more set layouts gives the set a number after
    /// them, as [`Lowered::move_descriptor_set`] does. `None` under the plan with device addresses.
    pub descriptor_set: Option<u32>,
    /// The vertex input state that the shader was lowered for.
    pub vertex_input: VertexInput,
    /// The input and output primitives of the geometry shader or tessellation shaders; `None` if a
    /// vertex shader is captured.
    pub geometry: Option<LoweredGeometry>,
    /// The attributes that the shader reads, in the order of their descriptors in the sysvals and
    /// the table.
    pub attributes: Vec<LoweredAttribute>,
    /// The numbers of invocations per workgroup. A pipeline sets the constant
    /// [`workgroup_size`](SpecIds::workgroup_size) to one of them.
    pub workgroup_sizes: WorkgroupSizes,
    /// The size in bytes of the shared memory of a workgroup with the largest of the
    /// [`workgroup_sizes`](field@Self::workgroup_sizes).
    pub shared_memory: u32,
    /// Whether workgroups collect records in shared memory before they store them. Where this does not make draws
    /// faster, their pipelines store the records without it.
    pub is_staged: bool,
    /// Whether index buffers may [end within a dword](super::compute::Target::byte_loads).
    pub byte_loads: bool,
    /// Whether pipelines [select elements](super::compute::Target::selects_elements).
    pub selects_elements: bool,
}

/// A vertex attribute that a shader lowered for the compute backend pulls (reads from the vertex buffer itself). Its
/// binding, offset and stride are set at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoweredAttribute {
    /// The location of the shader's input.
    pub location: u32,
    /// The format of the data.
    pub format: VertexFormat,
    /// Whether the attribute advances per vertex or per instance.
    pub input_rate: InputRate,
    /// The alignment in bytes that the shader requires of the attribute's address in every element: that of the format,
    /// at most 4; or 1 if it loads the attribute by bytes
    /// ([`unaligned_attributes`](super::compute::Options::unaligned_attributes)).
    pub alignment: u32,
}

/// The `SpecId`s of specialisation constants that a pipeline can set, mostly to remove code for
/// cases that cannot occur. With the default values, the shader decides all cases at run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpecIds {
    /// The constant with the [`XfbTopology`](crate::topology::XfbTopology) of all draws. The
    /// default is [`ANY_TOPOLOGY`](Self::ANY_TOPOLOGY).
    pub topology: u32,
    /// The boolean constant that says whether primitive restart may be enabled. The default is true. Compute backend
    /// only.
    pub restart: u32,
    /// The boolean constant that says whether a dispatch may capture draws for which kernels compute where their
    /// records begin, or draws with attributes whose elements begin 4 GiB or more after the first one. The default is
    /// true. Compute backend only.
    pub general: u32,
    /// The boolean constant that says whether the dispatch captures several draws whose parameters the CPU wrote to
    /// memory. The default is false. Compute backend only.
    pub batched: u32,
    /// The boolean constant that says whether a draw may have an index buffer. The default is true. Compute backend
    /// only.
    pub indexed: u32,
    /// The boolean constant that says whether the dispatch is a
    /// [fused](crate::sysval::setup::Fused) capture. The default is false. Compute backend only.
    pub fused: u32,
    /// The constant with the [`WideAccesses`] of loads. The default is
    /// [`Tested`](WideAccesses::Tested).
    pub wide_loads: u32,
    /// The constant with the [`WideAccesses`] of stores. The default is
    /// [`Tested`](WideAccesses::Tested).
    pub wide_stores: u32,
    /// The boolean constant that says whether the dispatch captures one draw of one instance without indices, for
    /// which the CPU has checked that the buffers contain all vertex elements and records. The default is false.
    /// Compute backend only.
    pub unchecked: u32,
    /// The constant with the number of invocations per workgroup. The default is
    /// [`WorkgroupSizes::others`]. Compute backend only.
    pub workgroup_size: u32,
    /// The boolean constant that says whether a draw may have an index buffer that ends within a dword of which shaders
    /// can read nothing but the indices. The default is true. It has no effect on a shader that was lowered without
    /// [loads of single bytes](super::compute::Target::byte_loads). Compute backend only.
    pub partial_indices: u32,
}

/// Which alignment a shader declares when it loads or stores vectors of two or four dwords. If a
/// shader declares only 4 bytes, many devices split the vector into dwords; under the descriptor
/// plan, each dword takes a separate access then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum WideAccesses {
    /// The shader declares an alignment of 4 bytes.
    Narrow = 0,
    /// The shader tests whether the address is aligned to the size of the vector, and declares this
    /// alignment if it is.
    Tested = 1,
    /// The shader declares the size of the vector as the alignment, because the runtime knows that
    /// all addresses have it.
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
    pub const fn compute(&self) -> Option<&LoweredCompute> {
        match &self.kind {
            LoweredKind::Compute(compute) => Some(compute),
            LoweredKind::Native(_) | LoweredKind::Vertex(_) => None,
        }
    }

    /// The shaders before the captured one on the native backend, where they stay separate stages;
    /// empty on the other backends.
    pub fn before(&self) -> &[LoweredStage] {
        match &self.kind {
            LoweredKind::Native(native) => &native.before,
            LoweredKind::Vertex(_) | LoweredKind::Compute(_) => &[],
        }
    }

    /// The input and output primitives of the geometry shader or tessellation shaders; `None` if a
    /// vertex shader is captured, or on the native backend if no vertex shader was given.
    pub const fn geometry(&self) -> Option<LoweredGeometry> {
        match &self.kind {
            LoweredKind::Native(native) => native.geometry,
            LoweredKind::Vertex(_) => None,
            LoweredKind::Compute(compute) => compute.geometry,
        }
    }

    /// The `SpecId`s of the constants that specialise the shader; `None` on the native backend.
    pub const fn spec_ids(&self) -> Option<SpecIds> {
        match &self.kind {
            LoweredKind::Native(_) => None,
            LoweredKind::Vertex(vertex) => Some(vertex.spec_ids),
            LoweredKind::Compute(compute) => Some(compute.spec_ids),
        }
    }

    /// Whether the generated code accesses memory by device addresses or by descriptors; `None` on
    /// the native backend, whose shaders do not store captures themselves.
    pub const fn resources(&self) -> Option<ResourcePlan> {
        match &self.kind {
            LoweredKind::Native(_) => None,
            LoweredKind::Vertex(_) => Some(vertex::RESOURCES),
            LoweredKind::Compute(compute) => Some(compute.resources),
        }
    }

    /// Gives the descriptor set of the resource plan the number `set`. An application needs this if
    /// it creates pipelines from the words itself, with more set layouts than the shader uses. Does
    /// nothing under the plan with device addresses.
    ///
    /// # Errors
    /// [`LowerError::DescriptorSet`] if the module itself uses the set `set` or a later one;
    /// [`LowerError::Parse`] if [`words`](Self::words) were replaced by words that are not a
    /// module.
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

    /// Where the generated code reads its [`Sysvals`](crate::sysval::Sysvals): in push constants or in memory; `None`
    /// on the native backend, whose shaders have none.
    pub const fn sysvals(&self) -> Option<SysvalsPlace> {
        match &self.kind {
            LoweredKind::Native(_) => None,
            LoweredKind::Vertex(vertex) => Some(vertex.sysvals),
            LoweredKind::Compute(_) => Some(SysvalsPlace::FIRST),
        }
    }

    /// Returns a key for caches of objects that depend on [`words`](Self::words), such as pipelines
    /// and drivers' binaries.
    ///
    /// The key is the 128-bit
    /// [XXH3](https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md) with seed 0 of the
    /// words as little-endian bytes: on every machine, it is what `xxh128sum` prints for the module
    /// as a file. Lowering is deterministic, so the key depends only on the original shader, the
    /// options, the version of this crate and the calls of
    /// [`move_descriptor_set`](Self::move_descriptor_set).
    ///
    /// A `vkxfb::runtime::Pipeline` compiles the words for its number of set layouts,
    /// so a cache of pipelines needs that number, too. The key depends on nothing outside of the
    /// words: not on the [`entry_point`](Self::entry_point) (a module may have several), the vertex
    /// input state, or the [shaders](Self::before) before the captured one.
    ///
    /// XXH3 is not a cryptographic hash: it is possible to construct two modules with the same key.
    pub fn cache_key(&self) -> u128 {
        let mut hash = Xxh3Default::new();
        // Words that are little-endian in memory can be hashed as one slice.
        if cfg!(target_endian = "little") {
            hash.update(bytemuck::cast_slice(&self.words));
        } else {
            self.words.iter().for_each(|word| hash.update(&word.to_le_bytes()));
        }
        hash.digest128()
    }
}
