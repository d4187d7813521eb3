//! Collects the messages of the validation layer.

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::sync::{Mutex, PoisonError};

use ash::vk;

/// A warning or an error from the validation layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Whether the message is an error.
    pub error: bool,
    /// The name of the message, such as a VUID.
    pub id: String,
    /// The text of the message.
    pub text: String,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = if self.error { "error" } else { "warning" };
        write!(f, "{severity} {}: {}", self.id, self.text)
    }
}

/// A message that is known to be wrong, and is therefore not collected.
struct FalsePositive {
    /// A part of the name of the message.
    id: &'static str,
    /// A part of the text of the message.
    text: &'static str,
    /// The reason why the message is wrong, with a link; the versions of the layer or the driver that send
    /// it; and the condition for removing this entry.
    #[allow(dead_code, reason = "for the reader")]
    why: &'static str,
}

const FALSE_POSITIVES: &[FalsePositive] = &[FalsePositive {
    id: "UNASSIGNED-CoreValidation-Shader-InterfaceTypeMismatch",
    text: "does not match vertex shader input type of `ptr to Input struct of",
    why: "Layer 1.3.239 (Debian 12) compares an attribute's format with the whole structure, where \
          https://docs.vulkan.org/refpages/latest/refpages/source/VkGraphicsPipelineCreateInfo.html \
          (VUID-VkGraphicsPipelineCreateInfo-Input-08733) asks for the member at its location. Remove this \
          entry when that version of the layer is no longer supported.",
}];

/// The messages collected so far. The layer may send messages on any thread that calls Vulkan.
#[derive(Debug, Default)]
pub(super) struct Messages(Mutex<Vec<Message>>);

impl Messages {
    pub(super) fn take(&self) -> Vec<Message> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn push(&self, message: Message) {
        let known = |f: &FalsePositive| message.id.contains(f.id) && message.text.contains(f.text);
        if FALSE_POSITIVES.iter().any(known) {
            tracing::debug!(%message, "known false positive");
            return;
        }
        tracing::debug!(%message, "validation");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }
}

/// Returns the create info of a messenger that collects into `messages`, which must outlive the
/// messenger. Performance warnings are not collected.
pub(super) fn messenger_info(messages: &Messages) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
    vk::DebugUtilsMessengerCreateInfoEXT::default()
        .message_severity(
            vk::DebugUtilsMessageSeverityFlagsEXT::WARNING
                | vk::DebugUtilsMessageSeverityFlagsEXT::ERROR,
        )
        .message_type(vk::DebugUtilsMessageTypeFlagsEXT::VALIDATION)
        .pfn_user_callback(Some(collect))
        .user_data(std::ptr::from_ref(messages).cast_mut().cast())
}

/// The callback of the messenger, which adds a message.
///
/// # Safety
/// Only Vulkan calls this function, with the user data from [`messenger_info`].
unsafe extern "system" fn collect(
    severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _types: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    user_data: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the user data points to a `Messages`, which outlives the messenger.
    let messages = unsafe { user_data.cast_const().cast::<Messages>().as_ref() };
    // SAFETY: Vulkan passes a valid structure.
    let data = unsafe { data.as_ref() };
    if let (Some(messages), Some(data)) = (messages, data) {
        let text = |pointer: *const std::ffi::c_char| {
            if pointer.is_null() {
                Cow::Borrowed("")
            } else {
                // SAFETY: the strings in the structure are null-terminated.
                unsafe { CStr::from_ptr(pointer) }.to_string_lossy()
            }
        };
        messages.push(Message {
            error: severity.contains(vk::DebugUtilsMessageSeverityFlagsEXT::ERROR),
            id: text(data.p_message_id_name).into_owned(),
            text: text(data.p_message).into_owned(),
        });
    }
    vk::FALSE
}
