//! The part of the registry that matters for withheld commands.

use std::collections::{BTreeMap, BTreeSet};

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use roxmltree::{Document, Node};

/// Extensions whose commands the layer cannot withhold, because it cannot copy their arguments or
/// cannot track their effects. The layer hides them.
const HIDDEN: [&str; 7] = [
    "VK_AMDX_shader_enqueue",
    "VK_EXT_descriptor_buffer",
    "VK_EXT_shader_object",
    "VK_INTEL_performance_query",
    "VK_NVX_binary_import",
    "VK_NV_cuda_kernel_launch",
    "VK_NV_device_generated_commands",
];

/// Commands that begin a pass.
const BEGINS: [&str; 3] = ["vkCmdBeginRendering", "vkCmdBeginRenderPass", "vkCmdBeginRenderPass2"];

/// Commands for which the registry does not say what must be copied. `by_hand.rs` has them.
pub const BY_HAND: [&str; 5] = [
    "vkCmdDrawMultiEXT",
    "vkCmdDrawMultiIndexedEXT",
    "vkCmdPushDescriptorSetWithTemplate2KHR",
    "vkCmdPushDescriptorSetWithTemplateKHR",
    "vkCmdSetSampleMaskEXT",
];

/// Commands that Vulkan 1.4 has under the same name without `KHR`.
const PROMOTED: [&str; 10] = [
    "vkCmdBindDescriptorSets2KHR",
    "vkCmdBindIndexBuffer2KHR",
    "vkCmdPushConstants2KHR",
    "vkCmdPushDescriptorSet2KHR",
    "vkCmdPushDescriptorSetKHR",
    "vkCmdPushDescriptorSetWithTemplate2KHR",
    "vkCmdPushDescriptorSetWithTemplateKHR",
    "vkCmdSetLineStippleKHR",
    "vkCmdSetRenderingAttachmentLocationsKHR",
    "vkCmdSetRenderingInputAttachmentIndicesKHR",
];

/// A parameter of a command, or a member of a structure.
pub struct Value {
    /// The name in Rust.
    pub name: String,
    /// The type without `const` and pointers, as in the registry.
    pub ty: String,
    pub pointers: usize,
    pub is_const: bool,
    /// The number of elements of a fixed array.
    pub array: Option<usize>,
    /// The member or parameter with the number of elements of the pointer, or `null-terminated`.
    pub len: Option<String>,
}

pub struct Structure {
    pub members: Vec<Value>,
    /// The value of `sType` in Rust, if the structure has one.
    pub s_type: Option<String>,
}

pub struct Function {
    /// `vkCmdDraw`.
    pub name: String,
    /// Other names of the same command.
    pub aliases: Vec<String>,
    /// Without the command buffer.
    pub parameters: Vec<Value>,
}

pub struct Registry {
    /// Sorted by name.
    pub commands: Vec<Function>,
    /// Structures that are reachable from parameters or in chains, and contain pointers.
    pub structures: BTreeMap<String, Structure>,
    /// Device extensions that are not [`HIDDEN`].
    pub extensions: BTreeSet<String>,
    /// Every command that is recorded, inside or outside of passes, by all its names.
    pub names: BTreeSet<String>,
}

fn is_vulkan(node: Node<'_, '_>) -> bool {
    let api = node.attribute("api").or_else(|| node.attribute("supported"));
    api.is_none_or(|api| api.split(',').any(|api| api == "vulkan"))
}

pub fn elements<'a, 'i>(
    node: Node<'a, 'i>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name) && is_vulkan(*child))
}

pub fn text_of<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    elements(node, name).next().and_then(|child| child.text()).unwrap_or_default()
}

impl Value {
    fn new(node: Node<'_, '_>) -> Self {
        let declared: String =
            node.descendants().filter(Node::is_text).filter_map(|text| text.text()).collect();
        let array = declared.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Self {
            name: snake(text_of(node, "name")),
            ty: text_of(node, "type").to_owned(),
            pointers: declared.matches('*').count(),
            is_const: declared.starts_with("const "),
            array: array.and_then(|(count, _)| count.parse().ok()),
            len: node.attribute("len").map(|len| len.split(',').next().unwrap().to_owned()),
        }
    }
}

