//! The lines of the journal. Pure: nothing here touches a file.
//!
//! A line is the CRC-32 of the rest as eight hexadecimal digits, a letter, and what belongs to it:
//!
//! ```text
//! 5f6e7d8c R {"id":"…","reserved":"0.02",…}                    reserved: this row counts if nothing more is heard
//! 1a2b3c4d S 000000000000002a {"id":"…","usd":"0.013",…}       settled: the final row, with its number
//! 99aabbcc L "…"                                               released: the call with this id cost nothing
//! 0badcafe A 000000000000002a                                  stored: all rows up to this number are in the store
//! ```
//!
//! JSON has no line break outside of its escapes, so a reader that loses its place continues at the next line. Text costs more
//! bytes than a binary form, but an operator can read it with `less`, and a call costs a few microseconds either way.

use serde::Deserialize;

use super::write::{append_end, append_row};
use crate::store::LedgerRow;

/// The longest line in bytes. The texts of a longer row are shortened, except its id.
pub(super) const MAX_LINE: usize = 64 << 10;

/// The largest number of a row. A number above it can only come from a damaged or foreign file.
pub(super) const MAX_NUMBER: u64 = 1 << 62;

/// How many places in a damaged line are tried as the start of another line.
const MAX_STARTS: usize = 8;

/// Where the number of a settled row begins, and where it ends.
const NUMBER: std::ops::Range<usize> = 11..27;

/// The most bytes that most rows need.
const USUAL_LINE: usize = 768;

