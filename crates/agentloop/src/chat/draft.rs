//! A request that is copied when it is changed.

use std::ops::Deref;

use super::ChatRequest;

/// A request on its way to a provider: the caller's own until something in it changes, then a copy.
///
/// It does what `Cow<'_, ChatRequest>` does, in two words. A `Cow` is as large as a request, and every call would move it several
/// times, although most calls change nothing.
#[derive(Debug)]
pub(crate) struct Draft<'r> {
    given: &'r ChatRequest,
    changed: Option<Box<ChatRequest>>,
}

impl<'r> Draft<'r> {
    pub(crate) fn new(given: &'r ChatRequest) -> Self {
        Self { given, changed: None }
    }

    /// Returns the request to change it.
    pub(crate) fn to_mut(&mut self) -> &mut ChatRequest {
        self.changed.get_or_insert_with(|| Box::new(self.given.clone()))
    }

    /// Returns whether it is still the caller's own.
    #[cfg(test)]
    pub(crate) fn is_unchanged(&self) -> bool {
        self.changed.is_none()
    }
}

impl Deref for Draft<'_> {
    type Target = ChatRequest;

    fn deref(&self) -> &ChatRequest {
        self.changed.as_deref().unwrap_or(self.given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_copied_by_the_first_change() {
        let given = ChatRequest::new("m").user("Hello");
        let mut draft = Draft::new(&given);
        assert!(draft.is_unchanged() && std::ptr::eq(&*draft, &raw const given));
        draft.to_mut().max_tokens = Some(1);
        draft.to_mut().temperature = Some(0.5);
        assert_eq!((draft.max_tokens, draft.temperature), (Some(1), Some(0.5)));
        assert_eq!((given.max_tokens, draft.messages.len()), (None, 1));
    }
}
