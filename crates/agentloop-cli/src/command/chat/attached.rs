//! Media that go with the prompt.

use agentloop::{ContentPart, Result};

/// What was typed.
#[derive(Debug, clap::Args)]
pub(super) struct Attached {
    /// An image to look at, by path or address; may be given more than once, as may the next three.
    #[arg(long = "image", value_name = "PATH|URL")]
    images: Vec<String>,

    /// A file to read, a PDF for example.
    #[arg(long = "file", value_name = "PATH|URL")]
    files: Vec<String>,

    /// A sound to listen to.
    #[arg(long = "audio", value_name = "PATH|URL")]
    audio: Vec<String>,

    /// A video to watch.
    #[arg(long = "video", value_name = "PATH|URL")]
    videos: Vec<String>,
}

impl Attached {
    /// The parts: images, files, sounds, videos.
    pub(super) fn parts(&self) -> Result<Vec<ContentPart>> {
        type ByAddress = fn(String) -> ContentPart;
        type ByPath = fn(String) -> Result<ContentPart>;
        let kinds: [(&[String], ByAddress, ByPath); 4] = [
            (&self.images, ContentPart::image_url, ContentPart::image_path),
            (&self.files, ContentPart::file_url, ContentPart::file_path),
            (&self.audio, ContentPart::audio_url, ContentPart::audio_path),
            (&self.videos, ContentPart::video_url, ContentPart::video_path),
        ];
        let each = kinds.into_iter().flat_map(|(places, by_address, by_path)| {
            places.iter().map(move |place| match is_address(place) {
                true => Ok(by_address(place.clone())),
                false => by_path(place.clone()),
            })
        });
        each.collect()
    }
}

fn is_address(place: &str) -> bool {
    let is_data = place.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"));
    is_data || place.contains("://")
}
