//! Media types of bytes, names and data URLs.

use super::*;

#[test]
fn bytes_tell_what_they_are() {
    let riff = |kind: &[u8]| [b"RIFF\x24\0\0\0", kind, b"...."].concat();
    let ftyp = |brand: &[u8]| [b"\0\0\0\x14ftyp", brand, b"\0\0\0\0mif1"].concat();
    let general = |more: &[u8]| [b"\0\0\0\x18ftypmif1\0\0\0\0", more, b"miaf"].concat();
    let ebml = |kind: &[u8]| [b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82", kind].concat();
    for (bytes, expected) in [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), Some("image/png")),
        (b"\xff\xd8\xff\xe0\0\x10JFIF".to_vec(), Some("image/jpeg")),
        (b"GIF89a\x01\0".to_vec(), Some("image/gif")),
        (b"GIF87a\x01\0".to_vec(), Some("image/gif")),
        (riff(b"WEBP"), Some("image/webp")),
        (b"BM\x46\0\0\0\0\0\0\0\x36".to_vec(), Some("image/bmp")),
        (b"II*\0\x08\0".to_vec(), Some("image/tiff")),
        (b"MM\0*\0\0".to_vec(), Some("image/tiff")),
        (ftyp(b"heic"), Some("image/heic")),
        (ftyp(b"avif"), Some("image/avif")),
        (general(b"avif"), Some("image/avif")),
        (general(b"heic"), Some("image/heif")),
        (b"%PDF-1.7\n".to_vec(), Some("application/pdf")),
        (riff(b"WAVE"), Some("audio/wav")),
        (b"ID3\x04\0".to_vec(), Some("audio/mpeg")),
        (b"\xff\xfb\x90\x64\0".to_vec(), Some("audio/mpeg")),
        (b"\xff\xf1\x50\x80\0".to_vec(), Some("audio/aac")),
        (b"fLaC\0\0".to_vec(), Some("audio/flac")),
        (b"OggS\0\x02".to_vec(), Some("audio/ogg")),
        (ftyp(b"M4A "), Some("audio/mp4")),
        (ftyp(b"isom"), Some("video/mp4")),
        (ftyp(b"mp42"), Some("video/mp4")),
        (ftyp(b"qt  "), Some("video/quicktime")),
        (ebml(b"\x84webm"), Some("video/webm")),
        (ebml(b"\x88matroska"), Some("video/x-matroska")),
        (riff(b"AVI "), Some("video/avi")),
        (b"\0\0\x01\xba\x44".to_vec(), Some("video/mpeg")),
        ("Grüße\r\n\tan alle".into(), Some("text/plain")),
        ("ü".repeat(4001).into(), Some("text/plain")),
        (b"".to_vec(), None),
        (b"\0\x01\x02".to_vec(), None),
        (b"BM is the start of a text".to_vec(), Some("text/plain")),
        (b"caf\xe9".to_vec(), None),
        (ftyp(b"xyzw"), None),
        (b"\xff\xff\xff\xff".to_vec(), None),
    ] {
        assert_eq!(mime_of_bytes(&bytes), expected, "{bytes:x?}");
    }
}

#[test]
fn names_tell_what_they_end_in_and_queries_do_not_count() {
    for (name, expected) in [
        ("a.png", Some("image/png")),
        ("C:\\pictures\\a.JPEG", Some("image/jpeg")),
        ("https://x.test/a.webp?b=c.png#d.gif", Some("image/webp")),
        ("https://x.test/a?name=b.png", None),
        ("https://x.test/", None),
        // The end of a host name is not a file extension.
        ("https://x.mov", None),
        ("folder.png/file", None),
        ("gs://bucket/clip.mp4", Some("video/mp4")),
        ("notes.md", Some("text/markdown")),
        (".png", Some("image/png")),
        ("png", None),
    ] {
        assert_eq!(mime_of_name(name), expected, "{name}");
    }
    assert_eq!(extension_of("image/jpeg"), Some("jpg"));
    assert_eq!(extension_of("AUDIO/MP3; x=1"), Some("mp3"));
    assert_eq!(extension_of("image/*"), None);
    // As local-tts-studio 1.0.0 names raw samples.
    assert_eq!(extension_of("audio/pcm_s16le"), Some("pcm"));
}

