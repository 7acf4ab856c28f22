use agentloop::{FinishReason, Fold};

use super::*;

/// Returns the parts of a text, which do not depend on how the text is cut.
fn parts(text: &str) -> Vec<ResponsePart> {
    let mut expected = None;
    for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
        let mut parts = Parts::new(true, "call");
        let mut events = vec![start()];
        events.extend(parts.push(&text[..cut]));
        events.extend(parts.push(&text[cut..]));
        events.extend(parts.finish());
        events.push(ChatStreamEvent::MessageDelta {
            choice_index: 0,
            finish_reason: FinishReason::Stop,
            raw_finish_reason: None,
        });
        let mut fold = Fold::new();
        events.iter().for_each(|event| fold.push(event).unwrap());
        let response = fold.finish().unwrap();
        let found = response.choices[0].content.clone();
        assert_eq!(*expected.get_or_insert(found.clone()), found, "cut at {cut}");
    }
    expected.unwrap_or_default()
}

fn start() -> ChatStreamEvent {
    ChatStreamEvent::MessageStart {
        id: "1".to_owned(),
        model: "m".to_owned(),
        provider: "local".to_owned(),
        created: None,
        request_id: None,
        output_strategy: None,
        cached: false,
    }
}

fn text(text: &str) -> ResponsePart {
    ResponsePart::Text(TextPart::new(text))
}

fn call(index: usize, name: &str, arguments: &str) -> ResponsePart {
    ResponsePart::ToolCall(ToolCallPart::new(format!("call-{index}"), name, arguments))
}

#[test]
fn text_without_calls_is_one_part() {
    assert_eq!(parts("Hello <b>you</b> <tool"), [text("Hello <b>you</b> <tool")]);
    assert_eq!(parts(""), []);
}

#[test]
fn calls_are_separated_from_the_text_before_them() {
    let found = parts(
        "Let me look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"}</tool_call>\"}}\n</tool_call>",
    );
    assert_eq!(found, [text("Let me look.\n"), call(0, "look", r#"{"at": "}</tool_call>"}"#)]);
}

#[test]
fn several_calls_are_several_parts() {
    let found = parts(
        r#"<tool_call>{"name": "a", "arguments": {}}</tool_call> <tool_call>{"name": "b", "arguments": {"x": [1, {}]}}</tool_call>"#,
    );
    assert_eq!(found, [call(0, "a", "{}"), call(1, "b", r#"{"x": [1, {}]}"#)]);
}

#[test]
fn a_call_that_is_cut_off_keeps_what_is_there() {
    assert_eq!(
        parts(r#"<tool_call>{"name": "a", "arguments": {"x": "1"#),
        [call(0, "a", r#"{"x": "1"#)]
    );
    assert_eq!(parts(r#"<tool_call>{"name": "a"#), [text(r#"<tool_call>{"name": "a"#)]);
}

#[test]
fn what_is_not_a_call_stays_text() {
    assert_eq!(
        parts("<tool_call>{\"no\": 1}</tool_call>"),
        [text("<tool_call>{\"no\": 1}</tool_call>")]
    );
}
