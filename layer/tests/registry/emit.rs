//! Generates Rust code from the registry of Vulkan.

use std::fmt::Write as _;

use super::model::{
    BY_HAND, Function, Newer, Registry, Structure, Value, function_name, type_name,
};

/// The structures for which the registry does not say completely what they point to. `by_hand.rs`
/// copies them.
const STRUCTURES_BY_HAND: [&str; 2] =
    ["VkPushDescriptorSetWithTemplateInfo", "VkWriteDescriptorSet"];

const ENDS: [&str; 4] =
    ["vkCmdEndRendering", "vkCmdEndRendering2KHR", "vkCmdEndRenderPass", "vkCmdEndRenderPass2"];

fn head(registry: &Registry<'_, '_>) -> String {
    format!(
        "// Generated from the registry of Vulkan 1.4.{} by tests/registry. Changes belong there.\n\n",
        registry.version
    )
}

impl Registry<'_, '_> {
    /// Returns the name in Rust of a type that is not a pointer.
    fn rust_type(&self, ty: &str, lifetime: &str) -> String {
        match ty {
            "uint8_t" => "u8".to_owned(),
            "uint16_t" => "u16".to_owned(),
            "uint32_t" => "u32".to_owned(),
            "int32_t" => "i32".to_owned(),
            "uint64_t" => "u64".to_owned(),
            "size_t" => "usize".to_owned(),
            "float" => "f32".to_owned(),
            "char" => "c_char".to_owned(),
            vulkan if vulkan.starts_with("Vk") && self.is_declared(vulkan) => {
                let has_lifetime = self.is_of_ash(vulkan) && self.has_pointers(vulkan);
                let lifetime = if has_lifetime { lifetime } else { "" };
                format!("vk::{}{lifetime}", self.rust_name(vulkan))
            }
            // The layer has only pointers to values of this type, and does not dereference them.
            _ => "c_void".to_owned(),
        }
    }
}

impl Value {
    fn rust_type(&self, registry: &Registry<'_, '_>, lifetime: &str) -> String {
        let ty = registry.rust_type(&self.ty, lifetime);
        match self.array {
            Some(count) => format!("*const [{ty}; {count}]"),
            None => format!("{}{ty}", "*const ".repeat(self.pointers)),
        }
    }

    /// Returns the type of a member in Rust.
    fn member_type(&self, registry: &Registry<'_, '_>) -> String {
        let ty = registry.rust_type(&self.ty, "<'static>");
        let ty = format!("{}{ty}", "*const ".repeat(self.pointers));
        match self.array {
            Some(count) => format!("[{ty}; {count}]"),
            None => ty,
        }
    }

    /// Returns the method of `Memory` that copies what the value points to, and an expression for
    /// the number of elements. `None` if nothing is copied.
    fn copy(&self, registry: &Registry<'_, '_>) -> Option<(&'static str, String)> {
        use heck::ToSnakeCase as _;
        if self.pointers == 0 && self.array.is_none() {
            return None;
        }
        let has_pointers = registry.structures.contains_key(self.ty.as_str());
        Some(match (self.ty.as_str(), self.len.as_deref()) {
            (_, Some("null-terminated")) => ("string", String::new()),
            // The pointer is opaque, so it is only passed on.
            ("void", None) => return None,
            ("void", Some(len)) => ("bytes", len.to_snake_case()),
            (_, len) => {
                let copy = if has_pointers { "structures" } else { "values" };
                (copy, len.map_or("1".to_owned(), |len| len.to_snake_case()))
            }
        })
    }
}

pub fn commands(registry: &Registry<'_, '_>) -> String {
    let mut commands = String::new();
    for Function { name, aliases, parameters } in &registry.commands {
        let names = std::iter::once(name).chain(aliases);
        let names: Vec<String> = names.map(|name| format!("c\"{name}\"")).collect();
        let names = names.join(", ");
        let is_by_hand = BY_HAND.contains(&name.as_str());
        let command_type = match name.as_str() {
            end if ENDS.contains(&end) => "EndPass",
            begin if begin.starts_with("vkCmdBeginRender") => "BeginPass",
            barrier if barrier.starts_with("vkCmdPipelineBarrier") => "Synchronization",
            state if sets_state(state) => "State",
            _ => "Action",
        };
        let (function, ty) = (function_name(name), type_name(name));
        let parameters = parameters.iter().map(|parameter| {
            let ty = parameter.rust_type(registry, "<'static>");
            let copy = parameter.copy(registry).filter(|_| !is_by_hand);
            let copy = copy.map(|(copy, count)| format!(" => {copy}({count})"));
            format!("{}: {ty}{}", parameter.name, copy.unwrap_or_default())
        });
        let head = format!("{command_type} {function} {ty} PFN_{name} [{names}] (");
        let tail = if is_by_hand { ") by_hand;" } else { ");" };
        commands.push_str(&row(ROW, &head, parameters, tail));
    }
    format!(
        "{}/// Passes commands to a macro, as rows in the form that [`arguments`](super::arguments) describes.\n{}\n\
         pub(crate) use commands;\n",
        head(registry),
        table("commands", &commands)
    )
}

