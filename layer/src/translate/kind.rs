//! Where stages and accesses are translated.

use std::sync::LazyLock;

/// Where stages and accesses of captures are added: in arguments of the application, or in barriers
/// of the layer.
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
    /// Before the captures of a pass, for the dependencies of its render pass: [`Around::before`].
    BeforeCaptures,
    /// Between captures.
    BetweenCaptures,
    /// After the captures of a pass, before what waits for them: [`Around::after_captures`].
    AfterCaptures,
    /// After the pass and its captures: [`Around::after_pass`].
    AfterPass,
}

impl Kind {
    const ALL: [(&'static str, Self); 8] = [
        ("pipeline-barrier", Self::PipelineBarrier),
        ("event", Self::Event),
        ("render-pass", Self::RenderPass),
        ("submit", Self::Submit),
        ("before-captures", Self::BeforeCaptures),
        ("between-captures", Self::BetweenCaptures),
        ("after-captures", Self::AfterCaptures),
        ("after-pass", Self::AfterPass),
    ];

    /// Whether the stages and accesses of captures are added. Tests leave out one kind at a time
    /// (`VKXFB_OMIT_TRANSLATION`), to check that this is noticed. The extension's own bits are
    /// removed in any case.
    pub(crate) fn is_translated(self) -> bool {
        static OMITTED: LazyLock<Option<Kind>> = LazyLock::new(|| {
            let name = std::env::var("VKXFB_OMIT_TRANSLATION").ok()?;
            let found = Kind::ALL.into_iter().find(|(of, _)| *of == name).map(|(_, kind)| kind);
            tracing::warn!(?found, "VKXFB_OMIT_TRANSLATION is for tests");
            found
        });
        *OMITTED != Some(self)
    }
}
