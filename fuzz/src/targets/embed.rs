//! Requests for embeddings, and answers to them.

use agentloop::EmbedRequest;
use agentloop::inspect::{self, DecodeOptions, HttpResponse};

use super::laws::{client, rows};
use crate::seeds::{input, parts};

const SEEDS: [&str; 6] = [
    r#"{"model":"openai/m","input":["one","two"],"dimensions":3,"user":"u"}"#,
    r#"{"model":"m","input":"one"}"#,
    r#"{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2e-3]}],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}"#,
    r#"{"data":[{"index":1,"embedding":"AACAPwAAAEA="},{"index":0,"embedding":"AAAAAAAAAAA="}]}"#,
    r#"{"embeddings":[{"values":[0.1,0.2]}],"usageMetadata":{"promptTokenCount":2}}"#,
    r#"{"id":"i","embeddings":{"float":[[0.1,0.2]]},"texts":["a"],"meta":{"billed_units":{"input_tokens":2}}}"#,
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let rows = 0..rows().len();
    rows.flat_map(|row| SEEDS.map(|seed| input(u8::try_from(row).unwrap_or_default(), 0, seed)))
        .collect()
}

pub(super) fn check(bytes: &[u8]) {
    let Some((row, how, bytes)) = parts(bytes) else { return };
    let rows = rows();
    let provider = rows[usize::from(row) % rows.len()].name.to_string();
    if let Ok(mut request) = serde_json::from_slice::<EmbedRequest>(bytes) {
        if how & 1 == 0 {
            let model = request.model.rsplit('/').next().unwrap_or_default().to_owned();
            request.model = format!("{provider}/{model}");
        }
        for batch in inspect::encode_embed(client(), &request).into_iter().flatten() {
            serde_json::from_str::<serde_json::Value>(batch.body.get()).unwrap();
        }
    }
    let mut answer = HttpResponse::new(bytes.to_vec());
    answer.status = if how & 2 == 0 { 200 } else { 500 };
    match inspect::decode_embed(client(), &DecodeOptions::new(provider), &answer) {
        Ok(response) => {
            // Vectors are numbers, and no more than the bytes can hold.
            let numbers: usize = response.embeddings.iter().map(Vec::len).sum();
            assert!(numbers <= bytes.len());
            serde_json::to_string(&response).unwrap();
        }
        Err(error) => assert!(!error.message().is_empty()),
    }
}

/// Reads a response of every provider.
pub(crate) fn read_all(bytes: &[u8]) {
    for provider in ["openai", "google", "cohere", "bedrock", "ollama"] {
        let response = HttpResponse::new(bytes.to_vec());
        drop(inspect::decode_embed(client(), &DecodeOptions::new(provider), &response));
    }
}
