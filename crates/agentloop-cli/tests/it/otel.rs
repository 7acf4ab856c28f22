//! Calls are exported as spans over OTLP, to a collector in the test.
#![cfg(feature = "otel")]

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use crate::common::port::Port;
use crate::common::{Outcome, agentloop, command};

/// Reads one request, and returns its head and its body.
fn collect(listener: &TcpListener) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..read]);
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let Some(end) = head.map(|at| at + 4) else { continue };
        let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
        if bytes.len() >= end + length || read == 0 {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            return (text, bytes.split_off(end));
        }
    }
}

#[test]
fn each_call_is_exported_as_a_span() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let mut command = command(["chat", "-m", "sim/echo", "Hello"]);
    let child = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &address).spawn().unwrap();
    let (head, body) = collect(&listener);
    Outcome::of(child).exits(0);
    assert!(head.starts_with("post /v1/traces"), "{head}");
    let body = String::from_utf8_lossy(&body);
    for word in ["gen_ai.operation.name", "gen_ai.usage.input_tokens", "chat echo", "agentloop"] {
        assert!(body.contains(word), "{word} is missing in {body:?}");
    }
    assert!(!body.contains("Hello"), "what was said is not written unasked");
}

#[test]
fn an_unreachable_collector_does_not_fail_the_command() {
    let port = Port::reserve();
    let address = format!("http://{}", port.address());
    let run = agentloop(["chat", "-m", "sim/echo", "Hello"]);
    run.env("OTEL_EXPORTER_OTLP_ENDPOINT", &address).run().exits(0).shows("Hello");
}
