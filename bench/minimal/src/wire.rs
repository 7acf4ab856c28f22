//! What is read of each protocol.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Answer, Failure, known_tool};

pub const TOOLS: &str = r#"[{"type":"function","function":{"name":"write_file","description":"Writes a file","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]"#;

#[derive(Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<ChunkChoice<'a>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Vec<ToolCall<'a>>,
}

#[derive(Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Text<'a>,
}

/// `Option<Cow>` does not borrow by itself; this does.
#[derive(Deserialize, Default)]
struct Text<'a>(#[serde(borrow)] Option<Borrowed<'a>>);

#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    fn get(&self) -> Option<&str> {
        self.0.as_ref().map(|text| &*text.0).filter(|text| !text.is_empty())
    }
}

pub fn openai(
    data: &[u8],
    answer: &mut Answer,
    seen: &mut (dyn FnMut(&str) + Send),
) -> Result<bool, Failure> {
    if data == b"[DONE]" {
        return Ok(true);
    }
    let chunk: Chunk<'_> = serde_json::from_slice(data)?;
    if let Some(choice) = chunk.choices.first() {
        if let Some(text) = choice.delta.content.get() {
            seen(text);
            answer.text.push_str(text);
        }
        if let Some(call) = choice.delta.tool_calls.first() {
            if let Some(name) = call.function.name.get() {
                known_tool(name)?;
            }
            if let Some(arguments) = call.function.arguments.get() {
                seen(arguments);
                answer.text.push_str(arguments);
            }
        }
        if let Some(finish) = &choice.finish_reason {
            answer.finish = Some(finish.clone().into_owned());
        }
    }
    if let Some(usage) = chunk.usage {
        (answer.input, answer.output) = (usage.prompt_tokens, usage.completion_tokens);
    }
    Ok(false)
}

#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    choices: Vec<WholeChoice<'a>>,
    usage: Usage,
}

#[derive(Deserialize)]
struct WholeChoice<'a> {
    #[serde(borrow)]
    message: WholeMessage<'a>,
    finish_reason: String,
}

#[derive(Deserialize)]
struct WholeMessage<'a> {
    #[serde(borrow, default)]
    content: Text<'a>,
}

pub fn openai_whole(body: &[u8]) -> Result<Answer, Failure> {
    let mut whole: Whole<'_> = serde_json::from_slice(body)?;
    let choice = whole.choices.swap_remove(0);
    let text = choice.message.content.0.map(|text| text.0.into_owned()).unwrap_or_default();
    let (input, output) = (whole.usage.prompt_tokens, whole.usage.completion_tokens);
    Ok(Answer { text, finish: Some(choice.finish_reason), input, output })
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    delta: Option<BlockDelta<'a>>,
    message: Option<Start>,
    usage: Option<OutputUsage>,
    #[serde(borrow)]
    error: Option<Fault<'a>>,
}

#[derive(Deserialize)]
struct Fault<'a> {
    #[serde(borrow)]
    message: Cow<'a, str>,
}

#[derive(Deserialize)]
struct BlockDelta<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    stop_reason: Text<'a>,
}

#[derive(Deserialize)]
struct Start {
    usage: InputUsage,
}

#[derive(Deserialize)]
struct InputUsage {
    input_tokens: u64,
}

#[derive(Deserialize)]
struct OutputUsage {
    output_tokens: u64,
}

pub fn anthropic(
    data: &[u8],
    answer: &mut Answer,
    seen: &mut (dyn FnMut(&str) + Send),
) -> Result<bool, Failure> {
    let event: Event<'_> = serde_json::from_slice(data)?;
    if let Some(delta) = event.delta {
        if let Some(text) = delta.text.get() {
            seen(text);
            answer.text.push_str(text);
        }
        if let Some(reason) = delta.stop_reason.get() {
            answer.finish = Some(reason.to_owned());
        }
    }
    if let Some(start) = event.message {
        answer.input = start.usage.input_tokens;
    }
    if let Some(usage) = event.usage {
        answer.output = usage.output_tokens;
    }
    if let Some(error) = event.error {
        return Err(error.message.into_owned().into());
    }
    Ok(event.kind == "message_stop")
}

#[derive(Deserialize)]
struct WholeAnthropic<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    stop_reason: String,
    usage: WholeUsage,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default)]
    text: Text<'a>,
}

#[derive(Deserialize)]
struct WholeUsage {
    input_tokens: u64,
    output_tokens: u64,
}

pub fn anthropic_whole(body: &[u8]) -> Result<Answer, Failure> {
    let mut whole: WholeAnthropic<'_> = serde_json::from_slice(body)?;
    let text =
        whole.content.swap_remove(0).text.0.map(|text| text.0.into_owned()).unwrap_or_default();
    let (input, output) = (whole.usage.input_tokens, whole.usage.output_tokens);
    Ok(Answer { text, finish: Some(whole.stop_reason), input, output })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Generated<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
    usage_metadata: Option<Metadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<Block<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    prompt_token_count: u64,
    #[serde(default)]
    candidates_token_count: u64,
}

pub fn gemini(
    data: &[u8],
    answer: &mut Answer,
    seen: &mut (dyn FnMut(&str) + Send),
) -> Result<bool, Failure> {
    let generated: Generated<'_> = serde_json::from_slice(data)?;
    if let Some(usage) = generated.usage_metadata {
        (answer.input, answer.output) = (usage.prompt_token_count, usage.candidates_token_count);
    }
    let Some(candidate) = generated.candidates.first() else {
        return Ok(false);
    };
    for part in candidate.content.iter().flat_map(|content| &content.parts) {
        if let Some(text) = part.text.get() {
            seen(text);
            answer.text.push_str(text);
        }
    }
    if let Some(reason) = candidate.finish_reason.get() {
        answer.finish = Some(reason.to_owned());
    }
    Ok(answer.finish.is_some())
}
