//! Responses with any status and any headers: lines of headers, a blank line, and the body.

use agentloop::inspect::{DecodeOptions, HttpResponse};
use agentloop::{Protocol, limits};
use http::{HeaderName, HeaderValue};

use super::laws::{decode, speakers};
use crate::seeds::{input, parts};

const BODY: &str = r#"{"error":{"message":"slow down","details":[{"retryDelay":"46s"}],"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1744230360000"}}}}"#;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let heads = [
        "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\nx-request-id: 7",
        "retry-after: 12\nretry-after-ms: 1500.5\nx-should-retry: true",
        "x-ratelimit-remaining-tokens: 0\nx-ratelimit-reset-tokens: 6m0s",
        "x-ratelimit-remaining: 0\nx-ratelimit-reset: 1800000012500",
        "content-type: text/event-stream; charset=utf-8",
        "anthropic-ratelimit-requests-reset: 2026-11-15T20:00:00Z\nanthropic-ratelimit-requests-remaining: 0",
    ];
    let with_body = |head: &str| format!("{head}\n\n{BODY}");
    let mut seeds: Vec<Vec<u8>> = heads.iter().map(|head| input(2, 29, with_body(head))).collect();
    seeds.push(input(1, 0, "content-type: text/event-stream\n\ndata: [DONE]\n\n"));
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Some((how, status, bytes)) = parts(bytes) else { return };
    let protocol = Protocol::ALL[usize::from(how >> 1) % Protocol::ALL.len()];
    let mut options = DecodeOptions::new(speakers(protocol)[0]);
    options.protocol = Some(protocol);
    options.stream = how & 1 == 1;
    let end = bytes.windows(2).position(|pair| pair == b"\n\n").unwrap_or(bytes.len());
    let mut answer = HttpResponse::new(bytes.get(end + 2..).unwrap_or_default().to_vec());
    answer.status = if status == 0 { 200 } else { 400 + u16::from(status) };
    for line in bytes[..end].split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(line[..colon].trim_ascii());
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            answer.headers.append(name, value);
        }
    }
    let read = decode(&options, answer);
    read.keeps_the_laws(bytes.len());
    let Some(error) = read.error else { return };
    assert!(error.retry_after().is_none_or(|wait| wait <= limits::MAX_TIMEOUT));
    let json = serde_json::to_string(&error).unwrap();
    let again: agentloop::Error = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
}
