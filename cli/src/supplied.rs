//! Contents for a shader's descriptors and push constants, which the user supplies as files and as
//! values of members.

mod block;
mod json;
mod value;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use spirv::{Decoration, StorageClass};
use vkxfb_probe::contents::{Given, GivenBytes};
use vkxfb_rewriter::lower::Shader;
use vkxfb_rewriter::spirv::Id;
use vkxfb_rewriter::spirv::declarations::{Declarations, Type};

pub(super) use self::block::Member;
use self::block::{Block, Number};
use self::value::Value;
pub(super) use self::value::{Literal, literals};

/// The maximum number of bytes that the values of members may take. Without it, a wrong index could
/// use up all memory.
const MOST_BYTES: usize = 1 << 30;

/// Options with the contents of buffers and push constants.
#[derive(Debug, clap::Args)]
pub(super) struct Supplied {
    /// Contents of a uniform or storage buffer, by descriptor set and binding: a file with all bytes, as they are in
    /// memory (0.1=lights.bin), a .json file with members by their names (0.1=lights.json), or the value of a member
    /// (0.0.tint=1,0.5,0, 0.0.view=identity); 0.0.*=0 is for all that is not given otherwise. Whatever the
    /// order of the options, a part has precedence over the whole: a member over *, lights[2] over lights, and members
    /// over the file. All elements of an array of buffers are this buffer
    #[arg(long = "uniform", value_name = "SET.BINDING=FILE|SET.BINDING.MEMBER=VALUE", value_parser = parse_buffer)]
    buffers: Vec<Assignment<(u32, u32)>>,
    /// Contents of the push constants: a file with the bytes from byte 0 on, a .json file with
    /// members by their names, or the value of a member
    #[arg(long, value_name = "FILE|MEMBER=VALUE", value_parser = parse_push)]
    push: Vec<Assignment<()>>,
}

/// Contents for a buffer or for the push constants. `place` is the descriptor set and the binding of the buffer; `()`
/// for the push constants.
#[derive(Debug, Clone, PartialEq)]
struct Assignment<P> {
    place: P,
    content: Content,
}

#[derive(Debug, Clone, PartialEq)]
enum Content {
    /// All bytes, from a file.
    File(PathBuf),
    /// The value of the member at a path. `text` is the value as the user wrote it.
    Member { path: String, text: String, value: Value },
}

/// The origin of contents. If several origins set the same bytes, the origin that is later in this list wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin<'c> {
    /// A value for the whole block.
    Whole,
    /// All bytes, in a file.
    Bytes,
    /// The value of a member in this file of JSON.
    Json(&'c Path),
    /// The value of a member on the command line.
    Option,
}

impl Content {
    /// The number of members and elements in the path from the block to the content.
    fn depth(&self) -> usize {
        match self {
            Self::File(_) => 0,
            Self::Member { path, .. } => path.matches(['.', '[']).count(),
        }
    }
}

/// Returns contents in the order in which they are to be written: from the lowest to the highest precedence, because
/// later contents replace earlier ones. Instead of a JSON file, the result contains the members in the file.
fn in_order<'c>(contents: &[&'c Content]) -> Result<Vec<(Origin<'c>, Cow<'c, Content>)>> {
    let mut all = Vec::new();
    for content in contents {
        match content {
            Content::File(file) if json::is(file) => {
                let members = json::members(file)?.into_iter();
                all.extend(members.map(|member| (Origin::Json(file), Cow::Owned(member))));
            }
            Content::File(_) => all.push((Origin::Bytes, Cow::Borrowed(*content))),
            Content::Member { .. } => all.push((Origin::Option, Cow::Borrowed(*content))),
        }
    }
    for (origin, content) in &mut all {
        if matches!(&**content, Content::Member { path, .. } if path == "*") {
            *origin = Origin::Whole;
        }
    }
    all.sort_by_key(|(origin, content)| (*origin, content.depth()));
    Ok(all)
}

/// The contents that were supplied. `missing` lists the members without a value, with the options
/// that would set them.
#[derive(Default)]
pub(super) struct Read {
    pub(super) given: Given,
    pub(super) missing: Vec<String>,
}

