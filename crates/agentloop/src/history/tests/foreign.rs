use serde_json::{Value, json};

use super::*;
use crate::chat::{
    Citation, CodeExecutionPart, CodeOutcome, CodeResultPart, OpaquePart, ProviderState,
    RedactedThinkingPart, ServerToolCallPart, ServerToolResultPart, TextPart, ThinkingPart,
    UrlCitation,
};
use crate::provider::{ModelRule, Signatures};

fn state(provider: &str) -> Option<Box<ProviderState>> {
    Some(Box::new(ProviderState::new(provider, json!({"sig": "s3cret"}))))
}

/// Returns one part of each kind that a response may contain.
fn response_parts(provider: &str) -> Vec<ContentPart> {
    let provider_state = state(provider);
    let cited = || TextPart {
        citations: vec![Citation::Url(UrlCitation::default())],
        provider_state: provider_state.clone(),
        ..TextPart::new("So.")
    };
    vec![
        ContentPart::Thinking(ThinkingPart {
            signature: Some("s3cret".to_owned()),
            ..ThinkingPart::new("Hm")
        }),
        ContentPart::RedactedThinking(RedactedThinkingPart {
            data: "s3cret".to_owned(),
            provider_state: provider_state.clone(),
        }),
        ContentPart::ServerToolCall(ServerToolCallPart::default()),
        ContentPart::ServerToolResult(ServerToolResultPart::default()),
        ContentPart::Opaque(OpaquePart {
            provider: provider.to_owned(),
            kind: "x".to_owned(),
            data: json!("s3cret"),
        }),
        ContentPart::CodeExecution(CodeExecutionPart {
            language: "python".to_owned(),
            code: "print('```')".to_owned(),
            ..CodeExecutionPart::default()
        }),
        ContentPart::CodeResult(CodeResultPart {
            outcome: CodeOutcome::Error,
            output: "boom".to_owned(),
            ..CodeResultPart::default()
        }),
        ContentPart::Text(cited()),
        ContentPart::Text(cited()),
        ContentPart::ToolCall(ToolCallPart {
            provider_state: provider_state.clone(),
            ..ToolCallPart::new("a", "f", "{}")
        }),
    ]
}

#[test]
fn own_parts_are_untouched() {
    // Without an origin, the state of each part names its provider, as in every response.
    let tagged =
        response_parts("here").into_iter().map(|part| tag(part, "here")).collect::<Vec<_>>();
    for message in [from("here", response_parts("here")), ChatMessage::assistant(tagged)] {
        let request = request([message.clone(), ChatMessage::tool("a", "1")]);
        let prepared = prepared(&request, &RULES);
        assert_eq!(prepared.messages[1], message);
        assert!(prepared.warnings.is_empty());
    }
}

#[test]
fn foreign_parts_are_removed_or_become_text_with_warnings() {
    let request = request([from("there", response_parts("there")), ChatMessage::tool("a", "1")]);
    let prepared = prepared(&request, &RULES);
    let message = &prepared.messages[1];
    let kinds: Vec<_> = message.parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["text", "text", "text", "text", "tool_call"]);
    let text = serde_json::to_string(message).unwrap();
    assert!(!text.contains("s3cret") && !text.contains("citations"), "{text}");
    let text = message.text();
    assert!(text.contains("````python\nprint('```')\n````"), "{text}");
    assert!(text.contains("It failed:\n\n```\nboom\n```"), "{text}");
    let places: Vec<String> = (0..7).map(|at| format!("messages[1].content[{at}]")).collect();
    let kinds = [WarningKind::Dropped; 5].into_iter().chain([WarningKind::Converted; 2]);
    let mut expected: Vec<_> = kinds.zip(places.iter().map(String::as_str)).collect();
    expected.push((WarningKind::Dropped, "messages[1].content"));
    assert_eq!(warned(&prepared), expected);
}

