//! Rewrites shader modules for a driver without transform feedback, and finds modules by their identifiers
//! (`VK_EXT_shader_module_identifier`).

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use ash::vk;
use spirv::{Capability, ExecutionModel, Op};
use vkxfb_rewriter::lower::streams::strip_streams;
use vkxfb_rewriter::lower::strip::strip_xfb;
use vkxfb_rewriter::vulkan::RUN_STAGES;

/// The layer's data of a shader module of the application.
#[derive(Debug, Clone)]
pub(crate) struct ShaderModule {
    /// The SPIR-V words of the application's module.
    pub(crate) words: Arc<[u32]>,
    /// Whether the module has transform feedback.
    pub(crate) captures: bool,
    /// Whether the module has a geometry shader that may emit to several vertex streams.
    pub(crate) has_streams: bool,
}

impl ShaderModule {
    /// Whether the driver got other words than the application passed.
    pub(crate) const fn is_stripped(&self) -> bool {
        self.captures || self.has_streams
    }
}

/// The words of a shader module, rewritten for a driver without transform feedback.
pub(crate) struct Stripped {
    /// The words for the driver. `None` if the application's words need no change.
    pub(crate) words: Option<Vec<u32>>,
    captures: bool,
    has_streams: bool,
}

impl Stripped {
    /// Removes transform feedback from a module, and all vertex streams except `stream`, which is rasterized. An
    /// invalid module is left unchanged.
    pub(crate) fn of(words: &[u32], stream: u32) -> Self {
        let without_xfb = strip_xfb(words).unwrap_or(Cow::Borrowed(words));
        let captures = matches!(without_xfb, Cow::Owned(_));
        let is_geometry = has_shader(words, &[ExecutionModel::Geometry]);
        let one_stream = match is_geometry.then(|| strip_streams(&without_xfb, stream)) {
            Some(Ok(Cow::Owned(stripped))) => Some(stripped),
            _ => None,
        };
        let has_streams = one_stream.is_some();
        let words = one_stream.or_else(|| captures.then(|| without_xfb.into_owned()));
        Self { words, captures, has_streams }
    }

    /// Returns the layer's data of the module. `None` if captures do not need the module. Captures need each module
    /// that was rewritten for the driver, and each module with a shader before rasterization: that shader may run
    /// before one that captures, or be a geometry shader in a pipeline that rasterizes a stream other than 0.
    /// Where the layer draws geometry shaders, it also needs those with a fragment shader.
    pub(crate) fn kept(&self, words: &[u32], draws_geometry: bool) -> Option<ShaderModule> {
        let kept = RUN_STAGES.map(|(model, _)| model);
        let is_drawn = || draws_geometry && has_shader(words, &[ExecutionModel::Fragment]);
        let is_kept = self.words.is_some() || has_shader(words, &kept) || is_drawn();
        is_kept.then(|| self.module(words))
    }

    /// Returns the layer's data of the module. `words` are those of the application.
    pub(crate) fn module(&self, words: &[u32]) -> ShaderModule {
        let Self { captures, has_streams, .. } = *self;
        ShaderModule { words: words.into(), captures, has_streams }
    }
}

/// An empty compute shader: what a driver without geometry shaders gets for a module that needs them. Pipelines get
/// modules that are made of the application's words.
pub(crate) const PLACEHOLDER: [u32; 35] = [
    // The header: 5 is the bound of the IDs.
    0x0723_0203,
    0x0001_0000,
    0,
    5,
    0,
    // OpCapability Shader, OpMemoryModel Logical GLSL450
    2 << 16 | 17,
    1,
    3 << 16 | 14,
    0,
    1,
    // OpEntryPoint GLCompute %1 "main", OpExecutionMode %1 LocalSize 1 1 1
    5 << 16 | 15,
    5,
    1,
    0x6e69_616d,
    0,
    6 << 16 | 16,
    1,
    17,
    1,
    1,
    1,
    // %2 = OpTypeVoid, %3 = OpTypeFunction %2, %1 = OpFunction %2 None %3
    2 << 16 | 19,
    2,
    3 << 16 | 33,
    3,
    2,
    5 << 16 | 54,
    2,
    1,
    0,
    3,
    // %4 = OpLabel, OpReturn, OpFunctionEnd
    2 << 16 | 248,
    4,
    1 << 16 | 253,
    1 << 16 | 56,
];

/// Whether a module needs geometry shaders: it declares the capability, which fragment shaders that read `PrimitiveId`
/// need, too.
pub(crate) fn needs_geometry(words: &[u32]) -> bool {
    let mut rest = words.get(5..).unwrap_or_default();
    while let [head, capability, ..] = rest
        && *head == 2 << 16 | Op::Capability as u32
    {
        if *capability == Capability::Geometry as u32 {
            return true;
        }
        rest = &rest[2..];
    }
    false
}

