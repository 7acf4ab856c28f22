//! A conversation as Markdown.

use super::text::{Piece, describe_response, pieces};
use crate::printable::escape_line;
use crate::store::{Conversation, StoredMessage};
use crate::time::format_utc;

/// Formats a conversation as a Markdown document. The text of messages is copied as it is, because most of it is Markdown.
pub(super) fn format(talk: &Conversation, messages: &[StoredMessage]) -> String {
    let mut text = format!("# {}\n\n", escape_line(&talk.title));
    text.push_str(&format!("- id: {}\n", talk.id));
    if let Some(name) = &talk.name {
        text.push_str(&format!("- name: {}\n", escape_line(name)));
    }
    text.push_str(&format!("- model: {}\n", escape_line(&talk.model)));
    text.push_str(&format!(
        "- created: {}\n- updated: {}\n",
        format_utc(talk.created),
        format_utc(talk.updated)
    ));
    if let Some(system) = &talk.system {
        text.push_str(&format!("\n## System\n\n{}\n", system.trim_end()));
    }
    for stored in messages {
        let role = match stored.message.role.as_str() {
            "user" => "User",
            "assistant" => "Assistant",
            "tool" => "Tool",
            _ => "System",
        };
        text.push_str(&format!("\n## {role}\n"));
        let words: Vec<String> = stored.response.iter().flat_map(describe_response).collect();
        if !words.is_empty() {
            text.push_str(&format!("\n*{}*\n", escape_line(&words.join(" · "))));
        }
        for piece in pieces(&stored.message) {
            text.push('\n');
            match piece {
                Piece::Text(content) if role == "Tool" => text.push_str(&fence("", content)),
                Piece::Text(content) => text.push_str(content.trim_end()),
                Piece::Thinking(thinking) => text.push_str(&format!(
                    "<details><summary>Thinking</summary>\n\n{}\n</details>",
                    fence("", thinking)
                )),
                Piece::Call(name, arguments) => {
                    text.push_str(&format!("Call of `{}`:\n\n", escape_line(name)));
                    text.push_str(&fence("json", arguments));
                }
                Piece::Other(what) => text.push_str(&format!("*[{what}]*")),
            }
            text.push('\n');
        }
    }
    text
}

/// Encloses text in a code fence that the text cannot close.
fn fence(language: &str, text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let marks = "`".repeat(longest.max(2) + 1);
    format!("{marks}{language}\n{}\n{marks}", text.trim_end())
}
