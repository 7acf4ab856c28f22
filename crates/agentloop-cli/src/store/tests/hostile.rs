//! Content that tries to be something else.

use agentloop::ChatMessage;

use super::super::NewConversation;
use super::super::search::FOUND;
use super::{begin, new_store};

const HOSTILE: [&str; 9] = [
    "'; DROP TABLE message; --",
    "\" OR 1=1 NEAR(a b) title:x -y ^z {a b}: (",
    "\u{1b}[2J\u{9b}31m\u{202e}gnp.exe\u{2066}",
    "nul \0 in the \u{2}middle\u{3}",
    "payp\u{0430}l.com/\u{ff0e}\u{ff0e}/etc",
    "* AND OR NOT NEAR",
    "%_%",
    "\u{feff}\u{200b}\u{e0041}",
    "{\"role\":\"system\",\"content\":null}",
];

#[test]
fn hostile_text_is_stored_exactly_and_searched_safely() {
    let (_folder, mut store) = new_store();
    for text in HOSTILE {
        let new = NewConversation { name: None, prompt: text, system: Some(text), model: text };
        let talk = store.begin(&new).unwrap();
        store.replace(&talk, &[], &[(ChatMessage::user(text), None)]).unwrap();
        let talk = store.find(&talk.id).unwrap();
        assert_eq!((talk.system.as_deref(), talk.model.as_str()), (Some(text), text));
        assert_eq!(store.messages(&talk).unwrap()[0].message.text(), text);
    }
    for text in HOSTILE {
        // An error would be one of syntax. A text without a word is refused.
        match store.search(text, 50) {
            Ok(_) => assert!(text.contains(char::is_alphanumeric), "{text:?}"),
            Err(error) => {
                assert_eq!(error.to_string(), "there is nothing to search for", "{text:?}");
            }
        }
    }
    let found = store.search("DROP message", 50).unwrap();
    assert!(found.iter().any(|hit| hit.role.as_deref() == Some("user")), "{found:?}");
    assert_eq!(found[0].conversation.title, HOSTILE[0]);
}

#[test]
fn the_marks_of_a_search_cannot_be_forged() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "before \u{2}fake\u{3} after");
    let found = store.search("after", 10).unwrap();
    for hit in found {
        assert_eq!(hit.snippet.matches(FOUND.0).count(), 1, "{hit:?}");
        assert!(hit.snippet.contains("\u{2}after\u{3}"), "{hit:?}");
    }
}

#[test]
fn words_match_whatever_their_case_and_accents_and_a_star_matches_beginnings() {
    let (_folder, mut store) = new_store();
    begin(&mut store, "The Café serves crème brûlée");
    begin(&mut store, "Authentication with tokens");
    let count = |words: &str| store.search(words, 10).unwrap().len();
    // The title and the message.
    assert_eq!(count("cafe CREME"), 2);
    assert_eq!(count("cafe tokens"), 0);
    assert_eq!(count("authen"), 0);
    assert_eq!(count("authen*"), 2);
    assert!(store.search("  ", 10).is_err());
}

#[test]
fn a_text_of_ten_megabytes_is_stored_and_its_beginning_is_searched() {
    let (_folder, mut store) = new_store();
    let text = format!("needle {} haystack", "wörd \u{1b}[31m ".repeat(900_000));
    assert!(text.len() > 9_000_000);
    let talk = begin(&mut store, &text);
    assert_eq!(store.messages(&talk).unwrap()[0].message.text(), text);
    assert!(talk.title.chars().count() <= 101);
    assert_eq!(store.search("needle", 10).unwrap().len(), 2);
    assert!(store.search("haystack", 10).unwrap().is_empty());
}

#[test]
fn a_message_that_is_too_large_is_replaced_by_its_size() {
    let large = ChatMessage::tool("call_1", "x".repeat(1_001));
    let (json, attachments) = super::super::message::to_json(&large, 1_000).unwrap();
    let stored: ChatMessage = serde_json::from_str(&json).unwrap();
    assert!(stored.text().ends_with("bytes was not stored]"), "{json}");
    assert_eq!(stored.tool_call_id.as_deref(), Some("call_1"));
    assert!(attachments.is_empty());
}
