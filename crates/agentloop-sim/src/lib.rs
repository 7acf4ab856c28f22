//! Simulated LLM providers for tests. No key and no network are needed.
//!
//! A [`Simulator`] speaks the wire format of every provider that [agentloop] knows. It returns the responses that a test
//! scripts, fails on demand, and keeps the requests that it received.
//!
//! [agentloop]: https://crates.io/crates/agentloop
//!
//! # Test your code
//!
//! Pass the simulated provider to the code under test, then check what the code returned and what it sent:
//!
//! ```
//! use agentloop::{AgentLoop, ChatRequest};
//! use agentloop_sim::Simulator;
//!
//! /// The code under test.
//! async fn translate(ai: &AgentLoop, text: &str) -> agentloop::Result<String> {
//!     let request = ChatRequest::new("sim/any").system("Translate to French.").user(text);
//!     Ok(ai.chat(request).await?.text())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! let simulator = Simulator::new().with_responses(["Bonjour."]);
//! let ai = AgentLoop::builder().provider(simulator.provider()).build()?;
//!
//! assert_eq!(translate(&ai, "Hello.").await?, "Bonjour.");
//!
//! let sent = simulator.last_request().expect("one request was sent").chat()?;
//! assert_eq!(sent.messages[0].text(), "Translate to French.");
//! assert_eq!(sent.messages[1].text(), "Hello.");
//! # Ok(())
//! # }
//! ```
//!
//! # Choose the responses
//!
//! - [`Simulator::with_responses`] returns the given responses one after the other, in the order of the requests.
//! - [`Simulator::with_script`] chooses the response by the conversation, so the same request always gets the same response.
//! - Without either, the id of the model selects a behaviour: `sim/echo` repeats the prompt, `sim/think` thinks first,
//!   `sim/json` writes JSON, `sim/history` shows which messages arrived, and so on. See [`Model`].
//!
//! A response is a [`Turn`]: text, tool calls, thinking, images or audio, a finish reason, usage, and faults.
//!
//! # Simulate faults
//!
//! A [`Fault`] is an HTTP error, a truncated body, a stalled stream, malformed JSON and more. Add it to a response with
//! [`Turn::with_fault`], schedule it for certain requests with [`Simulator::with_faults`], or append it to the id of the model:
//!
//! ```
//! use agentloop::middleware::Retry;
//! use agentloop::{AgentLoop, ChatRequest, ErrorKind};
//! use agentloop_sim::{Fault, Simulator, Turn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! // The first request fails, the second succeeds.
//! let simulator = Simulator::new().with_responses([
//!     Turn::fault(Fault::status(429).with_retry_after("0")),
//!     Turn::text("Hello."),
//! ]);
//! let ai = AgentLoop::builder().provider(simulator.provider()).layer(Retry::new()).build()?;
//! assert_eq!(ai.chat(ChatRequest::new("sim/any").user("Hi")).await?.text(), "Hello.");
//! assert_eq!(simulator.requests().len(), 2);
//!
//! let ai = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
//! let error = ai.chat(ChatRequest::new("sim/echo!status=503").user("Hi")).await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Overloaded);
//! # Ok(())
//! # }
//! ```
//!
//! # Simulate a certain provider
//!
//! [`simulate`] takes any provider and simulates it with its own protocol, rules and quirks. Use it to test the requests that
//! your code sends to that provider:
//!
//! ```
//! use agentloop::{AgentLoop, ChatRequest, Provider};
//! use agentloop_sim::Simulator;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! let simulator = Simulator::new();
//! let anthropic = Provider::builtin("anthropic").expect("a built-in provider");
//! let ai = AgentLoop::builder().provider(simulator.simulate(anthropic)).build()?;
//! ai.chat(ChatRequest::new("anthropic/claude-sonnet-4-5").system("Be brief.").user("Hi")).await?;
//!
//! let sent = simulator.last_request().expect("one request was sent");
//! assert_eq!(sent.uri.path(), "/v1/messages");
//! assert_eq!(sent.json()?["system"], "Be brief.");
//! # Ok(())
//! # }
//! ```
//!
//! # Files and batches
//!
//! A simulator stores files and processes batches, in the forms of OpenAI, Anthropic, Gemini and Mistral. [`SimBatches`] sets when a batch ends
//! and how.
//!
//! # Record and replay
//!
//! A [`Recording`] keeps the real traffic of a test in a file. It is recorded once with a key, and replayed by every later run
//! without key and network:
//!
//! ```no_run
//! # fn main() -> agentloop::Result<()> {
//! let ai = agentloop_sim::Recording::open("tests/recorded/capital.json")?.client()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Use it over HTTP
//!
//! A [`Server`] serves a simulator on a local port, for code that does not use `agentloop` and for other processes.
//! `agentloop sim` runs the same server from a terminal.

mod fault;
mod ledger;
mod model;
mod png;
mod received;
mod recording;
mod reply;
mod respond;
mod script;
mod server;
mod simulator;
mod storage;
mod tasks;
mod transport;
mod usage_style;
mod vectors;

pub use fault::{Cut, Fault, Faults};
pub use ledger::Ledger;
pub use model::Model;
pub use received::{MAX_KEPT_BYTES, MAX_KEPT_REQUESTS, ReceivedRequest};
pub use recording::{
    MAX_BODY_BYTES, MAX_EXCHANGES, MAX_RECORDING_BYTES, RECORD_VARIABLE, Recording,
};
pub use reply::{Piece, Pieces, Reply};
pub use script::{Scene, Script, Turn};
pub use server::{MAX_REQUEST_BYTES, Server};
pub use simulator::{FAULT_HEADER, Simulator};
pub use storage::{MAX_STORED, MAX_STORED_BYTES, SimBatches};
pub use transport::{SimTransport, provider, provider_named, simulate};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
