//! [`Unavailable`]: why a device cannot run a backend.

use vkxfb_rewriter::lower::Backend;

/// A backend that a device cannot run, with all the reasons.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "the {backend} backend is not available on {device}{}: {}",
    if *.restricted { " as the device was created" } else { "" },
    .reasons.join("; ")
)]
pub struct Unavailable {
    /// The backend.
    pub backend: Backend,
    /// The name of the device.
    pub device: String,
    /// The names of the extensions, features or limits that are missing.
    pub reasons: Vec<String>,
    /// Whether the capabilities may be missing only because the device was created without them (see
    /// [`Capabilities::restrict`](crate::runtime::Capabilities::restrict)). A device that is created with
    /// [`RequiredFeatures::add_to`](crate::runtime::RequiredFeatures::add_to) may be able to run the backend.
    pub restricted: bool,
}
