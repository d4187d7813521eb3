//! Asserts that all public types of a package can be sent to other threads and shared between
//! threads.

use std::path::Path;

pub const fn is_send_and_sync<T: Send + Sync>() {}

/// Asserts that types are `Send` and `Sync`, and collects their names.
macro_rules! send_and_sync {
    ($($module:path { $($name:ident $(<$($lifetime:lifetime),+>)?),+ $(,)? })+) => {
        const _: () = {
            $({
                use $module as module;
                $(thread_safety::is_send_and_sync::<module::$name $(<$($lifetime),+>)?>();)+
            })+
        };
        const NAMES: &[&str] = &[$($(stringify!($name)),+),+];
    };
}

/// Returns the public structures and enumerations in the sources of a directory that are not among
/// the known names.
pub fn forgotten(directory: &Path, known: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(forgotten(&path, known));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines() {
            let rest =
                ["pub struct ", "pub enum "].iter().find_map(|start| line.strip_prefix(start));
            if let Some(rest) = rest {
                let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(rest);
                if !known.contains(&name) {
                    found.push(format!("{name} ({})", path.display()));
                }
            }
        }
    }
    found
}
