//! Saves runs and conversations in files, and reads them.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use agentloop::agent::{Saved, Suspended};
use agentloop::limits::MAX_SAVED_BYTES;
use agentloop::{ChatRequest, ErrorKind};
use ring::digest::{Context, SHA256};
use serde::Serialize;

use crate::failure::Failure;
use crate::files::{self, Lock, append_suffix};

/// The message for a run whose process was killed.
const UNFINISHED: &str = "a process that continued this run ended before the run did";

/// The content of a file that --save wrote.
#[derive(Debug)]
pub(super) enum Stored {
    /// A run that waits for approval.
    Run(Box<Suspended>),
    /// A conversation that can be continued with a prompt.
    Conversation(Box<ChatRequest>),
}

impl Stored {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let fail = |why: String| Failure::file(path, why);
        let claimed = claim_path(path);
        if !path.exists() && claimed.exists() {
            return Err(Failure::input_with_hint(
                format!("{name}: {UNFINISHED}"),
                format!(
                    "the run before that process is in {}; rename that file to {name} to continue from there; tools that ran \
                     since then will run again",
                    claimed.display()
                ),
            ));
        }
        let file = fs::File::open(path).map_err(|error| fail(error.to_string()))?;
        // The size is checked before reading, and limited while reading, because the file may grow.
        let most = u64::try_from(MAX_SAVED_BYTES).unwrap_or(u64::MAX);
        let mut text = String::new();
        if file.metadata().is_ok_and(|about| about.len() <= most) {
            let read = file.take(most.saturating_add(1)).read_to_string(&mut text);
            read.map_err(|error| fail(error.to_string()))?;
        } else {
            return Err(fail(format!("the file is larger than the limit of {most} bytes")));
        }
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
        return Stored::read(path).map(drop).map_err(|_| {
            Failure::input_with_hint(
                format!("{name} exists and was not written by --save"),
                "choose another name for --save",
            )
        });
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(Failure::input(format!("cannot write {name}: its folder does not exist"))),
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
    let mut file = fs::File::open(path).ok()?;
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; 64 << 10];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => context.update(buffer.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    context.finish().as_ref().try_into().ok()
}

/// A saved run that this process continues exclusively, because a run that is continued twice would run its tools twice.
///
/// The file is renamed while the run continues.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    claimed: PathBuf,
}

impl Claim {
    /// Claims the file, if it still contains `run`. The user may have taken long to reply, and another process may have been
    /// faster.
    pub(super) fn take(path: &Path, run: &Suspended) -> Result<Self, Failure> {
        let claimed = claim_path(path);
        // Renaming over the file of an interrupted process would lose its run.
        if claimed.exists() {
            return Err(Failure::input_with_hint(
                format!("{}: {UNFINISHED}", path.display()),
                format!("the run before that process is in {}", claimed.display()),
            ));
        }
        fs::rename(path, &claimed).map_err(|error| Failure::file(path, error))?;
        let claim = Self { path: path.to_owned(), claimed };
        match Stored::read(&claim.claimed) {
            Ok(Stored::Run(now)) if *now == *run => Ok(claim),
            _ => {
                claim.restore();
                Err(Failure::file(path, "another process has continued this run"))
            }
        }
    }

    /// Returns whether the claim is for this file.
    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Returns the path of the renamed file.
    pub(super) fn claimed(&self) -> &Path {
        &self.claimed
    }

    /// Restores the file, if nothing has happened.
    pub(super) fn restore(self) {
        let _ = fs::rename(&self.claimed, &self.path);
    }

    /// Removes the renamed file, after the outcome of the run has been saved.
    pub(super) fn remove(self) {
        let _ = fs::remove_file(&self.claimed);
    }
}

/// Returns the name that a file has while its run continues.
fn claim_path(path: &Path) -> PathBuf {
    append_suffix(path, ".running")
}
