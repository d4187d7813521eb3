//! Faults of drivers in their own vertex input. The compute backend is always compared with the
//! model.

use vkxfb::vertex_input::{InputRate, NumericClass, VertexFormat};

use crate::case::Component;

/// A fault of a driver's own vertex input: the components that may be wrong.
pub struct Fault {
    driver: &'static str,
    applies: fn(&Component<'_>) -> bool,
    reason: &'static str,
}

/// The test fails if none of the components of an entry differs, so that the entry is removed once
/// the driver is fixed.
const FAULTS: &[Fault] = &[
    Fault {
        driver: "llvmpipe",
        applies: |c| {
            let absent = c.component >= c.attribute.format.components();
            !c.in_range && absent && c.component == 3
        },
        reason: "lavapipe 22.3 fills in no 1 where an attribute is out of range or null",
    },
    Fault {
        driver: "llvmpipe",
        applies: |c| {
            use VertexFormat::{B4G4R4A4UnormPack16, B5G5R5A1UnormPack16, R5G5B5A1UnormPack16};
            let wrong = [B4G4R4A4UnormPack16, R5G5B5A1UnormPack16, B5G5R5A1UnormPack16];
            wrong.contains(&c.attribute.format)
        },
        reason: "lavapipe 22.3 mixes up packed formats of 16 bits that end with alpha",
    },
    Fault {
        driver: "llvmpipe",
        applies: |c| {
            let format = c.attribute.format;
            format.bits() == 64 && (format.class() == NumericClass::Sint || format.components() > 2)
        },
        reason: "lavapipe 22.3 narrows R64 SINT to 32 bits, and reads two components of 64 bits",
    },
    Fault {
        driver: "llvmpipe",
        applies: |c| {
            use VertexFormat::{A2B10G10R10SnormPack32, A2R10G10B10SnormPack32};
            let alpha = [A2B10G10R10SnormPack32, A2R10G10B10SnormPack32];
            alpha.contains(&c.attribute.format) && c.component == 3 && c.rate != InputRate::Vertex
        },
        reason: "lavapipe 22.3 reads -2 of two bits as -2.0 where it advances by instance",
    },
    Fault {
        driver: "NVIDIA",
        applies: |c| {
            let format = c.attribute.format;
            !c.in_range && format.bits() == 64 && format.components() > 2
        },
        reason: "NVIDIA 580 goes by either location of a 64-bit attribute whether it is out of range",
    },
];

/// The known faults of a driver, each with the number of components that could have differed and of
/// those that did.
pub struct Known {
    faults: Vec<(&'static Fault, u64, u64)>,
}

impl Known {
    pub fn of(driver: &str) -> Self {
        let faults = FAULTS.iter().filter(|fault| fault.driver == driver);
        Self { faults: faults.map(|fault| (fault, 0, 0)).collect() }
    }

    /// Returns whether a component may differ. `differs` tells whether it does.
    pub fn excuses(&mut self, component: &Component<'_>, differs: bool) -> bool {
        let fault = self.faults.iter_mut().find(|(fault, ..)| (fault.applies)(component));
        let Some((_, looked, seen)) = fault else { return false };
        *looked += 1;
        *seen += u64::from(differs);
        differs
    }

    /// Prints the faults, and panics if one of them was not seen.
    pub fn report(&self) {
        for (fault, looked, seen) in &self.faults {
            eprintln!("{seen} of {looked} components: {}", fault.reason);
            assert!(*looked < 1000 || *seen > 0, "gone: {}", fault.reason);
        }
    }
}