#[test]
fn data_urls_are_read_in_every_spelling() {
    for (url, mime, bytes) in [
        ("data:image/png;base64,AAEC", Some("image/png"), &b"\0\x01\x02"[..]),
        ("DATA:image/png;BASE64,AAEC", Some("image/png"), b"\0\x01\x02"),
        ("data:audio/L16;rate=24000;base64,AAEC", Some("audio/L16;rate=24000"), b"\0\x01\x02"),
        ("data:;base64,AAE=", None, b"\0\x01"),
        ("data:base64,AAE", None, b"\0\x01"),
        ("data:,a%20b%zz%", None, b"a b%zz%"),
        ("data:text/plain;charset=utf-8,%C3%BC", Some("text/plain;charset=utf-8"), "ü".as_bytes()),
        ("data:image/png;base64,AA\nEC\n", Some("image/png"), b"\0\x01\x02"),
    ] {
        let data = DataUrl::parse(url).unwrap();
        assert_eq!(data.mime(), mime, "{url}");
        assert_eq!(data.bytes().unwrap(), bytes, "{url}");
    }
    for url in ["https://x.test/a.png", "data:image/png;base64", "dat", "", "däta:,"] {
        assert_eq!(DataUrl::parse(url), None, "{url}");
    }
    assert!(DataUrl::parse("data:image/png;base64,%%%").unwrap().bytes().is_err());
}

#[test]
fn a_data_url_without_a_type_is_known_by_its_bytes() {
    let of = |url| DataUrl::parse(url).unwrap().known_mime().map(|mime| mime.into_owned());
    assert_eq!(of("data:;base64,iVBORw0KGgo="), Some("image/png".to_owned()));
    assert_eq!(of("data:,hello"), Some("text/plain".to_owned()));
    assert_eq!(of("data:;base64,AAAA"), None);
}

#[test]
fn the_bytes_take_precedence_over_the_stated_type() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
    const MP4: &[u8] = b"\0\0\0\x14ftypisom\0\0\0\0";
    let some = |mime: &str| Ok(Some(mime.to_owned()));
    let none = Ok(None);
    for (kind, bytes, stated, name, expected) in [
        (MediaKind::Image, PNG, Some("image/jpeg"), None, some("image/png")),
        (MediaKind::Image, PNG, Some("text/html"), None, some("image/png")),
        (MediaKind::Image, b"<html>", Some("text/html"), None, Err("text/html".to_owned())),
        (MediaKind::Image, b"<html>", Some("image/png"), None, Err("text/plain".to_owned())),
        (MediaKind::Image, b"<svg/>", Some("image/svg+xml"), None, some("image/svg+xml")),
        (MediaKind::Image, b"\0\x01", Some("image/x-new"), None, some("image/x-new")),
        (
            MediaKind::Image,
            b"\0\x01",
            Some("application/octet-stream"),
            Some("a.bmp"),
            some("image/bmp"),
        ),
        (MediaKind::Image, b"\0\x01", None, Some("a"), none.clone()),
        (MediaKind::Image, b"%PDF-1", Some("image/png"), None, Err("application/pdf".to_owned())),
        (MediaKind::Audio, MP4, Some("audio/mp4"), None, some("audio/mp4")),
        (MediaKind::Audio, MP4, None, None, Err("video/mp4".to_owned())),
        (MediaKind::File, b"a,b\n", Some("text/csv"), None, some("text/csv")),
        (MediaKind::File, b"a,b\n", None, Some("a.csv"), some("text/csv")),
        (MediaKind::File, b"a,b\n", None, None, some("text/plain")),
        (MediaKind::File, PNG, None, Some("a.pdf"), some("image/png")),
        (MediaKind::File, b"\0\x01", None, None, none),
    ] {
        assert_eq!(
            settle(kind, bytes, stated, name),
            expected,
            "{kind} {bytes:?} {stated:?} {name:?}"
        );
    }
}

#[test]
fn samples_are_known_with_their_rate() {
    for (mime, expected) in [
        ("audio/L16;rate=16000", Some(16_000)),
        ("audio/l16; codec=pcm; RATE = 8000", Some(8_000)),
        ("audio/pcm16", Some(24_000)),
        ("audio/pcm;rate=0", Some(24_000)),
        ("audio/wav", None),
    ] {
        assert_eq!(pcm_rate(mime), expected, "{mime}");
    }
}
