//! Rewrites GLSL so that naga accepts it and interprets it correctly.
//!
//! * `#version`: naga supports 440 to 460 and treats them alike; all versions that Vulkan allows
//!   become 460.
//! * Declarations without effect are replaced by blanks: `out gl_PerVertex {...}` and other
//!   declarations of built-in variables, precisions, interpolation qualifiers within blocks, and
//!   default layouts that apply anyway.
//! * `gl_VertexIndex` and similar variables have the type `int` in GLSL, but `uint` in naga: they
//!   become `int(gl_VertexIndex)`.
//! * Offsets of members are replaced by blanks, and compared with naga's offsets later.
//! * Arrays without a size get the size of their initialiser, and the structure of `out struct
//!   {...}` gets a name.
//!
//! The branches of `#if` are not evaluated, because each of these changes is harmless in an
//! inactive branch. Positions in the rewritten text can be mapped back to the source.

use std::ops::Range;

use crate::frontend::tokens::Tokens;

/// Built-ins that are `int` in GLSL and `uint` in naga, each with the expression that replaces it. The list
/// includes the names that the built-ins formerly had in extensions.
const INDICES: [(&str, &str); 8] = [
    ("gl_VertexIndex", "int(gl_VertexIndex)"),
    ("gl_InstanceIndex", "int(gl_InstanceIndex)"),
    ("gl_BaseVertex", "int(gl_BaseVertex)"),
    ("gl_BaseInstance", "int(gl_BaseInstance)"),
    ("gl_DrawID", "int(gl_DrawID)"),
    ("gl_BaseVertexARB", "int(gl_BaseVertex)"),
    ("gl_BaseInstanceARB", "int(gl_BaseInstance)"),
    ("gl_DrawIDARB", "int(gl_DrawID)"),
];

const PRECISIONS: [&str; 3] = ["highp", "mediump", "lowp"];

const INTERPOLATIONS: [&str; 5] = ["flat", "smooth", "noperspective", "centroid", "sample"];

/// Qualifiers that may precede the type of a declaration, besides layouts.
const QUALIFIERS: [&str; 17] = [
    "in",
    "out",
    "uniform",
    "buffer",
    "invariant",
    "flat",
    "smooth",
    "noperspective",
    "centroid",
    "sample",
    "highp",
    "mediump",
    "lowp",
    "readonly",
    "writeonly",
    "restrict",
    "const",
];

/// The text for naga, and how to map positions in it back to the source.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub text: String,
    /// The sizes that the source declares for built-in arrays such as `gl_ClipDistance`.
    pub array_sizes: Vec<(String, u32)>,
    /// The offsets that the source declares for members of blocks.
    pub member_offsets: Vec<MemberOffset>,
    /// The offset in bytes in the source at which the first input or output without a location is declared; `None` if
    /// all have locations.
    pub unlocated: Option<usize>,
    /// The changes that were made, sorted by position, not overlapping.
    edits: Vec<Edit>,
    version: Option<(String, bool)>,
}

/// A layout such as `layout(offset = 64)` of a member of a block.
#[derive(Debug)]
pub(super) struct MemberOffset {
    pub block: String,
    pub member: String,
    /// Bytes from the start of the block.
    pub offset: u32,
    /// The byte of the source at which the layout begins.
    pub byte: usize,
}

#[derive(Debug)]
struct Edit {
    range: Range<usize>,
    text: String,
}

impl Rewritten {
    /// Returns the offset in bytes in the source that corresponds to offset `byte` in `text`.
    pub fn source_byte(&self, byte: usize) -> usize {
        let (mut from, mut to) = (0, 0);
        for Edit { range, text } in &self.edits {
            let start = to + (range.start - from);
            if byte < start {
                break;
            }
            if byte < start + text.len() {
                return range.start;
            }
            (from, to) = (range.end, start + text.len());
        }
        from + (byte - to)
    }

