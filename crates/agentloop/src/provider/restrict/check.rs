//! Checks rows that come from a configuration file.

use super::{Action, ModelRestrictions, Restriction, families};
use crate::chat::Protocol;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CONFIGURED_RESTRICTIONS;
use crate::provider::param::{check_range, is_path};
use crate::provider::{Param, Provider};

/// Parameters that hold a text.
pub(crate) const TEXTS: [Param; 3] = [Param::User, Param::PromptCacheKey, Param::ServiceTier];

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}

pub(super) fn model(changes: &ModelRestrictions) -> Result<()> {
    if changes.add.len() > MAX_CONFIGURED_RESTRICTIONS {
        return Err(wrong(format!(
            "restrictions.add has {} rows; at most {MAX_CONFIGURED_RESTRICTIONS} are taken",
            changes.add.len()
        )));
    }
    for (at, row) in changes.add.iter().enumerate() {
        check_row(row).map_err(|error| {
            let name = if row.id.is_empty() { at.to_string() } else { row.id.to_string() };
            wrong(format!("restrictions.add[{name}]: {}", error.message()))
                .with_hint(error.hint().unwrap_or_default())
        })?;
    }
    let unknown = |id: &&String| {
        let is_it = |row: &Restriction| row.id == id.as_str();
        id.as_str() != "*"
            && !families::rows().iter().any(is_it)
            && !Provider::all().iter().any(|provider| provider.restrictions.iter().any(is_it))
    };
    match changes.remove.iter().find(unknown) {
        None => Ok(()),
        Some(id) => Err(wrong(format!("restrictions.remove: there is no restriction `{id}`"))
            .with_hint("docs/restrictions.md lists the ids; `*` removes all")),
    }
}

fn check_row(row: &Restriction) -> Result<()> {
    match &row.then {
        Action::Clamp { param, min, max } => check_range(*param, *min, *max),
        Action::Longest { param, .. } if !TEXTS.contains(param) => {
            let names: Vec<&str> = TEXTS.iter().map(|param| param.name()).collect();
            Err(wrong(format!("`{param}` cannot be bounded like this"))
                .with_hint(format!("it is possible for {}", names.join(", "))))
        }
        Action::Drop(params) if params.is_empty() => {
            Err(wrong("`drop` names no parameter".to_owned()))
        }
        Action::Modalities(known) if known.is_empty() => {
            Err(wrong("`modalities` names no kind of output".to_owned())
                .with_hint("to send none at all, drop `modalities`"))
        }
        Action::Efforts(levels) if levels.is_empty() => {
            Err(wrong("`efforts` names no level".to_owned())
                .with_hint("to send none at all, drop `reasoning_effort`"))
        }
        Action::ShortenIds(most) if *most < 16 => {
            Err(wrong(format!("{most} bytes are too few for ids that differ"))
                .with_hint("use at least 16"))
        }
        Action::Field { path, .. } => check_path(path, row.protocol),
        _ => Ok(()),
    }
}

/// Only one protocol joins the fields of a request with the ones that the library writes; elsewhere they replace them.
fn check_path(path: &str, protocol: Option<Protocol>) -> Result<()> {
    if !is_path(path) {
        return Err(wrong(format!("`{path}` is not the name of a field")));
    }
    if path.contains('.') && protocol != Some(Protocol::Gemini) {
        return Err(wrong(format!("`{path}` is a nested field"))
            .with_hint("that is possible with `protocol = \"gemini\"` only"));
    }
    Ok(())
}
