//! Applies the rules of a provider to a body that another program wrote.

use serde_json::{Map, Value};

use super::{is_allowed, path, place};
use crate::chat::{Warning, WarningKind};
use crate::provider::{Param, Provider, Rule};

/// Fields that hold the conversation, or that every provider accepts.
const FIXED: [&str; 9] =
    ["model", "messages", "input", "contents", "stream", "stream_options", "system", "tools", "n"];

/// The other name of the token cap.
const TOKEN_CAPS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Returns whether a provider has rules, so a body must be parsed.
pub(crate) fn has_rules(provider: &Provider) -> bool {
    !provider.rules.is_empty() || provider.allow.is_some()
}

/// Applies the rules of a provider to the body of a request in its protocol. Returns a warning for each change of what the body has, and
/// whether there was any change.
pub(crate) fn apply_to_body(
    provider: &Provider,
    body: &mut Map<String, Value>,
) -> (Vec<Warning>, bool) {
    let mut warnings = Vec::new();
    let mut has_defaults = false;
    let who = &provider.name;
    for param in Param::ALL.iter().copied() {
        let Some(at) = place(provider, param).path() else { continue };
        if param == Param::MaxTokens
            && TOKEN_CAPS.contains(&at)
            && !body.contains_key(at)
            && let Some(other) = TOKEN_CAPS.into_iter().find(|name| body.contains_key(*name))
            && let Some(value) = body.remove(other)
        {
            let why = format!("{other}: {who} calls it `{at}`");
            warnings.push(Warning::new(WarningKind::Renamed, other, why));
            body.insert(at.to_owned(), value);
        }
        let Some(value) = get(body, at) else { continue };
        let Some(sent) = path(provider, param) else {
            remove(body, at);
            let why = format!("{at}: {who} does not accept it");
            warnings.push(Warning::new(WarningKind::Dropped, at, why));
            continue;
        };
        let range = provider.ruling(param).range;
        if let (Some((min, max)), Some(number)) = (range, value.as_f64())
            && !(min..=max).contains(&number)
        {
            let nearest = number.clamp(min, max);
            let why = format!("{at}: {number} is sent as {nearest}");
            warnings.push(Warning::new(WarningKind::Clamped, at, why));
            let nearest = whole(nearest).map_or_else(|| Value::from(nearest), Value::from);
            set(body, at, nearest);
        }
        if sent != at
            && let Some(value) = remove(body, at)
        {
            let why = format!("{at}: {who} calls it `{sent}`");
            warnings.push(Warning::new(WarningKind::Renamed, at, why));
            set(body, sent, value);
        }
    }
    for rule in provider.rules.iter().rev() {
        if let Rule::Default(name, value) = rule {
            let at =
                Param::from_name(name).map_or(Some(name.as_ref()), |param| path(provider, param));
            if let Some(at) = at.filter(|at| get(body, at).is_none()) {
                set(body, at, value.clone());
                has_defaults = true;
            }
        }
    }
    if provider.allow.is_some() {
        body.retain(|name, value| {
            let stays = FIXED.contains(&name.as_str())
                || is_allowed(provider, name)
                || Param::ALL.iter().any(|param| {
                    path(provider, *param).is_some_and(|path| path.split('.').next() == Some(name))
                });
            if !stays && !value.is_null() {
                let why = format!("{name}: {who} does not accept it");
                warnings.push(Warning::new(WarningKind::Dropped, name.as_str(), why));
            }
            stays
        });
    }
    let is_changed = has_defaults || !warnings.is_empty();
    (warnings, is_changed)
}

fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the comparison checks it")]
    let cut = number as i64;
    #[expect(clippy::cast_precision_loss, reason = "only small numbers are compared")]
    let same = (cut as f64).to_bits() == number.to_bits();
    same.then_some(cut)
}

fn get<'a>(body: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let first = body.get(names.next()?)?;
    names.try_fold(first, |value, name| value.get(name)).filter(|value| !value.is_null())
}

fn remove(body: &mut Map<String, Value>, path: &str) -> Option<Value> {
    match path.rsplit_once('.') {
        None => body.remove(path),
        Some((folder, name)) => {
            let mut names = folder.split('.');
            let mut value = body.get_mut(names.next()?)?;
            for name in names {
                value = value.get_mut(name)?;
            }
            value.as_object_mut()?.remove(name)
        }
    }
}

fn set(body: &mut Map<String, Value>, path: &str, value: Value) {
    let mut names: Vec<&str> = path.split('.').collect();
    let Some(last) = names.pop() else { return };
    let mut fields = body;
    for name in names {
        let next = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(inner) = next else { return };
        fields = inner;
    }
    fields.insert(last.to_owned(), value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(provider: &Provider, body: Value) -> (Value, Vec<String>) {
        let Value::Object(mut body) = body else { panic!("not an object") };
        let (warnings, _) = apply_to_body(provider, &mut body);
        let subjects = warnings.into_iter().filter_map(|warning| warning.subject).collect();
        (Value::Object(body), subjects)
    }

    #[test]
    fn parameters_are_left_out_renamed_and_clamped_and_the_rest_stays() {
        let lab = Provider::openai_compatible("lab", "http://lab.invalid")
            .strip([Param::LogitBias])
            .rename(Param::Seed, "random_seed")
            .clamp(Param::Temperature, 0.0, 1.0);
        let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi", "x": 1 }],
            "logit_bias": {}, "seed": 7, "temperature": 1.7, "new_field": [1] });
        let (body, subjects) = applied(&lab, body);
        let sent = json!({ "model": "m", "messages": [{ "role": "user", "content": "Hi", "x": 1 }],
            "random_seed": 7, "temperature": 1, "new_field": [1] });
        assert_eq!(body, sent);
        assert_eq!(subjects, ["temperature", "seed", "logit_bias"]);
    }

    #[test]
    fn an_allow_list_removes_fields_that_the_provider_refuses() {
        let lab = Provider::openai_compatible("lab", "http://lab.invalid")
            .rename(Param::Seed, "random_seed")
            .allow(&["max_tokens", "random_seed"]);
        let body = json!({ "model": "m", "messages": [], "stream": true, "max_completion_tokens": 9,
            "store": false, "seed": 7 });
        let (body, mut subjects) = applied(&lab, body);
        let sent = json!({ "model": "m", "messages": [], "stream": true, "max_tokens": 9,
            "random_seed": 7 });
        assert_eq!(body, sent);
        subjects.sort();
        assert_eq!(subjects, ["max_completion_tokens", "seed", "store"]);
    }
}
