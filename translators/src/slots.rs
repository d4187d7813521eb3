//! Maps Mesa's varying slots to built-ins and locations of SPIR-V.
//!
//! `gl_varying_slot` has 64 values: 32 for built-ins of OpenGL, and 32 generic ones, `VAR0` to
//! `VAR31`. SPIR-V has built-ins for some of the former. The others need a location that no generic
//! slot uses. Stages are compiled independently, so the assignment is the same for every stage,
//! whichever slots the stage uses:
//!
//! | location | slot | | location | slot |
//! |---|---|---|---|---|
//! | 0 | `COL0` | | 6 | `CLIP_VERTEX` |
//! | 1 | `COL1` | | 7 | `BOUNDING_BOX0` |
//! | 2 | `FOGC` | | 8 | `BOUNDING_BOX1` |
//! | 3 | `BFC0` | | 9 | `VIEW_INDEX`, unless multiview is on |
//! | 4 | `BFC1` | | 10 | `VIEWPORT_MASK` |
//! | 5 | `EDGE` | | 11 + n | `VARn`, and `TEXn` |
//!
//! `TEX0` to `TEX7` have the locations of `VAR0` to `VAR7`, because a shader uses only one of the
//! two kinds.
//!
//! A location has four components. OpenGL has 32 locations, which leaves 21 for generic slots.
//! Vulkan guarantees only 16 (`maxVertexOutputComponents` is at least 64), so the number of
//! locations is a parameter that comes from the device.

use std::fmt;

use spirv::BuiltIn;

/// The number of locations that are reserved for slots without a SPIR-V built-in, even if a shader
/// does not use them.
pub const RESERVED_LOCATIONS: u32 = 11;

/// The number of locations in OpenGL. If a device has more, they are not used.
pub const MAX_LOCATIONS: u32 = 32;

