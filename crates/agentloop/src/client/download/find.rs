//! Which media of a request are fetched, and where their bytes go.

use std::collections::HashMap;

use crate::chat::{ChatRequest, ContentPart, MessageContent, Role};
use crate::media::medium::{is_remote, is_uploaded, is_video_page};
use crate::media::name::{audio_format, file_name};
use crate::media::{DataUrl, Download, MediaKind, Medium, Source};
use crate::provider::Provider;

/// A medium to be fetched.
#[derive(Debug)]
pub(super) struct Wanted {
    message: usize,
    part: usize,
    /// What it must be.
    pub(super) kind: MediaKind,
    pub(super) url: String,
    /// The media type that the part tells.
    pub(super) mime: Option<String>,
    /// Whether a model made it, so that the conversation can go on without it.
    pub(super) of_answer: bool,
    /// The earlier one in the list that is the same.
    pub(super) same_as: Option<usize>,
}

impl Wanted {
    /// Where it stands, for messages.
    pub(super) fn subject(&self) -> String {
        format!("messages[{}].content[{}]", self.message, self.part)
    }
}

/// The media to be fetched, in order.
pub(super) fn wanted(
    request: &ChatRequest,
    provider: &Provider,
    download: Download,
) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut seen: HashMap<(String, MediaKind), usize> = HashMap::new();
    for (message, turn) in request.messages.iter().enumerate() {
        let of_answer = turn.role == Role::Assistant;
        // Elsewhere what a model made is not sent back at all.
        if of_answer && !provider.protocol.facts().sends_made_media {
            continue;
        }
        for (part, content) in turn.parts().iter().enumerate() {
            // What is wrong with a part is for the encoder to tell.
            let Ok(Some(medium)) = Medium::of(content) else { continue };
            let Source::Address(url) = medium.source else { continue };
            if !is_remote(url) || is_the_hosts(url, provider) {
                continue;
            }
            let needed = download == Download::Always
                || provider.needs_bytes(medium.kind, medium.essence().as_deref());
            if !needed {
                continue;
            }
            // The part says what it shall be; a file may be anything.
            let kind = match content {
                ContentPart::File { .. } | ContentPart::GeneratedFile(_) => MediaKind::File,
                _ => medium.kind,
            };
            let same_as = seen.get(&(url.to_owned(), kind)).copied();
            if same_as.is_none() {
                seen.insert((url.to_owned(), kind), wanted.len());
            }
            let told = match content {
                ContentPart::File { file, .. } => file.mime_type.clone(),
                _ => None,
            };
            let url = url.to_owned();
            wanted.push(Wanted { message, part, kind, url, mime: told, of_answer, same_as });
        }
    }
    wanted
}

/// What the host has, or knows better than anyone: files that were uploaded to it, pages of videos that it plays.
fn is_the_hosts(url: &str, provider: &Provider) -> bool {
    let origin = |url: &str| url.split('/').take(3).collect::<Vec<_>>().join("/");
    origin(url).eq_ignore_ascii_case(&origin(&provider.base_url))
        || (provider.protocol.facts().reads_own_urls && (is_video_page(url) || is_uploaded(url)))
}

/// Puts bytes in the place of an address.
pub(super) fn put(request: &mut ChatRequest, wanted: &Wanted, data: DataUrl<'_>) {
    let content = request.messages.get_mut(wanted.message).and_then(|turn| turn.content.as_mut());
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
