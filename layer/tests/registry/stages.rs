//! Generates the tables of stages and accesses for the tests of `translate`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use roxmltree::{Document, Node};

use super::model::Registry;

fn named<'a, 'i>(root: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    root.descendants().filter(move |node| node.has_tag_name(name))
}

fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort();
    values
}

pub fn table(document: &Document<'_>, registry: &Registry<'_, '_>) -> String {
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
    // `NONE` is left out, because it is not a bit.
    let bit = |node: Node<'_, '_>| bits.get(node.attribute("name").unwrap()).copied();
    let stages = sorted(named(root, "syncstage").filter_map(bit));
    let equivalent = sorted(
        named(root, "syncstage")
            .filter_map(|stage| Some((bit(stage)?, child(stage, "syncequivalent", "stage")?))),
    );
    let accesses = sorted(
        named(root, "syncaccess")
            .filter_map(|a| Some((bit(a)?, child(a, "syncsupport", "stage").unwrap_or(0)))),
    );
    let pipeline = named(root, "syncpipeline")
        .find(|pipeline| pipeline.attribute("name") == Some("graphics primitive"));
    let order =
        named(pipeline.unwrap(), "syncpipelinestage").map(|stage| bits[stage.text().unwrap()]);

    let mut out = format!(
        "// Generated from the registry of Vulkan 1.4.{} by tests/registry. Changes belong there.\n\n\
         //! The specification's tables of\n\
         //! [stages](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-pipeline-stages)\n\
         //! and\n\
         //! [accesses](https://docs.vulkan.org/spec/latest/chapters/synchronization.html#synchronization-access-types-supported).\n",
        registry.version
    );
    let mut list = |doc: &str, name: &str, ty: &str, rows: Vec<String>| {
        writeln!(out, "\n/// {doc}\npub const {name}: &[{ty}] = &[").unwrap();
        for row in rows {
            writeln!(out, "    {row},").unwrap();
        }
        out.push_str("];\n");
    };
    let one = |bit: u64| format!("{bit:#x}");
    let pair = |(bit, others): (u64, u64)| format!("({bit:#x}, {others:#x})");
    list("Every bit of a stage mask.", "STAGES", "u64", stages.into_iter().map(one).collect());
    list(
        "Stages that stand for a set of stages, each with that set.",
        "EQUIVALENT",
        "(u64, u64)",
        equivalent.into_iter().map(pair).collect(),
    );
    list(
        "Stages of the graphics pipeline with vertex shaders, in their logical order.",
        "PRIMITIVE",
        "u64",
        order.map(one).collect(),
    );
    list(
        "Each access, with the stages that support it; 0 if all stages support it.",
        "ACCESSES",
        "(u64, u64)",
        accesses.into_iter().map(pair).collect(),
    );
    out
}
