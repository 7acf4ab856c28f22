//! Responses of OpenAI-compatible providers: how each known deviation is decoded.

use crate::common;

use common::{Outcome, decode, decode_chunks, decode_deltas, delta, finish};
use serde_json::{Value, json};

const OPENAI: &str = "--provider openai";

fn content(run: &Outcome) -> Value {
    run.response()["choices"][0]["content"].take()
}

/// Formats the parts of a response as `kind:text` or `call:id:name:arguments`.
fn parts(run: &Outcome) -> Vec<String> {
    let content = content(run);
    let word = |part: &Value, name: &str| part[name].as_str().unwrap_or_default().to_owned();
    let show = |part: &Value| match part["type"].as_str().unwrap_or_default() {
        "text" => format!("text:{}", word(part, "text")),
        "thinking" => format!("thinking:{}", word(part, "thinking")),
        "tool_call" => {
            format!("call:{}:{}:{}", word(part, "id"), word(part, "name"), word(part, "arguments"))
        }
        other => other.to_owned(),
    };
    content.as_array().into_iter().flatten().map(show).collect()
}

fn finish_reason(run: &Outcome) -> Value {
    run.response()["choices"][0]["finishReason"].take()
}

#[test]
fn c0_unused_fields_may_have_any_shape() {
    let body = r#"{"id":7,"object":null,"created":"soon","model":null,"service_tier":{"a":1},"system_fingerprint":[],
        "choices":[{"index":null,"finish_reason":"stop","logprobs":"no","message":{"role":5,"content":"Hello",
        "tool_calls":null,"annotations":null,"audio":null,"refusal":null,"function_call":null,"reasoning":null}}],
        "usage":null,"x_new":{"deep":[1]}}"#;
    assert_eq!(parts(&decode(OPENAI, body)), ["text:Hello"]);
}

#[test]
fn c0_an_unknown_finish_reason_is_kept() {
    let run = decode_deltas(OPENAI, &[r#"{"content":"Hello"}"#], "tired");
    let choice = run.response()["choices"][0].take();
    assert_eq!(choice["finishReason"], "tired");
    assert_eq!(choice["rawFinishReason"], "tired");
}

#[test]
fn c1_deltas_are_assigned_to_their_call() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "by index, id on the first only",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#,
            ],
            &[r#"call:a:f:{"x":1}"#],
        ),
        (
            "two calls that interleave",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"id":"b","function":{"name":"g","arguments":"["}}]}"#,
                r#"{"tool_calls":[{"index":1,"function":{"arguments":"]"}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}", "call:b:g:[]"],
        ),
        (
            "a new id under an old index is a new call",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}"#,
            ],
            &["call:a:f:{}", "call:b:f:{}"],
        ),
        (
            "id and name repeated on every delta",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}"],
        ),
        (
            "empty id and name on a continuation",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"","function":{"name":"","arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}"],
        ),
        (
            "null id and name on a continuation",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}"],
        ),
        (
            "no index: the latest call",
            &[
                r#"{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"function":{"arguments":"}"}}]}"#,
                r#"{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"function":{"arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}", "call:b:g:{}"],
        ),
        (
            "a known id goes before the index",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":1,"id":"a","function":{"arguments":"}"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}", "call:b:g:{}"],
        ),
        (
            "an index as text",
            &[
                r#"{"tool_calls":[{"index":"0","id":"a","function":{"name":"f","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":"1","id":"b","function":{"name":"g","arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":"0","function":{"arguments":"}"}}]}"#,
                r#"{"tool_calls":[{"index":"1","function":{"arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}", "call:b:g:{}"],
        ),
        (
            "a late name",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}"#,
            ],
            &["call:a:f:{}"],
        ),
        (
            "arguments as an object",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}"#,
            ],
            &[r#"call:a:f:{"x":1}"#],
        ),
        (
            "whole calls in one chunk under one index",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"g","arguments":"{}"}}]}"#,
            ],
            &["call:a:f:{}", "call:b:g:{}"],
        ),
        (
            "JSON that looks complete is not the end",
            &[
                r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#,
                r#"{"tool_calls":[{"index":0,"function":{"arguments":" "}}]}"#,
            ],
            &["call:a:f:{} "],
        ),
    ];
    for (what, deltas, expected) in cases {
        let run = decode_deltas(OPENAI, deltas, "tool_calls");
        assert_eq!(parts(&run), *expected, "{what}");
        assert_eq!(finish_reason(&run), "tool_calls", "{what}");
    }
}

