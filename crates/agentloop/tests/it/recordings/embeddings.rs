//! Vectors, in every wire that has them, against a plain reading of the same bytes.

use agentloop::{EmbedResponse, EmbedUsage, ErrorKind};
use serde_json::Value;

use crate::recordings::corpus::{Recording, recordings};
use crate::recordings::over;

#[test]
fn every_embedding_recording_decodes() {
    over("openai-embed", check);
}

#[test]
fn every_gemini_embedding_recording_decodes() {
    over("gemini-embed", check);
}

#[test]
fn every_embedding_recording_by_type_decodes() {
    over("cohere-embed", check);
}

#[test]
fn every_bare_embedding_recording_decodes() {
    // There may be none of these.
    if recordings("ollama-embed").is_some_and(|found| !found.is_empty()) {
        over("ollama-embed", check);
    }
}

fn check(recording: &Recording) -> Result<(), String> {
    let response = recording.embed_as(&recording.provider);
    let body: Value = serde_json::from_slice(&recording.body).unwrap_or_default();
    if recording.status >= 400 {
        let error = response.err().ok_or("an error was read as vectors")?;
        let known = error.status() == Some(recording.status)
            && !matches!(error.kind(), ErrorKind::Other | ErrorKind::Protocol)
            && !error.message().is_empty();
        return if known { Ok(()) } else { Err(format!("{error:?}")) };
    }
    let response = response.map_err(|error| format!("{error:?}"))?;
    let bytes = recording.provider == "perplexity";
    let expected = plain(&body, bytes).ok_or("the plain reading finds no vectors")?;
    if expected.is_empty() || expected.iter().any(Vec::is_empty) {
        return Err("no numbers".to_owned());
    }
    if response.embeddings != expected {
        return Err("other vectors than the plain reading's".to_owned());
    }
    if response.usage != plain_usage(&body) {
        return Err(format!("usage {:?}", response.usage));
    }
    let json = serde_json::to_string(&response).unwrap();
    if serde_json::from_str::<EmbedResponse>(&json).ok().as_ref() != Some(&response) {
        return Err("does not survive JSON".to_owned());
    }
    // Whoever it is taken to come from, but for who alone writes bytes.
    for other in ["openai", "google", "cohere", "ollama"].iter().filter(|_| !bytes) {
        let read = recording.embed_as(other).map_err(|error| format!("as {other}: {error:?}"))?;
        if read.embeddings != expected {
            return Err(format!("other vectors as {other}"));
        }
    }
    Ok(())
}

/// The vectors, by looking into every place where some may be.
fn plain(body: &Value, bytes: bool) -> Option<Vec<Vec<f32>>> {
    let numbers = |value: &Value| -> Option<Vec<f32>> {
        match value {
            Value::String(text) => Some(unpacked(text, bytes)),
            Value::Array(list) => list.iter().map(|n| n.as_f64().map(|n| n as f32)).collect(),
            _ => None,
        }
    };
    if let Some(data) = body["data"].as_array() {
        let mut data: Vec<&Value> = data.iter().collect();
        data.sort_by_key(|item| item["index"].as_u64());
        return data.iter().map(|item| numbers(&item["embedding"])).collect();
    }
    let held = |value: &Value| numbers(value).or_else(|| numbers(&value["values"]));
    let list = |value: &Value| value.as_array()?.iter().map(held).collect();
    match &body["embeddings"] {
        Value::Null => Some(vec![held(&body["embedding"])?]),
        Value::Object(kinds) => ["float", "base64", "int8", "uint8", "binary", "ubinary"]
            .iter()
            .find_map(|kind| list(kinds.get(*kind)?)),
        all => list(all),
    }
}

fn plain_usage(body: &Value) -> Option<EmbedUsage> {
    let said = |path: &str| body.pointer(path).and_then(Value::as_f64).map(|n| n as u64);
    let total = said("/usage/total_tokens").or_else(|| said("/usageMetadata/totalTokenCount"));
    let prompt_tokens = said("/usage/prompt_tokens")
        .or_else(|| said("/usageMetadata/promptTokenCount"))
        .or_else(|| said("/meta/billed_units/input_tokens"))
        .or_else(|| said("/prompt_eval_count"))
        .or(total)?;
    Some(EmbedUsage::new(prompt_tokens, total.unwrap_or(prompt_tokens)))
}

/// Base64 by hand: floats of four bytes, or signed bytes.
fn unpacked(text: &str, bytes: bool) -> Vec<f32> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: String = text
        .chars()
        .filter_map(|letter| LETTERS.find(letter))
        .map(|value| format!("{value:06b}"))
        .collect();
    let raw: Vec<u8> = (0..bits.len() / 8)
        .map(|at| u8::from_str_radix(&bits[8 * at..8 * at + 8], 2).unwrap())
        .collect();
    if bytes {
        return raw.iter().map(|byte| f32::from(*byte as i8)).collect();
    }
    raw.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}
