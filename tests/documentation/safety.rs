//! An `unsafe` block in a safe function, and an `unsafe impl`, has a comment that begins with `SAFETY:` and says why it
//! is sound: above the block, above its statement, or first in the block. A block in an `unsafe` function needs none:
//! it takes over the contract that the function states under `# Safety`. Clippy's `undocumented_unsafe_blocks` cannot
//! tell these apart.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Tests that hand made-up arguments to functions of Vulkan, in a great number of blocks of one line.
const EXEMPT: [&str; 3] = [
    "layer/src/hooks/dependencies/tests.rs",
    "layer/src/hooks/commands/tests.rs",
    "layer/src/translate/tests/",
];

/// Finds the lines of a file that lack a comment.
struct Scan<'a> {
    lines: Vec<&'a str>,
    /// The numbers of lines with an undocumented block or `unsafe impl`, counted from 1.
    undocumented: Vec<usize>,
    /// The number of blocks and `unsafe impl`s that need a comment.
    needed: usize,
}

impl<'a> Scan<'a> {
    fn of(text: &'a str) -> Self {
        let mut scan = Self { lines: text.lines().collect(), undocumented: Vec::new(), needed: 0 };
        scan.tokens(text.parse().unwrap(), false, &[]);
        scan
    }

    /// Whether the comment that ends above a line says why something is sound.
    fn is_documented(&self, line: usize) -> bool {
        let above = self.lines[..line - 1].iter().rev().map(|line| line.trim_start());
        above.take_while(|line| line.starts_with("//")).any(|line| line.contains("SAFETY:"))
    }

    /// Whether a block begins with a comment that says why it is sound.
    fn is_documented_within(&self, block: &Group) -> bool {
        let first = block.span_open().start().line;
        let tokens = block.stream().into_iter().next();
        let end = tokens.map_or(first, |token| token.span().start().line);
        self.lines[first - 1..end].iter().any(|line| line.contains("// SAFETY:"))
    }

    /// Scans the tokens of a file or group. `is_unsafe` says whether they are in the body of an `unsafe` function.
    /// `enclosing` has the lines where the statement that contains the group begins, and its parts down to the group.
    fn tokens(&mut self, tokens: TokenStream, is_unsafe: bool, enclosing: &[usize]) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        // Where the current statement, match arm or argument begins, and from `fn` on whether its body is unsafe.
        let (mut start, mut body) = (None, None);
        for (number, token) in tokens.iter().enumerate() {
            let line = token.span().start().line;
            let begin = *start.get_or_insert(line);
            let lines = || [enclosing, &[begin, line]].concat();
            let next = tokens.get(number + 1);
            match token {
                // Not the type of a function pointer, which has no name.
                TokenTree::Ident(ident)
                    if ident == "fn" && !is_group(next, Delimiter::Parenthesis) =>
                {
                    let is_abi = |token: &TokenTree| {
                        matches!(token, TokenTree::Literal(_)) || is_word(Some(token), "extern")
                    };
                    let before = tokens[..number].iter().rfind(|token| !is_abi(token));
                    body = Some(is_word(before, "unsafe"));
                }
                TokenTree::Ident(ident) if ident == "unsafe" => {
                    let is_within = match next {
                        Some(TokenTree::Group(block)) if block.delimiter() == Delimiter::Brace => {
                            if is_unsafe {
                                continue;
                            }
                            self.is_documented_within(block)
                        }
                        _ if is_word(next, "impl") => false,
                        // An unsafe function or trait, or an attribute.
                        _ => continue,
                    };
                    self.needed += 1;
                    if !is_within && !lines().iter().any(|line| self.is_documented(*line)) {
                        self.undocumented.push(line);
                    }
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    self.tokens(group.stream(), body.take().unwrap_or(is_unsafe), &[]);
                    let goes_on = match next {
                        Some(TokenTree::Punct(punct)) => !"#&*|'".contains(punct.as_char()),
                        _ => is_word(next, "else") || is_word(next, "as"),
                    };
                    if !goes_on {
                        start = None;
                    }
                }
                TokenTree::Group(group) => self.tokens(group.stream(), is_unsafe, &lines()),
                TokenTree::Punct(punct) if punct.as_char() == ';' => (start, body) = (None, None),
                TokenTree::Punct(punct) if punct.as_char() == ',' => start = None,
                _ => {}
            }
        }
    }
}

