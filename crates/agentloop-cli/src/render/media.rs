//! Shows the images of a response, and saves images, audio and files to a folder.

use std::path::{Path, PathBuf};

use agentloop::{ChatResponse, ResponsePart};

use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::screen::image::ImageProtocol;
use crate::{files, store};

/// How many names are tried for one file.
const MAX_NAMES: u32 = 10_000;

/// Writes all media of the response under unused names, and prints a note with each path.
pub(crate) fn save_media(
    response: &ChatResponse,
    folder: &Path,
    notes: Notes,
) -> Result<(), Failure> {
    let media: Vec<&ResponsePart> =
        response.choices.iter().flat_map(|choice| choice.media()).collect();
    save_parts(&media, folder, notes)
}

/// Shows the images of a response on a terminal that can, and saves its other media to the user's folder.
pub(crate) fn show_media(
    response: &ChatResponse,
    output: &mut Output,
    notes: Notes,
) -> Result<(), Failure> {
    let protocol = ImageProtocol::detect();
    let mut remaining = Vec::new();
    for part in response.choices.iter().take(1).flat_map(|choice| choice.media()) {
        // A provider may send only a URL.
        let Ok(bytes) = part.bytes() else {
            notes.print_note("the response contains media as a URL; use --json to see it");
            continue;
        };
        let shown = protocol.filter(|_| matches!(part, ResponsePart::Image(_)));
        match shown.and_then(|protocol| protocol.encode(&bytes)) {
            Some(image) => output.write_line(&image)?,
            None => remaining.push(part),
        }
    }
    output.flush()?;
    match store::find_file().map(|file| file.with_file_name("media")) {
        _ if remaining.is_empty() => Ok(()),
        Some(folder) => {
            files::create_folder(&folder).map_err(|error| Failure::file(&folder, error))?;
            save_parts(&remaining, &folder, notes)
        }
        None => {
            notes.print_note("the response contains media; use --save-media DIR to save it");
            Ok(())
        }
    }
}

fn save_parts(media: &[&ResponsePart], folder: &Path, notes: Notes) -> Result<(), Failure> {
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
