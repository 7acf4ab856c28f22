//! Where configuration files are.

use std::path::{Path, PathBuf};

use super::Config;

/// The name of the file.
const FILE_NAME: &str = "agentloop.toml";

/// Where a configuration file was found, which decides whether it is trusted.
///
/// ```
/// use agentloop::{Config, ConfigOrigin};
///
/// let of_folders = Config::find().into_iter().filter(|file| file.origin == ConfigOrigin::Folder);
/// println!("{} files in this folder and above", of_folders.count());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigOrigin {
    /// The user named it, in `AGENTLOOP_CONFIG`.
    Named,
    /// It is in the user's configuration folder.
    User,
    /// It is in the working folder or in one above it. Anyone may have written it.
    Folder,
}

/// A configuration file that applies here.
///
/// ```
/// use agentloop::Config;
///
/// for file in Config::find() {
///     println!("{} needs trust: {}", file.path.display(), file.needs_trust());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// How it was found.
    pub origin: ConfigOrigin,
}

impl ConfigFile {
    /// Whether its settings count only after the user has trusted the file.
    pub fn needs_trust(&self) -> bool {
        self.origin == ConfigOrigin::Folder
    }
}

impl Config {
    /// Returns the configuration files that apply here, the weakest first.
    ///
    /// - If `AGENTLOOP_CONFIG` names a file: that file alone.
    /// - Otherwise `agentloop.toml` in the user's configuration folder, and over it the nearest `agentloop.toml` in the
    ///   working folder or in one above it.
    ///
    /// A file of the second kind [needs trust](ConfigFile::needs_trust): read it with
    /// [`ConfigReader::untrusted`](super::ConfigReader::untrusted) unless the user has said that it may direct keys.
    pub fn find() -> Vec<ConfigFile> {
        if let Some(path) = std::env::var_os("AGENTLOOP_CONFIG").filter(|path| !path.is_empty()) {
            return vec![ConfigFile { path: PathBuf::from(path), origin: ConfigOrigin::Named }];
        }
        let user = user_folder().map(|folder| folder.join(FILE_NAME)).filter(|path| path.is_file());
        let here = std::env::current_dir().ok();
        let above = here.iter().flat_map(|folder| folder.ancestors());
        let nearest = above.map(|folder| folder.join(FILE_NAME)).find(|path| path.is_file());
        let is_user =
            |path: &PathBuf| user.as_deref().is_some_and(|user| is_same(user, path.as_path()));
        let folder = nearest.filter(|path| !is_user(path));
        let mut found = Vec::new();
        found.extend(user.map(|path| ConfigFile { path, origin: ConfigOrigin::User }));
        found.extend(folder.map(|path| ConfigFile { path, origin: ConfigOrigin::Folder }));
        found
    }
}

fn user_folder() -> Option<PathBuf> {
    let folder = |variable: &str, rest: &str| {
        // A relative path would again be a file of the working folder.
        let folder = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute())?;
        Some(folder.join(rest))
    };
    folder("XDG_CONFIG_HOME", "agentloop").or_else(|| folder("HOME", ".config/agentloop"))
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}