/// A line that was read, with the JSON that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The row that counts if nothing more is heard of the call.
    Reserved(&'a [u8]),
    /// The number of a final row, and the row.
    Settled(u64, &'a [u8]),
    /// The id of a call that cost nothing.
    Released(&'a [u8]),
    /// All rows up to this number are in the store.
    Stored(u64),
}

/// The line of a reservation.
#[derive(Debug)]
pub(super) struct Reserved {
    pub(super) line: Vec<u8>,
    /// Where the fields end that the final row has, too.
    pub(super) common: usize,
}

/// What the line of a reservation, and that of a final row, begin with.
const RESERVED: &[u8] = b"00000000 R ";
const SETTLED: &[u8] = b"00000000 S 0000000000000000 ";

/// Writes the line of a reservation.
pub(super) fn reserved(row: &LedgerRow) -> Reserved {
    let (mut line, common) = with_row(RESERVED, row);
    seal(&mut line);
    Reserved { line, common }
}

/// Writes the line of the final row of a reservation, whose first fields are copied. It is not complete before [`set_number`].
pub(super) fn settled_after(reserved: &Reserved, row: &LedgerRow) -> Vec<u8> {
    let common = reserved.line.get(RESERVED.len()..reserved.common).unwrap_or_default();
    let mut line = Vec::with_capacity(USUAL_LINE);
    line.extend_from_slice(SETTLED);
    line.extend_from_slice(common);
    append_end(&mut line, row);
    line.push(b'\n');
    if common.is_empty() || line.len() > MAX_LINE {
        return settled(row);
    }
    // Rows that were shortened may differ.
    debug_assert!(line.len() > MAX_LINE / 2 || line == settled(row), "a field was changed");
    line
}

/// Writes the line of a final row. It is not complete before [`set_number`].
pub(super) fn settled(row: &LedgerRow) -> Vec<u8> {
    with_row(SETTLED, row).0
}

/// Sets the number of a final row.
pub(super) fn set_number(line: &mut [u8], number: u64) {
    if let Some(place) = line.get_mut(NUMBER) {
        write_hex(place, number);
    }
    seal(line);
}

/// Returns the number of a line that [`set_number`] has completed.
pub(super) fn number_of(line: &[u8]) -> Option<u64> {
    match line.get(9)? {
        b'S' => read_hex(line.get(NUMBER)?),
        _ => None,
    }
}

/// Writes the line of a call that cost nothing.
pub(super) fn released(id: &str) -> Vec<u8> {
    let mut line = Vec::with_capacity(id.len() + 16);
    line.extend_from_slice(b"00000000 L ");
    append_json(&mut line, id);
    line.push(b'\n');
    seal(&mut line);
    line
}

/// Writes the line which states that all rows up to a number are in the store.
pub(super) fn stored(number: u64) -> Vec<u8> {
    let mut line = b"00000000 A 0000000000000000\n".to_vec();
    set_number(&mut line, number);
    line
}

/// Reads a line, without its line break. Returns `None` if it is damaged.
pub(super) fn read(line: &[u8]) -> Option<Line<'_>> {
    let (checksum, rest) = line.split_at_checked(8)?;
    if read_hex(checksum)? != u64::from(crc32fast::hash(rest)) {
        return None;
    }
    let (kind, rest) = rest.split_at_checked(3)?;
    let numbered = |rest: &[u8]| read_hex(rest).filter(|number| *number <= MAX_NUMBER);
    match kind {
        b" R " => Some(Line::Reserved(rest)),
        b" L " => Some(Line::Released(rest)),
        b" A " => Some(Line::Stored(numbered(rest)?)),
        b" S " => {
            let (number, rest) = rest.split_at_checked(NUMBER.len())?;
            Some(Line::Settled(numbered(number)?, rest.strip_prefix(b" ")?))
        }
        _ => None,
    }
}

/// Finds the lines in a damaged one: if the line break between two lines is damaged, both are still complete.
pub(super) fn split_damaged(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let starts = memchr::memchr_iter(b' ', line).filter(|space| {
        let kind = line.get(space + 1..space + 3);
        kind.is_some_and(|kind| matches!(kind, b"R " | b"S " | b"L " | b"A "))
    });
    let mut starts = starts.filter_map(|space| space.checked_sub(8)).skip(1).take(MAX_STARTS);
    let start = starts.find(|start| line.get(*start..).is_some_and(|rest| read(rest).is_some()))?;
    Some((line.get(..start.checked_sub(1)?)?, line.get(start..)?))
}

/// Reads the row of a line.
pub(super) fn row(json: &[u8]) -> Option<LedgerRow> {
    serde_json::from_slice(json).ok()
}

/// Reads only the id of the row of a line.
pub(super) fn id_of_row(json: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct WithId {
        id: String,
    }
    serde_json::from_slice::<WithId>(json).ok().map(|row| row.id)
}

/// Reads the id of a call that cost nothing.
pub(super) fn id(json: &[u8]) -> Option<String> {
    serde_json::from_slice(json).ok()
}

/// Returns a line with a row, and where the fields end that do not change.
fn with_row(start: &[u8], row: &LedgerRow) -> (Vec<u8>, usize) {
    let mut line = Vec::with_capacity(USUAL_LINE);
    line.extend_from_slice(start);
    let mut common = append_row(&mut line, row);
    if line.len() >= MAX_LINE {
        line.truncate(start.len());
        common = append_row(&mut line, &row.shortened());
    }
    line.push(b'\n');
    (line, common)
}

pub(super) fn append_json<T: serde::Serialize + ?Sized>(line: &mut Vec<u8>, value: &T) {
    let length = line.len();
    // Neither a row nor a string can fail to serialize, and a vector takes everything.
    if serde_json::to_writer(&mut *line, value).is_err() {
        line.truncate(length);
    }
}

/// Writes the checksum of a line with a line break at its end.
fn seal(line: &mut [u8]) {
    let length = line.len().saturating_sub(1);
    let checksum = crc32fast::hash(line.get(8..length).unwrap_or_default());
    if let Some(place) = line.get_mut(..8) {
        write_hex(place, u64::from(checksum));
    }
}

fn write_hex(place: &mut [u8], mut value: u64) {
    for digit in place.iter_mut().rev() {
        *digit = match u8::try_from(value & 15).unwrap_or(0) {
            low @ 0..=9 => b'0' + low,
            low => b'a' + low - 10,
        };
        value >>= 4;
    }
}

fn read_hex(digits: &[u8]) -> Option<u64> {
    if digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value, digit| match digit {
        b'0'..=b'9' => Some(value << 4 | u64::from(digit - b'0')),
        b'a'..=b'f' => Some(value << 4 | u64::from(digit - b'a' + 10)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::column::MAX_TEXT_BYTES;

    fn row_with(id: &str, model: &str) -> LedgerRow {
        LedgerRow { id: id.to_owned(), model: model.to_owned(), ..LedgerRow::default() }
    }

    #[test]
    fn every_line_is_read_as_it_was_written() {
        let expected = row_with("a\"\n\u{1}é", "m");
        let line = reserved(&expected).line;
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let Some(Line::Reserved(json)) = read(line.strip_suffix(b"\n").unwrap()) else { panic!() };
        assert_eq!(row(json).unwrap(), expected);
        let mut line = settled(&expected);
        set_number(&mut line, 42);
        assert_eq!(number_of(&line), Some(42));
        let Some(Line::Settled(42, json)) = read(line.strip_suffix(b"\n").unwrap()) else {
            panic!()
        };
        assert_eq!(row(json).unwrap(), expected);
        assert_eq!(id_of_row(json).unwrap(), expected.id);
        assert_eq!(settled_after(&reserved(&expected), &expected), settled(&expected));
        let line = released(&expected.id);
        let Some(Line::Released(json)) = read(line.strip_suffix(b"\n").unwrap()) else { panic!() };
        assert_eq!(id(json).unwrap(), expected.id);
        let line = stored(7);
        assert_eq!(read(line.strip_suffix(b"\n").unwrap()), Some(Line::Stored(7)));
    }

    #[test]
    fn any_flipped_bit_and_any_cut_is_noticed() {
        let mut line = settled(&row_with("id", "model"));
        set_number(&mut line, 1);
        line.pop();
        assert!(read(&line).is_some());
        for index in 0..line.len() {
            assert_eq!(read(&line[..index]), None, "{index}");
            for bit in 0..8 {
                let mut flipped = line.clone();
                flipped[index] ^= 1 << bit;
                // A checksum in capital letters is refused too.
                assert_eq!(read(&flipped), None, "{index} {bit}");
            }
        }
    }

    #[test]
    fn a_number_that_no_gateway_reaches_is_refused() {
        let line = stored(MAX_NUMBER + 1);
        assert_eq!(read(line.strip_suffix(b"\n").unwrap()), None);
    }

    #[test]
    fn a_row_that_is_too_long_is_shortened() {
        let mut long = row_with("id", &"é".repeat(MAX_LINE));
        long.tags =
            (0..1_000).map(|n| format!("{n:03}{}", "\u{1}".repeat(MAX_TEXT_BYTES))).collect();
        let line = reserved(&long).line;
        assert!(line.len() < MAX_LINE, "{}", line.len());
        let Some(Line::Reserved(json)) = read(line.strip_suffix(b"\n").unwrap()) else { panic!() };
        let short = row(json).unwrap();
        assert_eq!((short.id.as_str(), short.model.len()), ("id", MAX_TEXT_BYTES));
    }
}
