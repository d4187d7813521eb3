//! The values of specialisation constants.

use vkxfb::spirv::specialization::SpecializationConstant;

/// What the pipeline would be given.
#[derive(Debug, clap::Args)]
pub(super) struct Constants {
    /// Give a specialisation constant a value: 5, -5, 0.5 or true, of 32 bits
    #[arg(long = "constant", value_name = "ID=VALUE", value_parser = parse)]
    constants: Vec<(u32, [u8; 4])>,
}

impl Constants {
    /// As lowering takes them.
    pub(super) fn specialization(&self) -> Vec<SpecializationConstant<'_>> {
        self.constants
            .iter()
            .map(|(constant_id, data)| SpecializationConstant { constant_id: *constant_id, data })
            .collect()
    }
}

fn parse(text: &str) -> Result<(u32, [u8; 4]), String> {
    let wrong = || "a constant's ID, and 32 bits: 3=5, 3=-5, 3=0.5 or 3=true".to_owned();
    let (id, value) = text.split_once('=').ok_or_else(wrong)?;
    let bits = match value {
        "true" => Some(1),
        "false" => Some(0),
        _ if value.contains(['.', 'e']) => value.parse().ok().map(f32::to_bits),
        _ => value.parse().or_else(|_| value.parse().map(i32::cast_unsigned)).ok(),
    };
    Ok((id.parse().map_err(|_| wrong())?, bits.ok_or_else(wrong)?.to_ne_bytes()))
}
