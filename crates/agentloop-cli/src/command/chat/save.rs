//! Writes the images, sounds and files of an answer into a folder.

use std::path::{Path, PathBuf};

use agentloop::{ChatResponse, ResponsePart};

use crate::failure::Failure;
use crate::notes::Notes;

/// How many names are tried for one file.
const MOST_NAMES: u32 = 10_000;

/// Writes all media of the answer, under names that are free, and says where they are.
pub(super) fn all(response: &ChatResponse, folder: &Path, notes: Notes) -> Result<(), Failure> {
    let media: Vec<&ResponsePart> =
        response.choices.iter().flat_map(|choice| choice.media()).collect();
    if media.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| Failure::input(format!("{} cannot be made: {error}", folder.display())))?;
    for part in media {
        let path = free(folder, part)?;
        let size = part.save(&path)?;
        notes.note(&format!("{} ({size} bytes)", path.display()));
    }
    Ok(())
}

/// A name that no file has yet. What the provider calls a file does not count: it could lead anywhere.
fn free(folder: &Path, part: &ResponsePart) -> Result<PathBuf, Failure> {
    let kind = match part {
        ResponsePart::Image(_) => "image",
        ResponsePart::Audio(_) => "audio",
        _ => "file",
    };
    let end = part.extension().unwrap_or("bin");
    (1..MOST_NAMES)
        .map(|number| folder.join(format!("{kind}-{number}.{end}")))
        .find(|path| !path.exists())
        .ok_or_else(|| Failure::input(format!("{} is full", folder.display())))
}
