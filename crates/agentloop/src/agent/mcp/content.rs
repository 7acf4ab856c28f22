//! Converts the results of a server.

use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;

use super::super::tool::{ToolError, ToolOutput};
use crate::chat::ContentPart;
use crate::media::{DataUrl, audio_format, extension_of};

/// Converts the result of a call, or the failure that the server reports.
pub(super) fn to_output(result: CallToolResult) -> Result<ToolOutput, ToolError> {
    let mut parts: Vec<ContentPart> = Vec::new();
    let structured = result.structured_content.filter(|value| !is_in_text(value, &result.content));
    for block in result.content {
        parts.extend(to_part(block));
    }
    if let Some(value) = structured {
        parts.push(ContentPart::text(value.to_string()));
    }
    let texts: Option<Vec<&str>> = parts
        .iter()
        .map(|part| match part {
            ContentPart::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    let output = match texts {
        // Providers reject empty results.
        Some(texts) if texts.iter().all(|text| text.is_empty()) => ToolOutput::text("done"),
        Some(texts) => ToolOutput::text(texts.join("\n")),
        None => ToolOutput::parts(parts),
    };
    match result.is_error {
        Some(true) => Err(ToolError::new(output.to_text())),
        _ => Ok(output),
    }
}

/// Returns whether the text contains the structured content as well: the protocol asks servers to send both.
fn is_in_text(value: &Value, content: &[ContentBlock]) -> bool {
    content.iter().any(|block| match block {
        ContentBlock::Text(text) => {
            serde_json::from_str::<Value>(&text.text).is_ok_and(|parsed| parsed == *value)
        }
        _ => false,
    })
}

fn to_part(block: ContentBlock) -> Option<ContentPart> {
    Some(match block {
        ContentBlock::Text(text) => ContentPart::text(text.text),
        ContentBlock::Image(image) => to_media_part(&image.mime_type, &image.data, "image"),
        ContentBlock::Audio(audio) => to_media_part(&audio.mime_type, &audio.data, "audio"),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                ContentPart::text(format!("{uri}:\n{text}"))
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let mime = mime_type.as_deref().unwrap_or("application/octet-stream");
                to_media_part(mime, &blob, &uri)
            }
            _ => return None,
        },
        ContentBlock::ResourceLink(link) => ContentPart::text(describe_link(&link)),
        // Kinds of content of later versions of the protocol.
        _ => return None,
    })
}

/// Converts base64 data of this media type to a part.
fn to_media_part(mime: &str, data: &str, uri: &str) -> ContentPart {
    let url = || DataUrl::of_base64(mime, data).to_string();
    match mime.split_once('/') {
        Some(("image", _)) => ContentPart::image_url(url()),
        Some(("audio", _)) => ContentPart::audio(data, audio_format(mime)),
        Some(("video", _)) => ContentPart::video_url(url()),
        _ => {
            let last = uri.rsplit('/').find(|piece| !piece.is_empty()).unwrap_or("file");
            let name = match (last.contains('.'), extension_of(mime)) {
                (false, Some(extension)) => format!("{last}.{extension}"),
                _ => last.to_owned(),
            };
            ContentPart::file(name, url())
        }
    }
}

/// Describes a link to a resource.
fn describe_link(link: &Resource) -> String {
    let name = link.title.as_deref().unwrap_or(&link.name);
    match &link.description {
        Some(description) => format!("{name} ({}): {description}", link.uri),
        None => format!("{name} ({})", link.uri),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn read(result: Value) -> Result<ToolOutput, ToolError> {
        to_output(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn texts_are_joined_and_an_empty_result_becomes_done() {
        let two = json!({ "content": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] });
        assert_eq!(read(two).unwrap(), ToolOutput::text("a\nb"));
        assert_eq!(read(json!({ "content": [] })).unwrap(), ToolOutput::text("done"));
    }

    #[test]
    fn structured_content_is_included_once() {
        let value = json!({ "degrees": 21 });
        let alone = json!({ "content": [], "structuredContent": value });
        assert_eq!(read(alone).unwrap().to_text(), r#"{"degrees":21}"#);
        let twice = json!({ "content": [{ "type": "text", "text": "{ \"degrees\": 21 }" }], "structuredContent": value });
        assert_eq!(read(twice).unwrap().to_text(), "{ \"degrees\": 21 }");
        let besides =
            json!({ "content": [{ "type": "text", "text": "warm" }], "structuredContent": value });
        assert_eq!(read(besides).unwrap().to_text(), "warm\n{\"degrees\":21}");
    }

    #[test]
    fn media_become_parts_of_their_kind() {
        let output = read(json!({ "content": [
            { "type": "text", "text": "see" },
            { "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" },
            { "type": "audio", "data": "UklGRg==", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "file:///a/report", "mimeType": "application/pdf", "blob": "JVBERg==" } },
            { "type": "resource", "resource": { "uri": "demo://note", "mimeType": "text/plain", "text": "a note" } },
            { "type": "resource_link", "uri": "demo://more", "name": "more", "description": "the rest" },
        ] }))
        .unwrap();
        let parts = serde_json::to_value(&output).unwrap();
        assert_eq!(parts[1]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
        assert_eq!(parts[2]["input_audio"], json!({ "data": "UklGRg==", "format": "wav" }));
        assert_eq!(parts[3]["file"]["filename"], "report.pdf");
        assert_eq!(parts[4]["text"], "demo://note:\na note");
        assert_eq!(parts[5]["text"], "more (demo://more): the rest");
    }

    #[test]
    fn an_error_result_of_the_server_is_an_error() {
        let failed =
            json!({ "content": [{ "type": "text", "text": "no such file" }], "isError": true });
        assert_eq!(read(failed).unwrap_err().message(), "no such file");
    }
}
