//! The options of a compute lowering, and the properties of the device that it depends on.

use crate::lower::{ResourcePlan, Shader};
use crate::setters;
use crate::vertex_input::VertexInput;

/// The options of a compute lowering.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
#[must_use]
pub struct Options<'a> {
    /// The vertex input state of the graphics pipeline.
    pub vertex_input: &'a VertexInput,
    /// The vertex shader of the graphics pipeline, if the shader to lower is a tessellation evaluation shader or a
    /// geometry shader. Its transform feedback decorations and execution mode, and its
    /// [`captures`](field@Shader::captures), are ignored: only the last stage before rasterization is captured.
    pub vertex_shader: Option<&'a Shader<'a>>,
    /// The tessellation control shader of the graphics pipeline, if the shader to lower is a tessellation
    /// evaluation shader, or a geometry shader that follows tessellation shaders.
    pub control_shader: Option<&'a Shader<'a>>,
    /// The tessellation evaluation shader of the graphics pipeline, if the shader to lower is a
    /// geometry shader that follows tessellation shaders.
    pub evaluation_shader: Option<&'a Shader<'a>>,
    /// The origin of the tessellation domain. It determines the order of the vertices of the
    /// triangles that patches are divided into; without tessellation shaders it has no effect.
    pub domain_origin: DomainOrigin,
    /// Whether vertex buffers may be bound with offsets or strides with which attributes are not aligned to their
    /// components or packed words. Shaders then load attributes by bytes, which takes up to two loads for each dword.
    /// An attribute that `vertex_input` itself describes with such an offset or stride is always loaded by bytes.
    pub unaligned_attributes: bool,
    /// The properties of the device for which the shader is lowered.
    pub target: Target,
}

impl<'a> Options<'a> {
    /// Options for lowering a vertex shader for any device with `bufferDeviceAddress`
    /// ([`Target::default`]).
    pub fn new(vertex_input: &'a VertexInput) -> Self {
        Self {
            vertex_input,
            vertex_shader: None,
            control_shader: None,
            evaluation_shader: None,
            domain_origin: DomainOrigin::UpperLeft,
            unaligned_attributes: false,
            target: Target::default(),
        }
    }

    setters! {
        vertex_shader?: &'a Shader<'a>,
        control_shader?: &'a Shader<'a>,
        evaluation_shader?: &'a Shader<'a>,
        domain_origin: DomainOrigin,
        unaligned_attributes: bool,
        target: Target,
    }
}

/// The origin of the tessellation domain
/// ([`VkTessellationDomainOrigin`](https://docs.vulkan.org/refpages/latest/refpages/source/VkTessellationDomainOrigin.html)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DomainOrigin {
    /// `VK_TESSELLATION_DOMAIN_ORIGIN_UPPER_LEFT`, Vulkan's default.
    #[default]
    UpperLeft,
    /// `VK_TESSELLATION_DOMAIN_ORIGIN_LOWER_LEFT`
    LowerLeft,
}

/// The properties of a device that a lowered shader depends on.
/// `vkxfb::runtime::Context::compute_target` returns the right values.
///
/// The default is valid for every device with `bufferDeviceAddress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub struct Target {
    /// Invocations per workgroup, by the kind of draw.
    pub workgroup_sizes: WorkgroupSizes,
    /// Whether the shader accesses memory by device addresses or by descriptors.
    pub resources: ResourcePlan,
    /// The largest size in bytes of the shared memory for staging: a workgroup collects records
    /// there before it stores them, so that neighbouring invocations store neighbouring bytes. At
    /// most `maxComputeSharedMemorySize`; 0 disables staging. A shader may use less, so that more
    /// workgroups run concurrently.
    ///
    /// Records are never staged if they have more than four gaps (runs of bytes that are not
    /// captured), if the memory model of the module is not `GLSL450`, or with a geometry shader behind
    /// tessellation shaders. The records of a vertex shader are not staged if one of the workgroup
    /// sizes is odd. With a geometry shader, the shared memory is for all vertices that the invocations
    /// of a workgroup, a half or a quarter of them may emit for a primitive; if a quarter does not fit,
    /// nothing is staged. With tessellation shaders it is for what the evaluation shader takes of
    /// patches, and their vertices are then stored without staging; if the patches of a sixteenth of
    /// the invocations do not fit, or an input of the evaluation shader has components of other than 32 bits, each
    /// invocation stores its own vertices.
    pub staging: u32,
    /// Whether two dwords that are aligned to 8 bytes are accessed as one 64-bit integer, for devices
    /// that access each component of a vector separately. The device must have `shaderInt64` enabled.
    pub int64_accesses: bool,
    /// Whether the last index of an index buffer may be loaded by bytes, so that the buffer may end within a
    /// dword. The device must have `storageBuffer8BitAccess` and `shaderInt8` enabled.
    pub byte_loads: bool,
    /// Whether elements of arrays of up to three are loaded by constant indices and selected, if the index is not known:
    /// compilers that do not do that themselves keep the inputs of a geometry shader in memory. The default is false,
    /// because on a Mali the selected elements of two vertices do not fit into the registers.
    pub selects_elements: bool,
    /// Whether the invocations of a workgroup load the parameters of their draw from memory
    /// together, and share them through shared memory. This is for devices on which each invocation
    /// repeats a load that is the same for all. It has no effect if other stages follow the vertex
    /// shader, or if the memory model of the module is not `GLSL450`.
    pub shared_draws: bool,
}

impl Target {
    setters! {
        workgroup_sizes: WorkgroupSizes,
        resources: ResourcePlan,
        staging: u32,
        int64_accesses: bool,
        byte_loads: bool,
        selects_elements: bool,
        shared_draws: bool,
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            workgroup_sizes: WorkgroupSizes::default(),
            resources: ResourcePlan::DeviceAddress,
            staging: 0,
            int64_accesses: false,
            byte_loads: false,
            selects_elements: false,
            shared_draws: false,
        }
    }
}

/// The workgroup size for devices on which no other size is known to be faster.
pub const DEFAULT_WORKGROUP_SIZE: u32 = 64;

/// Invocations per workgroup. Every device supports up to 128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub struct WorkgroupSizes {
    /// The size for draws with primitive restart.
    pub restarted: u32,
    /// The size for a draw without indices whose parameters are push constants: one that has its own dispatch, and whose
    /// position the CPU knows. Lowering sets it to `others` for records of more than 16 bytes, and if there are geometry
    /// or tessellation shaders.
    pub unindexed: u32,
    /// The size for all other draws.
    pub others: u32,
}

impl Default for WorkgroupSizes {
    fn default() -> Self {
        Self::all(DEFAULT_WORKGROUP_SIZE)
    }
}

impl WorkgroupSizes {
    /// One workgroup size for all kinds of draws.
    pub const fn all(size: u32) -> Self {
        Self { restarted: size, unindexed: size, others: size }
    }

    setters! {
        restarted: u32,
        unindexed: u32,
        others: u32,
    }

    /// Returns each size, and the text that error messages append to it, which says which draws have this size.
    pub const fn each(self) -> [(u32, &'static str); 3] {
        let Self { restarted, unindexed, others } = self;
        [
            (others, ""),
            (restarted, " for draws with primitive restart"),
            (unindexed, " for draws without indices"),
        ]
    }

    /// The sizes of the workgroups that may stage their records.
    pub(in crate::lower) const fn staged(self) -> [u32; 3] {
        [self.restarted, self.unindexed, self.others]
    }
}
