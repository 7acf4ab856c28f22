use super::*;
use crate::chat::{ToolChoice, ToolDefinition};
use serde_json::json;

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition::function(name, json!({"type": "object"}))
}

#[test]
fn names_are_changed_everywhere_and_back() {
    let message = ChatMessage::assistant(vec![call("a", "files.read")]);
    let mut request = request([message, ChatMessage::tool("a", "1").with_name("files.read")]);
    request = request.tool(tool("files.read")).tool(tool("files_read"));
    request.tool_choice = Some(ToolChoice::function("files.read"));
    let prepared = prepared(&request, &RULES);
    let sent = prepared.names.sent("files.read").to_owned();
    assert!(sent.starts_with("files_read_") && NamePattern::Word64.fits(&sent), "{sent}");
    assert_eq!(prepared.names.original(&sent), "files.read");
    assert_eq!(prepared.names.sent("files_read"), "files_read");
    let ContentPart::ToolCall(call) = &prepared.messages[1].parts()[0] else { panic!() };
    assert_eq!(call.name, sent);
    assert_eq!(prepared.messages[2].name.as_deref(), Some(sent.as_str()));
    assert_eq!(warned(&prepared), [(WarningKind::Renamed, "tools.files.read")]);
}

#[test]
fn each_pattern_keeps_valid_names_and_shortens_long_ones() {
    let long = "x".repeat(200);
    for (pattern, kept) in [
        (NamePattern::Word64, vec!["a-b_1", "1a"]),
        (NamePattern::Word128, vec!["a-b_1", "1a"]),
        (NamePattern::Dotted128, vec!["a.b:c-1", "_1"]),
    ] {
        let mut request = request([]);
        let odd = ["", "1.a", "über", "a b", "a/b", "a\\b", &long];
        for name in odd.iter().chain(&kept) {
            request = request.tool(tool(name));
        }
        let names = super::super::ToolNames::new(&request, pattern);
        for name in kept {
            assert_eq!(names.sent(name), name);
        }
        let sent: std::collections::BTreeSet<_> = odd.iter().map(|name| names.sent(name)).collect();
        assert_eq!(sent.len(), odd.len());
        assert!(sent.iter().all(|name| pattern.fits(name)), "{sent:?}");
        assert!(odd.iter().all(|name| names.original(names.sent(name)) == *name));
    }
}

#[test]
fn a_replacement_name_is_not_used_twice() {
    let taken = {
        let request = request([]).tool(tool("a.b"));
        super::super::ToolNames::new(&request, NamePattern::Word64).sent("a.b").to_owned()
    };
    let spoken = ChatMessage::assistant(vec![call("1", &taken)]);
    let defined = request([]).tool(tool("a.b")).tool(tool(&taken));
    for request in [defined, request([spoken]).tool(tool("a.b"))] {
        let names = super::super::ToolNames::new(&request, NamePattern::Word64);
        assert_ne!(names.sent("a.b"), names.sent(&taken));
        assert_eq!(names.original(names.sent(&taken)), taken);
    }
}
