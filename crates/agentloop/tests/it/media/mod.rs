//! Media in and media out.

mod constructors;
mod downloads;
mod folder;
mod forms;
mod guard;
mod output;
mod saving;
mod server;
