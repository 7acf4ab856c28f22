//! The other side: requests in each protocol's own words, and answers written in them.

use agentloop::inspect::{DecodeOptions, HttpResponse, encode};
use agentloop::protocol::serve::{StreamWriter, read_chat, read_embed, write_body};
use agentloop::{ChatRequest, ChatResponse, ChatStream, ChatStreamEvent, Protocol};

use super::encode::{encodes, histories};
use super::laws::{client, decode, now, speakers};
use crate::seeds::{fixtures, input, parts};

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (at, protocol) in Protocol::ALL.iter().enumerate() {
        let at = u8::try_from(at).unwrap_or_default();
        let speaker = speakers(*protocol)[0];
        for history in histories().into_iter().step_by(5) {
            let mut request: ChatRequest = serde_json::from_value(history).unwrap();
            request.model = format!("{speaker}/some-model");
            request.protocol = Some(*protocol);
            let encoded = encode(client(), &request, true).unwrap();
            seeds.push(input(at, 0, encoded.body.get()));
        }
        let mut options = DecodeOptions::new(speaker);
        options.protocol = Some(*protocol);
        for (_, body) in fixtures(*protocol).into_iter().filter(|(stream, _)| !stream) {
            if let Some(ChatStreamEvent::MessageDone { response }) =
                decode(&options, HttpResponse::new(body)).events.last()
            {
                seeds.push(input(at, 1, serde_json::to_string(response).unwrap()));
            }
        }
    }
    seeds
}

pub(super) fn check(bytes: &[u8]) {
    let Some((at, _, json)) = parts(bytes) else { return };
    let protocol = Protocol::ALL[usize::from(at) % Protocol::ALL.len()];
    let path = "/v1beta/models/some-model:streamGenerateContent?alt=sse";
    if let Ok(served) = read_chat(protocol, path, json) {
        let mut request = served.request;
        request.model = format!("{}/some-model", speakers(protocol)[0]);
        request.protocol = Some(protocol);
        encodes(client(), &request, served.stream);
    }
    let _ = read_embed(protocol, "/v1beta/models/some-model:embedContent", json);
    if let Ok(response) = serde_json::from_slice::<ChatResponse>(json) {
        let mut options = DecodeOptions::new(speakers(protocol)[0]);
        options.protocol = Some(protocol);
        let body = write_body(protocol, &response);
        let length = body.len();
        decode(&options, HttpResponse::new(body)).keeps_the_laws(length);
        options.stream = true;
        let mut writer = StreamWriter::new(protocol, true);
        let mut stream = ChatStream::from_response(&response);
        let mut written = Vec::new();
        while let Some(event) = now(stream.next()) {
            // A response of anybody's making may be one that no stream could have brought.
            let Ok(event) = event else { return };
            written.extend_from_slice(&writer.write(&event));
        }
        let length = written.len();
        decode(&options, HttpResponse::new(written)).keeps_the_laws(length);
    }
}
