//! Where stages and accesses are translated.

/// The places where stages and accesses of captures are added: arguments of the application, and
/// barriers of the layer.
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
    /// Before the captures of a pass, for the dependencies of its render pass: `CaptureBarriers::before`.
    BeforeCaptures,
    /// Between captures.
    BetweenCaptures,
    /// After the captures of a pass, before commands that wait for them: `CaptureBarriers::after_captures`.
    AfterCaptures,
    /// After the pass and its captures: `CaptureBarriers::after_pass`.
    AfterPass,
}

impl Kind {
    /// Whether the stages and accesses of captures are added: always, except in tests that omit one
    /// kind at a time. The extension's own bits are always removed.
    pub(crate) fn is_translated(self) -> bool {
        #[cfg(feature = "test-switches")]
        if let Some(omitted) = crate::test_switches::omitted() {
            return omitted != format!("{self:?}");
        }
        true
    }
}