/// Returns the lines of the unsafe functions that state no contract although neither a trait nor, for functions of another
/// ABI, Vulkan does.
fn without_contract(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let is_unsafe = |line: &str| {
        let before = line.split_once("unsafe fn ").map(|(before, _)| before.trim());
        let is_qualifier =
            |word: &str| ["pub", "const", "async"].contains(&word) || word.starts_with("pub(");
        before.is_some_and(|before| before.split_whitespace().all(is_qualifier))
    };
    let lacks = |number: &usize| {
        let (above, line) = (&lines[..*number], lines[*number]);
        let documentation = above
            .iter()
            .rev()
            .map(|line| line.trim_start())
            .take_while(|l| l.starts_with("///") || l.starts_with("#["));
        let is_around = |l: &&str| indentation(l) < indentation(line) && l.contains("impl");
        let around = above.iter().rposition(is_around);
        // The head of an implementation may take several lines.
        let is_of_trait = around.is_some_and(|at| {
            let head = lines[at..*number].join(" ");
            head.split('{').next().is_some_and(|head| head.contains(" for "))
        });
        is_unsafe(line)
            && !is_of_trait
            && !documentation.into_iter().any(|l| l.contains("# Safety"))
    };
    (0..lines.len()).filter(lacks).map(|number| number + 1).collect()
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_group(token: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// Returns the files with an extension in a directory and its subdirectories, except what cargo builds and what is hidden.
pub(super) fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let is_source = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        !name.starts_with('.') && name != "target"
    };
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.extension() {
        _ if path.is_dir() => files(&path, extension),
        Some(found) if found == extension => vec![path],
        _ => Vec::new(),
    };
    entries.filter(is_source).flat_map(of).collect()
}

#[test]
fn unsafe_blocks_in_safe_functions_say_why_they_are_sound() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut undocumented, mut needed) = (Vec::new(), 0);
    for file in files(root, "rs") {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap();
        if EXEMPT.iter().any(|exempt| name.starts_with(exempt)) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        if !text.contains("unsafe ") {
            continue;
        }
        let scan = Scan::of(&text);
        needed += scan.needed;
        undocumented.extend(scan.undocumented.iter().map(|line| format!("{name}:{line}")));
    }
    assert!(undocumented.is_empty(), "no SAFETY comment:\n{}", undocumented.join("\n"));
    assert!(needed > 500, "{needed}");
}

#[test]
fn unsafe_functions_state_their_contract() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let of = |file: PathBuf| {
        let lines = without_contract(&fs::read_to_string(&file).unwrap());
        let name = file.strip_prefix(root).unwrap().display().to_string();
        lines.into_iter().map(move |line| format!("{name}:{line}"))
    };
    let found: Vec<String> = files(root, "rs").into_iter().flat_map(of).collect();
    assert!(found.is_empty(), "no # Safety section:\n{}", found.join("\n"));
    let contract = "/// # Safety\n/// So.\n#[inline]\n";
    assert_eq!(without_contract("unsafe fn f() {}\nimpl X {\n    pub unsafe fn g() {}\n}"), [1, 3]);
    assert_eq!(without_contract("pub const unsafe fn f() {}"), [1]);
    assert_eq!(without_contract(&format!("{contract}pub(crate) unsafe fn f() {{}}")), [0; 0]);
    assert_eq!(without_contract("impl X for Y {\n    unsafe fn f() {}\n}"), [0; 0]);
    assert_eq!(without_contract("unsafe extern \"system\" fn f() {}"), [0; 0]);
}

#[test]
fn the_comment_is_looked_for_where_it_belongs() {
    let undocumented = |text: &str| Scan::of(text).undocumented;
    // In a safe function, in a closure of one, in a static, in a macro, and where a comment is of another statement.
    assert_eq!(undocumented("fn f() {\n    unsafe { g() }\n}"), [2]);
    assert_eq!(undocumented("fn f() {\n    h(|x| unsafe { g(x) });\n}"), [2]);
    assert_eq!(undocumented("static X: u32 = unsafe { g() };"), [1]);
    assert_eq!(undocumented("fn f() {\n    assert!(unsafe { g() });\n}"), [2]);
    assert_eq!(undocumented("fn f() {\n    // SAFETY: so\n    g();\n    unsafe { g() };\n}"), [4]);
    assert_eq!(undocumented("fn f() {\n    // Why.\n    unsafe { g() };\n}"), [3]);
    assert_eq!(undocumented("unsafe impl Send for X {}"), [1]);
    // A function within an unsafe one is safe, and the type of a pointer is no function.
    assert_eq!(
        undocumented("unsafe fn f() {\n    fn g() {\n        unsafe { h() }\n    }\n}"),
        [3]
    );
    assert_eq!(undocumented("fn f(g: unsafe fn()) {\n    unsafe { g() }\n}"), [2]);
    let documented = [
        "unsafe fn f() { unsafe { g() } }",
        "unsafe extern \"system\" fn f() { h(|x| unsafe { g(x) }) }",
        "fn f() {\n    // SAFETY: so\n    let x = h(unsafe { g() });\n}",
        "fn f() {\n    let x =\n        // SAFETY: so,\n        // and so.\n        unsafe { g() };\n}",
        "fn f() {\n    // SAFETY: so\n    let x = h(\n        1,\n        unsafe { g() },\n    );\n}",
        "fn f() {\n    unsafe {\n        // SAFETY: so\n        g()\n    }\n}",
        "// SAFETY: so\n#[a]\nunsafe impl Send for X {}",
    ];
    for text in documented {
        assert_eq!(undocumented(text), [0; 0], "{text}");
    }
}
