//! Visits the files of a folder, without hidden files and those that ignore files exclude.
//!
//! The folder may be a stranger's: what its ignore files hold, how many entries it has and how deep it is are bounded.

mod ignored;
pub(crate) mod pattern;
#[cfg(test)]
mod tests;

use std::fs::{DirEntry, FileType};
use std::path::{Path, PathBuf};
use std::{fmt, io, vec};

use self::ignored::{Rules, RulesOfFolder};

/// How deep folders are visited.
const MAX_DEPTH: usize = 64;

/// Something of a folder that cannot be visited, and why.
#[derive(Debug)]
pub(crate) struct Unvisited {
    pub(crate) path: PathBuf,
    why: String,
}

impl Unvisited {
    fn new(path: &Path, why: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), why: why.to_string() }
    }
}

impl fmt::Display for Unvisited {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path.display(), self.why)
    }
}

/// The files of a folder and its subfolders, sorted by name. Symbolic links are not followed.
///
/// After an error the walk continues, without the folder that the error names.
#[derive(Debug)]
pub(crate) struct Walk {
    rules: Rules,
    /// The folders that are being visited, from the first one to the deepest.
    open: Vec<OpenFolder>,
    entries_left: usize,
}

/// A folder whose entries are being visited.
#[derive(Debug)]
struct OpenFolder {
    /// The path that entries are named with.
    path: PathBuf,
    /// The same without links, which is how rules know it.
    place: PathBuf,
    rules: RulesOfFolder,
    entries: vec::IntoIter<DirEntry>,
}

impl Walk {
    /// Visits `folder`, and reads at most `max_entries` entries.
    pub(crate) fn new(folder: &Path, max_entries: usize) -> Result<Self, Unvisited> {
        let place = folder.canonicalize().map_err(|error| Unvisited::new(folder, error))?;
        let rules = Rules::above(&place)?;
        let mut walk = Self { rules, open: Vec::new(), entries_left: max_entries };
        walk.enter(folder.to_owned(), place)?;
        Ok(walk)
    }

    fn enter(&mut self, path: PathBuf, place: PathBuf) -> Result<(), Unvisited> {
        let fail = |error: io::Error| Unvisited::new(&path, error);
        let rules = self.rules.of_folder(&place)?;
        let mut entries = Vec::new();
        for entry in path.read_dir().map_err(fail)? {
            if self.entries_left == 0 {
                // Nothing follows: what was not read could be anything.
                self.open.clear();
                return Err(Unvisited::new(&path, "too many files and folders"));
            }
            self.entries_left -= 1;
            entries.push(entry.map_err(fail)?);
        }
        entries.sort_by_cached_key(DirEntry::file_name);
        let entries = entries.into_iter();
        self.open.push(OpenFolder { path, place, rules, entries });
        Ok(())
    }

    /// Returns whether an entry of the deepest folder is left out.
    fn is_left_out(&self, entry: &DirEntry, place: &Path, kind: FileType) -> bool {
        let of_folders = self.open.iter().rev().map(|open| &open.rules);
        let excluded = self.rules.exclude(of_folders, place, kind.is_dir());
        excluded.unwrap_or_else(|| entry.file_name().as_encoded_bytes().starts_with(b"."))
    }
}

impl Iterator for Walk {
    type Item = Result<PathBuf, Unvisited>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let deepest = self.open.last_mut()?;
            let Some(entry) = deepest.entries.next() else {
                self.rules.leave(&deepest.rules);
                self.open.pop();
                continue;
            };
            let name = entry.file_name();
            let (path, place) = (deepest.path.join(&name), deepest.place.join(&name));
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                Err(error) => return Some(Err(Unvisited::new(&path, error))),
            };
            if self.is_left_out(&entry, &place, kind) {
                continue;
            }
            if kind.is_file() {
                return Some(Ok(path));
            }
            if !kind.is_dir() {
                continue;
            }
            if self.open.len() >= MAX_DEPTH {
                let why = format!("deeper than {MAX_DEPTH} folders");
                return Some(Err(Unvisited::new(&path, why)));
            }
            if let Err(error) = self.enter(path, place) {
                return Some(Err(error));
            }
        }
    }
}
