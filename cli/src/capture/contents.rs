//! The contents of the descriptors and push constants of the shaders.

use anyhow::Result;
use vkxfb_probe::contents::{self, Contents, ContentsError, MissingContents};

use super::missing::Missing;
use crate::stages::Stages;
use crate::supplied::{self, Member, Supplied};

/// Returns the contents of descriptors and push constants. What the user did not supply, which may be some members of a
/// block, is made up if `made_up`; otherwise it is added to `missing`.
pub(super) fn of(
    supplied: &Supplied,
    stages: &Stages<'_>,
    made_up: bool,
    missing: &mut Missing,
) -> Result<Contents> {
    let all = stages.all();
    let supplied::Read { given, missing: members } = supplied.read(&all)?;
    if !made_up {
        members.into_iter().for_each(|member| missing.add(member));
    }
    let otherwise = if made_up { contents::Missing::MakeUp } else { contents::Missing::Refuse };
    let lacking = match Contents::of_stages(&all, &given, otherwise) {
        Err(ContentsError::Missing(lacking)) => lacking,
        result => return Ok(result?),
    };
    for what in lacking {
        let (option, place) = match &what {
            MissingContents::Buffer { set, binding, .. } => {
                (format!("--uniform {set}.{binding}"), Some((*set, *binding)))
            }
            MissingContents::PushConstants { .. } => ("--push".to_owned(), None),
        };
        let (file, member) = match place {
            Some(_) => (format!("{option}=FILE"), format!("{option}.MEMBER=VALUE")),
            None => (format!("{option} FILE"), format!("{option} MEMBER=VALUE")),
        };
        let members = supplied::members(&all, place)?;
        let members = members.iter().map(Member::to_string).collect::<Vec<_>>().join(", ");
        missing.add(format!("{what}: {file}, or {member} for each of {members}"));
    }
    Ok(Contents::default())
}
