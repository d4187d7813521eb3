//! Generates Rust code from the registry.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::model::{BY_HAND, Function, Registry, Structure, Value, function_name, type_name};

/// Structures for which the registry does not say what must be copied.
const STRUCTURES_BY_HAND: [&str; 2] =
    ["VkPushDescriptorSetWithTemplateInfoKHR", "VkWriteDescriptorSet"];

const ENDS: [&str; 3] = ["vkCmdEndRendering", "vkCmdEndRenderPass", "vkCmdEndRenderPass2"];

const HEAD: &str =
    "// Generated from the registry of Vulkan 1.3.281 by tests/registry. Changes belong there.\n\n";

/// Returns a type without pointers, in Rust.
fn rust_type(registry: &Registry, ty: &str, lifetime: &str) -> String {
    match ty {
        "uint16_t" => "u16".to_owned(),
        "uint32_t" => "u32".to_owned(),
        "int32_t" => "i32".to_owned(),
        "uint64_t" => "u64".to_owned(),
        "float" => "f32".to_owned(),
        "char" => "c_char".to_owned(),
        "void" => "c_void".to_owned(),
        vulkan => {
            let name = vulkan.trim_start_matches("Vk").replace("FlagBits", "Flags");
            let lifetime = if registry.structures.contains_key(vulkan) { lifetime } else { "" };
            format!("vk::{name}{lifetime}")
        }
    }
}

impl Value {
    fn rust_type(&self, registry: &Registry, lifetime: &str) -> String {
        let ty = rust_type(registry, &self.ty, lifetime);
        match self.array {
            Some(count) => format!("*const [{ty}; {count}]"),
            None => format!("{}{ty}", "*const ".repeat(self.pointers)),
        }
    }

    /// Returns the function of the memory that copies the value, and the number of elements. `None`
    /// for a value that is not a pointer.
    fn copy(&self, registry: &Registry, of: &str) -> Option<(&'static str, String)> {
        if self.pointers == 0 && self.array.is_none() {
            return None;
        }
        let has_pointers = registry.structures.contains_key(&self.ty);
        Some(match (self.ty.as_str(), self.len.as_deref()) {
            (_, Some("null-terminated")) => ("string", String::new()),
            // An opaque value.
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

pub fn commands(registry: &Registry) -> String {
    let mut functions = String::new();
    for Function { name, aliases, .. } in &registry.commands {
        let names = std::iter::once(name).chain(aliases);
        let names: Vec<String> = names.map(|name| format!("c\"{name}\"")).collect();
        let names = names.join(", ");
        writeln!(functions, "{ROW}{} PFN_{name} [{names}];", function_name(name)).unwrap();
    }
    let mut commands = String::new();
    for Function { name, parameters, .. } in &registry.commands {
        if BY_HAND.contains(&name.as_str()) {
            continue;
        }
        let how = match name.as_str() {
            end if ENDS.contains(&end) => "end_pass",
            begin if begin.starts_with("vkCmdBeginRender") => "begin_pass",
            _ => "record",
        };
        let (function, ty) = (function_name(name), type_name(name));
        writeln!(commands, "{ROW}{how} {function} {ty} (").unwrap();
        for parameter in parameters {
            let ty = parameter.rust_type(registry, "<'static>");
            write!(commands, "{ROW}    {}: {ty}", parameter.name).unwrap();
            if let Some((copy, count)) = parameter.copy(registry, "") {
                write!(commands, " => {copy}({count})").unwrap();
            }
            commands.push_str(",\n");
        }
        writeln!(commands, "{ROW});").unwrap();
    }
    format!(
        "{HEAD}/// Hands a macro the functions of a device: `name PFN_type [names of the command];`.\n{}\n\
         /// Hands a macro the commands: see [`macros`](super::macros).\n{}\n\
         pub(crate) use {{commands, functions}};\n",
        table("functions", &functions),
        table("commands", &commands)
    )
}

/// Before a row of a table.
const ROW: &str = "            ";

/// A macro that hands its rows to another.
fn table(name: &str, rows: &str) -> String {
    format!(
        "macro_rules! {name} {{\n    ($expand:ident) => {{\n        $expand! {{\n{rows}        }}\n    \
         }};\n}}\n"
    )
}

pub fn extensions(registry: &Registry) -> String {
    let list = |names: &BTreeSet<String>| -> String {
        names.iter().map(|name| format!("    c\"{name}\",\n")).collect()
    };
    format!(
        "{HEAD}use std::ffi::CStr;\n\n\
         /// Device extensions whose commands inside of a pass are known, sorted.\n\
         pub(crate) const KNOWN_EXTENSIONS: &[&CStr] = &[\n{}];\n\n\
         /// Commands that are recorded and for which it is known where they are allowed, by all their names,\n\
         /// sorted.\n\
         pub(crate) const KNOWN_COMMANDS: &[&CStr] = &[\n{}];\n",
        list(&registry.extensions),
        list(&registry.names)
    )
}

pub fn structures(registry: &Registry) -> String {
    let mut out = format!(
        "{HEAD}use std::ffi::c_void;\n\nuse ash::vk;\n\nuse super::memory::{{Copied, Memory, OutOfMemory}};\n\n"
    );
    for (name, structure) in &registry.structures {
        if !STRUCTURES_BY_HAND.contains(&name.as_str()) {
            out.push_str(&copied(registry, name, structure));
        }
    }
    let typed = registry.structures.iter().filter_map(|(name, s)| Some((name, s.s_type.as_ref()?)));
    let arms: String = typed
        .map(|(name, s_type)| {
            let ty = rust_type(registry, name, "<'static>");
            format!(
                "vk::StructureType::{s_type} => memory.structures(structure.cast::<{ty}>(), 1)?.cast(),\n"
            )
        })
        .collect();
    write!(
        out,
        "/// Copies a structure of a chain, and what it points to. Returns `None` for an unknown structure.\n\
         ///\n/// # Safety\n/// The structure and its chain are valid.\n\
         pub(super) unsafe fn copy(structure: *const vk::BaseInStructure<'_>, memory: &Memory) \
         -> Result<Option<*const c_void>, OutOfMemory> {{\n\
         // SAFETY: the caller's contract; the type says which structure it is.\n\
         unsafe {{ Ok(Some(match (*structure).s_type {{ {arms} _ => return Ok(None), }})) }} }}\n"
    )
    .unwrap();
    out
}

fn copied(registry: &Registry, name: &str, structure: &Structure) -> String {
    let ty = rust_type(registry, name, "<'static>");
    let is_copied =
        |member: &&Value| member.pointers > 0 || registry.structures.contains_key(&member.ty);
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
                ("p_next", _) if !member.is_const => {
                    return "p_next: memory.chain(self.p_next)?.cast_mut(),\n".to_owned();
                }
                ("p_next", _) => "memory.chain(self.p_next)".to_owned(),
                (_, Some(("string", _))) => format!("memory.string(self.{name})"),
                (_, Some((copy, count))) => {
                    let count = if count == "1" { count } else { format!("{count} as usize") };
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
