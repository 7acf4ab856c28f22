//! A conversation that started at one provider continues at every other, and back.

mod check;

use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Origin, Protocol, Provider, ProviderState,
    RedactedThinkingPart, TextPart, ThinkingPart, ToolCallPart, ToolDefinition, UrlCitation,
    inspect,
};
use serde_json::{Value, json};

const MODELS: [(&str, &str); 11] = [
    ("openai", "gpt-4.1"),
    ("anthropic", "claude-sonnet-4-5"),
    ("google", "gemini-2.5-pro"),
    ("deepseek", "deepseek-chat"),
    ("mistral", "mistral-large-latest"),
    ("xai", "grok-4.3"),
    ("groq", "openai/gpt-oss-120b"),
    ("cohere", "command-a-vision-07-2025"),
    ("ollama", "qwen3-vl"),
    ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("steps", "gemini-3.5-flash"),
];

const THOUGHT: &str = "They want the weather.";
const SOURCE: &str = "https://source.test/weather";

/// Something that only its maker can read.
fn mark(provider: &str, of: &str) -> String {
    format!("EqQB+{of}/{provider}==")
}

fn state(provider: &str, of: &str) -> Option<Box<ProviderState>> {
    let data = match provider {
        "google" => json!({ "thoughtSignature": mark(provider, of) }),
        "steps" => {
            let kind = match of {
                "thinking" => "thought",
                "call" => "function_call",
                _ => "model_output",
            };
            json!({ "step": { "type": kind, "mark": mark(provider, of) } })
        }
        "xai" => item(of, &mark(provider, of)),
        _ => json!({ "extra_content": { "opaque": mark(provider, of) } }),
    };
    Some(Box::new(ProviderState::new(provider, data)))
}

/// The state of an item of Responses on its part.
fn item(of: &str, mark: &str) -> Value {
    match of {
        "thinking" => json!({ "type": "reasoning", "id": "rs_1", "status": "completed",
                              "summary": [], "encrypted_content": mark }),
        "call" => json!({ "type": "function_call", "id": mark, "status": "completed" }),
        _ => json!({ "type": "message", "id": mark, "role": "assistant", "status": "completed",
                     "phase": "commentary" }),
    }
}

/// The state that must be sent back to a provider unchanged.
fn kept(provider: &str) -> Vec<String> {
    let of: &[&str] = match provider {
        "anthropic" => &["thinking", "redacted"],
        "bedrock" => &["thinking", "redacted", "call"],
        "google" => &["call", "text"],
        "xai" | "steps" => &["thinking", "call", "text"],
        "mistral" => &["thinking", "call"],
        "cohere" => &["citation"],
        // It has no state: its thinking is text.
        "ollama" => return vec![THOUGHT.to_owned()],
        _ => &["call"],
    };
    of.iter().map(|of| mark(provider, of)).collect()
}

fn cited(provider: &str, text: &str) -> ContentPart {
    ContentPart::Text({
        let mut citation = UrlCitation::new(SOURCE);
        if provider == "cohere" {
            let sources = json!([{ "type": "document", "id": mark(provider, "citation") }]);
            let data = json!({ "start": 0, "end": 3, "text": &text[..3], "sources": sources });
            citation.provider_state = Some(Box::new(ProviderState::new(provider, data)));
        }
        let mut value = TextPart::new(text).with_citation(citation);
        value.provider_state = state(provider, "text");
        value
    })
}

fn said(provider: &str, parts: Vec<ContentPart>) -> ChatMessage {
    let model = MODELS.iter().find(|(name, _)| *name == provider).unwrap().1;
    ChatMessage::assistant(parts).with_origin(Origin::new(provider, model))
}

