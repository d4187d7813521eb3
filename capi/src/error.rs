//! Has the results of functions, the messages that explain them, and the guard that catches panics.

use std::any::Any;
use std::cell::RefCell;
use std::error::Error as StdError;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ash::vk;
use vkxfb::lower::LowerError;
use vkxfb::runtime::{ErrorKind, RuntimeError, StagesError};

/// The result of a function. `vkxfb_last_error` returns a message with details.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "enumerators of C share one namespace")]
pub enum VkxfbResult {
    /// The function succeeded.
    VkxfbSuccess = 0,
    /// A query has not ended yet. Only `vkxfb_query_pool_get_results` and `vkxfb_query_pool_wait`
    /// return this. It is not a failure, and has no message.
    VkxfbNotReady = 1,
    /// An argument is NULL although it must not be, has an invalid value, or contradicts another
    /// argument. The function did nothing.
    VkxfbErrorInvalidArgument = -1,
    /// The physical device, or the device as it was created, cannot capture by compute, or does not
    /// support the request. The message lists all reasons.
    VkxfbErrorUnavailable = -2,
    /// The shader is invalid, captures nothing, contains something that cannot be captured, or does
    /// not match the rest of its pipeline.
    VkxfbErrorShader = -3,
    /// A Vulkan command failed.
    VkxfbErrorVulkan = -4,
    /// There is not enough host or device memory.
    VkxfbErrorOutOfMemory = -5,
    /// A mistake in the library. The objects that were passed must not be used any more, except to
    /// destroy them.
    VkxfbErrorInternal = -6,
    /// The request is larger than what the device supports at once: split it into several draws or
    /// captures, or use less. The function did nothing.
    VkxfbErrorTooLarge = -7,
}

