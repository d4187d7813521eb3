//! Interprets the names of columns: which scalars form a vector, and which input of a shader a
//! column is for.

use super::Column;

/// The suffixes of components. This command writes suffixes with a dot or brackets, and many tools write
/// suffixes with an underscore.
const SUFFIXES: [[&str; 4]; 4] = [
    [".x", ".y", ".z", ".w"],
    [".r", ".g", ".b", ".a"],
    ["[0]", "[1]", "[2]", "[3]"],
    ["_x", "_y", "_z", "_w"],
];

/// Columns whose components are recognized by their whole names, as in PLY files: the name of the column, and the names
/// of its components.
const WHOLE: [(&str, &[&str]); 8] = [
    ("position", &["x", "y", "z", "w"]),
    ("normal", &["nx", "ny", "nz"]),
    ("texcoord", &["u", "v"]),
    ("texcoord", &["s", "t"]),
    ("texcoord", &["texture_u", "texture_v"]),
    ("color", &["red", "green", "blue", "alpha"]),
    ("color", &["r", "g", "b", "a"]),
    ("tangent", &["tx", "ty", "tz", "tw"]),
];

/// Names of columns, each with the names that shaders give to the input for that column.
const ALIASES: [(&str, &[&str]); 8] = [
    ("position", &["pos", "positions", "vert", "vertex", "point", "xyz"]),
    ("normal", &["normals", "norm", "nrm"]),
    (
        "texcoord",
        &[
            "texcoords",
            "uv",
            "uvs",
            "st",
            "tex",
            "texturecoord",
            "texturecoords",
            "texuv",
            "uvcoord",
        ],
    ),
    ("color", &["colors", "colour", "colours", "col", "rgb", "rgba"]),
    ("tangent", &["tangents", "tan"]),
    ("bitangent", &["bitangents", "binormal", "binormals"]),
    (
        "joints",
        &["joint", "jointindices", "jointids", "bones", "boneindices", "boneids", "blendindices"],
    ),
    ("weights", &["weight", "jointweights", "boneweights", "blendweights", "skinweights"]),
];

/// Words that compilers and programmers put before the names of inputs and outputs.
const PREFIXES: [&str; 19] = [
    "in",
    "a",
    "i",
    "v",
    "vs",
    "gl",
    "attr",
    "attribute",
    "input",
    "var",
    "vertex",
    "out",
    "o",
    "output",
    "varying",
    "frag",
    "fs",
    "world",
    "ws",
];

/// Combines scalars into columns: scalars with the same name except for the suffix, and scalars that are recognized by
/// their whole names. A column ends before the first component that is missing. Each remaining scalar is a separate
/// column.
pub(super) fn columns<'n>(names: impl Iterator<Item = &'n str>) -> Vec<Column> {
    let mut found: Vec<(String, [Option<usize>; 4])> = Vec::new();
    let mut alone = Vec::new();
    for (index, name) in names.enumerate() {
        let Some((column, component)) = component_of(name) else {
            alone.push((index, name));
            continue;
        };
        let known =
            found.iter_mut().find(|(other, parts)| *other == column && parts[component].is_none());
        match known {
            Some((_, parts)) => parts[component] = Some(index),
            None => {
                let mut parts = [None; 4];
                parts[component] = Some(index);
                found.push((column, parts));
            }
        }
    }
    let whole = found.into_iter().map(|(name, parts)| {
        let parts = parts.into_iter().map_while(|part| part).collect();
        Column { name, parts }
    });
    let alone =
        alone.into_iter().map(|(index, name)| Column { name: name.to_owned(), parts: vec![index] });
    let mut columns: Vec<Column> = whole.filter(|c| !c.parts.is_empty()).chain(alone).collect();
    columns.sort_by_key(|column| column.parts.first().copied());
    columns
}

/// Returns the column to which a scalar belongs by its name, and its component number. `None` if
/// the name is not that of a component.
fn component_of(name: &str) -> Option<(String, usize)> {
    let name = name.trim();
    for suffixes in SUFFIXES {
        for (component, suffix) in suffixes.iter().enumerate() {
            if let Some(column) = name.strip_suffix(suffix).filter(|column| !column.is_empty()) {
                return Some((column.to_owned(), component));
            }
        }
    }
    let lower = name.to_ascii_lowercase();
    WHOLE.iter().find_map(|(column, parts)| {
        let component = parts.iter().position(|part| *part == lower)?;
        Some(((*column).to_owned(), component))
    })
}

