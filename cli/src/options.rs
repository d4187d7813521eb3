//! Options of several commands, and the values that options take.

use std::fmt::Display;
use std::str::FromStr;

use clap::ValueEnum;
use serde::de::{DeserializeOwned, IntoDeserializer, value};
use spirv::ExecutionModel;
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::lower::compute::DomainOrigin;
use vkxfb_rewriter::topology::ProvokingVertex;

/// The stage of the shader that is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StageName {
    /// A vertex shader. The vertex backend captures no other stage; compute captures
    /// later stages by --evaluation and --geometry
    Vertex,
    /// A tessellation evaluation shader
    TessellationEvaluation,
    /// A geometry shader
    Geometry,
}

impl From<StageName> for ExecutionModel {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Vertex => Self::Vertex,
            StageName::TessellationEvaluation => Self::TessellationEvaluation,
            StageName::Geometry => Self::Geometry,
        }
    }
}

/// The origin of the tessellation domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DomainOriginName {
    /// Vulkan's default
    #[default]
    UpperLeft,
    /// As OpenGL has it
    LowerLeft,
}

impl From<DomainOriginName> for DomainOrigin {
    fn from(name: DomainOriginName) -> Self {
        match name {
            DomainOriginName::UpperLeft => Self::UpperLeft,
            DomainOriginName::LowerLeft => Self::LowerLeft,
        }
    }
}

/// Parses an element of a list. White space around it is ignored.
pub(crate) fn part<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    let part = text.trim();
    if part.is_empty() {
        return Err("nothing between two commas; a list with spaces has to be quoted".to_owned());
    }
    part.parse().map_err(|error: T::Err| error.to_string())
}

/// Parses an element of a list of names, those of an enumeration in JSON.
pub(crate) fn named_part<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let name = part::<String>(text)?;
    let found = T::deserialize(name.into_deserializer());
    found
        .map_err(|error: value::Error| error.to_string().replace("unknown variant", "unknown name"))
}

pub(crate) fn parse_backend(name: &str) -> Result<Backend, String> {
    let found = Backend::ALL.into_iter().find(|b| b.name().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "one of: native, vertex, compute".to_owned())
}

pub(crate) fn parse_provoking(name: &str) -> Result<ProvokingVertex, String> {
    let name = name.to_ascii_lowercase();
    let found = ProvokingVertex::ALL.into_iter().find(|p| p.to_string() == name);
    found.ok_or_else(|| "one of: first, last".to_owned())
}
