//! Saves runs and conversations in files, and reads them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use agentloop::agent::{Saved, Suspended};
use agentloop::limits::MAX_SAVED_BYTES;
use agentloop::{ChatRequest, ErrorKind};
use ring::digest::{SHA256, digest};
use serde::Serialize;

use crate::failure::Failure;
use crate::files::{self, Lock, append_suffix};
use crate::prompt::Prompt;
use crate::setup::Setup;
use crate::store::{self, RunState, Shared, StoreError};

/// The content of a file that --save wrote.
#[derive(Debug)]
pub(super) enum Stored {
    /// A run that waits for approval.
    Run(Box<Suspended>),
    /// A conversation that can be continued with a prompt.
    Conversation(Box<ChatRequest>),
}

impl Stored {
    /// Reads a file. If it is not there, its run may be in the store: a process that continued it was killed, or the file was removed.
    pub(super) fn read(path: &Path, store: &Shared) -> Result<Self, Failure> {
        if !path.exists()
            && let Some(run) = store.with(|store| store.find_run(path))?
        {
            return Ok(Self::Run(Box::new(run)));
        }
        Self::read_file(path)
    }

    fn read_file(path: &Path) -> Result<Self, Failure> {
        let fail = |why: String| Failure::file(path, why);
        let text = files::read_text_at_most(path, MAX_SAVED_BYTES)?;
        match Saved::from_json(&text) {
            Ok(Saved::Run(run)) => Ok(Self::Run(run)),
            Ok(Saved::Conversation(conversation)) => Ok(Self::Conversation(conversation)),
            Ok(_) => Err(fail("the file was not written by --save".to_owned())),
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                Err(fail(error.message().to_owned()))
            }
            Err(error) => {
                Err(fail(format!("the file was not written by --save: {}", error.message())))
            }
        }
    }
}

/// Checks that a file can be written later: its folder exists, and the file is new or was written by --save.
pub(super) fn check_writable(path: &Path) -> Result<(), Failure> {
    let name = path.display();
    if path.is_dir() {
        return Err(Failure::input_with_hint(
            format!("{name} is a folder, but --save writes a conversation to a file"),
            "to save the images, audio and files of a response, use --save-media DIR",
        ));
    }
    if path.exists() {
        return Stored::read_file(path).map(drop).map_err(|_| {
            Failure::input_with_hint(
                format!("{name} exists and was not written by --save"),
                "choose another name for --save",
            )
        });
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    if folder.is_none_or(Path::is_dir) {
        Ok(())
    } else {
        Err(Failure::input(format!("cannot write {name}: its folder does not exist")))
    }
}

/// The files that this run reads and writes, locked by this process.
#[derive(Debug)]
pub(super) struct LockedFiles {
    _locks: Vec<Lock>,
    /// The digest of each file when it was locked.
    before: Vec<(PathBuf, Option<Digest>)>,
}

impl LockedFiles {
    /// Locks the files. Fails if another process uses one of them, before any request is sent.
    pub(super) fn lock(save: Option<&Path>, resume: Option<&Path>) -> Result<Self, Failure> {
        let mut locked = Self { _locks: Vec::new(), before: Vec::new() };
        for path in [resume, save.filter(|save| Some(*save) != resume)].into_iter().flatten() {
            let name = path.display();
            let lock = match Lock::take(path) {
                // The folder does not exist. Reading the file reports that.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                taken => taken,
            };
            let lock = lock
                .map_err(|error| Failure::input(format!("cannot lock {name}: {error}")))?
                .ok_or_else(|| {
                    Failure::input_with_hint(
                        format!("{name}: another process is using this file"),
                        "wait until that process ends, or use another file",
                    )
                })?;
            locked._locks.push(lock);
            locked.before.push((path.to_owned(), digest_file(path)));
        }
        Ok(locked)
    }

    /// Writes a file atomically, readable by its owner only, because conversations are private.
    ///
    /// If a program that ignores the lock has changed the file, its content is kept and the result is written to another file
    /// in the same folder. `is_claimed` reports that this process has moved the file away.
    pub(super) fn write(
        &self,
        path: &Path,
        is_claimed: bool,
        value: &impl Serialize,
    ) -> Result<(), Failure> {
        let name = path.display();
        let fail = |error: io::Error| Failure::Response(format!("cannot write {name}: {error}"));
        let bytes = serde_json::to_vec(value).map_err(|error| fail(error.into()))?;
        let before = self.before.iter().find(|(locked, _)| locked == path);
        let before = before.and_then(|(_, before)| *before).filter(|_| !is_claimed);
        if digest_file(path) != before {
            let other = append_suffix(path, format!(".{}.json", std::process::id()));
            let mut file = files::create(&other).map_err(fail)?;
            file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(fail)?;
            return Err(Failure::Response(format!(
                "another program has changed {name}, so it is not overwritten; this conversation is saved in {}",
                other.display()
            )));
        }
        files::replace(path, &bytes).map_err(fail)
    }
}

/// The SHA-256 digest of a file.
type Digest = [u8; 32];

fn digest_file(path: &Path) -> Option<Digest> {
    // What is larger was not written by --save.
    let bytes = files::read_regular(path, MAX_SAVED_BYTES).ok()?;
    digest(&SHA256, &bytes).as_ref().try_into().ok()
}

/// Stores a run that was saved to a file. The file is enough to continue it: without a data folder nothing is stored.
pub(super) fn suspend(run: &Suspended, path: &Path, has_content: bool, setup: &Setup) {
    if store::find_file().is_some() {
        let stored = setup.store.with(|store| store.suspend(run, path, has_content));
        warn(stored, "the run is in its file, and not in the store", setup);
    }
}

fn warn(stored: Result<(), StoreError>, what: &str, setup: &Setup) {
    if let Err(error) = stored {
        setup.notes.print_warning(&format!("{what}: {error}"));
    }
}

/// A saved run that this process continues exclusively.
///
/// It is moved from its file to the store, and is there until it has ended: if this process is killed, no other one continues it unasked.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    run: Suspended,
}

