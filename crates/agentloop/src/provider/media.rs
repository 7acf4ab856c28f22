//! In which form a provider takes media.

use super::Provider;
use super::quirks::{AudioInputForm, FileInputForm, ImageInput};
use crate::chat::Protocol;
use crate::media::MediaKind;

impl Provider {
    /// Whether the provider takes a medium of that kind, but not by its address: it needs the bytes. `mime` is the media
    /// type as far as the address tells it. Whether it takes the kind at all is told by [`supports`](Self::supports).
    pub fn needs_bytes(&self, kind: MediaKind, mime: Option<&str>) -> bool {
        let quirks = &self.quirks;
        match (self.protocol, kind) {
            (
                Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Anthropic,
                MediaKind::Image,
            ) => quirks.images == ImageInput::DataOnly,
            // Only files, beside images, have a form with an address.
            (Protocol::OpenAiResponses, MediaKind::Audio) => true,
            (Protocol::OpenAiChat, MediaKind::Audio) => quirks.audio == AudioInputForm::Object,
            (Protocol::OpenAiChat, MediaKind::File) => quirks.files == FileInputForm::Object,
            // Documents by address are PDFs; text comes in place.
            (Protocol::Anthropic, MediaKind::File) => {
                mime.is_some_and(|mime| mime != "application/pdf")
            }
            // Any address will do, with a media type.
            (Protocol::Gemini, _) => mime.is_none(),
            (Protocol::OpenAiChat | Protocol::OpenAiResponses | Protocol::Anthropic, _) => false,
        }
    }
}
