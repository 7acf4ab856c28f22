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
        let (path, size) = write(folder, part)?;
        notes.note(&format!("{} ({size} bytes)", path.display()));
    }
    Ok(())
}

/// Writes a part under a name that is free. What the provider calls a file does not count: it could lead anywhere. Nor is
/// a link followed that has the name, whether it leads somewhere or not.
fn write(folder: &Path, part: &ResponsePart) -> Result<(PathBuf, usize), Failure> {
    let kind = match part {
        ResponsePart::Image(_) => "image",
        ResponsePart::Audio(_) => "audio",
        _ => "file",
    };
    let end = part.extension().unwrap_or("bin");
    for number in 1..MOST_NAMES {
        let path = folder.join(format!("{kind}-{number}.{end}"));
        // Otherwise the name is taken.
        if let Some(size) = part.save_new(&path)? {
            return Ok((path, size));
        }
    }
    Err(Failure::input(format!("{} is full", folder.display())))
}
