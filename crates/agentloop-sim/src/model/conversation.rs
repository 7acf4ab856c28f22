//! Reads the conversation of a request.

use agentloop::{ChatMessage, ChatRequest, ContentPart, Role};

/// Counts the words of a text.
pub(crate) fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// Returns a hash of some bytes that is the same on every machine and in every version.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    // FNV-1a, because it is short and stable. The hashes of the standard library may change.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Returns a hash of a request.
pub(super) fn request_hash(request: &ChatRequest) -> u64 {
    hash(&serde_json::to_vec(request).unwrap_or_default())
}

/// Returns the text of the last user message.
pub(super) fn last_user_text(request: &ChatRequest) -> String {
    let messages = request.messages.iter().rev();
    messages
        .filter(|message| message.role == Role::User)
        .map(ChatMessage::text)
        .next()
        .unwrap_or_default()
}

/// Returns the messages after the last user message.
fn messages_since_user(request: &ChatRequest) -> &[ChatMessage] {
    let is_user = |message: &ChatMessage| message.role == Role::User;
    let from = request.messages.iter().rposition(is_user).map_or(0, |at| at + 1);
    request.messages.get(from..).unwrap_or_default()
}

/// Counts the assistant messages.
pub(super) fn count_assistant(messages: &[ChatMessage]) -> usize {
    let is_assistant = |message: &&ChatMessage| message.role == Role::Assistant;
    messages.iter().filter(is_assistant).count()
}

/// Counts the assistant messages after the last user message.
pub(super) fn count_assistant_since_user(request: &ChatRequest) -> usize {
    count_assistant(messages_since_user(request))
}

/// Returns the tool results after the last user message, each with the name of its tool.
pub(super) fn tool_results(request: &ChatRequest) -> Vec<(String, String)> {
    messages_since_user(request)
        .iter()
        .filter(|message| message.role == Role::Tool)
        .map(|result| {
            let id = result.tool_call_id.as_deref().unwrap_or_default();
            let name = result.name.clone().or_else(|| tool_of_call(request, id));
            (name.unwrap_or_else(|| "the tool".to_owned()), result.text())
        })
        .collect()
}

fn tool_of_call(request: &ChatRequest, id: &str) -> Option<String> {
    request.messages.iter().find_map(|message| {
        let parts = message.parts().iter().filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some((&call.id, &call.name)),
            _ => None,
        });
        let listed = message.tool_calls.iter();
        let listed = listed.map(|call| (&call.id, &call.function.name));
        parts.chain(listed).find(|(of, _)| *of == id).map(|(_, name)| name.clone())
    })
}

/// Counts the prompt tokens: each word of the conversation is one.
pub(super) fn count_prompt_tokens(request: &ChatRequest) -> u64 {
    let texts = request.messages.iter().map(ChatMessage::text);
    texts.map(|text| count_words(&text)).sum()
}
