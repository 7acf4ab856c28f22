//! What the server sends, made once. Every event of a stream is an HTTP chunk of its own, as servers that flush
//! after each event send it.

use crate::scenario::{Kind, Scenario, Wire};
use crate::{MODEL, TOOL};

const USAGE: &str = r#"{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}"#;

/// Returns the head of a complete response of `length` bytes.
pub fn whole_head(length: usize) -> String {
    format!(
        "HTTP/1.1 200 OK\r\n{}content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        common()
    )
}

/// Returns the head of a stream.
pub fn stream_head() -> String {
    format!(
        "HTTP/1.1 200 OK\r\n{}content-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
        common()
    )
}

fn common() -> &'static str {
    "date: Sun, 15 Nov 2026 10:00:00 GMT\r\nserver: mock\r\nx-request-id: req_0123456789abcdef0123456789abcdef\r\n\
     x-ratelimit-limit-requests: 10000\r\nx-ratelimit-remaining-requests: 9999\r\nx-ratelimit-reset-requests: 6ms\r\n\
     strict-transport-security: max-age=31536000; includeSubDomains; preload\r\n"
}

/// Returns all bytes of the response; of an idle stream, those before the wait.
pub fn answer(scenario: &Scenario) -> Vec<u8> {
    if let Kind::Chat { .. } = scenario.kind {
        let body = whole(scenario);
        let mut bytes = whole_head(body.len()).into_bytes();
        bytes.extend_from_slice(body.as_bytes());
        return bytes;
    }
    let mut bytes = stream_head().into_bytes();
    for event in events(scenario) {
        chunk(&mut bytes, &event);
    }
    if !matches!(scenario.kind, Kind::Idle) {
        bytes.extend_from_slice(b"0\r\n\r\n");
    }
    bytes
}

/// Appends one chunk.
pub fn chunk(bytes: &mut Vec<u8>, event: &str) {
    bytes.extend_from_slice(format!("{:x}\r\n", event.len()).as_bytes());
    bytes.extend_from_slice(event.as_bytes());
    bytes.extend_from_slice(b"\r\n");
}

fn whole(scenario: &Scenario) -> String {
    let text = quoted(&scenario.expected());
    match scenario.wire {
        Wire::OpenAi => format!(
            r#"{{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion","created":1763200000,"model":"{MODEL}","choices":[{{"index":0,"message":{{"role":"assistant","content":{text},"refusal":null,"annotations":[]}},"logprobs":null,"finish_reason":"stop"}}],"usage":{USAGE},"service_tier":"default","system_fingerprint":"fp_44709d6fcb"}}"#
        ),
        Wire::Responses => response("completed", &message("completed", &text), RESPONSES_USAGE),
        Wire::Anthropic => format!(
            r#"{{"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant","model":"{MODEL}","content":[{{"type":"text","text":{text}}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":19,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":10,"service_tier":"standard"}}}}"#
        ),
        Wire::Gemini => generated(&text, true),
    }
}

/// Writes the events of a stream.
pub fn events(scenario: &Scenario) -> Vec<String> {
    let pieces = scenario.pieces();
    match (scenario.wire, scenario.kind) {
        (Wire::Responses, _) => responses(&pieces),
        (Wire::Anthropic, _) => anthropic(&pieces),
        (Wire::Gemini, _) => gemini(&pieces),
        (Wire::OpenAi, Kind::Tools { .. }) => openai_tools(&pieces),
        (Wire::OpenAi, Kind::Idle) => {
            vec![openai_delta(&format!("{{\"content\":{}}}", quoted(&pieces[0])), "null")]
        }
        (Wire::OpenAi, _) => openai(&pieces),
    }
}

/// Writes OpenAI's response object with the items of its output.
fn response(status: &str, output: &str, usage: &str) -> String {
    format!(
        r#"{{"id":"resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b","object":"response","created_at":1763200000,"status":"{status}","error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"model":"{MODEL}","output":[{output}],"parallel_tool_calls":true,"previous_response_id":null,"reasoning":{{"effort":null,"summary":null}},"store":true,"temperature":1.0,"text":{{"format":{{"type":"text"}}}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":{usage},"user":null,"metadata":{{}}}}"#
    )
}

const RESPONSES_USAGE: &str = r#"{"input_tokens":19,"input_tokens_details":{"cached_tokens":0},"output_tokens":10,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":29}"#;
const ITEM: &str = "msg_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b";

