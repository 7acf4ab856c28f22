//! The laws over Gemini's traffic, and a second, naive reading of its wire.

use agentloop::{ChatResponse, ResponsePart};
use serde_json::Value;

use crate::recordings::corpus::Recording;

laws_of!("gemini", crate::recordings::gemini::agrees);

/// Whether some chunk names a finish reason, or why the prompt was refused.
pub(crate) fn says_why(text: &str) -> bool {
    ["\"finishReason\"", "\"blockReason\""].iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let rest = text[at + name.len()..].trim_start_matches([':', ' ']);
            rest.starts_with(|first: char| first == '"' || first.is_ascii_digit())
        })
    })
}

/// Searches and pages are beside the response, not among its parts.
pub(crate) fn shows(response: &ChatResponse, feature: &str) -> bool {
    matches!(feature, "server_tool" | "search_results")
        && ["groundingMetadata", "urlContextMetadata"]
            .iter()
            .any(|name| response.choices[0].provider_metadata.contains_key(*name))
}

/// All text, all thinking, all arguments, signatures, blobs and code, counted on both sides.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    text: String,
    thinking: String,
    calls: Vec<String>,
    signatures: Vec<String>,
    blobs: Vec<String>,
    code: Vec<String>,
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let response = decoded.response()?;
    for choice in &response.choices {
        let (read, wire) = (of_response(response, choice.index), of_wire(recording, choice.index));
        if read != wire {
            return Err(format!("\nread {read:?}\nwire {wire:?}"));
        }
    }
    Ok(())
}

fn of_response(response: &ChatResponse, index: u32) -> Sums {
    let mut sums = Sums::default();
    let choice = response.choices.iter().find(|choice| choice.index == index).unwrap();
    for part in &choice.content {
        let signature = part.provider_state().and_then(|state| state.data.get("thoughtSignature"));
        sums.signatures.extend(signature.and_then(Value::as_str).map(str::to_owned));
        match part {
            ResponsePart::Text(text) => sums.text.push_str(&text.text),
            ResponsePart::Thinking(thinking) => sums.thinking.push_str(&thinking.thinking),
            ResponsePart::ToolCall(call) => {
                let args: Value = serde_json::from_str(&call.arguments).unwrap();
                sums.calls.push(format!("{} {args}", call.name));
            }
            ResponsePart::Image(image) => sums.blobs.push(image.data.clone()),
            ResponsePart::Audio(audio) => sums.blobs.push(audio.data.clone()),
            ResponsePart::File(file) => sums.blobs.push(file.data.clone()),
            ResponsePart::CodeExecution(code) => sums.code.push(code.code.clone()),
            ResponsePart::CodeResult(result) => sums.code.push(result.output.clone()),
            _ => {}
        }
    }
    sums
}

fn of_wire(recording: &Recording, index: u32) -> Sums {
    let mut sums = Sums::default();
    // A call whose arguments come in pieces, of which the recordings have only texts at the top.
    let mut partial: Option<(String, serde_json::Map<String, Value>)> = None;
    for chunk in recording.values() {
        let candidates = chunk["candidates"].as_array().cloned().unwrap_or_default();
        let ours =
            |candidate: &&Value| candidate["index"].as_u64().unwrap_or(0) == u64::from(index);
        for candidate in candidates.iter().filter(ours) {
            for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
                sums.signatures.extend(part["thoughtSignature"].as_str().map(str::to_owned));
                let text = part["text"].as_str().unwrap_or_default();
                if part["thought"] == true {
                    sums.thinking.push_str(text);
                } else {
                    sums.text.push_str(text);
                }
                sums.blobs.extend(part["inlineData"]["data"].as_str().map(str::to_owned));
                sums.code.extend(part["executableCode"]["code"].as_str().map(str::to_owned));
                if let Some(result) = part["codeExecutionResult"].as_object() {
                    sums.code.push(
                        result.get("output").and_then(Value::as_str).unwrap_or_default().to_owned(),
                    );
                }
                let Some(call) = part["functionCall"].as_object() else {
                    continue;
                };
                if let Some(name) = call.get("name").and_then(Value::as_str) {
                    let args = call.get("args").and_then(Value::as_object).cloned();
                    partial = Some((name.to_owned(), args.unwrap_or_default()));
                }
                let Some((name, args)) = &mut partial else {
                    continue;
                };
                for piece in call.get("partialArgs").and_then(Value::as_array).into_iter().flatten()
                {
                    let key = piece["jsonPath"].as_str().unwrap().trim_start_matches("$.");
                    let more = piece["stringValue"].as_str().unwrap();
                    let known = args.get(key).and_then(Value::as_str).unwrap_or_default();
                    let grown = format!("{known}{more}");
                    args.insert(key.to_owned(), Value::String(grown));
                }
                if call.get("willContinue") != Some(&Value::Bool(true)) {
                    sums.calls.push(format!("{name} {}", Value::Object(args.clone())));
                    partial = None;
                }
            }
        }
    }
    sums
}
