//! This module generates the value of a vertex attribute: code that fetches it, converts it from
//! its format, and selects the components that the shader reads.
//!
//! The format and the instance divisor are pipeline state, which is known when the shader is
//! lowered. They determine which functions of `shaders/fetch.wgsl` and `shaders/formats.wgsl` are
//! called, and are passed to them as constants. The lowered shader therefore contains only the
//! conversions that it uses, and the driver can fold the constants.

use spirv::Op;

use super::parts::InputPart;
use super::{Indices, Inputs, LowerError, LoweredAttribute};
use crate::lower::functions::Function;
use crate::spirv::Id;
use crate::spirv::emit::{Builder, Code};
use crate::spirv::link::{LinkError, Linker};
use crate::sysval::INLINE_ATTRIBUTES;
use crate::vertex_input::{
    Field, InputRate, NumericClass, NumericFormat, VertexAttribute, VertexFormat,
};

/// The ids of the values with which the functions of `shaders/fetch.wgsl` find an attribute in
/// memory.
#[derive(Debug, Clone, Copy)]
struct Element {
    /// The number of the attribute descriptor, as `attribute_descriptor` of `shaders/fetch.wgsl` takes it.
    slot: Id,
    /// The index, in the vertex buffer, of the element to read. For the input rate `VERTEX` it is the vertex index. For
    /// the rate `INSTANCE` it is the base instance plus the number of the instance in the draw divided by the divisor;
    /// for the divisor 0 it is the base instance.
    element: Id,
    /// [`LoweredAttribute::alignment`]
    alignment: u32,
}

