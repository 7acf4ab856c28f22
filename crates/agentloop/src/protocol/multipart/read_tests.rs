use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::limits::{MAX_FORM_HEAD_BYTES, MAX_FORM_PARTS};

/// Content that tries to end its part.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20),
        Just(b"\r\n--agentloop-form-0000000000000000".to_vec()),
        Just(b"\r\n--agentloop-form-0000000000000001--\r\n".to_vec()),
        Just(b"agentloop-form-".to_vec()),
        Just(b"agentloop-form-000000000000000g".to_vec()),
        (0_u64..6).prop_map(|number| format!("agentloop-form-{number:016x}").into_bytes()),
        Just(b"\r\n".to_vec()),
        Just(b"--".to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn hostile_text() -> impl Strategy<Value = String> {
    hostile().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_whatever_it_contains(
        fields in prop::collection::vec(("[^%]{1,12}", hostile_text()), 0..5),
        files in prop::collection::vec(("[^%]{1,12}", "[^%]{0,12}", hostile()), 0..5),
    ) {
        let mut form = Form::new();
        for (name, value) in &fields {
            form = form.text(name, value);
        }
        for (name, filename, data) in &files {
            form = form.file(name, filename, "audio/wav", data).unwrap();
        }
        let (content_type, body) = form.finish().unwrap();
        let parts = read_form(content_type.to_str().unwrap(), &body).unwrap();
        prop_assert_eq!(parts.len(), fields.len() + files.len());
        for (part, (name, value)) in parts.iter().zip(&fields) {
            prop_assert_eq!(part.name.as_str(), name.as_str());
            prop_assert_eq!(&part.filename, &None);
            prop_assert_eq!(&part.data[..], value.as_bytes());
        }
        for (part, (name, filename, data)) in parts[fields.len()..].iter().zip(&files) {
            prop_assert_eq!(part.name.as_str(), name.as_str());
            prop_assert_eq!(part.filename.as_deref(), Some(filename.as_str()));
            prop_assert_eq!(part.content_type.as_deref(), Some("audio/wav"));
            prop_assert_eq!(&part.data, data);
        }
    }

    #[test]
    fn a_form_that_is_cut_off_is_an_error(data in hostile(), cut in 0.0..1.0_f64) {
        let form = Form::new().file("file", "a.wav", "audio/wav", &data).unwrap();
        let (content_type, body) = form.finish().unwrap();
        let content_type = content_type.to_str().unwrap();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a test")]
        // The last line break may be missing.
        let at = ((body.len() - 4) as f64 * cut) as usize;
        prop_assert!(read_form(content_type, &body.slice(..at)).is_err());
    }

    #[test]
    fn no_bytes_make_it_panic(content_type in ".{0,40}", body in prop::collection::vec(any::<u8>(), 0..200)) {
        let body = Bytes::from(body);
        let _ = read_form(&content_type, &body);
        let _ = read_form("multipart/form-data; boundary=a", &body);
    }
}

#[test]
fn forms_of_other_programs_are_read() {
    let body = "preamble\r\n--X \r\nContent-Disposition: form-data; name=model\r\n\r\nwhisper-1\r\n--X\r\n\
                content-disposition: form-data; filename=\"a;b.wav\"; name=\"file\"\r\nContent-Type: audio/wav\r\n\r\nRIFF\r\n--X--";
    let parts =
        read_form("Multipart/Form-Data; charset=utf-8; boundary=\"X\"", &body.into()).unwrap();
    assert_eq!((parts[0].name.as_str(), &parts[0].data[..]), ("model", &b"whisper-1"[..]));
    assert_eq!(parts[1].filename.as_deref(), Some("a;b.wav"));
    assert_eq!(&parts[1].data[..], b"RIFF");
}

#[test]
fn forms_that_are_too_large_or_wrong_are_errors() {
    let part = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n";
    let many = part.repeat(MAX_FORM_PARTS + 1) + "--X--\r\n";
    let long = format!(
        "--X\r\nContent-Disposition: form-data; name=\"a\"\r\nx: {}\r\n\r\n1\r\n--X--",
        "y".repeat(MAX_FORM_HEAD_BYTES)
    );
    for body in [
        many.as_str(),
        long.as_str(),
        "",
        "--X",
        "--X\r\n\r\nno name\r\n--X--",
        "--X\r\nContent-Disposition: form-data\r\n\r\n1\r\n--X--",
        "--XY\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XY--",
    ] {
        let error =
            read_form("multipart/form-data; boundary=X", &body.to_owned().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    }
    for content_type in
        ["", "application/json", "multipart/form-data", "multipart/form-data; boundary="]
    {
        assert!(read_form(content_type, &Bytes::from_static(b"--X--")).is_err(), "{content_type}");
    }
}
