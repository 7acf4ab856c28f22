//! A simulated model behind a provider of each protocol, and a record of the requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use agentloop::agent::{Agent, Outcome, RunEvent, RunRequest, StopReason, Tool, ToolResult};
use agentloop::protocol::serve::read_chat;
use agentloop::transport::{Body, HttpTransport, SendOptions, Transport};
use agentloop::{
    AgentLoop, AgentLoopBuilder, BoxFuture, ChatMessage, ChatRequest, Protocol, Provider,
    ResponsePart, Result, Role, TextPart, ToolCallPart, inspect,
};
use agentloop_sim::{Model, Script, Server, Simulator, Turn};
use bytes::Bytes;
use http::{Request, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Notify;

use crate::agent::laws;

/// A provider and one of its models. There is one for each protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) provider: &'static str,
    pub(crate) model: &'static str,
}

pub(crate) const ROWS: [Row; 4] = [
    Row { provider: "openai", model: "gpt-4.1" },
    Row { provider: "anthropic", model: "claude-sonnet-4-5" },
    Row { provider: "google", model: "gemini-2.5-flash" },
    Row { provider: "xai", model: "grok-4.3" },
];

/// The user message that continues the conversation after a run.
const AFTERWARDS: &str = "And now?";

/// One provider with a model that follows a script, with complete or streamed responses.
pub(crate) struct Lab {
    pub(crate) row: Row,
    pub(crate) streamed: bool,
    pub(crate) server: Server,
    pub(crate) recorder: Recorder,
    pub(crate) ai: AgentLoop,
    /// The events of the last run, if it was streamed.
    events: Mutex<Vec<RunEvent>>,
}

/// Runs a test for every provider, with complete and with streamed responses.
pub(crate) async fn everywhere(turns: impl IntoIterator<Item = Turn>, test: impl AsyncFn(&Lab)) {
    let script = script(turns);
    for row in ROWS {
        for streamed in [false, true] {
            println!("-- {} {}", row.provider, if streamed { "streamed" } else { "complete" });
            test(&Lab::new(row, streamed, script.clone()).await).await;
        }
    }
}

/// Runs a test for every provider with streamed responses.
pub(crate) async fn streamed(turns: impl IntoIterator<Item = Turn>, test: impl AsyncFn(&Lab)) {
    let script = script(turns);
    for row in ROWS {
        println!("-- {}", row.provider);
        test(&Lab::new(row, true, script.clone()).await).await;
    }
}

pub(crate) fn script(turns: impl IntoIterator<Item = Turn>) -> Script {
    Script::new(turns).with_scene(AFTERWARDS, [Turn::text("Goodbye.")])
}

impl Lab {
    pub(crate) async fn new(row: Row, streamed: bool, script: Script) -> Self {
        Self::build(row, streamed, script, |builder| builder).await
    }

    /// Creates a lab whose client has further settings.
    pub(crate) async fn build(
        row: Row,
        streamed: bool,
        script: Script,
        more: impl FnOnce(AgentLoopBuilder) -> AgentLoopBuilder,
    ) -> Self {
        let simulator = Simulator::new().with_model(Model::from_script(script));
        let server = simulator.serve("127.0.0.1:0").await.unwrap();
        let provider = Provider::builtin(row.provider).unwrap();
        let recorder = Recorder::new(provider.protocol);
        let provider = provider.base_url(server.url()).key("a-key-of-the-test");
        let provider = provider.transport(recorder.clone());
        let ai = more(AgentLoop::builder().provider(provider)).build().unwrap();
        Self { row, streamed, server, recorder, ai, events: Mutex::default() }
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::new(self.ai.clone())
    }

    pub(crate) fn model(&self) -> String {
        format!("{}/{}", self.row.provider, self.row.model)
    }

    pub(crate) fn question(&self) -> ChatRequest {
        ChatRequest::new(self.model()).user("How is the weather?")
    }

