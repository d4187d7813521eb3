//! The descriptors and push constants that a shader uses: what a pipeline layout has to have for it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use spirv::{Decoration, Dim, Op, StorageClass};

use crate::lower::interface::label;
use crate::lower::uses::DESCRIPTORS;
use crate::lower::{LowerError, Shader, push_constants};
use crate::spirv::declarations::{Declarations, Type, Variable};
use crate::spirv::static_use::StaticUse;
use crate::spirv::{Id, Module, Section};

/// What an entry point uses
/// [statically](https://registry.khronos.org/SPIR-V/specs/unified1/SPIRV.html#StaticallyUse) of descriptors and push
/// constants: its
/// [shader resource interface](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources).
///
/// [`PipelineLayoutDesc::check`](crate::runtime::vulkan::PipelineLayoutDesc::check) holds it against a pipeline layout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ResourceInterface {
    /// Variables that descriptors are bound to, by set and binding. Several may have the same ones.
    pub descriptors: Vec<DescriptorUse>,
    /// Bytes of the push constant block, from the first of its first member to the last of its last: a range of the
    /// pipeline layout has to have all of them, whatever the shader reads. `0..0` where it uses none.
    pub push_constants: Range<u32>,
}

/// A variable that descriptors are bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescriptorUse {
    /// Descriptor set.
    pub set: u32,
    /// Binding in it.
    pub binding: u32,
    /// What the descriptors are of.
    pub resource: ResourceType,
    /// How many there are.
    pub count: DescriptorCount,
    /// The variable as messages name it: its name, or that of its block, where the module has names, and its id.
    pub variable: String,
}

/// How many descriptors a variable is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DescriptorCount {
    /// One, and it is no array.
    One,
    /// An array of so many.
    Array(u32),
    /// An array without a length: as many as the descriptor set has.
    RuntimeArray,
}

/// What a descriptor is of, as the type of a variable tells: see
/// [Shader Resource and Storage Class Correspondence](https://docs.vulkan.org/spec/latest/chapters/interfaces.html#interfaces-resources-storage-class-correspondence).
/// Blocks of uniforms inline are uniform buffers here: only their set layout tells which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResourceType {
    /// A sampler without an image.
    Sampler,
    /// An image without a sampler.
    SampledImage,
    /// An image with its sampler.
    CombinedImageSampler,
    /// An image that is loaded and stored.
    StorageImage,
    /// A texel buffer that is fetched from.
    UniformTexelBuffer,
    /// A texel buffer that is loaded and stored.
    StorageTexelBuffer,
    /// A block of uniforms.
    UniformBuffer,
    /// A block that may be stored to.
    StorageBuffer,
    /// An acceleration structure of ray queries.
    AccelerationStructure,
    /// A type that is not known here.
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

/// Reads the descriptors and push constants of a shader, of any stage that is captured. Lowered for a backend it uses
/// the same descriptors.
///
/// # Errors
/// [`LowerError`]: no module, no such shader, or a push constant block without a layout.
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
    // A valid module has both.
    let number = |decoration| declarations.decoration_value(variable.id, decoration).unwrap_or(0);
    let (ty, count) = element(declarations, variable.pointee);
    DescriptorUse {
        set: number(Decoration::DescriptorSet),
        binding: number(Decoration::Binding),
        resource: resource(declarations, opaque, variable.storage, ty),
        count,
        variable: label(declarations, variable.id),
    }
}

/// What an array is of, and how many there are of it. Types nest only as deep as declarations are read.
fn element(declarations: &Declarations, mut ty: Id) -> (Id, DescriptorCount) {
    let mut count = DescriptorCount::One;
    loop {
        (ty, count) = match (declarations.ty(ty), count) {
            (Some(Type::RuntimeArray { element }), _) => (*element, DescriptorCount::RuntimeArray),
            (Some(Type::Array { element, .. }), DescriptorCount::RuntimeArray) => (*element, count),
            (Some(Type::Array { element, length }), DescriptorCount::One) => {
                // Specialised modules have all lengths.
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
        // Before SPIR-V 1.3 storage buffers are in this class too.
        return match declarations.decoration(ty, Decoration::BufferBlock) {
            Some(_) => ResourceType::StorageBuffer,
            None => ResourceType::UniformBuffer,
        };
    }
    opaque.types.get(&ty).copied().unwrap_or(ResourceType::Other)
}

/// Types of variables in `UniformConstant`.
struct Opaque {
    types: HashMap<Id, ResourceType>,
}

impl Opaque {
    fn of(module: &Module) -> Self {
        let mut types = HashMap::new();
        for i in module.section(Section::Declarations) {
            let resource = match i.op() {
                Some(Op::TypeSampler) => ResourceType::Sampler,
                Some(Op::TypeImage) => image(i.operand(2), i.operand(6)),
                Some(Op::TypeSampledImage) => match types.get(&i.id(1)) {
                    // As glslang has `samplerBuffer`.
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

/// By `Dim` and `Sampled` of an `OpTypeImage`.
fn image(dim: u32, sampled: u32) -> ResourceType {
    /// With a sampler, and without one.
    const SAMPLED: u32 = 1;
    const STORAGE: u32 = 2;
    match (Dim::from_u32(dim), sampled) {
        (Some(Dim::DimBuffer), SAMPLED) => ResourceType::UniformTexelBuffer,
        (Some(Dim::DimBuffer), STORAGE) => ResourceType::StorageTexelBuffer,
        // An input attachment, which only fragment shaders have.
        (Some(Dim::DimSubpassData), _) => ResourceType::Other,
        (_, SAMPLED) => ResourceType::SampledImage,
        (_, STORAGE) => ResourceType::StorageImage,
        _ => ResourceType::Other,
    }
}
