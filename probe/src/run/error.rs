//! The errors of a batch, and what they mean for its cases.

use vkxfb_rewriter::lower::Backend;

use crate::case::Case;
use crate::diagnose::{DiagnoseError, Fault, Mismatch, Verdict};
use crate::gpu::GpuError;
use crate::plan::BatchTooLarge;
use crate::records::RecordsDiffer;
use crate::report::ProbeReport;
use crate::subject::SubjectError;

#[derive(Debug, thiserror::Error)]
pub(super) enum BatchError {
    #[error(transparent)]
    TooLarge(#[from] BatchTooLarge),
    #[error(transparent)]
    Subject(#[from] SubjectError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Diagnose(#[from] DiagnoseError),
    /// While reference records (those that the captures are compared with) were captured, a step of the submission had
    /// no effect, or the counters were wrong.
    #[error("{0}")]
    MissingStep(Box<Mismatch>),
    /// The reference records of this backend differ from those of the first backend.
    #[error("{differ} (compared with {first})")]
    Records { differ: RecordsDiffer, first: Backend },
}

impl BatchError {
    pub(super) const fn is_fatal(&self) -> bool {
        matches!(self, Self::Gpu(GpuError::DeviceLost { .. } | GpuError::Timeout(_)))
    }

    /// Adds the consequence of this error for `case` to the report: the case is wrong if records differ, a step had no
    /// effect or counters are wrong; otherwise it could not be captured.
    pub(super) fn record(&self, backend: Backend, case: &Case, report: &mut ProbeReport) {
        match self {
            Self::Records { differ, .. } => {
                let (buffer, byte_offset) = differ.place();
                let (fault, at) = (Fault::WrongBytes, byte_offset.cast_signed());
                let mismatch = Mismatch::of_no_primitive(fault, buffer, at, self.to_string());
                report.record_disagreement(backend, case, mismatch);
            }
            Self::MissingStep(mismatch) => {
                report.record(backend, case, Verdict::Mismatch(mismatch.clone()));
            }
            // The causes are included, because the outermost message may be only the name of a
            // file.
            _ => report.record_error(backend, case, error_chain(self)),
        }
    }
}

/// Joins the messages of an error and its sources in one line.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(error.source(), |error| error.source());
    sources.fold(error.to_string(), |text, source| format!("{text}: {source}"))
}
