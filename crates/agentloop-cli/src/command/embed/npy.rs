//! Writes vectors as a NumPy array.
//!
//! A NumPy file starts with its number of rows, so it cannot be written while vectors arrive. They are collected in a journal beside
//! it, `NAME.npy.partial`, and the array is written under its name only when it is complete: with its number of rows, in the order
//! of the input, and synced to disk before it gets its name.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::journal_path;
use crate::command::rows::{Place, index_lines};
use crate::failure::Failure;
use crate::files;

/// The header starts with six bytes that name the format, its version, and the length of the description.
const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";

/// The length of a header is a multiple of this, so that the numbers are aligned.
const ALIGNMENT: usize = 64;

/// Returns the journal of an array. Fails if the array exists, unless it is continued.
pub(super) fn journal_of(path: &Path, resume: bool) -> Result<PathBuf, Failure> {
    let journal = journal_path(path);
    match (path.try_exists(), journal.try_exists(), resume) {
        (Ok(true), Ok(false), true) => Err(Failure::input_with_hint(
            format!("{} is complete, so there is nothing to continue", path.display()),
            "choose another name for --output",
        )),
        (Ok(true), _, false) => Err(Failure::input_with_hint(
            format!("{} exists", path.display()),
            "choose another name for --output",
        )),
        _ => Ok(journal),
    }
}

/// Writes the array from its journal. A text without a vector is a row of NaN.
///
/// The journal is removed, unless texts failed: a later process can try these again.
pub(super) fn write(
    path: &Path,
    journal: &Path,
    rows: u64,
    has_failed: bool,
) -> Result<(), Failure> {
    let fail = |error: io::Error| Failure::file(path, error);
    let file = File::open(journal).map_err(|error| Failure::file(journal, error))?;
    let (places, _) = index_lines(&file, journal)?;
    let mut reader = BufReader::new(&file);
    let first = places.values().find(|place| !place.is_error).copied();
    let Some(first) =
        first.map(|place| read_vector(&mut reader, place)).transpose().map_err(fail)?
    else {
        return Err(Failure::Response(format!(
            "{}: no text has a vector, so its length is not known",
            path.display()
        )));
    };
    let permissions = file.metadata().map_err(fail)?.permissions();
    let missing: Vec<u8> = f32::NAN.to_le_bytes().repeat(first.len() / 4);
    let written = files::replace_with(path, |to| {
        to.get_ref().set_permissions(permissions)?;
        to.write_all(&header(rows, first.len() / 4)?)?;
        for row in 0..rows {
            match places.get(&row).filter(|place| !place.is_error) {
                Some(place) => {
                    let vector = read_vector(&mut reader, *place)?;
                    if vector.len() != first.len() {
                        return Err(invalid("the journal has vectors of different lengths"));
                    }
                    to.write_all(&vector)?;
                }
                None if has_failed => to.write_all(&missing)?,
                None => return Err(invalid("the journal has no vector for a row")),
            }
        }
        Ok(())
    });
    written.map_err(fail)?;
    match has_failed {
        true => Ok(()),
        false => std::fs::remove_file(journal).map_err(|error| Failure::file(journal, error)),
    }
}

/// Returns the header of an array of little-endian float32, in version 1.0 of the format.
fn header(rows: u64, dimensions: usize) -> io::Result<Vec<u8>> {
    let mut text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {dimensions}), }}");
    let start = MAGIC.len() + 2;
    // The description ends with a line feed.
    let padding = (start + text.len() + 1).next_multiple_of(ALIGNMENT) - (start + text.len() + 1);
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let length = u16::try_from(text.len()).map_err(|_| invalid("the header is too long"))?;
    Ok([MAGIC, &length.to_le_bytes(), text.as_bytes()].concat())
}

/// Reads the bytes of a vector from its line.
fn read_vector(reader: &mut BufReader<&File>, place: Place) -> io::Result<Vec<u8>> {
    #[derive(Deserialize)]
    struct Line {
        vector: String,
    }

    reader.seek(SeekFrom::Start(place.start))?;
    let mut line = Vec::new();
    reader.take(place.bytes).read_to_end(&mut line)?;
    let line: Line = serde_json::from_slice(&line)?;
    let bytes = STANDARD.decode(line.vector).map_err(|error| invalid(&error.to_string()))?;
    match bytes.is_empty() || bytes.len() % 4 != 0 {
        true => Err(invalid("the journal has a vector that is not complete")),
        false => Ok(bytes),
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are those of `numpy.save` (NumPy 2.4.6) for the same shape.
    #[test]
    fn the_header_is_that_of_numpy() -> io::Result<()> {
        let header = header(3, 1536)?;
        assert_eq!(header.len(), 128);
        assert_eq!(&header[..10], b"\x93NUMPY\x01\x00v\x00");
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1536), }";
        assert_eq!(&header[10..10 + text.len()], text.as_bytes());
        assert!(header[10 + text.len()..127].iter().all(|byte| *byte == b' '));
        assert_eq!(header[127], b'\n');
        assert_eq!(super::header(u64::MAX, usize::MAX)?.len() % 64, 0);
        Ok(())
    }
}
