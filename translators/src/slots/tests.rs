//! Tests the slots against lists of names, locations and built-ins.

use std::collections::HashMap;

use super::*;

/// Returns the names in the order of Mesa's enum. TEX0-7 and VAR0-31 are generated.
fn names() -> Vec<String> {
    let list = |prefix: &str, n: u32| (0..n).map(|i| format!("{prefix}{i}")).collect();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let parts: [Vec<String>; 4] = [
        words("POS COL0 COL1 FOGC"),
        list("TEX", 8),
        words(
            "PSIZ BFC0 BFC1 EDGE CLIP_VERTEX CLIP_DIST0 CLIP_DIST1 CULL_DIST0 CULL_DIST1 \
             PRIMITIVE_ID LAYER VIEWPORT FACE PNTC TESS_LEVEL_OUTER TESS_LEVEL_INNER \
             BOUNDING_BOX0 BOUNDING_BOX1 VIEW_INDEX VIEWPORT_MASK",
        ),
        list("VAR", 32),
    ];
    parts.concat()
}

fn named(name: &str) -> VaryingSlot {
    VaryingSlot::ALL.into_iter().find(|slot| slot.name() == name).unwrap()
}

#[test]
fn names_and_order_are_mesas() {
    let found: Vec<_> = VaryingSlot::ALL.iter().map(|slot| slot.name()).collect();
    assert_eq!(found, names());
    for (index, slot) in (0..).zip(VaryingSlot::ALL) {
        assert_eq!(slot.index(), index);
        assert_eq!(VaryingSlot::from_index(index), Some(slot));
    }
    assert_eq!(VaryingSlot::from_index(64), None);
    assert_eq!(VaryingSlot::Var0.index(), 32);
    assert_eq!(VaryingSlot::var(31), Some(VaryingSlot::Var31));
    assert_eq!([VaryingSlot::var(32), VaryingSlot::var(u32::MAX)], [None; 2]);
    assert_eq!(VaryingSlot::ClipDist0.to_string(), "VARYING_SLOT_CLIP_DIST0");
}

/// Compares every slot with the lists of reserved locations and of built-ins.
#[test]
fn every_slot_goes_where_the_list_says() {
    let reserved = "COL0 0, COL1 1, FOGC 2, BFC0 3, BFC1 4, EDGE 5, CLIP_VERTEX 6, \
                    BOUNDING_BOX0 7, BOUNDING_BOX1 8, VIEW_INDEX 9, VIEWPORT_MASK 10";
    let built_ins = "POS Position 0, PSIZ PointSize 0, CLIP_DIST0 ClipDistance 0, \
                     CLIP_DIST1 ClipDistance 4, CULL_DIST0 CullDistance 0, \
                     CULL_DIST1 CullDistance 4, PRIMITIVE_ID PrimitiveId 0, LAYER Layer 0, \
                     VIEWPORT ViewportIndex 0, FACE FrontFacing 0, PNTC PointCoord 0, \
                     TESS_LEVEL_OUTER TessLevelOuter 0, TESS_LEVEL_INNER TessLevelInner 0";
    let mut expected: HashMap<String, String> = HashMap::new();
    for entry in reserved.split(", ").chain(built_ins.split(", ")) {
        let (slot, place) = entry.split_once(' ').unwrap();
        assert!(expected.insert(slot.to_owned(), place.to_owned()).is_none(), "{slot}");
    }
    for n in 0..21 {
        expected.insert(format!("VAR{n}"), (11 + n).to_string());
    }
    for n in 0..8 {
        expected.insert(format!("TEX{n}"), (11 + n).to_string());
    }
    for slot in VaryingSlot::ALL {
        let found = Packing::default().pack(slot).ok().map(|packed| match packed {
            Packed::BuiltIn { built_in, first_element } => {
                format!("{built_in:?} {first_element}")
            }
            Packed::Location(location) => location.to_string(),
        });
        assert_eq!(found.as_ref(), expected.get(slot.name()), "{slot}");
    }
    assert_eq!(expected.len(), 64 - 11, "VAR21 to VAR31 have no place");
}

#[test]
fn no_two_slots_share_a_place() {
    let is_tex = |slot: VaryingSlot| slot.name().starts_with("TEX");
    for multiview in [false, true] {
        let packing = Packing { multiview, ..Packing::default() };
        let mut taken: HashMap<Packed, VaryingSlot> = HashMap::new();
        for slot in VaryingSlot::ALL.into_iter().filter(|slot| !is_tex(*slot)) {
            let Ok(place) = packing.pack(slot) else { continue };
            assert_eq!(taken.insert(place, slot), None, "{slot}");
        }
        let locations = taken.keys().filter(|p| matches!(p, Packed::Location(_))).count();
        assert_eq!(locations, if multiview { 31 } else { 32 });
    }
}

