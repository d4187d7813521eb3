//! Reads the part of the registry that the layer needs.

use std::collections::{BTreeMap, BTreeSet};

use heck::{ToSnakeCase as _, ToUpperCamelCase as _};
use roxmltree::{Document, Node};

use super::ash_types::AshTypes;
use super::extensions::SHOWN;
use super::verdicts::VERDICTS;

/// The commands that begin a pass.
const BEGINS: [&str; 3] = ["vkCmdBeginRendering", "vkCmdBeginRenderPass", "vkCmdBeginRenderPass2"];

/// Commands that are allowed inside of a pass only with `VK_QCOM_tile_shading`, which the layer
/// hides.
const OF_TILES: [&str; 3] = ["vkCmdDispatch", "vkCmdDispatchBase", "vkCmdDispatchIndirect"];

/// The commands for which the registry does not say completely what their arguments point to.
/// `by_hand.rs` copies them.
pub const BY_HAND: [&str; 4] = [
    "vkCmdDrawMultiEXT",
    "vkCmdDrawMultiIndexedEXT",
    "vkCmdPushDescriptorSetWithTemplateKHR",
    "vkCmdSetSampleMaskEXT",
];

/// Structures whose chains the layer copies. So it needs the sizes of all structures that may be in
/// these chains.
const COPIED: [&str; 10] = [
    "VkBufferCreateInfo",
    "VkDependencyInfo",
    "VkDeviceCreateInfo",
    "VkGraphicsPipelineCreateInfo",
    "VkMemoryAllocateInfo",
    "VkPhysicalDeviceExternalBufferInfo",
    "VkPipelineRasterizationStateCreateInfo",
    "VkPipelineShaderStageCreateInfo",
    "VkSamplerCreateInfo",
    "VkSubpassDependency2",
];

/// Other structures that the layer uses, and which ash may not have.
const NEEDED: [&str; 7] = [
    "VkCommandBufferInheritanceDescriptorHeapInfoEXT",
    "VkDescriptorSetAndBindingMappingEXT",
    "VkIndirectCommandsLayoutCreateInfoEXT",
    "VkPhysicalDeviceDescriptorHeapPropertiesEXT",
    "VkPhysicalDeviceDeviceGeneratedCommandsFeaturesEXT",
    "VkPhysicalDeviceDeviceGeneratedCommandsPropertiesEXT",
    "VkPhysicalDeviceMaintenance9PropertiesKHR",
];

/// Commands that are not recorded in passes, for which the layer has hooks, and which ash may not
/// have.
const HOOKED: [&str; 2] =
    ["vkCmdPreprocessGeneratedCommandsEXT", "vkCreateIndirectCommandsLayoutEXT"];

/// Prefixes of commands outside of passes before which captures must be recorded that were deferred past a barrier.
/// Events synchronize captures, too. A barrier for the stage `DRAW_INDIRECT` orders the others, as it orders draws.
const ENDS_DEFERRAL: [&str; 6] = [
    "vkCmdCopyMemoryIndirect",
    "vkCmdCopyMemoryToImageIndirect",
    "vkCmdDispatch",
    "vkCmdResetEvent",
    "vkCmdSetEvent",
    "vkCmdTraceRays",
];

/// A parameter of a command, or a member of a structure.
#[derive(Clone)]
pub struct Value {
    /// The name of the parameter or member in C.
    pub c_name: String,
    /// The name of the parameter or member in Rust.
    pub name: String,
    /// The C type without `const` and pointers. If the type has several names, this is the first
    /// one in the registry.
    pub ty: String,
    pub pointers: usize,
    /// The number of elements, if the value is an array of fixed size.
    pub array: Option<usize>,
    /// For a pointer, the name of the parameter or member that is the number of elements, or
    /// `null-terminated`. `None` if the pointer is to one value.
    pub len: Option<String>,
}

pub struct Structure {
    pub members: Vec<Value>,
    /// The value of `sType`. `None` if the structure has no such member.
    pub s_type: Option<i64>,
}

pub struct Function {
    /// The name of the command, such as `vkCmdDraw`. If there are several, this is the one that ash
    /// has.
    pub name: String,
    /// Other names of the same command.
    pub aliases: Vec<String>,
    /// The parameters, except for the command buffer.
    pub parameters: Vec<Value>,
}

