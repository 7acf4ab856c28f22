//! Finds the media of a request to download, and puts their bytes into it.

use std::collections::HashMap;

use crate::chat::{ChatRequest, ContentPart, MessageContent, Role};
use crate::media::medium::{is_remote, is_uploaded, is_video_page};
use crate::media::name::{audio_format, file_name};
use crate::media::{DataUrl, Download, MediaKind, Medium, Source};
use crate::provider::Provider;

/// A medium to download.
#[derive(Debug)]
pub(super) struct Wanted {
    message: usize,
    part: usize,
    /// The kind that it must be.
    pub(super) kind: MediaKind,
    pub(super) url: String,
    /// The media type that the part states.
    pub(super) mime: Option<String>,
    /// Whether a model made it. The conversation can continue without it.
    pub(super) is_generated: bool,
    /// The index of an earlier entry with the same URL and kind.
    pub(super) same_as: Option<usize>,
}

impl Wanted {
    /// Returns the path of the part, for messages.
    pub(super) fn subject(&self) -> String {
        format!("messages[{}].content[{}]", self.message, self.part)
    }
}

/// Returns the media to download, in order.
pub(super) fn wanted(
    request: &ChatRequest,
    provider: &Provider,
    download: Download,
) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut seen: HashMap<(String, MediaKind), usize> = HashMap::new();
    for (index, message) in request.messages.iter().enumerate() {
        let is_generated = message.role == Role::Assistant;
        // Other protocols do not send generated media back.
        if is_generated && !provider.protocol.facts().sends_made_media {
            continue;
        }
        for (part, content) in message.parts().iter().enumerate() {
            // The encoder reports invalid parts.
            let Ok(Some(medium)) = Medium::of(content) else { continue };
            let Source::Address(url) = medium.source else { continue };
            if !is_remote(url) || is_read_by_provider(url, provider) {
                continue;
            }
            let needed = download == Download::Always
                || provider.needs_bytes(medium.kind, medium.essence().as_deref());
            if !needed {
                continue;
            }
            // The part states its kind; a file may be of any kind.
            let kind = match content {
                ContentPart::File { .. } | ContentPart::GeneratedFile(_) => MediaKind::File,
                _ => medium.kind,
            };
            let same_as = seen.get(&(url.to_owned(), kind)).copied();
            if same_as.is_none() {
                seen.insert((url.to_owned(), kind), wanted.len());
            }
            let declared = match content {
                ContentPart::File { file, .. } => file.mime_type.clone(),
                _ => None,
            };
            let url = url.to_owned();
            wanted.push(Wanted {
                message: index,
                part,
                kind,
                url,
                mime: declared,
                is_generated,
                same_as,
            });
        }
    }
    wanted
}

/// Returns whether the provider can read the URL itself: a file uploaded to it, or a video page that it plays.
fn is_read_by_provider(url: &str, provider: &Provider) -> bool {
    let origin = |url: &str| url.split('/').take(3).collect::<Vec<_>>().join("/");
    origin(url).eq_ignore_ascii_case(&origin(&provider.base_url))
        || (provider.protocol.facts().reads_own_urls && (is_video_page(url) || is_uploaded(url)))
}

/// Replaces the URL of a part by bytes.
pub(super) fn put(request: &mut ChatRequest, wanted: &Wanted, data: DataUrl<'_>) {
    let content =
        request.messages.get_mut(wanted.message).and_then(|message| message.content.as_mut());
    let Some(MessageContent::Parts(parts)) = content else { return };
    let mime = data.mime().unwrap_or_default().to_owned();
    match parts.get_mut(wanted.part) {
        Some(ContentPart::ImageUrl { image_url, .. }) => image_url.url = data.to_string(),
        Some(ContentPart::VideoUrl { video_url }) => video_url.url = data.to_string(),
        Some(ContentPart::InputAudio { input_audio }) => {
            input_audio.url = None;
            input_audio.format = audio_format(&mime);
            input_audio.data = data.into_base64().into_owned();
        }
        Some(ContentPart::File { file, .. }) => {
            file.file_url = None;
            if file.filename.is_none() {
                file.filename = file_name(&wanted.url).map(str::to_owned);
            }
            file.file_data = Some(data.to_string());
        }
        Some(ContentPart::Image(image)) => {
            image.url = None;
            image.mime_type = mime;
            image.data = data.into_base64().into_owned();
        }
        Some(ContentPart::GeneratedFile(file)) => {
            file.url = None;
            file.mime_type = mime;
            file.data = data.into_base64().into_owned();
        }
        _ => {}
    }
}
