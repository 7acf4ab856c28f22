//! Laws for the fixtures: a complete body and its stream decode to the same response.

use crate::support;

use std::path::{Path, PathBuf};

use agentloop::{ChatResponse, Citation, ErrorKind, ResponsePart};
use support::{Wire, decode};

/// The protocols that have fixtures, with a provider for each, and the finish reason of a stream.
fn protocols() -> [(&'static str, Wire, &'static str); 7] {
    [
        ("openai_chat", Wire::of("openai"), "\"finish_reason\": \""),
        // The last event does.
        ("openai_responses", Wire::of_responses(false), "event: "),
        ("anthropic", Wire::of("anthropic"), "\"stop_reason\": \""),
        ("ollama", ollama(), "\"done\":true"),
        ("cohere", Wire::of("cohere"), "\"finish_reason\":\""),
        ("bedrock", Wire::of("bedrock"), "messageStop"),
        ("gemini_interactions", interactions(), "event: interaction.completed"),
    ]
}

fn interactions() -> Wire {
    Wire { protocol: Some(agentloop::Protocol::GeminiInteractions), ..Wire::of("google") }
}

fn ollama() -> Wire {
    Wire { protocol: Some(agentloop::Protocol::Ollama), ..Wire::of("ollama") }
}

/// The fixtures of a protocol: name, whole body, stream.
pub(crate) fn fixtures(protocol: &str) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(protocol);
    let mut bodies: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".body.json"))
        .collect();
    bodies.sort();
    assert!(!bodies.is_empty());
    bodies
        .into_iter()
        .map(|body| {
            let name = body.file_name().unwrap().to_string_lossy().replace(".body.json", "");
            let stream = ["sse", "ndjson", "frames"]
                .map(|end| body.with_file_name(format!("{name}.stream.{end}")))
                .into_iter()
                .find(|path| path.exists())
                .unwrap_or_else(|| panic!("{name} has no stream"));
            let is_text = stream.extension().is_some_and(|end| end == "frames");
            let mut stream = std::fs::read(stream).unwrap();
            if is_text {
                stream = support::frames(std::str::from_utf8(&stream).unwrap());
            }
            (name, std::fs::read(&body).unwrap(), stream)
        })
        .collect()
}

fn response_of(wire: &Wire, bytes: &[u8], stream: bool) -> ChatResponse {
    decode(&Wire { stream, ..wire.clone() }, bytes).response().unwrap()
}

fn response(bytes: &[u8], stream: bool) -> ChatResponse {
    response_of(&Wire::of("openai"), bytes, stream)
}

/// Runs `check` over all fixtures: whose they are, what names the reason of the end, name, whole body, stream.
fn each(check: impl Fn(&Wire, &str, &str, &[u8], &[u8])) {
    for (protocol, wire, reason) in protocols() {
        for (name, body, stream) in fixtures(protocol) {
            check(&wire, reason, &format!("{protocol}/{name}"), &body, &stream);
        }
    }
}

