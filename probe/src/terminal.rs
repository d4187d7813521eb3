//! Text on a terminal, and in tables for one. Names in modules, contents of files, paths and what drivers say come from
//! outside: they must neither control the terminal nor change the order in which text is read there.

#![forbid(unsafe_code)]

/// The character with which escape sequences of a terminal begin.
const ESCAPE: char = '\u{1b}';

/// Whether a character does something instead of being shown: control characters, separators of lines, and what
/// changes the direction of text ([UAX #9](https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters)).
fn is_active(c: char) -> bool {
    let is_direction = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    c.is_control() || is_direction
}

/// Replaces active characters, except for those in `kept`.
fn replaced(text: &str, kept: &[char], replace: impl Fn(char) -> String) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_active(c) && !kept.contains(&c) { shown += &replace(c) } else { shown.push(c) }
    }
    shown
}

/// Returns text of several lines with active characters as Rust escapes them, such as `\u{1b}`.
pub fn printable(text: &str) -> String {
    replaced(&text.replace("\r\n", "\n"), &['\n', '\t'], |c| c.escape_unicode().to_string())
}

/// Like [`printable`], but escapes line breaks as well: for a name that is a part of a line.
pub fn in_line(text: &str) -> String {
    replaced(text, &[], |c| c.escape_unicode().to_string())
}

/// Like [`printable`], but leaves colours as they are (`ESC [ NUMBERS m`): for text that is made of parts, of which
/// those from outside are escaped already.
pub fn coloured(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let mut shown = parts.next().map(printable).unwrap_or_default();
    for part in parts {
        let is_number = |c: char| c.is_ascii_digit() || c == ';';
        let end = part
            .strip_prefix('[')
            .and_then(|rest| rest.trim_start_matches(is_number).strip_prefix('m'));
        match end {
            Some(rest) => {
                shown.push(ESCAPE);
                shown += &part[..part.len() - rest.len()];
                shown += &printable(rest);
            }
            None => shown += &printable(&format!("{ESCAPE}{part}")),
        }
    }
    shown
}

/// Returns JSON with active characters as JSON escapes them, so that it means the same.
pub fn json(text: &str) -> String {
    replaced(text, &['\n'], |c| format!("\\u{:04x}", u32::from(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;b\u{7}\u{9b}2J\r\u{202e}c\nd";

    #[test]
    fn what_would_control_a_terminal_is_escaped() {
        let escaped = "a\\u{1b}]0;b\\u{7}\\u{9b}2J\\u{d}\\u{202e}c";
        assert_eq!(printable(HOSTILE), format!("{escaped}\nd"));
        assert_eq!(in_line(HOSTILE), format!("{escaped}\\u{{a}}d"));
        assert_eq!(printable("ä\t\u{1f600} 'b'\r\n"), "ä\t\u{1f600} 'b'\n");
        for c in ['\u{61c}', '\u{200f}', '\u{2029}', '\u{2066}', '\u{2069}', '\u{7f}'] {
            assert_eq!(in_line(&c.to_string()), c.escape_unicode().to_string());
        }
    }

    #[test]
    fn colours_stay() {
        let red = "\u{1b}[31;1mred\u{1b}[0m\u{1b}[m";
        assert_eq!(coloured(red), red);
        assert_eq!(coloured(&format!("{red}{HOSTILE}")), format!("{red}{}", printable(HOSTILE)));
        for other in ["\u{1b}", "\u{1b}[2J", "\u{1b}[31", "\u{1b}\u{1b}[?25l", "\u{1b}[3\u{9b}1m"] {
            assert_eq!(coloured(other), printable(other));
        }
    }

    #[test]
    fn json_means_the_same() {
        let text = serde_json::to_string_pretty(&[HOSTILE]).unwrap_or_default();
        let shown = json(&text);
        assert!(!shown.contains(|c| is_active(c) && c != '\n'), "{shown:?}");
        assert_eq!(serde_json::from_str(&shown).ok(), Some([HOSTILE.to_owned()]));
    }
}
