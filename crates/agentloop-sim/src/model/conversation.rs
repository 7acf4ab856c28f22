//! What a conversation says.

use agentloop::{ChatMessage, ChatRequest, ContentPart, Role};

/// The words of a text, as they are counted.
pub(crate) fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// A number that stands for some bytes: the same on every machine and in every version.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    // FNV-1a, because it is short and never changes, as the standard library's hashes may.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// A number that stands for a request.
pub(super) fn request_hash(request: &ChatRequest) -> u64 {
    hash(&serde_json::to_vec(request).unwrap_or_default())
}

/// What the user said last.
pub(super) fn last_user_text(request: &ChatRequest) -> String {
    let said = request.messages.iter().rev();
    said.filter(|message| message.role == Role::User)
        .map(ChatMessage::text)
        .next()
        .unwrap_or_default()
}

/// The turns since the user spoke last.
fn since_user(request: &ChatRequest) -> &[ChatMessage] {
    let user = |message: &ChatMessage| message.role == Role::User;
    let from = request.messages.iter().rposition(user).map_or(0, |at| at + 1);
    &request.messages[from..]
}

fn count_assistant(messages: &[ChatMessage]) -> usize {
    let assistant = |message: &&ChatMessage| message.role == Role::Assistant;
    messages.iter().filter(assistant).count()
}

/// How often the assistant has spoken.
pub(super) fn assistant_turns(request: &ChatRequest) -> usize {
    count_assistant(&request.messages)
}

/// How often it has spoken since the user did.
pub(super) fn assistant_turns_since(request: &ChatRequest) -> usize {
    count_assistant(since_user(request))
}

/// The results of tools since the user spoke last: the tool's name, and what it gave back.
pub(super) fn results(request: &ChatRequest) -> Vec<(String, String)> {
    since_user(request)
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

/// A word of the conversation is a token.
pub(super) fn prompt_tokens(request: &ChatRequest) -> u64 {
    let texts = request.messages.iter().map(ChatMessage::text);
    texts.map(|text| words(&text)).sum()
}
