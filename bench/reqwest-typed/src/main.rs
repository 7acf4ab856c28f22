//! reqwest with the same typed parsing as `minimal`.

#[path = "../../minimal/src/wire.rs"]
mod wire;

use bench_common::{
    Contestant, KEY, Kind, MODEL, Outcome, PROMPT, Scenario, TOOL, Wire, alloc::Counting, run,
};
use futures::StreamExt as _;
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<Typed>();
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Typed {
    scenario: Scenario,
    url: String,
    client: reqwest::Client,
}

/// What a caller wants to know.
#[derive(Default)]
struct Answer {
    text: String,
    finish: Option<String>,
    input: u64,
    output: u64,
}

impl Contestant for Typed {
    fn new(scenario: Scenario, base: &str) -> Self {
        let url = match scenario.wire {
            Wire::OpenAi => format!("{base}/v1/chat/completions"),
            Wire::Responses => format!("{base}/v1/responses"),
            Wire::Anthropic => format!("{base}/v1/messages"),
            Wire::Gemini if scenario.is_chat() => {
                format!("{base}/v1beta/models/{MODEL}:generateContent")
            }
            Wire::Gemini => format!("{base}/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"),
        };
        Self { scenario, url, client: reqwest::Client::new() }
    }

    async fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask(seen).await {
            Ok(answer) if answer.finish.is_some() && answer.input > 0 && answer.output > 0 => {
                Outcome { text: answer.text, error: None }
            }
            Ok(_) => Outcome::failed("the answer is not whole"),
            Err(error) => Outcome::failed(error),
        }
    }
}

impl Typed {
    fn body(&self) -> Result<Value, Failure> {
        let stream = !matches!(self.scenario.kind, Kind::Chat { .. });
        if self.scenario.wire == Wire::Gemini {
            return Ok(json!({ "contents": [{ "role": "user", "parts": [{ "text": PROMPT }] }] }));
        }
        if self.scenario.wire == Wire::Responses {
            let mut body =
                json!({ "model": MODEL, "input": [{ "role": "user", "content": PROMPT }] });
            if stream {
                body["stream"] = true.into();
            }
            return Ok(body);
        }
        let mut body =
            json!({ "model": MODEL, "messages": [{ "role": "user", "content": PROMPT }] });
        if stream {
            body["stream"] = true.into();
        }
        if self.scenario.wire == Wire::Anthropic {
            body["max_tokens"] = 4096.into();
        } else if stream {
            body["stream_options"] = json!({ "include_usage": true });
        }
        if let Kind::Tools { .. } = self.scenario.kind {
            body["tools"] = serde_json::from_str(wire::TOOLS)?;
        }
        Ok(body)
    }

    async fn ask(&self, seen: &mut (dyn FnMut(&str) + Send)) -> Result<Answer, Failure> {
        let request = self.client.post(&self.url).json(&self.body()?);
        let request = match self.scenario.wire {
            Wire::OpenAi | Wire::Responses => request.bearer_auth(KEY),
            Wire::Anthropic => {
                request.header("x-api-key", KEY).header("anthropic-version", "2023-06-01")
            }
            Wire::Gemini => request.header("x-goog-api-key", KEY),
        };
        let response = request.send().await?.error_for_status()?;
        if let Kind::Chat { .. } = self.scenario.kind {
            let body = response.bytes().await?;
            return match self.scenario.wire {
                Wire::OpenAi => wire::openai_whole(&body),
                Wire::Responses => wire::responses_whole(&body),
                Wire::Anthropic => wire::anthropic_whole(&body),
                Wire::Gemini => wire::gemini_whole(&body),
            };
        }
        let read = match self.scenario.wire {
            Wire::OpenAi => wire::openai,
            Wire::Responses => wire::responses,
            Wire::Anthropic => wire::anthropic,
            Wire::Gemini => wire::gemini,
        };
        let mut body = response.bytes_stream();
        let (mut answer, mut rest, mut done) = (Answer::default(), Vec::new(), false);
        while let Some(bytes) = body.next().await {
            let bytes = bytes?;
            let mut left = &bytes[..];
            while let Some(end) = memchr::memchr(b'\n', left) {
                let line = if rest.is_empty() {
                    &left[..end]
                } else {
                    rest.extend_from_slice(&left[..end]);
                    &rest
                };
                if let Some(data) = line.strip_prefix(b"data:") {
                    let data = data.strip_prefix(b" ").unwrap_or(data);
                    done |= read(data.strip_suffix(b"\r").unwrap_or(data), &mut answer, seen)?;
                }
                rest.clear();
                left = &left[end + 1..];
            }
            rest.extend_from_slice(left);
        }
        if done { Ok(answer) } else { Err("the stream ended too early".into()) }
    }
}

fn known_tool(name: &str) -> Result<(), Failure> {
    if name == TOOL { Ok(()) } else { Err(format!("unknown tool {name}").into()) }
}
