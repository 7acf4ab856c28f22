//! Which parts of a choice are open.

/// The parts of a choice that have started, and which of them have not ended.
///
/// Most responses have a few parts: those are bits of a word, and only a part after them needs memory of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpenParts {
    first: u64,
    more: Vec<bool>,
    /// All of `more` before this place are closed. A part never opens again, so it only grows.
    closed: usize,
    len: usize,
}

const FIRST: usize = u64::BITS as usize;

impl OpenParts {
    /// Opens the next part.
    pub(super) fn push(&mut self) {
        match self.len < FIRST {
            true => self.first |= 1 << self.len,
            false => self.more.push(true),
        }
        self.len += 1;
    }

    /// Returns whether a part is open.
    pub(super) fn is_open(&self, at: usize) -> bool {
        match at < FIRST {
            true => self.first & (1 << at) != 0,
            false => self.more.get(at - FIRST).copied().unwrap_or(false),
        }
    }

    /// Closes a part. Returns whether it was open.
    pub(super) fn close(&mut self, at: usize) -> bool {
        let was_open = self.is_open(at);
        match at < FIRST {
            true => self.first &= !(1 << at),
            false => self.more.get_mut(at - FIRST).into_iter().for_each(|open| *open = false),
        }
        while self.more.get(self.closed) == Some(&false) {
            self.closed += 1;
        }
        was_open
    }

    /// Returns the first part that is open.
    pub(super) fn first_open(&self) -> Option<usize> {
        match self.first {
            0 => (self.closed < self.more.len()).then_some(self.closed + FIRST),
            first => Some(first.trailing_zeros() as usize),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_open_until_they_are_closed_however_many_there_are() {
        let mut parts = OpenParts::default();
        assert_eq!((parts.first_open(), parts.close(0)), (None, false));
        for at in 0..200 {
            assert!(!parts.is_open(at), "{at}");
            parts.push();
            assert!(parts.is_open(at), "{at}");
        }
        for at in 0..200 {
            assert_eq!(parts.first_open(), Some(at));
            assert!(parts.close(at) && !parts.close(at), "{at}");
            assert!(!parts.is_open(at), "{at}");
        }
        assert_eq!(parts.first_open(), None);
        assert!(!parts.close(200) && !parts.close(usize::MAX));
    }
}
