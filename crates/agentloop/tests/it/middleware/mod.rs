//! The middlewares together, against the simulator: chat, stream and embed, every protocol, and a clock that is paused.

mod answers;
mod budget;
mod config;
mod cooldown;
mod fallback;
mod lab;
mod layers;
mod retry;
mod schedules;
mod stack;
mod timeouts;
