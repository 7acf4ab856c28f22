//! Images, files, audio and videos that are sent with the prompt.

use agentloop::{ContentPart, Result};

/// Options that attach media.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Attachments")]
pub(crate) struct Attachments {
    /// Attach an image, for example photo.jpg. Can be repeated.
    #[arg(long = "image", value_name = "PATH|URL")]
    images: Vec<String>,

    /// Add a file, a folder, a pattern such as 'src/**/*.rs', or a web page; - is stdin. Can be repeated.
    ///
    /// Text is sent as text with its name, which every provider accepts; images, audio, video and PDF files are attached. A
    /// folder adds its text files, without hidden files and those that .gitignore excludes.
    #[arg(short = 'f', long = "file", value_name = "PATH|URL|-")]
    pub(super) files: Vec<String>,

    /// Attach audio, for example speech.wav. Can be repeated.
    #[arg(long = "audio", value_name = "PATH|URL")]
    audio: Vec<String>,

    /// Attach a video, for example clip.mp4. Can be repeated.
    #[arg(long = "video", value_name = "PATH|URL")]
    videos: Vec<String>,
}

impl Attachments {
    /// Returns whether nothing is attached.
    pub(super) fn is_empty(&self) -> bool {
        let all = [&self.images, &self.files, &self.audio, &self.videos];
        all.iter().all(|locations| locations.is_empty())
    }

    /// Reads the attachments, in the order images, audio, videos.
    pub(super) fn read_parts(&self) -> Result<Vec<ContentPart>> {
        type FromUrl = fn(String) -> ContentPart;
        type FromPath = fn(String) -> Result<ContentPart>;
        let kinds: [(&[String], FromUrl, FromPath); 3] = [
            (&self.images, ContentPart::image_url, ContentPart::image_path),
            (&self.audio, ContentPart::audio_url, ContentPart::audio_path),
            (&self.videos, ContentPart::video_url, ContentPart::video_path),
        ];
        let parts = kinds.into_iter().flat_map(|(locations, from_url, from_path)| {
            locations.iter().map(move |location| {
                if is_url(location) {
                    Ok(from_url(location.clone()))
                } else {
                    from_path(location.clone())
                }
            })
        });
        parts.collect()
    }
}

fn is_url(location: &str) -> bool {
    let is_data = location.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"));
    is_data || location.contains("://")
}
