//! Checks that text from outside does not control the terminal: names in modules, contents of files, paths, and
//! arguments.

use serde_json::Value;

use crate::command::{Ran, Shaders, vkxfb};

/// Sets the title of the window, erases the screen twice, once by a C1 control character, and turns the order of the
/// letters that follow.
const HOSTILE: &str = "x\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}2J\u{202e}y";
const ESCAPED: &str = "x\\u{1b}]0;title\\u{7}\\u{1b}[2J\\u{9b}2J\\u{202e}y";

/// Checks that the command prints the text escaped and nothing else that controls a terminal.
#[track_caller]
fn assert_harmless(ran: Ran, is_shown: &str) -> Ran {
    for text in [&ran.stdout, &ran.stderr] {
        let is_active = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(is_active), "{text:?}");
    }
    assert!(
        format!("{}{}", ran.stdout, ran.stderr).contains(is_shown),
        "{}{}",
        ran.stdout,
        ran.stderr
    );
    ran
}

/// A vertex shader whose output and entry point have hostile names.
fn shader(shaders: &Shaders) -> String {
    let place = |letter: &str| letter.repeat(HOSTILE.len());
    let (output, entry) = (place("q"), "main");
    let file = shaders.glsl(
        "names.spv",
        &format!(
            "
            #version 450
            layout(location = 0) out vec4 {output};
            void main() {{ gl_Position = vec4(1); {output} = vec4(gl_VertexIndex); }}"
        ),
    );
    let mut bytes = std::fs::read(&file).unwrap();
    let mut replace = |name: &str, other: &str| {
        let at = bytes.windows(name.len()).position(|part| part == name.as_bytes()).unwrap();
        bytes[at..at + name.len()].copy_from_slice(other.as_bytes());
    };
    replace(&output, HOSTILE);
    replace(entry, "m\u{1b}\nn");
    shaders.file("names.spv", &bytes)
}

#[test]
fn names_in_modules_are_escaped() {
    let shaders = Shaders::new();
    let shader = shader(&shaders);
    let draw = ["capture", &shader, "--vertices", "3", "--format", "table"];
    assert_harmless(vkxfb(&draw).exits(0), ESCAPED);
    let inspected = assert_harmless(vkxfb(&["inspect", &shader]).exits(0), ESCAPED);
    assert!(
        inspected.stdout.starts_with("vertex shader 'm\\u{1b}\\u{a}n'\n"),
        "{}",
        inspected.stdout
    );
    let gl = ["inspect", &shader, "--gl", "--varyings", "@0"];
    assert_harmless(vkxfb(&gl).exits(0), ESCAPED);
    let wrong = ["capture", &shader, "--vertices", "3", "--varyings", "none"];
    assert_harmless(vkxfb(&wrong).exits(2), ESCAPED);
    let wrong = [
        "lower",
        &shader,
        "--backend",
        "compute",
        "--varyings",
        &format!("{HOSTILE}[1]"),
        "--json",
    ];
    assert_harmless(vkxfb(&wrong).exits(2), ESCAPED);

    // JSON has the names themselves.
    let draw = ["capture", &shader, "--vertices", "3", "--format", "json"];
    let json = assert_harmless(vkxfb(&draw).exits(0), "\\u202e").json();
    assert!(json["records"][0]["outputs"].get(HOSTILE).is_some(), "{json}");
    let json = assert_harmless(vkxfb(&["inspect", &shader, "--json"]).exits(0), "\\u009b").json();
    let has_name = |row: &Value| row["name"] == HOSTILE;
    assert!(json["shader_outputs"].as_array().unwrap().iter().any(has_name), "{json}");
}

/// What other programs read is the same in a pipe as in a file, and has the names themselves.
#[test]
fn data_for_other_programs_is_exact() {
    let shaders = Shaders::new();
    let shader = shader(&shaders);
    let out = shaders.path("out");
    let to = out.to_str().unwrap();
    let draw = ["capture", &shader, "--vertices", "3", "--format", "csv"];
    let piped = vkxfb(&draw).exits(0).stdout;
    assert!(piped.contains(HOSTILE), "{piped:?}");
    vkxfb(&[&draw[..], &["-o", to]].concat()).exits(0);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), piped);
    let text = vkxfb(&["strip-xfb", &shader, "--text", "-o", to]).exits(0).stdout;
    let disassembled = std::process::Command::new("spirv-dis").arg(&out).output().unwrap().stdout;
    assert!(text.contains(HOSTILE), "{text:?}");
    assert_eq!(text.as_bytes(), disassembled);
}

#[test]
fn contents_of_files_paths_and_arguments_are_escaped() {
    let shaders = Shaders::new();
    let shader = shaders.file(
        "plain.wgsl",
        b"@vertex fn main(@location(0) speed: vec4f) -> @builtin(position) vec4f { return speed; }",
    );
    let draw = |mesh: &str| vkxfb(&["capture", &shader, "--mesh", mesh]).exits(2);
    let head = "ply\nformat ascii 1.0\nelement";
    let ply = format!("{head} vertex 1\nproperty float {HOSTILE}\nend_header\n0\n");
    assert_harmless(draw(&shaders.file("names.ply", ply.as_bytes())), ESCAPED);
    let ply = format!("{head} {HOSTILE} 1\nend_header\n");
    assert_harmless(draw(&shaders.file("element.ply", ply.as_bytes())), ESCAPED);
    let csv = format!("{HOSTILE}\n1\n");
    assert_harmless(draw(&shaders.file("names.csv", csv.as_bytes())), ESCAPED);
    let csv = format!("a\n1{HOSTILE}\n");
    assert_harmless(draw(&shaders.file("numbers.csv", csv.as_bytes())), ESCAPED);
    let obj = format!("v 0 0 0\nf 1 1 {HOSTILE}\n");
    assert_harmless(draw(&shaders.file("faces.obj", obj.as_bytes())), ESCAPED);

    // A line break in a path does not begin a message.
    let path = format!("{HOSTILE}\nerror: no.spv");
    let ran = assert_harmless(vkxfb(&["inspect", &path]).exits(2), ESCAPED);
    assert!(ran.stderr.contains("\n  error: no.spv"), "{}", ran.stderr);
    assert_harmless(draw(&shaders.file(&format!("{HOSTILE}.ply"), b"")), ESCAPED);
    for wrong in [
        &["inspect", &format!("--{HOSTILE}")][..],
        &["inspect", &shader, "--max-locations", HOSTILE],
        &[HOSTILE],
    ] {
        let ran = assert_harmless(vkxfb(wrong).exits(2), ESCAPED);
        // In these words clap has colours.
        let has = |plain: &str| ran.stderr.contains(plain);
        let is_plain = has("\nUsage: vkxfb") || has("for '--max-locations <N>'");
        assert!(is_plain && has("\nFor more information, try '--help'.\n"), "{}", ran.stderr);
    }
    // What the command logs.
    let source = std::fs::read(&shader).unwrap();
    let hostile = shaders.file(&format!("{HOSTILE}.wgsl"), &source);
    let mut logged = crate::command::command(&["inspect", &hostile]);
    let ran = Ran::new(logged.env("VKXFB_LOG", "trace").output().unwrap());
    assert_harmless(ran.exits(0), "title\\u{7}");
}