/// A structure or union that ash does not have.
pub struct Newer {
    /// The extension or version of Vulkan that adds the structure.
    pub from: String,
    pub c_name: String,
    pub is_union: bool,
    pub structure: Structure,
}

pub struct Registry<'a, 'i> {
    ash: &'a AshTypes,
    nodes: BTreeMap<&'a str, Node<'a, 'i>>,
    /// Other names of the types, by their first names.
    aliases: BTreeMap<&'a str, Vec<&'a str>>,
    s_types: BTreeMap<&'a str, i64>,
    constants: BTreeMap<&'a str, usize>,
    /// For each structure, the structures that may be in its chain.
    extending: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// For each type, the extension or version of Vulkan that adds it. Types of hidden extensions
    /// are not here.
    from: BTreeMap<&'a str, &'a str>,
    /// `VK_HEADER_VERSION`: the last part of the version of the registry.
    pub version: &'a str,
    /// The commands that begin passes, are allowed in passes, or are in [`ENDS_DEFERRAL`], sorted by name.
    pub commands: Vec<Function>,
    /// The structures that contain pointers, among those that parameters or chains of these
    /// commands reach.
    pub structures: BTreeMap<&'a str, Structure>,
    /// The names, including aliases, of all commands that are recorded, inside or outside of
    /// passes.
    pub names: BTreeSet<&'a str>,
    /// The structures that may be in the chains of [`COPIED`] structures, by the value of `sType`.
    pub chained: BTreeMap<i64, &'a str>,
    /// The structures that the layer needs and ash does not have, sorted by name.
    pub newer: Vec<Newer>,
    /// The commands that ash does not have: the return type and all parameters.
    pub newer_commands: BTreeMap<String, (String, Vec<Value>)>,
    /// Other types that the layer needs and ash does not have, with their definitions in Rust.
    pub newer_types: BTreeMap<String, &'static str>,
}

fn is_vulkan(node: Node<'_, '_>) -> bool {
    let api = node.attribute("api").or_else(|| node.attribute("supported"));
    api.is_none_or(|api| api.split(',').any(|api| api == "vulkan"))
}

fn elements<'a, 'i>(node: Node<'a, 'i>, name: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.has_tag_name(name) && is_vulkan(*child))
}

fn text_of<'a>(node: Node<'a, '_>, name: &'static str) -> &'a str {
    elements(node, name).next().and_then(|child| child.text()).unwrap_or_default()
}

/// Returns the name of a type or command, which is in an attribute or in an element of its
/// declaration.
fn name_of<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("name").unwrap_or_else(|| text_of(node, "name"))
}

fn device_extensions<'a, 'i>(root: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    elements(root, "extensions")
        .flat_map(|e| elements(e, "extension"))
        .filter(|extension| extension.attribute("type") == Some("device"))
}

/// Whether the condition in a `depends` attribute can be true. Device extensions are available only
/// if the layer shows them.
fn is_met(depends: &str, device: &BTreeSet<&str>) -> bool {
    // `,` means or, and `+` means and. They have the same precedence, and parentheses group.
    fn term<'s>(rest: &mut &'s str, is_there: &dyn Fn(&'s str) -> bool) -> bool {
        if let Some(inner) = rest.strip_prefix('(') {
            *rest = inner;
            let met = expression(rest, is_there);
            *rest = rest.strip_prefix(')').expect("a closing parenthesis");
            return met;
        }
        let end = rest.find([',', '+', ')']).unwrap_or(rest.len());
        let (name, others) = rest.split_at(end);
        *rest = others;
        is_there(name)
    }
    fn expression<'s>(rest: &mut &'s str, is_there: &dyn Fn(&'s str) -> bool) -> bool {
        let mut met = term(rest, is_there);
        while let Some(operator) = rest.chars().next().filter(|next| *next != ')') {
            *rest = &rest[1..];
            let other = term(rest, is_there);
            met = if operator == '+' { met && other } else { met || other };
        }
        met
    }
    let mut rest = depends;
    depends.is_empty() || expression(&mut rest, &|name| !device.contains(name) || is_shown(name))
}

fn is_shown(extension: &str) -> bool {
    SHOWN.iter().any(|shown| shown.to_bytes() == extension.as_bytes())
}

