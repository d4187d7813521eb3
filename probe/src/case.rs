//! A case: one draw with one pipeline, and the command that runs it again.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use vkxfb_rewriter::lower::Backend;
use vkxfb_rewriter::topology::{PrimitiveTopology, ProvokingVertex};

use crate::names;
use crate::row::{CapturedStage, Row};
use crate::shaders::ProbeShader;

/// The text that is added to the description of a pipeline whose topology is a specialization constant. Other pipelines
/// read the topology of each draw.
pub(crate) const FOLDED: &str = ", pipeline for this topology alone";

/// A draw that is captured, and its pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// The name of the vertex shader.
    pub shader: String,
    /// The name of the geometry shader or tessellation shaders whose outputs are captured. `None` if the outputs of the
    /// vertex shader are captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometry: Option<String>,
    /// The stage whose outputs are captured.
    #[serde(default)]
    pub stage: CapturedStage,
    /// The topology of the draw.
    #[serde(with = "names::topology")]
    pub topology: PrimitiveTopology,
    /// The provoking vertex of the pipeline.
    #[serde(with = "names::provoking")]
    pub provoking: ProvokingVertex,
    /// The number of vertices of an instance.
    pub vertex_count: u32,
    /// The number of instances.
    pub instance_count: u32,
    /// Whether the topology is compiled into the pipeline, by specialization constants.
    pub specialized: bool,
}

impl Case {
    /// The row of the report's table to which the case belongs.
    pub const fn row(&self) -> Row {
        Row { stage: self.stage, topology: self.topology }
    }

    /// Returns the shell command that runs all draws with the pipeline of this case. If `backend` is `None`, the
    /// command runs all backends. `options` describe shaders from files.
    pub(crate) fn pipeline_command(&self, backend: Option<Backend>, options: &[String]) -> String {
        let mut words = vec!["vkxfb", "probe"];
        let geometry = self.geometry.as_deref();
        if ProbeShader::by_name(&self.shader).is_some() {
            words.extend(["--shader", geometry.unwrap_or(&self.shader)]);
        } else {
            words.extend(["shader", &self.shader]);
            words.extend(geometry.into_iter().flat_map(|file| ["--geometry", file]));
            words.extend(options.iter().map(String::as_str));
        }
        words.extend(backend.into_iter().flat_map(|backend| ["--backend", backend.name()]));
        let (topology, provoking) = (self.topology.to_string(), self.provoking.to_string());
        words.extend(["--topology", &topology, "--provoking", &provoking]);
        words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
    }

    /// Returns the shell command that writes a C program for this case to a directory `DIR`. `None` if
    /// there is no such program: for shaders from files.
    pub(crate) fn program_command(&self) -> Option<String> {
        ProbeShader::by_name(&self.shader)?;
        let Self { topology, provoking, vertex_count, instance_count, .. } = self;
        let shader = self.geometry.as_ref().unwrap_or(&self.shader);
        Some(format!(
            "vkxfb probe reproduce --shader {shader} --topology {topology} --provoking {provoking} \
             --vertices {vertex_count} --instances {instance_count} DIR"
        ))
    }

    /// Returns the shell command that runs only this case. If `backend` is `None`, the command runs
    /// all backends. `options` describe shaders from files.
    pub(crate) fn command(&self, backend: Option<Backend>, options: &[String]) -> String {
        let Self { vertex_count, instance_count, .. } = self;
        let pipeline = self.pipeline_command(backend, options);
        format!("{pipeline} --vertices {vertex_count} --instances {instance_count}")
    }
}

/// Quotes a path or an option as one word of a shell command.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_safe = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_safe) {
        text.into()
    } else {
        format!("'{}'", text.replace('\'', r"'\''")).into()
    }
}

impl Case {
    /// Describes the pipeline of the case: everything except the numbers of vertices and instances.
    pub fn pipeline(&self) -> String {
        let Self { shader, topology, provoking, .. } = self;
        let geometry = self.geometry.as_ref();
        let lead = self.stage.lead();
        let geometry = geometry.map_or(String::new(), |name| format!("{lead} {name}, "));
        let folded = if self.specialized { FOLDED } else { "" };
        format!("{topology}, shader {shader}, {geometry}{provoking} vertex provokes{folded}")
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { vertex_count, instance_count, .. } = self;
        let instances = match instance_count {
            1 => "1 instance".to_owned(),
            _ => format!("{instance_count} instances"),
        };
        let vertices = match vertex_count {
            1 => "1 vertex".to_owned(),
            _ => format!("{vertex_count} vertices"),
        };
        write!(f, "{}, {vertices}, {instances}", self.pipeline())
    }
}
