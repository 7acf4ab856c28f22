//! Keeping what a model made.

use agentloop::{AudioPart, ErrorKind, FilePart, ImagePart, ResponsePart, TextPart};

use super::folder::Folder;

fn audio(mime_type: &str, data: &str) -> AudioPart {
    let (mime_type, data) = (mime_type.to_owned(), data.to_owned());
    AudioPart::new(mime_type, data)
}

#[test]
fn images_and_files_are_written_as_they_are() {
    let folder = Folder::new();
    let mime_type = "image/png".to_owned();
    let image = ImagePart::new(mime_type, "iVBORw0KGgo=");
    let path = folder.path("a.png");
    assert_eq!(image.save(&path).unwrap(), 8);
    assert_eq!(std::fs::read(path).unwrap(), b"\x89PNG\r\n\x1a\n");
    assert_eq!(image.extension(), Some("png"));

    // Padding may be missing; the name of the kind too.
    let file = FilePart::new("", "JVBERi0xLg");
    let part = ResponsePart::File(file);
    assert_eq!(part.bytes().unwrap(), b"%PDF-1.");
    assert_eq!(part.extension(), Some("pdf"));
    assert_eq!(part.save(folder.path("a.pdf")).unwrap(), 7);
}

#[test]
fn bare_samples_become_a_wav_file_by_its_name() {
    let folder = Folder::new();
    for (mime, rate) in [("audio/L16;rate=16000", 16_000u32), ("audio/pcm16", 24_000)] {
        let spoken = audio(mime, "AQACAA==");
        assert_eq!(spoken.extension(), Some("wav"));
        let path = folder.path(&format!("{rate}.wav"));
        assert_eq!(spoken.save(&path).unwrap(), 48);
        let file = std::fs::read(path).unwrap();
        assert_eq!((&file[..4], &file[8..16]), (&b"RIFF"[..], &b"WAVEfmt "[..]));
        assert_eq!(file[4..8], 40u32.to_le_bytes());
        assert_eq!(file[24..28], rate.to_le_bytes());
        assert_eq!(file[28..32], (rate * 2).to_le_bytes());
        assert_eq!((&file[36..40], &file[40..44]), (&b"data"[..], &4u32.to_le_bytes()[..]));
        assert_eq!(file[44..], [1, 0, 2, 0]);
        let path = folder.path(&format!("{rate}.pcm"));
        spoken.save(&path).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), [1, 0, 2, 0]);
    }
}

#[test]
fn a_wav_file_is_kept_whatever_its_media_type() {
    let folder = Folder::new();
    let wav = "UklGRgQAAABXQVZF";
    for mime in ["audio/wav", "audio/pcm16"] {
        let path = folder.path(&format!("{}.wav", mime.len()));
        assert_eq!(audio(mime, wav).save(&path).unwrap(), 12, "{mime}");
    }
}

#[test]
fn a_part_without_bytes_is_an_error() {
    let folder = Folder::new();
    let url = Some("https://x.test/a.png?sig=abc".to_owned());
    let mut image = ImagePart::default();
    image.url = url;
    let error = ResponsePart::Image(image).save(folder.path("b.png")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("https://x.test/a.png"), "{error}");
    assert!(!error.message().contains("abc"), "{error}");
    assert!(!folder.path("b.png").exists());

    let error = ResponsePart::Text(TextPart::new("hi")).save(folder.path("c")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(audio("audio/wav", "").bytes().unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(audio("audio/wav", "!!").bytes().unwrap_err().kind(), ErrorKind::Protocol);
    let error = audio("audio/wav", "AAAA").save("/nowhere/at/all.wav").unwrap_err();
    assert!(error.message().contains("/nowhere/at/all.wav"), "{error}");
}