macro_rules! varying_slots {
    ($($variant:ident $name:literal,)*) => {
        /// A value of Mesa's `gl_varying_slot`. The order is the same.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[rustfmt::skip]
        pub enum VaryingSlot {
            $(#[doc = concat!("`VARYING_SLOT_", $name, "`")] $variant,)*
        }

        impl VaryingSlot {
            /// All slots, in order.
            pub const ALL: [Self; 64] = [$(Self::$variant),*];

            /// The name in Mesa without the prefix `VARYING_SLOT_`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

varying_slots! {
    Pos "POS", Col0 "COL0", Col1 "COL1", Fogc "FOGC",
    Tex0 "TEX0", Tex1 "TEX1", Tex2 "TEX2", Tex3 "TEX3",
    Tex4 "TEX4", Tex5 "TEX5", Tex6 "TEX6", Tex7 "TEX7",
    Psiz "PSIZ", Bfc0 "BFC0", Bfc1 "BFC1", Edge "EDGE", ClipVertex "CLIP_VERTEX",
    ClipDist0 "CLIP_DIST0", ClipDist1 "CLIP_DIST1", CullDist0 "CULL_DIST0", CullDist1 "CULL_DIST1",
    PrimitiveId "PRIMITIVE_ID", Layer "LAYER", Viewport "VIEWPORT", Face "FACE", Pntc "PNTC",
    TessLevelOuter "TESS_LEVEL_OUTER", TessLevelInner "TESS_LEVEL_INNER",
    BoundingBox0 "BOUNDING_BOX0", BoundingBox1 "BOUNDING_BOX1",
    ViewIndex "VIEW_INDEX", ViewportMask "VIEWPORT_MASK",
    Var0 "VAR0", Var1 "VAR1", Var2 "VAR2", Var3 "VAR3",
    Var4 "VAR4", Var5 "VAR5", Var6 "VAR6", Var7 "VAR7",
    Var8 "VAR8", Var9 "VAR9", Var10 "VAR10", Var11 "VAR11",
    Var12 "VAR12", Var13 "VAR13", Var14 "VAR14", Var15 "VAR15",
    Var16 "VAR16", Var17 "VAR17", Var18 "VAR18", Var19 "VAR19",
    Var20 "VAR20", Var21 "VAR21", Var22 "VAR22", Var23 "VAR23",
    Var24 "VAR24", Var25 "VAR25", Var26 "VAR26", Var27 "VAR27",
    Var28 "VAR28", Var29 "VAR29", Var30 "VAR30", Var31 "VAR31",
}

impl VaryingSlot {
    /// Returns the slot with a value of `gl_varying_slot`. `None` if there is no such value.
    pub(crate) fn from_index(index: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// Returns the value of `gl_varying_slot`.
    pub const fn index(self) -> u32 {
        self as u32
    }

    /// Returns the generic slot `VARn`. `None` if n is above 31.
    pub fn var(n: u32) -> Option<Self> {
        Self::from_index(Self::Var0.index().checked_add(n)?)
    }

    /// Returns the slot to which [`Packing`] assigns a location. If `TEXn` and `VARn` share the
    /// location, it is `VARn`.
    pub(crate) fn at_location(location: u32) -> Option<Self> {
        let is_there =
            |slot: &Self| Packing::default().pack(*slot) == Ok(Packed::Location(location));
        Self::ALL.into_iter().rev().find(is_there)
    }

    /// Returns the slot of an output built-in. If the built-in is an array of floats, it is the
    /// slot of the element `element`.
    pub(crate) fn of_built_in(built_in: BuiltIn, element: u32) -> Option<Self> {
        let first_element = element / 4 * 4;
        let is_it = |slot: &Self| {
            Packing::default().pack(*slot) == Ok(Packed::BuiltIn { built_in, first_element })
        };
        Self::ALL.into_iter().find(is_it)
    }

    /// Returns n for the generic slot `VARn`, and for `TEXn`, which shares its location.
    pub(crate) const fn generic(self) -> Option<u32> {
        const TEX: u32 = VaryingSlot::Tex0.index();
        const PSIZ: u32 = VaryingSlot::Psiz.index();
        const VAR: u32 = VaryingSlot::Var0.index();
        match self.index() {
            index @ TEX..PSIZ => Some(index - TEX),
            index @ VAR.. => Some(index - VAR),
            _ => None,
        }
    }
}

impl fmt::Display for VaryingSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VARYING_SLOT_{}", self.name())
    }
}

/// The built-in or location that a slot has in SPIR-V.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packed {
    /// A built-in.
    BuiltIn {
        /// The `SpvBuiltIn`.
        built_in: BuiltIn,
        /// The index in the built-in at which the slot begins: 4 for `CLIP_DIST1` and `CULL_DIST1`,
        /// which contain elements 4 to 7 of an array, and otherwise 0.
        first_element: u32,
    },
    /// A variable with this `Location`.
    Location(u32),
}

/// The reason why a slot has no location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SlotError {
    /// The location is not below the number of locations.
    #[error(
        "{slot} needs location {location}: of {locations} locations the first {RESERVED_LOCATIONS} \
         are reserved, and {} left for generic slots",
        generic_locations(*.locations)
    )]
    TooMany {
        /// The slot that has no location.
        slot: VaryingSlot,
        /// The location that the slot would have.
        location: u32,
        /// The number of locations that there are.
        locations: u32,
    },
    /// `TEXn` and `VARn` are both in the interface.
    #[error("{first} and {second} both need location {location}")]
    Clash {
        /// The slot that comes first in the order of slots.
        first: VaryingSlot,
        /// The slot that comes second.
        second: VaryingSlot,
        /// The location that both slots need.
        location: u32,
    },
}

/// Returns the number of generic slots for which `locations` locations are enough.
const fn generic_locations(locations: u32) -> u32 {
    let locations = if locations < MAX_LOCATIONS { locations } else { MAX_LOCATIONS };
    locations.saturating_sub(RESERVED_LOCATIONS)
}

/// The parameters of the assignment of locations. They must be equal for all stages of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[must_use]
pub struct Packing {
    /// The number of locations between stages: a quarter of the device's
    /// `maxVertexOutputComponents`, or of the corresponding limit of another stage, whichever is
    /// lowest. Values above [`MAX_LOCATIONS`] have no effect.
    pub max_locations: u32,
    /// Whether multiview is enabled. If so, `VIEW_INDEX` is a built-in.
    pub multiview: bool,
}