#[test]
fn view_index_is_a_built_in_with_multiview() {
    let packing = Packing { multiview: true, ..Packing::default() };
    let expected = Packed::BuiltIn { built_in: BuiltIn::ViewIndex, first_element: 0 };
    assert_eq!(packing.pack(VaryingSlot::ViewIndex), Ok(expected));
    // The location of `VIEW_INDEX` stays reserved, so that stages without multiview assign the same
    // locations.
    assert_eq!(packing.pack(VaryingSlot::Var0), Ok(Packed::Location(11)));
    assert_eq!(packing.pack(VaryingSlot::ViewportMask), Ok(Packed::Location(10)));
}

#[test]
fn what_does_not_fit_is_an_error_that_says_so() {
    let error = Packing::default().pack(VaryingSlot::Var21).unwrap_err();
    assert_eq!(
        error.to_string(),
        "VARYING_SLOT_VAR21 needs location 32: of 32 locations the first 11 are reserved, and \
         21 left for generic slots"
    );
    for max_locations in 0..=40 {
        let packing = Packing { max_locations, multiview: false };
        let fitting = (0..32).filter(|n| packing.pack(VaryingSlot::var(*n).unwrap()).is_ok());
        assert_eq!(fitting.count() as u32, generic_locations(max_locations));
        for slot in VaryingSlot::ALL {
            let fits = match Packing::default().pack(slot) {
                Ok(Packed::BuiltIn { .. }) => true,
                Ok(Packed::Location(location)) => location < max_locations,
                Err(_) => false,
            };
            assert_eq!(packing.pack(slot).is_ok(), fits, "{slot} of {max_locations}");
        }
    }
    assert_eq!([16, 31, 32, 33, 5].map(generic_locations), [5, 20, 21, 21, 0]);
    let few = Packing { max_locations: 16, multiview: false };
    assert_eq!(
        few.pack_all([named("VAR4"), named("VAR5")]),
        Err(SlotError::TooMany { slot: VaryingSlot::Var5, location: 16, locations: 16 })
    );
}

#[test]
fn texture_coordinates_arrive_as_generic_slots() {
    for n in 0..8 {
        let [tex, var] = [named(&format!("TEX{n}")), named(&format!("VAR{n}"))];
        assert_eq!((tex.generic(), var.generic()), (Some(n), Some(n)));
        let packing = Packing::default();
        assert_eq!(packing.pack(tex), packing.pack(var));
        let clash = SlotError::Clash { first: tex, second: var, location: 11 + n };
        assert_eq!(packing.pack_all([var, tex]), Err(clash));
    }
    assert_eq!(VaryingSlot::Fogc.generic(), None);
    assert_eq!(VaryingSlot::Psiz.generic(), None);
    assert_eq!(VaryingSlot::ViewportMask.generic(), None);
}

#[test]
fn an_interface_is_packed_in_the_order_of_slots() {
    use VaryingSlot::{ClipDist1, Col1, Pos, Var2};
    let packed = Packing::default().pack_all([Var2, Col1, Pos, ClipDist1, Col1]).unwrap();
    let clip = Packed::BuiltIn { built_in: BuiltIn::ClipDistance, first_element: 4 };
    let position = Packed::BuiltIn { built_in: BuiltIn::Position, first_element: 0 };
    assert_eq!(
        packed,
        [
            (Pos, position),
            (Col1, Packed::Location(1)),
            (ClipDist1, clip),
            (Var2, Packed::Location(13))
        ]
    );
}

#[test]
fn a_place_leads_back_to_its_slot() {
    for slot in VaryingSlot::ALL {
        match Packing::default().pack(slot) {
            Ok(Packed::BuiltIn { built_in, first_element }) => {
                for element in first_element..first_element + 4 {
                    assert_eq!(VaryingSlot::of_built_in(built_in, element), Some(slot));
                }
            }
            Ok(Packed::Location(location)) => {
                let var = slot.generic().and_then(VaryingSlot::var);
                assert_eq!(VaryingSlot::at_location(location), Some(var.unwrap_or(slot)));
            }
            Err(_) => {}
        }
    }
    assert_eq!(VaryingSlot::at_location(MAX_LOCATIONS), None);
    assert_eq!(VaryingSlot::of_built_in(BuiltIn::ClipDistance, 8), None);
    assert_eq!(VaryingSlot::of_built_in(BuiltIn::VertexIndex, 0), None);
}
