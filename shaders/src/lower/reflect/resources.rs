//! This module lists the descriptors and push constants that a shader uses, which a pipeline layout
//! must contain.

use std::fmt;
use std::ops::Range;

use rustc_hash::FxHashMap;
use spirv::{Decoration, Dim, Op, StorageClass};

use crate::lower::resources::DESCRIPTORS;
use crate::lower::{LowerError, Shader, push_constants};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Module, Section};

/// The descriptors and push constants that an entry point uses
/// [statically](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#StaticallyUse): its
/// [shader resource
/// interface](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources).
///
/// `vkxfb::runtime::vulkan::PipelineLayoutDesc::check` compares this
/// interface with a pipeline layout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResourceInterface {
    /// The variables that descriptors are bound to, sorted by set and binding. Several variables
    /// may have the same binding.
    pub descriptors: Vec<DescriptorUse>,
    /// The bytes of the push constant block, from the start of its first member to the end of its
    /// last. The pipeline layout must contain all of them, even if the shader does not read all.
    /// `0..0` if the shader uses no block.
    pub push_constants: Range<u32>,
}

/// A variable that descriptors are bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescriptorUse {
    /// The number of the descriptor set.
    pub set: u32,
    /// The number of the binding.
    pub binding: u32,
    /// The type of the descriptors.
    pub resource: ResourceType,
    /// The number of descriptors.
    pub count: DescriptorCount,
    /// The name of the variable or of its block, if the module has names, and the id of the
    /// variable, for messages.
    pub variable: String,
}

/// The number of descriptors of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DescriptorCount {
    /// A single descriptor, which is not an array.
    One,
    /// An array with this length.
    Array(u32),
    /// An array whose length is not declared: the descriptor set determines it.
    RuntimeArray,
}

/// The type of a descriptor, derived from the type of the variable: see [Shader Resource and Storage Class
/// Correspondence](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-storage-class-correspondence).
/// An inline uniform block is a uniform buffer here, because only the set layout distinguishes the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceType {
    /// A sampler.
    Sampler,
    /// A sampled image.
    SampledImage,
    /// A sampled image combined with a sampler.
    CombinedImageSampler,
    /// A storage image.
    StorageImage,
    /// A uniform texel buffer.
    UniformTexelBuffer,
    /// A storage texel buffer.
    StorageTexelBuffer,
    /// A uniform block.
    UniformBuffer,
    /// A storage block.
    StorageBuffer,
    /// An acceleration structure, for ray queries.
    AccelerationStructure,
    /// Any other type.
    Other,
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sampler => "a sampler",
            Self::SampledImage => "a sampled image",
            Self::CombinedImageSampler => "a combined image sampler",
            Self::StorageImage => "a storage image",
            Self::UniformTexelBuffer => "a uniform texel buffer",
            Self::StorageTexelBuffer => "a storage texel buffer",
            Self::UniformBuffer => "a uniform buffer",
            Self::StorageBuffer => "a storage buffer",
            Self::AccelerationStructure => "an acceleration structure",
            Self::Other => "of a type that is not known",
        })
    }
}

/// Lists the descriptors and push constants of a shader of any stage that can be captured. The
/// lowered shader uses the same descriptors.
///
/// # Errors
/// [`LowerError`]: the module is invalid, it has no such shader, or a push constant block has no
/// layout.
pub fn resource_interface(shader: &Shader<'_>) -> Result<ResourceInterface, LowerError> {
    let module = shader.module()?;
    let entry = shader.find(&module).or_else(|_| shader.vertex_shader(&module))?;
    let used = StaticUse::of(&module, entry.function);
    let declarations = Declarations::of(&module);
    let opaque = Opaque::of(&module);
    let variables = DESCRIPTORS.iter().flat_map(|storage| declarations.variables(*storage));
    let mut descriptors: Vec<DescriptorUse> = variables
        .filter(|variable| used.contains(variable.id))
        .map(|variable| descriptor(&declarations, &opaque, variable))
        .collect();
    descriptors.sort_by_key(|descriptor| (descriptor.set, descriptor.binding));
    let push_constants = push_constants::block_bytes(&declarations, &used)?;
    Ok(ResourceInterface { descriptors, push_constants })
}

