//! Explains naga's errors to the author of the shader: the position in the source, what is not
//! supported, and what to do instead.

use naga::front::glsl::{Error, ErrorKind, ParseErrors};
use naga::valid::{EntryPointError, ValidationError, VaryingError};
use naga::{Module, Span, WithSpan};

use super::interface::{block_array, has_arrays_of_arrays, misplaced};
use super::rewrite::{MemberOffset, Rewritten};
use crate::frontend::tokens::{self, Tokens, location};
use crate::frontend::{FrontendError, SourceLocation, messages};

/// Advice for errors that a valid source may cause, because naga supports only a part of GLSL.
const GLSLANG: &str = "naga reads a part of GLSL; if the source is right, compile it with glslang \
    (glslangValidator -V) and take the SPIR-V";

const GLSLANG_ONLY: &str = "compile it with glslang (glslangValidator -V) and take the SPIR-V";

const GLSLANG_BINDINGS: &str = "put it into a block with a set and a binding, as Vulkan has them, or compile \
    it with glslang (glslangValidator -V -R --auto-map-locations --auto-map-bindings) and take the SPIR-V";

const GLSLANG_LOCATIONS: &str = "give each its layout(location = ...), or compile it with glslang \
    (glslangValidator -V --auto-map-locations) and take the SPIR-V";

/// The source, and the text that was made from it for naga. Errors of naga are explained with both.
pub(super) struct Explain<'a> {
    pub source: &'a str,
    pub tokens: &'a Tokens<'a>,
    pub rewritten: &'a Rewritten,
}