#[test]
fn c1_a_late_name_delays_the_start_event() {
    let chunks = [
        delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{"}}]}"#),
        delta(r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"}"}}]}"#),
        finish("tool_calls"),
    ];
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let events = decode_chunks("--provider openai --events", &chunks).lines();
    let start = events.iter().find(|event| event["type"] == "content.start").unwrap();
    assert_eq!(start["part"]["name"], "f");
    assert_eq!(start["part"]["id"], "a");
}

#[test]
fn c1_a_call_that_never_gets_a_name_is_an_error() {
    let run = decode_deltas(
        OPENAI,
        &[r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}"#],
        "tool_calls",
    );
    assert_eq!(run.error()["kind"], "protocol");
}

#[test]
fn c1_calls_without_ids_get_generated_ids() {
    let run = decode_deltas(
        OPENAI,
        &[
            r#"{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"function":{"name":"f","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
    );
    let content = content(&run);
    let (a, b) = (content[0]["id"].as_str().unwrap(), content[1]["id"].as_str().unwrap());
    assert!(!a.is_empty() && !b.is_empty() && a != b, "{a} {b}");
}

#[test]
fn c1_a_truncated_response_with_calls_keeps_its_finish_reason() {
    let call =
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}]}"#;
    for (word, unified) in
        [("length", "length"), ("content_filter", "content_filter"), ("stop", "tool_calls")]
    {
        assert_eq!(finish_reason(&decode_deltas(OPENAI, &[call], word)), unified);
    }
    assert_eq!(
        finish_reason(&decode_deltas(OPENAI, &[r#"{"content":"a"}"#], "tool_calls")),
        "stop"
    );
}

#[test]
fn c2_usage_is_found_in_every_known_place() {
    let usage = r#""usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}"#;
    let first = r#""usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}"#;
    let chunk = |more: &str, reason: &str| {
        format!(
            r#"{{"id":"c","choices":[{{"index":0,"delta":{{"content":"a"}},"finish_reason":{reason}}}]{more}}}"#
        )
    };
    let last = format!(r#"{{"id":"c","choices":[],{usage}}}"#);
    let null = r#"{"id":"c","choices":null,"usage":null}"#.to_owned();
    let groq = format!(r#","x_groq":{{"id":"r",{usage}}}"#);
    for (what, chunks) in [
        ("last chunk", vec![chunk("", "\"stop\""), last]),
        ("finish chunk", vec![chunk(&format!(",{usage}"), "\"stop\"")]),
        (
            "every chunk",
            vec![chunk(&format!(",{first}"), "null"), chunk(&format!(",{usage}"), "\"stop\"")],
        ),
        ("x_groq", vec![chunk(&groq, "\"stop\"")]),
        ("null after it", vec![chunk(&format!(",{usage}"), "\"stop\""), null]),
        ("choices missing", vec![chunk("", "\"stop\""), format!("{{\"id\":\"c\",{usage}}}")]),
    ] {
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let usage = decode_chunks(OPENAI, &chunks).response()["usage"].take();
        assert_eq!(
            usage,
            json!({"promptTokens": 3, "completionTokens": 2, "totalTokens": 5}),
            "{what}"
        );
    }
    let none = decode_chunks(OPENAI, &[&chunk("", "\"stop\"")]).response();
    assert_eq!(none["usage"], json!({}), "absent, not zero");
}

#[test]
fn c2_cached_and_reasoning_tokens_are_part_of_the_totals() {
    let body = r#"{"id":"c","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,
        "completion_tokens":50,"total_tokens":150,"prompt_tokens_details":{"cached_tokens":60},
        "completion_tokens_details":{"reasoning_tokens":40}}}"#;
    let usage = decode(OPENAI, body).response()["usage"].take();
    assert_eq!(
        usage,
        json!({"promptTokens":100,"completionTokens":50,"totalTokens":150,"details":{"reasoningTokens":40,"cachedTokens":60}})
    );
    let body = r#"{"id":"c","choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,
        "completion_tokens":50,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36}}"#;
    let usage = decode("--provider deepseek", body).response()["usage"].take();
    assert_eq!(usage["details"]["cachedTokens"], 64);
    assert_eq!(usage["totalTokens"], 150);
}

