//! A request that a row of the table is about, made from the row itself.

use agentloop::media::MediaKind;
use agentloop::provider::{Action, Condition, Param, Restriction};
use agentloop::{
    ChatMessage, ChatRequest, ContentPart, Effort, ResponseFormat, Thinking, ToolChoice,
    ToolDefinition,
};
use serde_json::{Map, Value, json};

use super::{ask, server_tool, tool};

/// The models to try: one for each pattern.
pub(super) fn models(row: &Restriction) -> Vec<String> {
    let named = |pattern: &str| {
        let inner = pattern.trim_matches('*');
        inner.replace('*', "x")
    };
    if row.models.is_empty() {
        vec!["some-model".to_owned()]
    } else {
        row.models.iter().map(|pattern| named(pattern)).collect()
    }
}

/// A request to `model` (with its provider) that the row changes.
pub(super) fn request(row: &Restriction, model: &str) -> ChatRequest {
    let mut request = ask(model);
    for condition in &row.when {
        fulfil(&mut request, condition);
    }
    provoke(&mut request, &row.then);
    request.protocol = request.protocol.or(row.protocol);
    request
}

fn fulfil(request: &mut ChatRequest, condition: &Condition) {
    match condition {
        Condition::Set(param) => set(request, *param),
        Condition::Effort(levels) => request.reasoning_effort = Some(levels[0]),
        Condition::ThinkingAsked => request.thinking = Some(Thinking::enabled()),
        Condition::Functions => request.tools.push(tool("f")),
        Condition::ServerTools => request.tools.push(server_tool("googleSearch")),
        Condition::ForcedChoice => {
            if request.tools.is_empty() {
                request.tools.push(tool("f"));
            }
            request.tool_choice = Some(ToolChoice::Required);
        }
        Condition::Field(names) => {
            request.extra_body.insert(names[0].to_string(), json!({}));
        }
        Condition::Format => request.response_format = Some(ResponseFormat::json()),
        Condition::Schema => {
            request.response_format =
                Some(ResponseFormat::json_schema("r", json!({ "type": "object" })));
        }
        Condition::Unset(_)
        | Condition::EffortOtherThan(_)
        | Condition::ThinkingUnasked
        | Condition::BaseUrlOtherThan(_) => {}
        other => panic!("a condition without an example: {other:?}"),
    }
}

fn provoke(request: &mut ChatRequest, action: &Action) {
    match action {
        Action::Drop(params) => params.iter().for_each(|param| set(request, *param)),
        Action::Clamp { param, min, max } => {
            let value = if max.is_finite() { max + 1.0 } else { min - 1.0 };
            set_number(request, *param, value);
        }
        Action::Longest { param: Param::User, bytes } => {
            request.user_id = Some("u".repeat(bytes + 1));
        }
        Action::Metadata { entries, .. } => {
            let labels = (0..=*entries).map(|n| (format!("k{n}"), json!("v")));
            request.metadata = Some(labels.collect::<Map<String, Value>>());
        }
        Action::Modalities(_) => request.modalities = vec!["text".to_owned(), "image".to_owned()],
        Action::Efforts(known) => {
            request.reasoning_effort = Effort::ALL.into_iter().find(|level| !known.contains(level));
        }
        Action::SayJson => request.response_format = Some(ResponseFormat::json()),
        Action::KeepTools(most) => {
            request.tools = (0..=*most).map(|n| tool(&format!("f{n}"))).collect();
        }
        Action::LooseTools => request.tools.push(tool("strict").with_strict(true)),
        Action::SchemaWithout(words) => {
            let mut schema = json!({ "type": "object", "properties": {} });
            for word in words {
                schema[word.as_ref()] = json!("x");
            }
            request.tools.push(ToolDefinition::function("named", schema));
        }
        Action::AssistantAfterTool => call(request, "abc123def", true),
        Action::ShortenIds(most) => call(request, &"i".repeat(most + 1), false),
        Action::NoPrefill => request.messages.push(ChatMessage::assistant("Once upon a")),
        Action::MediaTypes { kind: MediaKind::Image, .. } => {
            let part = ContentPart::image_url("data:image/tiff;base64,SUkqAA==");
            request.messages.push(ChatMessage::user(vec![part]));
        }
        // The conditions, or the model alone, are enough.
        Action::Effort(_)
        | Action::ThinkingOff
        | Action::MaxTokens(_)
        | Action::ChoiceAuto
        | Action::FormatInWords
        | Action::DropFunctions
        | Action::DropServerTools
        | Action::Field { .. }
        | Action::SendAs { .. }
        | Action::Speak(_) => {}
        other => panic!("an action without an example: {other:?}"),
    }
}

fn call(request: &mut ChatRequest, id: &str, then_user: bool) {
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } }] });
    request.messages.push(serde_json::from_value(message).unwrap());
    request.messages.push(ChatMessage::tool(id, "1"));
    if then_user {
        request.messages.push(ChatMessage::user("And now?"));
    }
}

fn set(request: &mut ChatRequest, param: Param) {
    match param {
        Param::Temperature => request.temperature = Some(0.5),
        Param::TopP => request.top_p = Some(0.5),
        Param::TopK => request.top_k = Some(40),
        Param::FrequencyPenalty => request.frequency_penalty = Some(0.5),
        Param::PresencePenalty => request.presence_penalty = Some(0.5),
        Param::Logprobs => request.logprobs = Some(true),
        Param::TopLogprobs => request.top_logprobs = Some(2),
        Param::Tools => request.tools.push(tool("f")),
        Param::ToolChoice => request.tool_choice = Some(ToolChoice::Auto),
        Param::ParallelToolCalls => request.parallel_tool_calls = Some(false),
        Param::LogitBias => request.logit_bias = Some([("7".to_owned(), -100.0)].into()),
        Param::Stop => request.stop = Some("END".into()),
        Param::ReasoningEffort => request.reasoning_effort = Some(Effort::Low),
        Param::Thinking => request.thinking = Some(Thinking::enabled()),
        other => panic!("a parameter without an example: {other}"),
    }
}

fn set_number(request: &mut ChatRequest, param: Param, value: f64) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]
    match param {
        Param::Temperature => request.temperature = Some(value),
        Param::TopP => request.top_p = Some(value),
        Param::FrequencyPenalty => request.frequency_penalty = Some(value),
        Param::PresencePenalty => request.presence_penalty = Some(value),
        Param::TopLogprobs => request.top_logprobs = Some(value as u32),
        Param::MaxTokens => request.max_tokens = Some(value as u64),
        other => panic!("a number without an example: {other}"),
    }
}
