//! Calls keep within what an account allows, however they are made and however they end.

mod concurrency;
mod config;
mod host;
mod pause;
mod rates;
mod redis;
mod schedules;
mod shared;
mod tokens;
mod waiting;
