//! Draws a small PNG, without compression.

/// Returns a square image whose pixels depend on `seed`.
pub(crate) fn draw(side: u32, seed: u64) -> Vec<u8> {
    let mut rows = Vec::new();
    for y in 0..side {
        // Each row begins with its filter: none.
        rows.push(0);
        for x in 0..side {
            let shift = (x * 7 + y * 13) % 40;
            let [red, green, blue, ..] = (seed >> shift).to_le_bytes();
            rows.extend_from_slice(&[red, green, blue]);
        }
    }
    let mut head = Vec::new();
    head.extend_from_slice(&side.to_be_bytes());
    head.extend_from_slice(&side.to_be_bytes());
    // Eight bits, red green blue, the only compression, the only filters, not interlaced.
    head.extend_from_slice(&[8, 2, 0, 0, 0]);
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, b"IHDR", &head);
    chunk(&mut file, b"IDAT", &zlib(&rows));
    chunk(&mut file, b"IEND", &[]);
    file
}

fn chunk(file: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    let length = u32::try_from(data.len()).unwrap_or(0);
    file.extend_from_slice(&length.to_be_bytes());
    let start = file.len();
    file.extend_from_slice(kind);
    file.extend_from_slice(data);
    let checksum = crc(&file[start..]);
    file.extend_from_slice(&checksum.to_be_bytes());
}

/// Wraps data in a zlib stream of stored blocks.
fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = data.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(0);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in data {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    out.extend_from_slice(&((high << 16) | low).to_be_bytes());
    out
}

/// The checksum of a chunk (CRC-32, ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    };
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_are_those_of_the_standards() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(b"IEND"), 0xae42_6082);
        assert_eq!(zlib(b"Wikipedia")[16..], 0x11e6_0398_u32.to_be_bytes());
    }
}
