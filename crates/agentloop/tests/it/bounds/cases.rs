//! Bodies of a few hundred bytes when packed that took gigabytes or minutes.

use agentloop::inspect::{self, DecodeOptions, HttpResponse};
use agentloop::{ChatResponse, ChatStreamEvent, ErrorKind};

use super::bodies::{self, Sent};
use super::read;

const MEBIBYTE: u64 = 1 << 20;

/// Reads a response that must be read, within so much memory.
fn is_read(sent: &Sent, most: u64) -> ChatResponse {
    let (outcome, counted) = read(sent);
    assert!(counted.bytes_max < most, "{} bytes of memory", counted.bytes_max);
    match outcome.unwrap() {
        Some(ChatStreamEvent::MessageDone { response }) => *response,
        other => panic!("{other:?}"),
    }
}

/// Reads a response that must be refused, within so much memory.
fn is_refused(sent: &Sent, most: u64) {
    let (outcome, counted) = read(sent);
    assert!(counted.bytes_max < most, "{} bytes of memory", counted.bytes_max);
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.partial().is_some(), "what came is there");
}

fn grounded(chunk: &str, supports: &str) -> Sent {
    bodies::gemini(
        r#"[{"text":"text"}]"#,
        &format!(
            r#","groundingMetadata":{{"groundingChunks":[{chunk}],"groundingSupports":{supports}}}"#
        ),
    )
}

