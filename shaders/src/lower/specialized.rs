//! This module specialises a lowered shader for one pipeline: it replaces specialisation constants,
//! and inlines functions.

use spirv::ExecutionModel;

use super::resources::move_descriptor_set;
use super::{Backend, LowerError, Lowered};
use crate::spirv::Module;
use crate::spirv::entry_point::find_entry_point;
use crate::spirv::optimize::optimize;
use crate::spirv::specialization::{SpecializationConstant, specialize};

impl Lowered {
    /// Returns the words of a module in which the specialisation constants have these values, for
    /// one pipeline. All functions are inlined; code that the values exclude, names and other entry
    /// points are removed. A pipeline with this module needs no `VkSpecializationInfo`.
    ///
    /// Drivers compile this module in a fraction of the time that [`words`](Self::words) take, and
    /// it captures the same. `vkxfb::runtime::Pipeline` uses it for every Vulkan
    /// pipeline of the vertex and compute backends. The descriptor set of the resource plan keeps
    /// its number: for a pipeline layout with more sets, call
    /// [`move_descriptor_set`](Self::move_descriptor_set) first.
    ///
    /// ```
    /// # use vkxfb_rewriter::capture::CaptureList;
    /// # use vkxfb_rewriter::lower::compute;
    /// # use vkxfb_rewriter::topology::PrimitiveTopology;
    /// # use vkxfb_rewriter::vertex_input::VertexInput;
    /// use vkxfb_rewriter::lower::Shader;
    /// use vkxfb_rewriter::spirv::specialization::SpecializationConstant;
    ///
    /// # let spirv = vkxfb_rewriter::frontend::wgsl::vertex_shader(
    /// #     "@vertex fn main(@builtin(vertex_index) i: u32) -> @builtin(position) vec4f { return vec4f(f32(i)); }",
    /// #     None,
    /// # )?;
    /// # let list = CaptureList::new(16).output("@Position", 0);
    /// # let vertex_input = VertexInput::default();
    /// # let shader = Shader::new(&spirv).captures(&list);
    /// # let lowered = compute::lower(&shader, &compute::Options::new(&vertex_input))?;
    /// let ids = lowered.spec_ids().unwrap();
    /// let topology = (PrimitiveTopology::TriangleStrip.xfb_topology() as u32).to_ne_bytes();
    /// let strips = SpecializationConstant { constant_id: ids.topology, data: &topology };
    /// let words = lowered.specialized(&[strips])?;
    /// assert!(words.len() < lowered.words.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LowerError::Parse`] and [`LowerError::EntryPoint`] if [`words`](Self::words) were replaced
    /// by words that are not those of a lowered module; [`LowerError::Specialization`].
    pub fn specialized(
        &self,
        constants: &[SpecializationConstant<'_>],
    ) -> Result<Vec<u32>, LowerError> {
        self.for_pipeline(constants, None, true)
    }

    /// Returns the words that [`specialized`](Self::specialized) returns, with one difference: the descriptor set of
    /// the resource plan has the number `set_count`, which is the first one after the application's sets. With `None`
    /// the set keeps its number. If `optimizes` is false
    /// (`vkxfb::runtime::Settings::optimizes_shaders`), specialisation constants
    /// are replaced, but functions are not inlined and nothing is removed.
    #[tracing::instrument(name = "specialize", level = "debug", skip_all)]
    pub fn for_pipeline(
        &self,
        constants: &[SpecializationConstant<'_>],
        set_count: Option<u32>,
        optimizes: bool,
    ) -> Result<Vec<u32>, LowerError> {
        let mut module = Module::parse(&self.words)?;
        specialize(&mut module, constants)?;
        let lowered = self.compute().and_then(|compute| compute.descriptor_set);
        // No variable is in set `to` yet: the runtime has checked that the set layouts include all
        // sets that the shader uses, and lowering has removed unused variables.
        if let (Some(from), Some(to)) = (lowered, set_count) {
            move_descriptor_set(&mut module, from, to);
        }
        let model = match self.backend() {
            Backend::Compute => ExecutionModel::GLCompute,
            Backend::Native | Backend::Vertex => self.stage,
        };
        let entry = find_entry_point(&module, model, Some(&self.entry_point))?;
        let selects = self.compute().is_some_and(|compute| compute.selects_elements);
        let is_inlined = optimizes && optimize(&mut module, &entry, selects);
        let words = module.words();
        tracing::debug!(is_inlined, from = self.words.len(), to = words.len(), "specialized");
        Ok(words)
    }
}
