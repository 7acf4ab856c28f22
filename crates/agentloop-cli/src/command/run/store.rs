//! Runs and conversations in files.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use agentloop::ChatRequest;
use agentloop::agent::Suspended;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 256 << 20;

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
                format!("{name}: another process goes on with this run, or was ended while it did"),
                format!(
                    "if it was, {} is the run as it stood before: rename it to go on from there, and tools that ran \
                     since will run again",
                    claimed.display()
                ),
            ));
        }
        let mut text = String::new();
        let file = fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("it is larger than {MAX_BYTES} bytes")));
        }
        let value: Value = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("it is not what --save writes ({error})")))?;
        let read = match value.get("run").is_some() {
            true => serde_json::from_value(value).map(|run| Self::Run(Box::new(run))),
            false if value.get("messages").is_some() => serde_json::from_value(value)
                .map(|conversation| Self::Conversation(Box::new(conversation))),
            false => return Err(wrong("it is not what --save writes".to_owned())),
        };
        read.map_err(|error| wrong(format!("it is not what --save writes ({error})")))
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

/// Writes a file whole or not at all. Only its owner may read it: conversations are private.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<(), Failure> {
    let beside = with_ending(path, &format!(".{}.tmp", std::process::id()));
    let written = serde_json::to_vec(value)
        .map_err(io::Error::from)
        .and_then(|bytes| private(&beside)?.write_all(&bytes))
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        Failure::Answer(format!("{} cannot be written: {error}", path.display()))
    })
}

fn private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
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
            return Err(wrong("another process goes on with this run, or was ended while it did"));
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

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