#[test]
fn a_chunk_that_is_named_many_times_is_one_source() {
    let chunk = format!(r#"{{"other":"{}"}}"#, "c".repeat(100_000));
    let indices = bodies::same(50_000, "0");
    let sent = grounded(&chunk, &format!(r#"[{{"groundingChunkIndices":{indices}}}]"#));
    let response = is_read(&sent, 32 * MEBIBYTE);
    assert_eq!(response.choices[0].citations().count(), 1);
}

#[test]
fn a_chunk_that_many_passages_name_is_not_copied_without_end() {
    let chunk = format!(r#"{{"other":"{}"}}"#, "c".repeat(100_000));
    let sent = grounded(&chunk, &bodies::same(50_000, r#"{"groundingChunkIndices":[0]}"#));
    is_refused(&sent, 450 * MEBIBYTE);
    // Nor to a text that has closed by then.
    let supports = bodies::same(50_000, r#"{"groundingChunkIndices":[0]}"#);
    let sent = bodies::gemini(
        r#"[{"text":"text"},{"functionCall":{"name":"f"}}]"#,
        &format!(
            r#","groundingMetadata":{{"groundingChunks":[{chunk}],"groundingSupports":{supports}}}"#
        ),
    );
    is_refused(&sent, 450 * MEBIBYTE);
}

#[test]
fn a_long_field_of_an_item_is_copied_once() {
    let contents = bodies::same(20_000, r#"{"type":"new"}"#);
    let field = "f".repeat(200_000);
    let item = format!(r#"[{{"type":"message","id":"m","long":"{field}","content":{contents}}}]"#);
    let response = is_read(&bodies::responses(&item), 128 * MEBIBYTE);
    assert_eq!(response.choices[0].content.len(), 20_000);
}

#[test]
fn sources_are_not_copied_to_a_thousand_choices() {
    let choice = r#"{"index":0,"finish_reason":"stop","message":{"content":"a"}}"#;
    let choices =
        bodies::list(1_024, |at| choice.replace(r#""index":0"#, &format!(r#""index":{at}"#)));
    let urls = bodies::same(30_000, r#""https://example.com""#);
    let sent =
        Sent::whole("openai", format!(r#"{{"id":"a","choices":{choices},"citations":{urls}}}"#));
    is_refused(&sent, 350 * MEBIBYTE);
}

#[test]
fn empty_choices_are_refused_before_they_take_memory() {
    let choices = bodies::same(1_000_000, "{}");
    let (outcome, counted) =
        read(&Sent::whole("openai", format!(r#"{{"id":"a","choices":{choices}}}"#)));
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(counted.bytes_max < 700 * MEBIBYTE, "{} bytes of memory", counted.bytes_max);
}

#[test]
fn eighty_thousand_sources_are_matched_with_their_search_results() {
    let urls = bodies::list(80_000, |at| format!(r#""https://example.com/{at}""#));
    let results = bodies::list(80_000, |at| {
        format!(r#"{{"url":"https://example.com/{}","title":"t"}}"#, 79_999 - at)
    });
    let sent = bodies::chat(
        r#"{"content":"text"}"#,
        &format!(r#","citations":{urls},"search_results":{results}"#),
    );
    let response = is_read(&sent, 512 * MEBIBYTE);
    let titled = response.choices[0].citations().filter(|citation| {
        matches!(citation, agentloop::Citation::Url(url) if url.title.as_deref() == Some("t"))
    });
    assert_eq!(titled.count(), 80_000);
}

#[test]
fn eighty_thousand_sources_of_quotes_are_distinguished() {
    let source = |at: usize| format!(r#"{{"startIndex":{at},"uri":"u{}"}}"#, at / 2 * 2);
    let sources = bodies::list(80_000, |at| source(at / 2));
    let sent = bodies::gemini(
        r#"[{"text":"some text"}]"#,
        &format!(r#","citationMetadata":{{"citationSources":{sources}}}"#),
    );
    assert_eq!(is_read(&sent, 512 * MEBIBYTE).choices[0].citations().count(), 40_000);
}

#[test]
fn sixty_thousand_tool_calls_are_read() {
    let call = |at| format!(r#"{{"id":"c{at}","function":{{"name":"f","arguments":"{{}}"}}}}"#);
    let calls = bodies::list(60_000, call);
    let whole = bodies::chat(&format!(r#"{{"tool_calls":{calls}}}"#), "");
    let streamed = bodies::chunks(60_000, |at| {
        format!(
            r#"{{"tool_calls":[{{"index":{at},"id":"c{at}","function":{{"name":"f","arguments":"{{}}"}}}}]}}"#
        )
    });
    for sent in [whole, streamed] {
        assert_eq!(is_read(&sent, 512 * MEBIBYTE).tool_calls().count(), 60_000);
    }
}

#[test]
fn sixty_thousand_calls_in_items_are_read() {
    let item = |at| {
        format!(
            r#"{{"type":"function_call","id":"i{at}","call_id":"c{at}","name":"f","arguments":"{{}}"}}"#
        )
    };
    let sent = bodies::responses(&bodies::list(60_000, item));
    assert_eq!(is_read(&sent, 512 * MEBIBYTE).tool_calls().count(), 60_000);
}

#[test]
fn white_space_that_arrives_byte_by_byte_is_scanned_once() {
    let mut sent = bodies::chunks(60_000, |_| r#"{"content":" "}"#.to_owned());
    sent.provider = "groq";
    sent.model = "deepseek-r1-distill-llama-70b";
    assert_eq!(is_read(&sent, 64 * MEBIBYTE).text().len(), 60_000);
}

#[test]
fn a_tree_that_is_too_large_is_refused_before_it_is_built() {
    let block = format!(r#"[{{"type":"new","list":{}}}]"#, bodies::same(1_200_000, r#"{"":0}"#));
    let (outcome, counted) = read(&bodies::anthropic(&block));
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::TooLarge);
    assert!(counted.bytes_max < 700 * MEBIBYTE, "{} bytes of memory", counted.bytes_max);
}

#[test]
fn empty_vectors_are_refused_before_they_take_memory() {
    let ai = agentloop::AgentLoop::builder().build().unwrap();
    let body = format!(r#"{{"data":{}}}"#, bodies::same(1_000_000, "{}"));
    let answer = HttpResponse::new(body);
    let counted = allocation_counter::measure(|| {
        inspect::decode_embed(&ai, &DecodeOptions::new("openai"), &answer).unwrap_err();
    });
    assert!(counted.bytes_max < 500 * MEBIBYTE, "{} bytes of memory", counted.bytes_max);
}
