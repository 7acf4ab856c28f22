//! What `-f` adds to a prompt: files, folders, patterns, URLs and stdin.
//!
//! Text is sent as text with its name, which every provider accepts. Images, audio, video and PDF files are sent as parts.

mod html;
mod inline;
pub(crate) mod page;
mod size;
mod sources;

pub(crate) use self::html::run_if_asked as convert_page;

use std::path::Path;

use agentloop::ContentPart;
use agentloop::media::{mime_of_bytes, mime_of_name};

use self::inline::inline;
use self::size::{format_bytes, format_tokens};
use crate::failure::Failure;
use crate::files::read_at_most;
use crate::notes::Notes;
use crate::{input, printable};

/// The largest text file that is added to a prompt, in bytes. Four million bytes are about a million tokens, more than the
/// context of most models.
const MAX_TEXT_BYTES: usize = 4 << 20;

/// The largest image, audio, video or PDF file, in bytes.
const MAX_MEDIA_BYTES: usize = 64 << 20;

/// The most bytes of all sources together.
const MAX_TOTAL_BYTES: usize = 96 << 20;

/// How many sources get a line of their own in the summary.
const MAX_LISTED: usize = 10;

/// Something that is added to a prompt.
#[derive(Debug)]
struct Item {
    name: String,
    bytes: usize,
    is_text: bool,
    part: ContentPart,
}

/// All that `-f` adds to a prompt, in the order of the command line.
#[derive(Debug, Default)]
pub(crate) struct Context {
    items: Vec<Item>,
    /// Files of folders that are neither text nor too large to be added.
    skipped: Vec<String>,
}

impl Context {
    /// Reads all sources: each is a path, a pattern such as `src/**/*.rs`, a URL, or `-` for stdin.
    pub(crate) async fn read(sources: &[String]) -> Result<Self, Failure> {
        let mut context = Self::default();
        for source in sources {
            if source == "-" {
                let bytes = input::read_at_most(MAX_MEDIA_BYTES)?;
                context.add("stdin", &bytes)?;
            } else if page::is_url(source) {
                let page = page::fetch(source).await?;
                match page.text {
                    Some(text) => context.add(source, text.as_bytes())?,
                    None => context.add(source, &page.bytes)?,
                }
            } else {
                context.add_path(source)?;
            }
        }
        Ok(context)
    }

