//! Tests of each rule, then of all of them with generated conversations.

mod foreign;
mod laws;
mod names;
mod order;
mod results;
mod shown;

use std::sync::LazyLock;

use super::prepare;
use crate::chat::{ChatMessage, ChatRequest, ContentPart, Origin, ToolCallPart, WarningKind};
use crate::protocol::{IdPattern, NamePattern, Order, Prepared, Rules, Shown, StateForm};
use crate::provider::Provider;

static ANY_ORDER: Order = Order { assistant_after_tool: None, longest_id: None };

static HERE: LazyLock<Provider> =
    LazyLock::new(|| Provider::openai_compatible("here", "http://here.invalid"));

static RULES: LazyLock<Rules<'static>> = LazyLock::new(|| Rules {
    provider: &HERE,
    model: "m",
    ids: IdPattern::Any,
    names: NamePattern::Word64,
    thinking_as_text: true,
    state: StateForm::Fields,
    order: &ANY_ORDER,
});

fn call(id: &str, name: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart::new(id, name, "{}"))
}

fn calls(ids: &[&str]) -> ChatMessage {
    ChatMessage::assistant(ids.iter().map(|id| call(id, "f")).collect::<Vec<_>>())
}

fn from(provider: &str, parts: Vec<ContentPart>) -> ChatMessage {
    let origin = Some(Origin { provider: provider.to_owned(), model: "m".to_owned() });
    ChatMessage { origin, ..ChatMessage::assistant(parts) }
}

fn request(messages: impl IntoIterator<Item = ChatMessage>) -> ChatRequest {
    ChatRequest::new("here/m").user("Hello").messages(messages)
}

fn prepared<'a>(request: &'a ChatRequest, rules: &Rules<'_>) -> Prepared<'a> {
    prepare(request, rules, &|_| Shown::InResult).unwrap()
}

fn warned<'a>(prepared: &'a Prepared<'_>) -> Vec<(WarningKind, &'a str)> {
    let subject = |warning: &'a crate::chat::Warning| warning.subject.as_deref().unwrap();
    prepared.warnings.iter().map(|warning| (warning.kind, subject(warning))).collect()
}