/// Sources come with the last chunks, when a call may have closed the text.
#[test]
fn sources_belong_to_the_text_also_when_a_call_has_closed_it() {
    let call = r#"{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}"#;
    let annotation = r#"{"type":"url_citation","url_citation":{"url":"https://a.test","start_index":0,"end_index":4}}"#;
    let end = r#""finish_reason":"tool_calls""#;
    let body = |message: &str, beside: &str| {
        format!(
            r#"{{"id":"r","model":"m","choices":[{{"index":0,"message":{message},{end}}}]{beside}}}"#
        )
    };
    let stream = |deltas: [&str; 3], beside: &str| {
        let chunk = |delta: &str, end: &str| {
            format!(
                r#"data: {{"id":"r","model":"m","choices":[{{"index":0,"delta":{delta}{end}}}]{beside}}}"#
            )
        };
        let [text, call, last] = deltas;
        let last = chunk(last, &format!(",{end}"));
        format!("{}\n\n{}\n\n{last}\n\ndata: [DONE]\n\n", chunk(text, ""), chunk(call, ""))
    };
    let (text, calls) = (r#"{"content":"Rome."}"#, format!(r#"{{"tool_calls":[{call}]}}"#));
    let annotated = format!(r#"{{"annotations":[{annotation}]}}"#);
    let message =
        format!(r#"{{"content":"Rome.","tool_calls":[{call}],"annotations":[{annotation}]}}"#);
    let plain = format!(r#"{{"content":"Rome.","tool_calls":[{call}]}}"#);
    let urls = r#","citations":["https://a.test"]"#;
    for (body, stream) in [
        (body(&message, ""), stream([text, &calls, &annotated], "")),
        (body(&plain, urls), stream([text, &calls, "{}"], urls)),
    ] {
        let whole = response(body.as_bytes(), false);
        assert_eq!(whole, response(stream.as_bytes(), true));
        let [ResponsePart::Text(text), ResponsePart::ToolCall(_)] = &*whole.choices[0].content
        else {
            panic!("{whole:?}")
        };
        let [Citation::Url(source)] = &*text.citations else { panic!("{text:?}") };
        assert_eq!(source.url, "https://a.test");
    }
}

#[test]
fn thinking_and_text_close_before_the_next_part_opens() {
    each(|wire, _, name, body, bytes| {
        // An item of a Responses stream closes with its own end, which may come when others have begun.
        if name.starts_with("openai_responses/") {
            return;
        }
        for (stream, bytes) in [(false, body), (true, bytes)] {
            let decoded = decode(&Wire { stream, ..wire.clone() }, bytes);
            support::closes_in_order(&decoded.events).unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    });
}

#[test]
fn a_complete_body_and_its_stream_decode_to_the_same_response() {
    each(|wire, _, name, body, stream| {
        let whole = response_of(wire, body, false);
        assert_eq!(whole, response_of(wire, stream, true), "{name}");
    });
}

#[test]
fn a_json_body_for_a_stream_decodes_to_the_same_response() {
    each(|wire, _, name, body, stream| {
        let whole = response_of(wire, body, true);
        assert_eq!(whole, response_of(wire, stream, true), "{name}");
    });
}

#[test]
fn every_cut_of_every_fixture_gives_the_same_events() {
    each(|wire, _, name, _, stream| cuts_are_invisible(wire, name, stream));
}

/// At every byte (of long streams at every few): before the provider said that it is done, the end is an error with what had arrived.
#[test]
fn a_fixture_cut_anywhere_before_its_end_is_an_error() {
    each(|wire, reason, name, _, stream| {
        let step = (stream.len() / 500).max(1);
        ends_are_errors(wire, name, stream, reason, step);
    });
}

pub(crate) fn cuts_are_invisible(wire: &Wire, name: &str, stream: &[u8]) {
    let wire = Wire { stream: true, ..wire.clone() };
    let whole = decode(&wire, stream);
    for size in 1..=17 {
        let cut = decode(&Wire { size, ..wire.clone() }, stream);
        assert_eq!(cut.events, whole.events, "{name} by {size}");
    }
}

/// Cuts a stream off, at every `step` bytes before what names the reason of the end.
pub(crate) fn ends_are_errors(wire: &Wire, name: &str, stream: &[u8], reason: &str, step: usize) {
    let wire = Wire { stream: true, ..wire.clone() };
    // The last finish reason ends the response (two choices have two).
    let last = memchr::memmem::rfind(stream, reason.as_bytes()).unwrap();
    let text = std::str::from_utf8(stream).ok();
    let is_between = |end: &usize| text.is_none_or(|text| text.is_char_boundary(*end));
    for end in (0..last).step_by(step).filter(is_between) {
        let cut = decode(&wire, &stream[..end]);
        let error = cut.error.unwrap_or_else(|| panic!("{name} cut at {end} is a response"));
        assert_eq!(error.kind(), ErrorKind::IncompleteStream, "{name} cut at {end}: {error:?}");
        assert_eq!(error.partial().is_some(), !cut.events.is_empty(), "{name} cut at {end}");
    }
}

pub(crate) fn shown_choices(name: &str, response: &ChatResponse) -> String {
    let mut shown = format!("{name}\n");
    for choice in &response.choices {
        for part in &choice.content {
            shown.push_str(&format!("  {}\n", serde_json::to_string(part).unwrap()));
        }
        let raw = choice.raw_finish_reason.as_deref().unwrap_or("-");
        shown.push_str(&format!("  = {} ({raw})\n", choice.finish_reason.as_str()));
    }
    shown
}

/// The decoded fixtures of a protocol.
fn shown(protocol: &str, wire: &Wire) -> String {
    let mut shown = String::new();
    for (name, body, _) in fixtures(protocol) {
        let response = response_of(wire, &body, false);
        shown.push_str(&shown_choices(&name, &response));
        for warning in &response.warnings {
            shown.push_str(&format!("  ! {warning}\n"));
        }
    }
    shown
}

#[test]
fn fixtures_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("openai_chat", &Wire::of("openai")));
}

#[test]
fn anthropic_s_fixtures_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("anthropic", &Wire::of("anthropic")));
}

#[test]
fn fixtures_of_responses_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("openai_responses", &Wire::of_responses(false)));
}

