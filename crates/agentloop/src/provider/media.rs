//! Which media a provider takes by URL.

use super::Provider;
use super::quirks::{AudioInputForm, FileInputForm, ImageInput};
use crate::chat::UrlSupport;
use crate::media::MediaKind;

impl Provider {
    /// Returns whether the provider takes media of that kind only as bytes, not by URL. `mime` is the media type, as far as
    /// the URL reveals it. [`supports`](Self::supports) returns whether the provider takes the kind at all.
    pub fn needs_bytes(&self, kind: MediaKind, mime: Option<&str>) -> bool {
        let (facts, quirks) = (self.protocol.facts(), &self.quirks);
        let (urls, by_quirk) = match kind {
            MediaKind::Image => (facts.image_urls, quirks.images == ImageInput::DataOnly),
            MediaKind::Audio => (facts.audio_urls, quirks.audio == AudioInputForm::Object),
            MediaKind::File => (facts.file_urls, quirks.files == FileInputForm::Object),
            MediaKind::Video => (facts.video_urls, false),
        };
        match urls {
            UrlSupport::Never => true,
            UrlSupport::ByQuirk => by_quirk,
            UrlSupport::Pdf => mime.is_some_and(|mime| mime != "application/pdf"),
            UrlSupport::WithType => mime.is_none(),
            UrlSupport::Always => false,
        }
    }
}
