//! Media types by the first bytes.

/// How much text is looked at, in bytes.
const TEXT_HEAD: usize = 4096;

/// Bytes at an offset, and the media type that they identify.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"fLaC", "audio/flac"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\0\0\x01\xba", "video/mpeg"),
    (0, b"\0\0\x01\xb3", "video/mpeg"),
];

/// Kinds of RIFF and AIFF files, by the four bytes at the eighth.
const RIFF: &[(&[u8], &[u8], &str)] = &[
    (b"RIFF", b"WEBP", "image/webp"),
    (b"RIFF", b"WAVE", "audio/wav"),
    (b"RIFF", b"AVI ", "video/avi"),
    (b"FORM", b"AIFF", "audio/aiff"),
    (b"FORM", b"AIFC", "audio/aiff"),
];

/// Returns the media type that is detected from the bytes of a file, or `None`. It is never a guess: bytes that are
/// valid UTF-8 without control characters, and nothing else that is known, are `text/plain`.
///
/// ```
/// use agentloop::media::mime_of_bytes;
///
/// assert_eq!(mime_of_bytes(b"%PDF-1.7 ..."), Some("application/pdf"));
/// assert_eq!(mime_of_bytes(b"\x00\x01\x02"), None);
/// ```
pub fn mime_of_bytes(bytes: &[u8]) -> Option<&'static str> {
    let at = |from: usize, magic: &[u8]| bytes.get(from..from + magic.len()) == Some(magic);
    if let Some((.., mime)) = MAGIC.iter().find(|(from, magic, _)| at(*from, magic)) {
        return Some(mime);
    }
    if let Some((.., mime)) = RIFF.iter().find(|(form, kind, _)| at(0, form) && at(8, kind)) {
        return Some(mime);
    }
    // The size of the file follows the two letters, then zeros.
    if at(0, b"BM") && at(6, &[0; 4]) {
        return Some("image/bmp");
    }
    if at(4, b"ftyp") {
        return bytes.get(8..12).and_then(|brand| of_brand(brand, bytes));
    }
    if at(0, b"\x1a\x45\xdf\xa3") {
        let head = bytes.get(..bytes.len().min(64)).unwrap_or_default();
        let holds = |word: &[u8]| head.windows(word.len()).any(|window| window == word);
        return match (holds(b"webm"), holds(b"matroska")) {
            (true, _) => Some("video/webm"),
            (_, true) => Some("video/x-matroska"),
            _ => None,
        };
    }
    of_frames(bytes).or_else(|| is_text(bytes).then_some("text/plain"))
}

/// Returns the media type of MP4 files and related formats, by their brand.
fn of_brand(brand: &[u8], bytes: &[u8]) -> Option<&'static str> {
    match brand {
        b"heic" | b"heix" | b"hevc" | b"hevx" | b"heim" | b"heis" => Some("image/heic"),
        b"avif" | b"avis" => Some("image/avif"),
        b"mif1" | b"msf1" => {
            // A general brand: the specific one is among the compatible ones.
            let length = bytes.get(..4).and_then(|size| size.try_into().ok());
            let end = length.map_or(0, |size| u32::from_be_bytes(size) as usize).min(bytes.len());
            let mut brands = bytes.get(16..end).unwrap_or_default().chunks_exact(4);
            Some(if brands.any(|brand| brand == b"avif") { "image/avif" } else { "image/heif" })
        }
        b"M4A " | b"M4B " | b"F4A " => Some("audio/mp4"),
        b"qt  " => Some("video/quicktime"),
        brand if brand.starts_with(b"3g") => Some("video/3gpp"),
        b"isom" | b"iso2" | b"iso3" | b"iso4" | b"iso5" | b"iso6" | b"mp41" | b"mp42" | b"avc1"
        | b"M4V " | b"M4VH" | b"M4VP" | b"mmp4" | b"MSNV" | b"dash" | b"F4V " => Some("video/mp4"),
        _ => None,
    }
}

/// MP3 and AAC without a header: frames, one after the other.
fn of_frames(bytes: &[u8]) -> Option<&'static str> {
    let [0xff, second, third, ..] = *bytes else { return None };
    match second {
        // AAC in ADTS: twelve bits of ones, layer 0, a valid rate.
        0xf0 | 0xf1 | 0xf8 | 0xf9 if (third >> 2) & 0xf < 13 => Some("audio/aac"),
        // MPEG audio layer III: eleven bits of ones, a valid bit rate and a valid sample rate.
        0xe2 | 0xe3 | 0xf2 | 0xf3 | 0xfa | 0xfb
            if !matches!(third >> 4, 0 | 15) && (third >> 2) & 3 != 3 =>
        {
            Some("audio/mpeg")
        }
        _ => None,
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let head = bytes.get(..bytes.len().min(TEXT_HEAD)).unwrap_or_default();
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A letter that is cut at the end of the head is still a letter.
        Err(error) if error.error_len().is_none() && head.len() < bytes.len() => {
            let whole = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !valid.is_empty()
        && !valid.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0c'))
}
