//! With any bytes and names, nothing panics, and written media can be read again.

use agentloop::media::{DataUrl, mime_of_bytes, mime_of_name};
use agentloop::{AgentLoop, ChatRequest, ContentPart, inspect};
use proptest::prelude::*;

/// Starts that lead somewhere, and what comes after them.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let starts = prop::sample::select(vec![
        &b""[..],
        b"\x89PNG\r\n\x1a\n",
        b"RIFF",
        b"RIFF....WEBP",
        b"\0\0\0\x18ftyp",
        b"\0\0\0\xffftypmif1",
        b"\x1a\x45\xdf\xa3",
        b"\xff\xfb",
        b"\xff\xf1",
        b"BM",
        b"%PDF-",
        b"FORM",
    ]);
    (starts, prop::collection::vec(any::<u8>(), 0..40))
        .prop_map(|(start, rest)| [start, &rest].concat())
}

proptest! {
    #[test]
    fn looking_at_bytes_never_panics_and_is_the_same_every_time(bytes in bytes()) {
        prop_assert_eq!(mime_of_bytes(&bytes), mime_of_bytes(&bytes));
        for end in 0..bytes.len() {
            mime_of_bytes(&bytes[..end]);
        }
    }

    #[test]
    fn text_is_text_wherever_it_is_long(text in "[a-zäöü€😀 \n]{1,60}") {
        // Long enough that the look ends within a letter.
        prop_assert_eq!(mime_of_bytes(text.repeat(200).as_bytes()), Some("text/plain"));
    }

    #[test]
    fn looking_at_names_never_panics(name in any::<String>()) {
        mime_of_name(&name);
    }

    #[test]
    fn a_data_url_that_was_written_is_read_again(
        mime in "[a-z]{1,8}/[a-z0-9.+-]{1,8}(;[a-z]{1,4}=[a-z0-9]{1,4})?",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let url = DataUrl::of_bytes(mime.as_str(), &bytes);
        let text = url.to_string();
        let read = DataUrl::parse(&text).unwrap();
        prop_assert_eq!(&read, &url);
        prop_assert_eq!(read.mime(), Some(mime.as_str()));
        prop_assert_eq!(read.bytes().unwrap(), bytes);
    }

    #[test]
    fn reading_any_data_url_never_panics_and_writing_it_gives_it_back(rest in "\\PC{0,40}") {
        let url = format!("data:{rest}");
        if let Some(data) = DataUrl::parse(&url) {
            let (again, _, _) = (data.to_string(), data.bytes(), data.known_mime());
            prop_assert_eq!(DataUrl::parse(&again).unwrap(), data);
        }
    }

    /// Any part is sent, or the error names it.
    #[test]
    fn encoding_any_address_never_panics(
        url in prop_oneof!["\\PC{0,40}", "data:\\PC{0,40}", "https://[a-z.]{1,9}/[a-z.?#]{0,9}"],
        model in prop::sample::select(vec!["openai/m", "anthropic/m", "google/m", "ollama/m", "mistral/m"]),
    ) {
        let ai = AgentLoop::from_env();
        let parts = [
            ContentPart::image_url(url.clone()),
            ContentPart::video_url(url.clone()),
            ContentPart::audio_url(url.clone()),
            ContentPart::audio(url.clone(), ""),
            ContentPart::file("a", url.clone()),
            ContentPart::file_url(url),
        ];
        for part in parts {
            let request = ChatRequest::new(model).user([ContentPart::text("Look:"), part]);
            if let Err(error) = inspect::encode(&ai, &request, false) {
                prop_assert!(error.message().contains("messages[0].content[1]"), "{}", error);
            }
            prop_assert!(inspect::encode(&ai, &request.lenient(), false).is_ok());
        }
    }
}
