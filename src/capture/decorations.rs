//! A layout from the decorations of a module.
/// Why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CaptureError {
    /// Stub.
    #[error("the entry point has no execution mode Xfb: it captures nothing")]
    NoXfb,
}
