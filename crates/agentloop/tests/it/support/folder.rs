//! Folders of a test's own. The tests of several crates use this file.

#![allow(dead_code, reason = "each program of tests uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a panic fails the test")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary folder that is removed with the test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Creates an empty folder.
    pub(crate) fn new() -> Self {
        Self::below(&std::env::temp_dir())
    }

    /// Creates an empty folder in memory, if that is possible: properties flush thousands of times.
    pub(crate) fn in_memory() -> Self {
        let memory = PathBuf::from("/dev/shm");
        Self::below(&if memory.is_dir() { memory } else { std::env::temp_dir() })
    }

    /// Creates a folder with these files.
    pub(crate) fn with<const N: usize>(files: [(&str, &str); N]) -> Self {
        let folder = Self::new();
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn below(place: &Path) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = Self(place.join(format!("agentloop-folder-{}-{count}", std::process::id())));
        // Left behind by a process that had the same number.
        let _ = std::fs::remove_dir_all(&folder.0);
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file.
    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Reads a file, if it exists.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.join(name)).ok()
    }

    /// Writes a file, and creates its folder. Returns its path.
    pub(crate) fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Lists the names of its files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