impl Supplied {
    /// Reads the files, and writes the values of members at their offsets in the shaders' blocks.
    pub(super) fn read(&self, shaders: &[&Shader<'_>]) -> Result<Read> {
        let mut read = Read::default();
        if self.buffers.is_empty() && self.push.is_empty() {
            return Ok(read);
        }
        let modules = Modules::of(shaders)?;
        let mut by_place: BTreeMap<(u32, u32), Vec<&Content>> = BTreeMap::new();
        for Assignment { place, content } in &self.buffers {
            by_place.entry(*place).or_default().push(content);
        }
        for ((set, binding), contents) in by_place {
            let place = format!("{set}.{binding}");
            let blocks = modules.blocks(set, binding);
            let option = format!("--uniform {place}");
            if blocks.is_empty() && has_members(&contents) {
                let all = modules.places();
                let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
                bail!("{option}: the shader has no such block; it has: {all}");
            }
            let bytes = bytes_of(&contents, &blocks, &option, ".", &mut read)?;
            read.given.buffers.insert((set, binding), bytes);
        }
        let contents: Vec<&Content> = self.push.iter().map(|push| &push.content).collect();
        if !contents.is_empty() {
            let blocks = modules.push_constants();
            if blocks.is_empty() && has_members(&contents) {
                bail!("--push: the shader has no push constants");
            }
            let bytes = bytes_of(&contents, &blocks, "--push", " ", &mut read)?;
            read.given.push_constants = Some(bytes);
        }
        Ok(read)
    }

    /// Returns command line options with the same meaning as these values.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        for Assignment { place: (set, binding), content } in &self.buffers {
            let what = match content {
                Content::File(file) => format!("{set}.{binding}={}", file.display()),
                Content::Member { path, text, .. } => format!("{set}.{binding}.{path}={text}"),
            };
            options.extend(["--uniform".to_owned(), what]);
        }
        for Assignment { content, .. } in &self.push {
            let what = match content {
                Content::File(file) => file.display().to_string(),
                Content::Member { path, text, .. } => format!("{path}={text}"),
            };
            options.extend(["--push".to_owned(), what]);
        }
        options
    }
}

/// Returns the members of the block at a binding, of all shaders. Without a binding, returns those of
/// the push constants.
pub(super) fn members(shaders: &[&Shader<'_>], place: Option<(u32, u32)>) -> Result<Vec<Member>> {
    let modules = Modules::of(shaders)?;
    let blocks = match place {
        Some((set, binding)) => modules.blocks(set, binding),
        None => modules.push_constants(),
    };
    let mut all = Vec::new();
    for block in &blocks {
        for member in block.members()? {
            if !all.contains(&member) {
                all.push(member);
            }
        }
    }
    Ok(all)
}

struct Modules(Vec<Declarations>);

impl Modules {
    fn of(shaders: &[&Shader<'_>]) -> Result<Self> {
        let declared = |shader: &&Shader<'_>| Ok(Declarations::of(&shader.module()?));
        shaders.iter().map(declared).collect::<Result<_>>().map(Self)
    }

    /// Returns the blocks at a binding. Each shader may declare a different block.
    fn blocks(&self, set: u32, binding: u32) -> Vec<Block<'_>> {
        let storages = [StorageClass::Uniform, StorageClass::StorageBuffer];
        self.all(&storages, |declarations, id| {
            let is =
                |decoration, number| declarations.decoration_value(id, decoration) == Some(number);
            is(Decoration::DescriptorSet, set) && is(Decoration::Binding, binding)
        })
    }

    /// Lists the bindings that have blocks, such as `0.1`.
    fn places(&self) -> Vec<String> {
        let mut places = BTreeSet::new();
        for declarations in &self.0 {
            let buffers = [StorageClass::Uniform, StorageClass::StorageBuffer];
            for variable in buffers.iter().flat_map(|storage| declarations.variables(*storage)) {
                let number = |decoration| declarations.decoration_value(variable.id, decoration);
                let place = (number(Decoration::DescriptorSet), number(Decoration::Binding));
                if let (Some(set), Some(binding)) = place {
                    places.insert((set, binding));
                }
            }
        }
        places.into_iter().map(|(set, binding)| format!("{set}.{binding}")).collect()
    }

    fn push_constants(&self) -> Vec<Block<'_>> {
        self.all(&[StorageClass::PushConstant], |_, _| true)
    }

    fn all(
        &self,
        storages: &[StorageClass],
        is_wanted: impl Fn(&Declarations, Id) -> bool,
    ) -> Vec<Block<'_>> {
        let mut blocks = Vec::new();
        for declarations in &self.0 {
            let variables = storages.iter().flat_map(|storage| declarations.variables(*storage));
            for variable in variables.filter(|variable| is_wanted(declarations, variable.id)) {
                let mut ty = variable.pointee;
                while let Some(Type::Array { element, .. } | Type::RuntimeArray { element }) =
                    declarations.ty(ty)
                {
                    ty = *element;
                }
                blocks.push(Block { declarations, ty });
            }
        }
        blocks
    }
}

