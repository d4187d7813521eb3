//! The arguments of an example.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};

/// What stands behind `--NAME`, for each name; nothing else may be there.
pub fn named<const N: usize>(
    names: [&str; N],
    mut arguments: impl Iterator<Item = String>,
) -> Result<[Option<String>; N]> {
    let mut values = [const { None }; N];
    while let Some(argument) = arguments.next() {
        let known = names.iter().position(|name| argument.strip_prefix("--") == Some(name));
        let Some(index) = known else { bail!("{argument}: there is --{}", names.join(", --")) };
        values[index] = Some(arguments.next().with_context(|| format!("{argument}: of what?"))?);
    }
    Ok(values)
}

/// The number that a value is.
pub fn number<T: FromStr>(value: Option<String>, default: T) -> Result<T> {
    let parse = |text: String| text.parse().ok().with_context(|| format!("{text} is no number"));
    value.map_or(Ok(default), parse)
}

/// The path that a value is.
pub fn path(value: Option<String>) -> Option<PathBuf> {
    value.map(PathBuf::from)
}