/// A round of tools and a response, as that provider would have given them.
fn answers(provider: &str) -> Vec<ChatMessage> {
    let call = |number: usize, city: &str| {
        ContentPart::ToolCall({
            let mut value = ToolCallPart::new(
                format!("call.{provider}|{number}"),
                "get_weather",
                json!({ "city": city }).to_string(),
            );
            value.provider_state = (number == 0).then(|| state(provider, "call")).flatten();
            value
        })
    };
    let in_items = provider == "xai";
    let mut parts = vec![ContentPart::Thinking({
        let mut value = ThinkingPart::new(THOUGHT);
        value.signature = (!in_items).then(|| mark(provider, "thinking"));
        value.provider_state =
            if in_items || provider == "steps" { state(provider, "thinking") } else { None };
        value
    })];
    if matches!(provider, "anthropic" | "bedrock") {
        parts.push(ContentPart::RedactedThinking(RedactedThinkingPart::new(mark(
            provider, "redacted",
        ))));
    }
    parts.extend([cited(provider, "Let me look."), call(0, "Rome"), call(1, "Oslo")]);
    vec![
        said(provider, parts),
        ChatMessage::tool(format!("call.{provider}|0"), "18 °C"),
        ChatMessage::tool_error(format!("call.{provider}|1"), "no such city"),
        said(provider, vec![cited(provider, "It is mild in Rome.")]),
    ]
}

fn conversation(first: &str) -> ChatRequest {
    ChatRequest::new("")
        .system("Be brief.")
        .user([
            ContentPart::text("How is the weather there?"),
            ContentPart::image_url("data:image/png;base64,iVBORw0KGgo="),
        ])
        .messages(answers(first))
        .user("And tomorrow?")
        .tool(ToolDefinition::function(
            "get_weather",
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ))
}

/// The body for a provider.
fn body(mut request: ChatRequest, to: &str) -> (String, Value) {
    let model = MODELS.iter().find(|(name, _)| *name == to).unwrap().1;
    request.model = format!("{to}/{model}");
    request.protocol = (to == "ollama").then_some(Protocol::Ollama);
    let steps = Provider::interactions_compatible("steps", "https://steps.test/v1beta");
    let ai = AgentLoop::builder().env("AWS_REGION", "us-east-1").provider(steps).build().unwrap();
    let encoded =
        inspect::encode(&ai, &request, false).unwrap_or_else(|error| panic!("{to}: {error}"));
    let text = encoded.body.get().to_owned();
    let body = serde_json::from_str(&text).unwrap();
    (text, body)
}

fn check(to: &str, body: &Value) {
    match to {
        "anthropic" => check::anthropic(body),
        "google" => check::gemini(body),
        "bedrock" => check::bedrock(body),
        "steps" => check::interactions(body),
        "xai" => check::responses(body),
        "cohere" => check::cohere(body),
        "ollama" => check::ollama(body),
        _ => check::openai(body, to == "mistral"),
    }
}

#[test]
fn every_provider_can_continue_the_conversation_of_another() {
    for (first, _) in MODELS {
        for (second, _) in MODELS.into_iter().filter(|(second, _)| *second != first) {
            let (text, body) = body(conversation(first), second);
            check(second, &body);
            let pair = format!("{first} → {second}");
            assert!(!text.contains(&format!("/{first}==")), "{pair}: foreign state in {text}");
            assert!(!text.contains(THOUGHT), "{pair}: foreign thinking in {text}");
            assert!(!text.contains(SOURCE), "{pair}: foreign citations in {text}");
            for said in ["Let me look.", "18 °C", "no such city", "It is mild in Rome."] {
                assert!(text.contains(said), "{pair}: `{said}` is missing in {text}");
            }
        }
    }
}

#[test]
fn back_on_the_first_its_state_is_what_it_was() {
    for (first, _) in MODELS {
        for (second, _) in MODELS {
            let mut request = conversation(first);
            if first != second {
                request = request.messages(answers(second)).user("Thanks. And then?");
            }
            let (text, body) = body(request, first);
            check(first, &body);
            for mark in kept(first) {
                assert!(text.contains(&mark), "{first} → {second} → {first}: no {mark} in {text}");
            }
            let foreign = first != second && text.contains(&format!("/{second}=="));
            assert!(!foreign, "{first} → {second} → {first}: foreign state in {text}");
        }
    }
}