/// Returns a name without the words that only say that it is an input or an output, and with
/// synonyms replaced: `inPosition`, `a_pos`, `in.var.POSITION0` and `outWorldPos` all become
/// `position`.
pub(in crate::capture) fn canonical(name: &str) -> String {
    let mut words = name_words(name);
    while words.len() > 1 && PREFIXES.contains(&&*words[0]) {
        words.remove(0);
    }
    let joined = words.concat();
    let alias = ALIASES.iter().find(|(_, others)| others.contains(&&*joined));
    alias.map_or(joined, |(name, _)| (*name).to_owned())
}

/// Returns what the last words of a name mean, whatever stands before them: `geomColour` is a `color`, `gPos` a
/// `position`. `None` if no column of a mesh usually has that meaning.
pub(in crate::capture) fn meaning(name: &str) -> Option<&'static str> {
    let words = name_words(name);
    (0..words.len()).find_map(|first| {
        let joined = words[first..].concat();
        let is_it =
            |(name, others): &&(&str, &[&str])| *name == joined || others.contains(&&*joined);
        ALIASES.iter().find(is_it).map(|(name, _)| *name)
    })
}

/// Returns the words of the last part of a name, without a number 0 at their end.
fn name_words(name: &str) -> Vec<String> {
    let mut words = words(name.rsplit('.').next().unwrap_or(name));
    if words.len() > 1 && words.last().is_some_and(|word| word == "0") {
        words.pop();
    }
    words
}

/// Splits a name into words in lower case: at characters other than letters and digits, before
/// capitals, and before and after numbers.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            before = None;
            continue;
        }
        let begins = before.is_none_or(|before: char| {
            (before.is_lowercase() && c.is_uppercase())
                || before.is_ascii_digit() != c.is_ascii_digit()
        });
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        before = Some(c);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_inputs_come_down_to_what_meshes_have() {
        for (name, expected) in [
            ("position", "position"),
            ("inPosition", "position"),
            ("a_pos", "position"),
            ("aPos", "position"),
            ("in.var.POSITION0", "position"),
            ("in_var_TEXCOORD0", "texcoord"),
            ("vertexNormal", "normal"),
            ("vertex", "position"),
            ("texCoord", "texcoord"),
            ("UV0", "texcoord"),
            ("in_uv1", "uv1"),
            ("gl_Position", "position"),
            ("inputs.vColour", "color"),
            ("outWorldPosition", "position"),
            ("fragNormal", "normal"),
            ("world", "world"),
            ("a", "a"),
        ] {
            assert_eq!(canonical(name), expected, "{name}");
        }
    }

    #[test]
    fn the_last_words_say_what_is_meant() {
        for (name, expected) in [
            ("gColor", Some("color")),
            ("gPos", Some("position")),
            ("geomColour", Some("color")),
            ("geom_out_normal", Some("normal")),
            ("instanceTexCoord0", Some("texcoord")),
            ("block.shadedUV", Some("texcoord")),
            ("position", Some("position")),
            ("colorSpeed", None),
            ("recolour", None),
            ("uv1", None),
            ("", None),
        ] {
            assert_eq!(meaning(name), expected, "{name}");
        }
        // For these names, `meaning` returns the canonical name.
        for name in ["inPosition", "a_pos", "in.var.POSITION0", "UV0", "vertex", "fragNormal"] {
            assert_eq!(meaning(name), Some(&*canonical(name)), "{name}");
        }
    }

    #[test]
    fn scalars_are_put_together() {
        let of = |names: &[&str]| {
            let column = |c: Column| (c.name, c.parts);
            columns(names.iter().copied()).into_iter().map(column).collect::<Vec<_>>()
        };
        let column = |name: &str, parts: &[usize]| (name.to_owned(), parts.to_vec());
        assert_eq!(
            of(&["x", "y", "z", "nx", "ny", "nz", "id"]),
            [column("position", &[0, 1, 2]), column("normal", &[3, 4, 5]), column("id", &[6])]
        );
        assert_eq!(
            of(&["a.y", "a.x", "m[0].x", "m[1].x", "w[1]", "w[0]"]),
            [
                column("m[0]", &[2]),
                column("m[1]", &[3]),
                column("w", &[5, 4]),
                column("a", &[1, 0])
            ]
            .into_iter()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
        );
        // A vector ends before the first missing component.
        assert_eq!(of(&["p.x", "p.z"]), [column("p", &[0])]);
    }
}