/// Whether a command only sets state for later commands, or only names them. It must be valid outside of passes. The
/// other commands with such names write markers, choose the devices that execute what follows, synchronize, or belong
/// to dynamic rendering.
fn sets_state(name: &str) -> bool {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    begins(&["vkCmdBind", "vkCmdPush", "vkCmdSet"])
        && !begins(&[
            "vkCmdSetCheckpoint",
            "vkCmdSetDeviceMask",
            "vkCmdSetEvent",
            "vkCmdSetPerformance",
            "vkCmdSetRendering",
        ])
        || name.contains("DebugUtilsLabel")
        || name.contains("DebugMarker")
}

/// The indentation of a row in a table.
const ROW: &str = "            ";

/// Returns a row of a table: `head`, `items` that end in commas, and `tail`. What does not fit into a line goes on in the
/// next one.
fn row(indent: &str, head: &str, items: impl Iterator<Item = String>, tail: &str) -> String {
    let mut row = format!("{indent}{head}");
    let mut width = row.len();
    for item in items {
        if width + item.len() + 2 > 100 {
            row.push_str(&format!("\n{indent}    "));
            width = indent.len() + 4;
        } else if !row.ends_with([' ', '(']) {
            row.push(' ');
            width += 1;
        }
        write!(row, "{item},").unwrap();
        width += item.len() + 1;
    }
    row + tail + "\n"
}

/// Returns a macro that passes `rows` to another macro.
fn table(name: &str, rows: &str) -> String {
    format!(
        "macro_rules! {name} {{\n    ($expand:ident) => {{\n        $expand! {{\n{rows}        }}\n    \
         }};\n}}\n"
    )
}

/// Generates the version of the registry, and the names of the commands that are recorded.
pub fn names(registry: &Registry<'_, '_>) -> String {
    let names = registry.names.iter().map(|name| format!("c\"{name}\""));
    let names = row("    ", "", names, "");
    format!(
        "{}use std::ffi::CStr;\n\nuse super::vk;\n\n\
         /// The version of the registry.\n\
         pub(crate) const VERSION: u32 = vk::make_api_version(0, 1, 4, {});\n\n\
         /// The names, including aliases, of the recorded commands that the layer knows, sorted. It knows\n\
         /// whether each of them is allowed inside of passes.\n\
         #[rustfmt::skip]\n\
         pub(crate) const KNOWN_COMMANDS: &[&CStr] = &[\n{names}];\n",
        head(registry),
        registry.version
    )
}

/// Generates the sizes of the structures in chains that the layer copies.
pub fn sizes(registry: &Registry<'_, '_>) -> String {
    let mut out = head(registry);
    out.push_str(
        "use super::vk;\n\n\
         /// The sizes in bytes of the structures that may be in chains that the layer copies. They are sorted\n\
         /// by the value of `sType`, which comes first.\n\
         pub(crate) const SIZES: &[(i32, usize)] = &[\n",
    );
    for (s_type, name) in &registry.chained {
        match registry.words(name) {
            Some(words) => writeln!(out, "    ({s_type}, words({words})), // {name}").unwrap(),
            None => {
                let ty = registry.rust_type(name, "<'_>");
                writeln!(out, "    ({s_type}, size_of::<{ty}>()),").unwrap();
            }
        }
    }
    out.push_str(
        "];\n\n\
         /// Returns the size in bytes of a structure with `count` words of 4 bytes after `pNext`.\n\
         const fn words(count: usize) -> usize {\n\
         (size_of::<vk::BaseInStructure<'_>>() + 4 * count)\
         .next_multiple_of(align_of::<vk::BaseInStructure<'_>>())\n}\n",
    );
    out
}

