//! A very small image and very short audio.

use agentloop::{AudioPart, ChatRequest, ImagePart, ResponsePart, TextPart};

use crate::script::Turn;

/// A PNG of one transparent pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// A WAV of eight samples of silence (mono, 8 bit, 8 kHz).
const SILENCE: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// Returns text and an image.
pub(super) fn image() -> Turn {
    Turn::new([
        ResponsePart::Text(TextPart::new("Here is an image of one pixel.")),
        ResponsePart::Image(ImagePart::new("image/png", PIXEL)),
    ])
}

/// Returns silence with a transcript. The bytes are the same whatever format is requested.
pub(super) fn audio(request: &ChatRequest) -> Turn {
    let format = request.audio.as_ref().map_or("wav", |audio| &audio.format);
    Turn::new([ResponsePart::Audio(
        AudioPart::new(format!("audio/{format}"), SILENCE)
            .with_transcript("This audio is completely silent."),
    )])
}
