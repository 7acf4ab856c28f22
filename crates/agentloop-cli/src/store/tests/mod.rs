//! Tests of the file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod hostile;
mod large;
mod opening;
mod sums;
mod talks;

use std::path::PathBuf;

use agentloop::ChatMessage;

use super::{Conversation, NewConversation, Store};
use crate::folder::Folder;

impl Folder {
    fn file(&self) -> PathBuf {
        self.join("data/history.sqlite3")
    }

    fn open(&self) -> Store {
        Store::open_at(self.file()).unwrap()
    }
}

/// Opens a new store. It is removed with its folder.
fn new_store() -> (Folder, Store) {
    let folder = Folder::new();
    let store = folder.open();
    (folder, store)
}

/// Stores a conversation with a prompt.
fn begin(store: &mut Store, prompt: &str) -> Conversation {
    let new = NewConversation { prompt, model: "sim/echo", ..NewConversation::default() };
    let talk = store.begin(&new).unwrap();
    store.replace(&talk, &[], &[(ChatMessage::user(prompt), None)]).unwrap();
    talk
}
