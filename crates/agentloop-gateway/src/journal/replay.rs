//! Reads the journal at the start.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use super::disk::{Segment, segment_path};
use super::line::{self, Line};
use super::read::{Lines, Next};

/// What the segments of an earlier process contain.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// The segments.
    pub(super) segments: BTreeMap<u64, Segment>,
    /// The JSON of the rows of reservations without an end, by their id, with their order.
    pub(super) open: HashMap<String, (u64, Vec<u8>)>,
    /// All rows up to this number are in the store.
    pub(super) stored: u64,
    /// The largest number of a row.
    pub(super) last: u64,
    /// How many lines were damaged.
    pub(super) damaged: u64,
    lines: u64,
}

impl Replay {
    /// Reads segments in the order of their numbers.
    pub(super) fn read(folder: &Path, numbers: &[u64]) -> io::Result<Self> {
        let mut replay = Self::default();
        for number in numbers {
            replay.read_segment(folder, *number)?;
        }
        Ok(replay)
    }

    fn read_segment(&mut self, folder: &Path, number: u64) -> io::Result<()> {
        let mut segment = Segment::default();
        let mut lines = Lines::open(&segment_path(folder, number), 0, u64::MAX)?;
        loop {
            match lines.next()? {
                Next::Line(text) => {
                    segment.last = segment.last.max(self.apply_text(text));
                    segment.bytes = lines.offset();
                }
                Next::TooLong => {
                    self.damaged += 1;
                    segment.bytes = lines.offset();
                }
                // A killed process was writing this line. The call that it was for was not sent yet, or its reservation
                // is in the journal.
                Next::Torn | Next::End => break,
            }
        }
        self.segments.insert(number, segment);
        Ok(())
    }

    /// Applies a line that may be damaged. Returns the number of its row or 0.
    fn apply_text(&mut self, text: &[u8]) -> u64 {
        if let Some(last) = line::read(text).and_then(|line| self.apply(line)) {
            return last;
        }
        self.damaged += 1;
        let Some((first, second)) = line::split_damaged(text) else { return 0 };
        let mut apply = |text| line::read(text).and_then(|line| self.apply(line)).unwrap_or(0);
        apply(first).max(apply(second))
    }

    /// Applies a line. Returns the number of its row or 0, and `None` if it makes no sense.
    fn apply(&mut self, line: Line<'_>) -> Option<u64> {
        self.lines += 1;
        match line {
            Line::Reserved(json) => {
                self.open.insert(line::id_of_row(json)?, (self.lines, json.to_vec()));
                Some(0)
            }
            Line::Settled(number, json) => {
                self.open.remove(&line::id_of_row(json)?);
                self.last = self.last.max(number);
                Some(number)
            }
            Line::Released(json) => {
                self.open.remove(&line::id(json)?);
                Some(0)
            }
            Line::Stored(number) => {
                self.stored = self.stored.max(number);
                self.last = self.last.max(number);
                Some(0)
            }
        }
    }
}
