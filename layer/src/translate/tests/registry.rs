//! Compares the tables of this module with the Vulkan registry. `VKXFB_VK_XML=FILE` says where its
//! file `vk.xml` is. Without the variable the tests pass.

use std::collections::{BTreeMap, BTreeSet};

use roxmltree::{Document, Node};

use super::super::sizes;
use super::table::{ACCESSES, EQUIVALENT, PRIMITIVE, STAGES};

fn registry() -> Option<String> {
    let Some(file) = std::env::var_os("VKXFB_VK_XML") else {
        eprintln!("skipped: VKXFB_VK_XML does not name a vk.xml");
        return None;
    };
    Some(std::fs::read_to_string(file).unwrap())
}

fn named<'a, 'i>(root: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    root.descendants().filter(move |node| node.has_tag_name(name))
}

#[test]
fn the_tables_are_those_of_the_registry() {
    let Some(text) = registry() else { return };
    let document = Document::parse(&text).unwrap();
    let root = document.root_element();
    let bits: BTreeMap<&str, u64> = named(root, "enum")
        .filter_map(|bit| {
            Some((bit.attribute("name")?, 1 << bit.attribute("bitpos")?.parse::<u32>().ok()?))
        })
        .collect();
    let mask = |list: &str| list.split(',').fold(0, |all, name| all | bits[name]);
    let child = |node: Node<'_, '_>, name: &'static str, attribute: &str| {
        named(node, name).next().and_then(|child| Some(mask(child.attribute(attribute)?)))
    };
    // The flag `NONE` has no bit, and is skipped.
    let bit = |node: Node<'_, '_>| bits.get(node.attribute("name").unwrap()).copied();
    let stages: BTreeSet<u64> = named(root, "syncstage").filter_map(bit).collect();
    assert!(stages.iter().eq(STAGES));
    let equivalent: BTreeSet<(u64, u64)> = named(root, "syncstage")
        .filter_map(|stage| Some((bit(stage)?, child(stage, "syncequivalent", "stage")?)))
        .collect();
    assert!(equivalent.iter().eq(EQUIVALENT));
    let accesses: BTreeSet<(u64, u64)> = named(root, "syncaccess")
        .filter_map(|a| Some((bit(a)?, child(a, "syncsupport", "stage").unwrap_or(0))))
        .collect();
    assert!(accesses.iter().eq(ACCESSES));
    let pipeline = named(root, "syncpipeline")
        .find(|pipeline| pipeline.attribute("name") == Some("graphics primitive"));
    let order: Vec<u64> = named(pipeline.unwrap(), "syncpipelinestage")
        .map(|stage| bits[stage.text().unwrap()])
        .collect();
    assert_eq!(order, PRIMITIVE);
}

/// The layer knows all structures that may be in a chain that it copies.
#[test]
fn chains_are_known() {
    let Some(text) = registry() else { return };
    let document = Document::parse(&text).unwrap();
    let bases = [
        "VkBufferCreateInfo",
        "VkMemoryAllocateInfo",
        "VkPhysicalDeviceExternalBufferInfo",
        "VkSubpassDependency2",
    ];
    let mut extending: Vec<String> = named(document.root_element(), "type")
        .filter(|ty| {
            let extended = ty.attribute("structextends").unwrap_or_default();
            extended.split(',').any(|base| bases.contains(&base))
        })
        .filter_map(|ty| Some(ty.attribute("name")?.trim_start_matches("Vk").to_owned()))
        // These structures exist only in Vulkan SC.
        .filter(|name| !name.contains("SciBuf"))
        .collect();
    extending.sort();
    assert_eq!(extending, sizes::KNOWN);
}
