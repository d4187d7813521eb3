//! Splits a source in WGSL into words and punctuation, only as far as is necessary to find certain words.

use std::ops::Range;

use super::SourceLocation;

/// The words, numbers and single characters of punctuation of a source. Comments and white space are not tokens.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    source: &'a str,
    /// The range of each token's bytes in the source.
    list: Vec<Range<usize>>,
}

impl<'a> Tokens<'a> {
    pub fn of(source: &'a str) -> Self {
        let bytes = source.as_bytes();
        let mut list = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match rest[0] {
                byte if byte.is_ascii_whitespace() => at += 1,
                b'/' if rest.starts_with(b"//") => {
                    at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                b'/' if rest.starts_with(b"/*") => at += comment(rest),
                byte => {
                    let length = if is_word(byte) {
                        rest.iter().take_while(|byte| is_word(**byte)).count()
                    } else {
                        // A token is at least one whole character, so that no range splits a
                        // character.
                        source[at..].chars().next().map_or(1, char::len_utf8)
                    };
                    list.push(at..at + length);
                    at += length;
                }
            }
        }
        Self { source, list }
    }

    pub fn list(&self) -> &[Range<usize>] {
        &self.list
    }

    /// The text of the token with this index; empty if the index is out of range.
    pub fn text(&self, index: usize) -> &'a str {
        self.list.get(index).map_or("", |range| &self.source[range.clone()])
    }

    /// The position of the token with this index in the source; `None` if the index is out of range.
    pub fn location(&self, index: usize) -> Option<SourceLocation> {
        self.list.get(index).map(|range| location(self.source, range.start))
    }
}

pub(super) fn location(source: &str, byte: usize) -> SourceLocation {
    let before = &source.as_bytes()[..byte.min(source.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    SourceLocation { line, column: (before.len() - start) as u32 + 1 }
}

/// The length in bytes of the block comment (`/*`) with which a text begins. Block comments nest.
fn comment(text: &[u8]) -> usize {
    let (mut at, mut depth) = (2, 1);
    while at < text.len() && depth > 0 {
        if text[at..].starts_with(b"*/") {
            (at, depth) = (at + 2, depth - 1);
        } else if text[at..].starts_with(b"/*") {
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

    fn texts(source: &str) -> Vec<&str> {
        let tokens = Tokens::of(source);
        (0..tokens.list().len()).map(|index| tokens.text(index)).collect()
    }

    #[test]
    fn comments_are_left_out() {
        let source = "// a\n/* b\n*/ c1 += d; // e\nf /*/ */ g /* h";
        assert_eq!(texts(source), ["c1", "+", "=", "d", ";", "f", "g"]);
        assert_eq!(texts("/* /* a */ b */ c"), ["c"]);
    }

    #[test]
    fn locations_count_lines_and_bytes() {
        let tokens = Tokens::of("a\n  ü b");
        assert_eq!(tokens.location(2), Some(SourceLocation { line: 2, column: 6 }));
        assert_eq!(tokens.location(3), None);
    }
}
