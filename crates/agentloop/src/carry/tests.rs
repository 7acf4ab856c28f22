use serde_json::json;

use super::capsule::{Entry, Place, open, seal, split_id, with_capsule};
use super::*;
use crate::chat::{
    ChatMessage, ChatRequest, ChatResponse, ChatStreamEvent, Citation, ContentPart, Fold,
    MessageContent, OpaquePart, Protocol, ProviderState, RedactedThinkingPart, ResponsePart, Role,
    TextPart, ThinkingPart, ToolCallPart, UrlCitation,
};

fn state(data: serde_json::Value) -> Option<Box<ProviderState>> {
    let mut state = ProviderState::new("lab", data);
    state.model = Some("m".to_owned());
    Some(Box::new(state))
}

fn signed_thinking(text: &str) -> ResponsePart {
    let mut part = ThinkingPart::new(text);
    part.signature = Some("EqoBCkgIBRABGAIiQ".to_owned());
    part.provider_state = state(serde_json::Value::Null);
    part.into()
}

fn call(id: &str, data: serde_json::Value) -> ResponsePart {
    let mut call = ToolCallPart::new(id, "weather", r#"{"city":"Oslo"}"#);
    call.provider_state = if data.is_null() { None } else { state(data) };
    call.into()
}

/// The last part of a response of Gemini 3: no text, but a signature.
fn signed_nothing() -> TextPart {
    let mut text = TextPart::new("");
    text.provider_state = state(json!({ "thoughtSignature": "CiQBend" }));
    text
}

/// A response with every kind of state.
fn rich() -> ChatResponse {
    let mut text = TextPart::new("It rains.");
    text.provider_state = state(json!({ "id": "msg_1" }));
    text.citations = vec![Citation::Url(UrlCitation::new("https://a.test"))];
    let hidden = RedactedThinkingPart {
        data: "EmwKAh".to_owned(),
        provider_state: state(serde_json::Value::Null),
    };
    let opaque: OpaquePart = serde_json::from_value(
        json!({ "provider": "lab", "kind": "search", "data": { "type": "search", "q": "rain" } }),
    )
    .unwrap();
    ChatResponse::from_parts(
        "lab/m",
        [
            signed_thinking("First, the city."),
            ResponsePart::RedactedThinking(hidden),
            ResponsePart::Opaque(opaque),
            ResponsePart::Text(text),
            call("call_1", json!({ "thoughtSignature": "CiQB" })),
            call("call_2", serde_json::Value::Null),
            signed_thinking("Second."),
            call("call_3", json!({ "id": "fc_3" })),
            ResponsePart::Text(signed_nothing()),
        ],
    )
}

/// Returns the message as a client sends it back that keeps everything.
fn echoed(response: &ChatResponse) -> ChatRequest {
    let mut message = response.clone().into_message();
    message.origin = None;
    let mut request = ChatRequest::new("m").user("Hi").message(message);
    for call in response.tool_calls() {
        request = request.message(ChatMessage::tool(&call.id, "12 degrees"));
    }
    request
}

fn parts_of(request: &ChatRequest) -> Vec<ContentPart> {
    request.messages[1].parts().to_vec()
}

fn expected() -> Vec<ContentPart> {
    rich().choices[0].content.iter().cloned().map(Into::into).collect()
}

/// Returns the parts that return through a client of this API. Chat completions have no place after the last call.
fn expected_of(client: Protocol) -> Vec<ContentPart> {
    let mut parts = expected();
    if matches!(
        client,
        Protocol::OpenAiChat | Protocol::Ollama | Protocol::Cohere | Protocol::GeminiInteractions
    ) {
        parts.pop();
    }
    parts
}

fn streamed(client: Protocol, upstream: Protocol, response: &ChatResponse) -> ChatResponse {
    let mut carrier = Carrier::new(client, upstream);
    let mut events = Vec::new();
    response.unfold().into_iter().for_each(|event| carrier.push(event, &mut events));
    let mut fold = Fold::new();
    events.iter().for_each(|event| fold.push(event).unwrap());
    let Some(ChatStreamEvent::MessageDone { response }) = events.last() else { panic!("no end") };
    assert_eq!(fold.finish().unwrap().choices, response.choices, "{client:?} {upstream:?}");
    (**response).clone()
}

#[test]
fn state_returns_through_a_client_of_every_api() {
    for client in Protocol::ALL.iter().copied() {
        let shown = Carrier::new(client, Protocol::Gemini).response(rich());
        assert_ne!(shown, rich());
        let mut request = echoed(&shown);
        assert_eq!(restore(&mut request), []);
        assert_eq!(parts_of(&request), expected_of(client), "{client:?}");
        let results = request.messages.iter().filter_map(|message| message.tool_call_id.as_deref());
        assert_eq!(results.collect::<Vec<_>>(), ["call_1", "call_2", "call_3"]);
    }
}

#[test]
fn a_stream_carries_what_the_complete_response_carries() {
    for client in Protocol::ALL.iter().copied() {
        for upstream in Protocol::ALL.iter().copied() {
            let shown = streamed(client, upstream, &rich());
            let mut request = echoed(&shown);
            restore(&mut request);
            assert_eq!(parts_of(&request), expected_of(client), "{client:?} {upstream:?}");
        }
    }
}

/// Gemini CLI drops thoughts and keeps signatures on calls; chat clients keep text and calls only.
#[test]
fn thinking_returns_although_the_client_drops_it() {
    for client in [Protocol::Gemini, Protocol::OpenAiChat] {
        let mut shown = Carrier::new(client, Protocol::Anthropic).response(rich());
        shown.choices[0]
            .content
            .retain(|part| matches!(part, ResponsePart::Text(_) | ResponsePart::ToolCall(_)));
        let mut request = echoed(&shown);
        restore(&mut request);
        assert_eq!(parts_of(&request), expected_of(client), "{client:?}");
    }
}

#[test]
fn a_call_that_arrives_in_pieces_is_passed_on_in_pieces_if_its_state_is_known_first() {
    let response = ChatResponse::from_parts(
        "lab/m",
        [signed_thinking("Hm."), call("call_1", serde_json::Value::Null)],
    );
    let mut events = Vec::new();
    let mut carrier = Carrier::new(Protocol::OpenAiChat, Protocol::Anthropic);
    for event in response.unfold() {
        // The arguments in three pieces.
        if let ChatStreamEvent::ContentDelta { choice_index, part_index, delta } = &event
            && let crate::chat::PartDelta::ToolCallArguments { arguments } = delta
        {
            for piece in [&arguments[..3], &arguments[3..5], &arguments[5..]] {
                let delta =
                    crate::chat::PartDelta::ToolCallArguments { arguments: piece.to_owned() };
                let (choice_index, part_index) = (*choice_index, *part_index);
                carrier.push(
                    ChatStreamEvent::ContentDelta { choice_index, part_index, delta },
                    &mut events,
                );
            }
            continue;
        }
        carrier.push(event, &mut events);
    }
    let pieces = events.iter().filter(|event| {
        matches!(
            event,
            ChatStreamEvent::ContentDelta {
                delta: crate::chat::PartDelta::ToolCallArguments { .. },
                ..
            }
        )
    });
    assert_eq!(pieces.count(), 3);
    let Some(ChatStreamEvent::MessageDone { response: shown }) = events.last() else { panic!() };
    let mut request = echoed(shown);
    restore(&mut request);
    let whole: Vec<ContentPart> =
        response.choices[0].content.iter().cloned().map(Into::into).collect();
    assert_eq!(parts_of(&request), whole);
}

#[test]
fn a_message_without_state_has_no_capsule() {
    let plain = ChatResponse::from_parts(
        "lab/m",
        [ResponsePart::from("Hi"), call("call_1", serde_json::Value::Null)],
    );
    for client in Protocol::ALL.iter().copied() {
        assert_eq!(Carrier::new(client, Protocol::OpenAiChat).response(plain.clone()), plain);
    }
}

#[test]
fn a_damaged_capsule_is_a_warning_and_the_call_keeps_its_id() {
    let shown = Carrier::new(Protocol::OpenAiChat, Protocol::Anthropic).response(rich());
    let whole = shown.tool_calls().next().unwrap().id.clone();
    for cut in [whole.len() - 1, whole.len() - 40, "call_1-agentlp1".len()] {
        let mut request = echoed(&shown);
        let Some(MessageContent::Parts(parts)) = &mut request.messages[1].content else { panic!() };
        for part in parts {
            if let ContentPart::ToolCall(call) = part {
                call.id.truncate(cut);
            }
        }
        let warnings = restore(&mut request);
        assert!(!warnings.is_empty(), "{cut}");
        assert!(
            parts_of(&request)
                .iter()
                .any(|part| matches!(part, ContentPart::ToolCall(call) if call.id == "call_1"))
        );
    }
}

#[test]
fn a_capsule_is_the_same_each_time_and_survives_base64_of_either_alphabet() {
    let entries = [hidden(ContentPart::Thinking(ThinkingPart::new("ü?>~".repeat(50))))];
    let text = seal(&entries).unwrap();
    assert_eq!(seal(&entries).unwrap(), text);
    let standard = text.replace('-', "+").replace('_', "/");
    let padded = format!("{standard}{}", "=".repeat((4 - standard.len() % 4) % 4));
    for form in [text, standard, padded] {
        assert_eq!(open(&form, &mut 100_000), Some(entries.to_vec()));
    }
}

/// A small capsule can decompress to very much.
#[test]
fn capsules_are_opened_within_a_budget() {
    let entries = [hidden(ContentPart::Thinking(ThinkingPart::new("a".repeat(1 << 20))))];
    let text = seal(&entries).unwrap();
    assert!(text.len() < 8 << 10, "{}", text.len());
    assert_eq!(open(&text, &mut 1000), None);
    let mut budget = 3 << 20;
    assert!(open(&text, &mut budget).is_some() && open(&text, &mut budget).is_some());
    assert_eq!(open(&text, &mut budget), None);
    assert_eq!(seal(&[hidden(ContentPart::Thinking(ThinkingPart::new(noise(1 << 20))))]), None);
}

fn hidden(part: ContentPart) -> Entry {
    Entry::hidden(Place::default(), part)
}

fn noise(bytes: usize) -> String {
    let mut seed = 7_u64;
    let letter = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + u8::try_from(seed >> 58).unwrap())
    };
    (0..bytes).map(letter).collect()
}