/// Whether a module has an entry point of one of these execution models. The instructions are not
/// validated.
fn has_shader(words: &[u32], stages: &[ExecutionModel]) -> bool {
    let mut rest = words.get(5..).unwrap_or_default();
    while let Some((head, operands)) = rest.split_first()
        && *head & 0xffff != Op::Function as u32
    {
        let is_of = |stage: &ExecutionModel| operands.first() == Some(&(*stage as u32));
        if *head & 0xffff == Op::EntryPoint as u32 && stages.iter().any(is_of) {
            return true;
        }
        let length = (*head >> 16) as usize;
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    false
}

/// The maximum number of bytes of identifiers and SPIR-V that are kept.
///
/// A program may use an identifier at any time after it queried it, also when it has destroyed the module, so nothing
/// tells when an identifier is no longer needed. If the limit is exceeded, the oldest identifiers are forgotten. A
/// pipeline of a forgotten identifier is like one that has to be compiled: [its creation fails, and the program creates
/// the pipeline from the
/// module](https://docs.vulkan.org/refpages/latest/refpages/source/VkPipelineShaderStageModuleIdentifierCreateInfoEXT.html).
const ROOM: usize = 64 << 20;

type Bytes = Arc<[u8]>;

/// The modules whose identifiers a program has queried.
#[derive(Default)]
pub(crate) struct Identified(RwLock<Known>);

#[derive(Default)]
struct Known {
    /// The module of each identifier. `None` for a module that captures do not need.
    modules: HashMap<Bytes, Option<ShaderModule>>,
    /// The identifiers, the oldest one first.
    order: VecDeque<Bytes>,
    /// The size in bytes of all identifiers, and of the SPIR-V of their modules.
    size: usize,
}

/// Returns the bytes of an identifier that the driver has written.
fn bytes_of<'a>(identifier: &'a vk::ShaderModuleIdentifierEXT<'_>) -> &'a [u8] {
    let size = (identifier.identifier_size as usize).min(identifier.identifier.len());
    &identifier.identifier[..size]
}

/// Returns the size in bytes of an identifier and of the SPIR-V of its module.
fn size_of_entry(identifier: &[u8], module: Option<&ShaderModule>) -> usize {
    identifier.len() + module.map_or(0, |module| size_of_val(&*module.words))
}

impl Identified {
    /// Notes the identifier of a module. `module` is `None` if captures do not need the module.
    pub(crate) fn insert(
        &self,
        identifier: &vk::ShaderModuleIdentifierEXT<'_>,
        module: Option<ShaderModule>,
    ) {
        self.insert_within(ROOM, bytes_of(identifier), module);
    }

    fn insert_within(&self, room: usize, identifier: &[u8], module: Option<ShaderModule>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        // Modules with the same identifier have the same SPIR-V, so the known module stays.
        if known.modules.contains_key(identifier) {
            return;
        }
        let identifier: Bytes = identifier.into();
        known.size += size_of_entry(&identifier, module.as_ref());
        known.order.push_back(Arc::clone(&identifier));
        _ = known.modules.insert(identifier, module);
        while known.size > room
            && let Some(oldest) = known.order.pop_front()
        {
            let module = known.modules.remove(&oldest).flatten();
            known.size -= size_of_entry(&oldest, module.as_ref());
        }
    }

    /// Returns the module of an identifier, or `Some(None)` if captures do not need it. `None` if the identifier is not
    /// known.
    pub(super) fn get(&self, identifier: &[u8]) -> Option<Option<ShaderModule>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).modules.get(identifier).cloned()
    }

    pub(super) fn clear(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Known::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_modules_are_forgotten() {
        let identified = Identified::default();
        let module = |word| {
            let words = vec![word; 100].into();
            Some(ShaderModule { words, captures: true, has_streams: false })
        };
        let room = 3 * (400 + 4);
        for number in 0..5_u32 {
            let identifier = number.to_ne_bytes();
            // An identifier that is queried again takes no additional memory.
            for _ in 0..3 {
                identified.insert_within(room, &identifier, module(number));
            }
        }
        for number in 0..5_u32 {
            let found = identified.get(&number.to_ne_bytes()).map(|found| found.unwrap().words[0]);
            assert_eq!(found, (number >= 2).then_some(number));
        }
        // A module that is not needed for captures is known, too.
        identified.insert_within(room, &[7], None);
        assert!(identified.get(&[7]).is_some_and(|found| found.is_none()));
        assert!(identified.get(&2_u32.to_ne_bytes()).is_none(), "the oldest one made room");
        // A module that alone exceeds the limit is not kept, and all earlier ones are forgotten.
        identified.insert_within(10, &[8], module(8));
        let known = identified.0.read().unwrap();
        assert_eq!((known.size, known.order.len(), known.modules.len()), (0, 0, 0));
    }
}
