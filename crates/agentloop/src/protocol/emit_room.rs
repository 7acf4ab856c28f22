//! How a response takes part in the memory that the large responses of a server share.

use std::sync::Arc;

use super::{Emitter, too_large};
use crate::error::{Error, Result};
use crate::shared_room::{RoomShare, SharedRoom};

/// What a response has of the room of a server.
#[derive(Debug)]
pub(super) struct Share {
    taken: RoomShare,
    /// How many bytes the response may hold until it takes more.
    pub(super) granted: usize,
    /// The bytes of a complete body, which is kept until it is decoded.
    body: usize,
    /// The size of the room, if it had not enough left.
    no_room: Option<usize>,
}

impl Default for Share {
    fn default() -> Self {
        Self { taken: RoomShare::default(), granted: usize::MAX, body: 0, no_room: None }
    }
}

impl Share {
    /// Takes more of the room. Returns whether there is enough.
    #[cold]
    pub(super) fn grow_to(&mut self, held: usize) -> bool {
        self.no_room = self.taken.grow_to(held.saturating_add(self.body)).err();
        self.granted = self.taken.granted().saturating_sub(self.body);
        self.no_room.is_none()
    }

    /// Returns why the response fails, if there was not enough room.
    pub(super) fn error(&self) -> Option<Error> {
        let room = self.no_room?;
        Some(too_large(format!(
            "the large responses in progress would hold more than the {room} bytes that they share; a later call may succeed"
        )))
    }
}

impl Emitter {
    /// Shares the room of a server with other responses.
    #[inline]
    pub(crate) fn with_room(mut self: Box<Self>, room: Option<Arc<SharedRoom>>) -> Box<Self> {
        let taken = RoomShare::new(room);
        let granted = taken.granted();
        self.share = Share { taken, granted, ..Share::default() };
        self
    }

    /// Takes room for the bytes of a complete body, which are no part of the response.
    ///
    /// # Errors
    ///
    /// When a server has not enough room.
    pub(crate) fn keep_body(&mut self, bytes: usize) -> Result<()> {
        self.share.body = bytes;
        let granted = self.share.taken.granted();
        if self.held.saturating_add(bytes) > granted {
            self.overflowed |= !self.share.grow_to(self.held);
        } else {
            self.share.granted = granted - bytes;
        }
        self.check()
    }
}
