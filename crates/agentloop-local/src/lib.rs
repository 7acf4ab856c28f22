//! Runs GGUF models in the process, as a provider of [agentloop]: no server, no key, no network.
//!
//! [agentloop]: https://crates.io/crates/agentloop
//!
//! ```no_run
//! use agentloop::{AgentLoop, ChatRequest};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! let ai = AgentLoop::builder().provider(agentloop_local::provider()).build()?;
//! let response = ai.chat(ChatRequest::new("local/smollm2-135m-instruct").user("Hello")).await?;
//! println!("{}", response.text());
//! # Ok(())
//! # }
//! ```
//!
//! Chats, streams, structured output, tools, embeddings and all middleware work as with any other provider, because the provider reads
//! and writes the wire format of OpenAI's chat protocol.
//!
//! # Features
//!
//! The engine, llama.cpp, is the feature `llama`. It is off by default, because it needs CMake, a C++ compiler and libclang to build.
//! Without it models can be listed and pulled, and calls return an error that states what is missing.
//!
//! # Models
//!
//! - `local/NAME` is a file in the user's folder, in the cache of Hugging Face's tools, or in the store of Ollama; see [`Folders`].
//! - `local//path/to/file.gguf` and `local/./file.gguf` are paths.
//! - [`Pull`] downloads a model, with a checksum, and continues a download that was cut off.
//!
//! # Limits
//!
//! A model has one thread that works on two chats at once ([`Local::parallel`]); others wait, at most
//! [`MAX_WAITING_JOBS`](limits::MAX_WAITING_JOBS). Dropping a stream or a call cancels it after the step in progress, which takes about
//! [`STEP_TIME`](limits::STEP_TIME), or one token if that takes longer.
//!
//! The memory of a loaded model is its file (mapped, so shared and reclaimable) and, for each chat at once, the cache of
//! [`Local::context`] tokens. At most two models are loaded ([`Local::max_models`]), and one that was not used for
//! [`UNLOAD_AFTER`](limits::UNLOAD_AFTER) is unloaded.
//!
//! # Files from others
//!
//! The head of a file is checked before the engine reads it: that all lengths, counts and tensors are inside the file. A file that is
//! truncated or whose head lies is an error. What remains: llama.cpp is C++ code, a file with a consistent head but senseless
//! values may end the process, and so does a file that becomes shorter while it is in use. Use files from sources that you trust.

mod calls;
#[cfg(feature = "llama")]
mod engine;
#[cfg(not(feature = "llama"))]
#[path = "engine/absent.rs"]
mod engine;
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine checks files"))]
mod gguf;
mod grammar;
#[cfg(any(test, feature = "llama"))]
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine reads templates"))]
mod jinja;
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine does the work"))]
mod job;
pub mod limits;
mod local;
mod prompt;
mod pull;
mod request;
mod respond;
#[cfg_attr(not(feature = "llama"), allow(dead_code, reason = "only the engine writes text"))]
mod stop;
mod store;
mod transport;

pub use local::{Local, has_engine, provider};
pub use pull::{Progress, Pull, Pulled};
pub use store::{Folders, LocalModel, ModelSource};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
