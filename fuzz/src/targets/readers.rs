//! Requests of a gateway's clients, in the format of one API, and what is sent to a provider of another.

use agentloop::carry::restore;
use agentloop::inspect::encode;
use agentloop::protocol::serve::{read_chat, read_embed};
use agentloop::{ChatRequest, EmbedRequest, Error, ErrorKind, Protocol};
use serde_json::{Value, json};

use super::encode::{encodes, everything, histories, targets};
use super::laws::{client, speakers};
use crate::seeds::{input, parts};

/// Paths of requests: those of clients, and those that no client sends.
const PATHS: [&str; 8] = [
    "/v1/chat/completions",
    "/v1beta/models/some-model:streamGenerateContent?alt=sse",
    "/v1beta/models/some%2Fmodel:generateContent",
    "/v1/models/:streamGenerateContent",
    "/models",
    "",
    "/v1beta/models/a:b:c?alt=json&alt=sse&%",
    "/v1/messages?beta=true",
];

pub(crate) fn seeds(protocol: Protocol) -> Vec<Vec<u8>> {
    let speaker = speakers(protocol)[0];
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "Hello"}]});
    let mut requests = histories();
    requests.extend([plain, everything()]);
    let mut seeds = Vec::new();
    for (at, request) in requests.into_iter().enumerate() {
        let mut request: ChatRequest = serde_json::from_value(request).unwrap();
        request.model = format!("{speaker}/some-model");
        request.protocol = Some(protocol);
        // Some conversations cannot be sent in every protocol.
        if let Ok(encoded) = encode(client(), &request, true) {
            let at = u8::try_from(at % 251).unwrap_or_default();
            seeds.push(input(at, at % 2, encoded.body.get()));
        }
    }
    seeds
}

pub(crate) fn check(protocol: Protocol, bytes: &[u8]) {
    let Some((at, how, json)) = parts(bytes) else { return };
    let usual = usize::from(protocol == Protocol::Gemini);
    let path = if how < 128 { PATHS[usual] } else { PATHS[usize::from(how) % PATHS.len()] };
    let served = match read_chat(protocol, path, json) {
        Ok(served) => served,
        Err(error) => return is_of_the_client(&error),
    };
    let again = read_chat(protocol, path, json).unwrap();
    assert_eq!(served.request, again.request);
    assert_eq!(served.warnings, again.warnings);
    assert!(served.warnings.iter().all(|warning| !warning.message.is_empty()));
    let mut request = served.request;
    let messages = request.messages.len();
    assert!(restore(&mut request).iter().all(|warning| !warning.message.is_empty()));
    assert_eq!(request.messages.len(), messages);
    let targets = targets();
    let (provider, upstream) = &targets[usize::from(at) % targets.len()];
    request.model = format!("{provider}/some-model");
    request.protocol = Some(*upstream);
    encodes(client(), &request, served.stream);
}

const EMBED: [&str; 8] = [
    r#"{"model":"m","input":["one","two"],"dimensions":3,"user":"u","encoding_format":"base64"}"#,
    r#"{"model":"m","input":"one"}"#,
    r#"{"model":"m","input":[[1,2],[3]]}"#,
    r#"{"content":{"parts":[{"text":"one"}]},"taskType":"RETRIEVAL_QUERY","outputDimensionality":3}"#,
    r#"{"requests":[{"model":"models/m","content":{"parts":[{"text":"one"},{"text":"two"}]},"title":"t"},{"content":{"parts":[]}}]}"#,
    r#"{"content":{"parts":[{"inline_data":{"mime_type":"image/png","data":"AAAA"}}]},"task_type":"CLUSTERING"}"#,
    r#"{"model":"m","input":[1,2,3],"encoding_format":"float"}"#,
    r#"{"inputText":"one","dimensions":256,"normalize":true}"#,
];

pub(crate) fn embed_seeds() -> Vec<Vec<u8>> {
    let protocols = 0..u8::try_from(Protocol::ALL.len()).unwrap_or_default();
    protocols.flat_map(|at| EMBED.map(|seed| input(at, at, seed))).collect()
}

pub(crate) fn check_embed(bytes: &[u8]) {
    const PATHS: [&str; 5] = [
        "/v1/embeddings",
        "/v1beta/models/some-model:embedContent",
        "/v1beta/models/some-model:batchEmbedContents",
        "/models/:embedContent?%",
        "/model/some%3Amodel/invoke",
    ];
    let Some((at, how, json)) = parts(bytes) else { return };
    let protocol = Protocol::ALL[usize::from(at) % Protocol::ALL.len()];
    match read_embed(protocol, PATHS[usize::from(how) % PATHS.len()], json) {
        Err(error) => is_of_the_client(&error),
        Ok(served) => {
            let request: EmbedRequest = served.request;
            // There are no more texts than bytes.
            assert!(request.input.as_slice().len() <= json.len());
            let stored: Value = serde_json::to_value(&request).unwrap();
            assert!(stored.is_object());
        }
    }
}

/// What cannot be read is a mistake of the client, and the message states it.
fn is_of_the_client(error: &Error) {
    assert!(!error.message().is_empty());
    let kinds = [
        ErrorKind::InvalidRequest,
        ErrorKind::Unsupported,
        ErrorKind::TooLarge,
        ErrorKind::MissingModel,
        ErrorKind::NotFound,
    ];
    assert!(kinds.contains(&error.kind()), "{error:?}");
}
