//! Whatever happens in a run, the conversation can be continued with every provider.

use std::sync::OnceLock;

use agentloop::agent::Outcome;
use agentloop::{AgentLoop, ChatMessage, ChatRequest, ContentPart, Role, ToolDefinition, inspect};

const MODELS: [&str; 8] = [
    "openai/gpt-4.1",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-pro",
    "mistral/mistral-large-latest",
    "deepseek/deepseek-chat",
    "groq/openai/gpt-oss-120b",
    "xai/grok-4.5",
    "openai/gpt-5.5",
];

static AI: OnceLock<AgentLoop> = OnceLock::new();

pub(crate) fn check(request: &ChatRequest, outcome: &Outcome) {
    check_results_follow_calls(&outcome.messages);
    let ai = AI.get_or_init(|| AgentLoop::builder().build().unwrap());
    for model in MODELS {
        let next = ChatRequest::new(model)
            .messages(request.messages.clone())
            .messages(outcome.messages.clone())
            .user("And now?")
            .tool(ToolDefinition::function("ok", serde_json::json!({"type": "object"})));
        // Between a result and the next question Mistral wants a message of the assistant. A run that was stopped has
        // none, and strict mode makes none up.
        let next = if model.starts_with("mistral/") { next } else { next.strict() };
        let encoded = inspect::encode(ai, &next, false);
        encoded.unwrap_or_else(|error| panic!("{model}: {error}\n{:#?}", outcome.messages));
    }
}

/// Checks that a message with calls is followed by their results in the order of the calls, and by nothing else.
fn check_results_follow_calls(messages: &[ChatMessage]) {
    let mut left = messages.iter().peekable();
    while let Some(message) = left.next() {
        assert_ne!(message.role, Role::Tool, "a result without its call: {message:?}");
        assert!(!(message.role == Role::Assistant && message.parts().is_empty()), "{message:?}");
        for part in message.parts() {
            let ContentPart::ToolCall(call) = part else { continue };
            let result = left.next().unwrap_or_else(|| panic!("no result of {call:?}"));
            assert_eq!(result.role, Role::Tool);
            assert_eq!(result.tool_call_id.as_deref(), Some(call.id.as_str()));
            assert!(!result.text().is_empty());
        }
    }
}
