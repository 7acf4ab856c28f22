use std::borrow::Cow;

use super::super::INTERRUPTED;
use super::*;
use crate::chat::ToolCall;
use crate::error::ErrorKind;

const REPAIRED: WarningKind = WarningKind::Repaired;

fn results(prepared: &Prepared<'_>) -> Vec<String> {
    prepared.messages.iter().filter_map(|message| message.tool_call_id.clone()).collect()
}

#[test]
fn a_valid_conversation_is_borrowed() {
    let request = request([calls(&["a"]), ChatMessage::tool("a", "1"), ChatMessage::user("So?")]);
    let prepared = prepared(&request, &RULES);
    assert!(matches!(prepared.messages, Cow::Borrowed(_)));
    assert!(prepared.names.is_empty() && prepared.warnings.is_empty());
}

#[test]
fn calls_beside_the_content_move_behind_it() {
    let mut message = ChatMessage::assistant("Let me look.");
    message.tool_calls = vec![ToolCall::new("a", "f", "{}"), ToolCall::new("b", "g", "")];
    let request = request([message, ChatMessage::tool("a", "1"), ChatMessage::tool("b", "2")]);
    let prepared = prepared(&request, &RULES);
    let message = &prepared.messages[1];
    assert!(message.tool_calls.is_empty());
    let kinds: Vec<_> = message.parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["text", "tool_call", "tool_call"]);
    assert!(prepared.warnings.is_empty());
}

#[test]
fn a_call_without_a_result_is_interrupted() {
    let request =
        request([calls(&["a", "b"]), ChatMessage::tool("b", "2"), ChatMessage::user("Well?")]);
    let prepared = prepared(&request, &RULES);
    assert_eq!(results(&prepared), ["a", "b"]);
    assert_eq!(prepared.messages[2], ChatMessage::tool_error("a", INTERRUPTED));
    assert_eq!(warned(&prepared), [(REPAIRED, "messages[1]")]);
    assert_eq!((prepared.place(2), prepared.place(3), prepared.place(4)), (1, 2, 3));
}

#[test]
fn a_result_without_a_call_and_a_duplicate_result_are_left_out() {
    let request = request([
        ChatMessage::tool("x", "early"),
        calls(&["a"]),
        ChatMessage::tool("a", "first"),
        ChatMessage::tool("a", "second"),
        ChatMessage::tool("y", "stray"),
    ]);
    let prepared = prepared(&request, &RULES);
    assert_eq!(results(&prepared), ["a"]);
    assert_eq!(prepared.messages[2].text(), "first");
    let expected =
        [(REPAIRED, "messages[1]"), (REPAIRED, "messages[4]"), (REPAIRED, "messages[5]")];
    assert_eq!(warned(&prepared), expected);
}

#[test]
fn late_results_move_up_in_the_order_of_the_calls() {
    let request = request([
        calls(&["a", "b"]),
        ChatMessage::user("Quickly!"),
        ChatMessage::tool("b", "2"),
        calls(&["c"]),
        ChatMessage::tool("c", "3"),
        ChatMessage::tool("a", "1"),
    ]);
    let prepared = prepared(&request, &RULES);
    assert_eq!(results(&prepared), ["a", "b", "c"]);
    assert_eq!(prepared.messages[4].text(), "Quickly!");
    assert_eq!(warned(&prepared), [(REPAIRED, "messages[3]"), (REPAIRED, "messages[6]")]);
}

#[test]
fn results_in_another_order_are_valid() {
    let request =
        request([calls(&["a", "b"]), ChatMessage::tool("b", "2"), ChatMessage::tool("a", "1")]);
    let prepared =
        prepare(&request.strict(), &RULES, &|_| Shown::InResult).map(|p| results(&p)).unwrap();
    assert_eq!(prepared, ["a", "b"]);
}

#[test]
fn in_strict_mode_a_missing_result_is_an_error_that_names_the_message() {
    for (messages, place) in [
        (vec![calls(&["a"])], "messages[1]"),
        (vec![ChatMessage::tool("x", "")], "messages[1]"),
        (vec![calls(&["a"]), ChatMessage::user("!"), ChatMessage::tool("a", "")], "messages[3]"),
    ] {
        let error = prepare(&request(messages).strict(), &RULES, &|_| Shown::InResult).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        assert!(error.to_string().contains(place), "{error}");
    }
}

#[test]
fn a_result_without_a_call_id_is_an_error() {
    let nameless = ChatMessage { tool_call_id: None, ..ChatMessage::tool("", "1") };
    assert!(prepare(&request([calls(&["a"]), nameless]), &RULES, &|_| Shown::InResult).is_err());
    let lone = ChatRequest::new("here/m").message(ChatMessage::tool("x", "1"));
    let error = prepare(&lone, &RULES, &|_| Shown::InResult).unwrap_err();
    assert!(error.to_string().contains("messages[0]"), "{error}");
}

#[test]
fn calls_without_ids_get_ids_from_their_position() {
    let message = ChatMessage::assistant(vec![call("", "f"), call("", "g")]);
    let request = request([
        message,
        ChatMessage::tool("", "of g").with_name("g"),
        ChatMessage::tool("", "of f").with_name("f"),
    ]);
    let prepared = prepared(&request, &RULES);
    assert_eq!(results(&prepared), ["call_1_0", "call_1_1"]);
    assert_eq!(prepared.messages[2].text(), "of f");
}

#[test]
fn an_id_that_is_used_twice_is_replaced_the_second_time() {
    let round = |text: &str| [calls(&["call_0"]), ChatMessage::tool("call_0", text)];
    let request = request(round("1").into_iter().chain(round("2")));
    let prepared = prepared(&request, &RULES);
    let ids = results(&prepared);
    assert_eq!(ids[0], "call_0");
    assert_ne!(ids[0], ids[1]);
    assert_eq!(
        (prepared.messages[2].text(), prepared.messages[4].text()),
        ("1".into(), "2".into())
    );
    assert!(prepared.warnings.is_empty());
}

#[test]
fn invalid_ids_are_replaced_by_distinct_valid_ones() {
    let ids = ["a.b", "a|b", "a_b", "", "AbCdEf123"];
    for pattern in [IdPattern::Word, IdPattern::NineAlphanumeric] {
        let request = request([calls(&ids)]);
        let prepared = prepared(&request, &Rules { ids: pattern, ..*RULES });
        let mapped = results(&prepared);
        let apart: std::collections::BTreeSet<_> = mapped.iter().collect();
        assert_eq!(apart.len(), ids.len(), "{mapped:?}");
        assert!(mapped.iter().all(|id| pattern.fits(id, None)), "{mapped:?}");
        assert_eq!(mapped[4], "AbCdEf123");
    }
}
