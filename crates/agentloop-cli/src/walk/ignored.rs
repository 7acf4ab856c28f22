//! What `.gitignore`, `.ignore`, `.git/info/exclude` and git's own list of the user exclude.
//!
//! A file of rules that cannot be read completely is an error: what it excludes is unknown, and could be a secret.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};

use super::{Unvisited, pattern};
use crate::files;

/// The most bytes and lines of rules that are held at once: of the user, of the folders above and of those on the way to a file. A line
/// needs up to four kilobytes of memory.
const MAX_BYTES: usize = 1 << 20;
const MAX_LINES: usize = 10_000;

/// The rules of the files of one folder, the strongest first.
#[derive(Debug, Default)]
pub(super) struct RulesOfFolder {
    ignore: Option<Gitignore>,
    git_ignore: Option<Gitignore>,
    git_exclude: Option<Gitignore>,
    /// Rules of git end where its repository does.
    is_repository: bool,
    bytes: usize,
    lines: usize,
}

/// All rules that are not of a visited folder, and how much more may be held.
#[derive(Debug)]
pub(super) struct Rules {
    /// Those of the folders above, from the nearest one.
    above: Vec<RulesOfFolder>,
    /// Those of the user, for all repositories.
    of_user: Option<Gitignore>,
    bytes_left: usize,
    lines_left: usize,
}

impl Rules {
    /// Reads the rules of the user and of all folders above `place`, a path without links.
    pub(super) fn above(place: &Path) -> Result<Self, Unvisited> {
        let mut rules =
            Self { above: Vec::new(), of_user: None, bytes_left: MAX_BYTES, lines_left: MAX_LINES };
        if let Some(file) = gitconfig_excludes_path() {
            // Its rules are relative to the folder that is visited.
            rules.of_user = rules.read(&file, place)?;
        }
        for folder in place.ancestors().skip(1) {
            let found = rules.of_folder(folder)?;
            rules.above.push(found);
        }
        Ok(rules)
    }

    /// Reads the rules in the files of a folder.
    pub(super) fn of_folder(&mut self, place: &Path) -> Result<RulesOfFolder, Unvisited> {
        let git = place.join(".git");
        let repository = fs::symlink_metadata(&git).ok().and_then(|about| {
            if about.is_file() { common_folder(&git) } else { about.is_dir().then_some(git) }
        });
        let (bytes, lines) = (self.bytes_left, self.lines_left);
        let mut rules = RulesOfFolder { is_repository: repository.is_some(), ..Default::default() };
        rules.ignore = self.read(&place.join(".ignore"), place)?;
        rules.git_ignore = self.read(&place.join(".gitignore"), place)?;
        if let Some(git) = repository {
            rules.git_exclude = self.read(&git.join("info/exclude"), place)?;
        }
        (rules.bytes, rules.lines) = (bytes - self.bytes_left, lines - self.lines_left);
        Ok(rules)
    }

    /// Makes room for other rules: those of a folder are dropped.
    pub(super) fn leave(&mut self, rules: &RulesOfFolder) {
        self.bytes_left += rules.bytes;
        self.lines_left += rules.lines;
    }

    /// Reads one file of rules for the paths below `place`; `None` if it does not exist.
    fn read(&mut self, file: &Path, place: &Path) -> Result<Option<Gitignore>, Unvisited> {
        let fail =
            |why: &str| Err(Unvisited::new(file, format!("{why}, so what it excludes is unknown")));
        let read = files::open_regular(file).and_then(|opened| {
            let mut bytes = Vec::new();
            opened.take(self.bytes_left as u64 + 1).read_to_end(&mut bytes)?;
            Ok(bytes)
        });
        let text = match read {
            Ok(text) if text.len() <= self.bytes_left => text,
            Ok(_) => return fail("more than 1 MB of rules"),
            // A folder of this name has no rules.
            Err(error) if is_absent(&error) || file.is_dir() => return Ok(None),
            Err(error) => return fail(&error.to_string()),
        };
        self.bytes_left -= text.len();
        let text = String::from_utf8_lossy(&text);
        let mut builder = GitignoreBuilder::new(place);
        for line in text.trim_start_matches('\u{feff}').lines() {
            let Some(left) = self.lines_left.checked_sub(1) else {
                return fail("more than 10,000 lines of rules");
            };
            self.lines_left = left;
            // As for git, a line that is not a pattern excludes nothing.
            if pattern::is_bounded(line) {
                let _ = builder.add_line(None, line);
            }
        }
        match builder.build() {
            Ok(rules) => Ok(Some(rules)),
            Err(error) => fail(&error.to_string()),
        }
    }

    /// Returns whether the rules exclude or include a path; `None` if they say nothing about it. `of_folders` are the rules of the visited
    /// folders that it is in, from the nearest one.
    pub(super) fn exclude<'a>(
        &'a self,
        of_folders: impl Iterator<Item = &'a RulesOfFolder>,
        place: &Path,
        is_folder: bool,
    ) -> Option<bool> {
        let found = |rules: &Option<Gitignore>| match rules.as_ref()?.matched(place, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        };
        let (mut ignore, mut git_ignore, mut git_exclude) = (None, None, None);
        let mut in_repository = true;
        for rules in of_folders.chain(&self.above) {
            ignore = ignore.or_else(|| found(&rules.ignore));
            if in_repository {
                git_ignore = git_ignore.or_else(|| found(&rules.git_ignore));
                git_exclude = git_exclude.or_else(|| found(&rules.git_exclude));
                in_repository = !rules.is_repository;
            }
        }
        ignore.or(git_ignore).or(git_exclude).or_else(|| found(&self.of_user))
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// Returns the folder that all worktrees of a repository share. In each worktree `.git` is a file that leads to it.
fn common_folder(git: &Path) -> Option<PathBuf> {
    let line = |file: &Path| {
        let mut text = String::new();
        files::open_regular(file).ok()?.take(4096).read_to_string(&mut text).ok()?;
        text.lines().next().map(str::to_owned)
    };
    let own = git.parent()?.join(line(git)?.strip_prefix("gitdir: ")?);
    let common = line(&own.join("commondir"));
    Some(common.map_or_else(|| own.clone(), |common| own.join(common)))
}
