//! The documents of a request: text files that the model is to cite.

use serde::Serialize;

use crate::chat::{ChatMessage, ContentPart, FileInput, Role};
use crate::media::{Medium, Source};

/// A document on the wire.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    id: String,
    data: Data,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct Data {
    title: Option<String>,
    context: Option<String>,
    text: String,
}

/// The documents of all messages, in order.
#[derive(Debug, Default)]
pub(super) struct Documents(Vec<Document>);

impl Documents {
    pub(super) fn of(messages: &[ChatMessage]) -> Self {
        let mut documents = Self::default();
        let of_user = messages.iter().filter(|message| message.role == Role::User);
        for part in of_user.flat_map(|message| message.parts()) {
            let ContentPart::File { file, .. } = part else { continue };
            if file.citations != Some(true) {
                continue;
            }
            let Some(text) = text(part) else { continue };
            let id = format!("doc_{}", documents.0.len());
            let title = title(file).map(str::to_owned);
            let data = Data { title, context: file.context.clone(), text };
            documents.0.push(Document { id, data });
        }
        documents
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn list(&self) -> &[Document] {
        &self.0
    }

    /// Returns whether a part is one of the documents.
    pub(super) fn has(part: &ContentPart) -> bool {
        matches!(part, ContentPart::File { file, .. } if file.citations == Some(true))
            && text(part).is_some()
    }
}

/// Returns the text of a file, with its title before it, for a message.
pub(super) fn in_words(part: &ContentPart) -> Option<String> {
    let ContentPart::File { file, .. } = part else { return None };
    let text = text(part)?;
    let lines = [title(file), file.context.as_deref(), Some(&text)];
    Some(lines.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

fn title(file: &FileInput) -> Option<&str> {
    file.title.as_deref().or(file.filename.as_deref()).filter(|title| !title.is_empty())
}

/// Returns the text of a file, or `None` if it is something else.
fn text(part: &ContentPart) -> Option<String> {
    let medium = Medium::of(part).ok()??;
    let essence = medium.essence()?;
    let is_text = essence.starts_with("text/") || essence == "application/json";
    match medium.source {
        Source::Inline(data) if is_text => String::from_utf8(data.bytes().ok()?).ok(),
        _ => None,
    }
}