fn descriptor(declarations: &Declarations, opaque: &Opaque, variable: &Variable) -> DescriptorUse {
    // Valid modules decorate every variable for descriptors with `DescriptorSet` and `Binding`.
    let number = |decoration| declarations.decoration_value(variable.id, decoration).unwrap_or(0);
    let (ty, count) = element(declarations, variable.pointee);
    DescriptorUse {
        set: number(Decoration::DescriptorSet),
        binding: number(Decoration::Binding),
        resource: resource(declarations, opaque, variable.storage, ty),
        count,
        variable: declarations.label(variable.id),
    }
}

/// Returns the innermost element type of a variable's type, and the number of descriptors. The loop
/// ends, because [`Declarations`] limit the nesting of types.
fn element(declarations: &Declarations, mut ty: Id) -> (Id, DescriptorCount) {
    let mut count = DescriptorCount::One;
    loop {
        (ty, count) = match (declarations.ty(ty), count) {
            (Some(Type::RuntimeArray { element }), _) => (*element, DescriptorCount::RuntimeArray),
            (Some(Type::Array { element, .. }), DescriptorCount::RuntimeArray) => (*element, count),
            (Some(Type::Array { element, length }), DescriptorCount::One) => {
                // Specialisation constants were replaced, so the length is known.
                let length = declarations.constant(*length).unwrap_or(1);
                (*element, DescriptorCount::Array(length))
            }
            (Some(Type::Array { element, length }), DescriptorCount::Array(outer)) => {
                let length = declarations.constant(*length).unwrap_or(1);
                (*element, DescriptorCount::Array(outer.saturating_mul(length)))
            }
            _ => return (ty, count),
        };
    }
}

fn resource(declarations: &Declarations, opaque: &Opaque, storage: u32, ty: Id) -> ResourceType {
    if storage == StorageClass::StorageBuffer as u32 {
        return ResourceType::StorageBuffer;
    }
    if storage == StorageClass::Uniform as u32 {
        // Before SPIR-V 1.3 this is also the storage class of storage buffers.
        return match declarations.decoration(ty, Decoration::BufferBlock) {
            Some(_) => ResourceType::StorageBuffer,
            None => ResourceType::UniformBuffer,
        };
    }
    opaque.types.get(&ty).copied().unwrap_or(ResourceType::Other)
}

/// The resource types of images, samplers and acceleration structures, by their type ids. Variables
/// in `UniformConstant` have these types.
struct Opaque {
    types: FxHashMap<Id, ResourceType>,
}

impl Opaque {
    fn of(module: &Module) -> Self {
        let mut types = FxHashMap::default();
        for i in module.section(Section::Declarations) {
            let resource = match i.op() {
                Some(Op::TypeSampler) => ResourceType::Sampler,
                Some(Op::TypeImage) => image(i.operand(2), i.operand(6)),
                Some(Op::TypeSampledImage) => match types.get(&i.id(1)) {
                    // glslang declares `samplerBuffer` as an `OpTypeSampledImage` of a buffer.
                    Some(ResourceType::UniformTexelBuffer) => ResourceType::UniformTexelBuffer,
                    _ => ResourceType::CombinedImageSampler,
                },
                Some(Op::TypeAccelerationStructureKHR) => ResourceType::AccelerationStructure,
                _ => continue,
            };
            types.insert(i.id(0), resource);
        }
        Self { types }
    }
}

/// Returns the descriptor type of an image, from the operands `Dim` and `Sampled` of its
/// `OpTypeImage`.
fn image(dim: u32, sampled: u32) -> ResourceType {
    /// The values of `Sampled` for images that are accessed with a sampler, and without one.
    const SAMPLED: u32 = 1;
    const STORAGE: u32 = 2;
    match (Dim::from_u32(dim), sampled) {
        (Some(Dim::DimBuffer), SAMPLED) => ResourceType::UniformTexelBuffer,
        (Some(Dim::DimBuffer), STORAGE) => ResourceType::StorageTexelBuffer,
        // An input attachment, which only exists in fragment shaders.
        (Some(Dim::DimSubpassData), _) => ResourceType::Other,
        (_, SAMPLED) => ResourceType::SampledImage,
        (_, STORAGE) => ResourceType::StorageImage,
        _ => ResourceType::Other,
    }
}
