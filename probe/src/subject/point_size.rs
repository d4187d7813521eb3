//! Determines whether shaders write `PointSize`. Draws of points require that a shader writes it. Geometry and
//! tessellation shaders may write it only with a feature.
//!
//! In a graphics pipeline that draws points, the vertex shader must write `PointSize`
//! ([VUID-VkGraphicsPipelineCreateInfo-Vertex-07722](https://docs.vulkan.org/refpages/latest/refpages/source/VkGraphicsPipelineCreateInfo.html)),
//! even if nothing is rasterized.

use std::collections::BTreeSet;

use spirv::{BuiltIn, Capability, Decoration, Op, StorageClass};
use vkxfb_rewriter::spirv::ParseError;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};
use vkxfb_rewriter::spirv::{Id, Module, Section};

/// Whether a module has the capability `GeometryPointSize` or `TessellationPointSize`. A geometry
/// or tessellation shader that writes `PointSize` must have one of them, and the capability needs
/// the feature `shaderTessellationAndGeometryPointSize`.
///
/// # Errors
/// [`ParseError`] if the words are not a SPIR-V module.
pub fn has_later_point_size(words: &[u32]) -> Result<bool, ParseError> {
    let module = Module::parse(words)?;
    let sizes = [Capability::GeometryPointSize, Capability::TessellationPointSize];
    let is_size = |capability: u32| sizes.iter().any(|size| *size as u32 == capability);
    Ok(module.section(Section::Capabilities).any(|capability| is_size(capability.operand(0))))
}

/// Whether an instruction of the module stores to `PointSize`. To declare `PointSize`, for example in a `gl_PerVertex`
/// block, is not enough: if points are drawn, Vulkan without `VK_KHR_maintenance5` requires that the shader stores a
/// value to it.
///
/// # Errors
/// [`ParseError`] if the words are not a SPIR-V module.
pub fn writes_point_size(words: &[u32]) -> Result<bool, ParseError> {
    let module = Module::parse(words)?;
    let declarations = Declarations::of(&module);
    let is_size = |parameters: Option<&[u32]>| parameters == Some(&[BuiltIn::PointSize as u32]);
    let mut pointers = BTreeSet::new();
    let mut blocks = Vec::new();
    for variable in declarations.variables(StorageClass::Output) {
        if is_size(declarations.decoration(variable.id, Decoration::BuiltIn)) {
            pointers.insert(variable.id);
        }
        let Some(Type::Struct { members }) = declarations.ty(variable.pointee) else { continue };
        let size = (0u32..).zip(members).find(|(member, _)| {
            is_size(declarations.member_decoration(variable.pointee, *member, Decoration::BuiltIn))
        });
        blocks.extend(size.map(|(member, _)| (variable.id, member)));
    }
    for instruction in module.section(Section::Functions) {
        match instruction.op() {
            // The operands are the result type, the result, the base and the indices.
            Some(Op::AccessChain | Op::InBoundsAccessChain) => {
                let member = declarations.constant(instruction.id(3));
                let of_block = |(block, size): &(Id, u32)| {
                    *block == instruction.id(2) && member == Some(*size)
                };
                if blocks.iter().any(of_block) {
                    pointers.insert(instruction.id(1));
                }
            }
            Some(Op::Store) if pointers.contains(&instruction.id(0)) => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}
