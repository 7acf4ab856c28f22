//! A frame that is not parsed is read as if it was.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::protocol::{ChatDecoder, DecodeContext, Emitter};
use crate::provider::Provider;

const URL: &str = "http://127.0.0.1:9/v1";

fn frame(data: &str) -> Frame<'_> {
    Frame { event: "", data: data.as_bytes() }
}

fn kept(data: &str, text: &str, ignored: &[&str]) -> Repeat {
    let mut repeat = Repeat::default();
    let start = data.rfind(text).unwrap();
    repeat.keep(&frame(data), start..start + text.len(), ignored);
    repeat
}

#[test]
fn only_the_text_may_differ() {
    let repeat = kept(r#"{"id":"1","text":"abc","end":[1]}"#, "abc", &[]);
    let text = |data| repeat.text(&frame(data));
    assert_eq!(text(r#"{"id":"1","text":"é, {[","end":[1]}"#), Some("é, {["));
    for other in [
        r#"{"id":"2","text":"abc","end":[1]}"#,
        r#"{"id":"1","text":"abc","end":[2]}"#,
        r#"{"id":"1","text":"abc","end":[1]} "#,
        r#"{"id":"1","text":"abc","end":[1]"#,
        r#"{"id":"1","text":"","end":[1]}"#,
        r#"{"id":"1","text":"a\nb","end":[1]}"#,
        r#"{"id":"1","text":"a","more":"b","end":[1]}"#,
        "{\"id\":\"1\",\"text\":\"a\nb\",\"end\":[1]}",
        r#"{"id":"1","text":"abc"#,
        "",
    ] {
        assert_eq!(text(other), None, "{other}");
    }
    let named = Frame { event: "error", data: br#"{"id":"1","text":"abc","end":[1]}"# };
    assert_eq!(repeat.text(&named), None);
    let invalid = Frame { event: "", data: b"{\"id\":\"1\",\"text\":\"\xff\",\"end\":[1]}" };
    assert_eq!(repeat.text(&invalid), None);
}

#[test]
fn fields_without_an_effect_may_differ_where_they_are_fields_of_the_frame() {
    let ignored = &["n", "pad"];
    let data = r#"{"a":{"n":1},"b":"\"n\":2","n":3,"text":"abc","pad": "xyz"}"#;
    let repeat = kept(data, "abc", ignored);
    let text = |data: String| repeat.text(&frame(&data)).map(str::to_owned);
    assert_eq!(text(data.replace("3", "40").replace("xyz", "")).as_deref(), Some("abc"));
    assert_eq!(text(data.replace("3", "4").replace("abc", "d")).as_deref(), Some("d"));
    for (part, other) in [
        (r#"{"n":1}"#, r#"{"n":2}"#),
        (r#"\"n\":2"#, r#"\"n\":3"#),
        ("3,", "03,"),
        ("3,", "3.5,"),
        ("3,", "-3,"),
        ("3,", "1234567890123456789,"),
        ("3,", "null,"),
        ("xyz", r"\u0041"),
    ] {
        assert_eq!(text(data.replace(part, other)), None, "{other}");
    }
    // A number with a fraction is compared as it is.
    let repeat = kept(r#"{"n":3.5,"text":"abc"}"#, "abc", ignored);
    assert_eq!(repeat.text(&frame(r#"{"n":4.5,"text":"abc"}"#)), None);
    assert_eq!(repeat.text(&frame(r#"{"n":3.5,"text":"d"}"#)), Some("d"));
}

#[test]
fn a_frame_is_not_kept_when_it_is_large_or_when_frames_never_repeat() {
    let large = format!(r#"{{"pad":"{}","text":"abc"}}"#, "x".repeat(MAX_KEPT_BYTES));
    assert_eq!(kept(&large, "abc", &[]).text(&frame(&large)), None);
    let mut repeat = Repeat::default();
    let data = r#"{"text":"abc"}"#;
    for _ in 0..MAX_MISSES {
        repeat.keep(&frame(data), 9..12, &[]);
        assert_eq!(repeat.text(&frame(data)), Some("abc"));
        repeat.clear();
    }
    repeat.keep(&frame(data), 9..12, &[]);
    assert_eq!(repeat.text(&frame(data)), None);
}

#[test]
fn the_place_of_a_text_is_known_only_if_it_is_borrowed() {
    let data = b"{\"text\":\"abc\"}";
    let borrowed = std::str::from_utf8(&data[9..12]).unwrap();
    assert_eq!(place_of(borrowed, data), Some(9..12));
    let copy = String::from(borrowed);
    assert_eq!(place_of(&copy, data), None);
    assert_eq!(place_of("", data), None);
}

/// One of the protocols that recognize repeated frames, with frames of a stream: `TEXT` is replaced by a text, `NUMBER` by a number.
struct Wire {
    provider: fn() -> Provider,
    frames: &'static [(&'static str, &'static str)],
}

const WIRES: [Wire; 4] = [
    Wire {
        provider: || Provider::openai_compatible("lab", URL),
        frames: &[
            (
                "",
                r#"{"id":"c","created":NUMBER,"model":"m","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}],"usage":null}"#,
            ),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"TEXT"}}],"obfuscation":"TEXT"}"#,
            ),
            ("", r#"{"id":"c","model":"m","choices":[{"index":1,"delta":{"content":"TEXT"}}]}"#),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"TEXT"}}]}"#,
            ),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"TEXT","reasoning_content":"TEXT"}}]}"#,
            ),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"TEXT"},"logprobs":{"content":[{"token":"a","logprob":-1}]}}]}"#,
            ),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":"stop"}]}"#,
            ),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"TEXT","reasoning_details":[{"type":"reasoning.text","text":"TEXT"}]}}]}"#,
            ),
            (
                "",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"TEXT","function":{"name":"f","arguments":"TEXT"}}]}}]}"#,
            ),
            ("", r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"refusal":"TEXT"}}]}"#),
            (
                "",
                r#"{"id":"c","model":"m","x":{"obfuscation":"TEXT"},"choices":[{"index":0,"delta":{"content":"TEXT"}}],"usage":{"prompt_tokens":1,"completion_tokens":NUMBER}}"#,
            ),
            (
                "error",
                r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"TEXT"}}]}"#,
            ),
            ("", "[DONE]"),
        ],
    },
    Wire {
        provider: || Provider::anthropic_compatible("lab", URL),
        frames: &[
            (
                "message_start",
                r#"{"type":"message_start","message":{"id":"m","model":"m","content":[],"usage":{"input_tokens":1}}}"#,
            ),
            (
                "content_block_start",
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"TEXT"}}"#,
            ),
            (
                "content_block_start",
                r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"TEXT","name":"f","input":{}}}"#,
            ),
            (
                "content_block_start",
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#,
            ),
            (
                "content_block_start",
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"later","text":"TEXT"}}"#,
            ),
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#,
            ),
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"TEXT"}}"#,
            ),
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"TEXT"}}"#,
            ),
            (
                "content_block_delta",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"TEXT"}}"#,
            ),
            (
                "ping",
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#,
            ),
            ("content_block_stop", r#"{"type":"content_block_stop","index":0}"#),
            (
                "message_delta",
                r#"{"type":"message_delta","delta":{"stop_reason":"TEXT"},"usage":{"output_tokens":NUMBER}}"#,
            ),
            ("message_stop", r#"{"type":"message_stop"}"#),
        ],
    },
    Wire {
        provider: || Provider::responses_compatible("lab", URL),
        frames: &[
            (
                "",
                r#"{"type":"response.created","sequence_number":NUMBER,"response":{"id":"r","model":"m","object":"response"}}"#,
            ),
            (
                "",
                r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i","content":[]}}"#,
            ),
            (
                "",
                r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"j","call_id":"c","name":"f","arguments":""}}"#,
            ),
            (
                "",
                r#"{"type":"response.output_text.delta","sequence_number":NUMBER,"item_id":"i","output_index":0,"content_index":0,"delta":"TEXT","logprobs":[],"obfuscation":"TEXT"}"#,
            ),
            (
                "",
                r#"{"type":"response.output_text.delta","item_id":"i","output_index":0,"content_index":NUMBER,"delta":"TEXT"}"#,
            ),
            (
                "",
                r#"{"type":"response.output_text.delta","item_id":"j","output_index":1,"content_index":0,"delta":"TEXT"}"#,
            ),
            (
                "",
                r#"{"type":"response.output_text.delta","delta":"TEXT","logprobs":[{"token":"a","logprob":-1}]}"#,
            ),
            (
                "",
                r#"{"type":"response.function_call_arguments.delta","item_id":"j","output_index":1,"delta":"TEXT"}"#,
            ),
            (
                "",
                r#"{"type":"response.refusal.delta","item_id":"i","output_index":0,"content_index":0,"delta":"TEXT"}"#,
            ),
            (
                "",
                r#"{"type":"response.output_text.done","item_id":"i","output_index":0,"content_index":0,"text":"TEXT"}"#,
            ),
            (
                "",
                r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"i","content":[{"type":"output_text","text":"TEXT"}]}}"#,
            ),
            (
                "",
                r#"{"type":"response.completed","response":{"id":"r","model":"m","object":"response","status":"completed","output":[]}}"#,
            ),
        ],
    },
    Wire {
        provider: || Provider::gemini_compatible("lab", URL),
        frames: &[
            (
                "",
                r#"{"responseId":"r","candidates": [{"content": {"parts": [{"text": "TEXT"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 19},"modelVersion": "m"}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT"}]}}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":NUMBER}}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT","thought":true}]}}]}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT","thoughtSignature":"TEXT"}]}}]}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT"},{"text":"TEXT"}]}}]}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT"}]},"safetyRatings":[{"category":"a"}]}]}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"index":1,"content":{"parts":[{"text":"TEXT"}]}}]}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT"}]},"groundingMetadata":{"webSearchQueries":["TEXT"]}}]}"#,
            ),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{"a":"TEXT"}}}]}}]}"#,
            ),
            ("", r#"[{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT"}]}}]}]"#),
            (
                "",
                r#"{"responseId":"r","candidates":[{"content":{"parts":[{"text":"TEXT"}]},"finishReason":"STOP"}]}"#,
            ),
        ],
    },
];

