//! What is read of each protocol. Nothing is allocated for a delta unless its text has escapes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

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
    choices: Few<ChunkChoice<'a>>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct ChunkChoice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
    #[serde(borrow, default)]
    finish_reason: Text<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Text<'a>,
    #[serde(borrow, default)]
    tool_calls: Few<ToolCall<'a>>,
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

/// A list that nearly always has one element, which then is not on the heap.
struct Few<T> {
    first: Option<T>,
    rest: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, rest: Vec::new() }
    }
}

impl<T> Few<T> {
    fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.rest)
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Few<T>, A::Error> {
        let mut few = Few { first: seq.next_element()?, rest: Vec::new() };
        while let Some(next) = seq.next_element()? {
            few.rest.push(next);
        }
        Ok(few)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor(PhantomData))
    }
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

    fn owned(self) -> String {
        self.0.map(|text| text.0.into_owned()).unwrap_or_default()
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
    for choice in chunk.choices.iter() {
        if let Some(text) = choice.delta.content.get() {
            seen(text);
            answer.text.push_str(text);
        }
        for call in choice.delta.tool_calls.iter() {
            if let Some(name) = call.function.name.get() {
                known_tool(name)?;
            }
            if let Some(arguments) = call.function.arguments.get() {
                seen(arguments);
                answer.text.push_str(arguments);
            }
        }
        if let Some(finish) = choice.finish_reason.get() {
            answer.finish = Some(finish.to_owned());
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
    choices: Few<WholeChoice<'a>>,
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
    let whole: Whole<'_> = serde_json::from_slice(body)?;
    let choice = whole.choices.first.ok_or("there is no choice")?;
    let (input, output) = (whole.usage.prompt_tokens, whole.usage.completion_tokens);
    Ok(Answer {
        text: choice.message.content.owned(),
        finish: Some(choice.finish_reason),
        input,
        output,
    })
}

#[derive(Deserialize)]
struct ResponseEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Text<'a>,
    #[serde(borrow)]
    response: Option<ResponseObject<'a>>,
}

#[derive(Deserialize)]
struct ResponseObject<'a> {
    #[serde(borrow, default)]
    status: Text<'a>,
    #[serde(borrow, default)]
    output: Few<Item<'a>>,
    usage: Option<WholeUsage>,
}

#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default)]
    content: Few<Block<'a>>,
}

pub fn responses(
    data: &[u8],
    answer: &mut Answer,
    seen: &mut (dyn FnMut(&str) + Send),
) -> Result<bool, Failure> {
    let event: ResponseEvent<'_> = serde_json::from_slice(data)?;
    match (&*event.kind, event.response) {
        ("response.output_text.delta", _) => {
            if let Some(text) = event.delta.get() {
                seen(text);
                answer.text.push_str(text);
            }
        }
        ("response.completed", Some(response)) => {
            answer.finish = response.status.get().map(str::to_owned);
            if let Some(usage) = response.usage {
                (answer.input, answer.output) = (usage.input_tokens, usage.output_tokens);
            }
            return Ok(true);
        }
        ("response.failed" | "response.incomplete" | "error", _) => {
            return Err("the response failed".into());
        }
        _ => {}
    }
    Ok(false)
}

pub fn responses_whole(body: &[u8]) -> Result<Answer, Failure> {
    let whole: ResponseObject<'_> = serde_json::from_slice(body)?;
    let finish = whole.status.get().map(str::to_owned);
    let usage = whole.usage.ok_or("there is no usage")?;
    let text = first_text(whole.output.first.ok_or("there is no item")?.content)?;
    Ok(Answer { text, finish, input: usage.input_tokens, output: usage.output_tokens })
}

/// Takes the text of the first block, which is the only one here.
fn first_text(blocks: Few<Block<'_>>) -> Result<String, Failure> {
    Ok(blocks.first.ok_or("there is no text")?.text.owned())
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
    content: Few<Block<'a>>,
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
    let whole: WholeAnthropic<'_> = serde_json::from_slice(body)?;
    let text = first_text(whole.content)?;
    let (input, output) = (whole.usage.input_tokens, whole.usage.output_tokens);
    Ok(Answer { text, finish: Some(whole.stop_reason), input, output })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Generated<'a> {
    #[serde(borrow)]
    candidates: Few<Candidate<'a>>,
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
    parts: Few<Block<'a>>,
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
    let Some(candidate) = &generated.candidates.first else {
        return Ok(false);
    };
    for part in candidate.content.iter().flat_map(|content| content.parts.iter()) {
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

pub fn gemini_whole(body: &[u8]) -> Result<Answer, Failure> {
    let generated: Generated<'_> = serde_json::from_slice(body)?;
    let usage = generated.usage_metadata.ok_or("there is no usage")?;
    let candidate = generated.candidates.first.ok_or("there is no candidate")?;
    let finish = candidate.finish_reason.get().map(str::to_owned);
    let text = first_text(candidate.content.ok_or("there is no content")?.parts)?;
    Ok(Answer {
        text,
        finish,
        input: usage.prompt_token_count,
        output: usage.candidates_token_count,
    })
}
