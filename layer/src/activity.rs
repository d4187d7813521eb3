//! Decides whether the layer is active on a physical device, which means that it gives programs
//! transform feedback there.

use std::fmt;
use std::sync::Arc;

use ash::vk;
use vkxfb::runtime::{Capabilities, RuntimeError, TransformFeedbackSupport};

use crate::capture_support::CaptureSupport;
use crate::settings::Settings;

#[derive(Debug, Clone)]
pub(crate) enum Activity {
    /// Active: programs can enable `VK_EXT_transform_feedback`, which the layer implements.
    Active(Cause, Arc<CaptureSupport>),
    /// Dormant: programs see the driver's own capabilities.
    Dormant(Reason),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The driver has no transform feedback.
    Missing,
    /// The driver's extension is partial, and the setting `replace_partial` makes the layer replace
    /// partial implementations.
    Partial(Lacks),
    /// The setting `force_enable` makes the layer active, whether or not the driver has the
    /// extension.
    Forced(Lacks),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The driver has the extension, and reports the feature `transformFeedback`.
    DriverHasIt(Lacks),
    /// The driver has the extension, as above. A setting asks to replace it, which is impossible for the reason that the
    /// text tells, so programs keep what the driver has.
    Irreplaceable(String),
    /// The driver does not have the extension, and the device lacks a capability without which captures are impossible, or
    /// would make programs fail that work without them. The text names it.
    Incapable(String),
    /// The driver failed to report its capabilities.
    Unknown(vk::Result),
}

/// The features and properties that the driver's own extension lacks, by their names in Vulkan.
/// Empty if the extension is complete or does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Lacks(Vec<&'static str>);

impl Lacks {
    fn of(support: &TransformFeedbackSupport) -> Self {
        let parts = [
            (support.queries, "transformFeedbackQueries"),
            (support.draw, "transformFeedbackDraw"),
            (support.geometry_streams, "geometryStreams"),
        ];
        Self(parts.into_iter().filter_map(|(has_it, name)| (!has_it).then_some(name)).collect())
    }

    const fn is_partial(&self) -> bool {
        !self.0.is_empty()
    }
}

/// Formats the list as the end of a sentence about the driver's extension: `, without ...`, or
/// nothing if nothing is lacking.
impl fmt::Display for Lacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_partial() { write!(f, ", without {}", self.0.join(", ")) } else { Ok(()) }
    }
}

impl fmt::Display for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DRIVER_HAS_IT: &str = "the driver has VK_EXT_transform_feedback";
        match self {
            Self::Active(Cause::Missing, _) => {
                f.write_str("active: the driver has no VK_EXT_transform_feedback")
            }
            Self::Active(Cause::Partial(lacks), _) => {
                write!(f, "active: by replace_partial; {DRIVER_HAS_IT}{lacks}")
            }
            Self::Active(Cause::Forced(lacks), _) if lacks.is_partial() => {
                write!(f, "active: by force_enable; {DRIVER_HAS_IT}{lacks}")
            }
            Self::Active(Cause::Forced(_), _) => f.write_str("active: by force_enable"),
            Self::Dormant(Reason::DriverHasIt(lacks)) => {
                write!(f, "dormant: {DRIVER_HAS_IT}{lacks}")
            }
            Self::Dormant(Reason::Irreplaceable(missing)) => {
                write!(f, "dormant: {DRIVER_HAS_IT}, which cannot be replaced: {missing}")
            }
            Self::Dormant(Reason::Incapable(missing)) => write!(f, "dormant: {missing}"),
            Self::Dormant(Reason::Unknown(result)) => {
                write!(f, "dormant: the driver's extensions cannot be listed ({result})")
            }
        }
    }
}

impl Activity {
    /// Decides whether the layer is active, from the result `asked` of the query of the capabilities. If that is an
    /// error, the layer is dormant. If the error is not that of a Vulkan command, `lists_it`, which returns whether the
    /// driver lists the extension, is called to find the reason to report.
    pub(crate) fn decide(
        asked: Result<Capabilities, RuntimeError>,
        lists_it: impl FnOnce() -> Result<bool, vk::Result>,
        settings: &Settings,
    ) -> Self {
        let reason = match asked {
            Ok(capabilities) => return Self::of(capabilities, settings),
            Err(RuntimeError::Vulkan { result, .. }) => Reason::Unknown(result),
            Err(error) => match lists_it() {
                Ok(true) if !settings.force_enable => Reason::DriverHasIt(Lacks::default()),
                Ok(true) => Reason::Irreplaceable(error.to_string()),
                Ok(false) => Reason::Incapable(error.to_string()),
                Err(result) => Reason::Unknown(result),
            },
        };
        Self::Dormant(reason)
    }

    /// Decides whether the layer is active, from the capabilities that the driver reported.
    ///
    /// The driver has the extension only if it reports the feature `transformFeedback`. That the extension is listed
    /// proves nothing: the loader lists all extensions that the manifests of implicit layers promise, including this
    /// layer's.
    pub(crate) fn of(mut capabilities: Capabilities, settings: &Settings) -> Self {
        let lacks = capabilities.transform_feedback.as_ref().map(Lacks::of);
        let has_it = lacks.is_some();
        let cause = match lacks {
            lacks if settings.force_enable => Cause::Forced(lacks.unwrap_or_default()),
            None => Cause::Missing,
            Some(lacks) if settings.replace_partial && lacks.is_partial() => Cause::Partial(lacks),
            Some(lacks) => return Self::Dormant(Reason::DriverHasIt(lacks)),
        };
        if settings.descriptors {
            capabilities.buffer_device_address = None;
        }
        #[cfg(feature = "test-switches")]
        if crate::test_switches::hides_generated_queries() {
            _ = capabilities.extensions.remove(ash::ext::primitives_generated_query::NAME);
        }
        let missing = match CaptureSupport::new(capabilities) {
            Ok(mut support) if settings.force_enable || support.leaves_sets() => {
                support.set_draw_stages(settings.draw_stages);
                return Self::Active(cause, Arc::new(support));
            }
            Ok(support) => format!(
                "captures without bufferDeviceAddress take a descriptor set, and programs may need \
                 all {} (maxBoundDescriptorSets)",
                support.capabilities.limits.max_descriptor_sets
            ),
            Err(unavailable) => unavailable.reasons.join("; "),
        };
        Self::Dormant(if has_it {
            Reason::Irreplaceable(missing)
        } else {
            Reason::Incapable(missing)
        })
    }
}

#[cfg(test)]
mod tests;
