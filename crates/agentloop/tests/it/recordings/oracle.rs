//! A second, naive reading of the wire, to compare the first with: all text, all thinking, all arguments.

use agentloop::{ChatResponse, FinishReason, ResponsePart};
use serde_json::Value;

use crate::recordings::corpus::Recording;

#[derive(Debug, Default, PartialEq)]
struct Sums {
    /// Text and thinking together: where the one ends and the other begins is another test's matter.
    words: String,
    arguments: Vec<String>,
    refused: String,
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() {
        return Ok(());
    }
    let decoded = recording.decode();
    let response = decoded.response()?;
    for choice in &response.choices {
        let read = of_response(response, choice.index);
        let wire = of_wire(recording, u64::from(choice.index));
        let (mut read_words, mut wire_words) = (letters(&read.words), letters(&wire.words));
        read_words.extend(letters(&read.refused));
        wire_words.extend(letters(&wire.refused));
        read_words.sort_unstable();
        wire_words.sort_unstable();
        if read_words != wire_words {
            return Err(format!("other words:\n{read:?}\n{wire:?}"));
        }
        // No arguments at all are an empty object, unless the answer was cut before they came.
        let cut = choice.finish_reason == FinishReason::Length;
        let wire_arguments: Vec<String> = wire
            .arguments
            .iter()
            .map(|text| if text.is_empty() && !cut { "{}".to_owned() } else { text.clone() })
            .collect();
        if read.arguments != wire_arguments {
            return Err(format!("other arguments:\n{:?}\n{:?}", read.arguments, wire.arguments));
        }
    }
    Ok(())
}

/// The characters without white space and without the tags around thoughts, which belong to neither side.
fn letters(text: &str) -> Vec<char> {
    text.replace("<think>", "")
        .replace("</think>", "")
        .replace("<reasoning>", "")
        .replace("</reasoning>", "")
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect()
}

fn of_response(response: &ChatResponse, index: u32) -> Sums {
    let mut sums = Sums::default();
    let choice = response.choices.iter().find(|choice| choice.index == index).unwrap();
    for part in &choice.content {
        match part {
            ResponsePart::Text(text) => sums.words.push_str(&text.text),
            ResponsePart::Thinking(thinking) => sums.words.push_str(&thinking.thinking),
            ResponsePart::ToolCall(call) => sums.arguments.push(call.arguments.clone()),
            ResponsePart::Audio(audio) => {
                sums.words.push_str(audio.transcript.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }
    sums
}

fn of_wire(recording: &Recording, index: u64) -> Sums {
    let mut sums = Sums::default();
    let mut keys: Vec<String> = Vec::new();
    for (at, chunk) in recording.values().iter().enumerate() {
        let Some(choices) = chunk["choices"].as_array() else {
            continue;
        };
        for choice in choices.iter().filter(|choice| choice["index"].as_u64() == Some(index)) {
            let name = if recording.streaming { "delta" } else { "message" };
            let delta = &choice[name];
            add_words(&mut sums.words, &delta["content"]);
            let thinking = [&delta["reasoning_content"], &delta["reasoning"]]
                .into_iter()
                .find_map(Value::as_str)
                .unwrap_or_default();
            sums.words.push_str(thinking);
            sums.words.push_str(delta["audio"]["transcript"].as_str().unwrap_or_default());
            sums.refused.push_str(delta["refusal"].as_str().unwrap_or_default());
            let legacy = delta["function_call"].as_object().map(|_| &delta["function_call"]);
            if let Some(function) = legacy {
                add_arguments(&mut sums, &mut keys, "function".to_owned(), function);
            }
            for (place, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
                let key = match (recording.streaming, call["index"].as_u64()) {
                    (true, Some(index)) => format!("{index}"),
                    (true, None) => format!("{at}-{place}"),
                    (false, _) => format!("{place}"),
                };
                add_arguments(&mut sums, &mut keys, key, &call["function"]);
            }
        }
    }
    sums
}

fn add_arguments(sums: &mut Sums, keys: &mut Vec<String>, key: String, function: &Value) {
    let at = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
        keys.push(key);
        sums.arguments.push(String::new());
        sums.arguments.len() - 1
    });
    sums.arguments[at].push_str(function["arguments"].as_str().unwrap_or_default());
}

fn add_words(words: &mut String, content: &Value) {
    match content {
        Value::String(text) => words.push_str(text),
        Value::Array(pieces) => {
            for piece in pieces {
                words.push_str(piece["text"].as_str().unwrap_or_default());
                add_words(words, &piece["thinking"]);
            }
        }
        _ => {}
    }
}
