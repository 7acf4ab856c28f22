//! Parts from files, bytes and addresses, in the JSON forms that parts always had.

use std::path::PathBuf;

use agentloop::{ContentPart, ErrorKind, limits};
use serde_json::{Value, json};

use super::folder::Folder;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgo=";
const WAV: &[u8] = b"RIFF\x04\0\0\0WAVE";
const MP4: &[u8] = b"\0\0\0\x10ftypisom\0\0\0\0";

fn json(part: &ContentPart) -> Value {
    let value = serde_json::to_value(part).unwrap();
    assert_eq!(serde_json::from_value::<ContentPart>(value.clone()).unwrap(), *part);
    value
}

#[test]
fn every_constructor_makes_the_usual_form() {
    let folder = Folder::new();
    let image = json!({"type": "image_url", "image_url": {"url": PNG_URL}});
    let audio = json!({"type": "input_audio", "input_audio": {"data": "UklGRgQAAABXQVZF", "format": "wav"}});
    let video = json!({"type": "video_url", "video_url": {"url": "data:video/mp4;base64,AAAAEGZ0eXBpc29tAAAAAA=="}});
    let file = |name: &str, url: &str| json!({"type": "file", "file": {"file_data": url, "filename": name}});
    for (part, expected) in [
        // The bytes count, not the name.
        (ContentPart::image_path(folder.write("a.jpg", PNG)), image.clone()),
        (ContentPart::image_bytes(PNG), image),
        (ContentPart::audio_path(folder.write("a.wav", WAV)), audio.clone()),
        (ContentPart::audio_bytes(WAV), audio),
        (ContentPart::video_path(folder.write("a.mp4", MP4)), video.clone()),
        (ContentPart::video_bytes(MP4), video),
        (
            ContentPart::file_path(folder.write("a.csv", b"a,b")),
            file("a.csv", "data:text/csv;base64,YSxi"),
        ),
        (ContentPart::file_bytes("a", "%PDF-1"), file("a", "data:application/pdf;base64,JVBERi0x")),
        (
            Ok(ContentPart::file_url("https://x.test/a")),
            json!({"type": "file", "file": {"file_url": "https://x.test/a"}}),
        ),
        (Ok(ContentPart::file_id("f1")), json!({"type": "file", "file": {"file_id": "f1"}})),
        (
            Ok(ContentPart::video_url("https://x.test/a.mp4")),
            json!({"type": "video_url", "video_url": {"url": "https://x.test/a.mp4"}}),
        ),
        (
            Ok(ContentPart::audio_url("https://x.test/a.mp3")),
            json!({"type": "input_audio", "input_audio": {"url": "https://x.test/a.mp3"}}),
        ),
    ] {
        assert_eq!(json(&part.unwrap()), expected);
    }
}

#[test]
fn a_file_of_another_kind_is_refused_with_its_type() {
    let folder = Folder::new();
    let path = folder.write("paper.png", b"%PDF-1.7");
    let error = ContentPart::image_path(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    let text = error.to_string();
    assert!(text.contains("paper.png") && text.contains("application/pdf"), "{text}");

    let error = ContentPart::file_path(folder.write("blob", b"\0\x01\x02")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("blob") && error.hint().is_some(), "{error}");
    let error = ContentPart::audio_bytes(b"\0\x01\x02").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_path_that_cannot_be_read_is_named_with_the_reason() {
    let folder = Folder::new();
    for (path, reason) in [
        (PathBuf::from("/nowhere/at/all.png"), "No such file"),
        (std::env::temp_dir(), "is a directory"),
        (folder.write("empty.png", b""), "it is empty"),
    ] {
        let error = ContentPart::image_path(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
        let text = error.to_string();
        assert!(text.contains(reason) && text.contains(path.to_str().unwrap()), "{text}");
    }
    let path = folder.write("large.png", PNG);
    // A hole of that size takes no room.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(limits::MAX_FILE_BYTES as u64 + 1).unwrap();
    let error = ContentPart::image_path(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}
