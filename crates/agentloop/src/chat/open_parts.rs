//! Which parts of a choice are open.

use smallvec::SmallVec;

/// The parts of a choice that have started, and which of them have not ended. Most responses have a few parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OpenParts {
    are_open: SmallVec<[bool; 24]>,
    /// All before this place are closed. A part never opens again, so it only grows.
    closed: usize,
}

impl OpenParts {
    /// Opens the next part.
    pub(super) fn push(&mut self) {
        self.are_open.push(true);
    }

    /// Returns whether a part is open.
    pub(super) fn is_open(&self, at: usize) -> bool {
        self.are_open.get(at).copied().unwrap_or(false)
    }

    /// Closes a part. Returns whether it was open.
    pub(super) fn close(&mut self, at: usize) -> bool {
        let was_open = self.are_open.get_mut(at).is_some_and(std::mem::take);
        while self.are_open.get(self.closed) == Some(&false) {
            self.closed += 1;
        }
        was_open
    }

    /// Returns the first part that is open.
    pub(super) fn first_open(&self) -> Option<usize> {
        (self.closed < self.are_open.len()).then_some(self.closed)
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
