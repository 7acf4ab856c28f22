//! The state of the choices of a response while they arrive.

use super::open_parts::OpenParts;

/// The state of a choice while it arrives.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    /// The parts that are still open. The arguments of a provider's tool are text while its part is open.
    pub(super) open: OpenParts,
    pub(super) finished: bool,
}

/// The state of every choice. Nearly all responses have one choice, which then needs no list.
#[derive(Clone, Debug, Default)]
pub(super) struct Progresses {
    first: Option<Progress>,
    more: Vec<Progress>,
}

impl Progresses {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Progress> {
        self.first.iter().chain(&self.more)
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.more.len()
    }

    /// Inserts the state of a new choice.
    pub(super) fn insert(&mut self, at: usize) {
        if at > 0 {
            self.more.insert(at - 1, Progress::default());
        } else if let Some(second) = self.first.replace(Progress::default()) {
            self.more.insert(0, second);
        }
    }

    /// Returns the state of a choice; of the first one, if there is none at that place.
    pub(super) fn at(&mut self, at: usize) -> &mut Progress {
        match at.checked_sub(1).and_then(|at| self.more.get_mut(at)) {
            Some(progress) => progress,
            None => self.first.get_or_insert_default(),
        }
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
