//! Media in the results of tools.

use super::*;
use crate::chat::Role;

fn image() -> ContentPart {
    ContentPart::image_url("data:image/png;base64,iVBORw0KGgo=")
}

fn audio() -> ContentPart {
    ContentPart::audio("AAAA", "wav")
}

fn conversation() -> ChatRequest {
    let shows = |id: &str, part| {
        ChatMessage::tool(id, [ContentPart::text("Here:"), part]).with_name("camera")
    };
    request([
        calls(&["a", "b", "c"]),
        shows("a", image()),
        shows("b", audio()),
        shows("c", image()),
        ChatMessage::assistant("I see."),
        ChatMessage::user("And now?"),
    ])
}

/// Stands for a provider that takes images in messages of the user, and no audio at all.
fn shows(part: &ContentPart) -> Shown {
    match part {
        ContentPart::ImageUrl { .. } => Shown::InMessage,
        _ => Shown::Nowhere,
    }
}

#[test]
fn media_that_a_provider_takes_only_from_the_user_follow_the_results() {
    let request = conversation();
    let prepared = prepare(&request, &RULES, &shows).unwrap();
    let roles: Vec<Role> = prepared.messages.iter().map(|message| message.role).collect();
    use Role::{Assistant, Tool, User};
    assert_eq!(roles, [User, Assistant, Tool, Tool, Tool, User, Assistant, User]);
    let shown = prepared.messages[5].parts();
    assert_eq!(shown[0], ContentPart::text("[1: from the result of `camera`]"));
    assert_eq!((&shown[1], &shown[3]), (&image(), &image()));
    assert_eq!(prepared.messages[2].text(), "Here:[1: see the next message]");
    assert_eq!(prepared.messages[4].text(), "Here:[2: see the next message]");
    assert!(prepared.messages[3].text().contains("which the provider does not support"));
    let kinds: Vec<WarningKind> = prepared.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::Converted, WarningKind::Dropped, WarningKind::Converted]);
    assert_eq!(prepared.warnings[2].subject.as_deref(), Some("messages[4].content[1]"));
    assert_eq!(prepared.place(7), 6);
}

#[test]
fn sent_messages_do_not_change_when_the_conversation_grows() {
    let whole = conversation();
    let before = prepare(&whole, &RULES, &shows).unwrap();
    for messages in 5..whole.messages.len() {
        let mut shorter = whole.clone();
        shorter.messages.truncate(messages);
        let prepared = prepare(&shorter, &RULES, &shows).unwrap();
        assert!(before.messages.starts_with(&prepared.messages));
    }
}

#[test]
fn nothing_is_moved_if_results_can_contain_all_media() {
    let request = conversation();
    let prepared = prepare(&request, &RULES, &|_| Shown::InResult).unwrap();
    assert_eq!(prepared.messages.as_ref(), request.messages.as_slice());
    let strict = request.strict();
    let prepared = prepare(&strict, &RULES, &shows).unwrap();
    assert_eq!(prepared.messages.as_ref(), strict.messages.as_slice());
}