impl Default for Packing {
    /// Returns the parameters for OpenGL's 32 locations, without multiview.
    fn default() -> Self {
        Self { max_locations: MAX_LOCATIONS, multiview: false }
    }
}

impl Packing {
    /// Sets [`max_locations`](field@Self::max_locations).
    pub const fn max_locations(mut self, locations: u32) -> Self {
        self.max_locations = locations;
        self
    }

    /// Sets [`multiview`](field@Self::multiview).
    pub const fn multiview(mut self, multiview: bool) -> Self {
        self.multiview = multiview;
        self
    }

    /// Returns the location or built-in of a slot.
    ///
    /// # Errors
    /// [`SlotError::TooMany`] if there are too few locations for the slot.
    pub fn pack(&self, slot: VaryingSlot) -> Result<Packed, SlotError> {
        use VaryingSlot as S;
        let built_in = |built_in, first_element| Ok(Packed::BuiltIn { built_in, first_element });
        let location = match slot {
            S::Pos => return built_in(BuiltIn::Position, 0),
            S::Psiz => return built_in(BuiltIn::PointSize, 0),
            S::ClipDist0 => return built_in(BuiltIn::ClipDistance, 0),
            S::ClipDist1 => return built_in(BuiltIn::ClipDistance, 4),
            S::CullDist0 => return built_in(BuiltIn::CullDistance, 0),
            S::CullDist1 => return built_in(BuiltIn::CullDistance, 4),
            S::PrimitiveId => return built_in(BuiltIn::PrimitiveId, 0),
            S::Layer => return built_in(BuiltIn::Layer, 0),
            S::Viewport => return built_in(BuiltIn::ViewportIndex, 0),
            S::Face => return built_in(BuiltIn::FrontFacing, 0),
            S::Pntc => return built_in(BuiltIn::PointCoord, 0),
            S::TessLevelOuter => return built_in(BuiltIn::TessLevelOuter, 0),
            S::TessLevelInner => return built_in(BuiltIn::TessLevelInner, 0),
            S::ViewIndex if self.multiview => return built_in(BuiltIn::ViewIndex, 0),
            S::Col0 => 0,
            S::Col1 => 1,
            S::Fogc => 2,
            S::Bfc0 => 3,
            S::Bfc1 => 4,
            S::Edge => 5,
            S::ClipVertex => 6,
            S::BoundingBox0 => 7,
            S::BoundingBox1 => 8,
            S::ViewIndex => 9,
            S::ViewportMask => 10,
            // All other slots are generic.
            _ => RESERVED_LOCATIONS + slot.generic().unwrap_or(0),
        };
        let locations = self.max_locations.min(MAX_LOCATIONS);
        if location >= locations {
            return Err(SlotError::TooMany { slot, location, locations });
        }
        Ok(Packed::Location(location))
    }

    /// Returns the built-ins or locations of all slots between two stages, in the order of slots.
    ///
    /// # Errors
    /// [`SlotError`] for the first slot that has no location, or the location of another one.
    pub fn pack_all(
        &self,
        slots: impl IntoIterator<Item = VaryingSlot>,
    ) -> Result<Vec<(VaryingSlot, Packed)>, SlotError> {
        let mut slots: Vec<VaryingSlot> = slots.into_iter().collect();
        slots.sort_unstable();
        slots.dedup();
        let mut packed: Vec<(VaryingSlot, Packed)> = Vec::with_capacity(slots.len());
        for slot in slots {
            let place = self.pack(slot)?;
            if let Packed::Location(location) = place
                && let Some((first, _)) = packed.iter().find(|(_, p)| *p == place)
            {
                return Err(SlotError::Clash { first: *first, second: slot, location });
            }
            packed.push((slot, place));
        }
        Ok(packed)
    }
}

#[cfg(test)]
mod tests;
