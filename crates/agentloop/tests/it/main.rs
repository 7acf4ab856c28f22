//! The integration tests: one program, because linking one is much quicker than linking sixty.
//!
//! A test that measures its whole process (memory, open files) runs itself again in a process of its own: see
//! `support::own_process`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test that fails, fails"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "helpers of tests take what reads best, and their numbers are small"
)]

mod agent;
mod agent_macro;
mod agent_memory;
mod agent_spans;
mod anthropic_decode;
mod anthropic_encode;
mod batches;
mod bedrock;
mod bounds;
mod cache;
mod client;
mod codecs;
mod cohere;
mod costs;
mod dependencies;
mod documented;
mod encode_cost;
mod encode_growth;
mod error_page;
mod failed_choices;
mod faults;
mod file_citations;
mod fixtures;
mod fuzzed;
mod gemini_encode;
mod gemini_fixtures;
mod interactions;
mod kept_content;
mod limits;
mod logger;
mod matrix;
mod mcp;
mod media;
mod memory;
mod metadata;
mod middleware;
mod models;
mod module_order;
mod nesting;
mod ollama;
mod properties;
mod prose;
mod readme;
mod recordings;
mod responses_decode;
mod responses_encode;
mod restrict;
mod rooms;
mod rows;
mod rules;
mod run_laws;
mod secrets;
mod seed_shapes;
mod seeds;
mod serve;
mod shared_request;
mod shortcuts;
mod spans;
mod specs;
mod strict;
mod structured;
mod support;
mod tasks;
mod transport;
mod vocabulary;
mod wire;