impl Registry {
    pub fn new(document: &Document<'_>) -> Self {
        let root = document.root_element();
        let available = available_commands(root);
        let all: Vec<_> = elements(root, "commands").flat_map(|c| elements(c, "command")).collect();
        let mut aliases: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for command in &all {
            if let (Some(name), Some(of)) = (command.attribute("name"), command.attribute("alias"))
            {
                aliases.entry(of).or_default().push(name.to_owned());
            }
        }
        let mut commands: Vec<Function> = all
            .iter()
            .filter(|command| command.attribute("alias").is_none())
            .filter_map(|command| {
                let name = text_of(elements(*command, "proto").next()?, "name");
                let stands_inside =
                    matches!(command.attribute("renderpass"), Some("inside" | "both"));
                let is_known =
                    available.contains(name) && (stands_inside || BEGINS.contains(&name));
                is_known.then(|| Function {
                    name: name.to_owned(),
                    aliases: aliases.remove(name).unwrap_or_default(),
                    parameters: elements(*command, "param").skip(1).map(Value::new).collect(),
                })
            })
            .collect();
        for command in &mut commands {
            if PROMOTED.contains(&command.name.as_str()) {
                command.aliases.push(command.name.trim_end_matches("KHR").to_owned());
            }
        }
        commands.sort_by(|a, b| a.name.cmp(&b.name));
        let structures = structures(root, &commands);
        let extensions = extensions(root)
            .filter(|extension| extension.attribute("type") == Some("device"))
            .filter_map(|extension| extension.attribute("name").map(str::to_owned))
            .collect();
        let names = available.iter().filter(|name| name.starts_with("vkCmd")).copied();
        let promoted = PROMOTED.iter().map(|name| name.trim_end_matches("KHR"));
        let names = names.chain(promoted).map(str::to_owned).collect();
        Self { commands, structures, extensions, names }
    }
}

/// Returns the extensions that are not [`HIDDEN`] and do not depend on one that is.
fn extensions<'a, 'i>(root: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    let extensions = elements(root, "extensions").flat_map(|e| elements(e, "extension"));
    extensions.filter(|extension| {
        let name = extension.attribute("name").unwrap_or_default();
        let depends = extension.attribute("depends").unwrap_or_default();
        !std::iter::once(name).chain(depends.split('+')).any(|name| HIDDEN.contains(&name))
    })
}

/// Returns the commands of the core versions and of those extensions.
fn available_commands<'a>(root: Node<'a, '_>) -> BTreeSet<&'a str> {
    let features = elements(root, "feature");
    let requires = features.chain(extensions(root)).flat_map(|node| elements(node, "require"));
    // Commands that exist only together with a hidden extension.
    let requires = requires.filter(|require| {
        let depends = require.attribute("depends").unwrap_or_default();
        !HIDDEN.iter().any(|hidden| depends.contains(hidden))
    });
    requires.flat_map(|r| elements(r, "command")).filter_map(|c| c.attribute("name")).collect()
}

/// Returns the structures with pointers that are reachable from commands.
fn structures(root: Node<'_, '_>, commands: &[Function]) -> BTreeMap<String, Structure> {
    let types = elements(root, "types").flat_map(|types| elements(types, "type"));
    let nodes: BTreeMap<&str, Node<'_, '_>> = types
        .filter(|ty| matches!(ty.attribute("category"), Some("struct" | "union")))
        .filter_map(|ty| Some((ty.attribute("name")?, ty)))
        .collect();
    let named = |name: &str| {
        let node = nodes.get(name)?;
        node.attribute("alias").map_or(Some(*node), |alias| nodes.get(alias).copied())
    };
    let mut extending: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, node) in nodes.iter().filter(|(_, node)| node.attribute("alias").is_none()) {
        let extended = node.attribute("structextends").unwrap_or_default();
        for base in extended.split(',').filter_map(named) {
            extending.entry(base.attribute("name").unwrap().to_owned()).or_default().push(name);
        }
    }
    let mut open: Vec<String> =
        commands.iter().flat_map(|c| c.parameters.iter().map(|p| p.ty.clone())).collect();
    let mut seen = BTreeSet::new();
    let mut reached = BTreeMap::new();
    while let Some(name) = open.pop() {
        let Some(node) = named(&name) else { continue };
        let name = node.attribute("name").unwrap().to_owned();
        if !seen.insert(name.clone()) {
            continue;
        }
        let members: Vec<Value> = elements(node, "member").map(Value::new).collect();
        open.extend(members.iter().map(|member| member.ty.clone()));
        open.extend(extending.get(&name).into_iter().flatten().map(|name| (*name).to_owned()));
        let s_type = elements(node, "member").find_map(|member| member.attribute("values"));
        let s_type = s_type.map(|value| value.trim_start_matches("VK_STRUCTURE_TYPE_").to_owned());
        reached.insert(name, Structure { members, s_type });
    }
    // First structures that contain pointers, then structures that contain such a structure.
    let mut found = BTreeMap::new();
    loop {
        let has_pointers = |structure: &Structure| {
            let mut members = structure.members.iter();
            members.any(|member| member.pointers > 0 || found.contains_key(&member.ty))
        };
        let more: Vec<String> = reached
            .iter()
            .filter(|(_, structure)| has_pointers(structure))
            .map(|(name, _)| name.clone())
            .collect();
        if more.is_empty() {
            return found;
        }
        for name in more {
            let structure = reached.remove(&name).unwrap();
            found.insert(name, structure);
        }
    }
}

/// Returns the name of a member or parameter in ash.
fn snake(name: &str) -> String {
    match name.to_snake_case().as_str() {
        "type" => "ty".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the name of the function for a command: without the prefix.
pub fn function_name(command: &str) -> String {
    command.trim_start_matches("vkCmd").to_snake_case()
}

/// Returns the name of the type for a command: without the prefix.
pub fn type_name(command: &str) -> String {
    command.trim_start_matches("vkCmd").to_upper_camel_case()
}