impl Inputs<'_> {
    /// Generates the value of an [`InputPart`]: a scalar or a vector in an input variable.
    pub(super) fn attribute(
        &mut self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        indices: Indices,
        part: &InputPart<'_>,
    ) -> Result<Id, LowerError> {
        let (attribute, first_dword) = self.find(part)?;
        let format = attribute.format;
        let element = self.element(linker, code, indices, part, &attribute)?;
        if part.bits == 64 {
            return Ok(self.wide(linker, code, element, part, format, first_dword)?);
        }
        let all = all_components(linker, code, element, format)?;
        let value = components(&mut linker.builder, code, all, part, format);
        // The bits stay what the format decodes them to, whatever the numeric class of the shader's type.
        Ok(match part.class {
            NumericClass::Uint => value,
            _ => code.value(&mut linker.builder, Op::Bitcast, part.ty, &[value.0]),
        })
    }

    /// Finds the attribute that a part is read from, and the number of the attribute's dword at
    /// which the part's location begins: 4 if the location is the second one of a 64-bit format,
    /// otherwise 0.
    fn find(&self, part: &InputPart<'_>) -> Result<(VertexAttribute, u32), LowerError> {
        let (variable, location) = (|| self.label(part.variable), part.location);
        let takes_two = |a: &&VertexAttribute| a.format.size() > 16;
        let before = || self.vertex_input.attribute(location.checked_sub(1)?).filter(takes_two);
        let (attribute, first_dword) = match self.vertex_input.attribute(location) {
            Some(attribute) => (*attribute, 0),
            None => match before() {
                Some(attribute) => (*attribute, 4),
                None => {
                    let missing = "attribute".to_owned();
                    return Err(LowerError::NoAttribute {
                        variable: variable(),
                        location,
                        missing,
                    });
                }
            },
        };
        let format = attribute.format;
        if format.class() != part.class {
            // Vulkan forbids this (VUID-VkGraphicsPipelineCreateInfo-Input-08733), but programs do it, and drivers take
            // it: see `VertexFormat::class`.
            let (variable, class) = (variable(), part.class);
            tracing::debug!(variable, location, %format, ?class, "bits of another numeric type");
        }
        if format.bits() != part.bits {
            return Err(LowerError::AttributeWidth {
                variable: variable(),
                location,
                expected: part.bits,
                found: format.bits(),
            });
        }
        let needed = (first_dword + part.component) / 2 + part.count;
        if part.bits == 64 && needed > format.components() {
            return Err(LowerError::AttributeComponents {
                variable: variable(),
                location,
                needed,
                found: format.components(),
            });
        }
        Ok((attribute, first_dword))
    }

    fn element(
        &mut self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        indices: Indices,
        part: &InputPart<'_>,
        attribute: &VertexAttribute,
    ) -> Result<Element, LowerError> {
        let binding = self.vertex_input.binding(attribute.binding).ok_or_else(|| {
            LowerError::NoAttribute {
                variable: self.label(part.variable),
                location: part.location,
                missing: format!("binding {}", attribute.binding),
            }
        })?;
        let uint = linker.builder.uint();
        let element = match binding.input_rate {
            InputRate::Vertex => indices.vertex,
            InputRate::Instance { divisor: 1 } => indices.instance,
            InputRate::Instance { divisor: 0 } => {
                let base_instance = Function::BaseInstance.id(linker)?;
                code.call(&mut linker.builder, uint, base_instance, &[])
            }
            InputRate::Instance { divisor } => {
                let divided = Function::DividedInstance.id(linker)?;
                let arguments = [indices.instance, linker.builder.constant(divisor)];
                code.call(&mut linker.builder, uint, divided, &arguments)
            }
        };
        let VertexAttribute { location, format, .. } = *attribute;
        let by_bytes = self.unaligned_attributes || !attribute.is_aligned(0, binding.stride);
        let alignment = if by_bytes { 1 } else { format.load_alignment() };
        let known = self.attributes.iter().position(|known| known.location == location);
        let slot = known.unwrap_or_else(|| {
            let input_rate = binding.input_rate;
            self.attributes.push(LoweredAttribute { location, format, input_rate, alignment });
            self.attributes.len() - 1
        });
        let slot = match slot {
            0..INLINE_ATTRIBUTES => slot as u32,
            _ => slot as u32 + self.first_in_table,
        };
        Ok(Element { slot: linker.builder.constant(slot), element, alignment })
    }

    /// Generates the value of a part with 64-bit components. `first_dword` is the number of the attribute's dword at
    /// which the part's location begins, as [`find`](Self::find) returns it.
    fn wide(
        &self,
        linker: &mut Linker<'_, '_>,
        code: &mut Code,
        element: Element,
        part: &InputPart<'_>,
        format: VertexFormat,
        first_dword: u32,
    ) -> Result<Id, LinkError> {
        let dwords = format.size() / 4;
        let first = first_dword + part.component;
        let component_type = self.declarations.vector(part.ty).map_or(part.ty, |(ty, _)| ty);
        // The first four dwords of the attribute, and the dwords after them. Each of the two is fetched only if the
        // part needs it.
        let mut halves: [Option<Id>; 2] = [None; 2];
        let mut values = Vec::new();
        for at in (first..first + 2 * part.count).step_by(2) {
            let half = usize::from(at >= 4);
            let width = [dwords.min(4), dwords.saturating_sub(4)][half];
            let fetched = match halves[half] {
                Some(id) => id,
                None => fetch_dwords(linker, code, element, 4 * half as u32, width)?,
            };
            halves[half] = Some(fetched);
            let uvec2 = linker.builder.uvec(2);
            let pair = match width {
                2 => fetched,
                _ => {
                    let operands = [fetched.0, fetched.0, at % 4, at % 4 + 1];
                    code.value(&mut linker.builder, Op::VectorShuffle, uvec2, &operands)
                }
            };
            values.push(code.value(&mut linker.builder, Op::Bitcast, component_type, &[pair.0]).0);
        }
        Ok(code.construct(&mut linker.builder, part.ty, &values))
    }
}

