//! Reads references to generated images.

use serde_json::Value;

use crate::chat::ImagePart;

/// Reads a data URL or a URL.
pub(in crate::protocol) fn read(value: &Value) -> Option<ImagePart> {
    let place = value.get("image_url").unwrap_or(value);
    let url = match place {
        Value::String(url) => url.as_str(),
        other => other.get("url")?.as_str()?,
    };
    match url.strip_prefix("data:").and_then(|data| data.split_once(";base64,")) {
        Some((mime_type, data)) => Some(ImagePart {
            mime_type: mime_type.to_owned(),
            data: data.to_owned(),
            ..ImagePart::default()
        }),
        None => Some(ImagePart {
            // The kind is not known before the image is fetched, and is not guessed.
            mime_type: "image/*".to_owned(),
            url: Some(url.to_owned()),
            ..ImagePart::default()
        }),
    }
}
