//! Parses the options that describe the vertex input (formats of attributes, strides of bindings). The compute backend
//! needs them because it reads the attributes from the vertex buffers itself.

use anyhow::{Result, bail};
use vkxfb_rewriter::lower::reflect::VertexReads;
use vkxfb_rewriter::vertex_input::{
    InputRate, VertexAttribute, VertexBinding, VertexFormat, VertexInput,
};

/// The options that correspond to `VkPipelineVertexInputStateCreateInfo`.
#[derive(Debug, clap::Args)]
pub(super) struct Attributes {
    /// For the compute backend: the format of the attribute at a location, named as in Vulkan, and
    /// where it is read, for example 0=R32G32B32_SFLOAT or 1=R8G8B8A8_UNORM@0+12 (binding 0, byte
    /// offset 12). An attribute without a binding gets a separate binding; an attribute that is not
    /// given has the type that the shader declares
    #[arg(long = "attribute", value_name = "LOCATION=FORMAT[@BINDING[+OFFSET]],...",
        value_delimiter = ',', value_parser = parse_attribute)]
    attributes: Vec<Attribute>,
    /// For the compute backend: a binding's stride in bytes, and for the instance rate its divisor:
    /// 0=16, 1=64/instance, 1=64/instance:4 (4 instances share an element). By default the stride
    /// is the end of the last attribute
    #[arg(long = "binding", value_name = "BINDING=STRIDE[/instance[:DIVISOR]],...",
        value_delimiter = ',', value_parser = parse_binding)]
    bindings: Vec<VertexBinding>,
}

/// An attribute as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Attribute {
    location: u32,
    format: VertexFormat,
    /// The binding and the offset in bytes from which the attribute is read. `None` if the attribute gets a separate
    /// binding.
    place: Option<(u32, u32)>,
}

impl Attributes {
    pub(super) fn is_empty(&self) -> bool {
        self.attributes.is_empty() && self.bindings.is_empty()
    }

    /// Makes the vertex input from the options, for a shader that reads the attributes `reads`.
    pub(super) fn vertex_input(&self, reads: &VertexReads) -> Result<VertexInput> {
        let mut input = VertexInput::default();
        for (i, Attribute { location, format, place }) in self.attributes.iter().enumerate() {
            if self.attributes[..i].iter().any(|earlier| earlier.location == *location) {
                bail!("--attribute gives location {location} two formats");
            }
            if reads.attributes.iter().all(|read| read.location != *location) {
                let all: Vec<_> = reads.attributes.iter().map(|r| r.location.to_string()).collect();
                let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
                bail!("--attribute: the shader has no input at location {location}; it has: {all}");
            }
            if let Some((binding, offset)) = *place {
                input.attributes.push(VertexAttribute {
                    location: *location,
                    binding,
                    format: *format,
                    offset,
                });
            }
        }
        for binding in &self.bindings {
            if input.binding(binding.binding).is_some() {
                bail!("--binding gives binding {} two strides", binding.binding);
            }
            if input.attributes.iter().all(|a| a.binding != binding.binding) {
                bail!("--binding: no --attribute is read from binding {}", binding.binding);
            }
            input.bindings.push(*binding);
        }
        self.add_own_bindings(reads, &mut input);
        self.add_strides(&mut input)?;
        Ok(input)
    }

    /// Adds an attribute, with a separate binding, for each input that no attribute with a binding describes. The added
    /// attribute has the format that the user gave, or otherwise the type that the shader declares.
    fn add_own_bindings(&self, reads: &VertexReads, input: &mut VertexInput) {
        let packed = reads.packed_vertex_input();
        let mut next = 0;
        for attribute in packed.attributes {
            let location = attribute.location;
            if input.attribute(location).is_some() {
                continue;
            }
            while input.attributes.iter().any(|a| a.binding == next) {
                next += 1;
            }
            let given = self.attributes.iter().find(|a| a.location == location);
            let format = given.map_or(attribute.format, |a| a.format);
            let (binding, offset) = (next, 0);
            input.attributes.push(VertexAttribute { location, binding, format, offset });
        }
        input.attributes.sort_by_key(|a| a.location);
    }