/// Returns the part as it is in a response.
fn tag(part: ContentPart, provider: &str) -> ContentPart {
    let kind = part.kind();
    let mut value = serde_json::to_value(part).unwrap();
    if kind != "opaque" && value["providerState"].is_null() {
        value["providerState"] = json!({ "provider": provider });
    }
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_part_that_only_its_provider_understands_is_foreign_if_the_provider_is_unknown() {
    let untagged: Vec<ContentPart> = response_parts("")
        .into_iter()
        .map(|part| {
            let mut value = serde_json::to_value(part).unwrap();
            value.as_object_mut().unwrap().remove("providerState");
            serde_json::from_value(value).unwrap()
        })
        .collect();
    let request = request([ChatMessage::assistant(untagged), ChatMessage::tool("a", "1")]);
    let prepared = prepared(&request, &RULES);
    let kinds: Vec<_> = prepared.messages[1].parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["text", "text", "text", "text", "tool_call"]);
    let text = serde_json::to_string(&prepared.messages).unwrap();
    assert!(!text.contains("s3cret"), "{text}");
    assert_eq!(prepared.warnings.len(), 7, "{:?}", prepared.warnings);
}

#[test]
fn thinking_without_signature_and_provider_is_sent_as_text_where_thinking_is_text() {
    let request = request([ChatMessage::assistant(vec![
        ContentPart::Thinking(ThinkingPart::new("Hm")),
        ContentPart::text("a"),
    ])]);
    for thinking_as_text in [true, false] {
        let rules = Rules { thinking_as_text, ..*RULES };
        let prepared = prepared(&request, &rules);
        assert_eq!(prepared.messages[1].parts().len(), if thinking_as_text { 2 } else { 1 });
        assert_eq!(prepared.warnings.is_empty(), thinking_as_text);
    }
}

#[test]
fn thinking_that_is_bound_to_a_model_is_sent_back_to_that_model_only() {
    let bound = ModelRule::new("bound*").with_signatures(Signatures::OfModel);
    let here = Provider::openai_compatible("here", "http://here.invalid").model(bound);
    let thinking = |model: &str| {
        let mut state = ProviderState::new("here", Value::Null);
        state.model = Some(model.to_owned());
        ContentPart::Thinking(ThinkingPart {
            signature: Some("s3cret".to_owned()),
            provider_state: Some(Box::new(state)),
            ..ThinkingPart::new("Hm")
        })
    };
    for (maker, model, stays) in [
        ("bound-1", "bound-1", true),
        ("bound-1-20260101", "bound-1", true),
        ("bound-1", "bound-2", false),
        ("bound-1", "free", false),
        ("free", "bound-1", false),
        ("free", "other", true),
    ] {
        let parts = vec![thinking(maker), ContentPart::text("a")];
        let request = request([ChatMessage::assistant(parts)]);
        let rules = Rules { provider: &here, model, ..*RULES };
        let prepared = prepared(&request, &rules);
        assert_eq!(prepared.messages[1].parts().len() == 2, stays, "{maker} to {model}");
        assert_eq!(prepared.warnings.is_empty(), stays);
    }
}

#[test]
fn the_state_of_a_part_overrides_the_origin_of_its_message() {
    let thinking = |provider| {
        ContentPart::Thinking(ThinkingPart {
            provider_state: state(provider),
            ..ThinkingPart::new("Hm")
        })
    };
    let request = request([
        from("there", vec![thinking("here"), ContentPart::text("a")]),
        ChatMessage::assistant(vec![thinking("there"), ContentPart::text("b")]),
    ]);
    let prepared = prepared(&request, &RULES);
    assert_eq!(prepared.messages[1].parts().len(), 2);
    assert_eq!(prepared.messages[2].parts().len(), 1);
}

#[test]
fn a_message_without_remaining_parts_is_removed() {
    let thought = || ContentPart::Thinking(ThinkingPart::new("Hm"));
    let request = request([
        from("there", vec![thought(), ContentPart::text(" ")]),
        ChatMessage::user("Anyone?"),
        from("there", vec![thought(), call("a", "f")]),
        ChatMessage::tool("a", "1"),
        ChatMessage::assistant(""),
    ]);
    let prepared = prepared(&request, &RULES);
    let roles: Vec<_> = prepared.messages.iter().map(|message| message.role.as_str()).collect();
    assert_eq!(roles, ["user", "user", "assistant", "tool", "assistant"]);
}
