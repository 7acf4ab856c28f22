//! Checks restrictions from a configuration file.

use super::{Action, ModelRestrictions, Restriction};
use crate::chat::{Param, Protocol};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_CONFIGURED_RESTRICTIONS;

/// The most names in a path of fields.
pub(crate) const MAX_PATH_NAMES: usize = 8;

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
    Ok(())
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

/// Only one protocol merges the fields of a request with those of the library; in the others they replace them.
fn check_path(path: &str, protocol: Option<Protocol>) -> Result<()> {
    if !is_path(path) {
        return Err(wrong(format!("`{path}` is not the name of a field")));
    }
    if path.contains('.') && !protocol.is_some_and(|protocol| protocol.facts().merges_extra_body) {
        let merging = Protocol::ALL.iter().filter(|protocol| protocol.facts().merges_extra_body);
        let names: Vec<String> =
            merging.map(|protocol| format!("`protocol = \"{}\"`", protocol.name())).collect();
        return Err(wrong(format!("`{path}` is a nested field"))
            .with_hint(format!("that is possible with {} only", names.join(" or "))));
    }
    Ok(())
}

/// Checks a range of values of a parameter.
pub(crate) fn check_range(param: Param, min: f64, max: f64) -> Result<()> {
    if param.domain().is_none() {
        let numbers = Param::ALL.iter().filter(|param| param.domain().is_some());
        let names: Vec<&str> = numbers.map(|param| param.name()).collect();
        return Err(wrong(format!("`{param}` is not a number and has no range"))
            .with_hint(format!("a range is possible for {}", names.join(", "))));
    }
    match param.bounds(min, max) {
        Some(_) => Ok(()),
        None => Err(wrong(format!("`{param}` has no value between {min} and {max}"))
            .with_hint("write the least value first, then the greatest one")),
    }
}

/// Returns whether a text is the name of a field, or the names of nested fields with dots between them.
pub(crate) fn is_path(path: &str) -> bool {
    let names = path.split('.').count();
    names <= MAX_PATH_NAMES && !path.split('.').any(str::is_empty)
}