impl Explain<'_> {
    fn byte(&self, span: Span) -> Option<usize> {
        Some(self.rewritten.source_byte(span.to_range()?.start))
    }

    fn location(&self, span: Span) -> Option<SourceLocation> {
        self.byte(span).map(|byte| location(self.source, byte))
    }

    /// Rejects code that naga accepts but compiles incorrectly.
    pub fn check(&self, module: &Module) -> Result<(), FrontendError> {
        let unsupported = |location, what: String| {
            Err(FrontendError::Unsupported { location, what, advice: GLSLANG_ONLY })
        };
        if has_arrays_of_arrays(module) {
            return unsupported(None, "an array of arrays".to_owned());
        }
        if let Some((span, name)) = block_array(module) {
            return unsupported(self.location(span), format!("the array of blocks '{name}'"));
        }
        match misplaced(module, &self.rewritten.member_offsets) {
            Some(MemberOffset { member, offset, byte, .. }) => unsupported(
                Some(location(self.source, *byte)),
                format!("layout(offset = {offset}) of '{member}'"),
            ),
            None => Ok(()),
        }
    }

    /// Explains naga's first error.
    pub fn parse_errors(&self, errors: &ParseErrors) -> FrontendError {
        let Some(Error { kind, meta }) = errors.errors.first() else {
            let advice = Some(GLSLANG);
            return FrontendError::Source { location: None, message: errors.to_string(), advice };
        };
        let index = self.byte(*meta).and_then(|byte| self.tokens.at(byte));
        let word = index.map_or("", |index| self.tokens.text(index));
        let location = self.location(*meta);
        let unsupported =
            |what: String, advice| FrontendError::Unsupported { location, what, advice };
        match kind {
            ErrorKind::InvalidVersion(version) => unsupported(
                format!("GLSL of version {version}"),
                "Vulkan takes 140 to 460, 310 es and 320 es",
            ),
            ErrorKind::InvalidProfile(profile) => {
                unsupported(format!("GLSL's {profile} profile"), "Vulkan takes core and es")
            }
            ErrorKind::PreprocessorError(_) if word == "include" => {
                unsupported("'#include'".to_owned(), GLSLANG_ONLY)
            }
            ErrorKind::PreprocessorError(error) => {
                let foreign = (0..self.tokens.list().len())
                    .find(|index| self.tokens.text(*index).starts_with(is_foreign));
                // pp-rs, naga's preprocessor, reports `UnexpectedCharacter` without a position. naga does not export
                // the type of this error, so the error is recognized by its debug output.
                match (format!("{error:?}").as_str(), foreign) {
                    ("UnexpectedCharacter", Some(index)) => FrontendError::Unsupported {
                        location: self.tokens.location(index),
                        what: format!("the character {}, as in strings,", self.tokens.text(index)),
                        advice: GLSLANG_ONLY,
                    },
                    (error, _) => {
                        let message = format!("the preprocessor says {error}");
                        FrontendError::Source { location, message, advice: Some(GLSLANG) }
                    }
                }
            }
            _ if is_combined_sampler(word) => unsupported(
                format!("the combined image sampler '{word}'"),
                "declare a texture and a sampler (texture2D, sampler), or compile it with glslang",
            ),
            // naga takes the name of an unknown type for the name of a variable that is redeclared with other
            // qualifiers, and reports this error.
            ErrorKind::NotImplemented("variable qualifier") => {
                unsupported(format!("the type '{word}'"), GLSLANG_ONLY)
            }
            ErrorKind::UnknownType(ty) => unsupported(format!("the type '{ty}'"), GLSLANG_ONLY),
            ErrorKind::UnknownVariable(name)
                if name == "gl_VertexID" || name == "gl_InstanceID" =>
            {
                unsupported(
                    format!("OpenGL's '{name}'"),
                    "Vulkan has gl_VertexIndex and gl_InstanceIndex",
                )
            }
            ErrorKind::UnknownVariable(name) if name.starts_with("gl_") => {
                unsupported(format!("the built-in variable '{name}'"), GLSLANG_ONLY)
            }
            ErrorKind::SemanticError(message) if message.contains("layout(binding=X)") => {
                match index.is_some_and(|index| self.is_buffer_reference(index)) {
                    true => unsupported(format!("the buffer reference '{word}'"), GLSLANG_ONLY),
                    false => unsupported(
                        format!("the uniform '{word}' without a binding"),
                        GLSLANG_BINDINGS,
                    ),
                }
            }
            ErrorKind::InvalidToken(..) if word == "layout" => {
                unsupported("a layout of a member".to_owned(), GLSLANG_ONLY)
            }
            ErrorKind::SemanticError(message) if message == "Unexpected qualifier" => {
                unsupported(format!("the qualifier '{word}'"), GLSLANG_ONLY)
            }
            ErrorKind::InvalidToken(..) if word == "precise" => {
                unsupported("'precise'".to_owned(), GLSLANG_ONLY)
            }
            kind => {
                FrontendError::Source { location, message: kind.to_string(), advice: Some(GLSLANG) }
            }
        }
    }

    /// Whether the declaration that contains a token has the layout `buffer_reference`.
    fn is_buffer_reference(&self, index: usize) -> bool {
        let declaration = (0..index).rev().map(|index| self.tokens.text(index));
        let mut words = declaration.take_while(|text| !matches!(*text, ";" | "}"));
        words.any(|text| text == "buffer_reference")
    }

    pub fn validation(&self, error: &WithSpan<ValidationError>) -> FrontendError {
        let location = error.spans().find_map(|(span, _)| self.location(*span));
        let varying = match error.as_inner() {
            ValidationError::EntryPoint {
                source: EntryPointError::Argument(_, varying) | EntryPointError::Result(varying),
                ..
            } => Some(varying),
            _ => None,
        };
        match varying {
            Some(VaryingError::BindingCollision { location: collision }) => {
                let what = format!("inputs or outputs that share the location {collision}");
                let unlocated = self.rewritten.unlocated;
                let location =
                    unlocated.map(|byte| tokens::location(self.source, byte)).or(location);
                FrontendError::Unsupported { location, what, advice: GLSLANG_LOCATIONS }
            }
            Some(VaryingError::NotIOShareableType(_)) => FrontendError::Unsupported {
                location,
                what: "an input or output that is neither numbers, vectors nor matrices".to_owned(),
                advice: GLSLANG_ONLY,
            },
            _ => FrontendError::Source {
                location,
                message: messages(error.as_inner()),
                advice: Some(GLSLANG),
            },
        }
    }
}

/// Whether a character is not used in GLSL.
fn is_foreign(character: char) -> bool {
    matches!(character, '"' | '\'' | '@' | '$' | '`') || !character.is_ascii()
}

/// Whether a word is a type such as `sampler2D` or `usamplerBuffer`.
fn is_combined_sampler(word: &str) -> bool {
    let dimension = word.trim_start_matches(['i', 'u']).strip_prefix("sampler");
    dimension.is_some_and(|dimension| !dimension.is_empty() && dimension != "Shadow")
}