#[test]
fn c3_there_is_one_start_event_whatever_the_first_chunk_is() {
    for first in [
        r#"{"id":"c","model":"m","choices":[]}"#,
        r#"{"id":"c","model":"m","choices":null}"#,
        r#"{"id":"c","model":"m"}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":null}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"role":"user","content":null}}]}"#,
        r#"{"id":"","model":"","choices":[],"prompt_filter_results":[]}"#,
    ] {
        let again = delta(r#"{"role":"assistant","content":"Hello"}"#);
        let run = decode_chunks("--provider openai --events", &[first, &again, &finish("stop")]);
        let kinds: Vec<String> =
            run.lines().iter().map(|e| e["type"].as_str().unwrap().to_owned()).collect();
        let expected = [
            "message.start",
            "content.start",
            "content.delta",
            "content.done",
            "message.delta",
            "message.done",
        ];
        let kinds: Vec<&str> =
            kinds.iter().map(String::as_str).filter(|kind| *kind != "metadata").collect();
        assert_eq!(kinds, expected, "{first}");
    }
}

#[test]
fn c4_parts_close_before_the_next_opens() {
    let call = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    let run = decode_deltas(
        OPENAI,
        &[
            r#"{"reasoning_content":"Hm"}"#,
            r#"{"reasoning_content":"m."}"#,
            r#"{"content":"So"}"#,
            r#"{"content":"."}"#,
            r#"{"reasoning_content":"Again."}"#,
            r#"{"content":"Yes"}"#,
            call,
        ],
        "tool_calls",
    );
    assert_eq!(
        parts(&run),
        ["thinking:Hmm.", "text:So.", "thinking:Again.", "text:Yes", "call:a:f:{}"]
    );
}

#[test]
fn c4_two_reasoning_fields_in_one_delta_are_one_part() {
    let both = r#"{"reasoning_content":"Hm","reasoning":"Hm"}"#;
    let run = decode_deltas(OPENAI, &[both, both, r#"{"content":"So"}"#], "stop");
    assert_eq!(parts(&run), ["thinking:HmHm", "text:So"]);
    let change = [
        r#"{"reasoning_content":"a"}"#,
        r#"{"reasoning":"b"}"#,
        r#"{"content":"c","reasoning":""}"#,
    ];
    assert_eq!(parts(&decode_deltas(OPENAI, &change, "stop")), ["thinking:ab", "text:c"]);
}

#[test]
fn c4_thinking_precedes_text_of_the_same_delta() {
    let run = decode_deltas(OPENAI, &[r#"{"content":"So","reasoning":"Hm"}"#], "stop");
    assert_eq!(parts(&run), ["thinking:Hm", "text:So"]);
}

#[test]
fn c5_think_tags_become_thinking() {
    const R1: &str = "--provider together --model deepseek-ai/DeepSeek-R1";
    for (what, text, expected) in [
        ("a pair", "<think>Hm</think>So", &["thinking:Hm", "text:So"][..]),
        ("white space before", "\n <think>Hm</think>So", &["thinking:Hm", "text:So"]),
        ("empty", "<think></think>So", &["text:So"]),
        ("empty but for white space", "<think>\n\n</think>\n\nSo", &["text:So"]),
        (
            "several",
            "<think>a</think>b<think>c</think>d",
            &["thinking:a", "text:b", "thinking:c", "text:d"],
        ),
        ("unclosed", "<think>Hm", &["thinking:Hm"]),
        ("a lone < at the end", "<think>Hm</think>1 <", &["thinking:Hm", "text:1 <"]),
        ("part of a tag at the end", "<think>Hm</think>So <thi", &["thinking:Hm", "text:So <thi"]),
        ("other tags", "<think>Hm</think><b>So</b>", &["thinking:Hm", "text:<b>So</b>"]),
    ] {
        let letters: Vec<String> =
            text.chars().map(|c| json!({"content": c.to_string()}).to_string()).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        let whole = json!({"content": text}).to_string();
        for (how, deltas) in [("whole", vec![whole.as_str()]), ("by letters", letters)] {
            let run = decode_deltas(R1, &deltas, "stop");
            let trimmed: Vec<String> =
                parts(&run).iter().map(|part| part.replace("text:\n\n", "text:")).collect();
            assert_eq!(trimmed, expected, "{what}, {how}");
        }
    }
}

#[test]
fn c5_think_tags_are_text_for_other_models() {
    let run = decode_deltas(
        "--provider openai --model gpt-4.1",
        &[r#"{"content":"<think>Hm</think>So"}"#],
        "stop",
    );
    assert_eq!(parts(&run), ["text:<think>Hm</think>So"]);
}

#[test]
fn c6_a_refusal_is_text_that_was_filtered() {
    for word in ["stop", "length", "content_filter"] {
        let run = decode_deltas(OPENAI, &[r#"{"refusal":"I can"}"#, r#"{"refusal":"not."}"#], word);
        assert_eq!(parts(&run), ["text:I cannot."]);
        assert_eq!(finish_reason(&run), "content_filter", "{word}");
        assert_eq!(run.response()["choices"][0]["rawFinishReason"], word);
    }
    let body = r#"{"id":"c","choices":[{"message":{"content":null,"refusal":"No."},"finish_reason":"stop"}]}"#;
    let run = decode(OPENAI, body);
    assert_eq!(
        (parts(&run), finish_reason(&run)),
        (vec!["text:No.".to_owned()], json!("content_filter"))
    );
}

/// Creates a body with one call of `f`, whose function has this field.
fn call_with(field: &str) -> String {
    format!(
        r#"{{"id":"c","choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"f"{field}}}}}]}},"finish_reason":"tool_calls"}}]}}"#
    )
}

#[test]
fn c6_arguments_of_every_json_type_become_text() {
    for (arguments, text) in
        [(r#"{"x":[1]}"#, r#"{"x":[1]}"#), (r#""{\"x\":1}""#, r#"{"x":1}"#), ("{}", "{}")]
    {
        let run = decode(OPENAI, &call_with(&format!(r#","arguments":{arguments}"#)));
        assert_eq!(parts(&run), [format!("call:a:f:{text}")], "{arguments}");
    }
}

#[test]
fn c6_no_arguments_are_an_empty_object() {
    for field in [r#","arguments":null"#, r#","arguments":"""#, ""] {
        let run = decode(OPENAI, &call_with(field));
        assert_eq!(parts(&run), ["call:a:f:{}"], "{field:?}");
    }
}

#[test]
fn c6_content_may_be_a_list_of_chunks() {
    let run = decode_deltas(
        "--provider mistral",
        &[
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}"#,
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]}]}"#,
            r#"{"content":[{"type":"text","text":"So"}]}"#,
            r#"{"content":"."}"#,
        ],
        "stop",
    );
    assert_eq!(parts(&run), ["thinking:Hmm", "text:So."]);
}

#[test]
fn c6_the_legacy_function_call_is_decoded() {
    let run = decode_deltas(
        OPENAI,
        &[
            r#"{"function_call":{"name":"f","arguments":""}}"#,
            r#"{"function_call":{"arguments":"{\"x\":"}}"#,
            r#"{"function_call":{"arguments":"1}"}}"#,
        ],
        "function_call",
    );
    let call = content(&run)[0].take();
    assert_eq!((&call["name"], &call["arguments"]), (&json!("f"), &json!(r#"{"x":1}"#)));
    assert_eq!(finish_reason(&run), "tool_calls");
}

#[test]
fn c6_several_choices_interleave() {
    let chunk = |index: u32, text: &str, reason: &str| {
        format!(
            r#"{{"id":"c","model":"m","choices":[{{"index":{index},"delta":{{"content":"{text}"}},"finish_reason":{reason}}}]}}"#
        )
    };
    let chunks = [
        chunk(1, "B", "null"),
        chunk(0, "A", "null"),
        chunk(1, "b", "\"stop\""),
        chunk(0, "a", "\"length\""),
    ];
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let choices = decode_chunks(OPENAI, &chunks).response()["choices"].take();
    assert_eq!(choices[0]["content"][0]["text"], "Aa");
    assert_eq!(choices[0]["finishReason"], "length");
    assert_eq!(choices[1]["content"][0]["text"], "Bb");
    assert_eq!(choices[1]["index"], 1);
}

#[test]
fn c6_the_first_model_name_is_kept() {
    let chunks = [
        r#"{"id":"c","model":"m-1","choices":[{"index":0,"delta":{"content":"a"}}]}"#,
        r#"{"id":"c","model":"m-1-2025","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}"#,
    ];
    assert_eq!(parts(&decode_chunks(OPENAI, &chunks)), ["text:ab"]);
}

#[test]
fn c6_a_body_and_its_stream_are_the_same_response() {
    let body = r#"{"id":"c1","model":"m","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"Hm","content":"So",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let deltas = [
        r#"{"role":"assistant"}"#,
        r#"{"reasoning_content":"Hm"}"#,
        r#"{"content":"So"}"#,
        r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
    ];
    let streamed = decode_deltas(OPENAI, &deltas, "tool_calls").response();
    assert_eq!(decode(OPENAI, body).response(), streamed);
}

#[test]
fn c7_repeated_citations_are_kept_once() {
    let chunk = |text: &str, reason: &str| {
        format!(
            r#"{{"id":"c","model":"sonar","citations":["https://a.example","https://b.example"],
            "search_results":[{{"title":"A","url":"https://a.example"}},{{"title":"B","url":"https://b.example"}}],
            "images":[{{"image_url":"https://i.example"}}],"related_questions":["Why?"],
            "choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":{reason}}}]}}"#
        )
        .replace('\n', " ")
    };
    let chunks = [chunk("One[1] ", "null"), chunk("two[2].", "\"stop\"")];
    let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
    let answer = decode_chunks("--provider perplexity --model sonar", &chunks).response();
    let part = &answer["choices"][0]["content"][0];
    assert_eq!(part["text"], "One[1] two[2].");
    let citations = part["citations"].as_array().unwrap();
    assert_eq!(citations.len(), 2, "{part}");
    assert_eq!(citations[0]["url"], "https://a.example");
    assert_eq!(citations[0]["number"], 1);
    assert_eq!(citations[1]["number"], 2);
    assert_eq!(citations[1]["title"], "B");
    let metadata = &answer["providerMetadata"];
    assert_eq!(metadata["relatedQuestions"], json!(["Why?"]));
    assert!(metadata["images"].is_array() && metadata["searchResults"].is_array(), "{metadata}");
}
