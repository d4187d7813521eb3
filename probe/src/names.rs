//! Serializes backends, topologies and provoking vertices in JSON by their names, for
//! `#[serde(with)]`.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

macro_rules! by_name {
    ($module:ident, $type:ty, $all:expr) => {
        pub(crate) mod $module {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(value: &$type, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(value)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<$type, D::Error> {
                let name = String::deserialize(d)?;
                let found = $all.into_iter().find(|value| value.to_string() == name);
                found.ok_or_else(|| D::Error::custom(format_args!("no such name: {name}")))
            }
        }
    };
}

by_name!(backend, Backend, Backend::ALL);
by_name!(topology, PrimitiveTopology, PrimitiveTopology::every());
by_name!(provoking, ProvokingVertex, ProvokingVertex::ALL);

/// Serializes a list of draws as text, by their counts of vertices and instances: `7x1 7x3`.
pub(crate) mod draws {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(draws: &[(u32, u32)], s: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<_> = draws.iter().map(|(v, i)| format!("{v}x{i}")).collect();
        s.serialize_str(&texts.join(" "))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Vec<(u32, u32)>, D::Error> {
        let text = String::deserialize(d)?;
        let draw = |text: &str| {
            let (vertices, instances) = text.split_once('x')?;
            Some((vertices.parse().ok()?, instances.parse().ok()?))
        };
        let wrong = |text| D::Error::custom(format_args!("'{text}' is no draw such as 7x3"));
        text.split_whitespace().map(|text| draw(text).ok_or_else(|| wrong(text))).collect()
    }
}
