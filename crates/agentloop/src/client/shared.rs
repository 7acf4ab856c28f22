//! The request of a call: owned, borrowed or shared.

use std::ops::Deref;
use std::sync::Arc;

use crate::chat::ChatRequest;
use crate::error::Result;
use crate::history::depth;

/// A request as [`AgentLoop::chat`](crate::AgentLoop::chat) and [`AgentLoop::stream`](crate::AgentLoop::stream) take it: a
/// [`ChatRequest`], a reference to one, or an [`Arc`] of one.
///
/// A loop that makes one call after another can keep its request and pass a reference, so the conversation and the
/// tools are not copied. A client with middleware needs an [`Arc`], because middleware may keep the request, and copies
/// a request that it gets by reference. Pass an [`Arc`] to such a client; [`Arc::make_mut`] changes the request between
/// calls without a copy.
///
/// ```no_run
/// # async fn example(ai: agentloop::AgentLoop) -> agentloop::Result<()> {
/// use agentloop::ChatRequest;
///
/// let mut request = ChatRequest::new("openai/gpt-4.1").user("Think of a number.");
/// let response = ai.chat(&request).await?;
/// request = request.message(response.into_message()).user("Double it.");
/// println!("{}", ai.chat(request).await?.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one per call; a box would be one more allocation"
)]
pub enum SharedRequest<'r> {
    /// A request that the call owns.
    Owned(ChatRequest),
    /// A request that the caller keeps.
    Borrowed(&'r ChatRequest),
    /// A request that is shared.
    Shared(Arc<ChatRequest>),
}

impl SharedRequest<'_> {
    /// Checks that nothing in the request is nested too deeply.
    pub(super) fn check(&mut self) -> Result<()> {
        // A request that the call owns is also flattened, because dropping a value that is nested too deeply would
        // overflow the stack.
        let owned = match self {
            Self::Owned(request) => Some(request),
            Self::Shared(request) => Arc::get_mut(request),
            Self::Borrowed(_) => None,
        };
        match owned {
            Some(request) => depth::check(request),
            None => depth::refusal(self).map_or(Ok(()), Err),
        }
    }

    /// Returns the request in an [`Arc`]. Only a borrowed request is copied.
    pub(super) fn into_arc(self) -> Arc<ChatRequest> {
        match self {
            Self::Owned(request) => Arc::new(request),
            Self::Borrowed(request) => Arc::new(request.clone()),
            Self::Shared(request) => request,
        }
    }
}

impl<'r> SharedRequest<'r> {
    pub(super) fn into_held(self) -> Held<'r> {
        match self {
            Self::Borrowed(request) => Held::Borrowed(request),
            request => Held::Shared(request.into_arc()),
        }
    }
}

/// A request behind a pointer, borrowed or shared.
pub(super) enum Held<'r> {
    Borrowed(&'r ChatRequest),
    Shared(Arc<ChatRequest>),
}

impl Held<'_> {
    pub(super) fn into_arc(self) -> Arc<ChatRequest> {
        match self {
            Self::Borrowed(request) => Arc::new(request.clone()),
            Self::Shared(request) => request,
        }
    }
}

impl Deref for SharedRequest<'_> {
    type Target = ChatRequest;

    fn deref(&self) -> &ChatRequest {
        match self {
            Self::Owned(request) => request,
            Self::Borrowed(request) => request,
            Self::Shared(request) => request,
        }
    }
}

impl From<ChatRequest> for SharedRequest<'_> {
    fn from(request: ChatRequest) -> Self {
        Self::Owned(request)
    }
}

impl<'r> From<&'r ChatRequest> for SharedRequest<'r> {
    fn from(request: &'r ChatRequest) -> Self {
        Self::Borrowed(request)
    }
}

impl From<Arc<ChatRequest>> for SharedRequest<'_> {
    fn from(request: Arc<ChatRequest>) -> Self {
        Self::Shared(request)
    }
}

impl From<&Arc<ChatRequest>> for SharedRequest<'_> {
    fn from(request: &Arc<ChatRequest>) -> Self {
        Self::Shared(Arc::clone(request))
    }
}
