//! Splits a part into the deltas of a stream.

use agentloop::{PartDelta, ResponsePart};

/// The number of characters of arguments in a delta.
const ARGUMENTS: usize = 16;

/// The number of characters of base64 in a delta. It is a multiple of four, so each delta can be decoded by itself.
const BASE64: usize = 64;

/// Returns the deltas of a part. Text is split into words, or into pieces of `size` characters. Kinds that are never streamed have
/// no deltas.
pub(super) fn deltas(part: &ResponsePart, size: Option<usize>) -> Vec<PartDelta> {
    let words = |text: &str| match size {
        Some(size) => by_size(text, size),
        None => by_word(text),
    };
    let arguments = |text: &str| by_size(text, size.unwrap_or(ARGUMENTS));
    let base64 = |text: &str| by_size(text, size.unwrap_or(BASE64).div_ceil(4) * 4);
    let mut steps: Vec<PartDelta> = Vec::new();
    match part {
        ResponsePart::Text(part) => {
            steps.extend(words(&part.text).map(|text| PartDelta::Text { text }));
            let citations = part.citations.iter().cloned();
            steps.extend(citations.map(|citation| PartDelta::Citation { citation }));
        }
        ResponsePart::Thinking(part) => {
            steps.extend(words(&part.thinking).map(|thinking| PartDelta::Thinking { thinking }));
            let signature = part.signature.clone();
            steps.extend(signature.map(|signature| PartDelta::ThinkingSignature { signature }));
        }
        ResponsePart::ToolCall(part) => steps.extend(
            arguments(&part.arguments).map(|arguments| PartDelta::ToolCallArguments { arguments }),
        ),
        ResponsePart::Image(part) => {
            steps.extend(base64(&part.data).map(|data| PartDelta::Image { data }));
        }
        ResponsePart::Audio(part) => {
            steps.extend(base64(&part.data).map(|data| PartDelta::Audio { data }));
            let transcript = part.transcript.as_deref().unwrap_or_default();
            let transcript = words(transcript);
            steps.extend(transcript.map(|transcript| PartDelta::AudioTranscript { transcript }));
        }
        ResponsePart::CodeExecution(part) => {
            steps.extend(words(&part.code).map(|code| PartDelta::Code { code }));
        }
        ResponsePart::ServerToolCall(part) => steps.extend(
            arguments(&part.arguments.to_string())
                .map(|arguments| PartDelta::ServerToolCallArguments { arguments }),
        ),
        _ => {}
    }
    if let Some(state) = part.provider_state() {
        steps.push(PartDelta::ProviderState { provider_state: state.clone() });
    }
    steps
}

/// Returns whether a delta counts as a token.
pub(super) fn is_token(delta: &PartDelta) -> bool {
    !matches!(
        delta,
        PartDelta::Citation { .. }
            | PartDelta::ThinkingSignature { .. }
            | PartDelta::ProviderState { .. }
    )
}

/// Splits text into words, each with the white space after it.
fn by_word(text: &str) -> std::vec::IntoIter<String> {
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut after_space = false;
    for (at, character) in text.char_indices() {
        let space = character.is_whitespace();
        if after_space && !space && !text[from..at].trim().is_empty() {
            pieces.push(text[from..at].to_owned());
            from = at;
        }
        after_space = space;
    }
    if from < text.len() {
        pieces.push(text[from..].to_owned());
    }
    pieces.into_iter()
}

fn by_size(text: &str, size: usize) -> std::vec::IntoIter<String> {
    let mut pieces = Vec::new();
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        pieces.push(rest.by_ref().take(size.max(1)).collect());
    }
    pieces.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_concatenate_to_the_text() {
        for text in ["", " ", "one", " two words ", "a\n\nb  c", "größer\u{2003}ist 日本"] {
            assert_eq!(by_word(text).collect::<String>(), text);
            assert_eq!(by_size(text, 3).collect::<String>(), text);
        }
        assert_eq!(by_word(" two words ").count(), 2);
        assert_eq!(by_size("日本語", 2).count(), 2);
    }

    #[test]
    fn a_size_of_zero_counts_as_one() {
        assert_eq!(by_size("abc", 0).count(), 3);
    }
}
