//! Binary frames (AWS event streams), of which each has a checksum.

/// The bytes before the headers: two lengths and a checksum.
const PRELUDE: usize = 12;
/// The checksum at the end.
const SUM: usize = 4;

/// Splits bytes into frames. Returns `None` if they are anything else; the last frame may be cut off.
pub(super) fn split(bytes: &[u8]) -> Option<Vec<std::ops::Range<usize>>> {
    let mut frames = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(prelude) = bytes.get(at..at + PRELUDE) else { break };
        let length = usize::try_from(read(prelude, 0)?).ok()?;
        if length < PRELUDE + SUM || read(prelude, 8)? != sum(prelude.get(..8)?) {
            return None;
        }
        let end = at.checked_add(length)?;
        if end > bytes.len() {
            break;
        }
        frames.push(at..end);
        at = end;
    }
    (!frames.is_empty()).then_some(frames)
}

/// Writes the checksum of a frame again.
pub(super) fn seal(frame: &mut [u8]) {
    let Some(end) = frame.len().checked_sub(SUM) else { return };
    let (content, place) = frame.split_at_mut(end);
    place.copy_from_slice(&sum(content).to_be_bytes());
}

fn read(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// Returns the CRC-32 of bytes.
fn sum(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| match sum & 1 {
            1 => (sum >> 1) ^ 0xedb8_8320,
            _ => sum >> 1,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_split_and_sealed() {
        assert_eq!(sum(b"123456789"), 0xcbf4_3926);
        let mut frame = [&20_u32.to_be_bytes()[..], &[0; 4]].concat();
        frame.extend(sum(&frame).to_be_bytes());
        frame.extend(b"abcd\0\0\0\0");
        let two = [&frame[..], &frame[..]].concat();
        assert_eq!(split(&two), Some(vec![0..20, 20..40]));
        assert_eq!(split(&two[..39]).unwrap().len(), 1);
        seal(&mut frame);
        assert_eq!(read(&frame, 16), Some(sum(&frame[..16])));
        for other in [&b""[..], b"{}", b"GIF89a and so on and so on", &[0; 64], &[255; 64]] {
            assert_eq!(split(other), None);
        }
        seal(&mut []);
    }
}
