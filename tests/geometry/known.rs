//! Faults of drivers in their own captures of geometry shaders. The compute backend is compared with the model
//! in any case.

use crate::case::Case;
use crate::model::{Expected, Fact};

/// A fault of a driver: cases to which it applies may differ from the model.
pub struct Fault {
    driver: &'static str,
    applies: fn(&Case, &Expected) -> bool,
    pub reason: &'static str,
}

/// The test fails if none of many cases differs, so that an entry is removed once the driver is fixed.
const FAULTS: &[Fault] = &[
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::Unbound),
        reason: "lavapipe captures nothing while one of several captured buffers is not bound",
    },
    Fault {
        driver: "llvmpipe",
        applies: |_, expected| expected.facts.contains(&Fact::OutputsFit),
        reason: "lavapipe goes by OpenGL's rule of overflow: outputs have to fit, not strides",
    },
];

/// The fault that a native capture may show.
pub fn fault(driver: &str, case: &Case, expected: &Expected) -> Option<&'static Fault> {
    FAULTS.iter().find(|fault| fault.driver == driver && (fault.applies)(case, expected))
}

/// Faults that affect more than their own case: driver, fact, reason.
const HARMS: &[(&str, Fact, &str)] = &[(
    "llvmpipe",
    Fact::ShortStrips,
    "lavapipe crashes by more strips than max_vertices vertices are primitives, in one strip",
)];

/// Why a case must not run natively.
pub fn excluded(driver: &str, expected: &Expected) -> Option<&'static str> {
    let harms =
        |(of, fact, _): &&(&str, Fact, &str)| *of == driver && expected.facts.contains(fact);
    HARMS.iter().find(harms).map(|(_, _, reason)| *reason)
}