/// Returns the bytes of the buffer, or of the push constants, that `blocks` describe. Contents that are written later
/// replace earlier ones, so they are written from the lowest to the highest precedence ([`in_order`]), whatever their
/// order on the command line.
fn bytes_of(
    contents: &[&Content],
    blocks: &[Block<'_>],
    option: &str,
    before_member: &str,
    read: &mut Read,
) -> Result<GivenBytes> {
    let mut name = option.to_owned();
    let mut bytes = Vec::new();
    // For each byte, whether the user supplied it.
    let mut is_given: Vec<bool> = Vec::new();
    let mut paths = BTreeSet::new();
    let mut files = 0;
    let contents = in_order(contents)?;
    let mut faults = Vec::new();
    for (origin, content) in &contents {
        let (path, text, value) = match &**content {
            Content::Member { path, text, value } => (path, text, value),
            Content::File(file) => {
                files += 1;
                if files > 1 {
                    bail!("{option} has two files");
                }
                name = file.display().to_string();
                let all = read_file(file)?;
                bytes.resize(all.len().max(bytes.len()), 0);
                bytes[..all.len()].copy_from_slice(&all);
                is_given.resize(bytes.len(), false);
                is_given[..all.len()].fill(true);
                continue;
            }
        };
        if !paths.insert((origin, path)) {
            bail!("{option}{before_member}{path} is given twice");
        }
        let mut write = || -> Result<()> {
            for numbers in places(path, blocks)? {
                let end = end_of(&numbers);
                if end > MOST_BYTES {
                    bail!("it ends at byte {end}, and at most {MOST_BYTES} are written");
                }
                bytes.resize(end.max(bytes.len()), 0);
                is_given.resize(bytes.len(), false);
                value.write(&numbers, &mut bytes)?;
                for number in numbers {
                    is_given[number.offset..number.offset + number.size].fill(true);
                }
            }
            Ok(())
        };
        if let Err(error) = write() {
            faults.push(error.context(match origin {
                Origin::Json(file) => format!("{}: {path}: {text}", file.display()),
                _ => format!("{option}{before_member}{path}={text}"),
            }));
        }
    }
    fail_with(faults)?;
    let mut named = Vec::new();
    if !paths.is_empty() {
        let all = format!("{option}{before_member}*");
        for block in blocks {
            for Member { name: member, ty, .. } in block.members()? {
                let option = || format!("{option}{before_member}{member}");
                let numbers = block.member_numbers(&member).with_context(option)?;
                let lacks = |number: &Number| is_given.get(number.offset) != Some(&true);
                if numbers.iter().any(lacks) && !named.contains(&member) {
                    let option = option();
                    read.missing.push(format!(
                        "member '{member}' ({ty}): {option}=VALUE, or {all}=0 for all that is not given"
                    ));
                    bytes.resize(end_of(&numbers).max(bytes.len()), 0);
                    named.push(member);
                }
            }
        }
    }
    let supplied = (!named.is_empty()).then(|| runs(&is_given));
    Ok(GivenBytes { name, bytes, supplied })
}

/// Returns the ranges of consecutive elements that are true.
fn runs(flags: &[bool]) -> Vec<Range<usize>> {
    let (mut runs, mut end) = (Vec::new(), 0);
    for chunk in flags.chunk_by(|a, b| a == b) {
        let start = end;
        end += chunk.len();
        if chunk.first() == Some(&true) {
            runs.push(start..end);
        }
    }
    runs
}

/// Fails if there are errors. Several errors become one, with a line for each.
fn fail_with(mut errors: Vec<anyhow::Error>) -> Result<()> {
    match errors.len() {
        0 => Ok(()),
        1 => Err(errors.remove(0)),
        count => {
            let lines: String = errors.iter().map(|error| format!("\n  {error:#}")).collect();
            bail!("{count} values are wrong:{lines}")
        }
    }
}

/// Returns where in memory the numbers of the value at `path` are, in each block that has such a value. Fails if no
/// block has one.
fn places(path: &str, blocks: &[Block<'_>]) -> Result<Vec<Vec<Number>>> {
    let mut places = Vec::new();
    let mut problem = None;
    for block in blocks {
        match block.numbers(path) {
            Ok(numbers) => places.push(numbers),
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    match problem {
        Some(problem) if places.is_empty() => Err(problem),
        _ => Ok(places),
    }
}

/// Whether some of the contents are values of members, whose offsets only a block tells. A file of bytes contains no
/// such values.
fn has_members(contents: &[&Content]) -> bool {
    contents.iter().any(|content| match content {
        Content::File(file) => json::is(file),
        Content::Member { .. } => true,
    })
}

fn end_of(numbers: &[Number]) -> usize {
    numbers.iter().map(|number| number.offset + number.size).max().unwrap_or(0)
}

fn read_file(file: &Path) -> Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

fn parse_buffer(text: &str) -> Result<Assignment<(u32, u32)>, String> {
    let wrong = || {
        "SET.BINDING=FILE or SET.BINDING.MEMBER=VALUE, as in 0.1=lights.bin or 0.1.tint=1,0,0"
            .to_owned()
    };
    let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
    let (place, what) = text.split_once('=').ok_or_else(wrong)?;
    let mut parts = place.splitn(3, '.');
    let (Some(set), Some(binding)) = (parts.next(), parts.next()) else { return Err(wrong()) };
    if what.is_empty() {
        return Err(wrong());
    }
    let content = match parts.next() {
        None => Content::File(what.into()),
        Some(path) => member(path, what)?,
    };
    Ok(Assignment { place: (number(set)?, number(binding)?), content })
}

/// Parses `FILE` or `MEMBER=VALUE`. A text with a slash before the `=` is the name of a file.
fn parse_push(text: &str) -> Result<Assignment<()>, String> {
    let content = match text.split_once('=') {
        Some((path, value)) if !path.contains(['/', '\\']) => member(path, value)?,
        _ => Content::File(text.into()),
    };
    Ok(Assignment { place: (), content })
}

fn member(path: &str, text: &str) -> Result<Content, String> {
    let (path, text) = (path.trim().to_owned(), text.trim().to_owned());
    Ok(Content::Member { value: text.parse()?, path, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supplied::value::Literal;

    #[test]
    fn buffers_are_read() {
        let buffer = |set, binding, file: &str| {
            Ok(Assignment { place: (set, binding), content: Content::File(file.into()) })
        };
        assert_eq!(parse_buffer("0.1=lights.bin"), buffer(0, 1, "lights.bin"));
        assert_eq!(parse_buffer("2 . 30=a=b.c"), buffer(2, 30, "a=b.c"));
        let wrong = ["", "0", "0=a", "0.1", "0.1=", "a.1=b", "0.-1=b", ".=b", "0.1.a=b"];
        for wrong in wrong {
            assert!(parse_buffer(wrong).is_err(), "{wrong}");
        }
        let of = |text: &str, path: &str, numbers: &[i128]| Content::Member {
            path: path.to_owned(),
            text: text.to_owned(),
            value: Value::Numbers(numbers.iter().map(|n| Literal::Int(*n)).collect()),
        };
        let lights = of("1,2", "lights[2].place", &[1, 2]);
        let expected = Assignment { place: (0, 1), content: lights };
        assert_eq!(parse_buffer("0.1.lights[2].place=1,2"), Ok(expected));
        assert_eq!(parse_push("a=2").map(|push| push.content), Ok(of("2", "a", &[2])));
        let file = parse_push("./a=2").map(|push| push.content);
        assert_eq!(file, Ok(Content::File("./a=2".into())));
    }
}