/// Generates all components of an attribute, converted from its format to the bits that the shader
/// reads, as a `u32` or a vector. Returns this value and its number of components, which may exceed
/// that of the format.
fn all_components(
    linker: &mut Linker<'_, '_>,
    code: &mut Code,
    element: Element,
    format: VertexFormat,
) -> Result<(Id, u32), LinkError> {
    let (fields, size) = (format.fields(), format.size());
    if fields.iter().all(|field| field.width == 32) {
        let dwords = format.components();
        return Ok((fetch_dwords(linker, code, element, 0, dwords)?, dwords));
    }
    let size_constant = linker.builder.constant(size);
    let raw = match (size, element.alignment) {
        // The functions `Function::Convert*` take two dwords. For a format of 4 bytes they use only the first one.
        (4, 4) => {
            let dword = fetch(linker, code, Function::Fetch1, element, &[], 1)?;
            let (uvec2, zero) = (linker.builder.uvec(2), linker.builder.constant(0));
            let operands = [dword.0, zero.0];
            code.value(&mut linker.builder, Op::CompositeConstruct, uvec2, &operands)
        }
        (1, _) | (2, 2) => fetch(linker, code, Function::FetchWithinDword, element, &[], 2)?,
        (2..=4, _) => fetch(linker, code, Function::FetchBytes, element, &[size_constant], 2)?,
        _ => fetch(linker, code, Function::FetchHalves, element, &[size_constant], 2)?,
    };
    let convert = match format.numeric() {
        NumericFormat::Unorm => Function::ConvertUnorm,
        NumericFormat::Snorm => Function::ConvertSnorm,
        NumericFormat::Uscaled => Function::ConvertUscaled,
        NumericFormat::Sscaled => Function::ConvertSscaled,
        NumericFormat::Uint => Function::ConvertUint,
        NumericFormat::Sint => Function::ConvertSint,
        NumericFormat::Sfloat => Function::ConvertSfloat,
        NumericFormat::Ufloat => Function::ConvertUfloat,
    }
    .id(linker)?;
    let builder = &mut linker.builder;
    let uvec4 = builder.uvec(4);
    // The functions `Function::Convert*` take the first bit and the width in bits of four components. For a component
    // that the format lacks, those of the first component are passed, and the result is not used.
    let mut vector = |of: fn(&Field) -> u32| {
        let field = |i: usize| fields.get(i).or(fields.first());
        let parts = std::array::from_fn::<_, 4, _>(|i| builder.constant(field(i).map_or(0, of)).0);
        builder.declare(Op::ConstantComposite, &[uvec4.0, parts[0], parts[1], parts[2], parts[3]])
    };
    let arguments = [raw, vector(|field| field.first_bit), vector(|field| field.width)];
    Ok((code.call(builder, uvec4, convert, &arguments), 4))
}

/// Generates the components that a part reads. `all` is the result of [`all_components`]. The
/// second and third component are 0 if the format lacks them, the fourth is 1.
fn components(
    builder: &mut Builder<'_>,
    code: &mut Code,
    (all, width): (Id, u32),
    part: &InputPart<'_>,
    format: VertexFormat,
) -> Id {
    let wanted = part.component..part.component + part.count;
    if wanted == (0..width) && width <= format.components() {
        return all;
    }
    let ty = builder.uvec(part.count);
    if part.count > 1 && wanted.end <= format.components() {
        let mut operands = vec![all.0, all.0];
        operands.extend(wanted);
        return code.value(builder, Op::VectorShuffle, ty, &operands);
    }
    let mut value = |i: u32| match i {
        _ if i < format.components() && width == 1 => all,
        _ if i < format.components() => code.extract(builder, all, i),
        3 => builder.constant(format.one()),
        _ => builder.constant(0),
    };
    let values: Vec<u32> = wanted.map(|i| value(i).0).collect();
    code.construct(builder, ty, &values)
}

/// Generates the dwords of an attribute from dword `first` on, 0 or 4, as a `u32` or a vector.
fn fetch_dwords(
    linker: &mut Linker<'_, '_>,
    code: &mut Code,
    element: Element,
    first: u32,
    dwords: u32,
) -> Result<Id, LinkError> {
    if element.alignment < 4 {
        let mut values = Vec::new();
        for dword in first..first + dwords {
            let offset = linker.builder.constant(4 * dword);
            let value = fetch(linker, code, Function::FetchUnaligned, element, &[offset], 1)?;
            values.push(value.0);
        }
        let ty = linker.builder.uvec(dwords);
        return Ok(code.construct(&mut linker.builder, ty, &values));
    }
    let function = match first {
        0 => Function::fetch(dwords),
        _ => Function::fetch_behind4(dwords),
    };
    fetch(linker, code, function, element, &[], dwords)
}

/// Generates a call of a function of `shaders/fetch.wgsl` that returns `dwords` dwords. `more` are
/// its arguments after the element.
fn fetch(
    linker: &mut Linker<'_, '_>,
    code: &mut Code,
    function: Function,
    element: Element,
    more: &[Id],
    dwords: u32,
) -> Result<Id, LinkError> {
    let function = function.id(linker)?;
    let ty = linker.builder.uvec(dwords);
    let mut arguments = vec![element.slot, element.element];
    arguments.extend(more);
    Ok(code.call(&mut linker.builder, ty, function, &arguments))
}