    /// The macros that the source may rely on, with their values.
    pub fn defines(&self) -> impl Iterator<Item = (String, String)> {
        let define = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let version = self.version.as_ref();
        let number = version.map(|(number, _)| define("__VERSION__", number));
        let es = version.filter(|(_, es)| *es).map(|_| define("GL_ES", "1"));
        [Some(define("VULKAN", "100")), number, es].into_iter().flatten()
    }
}

pub(super) fn rewrite(source: &str, tokens: &Tokens<'_>) -> Rewritten {
    let is_code = |index: &usize| !tokens.list()[*index].directive;
    let code = (0..tokens.list().len()).filter(is_code).collect();
    let mut rewriter = Rewriter {
        tokens,
        code,
        edits: Vec::new(),
        array_sizes: Vec::new(),
        member_offsets: Vec::new(),
        unlocated: None,
    };
    let version = rewriter.version();
    rewriter.declarations();
    rewriter.sizes();
    rewriter.words();
    let Rewriter { mut edits, array_sizes, member_offsets, unlocated, .. } = rewriter;
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    // If a token was replaced twice, the first replacement is kept.
    edits.dedup_by(|second, first| second.range == first.range && !second.range.is_empty());
    let (mut text, mut done) = (String::with_capacity(source.len() + 64), 0);
    for edit in &edits {
        text.push_str(&source[done..edit.range.start]);
        text.push_str(&edit.text);
        done = edit.range.end;
    }
    text.push_str(&source[done..]);
    Rewritten { text, array_sizes, member_offsets, unlocated, edits, version }
}

struct Rewriter<'a> {
    tokens: &'a Tokens<'a>,
    /// The indices of the tokens outside of directives.
    code: Vec<usize>,
    edits: Vec<Edit>,
    array_sizes: Vec<(String, u32)>,
    member_offsets: Vec<MemberOffset>,
    unlocated: Option<usize>,
}

