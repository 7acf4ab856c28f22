//! The folder of the journal: its lock, and the segments that lines are appended to.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentloop::internal::files;
use agentloop::{Error, ErrorKind, Result};

use super::line;

/// The size at which the next segment begins, in bytes.
pub(super) const SEGMENT_BYTES: u64 = 8 << 20;

/// How many more bytes go into a full segment if the next one cannot be created.
const RETRY_BYTES: u64 = 64 << 10;

/// How many names are tried for a new segment.
const MAX_NAMES: u64 = 100;

/// Segments with larger numbers are not ours.
const MAX_SEGMENT: u64 = 1 << 53;

/// What the names of segments begin and end with.
const PREFIX: &str = "journal-";
const SUFFIX: &str = ".log";

/// The file that is locked.
const LOCK: &str = "lock";

/// A segment of the journal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Segment {
    /// Its length, without a line that was not completed.
    pub(super) bytes: u64,
    /// The largest number of a row in it, or 0.
    pub(super) last: u64,
}

/// The lock on the folder of the journal. It ends with the process, however it ends, and when it is dropped.
#[derive(Debug)]
pub(super) struct FolderLock(pub(super) File);

impl Drop for FolderLock {
    /// Closing the file is not enough: a program that is being started holds a copy of it for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// The folder of the journal.
#[derive(Debug)]
pub(super) struct Disk {
    folder: PathBuf,
    #[cfg_attr(not(test), expect(dead_code, reason = "it is held"))]
    pub(super) lock: FolderLock,
    file: Arc<File>,
    number: u64,
    segment_bytes: u64,
    rotate_at: u64,
    is_torn: bool,
    is_dirty: bool,
    segments: BTreeMap<u64, Segment>,
    unsynced: Vec<Arc<File>>,
    /// For tests: how many bytes can still be written.
    #[cfg(test)]
    pub(super) room: Option<usize>,
}

impl Disk {
    /// Creates the folder if it does not exist, and locks it. Returns it with the numbers of its segments.
    pub(super) fn lock(folder: &Path) -> Result<(FolderLock, Vec<u64>)> {
        let failed = |error: &io::Error| {
            Error::new(
                ErrorKind::Config,
                format!("the journal in {} cannot be opened: {error}", folder.display()),
            )
            .with_hint(
                "the folder must be on a local disk and belong to the user who runs the gateway",
            )
        };
        files::create_folder(folder).map_err(|error| failed(&error))?;
        let lock = open_private(&folder.join(LOCK), false).map_err(|error| failed(&error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
            Err(TryLockError::WouldBlock) => {
                let message = format!("another gateway uses the journal in {}", folder.display());
                return Err(Error::new(ErrorKind::Config, message).with_hint(
                    "stop it, or give each gateway a data folder of its own (AGENTLOOP_DATA)",
                ));
            }
        }
        let mut numbers: Vec<u64> = fs::read_dir(folder)
            .map_err(|error| failed(&error))?
            .filter_map(std::result::Result::ok)
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| number_of_name(entry.file_name().to_str()?))
            .collect();
        numbers.sort_unstable();
        Ok((FolderLock(lock), numbers))
    }

    /// Begins a new segment after those that exist.
    pub(super) fn begin(
        folder: &Path,
        lock: FolderLock,
        segments: BTreeMap<u64, Segment>,
    ) -> Result<Self> {
        let last = segments.keys().next_back().copied().unwrap_or(0);
        let (number, file) = create_segment(folder, last).map_err(|error| {
            let message = format!("the journal in {} cannot be written: {error}", folder.display());
            Error::new(ErrorKind::Config, message).with_hint(
                "free some space on the disk, or choose another folder with AGENTLOOP_DATA",
            )
        })?;
        let mut disk = Self {
            folder: folder.to_owned(),
            lock,
            file,
            number,
            segment_bytes: SEGMENT_BYTES,
            rotate_at: SEGMENT_BYTES,
            is_torn: false,
            is_dirty: true,
            segments,
            unsynced: Vec::new(),
            #[cfg(test)]
            room: None,
        };
        disk.segments.insert(number, Segment::default());
        Ok(disk)
    }

