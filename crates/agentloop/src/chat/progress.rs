//! The state of the choices of a response while they arrive.

use smallvec::SmallVec;

use super::open_parts::OpenParts;

/// The state of a choice while it arrives.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The parts that are still open. The arguments of a provider's tool are text while its part is open.
    pub(super) open: OpenParts,
    pub(super) finished: bool,
}

/// The state of every choice. Nearly all responses have one choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Progresses(SmallVec<[Progress; 1]>);

impl Progresses {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Progress> {
        self.0.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Inserts the state of a new choice.
    pub(super) fn insert(&mut self, at: usize) {
        self.0.insert(at.min(self.0.len()), Progress::default());
    }

    /// Returns the state of a choice; of the first one, if there is none at that place.
    #[inline]
    pub(super) fn at(&mut self, mut at: usize) -> &mut Progress {
        let all = &mut self.0;
        if at >= all.len() {
            at = 0;
            if all.is_empty() {
                all.push(Progress::default());
            }
        }
        &mut all[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_stay_in_order_whichever_comes_first() {
        let mut all = Progresses::default();
        // The numbers of open parts tell the choices apart.
        for (place, parts) in [(0, 2), (1, 4), (0, 1), (2, 3)] {
            all.insert(place);
            (0..parts).for_each(|_| all.at(place).open.push());
        }
        let mut counts = Vec::new();
        for at in 0..all.len() {
            counts.push((0..9).filter(|part| all.at(at).open.is_open(*part)).count());
        }
        assert_eq!(counts, [1, 2, 3, 4]);
        assert_eq!(all.iter().filter(|progress| progress.finished).count(), 0);
        all.at(3).finished = true;
        assert!(all.iter().nth(3).is_some_and(|progress| progress.finished));
    }
}