impl Claim {
    /// Claims the run, if its file still contains it. The user may have taken long to reply, and another process may have been faster.
    ///
    /// At a terminal the user is asked about a run whose process was killed.
    pub(super) async fn take(path: &Path, run: Suspended, setup: &Setup) -> Result<Self, Failure> {
        let is_changed = match path.exists().then(|| Stored::read_file(path)).transpose()? {
            Some(Stored::Run(now)) => *now != run,
            Some(Stored::Conversation(_)) => true,
            None => false,
        };
        let continued = || Failure::file(path, "another process has continued this run");
        if is_changed {
            return Err(continued());
        }
        let take =
            |may_be_running| setup.store.with(|store| store.take_run(&run, path, may_be_running));
        match take(false)? {
            RunState::Waiting => {}
            RunState::Done => return Err(continued()),
            RunState::Running => {
                let question = "Continue from before that process, and run its tools again? [y/N] ";
                let reply = match Prompt::at_terminal(setup.notes) {
                    Some(prompt) => prompt.ask(question).await,
                    None => None,
                };
                if reply.is_none_or(|reply| reply.trim() != "y") || take(true)? == RunState::Done {
                    return Err(Failure::input_with_hint(
                        format!(
                            "{}: a process that continued this run ended before the run did",
                            path.display()
                        ),
                        "use --resume at a terminal to continue from before that process; tools that ran since then will run again",
                    ));
                }
            }
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Failure::file(path, error))
            }
            _ => Ok(Self { path: path.to_owned(), run }),
        }
    }

    /// Returns whether the claim is for this file.
    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Restores the file, if nothing has happened.
    pub(super) fn restore(self, has_content: bool, setup: &Setup) -> Result<(), Failure> {
        let bytes = serde_json::to_vec(&self.run).map_err(io::Error::from);
        bytes
            .and_then(|bytes| files::replace(&self.path, &bytes))
            .map_err(|error| Failure::file(&self.path, error))?;
        suspend(&self.run, &self.path, has_content, setup);
        Ok(())
    }

    /// Notes that the run was continued, after its outcome has been saved.
    pub(super) fn end(self, setup: &Setup) {
        let ended = setup.store.with(|store| store.end_run(&self.run));
        warn(ended, "the run has ended, and is still marked as running", setup);
    }
}
