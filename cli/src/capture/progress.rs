//! Shows the progress of a capture, because a capture may take long.

use indicatif::ProgressBar;

/// A progress bar with the steps of a capture. It is shown only on a terminal.
pub(super) struct Steps(ProgressBar);

impl Steps {
    /// Makes the progress bar. `draws` says whether drawing a picture is one of the steps.
    pub(super) fn new(draws: bool) -> Self {
        let bar = crate::print::progress_bar();
        bar.set_length(3 + u64::from(draws));
        Self(bar)
    }

    /// Finishes the current step, and begins the next one.
    pub(super) fn begin(&self, step: &'static str) {
        if !self.0.message().is_empty() {
            self.0.inc(1);
        }
        self.0.set_message(step);
    }

    /// Says how much of the current step is done, of a step that takes long.
    pub(super) fn within(&self, done: usize, all: usize) {
        let message = self.0.message();
        let step = message.split(',').next().unwrap_or_default();
        self.0.set_message(format!("{step}, {} %", done * 100 / all.max(1)));
    }

    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Steps {
    /// Removes the progress bar, so that nothing is left of it above an error message.
    fn drop(&mut self) {
        self.end();
    }
}
