//! Pages outside of the documentation of rustdoc: their code must be run, and what they name must
//! exist.

use std::fs;
use std::path::{Path, PathBuf};

use super::safety::files;

/// The pages, relative to the root of the repository.
const PAGES: [&str; 12] = [
    ".ci/README.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bench/README.md",
    "capi/INTERFACE.md",
    "capi/README.md",
    "cli/JSON.md",
    "cli/README.md",
    "layer/README.md",
    "shaders/README.md",
    "translators/README.md",
];

/// For each language, the example that pages may show parts of. Tests run each example; capi/tests
/// runs those in C and C++, and builds the project of CMake.
const EXAMPLES: [(&str, &str); 4] = [
    ("rust", "examples/minimal.rs"),
    ("c", "examples/c/minimal.c"),
    ("cpp", "examples/cpp/flag.cpp"),
    ("cmake", "capi/tests/cmake/CMakeLists.txt"),
];

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

pub(super) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the code blocks of a page, with the language that each names.
pub(super) fn blocks(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

/// Removes the indentation of all lines.
pub(super) fn trimmed(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_start())).collect()
}

#[test]
fn code_is_a_part_of_an_example() {
    let pages = PAGES.map(|page| (page, read(page)));
    for (language, example) in EXAMPLES {
        let code = trimmed(&read(example));
        let mut count = 0;
        for (page, text) in &pages {
            for (_, block) in blocks(text).filter(|(named, _)| *named == language) {
                assert!(code.contains(&trimmed(block)), "{page}: not in {example}:\n{block}");
                count += 1;
            }
        }
        assert!(count > 0, "no page has {language}");
    }
    // Code in another language, or with attributes, would be run by nothing.
    let known = ["rust", "c", "cpp", "cmake", "sh", "toml", "text"];
    for (page, text) in &pages {
        let other = blocks(text).find(|(language, _)| !known.contains(language));
        assert_eq!(other, None, "{page}");
    }
}

/// Returns the fragments with which links can refer to the headings of a page.
fn fragments(page: &str) -> Vec<String> {
    let prose: String = page.split("```").step_by(2).collect();
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let fragment = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(fragment).collect()
}

#[test]
fn what_is_named_is_there() {
    let root = root();
    for page in PAGES {
        let text = read(page);
        let directory = root.join(page).parent().unwrap().to_owned();
        let prose: String = text.split("```").step_by(2).collect();
        // Between back quotes: from the root, or from the page's directory.
        let quoted = prose.split('`').skip(1).step_by(2).filter(|name| {
            let is_path = name.contains('/') && !name.contains([' ', '*', '{', '@', '<']);
            is_path && !name.starts_with('/')
        });
        let mut missing: Vec<&str> = quoted
            .filter(|name| !root.join(name).exists() && !directory.join(name).exists())
            .collect();
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { root.join(page) } else { directory.join(file) };
            let is_there = target.exists()
                && (fragment.is_empty() || fragments(&read(target)).iter().any(|f| f == fragment));
            if !is_there {
                missing.push(link);
            }
        }
        assert!(missing.is_empty(), "{page} names what is not there: {missing:?}");
    }
}

/// Returns the paths in the comments of a source that begin with a folder of a package.
fn paths_in_comments(text: &str) -> impl Iterator<Item = &str> {
    const FOLDERS: [&str; 10] = [
        "src",
        "shaders",
        "layer",
        "probe",
        "cli",
        "capi",
        "bench",
        "translators",
        "tests",
        "examples",
    ];
    let comments =
        text.lines().filter_map(|line| line.split_once("//")).map(|(_, comment)| comment);
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./{},*".contains(c);
    let words = comments.flat_map(move |comment| comment.split(move |c| !is_path(c)));
    words.map(|word| word.trim_end_matches(['.', ','])).filter(|word| {
        let folder = word.split_once('/').map(|(folder, rest)| (folder, rest.contains(['{', '*'])));
        folder.is_some_and(|(folder, is_pattern)| FOLDERS.contains(&folder) && !is_pattern)
    })
}

/// Files that comments name are there, from the root or from the package that has the comment.
#[test]
fn what_comments_name_is_there() {
    // Files of Mesa.
    const OTHERS: [&str; 2] = ["src/gallium/", "src/util/"];
    let comment = ["a ", " (src/b.rs, tests/{c}.rs) and/or\n"].join("//");
    assert_eq!(paths_in_comments(&comment).collect::<Vec<_>>(), ["src/b.rs"]);
    let root = root();
    let (mut count, mut missing) = (0, Vec::new());
    for file in ["rs", "wgsl", "c", "h"].iter().flat_map(|extension| files(&root, extension)) {
        let package =
            file.ancestors().find(|directory| directory.join("Cargo.toml").exists()).unwrap();
        for path in paths_in_comments(&read(&file)) {
            count += 1;
            let is_there = root.join(path).exists() || package.join(path).exists();
            if !is_there && !OTHERS.iter().any(|other| path.starts_with(other)) {
                missing.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "named, but not there:\n{}", missing.join("\n"));
    assert!(count > 100, "{count}");
}

/// Hosted runners run scripts that are there, and make a release by the commands of the list in .ci/README.md, in its
/// order.
#[test]
fn workflows_run_what_is_there() {
    let commands = |name: &str| -> Vec<String> {
        let workflow = read(Path::new(".github/workflows").join(name));
        let lines = workflow.lines().filter_map(|line| line.trim().strip_prefix("- run: "));
        lines.filter(|command| command.starts_with(".ci/")).map(str::to_owned).collect()
    };
    let [ci, release] = ["ci.yml", "release.yml"].map(commands);
    for command in ci.iter().chain(&release) {
        let script = command.split(' ').next().unwrap();
        assert!(root().join(script).is_file(), "{command}");
    }
    assert!(ci.iter().any(|command| command.starts_with(".ci/run ")), "{ci:?}");
    let page = read(".ci/README.md");
    let listed = page.lines().find(|line| line.starts_with("2. `.ci/run")).unwrap();
    let listed: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    assert_eq!(release, listed);
}
