//! Runs and conversations in files.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use agentloop::agent::{Saved, Suspended};
use agentloop::limits::MAX_SAVED_BYTES;
use agentloop::{ChatRequest, ErrorKind};
use ring::digest::{Context, SHA256};
use serde::Serialize;

use crate::failure::Failure;
use crate::files::{self, Lock, with_ending};

/// What a file holds.
#[derive(Debug)]
pub(super) enum Stored {
    /// A run that waits.
    Run(Box<Suspended>),
    /// A conversation that goes on when something is said.
    Conversation(Box<ChatRequest>),
}

impl Stored {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let wrong = |why: String| Failure::input(format!("{name}: {why}"));
        let claimed = claimed(path);
        if !path.exists() && claimed.exists() {
            return Err(Failure::input_with_hint(
                format!(
                    "{name}: the process that continued this run was ended before it had finished"
                ),
                format!(
                    "{} is the run as it was before: rename it to {name} to continue from there; tools that ran since \
                     will run again",
                    claimed.display()
                ),
            ));
        }
        let file = fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
        // The size is looked at before anything is read; a file may also grow while it is.
        let most = u64::try_from(MAX_SAVED_BYTES).unwrap_or(u64::MAX);
        let mut text = String::new();
        if file.metadata().is_ok_and(|about| about.len() <= most) {
            let read = file.take(most.saturating_add(1)).read_to_string(&mut text);
            read.map_err(|error| wrong(error.to_string()))?;
        } else {
            return Err(wrong(format!("it is larger than {most} bytes, and is not read")));
        }
        match Saved::from_json(&text) {
            Ok(Saved::Run(run)) => Ok(Self::Run(run)),
            Ok(Saved::Conversation(conversation)) => Ok(Self::Conversation(conversation)),
            Ok(_) => Err(wrong("it is not what --save writes".to_owned())),
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                Err(wrong(format!("{}, and is not read", error.message())))
            }
            Err(error) => Err(wrong(format!("it is not what --save writes: {}", error.message()))),
        }
    }
}

/// That a file can be written later: nothing else is there, and its folder is.
pub(super) fn check(path: &Path) -> Result<(), Failure> {
    let name = path.display();
    if path.exists() {
        return Stored::read(path).map(drop).map_err(|_| {
            Failure::input_with_hint(
                format!("{name} is there already, and nothing that --save has written"),
                "choose another name",
            )
        });
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    match folder.is_none_or(Path::is_dir) {
        true => Ok(()),
        false => Err(Failure::input(format!("{name} cannot be written: there is no such folder"))),
    }
}

/// The files that this run reads and writes, held for this process.
#[derive(Debug)]
pub(super) struct Held {
    _locks: Vec<Lock>,
    /// What each file contained when it was taken.
    before: Vec<(PathBuf, Option<Digest>)>,
}

impl Held {
    /// Takes the files. Another process that has one of them is an error before anything is asked.
    pub(super) fn take(save: Option<&Path>, resume: Option<&Path>) -> Result<Self, Failure> {
        let mut held = Self { _locks: Vec::new(), before: Vec::new() };
        for path in [resume, save.filter(|save| Some(*save) != resume)].into_iter().flatten() {
            let name = path.display();
            let lock = match Lock::take(path) {
                // There is no such folder: reading the file reports that.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                taken => taken,
            };
            let lock = lock
                .map_err(|error| Failure::input(format!("{name} cannot be locked: {error}")))?
                .ok_or_else(|| {
                    Failure::input_with_hint(
                        format!("{name}: another process is working with this file"),
                        "wait until it has ended, or use another file",
                    )
                })?;
            held._locks.push(lock);
            held.before.push((path.to_owned(), content(path)));
        }
        Ok(held)
    }

    /// Writes a file whole or not at all, for its owner alone: conversations are private.
    ///
    /// If the file is not what it was, because a program without locks has written to it, what it contains now is kept and
    /// the result goes to a file beside it. `is_taken`: the file was moved away by this process.
    pub(super) fn write(
        &self,
        path: &Path,
        is_taken: bool,
        value: &impl Serialize,
    ) -> Result<(), Failure> {
        let name = path.display();
        let wrong =
            |error: io::Error| Failure::Answer(format!("{name} cannot be written: {error}"));
        let bytes = serde_json::to_vec(value).map_err(|error| wrong(error.into()))?;
        let before = self.before.iter().find(|(held, _)| held == path);
        let before = before.and_then(|(_, before)| *before).filter(|_| !is_taken);
        if content(path) != before {
            let other = with_ending(path, format!(".{}.json", std::process::id()));
            let mut file = files::create(&other).map_err(wrong)?;
            file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(wrong)?;
            return Err(Failure::Answer(format!(
                "{name} was changed by another program, and is left as it is; this conversation is in {}",
                other.display()
            )));
        }
        files::replace(path, &bytes).map_err(wrong)
    }
}

/// Tells one content from another.
type Digest = [u8; 32];

fn content(path: &Path) -> Option<Digest> {
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

/// A stored run that this process goes on with, and nobody else: a run that was gone on with twice would run its tools
/// twice.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    claimed: PathBuf,
}

impl Claim {
    /// Takes the file away from everybody else, if `run` is still what it holds: a person may have thought for long.
    pub(super) fn take(path: &Path, run: &Suspended) -> Result<Self, Failure> {
        let claimed = claimed(path);
        let wrong = |why: &str| Failure::input(format!("{}: {why}", path.display()));
        // What another process has taken and left would be lost.
        if claimed.exists() {
            return Err(wrong(
                "the process that continued this run before was ended before it had finished",
            ));
        }
        fs::rename(path, &claimed).map_err(|error| wrong(&error.to_string()))?;
        let claim = Self { path: path.to_owned(), claimed };
        match Stored::read(&claim.claimed) {
            Ok(Stored::Run(now)) if *now == *run => Ok(claim),
            _ => {
                claim.put_back();
                Err(wrong("another process has gone on with this run"))
            }
        }
    }

    /// Whether it is of this file.
    pub(super) fn is_of(&self, path: &Path) -> bool {
        self.path == path
    }

    /// Where the run is as it stood before.
    pub(super) fn place(&self) -> &Path {
        &self.claimed
    }

    /// Nothing has happened: the file is as it was.
    pub(super) fn put_back(self) {
        let _ = fs::rename(&self.claimed, &self.path);
    }

    /// What came of the run is written elsewhere.
    pub(super) fn used_up(self) {
        let _ = fs::remove_file(&self.claimed);
    }
}

fn claimed(path: &Path) -> PathBuf {
    with_ending(path, ".running")
}
