//! The last seconds or minutes of something that is counted.

/// The values of the last seconds or minutes. Old ones are overwritten, so the size never changes.
#[derive(Debug)]
pub(crate) struct Ring<T>(Box<[(u64, T)]>);

impl<T: Default + Clone> Ring<T> {
    /// Creates a ring for `length` values.
    pub(crate) fn new(length: usize) -> Self {
        Self(vec![(u64::MAX, T::default()); length.max(1)].into())
    }

    /// Returns the value of the second or minute with this number.
    pub(crate) fn at(&mut self, number: u64) -> &mut T {
        let index = index(number, self.0.len());
        let slot = &mut self.0[index];
        if slot.0 != number {
            *slot = (number, T::default());
        }
        &mut slot.1
    }

    /// Returns the last values up to `now`, the oldest first. Where nothing was counted there is `None`.
    pub(crate) fn last(&self, now: u64) -> impl Iterator<Item = Option<&T>> {
        let length = self.0.len() as u64;
        (0..length).rev().map(move |ago| {
            let number = now.checked_sub(ago)?;
            let slot = self.0.get(index(number, self.0.len()))?;
            (slot.0 == number).then_some(&slot.1)
        })
    }
}

fn index(number: u64, length: usize) -> usize {
    usize::try_from(number % length as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_values_are_forgotten_and_gaps_are_empty() {
        let mut ring = Ring::<u32>::new(3);
        let shown =
            |ring: &Ring<u32>, now| ring.last(now).map(|it| it.copied()).collect::<Vec<_>>();
        assert_eq!(shown(&ring, 0), [None, None, None]);
        *ring.at(0) += 1;
        *ring.at(0) += 1;
        *ring.at(2) += 5;
        assert_eq!(shown(&ring, 2), [Some(2), None, Some(5)]);
        *ring.at(3) += 7;
        assert_eq!(shown(&ring, 3), [None, Some(5), Some(7)]);
        assert_eq!(shown(&ring, 1000), [None, None, None]);
    }
}
