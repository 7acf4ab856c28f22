use serde_json::json;

use super::*;
use crate::response::{
    Citation, CodeExecutionPart, CodeOutcome, CodeResultPart, OpaquePart, ProviderState,
    RedactedThinkingPart, ServerToolCallPart, ServerToolResultPart, TextPart, ThinkingPart,
    UrlCitation,
};

fn state(provider: &str) -> Option<Box<ProviderState>> {
    Some(Box::new(ProviderState::new(provider, json!({"sig": "s3cret"}))))
}

/// One part of each kind that an answer may hold.
fn answer(provider: &str) -> Vec<ContentPart> {
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
    for turn in [from("here", answer("here")), ChatMessage::assistant(answer("here"))] {
        let request = request([turn.clone(), ChatMessage::tool("a", "1")]);
        let prepared = prepared(&request, &RULES);
        assert_eq!(prepared.messages[1], turn);
        assert!(prepared.warnings.is_empty());
    }
}

#[test]
fn foreign_parts_go_or_become_text_with_warnings() {
    let request = request([from("there", answer("there")), ChatMessage::tool("a", "1")]);
    let prepared = prepared(&request, &RULES);
    let turn = &prepared.messages[1];
    let kinds: Vec<_> = turn.parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["text", "text", "text", "text", "tool_call"]);
    let text = serde_json::to_string(turn).unwrap();
    assert!(!text.contains("s3cret") && !text.contains("citations"), "{text}");
    let said = turn.text();
    assert!(said.contains("````python\nprint('```')\n````"), "{said}");
    assert!(said.contains("It failed:\n\n```\nboom\n```"), "{said}");
    let places: Vec<String> = (0..7).map(|at| format!("messages[1].content[{at}]")).collect();
    let kinds = [WarningKind::Dropped; 5].into_iter().chain([WarningKind::Converted; 2]);
    let mut expected: Vec<_> = kinds.zip(places.iter().map(String::as_str)).collect();
    expected.push((WarningKind::Dropped, "messages[1].content"));
    assert_eq!(warned(&prepared), expected);
}

#[test]
fn the_state_of_a_part_says_more_than_its_turn() {
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
fn a_turn_of_which_nothing_is_left_goes_too() {
    let thought = || ContentPart::Thinking(ThinkingPart::new("Hm"));
    let request = request([
        from("there", vec![thought(), ContentPart::text(" ")]),
        ChatMessage::user("Anyone?"),
        from("there", vec![thought(), call("a", "f")]),
        ChatMessage::tool("a", "1"),
        ChatMessage::assistant(""),
    ]);
    let prepared = prepared(&request, &RULES);
    let roles: Vec<_> = prepared.messages.iter().map(|turn| turn.role.as_str()).collect();
    assert_eq!(roles, ["user", "user", "assistant", "tool", "assistant"]);
}