impl<'a> Rewriter<'a> {
    /// The text of the token with index `at`, not counting tokens in directives; empty if the index is out of
    /// range.
    fn text(&self, at: usize) -> &'a str {
        self.code.get(at).map_or("", |index| self.tokens.text(*index))
    }

    fn replace_token(&mut self, index: usize, text: String) {
        self.edits.push(Edit { range: self.tokens.list()[index].range.clone(), text });
    }

    /// Replaces a token by the same number of spaces, so that the text behind it keeps its
    /// position.
    fn blank_token(&mut self, index: usize) {
        let length = self.tokens.list()[index].range.len();
        self.replace_token(index, " ".repeat(length));
    }

    fn blank(&mut self, range: Range<usize>) {
        for at in range {
            self.blank_token(self.code[at]);
        }
    }

    fn insert_before(&mut self, at: usize, text: &str) {
        let start = self.tokens.list()[self.code[at]].range.start;
        self.edits.push(Edit { range: start..start, text: text.to_owned() });
    }

    /// Replaces the source's version by one that naga supports, if Vulkan allows the source's version; otherwise this
    /// version stays, and naga refuses it. Returns the source's version, and whether it is ES. `None` if the source has
    /// no `#version`.
    fn version(&mut self) -> Option<(String, bool)> {
        let is_version = |index: &usize| {
            self.tokens.text(*index) == "#" && self.tokens.text(index + 1) == "version"
        };
        let number = (0..self.tokens.list().len()).find(is_version)? + 2;
        let (text, profile) = (self.tokens.text(number), self.tokens.text(number + 1));
        let is_directive = self.tokens.list().get(number + 1).is_some_and(|token| token.directive);
        let has_profile = is_directive && profile != "#";
        let es = has_profile && profile == "es";
        let known = text.parse().is_ok_and(|version: u32| match (es, has_profile, profile) {
            (true, ..) => matches!(version, 310 | 320),
            (false, false, _) | (false, true, "core") => (140..=460).contains(&version),
            _ => false,
        });
        if known {
            self.replace_token(number, "460".to_owned());
            if es {
                self.blank_token(number + 1);
            }
        }
        Some((text.to_owned(), es))
    }

    /// Finds the bracket that closes the bracket at `at`; `None` if there is none.
    fn closing(&self, at: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in at..self.code.len() {
            match self.text(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    /// Processes all declarations outside of functions.
    fn declarations(&mut self) {
        let mut start = 0;
        while start < self.code.len() {
            let mut at = start;
            let mut is_function = false;
            while !matches!(self.text(at), "" | ";") && !is_function {
                if matches!(self.text(at), "(" | "[" | "{") {
                    is_function = self.text(at) == "{" && at > start && self.text(at - 1) == ")";
                    let Some(closing) = self.closing(at) else { return };
                    at = closing;
                }
                at += 1;
            }
            if !is_function && self.text(at) == ";" {
                self.declaration(start..at + 1);
                at += 1;
            }
            start = at.max(start + 1);
        }
    }

    /// Processes the declaration in `range`, which includes the semicolon.
    fn declaration(&mut self, range: Range<usize>) {
        if self.text(range.start) == "precision" {
            return self.blank(range);
        }
        let (mut at, mut words, mut layout) = (range.start, Vec::new(), Vec::new());
        loop {
            match self.text(at) {
                "layout" => {
                    let Some(closing) = self.closing(at + 1) else { return };
                    layout.extend((at + 2..closing).map(|at| self.text(at)));
                    at = closing + 1;
                }
                word if QUALIFIERS.contains(&word) => {
                    words.push(word);
                    at += 1;
                }
                _ => break,
            }
        }
        let between_stages = words.contains(&"in") || words.contains(&"out");
        let is_built_in = self.text(at).starts_with("gl_") || self.text(at + 1).starts_with("gl_");
        if between_stages && !is_built_in && !layout.contains(&"location") {
            let start = self.tokens.list()[self.code[range.start]].range.start;
            self.unlocated.get_or_insert(start);
        }
        match (self.text(at), self.text(at + 1), self.text(at + 2)) {
            // A default layout such as "layout(std140) uniform;" is removed if it declares the layout that
            // applies without it.
            (";", ..) => {
                let default = match words.as_slice() {
                    ["uniform"] => "std140",
                    ["buffer"] => "std430",
                    _ => return,
                };
                if layout.iter().all(|word| [default, "column_major", ","].contains(word)) {
                    self.blank(range);
                }
            }
            ("gl_PerVertex", "{", _)
                if between_stages
                    && self.closing(at + 1).is_some_and(|closing| closing + 2 == range.end) =>
            {
                self.remember_sizes(at..range.end);
                self.blank(range);
            }
            ("struct", "{", _) if between_stages => {
                self.insert_before(at + 1, &format!(" Structure{at}_"));
                self.blank_interpolation(at + 1);
            }
            ("struct", _, "{") if between_stages => self.blank_interpolation(at + 2),
            (_, "{", _) if between_stages => self.blank_interpolation(at + 1),
            (block, "{", _) => self.offsets(block, at + 1),
            (_, name, _) if between_stages && name.starts_with("gl_") => {
                self.remember_sizes(at..range.end);
                self.redeclaration(range, at + 1, words.contains(&"invariant"));
            }
            _ => {}
        }
    }

    /// Removes the redeclaration of a built-in variable, but keeps `invariant` before its name.
    fn redeclaration(&mut self, range: Range<usize>, name: usize, invariant: bool) {
        for at in range.clone() {
            let kept = at == name || self.text(at) == "invariant" || at + 1 == range.end;
            if !(invariant && kept) {
                self.blank_token(self.code[at]);
            }
        }
    }

    /// Stores the sizes in declarations of `gl_ClipDistance[4]` and `gl_CullDistance[4]`.
    fn remember_sizes(&mut self, range: Range<usize>) {
        for at in range {
            if self.text(at).starts_with("gl_")
                && self.text(at + 1) == "["
                && let Ok(size) = self.text(at + 2).parse()
            {
                self.array_sizes.push((self.text(at).to_owned(), size));
            }
        }
    }

    /// Removes and stores the offsets of members. They are compared with naga's offsets later.
    fn offsets(&mut self, block: &str, brace: usize) {
        let closing = self.closing(brace).unwrap_or(brace);
        for at in brace..closing {
            let is_offset = ["layout", "(", "offset", "="].iter().zip(at..);
            let end = (at..closing).find(|at| matches!(self.text(*at), ";" | ","));
            if let (true, Ok(offset), ")", Some(end)) = (
                is_offset.into_iter().all(|(text, at)| self.text(at) == *text),
                self.text(at + 4).parse(),
                self.text(at + 5),
                end,
            ) {
                let name = (at..end).find(|at| self.text(*at) == "[").unwrap_or(end) - 1;
                self.member_offsets.push(MemberOffset {
                    block: block.to_owned(),
                    member: self.text(name).to_owned(),
                    offset,
                    byte: self.tokens.list()[self.code[at]].range.start,
                });
                self.blank(at..at + 6);
            }
        }
    }

    fn blank_interpolation(&mut self, brace: usize) {
        let closing = self.closing(brace).unwrap_or(brace);
        for at in brace..closing {
            if INTERPOLATIONS.contains(&self.text(at)) {
                self.blank_token(self.code[at]);
            }
        }
    }

    /// Adds the sizes that `vec2 a[] = vec2[](...)`, `vec2[] a = {...}` and similar declarations
    /// leave to the initialiser.
    fn sizes(&mut self) {
        for at in 1..self.code.len() {
            if (self.text(at), self.text(at + 1)) != ("[", "]") {
                continue;
            }
            let assignment = if self.text(at + 2) == "=" { at + 2 } else { at + 3 };
            // Arrays of arrays are left out, because their initialisers have nested lists.
            if self.text(assignment) != "=" || self.text(at - 1) == "]" {
                continue;
            }
            let mut list = assignment + 1;
            if self.text(list + 1) == "[" {
                let Some(closing) = self.closing(list + 1) else { continue };
                list = closing + 1;
            }
            if let ("(" | "{", Some(elements)) = (self.text(list), self.elements(list)) {
                self.insert_before(at + 1, &elements.to_string());
            }
        }
    }

    /// The number of elements in the list whose opening bracket is at `opening`. `None` if the list is empty or not
    /// closed, or if a directive within the list may remove elements.
    fn elements(&self, opening: usize) -> Option<usize> {
        let closing = self.closing(opening)?;
        let is_whole = self.code[closing] - self.code[opening] == closing - opening;
        let mut elements = usize::from(closing > opening + 1);
        let mut at = opening + 1;
        while at < closing {
            match self.text(at) {
                "(" | "[" | "{" => at = self.closing(at)?,
                // A comma may follow the last element.
                "," if at + 1 < closing => elements += 1,
                _ => {}
            }
            at += 1;
        }
        (is_whole && elements > 0).then_some(elements)
    }

    /// Removes precision qualifiers, and replaces the built-ins in [`INDICES`]: in all code outside of directives, and
    /// in the bodies of macros.
    fn words(&mut self) {
        // Nothing is replaced in directives other than `#define`, nor in the name of a macro.
        let mut first_of_directive = 0;
        for index in 0..self.tokens.list().len() {
            let text = self.tokens.text(index);
            if text == "#" {
                first_of_directive = index;
            }
            if self.tokens.list()[index].directive
                && (self.tokens.text(first_of_directive + 1) != "define"
                    || index <= first_of_directive + 2)
            {
                continue;
            }
            if PRECISIONS.contains(&text) {
                self.blank_token(index);
            } else if let Some((_, int)) = INDICES.iter().find(|(name, _)| *name == text) {
                self.replace_token(index, (*int).to_owned());
            }
        }
    }
}