#[test]
fn fixtures_of_cohere_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("cohere", &Wire::of("cohere")));
}

#[test]
fn fixtures_of_bedrock_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("bedrock", &Wire::of("bedrock")));
}

#[test]
fn fixtures_of_interactions_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("gemini_interactions", &interactions()));
}

#[test]
fn fixtures_of_ollama_read_as_a_person_expects() {
    insta::assert_snapshot!(shown("ollama", &ollama()));
}

/// Found by decoding unusual JSON: a repeated name, half a surrogate pair.
#[test]
fn json_that_a_strict_parser_refuses_is_repaired() {
    let body = r#"{"id":"a","id":"b","choices":[{"index":0,"message":{"content":"x","content":"1 \ud83d 2 \\ud83d 😀 \ud83d\ude00"},"finish_reason":"stop"}]}"#;
    let whole = response(body.as_bytes(), false);
    assert_eq!((whole.id.as_str(), whole.text().as_str()), ("b", "1 \u{fffd} 2 \\ud83d 😀 😀"));
    let stream = format!("data: {}\n\n", body.replace("message", "delta"));
    assert_eq!(response(stream.as_bytes(), true).text(), whole.text());
}

#[test]
fn fields_beside_the_text_of_a_choice_are_read() {
    let of = |name: &str| {
        let all = fixtures("openai_chat");
        let body = all.into_iter().find(|(known, _, _)| known == name).unwrap().1;
        response(&body, false)
    };
    let usage = of("usage_in_the_choice").usage;
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(9), Some(2)));
    let listed = of("top_logprobs_listed").choices[0].logprobs.clone().unwrap();
    let tops: Vec<Vec<(&str, Option<f64>)>> = listed
        .content
        .iter()
        .map(|token| {
            token.top_logprobs.iter().map(|top| (top.token.as_str(), top.logprob)).collect()
        })
        .collect();
    assert_eq!(tops, [vec![("Hel", Some(-0.1)), ("Ha", Some(-2.5))], vec![("lo", Some(-0.2))]]);
}

#[test]
fn an_error_in_a_list_of_one_is_an_error() {
    let body = br#"[{"error":{"message":"no","code":429}}]"#;
    let stream = [b"data: ".as_slice(), body, b"\n\n"].concat();
    for (bytes, stream) in [(body.as_slice(), false), (&stream, true)] {
        let wire = Wire { stream, ..Wire::of("openai") };
        let error = decode(&wire, bytes).response().unwrap_err();
        assert_eq!((error.kind(), error.status()), (ErrorKind::RateLimit, Some(429)));
    }
    let error = decode(&Wire::of("openai"), b"[1, 2]").response().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
}
