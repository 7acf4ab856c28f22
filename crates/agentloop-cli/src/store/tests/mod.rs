//! Tests of the file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

mod hostile;
mod large;
mod opening;
mod sums;
mod talks;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use agentloop::ChatMessage;

use super::{Conversation, NewConversation, Store};

/// A folder with a file, removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("agentloop-store-{}-{count}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn file(&self) -> PathBuf {
        self.0.join("data/history.sqlite3")
    }

    fn open(&self) -> Store {
        Store::open_at(self.file()).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Stores a conversation with a prompt.
fn begin(store: &mut Store, prompt: &str) -> Conversation {
    let new = NewConversation { prompt, model: "sim/echo", ..NewConversation::default() };
    let talk = store.begin(&new).unwrap();
    store.replace(&talk, &[], &[(ChatMessage::user(prompt), None)]).unwrap();
    talk
}