impl<'a, 'i> Registry<'a, 'i> {
    pub fn new(document: &'a Document<'i>, ash: &'a AshTypes) -> Self {
        let root = document.root_element();
        let mut this = Self {
            ash,
            nodes: BTreeMap::new(),
            aliases: BTreeMap::new(),
            s_types: s_types(root),
            constants: constants(root),
            extending: BTreeMap::new(),
            from: BTreeMap::new(),
            version: version(root),
            commands: Vec::new(),
            structures: BTreeMap::new(),
            names: BTreeSet::new(),
            chained: BTreeMap::new(),
            newer: Vec::new(),
            newer_commands: BTreeMap::new(),
            newer_types: BTreeMap::new(),
        };
        for ty in elements(root, "types").flat_map(|types| elements(types, "type")) {
            this.nodes.insert(name_of(ty), ty);
            if let Some(alias) = ty.attribute("alias") {
                this.aliases.entry(alias).or_default().push(name_of(ty));
            }
        }
        for (name, node) in &this.nodes {
            if node.attribute("alias").is_none() {
                let extended = node.attribute("structextends").unwrap_or_default();
                for base in extended.split(',').filter(|base| !base.is_empty()) {
                    this.extending.entry(this.first_name(base)).or_default().insert(name);
                }
            }
        }
        let shown: Vec<_> = requirements(root).collect();
        let types = |(from, require): &(&'a str, Node<'a, 'i>)| {
            let from = *from;
            let names = elements(*require, "type").filter_map(|ty| ty.attribute("name"));
            names.map(move |name| (name, from)).collect::<Vec<_>>()
        };
        // A type is attributed to the extension or version that adds its first name, if there is
        // one.
        let types: Vec<_> = shown.iter().flat_map(types).collect();
        for is_first in [true, false] {
            for (name, from) in &types {
                let first = this.first_name(name);
                if !is_first || first == *name {
                    this.from.entry(first).or_insert(from);
                }
            }
        }
        for name in NEEDED {
            this.need(name);
        }
        this.add_commands(root, &shown);
        this.add_structures();
        this.add_chained();
        this
    }

