//! Conversations and their messages.

use std::time::Duration;

use agentloop::{
    ChatMessage, ChatResponse, ContentPart, Error, ErrorKind, ResponsePart, ThinkingPart,
    ToolCallPart, Usd,
};

use super::super::{NewConversation, ResponseRecord, ResponseState, Store};
use super::{begin, new_store};

fn texts(store: &Store, word: &str) -> Vec<String> {
    let talk = store.find(word).unwrap();
    store.messages(&talk).unwrap().iter().map(|stored| stored.message.text()).collect()
}

#[test]
fn a_conversation_is_found_by_name_identifier_prefix_and_as_the_last_one() {
    let (_folder, mut store) = new_store();
    let first = begin(&mut store, "  First\n prompt of   all ");
    let new = NewConversation {
        name: Some("trip to Rome"),
        prompt: "Second",
        model: "sim/echo",
        system: None,
    };
    let second = store.begin(&new).unwrap();
    assert_eq!(first.title, "First prompt of all");
    assert!(first.id < second.id || first.created == second.created);
    assert_eq!(store.find("trip to Rome").unwrap().id, second.id);
    assert_eq!(store.find(&first.id.to_uppercase()).unwrap().id, first.id);
    assert_eq!(store.find(&first.id[..first.id.len() - 1]).unwrap().id, first.id);
    assert_eq!(store.find("last").unwrap().id, second.id);
    store.append_prompt(&first, &[ChatMessage::user("again")], None, "sim/other").unwrap();
    let last = store.find("last").unwrap();
    assert_eq!((last.id.as_str(), last.model.as_str()), (first.id.as_str(), "sim/other"));
    let ambiguous = store.find(&first.id[..3]).unwrap_err();
    assert!(ambiguous.to_string().contains("several"), "{ambiguous}");
    assert!(ambiguous.advice().unwrap().contains(&second.id), "{ambiguous:?}");
    for unknown in ["zzzz", "no such name", "", "%", "'; DROP TABLE conversation; --", "\u{1b}[2J"]
    {
        let error = store.find(unknown).unwrap_err().to_string();
        assert!(error.starts_with("there is no conversation"), "{error}");
        assert!(!error.contains('\u{1b}'));
    }
}

#[test]
fn a_name_belongs_to_one_conversation() {
    let (_folder, mut store) = new_store();
    let (one, two) = (begin(&mut store, "one"), begin(&mut store, "two"));
    store.rename(&one, Some("work")).unwrap();
    let error = store.rename(&two, Some("work")).unwrap_err();
    assert!(error.to_string().contains(&one.id), "{error}");
    store.rename(&one, None).unwrap();
    store.rename(&two, Some("work")).unwrap();
    assert_eq!(store.find_named("work").unwrap().unwrap().id, two.id);
    // Two processes that create the same name at once share one conversation.
    let new = NewConversation { name: Some("work"), prompt: "three", model: "m", system: None };
    assert_eq!(store.begin(&new).unwrap().id, two.id);
    for wrong in ["", " work", "last", "a\nb", "a\u{202e}b", "a\\b", &"x".repeat(101)] {
        assert!(store.rename(&one, Some(wrong)).is_err(), "{wrong:?}");
    }
}

#[test]
fn every_part_of_a_message_comes_back_exactly() {
    let (_folder, mut store) = new_store();
    let image = format!(
        "data:image/png;base64,{}",
        "iVBORw0KGgo=".to_string().replace('=', "A").repeat(1_000)
    );
    let mut thinking = ThinkingPart::new("Hm. \u{0} \u{202e}");
    thinking.signature = Some("c2lnbmF0dXJl".repeat(1_000));
    let parts: Vec<ResponsePart> = vec![
        thinking.into(),
        ToolCallPart::new("call_1", "weather", r#"{"city": "Rome","n":1.0}"#).into(),
    ];
    let messages = [
        ChatMessage::user(vec![ContentPart::text("Look"), ContentPart::image_url(image)]),
        ChatResponse::from_parts("anthropic/claude", parts).into_message(),
        ChatMessage::tool("call_1", "rain").with_name("weather"),
        ChatMessage::tool_error("call_2", "failed"),
    ];
    let talk = begin(&mut store, "Look");
    let more: Vec<_> = messages.iter().cloned().map(|message| (message, None)).collect();
    store.replace(&talk, &[], &more).unwrap();
    let back: Vec<ChatMessage> =
        store.messages(&talk).unwrap().into_iter().skip(1).map(|stored| stored.message).collect();
    assert_eq!(back, messages);
    // The same image again takes no more room.
    let blobs = |store: &Store| -> i64 {
        store.connection.query_row("SELECT count(*) FROM blob", [], |row| row.get(0)).unwrap()
    };
    let before = blobs(&store);
    assert_eq!(before, 2, "the image and the signature");
    store.replace(&talk, &[], &[(messages[0].clone(), None)]).unwrap();
    assert_eq!(blobs(&store), before);
    store.truncate(&talk, 0).unwrap();
    assert_eq!(blobs(&store), 0);
}

#[test]
fn an_interrupted_response_keeps_its_text_and_a_killed_process_leaves_its_prompt() {
    let (folder, mut store) = new_store();
    let talk =
        store.begin(&NewConversation { prompt: "Q", model: "m", ..Default::default() }).unwrap();
    let place =
        store.append_prompt(&talk, &[ChatMessage::user("Q")], Some("Be brief."), "m").unwrap();
    // The process is killed here: the file is not closed.
    std::mem::forget(store);
    let mut store = folder.open();
    let stored = store.messages(&talk).unwrap();
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[1].response.as_ref().unwrap().state, ResponseState::Running);
    let sent: Vec<_> = stored.into_iter().filter_map(|stored| stored.into_sendable()).collect();
    assert_eq!(sent, [ChatMessage::user("Q")]);
    assert_eq!(store.find(&talk.id).unwrap().system.as_deref(), Some("Be brief."));

    let parts: Vec<ResponsePart> = vec![
        ThinkingPart::new("unfinished").into(),
        agentloop::TextPart::new("Half an ").into(),
        ToolCallPart::new("1", "f", "{\"a").into(),
    ];
    let half = ChatResponse::from_parts("sim/echo", parts);
    let error = Error::new(ErrorKind::IncompleteStream, "cut off")
        .with_raw(b"raw-secret")
        .with_partial(half.clone());
    let record = ResponseRecord::of(&half, ResponseState::Incomplete, Duration::from_millis(12))
        .with_error(&error);
    store.write_response(place, &half.clone().into_message(), &record).unwrap();
    let stored = store.messages(&talk).unwrap();
    assert_eq!(stored[1].message, half.into_message());
    assert_eq!(stored[1].response.as_ref().unwrap(), &record);
    let json = serde_json::to_string(&record.error).unwrap();
    assert!(!json.contains("raw-secret") && !json.contains("Half"), "{json}");
    let sendable = stored[1].clone().into_sendable().unwrap();
    assert_eq!(sendable.parts(), [ContentPart::text("Half an")]);
    assert_eq!(sendable.origin.unwrap().provider, "sim");
}

