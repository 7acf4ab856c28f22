//! Writes `application/vnd.amazon.eventstream`, the binary frames of Amazon. `framing` reads them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Crc;

/// The lengths of a frame and of its headers, and the checksum of the two.
const PRELUDE: usize = 12;

/// The checksum at the end of a frame.
const CHECKSUM: usize = 4;

/// The type of headers that are texts.
const TEXT: u8 = 7;

/// Writes a frame with headers that are texts. Names of more than 255 bytes and values of more than 65,535 are cut off.
pub(in crate::protocol) fn write_frame(headers: &[(&str, &str)], content: &[u8]) -> Bytes {
    let mut head = Vec::new();
    for (name, value) in headers {
        let name = &name.as_bytes()[..name.len().min(usize::from(u8::MAX))];
        let value = &value.as_bytes()[..value.len().min(usize::from(u16::MAX))];
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name);
        head.push(TEXT);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value);
    }
    let length = PRELUDE + head.len() + content.len() + CHECKSUM;
    let mut frame = Vec::with_capacity(length);
    frame.extend_from_slice(&lengths(length, head.len()));
    frame.extend_from_slice(&head);
    frame.extend_from_slice(content);
    frame.extend_from_slice(&checksum(&frame).to_be_bytes());
    frame.into()
}

/// Writes server-sent events as the frames of InvokeModel: the data of each, in base64.
pub(super) fn write_chunks(events: &[u8]) -> Bytes {
    let mut frames = Vec::new();
    for line in events.split(|byte| *byte == b'\n') {
        let Some(data) = line.strip_prefix(b"data: ") else { continue };
        let content = format!(r#"{{"bytes":"{}"}}"#, STANDARD.encode(data));
        let headers = [
            (":event-type", "chunk"),
            (":content-type", "application/json"),
            (":message-type", "event"),
        ];
        frames.extend_from_slice(&write_frame(&headers, content.as_bytes()));
    }
    frames.into()
}

/// Returns the beginning of a frame of this length.
fn lengths(length: usize, headers: usize) -> [u8; PRELUDE] {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
    let mut prelude = [0; PRELUDE];
    prelude[..4].copy_from_slice(&number(length));
    prelude[4..8].copy_from_slice(&number(headers));
    let sum = checksum(&prelude[..8]).to_be_bytes();
    prelude[8..].copy_from_slice(&sum);
    prelude
}

/// Returns the checksum of bytes: CRC-32, as gzip has it.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksums were computed with zlib.
    #[test]
    fn a_frame_has_its_lengths_headers_and_checksums() {
        let frame = write_frame(&[(":event-type", "a")], b"{}");
        assert_eq!(frame.len(), 12 + 16 + 2 + 4);
        assert_eq!(&frame[..8], [0, 0, 0, 34, 0, 0, 0, 16]);
        assert_eq!(&frame[12..28], b"\x0b:event-type\x07\x00\x01a");
        assert_eq!(&frame[28..30], b"{}");
        assert_eq!(frame[8..12], PRELUDE_SUM.to_be_bytes());
        assert_eq!(frame[30..], FRAME_SUM.to_be_bytes());
    }

    #[test]
    fn long_headers_are_cut_off() {
        let (name, value) = ("n".repeat(300), "v".repeat(70_000));
        let frame = write_frame(&[(&name, &value)], b"");
        assert_eq!(frame.len(), PRELUDE + 1 + 255 + 1 + 2 + 65_535 + CHECKSUM);
    }

    const PRELUDE_SUM: u32 = 0xc394_b369;
    const FRAME_SUM: u32 = 0xe368_8202;
}
