//! Estimates the tokens of a call before it is made.

use std::io::{self, Write};

use serde::Serialize;

use crate::chat::{ChatMessage, ChatRequest, ContentPart, MessageContent, Task};
use crate::limits::{LIMITS_MEDIUM_TOKENS, LIMITS_RESPONSE_TOKENS};
use crate::middleware::Request;

/// Bytes of text per token, about as the tokenizers of large models have it for Latin script. Other scripts have more bytes and more tokens per
/// letter, so it fits them well enough.
const BYTES_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a request and its response, in one pass over its text. Equal requests have equal estimates.
///
/// - For the prompt see [`prompt_tokens`].
/// - The response counts as `max_tokens`, or as a usual response, for each choice.
pub(super) fn tokens(request: &Request) -> u64 {
    let response = match request.chat() {
        Some(chat) => {
            let choices = u64::from(chat.n.unwrap_or(1).max(1));
            chat.max_tokens.unwrap_or(LIMITS_RESPONSE_TOKENS).saturating_mul(choices)
        }
        None => 0,
    };
    prompt_tokens(request).saturating_add(response)
}

/// Estimates the tokens of a prompt: a quarter of its bytes (messages, tools, schema of the response, texts), and a fixed number for each
/// image, audio or file, whose size does not determine its tokens.
pub(super) fn prompt_tokens(request: &Request) -> u64 {
    match request {
        Request::Chat(chat) | Request::Stream(chat) => chat_tokens(chat),
        Request::Embed(embed) => {
            let bytes = embed.input.as_slice().iter().map(|text| text.len() as u64).sum();
            of_bytes(bytes)
        }
        Request::Task(task) | Request::TaskStream(task) => task_tokens(task),
    }
}

/// Estimates the tokens of what a task sends: its texts, and a fixed number for each image or audio.
fn task_tokens(task: &Task) -> u64 {
    let (bytes, media) = match task {
        Task::Image(request) => {
            let media = request.images.len() + usize::from(request.mask.is_some());
            (request.prompt.len(), media)
        }
        Task::Speech(request) => {
            (request.input.len() + request.instructions.as_ref().map_or(0, String::len), 0)
        }
        Task::Transcribe(request) => (request.prompt.as_ref().map_or(0, String::len), 1),
        Task::Rerank(request) => {
            (request.query.len() + request.documents.iter().map(String::len).sum::<usize>(), 0)
        }
        Task::Moderate(request) => {
            let mut counted = Counted::default();
            request.input.iter().for_each(|input| counted.content(input));
            request.messages.iter().for_each(|message| counted.message(message));
            let media = counted.media.saturating_mul(LIMITS_MEDIUM_TOKENS);
            return of_bytes(counted.bytes).saturating_add(media);
        }
    };
    of_bytes(bytes as u64).saturating_add((media as u64).saturating_mul(LIMITS_MEDIUM_TOKENS))
}

fn chat_tokens(chat: &ChatRequest) -> u64 {
    let mut counted = Counted::default();
    chat.messages.iter().for_each(|message| counted.message(message));
    if !chat.tools.is_empty() {
        counted.json(&chat.tools);
    }
    if let Some(format) = &chat.response_format {
        counted.json(format);
    }
    let media = counted.media.saturating_mul(LIMITS_MEDIUM_TOKENS);
    of_bytes(counted.bytes).saturating_add(media)
}

/// Estimates the tokens of so many bytes of text, rounded up.
pub(super) fn of_bytes(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

#[derive(Default)]
struct Counted {
    bytes: u64,
    media: u64,
}

impl Counted {
    fn message(&mut self, message: &ChatMessage) {
        if let Some(content) = &message.content {
            self.content(content);
        }
        if !message.tool_calls.is_empty() {
            self.json(&message.tool_calls);
        }
    }

    fn content(&mut self, content: &MessageContent) {
        match content {
            MessageContent::Text(text) => self.text(text),
            MessageContent::Parts(parts) => parts.iter().for_each(|part| self.part(part)),
        }
    }

    fn part(&mut self, part: &ContentPart) {
        match part {
            ContentPart::Text(part) => self.text(&part.text),
            ContentPart::Thinking(part) => self.text(&part.thinking),
            medium if medium.is_medium() => self.media = self.media.saturating_add(1),
            other => self.json(other),
        }
    }

    fn text(&mut self, text: &str) {
        self.bytes = self.bytes.saturating_add(text.len() as u64);
    }

    /// Counts the bytes of the value as JSON.
    fn json(&mut self, value: &impl Serialize) {
        // Counting cannot fail, and a value that has no JSON is not sent.
        let _ = serde_json::to_writer(self, value);
    }
}

impl Write for &mut Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::chat::{EmbedRequest, ToolDefinition};

    fn of(chat: ChatRequest) -> u64 {
        tokens(&Request::Chat(Arc::new(chat)))
    }

    #[test]
    fn text_counts_a_quarter_and_the_response_its_max_tokens() {
        let chat = ChatRequest::new("a/b").user("x".repeat(400));
        assert_eq!(of(chat.clone()), 100 + LIMITS_RESPONSE_TOKENS);
        assert_eq!(of(chat.clone().max_tokens(50)), 150);
        assert_eq!(of(chat.clone().max_tokens(50).n(3)), 250);
        assert_eq!(of(chat.clone().max_tokens(u64::MAX).n(3)), u64::MAX);
        let parameters = serde_json::json!({ "type": "object" });
        let tool = ToolDefinition::function("look_around", parameters);
        assert!(of(chat.max_tokens(50).tool(tool)) > 160);
        assert_eq!(tokens(&Request::Embed(Arc::new(EmbedRequest::new("a/e", ["abcd", "e"])))), 2);
    }

    #[test]
    fn an_image_counts_the_same_whatever_its_size() {
        let image = |bytes: usize| ContentPart::image_url("x".repeat(bytes));
        let of = |part: ContentPart| of(ChatRequest::new("a/b").user(part).max_tokens(1));
        assert_eq!(of(image(10)), of(image(1_000_000)));
        assert_eq!(of(image(10)), LIMITS_MEDIUM_TOKENS + 1);
    }
}