/// Generates the types that ash does not have.
pub fn types(registry: &Registry<'_, '_>) -> String {
    let (mut structures, mut unions) = (String::new(), String::new());
    for Newer { from, c_name, is_union, structure } in &registry.newer {
        let (rows, kind) =
            if *is_union { (&mut unions, "union") } else { (&mut structures, "struct") };
        let s_type = structure.s_type.map(|s_type| format!(" = {s_type}")).unwrap_or_default();
        let head = format!("{from} {kind} {} {c_name}{s_type} {{ ", registry.rust_name(c_name));
        let members = structure.members.iter().map(|member| {
            format!("{} {}: {}", member.name, member.c_name, member.member_type(registry))
        });
        rows.push_str(&row(ROW, &head, members, " }"));
    }
    let mut out = head(registry);
    out.push_str(
        "use super::vk;\n\n\
         /// Passes the structures that ash does not have to a macro. Each row has the version or extension that\n\
         /// adds the structure to Vulkan, its name in Rust and in C, the value of `sType`, and the members.\n",
    );
    out.push_str(&table("newer_structures", &structures));
    out.push_str("\n/// Passes the unions that ash does not have to a macro, in rows like those of structures.\n");
    out.push_str(&table("newer_unions", &unions));
    out.push_str("\npub(crate) use {newer_structures, newer_unions};\n\n");
    for (name, ty) in &registry.newer_types {
        writeln!(out, "pub(crate) type {name} = {ty};").unwrap();
    }
    for (name, (returns, parameters)) in &registry.newer_commands {
        let types: Vec<_> = parameters.iter().map(|p| p.rust_type(registry, "<'static>")).collect();
        let returns = match returns.as_str() {
            "void" => String::new(),
            returns => format!(" -> {}", registry.rust_type(returns, "")),
        };
        writeln!(
            out,
            "#[allow(non_camel_case_types)]\n\
             pub(crate) type PFN_{name} = unsafe extern \"system\" fn({}){returns};",
            types.join(", ")
        )
        .unwrap();
    }
    out
}

/// Generates the table of the structures that commands point to.
pub fn structures(registry: &Registry<'_, '_>) -> String {
    let (mut chained, mut others, mut by_hand) = (String::new(), String::new(), String::new());
    for (name, structure) in &registry.structures {
        let ty = registry.rust_type(name, "<'static>");
        if STRUCTURES_BY_HAND.contains(name) {
            by_hand.push_str(&row(INDENT, &format!("{ty},"), std::iter::empty(), ""));
            continue;
        }
        let rows = if structure.s_type.is_some() { &mut chained } else { &mut others };
        rows.push_str(&row(INDENT, &format!("{ty} {{ "), copied(registry, name, structure), " }"));
    }
    format!(
        "{}use std::ffi::c_void;\n\nuse super::memory::{{Copied, Memory, OutOfMemory, copied}};\n\
         use crate::registry::vk;\n\n\
         copied! {{\n    chained {{\n{chained}    }}\n    chained_by_hand {{\n{by_hand}    }}\n    \
         others {{\n{others}    }}\n}}\n",
        head(registry)
    )
}

/// The indentation of a row in the table of structures.
const INDENT: &str = "        ";

/// Returns for each member with pointers how `Memory` copies it.
fn copied<'r>(
    registry: &'r Registry<'_, '_>,
    of: &'r str,
    structure: &'r Structure,
) -> impl Iterator<Item = String> {
    let is_copied = |member: &&Value| {
        member.pointers > 0 || registry.structures.contains_key(member.ty.as_str())
    };
    structure.members.iter().filter(is_copied).map(move |member| {
        let Value { name, .. } = member;
        if member.pointers == 0 {
            assert!(member.array.is_none(), "{name}: an array of structures with pointers");
            return format!("{name}: structure");
        }
        match (name.as_str(), member.copy(registry)) {
            ("p_next", _) if registry.is_written(of) => "p_next: written_chain".to_owned(),
            ("p_next", _) => "p_next: chain".to_owned(),
            (_, Some(("string", _))) => format!("{name}: string"),
            (_, Some((copy, count))) => format!("{name}: {copy}({count})"),
            (_, None) => panic!("{name}: it is not known how much it points to"),
        }
    })
}
