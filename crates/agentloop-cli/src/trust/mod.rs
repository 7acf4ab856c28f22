//! Which configuration files of other folders the user has trusted.
//!
//! A file is remembered by its path and its content: a file that has changed is not trusted any more. Files that belong to
//! another user, or that everyone may write to, are never trusted where they are found.

mod store;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentloop::{ConfigReader, RestrictedSetting};
use ring::digest::{SHA256, digest};

pub(crate) use self::store::{Store, Verdict};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable;
use crate::prompt::Prompt;

/// The largest configuration file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// A configuration file as it was read, once: what is hashed is what is used.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    /// Without links.
    canonical: PathBuf,
    pub(crate) text: String,
    digest: String,
    /// Why it cannot be trusted where it is.
    pub(crate) obstacle: Option<&'static str>,
}

impl Candidate {
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |why: String| Failure::input(format!("{}: {why}", path.display()));
        let canonical = path.canonicalize().map_err(|error| wrong(error.to_string()))?;
        let file = File::open(&canonical).map_err(|error| wrong(error.to_string()))?;
        let obstacle = obstacle(&file).map_err(|error| wrong(error.to_string()))?;
        let mut text = String::new();
        let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(wrong(format!("it is larger than {MAX_BYTES} bytes")));
        }
        let digest = digest(&SHA256, text.as_bytes()).as_ref().iter().fold(
            String::with_capacity(64),
            |mut digits, byte| {
                // Writing to a string does not fail.
                let _ = write!(digits, "{byte:02x}");
                digits
            },
        );
        Ok(Self { path: path.to_owned(), canonical, text, digest, obstacle })
    }

    /// Returns the settings that need trust.
    pub(crate) fn restricted(&self) -> Result<Vec<RestrictedSetting>, Failure> {
        ConfigReader::restricted(&self.text).map_err(|error| self.wrong(&error))
    }

    /// Names the file in an error about its content.
    pub(crate) fn wrong(&self, error: &agentloop::Error) -> Failure {
        let message = format!("{}: {}", self.path.display(), error.message());
        let named = agentloop::Error::new(error.kind(), message);
        match error.hint() {
            Some(hint) => Failure::Call(named.with_hint(hint)),
            None => Failure::Call(named),
        }
    }

    /// Whether all of its settings count. The user is asked if a terminal is there and nothing is known of the file.
    pub(crate) fn is_trusted(&self, notes: Notes) -> Result<bool, Failure> {
        let restricted = self.restricted()?;
        let store = match Store::load() {
            Ok(store) => store,
            Err(failure) => {
                notes.note(&failure);
                Store::default()
            }
        };
        match store.verdict(&self.canonical, &self.digest) {
            _ if self.obstacle.is_some() => return Ok(false),
            Some(verdict) => return Ok(verdict == Verdict::Trusted),
            // There is nothing to ask for.
            None if restricted.is_empty() => return Ok(false),
            None => {}
        }
        let Some(prompt) = Prompt::at_terminal(notes) else { return Ok(false) };
        match self.ask(&restricted, &prompt) {
            None => Ok(false),
            Some(verdict) => {
                self.remember(verdict)?;
                Ok(verdict == Verdict::Trusted)
            }
        }
    }

    fn ask(&self, restricted: &[RestrictedSetting], prompt: &Prompt) -> Option<Verdict> {
        let path = self.path.to_string_lossy();
        let mut lines =
            vec![format!("{} is not trusted. It wants to set:", printable::name(&path))];
        lines.extend(shown(restricted));
        let lines = prompt.folded(lines);
        let page = prompt.page();
        for (number, part) in lines.chunks(page).enumerate() {
            prompt.show(part);
            if (number + 1) * page < lines.len() {
                let answer = prompt.ask_blocking("[Enter] shows more, [n]o: ")?;
                if !answer.trim().is_empty() {
                    return None;
                }
            }
        }
        let answer =
            prompt.ask_blocking("Trust this file? [y]es, [n]o, ne[v]er (default: no): ")?;
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(Verdict::Trusted),
            "v" | "never" => Some(Verdict::Refused),
            _ => None,
        }
    }

    /// Remembers what the user has decided.
    pub(crate) fn remember(&self, verdict: Verdict) -> Result<(), Failure> {
        let (path, digest) = (&self.canonical, &self.digest);
        Store::change(|store| store.insert(path, digest, verdict)).and_then(|done| done)
    }

    /// Reports what is ignored, and how that can be changed.
    pub(crate) fn report_ignored(&self, ignored: &[RestrictedSetting], notes: Notes) {
        if ignored.is_empty() {
            return;
        }
        let names: Vec<_> = ignored.iter().map(|setting| printable::name(&setting.name)).collect();
        let path = self.path.to_string_lossy();
        let path = printable::name(&path);
        let how = match self.obstacle {
            Some(obstacle) => format!("it {obstacle}"),
            None => format!("`agentloop trust {path}` lets them count"),
        };
        let (names, are) = (names.join(", "), if ignored.len() == 1 { "is" } else { "are" });
        notes.note(&format!("{path} is not trusted: {names} {are} ignored; {how}"));
    }
}

/// Shows settings, each with its value and what it does. Nothing in them is invisible.
pub(crate) fn shown(restricted: &[RestrictedSetting]) -> impl Iterator<Item = String> {
    restricted.iter().map(|setting| {
        let (name, value) = (printable::name(&setting.name), printable::json(&setting.value));
        format!("  {name} = {value}   ({})", setting.effect)
    })
}

/// Why a file cannot be trusted where it is: another user could have put it there, or could change it.
#[cfg(unix)]
fn obstacle(file: &File) -> std::io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt as _;

    let about = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    Ok(match (about.uid(), about.mode()) {
        (owner, _) if owner != me && owner != 0 => Some("belongs to another user"),
        (_, mode) if mode & 0o002 != 0 => Some("can be changed by every user (`chmod o-w`)"),
        _ => None,
    })
}

#[cfg(not(unix))]
fn obstacle(_: &File) -> std::io::Result<Option<&'static str>> {
    Ok(None)
}
