//! Reads the values of members from JSON: an object with members by their names.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value as Json;

use super::value::{Literal, Value};
use super::{Content, fail_with, read_file};

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
    let (mut members, mut faults) = (Vec::new(), Vec::new());
    add(String::new(), &json, &mut members, &mut faults);
    fail_with(faults).with_context(name)?;
    Ok(members)
}

/// Adds the members in `json`, which is the value at `path`. Objects are structures, and lists of
/// anything but numbers are arrays. Values that are neither are added to `faults`.
fn add(path: String, json: &Json, members: &mut Vec<Content>, faults: &mut Vec<anyhow::Error>) {
    let value = match json {
        Json::Object(fields) => {
            for (name, field) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                add(path, field, members, faults);
            }
            return;
        }
        Json::Array(elements) if !elements.is_empty() => {
            match elements.iter().map(literal).collect::<Option<_>>() {
                Some(numbers) => Value::Numbers(numbers),
                None => {
                    for (index, element) in elements.iter().enumerate() {
                        add(format!("{path}[{index}]"), element, members, faults);
                    }
                    return;
                }
            }
        }
        Json::String(text) => match text.parse() {
            Ok(value) => value,
            Err(error) => {
                let error: String = error;
                return faults.push(anyhow!("{path}: {error}"));
            }
        },
        _ => match literal(json) {
            Some(number) => Value::Numbers(vec![number]),
            None => {
                let kinds = "no number, list, object or \"identity\"";
                return faults.push(anyhow!("{path}: {json} is {kinds}"));
            }
        },
    };
    members.push(Content::Member { path, text: json.to_string(), value });
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