/// The reason why a function fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0} is NULL")]
    Null(&'static str),
    #[error("an element of {0} is NULL")]
    NullElement(&'static str),
    #[error("{0}")]
    Argument(String),
    /// A structure in the chain of the structure that the string names has no type. The caller has probably forgotten
    /// to set it, so the structure would be ignored.
    #[error(
        "a structure in the pNext chain of {0} has sType 0, which is none of a structure in a chain"
    )]
    NoType(&'static str),
    /// An error in a structure that a member points to. The string is the name of that member,
    /// because the outer structure has members of the same names.
    #[error("{0}")]
    Within(&'static str, #[source] Box<Error>),
    #[error(
        "structSize of {structure} is {size}: it must be sizeof({structure}), as VKXFB_INIT sets it, which is {}",
        sizes(*.first, *.known)
    )]
    StructSize { structure: &'static str, size: usize, first: usize, known: usize },
    #[error(
        "{structure} has {size} bytes, of which this library knows {known}: the others are not zero, so \
         they need a newer library"
    )]
    UnknownMembers { structure: &'static str, size: usize, known: usize },
    /// The caller has probably forgotten to set `apiVersion`, or has created the instance without an extension. From
    /// the value alone, these cannot be told apart, because 0 means Vulkan 1.0.
    #[error(
        "apiVersion is {}: it has to be that of the VkApplicationInfo, VK_API_VERSION_1_2 for example, and if that is \
         below 1.1, the instance has to enable {extension}",
        of_vulkan(*.version)
    )]
    ApiVersion { version: u32, extension: &'static str },
    /// The flags request captures by descriptors, but the device lacks something that these need.
    #[error(
        "flags has VKXFB_DEVICE_DESCRIPTORS, and {device} cannot capture by descriptors{as_created}: {reasons}"
    )]
    NoDescriptors { device: String, as_created: &'static str, reasons: String },
    /// The range that `what` names ends past the end of its buffer. The size of a buffer cannot be
    /// queried, so the end is compared with `memory`, the size of the buffer's memory.
    #[error("{what} ends at byte {end} of its buffer, which takes {memory} bytes of memory")]
    PastTheEnd { what: String, end: u64, memory: u64 },
    #[error("the shader cannot be captured")]
    Lower(#[from] LowerError),
    /// The shaders of a pipeline cannot be captured. The message names the shader at fault.
    #[error("the shader cannot be captured")]
    Stages(#[source] StagesError),
    /// The code is not SPIR-V, maybe because `code_size` is too small.
    #[error("the shader cannot be captured (codeSize is {code_size}: it counts bytes)")]
    Code { code_size: usize, source: LowerError },
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error("the allocator of device memory")]
    Allocator(#[from] gpu_allocator::AllocationError),
    /// The earlier command `name` of the same capture failed, with this result and this message.
    #[error("in {name}: {message}")]
    Earlier { name: &'static str, result: VkxfbResult, message: String },
}

impl Error {
    fn result(&self) -> VkxfbResult {
        use gpu_allocator::AllocationError;
        match self {
            Self::Null(_)
            | Self::NullElement(_)
            | Self::Argument(_)
            | Self::NoType(_)
            | Self::ApiVersion { .. }
            | Self::PastTheEnd { .. }
            | Self::StructSize { .. }
            | Self::UnknownMembers { .. } => VkxfbResult::VkxfbErrorInvalidArgument,
            Self::NoDescriptors { .. } => VkxfbResult::VkxfbErrorUnavailable,
            Self::Lower(_) | Self::Stages(_) | Self::Code { .. } => VkxfbResult::VkxfbErrorShader,
            Self::Allocator(AllocationError::OutOfMemory) => VkxfbResult::VkxfbErrorOutOfMemory,
            Self::Allocator(_) => VkxfbResult::VkxfbErrorVulkan,
            Self::Earlier { result, .. } => *result,
            Self::Within(_, error) => error.result(),
            // The geometry shader does not match the topology of its pipeline, so the shader is wrong.
            Self::Runtime(RuntimeError::GeometryInput { .. }) => VkxfbResult::VkxfbErrorShader,
            Self::Runtime(error) => match error.kind() {
                ErrorKind::Unavailable => VkxfbResult::VkxfbErrorUnavailable,
                ErrorKind::OutOfMemory => VkxfbResult::VkxfbErrorOutOfMemory,
                ErrorKind::Vulkan => VkxfbResult::VkxfbErrorVulkan,
                ErrorKind::TooLarge => VkxfbResult::VkxfbErrorTooLarge,
                ErrorKind::Usage => VkxfbResult::VkxfbErrorInvalidArgument,
                ErrorKind::NotReady => VkxfbResult::VkxfbNotReady,
                _ => VkxfbResult::VkxfbErrorInternal,
            },
        }
    }

    /// Returns the messages of the error and of its sources, in one line.
    fn message(&self) -> String {
        let mut message = self.to_string();
        if let Self::Runtime(_) = self {
            for (words, in_c) in IN_C {
                message = message.replace(words, in_c);
            }
        }
        let mut source = self.source();
        while let Some(error) = source {
            message = format!("{message}: {error}");
            source = error.source();
        }
        message
    }
}

/// Words in messages of the runtime, and the words in their place that name functions and constants of C.
const IN_C: [(&str, &str); 3] = [
    (
        "captures use descriptors",
        "captures use descriptors (VKXFB_DEVICE_DESCRIPTORS, or no bufferDeviceAddress)",
    ),
    ("bind_descriptor_sets", "vkxfb_capture_bind_descriptor_sets"),
    ("assume_descriptor_sets", "vkxfb_capture_assume_descriptor_sets"),
];

/// Formats the sizes that a structure had in the first version of the library and has in this one.
fn sizes(first: usize, known: usize) -> String {
    if first == known {
        known.to_string()
    } else {
        format!("{known} in this version of the library and {first} in the first")
    }
}

/// Formats a value of `apiVersion`, which may be no version.
fn of_vulkan(version: u32) -> String {
    if version < vk::API_VERSION_1_0 {
        version.to_string()
    } else {
        let (major, minor) = (vk::api_version_major(version), vk::api_version_minor(version));
        format!("that of Vulkan {major}.{minor}")
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The major version of this header.
pub const VKXFB_VERSION_MAJOR: u32 = 0;
/// The minor version of this header.
pub const VKXFB_VERSION_MINOR: u32 = 1;
/// The patch version of this header.
pub const VKXFB_VERSION_PATCH: u32 = 0;

/// The version of the package, packed as by `VK_MAKE_API_VERSION` with variant 0.
const VERSION: u32 = {
    const fn number(text: &str) -> u32 {
        // cargo allows only digits here.
        match u32::from_str_radix(text, 10) {
            Ok(number) => number,
            Err(_) => 0,
        }
    }
    vk::make_api_version(
        0,
        number(env!("CARGO_PKG_VERSION_MAJOR")),
        number(env!("CARGO_PKG_VERSION_MINOR")),
        number(env!("CARGO_PKG_VERSION_PATCH")),
    )
};

// cbindgen evaluates no macros, so the numbers above are literals.
const _: () = assert!(
    VERSION
        == vk::make_api_version(0, VKXFB_VERSION_MAJOR, VKXFB_VERSION_MINOR, VKXFB_VERSION_PATCH)
);

/// Returns the version of the library that is linked, packed as by `VK_MAKE_API_VERSION` with
/// variant 0. `VKXFB_VERSION_MAJOR`, `VKXFB_VERSION_MINOR` and `VKXFB_VERSION_PATCH` are the
/// version of the header.
#[unsafe(no_mangle)]
pub extern "C" fn vkxfb_version() -> u32 {
    VERSION
}

/// Returns the message of the last function of the library that failed in this thread: one line of
/// UTF-8, without a line break at its end, or "" if none has failed yet. A function that succeeds
/// does not change the message.
///
/// The library owns the string. It is valid until the next function fails in this thread, or the
/// thread ends. Call this in a statement after the function that failed: as another argument of the
/// same call it may be evaluated before that function.
#[unsafe(no_mangle)]
pub extern "C" fn vkxfb_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// Returns a copy of the message that [`vkxfb_last_error`] returns.
pub(crate) fn last_message() -> String {
    LAST.try_with(|last| last.borrow().to_string_lossy().into_owned()).unwrap_or_default()
}

fn fail(result: VkxfbResult, message: String) -> VkxfbResult {
    let mut bytes = message.into_bytes();
    bytes.retain(|&byte| byte != 0);
    let message = CString::new(bytes).unwrap_or_default();
    // This fails while a thread is ending. Nobody can read the message then.
    let _ = LAST.try_with(|last| last.replace(message));
    result
}

/// Calls `function`, which implements a function of the C interface. Converts its error or panic to
/// a result with a message.
///
/// A panic may leave objects in an invalid state, so its result is `VkxfbErrorInternal`.
pub(crate) fn guard(function: impl FnOnce() -> Result<(), Error>) -> VkxfbResult {
    match catch_unwind(AssertUnwindSafe(function)) {
        Ok(Ok(())) => VkxfbResult::VkxfbSuccess,
        Ok(Err(error)) => fail(error.result(), error.message()),
        Err(payload) => panicked(payload),
    }
}

/// Like [`guard`], for functions that destroy objects, which have no result.
pub(crate) fn guard_quietly(function: impl FnOnce()) {
    let _ = guard(|| {
        function();
        Ok(())
    });
}

#[cold]
fn panicked(payload: Box<dyn Any + Send>) -> VkxfbResult {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    let message = format!("a defect of vkxfb: {}", text.unwrap_or("a panic without a message"));
    // Dropping the payload could panic again.
    std::mem::forget(payload);
    fail(VkxfbResult::VkxfbErrorInternal, message)
}

#[cfg(test)]
mod tests {
    use vkxfb::lower::Backend;
    use vkxfb::runtime::Capabilities;

    use super::*;

    #[test]
    fn a_panic_is_a_result_and_a_message() {
        let number = 3;
        let result = guard(|| panic!("told by the test {number}\0"));
        assert_eq!(result, VkxfbResult::VkxfbErrorInternal);
        assert_eq!(last_message(), "a defect of vkxfb: told by the test 3");
        assert_eq!(guard(|| Ok(())), VkxfbResult::VkxfbSuccess);
        assert!(last_message().ends_with("test 3"), "a success leaves the message alone");
    }

    #[test]
    fn a_panic_in_what_a_panic_leaves_is_no_abort() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        assert_eq!(guard(|| std::panic::panic_any(Bomb)), VkxfbResult::VkxfbErrorInternal);
    }

    #[test]
    fn errors_are_told_with_their_sources() {
        let source = "no block is large enough".into();
        let error = RuntimeError::Allocation { name: "upload".to_owned(), size: 7, source };
        assert_eq!(guard(|| Err(error.into())), VkxfbResult::VkxfbErrorOutOfMemory);
        assert_eq!(
            last_message(),
            "cannot allocate 7 bytes for 'upload': no block is large enough"
        );
    }

    #[test]
    fn a_device_that_cannot_capture_is_told_apart() {
        let mut incapable = Capabilities::default();
        incapable.device_name = "Test".to_owned();
        let error = incapable.availability(Backend::Compute).unwrap_err();
        let reasons = format!("Test: {}", error.reasons.join("; "));
        assert!(error.reasons.len() > 1, "{reasons}");
        let result = guard(|| Err(RuntimeError::from(error).into()));
        assert_eq!(result, VkxfbResult::VkxfbErrorUnavailable);
        let message = last_message();
        assert!(message.contains(&reasons), "{message}");
    }

    #[test]
    fn mistakes_of_the_library_and_of_the_program_and_limits_are_told_apart() {
        let result = |error: RuntimeError| guard(|| Err(error.into()));
        let internal = RuntimeError::InvalidShader("no words".to_owned());
        assert_eq!(result(internal), VkxfbResult::VkxfbErrorInternal);
        let named = RuntimeError::EntryPointName { name: "ma\0in".to_owned() };
        assert_eq!(result(named), VkxfbResult::VkxfbErrorInvalidArgument);
        assert_eq!(last_message(), "the entry point \"ma\\0in\" has a NUL in its name");
        let large = RuntimeError::TooManyPrimitives { what: "patches", primitives: 9, max: 8 };
        assert_eq!(result(large), VkxfbResult::VkxfbErrorTooLarge);
    }

    /// The functions, and what decides about descriptors.
    #[test]
    fn messages_name_what_is_in_c() {
        let message = |error: RuntimeError| {
            let _ = guard(|| Err(error.into()));
            last_message()
        };
        assert_eq!(
            message(RuntimeError::MissingDescriptorSet { set: 2 }),
            "the shader reads descriptor set 2, and it is not bound: bind it in the capture \
             (vkxfb_capture_bind_descriptor_sets), or say there that the command buffer has it \
             (vkxfb_capture_assume_descriptor_sets)"
        );
        let unknown = message(RuntimeError::DescriptorSetUnknown { set: 2 });
        assert!(unknown.ends_with("(vkxfb_capture_bind_descriptor_sets)"), "{unknown}");
        let later = message(RuntimeError::NoLateDraws);
        let words = "captures use descriptors (VKXFB_DEVICE_DESCRIPTORS, or no bufferDeviceAddress): \
                     draws cannot be added later";
        assert!(later.starts_with(words), "{later}");
    }

    /// 0 means Vulkan 1.0, so both have the same cure.
    #[test]
    fn an_api_version_below_1_1_is_told_with_what_it_needs() {
        let message = |version| {
            let extension = "VK_KHR_get_physical_device_properties2";
            let result = guard(|| Err(Error::ApiVersion { version, extension }));
            assert_eq!(result, VkxfbResult::VkxfbErrorInvalidArgument);
            last_message()
        };
        let cure = "it has to be that of the VkApplicationInfo, VK_API_VERSION_1_2 for example, and if that \
                    is below 1.1, the instance has to enable VK_KHR_get_physical_device_properties2";
        assert_eq!(message(0), format!("apiVersion is 0: {cure}"));
        assert_eq!(
            message(vk::API_VERSION_1_0),
            format!("apiVersion is that of Vulkan 1.0: {cure}")
        );
    }

    /// Each thread has its own last message.
    #[test]
    fn messages_are_the_threads() {
        assert_eq!(guard(|| Err(Error::Null("pContext"))), VkxfbResult::VkxfbErrorInvalidArgument);
        let other = std::thread::spawn(last_message).join();
        assert_eq!(other.unwrap(), "");
        assert_eq!(last_message(), "pContext is NULL");
    }
}
