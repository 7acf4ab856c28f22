//! Runs the command as a user does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a panic fails the test"
)]
#![allow(
    clippy::needless_pass_by_value,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "test helpers favour readability, and their numbers are small"
)]

mod batch;
mod cache;
mod chat;
mod check;
mod common;
mod context;
mod decode;
mod demo;
mod durable;
mod embed;
mod embed_files;
mod encode;
mod extract;
mod feature_table;
mod gateway_keys;
mod guide;
mod help;
mod history;
mod history_terminal;
mod import_litellm;
mod interactive;
mod live;
#[cfg(target_os = "linux")]
mod local;
mod log;
mod model_names;
mod models;
mod one_command;
mod otel;
mod provider_batch;
mod providers;
mod retries;
mod run;
mod run_interrupt;
mod run_mcp;
mod run_resume;
mod run_terminal;
mod screen_status;
mod screen_text;
mod secrets;
mod serve;
mod serve_redis;
mod serve_store;
mod setup;
mod sim;
mod tasks;
mod terminal;
mod tools_command;
mod tools_config;
mod trust;
mod usage;