    /// Adds a stride to each binding for which `--binding` gave none: the end of the last attribute of the binding,
    /// aligned for the next element.
    fn add_strides(&self, input: &mut VertexInput) -> Result<()> {
        let attributes = input.attributes.clone();
        for VertexAttribute { location, binding, format, offset } in &attributes {
            let Some(end) = offset.checked_add(format.size()) else {
                bail!("--attribute {location}: offset {offset} is too large");
            };
            match input.bindings.iter_mut().find(|b| b.binding == *binding) {
                Some(_) if self.bindings.iter().any(|b| b.binding == *binding) => {}
                Some(known) => known.stride = known.stride.max(end),
                None => input.bindings.push(VertexBinding {
                    binding: *binding,
                    stride: end,
                    input_rate: InputRate::Vertex,
                }),
            }
        }
        for binding in &mut input.bindings {
            let is_given = self.bindings.iter().any(|b| b.binding == binding.binding);
            let of_binding = attributes.iter().filter(|a| a.binding == binding.binding);
            let alignment = of_binding.map(|a| a.format.alignment()).max().unwrap_or(1);
            if !is_given && let Some(stride) = binding.stride.checked_next_multiple_of(alignment) {
                binding.stride = stride;
            }
        }
        input.bindings.sort_by_key(|b| b.binding);
        Ok(())
    }
}

fn parse_attribute(text: &str) -> Result<Attribute, String> {
    let wrong = || "LOCATION=FORMAT[@BINDING[+OFFSET]], as in 1=R8G8B8A8_UNORM@0+12".to_owned();
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let (location, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (format, place) = match rest.split_once('@') {
        None => (rest, None),
        Some((format, place)) => {
            let (binding, offset) = place.split_once('+').unwrap_or((place, "0"));
            (format, Some((number(binding)?, number(offset)?)))
        }
    };
    let format = format
        .parse()
        .map_err(|error: vkxfb_rewriter::vertex_input::UnknownFormat| error.to_string());
    Ok(Attribute { location: number(location)?, format: format?, place })
}

fn parse_binding(text: &str) -> Result<VertexBinding, String> {
    let wrong = || "BINDING=STRIDE[/instance[:DIVISOR]], as in 1=64/instance".to_owned();
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let (binding, rest) = text.split_once('=').ok_or_else(wrong)?;
    let (stride, rate) = rest.split_once('/').map_or((rest, None), |(s, rate)| (s, Some(rate)));
    let input_rate =
        match rate.map(|rate| rate.trim().split_once(':').unwrap_or((rate.trim(), "1"))) {
            None | Some(("vertex", "1")) => InputRate::Vertex,
            Some(("instance", divisor)) => InputRate::Instance { divisor: number(divisor)? },
            Some(_) => return Err(wrong()),
        };
    Ok(VertexBinding { binding: number(binding)?, stride: number(stride)?, input_rate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_bindings_are_read() {
        let attribute =
            |place| Ok(Attribute { location: 1, format: VertexFormat::R8G8B8A8Unorm, place });
        assert_eq!(parse_attribute("1=R8G8B8A8_UNORM"), attribute(None));
        assert_eq!(parse_attribute(" 1=vk_format_r8g8b8a8_unorm@2"), attribute(Some((2, 0))));
        assert_eq!(parse_attribute("1=R8G8B8A8_UNORM@0+12"), attribute(Some((0, 12))));
        for wrong in ["", "1", "1=", "x=R8_UINT", "1=R8_UINT@", "1=R8_UINT@0+", "1=R9_UINT"] {
            assert!(parse_attribute(wrong).is_err(), "{wrong}");
        }
        let binding = |input_rate| Ok(VertexBinding { binding: 3, stride: 64, input_rate });
        assert_eq!(parse_binding("3=64"), binding(InputRate::Vertex));
        assert_eq!(parse_binding("3=64/vertex"), binding(InputRate::Vertex));
        assert_eq!(parse_binding("3=64/instance"), binding(InputRate::INSTANCE));
        assert_eq!(parse_binding("3=64/instance:4"), binding(InputRate::Instance { divisor: 4 }));
        for wrong in ["", "3", "3=", "3=64/", "3=64/vertex:2", "3=64/each"] {
            assert!(parse_binding(wrong).is_err(), "{wrong}");
        }
    }
}
