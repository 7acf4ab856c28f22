//! Saves a conversation to a file.

use std::io::Write as _;
use std::path::Path;

use agentloop::{ChatRequest, Role};

use crate::failure::Failure;
use crate::files;

/// Saves a conversation: as JSON if the name ends in `.json`, else as Markdown. An existing file is kept.
pub(super) fn save(request: &ChatRequest, file: &str) -> Result<(), Failure> {
    let path = Path::new(file);
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let text = if is_json {
        serde_json::to_string_pretty(request).map_err(|error| Failure::file(path, error))?
    } else {
        to_markdown(request)
    };
    let mut created = files::create(path).map_err(|error| Failure::file(path, error))?;
    created.write_all(text.as_bytes()).map_err(|error| Failure::file(path, error))
}

fn to_markdown(request: &ChatRequest) -> String {
    let mut text = format!("# Conversation with {}\n", request.model);
    for message in &request.messages {
        let role = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Tool => "Tool",
            _ => "Assistant",
        };
        text.push_str(&format!("\n## {role}\n\n{}\n", message.text().trim_end()));
        for call in &message.tool_calls {
            text.push_str(&format!(
                "\nCall of `{}`: `{}`\n",
                call.function.name, call.function.arguments
            ));
        }
    }
    text
}
