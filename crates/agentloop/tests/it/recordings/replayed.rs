//! The items of a response are sent back to its provider unchanged.

use agentloop::{ChatRequest, Protocol, inspect};
use serde_json::{Value, json};

use crate::recordings::corpus::{Recording, client};
use crate::recordings::over;

/// The items of a response: one by one, else all of them at its end.
fn items(recording: &Recording) -> Vec<Value> {
    let events = recording.values();
    let list = |value: &Value| value["output"].as_array().cloned().unwrap_or_default();
    if !recording.streaming {
        return list(&events[0]);
    }
    let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
    let mut done: Vec<&Value> = done.collect();
    done.sort_by_key(|event| event["output_index"].as_i64());
    let done: Vec<Value> = done.into_iter().map(|event| event["item"].clone()).collect();
    let whole = || events.iter().rev().map(|event| list(&event["response"]));
    if done.is_empty() { whole().find(|all| !all.is_empty()).unwrap_or_default() } else { done }
}

/// An item without what need not go back: where a text has its sources from, and how sure the model was of it.
fn bare(mut item: Value) -> Value {
    if item["type"] == "message"
        && let Some(Value::Array(pieces)) = item.get_mut("content")
    {
        for piece in pieces.iter_mut().filter_map(Value::as_object_mut) {
            piece.retain(|name, _| ["type", "text", "refusal"].contains(&name.as_str()));
        }
        // An empty text is not sent.
        pieces.retain(|piece| piece["text"] != "");
    }
    if item["type"] == "function_call" && item["arguments"] == "" {
        item["arguments"] = json!("{}");
    }
    item
}

/// Whether the item is useful to a provider that stores nothing.
fn means_something(item: &Value) -> bool {
    let has = |name: &str| {
        let list = item[name].as_array().is_some_and(|list| !list.is_empty());
        list || item[name].as_str().is_some_and(|text| !text.is_empty())
    };
    item["type"] != "reasoning" || has("encrypted_content") || has("content")
}

fn goes_back(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let Ok(response) = decoded.response() else { return Ok(()) };
    let model = format!("{}/some-model", recording.provider);
    let request = ChatRequest::new(model)
        .protocol(Protocol::OpenAiResponses)
        .user("Hi")
        .message(response.clone().into_message());
    let encoded = inspect::encode(client(), &request, false).map_err(|e| format!("{e:?}"))?;
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    let sent = body["input"].as_array().unwrap()[1..].iter();
    // A pending call gets a result in place of the caller's.
    let own = |item: &&Value| !item["type"].as_str().unwrap_or_default().ends_with("call_output");
    let says = |item: &Value| item["type"] != "message" || item["content"] != json!([]);
    let sent: Vec<Value> = sent.filter(own).cloned().map(bare).filter(says).collect();
    let came: Vec<Value> = items(recording)
        .into_iter()
        .filter(|item| means_something(item) && own(&item))
        .map(bare)
        .filter(says)
        .collect();
    if sent == came {
        return Ok(());
    }
    let differs = sent.iter().zip(&came).find(|(sent, came)| sent != came);
    let lengths = (sent.len(), came.len());
    let text = format!("{lengths:?} {differs:?}");
    Err(text.chars().take(1500).collect())
}

#[test]
fn a_response_in_items_is_sent_back_item_by_item() {
    over("openai-responses", goes_back);
}
