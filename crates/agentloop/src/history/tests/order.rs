//! Messages in the order, and calls with the ids, that a model accepts.

use super::*;
use crate::chat::Role;
use crate::error::ErrorKind;

fn order() -> Order {
    let reason = "only the assistant may follow".into();
    Order { assistant_after_tool: Some(reason), longest_id: None }
}

fn roles(prepared: &Prepared<'_>) -> Vec<Role> {
    prepared.messages.iter().map(|message| message.role).collect()
}

#[test]
fn a_user_message_does_not_directly_follow_a_tool_result() {
    let order = order();
    let rules = Rules { order: &order, ..*RULES };
    let request = request([
        calls(&["a", "b"]),
        ChatMessage::tool("a", "1"),
        ChatMessage::tool("b", "2"),
        ChatMessage::user("Continue"),
        ChatMessage::assistant("Yes"),
    ]);
    let prepared = prepared(&request, &rules);
    let (user, assistant, tool) = (Role::User, Role::Assistant, Role::Tool);
    assert_eq!(roles(&prepared), [user, assistant, tool, tool, assistant, user, assistant]);
    assert_eq!(warned(&prepared), [(WarningKind::Repaired, "messages[4]")]);
    let strict = request.strict();
    let error = prepare(&strict, &rules, &|_| Shown::InResult).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn an_inserted_result_is_separated_from_the_user_too() {
    let order = order();
    let rules = Rules { order: &order, ..*RULES };
    let request = request([calls(&["a"]), ChatMessage::user("Continue")]);
    let prepared = prepared(&request, &rules);
    let (user, assistant, tool) = (Role::User, Role::Assistant, Role::Tool);
    assert_eq!(roles(&prepared), [user, assistant, tool, assistant, user]);
}

#[test]
fn an_image_that_moves_behind_a_result_is_separated_from_it() {
    let order = order();
    let rules = Rules { order: &order, ..*RULES };
    let image = ContentPart::image_url("data:image/png;base64,AA==");
    let request = request([calls(&["a"]), ChatMessage::tool("a", vec![image])]);
    let prepared = prepare(&request, &rules, &|_| Shown::InMessage).unwrap();
    let (user, assistant, tool) = (Role::User, Role::Assistant, Role::Tool);
    assert_eq!(roles(&prepared), [user, assistant, tool, assistant, user]);
}

#[test]
fn a_long_id_is_shortened_on_the_call_and_on_its_result_with_a_warning() {
    let order = Order { longest_id: Some((64, "at most 64".into())), ..Order::default() };
    let rules = Rules { order: &order, ..*RULES };
    let long = "call_".repeat(20);
    let request = request([calls(&[&long, "b"]), ChatMessage::tool(&long, "1")]);
    let prepared = prepared(&request, &rules);
    let sent = prepared.messages[2].tool_call_id.clone().unwrap();
    assert!(sent.len() <= 64 && sent.starts_with("call_call_"), "{sent}");
    assert!(matches!(&prepared.messages[1].parts()[0],
        ContentPart::ToolCall(call) if call.id == sent));
    assert!(warned(&prepared).contains(&(WarningKind::Renamed, "messages[1].tool_calls")));
}