    /// Returns whether a source is stdin, which then is not appended to the prompt.
    pub(crate) fn reads_stdin(sources: &[String]) -> bool {
        sources.iter().any(|source| source == "-")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Prints what is added, with its size.
    pub(crate) fn print_summary(&self, notes: Notes) {
        for name in &self.skipped {
            notes.print_note(&format!("{name} is skipped"));
        }
        if self.items.len() <= MAX_LISTED {
            for item in &self.items {
                notes.print_note(&format!("added {}: {}", item.name, describe(item)));
            }
        }
        if self.items.len() > 1 {
            let bytes: usize = self.items.iter().map(|item| item.bytes).sum();
            let text: usize =
                self.items.iter().filter(|item| item.is_text).map(|item| item.bytes).sum();
            notes.print_note(&format!(
                "added {} files: {}, about {} of text",
                self.items.len(),
                format_bytes(bytes),
                format_tokens(text)
            ));
        }
    }

    /// Returns the parts, for a message in front of the prompt.
    pub(crate) fn into_parts(self) -> Vec<ContentPart> {
        self.items.into_iter().map(|item| item.part).collect()
    }

    fn add_path(&mut self, source: &str) -> Result<(), Failure> {
        let path = Path::new(source);
        let about = match std::fs::metadata(path) {
            Ok(about) => about,
            Err(_) if sources::is_pattern(source) => {
                let found = sources::files_of_pattern(source)?;
                if found.is_empty() {
                    return Err(Failure::input_with_hint(
                        format!("{source}: no file matches this pattern"),
                        "files that .gitignore excludes and hidden files do not match",
                    ));
                }
                return self.add_files(&found);
            }
            Err(error) => return Err(Failure::file(path, error)),
        };
        if about.is_dir() {
            let found = sources::files_of_folder(path)?;
            let before = self.items.len();
            self.add_files(&found)?;
            return if self.items.len() > before {
                Ok(())
            } else {
                Err(Failure::input_with_hint(
                    format!("{source}: the folder has no text files"),
                    "hidden files and files that .gitignore excludes are left out; name a file to add it",
                ))
            };
        }
        let bytes = read_at_most(path, MAX_MEDIA_BYTES)?;
        self.add(source, &bytes)
    }

    /// Adds the text files of a folder or a pattern. Other files are skipped, because one that was not named by the user may be
    /// of any kind and size.
    fn add_files(&mut self, files: &[std::path::PathBuf]) -> Result<(), Failure> {
        for path in files {
            let name = path.to_string_lossy();
            let too_large =
                std::fs::metadata(path).is_ok_and(|about| about.len() > MAX_TEXT_BYTES as u64);
            if too_large {
                let limit = format_bytes(MAX_TEXT_BYTES);
                self.skipped.push(format!("{name} (larger than {limit})"));
                continue;
            }
            let bytes = read_at_most(path, MAX_TEXT_BYTES)?;
            match as_text(&bytes) {
                Some(_) => self.add(&name, &bytes)?,
                None => self.skipped.push(format!("{name} (not text)")),
            }
        }
        Ok(())
    }

    /// Adds the content of one source.
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let total = self.items.iter().map(|item| item.bytes).sum::<usize>() + bytes.len();
        if total > MAX_TOTAL_BYTES {
            return Err(Failure::input_with_hint(
                format!("the files are larger than {} together", format_bytes(MAX_TOTAL_BYTES)),
                "add fewer files, or use a narrower pattern",
            ));
        }
        let shown = printable::escape_name(name).into_owned();
        let (part, is_text) = match as_text(bytes) {
            Some(text) if bytes.len() <= MAX_TEXT_BYTES => {
                (ContentPart::text(inline(name, text)), true)
            }
            Some(_) => {
                return Err(Failure::input_with_hint(
                    format!(
                        "{name}: the text has {}, more than the limit of {}",
                        format_bytes(bytes.len()),
                        format_bytes(MAX_TEXT_BYTES)
                    ),
                    "add a part of it, for example with `head -c 1000000 FILE | agentloop -f - …`",
                ));
            }
            None => (media_part(name, bytes)?, false),
        };
        self.items.push(Item { name: shown, bytes: bytes.len(), is_text, part });
        Ok(())
    }
}

fn describe(item: &Item) -> String {
    if item.is_text {
        format!("{}, about {}", format_bytes(item.bytes), format_tokens(item.bytes))
    } else {
        format_bytes(item.bytes)
    }
}

/// Returns the text of a file; `None` if it is something else. A byte order mark is removed.
fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    // A PDF file may consist of ASCII characters only.
    match mime_of_bytes(bytes) {
        Some(mime) if !mime.starts_with("text/") && mime != "application/json" => None,
        _ => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
    }
}

/// Builds the part for something that is not text, by its first bytes or else its name.
fn media_part(name: &str, bytes: &[u8]) -> Result<ContentPart, Failure> {
    let mime = mime_of_bytes(bytes).or_else(|| mime_of_name(name)).unwrap_or_default();
    let file_name = Path::new(name).file_name().map_or(name.into(), |name| name.to_string_lossy());
    let part = match mime.split('/').next() {
        Some("image") => ContentPart::image_bytes(bytes),
        Some("audio") => ContentPart::audio_bytes(bytes),
        Some("video") => ContentPart::video_bytes(bytes),
        _ if mime == "application/pdf" => ContentPart::file_bytes(file_name, bytes),
        _ => {
            return Err(Failure::input_with_hint(
                format!("{name}: neither text nor an image, audio, video or PDF file"),
                "convert it to text first; text must be encoded in UTF-8",
            ));
        }
    };
    part.map_err(Failure::from)
}

#[cfg(test)]
mod tests;