    /// Runs the agent with complete or streamed responses, and checks the laws of every run.
    pub(crate) async fn run(&self, agent: &Agent, request: impl Into<RunRequest>) -> Outcome {
        let request = request.into();
        let outcome = if self.streamed {
            let mut stream = agent.stream(request);
            let mut events = Vec::new();
            while let Some(event) = stream.next().await {
                events.push(event);
            }
            let outcome = laws::check(&events);
            *self.events.lock().unwrap() = events;
            outcome
        } else {
            match agent.run(request).await {
                Ok(outcome) => outcome,
                Err(failed) => {
                    assert_eq!(failed.outcome.error.as_ref(), Some(&failed.error));
                    *failed.outcome
                }
            }
        };
        self.check_history(&outcome);
        outcome
    }

    /// Returns the events of the last run, if it was streamed.
    pub(crate) fn events(&self) -> MutexGuard<'_, Vec<RunEvent>> {
        self.events.lock().unwrap()
    }

    /// Checks that the history of a run can be encoded again without a repair.
    pub(crate) fn check_history(&self, outcome: &Outcome) {
        if outcome.stop == StopReason::Waiting {
            return;
        }
        let next = self.question().messages(outcome.messages.clone()).user(AFTERWARDS).strict();
        if let Err(error) = inspect::encode(&self.ai, &next, false) {
            panic!("{error}: {:#?}", outcome.messages);
        }
    }

    /// Checks that the provider accepts the history of a run.
    pub(crate) async fn send_history(&self, outcome: &Outcome) {
        let next = self.question().messages(outcome.messages.clone()).user(AFTERWARDS);
        assert_eq!(self.ai.chat(next).await.unwrap().text(), "Goodbye.");
    }

    /// Returns the number of requests to the model.
    pub(crate) fn calls(&self) -> usize {
        self.recorder.seen.lock().unwrap().len()
    }

    /// Returns the request with this number, from 1, as a server of the protocol reads it.
    pub(crate) fn request(&self, number: usize) -> ChatRequest {
        self.recorder.seen.lock().unwrap()[number - 1].clone()
    }

    /// Returns the tool results in the request with this number.
    pub(crate) fn results(&self, number: usize) -> Vec<String> {
        tool_texts(&self.request(number).messages)
    }
}

/// Returns the texts of the tool messages, in order.
pub(crate) fn tool_texts(messages: &[ChatMessage]) -> Vec<String> {
    messages.iter().filter(|message| message.role == Role::Tool).map(ChatMessage::text).collect()
}

/// Sends requests and records them.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    http: HttpTransport,
    protocol: Protocol,
    seen: Arc<Mutex<Vec<ChatRequest>>>,
    /// Notified at every request.
    pub(crate) sent: Arc<Notify>,
}

impl Recorder {
    fn new(protocol: Protocol) -> Self {
        let sent = Arc::new(Notify::new());
        Self { http: HttpTransport::new(), protocol, seen: Arc::default(), sent }
    }
}

impl Transport for Recorder {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        options: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let chat = read_chat(self.protocol, path, request.body()).unwrap();
        self.seen.lock().unwrap().push(chat.request);
        self.sent.notify_one();
        self.http.send(request, options)
    }
}

pub(crate) fn text(text: &str) -> ResponsePart {
    ResponsePart::Text(TextPart::new(text))
}

pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> ResponsePart {
    ResponsePart::ToolCall(ToolCallPart::new(id, tool, arguments))
}

/// A response that calls the tool `weather` for these cities.
pub(crate) fn asks(cities: &[&str]) -> Turn {
    Turn::new(
        cities.iter().map(|city| {
            call(&format!("call_{city}"), "weather", &format!(r#"{{"city":"{city}"}}"#))
        }),
    )
}

pub(crate) fn says(words: &str) -> Turn {
    Turn::text(words)
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct City {
    pub(crate) city: String,
}

/// Counts how often something ran.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn more(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Returns a tool that reports rain everywhere.
pub(crate) fn weather(ran: &Count) -> Tool {
    let ran = ran.clone();
    Tool::new("weather", "The weather of a city", move |at: City, _| {
        ran.more();
        async move { Ok(format!("It rains in {}.", at.city)) }
    })
}

pub(crate) fn outputs(results: &[ToolResult]) -> Vec<String> {
    results.iter().map(|result| result.output.to_text()).collect()
}
