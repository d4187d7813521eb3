//! The sizes of structures that may be in the chain of `VkDeviceCreateInfo`.
//!
//! They come from the newest registry, not from that of ash: programs may chain newer structures,
//! and the layer cannot change structures after one that it cannot copy. Nearly all members are
//! booleans, so their size is known without a declaration.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use roxmltree::{Document, Node};

use super::model::{elements, text_of};

/// Types of members of 4 bytes, in addition to the enumerations and flags with these endings.
const WORDS: [&str; 2] = ["VkBool32", "uint32_t"];

pub fn sizes(document: &Document<'_>) -> String {
    let root = document.root_element();
    let values = values(root);
    let types = elements(root, "types").flat_map(|types| elements(types, "type"));
    let mut words: BTreeMap<i64, (String, usize)> = BTreeMap::new();
    for ty in types.filter(|ty| ty.attribute("alias").is_none()) {
        let extended = ty.attribute("structextends").unwrap_or_default();
        if !extended.split(',').any(|name| name == "VkDeviceCreateInfo") {
            continue;
        }
        let members: Vec<_> = elements(ty, "member").collect();
        let s_type = members[0].attribute("values").unwrap();
        // Structures that exist only in another API, such as Vulkan SC, have no value here.
        let Some(value) = values.get(s_type) else { continue };
        let of_words = members[2..].iter().all(|member| {
            let name = text_of(*member, "type");
            let text: String = member.descendants().filter_map(|node| node.text()).collect();
            let is_word = WORDS.contains(&name)
                || (name.contains("Flags") && !name.contains("Flags2"))
                || name.contains("Behavior");
            is_word && !text.contains(['*', '['])
        });
        if of_words {
            let name = ty.attribute("name").unwrap().to_owned();
            words.insert(*value, (name, members.len() - 2));
        }
    }
    let mut out = format!(
        "// Generated from the registry of Vulkan 1.4.{} by tests/registry. Changes belong there.\n\n\
         /// Structures in the chain of `VkDeviceCreateInfo` that consist of words of 4 bytes: the value of\n\
         /// `sType`, sorted, and the number of words after `pNext`.\n\
         pub(super) const WORDS: &[(i32, usize)] = &[\n",
        version(root)
    );
    for (value, (name, count)) in words {
        writeln!(out, "    ({value}, {count}), // {name}").unwrap();
    }
    out.push_str("];\n");
    out
}

/// `VK_HEADER_VERSION`
fn version(root: Node<'_, '_>) -> String {
    let types = elements(root, "types").flat_map(|types| elements(types, "type"));
    let mut versions = types.filter(|ty| text_of(*ty, "name") == "VK_HEADER_VERSION");
    let node = versions.next().unwrap();
    node.children().next_back().and_then(|text| text.text()).unwrap().trim().to_owned()
}

/// Returns the values of `VkStructureType`.
fn values<'a>(root: Node<'a, '_>) -> BTreeMap<&'a str, i64> {
    let mut values = BTreeMap::new();
    let named = elements(root, "enums").filter(|e| e.attribute("name") == Some("VkStructureType"));
    for value in named.flat_map(|enums| elements(enums, "enum")) {
        if let (Some(name), Some(value)) = (value.attribute("name"), value.attribute("value")) {
            values.insert(name, value.parse().unwrap());
        }
    }
    let extensions = elements(root, "extensions").flat_map(|e| elements(e, "extension"));
    for node in elements(root, "feature").chain(extensions) {
        for value in elements(node, "require").flat_map(|require| elements(require, "enum")) {
            if value.attribute("extends") != Some("VkStructureType") {
                continue;
            }
            let Some(name) = value.attribute("name") else { continue };
            if let Some(value) = value.attribute("value") {
                values.insert(name, value.parse().unwrap());
            } else if let Some(offset) = value.attribute("offset") {
                let number = value.attribute("extnumber").or_else(|| node.attribute("number"));
                let number: i64 = number.unwrap().parse().unwrap();
                let offset: i64 = offset.parse().unwrap();
                values.insert(name, 1_000_000_000 + (number - 1) * 1000 + offset);
            }
        }
    }
    values
}
