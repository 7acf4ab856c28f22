//! The smallest picture and the shortest sound.

use agentloop::{AudioPart, ChatRequest, ImagePart, ResponsePart, TextPart};

use crate::script::Turn;

/// A PNG of one transparent pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A WAV of eight samples of silence (mono, 8 bit, 8 kHz).
const SILENCE: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// Text, and a picture.
pub(super) fn image() -> Turn {
    Turn::new([
        ResponsePart::Text(TextPart::new("Here is a picture of one pixel.")),
        ResponsePart::Image(ImagePart {
            mime_type: "image/png".to_owned(),
            data: PIXEL.to_owned(),
            ..ImagePart::default()
        }),
    ])
}

/// Silence, with words to it. The bytes are the same whatever format is asked for.
pub(super) fn audio(request: &ChatRequest) -> Turn {
    let format = request.audio.as_ref().map_or("wav", |audio| &audio.format);
    Turn::new([ResponsePart::Audio(AudioPart {
        mime_type: format!("audio/{format}"),
        data: SILENCE.to_owned(),
        transcript: Some("Silence is also an answer.".to_owned()),
        ..AudioPart::default()
    })])
}