    /// Returns the first name of a type that has several.
    fn first_name(&self, name: &'a str) -> &'a str {
        self.nodes.get(name).and_then(|node| node.attribute("alias")).unwrap_or(name)
    }

    /// Returns the name of a type in Rust. If ash has the type under any of its names, the result
    /// is that name.
    pub fn rust_name(&self, ty: &str) -> String {
        let rust = |name: &str| name.trim_start_matches("Vk").replace("FlagBits", "Flags");
        let others = self.aliases.get(ty).into_iter().flatten().copied();
        let mut names = std::iter::once(ty).chain(others).map(rust);
        names.find(|name| self.ash.has(name)).unwrap_or_else(|| rust(ty))
    }

    /// Whether a type contains pointers. Types of ash then have a lifetime.
    pub fn has_pointers(&self, ty: &str) -> bool {
        let Some((_, node)) = self.aggregate(ty) else { return false };
        let members = self.structure(node).members;
        members.iter().any(|member| member.pointers > 0 || self.has_pointers(&member.ty))
    }

    /// Whether a type has a declaration in Rust.
    pub fn is_declared(&self, ty: &str) -> bool {
        self.is_of_ash(ty)
            || self.newer_types.contains_key(&self.rust_name(ty))
            || self.newer.iter().any(|newer| newer.c_name == ty)
    }

    /// Whether ash declares the `pNext` pointer of a structure as mutable.
    pub fn is_written(&self, ty: &str) -> bool {
        self.ash.is_written(&self.rust_name(ty))
    }

    pub fn is_of_ash(&self, ty: &str) -> bool {
        self.ash.has(&self.rust_name(ty))
    }

    fn value(&self, node: Node<'a, 'i>) -> Value {
        let declared: String = node
            .children()
            .filter(|child| !child.has_tag_name("comment"))
            .flat_map(|child| child.descendants())
            .filter_map(|text| text.is_text().then(|| text.text()).flatten())
            .collect();
        let array = declared.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        let number = |count: &str| {
            let constant = || self.constants.get(count).copied();
            count.parse().ok().or_else(constant)
        };
        let c_name = text_of(node, "name").to_owned();
        Value {
            name: match c_name.to_snake_case().as_str() {
                "type" => "ty".to_owned(),
                other => other.to_owned(),
            },
            c_name,
            ty: self.first_name(text_of(node, "type")).to_owned(),
            pointers: declared.matches('*').count(),
            array: array.and_then(|(count, _)| number(count)),
            len: node.attribute("len").map(|len| len.split(',').next().unwrap().to_owned()),
        }
    }

    fn structure(&self, node: Node<'a, 'i>) -> Structure {
        let members = elements(node, "member").map(|member| self.value(member)).collect();
        let s_type = elements(node, "member").find_map(|member| member.attribute("values"));
        Structure { members, s_type: s_type.and_then(|name| self.s_types.get(name).copied()) }
    }

    /// Returns a structure or union, and its first name. `None` if the type is neither.
    fn aggregate(&self, name: &str) -> Option<(&'a str, Node<'a, 'i>)> {
        let (name, _) = self.nodes.get_key_value(name)?;
        let name = self.first_name(name);
        let node = *self.nodes.get(name)?;
        matches!(node.attribute("category"), Some("struct" | "union")).then_some((name, node))
    }

    /// Adds the commands that begin passes, are allowed in passes, or are in [`ENDS_DEFERRAL`], and the names of all
    /// recorded commands.
    fn add_commands(&mut self, root: Node<'a, 'i>, shown: &[(&'a str, Node<'a, 'i>)]) {
        let available: BTreeSet<&str> = shown
            .iter()
            .flat_map(|(_, require)| elements(*require, "command"))
            .filter_map(|command| command.attribute("name"))
            .collect();
        let all: Vec<_> = elements(root, "commands").flat_map(|c| elements(c, "command")).collect();
        let mut aliases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for command in &all {
            if let Some(of) = command.attribute("alias") {
                aliases.entry(of).or_default().push(command.attribute("name").unwrap());
            }
        }
        let mut unjudged = Vec::new();
        for command in all.iter().filter(|command| command.attribute("alias").is_none()) {
            let Some(proto) = elements(*command, "proto").next() else { continue };
            let first = text_of(proto, "name");
            if HOOKED.contains(&first) {
                self.add_newer_command(first, *command);
            }
            let mut names = vec![first];
            names.extend(aliases.remove(first).unwrap_or_default());
            if !first.starts_with("vkCmd") || !names.iter().any(|name| available.contains(name)) {
                continue;
            }
            self.names.extend(names.iter().copied().filter(|name| available.contains(name)));
            if !VERDICTS.iter().any(|(_, commands)| commands.contains(&first)) {
                unjudged.push(format!(
                    "{first}: {}, renderpass: {}",
                    command.attribute("tasks").unwrap_or_default(),
                    command.attribute("renderpass").unwrap_or("outside"),
                ));
            }
            let stands_inside = matches!(command.attribute("renderpass"), Some("inside" | "both"))
                && !OF_TILES.contains(&first);
            let ends_deferral = ENDS_DEFERRAL.iter().any(|prefix| first.starts_with(prefix));
            if !stands_inside && !ends_deferral && !BEGINS.contains(&first) {
                continue;
            }
            assert_eq!(text_of(proto, "type"), "void", "{first} returns something");
            let of_ash = names.iter().position(|name| self.ash.has(&format!("PFN_{name}")));
            let name = names.remove(of_ash.unwrap_or(0));
            if of_ash.is_none() {
                self.add_newer_command(name, *command);
            }
            let parameters = elements(*command, "param").skip(1).map(|p| self.value(p)).collect();
            let aliases = names.into_iter().map(str::to_owned).collect();
            self.commands.push(Function { name: name.to_owned(), aliases, parameters });
        }
        let recorded = |command: &&str| self.names.iter().any(|name| name == command);
        let gone: Vec<_> = VERDICTS
            .iter()
            .flat_map(|(_, all)| *all)
            .filter(|command| !recorded(command))
            .collect();
        assert!(gone.is_empty(), "src/registry has no such commands: {gone:?}");
        assert!(
            unjudged.is_empty(),
            "say in tests/registry/verdicts.rs what the layer does with\n{}",
            unjudged.join("\n")
        );
        self.commands.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn add_newer_command(&mut self, name: &str, command: Node<'a, 'i>) {
        let returns = elements(command, "proto").next().map(|proto| text_of(proto, "type"));
        let parameters: Vec<_> = elements(command, "param").map(|p| self.value(p)).collect();
        for parameter in &parameters {
            self.need(&parameter.ty);
        }
        let command = (returns.unwrap_or_default().to_owned(), parameters);
        self.newer_commands.insert(name.to_owned(), command);
    }

    /// Whether a structure belongs to a core version or to an extension that the layer shows.
    fn is_available(&self, name: &str) -> bool {
        self.from.contains_key(name)
    }

    /// Adds the structures that parameters of commands reach, through pointers, members or chains.
    fn add_structures(&mut self) {
        let parameters = self.commands.iter().flat_map(|command| &command.parameters);
        let mut open: Vec<String> = parameters.map(|parameter| parameter.ty.clone()).collect();
        for ty in &open.clone() {
            self.need(ty);
        }
        let mut reached = BTreeMap::new();
        while let Some(name) = open.pop() {
            let Some((name, node)) = self.aggregate(&name) else { continue };
            if reached.contains_key(name) {
                continue;
            }
            let structure = self.structure(node);
            open.extend(structure.members.iter().map(|member| member.ty.clone()));
            let more = self.extending.get(name).into_iter().flatten();
            open.extend(more.filter(|n| self.is_available(n)).map(|name| (*name).to_owned()));
            reached.insert(name, structure);
        }
        for name in reached.keys() {
            self.need(name);
        }
        // The first iteration finds structures that contain pointers, and the others find
        // structures that contain such a structure.
        loop {
            let has_pointers = |structure: &Structure| {
                let mut members = structure.members.iter();
                members.any(|member| {
                    member.pointers > 0 || self.structures.contains_key(member.ty.as_str())
                })
            };
            let more: Vec<&str> = reached
                .iter()
                .filter(|(_, structure)| has_pointers(structure))
                .map(|(name, _)| *name)
                .collect();
            if more.is_empty() {
                break;
            }
            for name in more {
                let structure = reached.remove(name).unwrap();
                self.structures.insert(name, structure);
            }
        }
        self.newer.sort_by(|a, b| a.c_name.cmp(&b.c_name));
    }

    /// Adds the structures that may be in chains that the layer copies.
    fn add_chained(&mut self) {
        let all: BTreeSet<&str> =
            COPIED.iter().flat_map(|base| self.extending[base].iter().copied()).collect();
        for name in all {
            let structure = self.structure(self.nodes[name]);
            // Structures that exist only in another API, such as Vulkan SC, have no `sType` in this
            // registry.
            let Some(s_type) = structure.s_type else { continue };
            // Features of hidden extensions are kept, because a program may have them in a chain.
            if !self.is_available(name) && self.words(name).is_none() {
                continue;
            }
            if self.words(name).is_none() {
                self.need(name);
            }
            self.chained.insert(s_type, name);
        }
        self.newer.sort_by(|a, b| a.c_name.cmp(&b.c_name));
    }

    /// Returns the number of words of 4 bytes after `pNext`. `None` if the structure contains
    /// anything else.
    pub fn words(&self, name: &str) -> Option<usize> {
        let structure = self.structure(self.nodes[name]);
        let members = structure.members.get(2..)?;
        let is_word = |member: &Value| {
            let is_32 = matches!(member.ty.as_str(), "VkBool32" | "uint32_t");
            let is_enumeration = member.ty.starts_with("Vk") && self.type_of(&member.ty) != "u64";
            let is_value = matches!(self.type_of(&member.ty), "u32" | "i32");
            member.pointers == 0 && member.array.is_none() && (is_32 || is_enumeration && is_value)
        };
        members.iter().all(is_word).then_some(members.len())
    }

    /// Returns the definition in Rust of a type that is not a structure.
    fn type_of(&self, name: &str) -> &'static str {
        let Some(node) = self.nodes.get(name) else { return "c_void" };
        let declared: String = node.descendants().filter_map(|node| node.text()).collect();
        match node.attribute("category") {
            Some("bitmask") if declared.contains("VkFlags64") => "u64",
            Some("bitmask") => "u32",
            Some("enum") if name.contains("FlagBits2") || name.contains("FlagBits3") => "u64",
            Some("enum") if name.contains("FlagBits") => "u32",
            Some("enum") => "i32",
            Some("handle") if declared.contains("NON_DISPATCHABLE") => "u64",
            Some("basetype") if declared.contains("uint64_t") => "u64",
            Some("basetype") if declared.contains("uint32_t") => "u32",
            Some("struct" | "union") => "struct",
            _ => "c_void",
        }
    }

    /// Adds a type that ash does not have, and the types of its members.
    fn need(&mut self, name: &str) {
        if !name.starts_with("Vk") || self.is_of_ash(name) {
            return;
        }
        let Some((name, node)) = self.aggregate(name) else {
            self.newer_types.insert(self.rust_name(name), self.type_of(name));
            return;
        };
        if self.newer.iter().any(|newer| newer.c_name == name) {
            return;
        }
        let structure = self.structure(node);
        let is_contained = |member: &&Value| member.pointers == 0;
        let contained = structure.members.iter().filter(is_contained);
        let types: Vec<_> = contained.map(|member| member.ty.clone()).collect();
        let from = self.from.get(name).copied().unwrap_or_default().to_owned();
        let is_union = node.attribute("category") == Some("union");
        self.newer.push(Newer { from, c_name: name.to_owned(), is_union, structure });
        for ty in types {
            self.need(&ty);
        }
    }
}

/// Returns the `require` elements of the core versions and of the extensions that the layer shows,
/// with the names of these versions and extensions.
fn requirements<'a, 'i>(root: Node<'a, 'i>) -> impl Iterator<Item = (&'a str, Node<'a, 'i>)> {
    let device: BTreeSet<&str> =
        device_extensions(root).filter_map(|e| e.attribute("name")).collect();
    let features = elements(root, "feature").collect::<Vec<_>>();
    // The layer does not hide instance extensions.
    let extensions = elements(root, "extensions").flat_map(|e| elements(e, "extension"));
    let shown = extensions.filter({
        let device = device.clone();
        move |e| e.attribute("name").is_some_and(|name| !device.contains(name) || is_shown(name))
    });
    features.into_iter().chain(shown).flat_map(move |node| {
        let name = node.attribute("name").unwrap_or_default();
        let depends = node.attribute("depends").unwrap_or_default();
        assert!(is_met(depends, &device), "{name} is shown, and what it depends on is hidden");
        let requires: Vec<_> = elements(node, "require")
            .filter(|r| is_met(r.attribute("depends").unwrap_or_default(), &device))
            .map(|require| (name, require))
            .collect();
        requires
    })
}

/// Returns the names of the device extensions of the registry.
pub fn extensions<'a>(document: &'a Document<'_>) -> BTreeSet<&'a str> {
    device_extensions(document.root_element()).filter_map(|e| e.attribute("name")).collect()
}

/// Returns `VK_HEADER_VERSION`.
fn version<'a>(root: Node<'a, '_>) -> &'a str {
    let types = elements(root, "types").flat_map(|types| elements(types, "type"));
    let mut versions = types.filter(|ty| text_of(*ty, "name") == "VK_HEADER_VERSION");
    let node = versions.next().unwrap();
    node.children().next_back().and_then(|text| text.text()).unwrap().trim()
}

fn constants<'a>(root: Node<'a, '_>) -> BTreeMap<&'a str, usize> {
    let named = elements(root, "enums").filter(|e| e.attribute("name") == Some("API Constants"));
    named
        .flat_map(|enums| elements(enums, "enum"))
        .filter_map(|e| Some((e.attribute("name")?, e.attribute("value")?.parse().ok()?)))
        .collect()
}

/// Returns the values of `VkStructureType`.
fn s_types<'a>(root: Node<'a, '_>) -> BTreeMap<&'a str, i64> {
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

/// Returns the name of the Rust function for a command: without `vkCmd`, in snake case.
pub fn function_name(command: &str) -> String {
    command.trim_start_matches("vkCmd").to_snake_case()
}

/// Returns the name of the Rust type for a command: without `vkCmd`, in camel case.
pub fn type_name(command: &str) -> String {
    command.trim_start_matches("vkCmd").to_upper_camel_case()
}