/// Reads the frames and returns all events, and how it ended. With `parse`, each frame is parsed: an empty frame between two has no
/// other effect.
fn read(wire: &Wire, frames: &[(&str, Vec<u8>)], parse: bool) -> Vec<String> {
    let provider = Arc::new((wire.provider)());
    let context = DecodeContext { provider, target: None, audio_format: None };
    let mut decoder = ChatDecoder::new(context);
    let mut emitter = Emitter::new("lab", None, Vec::new()).reproducibly();
    let mut seen = Vec::new();
    let mut last = Ok(super::super::Flow::Continue);
    for (event, data) in frames {
        if parse {
            decoder.frame(&Frame { event: "", data: b"" }, &mut emitter).unwrap();
        }
        last = decoder.frame(&Frame { event, data }, &mut emitter);
        while let Some(event) = emitter.pop() {
            seen.push(format!("{event:?}"));
        }
        if !matches!(last, Ok(super::super::Flow::Continue)) {
            break;
        }
    }
    if matches!(last, Ok(super::super::Flow::Continue)) {
        let end = decoder.finish(&mut emitter);
        seen.push(format!("{end:?}"));
    }
    seen.push(format!("{last:?}"));
    seen.push(format!("{:?}", emitter.partial()));
    seen
}

fn frames(wire: &'static Wire) -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    let text = select(vec![
        "a",
        " b",
        "é",
        "",
        r"\n",
        r#"\""#,
        r"\ud800",
        r"\",
        "\"",
        "\n",
        "\u{0}",
        "\",\"text\":\"x",
        "{",
        "null",
    ]);
    // Runs of one frame, with few others between them.
    let frame = (select(wire.frames), prop::collection::vec((text, 0..3_u32, any::<bool>()), 1..5));
    prop::collection::vec(frame, 1..8).prop_map(|runs| {
        let runs = runs.into_iter().flat_map(|((event, frame), texts)| {
            texts.into_iter().map(move |(text, number, is_broken)| {
                let data = frame.replace("TEXT", text).replace("NUMBER", &number.to_string());
                let mut data = data.into_bytes();
                // A byte that is not UTF-8.
                if is_broken && number == 2 {
                    let at = data.len() / 2;
                    data[at] = 0xff;
                }
                (event, data)
            })
        });
        runs.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn chat_completions_are_read_as_if_every_chunk_was_parsed(frames in frames(&WIRES[0])) {
        prop_assert_eq!(read(&WIRES[0], &frames, false), read(&WIRES[0], &frames, true));
    }

    #[test]
    fn messages_are_read_as_if_every_event_was_parsed(frames in frames(&WIRES[1])) {
        prop_assert_eq!(read(&WIRES[1], &frames, false), read(&WIRES[1], &frames, true));
    }

    #[test]
    fn responses_are_read_as_if_every_event_was_parsed(frames in frames(&WIRES[2])) {
        prop_assert_eq!(read(&WIRES[2], &frames, false), read(&WIRES[2], &frames, true));
    }

    #[test]
    fn generated_content_is_read_as_if_every_chunk_was_parsed(frames in frames(&WIRES[3])) {
        prop_assert_eq!(read(&WIRES[3], &frames, false), read(&WIRES[3], &frames, true));
    }
}

/// The property would hold as well if no frame was ever recognized.
#[test]
fn repeated_frames_of_every_protocol_are_recognized() {
    let plain = [0, 5, 3, 0];
    for (wire, plain) in WIRES.iter().zip(plain) {
        let provider = Arc::new((wire.provider)());
        let context = DecodeContext { provider, target: None, audio_format: None };
        let mut decoder = ChatDecoder::new(context);
        let mut emitter = Emitter::new("lab", None, Vec::new());
        let (event, data) = wire.frames[plain];
        for (number, text) in ["a", "b", "c"].into_iter().enumerate() {
            let data = data.replace("TEXT", text).replace("NUMBER", &number.to_string());
            let frame = Frame { event, data: data.as_bytes() };
            assert_eq!(decoder.is_repeated(&frame), number > 0, "{data}");
            decoder.frame(&frame, &mut emitter).unwrap();
        }
    }
}
