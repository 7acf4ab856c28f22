//! Memory that the large responses of one server share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What each response may hold besides, in bytes. Nearly all responses need no more, so however large others are, these never fail.
pub(crate) const OWN_BYTES: usize = 1 << 20;

/// How much is taken at once.
const STEP: usize = 1 << 20;

/// How many bytes the responses of a server may hold together, beyond what each may hold by itself.
#[derive(Debug)]
pub struct SharedRoom {
    bytes: usize,
    left: AtomicUsize,
}

impl SharedRoom {
    /// Creates a room of so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { bytes, left: AtomicUsize::new(bytes) }
    }
}

/// What one response has of it.
#[derive(Debug, Default)]
pub(crate) struct RoomShare {
    room: Option<Arc<SharedRoom>>,
    taken: usize,
}

impl RoomShare {
    /// Creates a share of nothing yet. Without a room there is no limit.
    pub(crate) fn new(room: Option<Arc<SharedRoom>>) -> Self {
        Self { room, taken: 0 }
    }

    /// Returns how many bytes the response may hold.
    pub(crate) fn granted(&self) -> usize {
        if self.room.is_some() { OWN_BYTES + self.taken } else { usize::MAX }
    }

    /// Takes what a response that holds so many bytes needs. Fails with the size of the room if there is not enough left.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), usize> {
        let Some(room) = &self.room else { return Ok(()) };
        let needed = bytes.saturating_sub(OWN_BYTES).div_ceil(STEP).saturating_mul(STEP);
        let more = needed.saturating_sub(self.taken);
        if more == 0 {
            return Ok(());
        }
        let take = |left: usize| left.checked_sub(more);
        room.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .map_err(|_| room.bytes)?;
        self.taken += more;
        Ok(())
    }
}

impl Drop for RoomShare {
    fn drop(&mut self) {
        if let Some(room) = &self.room {
            room.left.fetch_add(self.taken, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_taken_in_steps_and_given_back() {
        let room = Arc::new(SharedRoom::new(3 * STEP));
        let share = || RoomShare::new(Some(Arc::clone(&room)));
        let (mut one, mut other) = (share(), share());
        assert_eq!(one.granted(), OWN_BYTES);
        assert!(one.grow_to(OWN_BYTES).is_ok() && other.grow_to(1).is_ok());
        assert_eq!(room.left.load(Ordering::Relaxed), 3 * STEP);
        assert!(one.grow_to(OWN_BYTES + 1).is_ok() && one.grow_to(OWN_BYTES + STEP).is_ok());
        assert_eq!((one.granted(), room.left.load(Ordering::Relaxed)), (2 * STEP, 2 * STEP));
        assert_eq!(other.grow_to(OWN_BYTES + 3 * STEP), Err(3 * STEP));
        assert_eq!(other.grow_to(usize::MAX), Err(3 * STEP));
        assert_eq!(other.granted(), OWN_BYTES);
        drop(one);
        assert!(other.grow_to(OWN_BYTES + 3 * STEP).is_ok());
        drop(other);
        assert_eq!(room.left.load(Ordering::Relaxed), 3 * STEP);
    }

    #[test]
    fn without_a_room_there_is_no_limit() {
        let mut share = RoomShare::default();
        assert!(share.grow_to(usize::MAX).is_ok());
        assert_eq!(share.granted(), usize::MAX);
    }
}
