//! Saves the images, audio and files of a response to a folder.

use std::path::{Path, PathBuf};

use agentloop::{ChatResponse, ResponsePart};

use crate::failure::Failure;
use crate::notes::Notes;

/// How many names are tried for one file.
const MAX_NAMES: u32 = 10_000;

/// Writes all media of the response under unused names, and prints a note with each path.
pub(in crate::command) fn save_media(
    response: &ChatResponse,
    folder: &Path,
    notes: Notes,
) -> Result<(), Failure> {
    let media: Vec<&ResponsePart> =
        response.choices.iter().flat_map(|choice| choice.media()).collect();
    if media.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::input(format!("cannot create the folder {}: {error}", folder.display()))
    })?;
    for part in media {
        let (path, size) = write_part(folder, part)?;
        notes.print_note(&format!("saved {} ({size} bytes)", path.display()));
    }
    Ok(())
}

/// Writes a part under an unused name.
///
/// The file name that the provider sent is ignored, because it could point anywhere. Existing files and symbolic links are not
/// overwritten.
fn write_part(folder: &Path, part: &ResponsePart) -> Result<(PathBuf, usize), Failure> {
    let kind = match part {
        ResponsePart::Image(_) => "image",
        ResponsePart::Audio(_) => "audio",
        _ => "file",
    };
    let extension = part.extension().unwrap_or("bin");
    for number in 1..MAX_NAMES {
        let path = folder.join(format!("{kind}-{number}.{extension}"));
        // `None`: the name is in use.
        if let Some(size) = part.save_new(&path)? {
            return Ok((path, size));
        }
    }
    Err(Failure::input_with_hint(
        format!(
            "{}: all names up to {kind}-{}.{extension} are in use",
            folder.display(),
            MAX_NAMES - 1
        ),
        "choose another folder with --save-media",
    ))
}