#[test]
fn text_that_only_looks_like_a_capsule_is_harmless() {
    for text in [
        "",
        "agentlp1",
        "agentlp1!!",
        "agentlp1AAAAAAAAAAAA",
        "xagentlp1",
        "agentlp1====",
        "agentlp1ü",
    ] {
        assert_eq!(open(text, &mut 1000), None, "{text}");
        let id = with_capsule("call", text);
        let _ = split_id(&id);
        let mut message = ChatMessage::new(
            Role::Assistant,
            vec![ContentPart::ToolCall(ToolCallPart::new(id, "f", "{}"))],
        );
        message.name = None;
        restore(&mut ChatRequest::new("m").message(message));
    }
}

/// Claude Code 2.1.325 sends all thinking of a message before its calls.
#[test]
fn thinking_returns_to_its_place_between_calls() {
    let original = ChatResponse::from_parts(
        "lab/m",
        [
            signed_thinking("One."),
            call("call_1", serde_json::Value::Null),
            signed_thinking("Two."),
            call("call_2", serde_json::Value::Null),
        ],
    );
    let carrier = Carrier::new(Protocol::Anthropic, Protocol::OpenAiResponses);
    let mut shown = carrier.response(original.clone());
    shown.choices[0].content.sort_by_key(|part| matches!(part, ResponsePart::ToolCall(_)));
    let mut request = echoed(&shown);
    restore(&mut request);
    let parts: Vec<ContentPart> =
        original.choices[0].content.iter().cloned().map(Into::into).collect();
    assert_eq!(parts_of(&request), parts);
}

/// google-genai for Python keeps the pieces of a streamed text as parts.
#[test]
fn a_text_in_pieces_does_not_move_what_follows() {
    let original = ChatResponse::from_parts(
        "lab/m",
        [
            signed_thinking("One."),
            ResponsePart::from("I look both up."),
            call("call_1", serde_json::Value::Null),
            signed_thinking("Two."),
            call("call_2", serde_json::Value::Null),
        ],
    );
    for client in Protocol::ALL.iter().copied() {
        let shown = Carrier::new(client, Protocol::Anthropic).response(original.clone());
        let mut request = echoed(&shown);
        let Some(MessageContent::Parts(parts)) = &mut request.messages[1].content else { panic!() };
        let at = parts.iter().position(|part| matches!(part, ContentPart::Text(_))).unwrap();
        parts[at] = ContentPart::text("I look bo");
        parts.insert(at + 1, ContentPart::text("th up."));
        restore(&mut request);
        let parts: Vec<ContentPart> =
            original.choices[0].content.iter().cloned().map(Into::into).collect();
        assert_eq!(parts_of(&request), parts, "{client:?}");
    }
}
