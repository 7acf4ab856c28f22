//! The least that is still right, by hand: hyper's client for HTTP/1.1 on a kept connection, typed and borrowed parsing.
//! Every ratio is to this. It allocates nothing that it need not: headers are made once, and a delta is borrowed from the bytes
//! that were read.

mod wire;

use bench_common::{
    Contestant, KEY, Kind, MODEL, Outcome, PROMPT, Scenario, TOOL, Wire, alloc::Counting, run,
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::http::request::Parts;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::net::TcpStream;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    run::<Minimal>();
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Minimal {
    scenario: Scenario,
    /// The request without its body.
    head: Parts,
    authority: String,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Clone for Minimal {
    fn clone(&self) -> Self {
        Self {
            scenario: self.scenario,
            head: self.head.clone(),
            authority: self.authority.clone(),
            sender: None,
        }
    }
}

impl Contestant for Minimal {
    fn new(scenario: Scenario, base: &str) -> Self {
        let path = match scenario.wire {
            Wire::OpenAi => "/v1/chat/completions".to_owned(),
            Wire::Responses => "/v1/responses".to_owned(),
            Wire::Anthropic => "/v1/messages".to_owned(),
            Wire::Gemini if scenario.is_chat() => {
                format!("/v1beta/models/{MODEL}:generateContent")
            }
            Wire::Gemini => format!("/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"),
        };
        let uri: Uri = format!("{base}{path}").parse().expect("a URL");
        let authority = uri.authority().expect("a host").to_string();
        let head = Request::post(uri.path_and_query().map_or("/", |path| path.as_str()))
            .header("host", &authority)
            .header("content-type", "application/json");
        let head = match scenario.wire {
            Wire::OpenAi | Wire::Responses => head.header("authorization", format!("Bearer {KEY}")),
            Wire::Anthropic => {
                head.header("x-api-key", KEY).header("anthropic-version", "2023-06-01")
            }
            Wire::Gemini => head.header("x-goog-api-key", KEY),
        };
        let (head, ()) = head.body(()).expect("a request").into_parts();
        Self { scenario, head, authority, sender: None }
    }

    async fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Outcome {
        match self.ask(seen).await {
            Ok(answer) => Outcome { text: answer.text, error: None },
            Err(error) => Outcome::failed(error),
        }
    }
}

/// What a caller wants to know.
#[derive(Default)]
struct Answer {
    text: String,
    finish: Option<String>,
    input: u64,
    output: u64,
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    messages: [Message<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct ResponsesRequest<'a> {
    model: &'a str,
    input: [Message<'a>; 1],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct GeminiRequest<'a> {
    contents: [GeminiContent<'a>; 1],
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'a str,
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
struct GeminiPart<'a> {
    text: &'a str,
}

impl Minimal {
    async fn ask(&mut self, seen: &mut (dyn FnMut(&str) + Send)) -> Result<Answer, Failure> {
        let request = self.request()?;
        let kept = match &mut self.sender {
            Some(sender) => sender.ready().await.is_ok(),
            None => false,
        };
        if !kept {
            let socket = TcpStream::connect(&self.authority).await?;
            socket.set_nodelay(true)?;
            let (sender, driver) = handshake(TokioIo::new(socket)).await?;
            tokio::spawn(driver);
            self.sender = Some(sender);
        }
        let sender = self.sender.as_mut().ok_or("no connection")?;
        let response = sender.send_request(request).await?;
        if !response.status().is_success() {
            return Err(format!("status {}", response.status()).into());
        }
        let answer = match (self.scenario.kind, self.scenario.wire) {
            (Kind::Chat { .. }, wire) => whole(response, wire).await?,
            (_, Wire::OpenAi) => {
                stream(response, |data, answer| wire::openai(data, answer, seen)).await?
            }
            (_, Wire::Responses) => {
                stream(response, |data, answer| wire::responses(data, answer, seen)).await?
            }
            (_, Wire::Anthropic) => {
                stream(response, |data, answer| wire::anthropic(data, answer, seen)).await?
            }
            (_, Wire::Gemini) => {
                stream(response, |data, answer| wire::gemini(data, answer, seen)).await?
            }
        };
        if answer.finish.is_none() || answer.input == 0 || answer.output == 0 {
            return Err("the answer is not whole".into());
        }
        Ok(answer)
    }

    fn request(&self) -> Result<Request<Full<Bytes>>, Failure> {
        let stream = !self.scenario.is_chat();
        let mut body = Vec::with_capacity(512);
        match self.scenario.wire {
            Wire::Gemini => {
                let parts = [GeminiPart { text: PROMPT }];
                let contents = [GeminiContent { role: "user", parts }];
                serde_json::to_writer(&mut body, &GeminiRequest { contents })?;
            }
            Wire::Responses => {
                let input = [Message { role: "user", content: PROMPT }];
                serde_json::to_writer(
                    &mut body,
                    &ResponsesRequest { model: MODEL, input, stream },
                )?;
            }
            wire => {
                let openai = wire == Wire::OpenAi;
                let tools = match self.scenario.kind {
                    Kind::Tools { .. } => Some(serde_json::from_str::<&RawValue>(wire::TOOLS)?),
                    _ => None,
                };
                let request = ChatRequest {
                    model: MODEL,
                    messages: [Message { role: "user", content: PROMPT }],
                    max_tokens: (!openai).then_some(4096),
                    tools,
                    stream,
                    stream_options: (stream && openai)
                        .then_some(StreamOptions { include_usage: true }),
                };
                serde_json::to_writer(&mut body, &request)?;
            }
        }
        Ok(Request::from_parts(self.head.clone(), Full::new(Bytes::from(body))))
    }
}

async fn whole(response: Response<Incoming>, wire: Wire) -> Result<Answer, Failure> {
    let body = response.into_body().collect().await?.to_bytes();
    match wire {
        Wire::OpenAi => wire::openai_whole(&body),
        Wire::Responses => wire::responses_whole(&body),
        Wire::Anthropic => wire::anthropic_whole(&body),
        Wire::Gemini => wire::gemini_whole(&body),
    }
}

/// Reads server-sent events: gives each line of data to `read`, which returns whether it was the last.
async fn stream(
    response: Response<Incoming>,
    mut read: impl FnMut(&[u8], &mut Answer) -> Result<bool, Failure>,
) -> Result<Answer, Failure> {
    let mut body = response.into_body();
    let mut answer = Answer::default();
    let mut rest = Vec::new();
    let mut done = false;
    let mut line = |line: &[u8], answer: &mut Answer| -> Result<(), Failure> {
        if let Some(data) = line.strip_prefix(b"data:") {
            let data = data.strip_prefix(b" ").unwrap_or(data);
            done |= read(data.strip_suffix(b"\r").unwrap_or(data), answer)?;
        }
        Ok(())
    };
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else {
            continue;
        };
        let mut left = &bytes[..];
        while let Some(end) = memchr::memchr(b'\n', left) {
            if rest.is_empty() {
                line(&left[..end], &mut answer)?;
            } else {
                rest.extend_from_slice(&left[..end]);
                line(&rest, &mut answer)?;
                rest.clear();
            }
            left = &left[end + 1..];
        }
        rest.extend_from_slice(left);
    }
    if !done {
        return Err("the stream ended too early".into());
    }
    Ok(answer)
}

/// Checks the name of the call, so that it is read.
fn known_tool(name: &str) -> Result<(), Failure> {
    if name == TOOL { Ok(()) } else { Err(format!("unknown tool {name}").into()) }
}
