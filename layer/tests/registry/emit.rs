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
    fn copy(&self, registry: &Registry<'_, '_>, of: &str) -> Option<(&'static str, String)> {
        if self.pointers == 0 && self.array.is_none() {
            return None;
        }
        let has_pointers = registry.structures.contains_key(self.ty.as_str());
        Some(match (self.ty.as_str(), self.len.as_deref()) {
            (_, Some("null-terminated")) => ("string", String::new()),
            // The pointer is opaque, so it is only passed on.
            ("void", None) => return None,
            ("void", Some(len)) => ("bytes", count(of, len)),
            (_, len) => {
                let copy = if has_pointers { "structures" } else { "values" };
                (copy, len.map_or("1".to_owned(), |len| count(of, len)))
            }
        })
    }
}

fn count(of: &str, len: &str) -> String {
    use heck::ToSnakeCase as _;
    format!("{of}{}", len.to_snake_case())
}

pub fn commands(registry: &Registry<'_, '_>) -> String {
    let mut functions = String::new();
    for Function { name, aliases, .. } in &registry.commands {
        let names = std::iter::once(name).chain(aliases);
        let names: Vec<String> = names.map(|name| format!("c\"{name}\"")).collect();
        let names = names.join(", ");
        writeln!(functions, "{ROW}{} PFN_{name} [{names}];", function_name(name)).unwrap();
    }
    let (mut copied, mut by_hand) = (String::new(), String::new());
    for Function { name, parameters, .. } in &registry.commands {
        let is_by_hand = BY_HAND.contains(&name.as_str());
        let commands = if is_by_hand { &mut by_hand } else { &mut copied };
        let command_type = match name.as_str() {
            end if ENDS.contains(&end) => "EndPass",
            begin if begin.starts_with("vkCmdBeginRender") => "BeginPass",
            barrier if barrier.starts_with("vkCmdPipelineBarrier") => "Synchronization",
            state if sets_state(state) => "State",
            _ => "Action",
        };
        let (function, ty) = (function_name(name), type_name(name));
        writeln!(commands, "{ROW}{command_type} {function} {ty} (").unwrap();
        for parameter in parameters {
            let ty = parameter.rust_type(registry, "<'static>");
            write!(commands, "{ROW}    {}: {ty}", parameter.name).unwrap();
            if let Some((copy, count)) = parameter.copy(registry, "").filter(|_| !is_by_hand) {
                write!(commands, " => {copy}({count})").unwrap();
            }
            commands.push_str(",\n");
        }
        writeln!(commands, "{ROW});").unwrap();
    }
    format!(
        "{}/// Passes the functions of a device to a macro, as rows `name PFN_type [names of the command];`.\n{}\n\
         /// Passes commands to a macro, as rows in the form that [`arguments`](super::arguments) describes.\n{}\n\
         /// Passes the commands to a macro of which the registry does not say completely what their arguments point to.\n{}\n\
         pub(crate) use {{commands, commands_by_hand, functions}};\n",
        head(registry),
        table("functions", &functions),
        table("commands", &copied),
        table("commands_by_hand", &by_hand)
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

/// Returns a macro that passes `rows` to another macro.
fn table(name: &str, rows: &str) -> String {
    format!(
        "macro_rules! {name} {{\n    ($expand:ident) => {{\n        $expand! {{\n{rows}        }}\n    \
         }};\n}}\n"
    )
}

/// Generates the version of the registry, and the names of the commands that are recorded.
pub fn names(registry: &Registry<'_, '_>) -> String {
    let names: String = registry.names.iter().map(|name| format!("    c\"{name}\",\n")).collect();
    format!(
        "{}use std::ffi::CStr;\n\nuse super::vk;\n\n\
         /// The version of the registry.\n\
         pub(crate) const VERSION: u32 = vk::make_api_version(0, 1, 4, {});\n\n\
         /// The names, including aliases, of the recorded commands that the layer knows, sorted. It knows\n\
         /// whether each of them is allowed inside of passes.\n\
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
        write!(rows, "{ROW}{from} {kind} {} {c_name}", registry.rust_name(c_name)).unwrap();
        if let Some(s_type) = structure.s_type {
            write!(rows, " = {s_type}").unwrap();
        }
        rows.push_str(" {\n");
        for member in &structure.members {
            let ty = member.member_type(registry);
            writeln!(rows, "{ROW}    {} {}: {ty},", member.name, member.c_name).unwrap();
        }
        writeln!(rows, "{ROW}}}").unwrap();
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

pub fn structures(registry: &Registry<'_, '_>) -> String {
    let mut out = head(registry);
    out.push_str(
        "use std::ffi::c_void;\n\nuse super::memory::{Copied, Memory, OutOfMemory};\nuse crate::registry::vk;\n\n",
    );
    for (name, structure) in &registry.structures {
        if !STRUCTURES_BY_HAND.contains(name) {
            out.push_str(&copied(registry, name, structure));
        }
    }
    let typed = registry.structures.iter().filter(|(_, s)| s.s_type.is_some());
    let arms: String = typed
        .map(|(name, _)| {
            let ty = registry.rust_type(name, "<'static>");
            format!(
                "<{ty} as vk::TaggedStructure>::STRUCTURE_TYPE => memory.structures(structure.cast::<{ty}>(), 1)?.cast(),\n"
            )
        })
        .collect();
    write!(
        out,
        "/// Copies a structure of a chain, and what it points to. `None` if the type of the structure is unknown.\n\
         ///\n/// # Safety\n/// The structure and its chain are valid.\n\
         pub(super) unsafe fn copy(structure: *const vk::BaseInStructure<'_>, memory: &Memory) \
         -> Result<Option<*const c_void>, OutOfMemory> {{\n\
         // SAFETY: the caller's contract; the type says which structure it is.\n\
         unsafe {{ Ok(Some(match (*structure).s_type {{ {arms} _ => return Ok(None), }})) }} }}\n"
    )
    .unwrap();
    out
}

fn copied(registry: &Registry<'_, '_>, of: &str, structure: &Structure) -> String {
    let ty = registry.rust_type(of, "<'static>");
    let is_copied = |member: &&Value| {
        member.pointers > 0 || registry.structures.contains_key(member.ty.as_str())
    };
    let members: String = structure
        .members
        .iter()
        .filter(is_copied)
        .map(|member| {
            let Value { name, .. } = member;
            if member.pointers == 0 {
                assert!(member.array.is_none(), "{name}: an array of structures with pointers");
                return format!("{name}: self.{name}.copied(memory)?,\n");
            }
            let copied = match (name.as_str(), member.copy(registry, "self.")) {
                ("p_next", _) if registry.is_written(of) => {
                    return "p_next: memory.chain(self.p_next)?.cast_mut(),\n".to_owned();
                }
                ("p_next", _) => "memory.chain(self.p_next)".to_owned(),
                (_, Some(("string", _))) => format!("memory.string(self.{name})"),
                (_, Some((copy, count))) => {
                    let is_size = structure.members.iter().any(|length| {
                        length.ty == "size_t" && count == format!("self.{}", length.name)
                    });
                    let is_usize = is_size || count == "1";
                    let count = if is_usize { count } else { format!("{count} as usize") };
                    format!("memory.{copy}(self.{name}, {count})")
                }
                (_, None) => panic!("{name}: it is not known how much it points to"),
            };
            format!("{name}: {copied}?,\n")
        })
        .collect();
    format!(
        "impl Copied for {ty} {{\n\
             unsafe fn copied(&self, memory: &Memory) -> Result<Self, OutOfMemory> {{\n\
                 // SAFETY: the caller's contract.\n\
                 unsafe {{ Ok(Self {{ {members} ..*self }}) }}\n\
             }}\n\
         }}\n\n"
    )
}
