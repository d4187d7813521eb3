//! Names the arguments and barriers to which the layer adds the stages and accesses of captures.

/// Arguments of the application, or a barrier of the layer, to which the layer adds the stages and
/// accesses of captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `vkCmdPipelineBarrier*`
    PipelineBarrier,
    /// `vkCmdSetEvent*`, `vkCmdResetEvent*` and `vkCmdWaitEvents*`
    Event,
    /// `vkCreateRenderPass*`
    RenderPass,
    /// `vkQueueSubmit*`
    Submit,
    /// The barrier before the captures of a pass (`CaptureBarriers::before`). It replaces dependencies of the render
    /// pass.
    BeforeCaptures,
    /// The barriers between the captures of a pass.
    BetweenCaptures,
    /// The barrier after the captures of a pass, for commands in the pass that wait for captures.
    /// It is `CaptureBarriers::after_captures`.
    AfterCaptures,
    /// The barrier after both a pass and its captures. It is `CaptureBarriers::after_pass`.
    AfterPass,
}

impl Kind {
    /// Whether the layer adds the stages and accesses of captures to arguments of this kind, or records barriers of
    /// this kind. It always does, except in tests that leave out one kind, which `VKXFB_OMIT_TRANSLATION` names. The
    /// bits of `VK_EXT_transform_feedback` are removed from arguments in any case.
    pub(crate) fn is_translated(self) -> bool {
        #[cfg(feature = "test-switches")]
        if let Some(omitted) = crate::test_switches::omitted() {
            return omitted != format!("{self:?}");
        }
        true
    }
}
