//! What rows are written with.

use std::borrow::Cow;

use crate::chat::Effort;
use crate::media::MediaKind;
use crate::models::{Action, Restriction};
use crate::provider::quirks::ServerToolQuirks;
use crate::provider::{KeySource, Param, Provider};

/// Creates an OpenAI-compatible provider that needs a key. It runs no server tools and serves no other modalities
/// unless the row lists some.
pub(super) fn hosted(
    name: &'static str,
    base_url: &'static str,
    variable: &'static str,
) -> Provider {
    Provider::openai_compatible(name, base_url)
        .key_env(variable)
        .modalities([])
        .quirks(|q| q.server_tools = ServerToolQuirks::refused())
}

/// Creates an OpenAI-compatible server on this machine. A key is sent if the variable is set.
pub(super) fn local(
    name: &'static str,
    base_url: &'static str,
    variable: &'static str,
) -> Provider {
    let mut provider = hosted(name, base_url, variable);
    provider.key = KeySource::EnvIfSet(vec![Cow::Borrowed(variable)]);
    provider
}

/// Creates a restriction. The row sets its reason and its source.
pub(super) fn restrict(id: &'static str, then: Action) -> Restriction {
    Restriction::new(id, then)
}

/// Creates a restriction that keeps a number in a range.
pub(super) fn clamp(id: &'static str, param: Param, min: f64, max: f64) -> Restriction {
    restrict(id, Action::Clamp { param, min, max }).reason("it is outside of the range")
}

/// Creates a restriction that sends the nearest of these levels of effort.
pub(super) fn efforts<const N: usize>(
    id: &'static str,
    models: &[&'static str],
    levels: [Effort; N],
) -> Restriction {
    restrict(id, Action::Efforts(levels.into()))
        .models(models.iter().copied())
        .reason("the model does not know this effort")
}

/// Creates a restriction that refuses images of other types.
pub(super) fn images(id: &'static str, types: &[&'static str]) -> Restriction {
    let types = types.iter().map(|name| (*name).into()).collect();
    restrict(id, Action::MediaTypes { kind: MediaKind::Image, types })
        .reason("images of other types are refused")
}

/// Creates a restriction for providers whose JSON mode responds with 400 when no message contains the word JSON.
pub(super) fn json_word(id: &'static str) -> Restriction {
    restrict(id, Action::SayJson).reason("JSON mode needs the word JSON in a message")
}

/// Creates a restriction on the size of `metadata`.
pub(super) fn metadata(id: &'static str) -> Restriction {
    restrict(id, Action::Metadata { entries: 16, key: 64, value: 512 })
        .reason("`metadata` holds at most 16 pairs, keys of 64 and values of 512 characters")
}

/// Returns names as a row stores them.
pub(super) fn names<const N: usize>(names: [&'static str; N]) -> Vec<Cow<'static, str>> {
    names.into_iter().map(Cow::Borrowed).collect()
}
