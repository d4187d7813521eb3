//! Breaks text in pictures into lines, because SVG does not break lines, and clips lines that are
//! too long.
//!
//! It is not known with which font a picture is shown. The widths here are those of DejaVu Sans, which is wider than
//! most other fonts in the style sheets, so lines fit in those fonts, too.

use svg::node::element::Group;

use crate::picture::text;

/// A style of text. Each has a class in the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lettering {
    Title,
    Note,
}

impl Lettering {
    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Title => "xf-title",
            Self::Note => "xf-note",
        }
    }

    /// The font size in user units of SVG. The style sheet sets the same size.
    pub(super) const fn size(self) -> f32 {
        match self {
            Self::Title => 14.0,
            Self::Note => 11.5,
        }
    }

    pub(super) const fn is_bold(self) -> bool {
        matches!(self, Self::Title)
    }

    /// The distance between lines in user units.
    const fn step(self) -> f32 {
        match self {
            Self::Title => 17.0,
            Self::Note => 15.0,
        }
    }
}

/// A text that was broken into lines of one style, each of which fits a width.
pub(super) struct Lines {
    lettering: Lettering,
    lines: Vec<String>,
}

impl Lines {
    /// Breaks a text into lines no wider than `room` user units: at spaces, and inside of words that are too long.
    pub(super) fn of(lettering: Lettering, content: &str, room: f32) -> Self {
        let fits = |line: &str| text_width(line, lettering.size(), lettering.is_bold()) <= room;
        let mut lines = Vec::new();
        let mut line = String::new();
        for word in content.split(' ') {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if fits(&longer) {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            for letter in word.chars() {
                line.push(letter);
                if !fits(&line) && line.chars().nth(1).is_some() {
                    line.pop();
                    lines.push(std::mem::replace(&mut line, letter.to_string()));
                }
            }
        }
        lines.push(line);
        Self { lettering, lines }
    }

    /// The height of all lines after the first, in user units.
    pub(super) fn extra(&self) -> f32 {
        (self.lines.len() - 1) as f32 * self.lettering.step()
    }

    /// Draws the lines, with the first one at `y`.
    pub(super) fn draw(&self, x: f32, y: f32) -> Group {
        let class = self.lettering.class();
        let place = |line: usize| y + line as f32 * self.lettering.step();
        let lines = self.lines.iter().enumerate();
        lines.fold(Group::new(), |all, (number, line)| all.add(text(x, place(number), class, line)))
    }
}

/// Returns the width in user units of a line of text in DejaVu Sans with this font size.
fn text_width(line: &str, size: f32, is_bold: bool) -> f32 {
    let heavier = if is_bold { 1.18 } else { 1.0 };
    line.chars().map(letter_width).sum::<f32>() * size * heavier
}

/// The width of a letter divided by the font size, rounded up.
const fn letter_width(letter: char) -> f32 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '.' | ',' | ':' | ';' | '|' | ' ' | '/' | '\\' | 'I' | 'J' => 0.34,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '!' | '-' | '"' => 0.47,
        'c' | 's' | 'v' | 'x' | 'y' | 'z' | 'k' | '*' | '_' | '?' => 0.6,
        'L' | 'F' | 'E' | 'P' | 'S' | 'T' | 'Y' | '{' | '}' | '$' => 0.65,
        'a'..='h' | 'n'..='q' | 'u' | '0'..='9' => 0.64,
        'A' | 'B' | 'C' | 'K' | 'R' | 'U' | 'V' | 'X' | 'Z' => 0.74,
        'w' | '#' | '+' | '<' | '=' | '>' | '~' | '^' | '&' | 'D' | 'G' | 'H' | 'N' | 'O' | 'Q' => {
            0.84
        }
        'm' | 'M' | 'W' | '%' => 1.0,
        // Other characters, for example Chinese ones, may be as wide as they are high.
        _ => 1.02,
    }
}
