//! Trust in configuration files that are found in the current folder or above it.
//!
//! A file is remembered by its path and its content, so a file that has changed is not trusted. A file that belongs to another
//! user, or that every user may write, is never trusted at its location.

mod store;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentloop::limits::MAX_CONFIG_FILE_BYTES;
use agentloop::{ConfigReader, RestrictedSetting};
use ring::digest::{SHA256, digest};

pub(crate) use self::store::{Store, Verdict};
use crate::failure::Failure;
use crate::files;
use crate::notes::Notes;
use crate::printable;
use crate::prompt::Prompt;

/// The largest configuration file that is read, in bytes.
const MAX_BYTES: u64 = MAX_CONFIG_FILE_BYTES as u64;

/// A configuration file. It is read once, so the text that is hashed is the text that is used.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    /// The path with all symbolic links resolved.
    canonical: PathBuf,
    pub(crate) text: String,
    digest: String,
    /// The reason why the file cannot be trusted at its location.
    pub(crate) obstacle: Option<&'static str>,
}

impl Candidate {
    /// Reads the file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let fail = |error: std::io::Error| Failure::file(path, error);
        let canonical = path.canonicalize().map_err(fail)?;
        let file = files::open_regular(&canonical).map_err(fail)?;
        let obstacle = find_obstacle(&file).map_err(fail)?;
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(fail)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(Failure::file(path, format!("the file is larger than {MAX_BYTES} bytes")));
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
    pub(crate) fn restricted_settings(&self) -> Result<Vec<RestrictedSetting>, Failure> {
        ConfigReader::restricted(&self.text).map_err(|error| self.locate_error(&error))
    }

    /// Adds the path of the file to an error about its content.
    pub(crate) fn locate_error(&self, error: &agentloop::Error) -> Failure {
        let message = format!("{}: {}", self.path.display(), error.message());
        let named = agentloop::Error::new(error.kind(), message);
        match error.hint() {
            Some(hint) => Failure::Call(named.with_hint(hint)),
            None => Failure::Call(named),
        }
    }

    /// Decides whether all settings of the file are used. At a terminal, asks the user about a file that is not known.
    pub(crate) fn decide_trust(&self, notes: Notes) -> Result<bool, Failure> {
        let restricted = self.restricted_settings()?;
        let store = match Store::load() {
            Ok(store) => store,
            Err(failure) => {
                notes.print_note(&failure);
                Store::default()
            }
        };
        match store.verdict(&self.canonical, &self.digest) {
            _ if self.obstacle.is_some() => return Ok(false),
            Some(verdict) => return Ok(verdict == Verdict::Trusted),
            // The file has no setting that needs trust.
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
        let mut lines = vec![format!("{} is not trusted. It sets:", printable::escape_name(&path))];
        lines.extend(describe_settings(restricted));
        let lines = prompt.fold_lines(lines);
        let page = prompt.page_height();
        for (number, part) in lines.chunks(page).enumerate() {
            prompt.show(part);
            if (number + 1) * page < lines.len() {
                let reply = prompt.ask_blocking("[Enter] to show more, [n]o: ")?;
                if !reply.trim().is_empty() {
                    return None;
                }
            }
        }
        let reply = prompt.ask_blocking("Trust this file? [y]es, [n]o, ne[v]er (default: no): ")?;
        match reply.trim().to_lowercase().as_str() {
            "y" | "yes" => Some(Verdict::Trusted),
            "v" | "never" => Some(Verdict::Refused),
            _ => None,
        }
    }

    /// Stores the user's decision.
    pub(crate) fn remember(&self, verdict: Verdict) -> Result<(), Failure> {
        let (path, digest) = (&self.canonical, &self.digest);
        Store::change(|store| store.insert(path, digest, verdict)).and_then(|done| done)
    }

    /// Prints a note about settings that are ignored and how to enable them.
    pub(crate) fn report_ignored(&self, ignored: &[RestrictedSetting], notes: Notes) {
        if ignored.is_empty() {
            return;
        }
        let names: Vec<_> =
            ignored.iter().map(|setting| printable::escape_name(&setting.name)).collect();
        let path = self.path.to_string_lossy();
        let path = printable::escape_name(&path);
        let names = names.join(", ");
        let how = match self.obstacle {
            Some(obstacle) => format!("the file cannot be trusted because it {obstacle}"),
            None => format!("to use them, run `agentloop trust {path}`"),
        };
        notes.print_note(&format!("{path} is not trusted; ignored settings: {names}; {how}"));
    }
}

/// Describes settings, one per line, with their values and effects. Invisible characters are escaped.
pub(crate) fn describe_settings(restricted: &[RestrictedSetting]) -> impl Iterator<Item = String> {
    restricted.iter().map(|setting| {
        let (name, value) =
            (printable::escape_name(&setting.name), printable::escape_json(&setting.value));
        format!("  {name} = {value}   ({})", setting.effect)
    })
}

/// Returns the reason why a file cannot be trusted at its location: another user could have created or could change it.
#[cfg(unix)]
fn find_obstacle(file: &File) -> std::io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt as _;

    let about = file.metadata()?;
    let me = rustix::process::geteuid().as_raw();
    Ok(match (about.uid(), about.mode()) {
        (owner, _) if owner != me && owner != 0 => Some("belongs to another user"),
        (_, mode) if mode & 0o002 != 0 => Some("can be changed by every user (fix: `chmod o-w`)"),
        _ => None,
    })
}

#[cfg(not(unix))]
fn find_obstacle(_: &File) -> std::io::Result<Option<&'static str>> {
    Ok(None)
}
