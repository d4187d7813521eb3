//! Reads the values of members from JSON: an object with members by their names.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value as Json;

use super::value::{Literal, Value};
use super::{Content, read_file};

pub(super) fn is(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Returns the members in a file, each with its path from the block.
pub(super) fn members(file: &Path) -> Result<Vec<Content>> {
    let name = || file.display().to_string();
    let json: Json = serde_json::from_slice(&read_file(file)?).with_context(name)?;
    let Json::Object(_) = json else {
        bail!("{} has no object with the names of members", name());
    };
    let mut members = Vec::new();
    add(String::new(), &json, &mut members).with_context(name)?;
    Ok(members)
}

/// Adds the members in `json`, which is the value at `path`. Objects are structures, and lists of
/// anything but numbers are arrays.
fn add(path: String, json: &Json, members: &mut Vec<Content>) -> Result<()> {
    let value = match json {
        Json::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add(path, field, members)?;
            }
            return Ok(());
        }
        Json::Array(elements) if !elements.is_empty() => {
            match elements.iter().map(literal).collect::<Option<_>>() {
                Some(numbers) => Value::Numbers(numbers),
                None => {
                    for (index, element) in elements.iter().enumerate() {
                        add(format!("{path}[{index}]"), element, members)?;
                    }
                    return Ok(());
                }
            }
        }
        Json::String(text) => {
            text.parse().map_err(|error: String| anyhow!(error)).with_context(|| path.clone())?
        }
        _ => match literal(json) {
            Some(number) => Value::Numbers(vec![number]),
            None => bail!("{path}: {json} is no number, list, object or text of a matrix"),
        },
    };
    members.push(Content::Member { path, text: json.to_string(), value });
    Ok(())
}

fn literal(json: &Json) -> Option<Literal> {
    match json {
        Json::Bool(value) => Some(Literal::Int((*value).into())),
        Json::Number(number) => {
            let int = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            int.map(Literal::Int).or_else(|| number.as_f64().map(Literal::Float))
        }
        _ => None,
    }
}
