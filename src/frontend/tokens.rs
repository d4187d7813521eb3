//! Splits a source into words and punctuation, only as far as is necessary to find certain words:
//! the syntax that WGSL and GLSL have in common, and GLSL's directives.

use std::ops::Range;

use super::SourceLocation;

/// A word, a number or one character of punctuation. Comments and white space are not tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// The range of the token's bytes in the source.
    pub range: Range<usize>,
    /// Whether the token belongs to a directive of GLSL's preprocessor: to a line that begins with
    /// `#`.
    pub directive: bool,
}

#[derive(Debug)]
pub(super) struct Tokens<'a> {
    source: &'a str,
    list: Vec<Token>,
}

impl<'a> Tokens<'a> {
    /// Finds the tokens. Comments nest in WGSL, but not in GLSL.
    pub fn of(source: &'a str, comments_nest: bool) -> Self {
        let bytes = source.as_bytes();
        let mut list = Vec::new();
        let (mut at, mut directive) = (0, false);
        while at < bytes.len() {
            let rest = &bytes[at..];
            match rest[0] {
                b'\n' => (at, directive) = (at + 1, false),
                // A backslash continues the directive on the next line.
                b'\\' if rest.starts_with(b"\\\n") => at += 2,
                b'\\' if rest.starts_with(b"\\\r\n") => at += 3,
                byte if byte.is_ascii_whitespace() => at += 1,
                b'/' if rest.starts_with(b"//") => {
                    at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                b'/' if rest.starts_with(b"/*") => at += comment(rest, comments_nest),
                byte => {
                    directive |= byte == b'#';
                    let length = if is_word(byte) {
                        rest.iter().take_while(|byte| is_word(**byte)).count()
                    } else {
                        // A token is at least one whole character, so that no range splits a
                        // character.
                        source[at..].chars().next().map_or(1, char::len_utf8)
                    };
                    list.push(Token { range: at..at + length, directive });
                    at += length;
                }
            }
        }
        Self { source, list }
    }

    pub fn list(&self) -> &[Token] {
        &self.list
    }

    /// The text of the token with this index; empty if the index is out of range.
    pub fn text(&self, index: usize) -> &'a str {
        self.list.get(index).map_or("", |token| &self.source[token.range.clone()])
    }

    /// The position of the token with this index in the source; `None` if the index is out of range.
    pub fn location(&self, index: usize) -> Option<SourceLocation> {
        self.list.get(index).map(|token| location(self.source, token.range.start))
    }

    /// The index of the token that contains a byte of the source; `None` if no token does.
    #[cfg(any(feature = "glsl", test))]
    pub fn at(&self, byte: usize) -> Option<usize> {
        let index = self.list.partition_point(|token| token.range.end <= byte);
        self.list.get(index).filter(|token| token.range.contains(&byte)).map(|_| index)
    }
}

pub(super) fn location(source: &str, byte: usize) -> SourceLocation {
    let before = &source.as_bytes()[..byte.min(source.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    SourceLocation { line, column: (before.len() - start) as u32 + 1 }
}

/// The length in bytes of the block comment (`/*`) with which a text begins. `nests` says whether block comments nest.
fn comment(text: &[u8], nests: bool) -> usize {
    let (mut at, mut depth) = (2, 1);
    while at < text.len() && depth > 0 {
        if text[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
        } else if nests && text[at..].starts_with(b"/*") {
            (at, depth) = (at + 2, depth + 1);
        } else {
            at += 1;
        }
    }
    at
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str, comments_nest: bool) -> Vec<(&str, bool)> {
        let tokens = Tokens::of(source, comments_nest);
        (0..tokens.list().len()).map(|i| (tokens.text(i), tokens.list()[i].directive)).collect()
    }

    #[test]
    fn comments_and_directives_are_told_apart() {
        let source = "// a\n/* b\n*/ c1 += d;\n#if \\\n e // f\ng /*/ */ h /* i";
        let code = ["c1", "+", "=", "d", ";"].map(|text| (text, false));
        let directive = ["#", "if", "e"].map(|text| (text, true));
        let expected = [&code[..], &directive, &[("g", false), ("h", false)]].concat();
        assert_eq!(texts(source, false), expected);
        assert_eq!(texts("/* /* a */ b */ c", true), [("c", false)]);
        assert_eq!(texts("/* /* a */ b", false), [("b", false)]);
    }

    #[test]
    fn locations_count_lines_and_bytes() {
        let tokens = Tokens::of("a\n  ü b", true);
        assert_eq!(tokens.location(2), Some(SourceLocation { line: 2, column: 6 }));
        assert_eq!((tokens.at(4), tokens.at(5), tokens.at(6)), (Some(1), Some(1), None));
        assert_eq!(tokens.location(3), None);
    }
}
