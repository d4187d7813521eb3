//! Names the places where the layer adds the stages and accesses of captures.

/// A place where the layer adds the stages and accesses of captures: arguments of the application,
/// or barriers of the layer.
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
    /// The barrier before the captures of a pass, which replaces dependencies of its render pass:
    /// `CaptureBarriers::before`.
    BeforeCaptures,
    /// The barriers between captures.
    BetweenCaptures,
    /// The barrier after the captures of a pass, for commands in the pass that wait for them:
    /// `CaptureBarriers::after_captures`.
    AfterCaptures,
    /// The barrier after both a pass and its captures: `CaptureBarriers::after_pass`.
    AfterPass,
}

impl Kind {
    /// Whether the layer adds the stages and accesses of captures here. It always does, except in
    /// tests that omit one place at a time. The extension's own bits are removed in any case.
    pub(crate) fn is_translated(self) -> bool {
        #[cfg(feature = "test-switches")]
        if let Some(omitted) = crate::test_switches::omitted() {
            return omitted != format!("{self:?}");
        }
        true
    }
}