fn text_part(text: &str) -> String {
    format!(r#"{{"type":"output_text","text":{text},"annotations":[]}}"#)
}

fn message(status: &str, text: &str) -> String {
    let content = text_part(text);
    format!(
        r#"{{"type":"message","id":"{ITEM}","status":"{status}","role":"assistant","content":[{content}]}}"#
    )
}

fn responses(pieces: &[String]) -> Vec<String> {
    let text = quoted(&pieces.concat());
    let place = format!(r#""item_id":"{ITEM}","output_index":0,"content_index":0"#);
    let begun = response("in_progress", "", "null");
    let empty = format!(
        r#"{{"type":"message","id":"{ITEM}","status":"in_progress","role":"assistant","content":[]}}"#
    );
    let mut steps = vec![
        ("response.created", format!(r#""response":{begun}"#)),
        ("response.in_progress", format!(r#""response":{begun}"#)),
        ("response.output_item.added", format!(r#""output_index":0,"item":{empty}"#)),
        ("response.content_part.added", format!(r#"{place},"part":{}"#, text_part("\"\""))),
    ];
    steps.extend(pieces.iter().map(|piece| {
        (
            "response.output_text.delta",
            format!(r#"{place},"delta":{},"logprobs":[]"#, quoted(piece)),
        )
    }));
    let item = message("completed", &text);
    steps.extend([
        ("response.output_text.done", format!(r#"{place},"text":{text},"logprobs":[]"#)),
        ("response.content_part.done", format!(r#"{place},"part":{}"#, text_part(&text))),
        ("response.output_item.done", format!(r#""output_index":0,"item":{item}"#)),
        (
            "response.completed",
            format!(r#""response":{}"#, response("completed", &item, RESPONSES_USAGE)),
        ),
    ]);
    let event = |(number, (name, fields)): (usize, (&str, String))| {
        format!(
            "event: {name}\ndata: {{\"type\":\"{name}\",\"sequence_number\":{number},{fields}}}\n\n"
        )
    };
    steps.into_iter().enumerate().map(event).collect()
}

/// Writes one event of OpenAI's chat stream.
fn openai_delta(delta: &str, finish: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion.chunk\",\"created\":1763200000,\"model\":\"{MODEL}\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}],\"usage\":null}}\n\n"
    )
}

/// Writes the end of OpenAI's chat stream.
fn openai_end(finish: &str) -> Vec<String> {
    vec![
        openai_delta("{}", finish),
        format!(
            "data: {{\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":\"chat.completion.chunk\",\"created\":1763200000,\"model\":\"{MODEL}\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_44709d6fcb\",\"choices\":[],\"usage\":{USAGE}}}\n\n"
        ),
        "data: [DONE]\n\n".to_owned(),
    ]
}

/// Writes the beginning of OpenAI's chat stream.
fn openai_begin() -> String {
    openai_delta("{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null}", "null")
}

fn openai(pieces: &[String]) -> Vec<String> {
    let mut events = vec![openai_begin()];
    events.extend(
        pieces
            .iter()
            .map(|text| openai_delta(&format!("{{\"content\":{}}}", quoted(text)), "null")),
    );
    events.extend(openai_end("\"stop\""));
    events
}

fn openai_tools(pieces: &[String]) -> Vec<String> {
    let mut events = vec![openai_delta(
        &format!(
            "{{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{{\"index\":0,\"id\":\"call_DdmO9pD3xa9XTPNJ32zg2hcA\",\"type\":\"function\",\"function\":{{\"name\":\"{TOOL}\",\"arguments\":\"\"}}}}],\"refusal\":null}}"
        ),
        "null",
    )];
    events.extend(pieces.iter().map(|text| {
        let delta = format!(
            "{{\"tool_calls\":[{{\"index\":0,\"function\":{{\"arguments\":{}}}}}]}}",
            quoted(text)
        );
        openai_delta(&delta, "null")
    }));
    events.extend(openai_end("\"tool_calls\""));
    events
}

fn anthropic(pieces: &[String]) -> Vec<String> {
    let mut events = vec![
        format!(
            "event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg_01XFDUDYJgAACzvnptvVoYEL\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"{MODEL}\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{{\"input_tokens\":19,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,\"output_tokens\":1,\"service_tier\":\"standard\"}}}}}}\n\n"
        ),
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n".to_owned(),
        "event: ping\ndata: {\"type\": \"ping\"}\n\n".to_owned(),
    ];
    events.extend(pieces.iter().map(|text| {
        format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":{}}}}}\n\n",
            quoted(text)
        )
    }));
    events.push(
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
            .to_owned(),
    );
    events.push("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":10}}\n\n".to_owned());
    events.push("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n".to_owned());
    events
}

fn gemini(pieces: &[String]) -> Vec<String> {
    let last = pieces.len() - 1;
    let event = |(at, text): (usize, &String)| {
        format!("data: {}\r\n\r\n", generated(&quoted(text), at == last))
    };
    pieces.iter().enumerate().map(event).collect()
}

fn generated(text: &str, last: bool) -> String {
    let finish = if last { ",\"finishReason\": \"STOP\"" } else { "" };
    format!(
        "{{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": {text}}}],\"role\": \"model\"}}{finish},\"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 19,\"candidatesTokenCount\": 10,\"totalTokenCount\": 29,\"promptTokensDetails\": [{{\"modality\": \"TEXT\",\"tokenCount\": 19}}]}},\"modelVersion\": \"{MODEL}\",\"responseId\": \"V0QYaZ2tLcOOxN8Pk6bG4As\"}}"
    )
}

/// Writes a JSON string. The texts here contain nothing else that needs an escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
