//! Metadata, effort and fields of a request, as restrictions change them.

use serde_json::{Map, Value};

use crate::chat::{ChatRequest, Effort};
use crate::protocol::codec;
use crate::provider::Provider;

/// Returns whether an entry of `metadata` is short enough.
pub(super) fn fits(name: &str, value: &Value, key: usize, longest: usize) -> bool {
    name.len() <= key && value.as_str().is_none_or(|text| text.len() <= longest)
}

/// Keeps the first entries of `metadata` that are short enough.
pub(super) fn trim_metadata(request: &mut ChatRequest, entries: usize, key: usize, value: usize) {
    let Some(metadata) = request.metadata.take() else { return };
    let kept = metadata.into_iter().filter(|(name, text)| fits(name, text, key, value));
    request.metadata = Some(kept.take(entries).collect());
}

/// Returns the effort that is sent where only some levels are known; `None` when the request keeps to them.
pub(super) fn effort_change(
    request: &ChatRequest,
    provider: &Provider,
    known: &[Effort],
) -> Option<Effort> {
    let off = request.thinking.and_then(|thinking| thinking.enabled) == Some(false);
    match request.reasoning_effort {
        Some(asked) if known.contains(&asked) => None,
        Some(asked) => asked.nearest(known),
        // If there is no switch, a level turns thinking off.
        None if off
            && !known.contains(&Effort::None)
            && !codec(provider.protocol).has_thinking_switch(provider) =>
        {
            known.iter().min().copied()
        }
        None => None,
    }
}

/// Returns whether the request itself has a field of the body.
pub(super) fn has_field(request: &ChatRequest, path: &str) -> bool {
    let mut fields = Some(&request.extra_body);
    let mut names = path.split('.').peekable();
    while let Some(name) = names.next() {
        match fields.and_then(|fields| fields.get(name)) {
            Some(_) if names.peek().is_none() => return true,
            Some(Value::Object(inner)) => fields = Some(inner),
            _ => return false,
        }
    }
    false
}

/// Adds a field to the ones that the request sends under the provider's own names.
pub(super) fn set_field(request: &mut ChatRequest, path: &str, value: &Value) {
    let mut fields = &mut request.extra_body;
    let (outer, last) = path.rsplit_once('.').map_or(("", path), |(outer, last)| (outer, last));
    for name in outer.split('.').filter(|name| !name.is_empty()) {
        let place = fields.entry(name).or_insert_with(|| Value::Object(Map::new()));
        match place {
            Value::Object(inner) => fields = inner,
            // The request sets another value here, which takes precedence.
            _ => return,
        }
    }
    fields.insert(last.to_owned(), value.clone());
}
