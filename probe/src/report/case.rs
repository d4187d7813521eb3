//! One draw on one backend, and the command that repeats it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use vkxfb::lower::Backend;
use vkxfb::topology::{PrimitiveTopology, ProvokingVertex};

use super::{CapturedStage, Row, names};

/// A draw that is captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Name of the vertex shader.
    pub shader: String,
    /// Name of the geometry shader after it, if there is one. Then its outputs are captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<String>,
    /// The stage that is captured.
    #[serde(default)]
    pub stage: CapturedStage,
    /// Topology of the draw.
    #[serde(with = "names::topology")]
    pub topology: PrimitiveTopology,
    /// Provoking vertex of the pipeline.
    #[serde(with = "names::provoking")]
    pub provoking: ProvokingVertex,
    /// Vertices of one instance.
    pub vertex_count: u32,
    /// Instances.
    pub instance_count: u32,
    /// Whether the topology was folded into the pipeline by specialisation constants.
    pub specialized: bool,
}

impl Case {
    /// The row of the table that it counts for.
    pub const fn row(&self) -> Row {
        Row { stage: self.stage, topology: self.topology }
    }

    /// The primitives of the first instance that a picture shows.
    pub(crate) fn pictured_primitives(&self) -> usize {
        match self.stage {
            CapturedStage::Vertex => self.topology.primitive_count(self.vertex_count) as usize,
            CapturedStage::Geometry | CapturedStage::GeometryStreams => crate::picture::EMITTED,
        }
    }

    /// The shell command that runs only this case. `backend` is omitted if all backends are needed,
    /// `device` if there is only one, `profile` if it is empty.
    pub fn command(
        &self,
        backend: Option<Backend>,
        device: Option<usize>,
        profile: &str,
    ) -> String {
        let backend = backend.map_or(String::new(), |backend| format!(" --backend {backend}"));
        let geometry = self.geometry.as_ref();
        let geometry =
            geometry.map_or(String::new(), |name| format!(" --geometry {}", shell_word(name)));
        let mut command = format!(
            "vkxfb probe{backend} --topology {} --shader {}{geometry} --provoking {} --vertices {} \
             --instances {}",
            self.topology,
            shell_word(&self.shader),
            self.provoking,
            self.vertex_count,
            self.instance_count
        );
        if let Some(device) = device {
            command.push_str(&format!(" --device {device}"));
        }
        if !profile.is_empty() {
            command.push_str(" --profile ");
            command.push_str(profile);
        }
        command
    }
}

/// Quotes a path or an option as one word of a shell command.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    match !text.is_empty() && text.chars().all(is_safe) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', r"'\''")).into(),
    }
}

impl Case {
    /// A description of its pipeline: everything except the numbers of vertices and instances.
    pub(crate) fn pipeline(&self) -> String {
        let Self { shader, topology, provoking, .. } = self;
        let geometry = self.geometry.as_ref();
        let geometry =
            geometry.map_or(String::new(), |geometry| format!("geometry shader {geometry}, "));
        let folded = if self.specialized { ", topology folded in" } else { "" };
        format!("{topology}, shader {shader}, {geometry}{provoking} vertex provokes{folded}")
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { vertex_count, instance_count, .. } = self;
        write!(f, "{}, {vertex_count} vertices x {instance_count}", self.pipeline())
    }
}