#[test]
fn a_complete_response_keeps_its_cost_and_the_conversation_adds_up() {
    let (_folder, mut store) = new_store();
    let talk = begin(&mut store, "Q");
    let mut response = ChatResponse::from_parts("openai/gpt-5", ["A"]);
    response.cost = Some(agentloop::Cost::from_provider("0.000000000003".parse().unwrap()));
    for _ in 0..2 {
        let place = store.append_prompt(&talk, &[ChatMessage::user("Q")], None, "m").unwrap();
        let record = ResponseRecord::of(&response, ResponseState::Complete, Duration::ZERO);
        store.write_response(place, &response.clone().into_message(), &record).unwrap();
        let stored = store.messages(&talk).unwrap().pop().unwrap();
        assert_eq!(stored.response.unwrap(), record);
    }
    let talk = store.find(&talk.id).unwrap();
    assert_eq!((talk.messages, talk.cost), (5, Some(Usd::from_picos(6))));
    store.truncate(&talk, 3).unwrap();
    assert_eq!(texts(&store, &talk.id), ["Q", "Q", "A"]);
}

#[test]
fn deleted_text_is_no_longer_in_the_file() {
    let (folder, mut store) = new_store();
    let kept = begin(&mut store, "kept words");
    let mut doomed = Vec::new();
    for number in 0..50 {
        let mut talk = begin(&mut store, &format!("unmistakable{number} confidential"));
        store.rename(&talk, Some(&format!("unmistakable name {number}"))).unwrap();
        talk = store.find(&talk.id).unwrap();
        doomed.push(talk);
    }
    assert_eq!(store.list_before(i64::MAX).unwrap().len(), 51);
    let picture = format!("data:image/png;base64,{}", "iVBORw0K".repeat(100_000));
    let message = ChatMessage::user(vec![ContentPart::image_url(picture)]);
    store.replace(&doomed[0], &[], &[(message, None)]).unwrap();
    store.delete(&doomed).unwrap();
    // The file has become smaller than the picture.
    assert!(std::fs::metadata(folder.file()).unwrap().len() < 500_000);
    assert_eq!(store.list(10).unwrap().iter().map(|talk| &talk.id).collect::<Vec<_>>(), [&kept.id]);
    assert!(store.search("confidential", 10).unwrap().is_empty());
    for name in ["history.sqlite3", "history.sqlite3-wal"] {
        let bytes = std::fs::read(folder.file().with_file_name(name)).unwrap();
        for word in ["unmistakable", "confidential"] {
            assert!(
                !bytes.windows(word.len()).any(|seen| seen == word.as_bytes()),
                "{word} in {name}"
            );
        }
    }
}

#[test]
fn a_url_of_media_loses_its_password() {
    let (_folder, mut store) = new_store();
    let talk = begin(&mut store, "Look");
    let url = "https://me:hush-password@example.com/a@b.png?x=1";
    let message = ChatMessage::user(vec![ContentPart::image_url(url), ContentPart::text("see it")]);
    store.replace(&talk, &[], &[(message, None)]).unwrap();
    let stored = store.messages(&talk).unwrap().pop().unwrap();
    let json = serde_json::to_string(&stored.message).unwrap();
    assert!(json.contains("https://***@example.com/a@b.png?x=1"), "{json}");
    assert!(!json.contains("hush"), "{json}");
}