    /// Appends a line. After an error nothing of it is kept, and it can be appended again.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let current = self.current();
        if current.bytes >= self.rotate_at && self.rotate().is_err() {
            self.rotate_at = current.bytes + RETRY_BYTES;
        }
        if self.is_torn {
            // A part of a line may be at the end. If it cannot be cut off, the next segment begins.
            match self.file.set_len(self.current().bytes) {
                Ok(()) => self.is_torn = false,
                Err(_) => self.rotate()?,
            }
        }
        if let Err(error) = self.write(line) {
            self.is_torn = self.file.set_len(self.current().bytes).is_err();
            return Err(error);
        }
        self.is_dirty = true;
        let segment = self.segments.entry(self.number).or_default();
        segment.bytes += line.len() as u64;
        segment.last = segment.last.max(line::number_of(line).unwrap_or(0));
        Ok(())
    }

    #[cfg(not(test))]
    fn write(&self, line: &[u8]) -> io::Result<()> {
        (&*self.file).write_all(line)
    }

    #[cfg(test)]
    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let Some(room) = &mut self.room else { return (&*self.file).write_all(line) };
        let length = line.len().min(*room);
        *room -= length;
        (&*self.file).write_all(&line[..length])?;
        if length < line.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn current(&self) -> Segment {
        self.segments.get(&self.number).copied().unwrap_or_default()
    }

    fn rotate(&mut self) -> io::Result<()> {
        let (number, file) = create_segment(&self.folder, self.number)?;
        self.unsynced.push(std::mem::replace(&mut self.file, file));
        self.number = number;
        self.rotate_at = self.segment_bytes;
        self.is_torn = false;
        self.segments.insert(number, Segment::default());
        Ok(())
    }

    /// Returns the number of the segment that is written.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the size at which the next segment begins.
    pub(super) fn segment_bytes(&self) -> u64 {
        self.segment_bytes
    }

    /// Returns the largest number of a row in a segment.
    pub(super) fn last(&self) -> u64 {
        self.segments.values().map(|segment| segment.last).max().unwrap_or(0)
    }

    /// Returns the bytes of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.segments.values().map(|segment| segment.bytes).sum()
    }

    /// Returns the segments with rows after a number: number, path and length of each.
    pub(super) fn segments_after(&self, row: u64) -> Vec<(u64, PathBuf, u64)> {
        let wanted = self.segments.iter().filter(|(_, segment)| segment.last > row);
        wanted.map(|(number, segment)| (*number, self.path(*number), segment.bytes)).collect()
    }

    /// Returns the oldest segment, unless it is being written or has rows after a number.
    pub(super) fn oldest_done(&self, stored: u64) -> Option<u64> {
        let (number, segment) = self.segments.first_key_value()?;
        (*number != self.number && segment.last <= stored).then_some(*number)
    }

    /// Forgets a segment and returns the path of its file.
    pub(super) fn forget(&mut self, number: u64) -> PathBuf {
        self.segments.remove(&number);
        self.path(number)
    }

    /// Returns the files that must be flushed to the disk, and the folder, if something was written.
    pub(super) fn begin_sync(&mut self) -> Option<(Vec<Arc<File>>, PathBuf)> {
        if !std::mem::take(&mut self.is_dirty) {
            return None;
        }
        let mut files = std::mem::take(&mut self.unsynced);
        files.push(Arc::clone(&self.file));
        Some((files, self.folder.clone()))
    }

    /// Takes back files that could not be flushed.
    pub(super) fn abort_sync(&mut self, files: Vec<Arc<File>>) {
        self.is_dirty = true;
        self.unsynced.extend(files.into_iter().filter(|file| !Arc::ptr_eq(file, &self.file)));
    }

    /// For tests: makes segments small.
    #[cfg(test)]
    pub(super) fn set_segment_bytes(&mut self, bytes: u64) {
        self.segment_bytes = bytes;
        self.rotate_at = bytes;
    }

    fn path(&self, number: u64) -> PathBuf {
        segment_path(&self.folder, number)
    }
}

/// Returns the path of a segment.
pub(super) fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{PREFIX}{number:012}{SUFFIX}"))
}

fn number_of_name(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let is_ours = digits.len() >= 12 && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_ours && *number < MAX_SEGMENT)
}

fn create_segment(folder: &Path, after: u64) -> io::Result<(u64, Arc<File>)> {
    let mut result = Err(io::ErrorKind::AlreadyExists.into());
    for number in after + 1..=after + MAX_NAMES {
        match open_private(&segment_path(folder, number), true) {
            Ok(file) => return Ok((number, Arc::new(file))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    result
}

/// Opens a file that only the user can read, for appending. Windows locks only files that can also be read.
fn open_private(path: &Path, is_new: bool) -> io::Result<File> {
    files::options().read(true).append(true).create(true).create_new(is_new).open(path)
}
