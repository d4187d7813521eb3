//! How far a capture is, which may take long.

use indicatif::ProgressBar;

/// The steps of a capture, where a person looks on.
pub(super) struct Steps(ProgressBar);

impl Steps {
    /// The steps, to which drawing may belong.
    pub(super) fn new(draws: bool) -> Self {
        let bar = crate::progress_bar();
        bar.set_length(3 + u64::from(draws));
        Self(bar)
    }

    /// Goes on to the next step.
    pub(super) fn begin(&self, step: &'static str) {
        if !self.0.message().is_empty() {
            self.0.inc(1);
        }
        self.0.set_message(step);
    }

    /// Leaves nothing of it to be seen.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Steps {
    /// Nothing of it is left above an error.
    fn drop(&mut self) {
        self.end();
    }
}
